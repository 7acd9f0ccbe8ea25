/* quantized.c - quantized_decomposed, the operators that torch.ao writes into a quantized program:
 * to few integers by scales and places of zero, and back, and how both are chosen.
 *
 * Numbers of tensors are, as in Python, doubles that an operator takes as 32-bit floats. Scales of
 * channels and tokens are operands: their type decides in which one is computed. */
#include "kernels/decomp/decomp.h"

typedef fnzi_krn_array array;

/* --- Checks ------------------------------------------------------------------------------- */
/* 16-bit floats are computed in 32 bits; no other type is taken. */
static array *quantized_given_real(fnzi_dec_steps *s) {
  array *x = fnzi_dec_given_array(s, "input");
  fnz_dtype dtype = fnzi_dec_wide(fnzi_dec_array_dtype(x));
  if (dtype != FNZ_F32)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "input is %s; it must be f32, f16 or bf16",
                    fnzi_dtype(dtype)->name);
  return fnzi_dec_cast(s, x, FNZ_F32);
}

static array *given_integers(fnzi_dec_steps *s) {
  array *x = fnzi_dec_given_array(s, "input");
  fnz_dtype has = fnzi_dec_array_dtype(x), says = fnzi_krn_named_dtype(s->call, "dtype", has);
  if (has != says)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "input is %s, but dtype says %s", fnzi_dtype(has)->name,
                    fnzi_dtype(says)->name);
  return x;
}

static fnz_dtype given_dtype(const fnzi_dec_steps *s) {
  return fnzi_krn_named_dtype(s->call, "dtype", FNZ_I8);
}

/* From quant_min to quant_max, and in the type of the result. */
static array *cut(fnzi_dec_steps *s, array *x) {
  x = STEP(clamp, V(x), I(fnzi_krn_named_int(s->call, "quant_min", 0)),
           I(fnzi_krn_named_int(s->call, "quant_max", 0)));
  return fnzi_dec_cast(s, x, given_dtype(s));
}

/* A tensor of one element as a number that has no dimensions. */
static array *quantized_given_one(fnzi_dec_steps *s, const char *name, fnz_dtype dtype) {
  array *a = fnzi_dec_given_array(s, name);
  if (fnzi_dec_array_numel(a) != 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s has %lld elements; it needs one", name,
                    (long long)fnzi_dec_array_numel(a));
  a = s->status == FNZ_OK ? fnzi_dec_reshaped(s, a, NULL, 0) : NULL;
  return fnzi_dec_cast(s, a, dtype);
}

/* --- One scale for all ---------------------------------------------------------------------- */
DECOMP(decomposed_quantize) {
  array *x = quantized_given_real(s);
  double scale = fnzi_krn_named_float(s->call, "scale", 1);
  x = STEP(round, V(fnzi_dec_times(s, x, 1 / scale)));
  x = STEP(add__Scalar, V(x), I(fnzi_krn_named_int(s->call, "zero_point", 0)));
  fnzi_dec_result_give(s, cut(s, x));
}

static array *quantized_places_of(fnzi_dec_steps *s) {
  array *x = quantized_given_real(s), *scale = quantized_given_one(s, "scale", FNZ_F64);
  scale = fnzi_dec_cast(s, STEP(reciprocal, V(scale)), FNZ_F32);
  return ADD(STEP(round, V(MUL(x, scale))), quantized_given_one(s, "zero_point", FNZ_F32));
}

DECOMP(decomposed_quantize_tensor) {
  fnzi_dec_result_give(s, cut(s, quantized_places_of(s)));
}

DECOMP(decomposed_quantize_tensor2) {
  array *x = quantized_places_of(s);
  x = STEP(clamp__Tensor, V(x), V(quantized_given_one(s, "quant_min", FNZ_F32)),
           V(quantized_given_one(s, "quant_max", FNZ_F32)));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, x, given_dtype(s)));
}

/* In the type of the result, each step rounded to it. */
static array *dequantized(fnzi_dec_steps *s, array *scale, array *zero) {
  fnz_dtype out = fnzi_krn_named_dtype(s->call, "out_dtype", FNZ_F32);
  array *x = fnzi_dec_cast(s, fnzi_dec_cast(s, given_integers(s), out), fnzi_dec_wide(out));
  x = fnzi_dec_cast(s, fnzi_dec_cast(s, SUB(x, zero), out), fnzi_dec_wide(out));
  return fnzi_dec_cast(s, MUL(x, scale), out);
}

static array *quantized_number(fnzi_dec_steps *s, double value, fnz_dtype dtype) {
  return STEP(full, fnzi_dec_ints(s, NULL, 0), F(value), DTYPE(dtype));
}

