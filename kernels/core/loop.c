/* loop.c - loops over windows: several operands of one shape, walked row by row. */
#include "kernels/core/convert.h"

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

/* Dimensions that follow one another in every operand become one. */
static void join_dims(fnzi_krn_loop *loop) {
  uint32_t last = 0;
  for (uint32_t i = 1; i < loop->rank; i++) {
    bool joins = true;
    for (uint32_t k = 0; joins && k < loop->operands; k++)
      joins = loop->strides[k][last] == loop->strides[k][i] * loop->sizes[i];
    if (joins) {
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

void fnzi_krn_loop_normalise(fnzi_krn_loop *loop, bool ordered) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < loop->rank; i++)
    if (loop->sizes[i] != 1)
      move_dim(loop, kept++, i);
  loop->rank = kept;
  for (uint32_t i = 1; !ordered && i < loop->rank; i++)
    for (uint32_t j = i; j > 0 && runs_inside(loop, j - 1, j); j--)
      swap_dims(loop, j - 1, j);
  join_dims(loop);
  if (loop->rank == 0) {
    loop->rank = 1;
    loop->sizes[0] = 1;
    for (uint32_t k = 0; k < loop->operands; k++)
      loop->strides[k][0] = 0;
  }
}

typedef struct pieces {
  const fnzi_krn_loop *loop;
  fnzi_row_fn *row;
  const void *user;
  int64_t elements;
} pieces;

static void share_piece(const void *user, int64_t i, int lane) {
  const pieces *p = user;
  int64_t left = p->elements - i * CHUNK;
  (void)lane;
  run_piece(p->loop, p->row, p->user, i * CHUNK, left < CHUNK ? left : CHUNK);
}

/* A loop as its dimensions are. */
static void run_pieces(const fnzi_krn_loop *loop, fnzi_row_fn *row, const void *user,
                       fnzi_krn_team *team) {
  const pieces all = {loop, row, user, total(loop)};
  fnzi_krn_share(team, (all.elements + CHUNK - 1) / CHUNK, share_piece, &all);
}

void fnzi_krn_loop_run(fnzi_krn_loop *loop, fnzi_row_fn *row, const void *user, fnzi_krn_team *team,
                       bool ordered) {
  int64_t n = total(loop);
  if (n == 0)
    return;
  fnzi_krn_loop_normalise(loop, ordered);
  if (ordered)
    run_piece(loop, row, user, 0, n);
  else
    run_pieces(loop, row, user, team);
}

/* --- Copies ----------------------------------------------------------------------------------- */
static void copy_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  fnzi_krn_copy_row(data[0], strides[0], data[1], strides[1], count, *(const size_t *)user);
}

enum { TILE = 16, BLOCK = 4, AHEAD = 2 * TILE };
typedef uint32_t block_row __attribute__((vector_size(BLOCK * sizeof(uint32_t))));

/* Column k of the four rows read is row k of the block written; strides in bytes. */
static void transpose_block(char *dst, int64_t dst_stride, const char *src, int64_t src_stride) {
  block_row a, b, c, d;
  memcpy(&a, src, sizeof a);
  memcpy(&b, src + src_stride, sizeof b);
  memcpy(&c, src + 2 * src_stride, sizeof c);
  memcpy(&d, src + 3 * src_stride, sizeof d);
  block_row ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
            ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
            cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
            cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
  memcpy(dst, &a, sizeof a);
  memcpy(dst + dst_stride, &b, sizeof b);
  memcpy(dst + 2 * dst_stride, &c, sizeof c);
  memcpy(dst + 3 * dst_stride, &d, sizeof d);
}

static void transpose_tile(const fnzi_krn_loop *loop, char *dst, const char *src, int64_t rows,
                           int64_t columns, size_t cell) {
  uint32_t last = loop->rank - 1;
  int64_t step = (int64_t)cell, dst_stride = loop->strides[0][last - 1],
          src_stride = loop->strides[1][last];
  if (cell != sizeof(uint32_t) || rows % BLOCK != 0 || columns % BLOCK != 0) {
    for (int64_t r = 0; r < rows; r++)
      fnzi_krn_copy_row(dst + r * dst_stride, step, src + r * step, src_stride, columns, cell);
    return;
  }
  for (int64_t r = 0; r < rows; r += BLOCK)
    for (int64_t c = 0; c < columns; c += BLOCK)
      transpose_block(dst + r * dst_stride + c * step, dst_stride, src + c * src_stride + r * step,
                      src_stride);
}

