/* quantized_blocks.c - the operators that torchao writes into a quantized program: to few integers
 * or to floats of eight bits and back, with a scale for each block of elements, and how scales are
 * chosen. Every step has the type that Python's has, and is rounded where it is. */
#include "kernels/decomp/decomp.h"

#include <math.h>

typedef fnzi_krn_array array;

/* --- Ranges ----------------------------------------------------------------------------------- */
typedef struct range {
  fnz_arg least, most;
} range;

static const struct {
  fnz_dtype dtype;
  double least, most;
} ranges[] = {
    {FNZ_U8, 0, 255},
    {FNZ_I8, -128, 127},
    {FNZ_I16, -32768, 32767},
    {FNZ_I32, -2147483648.0, 2147483647.0},
    {FNZ_F8_E4M3FN, -448, 448},
    {FNZ_F8_E5M2, -57344, 57344},
    {FNZ_F8_E4M3FNUZ, -240, 240},
    {FNZ_F8_E5M2FNUZ, -57344, 57344},
};
enum { RANGES = sizeof ranges / sizeof *ranges, INTEGER_RANGES = 4 };

/* Place in `ranges`, from `first` on; RANGES where the decomposition ends. */
static size_t range_find(fnzi_dec_steps *s, const char *name, fnz_dtype dtype, size_t first) {
  for (size_t i = first; i < RANGES; i++)
    if (ranges[i].dtype == dtype)
      return i;
  fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s; it must be %sa float of 8 bits with a sign", name,
                  fnzi_dtype(dtype)->name, first ? "" : "u8, i8, i16, i32 or ");
  return RANGES;
}

static fnz_arg given_or(const fnzi_dec_steps *s, const char *name, double otherwise, bool whole) {
  fnz_arg given = *fnzi_krn_named(s->call, name);
  if (given.tag != FNZ_ARG_NONE && given.tag != FNZ_ARG_DEFAULT)
    return given;
  return whole ? I((int64_t)otherwise) : F(otherwise);
}

/* Arguments quant_min and quant_max, which must be in the range of the type. */
static range given_range(fnzi_dec_steps *s, const char *name, fnz_dtype dtype) {
  size_t i = range_find(s, name, dtype, 0);
  if (i == RANGES)
    return (range){I(0), I(1)};
  bool whole = i < INTEGER_RANGES;
  range r = {given_or(s, "quant_min", ranges[i].least, whole),
             given_or(s, "quant_max", ranges[i].most, whole)};
  double least = fnzi_krn_number_float(&r.least), most = fnzi_krn_number_float(&r.most);
  if (!(least >= ranges[i].least) || !(most <= ranges[i].most))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "quant_min is %g and quant_max %g; %s holds what is from %g to %g", least, most,
                    fnzi_dtype(dtype)->name, ranges[i].least, ranges[i].most);
  return r;
}

/* --- Blocks ----------------------------------------------------------------------------------- */
/* Sizes with a dimension for the blocks and one for the elements of each block; only one of the two
 * if the other is 1. `inside` are the dimensions within a block. */
typedef struct blocks {
  fnz_arg sizes, ones, inside; /* ones: sizes of a scale, with 1 inside */
  const int64_t *given;
} blocks;

/* The same while it is made. */
typedef struct block_list {
  int64_t sizes[FNZ_MAX_RANK], inside[FNZ_MAX_RANK];
  size_t rank, count;
} block_list;

static void add_size(fnzi_dec_steps *s, block_list *b, int64_t size, bool is_inside) {
  if (b->rank == FNZ_MAX_RANK) {
    fnzi_dec_refuse(s, FNZ_CLASS_LIMIT, "blocks of input need more than %d dimensions",
                    FNZ_MAX_RANK);
    return;
  }
  if (is_inside)
    b->inside[b->count++] = (int64_t)b->rank;
  b->sizes[b->rank++] = size;
}

