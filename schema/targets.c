/* targets.c - the rows of targets.def. */
#include "schema/targets.h"

#include <string.h>

static const struct {
  const char *op, *param;
} own_inputs[] = {
#define OWN_INPUT(op, param) {op, param},
#define LAZY(op)
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
};

static const char *const lazy[] = {
#define OWN_INPUT(op, param)
#define LAZY(op) op,
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
};

int fnzi_own_input(const fnz_op *op, const fnzi_param *written) {
  if (!written->is_out)
    return (int)(written - op->params);
  for (size_t i = 0; i < sizeof own_inputs / sizeof *own_inputs; i++)
    if (strcmp(own_inputs[i].op, op->name) == 0)
      return fnzi_op_param(op, own_inputs[i].param);
  return -1;
}

static bool takes_lazy(const fnz_op *op) {
  for (size_t i = 0; i < sizeof lazy / sizeof *lazy; i++)
    if (strcmp(lazy[i], op->name) == 0)
      return true;
  return false;
}

bool fnzi_reads_whole(const fnz_op *op, const fnz_geometry *target, const fnz_geometry *operand) {
  bool conj = target->is_conj || operand->is_conj, neg = target->is_neg || operand->is_neg;
  if (op->kind == FNZI_KIND_OUT && (op->tags & FNZI_TAG_GENERATED))
    return true;
  if (!conj && !neg)
    return false;
  return strcmp(op->name, "copy_") != 0 && (neg || !takes_lazy(op));
}
