/* view_or_copy.c - operators that are views, the argument itself or copies, as eager's geometry
 * decides: the steps that views/composites.c finds, one after the other. */
#include "kernels/eager/eager.h"

typedef struct tensors {
  const fnzi_mem_job *job;
  fnzi_krn_array **arrays;
  const fnz_geometry **geometries;
  size_t count;
} tensors;

static fnz_status collect_tensors(const fnzi_mem_job *job, tensors *out) {
  *out = (tensors){.job = job};
  FNZI_EACH_ARG(each, job->args, job->op->nparams)
    out->count += fnzi_krn_arg_array(each.arg) != NULL;
  FNZI_NEW(job->scratch, out->count, &out->arrays);
  FNZI_NEW(job->scratch, out->count, &out->geometries);
  out->count = 0;
  FNZI_EACH_ARG(each, job->args, job->op->nparams) {
    fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (!a)
      continue;
    out->arrays[out->count] = a;
    out->geometries[out->count++] = &a->geometry;
  }
  return FNZ_OK;
}

/* Step k of an item on `from`; only the last one may have several results. */
static fnz_status do_step(fnzi_mem_job *job, const fnzi_composite_item *item, size_t k,
                          fnzi_krn_array *from) {
  const fnz_op *op = item->steps[k].op;
  fnz_arg *args;
  size_t count;
  FNZI_NEW(job->scratch, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = fnzi_arg_get(op, item->steps[k].args, item->steps[k].nargs, i);
    if (args[i].tag == FNZ_ARG_DEFAULT && op->params[i].optional)
      args[i].tag = FNZ_ARG_NONE;
  }
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_krn_array_handle(from)};
  FNZ_TRY(fnzi_mem_job_part(job, op, args, job->outputs + job->count, job->capacity - job->count,
                            &count));
  job->count += count;
  return FNZ_OK;
}

static fnz_status do_item(fnzi_mem_job *job, const fnzi_composite_item *item,
                          fnzi_krn_array *from) {
  if (item->nsteps == 0)
    return fnzi_mem_job_give_again(job, from);
  for (size_t k = 0; k < item->nsteps; k++) {
    size_t before = job->count;
    fnz_status status = do_step(job, item, k, from);
    if (k > 0)
      fnzi_krn_array_release(job->ctx, from);
    FNZ_TRY(status);
    if (k + 1 == item->nsteps)
      return FNZ_OK;
    if (job->count != before + 1)
      return fnzi_mem_job_fail(job, FNZ_CLASS_INTERNAL, "step %zu has %zu results", k,
                               job->count - before);
    from = fnzi_krn_array_of(job->outputs[--job->count]);
  }
  return FNZ_OK;
}

fnz_status fnzi_serve_composite(fnzi_mem_job *job) {
  fnzi_resolution r;
  tensors t;
  FNZ_TRY(fnzi_mem_job_check_types(job, job->args));
  FNZ_TRY(collect_tensors(job, &t));
  const fnzi_op_call call = {job->op, job->args, job->op->nparams};
  FNZ_TRY(fnzi_composite_resolve((fnzi_int_space){NULL, job->scratch}, job->route->composite, &call,
                                 t.geometries, t.count, &r));
  if (r.keep)
    return job->route->row ? fnzi_serve_compute(job) : fnzi_serve_refuse(job);
  for (size_t k = 0; k < r.count; k++)
    FNZ_TRY(do_item(job, &r.items[k], t.arrays[r.items[k].tensor]));
  return FNZ_OK;
}
