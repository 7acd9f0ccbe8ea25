/* plan.h - a plan: the locations of the values of a graph of fixed sizes, and the steps that
 * compute them.
 *
 * The planner (planner.c and the files that it calls) plans graph 0 of a functional program. The
 * runner (engine/bind/) turns the steps of the plan into prebuilt calls. The planner knows no
 * kernels, the runner none of the rules R1 to R8 (docs/engine.md).
 *
 * A *buffer* is memory. A *location* is a window of a buffer. Invariant, which check.c proves by
 * code of its own: from the step that computes a value to the last step that reads it, the bytes of
 * its location hold the value.
 *
 * fnzi_pln_make() makes a plan, fnzi_pln_free() frees it; in between it is constant, and threads
 * may share it. It borrows the program and the policy's tables, which must outlive it. Sizes and
 * offsets of buffers are in bytes, and of maps in elements. Failures are NOMEM, OVERFLOW for
 * bytes that leave 64 bits, BOUNDS for a view outside its base, and INTERNAL for a mistake of the
 * planner. */
#ifndef FNZI_PLN_H
#define FNZI_PLN_H

#include "engine/plan/alike.h"
#include "program/program.h"

#define FNZI_PLN_NONE UINT32_MAX
enum {
  FNZI_PLN_ALIGNMENT = 64,     /* of buffers in the arena, in bytes */
  FNZI_PLN_GROUP_NODES = 48,   /* most nodes of a group, so that its values and scalars stay in the
                                  first-level cache */
  FNZI_PLN_GROUP_OPERANDS = 24 /* most operands of a group, all from outside it: a processor
                                  prefetches no more streams of memory */
};

typedef enum fnzi_pln_buffer_kind {
  FNZI_PLN_CONST, /* an input that is only read: weights, inputs that are not donated */
  FNZI_PLN_STATE, /* an input that may be written: mutated buffers and parameters, donated or
                     mutated user inputs. If the program has a final value for it and the policy
                     says `state`, it must hold that value at the end */
  FNZI_PLN_OUT,   /* the memory of an output, without gaps: in row-major order or eager's */
  FNZI_PLN_TEMP,  /* in the arena */
  FNZI_PLN_LATE   /* of one value with a data-dependent size: allocated during the run. It holds the
                     whole value, in an order that the runner chooses */
} fnzi_pln_buffer_kind;

typedef struct fnzi_pln_buffer {
  uint8_t kind;
  union {
    uint32_t input;  /* CONST, STATE: of graph 0, the first that shares the memory */
    uint32_t output; /* OUT: of graph 0 */
    uint32_t value;  /* TEMP, LATE: the value that it was allocated for */
  };
  size_t bytes;
  size_t offset;        /* TEMP: bytes from the start of the arena, at FNZI_PLN_ALIGNMENT */
  uint32_t first, last; /* TEMP: the first step that writes it, the last one that uses it */
} fnzi_pln_buffer;

/* Returns the bytes of the elements of a window, or 0 for NULL. */
static inline size_t fnzi_pln_map_bytes(const fnz_geometry *map) {
  return map ? (size_t)fnz_geometry_numel(map) * fnzi_dtype(map->dtype)->bytes : 0;
}

/* The location of a value. `map`: its dtype, sizes and strides, and its offset in elements from the
 * start of the buffer. The map of a LATE value is the program's geometry; the run has other sizes.
 */
typedef struct fnzi_pln_location {
  uint32_t buffer; /* FNZI_PLN_NONE: the value has no location, because it is no tensor or a view
                      that no step reads */
  const fnz_geometry *map;
} fnzi_pln_location;

typedef enum fnzi_pln_step_kind {
  FNZI_PLN_CALL,   /* runs the kernel of a node. A result may have exactly the location of an
                      argument; otherwise the two share no byte. See also `in_place` below */
  FNZI_PLN_MOVE,   /* copies elements from one location to another one of the same sizes and element
                      size, without conversion. The locations share no byte */
  FNZI_PLN_GROUP,  /* runs nodes first..last over one space, element by element: all operands are
                      read at an element before a result is written there. A result may have exactly
                      the location of an operand from outside. A value without a location is read
                      within the group only. If a node computes rows, the group runs row by row: all
                      operands are read for a row before a result is written there. Results with
                      fewer dimensions than the space then share no memory with any operand */
  FNZI_PLN_REGION, /* runs a node without an operator: one with bodies, or arithmetic on scalars */
  FNZI_PLN_APPLY   /* runs a node with arguments or results of data-dependent sizes, by the
                      interpreter. Results are LATE, or copied to their locations */
} fnzi_pln_step_kind;

