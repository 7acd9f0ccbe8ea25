/* backend.c - the backend of hashes: its values, and which of the three kinds an operator is. */
#include "kernels/hash/hash.h"
#include "schema/facts/outs.h"

/* --- Values --------------------------------------------------------------------------------------
 */

uint64_t fnzi_combine_text(uint64_t h, const char *text) {
  for (const char *c = text; *c != '\0'; c++)
    h = fnzi_combine(h, (unsigned char)*c);
  return fnzi_combine(h, 0x100);
}

static size_t value_bytes(uint32_t rank, size_t ncells) {
  return sizeof(fnzi_hashed) + (2 * (size_t)rank + ncells) * sizeof(int64_t);
}

static void take_geometry(fnzi_hashed *v, const fnz_geometry *g) {
  int64_t *sizes = v->numbers, *strides = v->numbers + g->rank;
  for (uint32_t d = 0; d < g->rank; d++)
    sizes[d] = g->sizes[d];
  v->g = (fnz_geometry){.dtype = g->dtype, .rank = g->rank, .sizes = sizes, .strides = strides};
  if (g->strides == NULL || !fnzi_is_dense(g))
    fnzi_contiguous_strides(sizes, g->rank, strides);
  else if (g->rank > 0)
    memcpy(strides, g->strides, g->rank * sizeof *strides);
}

fnz_status fnzi_hashed_create(fnzi_hasher *hasher, fnz_context *ctx, const fnz_geometry *g,
                              fnzi_hashed **out) {
  size_t ncells, unit = fnzi_hash_unit(hasher, g->dtype);
  if (!fnzi_mul_size((size_t)fnz_geometry_numel(g), unit, &ncells) || ncells > SIZE_MAX / 32)
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, "", "the hashes of a tensor leave 64 bits");
  size_t bytes = value_bytes(g->rank, ncells);
  fnzi_hashed *v = fnzi_resize(ctx, NULL, 0, bytes);
  if (v == NULL)
    return fnzi_no_memory(ctx);
  memset(v, 0, bytes);
  take_geometry(v, g);
  v->unit = unit;
  v->ncells = ncells;
  v->cells = (uint64_t *)(v->numbers + 2 * (size_t)g->rank);
  *out = v;
  return FNZ_OK;
}

void fnzi_hashed_free(fnzi_hasher *hasher, fnzi_hashed *v) {
  fnzi_free(hasher->ctx, v, value_bytes(v->g.rank, v->ncells));
}

uint64_t fnzi_hashed_print(fnzi_hashed *v) {
  if (v->print != 0)
    return v->print;
  uint64_t h = fnzi_combine(v->g.dtype, v->g.rank);
  for (uint32_t d = 0; d < v->g.rank; d++)
    h = fnzi_combine(h, (uint64_t)v->g.sizes[d]);
  for (size_t i = 0; i < v->ncells; i++)
    h = fnzi_combine(h, v->cells[i]);
  v->print = h | 1;
  return v->print;
}

/* --- What operators ask for ----------------------------------------------------------------------
 */

fnz_status fnzi_hash_input(fnzi_hashing *h, size_t i, fnzi_hashed **out) {
  *out = i < h->op->nparams && h->args[i].tag == FNZ_ARG_VALUE ? fnzi_hashed_of(h->args[i].u.value)
                                                               : NULL;
  if (*out != NULL)
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_TYPE, "", "argument %zu of %s is no tensor", i, h->op->name);
}

fnz_status fnzi_hash_result(fnzi_hashing *h, const fnz_geometry *fallback, fnzi_hashed **out) {
  if (h->count == h->capacity)
    return fnzi_fail(h->ctx, FNZ_CLASS_ARGUMENT, "", "%s has more results than there is room for",
                     h->op->name);
  const fnz_geometry *expected = h->call->expected == NULL ? NULL : h->call->expected[h->count];
  const fnz_geometry *g = expected != NULL ? expected : fallback;
  if (g == NULL)
    return fnzi_fail(h->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "over hashes, the sizes of result %zu of %s must be known", h->count,
                     h->op->name);
  FNZ_TRY(fnzi_hashed_create(h->hasher, h->ctx, g, out));
  h->outputs[h->count++] = (fnz_handle)(uintptr_t)*out;
  return FNZ_OK;
}

fnz_status fnzi_hash_result_like(fnzi_hashing *h, const fnz_geometry *wanted, fnzi_hashed **out) {
  FNZ_TRY(fnzi_hash_result(h, wanted, out));
  if (fnzi_same_sizes(&(*out)->g, wanted) && (*out)->g.dtype == wanted->dtype)
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "",
                   "result %zu of %s is expected to have other sizes or another dtype than it has",
                   h->count - 1, h->op->name);
}

/* --- The backend ---------------------------------------------------------------------------------
 */

static void release(void *self, fnz_handle value) {
  if (value != 0)
    fnzi_hashed_free(self, fnzi_hashed_of(value));
}

static const fnz_geometry *geometry_of(void *user, const fnz_arg *arg) {
  (void)user;
  return arg->u.value == 0 ? NULL : &fnzi_hashed_of(arg->u.value)->g;
}

/* dtype=None, and the dtype that the result has anyhow, are the same. A program that records
 * another one for the result than it can have is refused, as it is over numbers. */
static fnz_status say_dtype(const fnzi_hashing *h, fnz_arg *args) {
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
  return FNZ_OK;
}

static fnz_status perform(fnzi_hashing *h) {
  bool done;
  fnz_arg *args;
  FNZI_NEW(&h->arena, h->op->nparams, &args);
  for (size_t i = 0; i < h->op->nparams; i++)
    args[i] = fnzi_arg_get(h->op, h->call->args, h->call->nargs, i);
  FNZ_TRY(say_dtype(h, args));
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
  fnzi_hashing h = {.hasher = self,
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
  return &fnzi_hashed_of(value)->g;
}

static fnz_status upload(void *self, fnz_context *ctx, const fnz_geometry *g, const void *cells,
                         fnz_handle *out) {
  fnzi_hashed *v = NULL;
  FNZ_TRY(fnzi_hashed_create(self, ctx, g, &v));
  if (v->ncells > 0)
    memcpy(v->cells, cells, v->ncells * sizeof *v->cells);
  *out = (fnz_handle)(uintptr_t)v;
  return FNZ_OK;
}

static fnz_status download(void *self, fnz_context *ctx, fnz_handle value, void *cells) {
  (void)self, (void)ctx;
  const fnzi_hashed *v = fnzi_hashed_of(value);
  if (v->ncells > 0)
    memcpy(cells, v->cells, v->ncells * sizeof *v->cells);
  return FNZ_OK;
}

static size_t cell_bytes(void *self, fnz_dtype dtype) {
  return fnzi_hash_unit(self, dtype) * sizeof(uint64_t);
}

static void destroy(void *self) {
  fnzi_hasher *hasher = self;
  fnzi_free(hasher->ctx, hasher, sizeof *hasher);
}

fnz_status fnz_hash_backend_create(fnz_context *ctx, uint64_t seed, bool bytewise,
                                   fnz_backend **out) {
  *out = NULL;
  fnzi_hasher *hasher = fnzi_resize(ctx, NULL, 0, sizeof *hasher);
  if (hasher == NULL)
    return fnzi_no_memory(ctx);
  hasher->ctx = ctx;
  hasher->seed = fnzi_combine(seed, 0x666e7a);
  hasher->bytewise = bytewise;
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
