/* composites.h - operators that alias or copy depending on eager geometry: reshape, contiguous, to,
 * chunk, expand_as, atleast_2d ... Each is resolved to views or to a copy. */
#ifndef FNZI_COMPOSITES_H
#define FNZI_COMPOSITES_H

#include "program/program.h"
#include "program/shapes/int.h"

typedef struct fnzi_composite_row fnzi_composite_row; /* a row of composites.def */

/* NULL when op is no such operator. Looks through the table: keep the answer. */
const fnzi_composite_row *fnzi_composite_find(const fnz_op *op);

enum { FNZI_ITEM_STEPS = 4 };

/* The columns of a row, in words. */
typedef struct fnzi_composite_facts {
  const char *rule;
  const fnz_op *steps[FNZI_ITEM_STEPS]; /* `count` operators that it may become */
  size_t count;
  bool itself, kept; /* it may become an argument; or the operator itself, which computes */
} fnzi_composite_facts;
fnzi_composite_facts fnzi_composite_describe(const fnzi_composite_row *row);
/* One of its steps does what fnzi_view_sees_bytes() says. */
bool fnzi_composite_sees_bytes(const fnzi_composite_row *row);

/* One result (or one list of results): steps applied to a tensor argument, one after the other. No
 * step: the argument itself. A step is a view operator, or a copying one (always the last). The
 * tensor goes to args[0] of each. */
typedef struct fnzi_composite_item {
  size_t tensor; /* which of the call's tensor arguments, lists flattened */
  size_t nsteps;
  fnzi_op_call steps[FNZI_ITEM_STEPS];
} fnzi_composite_item;

typedef struct fnzi_resolution {
  bool keep;        /* no aliasing after all: a functional operator, evaluate it as it is */
  bool may_be_self; /* and at some sizes its result is the first tensor argument itself */
  fnzi_composite_item *items;
  size_t count;
} fnzi_resolution;

/* in       its arena holds the result.
 * tensors  eager geometries of the tensor arguments, lists flattened, absent ones left out. */
FNZ_MUST_CHECK fnz_status fnzi_composite_resolve(fnzi_int_space in, const fnzi_composite_row *row,
                                                 const fnzi_op_call *call,
                                                 const fnz_geometry *const *tensors,
                                                 size_t ntensors, fnzi_resolution *out);

/* --- Shared with the reshaping views (reshape.c) ---------------------------------------------- */
/* Strides under which memory of the base shows these sizes (same number of elements); false when
 * only a copy can. */
bool fnzi_view_strides(fnzi_ints *s, const fnz_geometry *base, const fnzi_int *sizes, uint32_t rank,
                       fnzi_int *out);
/* The sizes that an operator is given; one of them may be -1. */
typedef struct fnzi_sized {
  fnz_context *ctx;
  fnzi_ints *ints;
  const char *op;
  fnzi_int *sizes;
  uint32_t rank;
} fnzi_sized;
/* Fills in a size of -1 and checks that the sizes hold `numel` elements. */
FNZ_MUST_CHECK fnz_status fnzi_infer_sizes(const fnzi_sized *to, fnzi_int numel);

#endif
