/* expand.c - the view that shows one element in several places.
 *
 *   forward   dimensions of size 1 grow with stride 0; new dimensions come in front
 *   reverse   base' = one copy of each; a write through expanded memory is allowed only where all
 *             copies get the same value, so any copy is right */
#include "views/rule.h"

fnz_status fnzi_expand_forward(fnzi_forward *w) {
  fnzi_int *want, *sizes, *strides;
  size_t rank;
  FNZ_TRY(fnzi_forward_ints(w, 1, &want, &rank));
  if (rank < w->base->rank || rank > FNZ_MAX_RANK)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "expand: %zu sizes for a tensor of %u dimensions", rank, w->base->rank);
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, (uint32_t)rank, &sizes, &strides));
  for (uint32_t k = (uint32_t)rank, added = (uint32_t)rank - w->base->rank; k-- > 0;) {
    bool is_new = k < added;
    sizes[k] = is_new ? fnzi_int_of(1) : fnzi_int_size(w->base, k - added);
    strides[k] = !is_new        ? fnzi_int_stride(w->base, k - added)
                 : k + 1 < rank ? fnzi_int_mul(w->ints, sizes[k + 1], strides[k + 1])
                                : fnzi_int_of(1);
    if (fnzi_int_same(want[k], sizes[k]) || (fnzi_int_is(want[k], -1) && !is_new))
      continue;
    if (!fnzi_int_is(sizes[k], 1) || fnzi_int_is_less(w->ints, want[k], fnzi_int_of(0)))
      return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "expand: dimension %u of size %s cannot become %s; only size 1 grows", k,
                       FNZI_PUT(w->ints, sizes[k]), FNZI_PUT(w->ints, want[k]));
    sizes[k] = want[k];
    strides[k] = fnzi_int_of(0);
  }
  return FNZ_OK;
}

/* The window with `dim` cut to size 1, or dropped. */
static fnz_status narrow(const fnzi_reverse *r, uint32_t dim, bool drop, fnzi_emitted *v) {
  const fnz_geometry *g = v->geometry, *result;
  fnz_geometry cut = {.dtype = g->dtype, .rank = g->rank - drop};
  fnzi_int *sizes;
  FNZI_NEW(r->emit->arena, g->rank, &sizes);
  for (uint32_t d = 0, k = 0; d < g->rank; d++)
    if (d != dim || !drop)
      sizes[k++] = d == dim ? fnzi_int_of(1) : fnzi_int_size(g, d);
  cut.sizes = &sizes->bits;
  FNZ_TRY(fnzi_contiguous_like(r->emit->ints, r->emit->arena, &cut, &result));
  const fnz_arg args[] = {fnzi_arg_value(v->handle), fnzi_arg_int(dim), fnzi_arg_int(0),
                          fnzi_arg_int(1)};
  return r->emit->call(r->emit->self, drop ? FNZI_EMIT_SELECT_COPY : FNZI_EMIT_SLICE_COPY, args,
                       drop ? 3 : 4, result, v);
}

fnz_status fnzi_expand_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnzi_emitted v = r->window;
  /* The base is the first of the slices that show it; if there may be none, it keeps its value. */
  fnzi_ints *s = r->emit->ints;
  const fnz_geometry *g = r->window.geometry;
  const uint32_t added = g->rank - r->base->rank;
  for (uint32_t d = 0; s && d < g->rank; d++) {
    const fnzi_int size = fnzi_int_size(g, d);
    const bool grew = d < added || !fnzi_int_same(size, fnzi_int_size(r->base, d - added));
    if (grew && !fnzi_int_is_number(size) && !fnzi_int_is_less(s, fnzi_int_of(0), size) &&
        !fnzi_int_require_not(s, size, 0, "memory is written through a dimension that grew"))
      return fnzi_fail_for(r->emit->arena->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
                           "expand: this writes memory through dimension %u of size %s, which may "
                           "be 0; assert that it is not",
                           d, FNZI_PUT(s, size));
  }
  while (v.geometry->rank > r->base->rank)
    FNZ_TRY(narrow(r, 0, true, &v));
  for (uint32_t d = 0; d < r->base->rank; d++)
    if (!fnzi_int_same(fnzi_int_size(v.geometry, d), fnzi_int_size(r->base, d)))
      FNZ_TRY(narrow(r, d, false, &v));
  *out = v;
  return FNZ_OK;
}
