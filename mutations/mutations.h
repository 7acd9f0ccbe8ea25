/* mutations.h - what an operator writes, and what eager refuses to write.
 *
 * mutations.def has a row for each operator whose rule is not "drop the underscore". The checks are
 * those that eager makes before it writes; they need geometries only. */
#ifndef FNZI_MUTATIONS_H
#define FNZI_MUTATIONS_H

#include "program/program.h"
#include "views/views.h"

typedef enum fnzi_mutation_kind {
  FNZI_MUTATION_NONE, /* writes nothing */
  FNZI_MUTATION_TWIN, /* written arguments take the results of the functional twin, in order */
  FNZI_MUTATION_LIST, /* a foreach: element after element, in order */
  FNZI_MUTATION_COPY, /* self takes the second argument, broadcast and cast */
  FNZI_MUTATION_FILL, /* every element of self takes the second argument */
  FNZI_MUTATION_ZERO, /* every element of self becomes 0 */
  FNZI_MUTATION_FILL_DIAGONAL, /* the places of the main diagonal take a number */
  FNZI_MUTATION_SET,           /* self becomes another name of the second argument */
  FNZI_MUTATION_RESIZE,        /* self gets other sizes over the same memory, or more memory */
  FNZI_MUTATION_BATCH_NORM,    /* in training it writes its running statistics, undeclared */
  FNZI_MUTATION_POLYGAMMA,     /* polygamma_(self, n) stands for polygamma(n, self) */
  FNZI_MUTATION_NOTHING,       /* declared as writing, but values stay as they are */
  FNZI_MUTATION_REFUSED
} fnzi_mutation_kind;

/* Looks through the table: keep the answer. */
fnzi_mutation_kind fnzi_mutation_find(const fnz_op *op);

/* An elementwise in-place operator for which doing it twice is doing it once (relu_, clamp_). Looks
 * through the table. */
bool fnzi_is_idempotent(const fnz_op *op);

/* What is known of the values that a write puts into places that share memory. */
typedef enum fnzi_spread {
  FNZI_SPREAD_ANY,
  FNZI_SPREAD_IDEMPOTENT, /* each place gets f(old), and f(f(x)) is f(x) */
  FNZI_SPREAD_CONSTANT    /* all places get the same */
} fnzi_spread;

/* May `target` be written? A tensor that shows an element in several places may when all places get
 * the same value; eager lets only constants through where a stride is 0. For an elementwise
 * operator it also may when writing slice after slice along one dimension is what eager's loop
 * does, which then is put in *slices. Else OVERLAP. slices  NULL for an operator that is not
 * elementwise. */
FNZ_MUST_CHECK fnz_status fnzi_check_target(fnz_context *ctx, const fnz_op *op,
                                            const fnz_geometry *target, fnzi_spread spread,
                                            int *slices);

/* May `operand`, of the same storage, be read while `target` is written? What shares no memory may.
 * An elementwise operator may also read every element at its own place, or, where eager does not
 * notice the overlap, not later than it is written; or its result is that of applying it slice
 * after slice along one dimension of the target, which then is put in *slices. Everything else is
 * refused (OVERLAP): eager refuses it too, or its result depends on the machine. frame   geometry
 * of the storage's root. slices  NULL for an operator that is not elementwise; else -1 or the
 * dimension found before. */
FNZ_MUST_CHECK fnz_status fnzi_check_operand(fnz_context *ctx, const fnz_op *op,
                                             const fnz_geometry *target,
                                             const fnz_geometry *operand, const fnz_geometry *frame,
                                             int *slices);
/* The result of `op` may be stored in `target` (torch.can_cast); TYPE when not. */
FNZ_MUST_CHECK fnz_status fnzi_check_cast(fnz_context *ctx, const fnz_op *op, fnz_dtype result,
                                          fnz_dtype target);
/* An operand's sizes broadcast to the target's; BOUNDS when not. */
FNZ_MUST_CHECK fnz_status fnzi_check_broadcast(fnz_context *ctx, const fnz_op *op,
                                               const fnz_geometry *target,
                                               const fnz_geometry *operand);

#endif
