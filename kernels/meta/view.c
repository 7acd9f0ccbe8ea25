/* view.c - shape rules of views, their copying twins and the scatters that write through them: all
 * from the rows of views.def. */
#include "kernels/meta/meta.h"
#include "views/views.h"

/* A row-major tensor of the same sizes. */
static fnz_geometry row_major(const fnz_geometry *g, int64_t *strides) {
  fnz_geometry out = {.dtype = g->dtype, .rank = g->rank, .sizes = g->sizes, .strides = strides};
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  return out;
}

/* The windows of a copying twin are row-major tensors; the windows of a view lie in its base. */
fnz_status fnzi_shape_view(fnzi_krn_call *call) {
  const fnzi_view *view = fnzi_view_find(call->op);
  const fnz_geometry *base = fnzi_krn_call_geometry(call, 0);
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry plain = row_major(base, strides), *windows;
  bool copies = !call->op->is_view;
  const fnzi_op_call all = {call->op, call->args, call->op->nparams};
  size_t count;
  if (!view)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "this view has no row in views.def");
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, &call->scratch}, view, &all,
                            copies ? &plain : base, &windows, &count));
  for (size_t k = 0; k < count; k++) {
    const fnz_geometry *w = &windows[k];
    FNZ_TRY(fnzi_shape_add(call, w->dtype, w->rank, w->sizes, copies ? NULL : w->strides));
    if (!copies)
      call->outputs[k]->geometry.offset = w->offset;
  }
  return FNZ_OK;
}

/* --- Writes through views --------------------------------------------------------------------- */
/* The view through which a scatter writes. slice_inverse has the view of its copying twin,
 * slice_scatter, which writes the same window. */
const fnz_op *fnzi_meta_view_written_by(const fnz_op *scatter) {
  const fnz_op *copy = fnzi_op_by_index(scatter->view_copy);
  return fnzi_view_scattered(copy ? copy : scatter);
}

fnz_status fnzi_meta_view_args(fnzi_arena *scratch, const fnz_op *through, const fnz_arg *args,
                               fnz_arg **out) {
  FNZI_NEW(scratch, through->nparams, out);
  (*out)[0] = args[0];
  for (size_t i = 1; i < through->nparams; i++)
    (*out)[i] = args[i + 1];
  return FNZ_OK;
}

fnz_status fnzi_meta_source_check(const fnzi_krn_call *call, const fnz_geometry *window,
                                  const fnz_geometry *src) {
  if (fnzi_same_sizes(window, src))
    return FNZ_OK;
  for (uint32_t i = 0; i < window->rank && window->rank == src->rank; i++)
    if (window->sizes[i] != src->sizes[i])
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "src has size %lld in dimension %u where the window has %lld",
                                  (long long)src->sizes[i], i, (long long)window->sizes[i]);
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "src has rank %u where the window has %u",
                              src->rank, window->rank);
}

/* The window is one of a row-major copy of self. A program that is not functional yet has
 * as_strided_scatter of views too, whose storage is larger: the end of it is left to the kernel. */
fnz_status fnzi_shape_scatter_view(fnzi_krn_call *call) {
  const fnz_op *through = fnzi_meta_view_written_by(call->op);
  int64_t strides[FNZ_MAX_RANK];
  const fnz_geometry plain = row_major(fnzi_krn_call_geometry(call, 0), strides);
  fnz_geometry *windows;
  fnz_arg *args;
  size_t count;
  FNZ_TRY(fnzi_meta_view_args(&call->scratch, through, call->args, &args));
  const fnzi_op_call view = {through, args, through->nparams};
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){NULL, &call->scratch}, fnzi_view_find(through), &view,
                            &plain, &windows, &count));
  FNZ_TRY(fnzi_meta_source_check(call, windows, fnzi_krn_call_geometry(call, 1)));
  return fnzi_shape_self(call);
}
