/* sort.c - sorting along a dimension, its first k, and the smallest with the largest element.
 *
 * Elements become 64-bit keys whose integer order is the order wanted: -0 equals 0, NaN is above
 * all numbers, and descending order flips every bit. A stable sort moves (key, place) pairs; topk
 * sorts no more than it has to. */
#include "kernels/core/sort_recorded.h"
#include "kernels/cpu/fold.h"
#include "kernels/cpu/sort.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/sizes.h"

#include <math.h>

/* Rows of `count` elements, `inner` apart. */
typedef struct sorting {
  const double *real; /* one of the two: elements widened without loss */
  const int64_t *whole;
  const char *cells; /* the elements themselves */
  char *values;      /* NULL when only places are wanted */
  int64_t *places;   /* NULL when only values are wanted */
  size_t cell;
  int64_t count, inner, keep; /* keep: how many of the sorted row are written */
  bool descending;
  bool is_top, is_sorted; /* topk, and whether its elements are in order */
  int64_t top;            /* so many are wanted; 0: all */
  bool streams;           /* few of rows that lie dense: elements are widened block by block */
  fnz_dtype dtype;
  fnzi_cpu_pair *scratch; /* 2 * count for each thread */
} sorting;

#define VALUE static inline
#include "kernels/core/sort_values.h"
#undef VALUE

int64_t fnzi_cpu_real_key(double x) {
  return sort_real_key(x);
}

static int64_t key_at(const sorting *s, int64_t at) {
  int64_t key = s->real ? fnzi_cpu_real_key(s->real[at]) : s->whole[at];
  return s->descending ? ~key : key;
}

static void sort_merge(const fnzi_cpu_pair *a, const fnzi_cpu_pair *a_end, const fnzi_cpu_pair *b,
                       const fnzi_cpu_pair *b_end, fnzi_cpu_pair *out) {
  while (a < a_end && b < b_end)
    *out++ = b->key < a->key ? *b++ : *a++;
  while (a < a_end)
    *out++ = *a++;
  while (b < b_end)
    *out++ = *b++;
}

static fnzi_cpu_pair *merge_pairs(fnzi_cpu_pair *pairs, int64_t count) {
  fnzi_cpu_pair *from = pairs, *to = pairs + count;
  for (int64_t run = 1; run < count; run *= 2) {
    for (int64_t at = 0; at < count; at += 2 * run) {
      int64_t middle = fnzi_cpu_least(at + run, count), end = fnzi_cpu_least(at + 2 * run, count);
      sort_merge(from + at, from + middle, from + middle, from + end, to + at);
    }
    fnzi_cpu_pair *t = from;
    from = to, to = t;
  }
  return from;
}

enum {
  SPARE = 29,        /* bits of a double that no smaller float has */
  WORDS_FEW = 256,   /* fewer are merged */
  WORDS_MANY = 8192, /* so many are worth a longer digit */
  WORD_DIGIT = 11    /* bits of it */
};
enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS };

/* Keys count from the least one: so few digits differ. */
static unsigned digit_of(int64_t key, int64_t least, int digit) {
  return (unsigned)(((uint64_t)key - (uint64_t)least) >> digit * DIGIT_BITS) % DIGIT_VALUES;
}

/* Pairs to where their digit comes, equal ones in order. */
static void move_by_digit(const fnzi_cpu_pair *from, fnzi_cpu_pair *to, int64_t count,
                          int64_t least, int digit) {
  int64_t places[DIGIT_VALUES] = {0}, before = 0;
  for (int64_t i = 0; i < count; i++)
    places[digit_of(from[i].key, least, digit)]++;
  for (int k = 0; k < DIGIT_VALUES; k++) {
    int64_t these = places[k];
    places[k] = before;
    before += these;
  }
  for (int64_t i = 0; i < count; i++)
    to[places[digit_of(from[i].key, least, digit)]++] = from[i];
}

