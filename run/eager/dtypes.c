/* dtypes.c - writes into tensors of another dtype than the functional twin computes by itself. */
#include "run/eager/eager.h"
#include "schema/facts/outs.h"

static fnz_status refuse(fnzi_eag_op *s, fnz_dtype target) {
  return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "",
                   "%s computes %s and takes no tensor of %s for it; give it one of %s",
                   s->op->name, fnzi_dtype(s->own)->name, fnzi_dtype(target)->name,
                   fnzi_dtype(s->own)->name);
}

/* Operators that PyTorch generates from the functional one compute in the dtype of their arguments,
 * so that dtype= cannot be set for them unless the twin makes a new tensor. */
static fnz_status pass_dtype(fnzi_eag_op *s, const fnz_op *twin, fnz_dtype target, fnz_arg *args) {
  int at = fnzi_unsaid_dtype(twin, args);
  if (at < 0 || (fnz_op_has_tag(s->op, "generated") && fnzi_op_param(twin, "layout") < 0))
    return s->knows_own ? refuse(s, target) : FNZ_OK;
  args[at] = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = target};
  return FNZ_OK;
}

fnz_status fnzi_eag_find_dtype(fnzi_eag_op *s, const fnz_op *twin, const fnzi_eag_tensor *target,
                               fnz_arg *args) {
  fnz_dtype dtype = target->g->dtype;
  fnzi_out_rule rule = fnzi_op_is_elementwise(twin) ? FNZI_OUT_EXACT : fnzi_out_rule_of(twin);
  /* The operator does not have the default of its twin. */
  int at = fnzi_op_param(twin, "dtype");
  if (at >= 0 && fnzi_op_param(s->op, "dtype") < 0)
    args[at] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  s->knows_own = fnzi_own_dtype(twin, args, twin->nparams, fnzi_eag_op_geometry, s, &s->own);
  if (s->knows_own && s->own == dtype)
    return FNZ_OK;
  switch (rule) {
  case FNZI_OUT_DTYPE:
    FNZ_TRY(pass_dtype(s, twin, dtype, args));
    s->own = dtype;
    return FNZ_OK;
  case FNZI_OUT_OPERAND:
    if (!s->knows_own || !fnzi_is_float(dtype))
      return s->knows_own ? refuse(s, dtype) : FNZ_OK;
    s->cast_to = target;
    s->own = dtype;
    return FNZ_OK;
  case FNZI_OUT_MIXED:
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s into a tensor of %s computes one part in that and one in another dtype, "
                     "which no functional operator does; cast before or after",
                     s->op->name, fnzi_dtype(dtype)->name);
  case FNZI_OUT_EXACT:
    return s->knows_own ? refuse(s, dtype) : FNZ_OK;
  case FNZI_OUT_CAST:
    break;
  }
  return FNZ_OK;
}

fnz_status fnzi_eag_apply_twin(fnzi_eag_op *s, const fnz_op *twin, const fnz_arg *args,
                               const fnz_geometry *const *expected, fnz_handle *outputs,
                               size_t count) {
  fnz_backend *backend = s->in->run.backend;
  fnz_handle cast = 0;
  fnz_arg *lowered;
  fnz_request call = {twin, args, twin->nparams, expected, ""};
  FNZ_TRY(fnzi_eag_lower(s->in, &call, &lowered));
  if (s->cast_to != NULL) {
    FNZ_TRY(fnzi_eag_unary(s->in, "_to_copy", lowered[0].u.value, s->cast_to->g->dtype, &cast));
    lowered[0].u.value = cast;
  }
  fnz_status status = fnzi_run_apply(&s->in->run, &call, outputs, count);
  if (cast != 0)
    backend->release(backend->self, cast);
  return status;
}
