/* masking.c - elements picked by masks and indices, and comparisons with tolerance. */
#include "kernels/decomp/decomp.h"

/* How many elements were picked, where no data say it but the program does. */
static bool records_count(fnzi_steps *s, int64_t *count) {
  const fnzi_call *call = s->call;
  const fnz_geometry *expected = call->nexpected ? call->expected[0] : NULL;
  if (s->status != FNZ_OK || call->has_data)
    return false;
  if (!expected)
    s->status = fnzi_size_unknown(call);
  *count = expected && expected->rank ? expected->sizes[0] : 0;
  return expected != NULL;
}

/* A row for each element that is not 0. */
static fnzi_array *places_of(fnzi_steps *s, fnzi_array *self) {
  int64_t count;
  return records_count(s, &count) ? STEP(full, INTS(count, fnzi_rank(self)), I(0), DTYPE(FNZ_I64))
                                  : STEP(nonzero, V(self));
}

/* The number in a tensor that has one. */
static fnz_arg number_in(fnzi_steps *s, const fnzi_array *a) {
  if (fnzi_rank(a) != 0)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "a tensor of %u dimensions stands for a number; it needs 0",
              fnzi_rank(a));
  return fnzi_number_at(s, a, 0);
}

/* --- Masks ------------------------------------------------------------------------------------ */
DECOMP(masked_select) {
  fnzi_array *self = fnzi_given(s, "self"), *mask = fnzi_given(s, "mask");
  int64_t count;
  if (fnzi_dtype_of(mask) != FNZ_BOOL)
    fnzi_stop(s, FNZ_CLASS_TYPE, "mask is %s; it must be bool",
              fnzi_dtype(fnzi_dtype_of(mask))->name);
  if (records_count(s, &count)) {
    fnzi_give_result(s, STEP(full, INTS(count), I(0), DTYPE(fnzi_dtype_of(self))));
    return;
  }
  fnzi_broadcast_both(s, &self, &mask);
  if (fnzi_rank(self) == 0) {
    self = RESHAPED(self, 1);
    mask = RESHAPED(mask, 1);
  }
  fnzi_give_result(s, STEP(index__Tensor, V(self), fnzi_values(s, &mask, 1)));
}

static fnzi_array *truths(fnzi_steps *s) {
  fnzi_array *self = fnzi_given(s, "self");
  if (fnzi_dtype_of(self) != FNZ_BOOL)
    fnzi_stop(s, FNZ_CLASS_TYPE, "self is %s; it must be bool",
              fnzi_dtype(fnzi_dtype_of(self))->name);
  return self;
}

DECOMP(is_all_true) {
  fnzi_give_result(s, STEP(all, V(truths(s))));
}

DECOMP(is_any_true) {
  fnzi_give_result(s, STEP(any, V(truths(s))));
}

/* Each index within its dimension, whatever it is where the mask is false. */
static fnz_arg clamped(fnzi_steps *s, const fnzi_array *self) {
  fnzi_array *list[FNZ_MAX_RANK];
  size_t count = fnzi_given_count(s, "indices");
  if (count > fnzi_rank(self))
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "indices has %zu items, self %u dimensions; it may have no more",
              count, fnzi_rank(self));
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++) {
    fnzi_array *index = fnzi_given_item(s, "indices", i);
    int64_t size = fnzi_size(self, (int64_t)i);
    list[i] = index ? STEP(clamp, V(index), I(-size), I(size - 1)) : NULL;
  }
  return s->status == FNZ_OK ? fnzi_values(s, list, count) : NONE;
}

DECOMP(unsafe_masked_index) {
  fnzi_array *self = fnzi_given(s, "self"), *mask = fnzi_given(s, "mask");
  fnzi_array *picked = STEP(_unsafe_index__Tensor, V(self), clamped(s, self));
  fnzi_array *not = STEP(logical_not, V(mask));
  fnzi_give_result(s, STEP(masked_fill__Scalar, V(picked), V(not ), *fnzi_named(s->call, "fill")));
}

DECOMP(unsafe_masked_index_put) {
  fnzi_array *self = fnzi_given(s, "self"), *mask = fnzi_given(s, "mask");
  fnzi_array *values = fnzi_given(s, "values"), *not = STEP(logical_not, V(mask));
  values = STEP(masked_fill__Scalar, V(values), V(not ), I(0));
  fnzi_give_result(s, STEP(index_put, V(self), clamped(s, self), V(values), B(true)));
}

DECOMP(argwhere) {
  fnzi_give_result(s, places_of(s, fnzi_given(s, "self")));
}

