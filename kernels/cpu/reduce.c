/* reduce.c - reductions whose bits do not hang on an order, products, and running sums: the tensor
 * is laid out as rows of what is reduced, in i64, f32 or f64, and each row gives its result. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/point.h"

/* --- Rows -------------------------------------------------------------------------------- */
typedef struct rows {
  fnz_dtype dtype;
  const void *data;
  int64_t count, length;
} rows;

/* The reduced dimensions move behind the others. */
static void split_window(fnzi_window *w, const bool *reduced, rows *out) {
  uint32_t order[FNZ_MAX_RANK], n = 0;
  fnzi_window old = *w;
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

static fnz_status make_rows(fnzi_call *call, const bool *reduced, fnz_dtype dtype, rows *out) {
  fnzi_window from, to;
  void *data;
  fnzi_window_of(fnzi_input(call, 0), &from);
  split_window(&from, reduced, out);
  FNZ_TRY(fnzi_arena_alloc(&call->scratch, (size_t)(out->count * out->length),
                           fnzi_dtype(dtype)->bytes, &data));
  out->dtype = dtype;
  out->data = data;
  fnzi_window_dense(&to, dtype, from.rank, from.sizes, data);
  return fnzi_window_assign(call, &to, &from, false);
}

/* --- One row to one number --------------------------------------------------------------- */
/* Columns: name, what it starts from, and the step from `a` by the element `x`. */
#define REDUCTION_ROWS(ROW, T)                                                                     \
  ROW(sum, T, (T)0, PLUS(a, x))                                                                    \
  ROW(prod, T, (T)1, TIMES(a, x))                                                                  \
  ROW(max, T, row[0], x > a || x != x ? x : a)                                                     \
  ROW(min, T, row[0], x < a || x != x ? x : a)                                                     \
  ROW(amax, T, row[0], x > a || x != x ? x : a)                                                    \
  ROW(amin, T, row[0], x < a || x != x ? x : a)                                                    \
  ROW(any, T, (T)0, a != 0 || x != 0 ? (T)1 : (T)0)                                                \
  ROW(all, T, (T)1, a != 0 && x != 0 ? (T)1 : (T)0)
#define ARGUMENT_ROWS(ROW, T)                                                                      \
  ROW(max, T, x > a || (x != x && a == a))                                                         \
  ROW(min, T, x < a || (x != x && a == a))

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

#define PLUS(a, x)  ((int64_t)((uint64_t)(a) + (uint64_t)(x)))
#define TIMES(a, x) ((int64_t)((uint64_t)(a) * (uint64_t)(x)))
REDUCTION_ROWS(REDUCTION, int64_t)
ARGUMENT_ROWS(ARGUMENT, int64_t)
#undef PLUS
#undef TIMES
#define PLUS(a, x)  ((a) + (x))
#define TIMES(a, x) ((a) * (x))
REDUCTION_ROWS(REDUCTION, float)
ARGUMENT_ROWS(ARGUMENT, float)
REDUCTION_ROWS(REDUCTION, double)
ARGUMENT_ROWS(ARGUMENT, double)

typedef void row_fn(const void *row, int64_t count, void *out);
typedef int64_t argument_fn(const void *row, int64_t count);

static const struct {
  const char *name;
  row_fn *i64, *f32, *f64;
} reductions[] = {
#define TABLE_ROW(name, T, start, step) {#name, name##_int64_t, name##_float, name##_double},
    REDUCTION_ROWS(TABLE_ROW, -)};

static row_fn *find_reduction(const char *name, fnz_dtype class_dtype) {
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    if (strcmp(reductions[i].name, name) == 0)
      return class_dtype == FNZ_I64   ? reductions[i].i64
             : class_dtype == FNZ_F32 ? reductions[i].f32
                                      : reductions[i].f64;
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
/* any and all look at the elements as they are; the others compute in the type of the result. */
static fnz_dtype class_of(const fnzi_call *call) {
  fnz_dtype self = fnzi_input(call, 0)->place.dtype, out = call->outputs[0]->place.dtype;
  bool truth = strcmp(call->op->base, "any") == 0 || strcmp(call->op->base, "all") == 0;
  return fnzi_point_class(truth ? self : out);
}

fnz_status fnzi_kernel_reduce(fnzi_call *call) {
  fnz_dtype class_dtype = class_of(call);
  row_fn *run = find_reduction(call->op->base, class_dtype);
  bool reduced[FNZ_MAX_RANK];
  void *out;
  rows r;
  FNZ_TRY(fnzi_reduced_dims(call, reduced));
  FNZ_TRY(make_rows(call, reduced, class_dtype, &r));
  FNZ_TRY(fnzi_result_as(call, 0, class_dtype, &out));
  size_t cell = fnzi_dtype(class_dtype)->bytes;
  for (int64_t i = 0; i < r.count; i++)
    run((const char *)r.data + (size_t)(i * r.length) * cell, r.length,
        (char *)out + (size_t)i * cell);
  return FNZ_OK;
}

/* Places of the greatest or least elements, and the elements when `values` is not NULL. */
static void find_places(const rows *r, bool greatest, int64_t *places, void *values) {
  argument_fn *run = find_argument(greatest, r->dtype);
  size_t cell = fnzi_dtype(r->dtype)->bytes;
  for (int64_t i = 0; i < r->count; i++) {
    const char *row = (const char *)r->data + (size_t)(i * r->length) * cell;
    places[i] = run(row, r->length);
    if (values)
      memcpy((char *)values + (size_t)i * cell, row + (size_t)places[i] * cell, cell);
  }
}

fnz_status fnzi_kernel_arg(fnzi_call *call) {
  fnz_dtype class_dtype = fnzi_point_class(fnzi_input(call, 0)->place.dtype);
  bool reduced[FNZ_MAX_RANK];
  void *places;
  rows r;
  FNZ_TRY(fnzi_reduced_dims(call, reduced));
  FNZ_TRY(make_rows(call, reduced, class_dtype, &r));
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_I64, &places));
  find_places(&r, strcmp(call->op->base, "argmax") == 0, places, NULL);
  return FNZ_OK;
}

