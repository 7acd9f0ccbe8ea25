/* matmul_product.c - one matrix product: own loops for F32 and integers; oneDNN for large ones of
 * F32, OpenBLAS for the rest. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/onednn_guard.h"
#include "kernels/cpu/sizes.h"
#include "kernels/rows/folds.h"

#include <cblas.h>

enum { TILE_ROWS = 256, TILE_COLS = 512 };

void fnzi_cpu_blas_hold(void) {
  if (openblas_get_num_threads() != 1)
    openblas_set_num_threads(1);
}

bool fnzi_cpu_product_dtype(fnz_dtype dtype, fnz_dtype *out) {
  if (dtype == FNZ_F64 || fnzi_is_complex(dtype))
    *out = dtype;
  else if (fnzi_is_float(dtype))
    *out = FNZ_F32;
  else
    *out = fnzi_dtype(dtype)->bytes > sizeof(int32_t) ? FNZ_I64 : FNZ_I32;
  return fnzi_is_float(dtype) || fnzi_is_integer(dtype) || dtype == FNZ_C64 || dtype == FNZ_C128;
}

static bool is_row_major(int64_t cols, int64_t row, int64_t col) {
  return col == 1 && row >= cols;
}

bool fnzi_cpu_matrix_fits(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  if (rows > INT32_MAX || cols > INT32_MAX || row > INT32_MAX || col > INT32_MAX)
    return false;
  return is_row_major(cols, row, col) || is_row_major(rows, col, row);
}

/* A matrix as BLAS takes it: row-major, or the transpose of a row-major one. */
typedef struct layout {
  CBLAS_TRANSPOSE trans;
  int lead;
} layout;

static layout layout_of(const fnzi_cpu_matrix *x, int64_t cols) {
  bool row_major = is_row_major(cols, x->row, x->col);
  int64_t lead = row_major ? x->row : x->col;
  return (layout){row_major ? CblasNoTrans : CblasTrans, lead > 0 ? (int)lead : 1};
}

#ifdef __x86_64__
static dnnl_status_t multiply_f32(void *user) {
  const fnzi_cpu_product *p = user;
  layout a = layout_of(&p->a, p->k), b = layout_of(&p->b, p->n);
  return dnnl_sgemm(a.trans == CblasTrans ? 'T' : 'N', b.trans == CblasTrans ? 'T' : 'N', p->m,
                    p->n, p->k, (float)p->alpha, p->a.data, a.lead, p->b.data, b.lead,
                    (float)p->beta, p->c, p->c_row);
}
#endif

/* OpenBLAS knows processors by their model, and takes SSE3 on one that is newer than itself: a
 * sixth of the speed. oneDNN asks which instructions there are, but has loops of its own for x86
 * alone. It writes nothing when k is 0. It computes nothing when memory is short; OpenBLAS does
 * then, with other last places. */
static void run_f32(const fnzi_cpu_product *p) {
#ifdef __x86_64__
  fnzi_cpu_product copy = *p;
  if (p->k && fnzi_cpu_onednn_guard(multiply_f32, &copy) == dnnl_success)
    return;
#endif
  layout a = layout_of(&p->a, p->k), b = layout_of(&p->b, p->n);
  cblas_sgemm(CblasRowMajor, a.trans, b.trans, (int)p->m, (int)p->n, (int)p->k, (float)p->alpha,
              p->a.data, a.lead, p->b.data, b.lead, (float)p->beta, p->c, (int)p->c_row);
}

static void run_f64(const fnzi_cpu_product *p) {
  layout a = layout_of(&p->a, p->k), b = layout_of(&p->b, p->n);
  cblas_dgemm(CblasRowMajor, a.trans, b.trans, (int)p->m, (int)p->n, (int)p->k, p->alpha, p->a.data,
              a.lead, p->b.data, b.lead, p->beta, p->c, (int)p->c_row);
}

static void run_c64(const fnzi_cpu_product *p) {
  layout a = layout_of(&p->a, p->k), b = layout_of(&p->b, p->n);
  float alpha[2] = {(float)p->alpha, 0}, beta[2] = {(float)p->beta, 0};
  cblas_cgemm(CblasRowMajor, a.trans, b.trans, (int)p->m, (int)p->n, (int)p->k, alpha, p->a.data,
              a.lead, p->b.data, b.lead, beta, p->c, (int)p->c_row);
}

static void run_c128(const fnzi_cpu_product *p) {
  layout a = layout_of(&p->a, p->k), b = layout_of(&p->b, p->n);
  double alpha[2] = {p->alpha, 0}, beta[2] = {p->beta, 0};
  cblas_zgemm(CblasRowMajor, a.trans, b.trans, (int)p->m, (int)p->n, (int)p->k, alpha, p->a.data,
              a.lead, p->b.data, b.lead, beta, p->c, (int)p->c_row);
}

/* As conversions on x86: what does not fit is the smallest number. */
static uint64_t whole(double v) {
  return (uint64_t)(v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN);
}

/* A part of the second factor side by side, then all rows over it. Integers wrap, which only
 * unsigned arithmetic promises. */
enum { DEEP = 64 };