/* The places in each dimension apart. */
DECOMP(nonzero_apart) {
  fnzi_array *self = fnzi_input(s->call, 0);
  if (fnzi_rank(self) == 0)
    self = RESHAPED(self, 1);
  fnzi_array *places = places_of(s, self);
  for (int64_t d = 0; d < fnzi_rank(self); d++)
    fnzi_give_result(s, STEP(select_copy__int, V(places), I(1), I(d)));
}

/* As many places as asked for: the first ones, or filled up. */
DECOMP(nonzero_static) {
  fnzi_array *self = fnzi_given(s, "self");
  int64_t size = fnzi_named_int(s->call, "size", 0), rank = fnzi_rank(self);
  if (size < 0)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "size is %lld; it must not be negative", (long long)size);
  fnzi_array *fill =
      STEP(full, INTS(size, rank), I(fnzi_named_int(s->call, "fill_value", -1)), DTYPE(FNZ_I64));
  if (!s->call->has_data) {
    fnzi_give_result(s, fill);
    return;
  }
  fnzi_array *const both[] = {STEP(nonzero, V(self)), fill};
  fnzi_give_result(s, fnzi_part(s, fnzi_joined(s, both, 2, 0), 0, 0, size));
}

/* --- Indices ---------------------------------------------------------------------------------- */
/* An index of one dimension, for every element of `like`. */
static fnzi_array *spread(fnzi_steps *s, fnzi_array *index, const fnzi_array *like, int64_t dim) {
  uint32_t rank = fnzi_rank(like);
  index = fnzi_along(s, index, dim, rank);
  return STEP(expand, V(index), fnzi_ints(s, like->geometry.sizes, rank));
}

DECOMP(index_reduce) {
  fnzi_array *self = fnzi_given(s, "self"), *index = fnzi_given(s, "index");
  fnzi_array *source = fnzi_given(s, "source");
  const char *reduce = fnzi_named_string(s->call, "reduce");
  int64_t dim = fnzi_given_dim(s, "dim", self);
  bool fits = fnzi_rank(index) <= 1 && fnzi_rank(self) == fnzi_rank(source) &&
              (fnzi_rank(self) == 0 || fnzi_numel(index) == fnzi_size(source, dim));
  if (strcmp(reduce, "prod") && strcmp(reduce, "mean") && strcmp(reduce, "amax") &&
      strcmp(reduce, "amin"))
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "reduce is %s; it must be prod, mean, amax or amin", reduce);
  for (uint32_t d = 0; fits && d < fnzi_rank(self); d++)
    fits = d == dim || fnzi_size(self, d) == fnzi_size(source, d);
  if (!fits)
    fnzi_stop(s, FNZ_CLASS_BOUNDS,
              "index with %lld elements in %u dimensions and source with %lld in dimension %lld of "
              "%u do not fit; source needs the sizes of self but for as many as index has there",
              (long long)fnzi_numel(index), fnzi_rank(index), (long long)fnzi_size(source, dim),
              (long long)dim, fnzi_rank(source));
  if (fnzi_dtype_of(index) != FNZ_I64 && fnzi_dtype_of(index) != FNZ_I32)
    fnzi_stop(s, FNZ_CLASS_TYPE, "index is %s; it must be i64 or i32",
              fnzi_dtype(fnzi_dtype_of(index))->name);
  if (fnzi_dtype_of(self) != fnzi_dtype_of(source))
    fnzi_stop(s, FNZ_CLASS_TYPE, "source is %s, self %s; both must be the same",
              fnzi_dtype(fnzi_dtype_of(source))->name, fnzi_dtype(fnzi_dtype_of(self))->name);
  if (s->status != FNZ_OK)
    return;
  index = fnzi_as(s, index, FNZ_I64);
  fnzi_give_result(s, STEP(scatter_reduce__two, V(self), I(dim), V(spread(s, index, source, dim)),
                           V(source), *fnzi_named(s->call, "reduce"),
                           B(fnzi_named_bool(s->call, "include_self", true))));
}

/* Along a dimension an index counts round and round: -1 is the last place, and so is 2 * size - 1.
 */
