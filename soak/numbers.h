/* numbers.h - a random program with numbers that data decide: item() of tensors of one element,
 * arithmetic on what they give, and operators that take it beside tensors. The same choices give
 * the same program.
 *
 * It is drawn as text. Sizes are fixed, and divisors are never integers of data. */
#ifndef FNZI_SOAK_NUMBERS_H
#define FNZI_SOAK_NUMBERS_H

#include "soak/choices.h"

#include <fnz/fnz.h>

/* The program as text, appended to an empty buffer. `exact`: nothing in it is a sum or a function
 * of the C library. */
FNZ_MUST_CHECK fnz_status fnzi_numbers_text(fnz_context *ctx, choices *c, bool exact,
                                            fnz_buffer *out);

#endif
