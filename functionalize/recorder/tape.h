/* tape.h - the tape of a recorder: recorder.c fills it, build.c makes a graph of it. */
#ifndef FNZI_TAPE_H
#define FNZI_TAPE_H

#include "functionalize/recorder/recorder.h"

#define FNZI_REC_NOT_EMITTED UINT32_MAX
enum { FNZI_REC_MOST_RESULTS = (1 << 29) - 1 };

typedef struct fnzi_rec_tape_value {
  const fnz_geometry *geometry; /* interned in the program; NULL for no tensor */
  uint32_t node;                /* of the tape; FNZI_NO_NODE for an input */
  uint32_t value;               /* of an input: of the graph */
} fnzi_rec_tape_value;

typedef struct fnzi_rec_tape_node {
  const fnz_op *op; /* NULL: there is a row in `others` */
  fnz_arg *args;    /* in the program's arena; values are handles until the node is emitted */
  const char *source;
  uint32_t first; /* results[first ... first + count) */
  unsigned count : 29, wanted : 1, needed : 1, emitted : 1;
} fnzi_rec_tape_node;

/* Few nodes have rows in the next two tables, which are in the order of nodes; tape.c finds a row
 * by `node`, its first field. */

/* For a node with several lists among its results: the results of the caller's node, for the
 * lengths of these lists. */
typedef struct fnzi_rec_tape_lists {
  size_t node;
  const fnz_arg *results;
  uint32_t count;
} fnzi_rec_tape_lists;

/* The call of a node that applies no operator. */
typedef struct fnzi_rec_tape_other {
  size_t node;
  fnzi_rec_call call; /* its arrays in the program's arena; arguments are the tape node's */
} fnzi_rec_tape_other;

/* The last value of an input. */
typedef struct fnzi_rec_tape_final {
  uint32_t input;
  fnz_handle value;
} fnzi_rec_tape_final;

typedef struct fnzi_rec_tape_nodes {
  fnzi_rec_tape_node *data;
  size_t count, capacity;
} fnzi_rec_tape_nodes;

typedef struct fnzi_rec_tape_values {
  fnzi_rec_tape_value *data;
  size_t count, capacity;
} fnzi_rec_tape_values;

typedef struct fnzi_rec_tape_results {
  uint32_t *data; /* value index + 1, 0: undefined */
  size_t count, capacity;
} fnzi_rec_tape_results;

typedef struct fnzi_rec_tape {
  fnz_backend backend;
  fnz_context *ctx;
  fnz_backend *shapes;
  fnz_program *program;
  uint32_t graph;    /* of it, which is recorded */
  bool borrowed;     /* the program belongs to the caller */
  bool effects;      /* found when the graph was built */
  bool takes_slices; /* some inputs may be slices that eager gives a body: parts of memory */
  fnzi_arena arena;
  const fnz_op *expected; /* by fnzi_rec_expect() */
  fnzi_rec_tape_lists now;
  const char *source;  /* of the last node; NULL before the first */
  const fnzi_why *why; /* of the calls being recorded; NULL: not known */
  struct {
    fnzi_why *data;
    size_t count, capacity;
  } whys; /* per node of the tape, if the program has notes */
  struct {
    fnzi_rec_tape_lists *data;
    size_t count, capacity;
  } lists;
  struct {
    fnzi_rec_tape_other *data;
    size_t count, capacity;
  } others;
  struct {
    fnzi_rec_tape_final *data;
    size_t count, capacity;
  } finals;                    /* by fnz_recorder_final() */
  fnzi_rec_tape_values values; /* handle - 1 is the index */
  fnzi_rec_tape_nodes nodes;
  fnzi_rec_tape_results results;
  /* While the program is built: */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } emitted; /* per value: that of the graph, FNZI_REC_NOT_EMITTED until then */
  struct {
    size_t nodes, values, results;
  } ended; /* before the first of them that are left */
  struct {
    fnz_handle *data;
    size_t count, capacity;
  } shape_of; /* per value, with a shapes backend */
} fnzi_rec_tape;

/* A node's index among all recorded nodes, including emitted ones. */
static inline size_t fnzi_rec_tape_index_of(const fnzi_rec_tape *tape,
                                            const fnzi_rec_tape_node *node) {
  return tape->ended.nodes + (size_t)(node - tape->nodes.data);
}
/* A node's results, `count` of them, as in `results`. */
static inline const uint32_t *fnzi_rec_tape_results_of(const fnzi_rec_tape *tape,
                                                       const fnzi_rec_tape_node *node) {
  return node->count ? tape->results.data + (node->first - tape->ended.results) : NULL;
}
/* The geometry of a result that is defined. */
static inline const fnz_geometry *fnzi_rec_tape_geometry_of(const fnzi_rec_tape *tape,
                                                            uint32_t result) {
  return tape->values.data[result - 1 - tape->ended.values].geometry;
}

/* The call of a node that applies no operator. */
const fnzi_rec_call *fnzi_rec_tape_call_of(const fnzi_rec_tape *tape,
                                           const fnzi_rec_tape_node *node);
/* The list results that the caller's node has; NULL where they are not known. */
const fnzi_rec_tape_lists *fnzi_rec_tape_lists_of(const fnzi_rec_tape *tape,
                                                  const fnzi_rec_tape_node *node);

/* How many arguments a node has. */
static inline uint32_t fnzi_rec_tape_nargs(const fnzi_rec_tape *tape,
                                           const fnzi_rec_tape_node *node) {
  return node->op ? node->op->nparams : fnzi_rec_tape_call_of(tape, node)->nargs;
}
/* The items of a list among them, which are the tape's own. */
static inline fnz_arg *fnzi_rec_tape_items(const fnz_arg *list) {
  return (fnz_arg *)(uintptr_t)list->u.list;
}

#endif
