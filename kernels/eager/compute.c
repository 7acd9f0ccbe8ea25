/* compute.c - an operator by its row, into new memory; the types of its arguments as eager checks
 * them. Operators that write arguments are in write.c. */
#include "kernels/eager/eager.h"

/* --- What facts.def asks of arguments --------------------------------------------------------- */
static bool is_asked(uint32_t which, size_t i) {
  return i < 32 && (which >> i & 1);
}

fnz_status fnzi_mem_job_check_types(const fnzi_mem_job *job, const fnz_arg *args) {
  const fnzi_mem_route *route = job->route;
  if (!(route->alike | route->not_bool | route->floats))
    return FNZ_OK;
  const fnzi_param *params = route->via->params;
  const fnzi_krn_array *first = fnzi_krn_arg_array(&args[0]);
  for (size_t i = 0; i < route->via->nparams; i++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&args[i]);
    if (is_asked(route->alike, i) && first && a && a->geometry.dtype != first->geometry.dtype)
      return fnzi_mem_job_fail(job, FNZ_CLASS_TYPE, "%s is %s, but %s is %s; both must be the same",
                               params[i].name, fnzi_dtype(a->geometry.dtype)->name, params[0].name,
                               fnzi_dtype(first->geometry.dtype)->name);
    if (is_asked(route->not_bool, i) &&
        (a ? a->geometry.dtype == FNZ_BOOL : args[i].tag == FNZ_ARG_BOOL))
      return fnzi_mem_job_fail(job, FNZ_CLASS_TYPE,
                               "%s is bool; convert it, or use a logical operator", params[i].name);
    if (is_asked(route->floats, i) && a && !fnzi_is_float(a->geometry.dtype))
      return fnzi_mem_job_fail(job, FNZ_CLASS_TYPE, "%s is %s; cast it to a floating-point type",
                               params[i].name, fnzi_dtype(a->geometry.dtype)->name);
  }
  return FNZ_OK;
}

/* --- Evaluating ------------------------------------------------------------------------------- */
static fnz_status compute_evaluate(fnzi_mem_job *job, fnzi_krn_call *call) {
  const fnzi_kernel *row = job->route->row;
  FNZ_TRY(fnzi_meta_evaluate_shape(call, row));
  if (!call->has_data)
    return FNZ_OK;
  FNZ_TRY(fnzi_meta_evaluate_memory(call, row));
  return fnzi_meta_evaluate_run(call, row);
}

/* Hands the results of a call over; those left after a failure are released. */
static fnz_status give_outputs(fnzi_mem_job *job, fnzi_krn_call *call, fnz_status status) {
  size_t count = call->noutputs;
  call->noutputs = 0;
  for (size_t k = 0; k < count; k++) {
    fnzi_krn_array *out = call->outputs[k];
    if (status == FNZ_OK && out)
      status = fnzi_mem_job_own_result(job, out);
    if (status == FNZ_OK)
      status = fnzi_mem_job_give(job, out);
    else
      fnzi_krn_array_release(job->ctx, out);
  }
  return status;
}

static fnz_status compute(fnzi_mem_job *job, const fnz_arg *args) {
  fnzi_krn_call call;
  FNZ_TRY(fnzi_mem_job_open(job, args, &call));
  fnz_status status = compute_evaluate(job, &call);
  if (status == FNZ_OK && call.has_data)
    fnzi_mem_shortcut_learn(job, &call);
  fnzi_mem_job_close(job, &call);
  return give_outputs(job, &call, status);
}

fnz_status fnzi_mem_job_on_args(fnzi_mem_job *job, fnzi_args_fn *body) {
  const fnz_arg *given, *args;
  fnzi_krn_array **temporaries;
  size_t count;
  FNZ_TRY(fnzi_mem_job_via_args(job, &given));
  FNZ_TRY(fnzi_mem_job_plain_args(job, job->route->via, given, &args, &temporaries, &count));
  fnz_status status = fnzi_mem_job_check_types(job, args);
  if (status == FNZ_OK)
    status = body(job, args);
  fnzi_mem_job_drop(job, temporaries, count);
  return status;
}

fnz_status fnzi_serve_compute(fnzi_mem_job *job) {
  return fnzi_mem_job_on_args(job, compute);
}

fnz_status fnzi_serve_refuse(fnzi_mem_job *job) {
  return fnzi_mem_job_fail(
      job, FNZ_CLASS_UNSUPPORTED,
      "there is no kernel for this operator, nor for one that it follows from; "
      "register one");
}
