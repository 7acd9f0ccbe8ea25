/* expand.c - the view that shows one element in several places.
 *
 *   forward   dimensions of size 1 grow with stride 0; new dimensions come in front
 *   reverse   base' = one copy of each; a write through expanded memory is allowed only where all
 *             copies get the same value, so any copy is right */
#include "views/rule.h"

fnz_status fnzi_expand_forward(fnzi_forward *w) {
  int64_t *want, *sizes, *strides;
  size_t rank;
  FNZ_TRY(fnzi_forward_ints(w, 1, &want, &rank));
  if (rank < w->base->rank || rank > FNZ_MAX_RANK)
    return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "expand: %zu sizes for a tensor of %u dimensions", rank, w->base->rank);
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, (uint32_t)rank, &sizes, &strides));
  for (uint32_t k = (uint32_t)rank, added = (uint32_t)rank - w->base->rank; k-- > 0;) {
    bool is_new = k < added;
    sizes[k] = is_new ? 1 : w->base->sizes[k - added];
    strides[k] = !is_new        ? w->base->strides[k - added]
                 : k + 1 < rank ? fnzi_view_mul(sizes[k + 1], strides[k + 1])
                                : 1;
    if (want[k] == sizes[k] || (want[k] == -1 && !is_new))
      continue;
    if (sizes[k] != 1 || want[k] < 0)
      return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "expand: dimension %u of size %lld cannot become %lld; only size 1 grows", k,
                       (long long)sizes[k], (long long)want[k]);
    sizes[k] = want[k];
    strides[k] = 0;
  }
  return FNZ_OK;
}

/* The window with `dim` cut to size 1, or dropped. */
static fnz_status narrow(const fnzi_reverse *r, uint32_t dim, bool drop, fnzi_emitted *v) {
  const fnz_geometry *g = v->geometry, *result;
  fnz_geometry cut = {.dtype = g->dtype, .rank = g->rank - drop};
  int64_t *sizes;
  FNZI_NEW(r->emit->arena, g->rank, &sizes);
  for (uint32_t d = 0, k = 0; d < g->rank; d++)
    if (d != dim || !drop)
      sizes[k++] = d == dim ? 1 : g->sizes[d];
  cut.sizes = sizes;
  FNZ_TRY(fnzi_contiguous_like(r->emit->arena, &cut, &result));
  const fnz_arg args[] = {fnzi_arg_value(v->handle), fnzi_arg_int(dim), fnzi_arg_int(0),
                          fnzi_arg_int(1)};
  return r->emit->call(r->emit->self, drop ? FNZI_EMIT_SELECT_COPY : FNZI_EMIT_SLICE_COPY, args,
                       drop ? 3 : 4, result, v);
}

fnz_status fnzi_expand_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnzi_emitted v = r->window;
  while (v.geometry->rank > r->base->rank)
    FNZ_TRY(narrow(r, 0, true, &v));
  for (uint32_t d = 0; d < r->base->rank; d++)
    if (v.geometry->sizes[d] != r->base->sizes[d])
      FNZ_TRY(narrow(r, d, false, &v));
  *out = v;
  return FNZ_OK;
}
