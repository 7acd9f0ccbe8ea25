/* binding.h - a program bound to the sizes of a run: the program for these sizes, its plan, and its
 * steps as thunks (prebuilt calls, moves and tile programs). Types only.
 *
 * A workspace makes a binding (bind.h), owns it and frees it; all memory of a binding is in its
 * arena or from the workspace's context. So it belongs to the thread that uses the workspace. It is
 * made once, and runs change only its addresses, scalars and counters. Sizes named `bytes` and
 * offsets are in bytes, `count`s are in elements of the array beside them, and strides and offsets
 * of a geometry are in elements. */
#ifndef FNZI_STP_BINDING_H
#define FNZI_STP_BINDING_H

#include "engine/plan/alike.h"
#include "engine/plan/bodies.h"
#include "engine/plan/plan.h"
#include "kernels/core/machine.h"

#include <fnz/engine.h>

/* --- A decomposed program ------------------------------------------------------------------- */
/* From fnzi_stp_expand(); destroy it by fnzi_stp_expansion_end(). */
typedef struct fnzi_stp_expansion {
  const fnz_program *program;   /* NULL: nothing was decomposed */
  const uint32_t *const *parts; /* per graph: for each node, the node of the source that it is
                                   a part of; NULL for a graph: not changed */
  fnzi_arena arena;
} fnzi_stp_expansion;

/* --- Memory of a run ------------------------------------------------------------------------- */
/* Input k of graph 0: memory of the caller, a state or a weight, which the run borrows. */
typedef struct fnzi_stp_run_input {
  unsigned char *start;       /* of its memory; NULL: none */
  const fnz_geometry *layout; /* its window from `start` on; NULL: no tensor */
  size_t bytes;               /* from the start */
  int64_t scalar;             /* of a symbolic integer */
  bool has_scalar;
} fnzi_stp_run_input;

/* Memory of the caller for OUTPUT slot k. */
typedef struct fnzi_stp_run_output {
  const unsigned char *data;  /* the element with all indices 0; NULL: none, or the size is not
                                 known yet */
  const fnz_geometry *layout; /* its window from `data` on */
  size_t bytes;
} fnzi_stp_run_output;

/* Addresses of memory of a device. */
typedef struct fnzi_stp_addresses {
  uint64_t *data;
  size_t count, capacity;
} fnzi_stp_addresses;

/* --- A binding ------------------------------------------------------------------------------- */
typedef enum fnzi_stp_thunk_kind {
  FNZI_STP_THUNK_KERNEL, /* a kernel whose arguments and results are filled in */
  FNZI_STP_THUNK_APPLY,  /* an operator, whose results are then copied to their locations */
  FNZI_STP_THUNK_MOVE,
  FNZI_STP_THUNK_INTERPRET, /* by the interpreter */
  FNZI_STP_THUNK_TILE,      /* pointwise nodes, tile by tile (tile.h) */
  FNZI_STP_THUNK_REGION     /* a node with bodies that are bindings */
} fnzi_stp_thunk_kind;

/* A dimension of both windows of a move; strides in bytes. */
typedef struct fnzi_stp_move_dim {
  int64_t size, from, to;
} fnzi_stp_move_dim;

/* Elements from one window to another, the innermost dimension last. */
typedef struct fnzi_stp_move {
  const fnzi_krn_storage *from, *to;
  int64_t from_offset, to_offset; /* bytes */
  size_t cell;                    /* contiguous bytes in both */
  uint32_t rank;
  const fnzi_stp_move_dim *dims;
  int64_t bytes; /* of all elements */
} fnzi_stp_move;

/* Data of a kernel that stay valid from run to run, as long as a weight has the address that it has
 * in the file. */
typedef struct fnzi_stp_prepared {
  fnzi_krn_kept data;
  const fnzi_krn_storage *storage; /* of the weight */
  const unsigned char *start;      /* the address that it must have */
  bool has_run;                    /* data are kept from the second run on */
} fnzi_stp_prepared;

typedef struct fnzi_tile_program fnzi_tile_program;
typedef struct fnzi_tile_sets fnzi_tile_sets;   /* tiles that run at once (engine/tile/sets.c) */
typedef struct fnzi_stp_nested fnzi_stp_nested; /* a region whose bodies are bindings */

