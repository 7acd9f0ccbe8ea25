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
/* Inputs of the graph may be slices, whose memory begins before them. */
void fnzi_rec_take_slices(fnz_backend *recorder);
bool fnzi_rec_takes_slices(const fnz_backend *recorder);
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
/* The first part of fnzi_rec_build(), before fnzi_rec_final_find(). `wanted` become the values that
 * replace them; not all of them need be wanted in the end. */
FNZ_MUST_CHECK fnz_status fnzi_rec_prepare(fnz_backend *recorder, fnz_handle *wanted, size_t count,
                                           const fnz_views *views);

/* --- finals.c --------------------------------------------------------------------------------- */
/* The last view of a path from an input to a window of it. */
typedef struct fnzi_rec_path fnzi_rec_path;
struct fnzi_rec_path {
  const fnzi_rec_path *above; /* NULL for the input itself, which no view leads to */
  const fnz_op *op;
  fnz_arg *args; /* without references; the first is not set */
  const fnz_geometry *window;
  uint32_t length; /* the number of views */
};
/* A window of an input, and the value that it gets. */
typedef struct fnzi_rec_write {
  fnz_handle value; /* before the graph is built; then `made` is its value of the graph */
  uint32_t made;
  const fnzi_rec_path *path; /* of one view or more, in the arena of the search */
  const char *source;        /* the line of the write, and why there is one; */
  const fnzi_why *why;       /* NULL if the program has no notes */
} fnzi_rec_write;
typedef struct fnzi_rec_writes {
  fnzi_rec_write *data;
  size_t count;
} fnzi_rec_writes;
/* The writes that, one after the other, give an input of the graph, from its old value, the value
 * `final`. None where a copy of all moves as little, or nothing better is known. After
 * fnzi_rec_prepare(). `out` and its paths live in the arena; values are handles. */
FNZ_MUST_CHECK fnz_status fnzi_rec_final_find(const fnz_backend *recorder, uint32_t input,
                                              fnz_handle final, fnzi_arena *arena,
                                              fnzi_rec_writes *out);

/* --- the end ---------------------------------------------------------------------------------- */
/* While the program has notes, each node that is recorded gets a copy of `*why`, which is borrowed.
 */
void fnzi_rec_explain(fnz_backend *recorder, const fnzi_why *why);
/* Moves the program out. */
fnz_program *fnzi_rec_take(fnz_backend *recorder);
/* Ends a recorder, which may be NULL. */
void fnzi_rec_destroy(fnz_backend *recorder);

#endif
