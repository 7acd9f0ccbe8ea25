/* random.c - shape rules of operators that draw random numbers and are like no others. */
#include "kernels/meta/random.h"

#include <math.h>

static bool is_real(fnz_dtype dtype) {
  return dtype == FNZ_F16 || dtype == FNZ_BF16 || dtype == FNZ_F32 || dtype == FNZ_F64;
}

/* --- What a law takes ------------------------------------------------------------------------- */
static fnz_status check_float(const fnzi_krn_call *call, bool may_be_complex) {
  const fnz_dtype of = call->outputs[0]->geometry.dtype;
  if (is_real(of) || (may_be_complex && (of == FNZ_C64 || of == FNZ_C128)))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                              "the result is %s; make it of a floating-point type%s",
                              fnzi_dtype(of)->name, may_be_complex ? "" : " that is real");
}

static fnz_status check_range(const fnzi_krn_call *call) {
  const fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  const double from = fnzi_krn_named_float(call, "from", 0),
               to = fnzi_krn_named_float(call, "to", 1);
  const double most = dtype == FNZ_F16                       ? 65504.0
                      : dtype == FNZ_BF16                    ? 0x1.fep127
                      : dtype == FNZ_F32 || dtype == FNZ_C64 ? 0x1.fffffep127
                                                             : 0x1.fffffffffffffp1023;
  if (from >= -most && to <= most && from <= to && to - from <= most)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                              "numbers from %g to %g are no range of %s; give `from` first, and "
                              "ends that are not too far apart",
                              from, to, fnzi_dtype(dtype)->name);
}

static fnz_status check_above(const fnzi_krn_call *call, const char *name, double fallback,
                              bool or_zero) {
  const double v = fnzi_krn_named_float(call, name, fallback);
  if (v > 0 || (or_zero && v == 0))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s is %g; it must be %s", name, v,
                              or_zero ? "0 or more" : "above 0");
}

static fnz_status check_chance(const fnzi_krn_call *call, const char *name) {
  const double p = fnzi_krn_named_float(call, name, 0);
  if (p >= 0 && p <= 1)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s is %g; it must be from 0 to 1", name, p);
}

/* If `high` is a tensor, the kernel reads it. */
static fnz_status check_integers(const fnzi_krn_call *call, bool is_randint) {
  const fnzi_krn_array *high = is_randint ? fnzi_krn_named_array(call, "high") : NULL;
  fnzi_meta_integers law;
  if (high && fnzi_krn_array_numel(high) != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "high has %lld elements; it must have one",
                                (long long)fnzi_krn_array_numel(high));
  if (high)
    return FNZ_OK;
  return is_randint ? fnzi_meta_randint(call, fnzi_krn_named_int(call, "high", 0), &law)
                    : fnzi_meta_random(call, &law);
}

static fnz_status check_law(const fnzi_krn_call *call) {
  const fnzi_kernel *row = fnzi_kernel_find(call->kernels, call->op);
  switch (row ? row->run : FNZI_RUNS) {
  case FNZI_RUN_uniform:
    FNZ_TRY(check_float(call, true));
    return check_range(call);
  case FNZI_RUN_normal:
    FNZ_TRY(check_float(call, true));
    return check_above(call, "std", 1, true);
  case FNZI_RUN_exponential:
    FNZ_TRY(check_float(call, false));
    return check_above(call, "lambd", 1, false);
  case FNZI_RUN_cauchy:
    FNZ_TRY(check_float(call, false));
    return check_above(call, "sigma", 1, false);
  case FNZI_RUN_log_normal:
    FNZ_TRY(check_float(call, false));
    return check_above(call, "std", 2, false);
  case FNZI_RUN_geometric: {
    const fnz_dtype dtype = call->outputs[0]->geometry.dtype;
    const double p = fnzi_krn_named_float(call, "p", 0);
    if (p > 0 && p < 1 && !fnzi_is_complex(dtype) && dtype != FNZ_BOOL)
      return FNZ_OK;
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "p is %g; it must be above 0 and below 1, and the result neither "
                                "bool nor complex",
                                p);
  }
  default:
    return check_integers(call, row && row->run == FNZI_RUN_randint);
  }
}

/* Shapes of random results: of given sizes, like self, or in place of self. */
fnz_status fnzi_shape_draw_sizes(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_shape_create(call));
  return check_law(call);
}

fnz_status fnzi_shape_draw_like(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_shape_like(call));
  return check_law(call);
}

fnz_status fnzi_shape_draw_self(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_shape_self(call));
  return check_law(call);
}