/* Why elements are moved: the names that the documentation of `explain --plan` uses. */
typedef enum fnzi_pln_rule {
  FNZI_PLN_UPDATE,       /* R2: no copy: a region update writes its source into the base */
  FNZI_PLN_JOIN,         /* no copy: a piece of a join is written into it */
  FNZI_PLN_GATHER,       /* R1: no strides describe the view */
  FNZI_PLN_BASE_CONST,   /* R2a: the base may not be written */
  FNZI_PLN_BASE_ALIVE,   /* R2b: another value still needs what would be overwritten */
  FNZI_PLN_SOURCE_MEETS, /* R2c: the source reads what would be overwritten */
  FNZI_PLN_BASE_SELF,    /* R2d: the base or the region shows a byte twice */
  FNZI_PLN_FINAL,        /* R4: the final value is not in the state's memory */
  FNZI_PLN_OUTPUT,       /* R6: an output is not in its own memory */
  FNZI_PLN_PARALLEL,     /* R4: read before other moves at the end overwrite it */
  FNZI_PLN_RULES
} fnzi_pln_rule;

typedef struct fnzi_pln_step {
  uint8_t kind;
  uint32_t first, last; /* nodes of graph 0 that it runs: several for a GROUP, else one. For a MOVE
                           the node that needs it, FNZI_PLN_NONE after the last node */
  bool in_place;        /* CALL, of an operator whose table row has memory BASE: the location of
                           result 0 holds argument 0, so the kernel writes only the bytes that the
                           operator changes */
  bool is_point; /* CALL: the node is pointwise, so the step may run as a group of one node */
  uint32_t sets; /* GROUP, and CALL with is_point: count of steps from here on that may run at
                    once. They are one pointwise program over different operands, and none
                    reads or writes a byte that another step of them writes. 0: a later step
                    of such a set. For other steps 0 or 1 */
  /* MOVE: */
  uint8_t rule;     /* fnzi_pln_rule */
  uint32_t value;   /* the value that is moved */
  uint32_t because; /* the value that forced it, or FNZI_PLN_NONE */
  fnzi_pln_location from, to;
  /* REGION: */
  uint32_t region;  /* index in the list of bodies.h; FNZI_PLN_NONE: in none */
  uint32_t scratch; /* the buffer in which its bodies work; FNZI_PLN_NONE: none */
} fnzi_pln_step;

typedef struct fnzi_pln_plan {
  const fnz_program *program;   /* borrowed, functional; sizes are fixed or data-dependent */
  fnzi_pln_location *locations; /* per value of graph 0 */
  fnzi_pln_location *outputs;   /* per output of graph 0: its location at the end */
  struct {
    fnzi_pln_buffer *data;
    size_t count, capacity;
  } buffers;
  struct {
    fnzi_pln_step *data;
    size_t count, capacity;
  } steps;
  size_t arena_bytes, least_bytes; /* bytes of the arena; the most bytes that are live at once */
  size_t nvalues, noutputs;        /* of graph 0 */
  const fnz_program *bodies;       /* borrowed from the policy */
  bool channels_last;              /* the policy's */
  const uint32_t *origins;         /* borrowed from the policy's order */
  fnzi_pln_kinds kinds;            /* borrowed from the policy's order */
  const fnz_program *whole;        /* the program before it was decomposed; NULL: it was not */
  const uint32_t *const *parts;    /* per graph and node: the node of `whole`; NULL like `whole` */
  uint32_t graph;                  /* of `whole`: graph 0 of this plan */
  fnzi_arena arena;                /* holds maps */
} fnzi_pln_plan;

/* Rounds up to a multiple of FNZI_PLN_ALIGNMENT; returns 0 if that overflows. */
static inline size_t fnzi_pln_padded(size_t bytes) {
  return (bytes + FNZI_PLN_ALIGNMENT - 1) & ~(size_t)(FNZI_PLN_ALIGNMENT - 1);
}
/* Returns the geometry of an argument, or NULL if it is no tensor. */
static inline const fnz_geometry *fnzi_pln_tensor(const fnzi_graph *g, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? g->values.data[arg->u.value].geometry : NULL;
}
/* Returns whether the memory of the location is there before the run starts. */
static inline bool fnzi_pln_has_memory(const fnzi_pln_plan *plan, fnzi_pln_location location) {
  return location.buffer != FNZI_PLN_NONE &&
         plan->buffers.data[location.buffer].kind != FNZI_PLN_LATE;
}
/* Copies `program` with another graph 0 and the first `graphs` of its graphs, in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_pln_with_graph(fnzi_arena *arena, const fnz_program *program,
                                              const fnzi_graph *graph, size_t graphs,
                                              fnz_program **out);

/* Returns whether both are tensors of one dtype and of equal sizes. */
static inline bool fnzi_pln_same_kind(const fnz_geometry *a, const fnz_geometry *b) {
  return a && b && a->dtype == b->dtype && fnzi_same_sizes(a, b);
}

