/* reshape.c - views with the same elements in the same order under other sizes: view,
 * _reshape_alias. A window exists only when the base's strides allow it.
 *
 *   forward   view = base under other sizes
 *   reverse   base' = view under the base's sizes */
#include "views/rule.h"
#include "views/composites.h"

static const char by_strides[] = "it decides whether other sizes show the same memory, or a copy";

/* The dimension steps over the run behind it. */
static bool is_next(fnzi_ints *s, const fnz_geometry *g, uint32_t d, fnzi_int stride) {
  return fnzi_int_same(fnzi_int_stride(g, d), stride) ||
         fnzi_int_decide_same(s, fnzi_int_size(g, d), fnzi_int_of(1), by_strides) ||
         fnzi_int_decide_same(s, fnzi_int_stride(g, d), stride, by_strides);
}

/* So many elements are the run. If one number is a multiple of the other, the question is whether
 * the factor is 1, because both answers are right if the run has no elements. */
static bool is_run(fnzi_ints *s, fnzi_int run, fnzi_int filled) {
  const fnzi_int one = {1}, pairs[2][2] = {{run, filled}, {filled, run}};
  for (size_t k = 0; s && k < 2; k++) {
    const fnzi_int whole = pairs[k][0], part = pairs[k][1];
    const bool divides = !fnzi_int_is(part, 0) && !fnzi_int_is(part, 1);
    const fnzi_int factor = divides ? fnzi_ints_quotient(s, whole, part) : FNZI_INT_NONE;
    if (fnzi_int_is_product(s, whole, factor, part))
      return fnzi_int_decide_same(s, factor, one, by_strides);
  }
  return fnzi_int_decide_same(s, run, filled, by_strides);
}

/* The next size is one more of the run. Sizes of `filled` elements are assigned so far. */
static bool is_of_run(fnzi_ints *s, fnzi_int run, fnzi_int filled, fnzi_int size) {
  if (fnzi_int_is(size, 1) || fnzi_int_same(filled, run))
    return fnzi_int_is(size, 1);
  return fnzi_int_is_product(s, run, filled, size) ||
         !(fnzi_int_is_at_least(s, filled, run) || is_run(s, run, filled));
}

/* Cuts the base into runs of dimensions that step through memory uniformly, and assigns the new
 * sizes to the runs from the last one on; the sizes of each run must have its number of elements.
 */
bool fnzi_view_strides(fnzi_ints *s, const fnz_geometry *base, const fnzi_int *sizes, uint32_t rank,
                       fnzi_int *out) {
  if (fnzi_int_is_empty(base)) {
    if (fnzi_int_has_sizes(base, sizes, rank) && rank)
      memcpy(out, base->strides, rank * sizeof *out);
    else {
      /* Strides for an empty tensor: as if every size were at least 1. */
      fnzi_int stride = {1};
      for (uint32_t d = rank; d-- > 0;) {
        out[d] = stride;
        stride = fnzi_int_mul(s, stride, fnzi_int_max(s, sizes[d], fnzi_int_of(1)));
      }
    }
    return true;
  }
  if (s && fnzi_int_is_contiguous(s, base)) { /* any sizes with as many elements are */
    const fnz_geometry to = {.rank = rank, .sizes = rank ? &sizes->bits : NULL};
    fnzi_int_row_strides(s, &to, out);
    return true;
  }
  uint32_t next = rank; /* sizes[next..] are assigned */
  for (uint32_t d = base->rank; d > 0;) {
    fnzi_int step = fnzi_int_stride(base, d - 1), run = fnzi_int_size(base, d - 1), filled = {1};
    for (d--; d > 0 && is_next(s, base, d - 1, fnzi_int_mul(s, run, step)); d--)
      run = fnzi_int_mul(s, run, fnzi_int_size(base, d - 1));
    while (next > 0 && is_of_run(s, run, filled, sizes[next - 1])) {
      out[--next] = fnzi_int_mul(s, filled, step);
      filled = fnzi_int_mul(s, filled, sizes[next]);
    }
    if (!fnzi_int_same(filled, run) &&
        !(fnzi_int_is_at_least(s, filled, run) && fnzi_int_is_at_least(s, run, filled)) &&
        !is_run(s, run, filled))
      return false;
  }
  while (next > 0 && fnzi_int_decide_same(s, sizes[next - 1], fnzi_int_of(1), by_strides))
    out[--next] = fnzi_int_of(1);
  return next == 0;
}