static blocks given_blocks(fnzi_dec_steps *s, const array *x) {
  blocks out = {NONE, NONE, NONE, NULL};
  block_list b = {.rank = 0};
  size_t count = 0, rank = fnzi_dec_array_rank(x);
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "block_size", &out.given, &count));
  if (count != rank)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "block_size has %zu items, input %zu dimensions", count,
                    rank);
  for (uint32_t d = 0; s->status == FNZ_OK && d < rank; d++) {
    const int64_t size = fnzi_dec_array_size(x, d), block = out.given[d];
    if (block == size || block <= 1) {
      add_size(s, &b, size, block != 1);
      continue;
    }
    if (size % block)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "input has size %lld in dimension %u; block_size %lld does not divide it",
                      (long long)size, d, (long long)block);
    add_size(s, &b, size / block, false);
    add_size(s, &b, block, true);
  }
  out.sizes = fnzi_dec_ints(s, b.sizes, b.rank);
  out.inside = fnzi_dec_ints(s, b.inside, b.count);
  for (size_t k = 0; k < b.count; k++)
    b.sizes[b.inside[k]] = 1;
  out.ones = fnzi_dec_ints(s, b.sizes, b.rank);
  return out;
}

static array *whole_again(fnzi_dec_steps *s, array *blocked, const array *like) {
  return STEP(view, V(blocked),
              fnzi_dec_ints(s, like ? like->geometry.sizes : NULL, fnzi_dec_array_rank(like)));
}

/* One place for each block. */
static array *by_blocks(fnzi_dec_steps *s, array *chosen, const array *x, const blocks *b) {
  int64_t sizes[FNZ_MAX_RANK], rank = fnzi_dec_array_rank(x);
  for (int64_t d = 0; s->status == FNZ_OK && d < rank; d++) {
    const int64_t size = fnzi_dec_array_size(x, d), block = b->given[d];
    if (block == 0)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "block_size %lld is 0; it must be positive",
                      (long long)d);
    else
      sizes[d] = size / block - (size % block != 0 && block < 0); /* rounded down */
  }
  return s->status == FNZ_OK ? fnzi_dec_reshaped(s, chosen, sizes, (size_t)rank) : NULL;
}

/* --- To integers and back --------------------------------------------------------------------- */
static array *blocks_given_real(fnzi_dec_steps *s) {
  array *x = fnzi_dec_given_array(s, "input");
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  if (fnzi_dec_wide(dtype) != FNZ_F32)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "input is %s; it must be f32, f16 or bf16",
                    fnzi_dtype(dtype)->name);
  return x;
}

DECOMP(blocks_quantize) {
  array *x = blocks_given_real(s), *scale = fnzi_dec_given_array(s, "scale"),
        *zero = fnzi_dec_given_array(s, "zero_point");
  fnz_dtype out = fnzi_krn_named_dtype(s->call, "output_dtype", FNZ_I8);
  range r = given_range(s, "output_dtype", out);
  blocks b = given_blocks(s, x);
  if (fnzi_dec_array_numel(zero) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "zero_point is None or without elements; give zeros");
  array *parts = STEP(view, V(x), b.sizes);
  array *per_scale = STEP(reciprocal, V(STEP(view, V(scale), b.ones)));
  array *whole = STEP(round, V(MUL(parts, per_scale)));
  whole = STEP(clamp, V(ADD(whole, STEP(view, V(zero), b.ones))), r.least, r.most);
  fnzi_dec_result_give(s, fnzi_dec_cast(s, whole_again(s, whole, x), out));
}

DECOMP(blocks_dequantize) {
  array *x = fnzi_dec_given_array(s, "input"), *scale = fnzi_dec_given_array(s, "scale"),
        *zero = fnzi_dec_given_array(s, "zero_point");
  fnz_dtype has = fnzi_dec_array_dtype(x), says = fnzi_krn_named_dtype(s->call, "input_dtype", has);
  fnz_dtype out = fnzi_krn_named_dtype(s->call, "output_dtype", FNZ_F32);
  (void)given_range(s, "input_dtype", says);
  if (has != says || fnzi_dec_wide(out) != FNZ_F32)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "input is %s, input_dtype %s and output_dtype %s; the first two must be the "
                    "same, the last f32, f16 or bf16",
                    fnzi_dtype(has)->name, fnzi_dtype(says)->name, fnzi_dtype(out)->name);
  blocks b = given_blocks(s, x);
  array *parts = fnzi_dec_cast(s, STEP(view, V(x), b.sizes), out);
  scale = STEP(view, V(scale), b.ones);
  if (zero)
    parts = SUB(parts, fnzi_dec_cast(s, STEP(view, V(zero), b.ones), out));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, whole_again(s, MUL(parts, scale), x), out));
}

