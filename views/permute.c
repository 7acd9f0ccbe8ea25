/* permute.c - views that reorder dimensions: permute, transpose, t.
 *
 *   forward   view[i0, i1, ...] = base[i...] with dimensions in another order
 *   reverse   base' = view with the order undone; every element is there */
#include "views/rule.h"

/* Puts dimension from[k] of the base at place k. */
static fnz_status reorder(fnzi_forward *w, const uint32_t *from) {
  fnzi_int *sizes, *strides;
  FNZ_TRY(fnzi_forward_like_base(w, &sizes, &strides));
  for (uint32_t k = 0; k < w->base->rank; k++) {
    sizes[k] = fnzi_int_size(w->base, from[k]);
    strides[k] = fnzi_int_stride(w->base, from[k]);
  }
  return FNZ_OK;
}

/* The wrapped dims argument of permute, which must have each dimension once. */
static fnz_status order_of(fnzi_arena *arena, const fnz_op *op, fnz_arg dims, uint32_t rank,
                           uint32_t **out) {
  uint64_t seen = 0;
  if (dims.tag != FNZ_ARG_LIST || dims.count != rank)
    return fnzi_fail(arena->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: dims has %u entries for a tensor of %u dimensions", op->name,
                     dims.tag == FNZ_ARG_LIST ? dims.count : 0, rank);
  FNZI_NEW(arena, rank, out);
  for (uint32_t k = 0; k < rank; k++) {
    FNZ_TRY(fnzi_wrap_dim(arena->ctx, op->name, dims.u.list[k].u.i, rank, &(*out)[k]));
    if (seen >> (*out)[k] & 1)
      return fnzi_fail(arena->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: dimension %u is named twice",
                       op->name, (*out)[k]);
    seen |= (uint64_t)1 << (*out)[k];
  }
  return FNZ_OK;
}

fnz_status fnzi_permute_forward(fnzi_forward *w) {
  uint32_t *from;
  FNZ_TRY(order_of(w->arena, w->op, fnzi_forward_arg(w, 1), w->base->rank, &from));
  return reorder(w, from);
}

fnz_status fnzi_permute_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  uint32_t *from;
  int64_t *inverse;
  fnz_arg args[2] = {fnzi_arg_value(r->window.handle)};
  FNZ_TRY(order_of(r->emit->arena, r->op, fnzi_arg_get(r->op, r->args, r->nargs, 1), r->base->rank,
                   &from));
  FNZI_NEW(r->emit->arena, r->base->rank, &inverse);
  for (uint32_t k = 0; k < r->base->rank; k++)
    inverse[from[k]] = k;
  FNZ_TRY(fnzi_arg_ints(r->emit->arena, inverse, r->base->rank, &args[1]));
  return fnzi_emit_base(r, FNZI_EMIT_PERMUTE_COPY, args, 2, out);
}

static fnz_status swap(fnzi_forward *w, uint32_t a, uint32_t b) {
  uint32_t from[FNZ_MAX_RANK];
  for (uint32_t k = 0; k < w->base->rank; k++)
    from[k] = k == a ? b : k == b ? a : k;
  return reorder(w, from);
}

fnz_status fnzi_transpose_forward(fnzi_forward *w) {
  uint32_t a, b;
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &a));
  FNZ_TRY(fnzi_forward_dim(w, 2, w->base->rank, &b));
  return swap(w, a, b);
}

fnz_status fnzi_t_forward(fnzi_forward *w) {
  if (w->base->rank > 2)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "t: the tensor has %u dimensions; at most 2, use transpose", w->base->rank);
  return w->base->rank == 2 ? swap(w, 0, 1) : swap(w, 0, 0);
}

/* Its own inverse; t has no arguments but self. */
fnz_status fnzi_transpose_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnz_arg args[3] = {fnzi_arg_value(r->window.handle)};
  if (r->op->nparams == 1)
    return fnzi_emit_base(r, FNZI_EMIT_T_COPY, args, 1, out);
  args[1] = fnzi_arg_get(r->op, r->args, r->nargs, 1);
  args[2] = fnzi_arg_get(r->op, r->args, r->nargs, 2);
  return fnzi_emit_base(r, FNZI_EMIT_TRANSPOSE_COPY, args, 3, out);
}