/* Few pairs are merged; many go through a pass for each digit in which they differ. */
fnzi_cpu_pair *fnzi_cpu_sort_pairs(fnzi_cpu_pair *pairs, int64_t count) {
  enum { FEW = 192 };
  fnzi_cpu_pair *from = pairs, *to = pairs + count;
  uint64_t differ = 0;
  if (count < FEW)
    return merge_pairs(pairs, count);
  int64_t least = pairs[0].key;
  for (int64_t i = 1; i < count; i++)
    least = pairs[i].key < least ? pairs[i].key : least;
  for (int64_t i = 0; i < count; i++)
    differ |= (uint64_t)pairs[i].key - (uint64_t)least;
  for (int digit = 0; digit < DIGITS; digit++) {
    if ((differ >> digit * DIGIT_BITS) % DIGIT_VALUES == 0)
      continue;
    move_by_digit(from, to, count, least, digit);
    fnzi_cpu_pair *t = from;
    from = to, to = t;
  }
  return from;
}

static void sort_put(const sorting *s, int64_t from, int64_t to) {
  const char *cell = s->cells + (size_t)from * s->cell;
  if (s->cell == 4) /* memory is copied fastest by a size that the compiler knows */
    memcpy(s->values + 4 * (size_t)to, cell, 4);
  else
    memcpy(s->values + (size_t)to * s->cell, cell, s->cell);
}

static void sort_put_row(const sorting *s, int64_t row, const fnzi_cpu_pair *pairs) {
  int64_t start = row / s->inner * s->count * s->inner + row % s->inner;
  int64_t out = row / s->inner * s->keep * s->inner + row % s->inner;
  for (int64_t i = 0; i < s->keep; i++, out += s->inner) {
    if (s->places)
      s->places[out] = pairs[i].place;
    if (s->values)
      sort_put(s, start + pairs[i].place * s->inner, out);
  }
}

/* --- Words -------------------------------------------------------------------------------- */
/* A word has a key, counted from the least one, above a place. Places differ, so no two words are
 * equal, and any way to sort them keeps the order of equal keys. */
static int bits_needed(uint64_t x) {
  int bits = 0;
  for (; x; x >>= 1)
    bits++;
  return bits;
}

static void merge_any(const uint64_t *a, const uint64_t *b, const uint64_t *end, uint64_t *out) {
  const uint64_t *a_end = b;
  while (a < a_end && b < end)
    *out++ = *b < *a ? *b++ : *a++;
  while (a < a_end)
    *out++ = *a++;
  while (b < end)
    *out++ = *b++;
}

/* Two runs of one length, from both ends: which one comes next is no branch. */
static void merge_equal(const uint64_t *a, int64_t run, uint64_t *out) {
  const uint64_t *b = a + run, *a_last = b - 1, *b_last = b + run - 1;
  uint64_t *last = out + 2 * run - 1;
  for (int64_t i = 0; i < run; i++) {
    const bool takes_b = *b < *a, takes_a = *b_last < *a_last;
    *out++ = *a ^ ((*a ^ *b) & (0 - (uint64_t)takes_b));
    *last-- = *b_last ^ ((*a_last ^ *b_last) & (0 - (uint64_t)takes_a));
    b += takes_b, a += !takes_b;
    a_last -= takes_a, b_last -= !takes_a;
  }
}

static uint64_t *merge_words(uint64_t *words, int64_t count) {
  uint64_t *from = words, *to = words + count;
  for (int64_t run = 1; run < count; run *= 2) {
    int64_t at = 0;
    for (; at + 2 * run <= count; at += 2 * run)
      merge_equal(from + at, run, to + at);
    merge_any(from + at, from + fnzi_cpu_least(at + run, count), from + count, to + at);
    uint64_t *t = from;
    from = to, to = t;
  }
  return from;
}

