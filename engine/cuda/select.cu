/* select.cu - the first ones of rows in which it depends on the steps of an algorithm which they are
 * (kernels/cpu/select_values.h): elements; keys and places, in order before. */

/* Among the first ones and the next there are equal ones. */
VALUE bool has_equals(const cells *keys, int64_t start, const int64_t *n) {
  for (int64_t i = 1; i <= n[SORT_KEEP] && i < n[SORT_LENGTH]; i++)
    if (integer_at(keys, start + i) == integer_at(keys, start + i - 1))
      return true;
  return false;
}

/* at: a row. n[SORT_WIDTH]: they are wanted in order, and there are keys. */
VALUE void formula_chosen(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const pair_row row = {&w[1], &w[2], at * n[SORT_LENGTH]};
  if (n[SORT_WIDTH] && !has_equals(&w[1], row.start, n))
    return;
  for (int64_t i = 0; i < n[SORT_LENGTH]; i++)
    pair_put(&row, i, PAIR{sort_key_at(w, n, at, i), i});
  select_first(&row, n[SORT_LENGTH], n[SORT_KEEP], n[SORT_WIDTH] != 0);
}

/* Whether one thread of the block has it; all ask. */
VALUE bool one_has(bool mine) {
  SHARED(bool, said, 8);
  const bool ours = __ballot_sync(~0u, mine) != 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    said[threadIdx.x / 32] = ours;
  __syncthreads();
  bool is_said = false;
  for (int warp = 0; warp < 8; warp++)
    is_said = said[warp] || is_said;
  return is_said;
}

/* Few elements of a long row, by a block: its first thread keeps the heap. Only elements below the top
 * of the heap enter it, and the other threads look for them. */
VALUE void formula_few_chosen(int64_t at, const cells *w, const int64_t *n, const double *d) {
  SHARED(int64_t, keys, SORT_TILE);
  SHARED(int64_t, top, 1);
  const int me = threadIdx.x;
  const int64_t length = n[SORT_LENGTH], keep = n[SORT_KEEP];
  const pair_row row = {&w[1], &w[2], at * length};
  bool mine = false;
  for (int64_t i = me; i < keep; i += 256)
    mine = mine || key_in(&row, i) == key_in(&row, i + 1);
  if (!one_has(mine))
    return;
  for (int64_t i = me; i < keep; i += 256)
    pair_put(&row, i, PAIR{sort_key_at(w, n, at, i), i});
  __syncthreads();
  if (me == 0) {
    heap_select(&row, 0, keep, keep);
    top[0] = key_in(&row, 0);
  }
  for (int64_t first = keep; first < length; first += SORT_TILE) {
    __syncthreads();
    mine = false;
    for (int s = me; s < SORT_TILE && first + s < length; s += 256) {
      const int64_t key = sort_key_at(w, n, at, first + s);
      mine = mine || key < top[0];
      keys[s] = key;
    }
    if (!one_has(mine) || me)
      continue;
    for (int s = 0; s < SORT_TILE && first + s < length; s++)
      if (keys[s] < key_in(&row, 0))
        heap_put(&row, 0, keep, 0, PAIR{keys[s], first + s});
    top[0] = key_in(&row, 0);
  }
  if (me == 0)
    heap_sort(&row, 0, keep);
}
