/* regions.h - the bodies of higher-order operators, and the nodes that have them.
 *
 *   body.c      a body as a graph of its own: its inputs, its results, looked up by its key
 *   operands.c  the keys of a node's bodies: which operands share memory, which are written, and in
 *               what order values go in and come out
 *   emit.c      the node that replaces a higher-order one
 *   results.c   tensors for its results, and the writes of its bodies
 *   tokens.c    nodes that keep other operators in order
 *
 * A body gets *bases*: memory that comes in as one value. Usually each operand is a base of its
 * own. Operands that overlap are merged when a body writes one of them: they become windows of one
 * base, their storage. The final values of bases that a body writes are further results. */
#ifndef FNZI_REGIONS_H
#define FNZI_REGIONS_H

#include "functionalize/pass/pass.h"
#include "program/region_ops.h"

/* Whether the final value of a base is a result. */
typedef enum fnzi_region_returns {
  FNZI_RETURNS_NEVER,
  FNZI_RETURNS_WRITTEN, /* if this body writes it */
  FNZI_RETURNS_ALWAYS
} fnzi_region_returns;

typedef struct fnzi_region_base {
  const fnz_geometry *memory; /* its geometry in eager; interned in the target program */
  const fnz_geometry *value;  /* the geometry of the value that comes in */
  uint32_t name;              /* the input of the source graph whose name it gets */
  fnzi_region_returns returns;
  bool last;     /* its final value comes after all results, not after the first `leading` */
  bool is_slice; /* its memory in eager begins before it */
} fnzi_region_base;

/* The meaning of an input of the source graph. */
typedef struct fnzi_region_binding {
  bool is_tensor;
  uint32_t base;              /* of a tensor */
  const fnz_geometry *window; /* of it; interned */
} fnzi_region_binding;

/* The meaning of an input of the target graph: a base, or an input that is no tensor. */
typedef struct fnzi_region_slot {
  bool is_base;
  uint32_t index;
  uint32_t role; /* fnzi_hop_role: the list that it is in; does not matter to a body */
} fnzi_region_slot;

/* Everything that a body depends on. Equal keys give equal bodies. */
typedef struct fnzi_region_key {
  uint32_t graph;   /* of the source program */
  uint32_t leading; /* results of the source that come before the final values of bases */
  bool autocast;    /* it runs under an enabled autocast */
  bool in_slices;   /* it, or a body around it, gets slices */
  fnzi_region_binding *inputs;
  fnzi_region_base *bases;
  fnzi_region_slot *slots;
  uint32_t ninputs, nbases, nslots;
} fnzi_region_key;

typedef enum fnzi_region_origin {
  FNZI_ORIGIN_NUMBER, /* no tensor */
  FNZI_ORIGIN_BASE,   /* in the memory of base `of` */
  FNZI_ORIGIN_FRESH   /* in new memory, together with output `of`, the first output there */
} fnzi_region_origin;

typedef struct fnzi_region_output {
  fnzi_region_origin origin;
  uint32_t of;
  uint32_t same_input;          /* the output is this input itself; FNZI_NO_NODE for none */
  bool whole;                   /* it shows all of its memory */
  bool entangled;               /* see fnzi_wrap_storage */
  const fnz_geometry *geometry; /* interned */
} fnzi_region_output;

typedef struct fnzi_region_base_end {
  bool written, entangled, returned;
  const char *source; /* of the last write */
} fnzi_region_base_end;

typedef struct fnzi_region_body {
  struct fnzi_region_body *next; /* an earlier body of the same source graph */
  fnzi_region_key key;
  uint32_t into;
  bool done, effects;
  fnzi_region_output *outputs; /* per output of the source graph */
  fnzi_region_base_end *ends;  /* per base */
} fnzi_region_body;

