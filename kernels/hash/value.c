/* value.c - values made of hashes, and what operators ask for of a call: arguments, results. */
#include "kernels/hash/hash.h"

/* --- Values --------------------------------------------------------------------------------------
 */

uint64_t fnzi_hash_text(uint64_t h, const char *text) {
  for (const char *c = text; *c != '\0'; c++)
    h = fnzi_hash_combine(h, (unsigned char)*c);
  return fnzi_hash_combine(h, 0x100);
}

static size_t value_bytes(uint32_t rank, size_t ncells) {
  return sizeof(fnzi_hash_value) + (2 * (size_t)rank + ncells) * sizeof(int64_t);
}

static void take_geometry(fnzi_hash_value *v, const fnz_geometry *g) {
  int64_t *sizes = v->numbers, *strides = v->numbers + g->rank;
  for (uint32_t d = 0; d < g->rank; d++)
    sizes[d] = g->sizes[d];
  v->g = (fnz_geometry){.dtype = g->dtype, .rank = g->rank, .sizes = sizes, .strides = strides};
  if (g->strides == NULL || !fnzi_is_dense(g))
    fnzi_contiguous_strides(sizes, g->rank, strides);
  else if (g->rank > 0)
    memcpy(strides, g->strides, g->rank * sizeof *strides);
}

fnz_status fnzi_hash_value_create(fnzi_hash_backend *hasher, fnz_context *ctx,
                                  const fnz_geometry *g, fnzi_hash_value **out) {
  size_t ncells, unit = fnzi_hash_unit(hasher, g->dtype);
  if (!fnzi_mul_size((size_t)fnz_geometry_numel(g), unit, &ncells) || ncells > SIZE_MAX / 32)
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, "", "the hashes of a tensor leave 64 bits");
  size_t bytes = value_bytes(g->rank, ncells);
  fnzi_hash_value *v = fnzi_resize(ctx, NULL, 0, bytes);
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

void fnzi_hash_value_free(fnzi_hash_backend *hasher, fnzi_hash_value *v) {
  fnzi_free(hasher->ctx, v, value_bytes(v->g.rank, v->ncells));
}

uint64_t fnzi_hash_value_print(fnzi_hash_value *v) {
  if (v->print != 0)
    return v->print;
  uint64_t h = fnzi_hash_combine(v->g.dtype, v->g.rank);
  for (uint32_t d = 0; d < v->g.rank; d++)
    h = fnzi_hash_combine(h, (uint64_t)v->g.sizes[d]);
  for (size_t i = 0; i < v->ncells; i++)
    h = fnzi_hash_combine(h, v->cells[i]);
  v->print = h | 1;
  return v->print;
}

/* --- What operators ask for ----------------------------------------------------------------------
 */

fnz_status fnzi_hash_input(fnzi_hash_call *h, size_t i, fnzi_hash_value **out) {
  *out = i < h->op->nparams && h->args[i].tag == FNZ_ARG_VALUE
             ? fnzi_hash_value_of(h->args[i].u.value)
             : NULL;
  if (*out != NULL)
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_TYPE, "", "argument %zu of %s is no tensor", i, h->op->name);
}

fnz_status fnzi_hash_result(fnzi_hash_call *h, const fnz_geometry *fallback,
                            fnzi_hash_value **out) {
  if (h->count == h->capacity)
    return fnzi_fail(h->ctx, FNZ_CLASS_ARGUMENT, "", "%s has more results than there is room for",
                     h->op->name);
  const fnz_geometry *expected = h->call->expected == NULL ? NULL : h->call->expected[h->count];
  const fnz_geometry *g = expected != NULL ? expected : fallback;
  if (g == NULL)
    return fnzi_fail(h->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "over hashes, the sizes of result %zu of %s must be known", h->count,
                     h->op->name);
  FNZ_TRY(fnzi_hash_value_create(h->hasher, h->ctx, g, out));
  h->outputs[h->count++] = (fnz_handle)(uintptr_t)*out;
  return FNZ_OK;
}

fnz_status fnzi_hash_result_like(fnzi_hash_call *h, const fnz_geometry *wanted,
                                 fnzi_hash_value **out) {
  FNZ_TRY(fnzi_hash_result(h, wanted, out));
  if (fnzi_same_sizes(&(*out)->g, wanted) && (*out)->g.dtype == wanted->dtype)
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "",
                   "result %zu of %s is expected to have other sizes or another dtype than it has",
                   h->count - 1, h->op->name);
}
