/* workspace.c - the data of one run at a time: a context of its own over kept memory, a backend,
 * bindings. */
#include "base/random.h"
#include "base/watched.h"
#include "engine/engine.h"
#include "program/mapping.h"

/* --- Memory that is kept ---------------------------------------------------------------------- */
enum { SMALLEST = 16, PARTS = 4 };

/* Classes are powers of two and three steps between them. The class of a size, and the size of all
 * blocks of it. */
static unsigned class_of(size_t bytes, size_t *rounded) {
  size_t size = bytes < SMALLEST ? SMALLEST : bytes;
  unsigned power = 63u - (unsigned)__builtin_clzll(size);
  size_t part = ((size_t)1 << power) / PARTS, over = size - ((size_t)1 << power);
  size_t parts = (over + part - 1) / part;
  *rounded = ((size_t)1 << power) + parts * part;
  return power * PARTS + (unsigned)parts;
}

static void *resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  fnzi_stp_cache *cache = user;
  const size_t large = FNZI_WATCHED ? 0 : SIZE_MAX / 4; /* such blocks are the allocator's own */
  void *created;
  if (old_bytes >= large || new_bytes >= large) {
    created = cache->from.resize(cache->from.user, p, old_bytes, new_bytes);
    if (created || !new_bytes)
      cache->used += new_bytes - old_bytes;
    return created;
  }
  created = NULL;
  if (new_bytes) {
    size_t size;
    unsigned class = class_of(new_bytes, &size);
    created = cache->freed[class];
    if (created)
      memcpy(&cache->freed[class], created, sizeof created);
    else
      created = cache->from.resize(cache->from.user, NULL, 0, size);
    if (!created)
      return NULL;
    cache->used += size;
  }
  if (p && created)
    memcpy(created, p, old_bytes < new_bytes ? old_bytes : new_bytes);
  if (p) {
    size_t size;
    unsigned class = class_of(old_bytes, &size);
    memcpy(p, &cache->freed[class], sizeof p);
    cache->freed[class] = p;
    cache->used -= size;
  }
  return created;
}

static void end_cache(fnzi_stp_cache *cache) {
  for (unsigned class = 0; class < FNZI_STP_CLASSES; class ++)
    for (void *p = cache->freed[class], *next; p; p = next) {
      size_t size =
          ((size_t)1 << class / PARTS) + class % PARTS * (((size_t)1 << class / PARTS) / PARTS);
      memcpy(&next, p, sizeof next);
      cache->from.resize(cache->from.user, p, size, 0);
    }
}

fnz_status fnzi_eng_with_context(fnz_context *ctx, const fnz_allocator *allocator, size_t bytes,
                                 fnz_context **own, void **out) {
  *out = NULL;
  if (fnz_context_create(allocator, own) != FNZ_OK)
    return fnzi_no_memory(ctx);
  *out = fnzi_resize(*own, NULL, 0, bytes);
  if (!*out) {
    fnz_context_destroy(*own);
    return fnzi_no_memory(ctx);
  }
  memset(*out, 0, bytes);
  return FNZ_OK;
}

/* --- Making and ending ------------------------------------------------------------------------ */
static fnz_status workspace_open(fnz_workspace *ws) {
  uint32_t count = ws->exe->ninputs;
  FNZ_TRY(fnz_cpu_backend_create(ws->ctx, ws->exe->threads, &ws->backend));
  ws->machine = ws->backend->self;
  const fnzi_krn_machine *from = ws->exe->kernels ? ws->exe->kernels->self : NULL;
  for (size_t i = 0; from && i < from->registered.count; i++)
    FNZ_TRY(fnz_kernel_register(ws->ctx, ws->backend, &from->registered.data[i]->kernel));
  FNZI_NEW(&ws->arena, count, &ws->inputs);
  FNZI_NEW(&ws->arena, count, &ws->layouts);
  const size_t nouts = ws->exe->slots[FNZ_SIDE_OUTPUT].count, pieces = count + nouts + 1;
  FNZI_NEW(&ws->arena, nouts, &ws->outputs);
  FNZI_NEW(&ws->arena, pieces, &ws->by_address);
  for (uint32_t k = 0; k < pieces; k++)
    ws->by_address[k] = k;
  return FNZ_OK;
}

/* Copies the error of the workspace to ctx. An error in the caller's own context, such as adding an
 * array to its set, is already there. */
fnz_status fnzi_eng_propagate(fnz_context *ctx, const fnz_workspace *ws, fnz_status status) {
  if (status != FNZ_OK && ws->ctx->error.status == status) {
    ctx->error = ws->ctx->error;
    ctx->reason = ws->ctx->reason;
  }
  return status;
}

