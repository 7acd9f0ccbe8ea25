/* products.h - the products of rows_f32.c, which includes this behind its registers. */
#ifndef FNZI_ROWS_PRODUCTS_H
#define FNZI_ROWS_PRODUCTS_H

/* --- Products: sums of products along both rows ----------------------------------------------- */
/* 16-bit numbers to 32 bits. */
#if FNZI_ISA == 4
#define WIDEN(h) (bits) _mm512_cvtepu16_epi32((__m256i)(h))
#elif FNZI_ISA == 3
#define WIDEN(h) (bits) _mm256_cvtepu16_epi32((__m128i)(h))
#else
#define WIDEN(h) __builtin_convertvector(h, bits)
#endif

/* Bits of f16 as bits of f32, without an instruction for it. The exponent is short by 112, which a
 * product puts right, for numbers below the normal ones too; infinities and NaN then get an
 * exponent of ones. */
INLINE bits of_f16(bits h) {
  bits shifted = (h & 0x7fff) << 13, special = (bits)((h & 0x7fff) >= 0x7c00);
  vec v = (vec)shifted * 0x1p112f;
  return (bits)v | (special & 0x7f800000) | (h & 0x8000) << 16;
}

#if FNZI_ISA == 4
#define WIDEN_F16(h) (vec) _mm512_cvtph_ps((__m256i)(h))
#elif FNZI_ISA == 3
#define WIDEN_F16(h) (vec) _mm256_cvtph_ps((__m128i)(h))
#else
#define WIDEN_F16(h) (vec) of_f16(WIDEN(h))
#endif

INLINE vec load_bytes(const int8_t *b) {
#if FNZI_ISA == 4
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)b)));
#elif FNZI_ISA == 3
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)b)));
#else
  int8_t bytes __attribute__((vector_size(WIDTH)));
  memcpy(&bytes, b, sizeof bytes);
  return __builtin_convertvector(bytes, vec);
#endif
}

INLINE vec load_kind(const void *b, int64_t at, fnzi_row_kind kind) {
  halves h;
  if (kind == FNZI_ROW_F32)
    return load((const float *)b + at);
  if (kind == FNZI_ROW_I8)
    return load_bytes((const int8_t *)b + at);
  memcpy(&h, (const uint16_t *)b + at, sizeof h);
  return kind == FNZI_ROW_BF16 ? (vec)(WIDEN(h) << 16) : WIDEN_F16(h);
}

INLINE float element(const void *b, int64_t at, fnzi_row_kind kind) {
  float v;
  if (kind == FNZI_ROW_F32)
    return ((const float *)b)[at];
  if (kind == FNZI_ROW_I8)
    return ((const int8_t *)b)[at];
  uint32_t word = ((const uint16_t *)b)[at];
  if (kind == FNZI_ROW_F16)
    return ((vec)of_f16((bits){word}))[0];
  word <<= 16;
  memcpy(&v, &word, sizeof v);
  return v;
}

/* Elements of a second factor that caches near the core do not hold; elements from one address that
 * is read ahead to the next one. */
enum { LARGE_FACTOR = 1 << 16, AHEAD = 16 };

/* The first row that meets the second factor asks for elements that the next step needs, because
 * processors read ahead within a page only. */
INLINE bool reads_ahead(const fnzi_row_dots *d, int64_t i) {
  return i == 0 && d->depth * d->columns >= LARGE_FACTOR;
}
/* Element `at`, or an address after the last one. It goes to the first cache: a factor that the
 * second one holds, as of a recurrent network, would gain nothing. */
INLINE void read_ahead(const fnzi_row_dots *d, int64_t at, fnzi_row_kind kind) {
  at *= fnzi_row_kind_bytes(kind);
  __builtin_prefetch((const void *)((uintptr_t)d->b + (uintptr_t)at));
}

INLINE void put(const fnzi_row_dots *d, int64_t i, int64_t j, float sum) {
  float *c = d->c + i * d->c_row + j;
  float value = d->alpha * sum;
  *c = d->beta != 0 ? d->beta * *c + value : value;
}

/* The sums of a row of a tile. */
INLINE void put_row(const fnzi_row_dots *d, int64_t i, int64_t j, int columns,
                    vec sum[TILE_COLUMNS][PARTS]) {
#if FNZI_ISA == 4
  if (columns == 4) {
    float *c = d->c + i * d->c_row + j;
    __m128 value = fold_each(sum[0][0], sum[1][0], sum[2][0], sum[3][0]) * _mm_set1_ps(d->alpha);
    if (d->beta != 0)
      value = _mm_set1_ps(d->beta) * _mm_loadu_ps(c) + value;
    _mm_storeu_ps(c, value);
    return;
  }
#endif
  _Pragma("GCC unroll 4") for (int c = 0; c < columns; c++) put(d, i, j + c, join_parts(sum[c]));
}

/* One block of the depth: PARTS registers of each row and column. */
#define ADD_BLOCK(at, a_step, b, b_at, b_step, kind)                                               \
  _Pragma("GCC unroll 4") for (int p = 0; p < PARTS; p++)                                          \
      _Pragma("GCC unroll 4") for (int c = 0; c < columns; c++) {                                  \
    vec w = load_kind(b, (b_at) + c * (b_step) + p * WIDTH, kind);                                 \
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) sum[r][c][p] +=                         \
        load((at) + r * (a_step) + p * WIDTH) * w;                                                 \
  }

