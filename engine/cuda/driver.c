/* driver.c - CUDA's driver: its functions, and the classes of its errors. */
#include "engine/cuda/driver.h"

#include <stddef.h>

static const fnzi_load_symbol symbols[] = {
#define DRIVER(member, symbol, arguments) {#symbol, offsetof(fnzi_cuda_driver, member)},
#include "engine/cuda/driver.def"
#undef DRIVER
};

fnz_status fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out) {
  static const char *const names[] = {"libcuda.so.1", NULL};
  static const fnzi_load_spec spec = {
      names,
      "CUDA cannot be used: libcuda.so.1 cannot be opened, which comes with NVIDIA's driver; "
      "install that",
      symbols, sizeof symbols / sizeof *symbols, NULL};
  FNZ_TRY(fnzi_load_open(ctx, &spec, out, &out->library));
  int count = 0;
  fnz_status status = fnzi_cuda_driver_status(ctx, out, out->init(0), "the driver is started");
  if (status == FNZ_OK)
    status = fnzi_cuda_driver_status(ctx, out, out->version_get(&out->version),
                                     "its version is asked for");
  if (status == FNZ_OK)
    status = fnzi_cuda_driver_status(ctx, out, out->device_count(&count), "GPUs are counted");
  if (status == FNZ_OK && count <= 0)
    status =
        fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "CUDA cannot be used: the driver finds no GPU");
  if (status != FNZ_OK)
    fnzi_cuda_driver_close(out);
  return status;
}

void fnzi_cuda_driver_close(fnzi_cuda_driver *driver) {
  fnzi_load_close(driver->library);
  driver->library = NULL;
}

/* The classes of some errors of the driver. All other errors are INTERNAL. */
typedef struct meaning {
  int result;
  fnz_class kind;
  bool is_fatal;
} meaning;

static const meaning meanings[] = {
#define DRIVER_ERROR(theirs, value, kind, is_fatal) {value, FNZ_CLASS_##kind, is_fatal},
#include "engine/cuda/numbers.def"
#undef DRIVER_ERROR
};

static const meaning *meaning_of(int result) {
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
    if (result == meanings[i].result)
      return &meanings[i];
  return NULL;
}

bool fnzi_cuda_driver_is_fatal(int result) {
  const meaning *m = meaning_of(result);
  return m && m->is_fatal;
}

fnz_status fnzi_cuda_driver_status(fnz_context *ctx, const fnzi_cuda_driver *driver, int result,
                                   const char *what) {
  const char *name = NULL, *text = NULL;
  const meaning *m = meaning_of(result);
  if (result == 0)
    return FNZ_OK;
  if (result == FNZI_CU_OUT_OF_MEMORY)
    return fnzi_fail(ctx, FNZ_CLASS_NOMEM, NULL, "the GPU has no memory left when %s", what);
  if (driver->error_name(result, &name) != 0 || driver->error_text(result, &text) != 0)
    name = text = "unknown error";
  return fnzi_fail(ctx, m ? m->kind : FNZ_CLASS_INTERNAL, NULL,
                   "CUDA gave error %d (%s: %s) when %s", result, name, text, what);
}
