/* binding.h - what a workspace has made for the sizes of a call: the program for these, its plan,
 * and its steps as acts, filled in. */
#ifndef FNZI_STP_BINDING_H
#define FNZI_STP_BINDING_H

#include "engine/plan/alike.h"
#include "engine/plan/bodies.h"
#include "engine/plan/plan.h"
#include "kernels/core/machine.h"

#include <fnz/engine.h>

/* --- A program taken apart
 * ------------------------------------------------------------------------
 */
typedef struct fnzi_stp_expansion {
  const fnz_program *program;   /* NULL: there was nothing to take apart */
  const uint32_t *const *parts; /* per graph: of each node, that of the source which it is a part
                                   of; NULL for one: it is as it was */
  fnzi_arena arena;
} fnzi_stp_expansion;

/* --- What a run is given -----------------------------------------------------------------------
 */
/* Of input k of graph 0. */
typedef struct fnzi_stp_given {
  unsigned char *start;       /* where its memory begins; NULL: there is none */
  const fnz_geometry *layout; /* its window from there on; NULL: it is no tensor */
  size_t bytes;               /* from the start */
  int64_t number;             /* of a symbolic integer */
  bool has_number;
} fnzi_stp_given;

/* Memory of the caller for OUTPUT slot k. */
typedef struct fnzi_stp_out {
  const unsigned char *data;  /* the element with all indices 0; NULL: there is none, or it is not
                                 known yet how much */
  const fnz_geometry *layout; /* its window from there on */
  size_t bytes;
} fnzi_stp_out;

/* Of memory of a device. */
typedef struct fnzi_stp_addresses {
  uint64_t *data;
  size_t count, capacity;
} fnzi_stp_addresses;

/* --- A binding -----------------------------------------------------------------------------------
 */
typedef enum fnzi_stp_act_kind {
  FNZI_STP_ACT_KERNEL, /* a kernel whose arguments and results are filled in */
  FNZI_STP_ACT_APPLY,  /* an operator, whose results are then brought to their places */
  FNZI_STP_ACT_MOVE,
  FNZI_STP_ACT_INTERPRET, /* by the interpreter */
  FNZI_STP_ACT_TILE,      /* pointwise nodes, tile by tile (tile.h) */
  FNZI_STP_ACT_REGION     /* a node with bodies that are bindings */
} fnzi_stp_act_kind;

/* A dimension of both windows of a move; strides in bytes. */
typedef struct fnzi_stp_move_dim {
  int64_t size, from, to;
} fnzi_stp_move_dim;

/* Elements from one window to another, the innermost dimension last. */
typedef struct fnzi_stp_move {
  const fnzi_krn_storage *from, *to;
  int64_t from_at, to_at; /* bytes */
  size_t cell;            /* bytes that lie together in both */
  uint32_t rank;
  const fnzi_stp_move_dim *dims;
  int64_t bytes; /* of all elements */
} fnzi_stp_move;

/* What a kernel's call keeps from run to run, for as long as a weight lies where the file has it.
 */
typedef struct fnzi_stp_own {
  fnzi_krn_kept kept;
  const fnzi_krn_storage *storage; /* of the weight */
  const unsigned char *start;      /* where it has to be */
  bool has_run;                    /* what runs only once keeps nothing */
} fnzi_stp_own;

typedef struct fnzi_tile_program fnzi_tile_program;
typedef struct fnzi_tile_sets fnzi_tile_sets;   /* tiles that run at once (engine/tile/sets.c) */
typedef struct fnzi_stp_nested fnzi_stp_nested; /* a region whose bodies are bindings */

/* One that tiles read, as often as a tile has elements. */
typedef struct fnzi_stp_number {
  const struct fnzi_stp_number *next;
  unsigned char bits[16];
  size_t cell;
  int64_t count;
  unsigned char *room;
} fnzi_stp_number;

typedef struct fnzi_stp_taking fnzi_stp_taking; /* taken.h */

typedef struct fnzi_stp_act {
  uint8_t kind;
  uint32_t node;              /* FNZI_PLN_NONE at the end */
  uint32_t time;              /* its place among the times of the binding: those of acts that run at
                                 once have the same one */
  const fnzi_tile_sets *sets; /* TILE: those that run at once from this one on; NULL: it is alone,
                                or behind the first */
  union {
    struct {
      fnzi_krn_call call;
      fnzi_kernel_fn *kernel;
      fnzi_stp_own *own; /* NULL: no argument is a weight */
    } kernel;
    struct {
      fnz_request request;
      fnz_arg *results;         /* as the node has them */
      fnz_handle *handles;      /* room */
      fnzi_krn_array **outputs; /* per result; NULL: nothing needs it */
      size_t count;
    } apply;
    fnzi_stp_move move;
    const fnzi_tile_program *tile;
    const fnzi_stp_nested *nested;
  } u;
} fnzi_stp_act;

typedef struct fnzi_stp_binding fnzi_stp_binding;

/* How the nodes of a program are computed. */
typedef enum fnzi_stp_mode {
  FNZI_STP_PLANNED,    /* by the steps of a plan. The interpreter evaluates nodes that depend on
                          data-dependent sizes (late.c) */
  FNZI_STP_STEPWISE,   /* node after node, each value in memory of its own: if the caller wants no
                          plan, or the proof of a plan fails */
  FNZI_STP_INTERPRETED /* by the interpreter, all of them: no plan is possible */
} fnzi_stp_mode;

