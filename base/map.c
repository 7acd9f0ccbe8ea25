/* map.c - byte strings to numbers, over uthash with this library's allocator.
 *
 * uthash calls its allocation macros without a context; a variable named `map` in scope hands it
 * in. HASH_NONFATAL_OOM turns a failed allocation into an error instead of an exit. */
#include "base/base.h"

/* Keys are names and the numbers of a geometry: eight bytes at a time. */
uint64_t fnzi_hash(const fnz_context *ctx, const void *key, size_t size) {
  const unsigned char *at = key;
  uint64_t h = ctx->hash_key[0] ^ size, factor = ctx->hash_key[1], word;
  for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
    memcpy(&word, at, sizeof word);
    h = (h ^ word) * factor;
    h ^= h >> 32;
  }
  for (word = 0; size; size--)
    word = word << 8 | at[size - 1];
  h = (h ^ word) * factor;
  return h ^ h >> 32;
}

#define HASH_NONFATAL_OOM           1
#define HASH_FUNCTION(key, size, h) (h) = (unsigned)fnzi_hash(map->ctx, key, size)
#define uthash_malloc(bytes)        fnzi_resize(map->ctx, NULL, 0, bytes)
#define uthash_free(p, bytes)       fnzi_free(map->ctx, p, bytes)
#define uthash_nonfatal_oom(entry)  (failed = true)
#include <uthash.h>

struct fnzi_map_entry {
  const void *key;
  uint64_t value;
  UT_hash_handle hh;
};

void fnzi_map_init(fnzi_map *map, fnz_context *ctx) {
  *map = (fnzi_map){ctx, NULL};
}

void fnzi_map_free(fnzi_map *map) {
  struct fnzi_map_entry *e, *next;
  HASH_ITER(hh, map->head, e, next) {
    HASH_DEL(map->head, e);
    fnzi_free(map->ctx, e, sizeof *e);
  }
}

static struct fnzi_map_entry *find(const fnzi_map *map, const void *key, size_t size,
                                   unsigned hash) {
  struct fnzi_map_entry *e;
  HASH_FIND_BYHASHVALUE(hh, map->head, key, size, hash, e);
  return e;
}

static unsigned hash_of(const fnzi_map *map, const void *key, size_t size) {
  unsigned hash;
  HASH_VALUE(key, size, hash);
  return hash;
}

bool fnzi_map_get(const fnzi_map *map, const void *key, size_t size, uint64_t *out) {
  const struct fnzi_map_entry *e = find(map, key, size, hash_of(map, key, size));
  if (e)
    *out = e->value;
  return e != NULL;
}

fnz_status fnzi_map_set(fnzi_map *map, const void *key, size_t size, uint64_t value) {
  unsigned hash = hash_of(map, key, size);
  struct fnzi_map_entry *e = find(map, key, size, hash);
  if (e) {
    e->value = value;
    return FNZ_OK;
  }
  e = fnzi_resize(map->ctx, NULL, 0, sizeof *e);
  if (!e)
    return fnzi_no_memory(map->ctx);
  *e = (struct fnzi_map_entry){.key = key, .value = value};
  bool failed = false;
  HASH_ADD_KEYPTR_BYHASHVALUE(hh, map->head, key, size, hash, e);
  if (!failed)
    return FNZ_OK;
  fnzi_free(map->ctx, e, sizeof *e);
  return fnzi_no_memory(map->ctx);
}
