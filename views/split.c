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
static fnz_status piece(fnzi_forward *w, size_t k, uint32_t dim, fnzi_int start, fnzi_int length) {
  fnzi_int *sizes, *strides;
  FNZ_TRY(fnzi_forward_keep_dims(w, k, 0, 0, &sizes, &strides));
  sizes[dim] = length;
  fnzi_view_move_on(w->ints, &w->out[k], start, strides[dim]);
  return FNZ_OK;
}

/* A program names as many pieces as the example has, and a run may have more. Each but the last one
 * that is named is whole. */
static fnzi_int keep_count(const fnzi_forward *w, fnzi_int n, fnzi_int length, fnzi_int count) {
  fnzi_ints *s = w->ints;
  const fnzi_int one = {1};
  int64_t number;
  if (fnzi_int_is_number(count) || !fnzi_ints_recorded(s, count, &number) || number < 1)
    return count;
  const fnzi_int least = fnzi_int_mul(s, fnzi_int_of(number - 1), length);
  if (fnzi_int_is_at_least(s, n, one))
    fnzi_forward_expect(w, n, fnzi_int_add(s, least, one));
  return fnzi_int_of(number);
}

static fnz_status count_pieces(const fnzi_forward *w, fnzi_int n, fnzi_int length, size_t *out) {
  const bool is_one = fnzi_int_is(n, 0) || fnzi_int_is(length, 0);
  const fnzi_int count =
      is_one ? fnzi_int_of(1) : keep_count(w, n, length, fnzi_int_div_up(w->ints, n, length));
  *out = (size_t)count.bits; /* nothing is one piece, of length 0 */
  if (fnzi_int_is_number(count))
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s: the number of pieces, %s, depends on data; cut with a size that is known",
                   w->op->name, FNZI_PUT(w->ints, count));
}

fnz_status fnzi_split_forward(fnzi_forward *w) {
  fnzi_int length, start = {0};
  size_t count;
  uint32_t dim;
  FNZ_TRY(check_has_dims(w));
  FNZ_TRY(fnzi_forward_int(w, 1, &length));
  FNZ_TRY(fnzi_forward_dim(w, 2, w->base->rank, &dim));
  fnzi_int n = fnzi_int_size(w->base, dim);
  if (fnzi_int_is_less(w->ints, length, fnzi_int_of(0)) ||
      (fnzi_int_is(length, 0) && !fnzi_int_is(n, 0)))
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: split_size %s for dimension %u of size %s; above 0 is needed",
                     w->op->name, FNZI_PUT(w->ints, length), dim, FNZI_PUT(w->ints, n));
  FNZ_TRY(count_pieces(w, n, length, &count));
  FNZ_TRY(fnzi_forward_open(w, count));
  for (size_t k = 0; k < count; k++) {
    fnzi_int rest = fnzi_int_sub(w->ints, n, start);
    FNZ_TRY(piece(w, k, dim, start, k + 1 < count ? length : fnzi_int_min(w->ints, rest, length)));
    start = fnzi_int_add(w->ints, start, length);
  }
  return FNZ_OK;
}

fnz_status fnzi_split_with_sizes_forward(fnzi_forward *w) {
  fnzi_int *lengths, start = {0};
  size_t count;
  uint32_t dim;
  FNZ_TRY(check_has_dims(w));
  FNZ_TRY(fnzi_forward_ints(w, 1, &lengths, &count));
  FNZ_TRY(fnzi_forward_dim(w, 2, w->base->rank, &dim));
  FNZ_TRY(fnzi_forward_open(w, count));
  const fnzi_int n = fnzi_int_size(w->base, dim);
  for (size_t k = 0; k < count; k++) {
    fnzi_int end = fnzi_int_add(w->ints, start, lengths[k]);
    if (fnzi_int_is_less(w->ints, lengths[k], fnzi_int_of(0)) || fnzi_int_is_less(w->ints, n, end))
      return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "split_with_sizes: piece %zu of size %s does not fit dimension %u of size "
                       "%s",
                       k, FNZI_PUT(w->ints, lengths[k]), dim, FNZI_PUT(w->ints, n));
    fnzi_forward_expect(w, lengths[k], fnzi_int_of(0));
    fnzi_forward_expect(w, n, end);
    FNZ_TRY(piece(w, k, dim, start, lengths[k]));
    start = end;
  }
  if (!fnzi_int_is_less(w->ints, start, n))
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                   "split_with_sizes: the pieces add up to %s, dimension %u has size %s",
                   FNZI_PUT(w->ints, start), dim, FNZI_PUT(w->ints, n));
}

fnz_status fnzi_split_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnzi_ints *s = r->emit->ints;
  fnz_arg lengths = fnzi_arg_get(r->op, r->args, r->nargs, 1);
  fnz_arg dim = fnzi_arg_get(r->op, r->args, r->nargs, 2);
  fnzi_int start = fnzi_int_of(0), end;
  const uint32_t d = (uint32_t)(dim.u.i < 0 ? dim.u.i + r->base->rank : dim.u.i);
  if (lengths.tag == FNZ_ARG_LIST) {
    for (size_t k = 0; k < r->index; k++)
      start = fnzi_int_add(s, start, fnzi_arg_word(&lengths.u.list[k]));
    end = fnzi_int_add(s, start, fnzi_arg_word(&lengths.u.list[r->index]));
  } else {
    start = fnzi_int_mul(s, fnzi_int_of((int64_t)r->index), fnzi_arg_word(&lengths));
    end =
        fnzi_int_min(s, fnzi_int_size(r->base, d), fnzi_int_add(s, start, fnzi_arg_word(&lengths)));
  }
  const fnz_arg args[] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle),
                          dim, fnzi_arg_of_int(start), fnzi_arg_of_int(end)};
  return fnzi_emit_base(r, FNZI_EMIT_SLICE_SCATTER, args, 5, out);
}

fnz_status fnzi_unbind_forward(fnzi_forward *w) {
  uint32_t dim;
  FNZ_TRY(check_has_dims(w));
  size_t count;
  FNZ_TRY(fnzi_forward_dim(w, 1, w->base->rank, &dim));
  FNZ_TRY(count_pieces(w, fnzi_int_size(w->base, dim), fnzi_int_of(1), &count));
  FNZ_TRY(fnzi_forward_open(w, fnzi_int_is(fnzi_int_size(w->base, dim), 0) ? 0 : count));
  for (size_t k = 0; k < w->count; k++) {
    fnzi_int *sizes, *strides;
    FNZ_TRY(fnzi_forward_keep_dims(w, k, (uint64_t)1 << dim, 0, &sizes, &strides));
    fnzi_view_move_on(w->ints, &w->out[k], fnzi_int_of((int64_t)k), fnzi_int_stride(w->base, dim));
  }
  return FNZ_OK;
}

fnz_status fnzi_unbind_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_arg args[] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle),
                          fnzi_arg_get(r->op, r->args, r->nargs, 1),
                          fnzi_arg_int((int64_t)r->index)};
  return fnzi_emit_base(r, FNZI_EMIT_SELECT_SCATTER, args, 4, out);
}
