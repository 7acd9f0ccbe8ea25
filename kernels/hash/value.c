/* value.c - values made of hashes, and what operators ask for of a call: arguments, results. */
#include "kernels/hash/hash.h"

/* --- Values ----------------------------------------------------------------------------------- */

uint64_t fnzi_hash_text(uint64_t h, const char *text) {
  for (const char *c = text; *c != '\0'; c++)
    h = fnzi_hash_combine(h, (unsigned char)*c);
  return fnzi_hash_combine(h, 0x100);
}

static size_t value_bytes(uint32_t rank, size_t stored) {
  return sizeof(fnzi_hash_value) + 2 * (size_t)rank * sizeof(int64_t) + stored * sizeof(fnzi_cell);
}

/* With room for the cells, or without. */
static fnz_status create(fnzi_hash_backend *hasher, fnz_context *ctx, const fnz_geometry *g,
                         bool stores, fnzi_hash_value **out) {
  size_t ncells, unit = fnzi_hash_unit(hasher, g->dtype);
  if (!fnzi_mul_size((size_t)fnz_geometry_numel(g), unit, &ncells) || ncells > SIZE_MAX / 64)
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, "", "the hashes of a tensor leave 64 bits");
  fnzi_hash_value *v = fnzi_resize(ctx, NULL, 0, value_bytes(g->rank, stores ? ncells : 0));
  if (v == NULL)
    return fnzi_no_memory(ctx);
  *v = (fnzi_hash_value){.unit = unit, .ncells = ncells};
  int64_t *sizes = v->numbers, *strides = v->numbers + g->rank;
  for (uint32_t d = 0; d < g->rank; d++)
    sizes[d] = g->sizes[d];
  v->g = (fnz_geometry){.dtype = g->dtype, .rank = g->rank, .sizes = sizes, .strides = strides};
  if (g->strides == NULL || !fnzi_is_dense(g))
    fnzi_contiguous_strides(sizes, g->rank, strides);
  else if (g->rank > 0)
    memcpy(strides, g->strides, g->rank * sizeof *strides);
  if (stores)
    v->cells = (fnzi_cell *)(v->numbers + 2 * (size_t)g->rank);
  *out = v;
  return FNZ_OK;
}

fnz_status fnzi_hash_value_create(fnzi_hash_backend *hasher, fnz_context *ctx,
                                  const fnz_geometry *g, fnzi_hash_value **out) {
  return create(hasher, ctx, g, true, out);
}

fnz_status fnzi_hash_value_series(fnzi_hash_backend *hasher, fnz_context *ctx,
                                  const fnz_geometry *g, fnzi_cell start, fnzi_hash_value **out) {
  FNZ_TRY(create(hasher, ctx, g, false, out));
  (*out)->is_series = true;
  (*out)->start = start;
  return FNZ_OK;
}

fnz_status fnzi_hash_look(fnzi_hash_call *h, fnzi_hash_value *v) {
  if (v->cells != NULL)
    return FNZ_OK;
  v->cells = fnzi_resize(h->hasher->ctx, NULL, 0, (v->ncells + 1) * sizeof *v->cells);
  if (v->cells == NULL)
    return fnzi_no_memory(h->ctx);
  v->is_apart = true;
  fnzi_series_fill(v->start, v->ncells, v->cells);
  return FNZ_OK;
}

void fnzi_hash_value_free(fnzi_hash_backend *hasher, fnzi_hash_value *v) {
  bool stored = v->cells != NULL && !v->is_apart;
  if (v->is_apart)
    fnzi_free(hasher->ctx, v->cells, (v->ncells + 1) * sizeof *v->cells);
  fnzi_free(hasher->ctx, v, value_bytes(v->g.rank, stored ? v->ncells : 0));
}

/* --- Fingerprints ----------------------------------------------------------------------------- */

/* Several rows of steps go on at once. */
static uint64_t cells_print(uint64_t h, const fnzi_cell *cells, size_t count) {
  enum { ROWS = 4 };
  uint64_t rows[ROWS];
  size_t i = 0;
  for (size_t k = 0; k < ROWS; k++)
    rows[k] = fnzi_hash_combine(h, k);
  for (; i + ROWS <= count; i += ROWS)
    for (size_t k = 0; k < ROWS; k++) {
      rows[k] ^= cells[i + k].of + cells[i + k].at * 0x9e3779b97f4a7c15u;
      rows[k] *= 0xd6e8feb86659fd93u;
      rows[k] ^= rows[k] >> 32;
    }
  for (size_t k = 0; k < ROWS; k++)
    h = fnzi_hash_combine(h, rows[k]);
  for (; i < count; i++)
    h = fnzi_hash_cell(h, cells[i]);
  return h;
}

