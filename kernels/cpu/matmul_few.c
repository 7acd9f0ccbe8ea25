/* matmul_few.c - the order of a product, and products with few rows, or one column: own code,
 * because a library packs the whole second factor for each.
 *
 * A product of one column is the transposed one of one row. */
#include "kernels/cpu/matmul.h"

/* Rows, by the kind of the second factor: beyond, panels are faster, which convert it once. */
static const int64_t most_dots[FNZI_ROW_KINDS] = {16, 8, 3, 16};
static const int64_t most_steps[FNZI_ROW_KINDS] = {4, 4, 1, 4};

enum {
  LEAST_DEPTH = 16,
  LARGE = 512 /* in all sizes: the library is faster */
};

/* Both factors by rows: element (i, k) of x, element (j, k) of w. */
typedef struct few {
  const float *x;
  const void *w;
  float *c;
  int64_t rows, columns, depth;
  int64_t x_row, x_step, w_row, w_step, c_row, c_column;
  float alpha, beta;
  fnzi_row_kind kind; /* of w */
} few;

static few few_open(const fnzi_cpu_product *p) {
  few f = {.x = p->a.data, .w = p->b.data, .c = p->c, .rows = p->m, .columns = p->n};
  f.depth = p->k, f.alpha = (float)p->alpha, f.beta = (float)p->beta, f.kind = p->b.kind;
  f.x_row = p->a.row, f.x_step = p->a.col, f.w_row = p->b.col, f.w_step = p->b.row;
  f.c_row = p->c_row, f.c_column = 1;
  if (!fnzi_cpu_product_is_transposed(p))
    return f;
  f.x = p->b.data, f.w = p->a.data, f.kind = p->a.kind, f.rows = 1, f.columns = p->m;
  f.x_row = p->b.col, f.x_step = p->b.row, f.w_row = p->a.row, f.w_step = p->a.col;
  f.c_row = 1, f.c_column = p->c_row;
  return f;
}

fnzi_cpu_order fnzi_cpu_product_order(const fnzi_cpu_product *p, const fnzi_cpu_matrix *a,
                                      const fnzi_cpu_matrix *b) {
  fnzi_cpu_product asked = *p;
  asked.a = *a, asked.b = *b;
  few f = few_open(&asked);
  if (p->dtype != FNZ_F32)
    return FNZI_ORDER_LIBRARY;
  if (p->k >= LEAST_DEPTH && f.x_step == 1 && f.w_step == 1 && f.rows <= most_dots[f.kind])
    return FNZI_ORDER_DOTS;
  if (p->k >= LEAST_DEPTH && f.x_step == 1 && f.w_step != 1 && f.w_row == 1 &&
      f.rows <= most_steps[f.kind] && p->alpha == 1)
    return FNZI_ORDER_STEPS;
  bool is_large = p->m >= LARGE && p->n >= LARGE && p->k >= LARGE;
  is_large = is_large && a->kind == FNZI_ROW_F32 && b->kind == FNZI_ROW_F32;
  return is_large || !fnzi_rows_best()->panels ? FNZI_ORDER_LIBRARY : FNZI_ORDER_PANELS;
}

/* --- Elements that are not in the order of the loops ------------------------------------------ */
static float w_at(const few *f, int64_t j, int64_t k) {
  int64_t at = j * f->w_row + k * f->w_step;
  float v;
  if (f->kind == FNZI_ROW_F32)
    return ((const float *)f->w)[at];
  if (f->kind == FNZI_ROW_I8)
    return ((const int8_t *)f->w)[at];
  fnzi_krn_convert_one(FNZ_F32, &v, f->kind == FNZI_ROW_BF16 ? FNZ_BF16 : FNZ_F16,
                       (const uint16_t *)f->w + at);
  return v;
}

static float slow_dot(const few *f, int64_t i, int64_t j) {
  float sum[FNZI_ROW_LANES] = {0};
  for (int64_t k = 0; k < f->depth; k++)
    sum[k % FNZI_ROW_LANES] += f->x[i * f->x_row + k * f->x_step] * w_at(f, j, k);
  for (int half = FNZI_ROW_LANES / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      sum[k] += sum[k + half];
  return sum[0];
}

static void slow_dots(const few *f) {
  for (int64_t i = 0; i < f->rows; i++)
    for (int64_t j = 0; j < f->columns; j++) {
      float *c = f->c + i * f->c_row + j * f->c_column, sum = f->alpha * slow_dot(f, i, j);
      *c = f->beta != 0 ? f->beta * *c + sum : sum;
    }
}

static float slow_step(const few *f, int64_t i, int64_t j, float sum) {
  for (int64_t k = 0; k < f->depth; k += FNZI_ROW_STEPS) {
    int64_t end = k + FNZI_ROW_STEPS < f->depth ? k + FNZI_ROW_STEPS : f->depth;
    float part = f->x[i * f->x_row + k * f->x_step] * w_at(f, j, k);
    for (int64_t s = k + 1; s < end; s++)
      part += f->x[i * f->x_row + s * f->x_step] * w_at(f, j, s);
    sum += part;
  }
  return sum;
}

static void slow_steps(const few *f) {
  for (int64_t i = 0; i < f->rows; i++)
    for (int64_t j = 0; j < f->columns; j++) {
      float *c = f->c + i * f->c_row + j * f->c_column;
      *c = slow_step(f, i, j, f->beta != 0 ? f->beta * *c : 0);
    }
}

/* --------------------------------------------------------------------------------------------- */
void fnzi_cpu_product_few(const fnzi_cpu_product *p) {
  few f = few_open(p);
  bool is_dots = p->order == FNZI_ORDER_DOTS, fits = f.x_step == 1 && f.c_column == 1;
  const fnzi_rows *rows = fnzi_rows_best();
  fnzi_row_dots d = {f.x,     f.w,     f.c,     f.rows,  f.columns, f.depth,
                     f.x_row, f.w_row, f.c_row, f.alpha, f.beta};
  if (is_dots && fits && f.w_step == 1)
    rows->dots[f.kind](&d);
  else if (is_dots)
    slow_dots(&f);
  else if (fits && f.w_row == 1) {
    d.b_row = f.w_step;
    rows->steps[f.kind](&d);
  } else
    slow_steps(&f);
}
