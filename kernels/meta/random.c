/* random.c - shape rules of operators that draw random numbers and are like no others. */
#include "kernels/core/core.h"

fnz_status fnzi_shape_randperm(fnzi_krn_call *call) {
  const int64_t n = fnzi_krn_named_int(call, "n", 0);
  return fnzi_shape_add(call, fnzi_krn_named_dtype(call, "dtype", FNZ_I64), 1, &n, NULL);
}

/* Of a mean and a deviation, of which one may be a number. The tensor's type counts, the mean's
 * first. */
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
  return fnzi_shape_add(call, inputs[0]->dtype, rank, sizes, NULL);
}

static bool has_chances(fnz_dtype dtype) {
  return dtype == FNZ_F16 || dtype == FNZ_BF16 || dtype == FNZ_F32 || dtype == FNZ_F64;
}

static fnz_status check_chances(const fnzi_krn_call *call, const char *name, fnz_dtype dtype) {
  if (has_chances(dtype))
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
  if (!fnzi_krn_named(call, "p"))
    FNZ_TRY(check_chances(call, "self", self->dtype));
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
