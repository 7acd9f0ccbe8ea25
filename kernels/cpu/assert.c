/* assert.c - assertions about numbers that only the run knows: the program ends where one fails. */
#include "kernels/cpu/cpu.h"

fnz_status fnzi_shape_assert(fnzi_call *call) {
  int64_t count = fnzi_array_numel(fnzi_input(call, 0));
  if (count == 1)
    return FNZ_OK;
  return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                     "asserts that the number of a tensor is not 0, this one has %lld; reduce it "
                     "by all() or any() before",
                     (long long)count);
}

/* The token only says what comes after what. */
fnz_status fnzi_shape_assert_token(fnzi_call *call) {
  const fnz_geometry *token = &fnzi_named_array(call, "dep_token")->geometry;
  FNZ_TRY(fnzi_shape_assert(call));
  return fnzi_shape_add_like(call, token->dtype, token);
}

/* Eager's words where the program has none. */
static const char *words_of(const fnzi_call *call) {
  const char *given = fnzi_named_string(call, "assert_msg");
  if (*given)
    return given;
  return fnzi_named(call, "assert_msg") ? "Assertion is failed"
                                        : "Expected Tensor with single nonzero value, but got zero";
}

fnz_status fnzi_kernel_assert(fnzi_call *call) {
  const void *truth;
  FNZ_TRY(fnzi_dense_as(call, fnzi_input(call, 0), FNZ_BOOL, &truth));
  if (*(const uint8_t *)truth)
    return FNZ_OK;
  return fnzi_fail(call->ctx, FNZ_CLASS_BOUNDS, "", "the assertion of the program fails: %.200s",
                   words_of(call));
}

fnz_status fnzi_kernel_assert_token(fnzi_call *call) {
  FNZ_TRY(fnzi_kernel_assert(call));
  return fnzi_assign(call, call->outputs[0], fnzi_named_array(call, "dep_token"));
}
