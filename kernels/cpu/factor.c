/* factor.c - matrices factored and solved: LU with pivots, Cholesky and triangles by OpenBLAS. Each
 * matrix of a batch by itself, on one thread. */
#include "kernels/cpu/matmul.h"

#include <cblas.h>
#include <f77blas.h>

void fnzi_cpu_transpose(size_t cell, int64_t rows, int64_t columns, const char *from, char *to) {
  const int64_t sizes[] = {columns, rows}, of_to[] = {rows, 1}, of_from[] = {1, columns};
  fnzi_krn_copy_cells(&(fnzi_krn_copy){2, sizes, to, of_to, from, of_from, cell}, NULL);
}

static int64_t factor_rows_of(const fnzi_krn_array *a) {
  return a->geometry.sizes[a->geometry.rank - 2];
}
static int64_t columns_of(const fnzi_krn_array *a) {
  return a->geometry.sizes[a->geometry.rank - 1];
}
/* How many matrices there are; none when they have no elements. */
static int64_t factor_count_of(const fnzi_krn_array *a) {
  int64_t each = factor_rows_of(a) * columns_of(a);
  return each ? fnzi_krn_array_numel(a) / each : 0;
}

/* Which matrix of an operand belongs to matrix i of the result: its batches are broadcast. */
static int64_t batch_at(const fnz_geometry *operand, const fnz_geometry *result, int64_t i) {
  int64_t at = 0, step = 1;
  uint32_t rank = operand->rank - 2;
  for (uint32_t k = 1; k <= rank; k++) {
    int64_t size = result->sizes[result->rank - 2 - k], mine = operand->sizes[rank - k];
    at += mine == 1 ? 0 : i % size * step;
    i /= size;
    step *= mine;
  }
  return at;
}

/* LAPACK stops at the first column that does not do. */
static fnz_status factor_check_info(const fnzi_krn_call *call, const int32_t *info, int64_t count,
                                    const char *what) {
  for (int64_t i = 0; fnzi_krn_named_bool(call, "check_errors", false) && i < count; i++)
    if (info[i])
      return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                                  "matrix %lld %s: LAPACK stops at column %d", (long long)i, what,
                                  (int)info[i]);
  return FNZ_OK;
}

/* --- LU ---------------------------------------------------------------------------------- */
static blasint factor_lu(fnz_dtype dtype, int64_t rows, int64_t columns, void *a, blasint *pivots) {
  blasint m = (blasint)rows, n = (blasint)columns, info = 0;
  if (dtype == FNZ_F32)
    (void)sgetrf_(&m, &n, a, &m, pivots, &info);
  else if (dtype == FNZ_F64)
    (void)dgetrf_(&m, &n, a, &m, pivots, &info);
  else if (dtype == FNZ_C64)
    (void)cgetrf_(&m, &n, a, &m, pivots, &info);
  else
    (void)zgetrf_(&m, &n, a, &m, pivots, &info);
  return info;
}

fnz_status fnzi_kernel_lu_factor(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = a->geometry.dtype;
  size_t cell = fnzi_dtype(dtype)->bytes;
  int64_t m = factor_rows_of(a), n = columns_of(a), least = m < n ? m : n,
          count = factor_count_of(a);
  const void *from;
  void *lu, *pivots, *info, *room;
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &lu));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I32, &pivots));
  FNZ_TRY(fnzi_krn_result_get_as(call, 2, FNZ_I32, &info));
  FNZ_TRY(fnzi_arena_take(&call->scratch, (size_t)(m * n), cell, &room));
  memset(info, 0, (size_t)fnzi_krn_array_numel(call->outputs[2]) * sizeof(int32_t));
  fnzi_cpu_blas_hold();
  for (int64_t i = 0; i < count; i++) {
    size_t at = (size_t)(i * m * n) * cell;
    fnzi_cpu_transpose(cell, m, n, (const char *)from + at, room);
    ((int32_t *)info)[i] = factor_lu(dtype, m, n, room, (blasint *)pivots + i * least);
    fnzi_cpu_transpose(cell, n, m, room, (char *)lu + at);
  }
  return factor_check_info(call, info, count, "is singular");
}

