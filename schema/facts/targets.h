/* targets.h - what eager reads before it writes, although it lies in the same memory. */
#ifndef FNZI_TARGETS_H
#define FNZI_TARGETS_H

#include "schema/schema.h"

/* The parameter whose tensor a writing operator's target may be, as eager reads it: of an in-place
 * operator the one it writes, of an out= operator the one in facts.def. -1: none. */
int fnzi_own_input(const fnz_op *op, const fnzi_param *written);

/* Eager reads all of the operand into new memory before it writes the target: an out= operator that
 * PyTorch derives from the functional one copies its result, and a lazy conjugate or negative is
 * resolved, of the target with all that it may overlap. */
bool fnzi_reads_whole(const fnz_op *op, const fnz_geometry *target, const fnz_geometry *operand);

/* The parameter of the number, or tensor of one element, that the operator writes to each place
 * that it chooses, where eager lets it write a target that shows an element in several places; -1:
 * there is none. An element is written if any of its places is chosen. */
int fnzi_one_number(const fnz_op *op, const fnz_arg *args, const fnz_geometry *target,
                    fnzi_geometry_reader *geometry_of, void *user);

/* The operator writes one number, and along each dimension of stride 0 to all elements or to none:
 * what lies in one place for that reason gets the same. *one is then the target with one element
 * along these; its sizes are in `sizes`, with room for FNZ_MAX_RANK. `geometry_of` as in
 * fnzi_op_result_dtype(). */
bool fnzi_writes_alike(const fnz_op *op, const fnz_arg *args, const fnz_geometry *target,
                       fnzi_geometry_reader *geometry_of, void *user, int64_t *sizes,
                       fnz_geometry *one);

#endif