DECOMP(take_along_dim) {
  fnzi_array *self = fnzi_given(s, "self"), *index = fnzi_given(s, "indices");
  const fnz_arg *given = fnzi_named(s->call, "dim");
  int64_t dim = 0, sizes[FNZ_MAX_RANK], of_self[FNZ_MAX_RANK];
  if (fnzi_dtype_of(index) != FNZ_I64)
    fnzi_stop(s, FNZ_CLASS_TYPE, "indices are %s; they must be i64",
              fnzi_dtype(fnzi_dtype_of(index))->name);
  if (given->tag == FNZ_ARG_NONE) {
    self = RESHAPED(self, fnzi_numel(self));
    index = RESHAPED(index, fnzi_numel(index));
    fnzi_give_result(s, STEP(gather, V(self), I(0), V(index)));
    return;
  }
  if (fnzi_rank(self) != fnzi_rank(index))
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "self has %u dimensions, indices have %u; both need as many",
              fnzi_rank(self), fnzi_rank(index));
  dim = fnzi_given_dim(s, "dim", self);
  for (uint32_t d = 0; s->status == FNZ_OK && d < fnzi_rank(self); d++) {
    int64_t a = fnzi_size(self, d), b = fnzi_size(index, d);
    if (d != dim && a != b && a != 1 && b != 1)
      fnzi_stop(s, FNZ_CLASS_BOUNDS, "sizes %lld and %lld of dimension %u do not broadcast",
                (long long)a, (long long)b, d);
    sizes[d] = d == dim || a == 1 ? b : a;
    of_self[d] = d == dim ? a : sizes[d];
  }
  if (fnzi_size(self, dim))
    index = STEP(remainder__Scalar, V(index), I(fnzi_size(self, dim)));
  self = STEP(expand, V(self), fnzi_ints(s, of_self, fnzi_rank(self)));
  index = STEP(expand, V(index), fnzi_ints(s, sizes, fnzi_rank(index)));
  fnzi_give_result(s, STEP(gather, V(self), I(dim), V(index)));
}

/* What `elements` has at places of the sorted test elements. */
static fnzi_array *found(fnzi_steps *s, fnzi_array *elements, fnzi_array *tests) {
  int64_t count = fnzi_numel(tests);
  fnzi_array *sorted[2];
  if (count == 0)
    return STEP(zeros_like, V(elements), DTYPE(FNZ_BOOL));
  STEPS_INTO(sorted, 2, sort, V(RESHAPED(tests, count)), I(0));
  fnzi_array *place = STEP(searchsorted__Tensor, V(sorted[0]), V(elements));
  place = STEP(clamp_max, V(place), I(count - 1));
  fnzi_array *flat = RESHAPED(place, fnzi_numel(place));
  fnzi_array *at = STEP(index_select, V(sorted[0]), I(0), V(flat));
  fnzi_array *near =
      elements ? fnzi_reshaped(s, at, elements->geometry.sizes, fnzi_rank(elements)) : NULL;
  return STEP(eq__Tensor, V(elements), V(near));
}

/* Complex numbers and bools have no such order that matters here: refused, and as integers. */
static void give_isin(fnzi_steps *s, fnzi_array *elements, fnzi_array *tests) {
  fnz_dtype dtype = fnzi_promote(fnzi_dtype_of(elements), fnzi_dtype_of(tests));
  if (dtype == FNZ_BOOL)
    dtype = FNZ_U8;
  fnzi_array *in = found(s, fnzi_as(s, elements, dtype), fnzi_as(s, tests, dtype));
  bool invert = fnzi_named_bool(s->call, "invert", false);
  fnzi_give_result(s, invert ? STEP(logical_not, V(in)) : in);
}

DECOMP(isin) {
  give_isin(s, fnzi_given(s, "elements"), fnzi_given(s, "test_elements"));
}

DECOMP(isin_number) {
  fnzi_array *elements = fnzi_given(s, "elements");
  fnzi_array *same = STEP(eq__Scalar, V(elements), *fnzi_named(s->call, "test_element"));
  bool invert = fnzi_named_bool(s->call, "invert", false);
  fnzi_give_result(s, invert ? STEP(logical_not, V(same)) : same);
}

DECOMP(isin_of_number) {
  fnzi_array *tests = fnzi_given(s, "test_elements");
  fnzi_array *same = STEP(any, V(STEP(eq__Scalar, V(tests), *fnzi_named(s->call, "element"))));
  bool invert = fnzi_named_bool(s->call, "invert", false);
  fnzi_give_result(s, invert ? STEP(logical_not, V(same)) : same);
}

