/* prims.h - calls of PyTorch's namespace prims, as a reader finds them (schema/prims.def). */
#ifndef FNZI_PROGRAM_PRIMS_H
#define FNZI_PROGRAM_PRIMS_H

#include "program/program.h"

/* A call that is read. */
typedef struct fnzi_prim_call {
  fnz_program *p;
  fnzi_arena *arena; /* scratch */
  uint32_t graph;
  /* The call: it is not in the graph yet, has op->nparams arguments, and its results are
   * defined. */
  const fnzi_node *node;
  void *user;
  /* A name for a value in between, which the source neither has nor is going to define. */
  fnz_status (*name)(void *user, const char *suffix, const char **out);
} fnzi_prim_call;

/* Adds the nodes that replace `node`, whose operator fnzi_builtin_prim() knows, with its source and
 * metadata; the last one defines its results. Failures have no place. */
FNZ_MUST_CHECK fnz_status fnzi_prim_read(const fnzi_prim_call *call);

#endif
