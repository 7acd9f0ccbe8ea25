/* typed.c - pushes C values and takes them, for the generated functions of <fnz/ops.h>. */
#include "run/call/typed.h"

/* The C type of a tag is int64_t, double, bool, fnz_dtype, fnz_memory_format, fnz_eager, a string,
 * or for a Scalar, here FNZ_ARG_DEFAULT, an fnz_arg with a tag of its own. */
static void push_at(fnz_stack *stack, fnz_tag tag, const void *values, size_t i) {
  switch (tag) {
  case FNZ_ARG_INT:
    fnz_push_int(stack, ((const int64_t *)values)[i]);
    break;
  case FNZ_ARG_FLOAT:
    fnz_push_float(stack, ((const double *)values)[i]);
    break;
  case FNZ_ARG_BOOL:
    fnz_push_bool(stack, ((const bool *)values)[i]);
    break;
  case FNZ_ARG_DTYPE:
    fnz_push_dtype(stack, ((const fnz_dtype *)values)[i]);
    break;
  case FNZ_ARG_MEMORY_FORMAT:
    fnz_push_arg(stack, &(fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT,
                                   .u.i = ((const fnz_memory_format *)values)[i]});
    break;
  case FNZ_ARG_STRING:
    fnz_push_string(stack, values);
    break;
  default:
    fnz_push_arg(stack, &((const fnz_arg *)values)[i]);
  }
}

void fnzi_call_push_optional(fnz_stack *stack, fnz_tag tag, const void *value) {
  if (value)
    push_at(stack, tag, value, 0);
  else
    fnz_push_none(stack);
}

void fnzi_call_push_list(fnz_stack *stack, fnz_tag tag, const void *values, size_t count) {
  size_t first = stack->count;
  if (tag == FNZ_ARG_VALUE) {
    fnz_push_tensors(stack, values, count);
    return;
  }
  for (size_t i = 0; i < count; i++)
    push_at(stack, tag, values, i);
  /* The items are pushed one by one and then taken off as a list. */
  fnz_arg list = {.tag = FNZ_ARG_LIST,
                  .count = (uint32_t)(stack->count - first),
                  .u.list = &stack->args[first]};
  stack->count = first;
  fnz_push_arg(stack, &list);
}

void fnzi_call_push_optional_list(fnz_stack *stack, fnz_tag tag, const void *values, size_t count) {
  if (values)
    fnzi_call_push_list(stack, tag, values, count);
  else
    fnz_push_none(stack);
}

void fnzi_call_take_number(fnz_stack *stack, size_t place, fnz_arg *out) {
  const fnz_arg *number = fnz_stack_arg(stack, place);
  *out = number ? *number : (fnz_arg){.tag = FNZ_ARG_NONE};
}

fnz_status fnzi_call_take_list(fnz_stack *stack, size_t place, fnz_eager *out, size_t capacity,
                               size_t *count) {
  *count = fnz_stack_tensors(stack, place);
  if (*count > capacity)
    return fnzi_fail(stack->ctx, FNZ_CLASS_ARGUMENT, "",
                     "result %zu has %zu tensors, but there is room for %zu", place, *count,
                     capacity);
  for (size_t k = 0; k < *count; k++)
    out[k] = fnz_take_item(stack, place, k);
  return FNZ_OK;
}

fnz_status fnzi_call_typed_end(fnz_stack *stack, fnz_status status) {
  fnzi_call_stack_end(stack);
  return status;
}