#define WHOLE(bits)                                                                                \
  static void pack_##bits(const fnzi_cpu_product *p, int64_t k, int64_t j,                         \
                          uint##bits##_t to[DEEP][FNZI_FOLD_COLUMNS]) {                            \
    const uint##bits##_t *b = (const uint##bits##_t *)p->b.data + k * p->b.row + j * p->b.col;     \
    int64_t rows = fnzi_cpu_least(DEEP, p->k - k);                                                 \
    int64_t columns = fnzi_cpu_least(FNZI_FOLD_COLUMNS, p->n - j);                                 \
    for (int64_t i = 0; i < rows; i++)                                                             \
      for (int64_t s = 0; s < FNZI_FOLD_COLUMNS; s++)                                              \
        to[i][s] = s < columns ? b[i * p->b.row + s * p->b.col] : 0;                               \
  }                                                                                                \
  static void put_##bits(const fnzi_cpu_product *p, int64_t at, int64_t columns, bool is_first,    \
                         const uint##bits##_t *sums) {                                             \
    uint##bits##_t *c = (uint##bits##_t *)p->c + at, alpha = (uint##bits##_t)whole(p->alpha);      \
    uint##bits##_t beta = is_first ? (uint##bits##_t)whole(p->beta) : 1;                           \
    for (int64_t s = 0; s < columns; s++)                                                          \
      c[s] = (beta ? beta * c[s] : 0) + alpha * sums[s];                                           \
  }                                                                                                \
  static void rows_##bits(const fnzi_cpu_product *p, int64_t k, int64_t j,                         \
                          uint##bits##_t packed[DEEP][FNZI_FOLD_COLUMNS]) {                        \
    uint##bits##_t sums[FNZI_FOLD_MOST_ROWS][FNZI_FOLD_COLUMNS];                                   \
    fnzi_fold_product f = {.b = packed, .sums = sums, .a_row = p->a.row, .a_step = p->a.col};      \
    f.depth = fnzi_cpu_least(DEEP, p->k - k);                                                      \
    for (int64_t i = 0; i < p->m; i += f.rows) {                                                   \
      f.a = (const uint##bits##_t *)p->a.data + i * p->a.row + k * p->a.col;                       \
      f.rows = (int)fnzi_cpu_least(FNZI_FOLD_MOST_ROWS, p->m - i);                                 \
      memset(sums, 0, sizeof sums);                                                                \
      fnzi_folds_best()->products[bits == 64](&f);                                                 \
      for (int r = 0; r < f.rows; r++)                                                             \
        put_##bits(p, (i + r) * p->c_row + j, fnzi_cpu_least(FNZI_FOLD_COLUMNS, p->n - j), !k,     \
                   sums[r]);                                                                       \
    }                                                                                              \
  }                                                                                                \
  static void run_whole_##bits(const fnzi_cpu_product *p) {                                        \
    uint##bits##_t packed[DEEP][FNZI_FOLD_COLUMNS];                                                \
    for (int64_t j = 0; j < p->n; j += FNZI_FOLD_COLUMNS) {                                        \
      int64_t k = 0;                                                                               \
      do {                                                                                         \
        pack_##bits(p, k, j, packed);                                                              \
        rows_##bits(p, k, j, packed);                                                              \
        k += DEEP;                                                                                 \
      } while (k < p->k);                                                                          \
    }                                                                                              \
  }
WHOLE(32)
WHOLE(64)
#undef WHOLE

void fnzi_cpu_product_run(const fnzi_cpu_product *p, int lane) {
  if (!p->m || !p->n)
    return;
  if (fnzi_is_integer(p->dtype)) {
    (p->dtype == FNZ_I32 ? run_whole_32 : run_whole_64)(p);
    return;
  }
  if (p->order == FNZI_ORDER_PANELS) {
    fnzi_cpu_product_panels(p, lane);
    return;
  }
  if (p->order != FNZI_ORDER_LIBRARY) {
    fnzi_cpu_product_few(p);
    return;
  }
  fnzi_cpu_blas_hold();
  if (p->dtype == FNZ_F32)
    run_f32(p);
  else if (p->dtype == FNZ_F64)
    run_f64(p);
  else if (p->dtype == FNZ_C64)
    run_c64(p);
  else
    run_c128(p);
}

static void *matmul_product_moved(const fnzi_cpu_product *p, const void *data, fnzi_row_kind kind,
                                  int64_t by) {
  by *= kind == FNZI_ROW_F32 ? (int64_t)fnzi_dtype(p->dtype)->bytes : fnzi_row_kind_bytes(kind);
  return (void *)((uintptr_t)data + (uintptr_t)by);
}

/* Tile `at`, by rows of tiles. */
static void matmul_product_run_tile(const void *user, int64_t at, int lane) {
  const fnzi_cpu_product *p = user;
  int64_t cols = fnzi_cpu_parts(p->n, TILE_COLS);
  int64_t i = at / cols * TILE_ROWS, j = at % cols * TILE_COLS;
  fnzi_cpu_product tile = *p;
  (void)lane;
  tile.m = fnzi_cpu_least(TILE_ROWS, p->m - i);
  tile.n = fnzi_cpu_least(TILE_COLS, p->n - j);
  tile.a.data = matmul_product_moved(p, p->a.data, p->a.kind, i * p->a.row);
  tile.b.data = matmul_product_moved(p, p->b.data, p->b.kind, j * p->b.col);
  tile.c = matmul_product_moved(p, p->c, FNZI_ROW_F32, i * p->c_row + j);
  fnzi_cpu_product_run(&tile, 0);
}

void fnzi_cpu_product_run_tiled(const fnzi_cpu_product *p, fnzi_krn_team *team) {
  int64_t rows = fnzi_cpu_parts(p->m, TILE_ROWS), cols = fnzi_cpu_parts(p->n, TILE_COLS);
  if (p->order == FNZI_ORDER_PANELS && p->m && p->n) {
    fnzi_cpu_product_panels_tiled(p, team);
    return;
  }
  fnzi_krn_share(team, rows * cols, matmul_product_run_tile, p);
}
