/* view.c - views on memory: windows into their argument's storage, copies of these, and in-place
 * views, which change the geometry of their argument. */
#include "kernels/eager/eager.h"

static fnzi_krn_array *first_tensor(const fnzi_mem_job *job) {
  return job->op->nparams ? fnzi_krn_arg_array(&job->args[0]) : NULL;
}

static fnz_status need_tensor(const fnzi_mem_job *job) {
  return fnzi_mem_job_fail(job, FNZ_CLASS_TYPE, "argument 0 must be a tensor");
}

/* In row-major order, whatever the order of the window. */
fnz_status fnzi_mem_job_copy_result(fnzi_mem_job *job, size_t k) {
  enum { CONTIGUOUS = 1 };
  fnzi_krn_array *from = fnzi_krn_array_of(job->outputs[k]), *copy;
  const fnz_arg args[] = {{.tag = FNZ_ARG_VALUE, .u.value = job->outputs[k]},
                          {.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = CONTIGUOUS}};
  FNZ_TRY(fnzi_mem_job_part_of_one(job, fnzi_ops_find("clone"), args, &copy));
  job->outputs[k] = fnzi_krn_array_handle(copy);
  fnzi_krn_array_release(job->ctx, from);
  return FNZ_OK;
}

static fnz_status view_open_windows(fnzi_mem_job *job, bool copies) {
  fnzi_krn_array *base = first_tensor(job), *window;
  fnz_geometry *windows;
  size_t count;
  if (!base)
    return need_tensor(job);
  const fnzi_op_call call = {job->op, job->args, job->op->nparams};
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, job->scratch}, job->route->view, &call,
                            &base->geometry, &windows, &count));
  for (size_t k = 0; k < count; k++) {
    FNZ_TRY(fnzi_mem_array_window(job->m, job->ctx, base->storage, &windows[k], &window));
    FNZ_TRY(fnzi_mem_job_give(job, window));
    if (copies)
      FNZ_TRY(fnzi_mem_job_copy_result(job, job->count - 1));
  }
  return FNZ_OK;
}

fnz_status fnzi_serve_view(fnzi_mem_job *job) {
  return view_open_windows(job, false);
}

fnz_status fnzi_serve_view_copy(fnzi_mem_job *job) {
  return view_open_windows(job, true);
}

fnz_status fnzi_serve_review(fnzi_mem_job *job) {
  const fnz_arg *args;
  fnzi_krn_array *self = first_tensor(job), *window;
  if (!self)
    return need_tensor(job);
  FNZ_TRY(fnzi_mem_job_via_args(job, &args));
  FNZ_TRY(fnzi_mem_job_part_of_one(job, job->route->via, args, &window));
  fnz_status status = fnzi_krn_array_rebase(job->ctx, self, &window->geometry);
  fnzi_krn_array_release(job->ctx, window);
  FNZ_TRY(status);
  return fnzi_mem_job_give_again(job, self);
}
