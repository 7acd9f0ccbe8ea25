/* emit.c - calls of the backend, whose results become values of the wrapper.
 *
 * needs   arguments as the backend's handles
 * keeps   the order in which the backend is called
 * gives   new values, which are the wrapper's until the call ends */
#include "functionalize/wrapper/wrapper.h"

fnz_status fnzi_wrap_apply_values(fnz_wrapper *wrapper, fnzi_op_call call,
                                  const fnz_geometry *const *expected, size_t nexpected,
                                  size_t *first, size_t *count) {
  const fnz_request request = {call.op, call.args, call.nargs, expected,
                               wrapper->source ? wrapper->source : ""};
  size_t capacity = expected ? nexpected : fnzi_request_capacity(wrapper->backend, &request);
  fnz_handle *handles;
  FNZI_NEW(&wrapper->scratch, capacity, &handles);
  FNZ_TRY(wrapper->backend->apply(wrapper->backend->self, wrapper->ctx, &request, handles, capacity,
                                  count));
  if (wrapper->slack)
    --*wrapper->slack;
  fnz_status status = FNZ_OK;
  *first = wrapper->fresh.count;
  for (size_t i = 0; i < *count; i++) {
    if (status == FNZ_OK)
      status = fnzi_wrap_value_take(wrapper, handles[i]);
    else if (handles[i])
      wrapper->backend->release(wrapper->backend->self, handles[i]);
  }
  return status;
}

fnz_status fnzi_wrap_emit_one(fnz_wrapper *wrapper, fnzi_emit_op op, const fnz_arg *args,
                              size_t nargs, const fnz_geometry *result, fnzi_value_ref **out) {
  size_t first, count;
  FNZ_TRY(fnzi_wrap_apply_values(wrapper, (fnzi_op_call){fnzi_emitted_op(op), args, nargs}, &result,
                                 1, &first, &count));
  *out = wrapper->fresh.data[first];
  return FNZ_OK;
}

fnz_status fnzi_wrap_emit_full(fnz_wrapper *wrapper, const fnz_geometry *result, fnz_arg number,
                               fnzi_value_ref **out) {
  fnz_arg args[8] = {{0}};
  const fnz_op *op = fnzi_emitted_op(FNZI_EMIT_FULL);
  FNZ_TRY(fnzi_arg_of_sizes(&wrapper->scratch, result, &args[0]));
  args[1] = number;
  args[fnzi_op_param(op, "dtype")] = fnzi_arg_dtype(result->dtype);
  return fnzi_wrap_emit_one(wrapper, FNZI_EMIT_FULL, args, op->nparams, result, out);
}

fnzi_emitted fnzi_wrap_emitted_of(const fnzi_value_ref *v) {
  return (fnzi_emitted){v->handle, v->geometry};
}

static fnz_status emit(void *self, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                       const fnz_geometry *result, fnzi_emitted *out) {
  fnzi_value_ref *v;
  FNZ_TRY(fnzi_wrap_emit_one(self, op, args, nargs, result, &v));
  *out = fnzi_wrap_emitted_of(v);
  return FNZ_OK;
}

void fnzi_wrap_start_emitter(fnz_wrapper *wrapper) {
  wrapper->emitter = (fnzi_emitter){wrapper->ctx, wrapper->ints, &wrapper->scratch, wrapper, emit};
}

fnzi_value_ref *fnzi_wrap_value_emitted(fnz_wrapper *wrapper, fnzi_emitted e,
                                        fnzi_value_ref *start) {
  for (size_t i = wrapper->fresh.count; i-- > 0;)
    if (wrapper->fresh.data[i] && wrapper->fresh.data[i]->handle == e.handle)
      return wrapper->fresh.data[i];
  return start;
}
