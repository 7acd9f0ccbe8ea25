/* dense.c - plain memory for kernels: arguments as row-major elements, and room for results. */
#include "kernels/core/window.h"

fnz_status fnzi_krn_scratch_take(fnzi_krn_call *call, int64_t count, size_t cell, void **out) {
  size_t bytes;
  if (!call->record)
    return fnzi_arena_take(&call->scratch, (size_t)count, cell, out);
  if (!fnzi_mul_size((size_t)count, cell, &bytes))
    return fnzi_no_memory(call->ctx);
  return call->record->room(call->record->user, bytes, out);
}

/* Row-major elements of the sizes of `like`, in scratch memory. */
static fnz_status dense_window(fnzi_krn_call *call, const fnz_geometry *like, fnz_dtype dtype,
                               size_t cell, fnzi_krn_window *out) {
  void *data;
  FNZ_TRY(fnzi_krn_scratch_take(call, fnz_geometry_numel(like), cell, &data));
  out->dtype = dtype;
  out->rank = like->rank;
  out->cell = cell;
  out->data = data;
  for (uint32_t i = 0; i < like->rank; i++)
    out->sizes[i] = like->sizes[i];
  fnzi_contiguous_strides(like->sizes, like->rank, out->strides);
  return FNZ_OK;
}

fnz_status fnzi_krn_dense_get(fnzi_krn_call *call, const fnzi_krn_array *array, const void **out) {
  return fnzi_krn_dense_get_as(call, array, array->window.dtype, out);
}

fnz_status fnzi_krn_dense_get_as(fnzi_krn_call *call, const fnzi_krn_array *array, fnz_dtype dtype,
                                 const void **out) {
  fnzi_krn_window from, to;
  fnzi_krn_window_of(array, &from);
  *out = from.data;
  if (from.dtype == dtype && fnzi_is_contiguous(&array->window))
    return FNZ_OK;
  size_t cell = from.dtype == dtype ? array->cell : fnzi_dtype(dtype)->bytes;
  FNZ_TRY(dense_window(call, &array->window, dtype, cell, &to));
  *out = to.data;
  return fnzi_krn_window_assign(call, &to, &from, false);
}

fnz_geometry fnzi_krn_array_ordered(const fnzi_krn_array *self, int64_t *strides) {
  fnz_geometry g = self->geometry;
  if (!self->eager && !fnzi_is_dense(&g))
    fnzi_contiguous_strides(g.sizes, g.rank, strides);
  else if (g.rank)
    memcpy(strides, g.strides, g.rank * sizeof *strides);
  g.strides = strides;
  return g;
}

fnz_status fnzi_krn_dense_in_order(fnzi_krn_call *call, const fnzi_krn_array *self, fnz_dtype dtype,
                                   const void **data, int64_t *strides) {
  const fnz_geometry *g = &self->geometry;
  fnzi_krn_window to, from;
  void *room;
  FNZ_TRY(fnzi_arena_take(&call->scratch, (size_t)fnzi_krn_array_numel(self),
                          fnzi_dtype(dtype)->bytes, &room));
  fnzi_krn_window_of(self, &from);
  fnzi_krn_window_dense(&to, dtype, g->rank, g->sizes, room);
  if (g->rank && fnzi_is_dense(g))
    memcpy(to.strides, g->strides, g->rank * sizeof *to.strides);
  memcpy(strides, to.strides, g->rank * sizeof *strides);
  *data = room;
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* An array over scratch memory, for kernels that read it while the call lasts. */
typedef struct passing {
  fnzi_krn_array array;
  fnzi_krn_storage storage;
  int64_t strides[FNZ_MAX_RANK];
} passing;

fnz_status fnzi_krn_round_input(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  bool is_half = dtype == FNZ_F16 || dtype == FNZ_BF16;
  passing *copy;
  fnz_arg *args;
  if (!is_half || self->window.dtype == dtype)
    return FNZ_OK;
  FNZI_NEW(&call->scratch, 1, &copy);
  FNZI_NEW(&call->scratch, call->op->nparams, &args);
  const void *data;
  FNZ_TRY(fnzi_krn_dense_in_order(call, self, dtype, &data, copy->strides));
  copy->array = *self;
  copy->array.cell = fnzi_dtype(dtype)->bytes;
  copy->array.geometry.dtype = dtype;
  copy->array.geometry.strides = copy->strides;
  copy->array.geometry.offset = 0;
  copy->array.window = copy->array.geometry;
  copy->storage = (fnzi_krn_storage){.refs = 1, .data = (unsigned char *)(uintptr_t)data};
  copy->storage.bytes = (size_t)fnzi_krn_array_numel(self) * copy->array.cell;
  copy->array.storage = &copy->storage;
  memcpy(args, call->args, call->op->nparams * sizeof *args);
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_krn_array_handle(&copy->array)};
  call->args = args;
  return FNZ_OK;
}

