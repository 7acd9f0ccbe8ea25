/* reflect.c - QR by Householder's reflections, in complex numbers of 64 bits for every type. Signs
 * are LAPACK's: what stays of a column has the sign that its first element has not. */
#include "kernels/cpu/cpu.h"

#include <complex.h>
#include <math.h>

typedef double complex number;

/* A matrix by rows. */
typedef struct matrix {
  int64_t rows, columns;
  number *at;
} matrix;

static number *cell(const matrix *a, int64_t row, int64_t column) {
  return &a->at[row * a->columns + column];
}

static double length_below(const matrix *a, int64_t row, int64_t column) {
  double length = 0;
  for (int64_t r = row; r < a->rows; r++)
    length = hypot(length, cabs(*cell(a, r, column)));
  return length;
}

/* Makes column k end in its diagonal; below it, the reflection's vector takes its place, whose
 * first element is 1. Returns the factor, 0 for no reflection. */
static number reflect_column(const matrix *a, int64_t k) {
  number *first = cell(a, k, k), alpha = *first;
  double below = length_below(a, k + 1, k);
  if (below == 0 && cimag(alpha) == 0)
    return 0;
  double beta = -copysign(hypot(cabs(alpha), below), creal(alpha));
  for (int64_t r = k + 1; r < a->rows; r++)
    *cell(a, r, k) /= alpha - beta;
  *first = beta;
  return (beta - alpha) / beta;
}

/* Columns of `a` from `start` on less factor times v v^H times them; v is what is in column k of
 * `of`. */
static void apply(const matrix *of, int64_t k, number factor, const matrix *a, int64_t start) {
  for (int64_t c = start; c < a->columns; c++) {
    number sum = *cell(a, k, c);
    for (int64_t r = k + 1; r < a->rows; r++)
      sum += conj(*cell(of, r, k)) * *cell(a, r, c);
    *cell(a, k, c) -= factor * sum;
    for (int64_t r = k + 1; r < a->rows; r++)
      *cell(a, r, c) -= factor * *cell(of, r, k) * sum;
  }
}

static void put_q(const matrix *a, int64_t count, const number *factors, const matrix *q) {
  for (int64_t r = 0; r < q->rows; r++)
    for (int64_t c = 0; c < q->columns; c++)
      *cell(q, r, c) = r == c;
  for (int64_t k = count; k-- > 0;)
    apply(a, k, factors[k], q, k);
}

static void put_r(const matrix *a, const matrix *r) {
  for (int64_t i = 0; i < r->rows; i++)
    for (int64_t c = 0; c < r->columns; c++)
      *cell(r, i, c) = i <= c ? *cell(a, i, c) : 0;
}

static int64_t size_at(const fnzi_krn_array *a, uint32_t from_end) {
  return a->geometry.rank >= from_end ? a->geometry.sizes[a->geometry.rank - from_end] : 0;
}

fnz_status fnzi_kernel_qr(fnzi_krn_call *call) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  matrix a = {size_at(x, 2), size_at(x, 1), NULL};
  matrix q = {a.rows, size_at(call->outputs[0], 1), NULL};
  matrix r = {size_at(call->outputs[1], 2), a.columns, NULL};
  bool wants_q = call->outputs[0]->geometry.rank > 1;
  int64_t least = a.rows < a.columns ? a.rows : a.columns, batches = 1;
  const void *from;
  void *q_out, *r_out;
  number *factors;
  FNZ_TRY(fnzi_krn_dense_get_as(call, x, FNZ_C128, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_C128, &q_out));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_C128, &r_out));
  FNZI_NEW(&call->scratch, (size_t)(a.rows * a.columns), &a.at);
  FNZI_NEW(&call->scratch, (size_t)least, &factors);
  for (uint32_t d = 0; d + 2 < x->geometry.rank; d++)
    batches *= x->geometry.sizes[d];
  for (int64_t i = 0; i < batches; i++) {
    int64_t each = a.rows * a.columns;
    memcpy(a.at, (const number *)from + i * each, (size_t)each * sizeof *a.at);
    for (int64_t k = 0; k < least; k++) {
      factors[k] = reflect_column(&a, k);
      apply(&a, k, conj(factors[k]), &a, k + 1);
    }
    q.at = (number *)q_out + i * q.rows * q.columns;
    r.at = (number *)r_out + i * r.rows * r.columns;
    if (wants_q)
      put_q(&a, least, factors, &q);
    put_r(&a, &r);
  }
  return FNZ_OK;
}
