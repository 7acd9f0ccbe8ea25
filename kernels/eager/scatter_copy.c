/* scatter_copy.c - functional operators that write a part of a copy of their argument. The copy
 * keeps the argument's strides and offset, gaps and all. */
#include "kernels/eager/eager.h"

/* A copy of self's whole storage, with the geometry of self; a plain clone where self overlaps
 * itself. For a storage without an end, as much as a tensor can have. */
static fnz_status clone_strided(fnzi_mem_job *job, fnzi_krn_array *self, fnzi_krn_array **out) {
  static const int64_t one[1] = {1};
  size_t bytes = self->storage->bytes < INT64_MAX / 4 ? self->storage->bytes : INT64_MAX / 4;
  int64_t elements = (int64_t)(bytes / self->cell);
  fnz_geometry all = {.dtype = self->geometry.dtype, .rank = 1, .sizes = &elements, .strides = one};
  fnzi_krn_array *from, *copy;
  if (fnzi_mem_array_overlaps_itself(self))
    return fnzi_mem_job_part_on(job, fnzi_ops_find("clone"), self, out);
  FNZ_TRY(fnzi_mem_array_create(job->m, job->ctx, &all, &copy));
  fnz_status status = fnzi_mem_array_window(job->m, job->ctx, self->storage, &all, &from);
  if (status == FNZ_OK) {
    status = fnzi_mem_array_copy(job->m, job->ctx, job->op, copy, from);
    fnzi_krn_array_release(job->ctx, from);
  }
  if (status == FNZ_OK)
    status = fnzi_mem_array_window(job->m, job->ctx, copy->storage, &self->geometry, out);
  fnzi_krn_array_release(job->ctx, copy);
  return status;
}

static fnz_status two_tensors(const fnzi_mem_job *job, const fnz_arg *args) {
  if (fnzi_krn_arg_array(&args[0]) && fnzi_krn_arg_array(&args[1]))
    return FNZ_OK;
  return fnzi_mem_job_fail(job, FNZ_CLASS_TYPE, "arguments 0 and 1 must be tensors");
}

/* --- copy ------------------------------------------------------------------------------------- */
static fnz_status copy_args(fnzi_mem_job *job, const fnz_arg *args) {
  fnzi_krn_array *clone, *same;
  fnz_arg written[3] = {args[0], args[1], args[2]};
  FNZ_TRY(two_tensors(job, args));
  FNZ_TRY(clone_strided(job, fnzi_krn_arg_array(&args[0]), &clone));
  written[0].u.value = fnzi_krn_array_handle(clone);
  fnz_status status = fnzi_mem_job_part_of_one(job, fnzi_ops_find("copy_"), written, &same);
  fnzi_krn_array_release(job->ctx, clone);
  return status == FNZ_OK ? fnzi_mem_job_give(job, same) : status;
}

fnz_status fnzi_serve_copy(fnzi_mem_job *job) {
  return fnzi_mem_job_on_args(job, copy_args);
}

/* --- Scatters --------------------------------------------------------------------------------- */
/* The elements of src into a window of the same sizes; in the order of eager's loop where elements
 * of the window lie in one place. */
static fnz_status write_window(fnzi_mem_job *job, fnzi_krn_array *window,
                               const fnzi_krn_array *src) {
  fnzi_krn_call call = {.ctx = job->ctx, .op = job->op, .team = job->m->team};
  fnzi_krn_window to, from;
  FNZ_TRY(fnzi_meta_source_check(&call, &window->geometry, &src->geometry));
  if (!job->m->has_data)
    return FNZ_OK;
  bool overlaps = fnzi_mem_array_overlaps_itself(window);
  if (job->m->stock.elsewhere && overlaps)
    return fnzi_mem_job_fail(job, FNZ_CLASS_UNSUPPORTED,
                             "elements of the window share memory, which only the CPU writes in "
                             "order; move the tensors there");
  if (job->m->stock.elsewhere)
    return fnzi_krn_array_assign(&call, window, src);
  fnzi_krn_window_of(window, &to);
  fnzi_krn_window_of(src, &from);
  fnzi_krn_windows_in_order(&window->geometry, &src->geometry, &to, &from);
  return fnzi_krn_window_assign(&call, &to, &from, overlaps);
}

/* The window that the scatter writes: the view of its base, with the scatter's arguments without
 * src. */
static fnz_status scatter_copy_open_window(fnzi_mem_job *job, const fnz_arg *args,
                                           const fnzi_krn_array *base, fnzi_krn_array **out) {
  const fnz_op *view = fnzi_meta_view_written_by(job->op);
  size_t count;
  fnz_geometry *windows;
  fnz_arg *rest;
  FNZ_TRY(fnzi_meta_view_args(job->scratch, view, args, &rest));
  const fnzi_op_call call = {view, rest, view->nparams};
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, job->scratch}, fnzi_view_find(view), &call,
                            &base->geometry, &windows, &count));
  return fnzi_mem_array_window(job->m, job->ctx, base->storage, windows, out);
}

static fnz_status scatter_args(fnzi_mem_job *job, const fnz_arg *args) {
  fnzi_krn_array *clone, *window;
  FNZ_TRY(two_tensors(job, args));
  FNZ_TRY(clone_strided(job, fnzi_krn_arg_array(&args[0]), &clone));
  fnz_status status = scatter_copy_open_window(job, args, clone, &window);
  if (status == FNZ_OK) {
    status = write_window(job, window, fnzi_krn_arg_array(&args[1]));
    fnzi_krn_array_release(job->ctx, window);
  }
  if (status == FNZ_OK)
    return fnzi_mem_job_give(job, clone);
  fnzi_krn_array_release(job->ctx, clone);
  return status;
}

fnz_status fnzi_serve_view_scatter(fnzi_mem_job *job) {
  return fnzi_mem_job_on_args(job, scatter_args);
}
