/* targets.h - rows of facts.def, and nothing that follows from them: what the pass and the
 * yardstick make of them, each does by itself (mutations/repeats.c, run/eager/alike.c). */
#ifndef FNZI_TARGETS_H
#define FNZI_TARGETS_H

#include "schema/facts/facts.h"

/* The parameter whose tensor a writing operator's target may be, as eager reads it: of an in-place
 * operator the one it writes, of an out= operator the one in facts.def. -1: none. */
int fnzi_own_input(const fnz_op *op, const fnzi_param *written);

/* The operator takes a lazily conjugated operand as it is. */
bool fnzi_takes_lazy(const fnz_op *op);

/* What chooses the places to which an operator writes one number, and the parameter that says it.
 */
fnzi_chooser fnzi_repeated_by(const fnz_op *op, int *param);

#endif
