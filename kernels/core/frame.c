/* frame.c - registered kernels at work: the functions by which they query a call, and the shape
 * rule and the kernel that make them a row like a row of kernels.def.
 *
 * A structured kernel is two steps, meta and impl; a plain one is a single step that runs as its
 * shape rule and makes its results itself. */
#include "kernels/core/machine.h"
#include "kernels/core/window.h"

#include <stddef.h>

/* A tensor that the kernel sees other than it lies: row-major. */
typedef struct lent {
  struct lent *next;
  const fnzi_krn_array *array;
  fnz_geometry geometry;
  void *data;
  bool goes_back;
} lent;

struct fnz_frame {
  fnzi_krn_call *call;
  const fnzi_krn_registered *kernel;
  void *precomputed;
  lent *lents;
};

/* --- Asking ------------------------------------------------------------------------------ */
fnz_context *fnz_frame_context(const fnz_frame *frame) {
  return frame->call->ctx;
}

void *fnz_frame_user(const fnz_frame *frame) {
  return frame->kernel->kernel.user;
}

const fnz_arg *fnz_frame_arg(const fnz_frame *frame, const char *name) {
  static const fnz_arg none = {.tag = FNZ_ARG_NONE};
  if (fnzi_op_param(frame->kernel->kernel.op, name) < 0)
    return NULL;
  const fnz_arg *arg = fnzi_krn_named(frame->call, name);
  return arg ? arg : &none;
}

static const lent *find_lent(const fnz_frame *frame, const fnzi_krn_array *array) {
  for (const lent *l = frame->lents; l; l = l->next)
    if (l->array == array)
      return l;
  return NULL;
}

static fnz_memory memory_of(const fnz_frame *frame, const fnzi_krn_array *array) {
  const lent *l = find_lent(frame, array);
  if (l)
    return (fnz_memory){l->data, &l->geometry};
  bool has_data = array && frame->call->has_data && array->storage;
  return (fnz_memory){has_data ? fnzi_krn_array_data(array) : NULL, array ? &array->window : NULL};
}

fnz_memory fnz_frame_tensor(const fnz_frame *frame, const fnz_arg *arg) {
  return memory_of(frame, fnzi_krn_arg_array(arg));
}

fnz_memory fnz_frame_result(const fnz_frame *frame, size_t k) {
  const fnzi_krn_call *call = frame->call;
  return memory_of(frame, k < call->noutputs ? call->outputs[k] : NULL);
}

void *fnz_frame_precomputed(fnz_frame *frame, size_t bytes) {
  void *room = NULL;
  if (!frame->precomputed && fnzi_arena_alloc(&frame->call->scratch, bytes, 1, &room) == FNZ_OK)
    frame->precomputed = room;
  return frame->precomputed;
}

fnz_status fnz_frame_fail(fnz_frame *frame, fnz_class kind, const char *message) {
  return fnzi_krn_call_refuse(frame->call, kind, "%s", message);
}

/* --- Results ----------------------------------------------------------------------------- */
fnz_status fnz_frame_add_result(fnz_frame *frame, fnz_dtype dtype, uint32_t rank,
                                const int64_t *sizes, const int64_t *strides) {
  fnzi_krn_call *call = frame->call;
  if ((unsigned)dtype >= FNZ_DTYPE_COUNT)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT, "result %zu has no dtype",
                                call->noutputs);
  FNZ_TRY(fnzi_shape_add(call, dtype, rank, sizes, strides));
  bool plain = !frame->kernel->kernel.meta;
  return plain && call->has_data
             ? fnzi_krn_array_allocate(call->ctx, call->outputs[call->noutputs - 1], false)
             : FNZ_OK;
}

fnz_status fnz_frame_add_view(fnz_frame *frame, const fnz_arg *base, const fnz_geometry *window) {
  fnzi_krn_call *call = frame->call;
  const fnzi_krn_array *from = fnzi_krn_arg_array(base);
  if (frame->kernel->kernel.meta || !from)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                                "a view is the result of a plain kernel, and its base is a tensor");
  FNZ_TRY(fnzi_shape_add(call, window->dtype, window->rank, window->sizes, window->strides));
  fnzi_krn_array *out = call->outputs[call->noutputs - 1];
  out->geometry.offset = window->offset;
  return from->storage ? fnzi_krn_array_share(call->ctx, out, from->storage, window) : FNZ_OK;
}

/* --- Row-major memory -------------------------------------------------------------------- */
static fnz_status add_lent(fnz_frame *frame, const fnzi_krn_array *array, const void *data,
                           bool goes_back) {
  lent *l;
  int64_t *strides;
  FNZI_NEW(&frame->call->scratch, 1, &l);
  FNZI_NEW(&frame->call->scratch, array->window.rank, &strides);
  fnzi_contiguous_strides(array->window.sizes, array->window.rank, strides);
  *l = (lent){frame->lents, array, array->window, (void *)(uintptr_t)data, goes_back};
  l->geometry.strides = strides;
  l->geometry.offset = 0;
  frame->lents = l;
  return FNZ_OK;
}

/* Arguments and results that lie otherwise. */
static fnz_status lend(fnz_frame *frame) {
  fnzi_krn_call *call = frame->call;
  for (size_t i = 0; i < call->op->nparams; i++)
    FNZI_EACH_ARG(each, &call->args[i], 1) {
      const fnzi_krn_array *array = fnzi_krn_arg_array(each.arg);
      const void *data;
      if (!array || fnzi_is_contiguous(&array->window) || find_lent(frame, array))
        continue;
      FNZ_TRY(fnzi_krn_dense_get(call, array, &data));
      FNZ_TRY(add_lent(frame, array, data, call->op->params[i].is_write));
    }
  for (size_t k = 0; k < call->noutputs; k++) {
    void *data;
    if (!call->outputs[k] || fnzi_is_contiguous(&call->outputs[k]->window))
      continue;
    FNZ_TRY(fnzi_krn_result_get_as(call, k, call->outputs[k]->window.dtype, &data));
    FNZ_TRY(add_lent(frame, call->outputs[k], data, false));
  }
  return FNZ_OK;
}

static fnz_status run_impl(fnz_frame *frame) {
  if (frame->kernel->kernel.contiguous && frame->call->has_data)
    FNZ_TRY(lend(frame));
  FNZ_TRY(frame->kernel->kernel.impl(frame));
  for (const lent *l = frame->lents; l; l = l->next) {
    fnzi_krn_window to, from;
    if (!l->goes_back)
      continue;
    fnzi_krn_window_of(l->array, &to);
    fnzi_krn_window_dense(&from, l->geometry.dtype, l->geometry.rank, l->geometry.sizes, l->data);
    FNZ_TRY(fnzi_krn_window_assign(frame->call, &to, &from, false));
  }
  return FNZ_OK;
}

/* --- As a row ---------------------------------------------------------------------------- */
fnz_status fnzi_shape_registered(fnzi_krn_call *call) {
  FNZI_NEW(&call->scratch, 1, &call->frame);
  const char *row = (const char *)call->row; /* of a fnzi_krn_registered */
  *call->frame =
      (fnz_frame){.call = call, .kernel = (const void *)(row - offsetof(fnzi_krn_registered, row))};
  const fnz_kernel *kernel = &call->frame->kernel->kernel;
  return kernel->meta ? kernel->meta(call->frame) : run_impl(call->frame);
}

fnz_status fnzi_kernel_registered(fnzi_krn_call *call) {
  call->frame->call = call;
  return call->frame->kernel->kernel.meta ? run_impl(call->frame) : FNZ_OK;
}