/* --- The others ------------------------------------------------------------------------------- */
/* Dropout keeps with the probability 1 - p, in training. */
fnz_status fnzi_shape_dropout(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  FNZ_TRY(check_chance(call, "p"));
  double p = fnzi_krn_named_float(call, "p", 0);
  bool draws = fnzi_krn_named_bool(call, "train", true) && p > 0 && p < 1;
  bool by_feature =
      call->row->mode == FNZI_MODE_feature || call->row->mode == FNZI_MODE_feature_alpha;
  if (draws && self->rank < 2 && fnz_geometry_numel(self) && by_feature)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "input has %u dimensions; features need 2 or more", self->rank);
  return fnzi_shape_add_like(call, self->dtype, self);
}

/* And the mask of kept elements. */
fnz_status fnzi_shape_native_dropout(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  FNZ_TRY(fnzi_shape_dropout(call));
  return fnzi_shape_add_like(call, FNZ_BOOL, self);
}

fnz_status fnzi_shape_randperm(fnzi_krn_call *call) {
  const int64_t n = fnzi_krn_named_int(call, "n", 0);
  return fnzi_shape_add(call, fnzi_krn_named_dtype(call, "dtype", FNZ_I64), 1, &n, NULL);
}

/* The result of a mean and a deviation, one of them may be a number. The tensor's type counts, the
 * mean's first. */
fnz_status fnzi_shape_normal_of(fnzi_krn_call *call) {
  const fnzi_krn_array *mean = fnzi_krn_named_array(call, "mean"),
                       *deviation = fnzi_krn_named_array(call, "std");
  const fnz_geometry *inputs[2];
  int64_t sizes[FNZ_MAX_RANK];
  size_t count = 0;
  uint32_t rank;
  if (mean)
    inputs[count++] = &mean->geometry;
  if (deviation)
    inputs[count++] = &deviation->geometry;
  if (count == 2 && inputs[0]->dtype != inputs[1]->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "mean is %s, std is %s; cast one",
                                fnzi_dtype(inputs[0]->dtype)->name,
                                fnzi_dtype(inputs[1]->dtype)->name);
  FNZ_TRY(fnzi_meta_broadcast(call, inputs, count, &rank, sizes));
  FNZ_TRY(fnzi_shape_add(call, inputs[0]->dtype, rank, sizes, NULL));
  FNZ_TRY(check_float(call, false));
  return deviation ? FNZ_OK : check_above(call, "std", 1, true);
}

static fnz_status check_chances(const fnzi_krn_call *call, const char *name, fnz_dtype dtype) {
  if (is_real(dtype))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                              "%s is %s; probabilities are of a floating-point type", name,
                              fnzi_dtype(dtype)->name);
}

/* By a tensor of probabilities, which broadcasts to self. */
fnz_status fnzi_shape_bernoulli_by(fnzi_krn_call *call) {
  const fnz_geometry *inputs[] = {fnzi_krn_call_geometry(call, 0), fnzi_krn_call_geometry(call, 1)};
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(check_chances(call, "p", inputs[1]->dtype));
  FNZ_TRY(fnzi_meta_broadcast(call, inputs, 2, &rank, sizes));
  if (!fnzi_has_sizes(inputs[0], sizes, rank))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "p has more elements than self; it must broadcast to self");
  return fnzi_shape_self(call);
}

/* By self, or by a number: row-major, whatever self's strides are. */
fnz_status fnzi_shape_bernoulli(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  FNZ_TRY(fnzi_krn_named(call, "p") ? check_chance(call, "p")
                                    : check_chances(call, "self", self->dtype));
  return fnzi_shape_add(call, self->dtype, self->rank, self->sizes, NULL);
}

fnz_status fnzi_shape_multinomial(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  const int64_t samples = fnzi_krn_named_int(call, "num_samples", 0);
  if (self->rank < 1 || self->rank > 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "self has %u dimensions; it needs 1, or rows in 2", self->rank);
  if (self->dtype != FNZ_F32 && self->dtype != FNZ_F64)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "self is %s; cast it to f32 or f64",
                                fnzi_dtype(self->dtype)->name);
  const int64_t places = self->sizes[self->rank - 1], sizes[2] = {self->sizes[0], samples};
  bool again = fnzi_krn_named_bool(call, "replacement", false);
  if (samples < 1 || places > 1 << 24 || places < 1 || (!again && samples > places))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "%lld samples of %lld places; without replacement there are at "
                                "most as many, and at least 1",
                                (long long)samples, (long long)places);
  return fnzi_shape_add(call, FNZ_I64, self->rank, self->rank == 1 ? &samples : sizes, NULL);
}
