/* tally.c - counts, sums that leave something out, and comparisons of whole tensors: count_nonzero,
 * nonzero, nansum, trace, equal. */
#include "kernels/core/window.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/point.h"
#include "kernels/cpu/recording.h"

#include <math.h>

static fnz_dtype widest_of(fnz_dtype dtype) {
  return fnzi_is_complex(dtype) ? FNZ_C128 : fnzi_is_float(dtype) ? FNZ_F64 : FNZ_I64;
}

fnz_status fnzi_kernel_count_nonzero(fnzi_krn_call *call) {
  bool reduced[FNZ_MAX_RANK];
  void *counts;
  fnzi_cpu_rows r;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, FNZ_BOOL, &r));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &counts));
  for (int64_t i = 0; i < r.count; i++) {
    const uint8_t *row = (const uint8_t *)r.data + i * r.length;
    int64_t count = 0;
    for (int64_t k = 0; k < r.length; k++)
      count += row[k] != 0;
    ((int64_t *)counts)[i] = count;
  }
  return FNZ_OK;
}

/* The places of elements other than 0, each as its index in every dimension. */
fnz_status fnzi_kernel_nonzero(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t *places[FNZ_MAX_RANK];
  const void *truths;
  fnzi_krn_window out;
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), FNZ_BOOL, &truths));
  fnzi_krn_window_of(call->outputs[0], &out);
  for (uint32_t d = 0; d < g->rank; d++)
    places[d] = (int64_t *)(void *)out.data + (int64_t)d * out.strides[1];
  fnzi_meta_true_places(g, truths, places, out.strides[0]);
  return FNZ_OK;
}

/* --- nansum ------------------------------------------------------------------------------ */
/* By bits: without its sign, a NaN is above infinity. */
#define DROP(type, infinity)                                                                       \
  {                                                                                                \
    const type size = (type)(UINT64_MAX >> (65 - 8 * sizeof(type)));                               \
    type *restrict to = (void *)data[0];                                                           \
    const type *restrict from = (const void *)data[1];                                             \
    const int64_t cell = sizeof(type), step = strides[0] / cell, from_step = strides[1] / cell;    \
    for (int64_t i = 0; step == 1 && from_step == 1 && i < count; i++)                             \
      to[i] = (type)((from[i] & size) > (infinity) ? 0 : from[i]);                                 \
    for (int64_t i = 0; (step != 1 || from_step != 1) && i < count; i++) {                         \
      type bits = from[i * from_step];                                                             \
      to[i * step] = (type)((bits & size) > (infinity) ? 0 : bits);                                \
    }                                                                                              \
    return;                                                                                        \
  }

static void drop_nan_row(const void *user, char *const *data, const int64_t *strides,
                         int64_t count) {
  switch (*(const fnz_dtype *)user) {
  case FNZ_F16:
    DROP(int16_t, 0x7c00)
  case FNZ_BF16:
    DROP(int16_t, 0x7f80)
  case FNZ_F32:
    DROP(int32_t, 0x7f800000)
  default:
    DROP(int64_t, 0x7ff0000000000000)
  }
}

/* Argument 0 with 0 for every NaN. */
static fnz_status copy_without_nan(fnzi_krn_call *call, fnzi_krn_array **out) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnzi_krn_loop loop;
  FNZ_TRY(fnzi_krn_array_create(call->ctx, call->stock, &self->geometry, self->cell, out));
  FNZ_TRY(fnzi_krn_array_allocate(call->ctx, *out, false));
  (*out)->eager = self->eager; /* it is summed in that order */
  fnzi_krn_loop_start(&loop, self->window.rank, self->window.sizes);
  fnzi_krn_loop_add_array(&loop, *out);
  fnzi_krn_loop_add_array(&loop, self);
  fnzi_krn_loop_run(&loop, drop_nan_row, &self->window.dtype, call->team, false);
  return FNZ_OK;
}

