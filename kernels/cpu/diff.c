/* diff.c - differences of neighbours along a dimension, with tensors prepended and appended. */
#include "kernels/cpu/cpu.h"

static fnz_status scratch_window(fnzi_krn_call *call, const fnzi_krn_window *like,
                                 fnzi_krn_window *out) {
  int64_t count = 1;
  void *data;
  for (uint32_t i = 0; i < like->rank; i++)
    count *= like->sizes[i];
  FNZ_TRY(fnzi_krn_room_take(call, count, like->cell, &data));
  fnzi_krn_window_dense(out, like->dtype, like->rank, like->sizes, data);
  return FNZ_OK;
}

/* self with prepend and append around it; without a step it is taken alone. */
static fnz_status join(fnzi_krn_call *call, uint32_t dim, int64_t n, fnzi_krn_window *out) {
  const fnzi_krn_array *parts[] = {fnzi_krn_named_array(call, "prepend"),
                                   fnzi_krn_call_input(call, 0),
                                   fnzi_krn_named_array(call, "append")};
  int64_t at = 0;
  fnzi_krn_window_of(parts[1], out);
  if (n == 0 || (!parts[0] && !parts[2]))
    return FNZ_OK;
  out->sizes[dim] += parts[0] ? parts[0]->place.sizes[dim] : 0;
  out->sizes[dim] += parts[2] ? parts[2]->place.sizes[dim] : 0;
  FNZ_TRY(scratch_window(call, out, out));
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    fnzi_krn_window to = *out, from;
    if (!parts[i])
      continue;
    fnzi_krn_window_of(parts[i], &from);
    fnzi_krn_window_narrow(&to, dim, at, from.sizes[dim]);
    at += from.sizes[dim];
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &from, false));
  }
  return FNZ_OK;
}

/* Neighbours are taken from each other; of bools, whether they differ. */
static fnz_status step(fnzi_krn_call *call, uint32_t dim, fnzi_krn_window *w) {
  static const fnz_arg one = {.tag = FNZ_ARG_INT, .u.i = 1};
  fnzi_krn_window left = *w, right = *w;
  int64_t size = w->sizes[dim] - 1;
  fnzi_krn_window_narrow(&left, dim, 0, size);
  fnzi_krn_window_narrow(&right, dim, 1, size);
  FNZ_TRY(scratch_window(call, &right, w));
  FNZ_TRY(fnzi_krn_window_assign(call, w, &right, false));
  if (fnzi_is_complex(w->dtype)) /* as sub, which multiplies by its alpha */
    return fnzi_cpu_window_combine(call, "sub_scaled", w, &left, &one);
  return fnzi_cpu_window_combine(call, w->dtype == FNZ_BOOL ? "ne" : "sub", w, &left, NULL);
}

fnz_status fnzi_kernel_diff(fnzi_krn_call *call) {
  int64_t n = fnzi_krn_named_int(call, "n", 1), dim = fnzi_krn_named_int(call, "dim", -1);
  uint32_t along = (uint32_t)(dim < 0 ? dim + fnzi_krn_call_input(call, 0)->place.rank : dim);
  fnzi_krn_window to, from;
  FNZ_TRY(join(call, along, n, &from));
  for (int64_t k = 0; k < n && from.sizes[along] > 0; k++)
    FNZ_TRY(step(call, along, &from));
  fnzi_krn_window_of(call->outputs[0], &to);
  return fnzi_krn_window_assign(call, &to, &from, false);
}
