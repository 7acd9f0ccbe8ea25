/* select_values.h - the first of a row, or one of its places, chosen without sorting it: text for
 * the CPU and for a GPU. The includer defines VALUE, PAIR with `key` and `place`, and PAIRS, a row
 * of them, with pair_at() and pair_put().
 *
 * Which of equal elements come out, and in what order, follows from the steps of an algorithm. In
 * eager PyTorch these are std::partial_sort, std::nth_element and std::sort as libstdc++ has them,
 * of kthvalue a quick select of its own; here are the same comparisons and moves, one by one.
 * Ranges go from `first` to before `last`. */

VALUE int64_t key_in(PAIRS r, int64_t i) {
  return pair_at(r, i).key;
}

VALUE void exchange(PAIRS r, int64_t a, int64_t b) {
  PAIR x = pair_at(r, a);
  pair_put(r, a, pair_at(r, b));
  pair_put(r, b, x);
}

/* Twice the logarithm: partitions before heaps take over (std::__lg). */
VALUE int partitions_of(int64_t count) {
  int depth = 0;
  for (; count > 1; count /= 2)
    depth += 2;
  return depth;
}

/* --- Heaps, the largest key first ---------------------------------------------------------- */
/* std::__adjust_heap with the std::__push_heap behind it: the hole goes down to a leaf, to the
 * right one of equal children, and then `x` up from there, below its equals. */
VALUE void heap_put(PAIRS r, int64_t first, int64_t count, int64_t hole, PAIR x) {
  const int64_t top = hole;
  int64_t child = 2 * hole + 2;
  for (; child < count; child = 2 * hole + 2) {
    child -= key_in(r, first + child) < key_in(r, first + child - 1); /* hard to foresee */
    pair_put(r, first + hole, pair_at(r, first + child));
    hole = child;
  }
  if (child == count) { /* a left child alone */
    pair_put(r, first + hole, pair_at(r, first + child - 1));
    hole = child - 1;
  }
  while (hole > top && key_in(r, first + (hole - 1) / 2) < x.key) {
    pair_put(r, first + hole, pair_at(r, first + (hole - 1) / 2));
    hole = (hole - 1) / 2;
  }
  pair_put(r, first + hole, x);
}

/* std::__pop_heap: the largest goes to `to`, what stood there into the heap. */
VALUE void heap_pop(PAIRS r, int64_t first, int64_t count, int64_t to) {
  PAIR x = pair_at(r, to);
  pair_put(r, to, pair_at(r, first));
  heap_put(r, first, count, 0, x);
}

/* std::__make_heap */
VALUE void heap_make(PAIRS r, int64_t first, int64_t count) {
  for (int64_t parent = count / 2 - 1; parent >= 0; parent--)
    heap_put(r, first, count, parent, pair_at(r, first + parent));
}

/* std::__heap_select: the least in a heap up to `middle`, which an equal one behind it does not
 * enter. */
VALUE void heap_select(PAIRS r, int64_t first, int64_t middle, int64_t last) {
  const int64_t count = middle - first;
  heap_make(r, first, count);
  for (int64_t i = middle; i < last; i++)
    if (key_in(r, i) < key_in(r, first))
      heap_pop(r, first, count, i);
}

/* std::__sort_heap */
VALUE void heap_sort(PAIRS r, int64_t first, int64_t last) {
  while (--last > first)
    heap_pop(r, first, last - first, last);
}

/* --- Partitions ---------------------------------------------------------------------------- */
/* std::__insertion_sort, and what std::__final_insertion_sort comes to: each one behind its equals.
 */
VALUE void insertion_sort(PAIRS r, int64_t first, int64_t last) {
  for (int64_t i = first + 1; i < last; i++) {
    PAIR x = pair_at(r, i);
    int64_t to = i;
    for (; to > first && x.key < key_in(r, to - 1); to--)
      pair_put(r, to, pair_at(r, to - 1));
    pair_put(r, to, x);
  }
}

/* Which of three std::__move_median_to_first moves. */
VALUE int64_t middle_of(PAIRS r, int64_t a, int64_t b, int64_t c) {
  const int64_t x = key_in(r, a), y = key_in(r, b), z = key_in(r, c);
  if (x < y)
    return y < z ? b : x < z ? c : a;
  return x < z ? a : y < z ? c : b;
}

