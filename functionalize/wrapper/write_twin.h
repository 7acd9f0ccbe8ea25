/* write_twin.h - a call of an operator that writes, on the way to its functional twin: what
 * write_twin.c makes of it and write_twin_check.c checks. */
#ifndef FNZI_WRITE_TWIN_H
#define FNZI_WRITE_TWIN_H

#include "functionalize/wrapper/write_rules.h"

/* A result of the twin: a fresh one, or the new value of a written argument. */
typedef struct fnzi_wrap_slot {
  const fnzi_param *param; /* NULL: a fresh result */
  fnz_tensor *target;
  const fnz_geometry *recorded; /* NULL: not known */
  const fnz_geometry *expected; /* of the twin */
  bool resized;                 /* an out= argument of other sizes than the result */
  const uint32_t *order;        /* of eager's loop, where the target overlaps itself; or NULL */
} fnzi_wrap_slot;

typedef struct fnzi_wrap_twin_call {
  fnz_wrapper *wrapper;
  fnzi_wrap_request *request;   /* of the operator */
  const fnzi_wrap_route *route; /* of the operator */
  fnzi_mutation_call call;
  fnz_arg *args; /* of the twin */
  fnzi_wrap_slot *slots;
  size_t count, nreturned; /* the first nreturned slots are results of the operator itself */
  bool knows_own, casts_operand;
  fnz_dtype own; /* that the twin gives, for one target and unless it is elementwise */
  bool on_bases; /* tensors that a custom operator writes share memory */
  int slices;    /* -1, or the dimension of the target along which it goes slice after slice */
} fnzi_wrap_twin_call;

/* Refuses what eager refuses; sets `slices`, and the `order` of slots. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_twin_check(fnzi_wrap_twin_call *call);
/* The same of a target that is resized to this geometry. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_twin_check_resized(const fnzi_wrap_twin_call *call,
                                                       const fnzi_wrap_slot *slot,
                                                       const fnz_geometry *resized);

/* write_on_bases.c: a call with `on_bases`. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_write_on_bases(const fnzi_wrap_twin_call *call);

#endif
