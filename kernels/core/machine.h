/* machine.h - the CPU backend and the meta backend from inside: one struct for both.
 *
 * It has two faces. apply (kernels/apply.c) works on values that never change, so results may share
 * memory with arguments. call (kernels/eager) works on memory, as eager does. Both compute with
 * meta/evaluate.c: a row of kernels.def, or a registered kernel (frame.c), which is made to look
 * like one. */
#ifndef FNZI_MACHINE_H
#define FNZI_MACHINE_H

#include "kernels/core/core.h"

#include <fnz/kernel.h>

/* A kernel that was registered, and the row by which it is evaluated. */
typedef struct fnzi_krn_registered {
  fnz_kernel kernel;
  fnzi_kernel row;
} fnzi_krn_registered;

typedef struct fnzi_krn_machine fnzi_krn_machine;
typedef struct fnzi_mem_route fnzi_mem_route; /* how eager serves an operator (eager/eager.h) */

struct fnzi_krn_machine {
  fnz_backend base;
  fnz_context *ctx;
  fnzi_krn_stock stock;
  fnzi_krn_team *team;
  bool has_data;
  const fnzi_krn_kernels *kernels;
  fnzi_mem_route **routes; /* by index of the operator; NULL where not made yet */
  fnzi_mem_route *passing; /* of the custom operator that is called */
  fnzi_arena lasting;      /* routes and registered kernels */
  uint32_t generation;     /* how often a kernel was registered: routes of before are out of date */
  struct {
    fnzi_krn_registered **data;
    size_t count, capacity;
  } registered;
  fnzi_arena scratch; /* of the outermost call */
  bool busy;          /* scratch is in use */
  /* fnzi_mem_route_find() of eager/route.c. An operator runs its parts as operators, so eager/job.c
   * needs routes, and routes point to functions that use job.c: this pointer cuts that circle. */
  fnz_status (*route_find)(fnzi_krn_machine *m, const fnz_op *op, const fnzi_mem_route **out);
};

/* --- frame.c: the row of a registered kernel -------------------------------------------------- */
fnzi_shape_fn fnzi_shape_registered;
fnzi_kernel_fn fnzi_kernel_registered;

/* --- registry.c ------------------------------------------------------------------------------- */
/* The registered kernel that computes a functional operator; NULL when there is none. */
const fnzi_krn_registered *fnzi_krn_registered_for(const fnzi_krn_machine *m, const fnz_op *op);
/* That of this very operator, and the structured one of its group; NULL when there is none. */
fnzi_krn_registered *fnzi_krn_registered_same(const fnzi_krn_machine *m, const fnz_op *op);
fnzi_krn_registered *fnzi_krn_registered_structured(const fnzi_krn_machine *m, const fnz_op *op);
/* The common operator of an operator and its variants: the functional one. */
const fnz_op *fnzi_krn_op_group(const fnz_op *op);

#endif
