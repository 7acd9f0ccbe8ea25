/* frames.h - running graphs inside graphs, for both interpreters: a stack of frames, and the
 * handling of higher-order operators with their bodies.
 *
 * The interpreters have different items, but both count users in the same way. The frames pass
 * items on, and call the interpreter for slices, stacks and copies. */
#ifndef FNZI_FRAMES_H
#define FNZI_FRAMES_H

#include "program/region_ops.h"
#include "run/run.h"

/* The functions of an interpreter, `self`. New items have no user. */
typedef struct fnzi_run_interpreter {
  void *self;
  bool immutable; /* nothing is written, so that items may be shared instead of copied */
  /* A node with an operator, in the current frame. */
  fnz_status (*node)(void *self, const fnzi_node *node);
  void (*end)(void *self, fnzi_run_item *item); /* after its last user */
  const fnz_geometry *(*geometry)(void *self, const fnzi_run_item *item);
  fnz_status (*value)(void *self, fnzi_run_item *item, fnz_handle *out); /* borrowed */
  fnz_status (*slice)(void *self, fnzi_run_item *item, int64_t index, fnzi_run_item **out);
  fnz_status (*copy)(void *self, fnzi_run_item *item, fnzi_run_item **out);
  fnz_status (*cast)(void *self, fnzi_run_item *item, fnz_dtype dtype, fnzi_run_item **out);
  /* As torch.stack along dimension 0. */
  fnz_status (*stack)(void *self, fnzi_run_item *const *items, size_t count, fnzi_run_item **out);
} fnzi_run_interpreter;

/* Opens the frame of graph 0; the interpreter sets its inputs. */
FNZ_MUST_CHECK fnz_status fnzi_run_frames_open(fnzi_run_state *run);
/* Runs all nodes of the frame, and the bodies of its higher-order nodes. */
FNZ_MUST_CHECK fnz_status fnzi_run_frames_run(fnzi_run_state *run, const fnzi_run_interpreter *by);
/* Runs one node of graph 0, and the bodies of it. */
FNZ_MUST_CHECK fnz_status fnzi_run_frames_node(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                               uint32_t node);
/* After a failure the interpreter ends the items that are left. */
void fnzi_run_frames_close(fnzi_run_state *run);

/* Row-major, with one dimension more than the slices have; lives in run->scratch. */
FNZ_MUST_CHECK fnz_status fnzi_run_stack_geometry(fnzi_run_state *run, const fnz_geometry *slice,
                                                  size_t count, fnz_geometry *out);

/* Gives an item to a value of the current frame. */
void fnzi_run_item_bind(fnzi_run_state *run, uint64_t value, fnzi_run_item *item);

/* --- loops.c ---------------------------------------------------------------------------------- */

/* A value that is passed between frames: an item, or `arg`, which may be a number. */
typedef struct fnzi_run_frame_arg {
  fnzi_run_item *item;
  fnz_arg arg;
} fnzi_run_frame_arg;

/* A higher-order node that is running. Lives in the arena of its frame. */
typedef struct fnzi_run_frame_op {
  fnzi_hop hop;
  fnzi_run_frame_arg *captured, *carried, *xs; /* held */
  fnzi_run_frame_arg *kept; /* held: results to be stacked, one iteration after the other */
  uint32_t nkept;           /* per iteration */
  int64_t iteration, iterations;
  bool in_condition;
  /* ASSOCIATIVE_SCAN: a tree. Level l has iterations >> l places; see loops.c. */
  uint32_t level;
  int64_t at;
  bool up;
  fnzi_run_frame_arg *levels[64];
} fnzi_run_frame_op;

/* The next step: a body to enter with `count` arguments, or the results of the node, all held. */
typedef struct fnzi_run_next {
  bool done;
  bool is_last; /* no iteration follows: values that the node uses last may end */
  uint32_t body, count;
  uint32_t moved;           /* the first arguments that the frame takes over */
  fnzi_run_frame_arg *args; /* in run->scratch */
} fnzi_run_next;

/* Starts the node; its operands are values of the current frame. */
FNZ_MUST_CHECK fnz_status fnzi_run_frame_op_start(fnzi_run_state *run,
                                                  const fnzi_run_interpreter *by,
                                                  const fnzi_hop *hop, fnzi_arena *arena,
                                                  fnzi_run_frame_op *r, fnzi_run_next *next);
/* Continues with the results of the body (held), which it takes. */
FNZ_MUST_CHECK fnz_status fnzi_run_frame_op_step(fnzi_run_state *run,
                                                 const fnzi_run_interpreter *by,
                                                 fnzi_run_frame_op *r, fnzi_run_frame_arg *given,
                                                 size_t count, fnzi_run_next *next);
/* Drops everything that it holds. */
void fnzi_run_frame_op_end(const fnzi_run_interpreter *by, fnzi_run_frame_op *r);

/* --- frame_args.c ----------------------------------------------------------------------------- */
void fnzi_run_frame_arg_hold(fnzi_run_frame_arg *passed);
void fnzi_run_frame_arg_drop(const fnzi_run_interpreter *by, fnzi_run_frame_arg *passed);
/* NULL is none. */
void fnzi_run_frame_args_drop(const fnzi_run_interpreter *by, fnzi_run_frame_arg *passed,
                              size_t count);
/* The predicate, or the condition of the loop in this iteration. */
FNZ_MUST_CHECK fnz_status fnzi_run_predicate_holds(fnzi_run_state *run,
                                                   const fnzi_run_interpreter *by,
                                                   const fnzi_run_frame_op *r,
                                                   const fnzi_run_frame_arg *passed, bool *out);
/* An argument of the current frame. */
FNZ_MUST_CHECK fnz_status fnzi_run_frame_arg_of(fnzi_run_state *run, const fnz_arg *arg,
                                                fnzi_run_frame_arg *out);

#endif
