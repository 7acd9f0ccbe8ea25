/* frames.h - running graphs inside graphs, for both interpreters: frames on a stack of their own,
 * and what the nodes of higher-order operators do with their bodies.
 *
 * What a value is differs between the interpreters, but both count its users in the same way, and
 * that is all this needs to know: it hands values from frame to frame and asks the interpreter for
 * slices, stacks and copies. */
#ifndef FNZI_FRAMES_H
#define FNZI_FRAMES_H

#include "program/region_ops.h"
#include "run/run.h"

/* What an interpreter does for this. `self` is the interpreter. New items have no user. */
typedef struct fnzi_interpreter {
  void *self;
  bool immutable; /* nothing is ever written, so that sharing is as good as copying */
  /* A node that has an operator, in the frame at work. */
  fnz_status (*node)(void *self, const fnzi_node *node);
  void (*end)(void *self, fnzi_run_item *item); /* its last user is gone */
  const fnz_geometry *(*geometry)(void *self, const fnzi_run_item *item);
  fnz_status (*value)(void *self, fnzi_run_item *item, fnz_handle *out); /* borrowed */
  fnz_status (*slice)(void *self, fnzi_run_item *item, int64_t index, fnzi_run_item **out);
  fnz_status (*copy)(void *self, fnzi_run_item *item, fnzi_run_item **out);
  fnz_status (*cast)(void *self, fnzi_run_item *item, fnz_dtype dtype, fnzi_run_item **out);
  /* As torch.stack along dimension 0. */
  fnz_status (*stack)(void *self, fnzi_run_item *const *items, size_t count, fnzi_run_item **out);
} fnzi_interpreter;

/* Opens the frame of graph 0; its inputs are the interpreter's to set. */
FNZ_MUST_CHECK fnz_status fnzi_frames_open(fnzi_run_state *run);
/* Runs the nodes of the frame to their end, and bodies as they come. */
FNZ_MUST_CHECK fnz_status fnzi_frames_run(fnzi_run_state *run, const fnzi_interpreter *by);
/* After a failure items may be left, which the interpreter ends. */
void fnzi_frames_close(fnzi_run_state *run);

/* Row-major, with one dimension more than the slices have; lives in run->scratch. */
FNZ_MUST_CHECK fnz_status fnzi_stack_geometry(fnzi_run_state *run, const fnz_geometry *slice,
                                              size_t count, fnz_geometry *out);

/* A result of node `node` of the frame at work becomes the value's. */
void fnzi_item_bind(fnzi_run_state *run, uint64_t value, fnzi_run_item *item);

/* --- loops.c ---------------------------------------------------------------------------------- */

/* An operand on its way: an item, or a number and the like, which `arg` is. */
typedef struct fnzi_parcel {
  fnzi_run_item *item;
  fnz_arg arg;
} fnzi_parcel;

/* A higher-order node at work. Lives in the arena of the frame that it is a node of. */
typedef struct fnzi_run_frame_op {
  fnzi_hop hop;
  fnzi_parcel *captured, *carried, *xs; /* held */
  fnzi_parcel *kept;                    /* held: what is to be stacked, turn after turn */
  uint32_t nkept;                       /* of one turn */
  int64_t iteration, iterations;
  bool in_condition;
  /* ASSOCIATIVE_SCAN: a tree. Level l has turns >> l places; see loops.c. */
  uint32_t level;
  int64_t at;
  bool up;
  fnzi_parcel *levels[64];
} fnzi_run_frame_op;

/* What comes next: a body to enter with `count` parcels, or the results of the node, all held. */
typedef struct fnzi_next {
  bool done;
  bool is_last; /* no other turn follows: what the node uses last may end */
  uint32_t body, count;
  uint32_t moved;    /* so many parcels, from the first, are held for the frame to take over */
  fnzi_parcel *args; /* in run->scratch */
} fnzi_next;

/* Starts the node; its operands come from the frame at work. */
FNZ_MUST_CHECK fnz_status fnzi_region_start(fnzi_run_state *run, const fnzi_interpreter *by,
                                            const fnzi_hop *hop, fnzi_arena *arena,
                                            fnzi_run_frame_op *r, fnzi_next *next);
/* Goes on with what the body gave, held for the region, which takes it. */
FNZ_MUST_CHECK fnz_status fnzi_region_step(fnzi_run_state *run, const fnzi_interpreter *by,
                                           fnzi_run_frame_op *r, fnzi_parcel *given, size_t count,
                                           fnzi_next *next);
/* Lets go of all that it holds. */
void fnzi_region_end(const fnzi_interpreter *by, fnzi_run_frame_op *r);

/* --- frame_args.c ----------------------------------------------------------------------------- */
void fnzi_parcel_hold(fnzi_parcel *passed);
void fnzi_parcel_drop(const fnzi_interpreter *by, fnzi_parcel *passed);
/* NULL is none. */
void fnzi_parcels_drop(const fnzi_interpreter *by, fnzi_parcel *passed, size_t count);
/* Does the predicate, or the condition of the loop, hold in this turn? */
FNZ_MUST_CHECK fnz_status fnzi_region_asks(fnzi_run_state *run, const fnzi_interpreter *by,
                                           const fnzi_run_frame_op *r, const fnzi_parcel *passed,
                                           bool *out);
/* What an argument is in the frame at work. */
FNZ_MUST_CHECK fnz_status fnzi_parcel_of(fnzi_run_state *run, const fnz_arg *arg, fnzi_parcel *out);

#endif
