/* dispatch.c - operators on memory, as eager PyTorch does them: from the operator that is called to
 * the one route by which it is served. */
#include "kernels/eager/eager.h"

static fnz_status serve(fnzi_mem_job *job, const fnz_request *request) {
  fnz_arg *args;
  FNZ_TRY(fnzi_mem_route_find(job->m, job->op, &job->route));
  FNZI_NEW(job->scratch, job->op->nparams, &args);
  const fnzi_krn_call call = {.ctx = job->ctx, .op = job->op};
  FNZ_TRY(fnzi_meta_args_fill(&call, request, args));
  for (size_t i = 0; i < job->op->nparams; i++)
    args[i].flags = 0;
  job->args = args;
  FNZI_EACH_ARG(each, args, job->op->nparams) {
    fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (a && !a->eager)
      FNZ_TRY(fnzi_mem_array_make_eager(job->m, job->ctx, a));
  }
  return job->route->serve(job);
}

fnz_status fnzi_mem_dispatch(void *self, fnz_context *ctx, const fnz_request *request,
                             fnz_handle *outputs, size_t capacity, size_t *count, char *warning) {
  fnzi_krn_machine *m = self;
  fnzi_arena own;
  bool nested = m->busy;
  *count = 0;
  warning[0] = 0;
  if (!request->op)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "a call needs an operator");
  const fnzi_mem_route *route = fnzi_mem_route_known(m, request->op);
  if (route && route->shortcuts && capacity &&
      fnzi_mem_shortcut_call(m, ctx, route, request, outputs)) {
    *count = 1;
    return FNZ_OK;
  }
  fnzi_arena_init(&own, ctx);
  fnzi_mem_job job = {.m = m,
                      .ctx = ctx,
                      .op = request->op,
                      .outputs = outputs,
                      .capacity = capacity,
                      .warning = warning,
                      .scratch = nested ? &own : &m->scratch};
  m->busy = true;
  fnz_status status = serve(&job, request);
  m->busy = nested;
  while (status != FNZ_OK && job.count > 0)
    fnzi_krn_array_release(ctx, fnzi_krn_array_of(outputs[--job.count]));
  *count = job.count;
  if (nested)
    fnzi_arena_free(&own);
  else
    fnzi_arena_reset(&m->scratch);
  return status;
}
