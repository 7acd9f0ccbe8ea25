/* running.c - extremes and log-sum-exps of ever longer starts of a row: cummax, cummin,
 * logcumsumexp. Elements are widened to double or 64-bit integers and lie row-major. */
#include "kernels/cpu/pick.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

/* Rows of `count` elements, `inner` apart. */
typedef struct rows {
  int64_t numel, count, inner;
} rows;

static fnz_status find_rows(fnzi_krn_call *call, rows *out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  FNZ_TRY(
      fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), g->rank, &dim));
  *out = (rows){fnz_geometry_numel(g), g->rank ? g->sizes[dim] : 1, 1};
  for (uint32_t i = dim + 1; i < g->rank; i++)
    out->inner *= g->sizes[i];
  return FNZ_OK;
}

/* The index of the first element of row `row`. */
static int64_t start_of(const rows *r, int64_t row) {
  return row / r->inner * r->count * r->inner + row % r->inner;
}

enum { BLOCK = 32 }; /* neighbours that are compared before one takes over */

/* A later equal element takes over, and so does a NaN, for good. Results that are in the type of
 * the elements are put as well. */
#define EXTREME(name, T, wins)                                                                     \
  static inline __attribute__((always_inline)) void running_each_##name##_##T(                     \
      const T *restrict row, T *restrict out, int64_t *restrict places, int64_t count,             \
      int64_t inner) {                                                                             \
    T a = row[0];                                                                                  \
    for (int64_t i = 0, end, place = 0; i < count; i = end) {                                      \
      int some = inner != 1;                                                                       \
      end = count - i < BLOCK ? count : i + BLOCK;                                                 \
      for (int64_t k = i; inner == 1 && k < end; k++) {                                            \
        T x = row[k];                                                                              \
        some |= (wins);                                                                            \
      }                                                                                            \
      for (int64_t k = i; !some && k < end; k++)                                                   \
        places[k] = place;                                                                         \
      for (int64_t k = i; !some && out && k < end; k++)                                            \
        out[k] = a;                                                                                \
      for (int64_t k = i; some && k < end; k++) {                                                  \
        T x = row[k * inner];                                                                      \
        if (__builtin_expect(wins, 0)) /* rarely: a branch does not wait for `a` */                \
          a = x, place = k;                                                                        \
        places[k * inner] = place;                                                                 \
        if (out)                                                                                   \
          out[k * inner] = a;                                                                      \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void running_##name##_##T(const rows *r, int64_t at, const void *from, void *to,          \
                                   int64_t *places) {                                              \
    const T *row = (const T *)from + at;                                                           \
    T *out = to ? (T *)to + at : NULL;                                                             \
    if (r->inner == 1)                                                                             \
      running_each_##name##_##T(row, out, places + at, r->count, 1);                               \
    else                                                                                           \
      running_each_##name##_##T(row, out, places + at, r->count, r->inner);                        \
  }
#define RUNNING(name, wins)                                                                        \
  EXTREME(name, float, wins) EXTREME(name, double, wins) EXTREME(name, int64_t, wins)
#include "kernels/folds.def"

typedef void extreme_fn(const rows *r, int64_t at, const void *from, void *to, int64_t *places);
/* By the type of the elements that it reads. */
typedef struct extreme {
  extreme_fn *run;
} extreme;
typedef struct extremes {
  extreme single, real, whole;
} extremes;

/* The elements of a row that its places name. */
static void running_put_row(const rows *r, int64_t start, size_t cell, const char *cells, char *to,
                            const int64_t *places) {
  if (r->inner == 1)
    fnzi_cpu_cells_pick(cell, to + (size_t)start * cell, cells + (size_t)start * cell,
                        places + start, r->count);
  for (int64_t i = 0, at = start; r->inner != 1 && i < r->count; i++, at += r->inner)
    memcpy(to + (size_t)at * cell, cells + (size_t)(start + places[at] * r->inner) * cell, cell);
}

static fnz_status run_extreme(fnzi_krn_call *call, const extremes *by) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  fnz_dtype wide = dtype == FNZ_F32 ? FNZ_F32 : fnzi_is_float(dtype) ? FNZ_F64 : FNZ_I64;
  extreme of = wide == FNZ_F32 ? by->single : wide == FNZ_F64 ? by->real : by->whole;
  const void *cells, *widened;
  void *to, *places;
  rows r;
  FNZ_TRY(find_rows(call, &r));
  FNZ_TRY(fnzi_krn_dense_get(call, fnzi_krn_call_input(call, 0), &cells));
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), wide, &widened));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &to));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &places));
  for (int64_t row = 0; r.numel && row < r.numel / r.count; row++) {
    const int64_t start = start_of(&r, row);
    of.run(&r, start, widened, wide == dtype ? to : NULL, places);
    if (wide != dtype)
      running_put_row(&r, start, fnzi_dtype(dtype)->bytes, cells, to, places);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_cummax(fnzi_krn_call *call) {
  const extremes by = {{running_max_float}, {running_max_double}, {running_max_int64_t}};
  return run_extreme(call, &by);
}

fnz_status fnzi_kernel_cummin(fnzi_krn_call *call) {
  const extremes by = {{running_min_float}, {running_min_double}, {running_min_int64_t}};
  return run_extreme(call, &by);
}

#define VALUE static
#include "kernels/cpu/running_values.h"

fnz_status fnzi_kernel_logcumsumexp(fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(call->outputs[0]->window.dtype);
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  rows r;
  FNZ_TRY(find_rows(call, &r));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  for (int64_t row = 0; r.numel && row < r.numel / r.count; row++) {
    double sum = -INFINITY;
    for (int64_t i = 0, at = start_of(&r, row); i < r.count; i++, at += r.inner) {
      sum = add_in_logs(fnzi_cpu_real_at(&x, at), sum);
      fnzi_cpu_real_put(&y, at, sum);
    }
  }
  return FNZ_OK;
}
