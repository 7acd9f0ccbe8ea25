/* provenance.h - notes on why the result has its nodes, made while it is recorded.
 *
 * A note holds pointers into the source program only, so that making it costs little. Indices,
 * reasons and findings are derived from the notes afterwards (explain/). The same notes list
 * failures where the pass is to find all of them. Programs are made without notes unless the caller
 * needs them. */
#ifndef FNZI_PROVENANCE_H
#define FNZI_PROVENANCE_H

#include "program/program.h"

#include <fnz/explain.h>

typedef enum fnzi_cause {
  FNZI_CAUSE_NODE,  /* the operator itself, or what its rule needs */
  FNZI_CAUSE_READ,  /* the value of an alias is read */
  FNZI_CAUSE_WRITE, /* a write through an alias is committed to its base */
  FNZI_CAUSE_STEP   /* the operator was taken apart */
} fnzi_cause;

/* Why something is recorded; nodes of the source program, NULL for none. */
typedef struct fnzi_why {
  const fnzi_node *node;   /* whose source line it has */
  const fnzi_node *reader; /* the node being replayed */
  const fnzi_node *view;   /* the node that made the alias */
  uint32_t output;         /* without a reader: the output of the target graph being read */
  uint32_t cause;          /* fnzi_cause */
} fnzi_why;

/* The reason of a node that is being replayed. */
static inline fnzi_why fnzi_why_node(const fnzi_node *node) {
  return (fnzi_why){node, node, NULL, 0, FNZI_CAUSE_NODE};
}

/* The reason of an output that is being read. */
static inline fnzi_why fnzi_why_output(size_t output) {
  return (fnzi_why){NULL, NULL, NULL, (uint32_t)output, FNZI_CAUSE_NODE};
}

/* A node of the target, and why it is there. */
typedef struct fnzi_note {
  uint32_t graph, node;
  fnzi_why why;
} fnzi_note;

/* A failure after which the pass went on. */
typedef struct fnzi_failure {
  const fnzi_node *node; /* NULL: of the program as a whole */
  fnz_error error;
} fnzi_failure;

/* A guard of the target on sizes, and the question that it answers. */
typedef struct fnzi_guard_note {
  const char *text;     /* as the guard has it */
  const char *question; /* static */
  const fnzi_node *node;
} fnzi_guard_note;

/* The notes on one program. */
typedef struct fnzi_notes {
  bool lints; /* failures are listed, and so are writes that nothing reads */
  struct {
    fnzi_note *data;
    size_t count, capacity;
  } nodes;
  struct {
    size_t *data;
    size_t count, capacity;
  } first; /* per graph of the target: its first note in `nodes`; SIZE_MAX for none */
  struct {
    fnzi_failure *data;
    size_t count, capacity;
  } failures;
  struct {
    const fnzi_node **data;
    size_t count, capacity;
  } unread; /* writes that nothing reads */
  struct {
    fnzi_guard_note *data;
    size_t count, capacity;
  } guards;
  bool lost; /* memory ran out, and `unread` is not complete */
} fnzi_notes;

/* Drops all notes, because the pass starts again. */
void fnzi_notes_clear(fnzi_notes *notes);
/* Drops the notes on the nodes of a graph that is built once more. */
FNZ_MUST_CHECK fnz_status fnzi_notes_restart(fnz_context *ctx, fnzi_notes *notes, uint32_t graph);
/* Renumbers the graphs: order[k] becomes k. Drops the notes on graphs that are not in `order`. */
FNZ_MUST_CHECK fnz_status fnzi_notes_arrange(fnz_context *ctx, fnzi_notes *notes,
                                             const uint32_t *order, uint32_t count);
void fnzi_notes_free(fnz_context *ctx, fnzi_notes *notes);
/* Lists a write whose value was not read, and will not be. `notes` and `write` may be NULL. */
void fnzi_notes_unread(fnz_context *ctx, fnzi_notes *notes, const fnzi_node *write);

/* Finds nodes of a program by their addresses. */
typedef struct fnzi_node_finder {
  const fnz_program *p;
  uint32_t *order; /* the graphs that have nodes, by the addresses of these */
  size_t count;
} fnzi_node_finder;
FNZ_MUST_CHECK fnz_status fnzi_node_finder_make(fnzi_arena *arena, const fnz_program *p,
                                                fnzi_node_finder *out);
/* The graph and the index of a node; false, and index SIZE_MAX, when it is not in the program. */
bool fnzi_node_finder_find(const fnzi_node_finder *finder, const fnzi_node *node, size_t *graph,
                           size_t *index);

/* Keeps for `to` the metadata of the source's .pt2 file, if it is from one, and, with notes, which
 * node of the source each of its nodes comes from. `notes` may be NULL. */
FNZ_MUST_CHECK fnz_status fnzi_metadata_keep(const fnz_program *from, const fnzi_notes *notes,
                                             fnz_program *to);

#endif
