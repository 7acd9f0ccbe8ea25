/* slopes.c - slopes of samples along dimensions (gradient), and powers of numbers side by side
 * (vander). */
#include "kernels/decomp/decomp.h"

typedef fnzi_krn_array array;

/* --- Slopes ----------------------------------------------------------------------------------- */
/* Places along a dimension, from the end where negative. */
static array *span(fnzi_dec_steps *s, array *x, int64_t dim, int64_t start, int64_t end) {
  return STEP(slice__Tensor, V(x), I(dim), I(start), I(end));
}

static array *span_to_end(fnzi_dec_steps *s, array *x, int64_t dim, int64_t start) {
  return span(s, x, dim, start, INT64_MAX);
}

static array *slopes_whole(fnzi_dec_steps *s, array *before, array *center, array *after,
                           int64_t dim) {
  array *const parts[] = {before, center, after};
  return fnzi_dec_cat(s, parts, 3, dim);
}

static array *scaled(fnzi_dec_steps *s, array *x, fnz_arg by) {
  return STEP(mul__Scalar, V(x), by);
}

/* The slope of samples that all have the same distance. */
static array *slope_by_number(fnzi_dec_steps *s, array *x, int64_t dim, fnz_arg apart, bool wide) {
  array *center = SUB(span_to_end(s, x, dim, 2), span(s, x, dim, 0, -2)), *before, *after;
  array *first = span(s, x, dim, 0, 1), *second = span(s, x, dim, 1, 2);
  array *last = span_to_end(s, x, dim, -1), *last_but_one = span(s, x, dim, -2, -1);
  center = STEP(div__Scalar, V(STEP(div__Scalar, V(center), apart)), I(2));
  if (wide) {
    array *third = span(s, x, dim, 2, 3), *last_but_two = span(s, x, dim, -3, -2);
    before = ADD(scaled(s, first, F(-1.5)), scaled(s, second, I(2)));
    before = SUB(before, scaled(s, third, F(0.5)));
    after = SUB(scaled(s, last_but_two, F(0.5)), scaled(s, last_but_one, I(2)));
    after = ADD(after, scaled(s, last, F(1.5)));
  } else {
    before = SUB(second, first);
    after = SUB(last, last_but_one);
  }
  before = STEP(div__Scalar, V(before), apart);
  after = STEP(div__Scalar, V(after), apart);
  return slopes_whole(s, before, center, after, dim);
}

/* Three neighbours, each times its weight. */
static array *weighed(fnzi_dec_steps *s, array *const weights[3], array *const at[3]) {
  array *sum = ADD(MUL(weights[0], at[0]), MUL(weights[1], at[1]));
  return ADD(sum, MUL(weights[2], at[2]));
}

/* The slope if the distances to both neighbours differ. */
static array *slope_inside(fnzi_dec_steps *s, array *x, int64_t dim, array *apart) {
  size_t rank = fnzi_dec_array_rank(x);
  array *left = span(s, apart, 0, 0, -1), *right = span_to_end(s, apart, 0, 1);
  array *both = ADD(left, right);
  array *weights[] = {DIV(STEP(neg, V(right)), MUL(left, both)),
                      DIV(SUB(right, left), MUL(left, right)), DIV(left, MUL(right, both))};
  array *const at[] = {span(s, x, dim, 0, -2), span(s, x, dim, 1, -1), span_to_end(s, x, dim, 2)};
  for (size_t k = 0; k < 3; k++)
    weights[k] = fnzi_dec_along(s, weights[k], dim, rank);
  return weighed(s, weights, at);
}

/* By the one through the last three. */
static array *slope_after(fnzi_dec_steps *s, array *x, int64_t dim, array *near, array *far) {
  array *both = ADD(near, far);
  array *const weights[] = {
      DIV(near, MUL(far, both)),
      DIV(STEP(neg, V(both)), MUL(near, far)),
      DIV(ADD(scaled(s, near, I(2)), far), MUL(near, both)),
  };
  array *const at[] = {span(s, x, dim, -3, -2), span(s, x, dim, -2, -1),
                       span_to_end(s, x, dim, -1)};
  return weighed(s, weights, at);
}

