/* script.c - from a call to a script, and back to calls: tensors become numbers, and numbers become
 * what stands for them where the calls are made. */
#include "program/script.h"

fnz_status fnzi_script_given_make(fnzi_arena *arena, const fnz_op *op, const fnz_arg *args,
                                  size_t nargs, fnzi_script_given *out) {
  size_t count = 0;
  FNZ_TRY(fnzi_args_clone(arena, args, nargs, op->nparams, &out->args));
  FNZI_EACH_ARG(each, args, nargs)
    count += each.arg->tag == FNZ_ARG_VALUE;
  FNZI_NEW(arena, count, &out->tensors);
  FNZI_NEW(arena, count, &out->geometries);
  out->count = 0;
  FNZI_EACH_ARG(each, out->args, nargs) {
    if (each.arg->tag != FNZ_ARG_VALUE)
      continue;
    out->tensors[out->count] = *each.arg;
    fnzi_each_own(&each)->u.value = out->count++;
  }
  return FNZ_OK;
}

fnz_status fnzi_script_args(fnzi_arena *arena, const fnzi_script_call *call, const fnz_arg *values,
                            fnz_arg **out) {
  size_t count = call->op->nparams;
  FNZ_TRY(fnzi_args_clone(arena, call->args, count, count, out));
  FNZI_EACH_ARG(each, *out, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      *fnzi_each_own(&each) = values[each.arg->u.value];
  return FNZ_OK;
}

fnz_status fnzi_script_play(fnzi_arena *arena, const fnzi_script *script, fnz_arg *values,
                            fnzi_script_step *step, void *self) {
  for (size_t i = 0; i < script->calls.count; i++) {
    const fnzi_script_call *call = &script->calls.data[i];
    fnz_arg *args;
    FNZ_TRY(fnzi_script_args(arena, call, values, &args));
    FNZ_TRY(step(self, call, args, values + call->first));
  }
  return FNZ_OK;
}
