/* rules.h - what the rules for batch dimensions share. A tensor's *rank* here counts its own
 * dimensions, without levels. */
#ifndef FNZI_BATCHING_RULES_H
#define FNZI_BATCHING_RULES_H

#include "program/batching/batching.h"

/* A call within a region. */
typedef struct fnzi_batch_node {
  fnzi_batch *regions;
  const fnzi_batch_maker *maker;
  const char *target; /* of the source's node, for messages */
  const fnz_op *op;   /* NULL of bookkeeping */
  fnz_arg *args;      /* op->nparams */
  const char *other;  /* of the row in batching.def */
  uint32_t all;       /* the levels of all tensors together, bit k for level k */
  uint32_t count;     /* how many they are */
} fnzi_batch_node;

typedef fnz_status fnzi_batch_rule(fnzi_batch_node *v);

/* --- shape.c ---------------------------------------------------------------------------------- */
fnz_status fnzi_batch_refuse(const fnzi_batch_node *v, const char *why);
/* The levels of an argument; for a list, the levels of all its items; 0 for anything that is no
 * tensor. */
uint32_t fnzi_batch_levels(const fnzi_batch_node *v, const fnz_arg *arg);
uint32_t fnzi_batch_count_levels(uint32_t levels);
const fnz_geometry *fnzi_batch_geometry_of(const fnzi_batch_node *v, const fnz_arg *tensor);
/* The number of its own dimensions; 0 for anything that is no tensor. */
uint32_t fnzi_batch_rank(const fnzi_batch_node *v, const fnz_arg *arg);
/* The sizes of v->all, outermost first. */
void fnzi_batch_sizes(const fnzi_batch_node *v, int64_t out[FNZI_MOST_LEVELS]);

/* A new dimension of size 1 at a place, counted with the levels. */
FNZ_MUST_CHECK fnz_status fnzi_batch_unsqueeze(const fnzi_batch_node *v, fnz_arg *tensor,
                                               uint32_t at);
/* A tensor with any level gets all of v->all (size 1 for levels that it does not depend on), and
 * then dimensions of size 1 up to the rank. A tensor without levels stays as it is: it is
 * broadcast. */
FNZ_MUST_CHECK fnz_status fnzi_batch_align(const fnzi_batch_node *v, fnz_arg *tensor,
                                           uint32_t rank);
/* Any tensor gets all of v->all, at full size. */
FNZ_MUST_CHECK fnz_status fnzi_batch_spread(const fnzi_batch_node *v, fnz_arg *tensor,
                                            uint32_t rank);
/* The `count` dimensions from `from` on go to `to`. */
FNZ_MUST_CHECK fnz_status fnzi_batch_order(const fnzi_batch_node *v, uint32_t rank, uint32_t from,
                                           uint32_t count, uint32_t to, fnz_arg *dims);

/* A node in between, with one result, contiguous with the dtype and sizes of `looks`. */
FNZ_MUST_CHECK fnz_status fnzi_batch_make(const fnzi_batch_node *v, const char *op,
                                          const fnz_arg *args, size_t nargs,
                                          const fnz_geometry *looks, fnz_arg *out);
/* A node in between made this tensor, and it has these levels. */
FNZ_MUST_CHECK fnz_status fnzi_batch_set_levels(const fnzi_batch_node *v, const fnz_arg *tensor,
                                                uint32_t levels);
/* A tensor of the same levels in another dtype. */
FNZ_MUST_CHECK fnz_status fnzi_batch_cast(const fnzi_batch_node *v, fnz_arg *tensor,
                                          fnz_dtype dtype);
/* A number as a tensor without dimensions. */
FNZ_MUST_CHECK fnz_status fnzi_batch_number(const fnzi_batch_node *v, fnz_dtype dtype,
                                            fnz_arg *number);
/* Adds the node whose results replace the results of the source's node; they have the levels of
 * v->all. */
FNZ_MUST_CHECK fnz_status fnzi_batch_finish(const fnzi_batch_node *v, const fnz_op *op,
                                            const fnz_arg *args, size_t nargs);
FNZ_MUST_CHECK fnz_status fnzi_batch_finish_named(const fnzi_batch_node *v, const char *op,
                                                  const fnz_arg *args, size_t nargs);
/* The source's result is this tensor. */
FNZ_MUST_CHECK fnz_status fnzi_batch_give(const fnzi_batch_node *v, fnz_arg tensor);

/* Dimensions count from the first one after the levels, and the first tensor and args[other] (0 for
 * none) get all of v->all. */
FNZ_MUST_CHECK fnz_status fnzi_batch_join_two(fnzi_batch_node *v, size_t other);

/* --- The rules (rules.c, products.c, index.c, fill.c) ----------------------------------------- */
#define VMAP(op, rule, other)
#define RULE(rule) fnzi_batch_rule fnzi_batch_##rule;
#include "program/batching/batching.def"
#undef VMAP
#undef RULE

#endif