/* To where a digit of them says; returns false if all have the same one, and moves none. */
static bool move_words(const uint64_t *from, uint64_t *to, int64_t count, int shift, int bits) {
  int64_t places[1 << WORD_DIGIT], before = 0;
  const uint64_t mask = ((uint64_t)1 << bits) - 1;
  memset(places, 0, sizeof *places << bits);
  for (int64_t i = 0; i < count; i++)
    places[from[i] >> shift & mask]++;
  if (places[from[0] >> shift & mask] == count)
    return false;
  for (uint64_t k = 0; k <= mask; k++) {
    int64_t these = places[k];
    places[k] = before;
    before += these;
  }
  for (int64_t i = 0; i < count; i++)
    to[places[from[i] >> shift & mask]++] = from[i];
  return true;
}

/* Sorts by the `bits` of keys above `shift`, with as much room behind as there are words; returns
 * where the result is. */
static uint64_t *sort_words(uint64_t *words, int64_t count, int shift, int bits) {
  uint64_t *from = words, *to = words + count;
  if (count < WORDS_FEW)
    return merge_words(words, count);
  int most = count < WORDS_MANY ? WORD_DIGIT - 3 : WORD_DIGIT, passes = (bits + most - 1) / most;
  for (int pass = 0, left = bits; pass < passes; pass++) {
    int digit = (left + passes - pass - 1) / (passes - pass);
    if (move_words(from, to, count, shift, digit)) {
      uint64_t *t = from;
      from = to, to = t;
    }
    shift += digit, left -= digit;
  }
  return from;
}

/* Sorts a row whose keys leave room for places; returns false if they do not. Keys of small floats
 * have no use for the last bits of a double. */
static bool sort_row_of_words(const sorting *s, int64_t row, uint64_t *words) {
  const int64_t start = row / s->inner * s->count * s->inner + row % s->inner;
  const int spare = s->real && s->dtype != FNZ_F64 ? SPARE : 0;
  const int shift = bits_needed((uint64_t)s->count - 1);
  int64_t least = INT64_MAX, greatest = INT64_MIN;
  for (int64_t i = 0; i < s->count; i++) {
    const int64_t key = key_at(s, start + i * s->inner) >> spare;
    least = key < least ? key : least;
    greatest = key > greatest ? key : greatest;
    words[i] = (uint64_t)key;
  }
  const int bits = bits_needed((uint64_t)greatest - (uint64_t)least);
  if (shift + bits > 64)
    return false;
  for (int64_t i = 0; i < s->count; i++)
    words[i] = (words[i] - (uint64_t)least) << shift | (uint64_t)i;
  words = sort_words(words, s->count, shift, bits);
  int64_t out = row / s->inner * s->keep * s->inner + row % s->inner;
  for (int64_t i = 0; i < s->count; i++, out += s->inner) {
    const int64_t place = (int64_t)(words[i] & (((uint64_t)1 << shift) - 1));
    if (s->places)
      s->places[out] = place;
    if (s->values)
      sort_put(s, start + place * s->inner, out);
  }
  return true;
}

static void sort_row(const void *user, int64_t row, int lane) {
  const sorting *s = user;
  int64_t start = row / s->inner * s->count * s->inner + row % s->inner;
  fnzi_cpu_pair *pairs = s->scratch + 2 * (int64_t)lane * s->count;
  if (!s->is_top && sort_row_of_words(s, row, (uint64_t *)(void *)pairs))
    return;
  for (int64_t i = 0; i < s->count; i++)
    pairs[i] = (fnzi_cpu_pair){key_at(s, start + i * s->inner), i};
  if (s->is_top)
    fnzi_cpu_select_first(pairs, s->count, s->keep, s->is_sorted);
  else
    pairs = fnzi_cpu_sort_pairs(pairs, s->count);
  sort_put_row(s, row, pairs);
}

/* --- The first few of dense rows ------------------------------------------------------------ */
enum { STREAMED = 512, STRIP = 16 };
typedef struct strip {
  sorting of; /* reads the block */
  union {
    double real[STREAMED];
    int64_t whole[STREAMED];
  } block;
} strip;

