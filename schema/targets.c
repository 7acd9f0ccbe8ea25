/* targets.c - the rows of targets.def. */
#include "schema/targets.h"

#include "schema/aten_names.h"

typedef struct written_row {
  uint16_t op;
  const char *param;
} written_row;

static const written_row own_inputs[] = {
#define OWN_INPUT(op, param) {FNZI_ATEN_##op, param},
#define LAZY(op)
#define REPEATED(op, param)
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
#undef REPEATED
};

static const uint16_t lazy[] = {
#define OWN_INPUT(op, param)
#define LAZY(op) FNZI_ATEN_##op,
#define REPEATED(op, param)
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
#undef REPEATED
};

static const written_row repeated[] = {
#define OWN_INPUT(op, param)
#define LAZY(op)
#define REPEATED(op, param) {FNZI_ATEN_##op, param},
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
#undef REPEATED
};

/* The parameter that the row of the operator names; -1 where it has none. */
static int param_of(const fnz_op *op, const written_row *rows, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (op == &fnzi_ops[rows[i].op])
      return fnzi_op_param(op, rows[i].param);
  return -1;
}

int fnzi_own_input(const fnz_op *op, const fnzi_param *written) {
  return written->is_out ? param_of(op, own_inputs, sizeof own_inputs / sizeof *own_inputs)
                         : (int)(written - op->params);
}

static bool takes_lazy(const fnz_op *op) {
  return fnzi_op_is_among(op, lazy, sizeof lazy / sizeof *lazy);
}

bool fnzi_reads_whole(const fnz_op *op, const fnz_geometry *target, const fnz_geometry *operand) {
  bool conj = target->is_conj || operand->is_conj, neg = target->is_neg || operand->is_neg;
  if (op->kind == FNZI_KIND_OUT && (op->tags & FNZI_TAG_GENERATED))
    return true;
  if (!conj && !neg)
    return false;
  return op != &fnzi_ops[FNZI_ATEN_copy_] && (neg || !takes_lazy(op));
}

/* The mask chooses some of the elements along dimension d of the target, and others not. */
static bool differs_along(const fnz_geometry *mask, const fnz_geometry *target, uint32_t d) {
  if (mask->rank > target->rank)
    return true;
  if (d + mask->rank < target->rank)
    return false;
  uint32_t k = d + mask->rank - target->rank;
  return mask->sizes[k] > 1 && mask->strides[k] != 0;
}

bool fnzi_writes_alike(const fnz_op *op, const fnz_arg *args, const fnz_geometry *target,
                       fnzi_geometry_reader *geometry_of, void *user, int64_t *sizes,
                       fnz_geometry *one) {
  int at = param_of(op, repeated, sizeof repeated / sizeof *repeated);
  if (at < 0)
    return false;
  const fnz_geometry *mask = args[at].tag == FNZ_ARG_VALUE ? geometry_of(user, &args[at]) : NULL;
  if (!mask || (mask->rank > 0 && !mask->strides))
    return false;
  *one = *target;
  one->sizes = sizes;
  for (uint32_t d = 0; d < target->rank; d++) {
    bool is_one_place = target->strides[d] == 0 && target->sizes[d] > 1;
    sizes[d] = is_one_place ? 1 : target->sizes[d];
    if (is_one_place && differs_along(mask, target, d))
      return false;
  }
  return true;
}
