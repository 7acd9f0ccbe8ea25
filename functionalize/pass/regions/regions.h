/* regions.h - graphs inside of a program: several passes at work, and what a body was made into.
 *
 *   body.c       a body gets inputs, is looked up by what it was made for, gives its results
 *   operands.c      what the bodies of a node are made for: which operands are one memory, which
 *                  are written, and in what order everything goes in and comes out
 *   emit.c  the node that takes the place of a higher-order one
 *   results.c  what its results and the writes of its bodies are to the pass
 *   tokens.c      nodes that keep other operators in order
 *
 * A body gets *bases*: memory that comes in as one value. Usually each operand is a base of its
 * own. Operands that overlap are windows of one base when a body writes one of them: the storage
 * that they lie in. What a body has written comes back as further results. */
#ifndef FNZI_REGIONS_H
#define FNZI_REGIONS_H

#include "functionalize/pass/pass.h"
#include "program/region_ops.h"

/* Whether the final value of a base is a result. */
typedef enum fnzi_returns {
  FNZI_RETURNS_NEVER,
  FNZI_RETURNS_WRITTEN, /* if this body writes it */
  FNZI_RETURNS_ALWAYS
} fnzi_returns;

typedef struct fnzi_base {
  const fnz_geometry *memory; /* what it looks like in eager; interned in the target program */
  const fnz_geometry *value;  /* and the value that is handed in */
  uint32_t name;              /* the source input whose name it has */
  fnzi_returns returns;
  bool last; /* that result stands behind all others, not behind the first `leading` */
} fnzi_base;

/* What an input of the source graph is. */
typedef struct fnzi_binding {
  bool is_tensor;
  uint32_t base;              /* of a tensor */
  const fnz_geometry *window; /* of it; interned */
} fnzi_binding;

/* What an input of the target graph is: a base, or an input that is no tensor. */
typedef struct fnzi_slot {
  bool is_base;
  uint32_t index;
  uint32_t
      role; /* fnzi_hop_role: the list of operands that it belongs to; of no matter to a body */
} fnzi_slot;

/* What a body is made for. Equal keys give equal bodies. */
typedef struct fnzi_body_key {
  uint32_t graph;   /* of the source program */
  uint32_t leading; /* results of the source that come before the values of bases */
  bool autocast;    /* it runs under an enabled autocast */
  fnzi_binding *inputs;
  fnzi_base *bases;
  fnzi_slot *slots;
  uint32_t ninputs, nbases, nslots;
} fnzi_body_key;

typedef enum fnzi_origin {
  FNZI_ORIGIN_NUMBER, /* no tensor */
  FNZI_ORIGIN_BASE,   /* it lies in the memory of base `of` */
  FNZI_ORIGIN_FRESH   /* in new memory, together with output `of`, the first that does */
} fnzi_origin;

typedef struct fnzi_body_output {
  fnzi_origin origin;
  uint32_t of;
  uint32_t same_input;          /* the very tensor that is this input; FNZI_NO_NODE for none */
  bool whole;                   /* it shows all of its memory */
  bool entangled;               /* see fnzi_storage */
  const fnz_geometry *geometry; /* interned */
} fnzi_body_output;

typedef struct fnzi_base_end {
  bool written, entangled, returned;
  const char *source; /* of the last write */
} fnzi_base_end;

typedef struct fnzi_body {
  struct fnzi_body *next; /* another one of the same source graph, made earlier */
  fnzi_body_key key;
  uint32_t into;
  bool done, effects;
  fnzi_body_output *outputs; /* per output of the source graph */
  fnzi_base_end *ends;       /* per base */
} fnzi_body;

/* --- body.c ----------------------------------------------------------------------------------- */
/* The body that was made for this; NULL when there is none. */
fnzi_body *fnzi_body_find(const fnzi_passes *all, const fnzi_body_key *key);
/* Puts a pass on top that will make it. */
FNZ_MUST_CHECK fnz_status fnzi_body_start(fnzi_passes *all, const fnzi_body_key *key);
/* Its outputs, when all its nodes have been replayed. */
FNZ_MUST_CHECK fnz_status fnzi_body_finish(fnzi_pass *p);
/* Puts the graphs that the program needs in the order of the source, without the others. */
FNZ_MUST_CHECK fnz_status fnzi_bodies_arrange(fnzi_passes *all);

/* --- operands.c ------------------------------------------------------------------------------- */
typedef struct fnzi_operand {
  const fnz_arg *arg;
  fnz_tensor *tensor; /* NULL for what is no tensor */
  fnzi_hop_role role; /* CARRIED, XS or CAPTURED */
  uint32_t base;
  uint32_t first, next; /* of those that lie in its storage, in order; FNZI_NO_NODE for no more */
  bool written, merged;
} fnzi_operand;

typedef struct fnzi_region {
  fnzi_hop hop;
  fnzi_operand *operands; /* per input of the bodies */
  uint32_t noperands, rounds;
  fnzi_body_key keys[2]; /* per body; the arrays of inputs and slots are the same */
  uint32_t *first;       /* per base: its first operand */
  const fnzi_body *bodies[2];
  bool inlined; /* its nodes stand among those of the pass by now */
} fnzi_region;

/* Goes on with the node of a higher-order operator that is p's turn. `*waits`: there is a pass on
 * top that must end first. */
FNZ_MUST_CHECK fnz_status fnzi_region_pass(fnzi_pass *p, const fnzi_node *node, bool *waits);

/* A body whose nodes stand in the pass below it has ended: that one gets its results. */
FNZ_MUST_CHECK fnz_status fnzi_region_inlined(fnzi_pass *body);

/* --- emit.c ----------------------------------------------------------------------------------- */
/* The bodies are made: records the node, writes what they have written, binds the results. */
FNZ_MUST_CHECK fnz_status fnzi_region_emit(fnzi_pass *p, fnzi_region *region);
/* What a node of the target gives for a result of the source. */
FNZ_MUST_CHECK fnz_status fnzi_region_outcome(const fnzi_pass *p, const fnz_arg *result,
                                              fnzi_outcome *out);

/* --- results.c -------------------------------------------------------------------------------- */
/* The operands of a base get its new value. */
FNZ_MUST_CHECK fnz_status fnzi_region_write(fnzi_pass *p, const fnzi_region *region, uint32_t base,
                                            fnzi_held *value);
/* Tensors for the node's own results, of which these are values and handles. After all writes. */
FNZ_MUST_CHECK fnz_status fnzi_region_bind(fnzi_pass *p, const fnzi_region *region,
                                           fnzi_held *const *values, const fnz_handle *handles);

/* --- tokens.c --------------------------------------------------------------------------------- */
/* A node that keeps another operator in order. */
FNZ_MUST_CHECK fnz_status fnzi_effect_emit(fnzi_pass *p, const fnzi_hop *hop);

/* The strides of two geometries of equal sizes are the same where they matter. */
static inline bool fnzi_same_strides(const fnz_geometry *a, const fnz_geometry *b) {
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] != 1 && a->strides[d] != b->strides[d])
      return fnz_geometry_numel(a) == 0;
  return a->is_conj == b->is_conj && a->is_neg == b->is_neg;
}
static inline bool fnzi_region_loops(const fnzi_region *r) {
  return r->hop.kind != FNZI_HOP_COND && r->hop.kind != FNZI_HOP_CALL;
}
static inline fnzi_alias *fnzi_operand_alias(const fnzi_operand *o) {
  return o->merged ? o->tensor->node->storage->root : o->tensor->node;
}

#endif
