/* view.c - views and their copying twins share their base's memory, because values never change; a
 * scatter writes a window of a copy of its base, which is the base itself when that dies. */
#include "kernels/cpu/cpu.h"
#include "views/views.h"

/* as_strided counts elements of the row-major tensor, wherever that begins in its storage. */
static fnz_status find_windows(fnzi_krn_call *call, const fnz_op *op, const fnz_arg *args,
                               const fnz_geometry *place, fnz_geometry **out, size_t *count) {
  const fnzi_view *view = fnzi_view_find(op);
  bool counts = fnzi_view_counts_from_storage(view);
  fnz_geometry base = *place;
  int64_t strides[FNZ_MAX_RANK];
  if (counts)
    base.offset = 0;
  /* Strides of dimensions of size 1, and of tensors without elements, may be anything. */
  if (fnzi_is_contiguous(place) || fnz_geometry_numel(place) == 0) {
    fnzi_contiguous_strides(place->sizes, place->rank, strides);
    base.strides = strides;
  }
  const fnzi_op_call all = {op, args, op->nparams};
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, &call->scratch}, view, &all, &base, out, count));
  for (size_t k = 0; counts && k < *count; k++)
    (*out)[k].offset += place->offset;
  return FNZ_OK;
}

static fnz_status row_major_copy(fnzi_krn_call *call, const fnzi_krn_array *from,
                                 fnzi_krn_array **out) {
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry g = from->window;
  fnzi_krn_array *copy;
  g.offset = 0;
  g.strides = strides;
  fnzi_contiguous_strides(g.sizes, g.rank, strides);
  FNZ_TRY(fnzi_krn_array_create(call->ctx, call->stock, &g, from->cell, &copy));
  fnz_status status = fnzi_krn_array_allocate(call->ctx, copy, false);
  if (status == FNZ_OK)
    status = fnzi_krn_array_assign(call, copy, from);
  if (status == FNZ_OK)
    *out = copy;
  else
    fnzi_krn_array_release(call->ctx, copy);
  return status;
}

static fnz_status share_windows(fnzi_krn_call *call, const fnzi_krn_array *base) {
  fnz_geometry *windows;
  size_t count;
  FNZ_TRY(find_windows(call, call->op, call->args, &base->window, &windows, &count));
  if (count != call->noutputs)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_INTERNAL, "%zu windows for %zu results", count,
                                call->noutputs);
  for (size_t k = 0; k < count; k++)
    FNZ_TRY(fnzi_krn_array_share(call->ctx, call->outputs[k], base->storage, &windows[k]));
  return FNZ_OK;
}

/* Not every layout can be seen as every shape; a row-major one can, and as every element type when
 * it begins where its storage does. */
fnz_status fnzi_kernel_view(fnzi_krn_call *call) {
  fnzi_krn_array *base = fnzi_krn_call_input(call, 0), *copy;
  bool row_major = fnzi_is_contiguous(&base->window);
  if (row_major || !fnzi_view_counts_from_storage(fnzi_view_find(call->op))) {
    fnz_status status = share_windows(call, base);
    if (status == FNZ_OK || status == FNZ_NO_MEMORY || (row_major && base->window.offset == 0))
      return status;
  }
  FNZ_TRY(row_major_copy(call, base, &copy));
  fnz_status status = share_windows(call, copy);
  fnzi_krn_array_release(call->ctx, copy);
  return status;
}

fnz_status fnzi_kernel_scatter_view(fnzi_krn_call *call) {
  const fnz_op *through = fnzi_meta_view_written_by(call->op);
  bool counts = fnzi_view_counts_from_storage(fnzi_view_find(through));
  fnzi_krn_array *out = call->outputs[0], *src = fnzi_krn_call_input(call, 1);
  fnz_geometry *windows;
  fnz_arg *args;
  fnzi_krn_window to, from;
  size_t count;
  if (counts && !fnzi_is_contiguous(&out->window)) { /* it becomes row-major */
    fnzi_krn_array *copy;
    FNZ_TRY(row_major_copy(call, out, &copy));
    fnz_status status = fnzi_krn_array_share(call->ctx, out, copy->storage, &copy->window);
    fnzi_krn_array_release(call->ctx, copy);
    FNZ_TRY(status);
  }
  FNZ_TRY(fnzi_meta_view_args(&call->scratch, through, call->args, &args));
  FNZ_TRY(find_windows(call, through, args, &out->window, &windows, &count));
  fnzi_krn_array part = *out;
  part.window = windows[0];
  int64_t low, high;
  if (!fnzi_extent(windows, &low, &high) || low < 0 ||
      (uint64_t)high > out->storage->bytes / out->cell)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "the window leaves the tensor");
  fnzi_krn_window_of(&part, &to);
  fnzi_krn_window_of(src, &from);
  if (counts)
    fnzi_krn_windows_in_order(windows, &src->geometry, &to, &from);
  return fnzi_krn_window_assign(call, &to, &from, counts);
}
