/* tree_json.c - JSON as a tree. Whether texts and numbers are right is left to the readers under
 * test: here they end at a quote, and at what no scalar has. */
#include "tests/fuzz/tree.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
  const char *at, *end;
  tree *t;
  char open[TREE_DEPTH]; /* '{' or '[' */
  uint32_t depth;
} reader;

static void skip(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n,", *r->at) && *r->at)
    r->at++;
}

static bool read_text(reader *r, tree_text *out) {
  const char *from = ++r->at;
  for (; r->at < r->end && *r->at != '"'; r->at++)
    if (*r->at == '\\')
      r->at++;
  if (r->at >= r->end)
    return false;
  *out = (tree_text){from, (uint32_t)(r->at++ - from)};
  return true;
}

static bool read_key(reader *r, tree_text *out) {
  if (!r->depth || r->open[r->depth - 1] != '{')
    return true;
  if (*r->at != '"' || !read_text(r, out))
    return false;
  skip(r);
  if (r->at == r->end || *r->at != ':')
    return false;
  r->at++;
  skip(r);
  return r->at < r->end;
}

/* An integer of up to 18 digits, without a zero in front, is a number; the rest stays text. */
static bool is_number(tree_text text, int64_t *out) {
  bool is_negative = text.size && text.at[0] == '-';
  uint32_t i = is_negative, digits = text.size - i;
  int64_t n = 0;
  if (!digits || digits > 18 || (text.at[i] == '0' && (digits > 1 || is_negative)))
    return false;
  for (; i < text.size; i++) {
    if (text.at[i] < '0' || text.at[i] > '9')
      return false;
    n = 10 * n + (text.at[i] - '0');
  }
  *out = is_negative ? -n : n;
  return true;
}

static bool read_scalar(reader *r, tree_item *item) {
  const char *from = r->at;
  while (r->at < r->end &&
         (*r->at == '+' || *r->at == '-' || *r->at == '.' || (*r->at >= '0' && *r->at <= '9') ||
          (*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z')))
    r->at++;
  item->text = (tree_text){from, (uint32_t)(r->at - from)};
  item->kind = is_number(item->text, &item->number) ? TREE_INT : TREE_LEAF;
  return item->text.size > 0;
}

static bool read_open(reader *r, tree_item *item) {
  if (r->depth == TREE_DEPTH)
    return false;
  item->kind = *r->at == '{' ? TREE_MAP : TREE_LIST;
  r->open[r->depth++] = *r->at++;
  return true;
}

static bool read_end(reader *r, tree_item *item) {
  if (!r->depth || r->open[r->depth - 1] != (*r->at == '}' ? '{' : '['))
    return false;
  item->kind = TREE_END;
  item->number = *r->at++ == '}' ? TREE_MAP : TREE_LIST;
  r->depth--;
  return true;
}

static bool read_item(reader *r, tree_item *item) {
  if (*r->at == '}' || *r->at == ']')
    return read_end(r, item);
  if (!read_key(r, &item->key))
    return false;
  if (*r->at == '{' || *r->at == '[')
    return read_open(r, item);
  if (*r->at != '"')
    return read_scalar(r, item);
  item->kind = TREE_TEXT;
  return read_text(r, &item->text);
}

bool tree_read_json(tree *t, const char *bytes, size_t size) {
  reader r = {.at = bytes, .end = bytes + size, .t = t};
  t->count = 0;
  do {
    skip(&r);
    if (r.at == r.end || t->count == TREE_MOST)
      return false;
    t->items[t->count] = (tree_item){0};
    if (!read_item(&r, &t->items[t->count]))
      return false;
    t->count++;
  } while (r.depth);
  skip(&r);
  return r.at == r.end;
}

/* --- writing ------------------------------------------------------------------------------ */
typedef struct writer {
  char *at, *end;
} writer;

static bool put(writer *w, const char *bytes, size_t size) {
  if (size > (size_t)(w->end - w->at))
    return false;
  if (size)
    memcpy(w->at, bytes, size);
  w->at += size;
  return true;
}

static bool put_quoted(writer *w, tree_text text) {
  return put(w, "\"", 1) && put(w, text.at, text.size) && put(w, "\"", 1);
}

static bool put_item(writer *w, const tree_item *item) {
  char number[24];
  switch (item->kind) {
  case TREE_END:
    return put(w, item->number == TREE_MAP ? "}" : "]", 1);
  case TREE_MAP:
    return put(w, "{", 1);
  case TREE_LIST:
    return put(w, "[", 1);
  case TREE_INT:
    return put(w, number, (size_t)snprintf(number, sizeof number, "%lld", (long long)item->number));
  case TREE_LEAF:
    return put(w, item->text.at, item->text.size);
  default:
    return put_quoted(w, item->text);
  }
}

size_t tree_write_json(const tree *t, char *out, size_t capacity) {
  writer w = {out, out + capacity};
  for (uint32_t i = 0; i < t->count; i++) {
    const tree_item *item = &t->items[i];
    bool follows = i && item->kind != TREE_END && !tree_is_open(item - 1);
    if (follows && !put(&w, ",", 1))
      return 0;
    if (item->key.at && (!put_quoted(&w, item->key) || !put(&w, ":", 1)))
      return 0;
    if (!put_item(&w, item))
      return 0;
  }
  return (size_t)(w.at - out);
}
