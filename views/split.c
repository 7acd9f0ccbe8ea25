/* split.c - views that cut a dimension into several windows: split, split_with_sizes, unbind.
 *
 *   forward   view k = base[..., start(k):end(k), ...], or base[..., k, ...] for unbind
 *   reverse   base' = slice_scatter(base, view, dim, start(k), end(k)), or select_scatter */
#include "views/rule.h"

static fnz_status check_has_dims(const fnzi_forward *w) {
  if (w->base->rank)
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "%s: a 0-dimensional tensor cannot be cut",
                   w->op->name);
}

/* Window k takes `length` places of `dim` from `start`. */
static fnz_status piece(fnzi_forward *w, size_t k, uint32_t dim, int64_t start, int64_t length) {
  int64_t *sizes, *strides;
  FNZ_TRY(fnzi_forward_keep_dims(w, k, 0, 0, &sizes, &strides));
  sizes[dim] = length;
  fnzi_view_move_on(&w->out[k], start, strides[dim]);
  return FNZ_OK;
}

fnz_status fnzi_split_forward(fnzi_forward *w) {
  int64_t length;
  uint32_t dim;
  FNZ_TRY(check_has_dims(w));
  FNZ_TRY(fnzi_forward_int(w, 1, &length));
  FNZ_TRY(fnzi_forward_dim(w, 2, w->base->rank, &dim));
  int64_t n = w->base->sizes[dim];
  if (length < 0 || (length == 0 && n != 0))
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: split_size %lld for dimension %u of size %lld; above 0 is needed",
                     w->op->name, (long long)length, dim, (long long)n);
  size_t count = n && length ? (size_t)(n / length + (n % length != 0)) : 1;
  FNZ_TRY(fnzi_forward_open(w, count));
  for (size_t k = 0; k < count; k++) {
    int64_t start = (int64_t)k * length;
    FNZ_TRY(piece(w, k, dim, start, n - start < length ? n - start : length));
  }
  return FNZ_OK;
}

fnz_status fnzi_split_with_sizes_forward(fnzi_forward *w) {
  int64_t *lengths, start = 0;
  size_t count;
  uint32_t dim;
  FNZ_TRY(check_has_dims(w));
  FNZ_TRY(fnzi_forward_ints(w, 1, &lengths, &count));
  FNZ_TRY(fnzi_forward_dim(w, 2, w->base->rank, &dim));
  FNZ_TRY(fnzi_forward_open(w, count));
  for (size_t k = 0; k < count; k++) {
    if (lengths[k] < 0 || lengths[k] > w->base->sizes[dim] - start)
      return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "split_with_sizes: piece %zu of size %lld does not fit dimension %u of "
                       "size %lld",
                       k, (long long)lengths[k], dim, (long long)w->base->sizes[dim]);
    FNZ_TRY(piece(w, k, dim, start, lengths[k]));
    start += lengths[k];
  }
  if (start == w->base->sizes[dim])
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                   "split_with_sizes: the pieces add up to %lld, dimension %u has size %lld",
                   (long long)start, dim, (long long)w->base->sizes[dim]);
}

/* Computes start and end of a window of split or split_with_sizes. */
static void range_of(const fnzi_reverse *r, int64_t size, int64_t *start, int64_t *end) {
  fnz_arg lengths = fnzi_arg_get(r->op, r->args, r->nargs, 1);
  *start = 0;
  if (lengths.tag == FNZ_ARG_LIST) {
    for (size_t k = 0; k < r->index; k++)
      *start += lengths.u.list[k].u.i;
    *end = *start + lengths.u.list[r->index].u.i;
    return;
  }
  *start = (int64_t)r->index * lengths.u.i;
  *end = size - *start < lengths.u.i ? size : *start + lengths.u.i;
}

fnz_status fnzi_split_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnz_arg dim = fnzi_arg_get(r->op, r->args, r->nargs, 2);
  int64_t start, end;
  range_of(r, r->base->sizes[dim.u.i < 0 ? dim.u.i + r->base->rank : dim.u.i], &start, &end);
  const fnz_arg args[] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle),
                          dim, fnzi_arg_int(start), fnzi_arg_int(end)};
  return fnzi_emit_base(r, FNZI_EMIT_SLICE_SCATTER, args, 5, out);
}

fnz_status fnzi_unbind_forward(fnzi_forward *w) {
  uint32_t dim;
  FNZ_TRY(check_has_dims(w));
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &dim));
  FNZ_TRY(fnzi_forward_open(w, (size_t)w->base->sizes[dim]));
  for (size_t k = 0; k < w->count; k++) {
    int64_t *sizes, *strides;
    FNZ_TRY(fnzi_forward_keep_dims(w, k, (uint64_t)1 << dim, 0, &sizes, &strides));
    fnzi_view_move_on(&w->out[k], (int64_t)k, w->base->strides[dim]);
  }
  return FNZ_OK;
}

fnz_status fnzi_unbind_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle),
                          fnzi_arg_get(r->op, r->args, r->nargs, 1),
                          fnzi_arg_int((int64_t)r->index)};
  return fnzi_emit_base(r, FNZI_EMIT_SELECT_SCATTER, args, 4, out);
}
