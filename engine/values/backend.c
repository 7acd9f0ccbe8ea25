/* backend.c - the CUDA backend: a machine whose memory is a GPU's. */
#include "engine/values/values.h"
#include "kernels/backends.h"

#include <stdio.h>

/* --- The backend ------------------------------------------------------------------------------ */
/* The context of CUDA that this thread had is below it. */
static void guard(void *self, bool entered) {
  const fnzi_krn_machine *m = self;
  fnzi_val *v = m->stock.elsewhere->self;
  if (entered) {
    v->guarded += fnzi_cuda_enter_to_end(&v->device);
    return;
  }
  if (v->guarded == 0)
    return;
  v->guarded--;
  fnzi_cuda_leave(&v->device);
}

static void backend_end(fnzi_val *v) {
  fnz_context *ctx = v->ctx;
  fnzi_val_compiled_end_all(v);
  if (v->base)
    v->end_machine(v->base->self);
  fnz_backend_destroy(v->cpu);
  fnzi_val_synchronize(v);
  FNZI_VEC_FREE(ctx, &v->freed);
  if (v->device.context && fnzi_cuda_enter_to_end(&v->device)) {
    fnzi_cuda_free(&v->device, v->block);
    if (v->stream)
      fnzi_cuda_stream_end(&v->device, v->stream);
    fnzi_cuda_leave(&v->device);
  }
  fnzi_cuda_device_close(&v->device);
  fnzi_arena_free(&v->arena);
  fnzi_free(ctx, v, sizeof *v);
}

static void destroy(void *self) {
  const fnzi_krn_machine *m = self;
  backend_end(m->stock.elsewhere->self);
}

static fnz_status open_device(fnzi_val *v, const char *name, const char *cache) {
  const char *number = strchr(name, ':');
  bool only_prints = strncmp(name, "sm_", 3) == 0;
  const char *rest = only_prints ? name : number ? number + 1 : "0";
  if (cache)
    FNZ_TRY(fnzi_arena_string(&v->arena, cache, strlen(cache), &v->cache));
  FNZ_TRY(only_prints ? fnzi_cuda_device_open_to_print(v->ctx, name, &v->device)
                      : fnzi_cuda_device_open(v->ctx, v->ctx, name, v->cache, &v->device));
  snprintf(v->name, sizeof v->name, "%s%s", only_prints ? "" : "cuda:", rest);
  if (only_prints)
    return FNZ_OK;
  FNZ_TRY(fnzi_val_enter(v, v->ctx));
  fnz_status status = fnzi_cuda_stream_make(v->ctx, &v->device, &v->stream);
  fnzi_cuda_leave(&v->device);
  return status;
}

/* Opens the machine of kernels/ with the CPU's kernels, for shapes and windows. Calls that compute
 * go to v->elsewhere, so the kernels' `code` and `row_code` stay NULL. */
static fnz_status open_machine(fnzi_val *v) {
  FNZ_TRY(fnz_cpu_backend_create(v->ctx, v->threads, &v->cpu));
  const fnzi_krn_machine *cpu = v->cpu->self;
  v->kernels = (fnzi_krn_kernels){.rows = cpu->kernels->rows, .runs = cpu->kernels->runs};
  v->elsewhere = (fnzi_krn_elsewhere){.self = v,
                                      .ordinal = v->device.device,
                                      .wait = fnzi_val_done,
                                      .take = fnzi_val_allocate,
                                      .give = fnzi_val_free,
                                      .clear = fnzi_val_clear,
                                      .copy = fnzi_val_copy,
                                      .put = fnzi_val_upload,
                                      .get = fnzi_val_download,
                                      .assign = fnzi_val_assign,
                                      .run = fnzi_val_run,
                                      .by_cpu = fnzi_val_by_cpu,
                                      .words = fnzi_val_describe};
  FNZ_TRY(fnzi_machine_create(v->ctx, v->name, fnzi_krn_team_lanes(cpu->team), &v->kernels,
                              &v->elsewhere, &v->base));
  v->end_machine = v->base->destroy;
  v->base->destroy = destroy;
  v->base->guard = guard;
  return FNZ_OK;
}

fnz_status fnzi_val_create(const fnzi_stp_device *gpu, fnz_context *ctx, const char *name,
                           int threads, const char *cache, fnz_backend **out) {
  *out = NULL;
  fnzi_val *v = fnzi_resize(ctx, NULL, 0, sizeof *v);
  if (!v)
    return fnzi_no_memory(ctx);
  memset(v, 0, sizeof *v);
  v->gpu = gpu;
  v->ctx = ctx;
  v->threads = threads;
  fnzi_arena_init(&v->arena, ctx);
  fnz_status status = open_device(v, name, cache);
  if (status == FNZ_OK)
    status = open_machine(v);
  if (status == FNZ_OK)
    *out = v->base;
  else
    backend_end(v);
  return status;
}
