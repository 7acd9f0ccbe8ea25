/* tree.c - see tree.h: what does not depend on the format. */
#include "tests/fuzz/tree.h"

#include <string.h>

uint32_t tree_behind(const tree *t, uint32_t at) {
  uint32_t depth = 0;
  do {
    depth += tree_is_open(&t->items[at]);
    depth -= t->items[at].kind == TREE_END;
    at++;
  } while (depth && at < t->count);
  return at;
}

uint32_t tree_parent(const tree *t, uint32_t at) {
  uint32_t closed = 0;
  while (at-- > 0) {
    if (t->items[at].kind == TREE_END)
      closed++;
    else if (tree_is_open(&t->items[at]) && closed-- == 0)
      return at;
  }
  return 0;
}

bool tree_replace(tree *t, uint32_t at, uint32_t count, const tree_item *from, uint32_t n) {
  if (t->count - count + n > TREE_MOST)
    return false;
  memmove(&t->items[at + n], &t->items[at + count], (t->count - at - count) * sizeof *t->items);
  if (n)
    memcpy(&t->items[at], from, n * sizeof *from);
  t->count = t->count - count + n;
  return true;
}

static uint32_t mix(uint32_t h, uint32_t with) {
  h = (h ^ with) * 0x85ebca6bu;
  return h ^ h >> 13;
}

static uint32_t hash_of(tree_text key) {
  uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < key.size; i++)
    h = (h ^ (unsigned char)key.at[i]) * 16777619u;
  return h;
}

void tree_find_roles(tree *t) {
  uint32_t above[TREE_DEPTH], place[TREE_DEPTH], depth = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    tree_item *item = &t->items[i];
    if (item->kind == TREE_END) {
      depth -= depth > 0;
      continue;
    }
    uint32_t over = depth ? above[depth - 1] : 0, nth = depth ? place[depth - 1]++ : 0;
    item->wide = item->key.at ? hash_of(item->key) : mix(over, 1);
    item->narrow = mix(item->wide, item->key.at ? over : nth + 2);
    if (!tree_is_open(item) || depth == TREE_DEPTH)
      continue;
    above[depth] = item->wide;
    place[depth++] = 0;
  }
}
