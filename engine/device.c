/* device.c - opens libfnz_cuda, which has the functions of a GPU; takes inputs that lie there;
 * opens backends and generators of a GPU. */
#include "engine/device_abi.h"
#include "engine/engine.h"
#include "engine/load/load.h"

/* --- The library ------------------------------------------------------------------------------ */
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define SYMBOL          "fnzi_val_gpu"
#define LIBRARY         "libfnz_cuda.so." TEXT(FNZ_VERSION_MAJOR) "." TEXT(FNZ_VERSION_MINOR)

/* NULL unless a program is linked with libfnz_cuda. */
extern const fnzi_stp_device fnzi_val_gpu __attribute__((weak));

typedef struct opened {
  const fnzi_stp_device *gpu;
} opened;

static fnz_status device_check(fnz_context *ctx, void *table) {
  const fnzi_stp_device *gpu = ((opened *)table)->gpu;
  if (gpu->abi != FNZI_STP_DEVICE_ABI)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "it has interface %08lx, and libfnz has %08lx: both are of one build",
                     (unsigned long)gpu->abi, (unsigned long)FNZI_STP_DEVICE_ABI);
  if (gpu->ops != fnzi_ops)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "it uses another libfnz than the one that opens it");
  return FNZ_OK;
}

static fnz_status open_library(fnz_context *ctx, const fnzi_stp_device **out) {
  static const fnzi_load_symbol symbols[] = {{SYMBOL, offsetof(opened, gpu)}};
  char beside[4096];
  const char *names[] = {LIBRARY, NULL, NULL};
  const fnzi_load_spec spec = {names,
                               "CUDA cannot be used: " LIBRARY
                               " cannot be opened; install libfnz_cuda of the same build as "
                               "libfnz, or link libfnz_cuda.a where libfnz.a is linked",
                               symbols, sizeof symbols / sizeof *symbols, device_check};
  opened table;
  void *library;
  if (fnzi_load_beside(LIBRARY, beside, sizeof beside)) {
    names[0] = beside;
    names[1] = LIBRARY;
  }
  FNZ_TRY(fnzi_load_open(ctx, &spec, &table, &library));
  fnzi_load_close(library); /* it stays in memory */
  *out = table.gpu;
  return FNZ_OK;
}

fnz_status fnzi_eng_device_find(fnz_context *ctx, const char *name, const fnzi_stp_device **out) {
  *out = NULL;
  if (strncmp(name, "cuda", 4) != 0 && strncmp(name, "sm_", 3) != 0)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "there is no device %s: it is cpu, cuda or cuda:N", name);
  if (!&fnzi_val_gpu)
    return open_library(ctx, out);
  *out = &fnzi_val_gpu;
  return device_check(ctx, &(opened){&fnzi_val_gpu});
}

/* --- Inputs ----------------------------------------------------------------------------------- */
fnz_status fnzi_eng_device_inputs(fnz_workspace *ws) {
  const fnzi_graph *g = fnzi_graph_main(ws->exe->program);
  FNZI_NEW(&ws->call_arena, g->ninputs, &ws->device_in);
  FNZI_NEW(&ws->call_arena, g->noutputs, &ws->device_out);
  if (!ws->checked_in) {
    FNZI_NEW(&ws->arena, ws->exe->slots[FNZ_SIDE_INPUT].count + 1, &ws->checked_in);
    FNZI_NEW(&ws->arena, ws->exe->slots[FNZ_SIDE_OUTPUT].count + 1, &ws->checked_out);
  }
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    if (in->is_tensor && in->is_passed && (in->is_shared || in->memory != k))
      return fnzi_fail(ws->ctx, FNZ_CLASS_UNSUPPORTED, in->name,
                       "inputs that share memory are given with the CPU, not on the device");
    if (!in->is_tensor || !in->is_passed || in->slot == FNZI_PLN_NONE || !ws->inputs[k].start)
      continue;
    FNZ_TRY(ws->exe->gpu->check(ws, ws->exe->slots[FNZ_SIDE_INPUT].data[in->slot].info.name,
                                ws->inputs[k].start, &ws->checked_in[in->slot]));
    ws->device_in[k] = (uint64_t)(uintptr_t)ws->inputs[k].start;
  }
  return FNZ_OK;
}

/* --- Without an executable -------------------------------------------------------------------- */
fnz_status fnz_cuda_backend_create(fnz_context *ctx, const char *device, int threads,
                                   const char *cache, fnz_backend **out) {
  const fnzi_stp_device *gpu;
  const char *name = device ? device : "cuda";
  *out = NULL;
  FNZ_TRY(fnzi_eng_device_find(ctx, name, &gpu));
  return gpu->backend_create(gpu, ctx, name, threads, cache, out);
}

fnz_status fnz_cuda_generator_create(fnz_context *ctx, const char *device, uint64_t seed,
                                     fnz_generator **out) {
  const fnzi_stp_device *gpu;
  const char *name = device ? device : "cuda";
  int64_t threads;
  *out = NULL;
  FNZ_TRY(fnzi_eng_device_find(ctx, name, &gpu));
  FNZ_TRY(gpu->threads_drawing(ctx, name, &threads));
  return fnz_philox_generator_create(ctx, seed, threads, out);
}