/* A data-dependent scalar that tile programs read, repeated for each element of a tile. */
typedef struct fnzi_stp_constant {
  const struct fnzi_stp_constant *next;
  unsigned char bytes[16];
  size_t cell;
  int64_t count;
  unsigned char *elements;
} fnzi_stp_constant;

typedef struct fnzi_stp_scalar_call fnzi_stp_scalar_call; /* scalars.h */

typedef struct fnzi_stp_thunk {
  uint8_t kind;
  uint32_t node; /* FNZI_PLN_NONE at the end */
  uint32_t time; /* its index among the times of the binding; thunks that run at once share it */
  const fnzi_tile_sets
      *sets; /* TILE, the first of thunks that run at once: all of them; else NULL */
  union {
    struct {
      fnzi_krn_call call;
      fnzi_kernel_fn *kernel;
      fnzi_stp_prepared *prepared; /* NULL: no argument is a weight */
    } kernel;
    struct {
      fnz_request request;
      fnz_arg *results;         /* in the form of the node */
      fnz_handle *handles;      /* scratch */
      fnzi_krn_array **outputs; /* per result; NULL: nothing needs it */
      size_t count;
    } apply;
    fnzi_stp_move move;
    const fnzi_tile_program *tile;
    const fnzi_stp_nested *nested;
  } u;
} fnzi_stp_thunk;

typedef struct fnzi_stp_binding fnzi_stp_binding;

/* How the nodes of a program are computed. */
typedef enum fnzi_stp_mode {
  FNZI_STP_PLANNED,    /* by the steps of a plan. The interpreter evaluates nodes that depend on
                          data-dependent sizes (late.c) */
  FNZI_STP_STEPWISE,   /* node after node, each value in memory of its own: if the caller wants no
                          plan, or the proof of a plan fails */
  FNZI_STP_INTERPRETED /* by the interpreter, all of them: no plan is possible */
} fnzi_stp_mode;

/* Facts that all nodes of a kind share. */
typedef struct fnzi_stp_kind_facts {
  bool has_fit;                            /* their shape rules agree with the recorded types */
  const struct fnzi_meta_point_code *code; /* for pointwise operators; NULL: not looked up yet */
} fnzi_stp_kind_facts;

/* Used while a binding is made. */
typedef struct fnzi_stp_kinds {
  fnzi_arena arena;
  fnzi_pln_kinds kinds;
  fnzi_stp_kind_facts *by_kind; /* per kind */
} fnzi_stp_kinds;

/* The memory of a buffer of a body: a part of a storage of the surrounding binding. It moves by
 * `step` bytes in each iteration. */
typedef struct fnzi_stp_link {
  fnzi_krn_storage *to;
  const fnzi_krn_storage *from;
  int64_t offset, step;
} fnzi_stp_link;

/* Operand k of an associative scan: the bytes of one element, and the levels down and up. */
typedef struct fnzi_stp_scan_operand {
  fnzi_krn_storage *left, *right, *out; /* of the body */
  size_t bytes;
  fnzi_stp_link down[FNZI_PLN_LEVELS], up[FNZI_PLN_LEVELS]; /* `to` is not used */
} fnzi_stp_scan_operand;

/* A region of a binding. */
struct fnzi_stp_nested {
  fnzi_hop_kind kind;
  fnzi_stp_binding *bodies[2];
  fnzi_stp_link *links[2]; /* per body; first the `nsliced` links that move with each iteration */
  size_t nlinks[2], nsliced;
  fnzi_stp_move *initial_moves; /* initial values of a loop; of an associative scan, its input */
  fnzi_stp_move *final_moves;   /* and its output */
  size_t ninitial_moves, nfinal_moves;
  int64_t niterations;
  const fnzi_krn_storage *predicate; /* NULL: `is_true` is its value */
  int64_t predicate_offset;          /* bytes */
  fnz_dtype predicate_dtype;
  bool is_true;
  fnzi_stp_scan_operand *operands; /* per xs; NULL */
  uint32_t noperands;
  bool may_fail,
      fails_after_write; /* fails_after_write: it may fail after a step has written a result */
};