fnz_status fnzi_eng_workspace_create(const fnz_executable *exe, fnz_context *ctx,
                                     fnz_workspace **out) {
  const fnz_allocator *from = &exe->ctx->allocator;
  *out = NULL;
  fnz_workspace *ws = from->resize(from->user, NULL, 0, sizeof *ws);
  if (!ws)
    return fnzi_no_memory(ctx);
  memset(ws, 0, sizeof *ws);
  ws->exe = exe;
  ws->cache.from = *from;
  const fnz_allocator kept = {resize, &ws->cache};
  if (fnz_context_create(&kept, &ws->ctx) != FNZ_OK) {
    end_cache(&ws->cache);
    from->resize(from->user, ws, sizeof *ws, 0);
    return fnzi_no_memory(ctx);
  }
  ws->ctx->limits = exe->limits;
  fnzi_arena_init(&ws->arena, ws->ctx);
  fnzi_arena_init(&ws->scratch, ws->ctx);
  fnzi_arena_init(&ws->run_arena, ws->ctx);
  fnzi_arena_init(&ws->call_arena, ws->ctx);
  fnz_status status = fnzi_eng_propagate(ctx, ws, workspace_open(ws));
  if (status == FNZ_OK)
    *out = ws;
  else
    fnz_workspace_destroy(ws);
  return status;
}

void fnz_workspace_destroy(fnz_workspace *ws) {
  if (!ws)
    return;
  const fnz_allocator from = ws->cache.from;
  fnzi_bnd_steps_close(ws);
  fnzi_eng_bindings_end(ws);
  if (ws->exe->gpu)
    ws->exe->gpu->workspace_end(ws);
  fnzi_free(ws->ctx, ws->block, ws->block_bytes);
  fnzi_free(ws->ctx, ws->saved, ws->saved_bytes);
  fnzi_free(ws->ctx, ws->times, ws->times_bytes);
  fnz_backend_destroy(ws->backend);
  fnzi_arena_free(&ws->scratch);
  fnzi_arena_free(&ws->run_arena);
  fnzi_arena_free(&ws->call_arena);
  fnzi_arena_free(&ws->arena);
  fnz_context_destroy(ws->ctx);
  end_cache(&ws->cache);
  from.resize(from.user, ws, sizeof *ws, 0);
}

fnz_status fnz_workspace_create(fnz_context *ctx, const fnz_executable *exe, fnz_workspace **out) {
  return fnzi_eng_workspace_create(exe, ctx, out);
}

/* --- Kept workspaces -------------------------------------------------------------------------- */
fnz_status fnzi_eng_workspace_take(const fnz_executable *exe, fnz_context *ctx,
                                   fnz_workspace **out) {
  fnz_executable *shared = (fnz_executable *)(uintptr_t)exe;
  for (size_t i = 0; i < FNZI_STP_IDLE; i++) {
    *out = atomic_exchange(&shared->idle[i], NULL);
    if (*out)
      return FNZ_OK;
  }
  return fnzi_eng_workspace_create(exe, ctx, out);
}

void fnzi_eng_workspace_give(const fnz_executable *exe, fnz_workspace *ws) {
  fnz_executable *shared = (fnz_executable *)(uintptr_t)exe;
  for (size_t i = 0; ws && i < FNZI_STP_IDLE; i++) {
    fnz_workspace *none = NULL;
    if (atomic_compare_exchange_strong(&shared->idle[i], &none, ws))
      return;
  }
  fnz_workspace_destroy(ws);
}

fnz_status fnzi_eng_check_files(const fnz_executable *exe, fnz_context *ctx) {
  for (size_t i = 0; i < exe->files.count; i++)
    FNZ_TRY(fnzi_mapping_check(ctx, exe->files.data[i]));
  return FNZ_OK;
}

fnz_status fnzi_eng_begin(const fnz_executable *exe, fnz_context *ctx, fnz_generator *own,
                          fnz_workspace **ws) {
  FNZ_TRY(fnzi_eng_check_files(exe, ctx));
  if (!*ws)
    FNZ_TRY(fnzi_eng_workspace_take(exe, ctx, ws));
  fnzi_generator_lend((*ws)->ctx, ctx->generator, own, exe->threads_drawing);
  (*ws)->ctx->collectives = ctx->collectives;
  (*ws)->ctx->tasks = ctx->tasks;
  fnzi_task_begin(ctx, "run", NULL, 0);
  return FNZ_OK;
}

fnz_status fnzi_eng_end(const fnz_executable *exe, fnz_context *ctx, const fnz_workspace *given,
                        fnz_workspace *ws, fnz_status status) {
  ws->ctx->generator = NULL;
  ws->ctx->collectives = NULL;
  ws->ctx->tasks = NULL;
  fnzi_eng_propagate(ctx, ws, status);
  status = fnzi_task_end(ctx, status);
  if (!given)
    fnzi_eng_workspace_give(exe, ws);
  return status == FNZ_OK ? fnzi_eng_check_files(exe, ctx) : status;
}

/* --- Times ------------------------------------------------------------------------------------ */
void fnz_workspace_take_times(fnz_workspace *ws, bool on) {
  ws->measures = on;
}

const fnz_step_time *fnz_workspace_times(const fnz_workspace *ws, size_t *count) {
  *count = ws->ntimes;
  return ws->times;
}
