/* select.c - views that keep part of one dimension: select fixes a coordinate, slice takes a range.
 */
#include "views/rule.h"

/* --- select(self, dim, index) -------------------------------------------------------------
 *   forward   view = base[..., index, ...]   drops `dim`, moves the offset
 *   reverse   base' = select_scatter(base, view, dim, index) */
fnz_status fnzi_select_forward(fnzi_forward *w) {
  uint32_t dim;
  fnzi_int index, *sizes, *strides;
  if (!w->base->rank)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "select.int: a 0-dimensional tensor has no "
                     "dimension to select from");
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &dim));
  FNZ_TRY(fnzi_forward_int(w, 2, &index));
  fnzi_int n = fnzi_int_size(w->base, dim), i = fnzi_int_from_end(w->ints, index, n);
  if (fnzi_int_is_less(w->ints, i, fnzi_int_of(0)) || fnzi_int_is_at_least(w->ints, i, n))
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "select.int: index %s is outside dimension %u of size %s",
                     FNZI_PUT(w->ints, index), dim, FNZI_PUT(w->ints, n));
  fnzi_forward_expect(w, i, fnzi_int_of(0));
  fnzi_forward_expect(w, n, fnzi_int_add(w->ints, i, fnzi_int_of(1)));
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_keep_dims(w, 0, (uint64_t)1 << dim, 0, &sizes, &strides));
  fnzi_view_move_on(w->ints, w->out, i, fnzi_int_stride(w->base, dim));
  return FNZ_OK;
}

fnz_status fnzi_select_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle),
                          fnzi_arg_get(r->op, r->args, r->nargs, 1),
                          fnzi_arg_get(r->op, r->args, r->nargs, 2)};
  return fnzi_emit_base(r, FNZI_EMIT_SELECT_SCATTER, args, 4, out);
}

/* --- slice(self, dim, start, end, step) ---------------------------------------------------
 *   forward   view = base[..., start:end:step, ...]   as Python clamps it
 *   reverse   base' = slice_scatter(base, view, dim, start, end, step) */
static fnzi_int clip(fnzi_ints *s, fnzi_int bound, fnzi_int size) {
  const fnzi_int most = fnzi_int_min(s, size, fnzi_int_from_end(s, bound, size));
  return fnzi_int_max(s, fnzi_int_of(0), most);
}

fnz_status fnzi_slice_forward(fnzi_forward *w) {
  uint32_t dim;
  fnzi_int start, end, step, length, *sizes, *strides;
  if (!w->base->rank)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "slice.Tensor: a 0-dimensional tensor cannot be sliced");
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &dim));
  FNZ_TRY(fnzi_forward_int_or(w, 2, fnzi_int_of(0), &start));
  FNZ_TRY(fnzi_forward_int_or(w, 3, fnzi_int_of(INT64_MAX), &end));
  FNZ_TRY(fnzi_forward_int(w, 4, &step));
  if (fnzi_int_is_less(w->ints, step, fnzi_int_of(1)))
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "slice.Tensor: step %s must be positive",
                     FNZI_PUT(w->ints, step));
  FNZ_TRY(fnzi_forward_like_base(w, &sizes, &strides));
  if (fnzi_int_same(end, fnzi_int_of(INT64_MAX))) /* no end is given */
    *&end = sizes[dim];
  start = clip(w->ints, start, sizes[dim]);
  end = clip(w->ints, end, sizes[dim]);
  length = fnzi_int_max(w->ints, fnzi_int_of(0), fnzi_int_sub(w->ints, end, start));
  sizes[dim] = fnzi_int_div_up(w->ints, length, step);
  fnzi_view_move_on(w->ints, w->out, start, strides[dim]);
  strides[dim] = fnzi_int_mul(w->ints, strides[dim], step);
  return FNZ_OK;
}

fnz_status fnzi_slice_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnz_arg args[6] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle)};
  for (size_t i = 1; i < 5; i++)
    args[i + 1] = fnzi_arg_get(r->op, r->args, r->nargs, i);
  return fnzi_emit_base(r, FNZI_EMIT_SLICE_SCATTER, args, 6, out);
}
