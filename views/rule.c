/* rule.c - what the rules of view operators share: reading arguments, opening windows, emitting a
 * new base. */
#include "views/rule.h"

/* --- arguments -------------------------------------------------------------------------------- */
static fnz_status wrong_type(const fnzi_forward *w, size_t i, const char *want) {
  return fnzi_fail(w->ctx, FNZ_CLASS_TYPE, NULL, "%s: argument `%s` must be %s that is known",
                   w->op->name, w->op->params[i].name, want);
}

fnz_status fnzi_forward_int(const fnzi_forward *w, size_t i, fnzi_int *out) {
  fnz_arg a = fnzi_forward_arg(w, i);
  if (!fnzi_arg_is_int(&a))
    return wrong_type(w, i, "an integer");
  *out = fnzi_arg_word(&a);
  return FNZ_OK;
}

fnz_status fnzi_forward_int_or(const fnzi_forward *w, size_t i, fnzi_int otherwise, fnzi_int *out) {
  *out = otherwise;
  return fnzi_forward_arg(w, i).tag == FNZ_ARG_NONE ? FNZ_OK : fnzi_forward_int(w, i, out);
}

fnz_status fnzi_forward_ints(const fnzi_forward *w, size_t i, fnzi_int **out, size_t *count) {
  fnz_arg a = fnzi_forward_arg(w, i);
  if (fnzi_arg_is_int(&a)) { /* int[1] takes a single number */
    FNZI_NEW(w->arena, 1, out);
    (*out)[0] = fnzi_arg_word(&a);
    *count = 1;
    return FNZ_OK;
  }
  if (a.tag != FNZ_ARG_LIST)
    return wrong_type(w, i, "a list of integers");
  FNZI_NEW(w->arena, a.count, out);
  for (size_t k = 0; k < a.count; k++) {
    if (!fnzi_arg_is_int(&a.u.list[k]))
      return wrong_type(w, i, "a list of integers");
    (*out)[k] = fnzi_arg_word(&a.u.list[k]);
  }
  *count = a.count;
  return FNZ_OK;
}

fnz_status fnzi_forward_dim(const fnzi_forward *w, size_t i, uint32_t rank, uint32_t *out) {
  fnz_arg a = fnzi_forward_arg(w, i);
  if (a.tag != FNZ_ARG_INT)
    return wrong_type(w, i, "an integer");
  return fnzi_wrap_dim(w->ctx, w->op->name, a.u.i, rank, out);
}

/* --- results ---------------------------------------------------------------------------------- */
/* An operator on a huge size could open more windows than a node may have results. */
fnz_status fnzi_view_results_check(fnz_context *ctx, const fnz_op *op, size_t count) {
  if (count <= ctx->limits.results)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_LIMIT, NULL, "%s: %zu results; at most %zu are allowed", op->name,
                   count, ctx->limits.results);
}

fnz_status fnzi_forward_open(fnzi_forward *w, size_t count) {
  FNZ_TRY(fnzi_view_results_check(w->ctx, w->op, count));
  FNZI_NEW(w->arena, count, &w->out);
  w->count = count;
  return FNZ_OK;
}

fnz_status fnzi_forward_shape(fnzi_forward *w, size_t k, uint32_t rank, fnzi_int **sizes,
                              fnzi_int **strides) {
  if (rank > FNZ_MAX_RANK)
    return fnzi_fail(w->ctx, FNZ_CLASS_LIMIT, NULL, "%s: a result of %u dimensions; at most %d",
                     w->op->name, rank, FNZ_MAX_RANK);
  FNZI_NEW(w->arena, 2 * (size_t)rank, sizes);
  *strides = *sizes + rank;
  w->out[k] = *w->base;
  w->out[k].rank = rank;
  w->out[k].sizes = &(*sizes)->bits;
  w->out[k].strides = &(*strides)->bits;
  return FNZ_OK;
}

fnz_status fnzi_forward_keep_dims(fnzi_forward *w, size_t k, uint64_t without, uint32_t more,
                                  fnzi_int **sizes, fnzi_int **strides) {
  const fnz_geometry *b = w->base;
  uint32_t rank = b->rank;
  for (uint32_t d = 0; without && d < b->rank; d++)
    rank -= without >> d & 1;
  FNZ_TRY(fnzi_forward_shape(w, k, rank + more, sizes, strides));
  fnzi_int *size = *sizes, *stride = *strides;
  for (uint32_t d = 0; d < b->rank; d++)
    if (!(without >> d & 1)) {
      *size++ = fnzi_int_size(b, d);
      *stride++ = fnzi_int_stride(b, d);
    }
  return FNZ_OK;
}

fnz_status fnzi_forward_like_base(fnzi_forward *w, fnzi_int **sizes, fnzi_int **strides) {
  FNZ_TRY(fnzi_forward_open(w, 1));
  return fnzi_forward_keep_dims(w, 0, 0, 0, sizes, strides);
}

/* --- reverses --------------------------------------------------------------------------------- */
fnz_status fnzi_emit_base(const fnzi_reverse *r, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                          fnzi_emitted *out) {
  const fnz_geometry *result;
  FNZ_TRY(fnzi_dense_like(r->emit->ints, r->emit->arena, r->base, &result));
  return r->emit->call(r->emit->self, op, args, nargs, result, out);
}