DECOMP(decomposed_dequantize) {
  fnz_dtype wide = fnzi_dec_wide(fnzi_krn_named_dtype(s->call, "out_dtype", FNZ_F32));
  array *scale = quantized_number(s, fnzi_krn_named_float(s->call, "scale", 1), wide);
  array *zero = quantized_number(s, (double)fnzi_krn_named_int(s->call, "zero_point", 0), wide);
  fnzi_dec_result_give(s, dequantized(s, scale, zero));
}

static void give_dequantized(fnzi_dec_steps *s) {
  fnz_dtype wide = fnzi_dec_wide(fnzi_krn_named_dtype(s->call, "out_dtype", FNZ_F32));
  array *scale = quantized_given_one(s, "scale", wide),
        *zero = quantized_given_one(s, "zero_point", wide);
  fnzi_dec_result_give(s, dequantized(s, scale, zero));
}

DECOMP(decomposed_dequantize_tensor) {
  give_dequantized(s);
}

DECOMP(decomposed_dequantize_tensor2) {
  give_dequantized(s);
}

/* --- A scale for each channel, token or group ------------------------------------------------ */
static array *along_axis(fnzi_dec_steps *s, const char *name, const array *x) {
  uint32_t axis = fnzi_dec_given_dim(s, "axis", x);
  array *a = fnzi_dec_given_array(s, name);
  if (a && fnzi_dec_array_numel(a) != fnzi_dec_array_size(x, axis))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "%s has %lld elements, dimension %u of input %lld; it needs one for each", name,
                    (long long)fnzi_dec_array_numel(a), axis,
                    (long long)fnzi_dec_array_size(x, axis));
  return a ? fnzi_dec_along(s, a, axis, fnzi_dec_array_rank(x)) : NULL;
}

DECOMP(decomposed_quantize_channels) {
  array *x = quantized_given_real(s), *scales = along_axis(s, "scales", x);
  x = STEP(round, V(MUL(x, STEP(reciprocal, V(scales)))));
  fnzi_dec_result_give(s, cut(s, ADD(x, along_axis(s, "zero_points", x))));
}

static void give_whole(fnzi_dec_steps *s, array *x, array *scales, array *zeros, fnz_dtype out) {
  x = zeros ? SUB(x, zeros) : x;
  fnzi_dec_result_give(s, fnzi_dec_cast(s, MUL(x, scales), out));
}

DECOMP(decomposed_dequantize_channels) {
  array *x = given_integers(s), *scales = along_axis(s, "scales", x);
  give_whole(s, x, scales, along_axis(s, "zero_points", x),
             fnzi_krn_named_dtype(s->call, "out_dtype", FNZ_F32));
}

/* Rounded where zero has been added already. */
static array *quantized_rounded(fnzi_dec_steps *s, array *x, array *scales, array *zeros) {
  return cut(s, STEP(round, V(ADD(MUL(x, STEP(reciprocal, V(scales))), zeros))));
}

DECOMP(decomposed_quantize_tokens) {
  array *x = fnzi_dec_given_array(s, "input");
  fnzi_dec_result_give(s, quantized_rounded(s, x, fnzi_dec_given_array(s, "scales"),
                                            fnzi_dec_given_array(s, "zero_points")));
}

DECOMP(decomposed_dequantize_tokens) {
  give_whole(s, fnzi_dec_given_array(s, "input"), fnzi_dec_given_array(s, "scales"),
             fnzi_dec_given_array(s, "zero_points"),
             fnzi_krn_named_dtype(s->call, "output_dtype", FNZ_F32));
}

/* Rows of one group each; NULL when it stops. */
static array *in_groups(fnzi_dec_steps *s, array *x) {
  int64_t group = fnzi_krn_named_int(s->call, "group_size", 128), last = fnzi_dec_array_size(x, -1);
  if (group > last && fnzi_dec_array_size(fnzi_dec_given_array(s, "scales"), -1) == 1)
    group = last;
  if (fnzi_dec_array_rank(x) != 2 || group <= 1 || last % group)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "input has %u dimensions, the last of size %lld; it needs 2, and group_size "
                    "%lld above 1 must divide it",
                    fnzi_dec_array_rank(x), (long long)last, (long long)group);
  return s->status == FNZ_OK ? RESHAPED(x, fnzi_dec_array_numel(x) / group, group) : NULL;
}

static array *as_column(fnzi_dec_steps *s, const char *name) {
  array *a = fnzi_dec_given_array(s, name);
  return a ? RESHAPED(a, fnzi_dec_array_numel(a), 1) : NULL;
}

static array *back_to_rows(fnzi_dec_steps *s, array *x) {
  const array *from = fnzi_dec_given_array(s, "input");
  return RESHAPED(x, fnzi_dec_array_size(from, 0), fnzi_dec_array_size(from, 1));
}