/* --- Cholesky ---------------------------------------------------------------------------- */
static blasint factor_cholesky(fnz_dtype dtype, char uplo, int64_t size, void *a) {
  blasint n = (blasint)size, info = 0;
  if (dtype == FNZ_F32)
    (void)spotrf_(&uplo, &n, a, &n, &info);
  else if (dtype == FNZ_F64)
    (void)dpotrf_(&uplo, &n, a, &n, &info);
  else if (dtype == FNZ_C64)
    (void)cpotrf_(&uplo, &n, a, &n, &info);
  else
    (void)zpotrf_(&uplo, &n, a, &n, &info);
  return info;
}

/* The upper triangle of the columns is the lower one of the rows. */
fnz_status fnzi_kernel_cholesky(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = a->geometry.dtype;
  size_t cell = fnzi_dtype(dtype)->bytes;
  bool upper = fnzi_krn_named_bool(call, "upper", false);
  int64_t n = factor_rows_of(a), count = factor_count_of(a);
  const void *from;
  void *out, *info;
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &out));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I32, &info));
  memset(info, 0, (size_t)fnzi_krn_array_numel(call->outputs[1]) * sizeof(int32_t));
  fnzi_cpu_blas_hold();
  for (int64_t i = 0; i < count; i++) {
    char *to = (char *)out + (size_t)(i * n * n) * cell;
    memcpy(to, (const char *)from + (size_t)(i * n * n) * cell, (size_t)(n * n) * cell);
    ((int32_t *)info)[i] = factor_cholesky(dtype, upper ? 'L' : 'U', n, to);
    for (int64_t r = 0; r < n; r++)
      memset(to + (size_t)(upper ? r * n : r * n + r + 1) * cell, 0,
             (size_t)(upper ? r : n - r - 1) * cell);
  }
  return factor_check_info(call, info, count, "is not positive-definite");
}

/* --- Triangles --------------------------------------------------------------------------- */
typedef struct triangle {
  enum CBLAS_SIDE side;
  enum CBLAS_UPLO part;
  enum CBLAS_TRANSPOSE trans;
  enum CBLAS_DIAG diagonal;
} triangle;

static void solve_triangle(fnz_dtype dtype, const triangle *t, int64_t rows, int64_t columns,
                           const void *a, void *b) {
  static const float one_c64[] = {1, 0};
  static const double one_c128[] = {1, 0};
  int m = (int)rows, n = (int)columns, order = t->side == CblasLeft ? m : n;
  if (dtype == FNZ_F32)
    cblas_strsm(CblasRowMajor, t->side, t->part, t->trans, t->diagonal, m, n, 1, a, order, b, n);
  else if (dtype == FNZ_F64)
    cblas_dtrsm(CblasRowMajor, t->side, t->part, t->trans, t->diagonal, m, n, 1, a, order, b, n);
  else if (dtype == FNZ_C64)
    cblas_ctrsm(CblasRowMajor, t->side, t->part, t->trans, t->diagonal, m, n, one_c64, a, order, b,
                n);
  else
    cblas_ztrsm(CblasRowMajor, t->side, t->part, t->trans, t->diagonal, m, n, one_c128, a, order, b,
                n);
}

fnz_status fnzi_kernel_solve_triangular(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0), *b = fnzi_krn_call_input(call, 1),
                       *x = call->outputs[0];
  fnz_dtype dtype = x->geometry.dtype;
  size_t cell = fnzi_dtype(dtype)->bytes;
  int64_t n = factor_rows_of(a), each = factor_rows_of(x) * columns_of(x);
  triangle t = {fnzi_krn_named_bool(call, "left", true) ? CblasLeft : CblasRight,
                fnzi_krn_named_bool(call, "upper", true) ? CblasUpper : CblasLower, CblasNoTrans,
                fnzi_krn_named_bool(call, "unitriangular", false) ? CblasUnit : CblasNonUnit};
  const void *triangles, *sides;
  void *out;
  FNZ_TRY(fnzi_krn_dense_get(call, a, &triangles));
  FNZ_TRY(fnzi_krn_dense_get(call, b, &sides));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &out));
  fnzi_cpu_blas_hold();
  for (int64_t i = 0; i < factor_count_of(x); i++) {
    int64_t at = batch_at(&a->geometry, &x->geometry, i);
    char *to = (char *)out + (size_t)(i * each) * cell;
    memcpy(to,
           (const char *)sides + (size_t)(batch_at(&b->geometry, &x->geometry, i) * each) * cell,
           (size_t)each * cell);
    solve_triangle(dtype, &t, factor_rows_of(x), columns_of(x),
                   (const char *)triangles + (size_t)(at * n * n) * cell, to);
  }
  return FNZ_OK;
}

