/* reduce.c - reductions whose bits do not depend on an order, products, and running sums: the
 * reduced elements are laid out as fnzi_cpu_rows, in a computing type, and each row gives its
 * result.
 */
#include "kernels/cpu/point.h"
#include "kernels/cpu/row_code.h"

#include <math.h>

/* --- Rows -------------------------------------------------------------------------------- */
/* The reduced dimensions move behind the others. */
static void split_window(fnzi_krn_window *w, const bool *reduced, fnzi_cpu_rows *out) {
  uint32_t order[FNZ_MAX_RANK], n = 0;
  fnzi_krn_window old = *w;
  out->count = out->length = 1;
  for (uint32_t i = 0; i < old.rank; i++)
    if (!reduced[i]) {
      order[n++] = i;
      out->count *= old.sizes[i];
    }
  for (uint32_t i = 0; i < old.rank; i++)
    if (reduced[i]) {
      order[n++] = i;
      out->length *= old.sizes[i];
    }
  for (uint32_t i = 0; i < n; i++) {
    w->sizes[i] = old.sizes[order[i]];
    w->strides[i] = old.strides[order[i]];
  }
}

fnz_status fnzi_cpu_rows_make(fnzi_krn_call *call, const bool *reduced, fnz_dtype dtype,
                              fnzi_cpu_rows *out) {
  fnzi_krn_window from, to;
  void *data;
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &from);
  split_window(&from, reduced, out);
  FNZ_TRY(fnzi_krn_room_take(call, out->count * out->length, fnzi_dtype(dtype)->bytes, &data));
  out->dtype = dtype;
  out->data = data;
  fnzi_krn_window_dense(&to, dtype, from.rank, from.sizes, data);
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* --- One row to one number --------------------------------------------------------------- */
#define REDUCTION(name, T, start, step)                                                            \
  static void name##_##T(const void *data, int64_t count, void *out) {                             \
    const T *row = data;                                                                           \
    T a = (start);                                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                          \
      T x = row[i];                                                                                \
      a = (step);                                                                                  \
    }                                                                                              \
    *(T *)out = a;                                                                                 \
  }
#define ARGUMENT(name, T, better)                                                                  \
  static int64_t arg##name##_##T(const void *data, int64_t count) {                                \
    const T *row = data;                                                                           \
    int64_t best = 0;                                                                              \
    for (int64_t i = 1; i < count; i++) {                                                          \
      T a = row[best], x = row[i];                                                                 \
      if (better)                                                                                  \
        best = i;                                                                                  \
    }                                                                                              \
    return best;                                                                                   \
  }

#define LEAST                INT64_MIN
#define MOST                 INT64_MAX
#define PLUS(a, x)           ((int64_t)((uint64_t)(a) + (uint64_t)(x)))
#define TIMES(a, x)          ((int64_t)((uint64_t)(a) * (uint64_t)(x)))
#define FOLD(name, s, step)  REDUCTION(name, int64_t, s, step)
#define PICK(name, better)   ARGUMENT(name, int64_t, better)
#define TRUTH(name, s, step) REDUCTION(name, uint8_t, s, step)
#include "kernels/folds.def"
#undef LEAST
#undef MOST
#undef PLUS
#undef TIMES
#define LEAST               -INFINITY
#define MOST                INFINITY
#define PLUS(a, x)          ((a) + (x))
#define TIMES(a, x)         ((a) * (x))
#define FOLD(name, s, step) REDUCTION(name, float, s, step) REDUCTION(name, double, s, step)
#define PICK(name, better)  ARGUMENT(name, float, better) ARGUMENT(name, double, better)
#include "kernels/folds.def"

/* Complex numbers multiply without a thought for infinities. */
typedef struct complex_double {
  double re, im;
} complex_double;

