/* driver.c - CUDA's driver: its functions, and what its errors are here. */
#include "engine/cuda/driver.h"

#include <stddef.h>

static const fnzi_cuda_symbol symbols[] = {
#define DRIVER(member, symbol, arguments) {symbol, offsetof(fnzi_cuda_driver, member)},
#include "engine/cuda/driver.def"
#undef DRIVER
};

static fnz_status start(fnz_context *ctx, const fnzi_cuda_driver *driver) {
  int count = 0;
  FNZ_TRY(fnzi_cuda_driver_told(ctx, driver, driver->init(0), "the driver is started"));
  FNZ_TRY(fnzi_cuda_driver_told(ctx, driver, driver->device_count(&count), "GPUs are counted"));
  return count > 0 ? FNZ_OK
                   : fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                               "CUDA cannot be used: the driver finds no GPU");
}

fnz_status fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out) {
  static const char *const names[] = {"libcuda.so.1", NULL};
  FNZ_TRY(fnzi_cuda_library_open(
      ctx, names,
      "CUDA cannot be used: libcuda.so.1 cannot be opened, which comes with NVIDIA's driver; "
      "install that",
      symbols, sizeof symbols / sizeof *symbols, out, &out->library));
  fnz_status status = start(ctx, out);
  if (status != FNZ_OK)
    fnzi_cuda_driver_close(out);
  return status;
}

void fnzi_cuda_driver_close(fnzi_cuda_driver *driver) {
  fnzi_cuda_library_close(driver->library);
  driver->library = NULL;
}

fnz_status fnzi_cuda_driver_told(fnz_context *ctx, const fnzi_cuda_driver *driver, int result,
                                 const char *what) {
  enum { OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INSUFFICIENT_DRIVER = 35 };
  const char *name = NULL, *text = NULL;
  if (result == 0)
    return FNZ_OK;
  if (result == OUT_OF_MEMORY)
    return fnzi_no_memory(ctx);
  if (driver->error_name(result, &name) != 0 || driver->error_text(result, &text) != 0)
    name = text = "unknown error";
  bool is_absent = result == NO_DEVICE || result == INVALID_DEVICE || result == INSUFFICIENT_DRIVER;
  return fnzi_fail(ctx, is_absent ? FNZ_CLASS_UNSUPPORTED : FNZ_CLASS_INTERNAL, NULL,
                   "CUDA gave error %d (%s: %s) when %s", result, name, text, what);
}