static array *pick_one(fnzi_dec_steps *s, array *apart, int64_t i) {
  return STEP(select__int, V(apart), I(0), I(i));
}

static array *slope_by_places(fnzi_dec_steps *s, array *x, int64_t dim, array *places, bool wide) {
  array *apart = SUB(span_to_end(s, places, 0, 1), span(s, places, 0, 0, -1)), *before, *after;
  array *center = slope_inside(s, x, dim, apart);
  array *near = pick_one(s, apart, 0), *last = pick_one(s, apart, -1);
  if (wide) {
    array *far = pick_one(s, apart, 1);
    /* By the parabola through the first three samples: `near` apart, then `far`. */
    array *both = ADD(near, far);
    array *const weights[] = {
        DIV(STEP(neg, V(ADD(scaled(s, near, F(2)), far))), MUL(near, both)),
        DIV(both, MUL(near, far)),
        DIV(STEP(neg, V(near)), MUL(far, both)),
    };
    array *const at[] = {span(s, x, dim, 0, 1), span(s, x, dim, 1, 2), span(s, x, dim, 2, 3)};
    before = weighed(s, weights, at);
    after = slope_after(s, x, dim, last, pick_one(s, apart, -2));
  } else {
    before = DIV(SUB(span(s, x, dim, 1, 2), span(s, x, dim, 0, 1)), near);
    after = DIV(SUB(span_to_end(s, x, dim, -1), span(s, x, dim, -2, -1)), last);
  }
  return slopes_whole(s, before, center, after, dim);
}

/* The dimensions asked for, all of them where none is named. */
static size_t given_dims(fnzi_dec_steps *s, const array *x, uint32_t dims[FNZ_MAX_RANK]) {
  const int64_t *given = NULL;
  uint32_t rank = fnzi_dec_array_rank(x);
  size_t count = 0;
  bool seen[FNZ_MAX_RANK] = {false};
  for (uint32_t d = 0; d < rank; d++)
    dims[d] = d;
  if (fnzi_krn_named(s->call, "dim")->tag == FNZ_ARG_NONE)
    return rank;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dim", &given, &count));
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++) {
    uint32_t dim = 0;
    s->status = fnzi_wrap_dim(s->call->ctx, s->call->op->name, given[i], rank, &dim);
    if (s->status == FNZ_OK && (!rank || seen[dim])) {
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      rank ? "dim names dimension %u twice"
                           : "self has no dimensions, so none is dimension %u",
                      dim);
    } else if (s->status == FNZ_OK) {
      seen[dim] = true;
      dims[i] = dim;
    }
  }
  return s->status == FNZ_OK ? count : 0;
}

static const fnz_arg *listed_spacing(const fnzi_dec_steps *s) {
  const fnz_arg *spacing = fnzi_krn_named(s->call, "spacing");
  return spacing && spacing->tag == FNZ_ARG_LIST ? spacing : NULL;
}

/* One number for all dimensions is 1 where none is given. */
static fnz_arg spacing_of(const fnzi_dec_steps *s, size_t i) {
  const fnz_arg *spacing = fnzi_krn_named(s->call, "spacing"), *listed = listed_spacing(s);
  if (listed)
    return listed->u.list[i];
  return spacing && spacing->tag != FNZ_ARG_NONE ? *spacing : F(1);
}