INLINE void dots_tile(const fnzi_row_dots *d, int64_t i, int64_t j, int rows, int columns,
                      fnzi_row_kind kind) {
  vec sum[TILE_ROWS][TILE_COLUMNS][PARTS] = {{{{0}}}};
  int64_t rest = d->depth % FNZI_ROW_LANES, full = d->depth - rest;
  const float *a = d->a + i * d->a_row;
  int64_t b = j * d->b_row;
  bool ahead = reads_ahead(d, i);
  for (int64_t k = 0; k < full; k += FNZI_ROW_LANES) {
    if (ahead) /* the columns of the next tile */
      _Pragma("GCC unroll 4") for (int c = 0; c < columns; c++)
          read_ahead(d, b + k + (columns + c) * d->b_row, kind);
    ADD_BLOCK(a + k, d->a_row, d->b, b + k, d->b_row, kind)
  }
  if (rest) {
    float a_rest[TILE_ROWS * FNZI_ROW_LANES] = {0}, b_rest[TILE_COLUMNS * FNZI_ROW_LANES] = {0};
    for (int64_t k = 0; k < rest; k++) {
      for (int r = 0; r < rows; r++)
        a_rest[r * FNZI_ROW_LANES + k] = a[r * d->a_row + full + k];
      for (int c = 0; c < columns; c++)
        b_rest[c * FNZI_ROW_LANES + k] = element(d->b, b + c * d->b_row + full + k, kind);
    }
    ADD_BLOCK(a_rest, FNZI_ROW_LANES, b_rest, 0, FNZI_ROW_LANES, FNZI_ROW_F32)
  }
  _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) put_row(d, i + r, j, columns, sum[r]);
}

/* Columns that stay in the innermost cache while all rows pass by. */
INLINE void dots_columns(const fnzi_row_dots *d, int64_t j, int columns, fnzi_row_kind kind) {
  int64_t i = 0;
  for (; i + TILE_ROWS <= d->rows; i += TILE_ROWS)
    dots_tile(d, i, j, TILE_ROWS, columns, kind);
  for (; i < d->rows; i++)
    dots_tile(d, i, j, 1, columns, kind);
}

INLINE void dots(const fnzi_row_dots *d, fnzi_row_kind kind) {
  int64_t j = 0;
  for (; j + TILE_COLUMNS <= d->columns; j += TILE_COLUMNS)
    dots_columns(d, j, TILE_COLUMNS, kind);
  for (; j < d->columns; j++)
    dots_columns(d, j, 1, kind);
}

static void dots_f32(const fnzi_row_dots *d) {
  dots(d, FNZI_ROW_F32);
}
static void dots_bf16(const fnzi_row_dots *d) {
  dots(d, FNZI_ROW_BF16);
}
static void dots_f16(const fnzi_row_dots *d) {
  dots(d, FNZI_ROW_F16);
}
static void dots_i8(const fnzi_row_dots *d) {
  dots(d, FNZI_ROW_I8);
}

/* --- Products: rows of the second factor, one step after the other
 * -------------------------------- */
enum { STEPS = FNZI_ROW_STEPS, STRIP = 512 };

/* `count` columns of row i of the result, from column j on. */
typedef struct piece {
  int64_t i, j, count;
} piece;

/* Adds `steps` rows of b, from row k on, to a piece. */
INLINE void step(const fnzi_row_dots *d, piece p, int64_t k, int steps, fnzi_row_kind kind) {
  const int64_t i = p.i, j = p.j, count = p.count;
  const float *a = d->a + i * d->a_row + k;
  float *c = d->c + i * d->c_row + j;
  int64_t b = k * d->b_row + j, at = 0;
  bool ahead = reads_ahead(d, i);
  vec factor[STEPS];
  for (int s = 0; s < steps; s++)
    factor[s] = splat(a[s]);
  for (; at + WIDTH <= count; at += WIDTH) {
    vec sum = factor[0] * load_kind(d->b, b + at, kind);
    if (ahead && at % AHEAD == 0)
      for (int s = 0; s < steps; s++)
        read_ahead(d, b + at + (steps + s) * d->b_row, kind);
    for (int s = 1; s < steps; s++)
      sum += factor[s] * load_kind(d->b, b + s * d->b_row + at, kind);
    store(c + at, load(c + at) + sum);
  }
  for (; at < count; at++) {
    float sum = a[0] * element(d->b, b + at, kind);
    for (int s = 1; s < steps; s++)
      sum += a[s] * element(d->b, b + s * d->b_row + at, kind);
    c[at] += sum;
  }
}

INLINE void strip(const fnzi_row_dots *d, int64_t j, int64_t count, fnzi_row_kind kind) {
  int64_t k = 0;
  for (; k + STEPS <= d->depth; k += STEPS)
    for (int64_t i = 0; i < d->rows; i++)
      step(d, (piece){i, j, count}, k, STEPS, kind);
  if (k < d->depth)
    for (int64_t i = 0; i < d->rows; i++)
      step(d, (piece){i, j, count}, k, (int)(d->depth - k), kind);
}

INLINE void steps(const fnzi_row_dots *d, fnzi_row_kind kind) {
  for (int64_t i = 0; i < d->rows; i++)
    for (int64_t j = 0; j < d->columns; j++)
      d->c[i * d->c_row + j] = d->beta != 0 ? d->beta * d->c[i * d->c_row + j] : 0;
  for (int64_t j = 0; j < d->columns; j += STRIP)
    strip(d, j, d->columns - j < STRIP ? d->columns - j : STRIP, kind);
}

static void steps_f32(const fnzi_row_dots *d) {
  steps(d, FNZI_ROW_F32);
}
static void steps_bf16(const fnzi_row_dots *d) {
  steps(d, FNZI_ROW_BF16);
}
static void steps_f16(const fnzi_row_dots *d) {
  steps(d, FNZI_ROW_F16);
}
static void steps_i8(const fnzi_row_dots *d) {
  steps(d, FNZI_ROW_I8);
}

#endif
