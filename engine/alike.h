/* alike.h - answers that hold for all nodes which ask the same: of one operator, tensors of the
 * same geometry (of a program, by its address) and the same numbers. A model has few such questions
 * and many nodes. */
#ifndef FNZI_ENG_ALIKE_H
#define FNZI_ENG_ALIKE_H

#include "program/program.h"

enum { FNZI_ENG_KEY_WORDS = 64 };

typedef struct fnzi_eng_key {
  uint32_t count; /* 0: the node is like no other one */
  uint64_t words[FNZI_ENG_KEY_WORDS];
} fnzi_eng_key;

typedef struct fnzi_eng_alike {
  fnzi_map answers;
  fnzi_arena keys;
} fnzi_eng_alike;

void fnzi_eng_alike_open(fnzi_eng_alike *a, fnz_context *ctx);
void fnzi_eng_alike_close(fnzi_eng_alike *a);
void fnzi_eng_key_of(const fnzi_graph *g, const fnzi_node *node, fnzi_eng_key *out);
bool fnzi_eng_alike_get(const fnzi_eng_alike *a, const fnzi_eng_key *key, uint64_t *out);
FNZ_MUST_CHECK fnz_status fnzi_eng_alike_set(fnzi_eng_alike *a, const fnzi_eng_key *key,
                                             uint64_t answer);

#endif
