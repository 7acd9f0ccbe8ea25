/* assert.c - assertions about numbers that only the run knows: the program ends where one fails. */
#include "kernels/core/window.h"
#include "kernels/cpu/cpu.h"

fnz_status fnzi_kernel_assert(fnzi_krn_call *call) {
  const int64_t one = 1;
  const void *truth;
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), FNZ_BOOL, &truth));
  if (call->record) {
    fnzi_krn_window window;
    fnzi_krn_window_dense(&window, FNZ_BOOL, 1, &one, truth);
    const fnzi_krn_formula f = {
        .name = "asserted", .count = 1, .windows = &window, .nwindows = 1, .checks = true};
    return call->record->formula(call->record->user, &f);
  }
  if (*(const uint8_t *)truth)
    return FNZ_OK;
  const char *words = fnzi_krn_named_string(call, "assert_msg");
  if (!*words) /* as eager words it */
    words = fnzi_krn_named(call, "assert_msg")
                ? "Assertion is failed"
                : "Expected Tensor with single nonzero value, but got zero";
  return fnzi_fail(call->ctx, FNZ_CLASS_BOUNDS, "", "the assertion of the program fails: %.200s",
                   words);
}

fnz_status fnzi_kernel_assert_token(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_kernel_assert(call));
  return fnzi_krn_array_assign(call, call->outputs[0], fnzi_krn_named_array(call, "dep_token"));
}