/* The number of a key, which may be that of a NaN. */
static double real_of(int64_t key) {
  double x;
  int64_t bits = key ^ (int64_t)((uint64_t)(key >> 63) >> 1);
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* May one of STRIP elements come before the last key of the heap? Most often none does. */
static bool may_enter(const strip *b, int64_t at, int64_t last) {
  bool descending = b->of.descending, found = false;
  int64_t key = descending ? ~last : last;
  if (!b->of.real) {
    const int64_t *whole = b->block.whole + at;
    for (int i = 0; i < STRIP; i++)
      found |= descending ? whole[i] > key : whole[i] < key;
    return found;
  }
  const double *real = b->block.real + at, limit = real_of(key);
  int many = 0;
  if (descending)
    for (int i = 0; i < STRIP; i++)
      many |= !(real[i] <= limit);
  else
    for (int i = 0; i < STRIP; i++)
      many |= !(real[i] >= limit);
  return many;
}

/* Elements `from` to `to` of the block, whose first one has place `at` in the row. */
static void stream_block(const strip *b, fnzi_cpu_pair *heap, int64_t from, int64_t to,
                         int64_t at) {
  for (int64_t i = from, end; i < to; i = end) {
    end = to - i < STRIP ? to : i + STRIP;
    if (end - i == STRIP && !may_enter(b, i, heap->key))
      continue;
    for (int64_t k = i; k < end; k++) {
      int64_t key = key_at(&b->of, k);
      if (key < heap->key)
        fnzi_cpu_heap_replace(heap, b->of.keep, (fnzi_cpu_pair){key, at + k});
    }
  }
}

static void stream_row(const void *user, int64_t row, int lane) {
  strip b = {.of = *(const sorting *)user};
  const sorting *s = &b.of;
  bool real = fnzi_is_float(s->dtype);
  const fnzi_krn_conversion widen = {real ? FNZ_F64 : FNZ_I64, s->dtype, sizeof(double),
                                     (int64_t)s->cell};
  fnzi_cpu_pair *heap = s->scratch + 2 * (int64_t)lane * s->count;
  b.of.real = real ? b.block.real : NULL;
  b.of.whole = b.block.whole;
  for (int64_t at = 0; at < s->count; at += STREAMED) {
    int64_t n = s->count - at < STREAMED ? s->count - at : STREAMED, first = 0;
    fnzi_krn_convert(&widen, &b.block, s->cells + (size_t)(row * s->count + at) * s->cell, n);
    for (; at + first < s->keep && first < n; first++)
      heap[at + first] = (fnzi_cpu_pair){key_at(s, first), at + first};
    if (first && at + first == s->keep)
      fnzi_cpu_heap_make(heap, s->keep);
    stream_block(&b, heap, first, n, at);
  }
  fnzi_cpu_heap_sort(heap, s->keep);
  sort_put_row(s, row, heap);
}

/* The elements themselves, and widened to double or to 64-bit integers. */
static fnz_status sort_open_elements(fnzi_krn_call *call, sorting *s) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  const void *cells, *wide;
  bool real = fnzi_is_float(x->geometry.dtype);
  FNZ_TRY(fnzi_krn_dense_get(call, x, &cells));
  s->cells = cells, s->cell = fnzi_dtype(x->geometry.dtype)->bytes;
  s->dtype = x->geometry.dtype;
  s->streams = s->top > 0 && s->inner == 1 && fnzi_cpu_selects_by_heap(s->count, s->top);
  if (call->record || s->streams) /* sort_recorded.c widens them itself */
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_dense_get_as(call, x, real ? FNZ_F64 : FNZ_I64, &wide));
  *(real ? (const void **)&s->real : (const void **)&s->whole) = wide;
  return FNZ_OK;
}

static fnz_status open_dim(fnzi_krn_call *call, int64_t named, sorting *s) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  FNZ_TRY(fnzi_wrap_dim(call->ctx, fnz_op_name(call->op), named, g->rank, &dim));
  s->count = g->rank ? g->sizes[dim] : 1;
  s->inner = 1;
  for (uint32_t i = dim + 1; i < g->rank; i++)
    s->inner *= g->sizes[i];
  s->keep = s->count;
  return sort_open_elements(call, s);
}

