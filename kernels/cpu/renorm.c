/* renorm.c - slices along one dimension, each scaled down to a greatest norm. */
#include "kernels/core/half.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/recording.h"
#include "kernels/rows/rows.h"

#include <math.h>

#define VALUE static
#include "kernels/cpu/renorm_values.h"
#undef VALUE

/* Row-major elements seen as (outer, slices, inner). */
typedef struct slices {
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out out;
  fnz_dtype dtype, element; /* that computes, and of the tensor */
  int64_t outer, count, inner;
  int64_t parts; /* of one number: 2 of a complex one */
  double order, limit;
} slices;

/* Floats side by side. */
static bool is_dense(const slices *s) {
  return s->x.f && s->out.f && s->parts == 1 && (s->outer == 1 || s->inner % FNZI_ROW_LANES == 0);
}

static double norm_of(const slices *s, int64_t slice) {
  double norm = 0, order = s->order;
  if (is_dense(s) && order == 2) {
    fnzi_row_sums sums = {{0}};
    for (int64_t o = 0; o < s->outer; o++)
      fnzi_rows_best()->squares(&sums, 0, s->x.f + (o * s->count + slice) * s->inner, s->inner);
    return norm_finished(fnzi_row_total(&sums), order);
  }
  for (int64_t o = 0; o < s->outer; o++)
    for (int64_t i = 0; i < s->inner; i++) {
      int64_t at = (o * s->count + slice) * s->inner + i;
      double size = s->parts == 2 ? hypot(fnzi_cpu_real_at(&s->x, 2 * at),
                                          fnzi_cpu_real_at(&s->x, 2 * at + 1))
                                  : fabs(fnzi_cpu_real_at(&s->x, at));
      norm = norm_joined(norm, size, order);
    }
  return norm_finished(norm, order);
}

static int64_t renorm_kind_of(const slices *s) {
  return s->dtype == FNZ_F64      ? RENORM_F64
         : s->element == FNZ_F16  ? RENORM_F16
         : s->element == FNZ_BF16 ? RENORM_BF16
                                  : RENORM_F32;
}

static void scale_slice(const void *user, int64_t slice, int lane) {
  const slices *s = user;
  double factor = norm_factor(renorm_kind_of(s), norm_of(s, slice), s->limit);
  (void)lane;
  for (int64_t o = 0; o < s->outer && is_dense(s); o++) {
    int64_t at = (o * s->count + slice) * s->inner;
    fnzi_rows_best()->scale(factor, -0.0, s->x.f + at, s->out.f + at, s->inner);
  }
  for (int64_t o = 0; o < s->outer && !is_dense(s); o++)
    for (int64_t i = 0; i < s->inner * s->parts; i++) {
      int64_t at = (o * s->count + slice) * s->inner * s->parts + i;
      fnzi_cpu_real_put(&s->out, at, fnzi_cpu_real_at(&s->x, at) * factor);
    }
}

static fnz_status renorm_open_slices(fnzi_krn_call *call, slices *s) {
  const void *in;
  void *out;
  s->parts = s->element == FNZ_C64 ? 2 : 1;
  if (s->parts == 1) {
    FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), s->dtype, &s->x));
    return fnzi_cpu_reals_result(call, 0, s->dtype, &s->out);
  }
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), FNZ_C64, &in));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_C64, &out));
  s->x.f = in;
  s->out.f = out;
  return FNZ_OK;
}

/* The factor of each slice, and then each element. */
static fnz_status renorm_record(fnzi_krn_call *call, const slices *s) {
  const int64_t integers[] = {s->outer, s->count, s->inner, renorm_kind_of(s)},
                count = s->outer * s->count * s->inner;
  const double numbers[] = {s->order, s->limit};
  fnzi_cpu_recording t = {.f = {.numbers = numbers, .nnumbers = 2}};
  void *factors;
  if (s->parts != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "complex numbers are not recorded");
  FNZ_TRY(fnzi_krn_scratch_take(call, s->count, sizeof(double), &factors));
  fnzi_cpu_record_reals(&t, &s->x, count);
  fnzi_cpu_record_window(&t, FNZ_F64, s->count, factors);
  fnzi_cpu_record_integers(&t, integers, sizeof integers);
  FNZ_TRY(fnzi_cpu_record(call, &t, "norm_factor", s->count));
  fnzi_cpu_record_reals_out(&t, &s->out, count);
  return fnzi_cpu_record(call, &t, "norm_scaled", count);
}

fnz_status fnzi_kernel_renorm(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t dim = fnzi_krn_named_int(call, "dim", 0);
  slices s = {.dtype = fnzi_cpu_real_dtype(g->dtype), .element = g->dtype, .outer = 1, .inner = 1};
  dim += dim < 0 ? (int64_t)g->rank : 0;
  for (uint32_t i = 0; i < g->rank; i++) {
    if (i < dim)
      s.outer *= g->sizes[i];
    if (i > dim)
      s.inner *= g->sizes[i];
  }
  s.count = g->sizes[dim];
  s.order = fnzi_krn_named_float(call, "p", 2);
  s.limit = fnzi_krn_named_float(call, "maxnorm", 0);
  if (fnzi_krn_array_numel(call->outputs[0]) == 0)
    return FNZ_OK;
  FNZ_TRY(renorm_open_slices(call, &s));
  if (call->record)
    return renorm_record(call, &s);
  fnzi_cpu_rows_each(call, s.count, scale_slice, &s);
  return FNZ_OK;
}
