/* targets.h - rows of facts.def, and nothing that follows from them: the pass and the reference
 * interpreter draw their conclusions independently (mutations/repeats.c, run/eager/alike.c). */
#ifndef FNZI_TARGETS_H
#define FNZI_TARGETS_H

#include "schema/facts/facts.h"

/* The parameter whose tensor a writing operator's target may be, as eager reads it: of an in-place
 * operator the one it writes, of an out= operator the one in facts.def. -1: none. */
int fnzi_own_input(const fnz_op *op, const fnzi_param *written);

/* The operator takes a lazily conjugated operand as it is. */
bool fnzi_takes_lazy(const fnz_op *op);

/* How an operator chooses the places to which it writes one number, and the parameter that does. */
fnzi_chooser fnzi_repeated_by(const fnz_op *op, int *param);

#endif
