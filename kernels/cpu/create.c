/* create.c - tensors from numbers. */
#include "kernels/cpu/cpu.h"

static const fnz_arg zero = {.tag = FNZ_ARG_INT, .u.i = 0}, one = {.tag = FNZ_ARG_INT, .u.i = 1};

/* zeros, ones, full, empty (which gives zeros), their new_ and _like forms, scalar_tensor. */
fnz_status fnzi_kernel_create(fnzi_call *call) {
  const fnz_arg *value = fnzi_named(call, "fill_value");
  if (!value)
    value = fnzi_named(call, "s");
  if (!value)
    value = strstr(call->op->base, "ones") ? &one : &zero;
  return fnzi_fill(call, call->outputs[0], value);
}

fnz_status fnzi_kernel_fill(fnzi_call *call) {
  const fnz_arg *value = &call->args[1];
  const fnzi_array *tensor = fnzi_arg_array(value);
  if (!tensor)
    return fnzi_fill(call, call->outputs[0], value);
  return fnzi_assign(call, call->outputs[0], tensor);
}

fnz_status fnzi_kernel_eye(fnzi_call *call) {
  fnzi_window all, value;
  unsigned char room[16];
  fnzi_window_of(call->outputs[0], &all);
  if (!fnzi_can_convert(all.dtype, FNZ_I64))
    return fnzi_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no kernel for element type %s",
                       fnzi_dtype(all.dtype)->name);
  FNZ_TRY(fnzi_fill(call, call->outputs[0], &zero));
  fnzi_window_number(&one, all.dtype, room, &value);
  all.rank = 1;
  all.sizes[0] = all.sizes[0] < all.sizes[1] ? all.sizes[0] : all.sizes[1];
  all.strides[0] = (int64_t)((uint64_t)all.strides[0] + (uint64_t)all.strides[1]);
  return fnzi_window_assign(call, &all, &value, false);
}

/* Integers count in 64 bits, everything else in double. */
fnz_status fnzi_kernel_arange(fnzi_call *call) {
  const fnzi_array *out = call->outputs[0];
  int64_t count = fnzi_array_numel(out);
  void *data;
  if (fnzi_is_integer(out->place.dtype)) {
    int64_t first = fnzi_named_int(call, "start", 0), step = fnzi_named_int(call, "step", 1);
    FNZ_TRY(fnzi_result_as(call, 0, FNZ_I64, &data));
    for (int64_t i = 0; i < count; i++)
      ((int64_t *)data)[i] = (int64_t)((uint64_t)first + (uint64_t)step * (uint64_t)i);
    return FNZ_OK;
  }
  double first = fnzi_named_float(call, "start", 0), step = fnzi_named_float(call, "step", 1);
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_F64, &data));
  for (int64_t i = 0; i < count; i++)
    ((double *)data)[i] = first + step * (double)i;
  return FNZ_OK;
}

/* From both ends, so that both are met exactly. */
static void spread(double *out, double first, double last, int64_t count) {
  double step = count > 1 ? (last - first) / (double)(count - 1) : 0;
  for (int64_t i = 0; i < count; i++)
    out[i] = i < count / 2 || count == 1 ? first + step * (double)i
                                         : last - step * (double)(count - i - 1);
}

static void spread_single(float *out, float first, float last, int64_t count) {
  float step = count > 1 ? (last - first) / (float)(count - 1) : 0;
  for (int64_t i = 0; i < count; i++)
    out[i] = i < count / 2 || count == 1 ? first + step * (float)i
                                         : last - step * (float)(count - i - 1);
}

fnz_status fnzi_kernel_linspace(fnzi_call *call) {
  const fnzi_array *out = call->outputs[0];
  double first = fnzi_named_float(call, "start", 0), last = fnzi_named_float(call, "end", 0);
  void *data;
  if (out->place.dtype == FNZ_F32) {
    FNZ_TRY(fnzi_result_as(call, 0, FNZ_F32, &data));
    spread_single(data, (float)first, (float)last, fnzi_array_numel(out));
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_F64, &data));
  spread(data, first, last, fnzi_array_numel(out));
  return FNZ_OK;
}
