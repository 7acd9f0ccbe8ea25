/* alike.h - answers that hold for all nodes which ask the same: of one operator, tensors of the
 * same geometry (of a program, by its address) and the same numbers. A model has few such questions
 * and many nodes. */
#ifndef FNZI_ENG_ALIKE_H
#define FNZI_ENG_ALIKE_H

#include "program/program.h"

enum { FNZI_ENG_KEY_WORDS = 64 };

typedef struct fnzi_eng_alike {
  fnzi_map answers;
  fnzi_arena arena;                 /* of keys, and of what answers point to */
  uint64_t key[FNZI_ENG_KEY_WORDS]; /* of the node that was asked about last */
  uint32_t words;                   /* 0: it is like no other one */
  uint32_t tags, tags_at;           /* of its arguments; the word that has the last ones */
} fnzi_eng_alike;

void fnzi_eng_alike_open(fnzi_eng_alike *a, fnz_context *ctx);
void fnzi_eng_alike_close(fnzi_eng_alike *a);
/* What is known of such nodes; false for nothing. */
bool fnzi_eng_alike_ask(fnzi_eng_alike *a, const fnzi_graph *g, const fnzi_node *node,
                        uint64_t *out);
/* It is known of nodes like the one that was asked about last. */
FNZ_MUST_CHECK fnz_status fnzi_eng_alike_answer(fnzi_eng_alike *a, uint64_t answer);

#endif
