/* reshape.c - views with the same elements in the same order under other sizes: view,
 * _reshape_alias. A window exists only when the base's strides allow it.
 *
 *   forward   view = base under other sizes
 *   reverse   base' = view under the base's sizes */
#include "views/rule.h"
#include "views/composites.h"

/* Strides for an empty tensor: as if every size were at least 1. */
static void empty_strides(const int64_t *sizes, uint32_t rank, int64_t *out) {
  int64_t stride = 1;
  for (uint32_t d = rank; d-- > 0;) {
    out[d] = stride;
    stride = fnzi_view_mul(stride, sizes[d] > 1 ? sizes[d] : 1);
  }
}

/* Cuts the base into runs of dimensions that step through memory uniformly, and assigns the new
 * sizes to the runs from the last one on; the sizes of each run must have its number of elements.
 */
bool fnzi_view_strides(const fnz_geometry *base, const int64_t *sizes, uint32_t rank,
                       int64_t *out) {
  if (fnz_geometry_numel(base) == 0) {
    if (fnzi_has_sizes(base, sizes, rank) && rank)
      memcpy(out, base->strides, rank * sizeof *out);
    else
      empty_strides(sizes, rank, out);
    return true;
  }
  uint32_t next = rank; /* sizes[next..] are assigned */
  for (uint32_t d = base->rank; d > 0;) {
    int64_t step = base->strides[d - 1], run = base->sizes[d - 1], filled = 1;
    for (d--; d > 0 &&
              (base->sizes[d - 1] == 1 || fnzi_view_is_product(base->strides[d - 1], run, step));
         d--)
      run *= base->sizes[d - 1];
    while (next > 0 && (filled < run || sizes[next - 1] == 1)) {
      out[--next] = fnzi_view_mul(filled, step); /* wraps only where no element uses it */
      filled *= sizes[next];
    }
    if (filled != run)
      return false;
  }
  while (next > 0 && sizes[next - 1] == 1)
    out[--next] = 1;
  return next == 0;
}

fnz_status fnzi_infer_sizes(fnz_context *ctx, const char *op, int64_t numel, int64_t *sizes,
                            uint32_t rank) {
  int64_t known = 1, reach = 1; /* reach: with sizes of 0 left out */
  uint32_t unknown = rank;
  for (uint32_t d = 0; d < rank; d++) {
    if (sizes[d] > 0 && !fnzi_mul_i64(reach, sizes[d], &reach))
      return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL, "%s: the sizes leave 63 bits", op);
    if (sizes[d] == -1 && unknown == rank)
      unknown = d;
    else if (sizes[d] < 0 || !fnzi_mul_i64(known, sizes[d], &known))
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "%s: size %lld in dimension %u is not allowed",
                       op, (long long)sizes[d], d);
  }
  if (unknown < rank && known > 0 && numel % known == 0)
    sizes[unknown] = numel / known;
  else if (unknown < rank || known != numel)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: %lld elements do not fit sizes with a product of %lld", op,
                     (long long)numel, (long long)known);
  return FNZ_OK;
}

fnz_status fnzi_reshape_forward(fnzi_forward *w) {
  int64_t *want, *sizes, *strides;
  size_t rank;
  FNZ_TRY(fnzi_forward_ints(w, 1, &want, &rank));
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, (uint32_t)rank, &sizes, &strides));
  FNZ_TRY(fnzi_infer_sizes(w->ctx, w->op->name, fnz_geometry_numel(w->base), want, (uint32_t)rank));
  if (rank)
    memcpy(sizes, want, rank * sizeof *sizes);
  if (fnzi_view_strides(w->base, sizes, (uint32_t)rank, strides))
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                   "%s: the strides of self do not allow these sizes; use reshape, which copies",
                   w->op->name);
}

fnz_status fnzi_reshape_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnz_arg args[2] = {fnzi_arg_value(r->window.handle)};
  FNZ_TRY(fnzi_arg_ints(r->emit->arena, r->base->sizes, r->base->rank, &args[1]));
  return fnzi_emit_base(r, FNZI_EMIT_VIEW_COPY, args, 2, out);
}

/* _reshape_alias(self, size, stride): the strides must equal the strides that view computes. */
fnz_status fnzi_reshape_alias_forward(fnzi_forward *w) {
  return fnzi_reshape_forward(w);
}
