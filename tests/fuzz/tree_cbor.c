/* tree_cbor.c - CBOR as a tree: definite lengths, no tags, as fnz writes it. */
#include "tests/fuzz/tree.h"

#include <string.h>

enum { UNSIGNED, NEGATIVE, BYTES, TEXT, LIST, MAP, TAG, SIMPLE };

typedef struct reader {
  const unsigned char *at, *end;
  uint64_t left[TREE_DEPTH]; /* items or pairs that are still to come */
  char open[TREE_DEPTH];
  uint32_t depth;
} reader;

typedef struct head {
  const unsigned char *from;
  int major;
  uint64_t value;
} head;

static bool read_head(reader *r, head *out) {
  if (r->at == r->end)
    return false;
  *out = (head){r->at, *r->at >> 5, *r->at & 31u};
  unsigned more = 0;
  r->at++;
  if (out->value >= 24) {
    if (out->value > 27)
      return false;
    more = 1u << (out->value - 24);
    if ((size_t)(r->end - r->at) < more)
      return false;
    for (out->value = 0; more--; r->at++)
      out->value = out->value << 8 | *r->at;
  }
  return true;
}

static tree_text since(const reader *r, const unsigned char *from) {
  return (tree_text){(const char *)from, (uint32_t)(r->at - from)};
}

static bool read_run(reader *r, uint64_t size, tree_text *out) {
  const unsigned char *from = r->at;
  if (size > (size_t)(r->end - r->at))
    return false;
  r->at += size;
  *out = since(r, from);
  return true;
}

/* With its head: keys are not changed but by others. */
static bool read_key(reader *r, tree_text *out) {
  head h;
  tree_text text;
  if (!r->depth || r->open[r->depth - 1] != MAP)
    return true;
  if (!read_head(r, &h) || h.major == LIST || h.major == MAP || h.major == TAG)
    return false;
  if ((h.major == TEXT || h.major == BYTES) && !read_run(r, h.value, &text))
    return false;
  *out = since(r, h.from);
  return true;
}

static bool read_open(reader *r, const head *h, tree_item *item) {
  if (r->depth == TREE_DEPTH)
    return false;
  item->kind = h->major == MAP ? TREE_MAP : TREE_LIST;
  r->open[r->depth] = (char)h->major;
  r->left[r->depth++] = h->value;
  return true;
}

static bool read_item(reader *r, tree_item *item) {
  head h;
  if (!read_key(r, &item->key) || !read_head(r, &h) || h.major == TAG)
    return false;
  if (h.major == LIST || h.major == MAP)
    return read_open(r, &h, item);
  item->kind = h.major == TEXT ? TREE_TEXT : TREE_BYTES;
  if (h.major == TEXT || h.major == BYTES)
    return read_run(r, h.value, &item->text);
  bool is_number = h.major != SIMPLE && h.value <= INT64_MAX;
  item->kind = is_number ? TREE_INT : TREE_LEAF;
  item->text = since(r, h.from);
  if (is_number)
    item->number = h.major == NEGATIVE ? -1 - (int64_t)h.value : (int64_t)h.value;
  return true;
}

static bool add(tree *t, tree_item item) {
  if (t->count == TREE_MOST)
    return false;
  t->items[t->count++] = item;
  return true;
}

bool tree_read_cbor(tree *t, const char *bytes, size_t size) {
  reader r = {.at = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + size};
  t->count = 0;
  do {
    tree_item item = {0};
    if (r.depth)
      r.left[r.depth - 1]--;
    if (!read_item(&r, &item) || !add(t, item))
      return false;
    for (; r.depth && !r.left[r.depth - 1]; r.depth--) {
      tree_kind ends = r.open[r.depth - 1] == MAP ? TREE_MAP : TREE_LIST;
      if (!add(t, (tree_item){.kind = TREE_END, .number = ends}))
        return false;
    }
  } while (r.depth);
  return r.at == r.end;
}

/* --- writing ------------------------------------------------------------------------------ */
typedef struct writer {
  char *at, *end;
} writer;

static bool put(writer *w, tree_text text) {
  if (text.size > (size_t)(w->end - w->at))
    return false;
  if (text.size)
    memcpy(w->at, text.at, text.size);
  w->at += text.size;
  return true;
}

static bool put_head(writer *w, int major, uint64_t value) {
  char bytes[9];
  int more = value < 24             ? 0
             : value <= 0xff        ? 1
             : value <= 0xffff      ? 2
             : value <= 0xffffffffu ? 4
                                    : 8;
  int code = value < 24 ? (int)value : more == 1 ? 24 : more == 2 ? 25 : more == 4 ? 26 : 27;
  bytes[0] = (char)(major << 5 | code);
  for (int i = 0; i < more; i++)
    bytes[1 + i] = (char)(value >> 8 * (more - 1 - i));
  return put(w, (tree_text){bytes, (uint32_t)more + 1});
}

/* How many items each container has, in its own place. */
static bool count_items(const tree *t, uint32_t *counts) {
  uint32_t open[TREE_DEPTH], depth = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    if (t->items[i].kind == TREE_END) {
      depth--;
      continue;
    }
    if (depth)
      counts[open[depth - 1]]++;
    if (!tree_is_open(&t->items[i]))
      continue;
    if (depth == TREE_DEPTH)
      return false;
    counts[i] = 0;
    open[depth++] = i;
  }
  return true;
}

static bool put_item(writer *w, const tree_item *item, uint32_t count) {
  switch (item->kind) {
  case TREE_END:
    return true;
  case TREE_INT:
    return item->number < 0 ? put_head(w, NEGATIVE, (uint64_t)(-1 - item->number))
                            : put_head(w, UNSIGNED, (uint64_t)item->number);
  case TREE_LEAF:
    return put(w, item->text);
  case TREE_TEXT:
  case TREE_BYTES:
    return put_head(w, item->kind == TREE_TEXT ? TEXT : BYTES, item->text.size) &&
           put(w, item->text);
  default:
    return put_head(w, item->kind == TREE_MAP ? MAP : LIST, count);
  }
}

size_t tree_write_cbor(const tree *t, char *out, size_t capacity) {
  uint32_t counts[TREE_MOST];
  writer w = {out, out + capacity};
  if (!count_items(t, counts))
    return 0;
  for (uint32_t i = 0; i < t->count; i++) {
    const tree_item *item = &t->items[i];
    if (item->key.at && !put(&w, item->key))
      return 0;
    if (!put_item(&w, item, tree_is_open(item) ? counts[i] : 0))
      return 0;
  }
  return (size_t)(w.at - out);
}
