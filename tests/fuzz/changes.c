/* changes.c - what is changed in a tree: each row of `mutate_changes` one kind of mistake that a
 * file can have. See mutate.h. */
#include "tests/fuzz/mutate.h"

#include <stdio.h>
#include <string.h>

uint32_t mutate_below(mutator *m, uint32_t n) {
  m->random ^= m->random << 13;
  m->random ^= m->random >> 7;
  m->random ^= m->random << 17;
  return n ? (uint32_t)((m->random >> 32) * n >> 32) : 0;
}

static bool one_in(mutator *m, uint32_t n) {
  return mutate_below(m, n) == 0;
}

/* --- finding items ------------------------------------------------------------------------- */
#define ANY     (~0u & ~(1u << TREE_END))
#define SCALARS (1u << TREE_LEAF | 1u << TREE_INT | 1u << TREE_TEXT)
#define KIND(k) (1u << (k))

static bool has_key(const tree_item *i, const char *key) {
  return i->key.at && i->key.size == strlen(key) && memcmp(i->key.at, key, i->key.size) == 0;
}

/* An item of these kinds, and of this key unless NULL; 0 when there is none. */
static uint32_t find(mutator *m, const tree *t, uint32_t kinds, const char *key) {
  uint32_t from = mutate_below(m, t->count);
  for (uint32_t n = 0; n < t->count; n++) {
    uint32_t at = (from + n) % t->count;
    if (at && kinds & KIND(t->items[at].kind) && (!key || has_key(&t->items[at], key)))
      return at;
  }
  return 0;
}

/* An item of the donor in the role of another, and not itself. */
static uint32_t find_alike(mutator *m, const tree_item *like) {
  const tree *t = m->donor;
  uint32_t from = mutate_below(m, t->count);
  bool is_narrow = one_in(m, 2);
  for (uint32_t n = 0; n < t->count; n++) {
    const tree_item *i = &t->items[(from + n) % t->count];
    if (i != like && i->kind != TREE_END && i != t->items &&
        (is_narrow ? i->narrow == like->narrow : i->wide == like->wide))
      return (uint32_t)(i - t->items);
  }
  return 0;
}

/* A map of one member: JSON's unions. */
static uint32_t find_union(mutator *m) {
  uint32_t at = 0;
  for (int i = 0; i < 32; i++) {
    at = find(m, &m->own, KIND(TREE_MAP), NULL);
    if (at && tree_behind(&m->own, at + 1) + 1 == tree_behind(&m->own, at))
      return at;
  }
  return at;
}

/* --- putting parts in their place ---------------------------------------------------------- */
/* An item with all it holds into the slice; how many items, 0 for too many. */
static uint32_t take(mutator *m, const tree *t, uint32_t at) {
  uint32_t count = tree_behind(t, at) - at;
  if (count > MUTATE_SLICE)
    return 0;
  memcpy(m->slice, &t->items[at], count * sizeof *m->slice);
  return count;
}

/* The slice in place of an item, whose key it gets. */
static bool put(mutator *m, uint32_t at, uint32_t count) {
  if (!count)
    return false;
  m->slice[0].key = m->own.items[at].key;
  return tree_replace(&m->own, at, tree_behind(&m->own, at) - at, m->slice, count);
}

static bool put_item(mutator *m, uint32_t at, tree_item item) {
  m->slice[0] = item;
  return at && put(m, at, 1);
}

static tree_text keep_text(mutator *m, const char *text, size_t size) {
  if (size > sizeof m->texts - m->used)
    size = 0;
  char *to = m->texts + m->used;
  if (size)
    memcpy(to, text, size);
  m->used += size;
  return (tree_text){to, (uint32_t)size};
}

/* A key, as it is written in the file. */
static tree_text some_key(mutator *m, tree_kind of) {
  const tree *t = m->donor;
  for (int i = 0; i < 32; i++) {
    const tree_item *item = &t->items[find(m, t, one_in(m, 2) ? KIND(of) : ANY, NULL)];
    if (item->key.at)
      return item->key;
  }
  return m->is_cbor ? (tree_text){"\x0c", 1} : (tree_text){"x", 1};
}

