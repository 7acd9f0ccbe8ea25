/* composite.h - what the rules of composites share. */
#ifndef FNZI_COMPOSITE_H
#define FNZI_COMPOSITE_H

#include "views/composites.h"
#include "views/emit.h"
#include "views/views.h"

/* A composite that is being resolved. */
typedef struct fnzi_resolving {
  fnz_context *ctx;
  fnzi_ints *ints; /* NULL where all sizes are fixed */
  fnzi_arena *arena;
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
  const fnz_geometry *const *tensors;
  size_t ntensors;
  const fnz_geometry *self; /* tensors[0] */
  fnzi_resolution *out;
  uint32_t used; /* FNZI_STEP_* of all steps, as bits */
} fnzi_resolving;

typedef fnz_status fnzi_resolve_fn(fnzi_resolving *r);

#define RULE(rule, steps) fnzi_resolve_fn fnzi_resolve_##rule;
#include "views/composites.def"

/* --- Arguments -------------------------------------------------------------------------------- */
static inline fnz_arg fnzi_composite_arg(const fnzi_resolving *r, size_t i) {
  return fnzi_arg_get(r->op, r->args, r->nargs, i);
}
/* The argument of that name; DEFAULT where the overload has none. */
fnz_arg fnzi_composite_arg_named(const fnzi_resolving *r, const char *name);
FNZ_MUST_CHECK fnz_status fnzi_composite_arg_dim(const fnzi_resolving *r, size_t i, uint32_t *out);
FNZ_MUST_CHECK fnz_status fnzi_composite_arg_ints(const fnzi_resolving *r, size_t i, fnzi_int **out,
                                                  size_t *count);

/* --- Results ---------------------------------------------------------------------------------- */
/* Room for `count` results; each starts as tensor argument 0 itself. */
FNZ_MUST_CHECK fnz_status fnzi_composite_results(fnzi_resolving *r, size_t count);
/* Appends a step to result k: step(tensor, args[1..nargs)). */
FNZ_MUST_CHECK fnz_status fnzi_composite_add_step(fnzi_resolving *r, size_t k, fnzi_step_op step,
                                                  const fnz_arg *args, size_t nargs);
/* A step whose only further argument is a list of integers. */
FNZ_MUST_CHECK fnz_status fnzi_composite_add_sizes_step(fnzi_resolving *r, size_t k,
                                                        fnzi_step_op step, const fnzi_int *sizes,
                                                        size_t rank);
/* A step whose further arguments are one or two integers. */
FNZ_MUST_CHECK fnz_status fnzi_composite_add_int_step(fnzi_resolving *r, size_t k,
                                                      fnzi_step_op step, int64_t a);
FNZ_MUST_CHECK fnz_status fnzi_composite_add_ints_step(fnzi_resolving *r, size_t k,
                                                       fnzi_step_op step, int64_t a, int64_t b);
/* The same with the sizes of a geometry. */
FNZ_MUST_CHECK fnz_status fnzi_composite_add_like_step(fnzi_resolving *r, size_t k,
                                                       fnzi_step_op step, const fnz_geometry *like);
/* The one result is step(self, args[1..nargs)). */
FNZ_MUST_CHECK fnz_status fnzi_composite_is_call(fnzi_resolving *r, fnzi_step_op step,
                                                 const fnz_arg *args, size_t nargs);
/* The one result is the first tensor argument itself. */
FNZ_MUST_CHECK fnz_status fnzi_composite_is_self(fnzi_resolving *r);

#endif
