/* reads.c - a call of an operator that writes: when eager reads its operands, and the values of
 * elements that share memory.
 *
 * needs   the call and its functional twin, with a reader of geometries
 * keeps   eager's behaviour: a cast copies, an elementwise operator reads in step with its writes
 * gives   the input of the checks of checks.c; refuses calls that read locations they have written
 *         */
#include "mutations/mutations.h"
#include "schema/aten_names.h"
#include "schema/facts/targets.h"

/* An elementwise operator casts its operands to one dtype, and to which. */
static bool casts_operands(const fnzi_mutation_call *c, fnz_dtype *common) {
  return c->elementwise && c->twin->nparams > 1 &&
         fnzi_op_common_dtype(c->twin, c->twin_args, c->twin->nparams, c->geometry_of, c->user,
                              common);
}

/* Eager computes all results before it stores them where their dtype is not the target's. A bool
 * target takes the results of comparisons directly. */
static bool holds_back(const fnzi_mutation_call *c, fnz_dtype target) {
  fnz_dtype common;
  return casts_operands(c, &common) && target != common &&
         (target != FNZ_BOOL || c->twin->promotion != FNZI_PROMOTE_ALWAYS_BOOL);
}

static bool is_derived_out(const fnz_op *op) {
  return op->kind == FNZI_KIND_OUT && (op->tags & FNZI_TAG_GENERATED);
}

bool fnzi_mutation_reads_whole(const fnz_op *op, const fnz_geometry *target,
                               const fnz_geometry *operand) {
  bool conj = target->is_conj || operand->is_conj, neg = target->is_neg || operand->is_neg;
  if (is_derived_out(op))
    return true;
  if (!conj && !neg)
    return false;
  return op != &fnzi_ops[FNZI_ATEN_copy_] && (neg || !fnzi_takes_lazy(op));
}

fnzi_reading fnzi_mutation_reading(const fnzi_mutation_call *c, const fnz_geometry *target,
                                   const fnz_geometry *operand) {
  fnz_dtype common;
  bool is_copied = fnzi_mutation_reads_whole(c->op, target, operand) ||
                   holds_back(c, target->dtype) ||
                   (casts_operands(c, &common) && operand->dtype != common);
  return is_copied ? FNZI_READING_FIRST : FNZI_READING_IN_STEP;
}

fnz_status fnzi_mutation_loop_reads(fnzi_arena *arena, const fnzi_mutation_call *c,
                                    const fnz_geometry *target, const fnz_geometry *const *operands,
                                    size_t count, fnzi_loop *loop) {
  const fnz_geometry **seen;
  fnz_dtype common;
  bool casts = casts_operands(c, &common), is_held_back = holds_back(c, target->dtype);
  FNZI_NEW(arena, count + 1, &seen);
  loop->reads = seen;
  loop->nreads = is_held_back ? 1 : count;
  if (is_held_back)
    return fnzi_contiguous_like(NULL, arena, target, &seen[0]);
  for (size_t i = 0; i < count; i++) {
    seen[i] = operands[i];
    if (casts && seen[i]->dtype != common)
      FNZ_TRY(fnzi_dense_as(NULL, arena, seen[i], common, &seen[i]));
  }
  return FNZ_OK;
}

/* The argument is the tensor that is written. */
static bool is_target(const fnzi_mutation_call *c, const fnz_arg *arg, const fnz_geometry *target) {
  return arg->tag == FNZ_ARG_VALUE && c->geometry_of(c->user, arg) == target;
}