static fnz_status sum_array(fnzi_krn_call *call, fnzi_krn_array *array) {
  const fnz_arg *given = call->args;
  fnz_arg *args;
  FNZI_NEW(&call->scratch, call->op->nparams, &args);
  memcpy(args, given, call->op->nparams * sizeof *args);
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_krn_array_handle(array)};
  call->args = args;
  fnz_status status = fnzi_kernel_sum(call);
  call->args = given;
  return status;
}

/* Whether a bit pattern is a NaN's, as DROP() has it. */
#define FIND(type, infinity)                                                                       \
  {                                                                                                \
    const type size = (type)(UINT64_MAX >> (65 - 8 * sizeof(type)));                               \
    for (int64_t i = 0; i < count; i++)                                                            \
      found |= (*(const type *)(const void *)(data[0] + i * strides[0]) & size) > (infinity);      \
    break;                                                                                         \
  }

typedef struct nan_search {
  fnz_dtype dtype;
  bool *found;
} nan_search;

static void find_nan_row(const void *user, char *const *data, const int64_t *strides,
                         int64_t count) {
  const nan_search *search = user;
  bool found = false;
  switch (search->dtype) {
  case FNZ_F16:
    FIND(int16_t, 0x7c00)
  case FNZ_BF16:
    FIND(int16_t, 0x7f80)
  case FNZ_F32:
    FIND(int32_t, 0x7f800000)
  default:
    FIND(int64_t, 0x7ff0000000000000)
  }
  *search->found = *search->found || found;
}

/* A sum of a NaN is one. So sums without one had no NaN to leave out. */
static bool tally_has_nan(const fnzi_krn_array *sums) {
  bool found = false;
  const nan_search search = {sums->window.dtype, &found};
  fnzi_krn_loop loop;
  fnzi_krn_loop_start(&loop, sums->window.rank, sums->window.sizes);
  fnzi_krn_loop_add_array(&loop, sums);
  fnzi_krn_loop_run(&loop, find_nan_row, &search, NULL, false);
  return found;
}

fnz_status fnzi_kernel_nansum(fnzi_krn_call *call) {
  fnzi_krn_array *numbers = NULL;
  bool of_floats = fnzi_is_float(fnzi_krn_call_geometry(call, 0)->dtype);
  if (!of_floats || fnzi_is_float(call->outputs[0]->window.dtype)) {
    FNZ_TRY(fnzi_kernel_sum(call));
    FNZ_TRY(fnzi_krn_results_finish(call));
    if (!of_floats || !tally_has_nan(call->outputs[0]))
      return FNZ_OK;
  }
  fnz_status status = copy_without_nan(call, &numbers);
  if (status == FNZ_OK)
    status = sum_array(call, numbers);
  fnzi_krn_array_release(call->ctx, numbers);
  return status;
}

/* --- trace ------------------------------------------------------------------------------- */
/* The elements, recorded, and their sum. */
static fnz_status record_trace(fnzi_krn_call *call, fnzi_krn_window *diagonal, fnz_dtype wide) {
  const int64_t length = diagonal->sizes[0], parts = wide == FNZ_C128 ? 2 : 1,
                integers[] = {length, parts, wide == FNZ_I64};
  fnzi_cpu_recording t = {.f = {.nwindows = 0}};
  void *room, *sum;
  FNZ_TRY(fnzi_krn_scratch_take(call, length, fnzi_dtype(wide)->bytes, &room));
  fnzi_cpu_record_window(&t, wide, length, room);
  FNZ_TRY(fnzi_krn_window_assign(call, &t.windows[0], diagonal, false));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, wide, &sum));
  fnzi_cpu_record_window(&t, wide, 1, sum);
  fnzi_cpu_record_integers(&t, integers, sizeof integers);
  return fnzi_cpu_record(call, &t, "diagonal_sum", parts);
}

