/* factor.c - shapes of factorizations of matrices and of solutions by them. Results lie as LAPACK
 * leaves them, column after column. */
#include "kernels/core/core.h"

/* A matrix, or a batch of them. */
static fnz_status check_sizes(const fnzi_krn_call *call, size_t i, const fnz_geometry **out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, i);
  const char *name = call->op->params[i].name;
  *out = g;
  if (g->rank < 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s has %u dimensions; it needs at least 2",
                                name, g->rank);
  if (g->sizes[g->rank - 1] > INT32_MAX || g->sizes[g->rank - 2] > INT32_MAX)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "%s has more than %d rows or columns", name,
                                INT32_MAX);
  return FNZ_OK;
}

/* The matrix has a type that LAPACK knows. */
static fnz_status check_matrix(const fnzi_krn_call *call, size_t i, const fnz_geometry **out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, i);
  *out = g;
  if (g->dtype != FNZ_F32 && g->dtype != FNZ_F64 && g->dtype != FNZ_C64 && g->dtype != FNZ_C128)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s is %s; it must be f32, f64, c64 or c128",
                                call->op->params[i].name, fnzi_dtype(g->dtype)->name);
  return check_sizes(call, i, out);
}

static fnz_status check_square(const fnzi_krn_call *call, size_t i, const fnz_geometry **out) {
  FNZ_TRY(check_matrix(call, i, out));
  int64_t rows = (*out)->sizes[(*out)->rank - 2], columns = (*out)->sizes[(*out)->rank - 1];
  if (rows == columns)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s is of %lld by %lld; it must be square",
                              call->op->params[i].name, (long long)rows, (long long)columns);
}

static fnz_status check_same_dtype(const fnzi_krn_call *call, size_t i, size_t k) {
  fnz_dtype a = fnzi_krn_call_geometry(call, i)->dtype, b = fnzi_krn_call_geometry(call, k)->dtype;
  if (a == b)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s is %s, %s is %s; cast one of them",
                              call->op->params[i].name, fnzi_dtype(a)->name,
                              call->op->params[k].name, fnzi_dtype(b)->name);
}

/* Column after column. */
static fnz_status add_columns(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank,
                              const int64_t *sizes) {
  int64_t strides[FNZ_MAX_RANK];
  FNZ_TRY(fnzi_krn_sizes_check(call->ctx, rank, sizes, fnzi_dtype(dtype)->bytes));
  fnzi_contiguous_strides(sizes, rank, strides);
  strides[rank - 2] = 1;
  strides[rank - 1] = sizes[rank - 2] > 1 ? sizes[rank - 2] : 1;
  return fnzi_shape_add(call, dtype, rank, sizes, strides);
}

static int64_t least(const fnz_geometry *g) {
  int64_t rows = g->sizes[g->rank - 2], columns = g->sizes[g->rank - 1];
  return rows < columns ? rows : columns;
}

fnz_status fnzi_shape_lu_factor(fnzi_krn_call *call) {
  const fnz_geometry *a;
  int64_t sizes[FNZ_MAX_RANK];
  FNZ_TRY(check_matrix(call, 0, &a));
  if (!fnzi_krn_named_bool(call, "pivot", true))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "pivot is False; without pivots nothing is factored on a CPU");
  memcpy(sizes, a->sizes, a->rank * sizeof *sizes);
  FNZ_TRY(add_columns(call, a->dtype, a->rank, sizes));
  sizes[a->rank - 2] = least(a);
  FNZ_TRY(fnzi_shape_add(call, FNZ_I32, a->rank - 1, sizes, NULL));
  return fnzi_shape_add(call, FNZ_I32, a->rank - 2, sizes, NULL);
}

fnz_status fnzi_shape_cholesky(fnzi_krn_call *call) {
  const fnz_geometry *a;
  FNZ_TRY(check_square(call, 0, &a));
  FNZ_TRY(add_columns(call, a->dtype, a->rank, a->sizes));
  return fnzi_shape_add(call, FNZ_I32, a->rank - 2, a->sizes, NULL);
}

