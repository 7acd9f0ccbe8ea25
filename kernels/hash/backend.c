/* backend.c - the backend of hashes: which of four kinds an operator is, and values in and out. */
#include "kernels/hash/hash.h"
#include "schema/facts/outs.h"

/* --- The backend ------------------------------------------------------------------------------ */

static void release(void *self, fnz_handle value) {
  if (value != 0)
    fnzi_hash_value_free(self, fnzi_hash_value_of(value));
}

static const fnz_geometry *geometry_of(void *user, const fnz_arg *arg) {
  (void)user;
  return arg->u.value == 0 ? NULL : &fnzi_hash_value_of(arg->u.value)->g;
}

static fnz_status perform(fnzi_hash_call *h) {
  bool done;
  fnz_arg *args;
  FNZI_NEW(&h->arena, h->op->nparams, &args);
  for (size_t i = 0; i < h->op->nparams; i++)
    args[i] = fnzi_arg_get(h->op, h->call->args, h->call->nargs, i);
  /* dtype=None, and the dtype that the result has anyhow, are the same. A program that records
   * another one for the result than it can have is refused, as it is over numbers. */
  int at = fnzi_unsaid_dtype(h->op, args);
  const fnz_geometry *g =
      h->call->expected == NULL || h->capacity == 0 ? NULL : h->call->expected[0];
  fnz_dtype own = g == NULL ? FNZ_DTYPE_COUNT : g->dtype;
  bool known = fnzi_own_dtype(h->op, args, h->op->nparams, geometry_of, NULL, &own);
  if (known && g != NULL && own != g->dtype)
    return fnzi_fail(h->ctx, FNZ_CLASS_TYPE, "", "%s: the result is %s here but %s is recorded",
                     h->op->name, fnzi_dtype(own)->name, fnzi_dtype(g->dtype)->name);
  if (at >= 0 && (known || g != NULL))
    args[at] = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = own};
  h->args = args;
  FNZ_TRY(fnzi_hash_move(h, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_hash_composite(h, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_hash_constant(h, &done));
  if (done)
    return FNZ_OK;
  return fnzi_hash_opaque(h);
}

static fnz_status apply(void *self, fnz_context *ctx, const fnz_request *call, fnz_handle *outputs,
                        size_t capacity, size_t *count) {
  fnzi_hash_call h = {.hasher = self,
                      .ctx = ctx,
                      .call = call,
                      .op = call->op,
                      .outputs = outputs,
                      .capacity = capacity};
  fnzi_arena_init(&h.arena, ctx);
  fnz_status status = perform(&h);
  fnzi_arena_free(&h.arena);
  for (size_t i = 0; status != FNZ_OK && i < h.count; i++) {
    release(self, outputs[i]);
    outputs[i] = 0;
  }
  *count = status == FNZ_OK ? h.count : 0;
  return status;
}

static const fnz_geometry *geometry(void *self, fnz_handle value) {
  (void)self;
  return &fnzi_hash_value_of(value)->g;
}

static fnz_status upload(void *self, fnz_context *ctx, const fnz_geometry *g, const void *cells,
                         fnz_handle *out) {
  fnzi_hash_value *v = NULL;
  FNZ_TRY(fnzi_hash_value_create(self, ctx, g, &v));
  if (v->ncells > 0)
    memcpy(v->cells, cells, v->ncells * sizeof *v->cells);
  *out = (fnz_handle)(uintptr_t)v;
  return FNZ_OK;
}

static fnz_status download(void *self, fnz_context *ctx, fnz_handle value, void *cells) {
  (void)self, (void)ctx;
  const fnzi_hash_value *v = fnzi_hash_value_of(value);
  if (v->cells == NULL)
    fnzi_series_fill(v->start, v->ncells, cells);
  else if (v->ncells > 0)
    memcpy(cells, v->cells, v->ncells * sizeof *v->cells);
  return FNZ_OK;
}

fnz_status fnzi_hash_series_make(fnz_backend *backend, fnz_context *ctx, const fnz_geometry *g,
                                 fnzi_cell start, fnz_handle *out) {
  fnzi_hash_value *v;
  FNZ_TRY(fnzi_hash_value_series(backend->self, ctx, g, start, &v));
  *out = (fnz_handle)(uintptr_t)v;
  return FNZ_OK;
}

bool fnzi_hash_series_find(fnz_handle value, fnzi_cell *start) {
  const fnzi_hash_value *v = fnzi_hash_value_of(value);
  *start = v->start;
  return v->is_series;
}

static size_t cell_bytes(void *self, fnz_dtype dtype) {
  return fnzi_hash_unit(self, dtype) * sizeof(fnzi_cell);
}

static void destroy(void *self) {
  fnzi_hash_backend *hasher = self;
  FNZI_VEC_FREE(hasher->ctx, &hasher->effects);
  fnzi_free(hasher->ctx, hasher, sizeof *hasher);
}

void fnzi_hash_effects_restart(fnz_backend *backend) {
  fnzi_hash_backend *hasher = backend->self;
  hasher->draws = 0;
  hasher->effects.count = 0;
}

const fnzi_hash_effect *fnzi_hash_effects(const fnz_backend *backend, size_t *count) {
  const fnzi_hash_backend *hasher = backend->self;
  *count = hasher->effects.count;
  return hasher->effects.data;
}

fnz_status fnz_hash_backend_create(fnz_context *ctx, uint64_t seed, bool bytewise,
                                   fnz_backend **out) {
  *out = NULL;
  fnzi_hash_backend *hasher = fnzi_resize(ctx, NULL, 0, sizeof *hasher);
  if (hasher == NULL)
    return fnzi_no_memory(ctx);
  *hasher = (fnzi_hash_backend){
      .ctx = ctx, .seed = fnzi_hash_combine(seed, 0x666e7a), .bytewise = bytewise};
  hasher->backend = (fnz_backend){.size = sizeof(fnz_backend),
                                  .name = "hash",
                                  .self = hasher,
                                  .apply = apply,
                                  .release = release,
                                  .geometry = geometry,
                                  .upload = upload,
                                  .download = download,
                                  .cell_bytes = cell_bytes,
                                  .destroy = destroy};
  *out = &hasher->backend;
  return FNZ_OK;
}
