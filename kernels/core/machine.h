/* machine.h - the CPU backend and the meta backend from inside: one struct for both.
 *
 * It has two faces. apply (apply.c) works on values that never change, so results may share memory
 * with arguments. call (job.c) works on memory, as eager does: plan.c finds out how each
 * operator is served there, by view.c, view_or_copy.c, foreach.c or scatter_copy.c, or by write.c
 * into tensors that are there; lazy_bits.c and memory.c have what tensors over memory need. Both
 * compute with evaluate.c: a row of kernels.def, or a registered kernel (frame.c), which is made to
 * look like one. */
#ifndef FNZI_MACHINE_H
#define FNZI_MACHINE_H

#include "kernels/cpu/cpu.h"
#include "views/composites.h"
#include "views/views.h"

#include <fnz/kernel.h>

/* A kernel that was registered, and the row by which it is evaluated. */
typedef struct fnzi_registered {
  fnz_kernel kernel;
  fnzi_kernel row;
} fnzi_registered;

typedef struct fnzi_job fnzi_job;
typedef struct fnzi_shortcuts fnzi_shortcuts; /* of shortcut.c */
typedef fnz_status fnzi_way_fn(fnzi_job *job);

/* Rows of strict.def about the whole operator. */
enum {
  FNZI_PLAN_EXACT = 1,
  FNZI_PLAN_CASTS = 2,
  FNZI_PLAN_APART = 4,
  FNZI_PLAN_RIGID = 8,
  FNZI_PLAN_QUIET = 16
};

/* How an operator is served on memory. */
typedef struct fnzi_plan {
  fnzi_way_fn *way;                  /* NULL: not found out yet */
  const fnz_op *via;                 /* the operator that does the work; its parameters by name */
  const fnzi_kernel *row;            /* of via */
  const fnzi_registered *registered; /* when the row is one's */
  const fnzi_view *view;             /* of via */
  const fnzi_composite_row *composite;
  struct fnzi_shortcuts *shortcuts;        /* NULL for none */
  unsigned strictness;                     /* FNZI_PLAN_... */
  uint32_t alike, not_bool, masks, floats; /* of strict.def; bit i is about argument i of via */
  bool same_args;                          /* via's parameters are the operator's first ones */
  bool is_pointwise;                       /* the row is, element by element at its place */
} fnzi_plan;

typedef struct fnzi_machine {
  fnz_backend base;
  fnz_context *ctx;
  fnzi_stock stock;
  int threads;
  bool has_data;
  fnzi_plan **plans;  /* by index of the operator; NULL where not found out yet */
  fnzi_plan passing;  /* of the custom operator in hand */
  fnzi_arena lasting; /* plans and registered kernels */
  struct {
    fnzi_registered **data;
    size_t count, capacity;
  } registered;
  fnzi_arena scratch; /* of a call that no other call is part of */
  bool busy;          /* scratch is in use */
} fnzi_machine;

/* The operator's place in the table; false for a custom one. */
bool fnzi_op_index(const fnz_op *op, size_t *out);

/* The row of a registered kernel (frame.c). */
fnzi_shape_fn fnzi_shape_registered;
fnzi_kernel_fn fnzi_kernel_registered;

/* The registered kernel that computes a functional operator; NULL when there is none. */
const fnzi_registered *fnzi_registered_for(const fnzi_machine *m, const fnz_op *op);

/* --- evaluate.c ------------------------------------------------------------------------------- */
/* The row of an operator, of the table or registered; NULL when there is none. */
const fnzi_kernel *fnzi_row_of(const fnzi_machine *m, const fnz_op *op);
/* Arguments with defaults filled in; `out` has room for op->nparams. */
FNZ_MUST_CHECK fnz_status fnzi_fill_args(const fnzi_call *call, const fnz_request *from,
                                         fnz_arg *out);
/* The arguments are what the row takes; then call->outputs are the results, without memory. */
FNZ_MUST_CHECK fnz_status fnzi_evaluate_shape(fnzi_call *call, const fnzi_kernel *row);
/* Gives the results memory. Those that have a storage already keep it. */
FNZ_MUST_CHECK fnz_status fnzi_evaluate_memory(fnzi_call *call, const fnzi_kernel *row);
/* Fills them. */
FNZ_MUST_CHECK fnz_status fnzi_evaluate_run(fnzi_call *call, const fnzi_kernel *row);
void fnzi_release_outputs(fnzi_call *call);
/* How many arguments of the call are this value. */
size_t fnzi_count_uses(const fnz_arg *args, size_t nargs, uint64_t value);
/* The number at place i of a tensor that holds one per element of a list. */
FNZ_MUST_CHECK fnz_status fnzi_number_of(fnz_context *ctx, const fnz_op *op, const fnzi_array *a,
                                         uint32_t i, fnz_arg *out);
FNZ_MUST_CHECK fnz_status fnzi_refuse_lists(fnz_context *ctx, const fnz_op *op);

/* --- apply.c ---------------------------------------------------------------------------------- */
/* A functional operator on values, from its arguments as given to its results; the caller has
 * opened the call, and releases what results there are after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_evaluate_request(fnzi_call *call, const fnzi_kernel *row,
                                                const fnz_request *from);
fnz_status fnzi_machine_apply(void *self, fnz_context *ctx, const fnz_request *call,
                              fnz_handle *outputs, size_t capacity, size_t *count);

/* --- job.c ------------------------------------------------------------------------------------ */
fnz_status fnzi_machine_call(void *self, fnz_context *ctx, const fnz_request *request,
                             fnz_handle *outputs, size_t capacity, size_t *count, char *warning);
/* The elements of an eager array as its lazy bits say, in memory of their own. */
FNZ_MUST_CHECK fnz_status fnzi_machine_resolve(fnzi_machine *m, fnz_context *ctx, fnzi_array *array,
                                               fnzi_array **out);

#endif
