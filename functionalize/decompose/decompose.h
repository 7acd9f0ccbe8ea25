/* decompose.h - operators taken apart into others: which ones, and by what.
 *
 * A *way* is a function in the form of kernels/decomp, DECOMP without a row: it is never run, but
 * written down over the geometries of the arguments (kernels/decomp/script.h). Rows of core.def and
 * prims.def name them. An operator that is computed by steps needs none: the function behind its
 * row of decomp.def serves running and rewriting.
 *
 * A *set* says which operators stay, and which rows come first (sets.def).
 *
 *   ways.h, shape.c, products.c, norms.c ...   ways, by subject
 *   tvm.c      ways for calls of one consumer
 *   scans.c    loops of other kinds as while_loop
 *   sets.c     the tables: which operators a set takes apart, and by which way
 *   targets.c  <fnz/targets.h>: what consumers take, by the lists in targets/
 *   results.c  results that are values of their own
 *   expand.c   one call, taken apart until nothing is left to be
 *   api.c      <fnz/decompose.h> */
#ifndef FNZI_DECOMPOSE_H
#define FNZI_DECOMPOSE_H

#include "functionalize/pass/pass.h"
#include "kernels/decomp/decomp.h"

#include <fnz/decompose.h>

/* --- sets.c ----------------------------------------------------------------------------------- */
typedef struct fnzi_dcm_set fnzi_dcm_set;
/* NULL when there is no such set. */
const fnzi_dcm_set *fnzi_dcm_set_find(const char *name);
/* The operator stays in the set. */
bool fnzi_dcm_set_keeps(const fnzi_dcm_set *set, const fnz_op *op);

/* The set is what a target takes, which makes something wrong of the operator. */
bool fnzi_dcm_set_spoils(const fnzi_dcm_set *set, const fnz_op *op);

/* Casts of autocast become nodes: the set is not all operators. */
bool fnzi_dcm_set_casts(const fnzi_dcm_set *set);

/* The regions that the set has: any; of loops while_loop alone; no branches, which become choices;
 * both of these. */
typedef enum fnzi_dcm_loops {
  FNZI_DCM_LOOPS_any,
  FNZI_DCM_LOOPS_while,
  FNZI_DCM_LOOPS_where,
  FNZI_DCM_LOOPS_while_where
} fnzi_dcm_loops;
fnzi_dcm_loops fnzi_dcm_set_loops(const fnzi_dcm_set *set);

/* The set has pairs of real numbers in place of complex ones. */
bool fnzi_dcm_set_has_pairs(const fnzi_dcm_set *set);

/* A value is a result once. */
bool fnzi_dcm_set_owns(const fnzi_dcm_set *set);

/* The set to decompose to, and the operators that the caller adds to it or removes from it. */
typedef struct fnzi_dcm_options {
  const fnzi_dcm_set *set;
  const fnz_decompose_options *asked;
} fnzi_dcm_options;

typedef struct fnzi_dcm_way {
  bool is_named; /* the caller named the operator: it must not stay */
  bool expands;
  fnzi_dec_fn *decompose; /* NULL: the function of its own row of decomp.def */
} fnzi_dcm_way;
/* Way number `nth` of an operator. It does not expand if the operator stays or has fewer ways. */
fnzi_dcm_way fnzi_dcm_way_of(const fnzi_dcm_options *options, const fnz_op *op, size_t nth);
/* The same of a call, whose numbers may be complex: these have one way. */
fnzi_dcm_way fnzi_dcm_way_of_call(const fnzi_dcm_options *options, const fnzi_script_whole *whole,
                                  size_t nth);
/* Only a way that leads to operators of the set alone is taken: it is that of a target, and the
 * caller did not name the operator. */
bool fnzi_dcm_is_strict(const fnzi_dcm_options *options, const fnz_op *op);
/* The set has the operator, or the caller keeps it. */
bool fnzi_dcm_stays(const fnzi_dcm_options *options, const fnz_op *op);

/* As fnz_decomposition_why_left(). */
const char *fnzi_dcm_why_left(const fnzi_dcm_options *options, const fnz_op *op);

/* --- targets.c -------------------------------------------------------------------------------- */
/* The consumer of that set takes the operator. */
bool fnzi_dcm_target_has(const char *set, const fnz_op *op);
/* It takes it, and makes something wrong of it. */
bool fnzi_dcm_target_spoils(const char *set, const fnz_op *op);

/* --- names.c ---------------------------------------------------------------------------------- */
/* The operator that `op` is an alias of, or that it becomes (SAME of core.def); NULL for none. */
const fnz_op *fnzi_dcm_other_name(const fnz_op *op);

/* --- scans.c ---------------------------------------------------------------------------------- */
typedef struct fnzi_dcm_looped {
  fnz_program *program; /* NULL: there was nothing to do */
  /* Per graph and node of it: the node of the source that it comes from; in the program's arena. */
  const fnzi_source_node **sources;
} fnzi_dcm_looped;
/* A copy of a program without the regions that a set lacks, to be replayed; ends with
 * fnz_program_destroy(). */
FNZ_MUST_CHECK fnz_status fnzi_dcm_loop(fnz_context *ctx, const fnz_program *from,
                                        fnzi_dcm_loops what, fnzi_dcm_looped *out);

/* --- results.c -------------------------------------------------------------------------------- */
/* In place: a view for each result that is an input or an earlier result, with its origin (NULL:
 * not wanted). */
FNZ_MUST_CHECK fnz_status fnzi_dcm_results_own(fnz_context *ctx, fnz_program *p,
                                               fnz_origins *origins);

/* --- expand.c --------------------------------------------------------------------------------- */
/* Takes one call apart. The first values of `out` are the tensors among the arguments; a tensor
 * that is given twice is there twice. *done false: the operator stays. Everything is in the
 * arena. */
FNZ_MUST_CHECK fnz_status fnzi_dcm_expand(fnzi_arena *arena, const fnzi_dcm_options *options,
                                          const fnzi_script_whole *whole, fnzi_script *out,
                                          bool *done);

/* --- for_groups.c ----------------------------------------------------------------------------- */
/* Returns whether a plan may compute the operator faster by steps in groups than by its kernel. */
bool fnzi_dcm_is_for_groups(const fnz_op *op);
/* The same as fnzi_dcm_expand(), for such an operator. UNSUPPORTED if its kernel is faster for this
 * call. */
FNZ_MUST_CHECK fnz_status fnzi_dcm_expand_for_groups(fnzi_arena *arena,
                                                     const fnzi_script_whole *whole,
                                                     fnzi_script *out, bool *done);

#endif
