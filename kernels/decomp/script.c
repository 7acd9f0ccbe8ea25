/* script.c - what a script learns while a decomposition runs: arrays, steps, results.
 *
 * Each array that the script knows has a number, found by its address: none of them ends before the
 * decomposition does. */
#include "kernels/decomp/script.h"

/* --- Values ----------------------------------------------------------------------------------- */
static fnz_status copy_geometry(fnzi_arena *arena, const fnz_geometry *from,
                                const fnz_geometry **out) {
  fnz_geometry *g;
  int64_t *dims;
  FNZI_NEW(arena, 1, &g);
  FNZI_NEW(arena, (size_t)from->rank * 2, &dims);
  *g = (fnz_geometry){.dtype = from->dtype,
                      .rank = from->rank,
                      .sizes = dims,
                      .strides = dims + from->rank,
                      .offset = from->offset,
                      .is_conj = from->is_conj,
                      .is_neg = from->is_neg};
  if (from->rank) {
    memcpy(dims, from->sizes, from->rank * sizeof *dims);
    memcpy(dims + from->rank, from->strides, from->rank * sizeof *dims);
  }
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_dec_script_array(fnzi_dec_script *script, const fnzi_krn_array *a) {
  const fnz_geometry *g = NULL;
  uintptr_t *key;
  if (a) {
    FNZ_TRY(copy_geometry(script->to->arena, &a->geometry, &g));
    FNZI_NEW(script->to->arena, 1, &key);
    *key = (uintptr_t)a;
    FNZ_TRY(fnzi_map_set(&script->numbers, key, sizeof *key, script->to->values.count));
  }
  FNZI_PUSH(script->to->arena->ctx, &script->to->values, g);
  return FNZ_OK;
}

static fnz_status number_of(const fnzi_dec_script *script, const fnzi_krn_call *whole,
                            const fnzi_krn_array *a, uint64_t *out) {
  uintptr_t key = (uintptr_t)a;
  if (fnzi_map_get(&script->numbers, &key, sizeof key, out))
    return FNZ_OK;
  return fnzi_krn_call_refuse(whole, FNZ_CLASS_UNSUPPORTED,
                              "it makes a constant, so it cannot be written down as steps");
}

/* --- Steps ------------------------------------------------------------------------------------ */
fnz_status fnzi_dec_script_step(fnzi_dec_script *script, const fnzi_krn_call *whole,
                                const fnz_request *from, const fnzi_krn_call *made) {
  fnz_arg *args;
  FNZ_TRY(fnzi_args_clone(script->to->arena, from->args, from->nargs, from->op->nparams, &args));
  FNZI_EACH_ARG(each, args, from->nargs) {
    fnz_arg *arg = fnzi_each_own(&each);
    arg->flags = 0;
    if (arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(number_of(script, whole, fnzi_krn_arg_array(arg), &arg->u.value));
  }
  const fnzi_script_call call = {from->op, args, (uint32_t)script->to->values.count,
                                 (uint32_t)made->noutputs};
  for (size_t k = 0; k < made->noutputs; k++)
    FNZ_TRY(fnzi_dec_script_array(script, made->outputs[k]));
  FNZI_PUSH(script->to->arena->ctx, &script->to->calls, call);
  return FNZ_OK;
}

fnz_status fnzi_dec_script_result(fnzi_dec_script *script, const fnzi_krn_call *whole,
                                  const fnzi_krn_array *array) {
  uint64_t number = FNZI_SCRIPT_UNDEFINED;
  if (array)
    FNZ_TRY(number_of(script, whole, array, &number));
  FNZI_PUSH(script->to->arena->ctx, &script->to->results, (uint32_t)number);
  return FNZ_OK;
}