/* --- scalars ------------------------------------------------------------------------------- */
static const int64_t numbers[] = {
#define NUMBER(n) n,
#define JSON_LEAF(t)
#define CBOR_LEAF(t)
#define JSON_FORM(t)
#define CBOR_FORM(t)
#define EXPRESSION(t)
#include "tests/fuzz/words.def"
#undef NUMBER
#undef JSON_LEAF
#undef CBOR_LEAF
#undef JSON_FORM
#undef CBOR_FORM
#undef EXPRESSION
};

typedef enum word_use {
  JSON_LEAF_WORD,
  CBOR_LEAF_WORD,
  JSON_FORM_WORD,
  CBOR_FORM_WORD,
  EXPRESSION_WORD
} word_use;

static const struct {
  word_use use;
  tree_text text;
} words[] = {
#define NUMBER(n)
#define JSON_LEAF(t)  {JSON_LEAF_WORD, {t, sizeof t - 1}},
#define CBOR_LEAF(t)  {CBOR_LEAF_WORD, {t, sizeof t - 1}},
#define JSON_FORM(t)  {JSON_FORM_WORD, {t, sizeof t - 1}},
#define CBOR_FORM(t)  {CBOR_FORM_WORD, {t, sizeof t - 1}},
#define EXPRESSION(t) {EXPRESSION_WORD, {t, sizeof t - 1}},
#include "tests/fuzz/words.def"
#undef NUMBER
#undef JSON_LEAF
#undef CBOR_LEAF
#undef JSON_FORM
#undef CBOR_FORM
#undef EXPRESSION
};

static tree_text some_word(mutator *m, word_use use) {
  uint32_t count = (uint32_t)(sizeof words / sizeof *words), at = mutate_below(m, count);
  while (words[at].use != use)
    at = (at + 1) % count;
  return words[at].text;
}

static int64_t other_number(mutator *m, int64_t old) {
  uint32_t at;
  switch (mutate_below(m, 6)) {
  case 0:
    return numbers[mutate_below(m, sizeof numbers / sizeof *numbers)];
  case 1:
    return (int64_t)((uint64_t)old + (one_in(m, 2) ? 1 : -1ull));
  case 2:
    return (int64_t)((uint64_t)old * 2);
  case 3:
    at = find(m, m->donor, KIND(TREE_INT), NULL);
    return at ? m->donor->items[at].number : old / 2;
  case 4:
    return -(int64_t)mutate_below(m, 4);
  default:
    return mutate_below(m, 30);
  }
}

static bool change_number(mutator *m) {
  uint32_t at = find(m, &m->own, KIND(TREE_INT), NULL);
  if (at)
    m->own.items[at].number = other_number(m, m->own.items[at].number);
  return at;
}

static bool change_leaf(mutator *m) {
  return put_item(m, find(m, &m->own, SCALARS, NULL),
                  (tree_item){.kind = TREE_LEAF,
                              .text = some_word(m, m->is_cbor ? CBOR_LEAF_WORD : JSON_LEAF_WORD)});
}

static bool change_expression(mutator *m) {
  uint32_t at = find(m, &m->own, KIND(TREE_TEXT), m->is_cbor || one_in(m, 4) ? NULL : "expr_str");
  return put_item(m, at, (tree_item){.kind = TREE_TEXT, .text = some_word(m, EXPRESSION_WORD)});
}

/* Makes the text UTF-8 that needs no escape. */
static void tame(char *text, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
      text[i] = (char)('a' + ((unsigned char)text[i] & 15));
}

static bool change_bytes(mutator *m) {
  uint32_t at = find(m, &m->own, KIND(TREE_TEXT) | KIND(TREE_BYTES), NULL);
  tree_item *item = &m->own.items[at];
  if (!at || item->text.size + 16 > sizeof m->texts - m->used)
    return false;
  char *bytes = m->texts + m->used;
  if (item->text.size)
    memcpy(bytes, item->text.at, item->text.size);
  size_t size = m->change_bytes((uint8_t *)bytes, item->text.size, item->text.size + 16u);
  if (item->kind == TREE_TEXT)
    tame(bytes, size);
  item->text = (tree_text){bytes, (uint32_t)size};
  m->used += size;
  return true;
}

static bool change_operator(mutator *m) {
  char name[300];
  for (int i = 0; i < 32; i++) {
    uint32_t at = find(m, &m->own, KIND(TREE_TEXT), m->is_cbor ? NULL : "target");
    if (!at || !mutate_operator(m, m->own.items[at].text, !one_in(m, 4), name, sizeof name))
      continue;
    m->own.items[at].text = keep_text(m, name, strlen(name));
    return true;
  }
  return false;
}

