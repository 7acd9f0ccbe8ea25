/* bits.c - views that read memory under another element type: view.dtype, view_as_real,
 * view_as_complex, and the lazy conjugate and negative bits.
 *
 *   forward   the same bytes, read otherwise
 *   reverse   base' = the view, read back */
#include "views/rule.h"

/* All steps count elements `ratio` times as small. */
static void finer(fnzi_forward *w, fnzi_int *strides, uint32_t rank, fnzi_int ratio) {
  w->out->offset = fnzi_int_mul(w->ints, fnzi_int_offset(w->out), ratio).bits;
  for (uint32_t d = 0; d < rank; d++)
    strides[d] = fnzi_int_mul(w->ints, strides[d], ratio);
}

/* All steps count elements `ratio` times as large; each must be divisible. The copy of an empty
 * tensor is not checked: the layout of its value may differ from that of the tensor in eager. */
static fnz_status coarser(fnzi_forward *w, fnzi_int *strides, uint32_t rank, fnzi_int ratio) {
  bool is_free = (w->op->tags & FNZI_TAG_VIEW_COPY) && fnzi_int_is_empty(w->base);
  const fnzi_int offset = fnzi_int_offset(w->out);
  bool even = fnzi_int_is_multiple(w->ints, offset, ratio);
  w->out->offset = fnzi_int_div_down(w->ints, offset, ratio).bits;
  for (uint32_t d = 0; d < rank; d++) {
    even = even && fnzi_int_is_multiple(w->ints, strides[d], ratio);
    strides[d] = fnzi_int_div_down(w->ints, strides[d], ratio);
  }
  return even || is_free
             ? FNZ_OK
             : fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                         "%s: an offset or stride of self is not a multiple of %s elements",
                         w->op->name, FNZI_PUT(w->ints, ratio));
}

static fnz_status last_dim_must(const fnzi_forward *w, bool holds, const char *what) {
  if (holds)
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: the last dimension of self must %s",
                   w->op->name, what);
}

fnz_status fnzi_view_dtype_forward(fnzi_forward *w) {
  fnzi_int *sizes, *strides;
  fnz_dtype dtype = (fnz_dtype)fnzi_forward_arg(w, 1).u.i;
  int64_t from = (int64_t)fnzi_dtype(w->base->dtype)->bytes, to = (int64_t)fnzi_dtype(dtype)->bytes;
  uint32_t last = w->base->rank - 1;
  if ((w->base->is_conj || w->base->is_neg) && dtype != w->base->dtype)
    return fnzi_fail(w->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s: self is a lazy conjugate or negative; resolve it with resolve_conj() or "
                     "resolve_neg() first",
                     w->op->name);
  FNZ_TRY(fnzi_forward_like_base(w, &sizes, &strides));
  w->out->dtype = dtype;
  if (from == to)
    return FNZ_OK;
  FNZ_TRY(last_dim_must(w, w->base->rank > 0, "exist when the element size changes"));
  FNZ_TRY(last_dim_must(w, fnzi_int_is(strides[last], 1),
                        "have stride 1 when the element size changes"));
  const fnzi_int ratio = fnzi_int_of(from > to ? from / to : to / from);
  if (from > to) {
    sizes[last] = fnzi_int_mul(w->ints, sizes[last], ratio);
    finer(w, strides, last, ratio);
    return FNZ_OK;
  }
  FNZ_TRY(last_dim_must(w, fnzi_int_is_multiple(w->ints, sizes[last], ratio),
                        "hold whole elements of the new type"));
  sizes[last] = fnzi_int_div_down(w->ints, sizes[last], ratio);
  return coarser(w, strides, last, ratio);
}

fnz_status fnzi_view_dtype_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->window.handle), fnzi_arg_dtype(r->base->dtype)};
  return fnzi_emit_base(r, FNZI_EMIT_VIEW_DTYPE_COPY, args, 2, out);
}

fnz_status fnzi_view_as_real_forward(fnzi_forward *w) {
  fnzi_int *sizes, *strides;
  uint32_t rank = w->base->rank;
  if (!fnzi_is_complex(w->base->dtype) || w->base->is_conj)
    return fnzi_fail(w->ctx, FNZ_CLASS_TYPE, NULL,
                     "view_as_real: self is %s%s; it must be complex and not a lazy conjugate",
                     fnzi_dtype(w->base->dtype)->name, w->base->is_conj ? ", conjugated" : "");
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, rank + 1, &sizes, &strides));
  if (rank) {
    memcpy(sizes, w->base->sizes, rank * sizeof *sizes);
    memcpy(strides, w->base->strides, rank * sizeof *strides);
  }
  sizes[rank] = fnzi_int_of(2);
  strides[rank] = fnzi_int_of(1);
  w->out->dtype = w->base->dtype == FNZ_C128  ? FNZ_F64
                  : w->base->dtype == FNZ_C64 ? FNZ_F32
                                              : FNZ_F16;
  finer(w, strides, rank, sizes[rank]);
  return FNZ_OK;
}

fnz_status fnzi_view_as_real_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->window.handle)};
  return fnzi_emit_base(r, FNZI_EMIT_VIEW_AS_COMPLEX_COPY, args, 1, out);
}

fnz_status fnzi_view_as_complex_forward(fnzi_forward *w) {
  fnzi_int *sizes, *strides;
  uint32_t last = w->base->rank - 1;
  fnz_dtype d = w->base->dtype;
  if (d != FNZ_F16 && d != FNZ_F32 && d != FNZ_F64)
    return fnzi_fail(w->ctx, FNZ_CLASS_TYPE, NULL,
                     "view_as_complex: self is %s; it must be f16, f32 or f64",
                     fnzi_dtype(d)->name);
  FNZ_TRY(fnzi_forward_like_base(w, &sizes, &strides));
  FNZ_TRY(last_dim_must(w, w->base->rank > 0 && fnzi_int_is(sizes[last], 2), "have size 2"));
  FNZ_TRY(last_dim_must(w, fnzi_int_is(strides[last], 1), "have stride 1"));
  w->out->dtype = d == FNZ_F64 ? FNZ_C128 : d == FNZ_F32 ? FNZ_C64 : FNZ_C32;
  w->out->rank = last;
  return coarser(w, strides, last, fnzi_int_of(2));
}

fnz_status fnzi_view_as_complex_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->window.handle)};
  return fnzi_emit_base(r, FNZI_EMIT_VIEW_AS_REAL_COPY, args, 1, out);
}

fnz_status fnzi_conj_forward(fnzi_forward *w) {
  fnzi_int *sizes, *strides;
  if (!fnzi_is_complex(w->base->dtype))
    return fnzi_fail(w->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s: self is %s; use conj(), which takes it as it is", w->op->name,
                     fnzi_dtype(w->base->dtype)->name);
  FNZ_TRY(fnzi_forward_like_base(w, &sizes, &strides));
  w->out->is_conj = !w->base->is_conj;
  return FNZ_OK;
}

fnz_status fnzi_conj_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->window.handle)};
  return fnzi_emit_base(r, FNZI_EMIT_CONJ_COPY, args, 1, out);
}

fnz_status fnzi_neg_forward(fnzi_forward *w) {
  fnzi_int *sizes, *strides;
  FNZ_TRY(fnzi_forward_like_base(w, &sizes, &strides));
  w->out->is_neg = !w->base->is_neg;
  return FNZ_OK;
}

fnz_status fnzi_neg_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->window.handle)};
  return fnzi_emit_base(r, FNZI_EMIT_NEG_COPY, args, 1, out);
}