/* std::__unguarded_partition_pivot: where the part begins that is not below the pivot. Equal ones
 * are exchanged as well. */
VALUE int64_t partition(PAIRS r, int64_t first, int64_t last) {
  exchange(r, first, middle_of(r, first + 1, first + (last - first) / 2, last - 1));
  const int64_t pivot = key_in(r, first);
  int64_t low = first + 1, high = last - 1;
  for (;; low++, high--) {
    while (key_in(r, low) < pivot)
      low++;
    while (pivot < key_in(r, high))
      high--;
    if (low >= high)
      return low;
    exchange(r, low, high);
  }
}

/* std::nth_element (std::__introselect) of a whole row */
VALUE void select_nth(PAIRS r, int64_t count, int64_t nth) {
  int64_t first = 0, last = count;
  for (int left = partitions_of(count); last - first > 3; left--) {
    if (!left) {
      heap_select(r, first, nth + 1, last);
      exchange(r, first, nth);
      return;
    }
    const int64_t cut = partition(r, first, last);
    if (cut <= nth)
      first = cut;
    else
      last = cut;
  }
  insertion_sort(r, first, last);
}

/* std::sort (std::__introsort_loop). Its parts are independent of each other: of two the longer one
 * waits, so that what is gone on with halves at least; a part that is divided has 17 elements. */
VALUE void sort_first(PAIRS r, int64_t count) {
  int64_t ends[40][2], first = 0, last = count; /* of up to 2^44 elements */
  int8_t lefts[40];
  int waiting = 0, left = partitions_of(count);
  for (;;) {
    if (last - first > 16 && left) {
      const int64_t cut = partition(r, first, last);
      const bool is_left = cut - first < last - cut;
      ends[waiting][0] = is_left ? cut : first;
      ends[waiting][1] = is_left ? last : cut;
      lefts[waiting++] = (int8_t)--left;
      if (is_left)
        last = cut;
      else
        first = cut;
      continue;
    }
    if (last - first > 16) {
      heap_select(r, first, last, last);
      heap_sort(r, first, last);
    }
    if (!waiting)
      break;
    waiting--;
    first = ends[waiting][0], last = ends[waiting][1], left = lefts[waiting];
  }
  insertion_sort(r, 0, count);
}

/* --- Operators ----------------------------------------------------------------------------- */
/* topk: the `keep` least to the beginning, of many few by a heap. */
VALUE bool selects_by_heap(int64_t count, int64_t keep) {
  return keep <= count / 64;
}
VALUE void select_first(PAIRS r, int64_t count, int64_t keep, bool is_sorted) {
  if (selects_by_heap(count, keep)) {
    heap_select(r, 0, keep, count);
    heap_sort(r, 0, keep);
    return;
  }
  select_nth(r, count, keep - 1);
  if (is_sorted)
    sort_first(r, keep - 1);
}

/* A pivot of three for PyTorch's quick select: the middle one comes to `low`, the least behind it,
 * the largest to `high`. */
VALUE void order_three(PAIRS r, int64_t low, int64_t high) {
  exchange(r, low + (high - low) / 2, low + 1);
  if (key_in(r, low + 1) > key_in(r, high))
    exchange(r, low + 1, high);
  if (key_in(r, low) > key_in(r, high))
    exchange(r, low, high);
  if (key_in(r, low + 1) > key_in(r, low))
    exchange(r, low + 1, low);
}

/* kthvalue: PyTorch's quick select, of all from `low` to `high`. */
VALUE void quick_select(PAIRS r, int64_t count, int64_t nth) {
  int64_t low = 0, high = count - 1;
  while (high > low + 1) {
    order_three(r, low, high);
    const int64_t pivot = key_in(r, low);
    int64_t i = low + 1, j = high;
    for (;;) {
      while (key_in(r, ++i) < pivot)
        ;
      while (key_in(r, --j) > pivot)
        ;
      if (j < i)
        break;
      exchange(r, i, j);
    }
    exchange(r, low, j);
    if (j <= nth)
      low = i;
    if (j >= nth)
      high = j - 1;
  }
  if (high == low + 1 && key_in(r, low) > key_in(r, high))
    exchange(r, low, high);
}
