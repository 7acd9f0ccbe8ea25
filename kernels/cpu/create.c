/* create.c - tensors from numbers. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/recording.h"

#include <math.h>

static const fnz_arg zero = {.tag = FNZ_ARG_INT, .u.i = 0}, one = {.tag = FNZ_ARG_INT, .u.i = 1};

/* zeros, ones, full, empty (which gives zeros), their new_ and _like forms, scalar_tensor. */
fnz_status fnzi_kernel_create(fnzi_krn_call *call) {
  const fnz_arg *value = fnzi_krn_named(call, "fill_value");
  if (!value)
    value = fnzi_krn_named(call, "s");
  if (!value)
    value = call->row->mode == FNZI_MODE_ones ? &one : &zero;
  return fnzi_krn_array_fill(call, call->outputs[0], value);
}

fnz_status fnzi_kernel_fill(fnzi_krn_call *call) {
  const fnz_arg *value = &call->args[1];
  const fnzi_krn_array *tensor = fnzi_krn_arg_array(value);
  if (!tensor)
    return fnzi_krn_array_fill(call, call->outputs[0], value);
  return fnzi_krn_array_assign(call, call->outputs[0], tensor);
}

fnz_status fnzi_kernel_eye(fnzi_krn_call *call) {
  fnzi_krn_window all, value;
  unsigned char room[16];
  fnzi_krn_window_of(call->outputs[0], &all);
  if (!fnzi_krn_can_convert(all.dtype, FNZ_I64))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s",
                                fnzi_dtype(all.dtype)->name);
  FNZ_TRY(fnzi_krn_array_fill(call, call->outputs[0], &zero));
  fnzi_krn_window_number(&one, all.dtype, room, &value);
  all.rank = 1;
  all.sizes[0] = all.sizes[0] < all.sizes[1] ? all.sizes[0] : all.sizes[1];
  all.strides[0] = (int64_t)((uint64_t)all.strides[0] + (uint64_t)all.strides[1]);
  return fnzi_krn_window_assign(call, &all, &value, false);
}

/* --- Numbers in a line ------------------------------------------------------------------- */
#define VALUE static inline
#include "kernels/cpu/create_values.h"
#undef VALUE

/* The formula of each element, recorded; the result is row-major. */
static fnz_status create_record(fnzi_krn_call *call, const char *name, fnz_dtype dtype,
                                const void *data, const int64_t *integers, const double *numbers) {
  enum { INTEGERS = 2, NUMBERS = 4 };
  const int64_t count = fnzi_krn_array_numel(call->outputs[0]);
  fnzi_cpu_recording t = {.f = {.numbers = numbers, .nnumbers = NUMBERS}};
  fnzi_cpu_record_window(&t, dtype, count, data);
  fnzi_cpu_record_integers(&t, integers, INTEGERS * sizeof *integers);
  return fnzi_cpu_record(call, &t, name, count);
}

fnz_status fnzi_kernel_arange(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  const fnz_dtype own = out->window.dtype;
  const bool is_half = own == FNZ_F16 || own == FNZ_BF16;
  fnz_dtype dtype = fnzi_is_integer(own)                            ? FNZ_I64
                    : is_half && call->row->mode == FNZI_MODE_range ? FNZ_F32
                                                                    : FNZ_F64;
  const int64_t integers[] = {fnzi_krn_named_int(call, "start", 0),
                              fnzi_krn_named_int(call, "step", 1)};
  const double numbers[4] = {fnzi_krn_named_float(call, "start", 0),
                             fnzi_krn_named_float(call, "step", 1)};
  void *data;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &data));
  if (call->record)
    return create_record(call, dtype == FNZ_I64 ? "line_integer" : "line", dtype, data, integers,
                         numbers);
  const int64_t count = fnzi_krn_array_numel(out);
  for (int64_t i = 0; i < count; i++)
    if (dtype == FNZ_I64)
      ((int64_t *)data)[i] = line_integer(integers[0], integers[1], i);
    else if (dtype == FNZ_F64)
      ((double *)data)[i] = line_double(numbers[0], numbers[1], i);
    else
      ((float *)data)[i] = line_single((float)numbers[0], (float)numbers[1], i);
  return FNZ_OK;
}

/* The real part of a number, or the imaginary one. */
static double create_part_of(const fnz_arg *number, int64_t part) {
  if (part == 0)
    return fnzi_krn_number_float(number);
  return number->tag == FNZ_ARG_COMPLEX ? number->u.list[1].u.f : 0;
}

fnz_status fnzi_kernel_linspace(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  const fnz_arg *start = fnzi_krn_named(call, "start"), *end = fnzi_krn_named(call, "end");
  bool is_complex = fnzi_is_complex(out->window.dtype);
  bool is_single = out->window.dtype == FNZ_F32 || out->window.dtype == FNZ_C64;
  int64_t parts = is_complex ? 2 : 1, count = fnzi_krn_array_numel(out);
  fnz_dtype real = is_single ? FNZ_F32 : FNZ_F64, paired = is_single ? FNZ_C64 : FNZ_C128;
  void *data;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, is_complex ? paired : real, &data));
  if (call->record) {
    const int64_t integers[] = {count, 0};
    const double ends[4] = {create_part_of(start, 0), create_part_of(end, 0)};
    if (is_complex)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "complex numbers are not recorded");
    return create_record(call, "spread", real, data, integers, ends);
  }
  for (int64_t k = 0; k < parts; k++) { /* complex numbers are two lines, side by side */
    double first = create_part_of(start, k), last = create_part_of(end, k);
    for (int64_t i = 0; i < count; i++)
      if (is_single)
        ((float *)data)[parts * i + k] = spread_single((float)first, (float)last, count, i);
      else
        ((double *)data)[parts * i + k] = spread_double(first, last, count, i);
  }
  return FNZ_OK;
}

/* Both ends and the difference are numbers of the result's type; the powers are taken in double. */
static double create_rounded(fnz_dtype dtype, double v) {
  unsigned char cell[16];
  fnzi_krn_convert_one(dtype, cell, FNZ_F64, &v);
  fnzi_krn_convert_one(FNZ_F64, &v, dtype, cell);
  return v;
}

fnz_status fnzi_kernel_logspace(fnzi_krn_call *call) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  int64_t count = fnzi_krn_array_numel(call->outputs[0]);
  double ends[] = {fnzi_krn_named_float(call, "start", 0), fnzi_krn_named_float(call, "end", 0), 0,
                   fnzi_krn_named_float(call, "base", 10)};
  void *data;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F64, &data));
  if (count > 1) {
    ends[0] = create_rounded(dtype, ends[0]);
    ends[1] = create_rounded(dtype, ends[1]);
    ends[2] = create_rounded(dtype, ends[1] - ends[0]) / (double)(count - 1);
  }
  if (call->record)
    return create_record(call, "power", FNZ_F64, data, (const int64_t[]){count, 0}, ends);
  for (int64_t i = 0; i < count; i++)
    ((double *)data)[i] = power_double(ends[0], ends[1], ends[2], count, i, ends[3]);
  return FNZ_OK;
}
