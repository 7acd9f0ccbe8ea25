/* products.c - products of matrices in other types than their own, of many factors, with bias and
 * activation; and convolutions under other names. */
#include "kernels/decomp/decomp.h"

/* --- In another type --------------------------------------------------------------------- */
/* 16-bit floats may give f32, and all types their own. */
static fnzi_krn_array *widened(fnzi_dec_steps *s, const char *name) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, name);
  fnz_dtype from = fnzi_dec_array_dtype(a), to = fnzi_krn_named_dtype(s->call, "out_dtype", from);
  if (from != to && !(to == FNZ_F32 && (from == FNZ_F16 || from == FNZ_BF16)))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "%s is %s, out_dtype %s; both must be the same, or f16 or bf16 and f32", name,
                    fnzi_dtype(from)->name, fnzi_dtype(to)->name);
  return fnzi_dec_cast(s, a, to);
}

DECOMP(mm_into) {
  fnzi_dec_result_give(s, STEP(mm, V(widened(s, "self")), V(widened(s, "mat2"))));
}

DECOMP(bmm_into) {
  fnzi_dec_result_give(s, STEP(bmm, V(widened(s, "self")), V(widened(s, "mat2"))));
}

static fnzi_krn_array *summand(fnzi_dec_steps *s) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  return fnzi_dec_cast(s, a, fnzi_krn_named_dtype(s->call, "out_dtype", FNZ_F32));
}

DECOMP(addmm_into) {
  fnzi_dec_result_give(s,
                       STEP(addmm, V(summand(s)), V(widened(s, "mat1")), V(widened(s, "mat2")),
                            *fnzi_krn_named(s->call, "beta"), *fnzi_krn_named(s->call, "alpha")));
}

DECOMP(baddbmm_into) {
  fnzi_dec_result_give(s, STEP(baddbmm, V(summand(s)), V(widened(s, "batch1")),
                               V(widened(s, "batch2")), *fnzi_krn_named(s->call, "beta"),
                               *fnzi_krn_named(s->call, "alpha")));
}

/* Floats by rows of bytes, each with a scale of its own. */
DECOMP(mm_by_bytes) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *w = fnzi_dec_given_array(s, "mat2");
  fnzi_krn_array *scales = fnzi_dec_given_array(s, "scales");
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  if (!fnzi_is_float(dtype) || dtype == FNZ_F64 || fnzi_dec_array_dtype(w) != FNZ_I8)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s, mat2 %s; they must be f32, f16 or bf16, and i8",
                    fnzi_dtype(dtype)->name, fnzi_dtype(fnzi_dec_array_dtype(w))->name);
  if (fnzi_dec_array_dtype(scales) != dtype)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s, scales %s; both must be the same",
                    fnzi_dtype(dtype)->name, fnzi_dtype(fnzi_dec_array_dtype(scales))->name);
  if (fnzi_dec_array_rank(scales) != 1 || fnzi_dec_array_numel(scales) != fnzi_dec_array_size(w, 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "scales has %lld elements for %lld rows of mat2",
                    (long long)fnzi_dec_array_numel(scales), (long long)fnzi_dec_array_size(w, 0));
  fnzi_krn_array *product =
      STEP(mm, V(fnzi_dec_cast(s, x, FNZ_F32)), V(STEP(t, V(fnzi_dec_cast(s, w, FNZ_F32)))));
  product = MUL(product, fnzi_dec_cast(s, scales, FNZ_F32));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, product, dtype));
}

/* --- With more behind -------------------------------------------------------------------- */
DECOMP(addmm_then) {
  fnzi_krn_array *y = STEP(addmm, V(fnzi_dec_given_array(s, "self")),
                           V(fnzi_dec_given_array(s, "mat1")), V(fnzi_dec_given_array(s, "mat2")),
                           *fnzi_krn_named(s->call, "beta"), *fnzi_krn_named(s->call, "alpha"));
  bool gelu = fnzi_krn_named_bool(s->call, "use_gelu", false);
  fnzi_dec_result_give(s, gelu ? STEP(gelu, V(y)) : STEP(relu, V(y)));
}

/* From the left; the first and the last may be vectors. */
DECOMP(multi_dot) {
  size_t count = fnzi_dec_given_count(s, "tensors");
  fnzi_krn_array *product = fnzi_dec_given_item(s, "tensors", 0);
  if (count < 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "tensors has %zu items; it needs 2", count);
  for (size_t i = 0; i < count && s->status == FNZ_OK; i++) {
    const fnzi_krn_array *a = fnzi_dec_given_item(s, "tensors", i);
    bool at_an_end = i == 0 || i + 1 == count;
    if (fnzi_dec_array_rank(a) != 2 && !(at_an_end && fnzi_dec_array_rank(a) == 1))
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "tensors[%zu] has %u dimensions; it needs 2, or 1 at an end", i,
                      fnzi_dec_array_rank(a));
  }
  for (size_t i = 1; i < count && s->status == FNZ_OK; i++)
    product = STEP(matmul, V(product), V(fnzi_dec_given_item(s, "tensors", i)));
  fnzi_dec_result_give(s, product);
}

