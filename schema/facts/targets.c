/* targets.c - what facts.def says of operands that lie where an operator writes, and of numbers
 * that it writes to chosen places. */
#include "schema/facts/targets.h"

#include "schema/aten_names.h"
#include "schema/facts/facts.h"

/* The names of its rows are those of the operator's, of whose forms the places are the same. */
static int param_of(const fnz_op *op, const char *name) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  return name && twin ? fnzi_op_param(fnzi_op_canonical(twin), name) : -1;
}

int fnzi_own_input(const fnz_op *op, const fnzi_param *written) {
  return written->is_out ? param_of(op, fnzi_fact_of(op, 0)->own_input)
                         : (int)(written - op->params);
}

static bool takes_lazy(const fnz_op *op) {
  return FNZI_FACT_HOLDS(op, lazy);
}

bool fnzi_reads_whole(const fnz_op *op, const fnz_geometry *target, const fnz_geometry *operand) {
  bool conj = target->is_conj || operand->is_conj, neg = target->is_neg || operand->is_neg;
  if (op->kind == FNZI_KIND_OUT && (op->tags & FNZI_TAG_GENERATED))
    return true;
  if (!conj && !neg)
    return false;
  return op != &fnzi_ops[FNZI_ATEN_copy_] && (neg || !takes_lazy(op));
}

/* A call of an operator that writes one number to places that `choice` chooses. */
typedef struct repeating {
  const fnz_op *op;
  const fnz_arg *args, *choice;
  const fnz_geometry *target;
  fnzi_geometry_reader *geometry_of;
  void *user;
} repeating;

static const fnz_geometry *look(const repeating *r, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? r->geometry_of(r->user, arg) : NULL;
}

/* The mask chooses some of the elements along dimension d of the target, and others not. */
static bool mask_differs(const repeating *r, uint32_t d) {
  const fnz_geometry *target = r->target, *mask = look(r, r->choice);
  if (!mask || (mask->rank > 0 && !mask->strides) || mask->rank > target->rank)
    return true;
  if (d + mask->rank < target->rank)
    return false;
  uint32_t k = d + mask->rank - target->rank;
  return mask->sizes[k] > 1 && mask->strides[k] != 0;
}

static bool dim_differs(const repeating *r, uint32_t d) {
  int64_t dim = r->choice->u.i;
  return r->choice->tag != FNZ_ARG_INT || dim + (dim < 0 ? r->target->rank : 0) == d;
}

/* An index stands for a dimension, a mask for all that it has. */
static uint32_t dims_of_index(const repeating *r, const fnz_arg *index) {
  const fnz_geometry *g = look(r, index);
  return g && (g->dtype == FNZ_BOOL || g->dtype == FNZ_U8) ? g->rank : 1;
}

static bool writes_one_number(const repeating *r) {
  const fnz_arg *adds = &r->args[fnzi_op_param(r->op, "accumulate")];
  const fnz_geometry *values = look(r, &r->args[fnzi_op_param(r->op, "values")]);
  bool accumulates = adds->tag != FNZ_ARG_DEFAULT && adds->u.i;
  return values && fnz_geometry_numel(values) == 1 && !accumulates;
}

static bool indices_differ(const repeating *r, uint32_t d) {
  uint32_t dim = 0;
  if (r->choice->tag != FNZ_ARG_LIST || !writes_one_number(r))
    return true;
  for (uint32_t i = 0; i < r->choice->count; i++) {
    const fnz_arg *index = &r->choice->u.list[i];
    dim += dims_of_index(r, index);
    if (dim > d)
      return index->tag == FNZ_ARG_VALUE;
  }
  return false;
}

static bool differs_along(const repeating *r, fnzi_chooser by, uint32_t d) {
  switch (by) {
  case FNZI_CHOOSER_MASK:
    return mask_differs(r, d);
  case FNZI_CHOOSER_DIM:
    return dim_differs(r, d);
  case FNZI_CHOOSER_INDICES:
    return indices_differ(r, d);
  case FNZI_CHOOSER_PLACES:
  case FNZI_CHOOSER_NONE:
    break;
  }
  return true;
}

/* What chooses the places, and where it stands; -1 where eager wants each element in one place. */
static int chooser_of(const fnz_op *op, fnzi_chooser *by) {
  const fnzi_fact *row = fnzi_fact_of(op, 0);
  *by = op->kind == FNZI_KIND_INPLACE ? row->chosen.by : FNZI_CHOOSER_NONE;
  return *by == FNZI_CHOOSER_NONE ? -1 : param_of(op, row->chosen.param);
}

int fnzi_one_number(const fnz_op *op, const fnz_arg *args, const fnz_geometry *target,
                    fnzi_geometry_reader *geometry_of, void *user) {
  fnzi_chooser by;
  const int choice = chooser_of(op, &by);
  if (choice < 0 || target->is_conj || target->is_neg) /* a copy is written, and all of */
    return -1;                                         /* it goes back */
  const repeating r = {op, args, NULL, target, geometry_of, user};
  /* Halves are scattered into a wider copy, all of which goes back. */
  bool is_refused = target->dtype == FNZ_F16 || target->dtype == FNZ_BF16;
  for (uint32_t d = 0; d < target->rank; d++)
    is_refused = is_refused || (target->strides[d] == 0 && target->sizes[d] > 1);
  bool has_mask = look(&r, &args[choice]) != NULL;
  if ((by == FNZI_CHOOSER_MASK && !has_mask) || /* a number, which is no mask */
      (by == FNZI_CHOOSER_INDICES && !writes_one_number(&r)) ||
      (by == FNZI_CHOOSER_PLACES && is_refused))
    return -1;
  int value = fnzi_op_param(op, "value");
  return value >= 0 ? value : fnzi_op_param(op, "values");
}

bool fnzi_writes_alike(const fnz_op *op, const fnz_arg *args, const fnz_geometry *target,
                       fnzi_geometry_reader *geometry_of, void *user, int64_t *sizes,
                       fnz_geometry *one) {
  fnzi_chooser by;
  const int choice = chooser_of(op, &by);
  if (choice < 0)
    return false;
  const repeating r = {op, args, &args[choice], target, geometry_of, user};
  *one = *target;
  one->sizes = sizes;
  for (uint32_t d = 0; d < target->rank; d++) {
    bool is_one_place = target->strides[d] == 0 && target->sizes[d] > 1;
    sizes[d] = is_one_place ? 1 : target->sizes[d];
    if (is_one_place && differs_along(&r, by, d))
      return false;
  }
  return true;
}