fnz_status fnzi_kernel_extreme(fnzi_call *call) {
  fnz_dtype class_dtype = fnzi_point_class(fnzi_input(call, 0)->place.dtype);
  bool reduced[FNZ_MAX_RANK];
  void *places, *values;
  rows r;
  FNZ_TRY(fnzi_reduced_dims(call, reduced));
  FNZ_TRY(make_rows(call, reduced, class_dtype, &r));
  FNZ_TRY(fnzi_result_as(call, 0, class_dtype, &values));
  FNZ_TRY(fnzi_result_as(call, 1, FNZ_I64, &places));
  find_places(&r, strcmp(call->op->base, "max") == 0, places, values);
  return FNZ_OK;
}

/* --- Running sums and products ----------------------------------------------------------- */
#define SCAN(name, T, step)                                                                        \
  static void name##_##T(T *row, int64_t count) {                                                  \
    for (int64_t i = 1; i < count; i++) {                                                          \
      T a = row[i - 1], x = row[i];                                                                \
      row[i] = (step);                                                                             \
    }                                                                                              \
  }
SCAN(cumsum, float, a + x)
SCAN(cumprod, float, a *x)
SCAN(cumsum, double, a + x)
SCAN(cumprod, double, a *x)
SCAN(cumsum, int64_t, (int64_t)((uint64_t)a + (uint64_t)x))
SCAN(cumprod, int64_t, (int64_t)((uint64_t)a *(uint64_t)x))

static void scan_row(fnz_dtype dtype, bool multiplies, void *row, int64_t count) {
  if (dtype == FNZ_I64)
    (multiplies ? cumprod_int64_t : cumsum_int64_t)(row, count);
  else if (dtype == FNZ_F32)
    (multiplies ? cumprod_float : cumsum_float)(row, count);
  else
    (multiplies ? cumprod_double : cumsum_double)(row, count);
}

/* f32 accumulates in double, the 16-bit floats in f32, as eager does. */
static fnz_dtype scan_dtype(fnz_dtype out) {
  return out == FNZ_F32 ? FNZ_F64 : fnzi_point_class(out);
}

fnz_status fnzi_kernel_scan(fnzi_call *call) {
  const fnzi_array *out = call->outputs[0];
  fnz_dtype dtype = scan_dtype(out->place.dtype);
  bool along[FNZ_MAX_RANK];
  fnzi_window to, from;
  rows r, same;
  FNZ_TRY(fnzi_reduced_dims(call, along));
  FNZ_TRY(make_rows(call, along, dtype, &r));
  size_t cell = fnzi_dtype(dtype)->bytes;
  for (int64_t i = 0; i < r.count; i++)
    scan_row(dtype, strcmp(call->op->base, "cumprod") == 0,
             (char *)(uintptr_t)r.data + (size_t)(i * r.length) * cell, r.length);
  fnzi_window_of(out, &to);
  split_window(&to, along, &same);
  fnzi_window_dense(&from, dtype, to.rank, to.sizes, r.data);
  return fnzi_window_assign(call, &to, &from, false);
}
