/* alike.c - operators that write one number to the places that a mask, a dimension or indices
 * choose, where the target has several elements in one place.
 *
 * Nothing is concluded from strides: a walk over the target notes for each place of memory what
 * chose the first element that lies there, and looks whether the others were chosen by the same.
 * The choice of an element is a number, too: the place of the mask that it reads, or its index
 * along the dimensions that count. */
#include "run/cells.h"
#include "run/eager/eager.h"
#include "schema/facts/targets.h"

static const fnz_geometry *look(fnzi_eag_op *s, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? fnzi_eag_op_geometry(s, arg) : NULL;
}

/* --- What chooses an element: steps along the dimensions of the target ------------------------ */

/* False for an operator that does not choose places of one number. */
static bool find_steps(fnzi_eag_op *s, const fnz_geometry *target, int64_t *steps) {
  bool counts[FNZ_MAX_RANK] = {false};
  int param;
  const fnzi_chooser by = fnzi_repeated_by(s->op, &param);
  if (by == FNZI_CHOOSER_NONE)
    return false;
  if (by == FNZI_CHOOSER_MASK) {
    const fnz_geometry *mask = look(s, &s->args[param]);
    if (mask == NULL || mask->rank > target->rank)
      return false;
    for (uint32_t k = 0; k < mask->rank; k++)
      steps[target->rank - mask->rank + k] = mask->sizes[k] == 1 ? 0 : mask->strides[k];
    return true;
  }
  if (by == FNZI_CHOOSER_INDICES && fnzi_eag_chosen_number(s, target) < 0)
    return false;
  const int64_t dim = s->args[param].u.i;
  if (by == FNZI_CHOOSER_INDICES) {
    /* Indices stand one after the other for the dimensions; a mask among them for several. */
    uint32_t at = 0;
    for (uint32_t i = 0; i < s->args[param].count; i++) {
      const fnz_geometry *index = look(s, &s->args[param].u.list[i]);
      bool is_mask = index != NULL && (index->dtype == FNZ_BOOL || index->dtype == FNZ_U8);
      for (uint32_t end = at + (is_mask ? index->rank : 1); at < end; at++)
        if (at < target->rank)
          counts[at] = index != NULL;
    }
  }
  for (uint32_t d = 0; by == FNZI_CHOOSER_DIM && d < target->rank; d++)
    counts[d] = dim == d || dim + target->rank == d;
  for (uint32_t d = 0; by == FNZI_CHOOSER_PLACES && d < target->rank; d++)
    counts[d] = true;
  /* The index along some dimensions, as a number. */
  int64_t step = 1;
  for (uint32_t d = target->rank; d-- > 0;) {
    steps[d] = counts[d] ? step : 0;
    step *= counts[d] ? target->sizes[d] : 1;
  }
  return true;
}

/* --- Places ----------------------------------------------------------------------------------- */

/* Elements in one place have one number. */
static fnz_status agree(fnz_context *ctx, const fnz_geometry *target, const fnz_geometry *numbers,
                        bool *out) {
  int64_t low, high, *first;
  if (!fnzi_extent(target, &low, &high))
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, "", "the extent of a tensor leaves 64 bits");
  const size_t bytes = (size_t)(high - low) * sizeof *first;
  fnzi_run_walk place, number;
  if ((first = fnzi_resize(ctx, NULL, 0, bytes)) == NULL)
    return fnzi_no_memory(ctx);
  memset(first, 0, bytes);
  *out = true;
  fnzi_run_walk_start(&number, numbers);
  for (fnzi_run_walk_start(&place, target); *out && place.left > 0; fnzi_run_walk_step(&place)) {
    int64_t *at = &first[place.place - low];
    *out = *at == 0 || *at == number.place + 1;
    *at = number.place + 1;
    fnzi_run_walk_step(&number);
  }
  fnzi_free(ctx, first, bytes);
  return FNZ_OK;
}

fnz_status fnzi_eag_chosen_alike(fnzi_eag_op *s, const fnz_geometry *target, int64_t *sizes,
                                 bool *out) {
  int64_t steps[FNZ_MAX_RANK] = {0};
  fnz_geometry numbers = *target, less = *target;
  bool overlaps;
  *out = false;
  memcpy(sizes, target->sizes, target->rank * sizeof *sizes);
  if (!find_steps(s, target, steps))
    return FNZ_OK;
  FNZ_TRY(fnzi_eag_places_overlap(s->ctx, target, &overlaps));
  *out = !overlaps;
  if (!overlaps)
    return FNZ_OK;
  numbers.strides = steps;
  numbers.offset = 0;
  FNZ_TRY(agree(s->ctx, target, &numbers, out));
  if (!*out)
    return FNZ_OK;
  /* Dimensions along which the first element reaches all places are cut down to it. */
  less.sizes = sizes;
  for (uint32_t d = 0; d < target->rank; d++) {
    bool covers;
    sizes[d] = 1;
    FNZ_TRY(fnzi_eag_places_cover(s->ctx, &less, target, &covers));
    sizes[d] = covers ? 1 : target->sizes[d];
  }
  FNZ_TRY(fnzi_eag_places_overlap(s->ctx, &less, &overlaps));
  *out = !overlaps;
  return FNZ_OK;
}

/* --- The number ------------------------------------------------------------------------------- */

int fnzi_eag_chosen_number(fnzi_eag_op *s, const fnz_geometry *target) {
  int param;
  bool is_half = target->dtype == FNZ_F16 || target->dtype == FNZ_BF16;
  bool is_lazy = target->is_neg || target->is_conj;
  const fnzi_chooser by = fnzi_repeated_by(s->op, &param);
  /* Eager resolves a lazy target into a copy, and scatters halves into a wider one: all of a copy
   * goes back. */
  if (by == FNZI_CHOOSER_NONE || is_lazy ||
      (by == FNZI_CHOOSER_PLACES && (is_half || fnzi_eag_is_expanded(target))) ||
      (by == FNZI_CHOOSER_MASK && look(s, &s->args[param]) == NULL)) /* it is a number */
    return -1;
  if (by == FNZI_CHOOSER_INDICES) {
    /* index_put_ takes a tensor of one element for a number, unless it adds. */
    const int values = fnzi_op_param(s->op, "values"), adds = fnzi_op_param(s->op, "accumulate");
    const fnz_geometry *g = look(s, &s->args[values]);
    bool is_one = g != NULL && fnz_geometry_numel(g) == 1;
    return is_one && fnzi_eag_op_int(s, (size_t)adds, 0) == 0 ? values : -1;
  }
  const int value = fnzi_op_param(s->op, "value");
  const fnz_geometry *number = look(s, &s->args[value]);
  return number == NULL || number->rank == 0 ? value : -1;
}