/* Facts about the nodes of an arranged program. */
typedef struct fnzi_pln_order {
  const fnz_program *source; /* the program before it was arranged */
  const uint32_t *origins;   /* per node: the node of `source` that it is, or is one list item of */
  const uint32_t *steps;     /* per node: its step; nodes of a step are adjacent */
  const bool *points;        /* per node: it is pointwise; other nodes of a group compute rows */
  fnzi_pln_kinds kinds;
} fnzi_pln_order;

/* Permissions for inputs, and requests for outputs. */
typedef struct fnzi_pln_policy {
  const bool *writable; /* per input of graph 0: a run may write its memory; NULL: none */
  const fnz_geometry *const *layouts; /* per input: its layout from the start of its buffer; NULL,
                                         or NULL for one input: the recorded layout */
  const fnz_geometry *const *outs; /* per output: its layout from the start of its memory; NULL: see
                                      `strided` */
  bool strided; /* without `outs`: outputs have eager's strides if these leave no gaps, and
                   are row-major otherwise. false: all are row-major */
  const fnz_program *bodies; /* the program that has the bodies of nodes; NULL: the planned one */
  bool state;                /* final values end in the memory of their inputs, which are writable
                                then, and have no memory of outputs */
  bool aliasing;        /* outputs that alias inputs by the signature stay in the inputs' memory */
  fnzi_pln_order order; /* of an arranged program; NULLs: it is not arranged */
  bool channels_last;   /* images may have channels last: kernels of the CPU compute so */
  bool ungrouped;       /* no step has several nodes */
  bool trivial; /* every value in a buffer of its own, every view a move: for tests of the runner */
} fnzi_pln_policy;

/* Arranges a program in the order in which it runs: operators on lists are split into items, and
 * nodes of a group are adjacent. The result borrows from `program`; it and `order` are in the
 * arena. */
FNZ_MUST_CHECK fnz_status fnzi_pln_arrange(fnz_context *ctx, fnzi_arena *arena,
                                           const fnz_program *program, const fnz_program **out,
                                           fnzi_pln_order *order);
/* Fails with INTERNAL if the arranged program does not compute the same. */
FNZ_MUST_CHECK fnz_status fnzi_pln_arrange_check(fnz_context *ctx, const fnz_program *source,
                                                 const fnz_program *result,
                                                 const fnzi_pln_order *order);

/* Plans graph 0. `out` is zero or freed; after a failure it is empty. Fails with UNSUPPORTED for a
 * program that writes or whose sizes are symbols. */
FNZ_MUST_CHECK fnz_status fnzi_pln_make(fnz_context *ctx, const fnz_program *program,
                                        const fnzi_pln_policy *policy, fnzi_pln_plan *out);
void fnzi_pln_free(fnz_context *ctx, fnzi_pln_plan *plan);
/* Proves the invariant of a finished plan, by code of its own. Fails with FNZ_INTERNAL, step and
 * value if it does not hold. */
FNZ_MUST_CHECK fnz_status fnzi_pln_check(fnz_context *ctx, const fnzi_pln_plan *plan);

/* Returns whether all symbols of graph 0 are data-dependent scalars on which no location depends:
 * tensors have fixed sizes, strides and offsets (scalars.c). */
bool fnzi_pln_only_scalars(const fnz_program *program);
/* Returns the program with the kinds of such scalars (fnzi_value) that are known before the run, in
 * the arena. */
FNZ_MUST_CHECK fnz_status fnzi_pln_scalars_mark(fnz_context *ctx, fnzi_arena *arena,
                                                const fnz_program *program,
                                                const fnz_program **out);
/* Returns 1 as the kind of the scalar, or FNZ_ARG_DEFAULT if the kind is not known. */
fnz_arg fnzi_pln_scalar_like(const fnzi_graph *graph, uint64_t value);
/* Returns whether such scalars are operands of the node and everything else about it is known
 * before the run. Then an ordinary step computes it, or a step for each item of an operator on
 * lists. */
bool fnzi_pln_has_scalar_arguments(const fnzi_graph *graph, const fnzi_node *node);
/* Returns bit k if argument k is such a scalar; 0 for an operator on lists: see its items. */
uint32_t fnzi_pln_scalar_arguments(const fnzi_graph *graph, const fnzi_node *node);
/* Returns whether the node computes such a scalar, or reads one other than as an operand. Then the
 * interpreter evaluates it. */
bool fnzi_pln_waits_for_scalars(const fnzi_graph *graph, const fnzi_node *node);
/* Nodes that wait for scalars must stay in order, because scalars are found in program order. If
 * arranging changed the order, undoes it: the program then has a step for each node. */
void fnzi_pln_scalars_keep_order(const fnz_program *source, const fnz_program **arranged,
                                 fnzi_pln_policy *policy);

#endif
