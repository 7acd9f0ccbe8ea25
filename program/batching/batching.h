/* batching.h - torch.vmap regions of a source program become operators with batch dimensions.
 *
 * torch.vmap leaves its bookkeeping in an exported program: nodes that begin and end a region, and
 * nodes that give a tensor a batch dimension, which no value in the region shows, or take it away.
 * A reader that builds a graph of such a source hands over each node, in order. The bookkeeping
 * is dropped, and the operators within a region get the batch dimensions.
 *
 * A tensor within a region has, before its own dimensions, one for each level that it depends on,
 * outermost level first. */
#ifndef FNZI_BATCHING_H
#define FNZI_BATCHING_H

#include "program/program.h"

enum { FNZI_MOST_LEVELS = 16 };

/* A region that is open: one more dimension, which the source does not show. */
typedef struct fnzi_batch_level {
  int64_t size;
  bool is_random; /* random operators give other numbers along it */
  bool may_draw;  /* they are allowed at all */
  size_t first;   /* values from here on may have it */
} fnzi_batch_level;

/* The regions of a graph that is being built. */
typedef struct fnzi_batch {
  fnz_program *p;
  fnzi_arena *arena; /* scratch */
  uint32_t graph;
  fnzi_batch_level levels[FNZI_MOST_LEVELS]; /* outermost first */
  uint32_t nlevels;
  uint32_t
      defining; /* of the values that are being defined, bit k: they have level k's dimension */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } batched; /* the same of values; those beyond the end have none */
} fnzi_batch;

/* How nodes are added in the place of a node of the source. */
typedef struct fnzi_batch_maker {
  void *user;
  /* Defines the values that the source calls the results of its node; the node that is added next
   * gives them. */
  fnz_status (*define)(void *user, fnz_arg **results, size_t *count);
  /* `args` are the first `nargs` of the operator's, the others are defaults. */
  fnz_status (*add)(void *user, const fnz_op *op, const fnz_arg *args, size_t nargs,
                    fnz_arg *results, size_t count);
  /* The same with one result, a new value of this geometry. */
  fnz_status (*make)(void *user, const char *op, const fnz_arg *args, size_t nargs,
                     const fnz_geometry *g, fnz_arg *out);
} fnzi_batch_maker;

/* Failures have no place: the caller knows the node. */

/* The target is bookkeeping of torch.func, which has no operator. */
bool fnzi_batch_is_mark(const char *target);
/* Such a target is known, and takes so many arguments. */
FNZ_MUST_CHECK fnz_status fnzi_batch_check_mark(const fnzi_batch *b, const char *target,
                                                size_t nargs);
FNZ_MUST_CHECK fnz_status fnzi_batch_mark(fnzi_batch *b, const fnzi_batch_maker *maker,
                                          const char *target, fnz_arg *args, size_t nargs);
/* A call within a region; `args` has all op->nparams and is changed. */
FNZ_MUST_CHECK fnz_status fnzi_batch_call(fnzi_batch *b, const fnzi_batch_maker *maker,
                                          const fnz_op *op, fnz_arg *args);
/* Fails when an argument has a batch dimension: nodes of this target have no rule. */
FNZ_MUST_CHECK fnz_status fnzi_batch_check_none(fnzi_batch *b, const char *target,
                                                const fnz_arg *args, size_t nargs);
/* The geometry of a value that is being defined, with the dimensions of b->defining. */
FNZ_MUST_CHECK fnz_status fnzi_batch_geometry(fnzi_batch *b, const fnz_geometry **geometry);
/* This value has them. */
FNZ_MUST_CHECK fnz_status fnzi_batch_defined(fnzi_batch *b, uint32_t value);
void fnzi_batch_end(fnzi_batch *b);

#endif
