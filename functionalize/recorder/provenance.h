/* provenance.h - where a recorded node comes from, as cheaply as it can be known while recording.
 *
 * The world always knows these few pointers. Where somebody asks (program->asked), the tape keeps
 * them per node, and the pass goes on behind failures when it is to find all of them. What they
 * mean to people is found out afterwards: origins.c, lint.c. */
#ifndef FNZI_PROVENANCE_H
#define FNZI_PROVENANCE_H

#include "program/program.h"

#include <fnz/explain.h>

typedef enum fnzi_cause {
  FNZI_CAUSE_NODE, /* the operator itself, or what its rule needs */
  FNZI_CAUSE_READ, /* a window's value, for somebody who reads it */
  FNZI_CAUSE_WRITE /* what was written through a window, put back into the memory it belongs to */
} fnzi_cause;

/* Nodes of the program that is functionalized, NULL for none. */
typedef struct fnzi_why {
  const fnzi_node *node;   /* whose line it has */
  const fnzi_node *reader; /* what was replayed */
  const fnzi_node *view;   /* who opened the window */
  uint32_t output;         /* where there is no reader: of the target graph */
  uint32_t cause;          /* fnzi_cause */
} fnzi_why;

/* A node is being replayed. */
static inline fnzi_why fnzi_why_node(const fnzi_node *node) {
  return (fnzi_why){node, node, NULL, 0, FNZI_CAUSE_NODE};
}

/* An output is being read. */
static inline fnzi_why fnzi_why_output(size_t output) {
  return (fnzi_why){NULL, NULL, NULL, (uint32_t)output, FNZI_CAUSE_NODE};
}

/* A node of the target, and why it is there. */
typedef struct fnzi_made {
  uint32_t graph, node;
  fnzi_why why;
} fnzi_made;

/* A failure that the pass went on behind. */
typedef struct fnzi_failure {
  const fnzi_node *node; /* NULL: of the program as a whole */
  fnz_error error;
} fnzi_failure;

/* What somebody wants to know of how a program is made. */
typedef struct fnzi_asked {
  bool lints;
  struct {
    fnzi_made *data;
    size_t count, capacity;
  } made;
  struct {
    size_t *data;
    size_t count, capacity;
  } first; /* by graph of the target: where in `made` it begins; SIZE_MAX for nowhere */
  struct {
    fnzi_failure *data;
    size_t count, capacity;
  } failures;
  struct {
    const fnzi_node **data;
    size_t count, capacity;
  } unread;  /* writes that nobody has read */
  bool lost; /* there was no memory for all of them */
} fnzi_asked;

/* Forgets the answers, because everything begins again. */
void fnzi_asked_forget(fnzi_asked *asked);
/* A graph of the target is built, perhaps once more: forgets what is known of its nodes. */
FNZ_MUST_CHECK fnz_status fnzi_asked_restart(fnz_context *ctx, fnzi_asked *asked, uint32_t graph);
/* The graphs get other numbers: order[k] becomes k; what was made in others is forgotten. */
FNZ_MUST_CHECK fnz_status fnzi_asked_arrange(fnz_context *ctx, fnzi_asked *asked,
                                             const uint32_t *order, uint32_t count);
void fnzi_asked_end(fnz_context *ctx, fnzi_asked *asked);
/* A write that nobody has read, and now nobody will; `write` and `asked` may be NULL. */
void fnzi_asked_unread(fnz_context *ctx, fnzi_asked *asked, const fnzi_node *write);

/* Finds nodes of a program by their addresses. */
typedef struct fnzi_finder {
  const fnz_program *p;
  uint32_t *order; /* graphs that have nodes, by the addresses of these */
  size_t count;
} fnzi_finder;
FNZ_MUST_CHECK fnz_status fnzi_finder_of(fnzi_arena *arena, const fnz_program *p, fnzi_finder *out);
/* Which node it is; false, and SIZE_MAX, when it is none of the program's. */
bool fnzi_find_node(const fnzi_finder *finder, const fnzi_node *node, size_t *graph, size_t *index);
/* The metadata of the source's .pt2 file, if it is from one, and, with `asked`, which of its nodes
 * each node of `to` comes from. `asked` and `to` may be NULL. */
FNZ_MUST_CHECK fnz_status fnzi_keep_extras(const fnz_program *from, const fnzi_asked *asked,
                                           fnz_program *to);

#endif