/* --- parts --------------------------------------------------------------------------------- */
static bool change_role(mutator *m) {
  uint32_t at = find(m, &m->own, ANY, NULL), from = at ? find_alike(m, &m->own.items[at]) : 0;
  return from && put(m, at, take(m, m->donor, from));
}

static bool change_scalar(mutator *m) {
  uint32_t at = find(m, &m->own, SCALARS, NULL), from = at ? find_alike(m, &m->own.items[at]) : 0;
  return from && put(m, at, take(m, m->donor, from));
}

static bool change_graft(mutator *m) {
  uint32_t at = find(m, &m->own, ANY, NULL), from = find(m, m->donor, ANY, NULL);
  return at && from && put(m, at, take(m, m->donor, from));
}

static bool change_form(mutator *m) {
  tree_text form = some_word(m, m->is_cbor ? CBOR_FORM_WORD : JSON_FORM_WORD);
  bool is_read = m->is_cbor ? tree_read_cbor(&m->form, form.at, form.size)
                            : tree_read_json(&m->form, form.at, form.size);
  uint32_t at = m->is_cbor || one_in(m, 4) ? find(m, &m->own, ANY, NULL) : find_union(m);
  return is_read && at && put(m, at, take(m, &m->form, 0));
}

static bool change_drop(mutator *m) {
  uint32_t at = find(m, &m->own, ANY, NULL);
  return at && tree_replace(&m->own, at, tree_behind(&m->own, at) - at, NULL, 0);
}

/* A place in the same container, that of its end among them. */
static uint32_t some_place(mutator *m, uint32_t parent) {
  uint32_t at = parent + 1;
  while (m->own.items[at].kind != TREE_END && !one_in(m, 4))
    at = tree_behind(&m->own, at);
  return at;
}

/* Another one of it, or one of the donor in its role, beside it. */
static bool change_repeat(mutator *m) {
  uint32_t at = find(m, &m->own, ANY, NULL);
  if (!at)
    return false;
  uint32_t from = one_in(m, 2) ? find_alike(m, &m->own.items[at]) : 0;
  uint32_t count = take(m, from ? m->donor : &m->own, from ? from : at);
  tree_text key = m->own.items[at].key;
  if (!count)
    return false;
  m->slice[0].key = key.at && !one_in(m, 8) ? some_key(m, m->slice[0].kind) : key;
  return tree_replace(&m->own, some_place(m, tree_parent(&m->own, at)), 0, m->slice, count);
}

/* Two of the same container; their keys stay. */
static bool change_swap(mutator *m) {
  uint32_t first = find(m, &m->own, ANY, NULL), last;
  if (!first)
    return false;
  last = some_place(m, tree_parent(&m->own, first));
  if (last < first) {
    uint32_t other = first;
    first = last;
    last = other;
  }
  if (first == last || m->own.items[last].kind == TREE_END)
    return false;
  uint32_t count = take(m, &m->own, last), between = tree_behind(&m->own, first);
  uint32_t moved = between - first;
  if (!count || count + moved > MUTATE_SLICE)
    return false;
  tree_text key = m->own.items[first].key;
  memcpy(m->slice + count, &m->own.items[first], moved * sizeof *m->slice);
  m->slice[count].key = m->own.items[last].key;
  m->slice[0].key = key;
  return tree_replace(&m->own, last, count, m->slice + count, moved) &&
         tree_replace(&m->own, first, moved, m->slice, count);
}

static bool change_key(mutator *m) {
  for (int i = 0; i < 32; i++) {
    tree_item *item = &m->own.items[find(m, &m->own, ANY, NULL)];
    if (!item->key.at)
      continue;
    item->key = some_key(m, item->kind);
    return true;
  }
  return false;
}

/* --- what belongs together ----------------------------------------------------------------- */
static bool are_equal(tree_text a, tree_text b) {
  return a.size == b.size && (!a.size || memcmp(a.at, b.at, a.size) == 0);
}