static void check_samples(fnzi_dec_steps *s, const array *x, const uint32_t *dims, size_t count) {
  const fnz_arg *listed = listed_spacing(s);
  int64_t edge = fnzi_krn_named_int(s->call, "edge_order", 1);
  if (fnzi_dec_array_dtype(x) == FNZ_U8)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is u8; cast it to a type with a sign");
  if (edge != 1 && edge != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "edge_order is %lld; it must be 1 or 2", (long long)edge);
  if (listed && listed->count != count)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "spacing has %u items for %zu dimensions; each needs one",
                    listed->count, count);
  for (size_t i = 0; i < count; i++)
    if (s->status == FNZ_OK && fnzi_dec_array_size(x, dims[i]) < edge + 1)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "self has size %lld in dimension %u; edge_order %lld needs %lld",
                      (long long)fnzi_dec_array_size(x, dims[i]), dims[i], (long long)edge,
                      (long long)edge + 1);
}

static array *slopes_places_of(fnzi_dec_steps *s, fnz_arg spacing, size_t i) {
  array *places = fnzi_krn_arg_array(&spacing);
  if (fnzi_dec_array_rank(places) != 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "spacing %zu has %u dimensions; it needs one", i,
                    fnzi_dec_array_rank(places));
  return places;
}

DECOMP(gradient) {
  array *x = fnzi_dec_given_array(s, "self");
  uint32_t dims[FNZ_MAX_RANK];
  size_t count = given_dims(s, x, dims);
  bool wide = fnzi_krn_named_int(s->call, "edge_order", 1) == 2;
  check_samples(s, x, dims, count);
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++) {
    fnz_arg spacing = spacing_of(s, i);
    fnzi_dec_result_give(s,
                         spacing.tag == FNZ_ARG_VALUE
                             ? slope_by_places(s, x, dims[i], slopes_places_of(s, spacing, i), wide)
                             : slope_by_number(s, x, dims[i], spacing, wide));
  }
}

/* --- Powers ----------------------------------------------------------------------------------- */
/* 1, x, x^2 ... along a new last dimension, `count` of them. */
static array *powers(fnzi_dec_steps *s, array *x, int64_t count) {
  int64_t sizes[FNZ_MAX_RANK + 1], rank = fnzi_dec_array_rank(x);
  for (int64_t d = 0; d < rank; d++)
    sizes[d] = fnzi_dec_array_size(x, d);
  sizes[rank] = count > 1 ? count - 1 : 0;
  array *raised =
      STEP(expand, V(STEP(unsqueeze, V(x), I(-1))), fnzi_dec_ints(s, sizes, (size_t)rank + 1));
  raised = STEP(cumprod, V(raised), I(-1));
  sizes[rank] = count > 0;
  array *const both[] = {STEP(new_ones, V(raised), fnzi_dec_ints(s, sizes, (size_t)rank + 1)),
                         raised};
  return fnzi_dec_cat(s, both, 2, -1);
}

DECOMP(powers_of_each) {
  array *x = fnzi_dec_given_array(s, "x");
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  if (dtype == FNZ_BOOL || dtype == FNZ_F16 || dtype == FNZ_BF16)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "x is %s; it must be of f32, f64, complex numbers or integers",
                    fnzi_dtype(dtype)->name);
  x = fnzi_dec_array_rank(x) ? x : STEP(unsqueeze, V(x), I(-1));
  int64_t count = fnzi_krn_named_int(s->call, "N", fnzi_dec_array_size(x, -1));
  if (count < 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "N is %lld; it must be 2 or more", (long long)count);
  fnzi_dec_result_give(s, powers(s, x, count));
}

DECOMP(powers_of_vector) {
  array *x = fnzi_dec_given_array(s, "x");
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  int64_t count = fnzi_krn_named_int(s->call, "N", fnzi_dec_array_size(x, 0));
  if (fnzi_dec_array_rank(x) != 1 || count < 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "x has %u dimensions and N is %lld; it needs 1, and N 0 or more",
                    fnzi_dec_array_rank(x), (long long)count);
  bool counts = fnzi_is_integer(dtype) || dtype == FNZ_BOOL;
  array *all = powers(s, counts ? fnzi_dec_cast(s, x, FNZ_I64) : x, count);
  if (!fnzi_krn_named_bool(s->call, "increasing", false))
    all = STEP(flip, V(all), INTS(1));
  fnzi_dec_result_give(s, all);
}