/* repeats is a tensor of one number for all, or of one for each place. */
DECOMP(repeat_interleave_places) {
  fnzi_array *self = fnzi_given(s, "self"), *repeats = fnzi_given(s, "repeats");
  const fnz_arg *given = fnzi_named(s->call, "dim");
  if (given->tag == FNZ_ARG_NONE)
    self = RESHAPED(self, fnzi_numel(self));
  else if (fnzi_rank(self) == 0)
    self = RESHAPED(self, 1);
  int64_t dim = given->tag == FNZ_ARG_NONE ? 0 : fnzi_given_dim(s, "dim", self);
  int64_t count = fnzi_size(self, dim);
  if (fnzi_rank(repeats) > 1 || (fnzi_numel(repeats) != 1 && fnzi_numel(repeats) != count))
    fnzi_stop(s, FNZ_CLASS_BOUNDS,
              "repeats has %lld elements for %lld places; it needs as many, or one",
              (long long)fnzi_numel(repeats), (long long)count);
  if (fnzi_rank(repeats) == 0 || fnzi_numel(repeats) != count)
    repeats = STEP(expand, V(RESHAPED(repeats, 1)), INTS(count));
  fnzi_array *index =
      STEP(repeat_interleave__Tensor, V(repeats), *fnzi_named(s->call, "output_size"));
  fnzi_give_result(s, STEP(index_select, V(self), I(dim), V(index)));
}

/* --- With tolerance --------------------------------------------------------------------------- */
static bool is_real_or_complex(fnz_dtype dtype) {
  return fnzi_is_float(dtype) || fnzi_is_complex(dtype);
}

DECOMP(isclose) {
  fnzi_array *a = fnzi_given(s, "self"), *b = fnzi_given(s, "other");
  double relative = fnzi_named_float(s->call, "rtol", 1e-5);
  double absolute = fnzi_named_float(s->call, "atol", 1e-8);
  fnz_dtype dtype = fnzi_dtype_of(a);
  if (dtype != fnzi_dtype_of(b))
    fnzi_stop(s, FNZ_CLASS_TYPE, "self is %s, other %s; both must be the same",
              fnzi_dtype(dtype)->name, fnzi_dtype(fnzi_dtype_of(b))->name);
  if (relative < 0 || absolute < 0)
    fnzi_stop(s, FNZ_CLASS_BOUNDS, "rtol %g and atol %g must not be negative", relative, absolute);
  fnzi_array *close = STEP(eq__Tensor, V(a), V(b));
  if (fnzi_named_bool(s->call, "equal_nan", false) && is_real_or_complex(dtype)) {
    fnzi_array *nan = STEP(logical_and, V(STEP(isnan, V(a))), V(STEP(isnan, V(b))));
    close = STEP(logical_or, V(close), V(nan));
  }
  if (relative != 0 || absolute != 0) {
    if (!is_real_or_complex(dtype)) {
      a = fnzi_as(s, a, FNZ_F32);
      b = fnzi_as(s, b, FNZ_F32);
    }
    fnzi_array *allowed = STEP(abs, V(STEP(mul__Scalar, V(b), F(relative))));
    allowed = STEP(add__Scalar, V(allowed), F(absolute));
    fnzi_array *actual = STEP(abs, V(SUB(a, b)));
    fnzi_array *near =
        STEP(logical_and, V(STEP(isfinite, V(actual))), V(STEP(le__Tensor, V(actual), V(allowed))));
    close = STEP(logical_or, V(close), V(near));
  }
  fnzi_give_result(s, close);
}

DECOMP(isreal) {
  fnzi_array *a = fnzi_given(s, "self");
  if (!fnzi_is_complex(fnzi_dtype_of(a))) {
    fnzi_give_result(s, STEP(ones_like, V(a), DTYPE(FNZ_BOOL)));
    return;
  }
  fnzi_array *im = STEP(select__int, V(STEP(view_as_real, V(a))), I(-1), I(1));
  fnzi_give_result(s, STEP(eq__Scalar, V(im), I(0)));
}

/* --- Lines between numbers in tensors --------------------------------------------------------- */
static void find_ends(fnzi_steps *s, fnz_arg ends[2]) {
  ends[0] = *fnzi_named(s->call, "start");
  ends[1] = *fnzi_named(s->call, "end");
  for (int i = 0; i < 2; i++)
    if (ends[i].tag == FNZ_ARG_VALUE)
      ends[i] = number_in(s, fnzi_arg_array(&ends[i]));
}

DECOMP(linspace_tensors) {
  fnz_arg ends[2];
  find_ends(s, ends);
  fnzi_give_result(s, STEP(linspace, ends[0], ends[1], *fnzi_named(s->call, "steps"),
                           *fnzi_named(s->call, "dtype")));
}

DECOMP(logspace_tensors) {
  fnz_arg ends[2];
  find_ends(s, ends);
  fnzi_give_result(s, STEP(logspace, ends[0], ends[1], *fnzi_named(s->call, "steps"),
                           *fnzi_named(s->call, "base"), *fnzi_named(s->call, "dtype")));
}
