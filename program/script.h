/* script.h - calls of operators on numbered values: the steps of a decomposed operator, before they
 * become nodes of a program.
 *
 * Values are numbered: first the tensors among the arguments of the operator, once per occurrence,
 * lists flattened; then the results of the calls. The arguments of a call have these numbers in
 * place of values. */
#ifndef FNZI_SCRIPT_H
#define FNZI_SCRIPT_H

#include "program/program.h"

typedef struct fnzi_script_call {
  const fnz_op *op;
  const fnz_arg *args;   /* op->nparams of them; FNZ_ARG_DEFAULT where none is given */
  uint32_t first, count; /* the numbers of its results */
} fnzi_script_call;

#define FNZI_SCRIPT_UNDEFINED UINT32_MAX

typedef struct fnzi_script {
  fnzi_arena *arena; /* where arguments and geometries lie */
  struct {
    const fnz_geometry **data; /* as eager has it; NULL for a result that is undefined */
    size_t count, capacity;
  } values;
  struct {
    fnzi_script_call *data;
    size_t count, capacity;
  } calls;
  struct {
    uint32_t *data; /* the operator's results; FNZI_SCRIPT_UNDEFINED for one that is not there */
    size_t count, capacity;
  } results;
  size_t ninputs;
} fnzi_script;

FNZ_MUST_CHECK static inline fnz_status fnzi_script_result_add(fnzi_script *script,
                                                               uint32_t number) {
  FNZI_PUSH(script->arena->ctx, &script->results, number);
  return FNZ_OK;
}

/* The call that is taken apart: op->nparams arguments, tensors as numbers into `geometries`.
 * expected: of its results, where they are recorded: sizes that depend on elements are these.
 * unread: bits of its first 64 results; one is set where nothing reads the result.
 * open: bits of its first 64 arguments; one is set where a number of it is an expression.
 * open_dims: bits of the dimensions of its first tensor; one is set where the size is one. */
typedef struct fnzi_script_whole {
  const fnz_op *op;
  const fnz_arg *args;
  const fnz_geometry *const *geometries;
  const fnz_geometry *const *expected;
  size_t nexpected;
  uint64_t unread, open, open_dims;
} fnzi_script_whole;

/* Frees everything that is not in the arena. */
static inline void fnzi_script_free(fnzi_script *script) {
  fnz_context *ctx = script->arena->ctx;
  FNZI_VEC_FREE(ctx, &script->values);
  FNZI_VEC_FREE(ctx, &script->calls);
  FNZI_VEC_FREE(ctx, &script->results);
}

/* --- From calls to scripts, and back (program/script.c) --------------------------------------- */
/* A call with numbers in place of tensors. */
typedef struct fnzi_script_given {
  fnz_arg *args;                   /* op->nparams of them */
  fnz_arg *tensors;                /* by number */
  const fnz_geometry **geometries; /* of the tensors: room for the caller to fill in */
  size_t count;
} fnzi_script_given;
FNZ_MUST_CHECK fnz_status fnzi_script_given_make(fnzi_arena *arena, const fnz_op *op,
                                                 const fnz_arg *args, size_t nargs,
                                                 fnzi_script_given *out);

/* The arguments of a call, each number replaced by what `values` has at it. */
FNZ_MUST_CHECK fnz_status fnzi_script_args(fnzi_arena *arena, const fnzi_script_call *call,
                                           const fnz_arg *values, fnz_arg **out);

/* Makes a call: `args` are in the arena, `results` has room for call->count of them. */
typedef fnz_status fnzi_script_step(void *self, const fnzi_script_call *call, fnz_arg *args,
                                    fnz_arg *results);
/* Makes each call of a script in order.
 * values   what stands for each number: the caller sets the inputs, steps set their results */
FNZ_MUST_CHECK fnz_status fnzi_script_play(fnzi_arena *arena, const fnzi_script *script,
                                           fnz_arg *values, fnzi_script_step *step, void *self);

#endif
