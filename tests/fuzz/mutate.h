/* mutate.h - programs that are nearly right: changes an item of a program's text, and leaves an
 * archive, or CBOR, that any reader of the format takes. So the code behind the checksums and the
 * syntax is tried, which changed bytes hardly reach.
 *
 * A .pt2 archive gets new lengths, offsets and checksums. Now and then bytes are changed all the
 * same. */
#ifndef FNZ_TESTS_FUZZ_MUTATE_H
#define FNZ_TESTS_FUZZ_MUTATE_H

#include "tests/fuzz/records.h"
#include "tests/fuzz/tree.h"

typedef enum mutate_format { MUTATE_JSON, MUTATE_CBOR, MUTATE_PT2 } mutate_format;

enum {
  MUTATE_SLICE = 4096,
  MUTATE_TEXTS = 1 << 18,
  MUTATE_LONGEST = 1 << 18,
  MUTATE_NAME = 64,
  MUTATE_OPERATORS = 8192
};

typedef struct mutator {
  uint64_t random;
  bool is_cbor;
  /* Changes some bytes, of `size` at first, and says how many they are then: LLVMFuzzerMutate. */
  size_t (*change_bytes)(uint8_t *bytes, size_t size, size_t most);
  tree own, second, form;
  const tree *donor; /* where parts are taken from: `own` or `second` */
  tree_item slice[MUTATE_SLICE];
  char texts[MUTATE_TEXTS]; /* texts created for this change */
  size_t used;
  records archive, donors;
  char out[MUTATE_LONGEST];
  uint32_t arguments[MUTATE_OPERATORS]; /* hashes of arguments by operator, 0: not made yet */
  const char *last;                     /* the last change, by name */
  uint32_t fresh;                       /* numbers new names */
} mutator;

/* As LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver. */
size_t mutate(mutator *m, mutate_format format, uint8_t *data, size_t size, size_t most,
              unsigned seed);
size_t mutate_cross(mutator *m, mutate_format format, const uint8_t *data, size_t size,
                    const uint8_t *second, size_t second_size, uint8_t *out, size_t most,
                    unsigned seed);

/* --- changes.c: one change of m->own, with parts of m->donor -------------------------------- */
typedef struct mutate_change {
  const char *name;
  uint32_t weight;
  bool (*change)(mutator *m); /* false: there was nothing to change like that */
} mutate_change;

extern const mutate_change mutate_changes[];
extern const size_t mutate_changes_count;

/* Some change, until there is one. */
void mutate_tree(mutator *m);
uint32_t mutate_below(mutator *m, uint32_t n);

/* --- operators.c ---------------------------------------------------------------------------- */
/* The name of another operator, in `out`; of one with the same arguments where `alike`. */
bool mutate_operator(mutator *m, tree_text name, bool alike, char *out, size_t capacity);

#endif