/* What holds for all nodes of a kind. */
typedef struct fnzi_stp_shaped {
  bool fits; /* their shape rules agree with what the program records */
  const struct fnzi_meta_point_code *code; /* of what is pointwise; NULL: nothing has asked yet */
} fnzi_stp_shaped;

/* While a binding is filled in. */
typedef struct fnzi_stp_shapes {
  fnzi_arena arena;
  fnzi_pln_kinds kinds;
  fnzi_stp_shaped *of; /* per kind */
} fnzi_stp_shapes;

/* Where the memory of a buffer of a body is: in that of a storage of the binding around, some bytes
 * further on in each iteration. */
typedef struct fnzi_stp_link {
  fnzi_krn_storage *to;
  const fnzi_krn_storage *from;
  int64_t at, step;
} fnzi_stp_link;

/* Of xs `k` of an associative scan: the bytes of one place, the levels going down and up. */
typedef struct fnzi_stp_tree {
  fnzi_krn_storage *left, *right, *out; /* of the body */
  size_t bytes;
  fnzi_stp_link down[FNZI_PLN_LEVELS], up[FNZI_PLN_LEVELS]; /* `to` is not used */
} fnzi_stp_tree;

/* A region of a binding. */
struct fnzi_stp_nested {
  fnzi_hop_kind kind;
  fnzi_stp_binding *bodies[2];
  fnzi_stp_link *links[2]; /* per body; those that go on with each iteration first */
  size_t nlinks[2], nsliced;
  fnzi_stp_move *moves; /* what a loop begins with; of an associative scan to where it begins */
  fnzi_stp_move *ends;  /* and from where it ends */
  size_t nmoves, nends;
  int64_t iterations;
  const fnzi_krn_storage *predicate; /* NULL: it always holds, or never */
  int64_t predicate_at;              /* bytes */
  fnz_dtype predicate_dtype;
  bool holds;
  fnzi_stp_tree *trees; /* per xs; NULL */
  uint32_t ntrees;
  bool may_fail, fails_late; /* late: after one of its steps has written a result */
};

/* A binding whose steps are running; those of its bodies are above it. */
typedef struct fnzi_stp_frame {
  fnzi_stp_binding *b;
  size_t at, end;                /* act; the one behind the last that is to run */
  const fnzi_stp_nested *nested; /* that it is a body of; NULL */
  int64_t iteration;
  bool in_condition;
  uint32_t level; /* ASSOCIATIVE_SCAN; see frames.c */
  int64_t place;
  bool up;
} fnzi_stp_frame;

struct fnzi_stp_binding {
  bool made, with_state;
  fnz_geometry *layouts;        /* per input, of its own numbers: the key */
  int64_t *numbers;             /* per input that is a number */
  int64_t threads;              /* of the generator that it was made for, */
  bool asks_threads;            /* which matter: some step draws */
  uint64_t used;                /* when it was last run */
  fnz_program *owned;           /* the program for these sizes; NULL: the executable's */
  fnzi_stp_expansion expansion; /* of that */
  const fnz_program *whole;     /* as the user has it, of fixed sizes */
  const fnz_program *source;    /* that, or what it is taken apart to */
  const uint32_t *const *parts; /* from nodes of `source` to those of `whole`; NULL: the same */
  const fnz_program *program;   /* `source` arranged (plan.h), where a plan is made */
  fnzi_pln_plan plan;
  fnzi_arena arena;
  fnzi_krn_storage *storages; /* per buffer */
  fnzi_krn_array **values;    /* per value of graph 0; NULL: it has no place */
  struct {
    fnzi_stp_act *data;
    size_t count, capacity;
  } acts;
  struct {
    fnzi_krn_array **data;
    size_t count, capacity;
  } wasted;           /* results that nothing needs */
  bool *saved;        /* per buffer: the state is kept before a run, for when it fails */
  size_t saved_bytes; /* 0: nothing needs to be kept */
  uint32_t *needed;   /* inputs of graph 0 that some step reads */
  size_t nneeded;
  size_t arena_bytes, outs_bytes; /* `outs`: of results that lie in the workspace */
  size_t *outs;                   /* per output of graph 0: where there */
  fnz_geometry *rows;             /* per output of graph 0: row-major */
  unsigned char *registers;       /* of tiles, for all threads */
  const fnzi_stp_number *filled;  /* of tiles, the last one first */
  size_t registers_bytes;
  fnzi_stp_shapes *shapes; /* while it is filled in */
  fnz_arg *likes;          /* per value: of a number that data decide one of its kind; NULL: none */
  fnzi_stp_taking **takings; /* per node: what is filled in once the number that it gives is known;
                                NULL: nothing */
  fnzi_krn_storage taken;    /* where groups read such numbers, each at a multiple of 16 bytes */
  bool interprets;
  fnzi_stp_mode mode;
  struct fnzi_dev_binding *device; /* device.h; NULL: without a device */
  fnz_needs needs;
  fnzi_pln_bodies bodies;      /* of all regions, also those within bodies */
  fnzi_stp_binding *nested;    /* per body */
  fnzi_stp_binding *outermost; /* itself, or that which it is nested in */
  uint32_t depth;              /* frames that a run needs at most */
  fnzi_stp_frame *frames;
  uint64_t most_bodies; /* that a run enters at most; UINT64_MAX: data decide */
  /* Of a body: */
  bool is_body;
  uint32_t graph;          /* of `source` of the outermost binding */
  const uint32_t *weights; /* per input: the input of the executable that it is; NONE */
  size_t times_at;         /* where the times of its acts begin */
};

#endif