uint64_t fnzi_hash_value_print(fnzi_hash_value *v) {
  if (v->print != 0)
    return v->print;
  uint64_t h = fnzi_hash_combine(v->g.dtype, v->g.rank);
  for (uint32_t d = 0; d < v->g.rank; d++)
    h = fnzi_hash_combine(h, (uint64_t)v->g.sizes[d]);
  /* Asked once per value. Cells that are no series mostly differ from one in the second. */
  if (!v->is_series && v->ncells != 0 && fnzi_is_series(v->cells, v->ncells)) {
    v->is_series = true;
    v->start = v->cells[0];
  }
  if (v->is_series && v->ncells > 0)
    h = fnzi_hash_cell(h ^ 0x736572, v->start);
  else if (v->ncells > 0)
    h = cells_print(h, v->cells, v->ncells);
  v->print = h | 1;
  return v->print;
}

/* --- What operators ask for ------------------------------------------------------------------- */

fnz_status fnzi_hash_input(fnzi_hash_call *h, size_t i, fnzi_hash_value **out) {
  *out = i < h->op->nparams && h->args[i].tag == FNZ_ARG_VALUE
             ? fnzi_hash_value_of(h->args[i].u.value)
             : NULL;
  if (*out != NULL)
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_TYPE, "", "argument %zu of %s is no tensor", i, h->op->name);
}

/* How the next result looks. */
static fnz_status next_geometry(fnzi_hash_call *h, const fnz_geometry *fallback,
                                const fnz_geometry **out) {
  if (h->count == h->capacity)
    return fnzi_fail(h->ctx, FNZ_CLASS_ARGUMENT, "", "%s has more results than there is room for",
                     h->op->name);
  const fnz_geometry *expected = h->call->expected == NULL ? NULL : h->call->expected[h->count];
  *out = expected != NULL ? expected : fallback;
  if (*out == NULL)
    return fnzi_fail(h->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "over hashes, the sizes of result %zu of %s must be known", h->count,
                     h->op->name);
  return FNZ_OK;
}

fnz_status fnzi_hash_result(fnzi_hash_call *h, const fnz_geometry *fallback,
                            fnzi_hash_value **out) {
  const fnz_geometry *g;
  FNZ_TRY(next_geometry(h, fallback, &g));
  FNZ_TRY(fnzi_hash_value_create(h->hasher, h->ctx, g, out));
  h->outputs[h->count++] = (fnz_handle)(uintptr_t)*out;
  return FNZ_OK;
}

fnz_status fnzi_hash_result_series(fnzi_hash_call *h, const fnz_geometry *fallback,
                                   fnzi_cell start) {
  const fnz_geometry *g;
  fnzi_hash_value *out;
  FNZ_TRY(next_geometry(h, fallback, &g));
  FNZ_TRY(fnzi_hash_value_series(h->hasher, h->ctx, g, start, &out));
  h->outputs[h->count++] = (fnz_handle)(uintptr_t)out;
  return FNZ_OK;
}

/* The next result is expected to look like `wanted`. */
static fnz_status check_next(fnzi_hash_call *h, const fnz_geometry *wanted) {
  const fnz_geometry *g;
  FNZ_TRY(next_geometry(h, wanted, &g));
  if (fnzi_same_sizes(g, wanted) && g->dtype == wanted->dtype)
    return FNZ_OK;
  return fnzi_fail(h->ctx, FNZ_CLASS_BOUNDS, "",
                   "result %zu of %s is expected to have other sizes or another dtype than it has",
                   h->count, h->op->name);
}

fnz_status fnzi_hash_result_like(fnzi_hash_call *h, const fnz_geometry *wanted,
                                 fnzi_hash_value **out) {
  FNZ_TRY(check_next(h, wanted));
  return fnzi_hash_result(h, wanted, out);
}

fnz_status fnzi_hash_result_series_like(fnzi_hash_call *h, const fnz_geometry *wanted,
                                        fnzi_cell start) {
  FNZ_TRY(check_next(h, wanted));
  return fnzi_hash_result_series(h, wanted, start);
}