/* The product of the sizes that are given; where one is -1, its dimension in *unknown. */
static fnz_status multiply(const fnzi_sized *to, uint32_t *unknown, fnzi_int *known) {
  fnzi_int reach = {1}; /* with sizes of 0 left out */
  *known = reach;
  *unknown = to->rank;
  for (uint32_t d = 0; d < to->rank; d++) {
    const fnzi_int size = to->sizes[d];
    if (fnzi_int_is(size, -1) && *unknown == to->rank) {
      *unknown = d;
      continue;
    }
    if (fnzi_int_is_less(to->ints, size, fnzi_int_of(0)))
      return fnzi_fail(to->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: size %s in dimension %u is not allowed", to->op,
                       FNZI_PUT(to->ints, size), d);
    reach = fnzi_int_is(size, 0) ? reach : fnzi_int_mul(to->ints, reach, size);
    *known = fnzi_int_mul(to->ints, *known, size);
  }
  return fnzi_int_is_none(reach)
             ? fnzi_fail(to->ctx, FNZ_CLASS_OVERFLOW, NULL, "%s: the sizes leave 61 bits", to->op)
             : FNZ_OK;
}

fnz_status fnzi_infer_sizes(const fnzi_sized *to, fnzi_int numel) {
  fnzi_int known;
  uint32_t unknown;
  FNZ_TRY(multiply(to, &unknown, &known));
  const bool may_divide = unknown < to->rank && !fnzi_int_is(known, 0);
  if (may_divide && !(fnzi_int_is_number(numel) && fnzi_int_is_number(known) &&
                      !fnzi_int_is_multiple(to->ints, numel, known))) {
    to->sizes[unknown] = fnzi_int_div_down(to->ints, numel, known);
    return FNZ_OK;
  }
  const bool differs =
      fnzi_int_is_less(to->ints, known, numel) || fnzi_int_is_less(to->ints, numel, known);
  if (unknown == to->rank && !differs)
    return FNZ_OK;
  return fnzi_fail(to->ctx, FNZ_CLASS_BOUNDS, NULL,
                   "%s: %s elements do not fit sizes with a product of %s", to->op,
                   FNZI_PUT(to->ints, numel), FNZI_PUT(to->ints, known));
}

fnz_status fnzi_reshape_forward(fnzi_forward *w) {
  fnzi_int *want, *sizes, *strides;
  size_t rank;
  FNZ_TRY(fnzi_forward_ints(w, 1, &want, &rank));
  FNZ_TRY(fnzi_forward_open(w, 1));
  FNZ_TRY(fnzi_forward_shape(w, 0, (uint32_t)rank, &sizes, &strides));
  const fnzi_sized to = {w->ctx, w->ints, w->op->name, want, (uint32_t)rank};
  FNZ_TRY(fnzi_infer_sizes(&to, fnzi_int_numel(w->ints, w->base)));
  if (rank)
    memcpy(sizes, want, rank * sizeof *sizes);
  if (fnzi_view_strides(w->ints, w->base, sizes, (uint32_t)rank, strides))
    return FNZ_OK;
  return fnzi_fail(w->ctx, FNZ_CLASS_BOUNDS, NULL,
                   "%s: the strides of self do not allow these sizes; use reshape, which copies",
                   w->op->name);
}

fnz_status fnzi_reshape_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  fnz_arg args[2] = {fnzi_arg_value(r->window.handle)};
  FNZ_TRY(fnzi_arg_of_sizes(r->emit->arena, r->base, &args[1]));
  return fnzi_emit_base(r, FNZI_EMIT_VIEW_COPY, args, 2, out);
}

/* _reshape_alias(self, size, stride): the strides must equal the strides that view computes. */
fnz_status fnzi_reshape_alias_forward(fnzi_forward *w) {
  return fnzi_reshape_forward(w);
}
