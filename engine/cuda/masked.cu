/* masked.cu - true places take elements in order (kernels/cpu/scatter.c). Each block counts the true
 * places of a tile; the sums of these counts say where each tile begins. Integers: elements, and
 * elements of the source. */
enum { MASKED_EACH = MASKED_TILE / 256 };

/* Counts true places from `first` on. */
VALUE int masked_count(const cells *mask, int64_t first, int64_t end) {
  int count = 0;
  for (int64_t i = first; i < first + MASKED_EACH && i < end; i++)
    count += LOAD(uint8_t, mask->at + i) != 0;
  return count;
}

VALUE void formula_masked_count(int64_t at, const cells *w, const int64_t *n, const double *d) {
  SHARED(int, counts, 256);
  const int me = threadIdx.x;
  __syncthreads();
  counts[me] = masked_count(&w[0], at * MASKED_TILE + me * MASKED_EACH, n[0]);
  __syncthreads();
  if (me == 0) {
    int64_t all = 0;
    for (int k = 0; k < 256; k++)
      all += (int)counts[k];
    integer_put(&w[1], at, all);
  }
}

/* Mask, counts, source, elements as they are; the result. */
VALUE void formula_masked_taken(int64_t at, const cells *w, const int64_t *n, const double *d) {
  SHARED(int, counts, 256);
  SHARED(int64_t, before, 256);
  const int me = threadIdx.x;
  const int64_t first = at * MASKED_TILE + me * MASKED_EACH;
  int64_t mine = 0, next = 0;
  __syncthreads();
  for (int64_t k = me; k < at; k += 256)
    mine += integer_at(&w[1], k);
  before[me] = mine;
  counts[me] = masked_count(&w[0], first, n[0]);
  __syncthreads();
  for (int k = 0; k < 256; k++)
    next += (int64_t)before[k] + (k < me ? (int)counts[k] : 0);
  for (int64_t i = first; i < first + MASKED_EACH && i < n[0]; i++) {
    const bool is = LOAD(uint8_t, w[0].at + i) != 0, ok = next < n[1];
    refuse_unless(ok || !is, w);
    if (is && ok)
      move_cell_or(&w[4], i, &w[2], next, 0);
    else
      move_cell_or(&w[4], i, &w[3], i, 0);
    next += is;
  }
}
