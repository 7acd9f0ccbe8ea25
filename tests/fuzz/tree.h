/* tree.h - the items of a JSON or CBOR text as one flat list, for tests that change them.
 *
 * A container is an item, its content, and an end. So a part of the tree is a run of items, and
 * dropping, copying and moving one needs neither recursion nor pointers to mend. Texts and scalars
 * stay where they were read, as they are written in the format: unchanged items are written back
 * byte by byte. The members of a map have their key with them. */
#ifndef FNZ_TESTS_FUZZ_TREE_H
#define FNZ_TESTS_FUZZ_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_MOST = 32768, TREE_DEPTH = 256 };

typedef struct tree_text {
  const char *at;
  uint32_t size;
} tree_text;

typedef enum tree_kind {
  TREE_LEAF, /* null, truth values, floats and integers beyond 64 bits */
  TREE_INT,
  TREE_TEXT,
  TREE_BYTES,
  TREE_LIST,
  TREE_MAP,
  TREE_END
} tree_kind;

typedef struct tree_item {
  tree_text key;  /* at NULL: not a member of a map */
  tree_text text; /* of a leaf, a text, bytes; in JSON between the quotes, with its escapes */
  int64_t number; /* of an integer; of an end, the index of its container */
  tree_kind kind;
  uint32_t narrow, wide; /* what items in the same role have in common; see tree_find_roles() */
} tree_item;

typedef struct tree {
  tree_item items[TREE_MOST]; /* the first is the root */
  uint32_t count;
} tree;

/* False if it is not well-formed, has several items, or more than fit. Keys of a CBOR map must be
 * scalars or texts. */
bool tree_read_json(tree *t, const char *bytes, size_t size);
bool tree_read_cbor(tree *t, const char *bytes, size_t size);
/* The number of bytes written; 0 when there is no room. Heads of CBOR are as short as can be. */
size_t tree_write_json(const tree *t, char *out, size_t capacity);
size_t tree_write_cbor(const tree *t, char *out, size_t capacity);

/* Behind an item and all it holds. */
uint32_t tree_behind(const tree *t, uint32_t at);
/* The container an item lies in; the root's is itself. */
uint32_t tree_parent(const tree *t, uint32_t at);
/* The first item that lies in a container, or its end. */
static inline bool tree_is_open(const tree_item *i) {
  return i->kind == TREE_LIST || i->kind == TREE_MAP;
}
/* `from` stands where `count` items from `at` on stood; false when it does not fit. */
bool tree_replace(tree *t, uint32_t at, uint32_t count, const tree_item *from, uint32_t n);
/* Two items of the same `wide` are members of the same key, or lie equally deep below such; of the
 * same `narrow` also below the same key, or at the same place of their list. */
void tree_find_roles(tree *t);

#endif