/* --- Convolutions ------------------------------------------------------------------------ */
/* Time, batch, channels. */
DECOMP(conv_by_time) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *w = fnzi_dec_given_array(s, "weight");
  fnzi_krn_array *bias = fnzi_dec_given_array(s, "bias");
  if (fnzi_dec_array_rank(x) != 3 || fnzi_dec_array_rank(w) != 3 || fnzi_dec_array_rank(bias) != 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "self, weight and bias have %u, %u and %u dimensions; they need 3, 3 and 1",
                    fnzi_dec_array_rank(x), fnzi_dec_array_rank(w), fnzi_dec_array_rank(bias));
  x = STEP(permute, V(x), INTS(1, 2, 0));
  w = STEP(permute, V(w), INTS(2, 1, 0));
  fnzi_krn_array *y =
      STEP(convolution, V(x), V(w), V(bias), INTS(1), INTS(fnzi_krn_named_int(s->call, "pad", 0)),
           INTS(1), B(false), INTS(0), I(1));
  y = STEP(permute, V(y), INTS(2, 0, 1));
  fnzi_dec_result_give(s, STEP(clone, V(y), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}));
}

static fnz_arg named_or(fnzi_dec_steps *s, const char *name, size_t count, int64_t fallback) {
  int64_t ints[3] = {fallback, fallback, fallback};
  fnzi_dec_status_note(s, fnzi_krn_named_ints_of(s->call, name, count, fallback, ints));
  return fnzi_dec_ints(s, ints, count);
}

/* One of convolution's under its own name, with the sizes of the kernel besides. */
static void products_convolve(fnzi_dec_steps *s, bool transposed, bool by_channel) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *w = fnzi_dec_given_array(s, "weight");
  size_t spatial = fnzi_dec_array_rank(w) > 2 ? fnzi_dec_array_rank(w) - 2 : 1;
  int64_t kernel[3] = {1, 1, 1};
  if (fnzi_dec_array_rank(w) < 4 || fnzi_dec_array_rank(w) > 5)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "weight has %u dimensions; it needs 4, or 5 in 3D",
                    fnzi_dec_array_rank(w));
  if (s->status != FNZ_OK)
    return;
  fnzi_dec_status_note(s, fnzi_krn_named_ints_of(s->call, "kernel_size", spatial, 1, kernel));
  for (size_t d = 0; d < spatial; d++)
    if (kernel[d] != fnzi_dec_array_size(w, (int64_t)d + 2))
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "kernel_size is %lld, weight has %lld; both must be the "
                      "same",
                      (long long)kernel[d], (long long)fnzi_dec_array_size(w, (int64_t)d + 2));
  bool batched = fnzi_dec_array_rank(x) == spatial + 2;
  x = batched ? x : STEP(unsqueeze, V(x), I(0));
  fnzi_krn_array *y = STEP(convolution, V(x), V(w), V(fnzi_dec_given_array(s, "bias")),
                           named_or(s, "stride", spatial, 1), named_or(s, "padding", spatial, 0),
                           named_or(s, "dilation", spatial, 1), B(transposed),
                           named_or(s, "output_padding", spatial, 0),
                           I(by_channel ? fnzi_dec_array_size(x, 1) : 1));
  fnzi_dec_result_give(s, batched ? y : STEP(squeeze__dim, V(y), I(0)));
}

DECOMP(conv_plain) {
  products_convolve(s, false, false);
}
DECOMP(conv_plain_transposed) {
  products_convolve(s, true, false);
}
DECOMP(conv_by_channel) {
  products_convolve(s, false, true);
}

/* --- Three factors ----------------------------------------------------------------------- */
/* With new dimensions at the indices of a list. */
static fnzi_krn_array *expanded(fnzi_dec_steps *s, const char *name, const char *dims) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, name);
  const int64_t *at = NULL;
  size_t count = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, dims, &at, &count));
  for (int64_t d = 0; s->status == FNZ_OK && d < FNZ_MAX_RANK; d++)
    for (size_t i = 0; i < count; i++)
      if (at[i] == d)
        a = STEP(unsqueeze, V(a), I(d));
  return a;
}

DECOMP(trilinear) {
  fnzi_krn_array *product = MUL(MUL(expanded(s, "i1", "expand1"), expanded(s, "i2", "expand2")),
                                expanded(s, "i3", "expand3"));
  const fnz_arg *sums = fnzi_krn_named(s->call, "sumdim");
  fnzi_dec_result_give(s, sums->count ? STEP(sum__dim_IntList, V(product), *sums) : product);
}

/* A column times a row. */
DECOMP(outer) {
  fnzi_krn_array *a = GIVEN("self"), *b = GIVEN("vec2");
  if (RANK(a) != 1 || RANK(b) != 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "ranks %lld and %lld: both must be vectors",
                    (long long)RANK(a), (long long)RANK(b));
  GIVE(MUL(STEP(unsqueeze, V(a), I(1)), b));
}