/* Tile after tile along the last dimension, at TILE places of the one before it. */
static void transpose_strip(const fnzi_krn_loop *loop, size_t cell, int64_t strip) {
  uint32_t last = loop->rank - 1, row = last - 1;
  int64_t strips = (loop->sizes[row] + TILE - 1) / TILE, first = strip % strips * TILE;
  int64_t rows = loop->sizes[row] - first < TILE ? loop->sizes[row] - first : TILE;
  char *dst = loop->data[0] + first * loop->strides[0][row];
  const char *src = loop->data[1] + first * loop->strides[1][row];
  strip /= strips;
  for (uint32_t i = row; i-- > 0; strip /= loop->sizes[i]) {
    dst += strip % loop->sizes[i] * loop->strides[0][i];
    src += strip % loop->sizes[i] * loop->strides[1][i];
  }
  for (int64_t at = 0; at < loop->sizes[last]; at += TILE) {
    int64_t left = loop->sizes[last] - at;
    /* Each line of the source is of another row, which no processor foresees. */
    int64_t from = at + AHEAD;
    for (int64_t ahead = from; ahead < loop->sizes[last] && ahead < from + TILE; ahead++)
      __builtin_prefetch(src + ahead * loop->strides[1][last]);
    transpose_tile(loop, dst + at * loop->strides[0][last], src + at * loop->strides[1][last], rows,
                   left < TILE ? left : TILE, cell);
  }
}

/* The source may be dense along another dimension than the destination: then rows of either would
 * touch a line of the cache for each cell. Such a dimension is moved to the last but one. */
static bool is_transposed(fnzi_krn_loop *loop, int64_t cell) {
  uint32_t last = loop->rank - 1;
  if (loop->rank < 2 || loop->strides[0][last] != cell || loop->sizes[last] < TILE ||
      loop->strides[1][last] == cell || loop->strides[1][last] == 0)
    return false;
  for (uint32_t i = 0; i < last; i++)
    if (loop->strides[1][i] == cell && loop->sizes[i] >= BLOCK) {
      swap_dims(loop, i, last - 1);
      return true;
    }
  return false;
}

typedef struct strips {
  const fnzi_krn_loop *loop;
  size_t cell;
} strips;

static void share_strip(const void *user, int64_t i, int lane) {
  const strips *s = user;
  (void)lane;
  transpose_strip(s->loop, s->cell, i);
}

void fnzi_krn_loop_copy(fnzi_krn_loop *loop, size_t cell, fnzi_krn_team *team) {
  if (total(loop) == 0)
    return;
  fnzi_krn_loop_normalise(loop, false);
  if (is_transposed(loop, (int64_t)cell)) {
    const strips all = {loop, cell};
    int64_t count = (loop->sizes[loop->rank - 2] + TILE - 1) / TILE;
    for (uint32_t i = 0; i + 2 < loop->rank; i++)
      count *= loop->sizes[i];
    fnzi_krn_share(total(loop) > CHUNK ? team : NULL, count, share_strip, &all);
    return;
  }
  uint32_t last = loop->rank - 1;
  if (last > 0 && loop->sizes[last] < TILE && loop->sizes[last - 1] > loop->sizes[last] &&
      loop->strides[1][last] != (int64_t)cell)
    swap_dims(loop, last - 1, last); /* longer rows */
  run_pieces(loop, copy_row, &cell, team);
}

void fnzi_krn_copy_cells(const fnzi_krn_copy *c, fnzi_krn_team *team) {
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, c->rank, c->sizes);
  fnzi_krn_loop_add(&loop, c->to, c->rank, c->sizes, c->to_strides, c->cell);
  fnzi_krn_loop_add(&loop, c->from, c->rank, c->sizes, c->from_strides, c->cell);
  fnzi_krn_loop_copy(&loop, c->cell, team);
}
