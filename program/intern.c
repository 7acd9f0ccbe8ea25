/* intern.c - strings and geometries of a program: one of each, so that equal ones are equal
 * pointers. */
#include "program/program.h"

static uint64_t as_number(const void *p) {
  return (uint64_t)(uintptr_t)p;
}

/* --- interning ------------------------------------------------------------------------------- */
fnz_status fnzi_intern(fnz_program *p, const char *s, size_t size, const char **out) {
  const uint32_t hash = fnzi_map_hash(&p->strings, s, size);
  uint64_t found;
  if (fnzi_map_find(&p->strings, hash, s, size, &found)) {
    *out = (const char *)(uintptr_t)found;
    return FNZ_OK;
  }
  if (size > p->ctx->limits.string)
    return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL,
                     "a string of %zu bytes; at most %zu are allowed", size, p->ctx->limits.string);
  FNZ_TRY(fnzi_arena_string(&p->arena, s, size, out));
  return fnzi_map_add(&p->strings, hash, *out, size, as_number(*out));
}

fnz_status fnzi_intern_text(fnz_program *p, const char **text) {
  return *text ? fnzi_intern(p, *text, strlen(*text), text) : FNZ_OK;
}

static fnz_status too_large(fnz_context *ctx, const fnz_geometry *g, const char *what) {
  return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL,
                   "the %s of a %s tensor of %u dimensions at offset %lld leaves 63 bits", what,
                   fnz_dtype_get_info(g->dtype)->name, g->rank, (long long)g->offset);
}

/* The parts that equal geometries have in common, without gaps: a head, the offset, sizes, strides,
 * symbols. The interned geometry points into the very same bytes, so key and arrays are one
 * block. */
enum { KEY_NUMBERS = 2 + 2 * FNZ_MAX_RANK + FNZ_MAX_RANK + 1 };

static size_t write_key(const fnz_geometry *g, bool symbolic, int64_t key[KEY_NUMBERS]) {
  size_t rank = g->rank;
  key[0] = (int64_t)g->dtype | (int64_t)g->rank << 8 | (int64_t)g->is_conj << 16 |
           (int64_t)g->is_neg << 17 | (int64_t)symbolic << 18;
  key[1] = g->offset;
  if (rank) {
    memcpy(key + 2, g->sizes, rank * sizeof *key);
    memcpy(key + 2 + rank, g->strides, rank * sizeof *key);
  }
  size_t size = (2 + 2 * rank) * sizeof *key;
  if (!symbolic)
    return size;
  memcpy(key + 2 + 2 * rank, g->symbols, (2 * rank + 1) * sizeof *g->symbols);
  return size + (2 * rank + 1) * sizeof *g->symbols;
}

static fnz_status check(fnz_context *ctx, const fnz_geometry *g) {
  if ((unsigned)g->dtype >= FNZ_DTYPE_COUNT)
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL, "there is no element type %d", (int)g->dtype);
  if (g->rank > FNZ_MAX_RANK)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, NULL,
                     "a tensor of %u dimensions; at most %d are allowed", g->rank, FNZ_MAX_RANK);
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->sizes[i] < 0)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "dimension %u has the negative size %lld", i,
                       (long long)g->sizes[i]);
  if (!fnzi_elements_fit(g))
    return too_large(ctx, g, "number of bytes");
  if (g->offset < 0)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "the storage offset %lld is negative",
                     (long long)g->offset);
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->strides[i] < 0)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "dimension %u has the negative stride %lld", i,
                       (long long)g->strides[i]);
  int64_t item = (int64_t)fnz_dtype_get_info(g->dtype)->bytes, bytes, low, high;
  return fnzi_extent(g, &low, &high) && fnzi_mul_i64(high, item, &bytes) &&
                 fnzi_mul_i64(g->offset, item, &bytes)
             ? FNZ_OK
             : too_large(ctx, g, "last byte");
}

fnz_status fnzi_intern_geometry(fnz_program *p, const fnz_geometry *g, const fnz_geometry **out) {
  /* Few geometries come again and again. */
  uint64_t h = (uint64_t)g->offset;
  for (uint32_t d = 0; d < g->rank && d <= FNZ_MAX_RANK; d++)
    h = h * 31 + (uint64_t)g->sizes[d] * 7 + (uint64_t)g->strides[d];
  const fnz_geometry **recent = &p->recent[(h ^ h >> 7) % FNZI_RECENT];
  *out = *recent;
  if (*recent && fnzi_geometry_equal(*recent, g))
    return FNZ_OK;
  *out = NULL;
  int64_t key[KEY_NUMBERS];
  uint64_t found;
  if (!p->ints)
    FNZ_TRY(check(p->ctx, g));
  bool symbolic = false;
  for (uint32_t i = 0; !symbolic && g->symbols && i < 2 * g->rank + 1; i++)
    symbolic = g->symbols[i];
  size_t size = write_key(g, symbolic, key);
  const uint32_t hash = fnzi_map_hash(&p->geometries, key, size);
  if (!fnzi_map_find(&p->geometries, hash, key, size, &found)) {
    void *block;
    FNZ_TRY(fnzi_arena_alloc(&p->arena, 1, sizeof *g + size, &block));
    fnz_geometry *kept = block;
    int64_t *numbers = (int64_t *)(kept + 1);
    memcpy(numbers, key, size);
    *kept = *g;
    kept->sizes = numbers + 2;
    kept->strides = numbers + 2 + g->rank;
    kept->symbols = symbolic ? (const uint32_t *)(numbers + 2 + 2 * g->rank) : NULL;
    *out = kept;
    FNZ_TRY(fnzi_map_add(&p->geometries, hash, numbers, size, as_number(kept)));
  } else
    *out = (const fnz_geometry *)(uintptr_t)found;
  *recent = *out;
  return FNZ_OK;
}