/* --- Solutions by LU --------------------------------------------------------------------- */
static fnz_status check_pivots(const fnzi_krn_call *call, const int32_t *pivots, int64_t count,
                               int64_t n) {
  for (int64_t i = 0; i < count; i++)
    if (pivots[i] < 1 || pivots[i] > n)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "pivot %d is not a row of %lld, counted from 1", (int)pivots[i],
                                  (long long)n);
  return FNZ_OK;
}

/* Unknowns to the left or the right of a matrix of n, and as many right sides. */
typedef struct equation {
  fnz_dtype dtype;
  bool is_left, is_adjoint;
  int64_t n, rows, columns; /* rows and columns: of the unknowns */
} equation;

/* Rows of the unknowns change places as the pivots say, or columns, where they stand to the left:
 * from the first pivot on, or from the last one back. */
static void factor_exchange(const equation *e, bool is_forward, const int32_t *pivots, void *x) {
  int64_t words = (int64_t)(fnzi_dtype(e->dtype)->bytes / sizeof(uint32_t));
  int64_t row = e->columns * words, width = e->is_left ? row : words;
  for (int64_t r = 0; r < (e->is_left ? 1 : e->rows); r++)
    for (int64_t i = 0; i < e->n; i++) {
      int64_t k = is_forward ? i : e->n - 1 - i, other = pivots[k] - 1;
      uint32_t *a = (uint32_t *)x + r * row + k * width;
      uint32_t *b = (uint32_t *)x + r * row + other * width;
      for (int64_t w = 0; a != b && w < width; w++) {
        uint32_t word = a[w];
        a[w] = b[w];
        b[w] = word;
      }
    }
}

/* By rows in place, so nothing is transposed: A = P L U. */
static void solve_equation(const equation *e, const void *lu, const int32_t *pivots, void *x) {
  bool is_lower_first = e->is_left != e->is_adjoint;
  enum CBLAS_SIDE side = e->is_left ? CblasLeft : CblasRight;
  enum CBLAS_TRANSPOSE trans = e->is_adjoint ? CblasConjTrans : CblasNoTrans;
  const triangle parts[] = {{side, CblasUpper, trans, CblasNonUnit},
                            {side, CblasLower, trans, CblasUnit}};
  if (is_lower_first)
    factor_exchange(e, true, pivots, x);
  solve_triangle(e->dtype, &parts[is_lower_first], e->rows, e->columns, lu, x);
  solve_triangle(e->dtype, &parts[!is_lower_first], e->rows, e->columns, lu, x);
  if (!is_lower_first)
    factor_exchange(e, false, pivots, x);
}

fnz_status fnzi_kernel_lu_solve(fnzi_krn_call *call) {
  const fnzi_krn_array *lu = fnzi_krn_call_input(call, 0), *b = fnzi_krn_call_input(call, 2),
                       *x = call->outputs[0];
  equation e = {.dtype = x->geometry.dtype,
                .is_left = fnzi_krn_named_bool(call, "left", true),
                .is_adjoint = fnzi_krn_named_bool(call, "adjoint", false),
                .n = factor_rows_of(lu),
                .rows = factor_rows_of(x),
                .columns = columns_of(x)};
  size_t cell = fnzi_dtype(e.dtype)->bytes, each = (size_t)(e.rows * e.columns) * cell;
  const void *factors, *pivots, *sides;
  void *out;
  FNZ_TRY(fnzi_krn_dense_get(call, lu, &factors));
  FNZ_TRY(fnzi_krn_dense_get(call, fnzi_krn_call_input(call, 1), &pivots));
  FNZ_TRY(check_pivots(call, pivots, fnzi_krn_array_numel(fnzi_krn_call_input(call, 1)), e.n));
  FNZ_TRY(fnzi_krn_dense_get(call, b, &sides));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, e.dtype, &out));
  fnzi_cpu_blas_hold();
  for (int64_t i = 0; i < factor_count_of(x); i++) {
    int64_t at = batch_at(&lu->geometry, &x->geometry, i);
    int64_t side = batch_at(&b->geometry, &x->geometry, i);
    char *to = (char *)out + (size_t)i * each;
    memcpy(to, (const char *)sides + (size_t)side * each, each);
    solve_equation(&e, (const char *)factors + (size_t)(at * e.n * e.n) * cell,
                   (const int32_t *)pivots + at * e.n, to);
  }
  return FNZ_OK;
}