fnzi_spread fnzi_mutation_spread(const fnzi_mutation_call *c, const fnz_geometry *target) {
  const fnzi_mutation_kind kind = fnzi_mutation_find(c->op);
  if (kind == FNZI_MUTATION_FILL) /* eager copies a number in a tensor, and checks as for copy_ */
    return c->args[1].tag == FNZ_ARG_VALUE ? FNZI_SPREAD_IDEMPOTENT : FNZI_SPREAD_CONSTANT;
  if (kind == FNZI_MUTATION_ZERO || kind == FNZI_MUTATION_WINDOWS)
    return FNZI_SPREAD_CONSTANT;
  const fnz_arg *self = &c->twin_args[0]; /* with the target's layout, in its memory or other */
  const fnz_geometry *g = fnzi_is_idempotent(c->twin) && self->tag == FNZ_ARG_VALUE
                              ? c->geometry_of(c->user, self)
                              : NULL;
  if (g && (g == target || fnzi_geometry_equal(g, target)))
    return FNZI_SPREAD_IDEMPOTENT;
  return fnzi_mutation_writes_alike(c, target) ? FNZI_SPREAD_CONSTANT : FNZI_SPREAD_ANY;
}

/* --- the target as an operand ----------------------------------------------------------------- */
/* The tensor is the number that the target is filled with, which eager reads first. */
static bool is_number(const fnzi_mutation_call *c, const fnz_geometry *tensor) {
  bool fills = c->twin == &fnzi_ops[FNZI_ATEN_masked_fill__Tensor] ||
               c->twin == &fnzi_ops[FNZI_ATEN_index_fill__int_Tensor];
  return fills && is_target(c, &c->twin_args[c->twin->nparams - 1], tensor);
}

bool fnzi_mutation_reads_number(const fnzi_mutation_call *c, const fnz_geometry *operand) {
  bool alone = is_number(c, operand);
  for (size_t i = 0; alone && i + 1 < c->twin->nparams; i++)
    alone = !is_target(c, &c->twin_args[i], operand);
  return alone;
}

/* masked_scatter_ reads the mask in step with its writes; the source runs ahead, unless eager
 * copies that first or one element is written. How often the target may be either. */
static size_t own_scattered(const fnzi_mutation_call *c, const fnz_geometry *target) {
  if (c->twin != &fnzi_ops[FNZI_ATEN_masked_scatter])
    return 0;
  bool in_time = !fnzi_int_is_symbolic(target) &&
                 (fnz_geometry_numel(target) <= 1 || !fnzi_is_contiguous(target));
  return (is_target(c, &c->twin_args[1], target) ? 1 : 0) +
         (in_time && is_target(c, &c->twin_args[2], target) ? 1 : 0);
}

/* How often the written tensor may be an operand: eager reads some wholly before it writes. */
static size_t allowed_reads(const fnzi_mutation_call *c, const fnzi_param *written,
                            const fnz_geometry *target, bool resized) {
  int param = fnzi_own_input(c->op, written);
  if (is_derived_out(c->op))
    return SIZE_MAX;
  bool is_there = param >= 0 && is_target(c, &c->args[param], target);
  return !written->is_out || (is_there && !resized) ? 1 : 0;
}

fnz_status fnzi_check_own_reads(fnz_context *ctx, const fnzi_mutation_call *c,
                                const fnzi_param *written, const fnz_geometry *target, size_t reads,
                                bool resized) {
  if (c->elementwise || reads == 0 || fnzi_int_is_empty(target))
    return FNZ_OK;
  size_t in_time = is_number(c, target) ? 1 : own_scattered(c, target);
  if (reads <= in_time || reads - in_time <= allowed_reads(c, written, target, resized))
    return FNZ_OK;
  return fnzi_fail_for(ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
                       "%s gets the tensor `%s`, which it writes, as another argument as well; "
                       "clone() that one",
                       c->op->name, written->name);
}

fnz_status fnzi_check_gaps(fnz_context *ctx, fnzi_ints *s, const fnz_op *op,
                           const fnzi_param *written, const fnz_geometry *target) {
  if (!fnzi_op_is_flat(op) || fnzi_int_is_dense(s, target))
    return FNZ_OK;
  return fnzi_fail_for(ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
                       "%s walks over memory, and a tensor of `%s` has gaps there, into which it "
                       "would write; give it a contiguous one and copy_() that back",
                       op->name, written->name);
}
