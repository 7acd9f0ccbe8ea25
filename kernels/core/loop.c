/* index_map.c - loops over windows: several operands of one shape, walked row by row. */
#include "kernels/core/core.h"

enum { CHUNK = 16384 }; /* elements per piece of work, whatever the number of threads */

void fnzi_krn_loop_start(fnzi_krn_loop *loop, uint32_t rank, const int64_t *sizes) {
  loop->rank = rank;
  loop->operands = 0;
  for (uint32_t i = 0; i < rank; i++)
    loop->sizes[i] = sizes[i];
}

void fnzi_krn_loop_add(fnzi_krn_loop *loop, const void *data, uint32_t rank, const int64_t *sizes,
                       const int64_t *strides, size_t cell) {
  int64_t *out = loop->strides[loop->operands];
  uint32_t missing = loop->rank - rank;
  for (uint32_t i = 0; i < loop->rank; i++)
    out[i] = i < missing || sizes[i - missing] == 1
                 ? 0
                 : fnzi_krn_stride_bytes(strides[i - missing], cell);
  loop->data[loop->operands++] = (char *)(uintptr_t)data;
}

static void move_dim(fnzi_krn_loop *loop, uint32_t to, uint32_t from) {
  loop->sizes[to] = loop->sizes[from];
  for (uint32_t k = 0; k < loop->operands; k++)
    loop->strides[k][to] = loop->strides[k][from];
}

static void drop_ones(fnzi_krn_loop *loop) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < loop->rank; i++)
    if (loop->sizes[i] != 1)
      move_dim(loop, kept++, i);
  loop->rank = kept;
}

static bool joins(const fnzi_krn_loop *loop, uint32_t outer, uint32_t inner) {
  for (uint32_t k = 0; k < loop->operands; k++)
    if (loop->strides[k][outer] != loop->strides[k][inner] * loop->sizes[inner])
      return false;
  return true;
}

/* Dimensions that follow one another in every operand become one. */
static void join_dims(fnzi_krn_loop *loop) {
  uint32_t last = 0;
  for (uint32_t i = 1; i < loop->rank; i++) {
    if (joins(loop, last, i)) {
      int64_t size = loop->sizes[last] * loop->sizes[i];
      move_dim(loop, last, i);
      loop->sizes[last] = size;
    } else if (++last != i) {
      move_dim(loop, last, i);
    }
  }
  loop->rank = loop->rank ? last + 1 : 0;
}

/* Operand 0 is the one written, so its order counts first. */
static bool runs_inside(const fnzi_krn_loop *loop, uint32_t a, uint32_t b) {
  for (uint32_t k = 0; k < loop->operands; k++) {
    int64_t x = loop->strides[k][a], y = loop->strides[k][b];
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    if (x != y)
      return x < y;
  }
  return false;
}

static void swap_dims(fnzi_krn_loop *loop, uint32_t a, uint32_t b) {
  int64_t t = loop->sizes[a];
  loop->sizes[a] = loop->sizes[b];
  loop->sizes[b] = t;
  for (uint32_t k = 0; k < loop->operands; k++) {
    t = loop->strides[k][a];
    loop->strides[k][a] = loop->strides[k][b];
    loop->strides[k][b] = t;
  }
}

static void sort_dims(fnzi_krn_loop *loop) {
  for (uint32_t i = 1; i < loop->rank; i++)
    for (uint32_t j = i; j > 0 && runs_inside(loop, j - 1, j); j--)
      swap_dims(loop, j - 1, j);
}

/* Runs `count` elements from position `start` of the walk. */
static void run_piece(const fnzi_krn_loop *loop, fnzi_row_fn *row, const void *user, int64_t start,
                      int64_t count) {
  int64_t index[FNZ_MAX_RANK], inner[FNZI_LOOP_OPERANDS];
  char *data[FNZI_LOOP_OPERANDS];
  uint32_t last = loop->rank - 1;
  for (uint32_t i = loop->rank; i-- > 0; start /= loop->sizes[i])
    index[i] = start % loop->sizes[i];
  for (uint32_t k = 0; k < loop->operands; k++)
    inner[k] = loop->strides[k][last];
  while (count > 0) {
    int64_t n = loop->sizes[last] - index[last];
    n = n < count ? n : count;
    for (uint32_t k = 0; k < loop->operands; k++) {
      data[k] = loop->data[k];
      for (uint32_t i = 0; i < loop->rank; i++)
        data[k] += index[i] * loop->strides[k][i];
    }
    row(user, data, inner, n);
    count -= n;
    index[last] = 0;
    for (uint32_t i = last; i-- > 0 && ++index[i] == loop->sizes[i];)
      index[i] = 0;
  }
}

static int64_t total(const fnzi_krn_loop *loop) {
  int64_t n = 1;
  for (uint32_t i = 0; i < loop->rank; i++)
    n *= loop->sizes[i];
  return n;
}

void fnzi_krn_loop_run(fnzi_krn_loop *loop, fnzi_row_fn *row, const void *user, int threads,
                       bool ordered) {
  int64_t n = total(loop);
  (void)threads; /* of no use in a build without OpenMP */
  if (n == 0)
    return;
  drop_ones(loop);
  if (!ordered)
    sort_dims(loop);
  join_dims(loop);
  if (loop->rank == 0) {
    loop->rank = 1;
    loop->sizes[0] = 1;
    for (uint32_t k = 0; k < loop->operands; k++)
      loop->strides[k][0] = 0;
  }
  int64_t pieces = (n + CHUNK - 1) / CHUNK;
  if (ordered || pieces == 1) {
    run_piece(loop, row, user, 0, n);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t i = 0; i < pieces; i++)
    run_piece(loop, row, user, i * CHUNK, i + 1 < pieces ? CHUNK : n - i * CHUNK);
}

static void copy_8(char *const *data, const int64_t *strides, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    memcpy(data[0] + i * strides[0], data[1] + i * strides[1], 8);
}

static void copy_4(char *const *data, const int64_t *strides, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    memcpy(data[0] + i * strides[0], data[1] + i * strides[1], 4);
}

static void copy_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  size_t cell = *(const size_t *)user;
  if (strides[0] == (int64_t)cell && strides[1] == (int64_t)cell) {
    memcpy(data[0], data[1], cell * (size_t)count);
    return;
  }
  if (cell == 4) {
    copy_4(data, strides, count);
    return;
  }
  if (cell == 8) {
    copy_8(data, strides, count);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    memcpy(data[0] + i * strides[0], data[1] + i * strides[1], cell);
}

void fnzi_krn_copy_cells(uint32_t rank, const int64_t *sizes, void *dst, const int64_t *dst_strides,
                         const void *src, const int64_t *src_strides, size_t cell, int threads) {
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, rank, sizes);
  fnzi_krn_loop_add(&loop, dst, rank, sizes, dst_strides, cell);
  fnzi_krn_loop_add(&loop, src, rank, sizes, src_strides, cell);
  fnzi_krn_loop_run(&loop, copy_row, &cell, threads, false);
}
