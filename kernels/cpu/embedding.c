/* embedding.c - rows picked by number: embedding and one_hot. */
#include "kernels/cpu/pick.h"

static fnz_status check_index(const fnzi_krn_call *call, int64_t index, int64_t bound) {
  if (index >= 0 && index < bound)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "index %lld is outside [0, %lld)",
                              (long long)index, (long long)bound);
}

fnz_status fnzi_kernel_embedding(fnzi_krn_call *call) {
  const fnzi_krn_array *weight = fnzi_krn_call_input(call, 0),
                       *indices = fnzi_krn_call_input(call, 1);
  const fnz_geometry *g = &weight->geometry;
  const void *rows, *picks;
  void *out;
  if (call->record) { /* rows at places (window.h) */
    fnzi_krn_picking p = {.npicks = 1};
    fnzi_krn_window *places = &p.picks[0].index;
    fnzi_krn_window_of(call->outputs[0], &p.to);
    fnzi_krn_window_of(weight, &p.from);
    p.picks[0].size = p.from.sizes[0];
    p.picks[0].stride = p.from.strides[0];
    fnzi_krn_window_select(&p.from, 0, 0);
    fnzi_krn_window_of(indices, places);
    for (uint32_t i = indices->window.rank; i-- > 0;)
      fnzi_krn_window_insert(&p.from, 0, indices->window.sizes[i], 0);
    fnzi_krn_window_insert(places, places->rank, p.to.sizes[p.to.rank - 1], 0);
    return call->record->pick(call->record->user, &p);
  }
  FNZ_TRY(fnzi_krn_dense_get(call, weight, &rows));
  FNZ_TRY(fnzi_krn_dense_get_as(call, indices, FNZ_I64, &picks));
  int64_t bytes = fnzi_krn_stride_bytes(g->sizes[1], fnzi_dtype(g->dtype)->bytes);
  const int64_t *index = picks;
  int64_t count = fnzi_krn_array_numel(indices);
  for (int64_t i = 0; i < count; i++)
    FNZ_TRY(check_index(call, index[i], g->sizes[0]));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &out));
  fnzi_cpu_rows_gather(call, &(fnzi_cpu_picked){out, rows, index, count, bytes, bytes});
  return FNZ_OK;
}

fnz_status fnzi_kernel_one_hot(fnzi_krn_call *call) {
  const fnz_arg zero = {.tag = FNZ_ARG_INT}, one = {.tag = FNZ_ARG_INT, .u.i = 1};
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  const uint32_t last = x->window.rank;
  int64_t classes = call->outputs[0]->window.sizes[last], count = fnzi_krn_array_numel(x);
  const void *picks;
  void *out;
  if (call->record) { /* ones at places among zeros: the places of each row are its own */
    fnzi_krn_picking p = {.npicks = 1, .into = true};
    unsigned char room[16];
    FNZ_TRY(fnzi_krn_array_fill(call, call->outputs[0], &zero));
    fnzi_krn_window_of(call->outputs[0], &p.to);
    fnzi_krn_window_of(x, &p.picks[0].index);
    p.picks[0].size = p.to.sizes[last];
    p.picks[0].stride = p.to.strides[last];
    fnzi_krn_window_select(&p.to, last, 0);
    fnzi_krn_window_number(&one, p.to.dtype, room, &p.from);
    return call->record->pick(call->record->user, &p);
  }
  FNZ_TRY(fnzi_krn_dense_get_as(call, x, FNZ_I64, &picks));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  memset(out, 0, (size_t)(count * classes) * sizeof(int64_t));
  for (int64_t i = 0; i < count; i++) {
    int64_t index = ((const int64_t *)picks)[i];
    FNZ_TRY(check_index(call, index, classes));
    ((int64_t *)out)[i * classes + index] = 1;
  }
  return FNZ_OK;
}
