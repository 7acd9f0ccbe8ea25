/* targets.c - the rows of targets.def. */
#include "schema/targets.h"

#include <string.h>

static const struct {
  const char *op, *param;
} own_inputs[] = {
#define OWN_INPUT(op, param) {op, param},
#define LAZY(op)
#define REPEATED(op, param)
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
#undef REPEATED
};

static const char *const lazy[] = {
#define OWN_INPUT(op, param)
#define LAZY(op) op,
#define REPEATED(op, param)
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
#undef REPEATED
};

static const struct {
  const char *op, *param;
} alike[] = {
#define OWN_INPUT(op, param)
#define LAZY(op)
#define REPEATED(op, param) {op, param},
#include "schema/targets.def"
#undef OWN_INPUT
#undef LAZY
#undef REPEATED
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
                       const fnz_geometry *(*geometry_of)(void *user, const fnz_arg *arg),
                       void *user, int64_t *sizes, fnz_geometry *one) {
  int at = -1;
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
    if (strcmp(alike[i].op, op->name) == 0)
      at = fnzi_op_param(op, alike[i].param);
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