static fnz_status open_values(fnzi_krn_call *call, size_t k, sorting *s) {
  void *values;
  FNZ_TRY(fnzi_krn_result_get_as(call, k, call->outputs[k]->geometry.dtype, &values));
  s->values = values;
  return FNZ_OK;
}

static fnz_status open_places(fnzi_krn_call *call, size_t k, sorting *s) {
  void *places;
  FNZ_TRY(fnzi_krn_result_get_as(call, k, FNZ_I64, &places));
  s->places = places;
  return FNZ_OK;
}

static fnz_status sort_run(fnzi_krn_call *call, sorting *s) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = x->geometry.dtype;
  int64_t numel = fnzi_krn_array_numel(x);
  size_t count;
  if (!numel || !s->keep)
    return FNZ_OK;
  if (call->record) {
    fnzi_krn_recorded_sort recorded = {.dtype = fnzi_is_float(dtype) ? fnzi_cpu_real_dtype(dtype)
                                                                     : FNZ_I64,
                                       .rows = numel / s->count,
                                       .length = s->count,
                                       .inner = s->inner,
                                       .keep = s->keep,
                                       .descending = s->descending};
    FNZ_TRY(fnzi_krn_dense_get_as(call, x, recorded.dtype, &recorded.elements));
    FNZ_TRY(s->is_top ? fnzi_krn_sort_record_top(call, &recorded, s->is_sorted)
                      : fnzi_krn_sort_record(call, &recorded));
    return fnzi_krn_sort_record_ranked(call, &recorded, dtype, s->cells, s->values, s->places);
  }
  if (!fnzi_mul_size((size_t)s->count * 2, (size_t)fnzi_cpu_lanes(call), &count))
    return fnzi_no_memory(call->ctx);
  FNZI_NEW(&call->scratch, count, &s->scratch);
  fnzi_cpu_rows_each(call, numel / s->count, s->streams ? stream_row : sort_row, s);
  return FNZ_OK;
}

fnz_status fnzi_kernel_sort(fnzi_krn_call *call) {
  sorting s = {.descending = fnzi_krn_named_bool(call, "descending", false)};
  FNZ_TRY(open_dim(call, fnzi_krn_named_int(call, "dim", -1), &s));
  FNZ_TRY(open_values(call, 0, &s));
  FNZ_TRY(open_places(call, 1, &s));
  return sort_run(call, &s);
}

fnz_status fnzi_kernel_argsort(fnzi_krn_call *call) {
  sorting s = {.descending = fnzi_krn_named_bool(call, "descending", false)};
  FNZ_TRY(open_dim(call, fnzi_krn_named_int(call, "dim", -1), &s));
  FNZ_TRY(open_places(call, 0, &s));
  return sort_run(call, &s);
}

fnz_status fnzi_kernel_msort(fnzi_krn_call *call) {
  sorting s = {.descending = false};
  FNZ_TRY(open_dim(call, 0, &s));
  FNZ_TRY(open_values(call, 0, &s));
  return sort_run(call, &s);
}

fnz_status fnzi_kernel_topk(fnzi_krn_call *call) {
  sorting s = {.descending = fnzi_krn_named_bool(call, "largest", true),
               .is_top = true,
               .is_sorted = fnzi_krn_named_bool(call, "sorted", true),
               .top = fnzi_krn_named_int(call, "k", 0)};
  FNZ_TRY(open_dim(call, fnzi_krn_named_int(call, "dim", -1), &s));
  if (fnzi_krn_call_geometry(call, 0)->rank) /* a number is its own top 0 and its own top 1 */
    s.keep = s.top;
  FNZ_TRY(open_values(call, 0, &s));
  FNZ_TRY(open_places(call, 1, &s));
  return sort_run(call, &s);
}