static complex_double plus(complex_double a, complex_double b) {
  return (complex_double){a.re + b.re, a.im + b.im};
}
static complex_double times(complex_double a, complex_double b) {
  return (complex_double){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

typedef int64_t argument_fn(const void *row, int64_t count);

static const struct {
  fnzi_krn_mode fold;
  fnz_dtype class_dtype;
  fnzi_meta_reduce_fn *run;
} reductions[] = {
#define FOLD(name, s, step)                                                                        \
  {FNZI_MODE_##name, FNZ_I64, name##_int64_t}, {FNZI_MODE_##name, FNZ_F32, name##_float},          \
      {FNZI_MODE_##name, FNZ_F64, name##_double},
#define TRUTH(name, s, step) {FNZI_MODE_##name, FNZ_BOOL, name##_uint8_t},
#include "kernels/folds.def"
};

/* max and min of all elements are amax and amin. */
static fnzi_meta_reduce_fn *find_reduction(uint8_t mode, fnz_dtype class_dtype) {
  uint8_t fold = mode == FNZI_MODE_max   ? FNZI_MODE_amax
                 : mode == FNZI_MODE_min ? FNZI_MODE_amin
                                         : mode;
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    if (reductions[i].fold == fold && reductions[i].class_dtype == class_dtype)
      return reductions[i].run;
  return NULL;
}

static argument_fn *find_argument(bool greatest, fnz_dtype class_dtype) {
  if (class_dtype == FNZ_I64)
    return greatest ? argmax_int64_t : argmin_int64_t;
  if (class_dtype == FNZ_F32)
    return greatest ? argmax_float : argmin_float;
  return greatest ? argmax_double : argmin_double;
}

/* --- Kernels ----------------------------------------------------------------------------- */
/* any and all ask whether elements are true; the others compute in the type of the result. */
static fnz_dtype class_of(const fnzi_krn_call *call, fnzi_krn_mode mode) {
  if (mode == FNZI_MODE_any || mode == FNZI_MODE_all)
    return FNZ_BOOL;
  return fnzi_meta_point_class(call->outputs[0]->place.dtype);
}

/* The cell has the dtype of a class. */
static bool is_nan(fnz_dtype class_dtype, const void *cell) {
  if (class_dtype == FNZ_F32)
    return isnan(*(const float *)cell);
  return class_dtype == FNZ_F64 && isnan(*(const double *)cell);
}

void fnzi_cpu_overall_nan(fnz_dtype dtype, void *out) {
  uint64_t ones = UINT64_MAX;
  float single = copysignf(NAN, -1);
  if (dtype != FNZ_F16)
    memcpy(&single, &ones, sizeof single);
  if (dtype == FNZ_F64)
    memcpy(out, &ones, sizeof ones);
  else
    fnzi_krn_convert_one(dtype, out, FNZ_F32, &single);
}

/* Extremes are elements, but for NaN, whose payload goes. */
typedef enum nan_kind { NAN_PASSES, NAN_LINED_UP, NAN_OVERALL } nan_kind;

static nan_kind nan_of(uint8_t mode) {
  if (mode == FNZI_MODE_max || mode == FNZI_MODE_min)
    return NAN_OVERALL;
  return mode == FNZI_MODE_amax || mode == FNZI_MODE_amin ? NAN_LINED_UP : NAN_PASSES;
}

static void forget_payload(nan_kind kind, fnz_dtype dtype, fnz_dtype class_dtype, void *out) {
  static const double nan = NAN;
  _Alignas(8) unsigned char cell[8];
  if (kind == NAN_PASSES || !is_nan(class_dtype, out))
    return;
  fnzi_krn_convert_one(class_dtype, out, FNZ_F64, &nan);
  if (kind == NAN_LINED_UP)
    return;
  fnzi_cpu_overall_nan(dtype, cell);
  fnzi_krn_convert_one(class_dtype, out, dtype, cell);
}

fnz_status fnzi_cpu_reduce_by(fnzi_krn_call *call, fnzi_krn_mode mode) {
  fnz_dtype class_dtype = class_of(call, mode);
  fnzi_meta_reduce_fn *run = find_reduction((uint8_t)mode, class_dtype);
  nan_kind kind = nan_of((uint8_t)mode);
  bool reduced[FNZ_MAX_RANK];
  void *out;
  fnzi_cpu_rows r;
  if (!run)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s",
                                fnzi_dtype(class_dtype)->name);
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, class_dtype, &r));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, class_dtype, &out));
  size_t cell = fnzi_dtype(class_dtype)->bytes;
  for (int64_t i = 0; i < r.count; i++) {
    char *to = (char *)out + (size_t)i * cell;
    run((const char *)r.data + (size_t)(i * r.length) * cell, r.length, to);
    forget_payload(kind, call->outputs[0]->place.dtype, class_dtype, to);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_reduce(fnzi_krn_call *call) {
  return fnzi_cpu_reduce_by(call, (fnzi_krn_mode)call->row->mode);
}

void fnzi_cpu_reduction_of(const fnzi_kernel *row, fnz_dtype dtype, fnzi_meta_row_code *out) {
  uint8_t mode = row->run == FNZI_RUN_sum ? FNZI_MODE_sum : row->mode;
  out->reduce = find_reduction(mode, dtype);
  out->nan = (uint8_t)nan_of(mode);
}

void fnzi_cpu_reduce_row(const fnzi_meta_row_code *code, const void *x, int64_t length, void *out) {
  code->reduce(x, length, out);
  forget_payload((nan_kind)code->nan, code->dtype, code->dtype, out);
}

int64_t fnzi_cpu_arg_row(bool greatest, fnz_dtype dtype, const void *x, int64_t length) {
  return find_argument(greatest, dtype)(x, length);
}

/* Places of the greatest or least elements. */
static void find_places(const fnzi_cpu_rows *r, bool greatest, int64_t *places) {
  argument_fn *run = find_argument(greatest, r->dtype);
  size_t cell = fnzi_dtype(r->dtype)->bytes;
  for (int64_t i = 0; i < r->count; i++)
    places[i] = run((const char *)r->data + (size_t)(i * r->length) * cell, r->length);
}

fnz_status fnzi_cpu_rows_pick(fnzi_krn_call *call, const bool *reduced, const int64_t *places) {
  fnz_dtype dtype = call->outputs[0]->place.dtype;
  size_t cell = fnzi_dtype(dtype)->bytes;
  void *values;
  fnzi_cpu_rows r;
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, dtype, &r));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &values));
  for (int64_t i = 0; i < r.count; i++)
    memcpy((char *)values + (size_t)i * cell,
           (const char *)r.data + (size_t)(i * r.length + places[i]) * cell, cell);
  return FNZ_OK;
}

