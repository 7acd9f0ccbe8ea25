/* typed.h - pushing and taking for the generated functions of <fnz/ops.h>. */
#ifndef FNZI_TYPED_H
#define FNZI_TYPED_H

#include "run/call/stack.h"

/* Pushes the value of the tag's C type that a pointer points to, None for NULL. */
void fnzi_call_push_optional(fnz_stack *stack, fnz_tag tag, const void *value);
/* Pushes a list of such values; an optional one is None when `values` is NULL. */
void fnzi_call_push_list(fnz_stack *stack, fnz_tag tag, const void *values, size_t count);
void fnzi_call_push_optional_list(fnz_stack *stack, fnz_tag tag, const void *values, size_t count);

/* Take a result of a successful call. */
void fnzi_call_take_number(fnz_stack *stack, size_t place, fnz_arg *out);
FNZ_MUST_CHECK fnz_status fnzi_call_take_list(fnz_stack *stack, size_t place, fnz_eager *out,
                                              size_t capacity, size_t *count);
/* Ends the stack and returns the status. */
FNZ_MUST_CHECK fnz_status fnzi_call_typed_end(fnz_stack *stack, fnz_status status);

#endif
