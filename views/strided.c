/* strided.c - views whose elements are picked by strides: as_strided, diagonal, unfold. */
#include "views/rule.h"

/* --- as_strided(self, size, stride, storage_offset) ---------------------------------------
 *   forward   sizes, strides and offset as given, in the storage, whatever the base's geometry is
 *   reverse   base' = as_strided_scatter(base, view, ...)
 * In a functional program the base is a dense row-major value and offset 0 is its first element;
 * the wrapper first translates offsets that count from the storage. */
fnz_status fnzi_as_strided_forward(fnzi_forward *w) {
  fnzi_int *size, *stride, offset, *sizes, *strides;
  const fnzi_int zero = {0};
  size_t rank, nstrides;
  FNZ_TRY(fnzi_forward_ints(w, 1, &size, &rank));
  FNZ_TRY(fnzi_forward_ints(w, 2, &stride, &nstrides));
  FNZ_TRY(fnzi_forward_int_or(w, 3, fnzi_int_offset(w->base), &offset));
  if (rank != nstrides || rank > FNZ_MAX_RANK)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "as_strided: %zu sizes but %zu strides", rank,
                     nstrides);
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, (uint32_t)rank, &sizes, &strides));
  for (size_t d = 0; d < rank; d++) {
    if (fnzi_int_is_less(w->ints, size[d], zero) || fnzi_int_is_less(w->ints, stride[d], zero))
      return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "as_strided: size %s with stride %s; neither may be negative",
                       FNZI_PUT(w->ints, size[d]), FNZI_PUT(w->ints, stride[d]));
    sizes[d] = size[d];
    strides[d] = stride[d];
  }
  /* Strides that no walk takes may be any number: where all sizes are fixed, they stay as they are.
   */
  const fnz_arg given = fnzi_forward_arg(w, 2);
  for (uint32_t d = 0; d < (uint32_t)rank && !w->ints; d++)
    strides[d].bits = given.tag == FNZ_ARG_LIST ? given.u.list[d].u.i : given.u.i;
  w->out->offset = offset.bits;
  if (!fnzi_int_is_less(w->ints, offset, zero))
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL, "as_strided: storage_offset %s is negative",
                   FNZI_PUT(w->ints, offset));
}

static fnz_status scatter_strided(const fnzi_reverse *r, const fnz_geometry *g, fnzi_emitted *out) {
  fnz_arg args[5] = {fnzi_arg_value(r->base_value.handle), fnzi_arg_value(r->window.handle)};
  FNZ_TRY(fnzi_arg_of_sizes(r->emit->arena, g, &args[2]));
  FNZ_TRY(fnzi_arg_of_strides(r->emit->arena, g, &args[3]));
  args[4] = fnzi_arg_of_int(fnzi_int_offset(g));
  const fnz_geometry *result;
  FNZ_TRY(fnzi_contiguous_like(r->emit->ints, r->emit->arena, r->base, &result));
  return r->emit->call(r->emit->self, FNZI_EMIT_AS_STRIDED_SCATTER, args, 5, result, out);
}

fnz_status fnzi_as_strided_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnzi_forward w = fnzi_reverse_forward(r, r->base);
  FNZ_TRY(fnzi_as_strided_forward(&w));
  return scatter_strided(r, w.out, out);
}

/* --- diagonal(self, offset, dim1, dim2) ---------------------------------------------------
 *   forward   the two dimensions become one, last, that walks along both
 *   reverse   base' = diagonal_scatter(base, view, offset, dim1, dim2) */
fnz_status fnzi_diagonal_forward(fnzi_forward *w) {
  const fnz_geometry *b = w->base;
  fnzi_ints *s = w->ints;
  fnzi_int offset, *sizes, *strides;
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
  const fnzi_int zero = {0}, skip_c = fnzi_int_max(s, offset, zero),
                 skip_a = fnzi_int_sub(s, skip_c, offset);
  sizes[k] = fnzi_int_min(s, fnzi_int_sub(s, fnzi_int_size(b, a), skip_a),
                          fnzi_int_sub(s, fnzi_int_size(b, c), skip_c));
  sizes[k] = fnzi_int_max(s, sizes[k], zero);
  strides[k] = fnzi_int_add(s, fnzi_int_stride(b, a), fnzi_int_stride(b, c));
  if (fnzi_int_is(sizes[k], 0))
    return FNZ_OK;
  fnzi_view_move_on(s, w->out, skip_a, fnzi_int_stride(b, a));
  fnzi_view_move_on(s, w->out, skip_c, fnzi_int_stride(b, c));
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
  fnzi_ints *s = w->ints;
  fnzi_int size, step, *sizes, *strides;
  uint32_t dim;
  FNZ_TRY(fnzi_forward_dim(w, 1, b->rank, &dim));
  FNZ_TRY(fnzi_forward_int(w, 2, &size));
  FNZ_TRY(fnzi_forward_int(w, 3, &step));
  fnzi_int n = b->rank ? fnzi_int_size(b, dim) : fnzi_int_of(1);
  if (fnzi_int_is_less(s, size, fnzi_int_of(0)) || fnzi_int_is_less(s, n, size) ||
      fnzi_int_is_less(s, step, fnzi_int_of(1)))
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "unfold: size %s, step %s on dimension %u of size %s", FNZI_PUT(s, size),
                     FNZI_PUT(s, step), dim, FNZI_PUT(s, n));
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, b->rank + 1, &sizes, &strides));
  for (uint32_t d = 0; d < b->rank; d++) {
    sizes[d] = fnzi_int_size(b, d);
    strides[d] = fnzi_int_stride(b, d);
  }
  sizes[b->rank] = size;
  strides[b->rank] = b->rank ? strides[dim] : fnzi_int_of(1);
  if (!b->rank)
    return FNZ_OK;
  const fnzi_int more = fnzi_int_div_down(s, fnzi_int_sub(s, n, size), step);
  sizes[dim] = fnzi_int_add(s, more, fnzi_int_of(1));
  strides[dim] = fnzi_int_mul(s, strides[dim], step);
  return FNZ_OK;
}

fnz_status fnzi_unfold_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  const fnz_geometry *dense;
  fnzi_reverse on_dense = *r;
  FNZ_TRY(fnzi_contiguous_like(r->emit->ints, r->emit->arena, r->base, &dense));
  const fnz_geometry *base = r->base_value.geometry;
  /* A kept view may start after the start of its memory, and be the negative of that. */
  if (!fnzi_int_lies_in_rows(r->emit->ints, base) || base->is_conj || base->is_neg) {
    fnz_arg args[] = {fnzi_arg_value(r->base_value.handle),
                      {.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}};
    FNZ_TRY(r->emit->call(r->emit->self, FNZI_EMIT_CLONE, args, 2, dense, &on_dense.base_value));
  }
  fnzi_forward w = fnzi_reverse_forward(r, dense);
  FNZ_TRY(fnzi_unfold_forward(&w));
  return scatter_strided(&on_dense, w.out, out);
}
