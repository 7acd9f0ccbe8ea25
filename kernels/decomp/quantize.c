/* quantize.c - tensors rounded to the values of small integers, and back: fake_quantize by one
 * scale or by one for each channel, alone or with the mask of elements that were not clamped. */
#include "kernels/decomp/decomp.h"

typedef struct quantized {
  fnzi_krn_array *values, *mask;
} quantized;

/* The scale is 32-bit for all dtypes of the tensor, its reciprocal and the product with it too. */
static quantized quantize(fnzi_dec_steps *s, fnzi_krn_array *x, fnzi_krn_array *scale,
                          fnzi_krn_array *zero) {
  int64_t least = fnzi_krn_named_int(s->call, "quant_min", 0);
  int64_t most = fnzi_krn_named_int(s->call, "quant_max", 0);
  if (least > most)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    "quant_min is %lld, quant_max %lld; it must not be above", (long long)least,
                    (long long)most);
  zero = fnzi_dec_cast(s, zero, FNZ_F32);
  fnzi_krn_array *places = ADD(STEP(round, V(MUL(x, STEP(reciprocal, V(scale))))), zero);
  fnzi_krn_array *inside = STEP(logical_and, V(STEP(ge__Scalar, V(places), I(least))),
                                V(STEP(le__Scalar, V(places), I(most))));
  fnzi_krn_array *low = STEP(full_like, V(places), I(least)),
                 *high = STEP(full_like, V(places), I(most));
  places = STEP(fmin, V(STEP(fmax, V(places), V(low))), V(high)); /* NaN is the least place */
  fnzi_krn_array *values = MUL(fnzi_dec_cast(s, SUB(places, zero), FNZ_F32), scale);
  return (quantized){fnzi_dec_cast(s, values, fnzi_dec_array_dtype(x)), inside};
}

/* One number for all, from an argument that is one. */
static fnzi_krn_array *one(fnzi_dec_steps *s, double value) {
  return STEP(full, fnzi_dec_ints(s, NULL, 0), F(value), DTYPE(FNZ_F32));
}

static quantized by_numbers(fnzi_dec_steps *s) {
  fnzi_krn_array *scale = one(s, fnzi_krn_named_float(s->call, "scale", 1));
  int64_t place = fnzi_krn_named_int(s->call, "zero_point", 0);
  if (place < fnzi_krn_named_int(s->call, "quant_min", 0) ||
      place > fnzi_krn_named_int(s->call, "quant_max", 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "zero_point %lld must lie from quant_min to quant_max",
                    (long long)place);
  fnzi_krn_array *zero = one(s, (double)place);
  return quantize(s, fnzi_dec_given_array(s, "self"), scale, zero);
}

/* A tensor of one element for all. */
static fnzi_krn_array *quantize_given_one(fnzi_dec_steps *s, const char *name) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, name);
  if (fnzi_dec_array_numel(a) != 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s has %lld elements; it needs one", name,
                    (long long)fnzi_dec_array_numel(a));
  return s->status == FNZ_OK ? fnzi_dec_reshaped(s, a, NULL, 0) : NULL;
}

static quantized by_tensors(fnzi_dec_steps *s) {
  fnzi_krn_array *scale = fnzi_dec_cast(s, quantize_given_one(s, "scale"), FNZ_F32);
  return quantize(s, fnzi_dec_given_array(s, "self"), scale, quantize_given_one(s, "zero_point"));
}

static fnzi_krn_array *given_channels(fnzi_dec_steps *s, const char *name, const fnzi_krn_array *x,
                                      uint32_t axis) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, name);
  if (fnzi_dec_array_numel(a) != fnzi_dec_array_size(x, axis))
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS, "%s has %lld elements, dimension %u of self %lld; one for each", name,
        (long long)fnzi_dec_array_numel(a), axis, (long long)fnzi_dec_array_size(x, axis));
  return fnzi_dec_along(s, a, axis, fnzi_dec_array_rank(x));
}

static quantized by_channels(fnzi_dec_steps *s) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self");
  uint32_t axis = fnzi_dec_given_dim(s, "axis", x);
  /* Scales are 32-bit floats or bf16, zero points are i32, f32 or f16. */
  fnz_dtype scales = fnzi_dec_array_dtype(fnzi_dec_given_array(s, "scale"));
  fnz_dtype zeros = fnzi_dec_array_dtype(fnzi_dec_given_array(s, "zero_point"));
  if (scales != FNZ_F32 && scales != FNZ_BF16)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "scale is %s; it must be f32 or bf16",
                    fnzi_dtype(scales)->name);
  if (zeros != FNZ_I32 && zeros != FNZ_F32 && zeros != FNZ_F16)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "zero_point is %s; it must be i32, f32 or f16",
                    fnzi_dtype(zeros)->name);
  /* Places of i32 are numbers that can be reached. */
  const fnzi_krn_array *zero = fnzi_dec_given_array(s, "zero_point");
  int64_t least = fnzi_krn_named_int(s->call, "quant_min", 0),
          most = fnzi_krn_named_int(s->call, "quant_max", 0);
  const void *data = NULL;
  if (fnzi_dec_can_look(s) && fnzi_dec_array_dtype(zero) == FNZ_I32) {
    s->status = fnzi_krn_dense_get_as(s->call, zero, FNZ_I64, &data);
    for (int64_t i = 0; s->status == FNZ_OK && i < fnzi_dec_array_numel(zero); i++)
      if (((const int64_t *)data)[i] < least || ((const int64_t *)data)[i] > most)
        fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "zero_point %lld must lie from quant_min to quant_max",
                        (long long)((const int64_t *)data)[i]);
  }
  fnzi_krn_array *scale = fnzi_dec_cast(s, given_channels(s, "scale", x, axis), FNZ_F32);
  return quantize(s, x, scale, given_channels(s, "zero_point", x, axis));
}

/* --- The operators ----------------------------------------------------------------------- */
static void give_both(fnzi_dec_steps *s, quantized q) {
  fnzi_dec_result_give(s, q.values);
  fnzi_dec_result_give(s, q.mask);
}

DECOMP(quantize_by_numbers) {
  fnzi_dec_result_give(s, by_numbers(s).values);
}
DECOMP(quantize_by_tensors) {
  fnzi_dec_result_give(s, by_tensors(s).values);
}
DECOMP(quantize_by_channels) {
  fnzi_dec_result_give(s, by_channels(s).values);
}
DECOMP(quantize_by_numbers_mask) {
  give_both(s, by_numbers(s));
}
DECOMP(quantize_by_channels_mask) {
  give_both(s, by_channels(s));
}

/* Nothing happens, and nothing is cut off, where it is not enabled. */
DECOMP(quantize_if_enabled) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self");
  quantized q = by_tensors(s);
  fnzi_krn_array *on = STEP(ne__Scalar, V(quantize_given_one(s, "fake_quant_enabled")), I(0));
  fnzi_dec_result_give(s, CHOSEN(on, q.values, x));
  fnzi_dec_result_give(s, STEP(logical_or, V(q.mask), V(STEP(logical_not, V(on)))));
}