/* A binding whose steps are running. Frames of its bodies are above it on the stack. */
typedef struct fnzi_stp_frame {
  fnzi_stp_binding *b;
  size_t next, end;              /* the current thunk; the end of the thunks to run */
  const fnzi_stp_nested *nested; /* the region whose body it is; NULL */
  int64_t iteration;
  bool in_condition;
  uint32_t level; /* ASSOCIATIVE_SCAN; see frames.c */
  int64_t index;
  bool up;
} fnzi_stp_frame;

struct fnzi_stp_binding {
  bool is_open; /* it has memory to free */
  fnzi_stp_mode mode;
  fnzi_arena arena;
  uint64_t used; /* number of its last run (`runs` of the workspace) */
  fnz_needs needs;

  /* The key: runs that the binding fits. */
  bool with_state, uses_folded;
  fnz_geometry *layouts; /* per input, with arrays of its own */
  int64_t *scalars;      /* per input that is a scalar */
  bool needs_threads;    /* some step draws, so `threads` must equal the number of the generator */
  int64_t threads;

  /* The program: first as the user has it, last as it is planned. */
  fnz_program *owned;           /* the program for these sizes; NULL: the executable's */
  fnzi_stp_expansion expansion; /* of `owned` */
  const fnz_program *whole;     /* the user's program, with fixed sizes */
  const fnz_program *source;    /* `whole`, or its decomposition */
  const uint32_t *const *parts; /* per node of `source`: a node of `whole`; NULL: the same nodes */
  const fnz_program *program;   /* `source`, arranged (plan.h) if it is planned */
  fnzi_pln_plan plan;

  /* Steps and their operands. */
  fnzi_krn_storage *storages; /* per buffer; execute.c sets their addresses in each run */
  fnzi_krn_array **values;    /* per value of graph 0; NULL: no location */
  struct {
    fnzi_stp_thunk *data;
    size_t count, capacity;
  } thunks; /* per step of the plan */
  struct {
    fnzi_krn_array **data;
    size_t count, capacity;
  } unread;              /* results that no step reads; kernels need memory for them */
  fnzi_stp_kinds *kinds; /* NULL unless the binding is being made */
  bool has_interpreted;  /* some thunk is INTERPRET */
  uint32_t *read_inputs; /* inputs of graph 0 that some step reads */
  size_t nread;

  /* Memory that a run needs in the workspace. */
  size_t arena_bytes, outputs_bytes; /* `outputs`: results for which the caller passes no memory */
  size_t *output_offsets;            /* per output of graph 0: offset there */

  /* Undoing a failed run (bind/undo.c). */
  bool *saved;        /* per buffer of the state: copied before a run, and restored if it fails */
  size_t saved_bytes; /* 0: nothing needs to be copied */
  size_t first_write; /* the first thunk that changes the state for good; SIZE_MAX: none does */

  /* Tile programs: registers for all threads, and constants, the last one first. */
  unsigned char *registers;
  size_t registers_bytes;
  const fnzi_stp_constant *constants;

  /* Data-dependent scalars (scalars.h). Per value: 1 of its kind, else DEFAULT; NULL: there are
   * none. Per node: the calls to fill in when its scalar is known; NULL. The cells that groups
   * read, each at a multiple of 16 bytes. */
  fnz_arg *scalar_kinds;
  fnzi_stp_scalar_call **scalar_calls;
  fnzi_krn_storage scalar_cells;

  const struct fnzi_stp_device *gpu; /* as the executable's */
  struct fnzi_dev_binding *device;   /* made by `gpu`; NULL: without a device */

  /* Regions and their bodies. */
  fnzi_pln_bodies bodies;      /* of all regions, also those within bodies */
  fnzi_stp_binding *nested;    /* per body */
  fnzi_stp_binding *outermost; /* itself, or the binding that it is nested in */
  uint32_t depth;              /* frames that a run needs at most */
  fnzi_stp_frame *frames;
  uint64_t most_bodies; /* the most bodies that a run enters; UINT64_MAX: data decide */

  /* If it is the binding of a body: */
  bool is_body;
  uint32_t graph;          /* of `source` of the outermost binding */
  const uint32_t *weights; /* per input: the same input of the executable; NONE */
  size_t first_time;       /* index of the first time of its thunks */
};

#endif