fnz_status fnzi_kernel_arg(fnzi_krn_call *call) {
  fnz_dtype class_dtype = fnzi_meta_point_class(fnzi_krn_call_input(call, 0)->place.dtype);
  bool reduced[FNZ_MAX_RANK];
  void *places;
  fnzi_cpu_rows r;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, class_dtype, &r));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &places));
  find_places(&r, call->row->mode == FNZI_MODE_max, places);
  return FNZ_OK;
}

fnz_status fnzi_kernel_extreme(fnzi_krn_call *call) {
  fnz_dtype class_dtype = fnzi_meta_point_class(fnzi_krn_call_input(call, 0)->place.dtype);
  bool reduced[FNZ_MAX_RANK];
  void *places;
  fnzi_cpu_rows r;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, class_dtype, &r));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &places));
  find_places(&r, call->row->mode == FNZI_MODE_max, places);
  return fnzi_cpu_rows_pick(call, reduced, places);
}

/* --- Running sums and products ----------------------------------------------------------- */
#define SCAN_ROWS(ROW)                                                                             \
  ROW(sum, F64, double, a + x)                                                                     \
  ROW(prod, F64, double, a *x)                                                                     \
  ROW(sum, F32, float, a + x)                                                                      \
  ROW(prod, F32, float, a *x)                                                                      \
  ROW(sum, C128, complex_double, plus(a, x))                                                       \
  ROW(prod, C128, complex_double, times(a, x))                                                     \
  ROW(sum, I64, int64_t, (int64_t)((uint64_t)a + (uint64_t)x))                                     \
  ROW(prod, I64, int64_t, (int64_t)((uint64_t)a * (uint64_t)x))

typedef void scan_fn(void *data, int64_t count);

#define SCAN(name, dtype, T, step)                                                                 \
  static void cum##name##_##dtype(void *data, int64_t count) {                                     \
    T *row = data;                                                                                 \
    for (int64_t i = 1; i < count; i++) {                                                          \
      T a = row[i - 1], x = row[i];                                                                \
      row[i] = (step);                                                                             \
    }                                                                                              \
  }
SCAN_ROWS(SCAN)

static const struct {
  fnzi_krn_mode fold;
  fnz_dtype dtype;
  scan_fn *run;
} scans[] = {
#define SCAN_ENTRY(name, dtype, T, step) {FNZI_MODE_##name, FNZ_##dtype, cum##name##_##dtype},
    SCAN_ROWS(SCAN_ENTRY)};

static scan_fn *find_scan(uint8_t fold, fnz_dtype dtype) {
  for (size_t i = 0; i < sizeof scans / sizeof *scans; i++)
    if (scans[i].fold == fold && scans[i].dtype == dtype)
      return scans[i].run;
  return NULL;
}

/* f32 accumulates in double, the 16-bit floats in f32, as eager does. */
static fnz_dtype scan_dtype(fnz_dtype out) {
  return out == FNZ_F32 ? FNZ_F64 : out == FNZ_C64 ? FNZ_C128 : fnzi_meta_point_class(out);
}

fnz_status fnzi_kernel_scan(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  fnz_dtype dtype = scan_dtype(out->place.dtype);
  bool along[FNZ_MAX_RANK];
  fnzi_krn_window to, from;
  scan_fn *run = find_scan(call->row->mode, dtype);
  fnzi_cpu_rows r, same;
  if (!run)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s",
                                fnzi_dtype(out->place.dtype)->name);
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_round_input(call));
  FNZ_TRY(fnzi_meta_reduced_dims(call, along));
  FNZ_TRY(fnzi_cpu_rows_make(call, along, dtype, &r));
  size_t cell = fnzi_dtype(dtype)->bytes;
  for (int64_t i = 0; i < r.count; i++)
    run((char *)(uintptr_t)r.data + (size_t)(i * r.length) * cell, r.length);
  fnzi_krn_window_of(out, &to);
  split_window(&to, along, &same);
  fnzi_krn_window_dense(&from, dtype, to.rank, to.sizes, r.data);
  return fnzi_krn_window_assign(call, &to, &from, false);
}
