/* select.c - views that keep part of one dimension: select fixes a coordinate, slice takes a range.
 */
#include "views/rule.h"

/* --- select(self, dim, index) -------------------------------------------------------------
 *   forward   view = base[..., index, ...]   drops `dim`, moves the offset
 *   reverse   base' = select_scatter(base, view, dim, index) */
fnz_status fnzi_select_forward(fnzi_forward *w) {
  uint32_t dim;
  int64_t index, *sizes, *strides;
  if (!w->base->rank)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "select.int: a 0-dimensional tensor has no "
                     "dimension to select from");
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &dim));
  FNZ_TRY(fnzi_forward_int(w, 2, &index));
  int64_t n = w->base->sizes[dim], i = index < 0 ? index + n : index;
  if (i < 0 || i >= n)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "select.int: index %lld is outside dimension %u of size %lld",
                     (long long)index, dim, (long long)n);
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_keep_dims(w, 0, (uint64_t)1 << dim, 0, &sizes, &strides));
  fnzi_view_move_on(w->out, i, w->base->strides[dim]);
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
static void clamp_slice(int64_t size, int64_t *start, int64_t *end) {
  *start = *start < 0 ? *start + size : *start;
  *end = *end < 0 ? *end + size : *end;
  *start = *start < 0 ? 0 : *start > size ? size : *start;
  *end = *end < *start ? *start : *end > size ? size : *end;
}

fnz_status fnzi_slice_forward(fnzi_forward *w) {
  uint32_t dim;
  int64_t start, end, step, *sizes, *strides;
  if (!w->base->rank)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "slice.Tensor: a 0-dimensional tensor cannot be sliced");
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &dim));
  FNZ_TRY(fnzi_forward_int_or(w, 2, 0, &start));
  FNZ_TRY(fnzi_forward_int_or(w, 3, INT64_MAX, &end));
  FNZ_TRY(fnzi_forward_int(w, 4, &step));
  if (step < 1)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "slice.Tensor: step %lld must be positive",
                     (long long)step);
  FNZ_TRY(fnzi_forward_like_base(w, &sizes, &strides));
  clamp_slice(sizes[dim], &start, &end);
  sizes[dim] = (end - start) / step + ((end - start) % step != 0);
  fnzi_view_move_on(w->out, start, strides[dim]);
  if (!fnzi_mul_i64(strides[dim], step, &strides[dim])) {
    if (sizes[dim] > 1)
      return fnzi_fail(w->ctx, FNZ_CLASS_OVERFLOW, NULL,
                       "slice.Tensor: step %lld times stride "
                       "leaves 63 bits",
                       (long long)step);
    strides[dim] = w->base->strides[dim];
  }
  return FNZ_OK;
}

fnz_status fnzi_slice_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnz_arg args[6] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle)};
  for (size_t i = 1; i < 5; i++)
    args[i + 1] = fnzi_arg_get(r->op, r->args, r->nargs, i);
  return fnzi_emit_base(r, FNZI_EMIT_SLICE_SCATTER, args, 6, out);
}