/* --- Three matrices of one --------------------------------------------------------------- */
/* Row i was exchanged with row pivots[i] - 1, one after the other: so are the columns of P. */
static void put_permutation(fnz_dtype dtype, int64_t rows, int64_t count, const int32_t *pivots,
                            int64_t *order, char *out) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  const fnz_arg one = {.tag = FNZ_ARG_INT, .u.i = 1};
  for (int64_t r = 0; r < rows; r++)
    order[r] = r;
  for (int64_t k = 0; k < count; k++) {
    int64_t other = pivots[k] - 1, row = order[k];
    order[k] = order[other];
    order[other] = row;
  }
  memset(out, 0, (size_t)(rows * rows) * cell);
  for (int64_t r = 0; r < rows; r++)
    fnzi_krn_number_cell(&one, dtype, out + (size_t)(order[r] * rows + r) * cell);
}

/* For a matrix of `columns`: the part below its diagonal, with ones on the diagonal, or the
 * rest. */
static void put_part(fnz_dtype dtype, bool is_lower, const char *lu, int64_t columns,
                     const fnzi_krn_array *like, char *out) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  const fnz_arg one = {.tag = FNZ_ARG_INT, .u.i = 1};
  int64_t rows = factor_rows_of(like), width = columns_of(like);
  memset(out, 0, (size_t)(rows * width) * cell);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < width; c++)
      if (is_lower && r == c)
        fnzi_krn_number_cell(&one, dtype, out + (size_t)(r * width + c) * cell);
      else if (is_lower ? c < r : c >= r)
        memcpy(out + (size_t)(r * width + c) * cell, lu + (size_t)(r * columns + c) * cell, cell);
}

fnz_status fnzi_kernel_lu_unpack(fnzi_krn_call *call) {
  const fnzi_krn_array *lu = fnzi_krn_call_input(call, 0), *pivots = fnzi_krn_call_input(call, 1);
  fnzi_krn_array *const *out = call->outputs;
  fnz_dtype dtype = lu->geometry.dtype;
  size_t cell = fnzi_dtype(dtype)->bytes;
  int64_t m = factor_rows_of(lu), n = columns_of(lu), least = m < n ? m : n, *order;
  int64_t batches = m ? fnzi_krn_array_numel(lu) / (n ? m * n : 1) : 0;
  const void *factors, *swaps;
  void *to[3];
  FNZ_TRY(fnzi_krn_dense_get(call, lu, &factors));
  FNZ_TRY(fnzi_krn_dense_get(call, pivots, &swaps));
  FNZ_TRY(check_pivots(call, swaps, fnzi_krn_array_numel(pivots), m));
  for (size_t k = 0; k < 3; k++)
    FNZ_TRY(fnzi_krn_result_get_as(call, k, dtype, &to[k]));
  FNZI_NEW(&call->scratch, (size_t)m, &order);
  if (out[0]->geometry.rank > 1)
    batches = m ? fnzi_krn_array_numel(out[0]) / (m * m) : 0;
  for (int64_t i = 0; i < batches; i++) {
    const char *at = (const char *)factors + (size_t)(i * m * n) * cell;
    if (out[0]->geometry.rank > 1)
      put_permutation(dtype, m, least, (const int32_t *)swaps + i * least, order,
                      (char *)to[0] + (size_t)(i * m * m) * cell);
    for (size_t k = 1; k < 3 && out[k]->geometry.rank > 1; k++)
      put_part(dtype, k == 1, at, n, out[k],
               (char *)to[k] + (size_t)(i * factor_rows_of(out[k]) * columns_of(out[k])) * cell);
  }
  return FNZ_OK;
}