/* --- body.c ----------------------------------------------------------------------------------- */
/* The finished body with this key; NULL when there is none. */
fnzi_region_body *fnzi_region_body_find(const fnzi_pass_stack *all, const fnzi_region_key *key);
/* Puts a pass on top that makes it. */
FNZ_MUST_CHECK fnz_status fnzi_region_body_start(fnzi_pass_stack *all, const fnzi_region_key *key);
/* Makes the outputs of the body, after all its nodes are replayed. */
FNZ_MUST_CHECK fnz_status fnzi_region_body_finish(fnzi_pass *p);
/* Drops graphs that the program does not need, and puts the others in the order of the source. */
FNZ_MUST_CHECK fnz_status fnzi_region_bodies_arrange(fnzi_pass_stack *all);

/* --- operands.c ------------------------------------------------------------------------------- */
typedef struct fnzi_region_operand {
  const fnz_arg *arg;
  fnz_tensor *tensor; /* NULL for no tensor */
  fnzi_hop_role role; /* CARRIED, XS or CAPTURED */
  uint32_t base;
  uint32_t first, next; /* operands in the same storage, in order; FNZI_NO_NODE ends */
  bool written, merged;
} fnzi_region_operand;

typedef struct fnzi_region_op {
  fnzi_hop hop;
  fnzi_region_operand *operands; /* per input of the bodies */
  uint32_t noperands, rounds;
  fnzi_region_key keys[2]; /* per body; the arrays of inputs and slots are the same */
  uint32_t *first;         /* per base: its first operand */
  const fnzi_region_body *bodies[2];
  bool inlined; /* the nodes of its body are replayed among the pass's nodes */
} fnzi_region_op;

/* Replays the higher-order node at p->at as far as possible. `*waits`: a pass on top must end
 * first. */
FNZ_MUST_CHECK fnz_status fnzi_region_replay(fnzi_pass *p, const fnzi_node *node, bool *waits);

/* An inlined body has ended: the pass below gets its results. */
FNZ_MUST_CHECK fnz_status fnzi_region_inlined_finish(fnzi_pass *body);

/* --- emit.c ----------------------------------------------------------------------------------- */
/* When its bodies are finished: records the node, writes the final values of bases, binds the
 * results. */
FNZ_MUST_CHECK fnz_status fnzi_region_emit(fnzi_pass *p, fnzi_region_op *region);
/* The outcome of a target node for a result of the source. */
FNZ_MUST_CHECK fnz_status fnzi_region_result_outcome(const fnzi_pass *p, const fnz_arg *result,
                                                     fnzi_rec_outcome *out);

/* --- results.c -------------------------------------------------------------------------------- */
/* Writes the final value of a base to the operands in it. */
FNZ_MUST_CHECK fnz_status fnzi_region_base_write(fnzi_pass *p, const fnzi_region_op *region,
                                                 uint32_t base, fnzi_value_ref *value);
/* Makes tensors of the node's own results, from their values and handles. After all writes. */
FNZ_MUST_CHECK fnz_status fnzi_region_results_bind(fnzi_pass *p, const fnzi_region_op *region,
                                                   fnzi_value_ref *const *values,
                                                   const fnz_handle *handles);

/* --- tokens.c --------------------------------------------------------------------------------- */
/* Replays a node that keeps another operator in order. */
FNZ_MUST_CHECK fnz_status fnzi_region_token_replay(fnzi_pass *p, const fnzi_hop *hop);

/* The strides of two geometries of equal sizes are the same where they matter. */
static inline bool fnzi_region_same_strides(const fnz_geometry *a, const fnz_geometry *b) {
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] != 1 && a->strides[d] != b->strides[d])
      return fnz_geometry_numel(a) == 0;
  return a->is_conj == b->is_conj && a->is_neg == b->is_neg;
}
static inline bool fnzi_region_loops(const fnzi_region_op *r) {
  return r->hop.kind != FNZI_HOP_COND && r->hop.kind != FNZI_HOP_CALL;
}
static inline fnzi_wrap_alias *fnzi_region_operand_alias(const fnzi_region_operand *o) {
  return o->merged ? o->tensor->alias->storage->root : o->tensor->alias;
}

#endif