/* --- How scales are chosen -------------------------------------------------------------------- */
typedef struct chosen {
  array *scale, *zero;
} chosen;

/* Blocks whose zero is in the middle: the greatest in size is the end of the range, or, without
 * clipping, whichever end is nearer. */
static chosen choose_symmetric(fnzi_dec_steps *s, array *const ends[2], range r, bool clips,
                               double eps) {
  double least = fnzi_krn_number_float(&r.least), most = fnzi_krn_number_float(&r.most);
  chosen c = {NULL, NULL};
  if (clips) {
    array *greatest = STEP(maximum, V(STEP(neg, V(ends[0]))), V(ends[1]));
    c.scale = STEP(div__Scalar, V(greatest), F((most - least) / 2));
  } else {
    array *below = STEP(div__Scalar, V(ends[0]), F(least)),
          *above = STEP(div__Scalar, V(ends[1]), F(most));
    c.scale = CHOSEN(STEP(gt__Tensor, V(below), V(above)), below, above);
  }
  const double middle = trunc((most + least + 1) / 2);
  c.zero = STEP(full_like, V(c.scale), I((int64_t)middle));
  c.scale = STEP(clamp, V(c.scale), F(eps));
  return c;
}

static chosen choose_asymmetric(fnzi_dec_steps *s, array *const ends[2], range r, double eps) {
  double width = fnzi_krn_number_float(&r.most) - fnzi_krn_number_float(&r.least);
  array *scale = STEP(div__Scalar, V(SUB(ends[1], ends[0])), F(width));
  scale = STEP(clamp, V(scale), F(eps));
  array *zero = STEP(rsub__Scalar, V(STEP(round, V(DIV(ends[0], scale)))), r.least);
  return (chosen){scale, STEP(clamp, V(zero), r.least, r.most)};
}

DECOMP(blocks_choose) {
  array *x = fnzi_dec_given_array(s, "input"), *ends[2];
  const char *type = fnzi_krn_named_string(s->call, "mapping_type");
  bool asymmetric = strcmp(type, "ASYMMETRIC") == 0, clips = strcmp(type, "SYMMETRIC") == 0,
       keeps = fnzi_krn_named_bool(s->call, "keepdim", false);
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  range r = given_range(s, "target_dtype", fnzi_krn_named_dtype(s->call, "target_dtype", FNZ_I8));
  /* Eager asks for the least normal number of the type where no eps is given. */
  bool is_given = fnzi_krn_named(s->call, "eps")->tag != FNZ_ARG_NONE;
  if (!x)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "input is None; it needs a tensor");
  if (!is_given && !fnzi_is_float(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "input is %s; give an eps, or cast it to floats",
                    fnzi_dtype(dtype)->name);
  const double least_normal = dtype == FNZ_F64 ? 0x1p-1022 : dtype == FNZ_F16 ? 0x1p-14 : 0x1p-126;
  double eps = fnzi_krn_named_float(s->call, "eps", least_normal);
  if (!asymmetric && !clips && strcmp(type, "SYMMETRIC_NO_CLIPPING_ERR") != 0)
    fnzi_dec_refuse(
        s, FNZ_CLASS_ARGUMENT,
        "mapping_type is %s; it must be SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC", type);
  blocks b = given_blocks(s, x);
  /* The least and the greatest element of each block, and 0. */
  array *parts = STEP(view, V(x), b.sizes);
  array *low = STEP(amin, V(parts), b.inside, B(keeps)),
        *high = STEP(amax, V(parts), b.inside, B(keeps));
  ends[0] = STEP(minimum, V(low), V(STEP(zeros_like, V(low))));
  ends[1] = STEP(maximum, V(high), V(STEP(zeros_like, V(high))));
  chosen c =
      asymmetric ? choose_asymmetric(s, ends, r, eps) : choose_symmetric(s, ends, r, clips, eps);
  if (keeps)
    c = (chosen){by_blocks(s, c.scale, x, &b), by_blocks(s, c.zero, x, &b)};
  fnz_dtype counts = asymmetric ? FNZ_I32 : fnzi_dec_array_dtype(c.zero);
  fnzi_dec_result_give(
      s, fnzi_dec_cast(s, c.scale, fnzi_krn_named_dtype(s->call, "scale_dtype", dtype)));
  fnzi_dec_result_give(
      s, fnzi_dec_cast(s, c.zero, fnzi_krn_named_dtype(s->call, "zero_point_dtype", counts)));
}

