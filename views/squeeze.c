/* squeeze.c - views that drop or add dimensions of size 1: squeeze, squeeze.dim(s), unsqueeze.
 *
 *   forward   the same elements in the same order, with fewer or more dimensions
 *   reverse   base' = the view in the base's sizes (squeeze), or squeezed again (unsqueeze) */
#include "views/rule.h"

/* Drops the dimensions of size 1 whose bit is set. */
static fnz_status drop(fnzi_forward *w, uint64_t which) {
  fnzi_int *sizes, *strides;
  for (uint32_t d = 0; d < w->base->rank; d++) {
    const fnzi_int size = fnzi_int_size(w->base, d);
    /* A dimension that may have one element has to have more or none, as in the example. */
    bool may_be_one =
        which >> d & 1 && !fnzi_int_is_number(size) && !fnzi_int_is_not(w->ints, size, 1);
    if (may_be_one &&
        !(w->is_run &&
          fnzi_int_require_not(w->ints, size, 1, "a dimension of one element would be dropped")))
      return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "%s: dimension %u has size %s, which may be 1; assert that it is not",
                       w->op->name, d, FNZI_PUT(w->ints, size));
    which &= ~((uint64_t)!fnzi_int_is(size, 1) << d);
  }
  FNZ_TRY(fnzi_forward_open(w, 1));
  return fnzi_forward_keep_dims(w, 0, which, 0, &sizes, &strides);
}

fnz_status fnzi_squeeze_forward(fnzi_forward *w) {
  return drop(w, UINT64_MAX);
}

fnz_status fnzi_squeeze_dim_forward(fnzi_forward *w) {
  uint32_t dim;
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &dim));
  return drop(w, (uint64_t)1 << dim);
}

fnz_status fnzi_squeeze_dims_forward(fnzi_forward *w) {
  fnzi_int *dims;
  size_t count;
  uint64_t which = 0;
  FNZ_TRY(fnzi_forward_ints(w, 1, &dims, &count));
  for (size_t k = 0; k < count; k++) {
    uint32_t dim;
    FNZ_TRY(fnzi_wrap_dim(w->ctx, w->op->name, dims[k].bits, w->base->rank, &dim));
    which |= (uint64_t)1 << dim;
  }
  return drop(w, which);
}

/* A new dimension of size 1 at `dim`, counted in the result's rank. Its stride is what PyTorch
 * gives it: as if the dimension after it were outermost. */
fnz_status fnzi_unsqueeze_forward(fnzi_forward *w) {
  uint32_t dim, rank = w->base->rank;
  fnzi_int *sizes, *strides;
  FNZ_TRY(fnzi_forward_dim(w, 1, rank + 1, &dim));
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, rank + 1, &sizes, &strides));
  for (uint32_t d = 0; d < rank; d++) {
    sizes[d + (d >= dim)] = fnzi_int_size(w->base, d);
    strides[d + (d >= dim)] = fnzi_int_stride(w->base, d);
  }
  sizes[dim] = strides[dim] = fnzi_int_of(1);
  if (dim < rank)
    strides[dim] = fnzi_int_mul(w->ints, sizes[dim + 1], strides[dim + 1]);
  return FNZ_OK;
}

fnz_status fnzi_unsqueeze_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->window.handle),
                          fnzi_arg_get(r->op, r->args, r->nargs, 1)};
  return fnzi_emit_base(r, FNZI_EMIT_SQUEEZE_COPY, args, 2, out);
}
