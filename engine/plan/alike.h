/* alike.h - kinds of nodes. Nodes of one kind have one operator, tensors of equal geometry (one
 * address in a program) and equal scalars, so that facts about a node hold for all of its kind. A
 * model has few kinds and many nodes. */
#ifndef FNZI_PLN_ALIKE_H
#define FNZI_PLN_ALIKE_H

#include "program/program.h"

typedef struct fnzi_pln_kinds {
  uint32_t *by_node; /* per node */
  uint32_t count;    /* at most as many as there are nodes */
} fnzi_pln_kinds;

FNZ_MUST_CHECK fnz_status fnzi_pln_kinds_find(fnz_context *ctx, fnzi_arena *arena,
                                              const fnzi_graph *graph, fnzi_pln_kinds *out);

#endif
