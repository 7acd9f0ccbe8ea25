/* checks.c - what eager refuses before it writes, decided on geometries.
 *
 * ATen's MemoryOverlap.cpp notices a stride of 0, and operands that partly overlap when both are
 * dense; the rest it lets through, and the result then depends on the order of the loop. Those are
 * refused here as well, because no functional program means the same. */
#include "mutations/mutations.h"

fnz_status fnzi_check_target(fnz_context *ctx, const fnz_op *op, const fnz_geometry *target,
                             bool same_values) {
  fnzi_relation self = fnzi_self_relation(target, FNZI_MUCH_WORK);
  if (self == FNZI_DISJOINT || same_values)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_OVERLAP, NULL,
                   "%s writes a tensor whose elements %s memory with each other, so the result "
                   "would depend on the order of the writes; clone() it first",
                   op->name, self == FNZI_OVERLAPS ? "share" : "may share");
}

fnz_status fnzi_check_operand(fnz_context *ctx, const fnz_op *op, const fnz_geometry *target,
                              const fnz_geometry *operand, const fnz_geometry *frame,
                              bool elementwise) {
  if (elementwise && fnzi_geometry_equal(target, operand))
    return FNZ_OK;
  fnzi_relation relation = fnzi_relate(target, operand, frame, FNZI_MUCH_WORK);
  if (relation == FNZI_DISJOINT)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_OVERLAP, NULL,
                   "%s reads memory that it %s: an operand overlaps the written tensor; clone() "
                   "the operand first",
                   op->name, relation == FNZI_UNKNOWN ? "may be writing" : "writes");
}

fnz_status fnzi_check_cast(fnz_context *ctx, const fnz_op *op, fnz_dtype result,
                           fnz_dtype target) {
  if (fnzi_can_cast(result, target))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL,
                   "%s computes %s, which cannot be stored in a tensor of %s; convert it with to()",
                   op->name, fnzi_dtype(result)->name, fnzi_dtype(target)->name);
}

fnz_status fnzi_check_broadcast(fnz_context *ctx, const fnz_op *op, const fnz_geometry *target,
                                const fnz_geometry *operand) {
  if (operand->rank > target->rank) {
    for (uint32_t d = 0; d < operand->rank - target->rank; d++)
      if (operand->sizes[d] != 1)
        return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                         "%s: an operand of %u dimensions does not fit a target of %u", op->name,
                         operand->rank, target->rank);
  }
  for (uint32_t k = 1; k <= operand->rank && k <= target->rank; k++) {
    int64_t have = operand->sizes[operand->rank - k], want = target->sizes[target->rank - k];
    if (have != 1 && have != want)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: an operand of size %lld in dimension -%u does not broadcast to the "
                       "target's %lld",
                       op->name, (long long)have, k, (long long)want);
  }
  return FNZ_OK;
}
