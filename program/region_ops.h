/* region_ops.h - what the nodes of higher-order operators say: which bodies they run, and how the
 * bodies' inputs and results belong to the node's.
 *
 * A body is a graph of the program. Its inputs are, in this order, for each kind:
 *
 *   COND              captured                        results: the branch's
 *   WHILE_LOOP        carried, captured               results: carried; bodies[0] gives one bool,
 *                                                     bodies[1] gives carried
 *   MAP               a slice of each xs, captured    results: all, stacked
 *   SCAN              carried, a slice of each xs,    results: carried, then the others, stacked
 *                     captured
 *   ASSOCIATIVE_SCAN  a slice of each xs, another     results: one per xs, stacked
 *                     of each, captured
 *   CALL              captured                        results: the body's
 *   EFFECT            (no body)                       a token, then the results of the operator
 *
 * Slices are along dimension 0, and so are stacks.
 *
 * Eager PyTorch treats bodies that write or return their arguments as follows, and run/loops.c does
 * the same: operands come in as the very tensors, and results are the very tensors that a body
 * returns. A WHILE_LOOP without a turn gives copies. Slices are windows into xs, but the first one
 * of a SCAN is a copy. A SCAN copies its stacked results iteration by iteration, a MAP at its end.
 * An ASSOCIATIVE_SCAN of fewer than two slices returns its xs themselves. */
#ifndef FNZI_REGION_OPS_H
#define FNZI_REGION_OPS_H

#include "program/program.h"

typedef enum fnzi_hop_kind {
  FNZI_HOP_COND,
  FNZI_HOP_WHILE_LOOP,
  FNZI_HOP_MAP,
  FNZI_HOP_SCAN,
  FNZI_HOP_ASSOCIATIVE_SCAN,
  FNZI_HOP_CALL,
  FNZI_HOP_EFFECT
} fnzi_hop_kind;

/* The role of an argument. */
typedef enum fnzi_hop_role {
  FNZI_HOP_END,
  FNZI_HOP_PRED,      /* a bool: tensor of one element, symbol or constant */
  FNZI_HOP_GRAPH,     /* the next body */
  FNZI_HOP_CARRIED,   /* a list: the initial values of the first iteration */
  FNZI_HOP_XS,        /* a list: cut along dimension 0, a slice per turn */
  FNZI_HOP_CAPTURED,  /* a list: the same in every turn */
  FNZI_HOP_REST,      /* captured: all that follows, or the one list that follows */
  FNZI_HOP_NOTHING,   /* an empty list */
  FNZI_HOP_SETTING,   /* changes nothing here */
  FNZI_HOP_GRADIENTS, /* whether they are recorded: changes no value */
  FNZI_HOP_AUTOCAST_DEVICE,
  FNZI_HOP_AUTOCAST_DTYPE,
  FNZI_HOP_AUTOCAST_ENABLED,
  FNZI_HOP_TOKEN,
  FNZI_HOP_OPERATOR
} fnzi_hop_role;

/* Consecutive arguments; borrowed from the node. */
typedef struct fnzi_operands {
  const fnz_arg *args;
  uint32_t count;
} fnzi_operands;

typedef struct fnzi_hop {
  fnzi_hop_kind kind;
  const fnzi_node *node;
  uint32_t bodies[2]; /* indices of graphs. COND: if true, if false; WHILE_LOOP: condition, body */
  uint32_t nbodies;
  const fnz_arg *pred;                 /* COND */
  fnzi_operands carried, xs, captured; /* EFFECT: captured is what the operator gets */
  fnzi_operands results; /* the node's, without the list around them if there is one */
  struct {
    const char *device; /* NULL: the node says nothing of autocast */
    fnz_dtype dtype;    /* FNZ_DTYPE_COUNT: the device's own choice */
    bool enabled;
  } autocast;
  bool transparent;     /* CALL: the nodes of the body mean the same where the node stands; with
                         * autocast disabled, outside of a region that enables it */
  const fnz_arg *token; /* EFFECT */
  const fnz_op *op;     /* EFFECT: the operator */
} fnzi_hop;

/* The node is of a higher-order operator, known or not; else it has an op or computes sizes. */
bool fnzi_is_hop(const fnzi_node *node);
bool fnzi_hop_is_known(const fnzi_node *node); /* it has a row */

/* Checks a node against its row: its arguments and their roles. Failures are without a place, which
 * the caller adds: UNSUPPORTED for an operator without a row, TYPE, LIMIT. */
FNZ_MUST_CHECK fnz_status fnzi_hop_read(fnz_context *ctx, const fnz_program *p,
                                        const fnzi_node *node, fnzi_hop *out);

/* The pass puts the body's nodes in the place of the node. `autocast`: an enabled one is around. */
bool fnzi_hop_is_inlined(const fnzi_hop *hop, bool autocast);
/* EFFECT: its operator writes no argument, and returns neither views nor lists. */
bool fnzi_hop_is_plain_effect(const fnzi_hop *hop);

/* Checks the node of `graph` against its bodies: as many inputs as there are operands, results as
 * there are results, of the same kind, dtype and sizes (where these are fixed). The other functions
 * assume it; fnz_program_verify() calls it. */
FNZ_MUST_CHECK fnz_status fnzi_hop_check(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                                         const fnzi_hop *hop);

/* The roles of a node's arguments, up to FNZI_HOP_END; fnzi_hop_role as bytes. `target`: of the
 * node, or of the kind's first row. NULL when there is none. */
const uint8_t *fnzi_hop_roles(const char *target);
const char *fnzi_hop_target(fnzi_hop_kind kind);

/* Operand for input `k` of a body; NULL for what does not come from the node alone (the right side
 * of an associative scan is its xs again). `sliced`: the body gets a slice of it. */
const fnz_arg *fnzi_hop_operand(const fnzi_hop *hop, uint32_t k, bool *sliced);
uint32_t fnzi_hop_input_count(const fnzi_hop *hop); /* of the bodies */

/* EFFECT: argument `k` of the operator, FNZ_ARG_DEFAULT when it was not given. */
fnz_arg fnzi_hop_call_arg(const fnzi_hop *hop, uint32_t k);

#endif