DECOMP(decomposed_quantize_groups) {
  array *x = in_groups(s, fnzi_dec_given_array(s, "input"));
  x = quantized_rounded(s, x, as_column(s, "scales"), as_column(s, "zero_points"));
  fnzi_dec_result_give(s, back_to_rows(s, x));
}

DECOMP(decomposed_dequantize_groups) {
  array *x = in_groups(s, fnzi_dec_given_array(s, "input")), *zeros = as_column(s, "zero_points");
  x = MUL(zeros ? SUB(x, zeros) : x, as_column(s, "scales"));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, back_to_rows(s, x),
                                        fnzi_krn_named_dtype(s->call, "output_dtype", FNZ_F32)));
}

/* --- How they are chosen --------------------------------------------------------------------- */
/* The least and the greatest element, and 0. */
static void quantized_find_ends(fnzi_dec_steps *s, array *ends[2]) {
  array *x = fnzi_dec_given_array(s, "input");
  STEPS_INTO(ends, 2, aminmax, V(x));
  ends[0] = STEP(clamp_max, V(ends[0]), I(0));
  ends[1] = STEP(clamp_min, V(ends[1]), I(0));
}

static double span_of(const fnzi_dec_steps *s) {
  return (double)(fnzi_krn_named_int(s->call, "quant_max", 0) -
                  fnzi_krn_named_int(s->call, "quant_min", 0));
}

/* Not below eps: a tensor of one element. */
static array *quantized_scale_of(fnzi_dec_steps *s, array *x) {
  const int64_t one = 1;
  array *eps = STEP(full, fnzi_dec_ints(s, &one, 1), F(fnzi_krn_named_float(s->call, "eps", 0)),
                    DTYPE(FNZ_F32));
  return STEP(maximum, V(x), V(eps));
}

DECOMP(decomposed_choose) {
  int64_t least = fnzi_krn_named_int(s->call, "quant_min", 0),
          most = fnzi_krn_named_int(s->call, "quant_max", 0);
  array *ends[2];
  quantized_find_ends(s, ends);
  array *scale = quantized_scale_of(s, STEP(div__Scalar, V(SUB(ends[1], ends[0])), F(span_of(s))));
  array *zero = fnzi_dec_cast(s, STEP(round, V(DIV(ends[0], scale))), FNZ_I32);
  zero = STEP(clamp, V(STEP(rsub__Scalar, V(zero), I(least))), I(least), I(most));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, scale, FNZ_F64));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, zero, FNZ_I64));
}

DECOMP(decomposed_choose_symmetric) {
  array *ends[2];
  const int64_t one = 1;
  quantized_find_ends(s, ends);
  array *most = STEP(maximum, V(STEP(neg, V(ends[0]))), V(ends[1]));
  array *scale = quantized_scale_of(s, STEP(div__Scalar, V(most), F(span_of(s) / 2)));
  array *zero =
      STEP(full, fnzi_dec_ints(s, &one, 1), I(given_dtype(s) == FNZ_U8 ? 128 : 0), DTYPE(FNZ_I64));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, scale, FNZ_F64));
  fnzi_dec_result_give(s, zero);
}

/* i8, token by token. */
static array *along_tokens(fnzi_dec_steps *s, bool most) {
  const int64_t last = -1;
  array *x = fnzi_dec_given_array(s, "input");
  const fnz_arg args[] = {V(x), fnzi_dec_ints(s, &last, 1), B(true)};
  return fnzi_dec_step(s, most ? FNZI_ATEN_amax : FNZI_ATEN_amin, args, 3);
}

DECOMP(decomposed_choose_tokens) {
  const double eps = 1.1920928955078125e-07;
  array *low = STEP(clamp_max, V(along_tokens(s, false)), I(0));
  array *high = STEP(clamp_min, V(along_tokens(s, true)), I(0));
  array *scale = STEP(clamp, V(STEP(div__Scalar, V(SUB(high, low)), F(255))), F(eps));
  array *below = DIV(low, scale), *above = DIV(high, scale);
  array *both = ADD(STEP(add__Scalar, V(below), I(-128)), STEP(add__Scalar, V(above), I(127)));
  array *zero = CHOSEN(STEP(gt__Scalar, V(both), I(0)), STEP(rsub__Scalar, V(below), I(-128)),
                       STEP(rsub__Scalar, V(above), I(127)));
  zero = STEP(round, V(STEP(clamp, V(zero), I(-128), I(127))));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, scale, FNZ_F64));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, zero, FNZ_I64));
}

/* --- Types ----------------------------------------------------------------------------------- */
DECOMP(decomposed_convert) {
  array *x = fnzi_dec_given_array(s, "input");
  fnzi_dec_result_give(s, fnzi_dec_cast(s, x, given_dtype(s)));
}
