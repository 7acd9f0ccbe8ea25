/* norms.c - products and norms of vectors and matrices by sums and powers: linalg_vecdot,
 * linalg_norm, linalg_matrix_norm and their older forms. */
#include "kernels/decomp/decomp.h"

#include <math.h>

static void need_inexact(fnzi_dec_steps *s, const char *name, const fnzi_krn_array *a) {
  if (s->status == FNZ_OK && !fnzi_is_float(fnzi_dec_array_dtype(a)) &&
      !fnzi_is_complex(fnzi_dec_array_dtype(a)))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s; cast it to a floating-point type", name,
                    fnzi_dtype(fnzi_dec_array_dtype(a))->name);
}

DECOMP(vecdot) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "x"), *y = fnzi_dec_given_array(s, "y");
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  need_inexact(s, "x", x);
  if (fnzi_dec_array_dtype(y) != dtype)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "x is %s, y %s; both must be the same",
                    fnzi_dtype(dtype)->name, fnzi_dtype(fnzi_dec_array_dtype(y))->name);
  fnz_dtype wide = fnzi_dec_wide(dtype);
  x = fnzi_dec_cast(s, fnzi_is_complex(dtype) ? STEP(conj_physical, V(x)) : x, wide);
  fnzi_krn_array *products = MUL(x, fnzi_dec_cast(s, y, wide));
  fnz_arg dim = INTS(fnzi_dec_given_dim(s, "dim", products));
  if (fnzi_dec_array_rank(x) == 1 && fnzi_dec_array_rank(y) == 1 &&
      fnzi_dec_array_numel(x) != fnzi_dec_array_numel(y))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "x has %lld elements, y %lld; both need as many",
                    (long long)fnzi_dec_array_numel(x), (long long)fnzi_dec_array_numel(y));
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(products), dim);
  fnzi_dec_result_give(s, fnzi_dec_cast(s, sum, dtype));
}

/* --- Norms ------------------------------------------------------------------------------- */
/* A call of linalg_norm or linalg_matrix_norm. `self` has the dtype that the call asks for. */
typedef struct norm {
  fnzi_krn_array *self;
  int64_t dims[2];
  size_t count; /* of dims; 0: all dimensions */
  bool keeps;
} norm;

static norm read_norm(fnzi_dec_steps *s) {
  norm n = {.self = fnzi_dec_given_array(s, "self"),
            .keeps = fnzi_krn_named_bool(s->call, "keepdim", false)};
  const int64_t *dims = NULL;
  size_t count = 0;
  need_inexact(s, "self", n.self);
  n.self = fnzi_dec_cast(s, n.self,
                         fnzi_krn_named_dtype(s->call, "dtype", fnzi_dec_array_dtype(n.self)));
  need_inexact(s, "dtype", n.self);
  const fnz_arg *dim = fnzi_krn_named(s->call, "dim");
  if (dim && dim->tag == FNZ_ARG_LIST)
    fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dim", &dims, &count));
  if (count > 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dim has %zu numbers; it takes at most 2", count);
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++)
    n.dims[n.count++] = dims[i];
  return n;
}

static void give_vector_norm(fnzi_dec_steps *s, const norm *n, fnz_arg order) {
  fnz_arg dims = n->count ? fnzi_dec_ints(s, n->dims, n->count) : NONE;
  fnzi_dec_result_give(s, STEP(linalg_vector_norm, V(n->self), order, dims, B(n->keeps)));
}

/* Counted from 0, and two of them. */
static void check_matrix(fnzi_dec_steps *s, norm *n) {
  const int64_t rank = fnzi_dec_array_rank(n->self);
  for (size_t i = 0; i < n->count; i++) {
    int64_t given = n->dims[i];
    n->dims[i] = given < 0 ? given + rank : given;
    if (n->dims[i] < 0 || n->dims[i] >= rank)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dimension %lld is not there; self has %lld",
                      (long long)given, (long long)rank);
  }
  if (n->count != 2 || n->dims[0] == n->dims[1])
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "a matrix has two different dimensions; dim names %zu",
                    n->count);
}