/* --- Floats of eight bits --------------------------------------------------------------------- */
static double greatest_float8(fnzi_dec_steps *s) {
  size_t i =
      range_find(s, "float8_dtype", fnzi_krn_named_dtype(s->call, "float8_dtype", FNZ_F8_E4M3FN),
                 INTEGER_RANGES);
  return i == RANGES ? 1 : ranges[i].most;
}

DECOMP(blocks_choose_float8) {
  array *x = fnzi_dec_given_array(s, "tensor");
  double most = greatest_float8(s);
  fnz_dtype kind = fnzi_krn_named_dtype(s->call, "scale_dtype", FNZ_F32);
  fnz_arg low = *fnzi_krn_named(s->call, "hp_value_lb"),
          high = *fnzi_krn_named(s->call, "hp_value_ub");
  blocks b = given_blocks(s, x);
  array *greatest = STEP(amax, V(STEP(abs, V(STEP(view, V(x), b.sizes)))), b.inside, B(true));
  if (low.tag == FNZ_ARG_FLOAT || high.tag == FNZ_ARG_FLOAT)
    greatest = STEP(clamp, V(greatest), low, high);
  array *scale = by_blocks(s, STEP(div__Scalar, V(greatest), F(most)), x, &b);
  if (kind != FNZ_F32 && kind != FNZ_F8_E8M0FNU)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "scale_dtype is %s; it must be f32 or f8e8m0fnu",
                    fnzi_dtype(kind)->name);
  if (kind == FNZ_F8_E8M0FNU) /* a power of 2, as that type has no others */
    scale = STEP(exp2, V(STEP(round, V(STEP(log2, V(scale))))));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, scale, FNZ_F32));
}

/* Sizes broadcast, by as many dimensions as both have. */
static bool broadcasts(const array *scale, const array *x) {
  uint32_t rank = fnzi_dec_array_rank(scale), most = fnzi_dec_array_rank(x);
  for (uint32_t d = 0; d < rank && d < most; d++) {
    int64_t size = fnzi_dec_array_size(scale, d);
    if (size != 1 && size != fnzi_dec_array_size(x, d))
      return false;
  }
  return true;
}

/* The scale of each element, where there is one for each block of them. */
static array *scale_of_each(fnzi_dec_steps *s, const array *x) {
  array *scale = fnzi_dec_given_array(s, "scale");
  if (fnzi_dec_array_numel(scale) == 1 || broadcasts(scale, x))
    return scale;
  if (fnzi_dec_array_rank(scale) != fnzi_dec_array_rank(x))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "scale has %u dimensions, tensor %u",
                    fnzi_dec_array_rank(scale), fnzi_dec_array_rank(x));
  uint32_t rank = fnzi_dec_array_rank(x);
  for (uint32_t d = 0; s->status == FNZ_OK && d < rank; d++) {
    int64_t has = fnzi_dec_array_size(scale, d), wants = fnzi_dec_array_size(x, d);
    if (has <= 0 || wants % has)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "scale has size %lld in dimension %u, tensor %lld, which is no multiple",
                      (long long)has, d, (long long)wants);
    else if (wants / has > 1)
      scale = fnzi_dec_interleaved(s, scale, d, wants / has);
  }
  return scale;
}

DECOMP(blocks_quantize_float8) {
  array *x = fnzi_dec_given_array(s, "tensor"), *scale = scale_of_each(s, x);
  double most = greatest_float8(s);
  x = STEP(clamp, V(DIV(fnzi_dec_cast(s, x, FNZ_F32), scale)), F(-most), F(most));
  fnzi_dec_result_give(
      s, fnzi_dec_cast(s, x, fnzi_krn_named_dtype(s->call, "float8_dtype", FNZ_F8_E4M3FN)));
}

DECOMP(blocks_dequantize_float8) {
  array *x = fnzi_dec_given_array(s, "tensor"), *scale = scale_of_each(s, x);
  x = MUL(fnzi_dec_cast(s, x, FNZ_F32), scale);
  fnzi_dec_result_give(s,
                       fnzi_dec_cast(s, x, fnzi_krn_named_dtype(s->call, "output_dtype", FNZ_F32)));
}
