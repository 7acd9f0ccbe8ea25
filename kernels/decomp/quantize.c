/* quantize.c - tensors rounded to what few integers can say, and back: fake_quantize by one scale
 * or by one for each channel, alone or with the mask of what was not cut off. */
#include "kernels/decomp/decomp.h"

typedef struct quantized {
  fnzi_array *values, *mask;
} quantized;

/* The scale is 32-bit whatever the tensor is, its reciprocal and what is multiplied by it too. */
static quantized quantize(fnzi_steps *s, fnzi_array *x, fnzi_array *scale, fnzi_array *zero) {
  int64_t least = fnzi_named_int(s->call, "quant_min", 0);
  int64_t most = fnzi_named_int(s->call, "quant_max", 0);
  if (least > most)
    fnzi_stop(s, FNZ_CLASS_ARGUMENT, "quant_min is %lld, quant_max %lld; it must not be above",
              (long long)least, (long long)most);
  zero = fnzi_as(s, zero, FNZ_F32);
  fnzi_array *places = ADD(STEP(round, V(MUL(x, STEP(reciprocal, V(scale))))), zero);
  fnzi_array *inside = STEP(logical_and, V(STEP(ge__Scalar, V(places), I(least))),
                            V(STEP(le__Scalar, V(places), I(most))));
  fnzi_array *low = STEP(full_like, V(places), I(least)),
             *high = STEP(full_like, V(places), I(most));
  places = STEP(fmin, V(STEP(fmax, V(places), V(low))), V(high)); /* NaN is the least place */
  fnzi_array *values = MUL(fnzi_as(s, SUB(places, zero), FNZ_F32), scale);
  return (quantized){fnzi_as(s, values, fnzi_dtype_of(x)), inside};
}

/* One number for all, from an argument that is one. */
static fnzi_array *one(fnzi_steps *s, double value) {
  return STEP(full, fnzi_ints(s, NULL, 0), F(value), DTYPE(FNZ_F32));
}

static quantized by_numbers(fnzi_steps *s) {
  fnzi_array *scale = one(s, fnzi_named_float(s->call, "scale", 1));
  fnzi_array *zero = one(s, (double)fnzi_named_int(s->call, "zero_point", 0));
  return quantize(s, fnzi_given(s, "self"), scale, zero);
}

/* A tensor of one element for all. */
static fnzi_array *given_one(fnzi_steps *s, const char *name) {
  fnzi_array *a = fnzi_given(s, name);
  if (fnzi_numel(a) != 1)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "%s has %lld elements; it needs one", name,
              (long long)fnzi_numel(a));
  return s->status == FNZ_OK ? fnzi_reshaped(s, a, NULL, 0) : NULL;
}

static quantized by_tensors(fnzi_steps *s) {
  fnzi_array *scale = fnzi_as(s, given_one(s, "scale"), FNZ_F32);
  return quantize(s, fnzi_given(s, "self"), scale, given_one(s, "zero_point"));
}

/* Scales are 32-bit floats or bf16, what is zero is i32, f32 or f16. */
static void check_channels(fnzi_steps *s) {
  fnz_dtype scale = fnzi_dtype_of(fnzi_given(s, "scale"));
  fnz_dtype zero = fnzi_dtype_of(fnzi_given(s, "zero_point"));
  if (scale != FNZ_F32 && scale != FNZ_BF16)
    fnzi_stop(s, FNZ_CLASS_TYPE, "scale is %s; it must be f32 or bf16", fnzi_dtype(scale)->name);
  if (zero != FNZ_I32 && zero != FNZ_F32 && zero != FNZ_F16)
    fnzi_stop(s, FNZ_CLASS_TYPE, "zero_point is %s; it must be i32, f32 or f16",
              fnzi_dtype(zero)->name);
}

static fnzi_array *given_channels(fnzi_steps *s, const char *name, const fnzi_array *x,
                                  uint32_t axis) {
  fnzi_array *a = fnzi_given(s, name);
  if (fnzi_numel(a) != fnzi_size(x, axis))
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "%s has %lld elements, dimension %u of self %lld; one for each",
              name, (long long)fnzi_numel(a), axis, (long long)fnzi_size(x, axis));
  return fnzi_along(s, a, axis, fnzi_rank(x));
}

static quantized by_channels(fnzi_steps *s) {
  fnzi_array *x = fnzi_given(s, "self");
  uint32_t axis = fnzi_given_dim(s, "axis", x);
  check_channels(s);
  fnzi_array *scale = fnzi_as(s, given_channels(s, "scale", x, axis), FNZ_F32);
  return quantize(s, x, scale, given_channels(s, "zero_point", x, axis));
}

/* --- The operators ----------------------------------------------------------------------- */
static void give_both(fnzi_steps *s, quantized q) {
  fnzi_give_result(s, q.values);
  fnzi_give_result(s, q.mask);
}

DECOMP(quantize_by_numbers) {
  fnzi_give_result(s, by_numbers(s).values);
}
DECOMP(quantize_by_tensors) {
  fnzi_give_result(s, by_tensors(s).values);
}
DECOMP(quantize_by_channels) {
  fnzi_give_result(s, by_channels(s).values);
}
DECOMP(quantize_by_numbers_mask) {
  give_both(s, by_numbers(s));
}
DECOMP(quantize_by_channels_mask) {
  give_both(s, by_channels(s));
}

/* Nothing happens, and nothing is cut off, where it is not enabled. */
DECOMP(quantize_if_enabled) {
  fnzi_array *x = fnzi_given(s, "self");
  quantized q = by_tensors(s);
  fnzi_array *on = STEP(ne__Scalar, V(given_one(s, "fake_quant_enabled")), I(0));
  fnzi_give_result(s, STEP(where__self, V(on), V(q.values), V(x)));
  fnzi_give_result(s, STEP(logical_or, V(q.mask), V(STEP(logical_not, V(on)))));
}