/* --- aminmax ----------------------------------------------------------------------------- */
typedef struct extremes {
  sorting row;
  char *smallest, *largest;
  bool overall; /* of all elements: NaN comes out as `nan` */
  _Alignas(8) char nan[8];
} extremes;

static void extremes_row(const void *user, int64_t row, int lane) {
  const extremes *e = user;
  const sorting *s = &e->row;
  int64_t start = row / s->inner * s->count * s->inner + row % s->inner;
  int64_t low = start, high = start;
  (void)lane;
  for (int64_t i = 0; i < s->count; i++) {
    int64_t at = start + i * s->inner;
    if (s->real && isnan(s->real[at])) {
      low = high = at;
      break;
    }
    low = key_at(s, at) < key_at(s, low) ? at : low;
    high = key_at(s, at) > key_at(s, high) ? at : high;
  }
  bool is_nan = s->count && s->real && isnan(s->real[low]);
  const char *nan = is_nan && e->overall ? e->nan : NULL;
  memcpy(e->smallest + (size_t)row * s->cell, nan ? nan : s->cells + (size_t)low * s->cell,
         s->cell);
  memcpy(e->largest + (size_t)row * s->cell, nan ? nan : s->cells + (size_t)high * s->cell,
         s->cell);
}

/* By folds, which do not say which NaN it was: *done is false where there is one, or the type has
 * none. */
static fnz_status fold_both(fnzi_krn_call *call, bool *done) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = x->window.dtype;
  int64_t rows = fnzi_krn_array_numel(call->outputs[0]);
  size_t cell = fnzi_dtype(dtype)->bytes;
  bool reduced[FNZ_MAX_RANK];
  void *found, *out;
  *done = fnzi_cpu_fold_find(FNZI_FOLD_amin, dtype) && rows && fnzi_krn_array_numel(x);
  if (!*done)
    return FNZ_OK;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_krn_scratch_take(call, 2 * rows, cell, &found));
  char *both[] = {found, (char *)found + (size_t)rows * cell};
  fnzi_cpu_fold(call, reduced, fnzi_cpu_fold_find(FNZI_FOLD_amin, dtype), dtype, both[0]);
  fnzi_cpu_fold(call, reduced, fnzi_cpu_fold_find(FNZI_FOLD_amax, dtype), dtype, both[1]);
  for (int64_t i = 0; i < rows; i++)
    if ((dtype == FNZ_F32 && isnan(((float *)found)[i])) ||
        (dtype == FNZ_F64 && isnan(((double *)found)[i])))
      *done = false;
  for (size_t k = 0; *done && k < 2; k++) {
    FNZ_TRY(fnzi_krn_result_get_as(call, k, dtype, &out));
    memcpy(out, both[k], (size_t)rows * cell);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_aminmax(fnzi_krn_call *call) {
  extremes e = {.row = {.descending = false}};
  sorting largest = {.descending = false};
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  int64_t rows = fnzi_krn_array_numel(call->outputs[0]), numel = fnzi_krn_array_numel(x);
  const fnz_arg *dim = fnzi_krn_named(call, "dim");
  bool done;
  FNZ_TRY(fold_both(call, &done));
  if (done)
    return FNZ_OK;
  if (dim->tag == FNZ_ARG_INT) {
    FNZ_TRY(open_dim(call, dim->u.i, &e.row));
  } else {
    FNZ_TRY(sort_open_elements(call, &e.row));
    e.row.count = numel, e.row.inner = 1;
    e.overall = e.row.real != NULL;
    if (e.overall)
      fnzi_cpu_overall_nan(x->geometry.dtype, e.nan);
  }
  if (!e.row.count && rows)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "there is no smallest of no elements");
  FNZ_TRY(open_values(call, 0, &e.row));
  FNZ_TRY(open_values(call, 1, &largest));
  e.smallest = e.row.values, e.largest = largest.values;
  fnzi_cpu_rows_each(call, rows, extremes_row, &e);
  return FNZ_OK;
}
