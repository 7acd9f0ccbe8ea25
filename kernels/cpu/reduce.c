/* reduce.c - reductions whose bits do not depend on an order, places of extremes, and running sums.
 */
#include "kernels/cpu/fold.h"
#include "kernels/cpu/point.h"
#include "kernels/cpu/row_code.h"

#include <math.h>

/* Complex numbers multiply without a thought for infinities. */
typedef struct complex_double {
  double re, im;
} complex_double;

static complex_double plus(complex_double a, complex_double b) {
  return (complex_double){a.re + b.re, a.im + b.im};
}
static complex_double reduce_times(complex_double a, complex_double b) {
  return (complex_double){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* max and min of all elements are amax and amin. */
static const fnzi_fold *reduce_find_reduction(uint8_t mode, fnz_dtype dtype) {
  switch (mode) {
  case FNZI_MODE_max:
    return fnzi_cpu_fold_find(FNZI_FOLD_amax, dtype);
  case FNZI_MODE_min:
    return fnzi_cpu_fold_find(FNZI_FOLD_amin, dtype);
#define FOLD(name, ...)                                                                            \
  case FNZI_MODE_##name:                                                                           \
    return fnzi_cpu_fold_find(FNZI_FOLD_##name, dtype);
#define TRUTH FOLD
#include "kernels/folds.def"
  default:
    return NULL;
  }
}

/* --- Kernels ----------------------------------------------------------------------------- */
/* Extremes are taken of elements as they are, but for halves. */
static fnz_dtype extreme_dtype(fnz_dtype dtype) {
  fnzi_fold_type type;
  return fnzi_cpu_fold_type(dtype, &type) ? dtype : fnzi_meta_point_class(dtype);
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

static void reduce_forget_payload(nan_kind kind, fnz_dtype dtype, fnz_dtype class_dtype,
                                  void *out) {
  static const double nan = NAN;
  _Alignas(8) unsigned char cell[8];
  if (kind == NAN_PASSES)
    return;
  if (class_dtype == FNZ_F32 ? !isnan(*(const float *)out)
                             : class_dtype != FNZ_F64 || !isnan(*(const double *)out))
    return;
  fnzi_krn_convert_one(class_dtype, out, FNZ_F64, &nan);
  if (kind == NAN_LINED_UP)
    return;
  fnzi_cpu_overall_nan(dtype, cell);
  fnzi_krn_convert_one(class_dtype, out, dtype, cell);
}

/* any and all ask whether elements are true, sums and products are computed in the type of their
 * class. */
fnz_status fnzi_cpu_reduce_by(fnzi_krn_call *call, fnzi_krn_mode mode) {
  fnz_dtype own = call->outputs[0]->window.dtype, dtype = extreme_dtype(own);
  nan_kind kind = nan_of((uint8_t)mode);
  int64_t count = fnzi_krn_array_numel(call->outputs[0]);
  bool reduced[FNZ_MAX_RANK];
  void *out;
  if (mode == FNZI_MODE_any || mode == FNZI_MODE_all)
    dtype = FNZ_BOOL;
  else if (mode == FNZI_MODE_sum || mode == FNZI_MODE_prod)
    dtype = fnzi_meta_point_class(own);
  const fnzi_fold *fold = reduce_find_reduction((uint8_t)mode, dtype);
  if (!fold)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s", fnzi_dtype(dtype)->name);
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &out));
  fnzi_cpu_fold(call, reduced, fold, dtype, out);
  for (int64_t i = 0; kind != NAN_PASSES && i < count; i++)
    reduce_forget_payload(kind, own, dtype, (char *)out + (size_t)i * fnzi_dtype(dtype)->bytes);
  return FNZ_OK;
}

fnz_status fnzi_kernel_reduce(fnzi_krn_call *call) {
  return fnzi_cpu_reduce_by(call, (fnzi_krn_mode)call->row->mode);
}

void fnzi_cpu_reduction_of(const fnzi_kernel *row, fnz_dtype dtype, fnzi_meta_row_code *out) {
  uint8_t mode = row->run == FNZI_RUN_sum ? FNZI_MODE_sum : row->mode;
  out->fold = reduce_find_reduction(mode, dtype);
  out->nan = (uint8_t)nan_of(mode);
}

void fnzi_cpu_reduce_row(const fnzi_meta_row_code *code, const void *x, int64_t length, void *out) {
  const fnzi_fold *fold = code->fold;
  fold->start(out, 1);
  fold->row(out, x, length);
  reduce_forget_payload((nan_kind)code->nan, code->dtype, code->dtype, out);
}

/* --- Places of the greatest or least elements ---------------------------------------------- */
typedef struct placing {
  const fnzi_fold *fold;
  fnzi_fold_type type;
  int64_t length, *places;
} placing;

static placing place_by(bool greatest, fnz_dtype dtype, int64_t length) {
  placing p = {.fold = fnzi_cpu_fold_find(greatest ? FNZI_FOLD_amax : FNZI_FOLD_amin, dtype),
               .length = length};
  (void)fnzi_cpu_fold_type(dtype, &p.type);
  return p;
}

static int64_t place_in(const placing *p, const void *row) {
  _Alignas(8) unsigned char best[8];
  p->fold->start(best, 1);
  p->fold->row(best, row, p->length);
  int64_t place = fnzi_folds_best()->find[p->type](best, row, p->length);
  return place < 0 ? 0 : place;
}

int64_t fnzi_cpu_arg_row(bool greatest, fnz_dtype dtype, const void *x, int64_t length) {
  const placing p = place_by(greatest, dtype, length);
  return place_in(&p, x);
}

static void put_place(const void *user, int64_t row, const void *data) {
  const placing *p = user;
  p->places[row] = place_in(p, data);
}

/* Places of the greatest or least elements of rows are result k. */
static fnz_status find_places(fnzi_krn_call *call, size_t k, bool *reduced, int64_t **places) {
  const fnz_geometry *self = &fnzi_krn_call_input(call, 0)->window;
  fnz_dtype dtype = extreme_dtype(self->dtype);
  int64_t length = 1;
  void *out;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_krn_result_get_as(call, k, FNZ_I64, &out));
  for (uint32_t d = 0; d < self->rank; d++)
    length *= reduced[d] ? self->sizes[d] : 1;
  placing p = place_by(call->row->mode == FNZI_MODE_max, dtype, length);
  p.places = *places = out;
  return fnzi_cpu_rows_visit(call, reduced, dtype, put_place, &p);
}

fnz_status fnzi_cpu_rows_pick(fnzi_krn_call *call, const bool *reduced, const int64_t *places) {
  fnzi_krn_window from;
  fnzi_cpu_rows r;
  void *out;
  uint32_t kept = fnzi_cpu_rows_split(call, reduced, &from, &r);
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, from.dtype, &out));
  for (int64_t i = 0; r.length && i < r.count; i++) {
    int64_t at = 0, row = i, place = places[i];
    for (uint32_t d = from.rank; d-- > kept; place /= from.sizes[d])
      at += place % from.sizes[d] * from.strides[d];
    for (uint32_t d = kept; d-- > 0; row /= from.sizes[d])
      at += row % from.sizes[d] * from.strides[d];
    memcpy((char *)out + (size_t)i * from.cell, from.data + at * (int64_t)from.cell, from.cell);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_arg(fnzi_krn_call *call) {
  bool reduced[FNZ_MAX_RANK];
  int64_t *places;
  return find_places(call, 0, reduced, &places);
}

fnz_status fnzi_kernel_extreme(fnzi_krn_call *call) {
  bool reduced[FNZ_MAX_RANK];
  int64_t *places;
  FNZ_TRY(find_places(call, 1, reduced, &places));
  return fnzi_cpu_rows_pick(call, reduced, places);
}

/* --- Running sums and products ----------------------------------------------------------- */
#define SCAN_ROWS(ROW)                                                                             \
  ROW(sum, F64, double, a + x)                                                                     \
  ROW(prod, F64, double, a *x)                                                                     \
  ROW(sum, F32, float, a + x)                                                                      \
  ROW(prod, F32, float, a *x)                                                                      \
  ROW(sum, C128, complex_double, plus(a, x))                                                       \
  ROW(prod, C128, complex_double, reduce_times(a, x))                                              \
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

typedef struct scan {
  scan_fn *run;
  int64_t length;
} scan;

static void scan_row(const void *user, void *data) {
  const scan *s = user;
  s->run(data, s->length);
}

/* --- Rows as they lie ------------------------------------------------------------------------- */
enum { SCANNED = 256, SCANNED_APART = 8 };
typedef void scan_lying_fn(const void *from, void *to, int64_t count, int64_t along, int64_t rows);

/* Rows side by side, so none waits for the last sum of its own. Neighbours are `across` apart. The
 * compiler decides in each loop which of two NaN a sum keeps, so the sizes of the tensor alone
 * choose the loop. */
#define SCAN_LYING(name, dtype, T, wide, step, kind, most, across)                                 \
  static void cum##name##_##kind##_##dtype(const void *from, void *to, int64_t count,              \
                                           int64_t along, int64_t rows) {                          \
    const T *restrict in = from;                                                                   \
    T *restrict out = to;                                                                          \
    wide sums[most];                                                                               \
    for (int64_t k = 0; k < rows; k++)                                                             \
      sums[k] = (wide)in[k * (across)];                                                            \
    for (int64_t i = 0; i < count; i++)                                                            \
      for (int64_t k = 0; k < rows; k++) {                                                         \
        const int64_t at = i * along + k * (across);                                               \
        wide a = sums[k], x = (wide)in[at];                                                        \
        a = i ? (step) : x;                                                                        \
        sums[k] = a, out[at] = (T)a;                                                               \
      }                                                                                            \
  }
