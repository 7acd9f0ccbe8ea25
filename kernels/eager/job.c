/* job.c - an operator at work on memory: its arguments, its results and the operators that are
 * parts of it. */
#include "kernels/eager/eager.h"

#include <stdio.h>

fnz_status fnzi_mem_job_fail(const fnzi_mem_job *job, fnz_class kind, const char *format, ...) {
  char text[sizeof job->ctx->error.message];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return fnzi_fail(job->ctx, kind, NULL, "%s: %s", job->op->name, text);
}

/* --- Results ---------------------------------------------------------------------------------- */
fnz_status fnzi_mem_job_give(fnzi_mem_job *job, fnzi_krn_array *array) {
  if (job->count == job->capacity) {
    fnzi_krn_array_release(job->ctx, array);
    return fnzi_mem_job_fail(job, FNZ_CLASS_ARGUMENT, "there is room for %zu results only",
                             job->capacity);
  }
  job->outputs[job->count++] = fnzi_krn_array_handle(array);
  return FNZ_OK;
}

fnz_status fnzi_mem_job_give_again(fnzi_mem_job *job, fnzi_krn_array *array) {
  if (array)
    array->refs++;
  return fnzi_mem_job_give(job, array);
}

static bool lies_well(const fnzi_krn_array *out) {
  size_t bytes = out->geometry.rank * sizeof *out->dims;
  return out->storage->refs == 1 && out->window.offset == out->geometry.offset &&
         (!bytes || memcmp(out->window.strides, out->geometry.strides, bytes) == 0);
}

fnz_status fnzi_mem_job_own_result(fnzi_mem_job *job, fnzi_krn_array *out) {
  fnzi_krn_array *copy;
  if (out->storage && lies_well(out)) {
    out->eager = true;
    return FNZ_OK;
  }
  if (!out->storage || out->storage->refs == 1)
    return fnzi_mem_array_make_eager(job->m, job->ctx, out);
  fnz_geometry g = out->geometry;
  g.is_conj = g.is_neg = false;
  FNZ_TRY(fnzi_mem_array_create(job->m, job->ctx, &g, &copy));
  fnz_status status = fnzi_mem_array_copy(job->m, job->ctx, job->op, copy, out);
  fnzi_krn_storage *shared = out->storage;
  out->storage = copy->storage;
  copy->storage = shared;
  fnzi_krn_array_window_as_geometry(out);
  out->eager = true;
  fnzi_krn_array_release(job->ctx, copy);
  return status;
}

/* --- Parts ------------------------------------------------------------------------------------ */
fnz_status fnzi_mem_job_part(const fnzi_mem_job *job, const fnz_op *op, const fnz_arg *args,
                             fnz_handle *outputs, size_t capacity, size_t *count) {
  fnzi_mem_job part = *job;
  *count = 0;
  if (++part.depth > FNZI_MOST_DEPTH)
    return fnzi_mem_job_fail(job, FNZ_CLASS_INTERNAL, "%s is nested too deep", op->name);
  part.op = op;
  part.args = args;
  part.outputs = outputs;
  part.capacity = capacity;
  part.count = 0;
  FNZ_TRY(job->m->route_find(job->m, op, &part.route));
  fnz_status status = part.route->serve(&part);
  while (status != FNZ_OK && part.count > 0)
    fnzi_krn_array_release(job->ctx, fnzi_krn_array_of(outputs[--part.count]));
  *count = part.count;
  return status;
}

fnz_status fnzi_mem_job_part_of_one(const fnzi_mem_job *job, const fnz_op *op, const fnz_arg *args,
                                    fnzi_krn_array **out) {
  fnz_handle handle = 0;
  size_t count;
  *out = NULL;
  FNZ_TRY(fnzi_mem_job_part(job, op, args, &handle, 1, &count));
  *out = fnzi_krn_array_of(handle);
  if (count == 1 && *out)
    return FNZ_OK;
  return fnzi_mem_job_fail(job, FNZ_CLASS_INTERNAL, "%s gave no result", op->name);
}

fnz_status fnzi_mem_job_part_on(const fnzi_mem_job *job, const fnz_op *op, fnzi_krn_array *array,
                                fnzi_krn_array **out) {
  fnz_arg *args;
  if (!op)
    return fnzi_mem_job_fail(job, FNZ_CLASS_INTERNAL, "an operator is missing in the table");
  FNZI_NEW(job->scratch, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = fnzi_arg_get(op, NULL, 0, i);
    if (args[i].tag == FNZ_ARG_DEFAULT)
      args[i].tag = FNZ_ARG_NONE;
  }
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_krn_array_handle(array)};
  return fnzi_mem_job_part_of_one(job, op, args, out);
}

/* --- Arguments -------------------------------------------------------------------------------- */
/* An operator that creates a tensor uses the dtype of its out= argument. */
static fnz_arg dtype_of_out(const fnzi_mem_job *job) {
  for (size_t i = 0; i < job->op->nparams; i++) {
    const fnzi_krn_array *out =
        job->op->params[i].is_out ? fnzi_krn_arg_array(&job->args[i]) : NULL;
    if (out)
      return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = (int64_t)out->geometry.dtype};
  }
  return (fnz_arg){.tag = FNZ_ARG_NONE};
}

fnz_status fnzi_mem_job_via_args(const fnzi_mem_job *job, const fnz_arg **out) {
  const fnz_op *via = job->route->via;
  fnz_arg *args;
  *out = job->args;
  if (job->route->same_args)
    return FNZ_OK;
  FNZI_NEW(job->scratch, via->nparams, &args);
  for (size_t i = 0; i < via->nparams; i++) {
    int from = fnzi_op_param_like(job->op, via, i);
    args[i] = from >= 0 ? job->args[from] : fnzi_arg_get(via, NULL, 0, i);
    if (from < 0 && via->params[i].type == FNZI_TYPE_DTYPE)
      args[i] = dtype_of_out(job);
    if (args[i].tag == FNZ_ARG_DEFAULT && via->params[i].optional)
      args[i].tag = FNZ_ARG_NONE;
  }
  *out = args;
  return FNZ_OK;
}

/* --- Computing -------------------------------------------------------------------------------- */
fnz_status fnzi_mem_job_open(fnzi_mem_job *job, const fnz_arg *args, fnzi_krn_call *call) {
  *call = (fnzi_krn_call){.ctx = job->ctx,
                          .stock = &job->m->stock,
                          .op = job->route->via,
                          .asked = job->op,
                          .kernels = job->m->kernels,
                          .args = args,
                          .target = FNZ_DTYPE_COUNT,
                          .warning = job->warning,
                          .team = job->m->team,
                          .has_data = job->m->has_data};
  call->capacity = job->capacity - job->count;
  for (size_t i = 0; i < job->op->nparams; i++)
    if (job->op->params[i].is_write)
      call->capacity += job->args[i].tag == FNZ_ARG_LIST ? job->args[i].count : 1;
  FNZI_NEW(job->scratch, call->capacity, &call->outputs);
  call->scratch = *job->scratch;
  return FNZ_OK;
}

void fnzi_mem_job_close(fnzi_mem_job *job, fnzi_krn_call *call) {
  *job->scratch = call->scratch;
}