/* Sizes of the unknowns: of the right side, with the batches of both. */
static fnz_status unknowns(fnzi_krn_call *call, const fnz_geometry *a, const fnz_geometry *b,
                           bool is_left, uint32_t *rank, int64_t *sizes) {
  fnz_geometry batch_a = *a, batch_b = *b;
  int64_t n = a->sizes[a->rank - 1], have = b->sizes[b->rank - (is_left ? 2 : 1)];
  if (n != have)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS, "matrices of %lld by %lld do not go with %lld %s on the other side",
        (long long)n, (long long)n, (long long)have, is_left ? "rows" : "columns");
  batch_a.rank -= 2;
  batch_b.rank -= 2;
  FNZ_TRY(
      fnzi_meta_broadcast(call, (const fnz_geometry *const[]){&batch_a, &batch_b}, 2, rank, sizes));
  sizes[(*rank)++] = b->sizes[b->rank - 2];
  sizes[(*rank)++] = b->sizes[b->rank - 1];
  return FNZ_OK;
}

fnz_status fnzi_shape_solve_triangular(fnzi_krn_call *call) {
  const fnz_geometry *a, *b;
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  FNZ_TRY(check_square(call, 0, &a));
  FNZ_TRY(check_matrix(call, 1, &b));
  FNZ_TRY(check_same_dtype(call, 0, 1));
  FNZ_TRY(unknowns(call, a, b, fnzi_krn_named_bool(call, "left", true), &rank, sizes));
  return add_columns(call, a->dtype, rank, sizes);
}

fnz_status fnzi_shape_lu_solve(fnzi_krn_call *call) {
  const fnz_geometry *lu, *b;
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  bool is_left = fnzi_krn_named_bool(call, "left", true);
  FNZ_TRY(check_square(call, 0, &lu));
  const fnz_geometry *p = fnzi_krn_call_geometry(call, 1);
  bool fits = p->dtype == FNZ_I32 && p->rank + 1 == lu->rank;
  for (uint32_t d = 0; fits && d < p->rank; d++)
    fits = p->sizes[d] == lu->sizes[d];
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "%s must be i32, and as many for each matrix as that has rows",
                                call->op->params[1].name);
  FNZ_TRY(check_matrix(call, 2, &b));
  FNZ_TRY(check_same_dtype(call, 0, 2));
  FNZ_TRY(unknowns(call, lu, b, is_left, &rank, sizes));
  if (is_left)
    return add_columns(call, lu->dtype, rank, sizes);
  return fnzi_shape_add(call, lu->dtype, rank, sizes, NULL);
}

fnz_status fnzi_shape_qr(fnzi_krn_call *call) {
  const fnz_geometry *a;
  const char *mode = fnzi_krn_named_string(call, "mode");
  bool reduced = strcmp(mode, "reduced") == 0, complete = strcmp(mode, "complete") == 0;
  int64_t q[FNZ_MAX_RANK], r[FNZ_MAX_RANK], none = 0;
  FNZ_TRY(check_matrix(call, 0, &a));
  if (!reduced && !complete && strcmp(mode, "r") != 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                                "mode is %s; it must be reduced, complete or r", mode);
  memcpy(q, a->sizes, a->rank * sizeof *q);
  memcpy(r, a->sizes, a->rank * sizeof *r);
  q[a->rank - 1] = complete ? a->sizes[a->rank - 2] : least(a);
  r[a->rank - 2] = q[a->rank - 1];
  if (reduced || complete)
    FNZ_TRY(add_columns(call, a->dtype, a->rank, q));
  else
    FNZ_TRY(fnzi_shape_add(call, a->dtype, 1, &none, NULL));
  return add_columns(call, a->dtype, a->rank, r);
}

