/* excerpt.h - a part of a program that stands for all of it where sizes decide what the pass makes.
 *
 * The pass's treatment of a storage, its views and writes, depends only on the nodes that use it
 * and on their sizes. Programs repeat themselves: of storages that are used alike, node by node, at
 * the same symbolic sizes, an excerpt has one; of all that computes new tensors only a stand-in.
 * Storages that depend on other symbols get another excerpt, which is checked by itself: two
 * symbols that never meet need not be varied together.
 *
 *   excerpt_storages.c  which values share memory, and which storages are used alike
 *   excerpt_kinds.c     of nodes that are alike, with the types they take, one: for rules of types
 *   excerpt_symbols.c   which symbols something depends on
 *   excerpt.c           the excerpts as programs */
#ifndef FNZI_EXCERPT_H
#define FNZI_EXCERPT_H

#include "program/shapes/sizes.h"

/* How a node treats the storages of its arguments. */
typedef enum fnzi_node_role {
  FNZI_NODE_COMPUTES, /* its results are new memory, whatever the sizes are */
  FNZI_NODE_VIEWS,    /* its results may be memory of its arguments, or of the source of a copy */
  FNZI_NODE_WRITES,   /* like VIEWS for the tensors that it writes; it only reads the others */
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
  uint32_t *node_of; /* per node: the value that represents the storage that it views or writes */
  bool *kept; /* per such value: some node views or writes it, and it is the first one that is
               * used like this */
} fnzi_storages;

/* *done false: some node's role is not known. All in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_storages_find(fnzi_storages *s, fnz_context *ctx, fnzi_arena *arena,
                                             const fnz_program *program, bool *done);
static inline bool fnzi_storage_is_kept(const fnzi_storages *s, uint64_t value) {
  return s->kept[s->of[value]];
}

/* --- excerpt.c -------------------------------------------------------------------------------- */
/* The part of a program that depends on the same symbols. */
typedef struct fnzi_excerpt {
  uint64_t symbols;     /* a bit for each of the free ones */
  fnz_program *program; /* of its storages */
  fnz_program *kinds;   /* unconnected nodes, one of each kind (excerpt_kinds.c) */
} fnzi_excerpt;

typedef struct fnzi_excerpts {
  fnzi_excerpt *data; /* none: there is none, or they would not be much smaller than the program */
  size_t count, capacity;
} fnzi_excerpts;

/* They borrow strings and arguments of the program. fnzi_excerpts_end() must follow. */
FNZ_MUST_CHECK fnz_status fnzi_excerpts_make(fnz_context *ctx, const fnzi_sizes *sizes,
                                             fnzi_excerpts *out);
void fnzi_excerpts_end(fnz_context *ctx, fnzi_excerpts *excerpts);

/* --- excerpt_symbols.c ------------------------------------------------------------------------ */
/* The free symbols that something depends on, one bit each. Symbols that conditions tie to them
 * count too. */
typedef struct fnzi_reach {
  const fnzi_sizes *sizes;
  const fnzi_graph *graph;
  uint64_t *of;    /* per expression of the program */
  uint32_t *names; /* per free symbol: the symbol of the program that is nothing else; 0: none */
} fnzi_reach;

/* *done false: there are too many symbols, or the symbols of some expression are not known. All in
 * the arena. */
FNZ_MUST_CHECK fnz_status fnzi_reach_find(fnzi_reach *r, const fnzi_sizes *sizes, fnzi_arena *arena,
                                          bool *done);
uint64_t fnzi_reach_value(const fnzi_reach *r, uint64_t value);
uint64_t fnzi_reach_args(const fnzi_reach *r, const fnz_arg *args, size_t count);
uint64_t fnzi_reach_node(const fnzi_reach *r, const fnzi_node *node);
/* The condition that the program's guard says is one of these symbols alone. */
bool fnzi_reach_has_guard(const fnzi_reach *r, size_t guard, uint64_t symbols);

/* An empty program of one graph with the symbols of another one, under the same numbers, and the
 * guards that speak of no others than these. */
FNZ_MUST_CHECK fnz_status fnzi_excerpt_start(fnz_context *ctx, const fnzi_reach *reach,
                                             uint64_t symbols, fnz_program **out);

/* --- excerpt_kinds.c -------------------------------------------------------------------------- */
/* A program of unconnected nodes, one of each kind whose sizes depend on these symbols, with the
 * symbols of the program, from which it borrows too. */
FNZ_MUST_CHECK fnz_status fnzi_excerpt_kinds(fnz_context *ctx, const fnzi_reach *reach,
                                             uint64_t symbols, fnz_program **out);

#endif
