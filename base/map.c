/* map.c - byte strings to numbers, over uthash with this library's allocator.
 *
 * uthash calls its allocation macros without a context; a variable named `map` in scope hands it
 * in. HASH_NONFATAL_OOM turns a failed allocation into an error instead of an exit. */
#include "base/base.h"

/* SipHash-1-3: one round for each eight bytes, three at the end. Without the key an attacker cannot
 * choose keys that fall into one place; what mixes less lets differences of late bytes, or of one
 * byte and another, pass under every key. */
static uint64_t map_rotate(uint64_t x, int by) {
  return x << by | x >> (64 - by);
}

static void map_mix(uint64_t v[4]) {
  v[0] += v[1];
  v[2] += v[3];
  v[1] = map_rotate(v[1], 13) ^ v[0];
  v[3] = map_rotate(v[3], 16) ^ v[2];
  v[0] = map_rotate(v[0], 32) + v[3];
  v[2] += v[1];
  v[3] = map_rotate(v[3], 21) ^ v[0];
  v[1] = map_rotate(v[1], 17) ^ v[2];
  v[2] = map_rotate(v[2], 32);
}

static void absorb(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  map_mix(v);
  v[0] ^= word;
}

uint64_t fnzi_hash(const fnz_context *ctx, const void *key, size_t size) {
  const unsigned char *at = key;
  uint64_t k0 = ctx->hash_key[0], k1 = ctx->hash_key[1], word, last = (uint64_t)size << 56;
  uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                   k1 ^ 0x7465646279746573u};
  for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
    memcpy(&word, at, sizeof word);
    absorb(v, word);
  }
  for (size_t i = 0; i < size; i++)
    last |= (uint64_t)at[i] << 8 * i;
  absorb(v, last);
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++)
    map_mix(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#define HASH_NONFATAL_OOM          1
#define uthash_malloc(bytes)       fnzi_resize(map->ctx, NULL, 0, bytes)
#define uthash_free(p, bytes)      fnzi_free(map->ctx, p, bytes)
#define uthash_nonfatal_oom(entry) (failed = true)
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
  struct fnzi_map_entry *first = map->head;
  HASH_CLEAR(hh, map->head); /* the table alone; entries are still a list */
  for (struct fnzi_map_entry *e = first, *next; e; e = next) {
    next = e->hh.next;
    fnzi_free(map->ctx, e, sizeof *e);
  }
}

uint32_t fnzi_map_hash(const fnzi_map *map, const void *key, size_t size) {
  return (uint32_t)fnzi_hash(map->ctx, key, size);
}

static struct fnzi_map_entry *find(const fnzi_map *map, uint32_t hash, const void *key,
                                   size_t size) {
  struct fnzi_map_entry *e;
  HASH_FIND_BYHASHVALUE(hh, map->head, key, size, hash, e);
  return e;
}

bool fnzi_map_find(const fnzi_map *map, uint32_t hash, const void *key, size_t size,
                   uint64_t *out) {
  const struct fnzi_map_entry *e = find(map, hash, key, size);
  if (e)
    *out = e->value;
  return e != NULL;
}

fnz_status fnzi_map_add(fnzi_map *map, uint32_t hash, const void *key, size_t size,
                        uint64_t value) {
  struct fnzi_map_entry *e = fnzi_resize(map->ctx, NULL, 0, sizeof *e);
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

bool fnzi_map_get(const fnzi_map *map, const void *key, size_t size, uint64_t *out) {
  return fnzi_map_find(map, fnzi_map_hash(map, key, size), key, size, out);
}

fnz_status fnzi_map_set(fnzi_map *map, const void *key, size_t size, uint64_t value) {
  const uint32_t hash = fnzi_map_hash(map, key, size);
  struct fnzi_map_entry *e = find(map, hash, key, size);
  if (!e)
    return fnzi_map_add(map, hash, key, size, value);
  e->value = value;
  return FNZ_OK;
}