fnz_status fnzi_krn_window_widen(fnzi_krn_call *call, const fnzi_krn_window *w,
                                 fnzi_krn_window *out) {
  int64_t count = 1;
  void *room;
  for (uint32_t i = 0; i < w->rank; i++)
    count *= w->sizes[i];
  FNZ_TRY(fnzi_krn_scratch_take(call, count, sizeof(float), &room));
  fnzi_krn_window_dense(out, FNZ_F32, w->rank, w->sizes, room);
  return fnzi_krn_window_assign(call, out, w, false);
}

struct fnzi_krn_pending_result {
  struct fnzi_krn_pending_result *next;
  const fnzi_krn_array *array;
  fnzi_krn_window data;
};

static fnz_status result_of(fnzi_krn_call *call, const fnzi_krn_array *array, fnz_dtype dtype,
                            void **out) {
  struct fnzi_krn_pending_result *result;
  *out = fnzi_krn_array_data(array);
  if (array->window.dtype == dtype && fnzi_is_contiguous(&array->window))
    return FNZ_OK;
  FNZI_NEW(&call->scratch, 1, &result);
  FNZ_TRY(dense_window(call, &array->window, dtype, fnzi_dtype(dtype)->bytes, &result->data));
  result->array = array;
  result->next = call->pending;
  call->pending = result;
  *out = result->data.data;
  return FNZ_OK;
}

fnz_status fnzi_krn_result_get_as(fnzi_krn_call *call, size_t k, fnz_dtype dtype, void **out) {
  return result_of(call, call->outputs[k], dtype, out);
}

/* --- Channels last ----------------------------------------------------------------------- */
/* Finds the array with its channels behind the `spatial` last dimensions. */
static fnz_status dense_permute(fnzi_krn_call *call, const fnzi_krn_array *array, uint32_t spatial,
                                const fnzi_krn_array **out) {
  const fnz_geometry *from = &array->window;
  uint32_t channels = from->rank - 1 - spatial;
  int64_t *sizes, *strides;
  fnzi_krn_array *permuted;
  FNZI_NEW(&call->scratch, 1, &permuted);
  FNZI_NEW(&call->scratch, from->rank, &sizes);
  FNZI_NEW(&call->scratch, from->rank, &strides);
  for (uint32_t d = 0; d < from->rank; d++) {
    uint32_t of = d < channels ? d : d + 1 == from->rank ? channels : d + 1;
    sizes[d] = from->sizes[of], strides[d] = from->strides[of];
  }
  *permuted = *array;
  permuted->window.sizes = sizes, permuted->window.strides = strides;
  *out = permuted;
  return FNZ_OK;
}

fnz_status fnzi_krn_channels_last_get_as(fnzi_krn_call *call, const fnzi_krn_array *array,
                                         uint32_t spatial, fnz_dtype dtype, const void **out) {
  const fnzi_krn_array *permuted;
  FNZ_TRY(dense_permute(call, array, spatial, &permuted));
  return fnzi_krn_dense_get_as(call, permuted, dtype, out);
}

fnz_status fnzi_krn_channels_last_result(fnzi_krn_call *call, size_t k, uint32_t spatial,
                                         fnz_dtype dtype, void **out) {
  const fnzi_krn_array *permuted;
  FNZ_TRY(dense_permute(call, call->outputs[k], spatial, &permuted));
  return result_of(call, permuted, dtype, out);
}

int64_t fnzi_krn_channels_last_pitch(const fnz_geometry *g, uint32_t spatial) {
  const uint32_t channels = g->rank - 1 - spatial;
  const int64_t size = g->sizes[channels];
  int64_t pitch = 0, stride = 0;
  if (size != 1 && g->strides[channels] != 1)
    return 0;
  for (uint32_t d = g->rank; d-- > 0;) {
    if (d == channels || g->sizes[d] == 1)
      continue;
    pitch = pitch ? pitch : g->strides[d];
    stride = stride ? stride : pitch;
    if (g->strides[d] != stride || pitch < size)
      return 0;
    stride *= g->sizes[d];
  }
  return pitch ? pitch : size;
}

fnz_status fnzi_krn_results_finish(fnzi_krn_call *call) {
  for (struct fnzi_krn_pending_result *r = call->pending; r; r = r->next) {
    fnzi_krn_window to;
    fnzi_krn_window_of(r->array, &to);
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &r->data, false));
  }
  call->pending = NULL;
  return FNZ_OK;
}
