/* strided.c - views whose elements are picked by strides: as_strided, diagonal, unfold. */
#include "views/rule.h"

/* --- as_strided(self, size, stride, storage_offset) ---------------------------------------
 *   forward   sizes, strides and offset as given, in the storage, whatever the base's geometry is
 *   reverse   base' = as_strided_scatter(base, view, ...)
 * In a functional program the base is a dense row-major value and offset 0 is its first element;
 * the wrapper first translates offsets that count from the storage. */
fnz_status fnzi_as_strided_forward(fnzi_forward *w) {
  int64_t *size, *stride, offset, *sizes, *strides;
  size_t rank, nstrides;
  FNZ_TRY(fnzi_forward_ints(w, 1, &size, &rank));
  FNZ_TRY(fnzi_forward_ints(w, 2, &stride, &nstrides));
  FNZ_TRY(fnzi_forward_int_or(w, 3, w->base->offset, &offset));
  if (rank != nstrides || rank > FNZ_MAX_RANK)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "as_strided: %zu sizes but %zu strides", rank,
                     nstrides);
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, (uint32_t)rank, &sizes, &strides));
  for (size_t d = 0; d < rank; d++) {
    if (size[d] < 0 || stride[d] < 0)
      return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "as_strided: size %lld with stride %lld; neither may be negative",
                       (long long)size[d], (long long)stride[d]);
    sizes[d] = size[d];
    strides[d] = stride[d];
  }
  w->out->offset = offset;
  if (offset >= 0)
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "as_strided: storage_offset %lld is negative",
                   (long long)offset);
}

static fnz_status scatter_strided(const fnzi_reverse *r, const fnz_geometry *g, fnzi_emitted *out) {
  fnz_arg args[5] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle)};
  FNZ_TRY(fnzi_arg_ints(r->emit->arena, g->sizes, g->rank, &args[2]));
  FNZ_TRY(fnzi_arg_ints(r->emit->arena, g->strides, g->rank, &args[3]));
  args[4] = fnzi_arg_int(g->offset);
  const fnz_geometry *result;
  FNZ_TRY(fnzi_contiguous_like(r->emit->arena, r->base, &result));
  return r->emit->call(r->emit->self, FNZI_EMIT_AS_STRIDED_SCATTER, args, 5, result, out);
}

fnz_status fnzi_as_strided_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnzi_forward w = {r->emit->ctx, r->emit->arena, r->op, r->args, r->nargs, r->base, NULL, 0};
  FNZ_TRY(fnzi_as_strided_forward(&w));
  return scatter_strided(r, w.out, out);
}

/* --- diagonal(self, offset, dim1, dim2) ---------------------------------------------------
 *   forward   the two dimensions become one, last, that walks along both
 *   reverse   base' = diagonal_scatter(base, view, offset, dim1, dim2) */
fnz_status fnzi_diagonal_forward(fnzi_forward *w) {
  const fnz_geometry *b = w->base;
  int64_t offset, *sizes, *strides;
  uint32_t a, c;
  FNZ_TRY(fnzi_forward_int(w, 1, &offset));
  FNZ_TRY(fnzi_forward_dim(w, 2, b->rank, &a));
  FNZ_TRY(fnzi_forward_dim(w, 3, b->rank, &c));
  if (a == c || b->rank < 2)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "diagonal: dimensions %u and %u; they must be two different ones", a, c);
  FNZ_TRY(fnzi_forward_open(w, 1));
  const uint32_t k = b->rank - 2;
  const uint64_t both = (uint64_t)1 << a | (uint64_t)1 << c;
  FNZ_TRY(fnzi_forward_keep_dims(w, 0, both, 1, &sizes, &strides));
  if (offset == INT64_MIN)
    offset++; /* the diagonal is empty too, and INT64_MIN + 1 can be negated */
  int64_t skip_a = offset < 0 ? -offset : 0, skip_c = offset > 0 ? offset : 0;
  int64_t left_a = b->sizes[a] - skip_a, left_c = b->sizes[c] - skip_c;
  sizes[k] = left_a < left_c ? left_a : left_c;
  strides[k] = fnzi_view_add(b->strides[a], b->strides[c]);
  if (sizes[k] > 0) {
    fnzi_view_move_on(w->out, skip_a, b->strides[a]);
    fnzi_view_move_on(w->out, skip_c, b->strides[c]);
  } else
    sizes[k] = 0;
  return FNZ_OK;
}

fnz_status fnzi_diagonal_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnz_arg args[5] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle)};
  for (size_t i = 1; i < 4; i++)
    args[i + 1] = fnzi_arg_get(r->op, r->args, r->nargs, i);
  return fnzi_emit_base(r, FNZI_EMIT_DIAGONAL_SCATTER, args, 5, out);
}

/* --- unfold(self, dimension, size, step) --------------------------------------------------
 *   forward   windows of `size` places every `step`; the window's places are a new last dimension
 *   reverse   base' = as_strided_scatter(base, view, ...) on the dense base, so that what no window
 *             covers stays as it was */
fnz_status fnzi_unfold_forward(fnzi_forward *w) {
  const fnz_geometry *b = w->base;
  int64_t size, step, *sizes, *strides;
  uint32_t dim;
  FNZ_TRY(fnzi_forward_dim(w, 1, b->rank, &dim));
  FNZ_TRY(fnzi_forward_int(w, 2, &size));
  FNZ_TRY(fnzi_forward_int(w, 3, &step));
  int64_t n = b->rank ? b->sizes[dim] : 1;
  if (size < 0 || size > n || step < 1)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "unfold: size %lld, step %lld on dimension %u of size %lld", (long long)size,
                     (long long)step, dim, (long long)n);
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, b->rank + 1, &sizes, &strides));
  for (uint32_t d = 0; d < b->rank; d++) {
    sizes[d] = d == dim ? (n - size) / step + 1 : b->sizes[d];
    strides[d] = b->strides[d];
  }
  /* A single window makes no step, so its stride does not matter. */
  if (b->rank && !fnzi_mul_i64(b->strides[dim], step, &strides[dim]) && sizes[dim] > 1)
    return fnzi_fail(w->ctx, FNZ_CLASS_OVERFLOW, NULL, "unfold: step times stride leaves 63 bits");
  sizes[b->rank] = size;
  strides[b->rank] = b->rank ? b->strides[dim] : 1;
  return FNZ_OK;
}

fnz_status fnzi_unfold_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_geometry *dense;
  fnzi_reverse on_dense = *r;
  FNZ_TRY(fnzi_contiguous_like(r->emit->arena, r->base, &dense));
  const fnz_geometry *base = r->base_value.geometry;
  /* A kept view may start after the start of its memory, and be the negative of that. */
  if (!fnzi_is_contiguous(base) || base->offset || base->is_conj || base->is_neg) {
    fnz_arg args[] = {fnzi_arg_value(r->base_value.handle),
                      {.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}};
    FNZ_TRY(r->emit->call(r->emit->self, FNZI_EMIT_CLONE, args, 2, dense, &on_dense.base_value));
  }
  fnzi_forward w = {r->emit->ctx, r->emit->arena, r->op, r->args, r->nargs, dense, NULL, 0};
  FNZ_TRY(fnzi_unfold_forward(&w));
  return scatter_strided(&on_dense, w.out, out);
}