/* P, L and U, by rows; of one dimension and empty what is not wanted. */
fnz_status fnzi_shape_lu_unpack(fnzi_krn_call *call) {
  const fnz_geometry *lu, *p = fnzi_krn_call_geometry(call, 1);
  int64_t sizes[FNZ_MAX_RANK], none = 0;
  bool data = fnzi_krn_named_bool(call, "unpack_data", true);
  bool pivots = fnzi_krn_named_bool(call, "unpack_pivots", true);
  FNZ_TRY(check_sizes(call, 0, &lu));
  if (p->dtype != FNZ_I32 || p->rank + 1 != lu->rank || p->sizes[p->rank - 1] != least(lu))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "%s must be i32, as many as a matrix has columns "
                                "or rows",
                                call->op->params[1].name);
  for (uint32_t d = 0; d + 2 < lu->rank; d++)
    if (p->sizes[d] != lu->sizes[d])
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS, "dimension %u of %s is %lld, and %lld of the matrices", d,
          call->op->params[1].name, (long long)p->sizes[d], (long long)lu->sizes[d]);
  memcpy(sizes, lu->sizes, lu->rank * sizeof *sizes);
  int64_t *rows = &sizes[lu->rank - 2], *columns = &sizes[lu->rank - 1];
  *columns = *rows;
  FNZ_TRY(fnzi_shape_add(call, lu->dtype, pivots ? lu->rank : 1, pivots ? sizes : &none, NULL));
  *columns = least(lu);
  FNZ_TRY(fnzi_shape_add(call, lu->dtype, data ? lu->rank : 1, data ? sizes : &none, NULL));
  *rows = least(lu);
  *columns = lu->sizes[lu->rank - 1];
  return fnzi_shape_add(call, lu->dtype, data ? lu->rank : 1, data ? sizes : &none, NULL);
}

/* --- Spectra ------------------------------------------------------------------------------ */
static fnz_dtype magnitude_of(fnz_dtype dtype) {
  return dtype == FNZ_C64 ? FNZ_F32 : dtype == FNZ_C128 ? FNZ_F64 : dtype;
}

static fnz_status add_none(fnzi_krn_call *call, fnz_dtype dtype) {
  const int64_t none = 0;
  return fnzi_shape_add(call, dtype, 1, &none, NULL);
}

/* Eigenvalues from the smallest, and vectors by columns. */
fnz_status fnzi_shape_eigh(fnzi_krn_call *call) {
  const fnz_geometry *a;
  const char *part = fnzi_krn_named_string(call, "UPLO");
  FNZ_TRY(check_square(call, 0, &a));
  if (!part[0] || part[1] || !strchr("LUlu", part[0]))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT, "UPLO is \"%s\"; it must be L or U",
                                part);
  FNZ_TRY(fnzi_shape_add(call, magnitude_of(a->dtype), a->rank - 1, a->sizes, NULL));
  if (!fnzi_krn_named_bool(call, "compute_v", true))
    return add_none(call, a->dtype);
  return add_columns(call, a->dtype, a->rank, a->sizes);
}

/* U, S and V^H, the first and the last by columns; of one dimension and empty what is not wanted.
 */
fnz_status fnzi_shape_svd(fnzi_krn_call *call) {
  const fnz_geometry *a;
  int64_t sizes[FNZ_MAX_RANK];
  bool vectors = fnzi_krn_named_bool(call, "compute_uv", true),
       full = fnzi_krn_named_bool(call, "full_matrices", false);
  FNZ_TRY(check_matrix(call, 0, &a));
  const fnz_arg *driver = fnzi_krn_named(call, "driver");
  if (driver && driver->tag != FNZ_ARG_NONE && driver->tag != FNZ_ARG_DEFAULT)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "driver is given; on a CPU there is one only, leave it out");
  memcpy(sizes, a->sizes, a->rank * sizeof *sizes);
  int64_t *rows = &sizes[a->rank - 2], *columns = &sizes[a->rank - 1];
  *columns = full ? *rows : least(a);
  FNZ_TRY(vectors ? add_columns(call, a->dtype, a->rank, sizes) : add_none(call, a->dtype));
  *rows = least(a);
  FNZ_TRY(fnzi_shape_add(call, magnitude_of(a->dtype), a->rank - 1, sizes, NULL));
  *columns = a->sizes[a->rank - 1];
  *rows = full ? *columns : least(a);
  return vectors ? add_columns(call, a->dtype, a->rank, sizes) : add_none(call, a->dtype);
}
