/* excerpt.h - a part of a program that stands for all of it where sizes decide what the pass makes.
 *
 * What the pass makes of a storage, its views and writes, depends on the nodes that use it and on
 * their sizes alone. Programs repeat themselves: of storages that are used alike, node by node, at
 * the same symbolic sizes, an excerpt has one; of all that computes new tensors only a stand-in.
 *
 *   excerpt_storages.c  which values share memory, and which storages are used alike
 *   excerpt_kinds.c     of nodes that are alike, with the types they take, one: for rules of types
 *   excerpt.c           the excerpt as a program */
#ifndef FNZI_EXCERPT_H
#define FNZI_EXCERPT_H

#include "program/shapes/sizes.h"

/* What a node is to the storages of its arguments. */
typedef enum fnzi_node_role {
  FNZI_NODE_COMPUTES, /* its results are new memory, whatever the sizes are */
  FNZI_NODE_VIEWS,    /* its results may lie in memory of its arguments, or of what was a copy */
  FNZI_NODE_WRITES,   /* the same of what it writes; it only reads the others */
  FNZI_NODE_NUMBERS,  /* it computes sizes */
  FNZI_NODE_ASSERTS,  /* it takes no tensors */
} fnzi_node_role;

typedef struct fnzi_storages {
  fnz_context *ctx;
  fnzi_arena *arena;
  const fnz_program *program; /* of one graph: */
  const fnzi_graph *graph;
  uint8_t *roles;    /* per node: fnzi_node_role */
  uint32_t *of;      /* per value: one of its storage, the same for all of them */
  uint32_t *node_of; /* per node: the value that stands for the storage that it views or writes */
  bool *kept; /* per such value: some node views or writes it, and it is the first one that is
               * used like this */
} fnzi_storages;

/* *done false: the program has nodes of which that cannot be said. All in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_storages_find(fnzi_storages *s, fnz_context *ctx, fnzi_arena *arena,
                                             const fnz_program *program, bool *done);
static inline bool fnzi_storage_is_kept(const fnzi_storages *s, uint64_t value) {
  return s->kept[s->of[value]];
}

/* NULL without an error: there is none, or it would not be much smaller than the program, whose
 * strings and arguments it borrows. */
FNZ_MUST_CHECK fnz_status fnzi_excerpt_make(fnz_context *ctx, const fnz_program *program,
                                            fnz_program **out);
/* A program of unconnected nodes, one of each kind that has symbolic sizes, with the symbols of the
 * program, from which it borrows too. */
FNZ_MUST_CHECK fnz_status fnzi_excerpt_kinds(fnz_context *ctx, const fnz_program *program,
                                             fnz_program **out);

/* --- what both have in common (excerpt.c) ------------------------------------------------------
 */
/* An empty program of one graph with the symbols of another one, under the same numbers. */
FNZ_MUST_CHECK fnz_status fnzi_excerpt_start(fnz_context *ctx, const fnz_program *program,
                                             fnz_program **out);

#endif
