/* recorder.h - the recording backend as the pass uses it; the pass makes the signature itself. */
#ifndef FNZI_RECORDER_H
#define FNZI_RECORDER_H

#include "program/provenance.h"

#include <fnz/functionalize.h>
#include <fnz/recorder.h>

/* A recorder for one graph of a borrowed program. Inputs may be added to the graph before anything
 * is recorded. */
FNZ_MUST_CHECK fnz_status fnzi_rec_create_on(fnz_context *ctx, fnz_program *program, uint32_t graph,
                                             fnz_backend **out);
/* The program under construction, borrowed. */
fnz_program *fnzi_rec_program(fnz_backend *recorder);
/* A handle for a value of the graph that no node defines. */
FNZ_MUST_CHECK fnz_status fnzi_rec_value(fnz_backend *recorder, uint32_t value, fnz_handle *out);
/* Calls of `op` from now on return lists as long as those among `outputs`, their first results,
 * which are borrowed until the program is built. `op` NULL: lengths are not known. */
void fnzi_rec_expect(fnz_backend *recorder, const fnz_op *op, const fnz_arg *outputs,
                     uint32_t count);

/* A result of a node that applies no operator. */
typedef struct fnzi_rec_outcome {
  uint8_t tag;                  /* FNZ_ARG_VALUE, _SYMBOL, _TOKEN, _OBJECT or _NONE */
  uint32_t symbol;              /* of a SYMBOL, in the program under construction */
  const fnz_geometry *geometry; /* of a tensor */
} fnzi_rec_outcome;

/* A node that applies no operator: a higher-order one, or arithmetic on numbers. Borrowed for the
 * call. */
typedef struct fnzi_rec_call {
  const char *target, *source;
  const fnz_arg *args; /* references are handles, graphs are graphs of the program */
  uint32_t nargs, noutcomes;
  const char *const *names; /* of keyword arguments, "" for others; NULL: there are none */
  const fnzi_rec_outcome *outcomes;
  bool in_list; /* the outcomes are items of one list */
  bool effects; /* the node stays even if its outcomes are not used */
} fnzi_rec_call;

/* Records such a node. out: a handle per outcome, 0 for NONE. */
FNZ_MUST_CHECK fnz_status fnzi_rec_node(fnz_backend *recorder, const fnzi_rec_call *call,
                                        fnz_handle *out);
/* The value is in new memory: it is neither an input nor a view. */
bool fnzi_rec_value_is_new(const fnz_backend *recorder, fnz_handle value);
/* The graph that was built has nodes that stay even if their results are not used. */
bool fnzi_rec_has_effects(const fnz_backend *recorder);

/* Adds the nodes that the wanted values need to the graph, in the order of recording. values: which
 * value of the graph each wanted one became. Random nodes and nodes without results are added too.
 * With `views`, nodes that change nothing in that dialect are removed (simplify.h), but not copies
 * that are wanted themselves: the program returns those as memory of their own. `views` NULL: every
 * needed node stays as it was recorded. */
/* A node of this operator stays even if none of its results is used. */
bool fnzi_rec_is_kept_unused(const fnz_op *op, size_t results);
FNZ_MUST_CHECK fnz_status fnzi_rec_build(fnz_backend *recorder, const fnz_handle *wanted,
                                         size_t count, const fnz_views *views, uint32_t *values);
/* While the program has notes, each node that is recorded gets a copy of `*why`, which is borrowed.
 */
void fnzi_rec_explain(fnz_backend *recorder, const fnzi_why *why);
/* Moves the program out. */
fnz_program *fnzi_rec_take(fnz_backend *recorder);
/* Ends a recorder, which may be NULL. */
void fnzi_rec_destroy(fnz_backend *recorder);

#endif
