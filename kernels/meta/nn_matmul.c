/* nn_matmul.c - shapes of matrix products. */
#include "kernels/core/core.h"

enum { ANY_RANK = -1 };

/* "[2, 3]" for messages. */
static const char *sizes_text(fnzi_krn_call *call, const fnz_geometry *g) {
  const char *text = "";
  for (uint32_t i = 0; i < g->rank; i++)
    if (fnzi_arena_format(&call->scratch, &text, "%s%s%lld", text, i ? ", " : "",
                          (long long)g->sizes[i]) != FNZ_OK)
      return "?";
  return text;
}

static fnz_status check_ranks(fnzi_krn_call *call, const fnz_geometry *a, const fnz_geometry *b,
                              int rank_a, int rank_b) {
  bool fits = (rank_a == ANY_RANK || (int)a->rank == rank_a) &&
              (rank_b == ANY_RANK || (int)b->rank == rank_b) && a->rank && b->rank;
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "factors of sizes [%s] and [%s] have the wrong rank",
                                sizes_text(call, a), sizes_text(call, b));
  return FNZ_OK;
}

static fnz_status check(fnzi_krn_call *call, const fnz_geometry *a, const fnz_geometry *b,
                        int rank_a, int rank_b) {
  if (a->dtype != b->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "the factors are %s and %s; cast one of them",
                                fnzi_dtype(a->dtype)->name, fnzi_dtype(b->dtype)->name);
  return check_ranks(call, a, b, rank_a, rank_b);
}

/* The leading dimensions of a factor as a geometry of their own. */
static fnz_geometry matmul_batch_of(const fnz_geometry *g) {
  fnz_geometry batch = *g;
  batch.rank = g->rank > 2 ? g->rank - 2 : 0;
  return batch;
}

/* `transposed`: the second factor is (n, k), as linear's weight. */
static fnz_status product(fnzi_krn_call *call, const fnz_geometry *a, const fnz_geometry *b,
                          bool transposed, fnz_dtype dtype) {
  int64_t sizes[FNZ_MAX_RANK + 2];
  uint32_t rank = 0;
  fnz_geometry batch_a = matmul_batch_of(a), batch_b = matmul_batch_of(b);
  uint32_t depth = b->rank == 1 ? 0 : b->rank - (transposed ? 1 : 2);
  if (a->sizes[a->rank - 1] != b->sizes[depth])
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "sizes [%s] and [%s] cannot be multiplied",
                                sizes_text(call, a), sizes_text(call, b));
  FNZ_TRY(fnzi_meta_broadcast(call, (const fnz_geometry *const[]){&batch_a, &batch_b}, 2, &rank,
                              sizes));
  if (a->rank > 1)
    sizes[rank++] = a->sizes[a->rank - 2];
  if (b->rank > 1)
    sizes[rank++] = b->sizes[b->rank - (transposed ? 2 : 1)];
  return fnzi_shape_add(call, dtype, rank, sizes, NULL);
}

static fnz_status factors(fnzi_krn_call *call, size_t first, int rank_a, int rank_b) {
  const fnz_geometry *a = fnzi_krn_call_geometry(call, first);
  const fnz_geometry *b = fnzi_krn_call_geometry(call, first + 1);
  FNZ_TRY(check(call, a, b, rank_a, rank_b));
  if (rank_a == 3 && rank_b == 3 && a->sizes[0] != b->sizes[0])
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "batches of %lld and %lld matrices differ",
                                (long long)a->sizes[0], (long long)b->sizes[0]);
  return product(call, a, b, false, a->dtype);
}

/* The added tensor must broadcast to the product. */
static fnz_status added(fnzi_krn_call *call, const fnz_geometry *self) {
  const fnz_geometry *out = &call->outputs[0]->geometry;
  if (self->dtype != out->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "a %s tensor is added to a product of %s",
                                fnzi_dtype(self->dtype)->name, fnzi_dtype(out->dtype)->name);
  bool fits = self->rank <= out->rank;
  for (uint32_t i = 0; fits && i < self->rank; i++) {
    int64_t want = out->sizes[out->rank - self->rank + i];
    fits = self->sizes[i] == want || self->sizes[i] == 1;
  }
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "sizes [%s] do not broadcast to the product's [%s]",
                                sizes_text(call, self), sizes_text(call, out));
  return FNZ_OK;
}

static fnz_status added_factors(fnzi_krn_call *call, int rank_a, int rank_b) {
  FNZ_TRY(factors(call, 1, rank_a, rank_b));
  return added(call, fnzi_krn_call_geometry(call, 0));
}

fnz_status fnzi_shape_matmul(fnzi_krn_call *call) {
  return factors(call, 0, ANY_RANK, ANY_RANK);
}

fnz_status fnzi_shape_mm(fnzi_krn_call *call) {
  return factors(call, 0, 2, 2);
}

/* Bytes, summed in 32 bits. On the CPU eager takes unsigned ones as the first factor. */
fnz_status fnzi_shape_int_mm(fnzi_krn_call *call) {
  const fnz_geometry *a = fnzi_krn_call_geometry(call, 0), *b = fnzi_krn_call_geometry(call, 1);
  if ((a->dtype != FNZ_I8 && a->dtype != FNZ_U8) || b->dtype != FNZ_I8)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "self is %s, mat2 %s; they must be i8 or u8, and i8",
                                fnzi_dtype(a->dtype)->name, fnzi_dtype(b->dtype)->name);
  FNZ_TRY(check_ranks(call, a, b, 2, 2));
  return product(call, a, b, false, FNZ_I32);
}

fnz_status fnzi_shape_bmm(fnzi_krn_call *call) {
  return factors(call, 0, 3, 3);
}

fnz_status fnzi_shape_mv(fnzi_krn_call *call) {
  return factors(call, 0, 2, 1);
}

fnz_status fnzi_shape_dot(fnzi_krn_call *call) {
  return factors(call, 0, 1, 1);
}

fnz_status fnzi_shape_addmm(fnzi_krn_call *call) {
  return added_factors(call, 2, 2);
}

fnz_status fnzi_shape_baddbmm(fnzi_krn_call *call) {
  return added_factors(call, 3, 3);
}

/* The products of a batch are added up. */
fnz_status fnzi_shape_addbmm(fnzi_krn_call *call) {
  const fnz_geometry *a = fnzi_krn_call_geometry(call, 1), *b = fnzi_krn_call_geometry(call, 2);
  FNZ_TRY(check(call, a, b, 3, 3));
  if (a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1])
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "batches of sizes [%s] and [%s] cannot be multiplied",
                                sizes_text(call, a), sizes_text(call, b));
  FNZ_TRY(fnzi_shape_add(call, a->dtype, 2, (const int64_t[]){a->sizes[1], b->sizes[2]}, NULL));
  return added(call, fnzi_krn_call_geometry(call, 0));
}

fnz_status fnzi_shape_addmv(fnzi_krn_call *call) {
  return added_factors(call, 2, 1);
}

fnz_status fnzi_shape_linear(fnzi_krn_call *call) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0), *w = fnzi_krn_call_geometry(call, 1);
  FNZ_TRY(check(call, x, w, ANY_RANK, w->rank == 1 ? 1 : 2));
  FNZ_TRY(product(call, x, w, true, x->dtype));
  const fnz_geometry *bias = fnzi_krn_call_geometry(call, 2);
  return bias ? added(call, bias) : FNZ_OK;
}