#define SCAN_BOTH(name, dtype, T, wide, step)                                                      \
  SCAN_LYING(name, dtype, T, wide, step, beside, SCANNED, 1)                                       \
  SCAN_LYING(name, dtype, T, wide, step, apart, SCANNED_APART, count)
#define LYING_ROWS(ROW)                                                                            \
  ROW(sum, I64, int64_t, int64_t, (int64_t)((uint64_t)a + (uint64_t)x))                            \
  ROW(prod, I64, int64_t, int64_t, (int64_t)((uint64_t)a * (uint64_t)x))                           \
  ROW(sum, F32, float, double, a + x)                                                              \
  ROW(prod, F32, float, double, a *x)                                                              \
  ROW(sum, F64, double, double, a + x)                                                             \
  ROW(prod, F64, double, double, a *x)
LYING_ROWS(SCAN_BOTH)

typedef struct scan_lying {
  fnzi_krn_mode fold;
  fnz_dtype dtype;
  scan_lying_fn *beside, *apart;
} scan_lying;

/* NULL: elements are converted on the way. */
static const scan_lying *find_lying(const fnzi_krn_call *call) {
#define LYING_ENTRY(name, dtype, T, wide, step)                                                    \
  {FNZI_MODE_##name, FNZ_##dtype, cum##name##_beside_##dtype, cum##name##_apart_##dtype},
  static const scan_lying all[] = {LYING_ROWS(LYING_ENTRY)};
  fnz_dtype x = fnzi_krn_call_input(call, 0)->window.dtype, y = call->outputs[0]->window.dtype;
  if (x != y && (fnzi_is_float(x) || fnzi_is_complex(x) || y != FNZ_I64))
    return NULL;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].fold == (fnzi_krn_mode)call->row->mode && all[i].dtype == y)
      return &all[i];
  return NULL;
}

