/* repeats.c - one number written to some indices of a target in which an element has several
 * indices.
 *
 * needs   the row of the operator in facts.def; the strides of the target and of a mask
 * gives   the argument that is the number, and whether all indices of a location get the same
 * else    the operator has no row, or eager writes a copy that goes back as a whole: no number */
#include "mutations/mutations.h"
#include "schema/facts/targets.h"

static const fnz_geometry *look(const fnzi_mutation_call *c, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? c->geometry_of(c->user, arg) : NULL;
}

static bool writes_one_number(const fnzi_mutation_call *c) {
  const fnz_arg *adds = &c->args[fnzi_op_param(c->op, "accumulate")];
  const fnz_geometry *values = look(c, &c->args[fnzi_op_param(c->op, "values")]);
  bool accumulates = adds->tag != FNZ_ARG_DEFAULT && adds->u.i;
  return values && fnzi_int_is(fnzi_int_numel(NULL, values), 1) && !accumulates;
}

static bool indices_differ(const fnzi_mutation_call *c, const fnz_arg *choice, uint32_t d) {
  uint32_t dim = 0;
  if (choice->tag != FNZ_ARG_LIST || !writes_one_number(c))
    return true;
  for (uint32_t i = 0; i < choice->count; i++) {
    const fnz_arg *index = &choice->u.list[i];
    const fnz_geometry *g = look(c, index); /* an index: 1 dimension; a mask: all its own */
    dim += g && (g->dtype == FNZ_BOOL || g->dtype == FNZ_U8) ? g->rank : 1;
    if (dim > d)
      return index->tag == FNZ_ARG_VALUE;
  }
  return false;
}

static bool differs_along(const fnzi_mutation_call *c, fnzi_chooser by, const fnz_arg *choice,
                          const fnz_geometry *target, uint32_t d) {
  switch (by) {
  case FNZI_CHOOSER_MASK: {
    /* The mask chooses some of the elements along dimension d of the target, and others not. */
    const fnz_geometry *mask = look(c, choice);
    if (!mask || (mask->rank > 0 && !mask->strides) || mask->rank > target->rank)
      return true;
    if (d + mask->rank < target->rank)
      return false;
    uint32_t k = d + mask->rank - target->rank;
    return mask->sizes[k] > 1 && mask->strides[k] != 0;
  }
  case FNZI_CHOOSER_DIM:
    return choice->tag != FNZ_ARG_INT || choice->u.i + (choice->u.i < 0 ? target->rank : 0) == d;
  case FNZI_CHOOSER_INDICES:
    return indices_differ(c, choice, d);
  case FNZI_CHOOSER_PLACES:
  case FNZI_CHOOSER_NONE:
    break;
  }
  return true;
}

int fnzi_mutation_number(const fnzi_mutation_call *c, const fnz_geometry *target) {
  int param, value = fnzi_op_param(c->op, "value");
  const fnzi_chooser by = fnzi_repeated_by(c->op, &param);
  if (by == FNZI_CHOOSER_NONE || target->is_conj ||
      target->is_neg) /* a copy is written, and all of */
    return -1;        /* it goes back */
  /* Eager scatters 16-bit floats into a wider copy and copies all of it back. */
  bool is_refused =
      target->dtype == FNZ_F16 || target->dtype == FNZ_BF16 || fnzi_has_zero_stride(target);
  if ((by == FNZI_CHOOSER_MASK && !look(c, &c->args[param])) || /* a number, which is no mask */
      (by == FNZI_CHOOSER_INDICES && !writes_one_number(c)) ||
      (by == FNZI_CHOOSER_PLACES && is_refused))
    return -1;
  const fnz_geometry *number = value >= 0 ? look(c, &c->args[value]) : NULL;
  if (number && number->rank) /* which index_put_ takes alone */
    return -1;
  return value >= 0 ? value : fnzi_op_param(c->op, "values");
}

bool fnzi_mutation_writes_alike(const fnzi_mutation_call *c, const fnz_geometry *target) {
  int param;
  const fnzi_chooser by = fnzi_repeated_by(c->op, &param);
  int64_t sizes[FNZ_MAX_RANK];
  fnz_geometry one = *target;
  if (by == FNZI_CHOOSER_NONE)
    return false;
  one.sizes = sizes;
  for (uint32_t d = 0; d < target->rank; d++) {
    const fnzi_int size = fnzi_int_size(target, d);
    const bool is_one_place =
        target->strides[d] == 0 && !fnzi_int_is(size, 0) && !fnzi_int_is(size, 1);
    if (is_one_place &&
        !fnzi_int_decide_at_least(c->ints, size, fnzi_int_of(1), FNZI_MUTATION_ASKS_REPEATED))
      return false; /* without elements, nothing is written */
    sizes[d] = is_one_place ? 1 : target->sizes[d];
    if (is_one_place && differs_along(c, by, &c->args[param], target, d))
      return false;
  }
  return fnzi_oracle_relate_self(c->ints, &one, FNZI_MUCH_WORK) == FNZI_DISJOINT;
}