/* One element after the other, from 0. */
static void add_up(fnz_dtype wide, const void *x, int64_t count, void *sum) {
  const int64_t *whole = x;
  const double *real = x;
  double parts[2] = {0, 0};
  int64_t total = 0;
  for (int64_t i = 0; wide == FNZ_I64 && i < count; i++)
    total = (int64_t)((uint64_t)total + (uint64_t)whole[i]);
  for (int64_t i = 0; wide == FNZ_F64 && i < count; i++)
    parts[0] += real[i];
  for (int64_t i = 0; wide == FNZ_C128 && i < count; i++)
    parts[0] += real[2 * i], parts[1] += real[2 * i + 1];
  memcpy(sum, wide == FNZ_I64 ? (const void *)&total : parts, fnzi_dtype(wide)->bytes);
}

/* Halves and floats add up in double. */
fnz_status fnzi_kernel_trace(fnzi_krn_call *call) {
  const fnz_arg zero = {.tag = FNZ_ARG_INT};
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  fnz_dtype wide = widest_of(dtype);
  unsigned char cells[16] = {0};
  fnzi_krn_window from, sum = {.dtype = wide, .cell = fnzi_dtype(wide)->bytes, .data = cells}, to;
  void *room;
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  int64_t count = from.sizes[0] < from.sizes[1] ? from.sizes[0] : from.sizes[1];
  int64_t step = (int64_t)((uint64_t)from.strides[0] + (uint64_t)from.strides[1]);
  FNZ_TRY(fnzi_krn_array_fill(call, call->outputs[0], &zero));
  if (call->record && count > 0) {
    from.rank = 1;
    from.sizes[0] = count;
    from.strides[0] = step;
    return record_trace(call, &from, wide);
  }
  FNZ_TRY(fnzi_krn_scratch_take(call, count, sum.cell, &room));
  fnzi_krn_convert(&(fnzi_krn_conversion){wide, from.dtype, (int64_t)sum.cell,
                                          fnzi_krn_stride_bytes(step, from.cell)},
                   room, from.data, count);
  add_up(wide, room, count, cells);
  fnzi_krn_window_of(call->outputs[0], &to);
  return fnzi_krn_window_assign(call, &to, &sum, false);
}

/* --- equal ------------------------------------------------------------------------------- */
/* NaN equals nothing. */
static bool same_numbers(fnz_dtype dtype, const void *a, const void *b, int64_t count) {
  if (dtype == FNZ_I64)
    return memcmp(a, b, (size_t)count * sizeof(int64_t)) == 0;
  count *= dtype == FNZ_C128 ? 2 : 1;
  for (int64_t i = 0; i < count; i++)
    if (!(((const double *)a)[i] == ((const double *)b)[i]))
      return false;
  return true;
}

fnz_status fnzi_kernel_equal(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0), *b = fnzi_krn_call_input(call, 1),
                       *out = call->outputs[0];
  fnz_arg answer = {.tag = FNZ_ARG_BOOL, .u.i = 0};
  fnz_dtype common = widest_of(fnzi_promote(a->window.dtype, b->window.dtype));
  const int64_t count = fnzi_krn_array_numel(a), all = common == FNZ_C128 ? 2 * count : count;
  const void *x, *y;
  if (!fnzi_same_sizes(&a->window, &b->window))
    return fnzi_krn_array_fill(call, out, &answer);
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, common, &x));
  FNZ_TRY(fnzi_krn_dense_get_as(call, b, common, &y));
  if (!call->record) {
    answer.u.i = same_numbers(common, x, y, count);
    return fnzi_krn_array_fill(call, out, &answer);
  }
  fnz_dtype dtype = common == FNZ_I64 ? FNZ_I64 : FNZ_F64;
  fnzi_cpu_recording t = {.f = {.nwindows = 0}};
  fnzi_cpu_record_window(&t, dtype, all, x);
  fnzi_cpu_record_window(&t, dtype, all, y);
  fnzi_cpu_record_window(&t, FNZ_BOOL, 1, fnzi_krn_array_data(out));
  fnzi_cpu_record_integer(&t, common == FNZ_I64);
  answer.u.i = 1; /* before each element is looked at */
  FNZ_TRY(fnzi_krn_array_fill(call, out, &answer));
  return fnzi_cpu_record(call, &t, "differs", all);
}