/* The elements are row-major: `count` along the dimension, `inner` apart. */
static fnz_status scan_as_they_lie(const scan_lying *by, fnzi_krn_call *call, int64_t count,
                                   int64_t inner) {
  int64_t outer = fnzi_krn_array_numel(call->outputs[0]) / count / inner;
  int64_t cell = (int64_t)fnzi_dtype(by->dtype)->bytes, many = inner == 1 ? outer : inner;
  int64_t most = inner == 1 ? SCANNED_APART : SCANNED, step = inner == 1 ? count : 1;
  const void *from;
  void *to;
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), by->dtype, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, by->dtype, &to));
  for (int64_t o = 0; o < (inner == 1 ? 1 : outer); o++)
    for (int64_t k = 0; k < many; k += most) {
      int64_t at = (o * count * inner + k * step) * cell, rows = many - k < most ? many - k : most;
      (inner == 1 ? by->apart : by->beside)((const char *)from + at, (char *)to + at, count, inner,
                                            rows);
    }
  return FNZ_OK;
}

/* f32 accumulates in double, the 16-bit floats in f32, as eager does. */
fnz_status fnzi_kernel_scan(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  fnz_dtype own = out->window.dtype;
  fnz_dtype dtype = own == FNZ_F32   ? FNZ_F64
                    : own == FNZ_C64 ? FNZ_C128
                                     : fnzi_meta_point_class(own);
  bool along[FNZ_MAX_RANK];
  scan s = {.length = 1};
  int64_t inner = 1;
  for (size_t i = 0; i < sizeof scans / sizeof *scans; i++)
    if (scans[i].fold == (fnzi_krn_mode)call->row->mode && scans[i].dtype == dtype)
      s.run = scans[i].run;
  if (!s.run)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "there is no kernel for element type %s", fnzi_dtype(own)->name);
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_round_input(call));
  FNZ_TRY(fnzi_meta_reduced_dims(call, along));
  for (uint32_t d = 0; d < out->window.rank; d++)
    s.length *= along[d] ? out->window.sizes[d] : 1;
  for (uint32_t d = out->window.rank; d-- > 0 && !along[d];)
    inner *= out->window.sizes[d];
  const scan_lying *by = find_lying(call);
  return by ? scan_as_they_lie(by, call, s.length, inner)
            : fnzi_cpu_rows_change(call, along, dtype, scan_row, &s);
}