/* The largest, the smallest or the sum of all singular values. */
static void give_by_singular_values(fnzi_dec_steps *s, norm *n, size_t how) {
  int64_t order[FNZ_MAX_RANK];
  size_t count = 0;
  fnzi_krn_array *of[3];
  const int64_t rank = fnzi_dec_array_rank(n->self);
  if (s->status != FNZ_OK)
    return;
  for (int64_t d = 0; d < rank; d++)
    if (d != n->dims[0] && d != n->dims[1])
      order[count++] = d;
  order[count++] = n->dims[0], order[count++] = n->dims[1];
  fnzi_krn_array *a = STEP(permute, V(n->self), fnzi_dec_ints(s, order, count));
  STEPS_INTO(of, 3, _linalg_svd, V(a), B(false), B(false));
  const fnz_arg args[] = {V(of[1]), INTS(-1)};
  a = fnzi_dec_step(s, how, args, 2);
  int64_t first = n->dims[0] < n->dims[1] ? n->dims[0] : n->dims[1];
  int64_t last = n->dims[0] + n->dims[1] - first;
  if (n->keeps)
    a = STEP(unsqueeze, V(STEP(unsqueeze, V(a), I(first))), I(last));
  fnzi_dec_result_give(s, a);
}

/* The largest or smallest sum of magnitudes along columns (order 1, -1) or rows (infinite). */
static void give_matrix_norm(fnzi_dec_steps *s, norm *n, double order) {
  bool by_columns = fabs(order) == 1;
  check_matrix(s, n);
  if (fabs(order) == 2) {
    give_by_singular_values(s, n, order > 0 ? FNZI_ATEN_amax : FNZI_ATEN_amin);
    return;
  }
  if (!by_columns && !isinf(order))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "the norm of a matrix of order %g is not computed; 1, -1, 2, -2, inf, -inf, "
                    "\"fro\" and \"nuc\" are",
                    order);
  fnz_arg summed = INTS(n->dims[by_columns ? 0 : 1]), left = INTS(n->dims[by_columns ? 1 : 0]);
  fnzi_krn_array *size = STEP(abs, V(n->self));
  fnzi_krn_array *sums = STEP(sum__dim_IntList, V(size), summed, B(true));
  sums = order > 0 ? STEP(amax, V(sums), left, B(true)) : STEP(amin, V(sums), left, B(true));
  fnz_arg both = fnzi_dec_ints(s, n->dims, 2);
  fnzi_dec_result_give(s, n->keeps ? sums : STEP(squeeze__dims, V(sums), both));
}

/* By the sum of all squares, or of the singular values. */
static void give_named(fnzi_dec_steps *s, norm *n) {
  const char *order = fnzi_krn_named_string(s->call, "ord");
  if (order && strcmp(order, "nuc") == 0) {
    check_matrix(s, n);
    give_by_singular_values(s, n, FNZI_ATEN_sum__dim_IntList);
    return;
  }
  if (order && strcmp(order, "fro") != 0)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "the norm \"%s\" is not computed; \"fro\" and \"nuc\" are", order);
  check_matrix(s, n);
  give_vector_norm(s, n, I(2));
}

DECOMP(matrix_norm) {
  norm n = read_norm(s);
  give_matrix_norm(s, &n, fnzi_krn_number_float(fnzi_krn_named(s->call, "ord")));
}

DECOMP(matrix_norm_named) {
  norm n = read_norm(s);
  give_named(s, &n);
}

/* Without dim= a matrix is all of the tensor. */
static void take_all(norm *n) {
  if (n->count || fnzi_dec_array_rank(n->self) != 2)
    return;
  n->dims[1] = 1;
  n->count = 2;
}

DECOMP(linalg_norm) {
  norm n = read_norm(s);
  const fnz_arg *order = fnzi_krn_named(s->call, "ord");
  if (order->tag == FNZ_ARG_NONE || order->tag == FNZ_ARG_DEFAULT) {
    give_vector_norm(s, &n, I(2));
    return;
  }
  take_all(&n);
  if (n.count == 1 || (!n.count && fnzi_dec_array_rank(n.self) == 1))
    give_vector_norm(s, &n, *order);
  else
    give_matrix_norm(s, &n, fnzi_krn_number_float(order));
}

DECOMP(linalg_norm_named) {
  norm n = read_norm(s);
  take_all(&n);
  give_named(s, &n);
}

/* The norm of a matrix, or of the two named dimensions. */
DECOMP(nuclear_norm) {
  norm n = read_norm(s);
  take_all(&n);
  check_matrix(s, &n);
  give_by_singular_values(s, &n, FNZI_ATEN_sum__dim_IntList);
}

DECOMP(frobenius_norm) {
  norm n = read_norm(s);
  if (n.count > 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dim names %zu dimensions; it may name 2", n.count);
  give_vector_norm(s, &n, I(2));
}