/* A name, a size, an element type: everywhere it stands, in the same role or in any. */
static bool change_everywhere(mutator *m) {
  uint32_t at = find(m, &m->own, KIND(TREE_INT) | KIND(TREE_TEXT), NULL);
  const tree_item old = m->own.items[at];
  uint32_t from = at && old.kind == TREE_TEXT ? find_alike(m, &m->own.items[at]) : 0;
  if (!at || (old.kind == TREE_TEXT && (!from || m->donor->items[from].kind != TREE_TEXT)))
    return false;
  bool in_any = one_in(m, 2);
  int64_t number = other_number(m, old.number);
  tree_text text = from ? m->donor->items[from].text : old.text;
  for (uint32_t i = 0; i < m->own.count; i++) {
    tree_item *item = &m->own.items[i];
    if (item->kind != old.kind || !(in_any || item->wide == old.wide))
      continue;
    if (old.kind == TREE_INT && item->number == old.number)
      item->number = number;
    if (old.kind == TREE_TEXT && are_equal(item->text, old.text))
      item->text = text;
  }
  return true;
}

/* The file's entry for a value also describes another one. */
static void describe(mutator *m, tree_text value, tree_text as) {
  for (uint32_t i = 1; i < m->own.count; i++) {
    if (!m->own.items[i].key.at || m->own.items[i].kind != TREE_MAP ||
        !are_equal(m->own.items[i].key, value))
      continue;
    uint32_t count = take(m, &m->own, i);
    m->slice[0].key = as;
    if (count)
      tree_replace(&m->own, i, 0, m->slice, count);
    return;
  }
}

typedef struct renaming {
  tree_text from, to;
} renaming;

/* New names for the results of the node in the slice; how many there are. */
static uint32_t name_results(mutator *m, uint32_t count, renaming out[], uint32_t most) {
  char text[MUTATE_NAME];
  uint32_t at = 0, n = 0;
  while (at < count && !has_key(&m->slice[at], "outputs"))
    at++;
  for (; at < count && n < most; at++) {
    tree_item *item = &m->slice[at];
    if (item->kind != TREE_TEXT || !(has_key(item, "name") || has_key(item, "as_name")) ||
        m->slice[at + 1].kind != TREE_END)
      continue;
    snprintf(text, sizeof text, "fresh_%u", m->fresh++);
    out[n].from = item->text;
    out[n].to = keep_text(m, text, strlen(text));
    item->text = out[n++].to;
  }
  return n;
}

/* A node once more, with results of its own. */
static bool change_node(mutator *m) {
  enum { RESULTS = 8 };
  renaming names[RESULTS];
  uint32_t nodes = m->is_cbor ? 0 : find(m, &m->own, KIND(TREE_LIST), "nodes"), at = nodes + 1;
  if (!nodes || m->own.items[at].kind == TREE_END)
    return false;
  while (!one_in(m, 4) && m->own.items[tree_behind(&m->own, at)].kind != TREE_END)
    at = tree_behind(&m->own, at);
  uint32_t count = take(m, &m->own, at), n = name_results(m, count, names, RESULTS);
  if (!count || !tree_replace(&m->own, tree_behind(&m->own, at), 0, m->slice, count))
    return false;
  while (n--)
    describe(m, names[n].from, names[n].to);
  return true;
}

const mutate_change mutate_changes[] = {
    {"a number", 8, change_number},
    {"a scalar in its role", 6, change_scalar},
    {"a part in its role", 6, change_role},
    {"a part of another role", 2, change_graft},
    {"a scalar of another kind", 2, change_leaf},
    {"a form", 4, change_form},
    {"less", 4, change_drop},
    {"more", 4, change_repeat},
    {"another order", 3, change_swap},
    {"another key", 2, change_key},
    {"everywhere the same", 4, change_everywhere},
    {"a node once more", 4, change_node},
    {"an operator", 5, change_operator},
    {"an expression", 2, change_expression},
    {"some bytes", 2, change_bytes},
};
const size_t mutate_changes_count = sizeof mutate_changes / sizeof *mutate_changes;

static const mutate_change *some_change(mutator *m) {
  uint32_t sum = 0, at;
  for (size_t i = 0; i < mutate_changes_count; i++)
    sum += mutate_changes[i].weight;
  at = mutate_below(m, sum);
  const mutate_change *row = mutate_changes;
  for (; at >= row->weight; row++)
    at -= row->weight;
  return row;
}

void mutate_tree(mutator *m) {
  for (int i = 0; i < 16; i++) {
    const mutate_change *row = some_change(m);
    m->last = row->name;
    if (row->change(m))
      return;
  }
}
