/* recorder.h - the recording backend as the pass uses it: it also makes the signature itself. */
#ifndef FNZI_RECORDER_H
#define FNZI_RECORDER_H

#include "functionalize/recorder/provenance.h"

#include <fnz/functionalize.h>
#include <fnz/recorder.h>

/* Records into a graph of a program that is somebody else's: inputs may be added to it before
 * anything is recorded. */
FNZ_MUST_CHECK fnz_status fnzi_recorder_on(fnz_context *ctx, fnz_program *program, uint32_t graph,
                                           fnz_backend **out);
/* The program under construction: as above. */
fnz_program *fnzi_recorder_program(fnz_backend *recorder);
/* Declares a value of the graph, defined by no node, as something that calls may use. */
FNZ_MUST_CHECK fnz_status fnzi_recorder_value(fnz_backend *recorder, uint32_t value,
                                              fnz_handle *out);
/* Calls of `op` from now on give lists as long as those among `outputs`, its first results, which
 * are borrowed until the program is built. NULL: nothing is known. */
void fnzi_recorder_expect(fnz_backend *recorder, const fnz_op *op, const fnz_arg *outputs,
                          uint32_t count);

/* What a node gives. */
typedef struct fnzi_outcome {
  uint8_t tag;                  /* FNZ_ARG_VALUE, _SYMBOL, _TOKEN, _OBJECT or _NONE */
  uint32_t symbol;              /* of a SYMBOL, in the program under construction */
  const fnz_geometry *geometry; /* of a tensor */
} fnzi_outcome;

/* A node that is no call of an operator on tensors: of a higher-order operator, or one that
 * computes numbers. Borrowed for the call. */
typedef struct fnzi_node_call {
  const char *target, *source;
  const fnz_arg *args; /* references are handles, graphs are graphs of the program */
  uint32_t nargs, noutcomes;
  const char *const *names; /* of keyword arguments, "" for others; NULL: there are none */
  const fnzi_outcome *outcomes;
  bool in_list; /* the outcomes are items of one list */
  bool effects; /* the node stays, whoever needs its outcomes */
} fnzi_node_call;

/* Records such a node. out: a handle per outcome, 0 for NONE. */
FNZ_MUST_CHECK fnz_status fnzi_recorder_node(fnz_backend *recorder, const fnzi_node_call *call,
                                             fnz_handle *out);
/* A node gave it that makes new memory: it is no input, and no view. */
bool fnzi_recorder_is_new(const fnz_backend *recorder, fnz_handle value);
/* A graph that was built has nodes that stay whoever needs their results. */
bool fnzi_recorder_has_effects(const fnz_backend *recorder);

/* Adds every node that the values need, in the order of recording, and tells which values of the
 * graph they became. Nodes without results and random ones are needed too. With `views`, nodes that
 * change nothing in that dialect disappear (simplify.h), but for copies that are wanted: those are
 * memory of their own in whatever runs the program. NULL: the nodes are those that were recorded.
 */
FNZ_MUST_CHECK fnz_status fnzi_recorder_build(fnz_backend *recorder, const fnz_handle *wanted,
                                              size_t count, const fnz_views *views,
                                              uint32_t *values);
/* From now on, where somebody has asked, every node that is recorded has a copy of `*why`, which is
 * borrowed. A backend that is no recorder does not care. */
void fnzi_recorder_explain(fnz_backend *backend, const fnzi_why *why);
/* Moves the program out. */
fnz_program *fnzi_recorder_take(fnz_backend *recorder);
/* Ends a recorder, which may be NULL. */
void fnzi_rec_destroy(fnz_backend *recorder);

#endif
