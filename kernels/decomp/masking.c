/* masking.c - elements picked by masks and indices, and comparisons with tolerance. */
#include "kernels/decomp/decomp.h"

/* The count of picked elements, if the program records it and no data are at hand. */
static bool records_count(fnzi_dec_steps *s, int64_t *count) {
  const fnzi_krn_call *call = s->call;
  const fnz_geometry *expected = call->nexpected ? call->expected[0] : NULL;
  if (fnzi_dec_can_look(s) || s->status != FNZ_OK)
    return false;
  if (!expected)
    s->status = fnzi_krn_size_refuse(call);
  *count = expected && expected->rank ? expected->sizes[0] : 0;
  return expected != NULL;
}

/* A row for each element that is not 0. */
static fnzi_krn_array *masking_places_of(fnzi_dec_steps *s, fnzi_krn_array *self) {
  int64_t count;
  return records_count(s, &count)
             ? STEP(full, INTS(count, fnzi_dec_array_rank(self)), I(0), DTYPE(FNZ_I64))
             : STEP(nonzero, V(self));
}

/* --- Masks ------------------------------------------------------------------------------------ */
DECOMP(masked_select) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"), *mask = fnzi_dec_given_array(s, "mask");
  int64_t count;
  if (fnzi_dec_array_dtype(mask) != FNZ_BOOL)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "mask is %s; it must be bool",
                    fnzi_dtype(fnzi_dec_array_dtype(mask))->name);
  if (records_count(s, &count)) {
    fnzi_dec_result_give(s, STEP(full, INTS(count), I(0), DTYPE(fnzi_dec_array_dtype(self))));
    return;
  }
  fnzi_dec_broadcast_both(s, &self, &mask);
  if (fnzi_dec_array_rank(self) == 0) {
    self = RESHAPED(self, 1);
    mask = RESHAPED(mask, 1);
  }
  fnzi_dec_result_give(s, STEP(index__Tensor, V(self), fnzi_dec_values(s, &mask, 1)));
}

static fnzi_krn_array *truths(fnzi_dec_steps *s) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self");
  if (fnzi_dec_array_dtype(self) != FNZ_BOOL)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s; it must be bool",
                    fnzi_dtype(fnzi_dec_array_dtype(self))->name);
  return self;
}

DECOMP(is_all_true) {
  fnzi_dec_result_give(s, STEP(all, V(truths(s))));
}

DECOMP(is_any_true) {
  fnzi_dec_result_give(s, STEP(any, V(truths(s))));
}

/* Each index within its dimension, whatever it is where the mask is false. */
static fnz_arg masking_clamped(fnzi_dec_steps *s, const fnzi_krn_array *self) {
  fnzi_krn_array *list[FNZ_MAX_RANK];
  size_t count = fnzi_dec_given_count(s, "indices");
  if (count > fnzi_dec_array_rank(self))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "indices has %zu items, self %u dimensions; it may have no more", count,
                    fnzi_dec_array_rank(self));
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++) {
    fnzi_krn_array *index = fnzi_dec_given_item(s, "indices", i);
    int64_t size = fnzi_dec_array_size(self, (int64_t)i);
    list[i] = index ? STEP(clamp, V(index), I(-size), I(size - 1)) : NULL;
  }
  return s->status == FNZ_OK ? fnzi_dec_values(s, list, count) : NONE;
}

DECOMP(unsafe_masked_index) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"), *mask = fnzi_dec_given_array(s, "mask");
  fnzi_krn_array *picked = STEP(index__Tensor, V(self), masking_clamped(s, self));
  fnzi_krn_array *not = STEP(logical_not, V(mask));
  fnzi_dec_result_give(
      s, STEP(masked_fill__Scalar, V(picked), V(not ), *fnzi_krn_named(s->call, "fill")));
}

DECOMP(unsafe_masked_index_put) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"), *mask = fnzi_dec_given_array(s, "mask");
  fnzi_krn_array *values = fnzi_dec_given_array(s, "values"), *not = STEP(logical_not, V(mask));
  values = STEP(masked_fill__Scalar, V(values), V(not ), I(0));
  fnzi_dec_result_give(s, STEP(index_put, V(self), masking_clamped(s, self), V(values), B(true)));
}

DECOMP(argwhere) {
  fnzi_dec_result_give(s, masking_places_of(s, fnzi_dec_given_array(s, "self")));
}

/* The places in each dimension apart. */
DECOMP(nonzero_apart) {
  fnzi_krn_array *self = fnzi_krn_call_input(s->call, 0);
  if (fnzi_dec_array_rank(self) == 0)
    self = RESHAPED(self, 1);
  fnzi_krn_array *places = masking_places_of(s, self);
  for (int64_t d = 0; d < fnzi_dec_array_rank(self); d++)
    fnzi_dec_result_give(s, STEP(select_copy__int, V(places), I(1), I(d)));
}

/* As many places as the argument says: the first ones, or filled up. */
DECOMP(nonzero_static) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self");
  int64_t size = fnzi_krn_named_int(s->call, "size", 0), rank = fnzi_dec_array_rank(self);
  if (size < 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "size is %lld; it must not be negative", (long long)size);
  fnzi_krn_array *fill = STEP(full, INTS(size, rank),
                              I(fnzi_krn_named_int(s->call, "fill_value", -1)), DTYPE(FNZ_I64));
  if (!fnzi_dec_can_look(s)) {
    fnzi_dec_result_give(s, fill);
    return;
  }
  fnzi_krn_array *const both[] = {STEP(nonzero, V(self)), fill};
  fnzi_dec_result_give(s, fnzi_part(s, fnzi_dec_cat(s, both, 2, 0), 0, 0, size));
}

/* --- Indices ---------------------------------------------------------------------------------- */
DECOMP(index_reduce) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"), *index = fnzi_dec_given_array(s, "index");
  fnzi_krn_array *source = fnzi_dec_given_array(s, "source");
  const char *reduce = fnzi_krn_named_string(s->call, "reduce");
  int64_t dim = fnzi_dec_given_dim(s, "dim", self);
  bool fits = fnzi_dec_array_rank(index) <= 1 &&
              fnzi_dec_array_rank(self) == fnzi_dec_array_rank(source) &&
              (fnzi_dec_array_rank(self) == 0 ||
               fnzi_dec_array_numel(index) == fnzi_dec_array_size(source, dim));
  if (strcmp(reduce, "prod") && strcmp(reduce, "mean") && strcmp(reduce, "amax") &&
      strcmp(reduce, "amin"))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "reduce is %s; it must be prod, mean, amax or amin",
                    reduce);
  for (uint32_t d = 0; fits && d < fnzi_dec_array_rank(self); d++)
    fits = d == dim || fnzi_dec_array_size(self, d) == fnzi_dec_array_size(source, d);
  if (!fits)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "index with %lld elements in %u dimensions and source with %lld in dimension %lld of "
        "%u do not fit; source needs the sizes of self but for as many as index has there",
        (long long)fnzi_dec_array_numel(index), fnzi_dec_array_rank(index),
        (long long)fnzi_dec_array_size(source, dim), (long long)dim, fnzi_dec_array_rank(source));
  if (fnzi_dec_array_dtype(index) != FNZ_I64 && fnzi_dec_array_dtype(index) != FNZ_I32)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "index is %s; it must be i64 or i32",
                    fnzi_dtype(fnzi_dec_array_dtype(index))->name);
  if (fnzi_dec_array_dtype(self) != fnzi_dec_array_dtype(source))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "source is %s, self %s; both must be the same",
                    fnzi_dtype(fnzi_dec_array_dtype(source))->name,
                    fnzi_dtype(fnzi_dec_array_dtype(self))->name);
  if (s->status != FNZ_OK)
    return;
  uint32_t rank = fnzi_dec_array_rank(source);
  index = fnzi_dec_along(s, fnzi_dec_cast(s, index, FNZ_I64), dim, rank);
  index = STEP(expand, V(index), fnzi_dec_ints(s, source->geometry.sizes, rank));
  fnzi_dec_result_give(s, STEP(scatter_reduce__two, V(self), I(dim), V(index), V(source),
                               *fnzi_krn_named(s->call, "reduce"),
                               B(fnzi_krn_named_bool(s->call, "include_self", true))));
}

/* Along a dimension an index counts round and round: -1 is the last place, and so is 2 * size - 1.
 */
DECOMP(take_along_dim) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"),
                 *index = fnzi_dec_given_array(s, "indices");
  const fnz_arg *given = fnzi_krn_named(s->call, "dim");
  int64_t dim = 0, sizes[FNZ_MAX_RANK], of_self[FNZ_MAX_RANK];
  if (fnzi_dec_array_dtype(index) != FNZ_I64)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "indices are %s; they must be i64",
                    fnzi_dtype(fnzi_dec_array_dtype(index))->name);
  if (given->tag == FNZ_ARG_NONE) {
    self = RESHAPED(self, fnzi_dec_array_numel(self));
    index = RESHAPED(index, fnzi_dec_array_numel(index));
    fnzi_dec_result_give(s, STEP(gather, V(self), I(0), V(index)));
    return;
  }
  if (fnzi_dec_array_rank(self) != fnzi_dec_array_rank(index))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "self has %u dimensions, indices have %u; both need as many",
                    fnzi_dec_array_rank(self), fnzi_dec_array_rank(index));
  dim = fnzi_dec_given_dim(s, "dim", self);
  for (uint32_t d = 0; s->status == FNZ_OK && d < fnzi_dec_array_rank(self); d++) {
    int64_t a = fnzi_dec_array_size(self, d), b = fnzi_dec_array_size(index, d);
    if (d != dim && a != b && a != 1 && b != 1)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "sizes %lld and %lld of dimension %u do not broadcast",
                      (long long)a, (long long)b, d);
    sizes[d] = d == dim || a == 1 ? b : a;
    of_self[d] = d == dim ? a : sizes[d];
  }
  if (fnzi_dec_array_size(self, dim))
    index = STEP(remainder__Scalar, V(index), I(fnzi_dec_array_size(self, dim)));
  self = STEP(expand, V(self), fnzi_dec_ints(s, of_self, fnzi_dec_array_rank(self)));
  index = STEP(expand, V(index), fnzi_dec_ints(s, sizes, fnzi_dec_array_rank(index)));
  fnzi_dec_result_give(s, STEP(gather, V(self), I(dim), V(index)));
}

/* The elements of `elements` that are among the sorted test elements. */
static fnzi_krn_array *found(fnzi_dec_steps *s, fnzi_krn_array *elements, fnzi_krn_array *tests) {
  int64_t count = fnzi_dec_array_numel(tests);
  fnzi_krn_array *sorted[2];
  if (count == 0)
    return STEP(zeros_like, V(elements), DTYPE(FNZ_BOOL));
  STEPS_INTO(sorted, 2, sort, V(RESHAPED(tests, count)), I(0));
  fnzi_krn_array *place = STEP(searchsorted__Tensor, V(sorted[0]), V(elements));
  place = STEP(clamp_max, V(place), I(count - 1));
  fnzi_krn_array *flat = RESHAPED(place, fnzi_dec_array_numel(place));
  fnzi_krn_array *at = STEP(index_select, V(sorted[0]), I(0), V(flat));
  fnzi_krn_array *near =
      elements ? fnzi_dec_reshaped(s, at, elements->geometry.sizes, fnzi_dec_array_rank(elements))
               : NULL;
  return STEP(eq__Tensor, V(elements), V(near));
}

/* Complex numbers and bools have no order. */
static void need_ordered(fnzi_dec_steps *s, fnz_dtype dtype) {
  if (dtype == FNZ_BOOL || fnzi_is_complex(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "not for %s; convert to integers or floats",
                    fnzi_dtype(dtype)->name);
}

static void need_ordered_number(fnzi_dec_steps *s, const char *name) {
  const fnz_arg *number = fnzi_krn_named(s->call, name);
  if (number->tag == FNZ_ARG_BOOL || number->tag == FNZ_ARG_COMPLEX)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is a bool or complex; give an integer or a float", name);
}

DECOMP(isin) {
  fnzi_krn_array *elements = fnzi_dec_given_array(s, "elements");
  fnzi_krn_array *tests = fnzi_dec_given_array(s, "test_elements");
  need_ordered(s, fnzi_dec_array_dtype(elements));
  need_ordered(s, fnzi_dec_array_dtype(tests));
  fnz_dtype dtype = fnzi_promote(fnzi_dec_array_dtype(elements), fnzi_dec_array_dtype(tests));
  fnzi_krn_array *in = found(s, fnzi_dec_cast(s, elements, dtype), fnzi_dec_cast(s, tests, dtype));
  bool invert = fnzi_krn_named_bool(s->call, "invert", false);
  fnzi_dec_result_give(s, invert ? STEP(logical_not, V(in)) : in);
}

DECOMP(isin_number) {
  fnzi_krn_array *elements = fnzi_dec_given_array(s, "elements");
  need_ordered(s, fnzi_dec_array_dtype(elements));
  need_ordered_number(s, "test_element");
  fnzi_krn_array *same = STEP(eq__Scalar, V(elements), *fnzi_krn_named(s->call, "test_element"));
  bool invert = fnzi_krn_named_bool(s->call, "invert", false);
  fnzi_dec_result_give(s, invert ? STEP(logical_not, V(same)) : same);
}

DECOMP(isin_of_number) {
  fnzi_krn_array *tests = fnzi_dec_given_array(s, "test_elements");
  need_ordered(s, fnzi_dec_array_dtype(tests));
  need_ordered_number(s, "element");
  fnzi_krn_array *same =
      STEP(any, V(STEP(eq__Scalar, V(tests), *fnzi_krn_named(s->call, "element"))));
  bool invert = fnzi_krn_named_bool(s->call, "invert", false);
  fnzi_dec_result_give(s, invert ? STEP(logical_not, V(same)) : same);
}

/* repeats is a tensor of one number for all, or of one for each place. */
DECOMP(repeat_interleave_places) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"),
                 *repeats = fnzi_dec_given_array(s, "repeats");
  const fnz_arg *given = fnzi_krn_named(s->call, "dim");
  if (given->tag == FNZ_ARG_NONE)
    self = RESHAPED(self, fnzi_dec_array_numel(self));
  else if (fnzi_dec_array_rank(self) == 0)
    self = RESHAPED(self, 1);
  int64_t dim = given->tag == FNZ_ARG_NONE ? 0 : fnzi_dec_given_dim(s, "dim", self);
  int64_t count = fnzi_dec_array_size(self, dim);
  if (fnzi_dec_array_rank(repeats) > 1 ||
      (fnzi_dec_array_numel(repeats) != 1 && fnzi_dec_array_numel(repeats) != count))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "repeats has %lld elements for %lld places; it needs as many, or one",
                    (long long)fnzi_dec_array_numel(repeats), (long long)count);
  if (fnzi_dec_array_rank(repeats) == 0 || fnzi_dec_array_numel(repeats) != count)
    repeats = STEP(expand, V(RESHAPED(repeats, 1)), INTS(count));
  fnzi_krn_array *index =
      STEP(repeat_interleave__Tensor, V(repeats), *fnzi_krn_named(s->call, "output_size"));
  fnzi_dec_result_give(s, STEP(index_select, V(self), I(dim), V(index)));
}

/* --- With tolerance --------------------------------------------------------------------------- */
static bool is_real_or_complex(fnz_dtype dtype) {
  return fnzi_is_float(dtype) || fnzi_is_complex(dtype);
}

DECOMP(isclose) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self"), *b = fnzi_dec_given_array(s, "other");
  double relative = fnzi_krn_named_float(s->call, "rtol", 1e-5);
  double absolute = fnzi_krn_named_float(s->call, "atol", 1e-8);
  fnz_dtype dtype = fnzi_dec_array_dtype(a);
  if (dtype != fnzi_dec_array_dtype(b))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s, other %s; both must be the same",
                    fnzi_dtype(dtype)->name, fnzi_dtype(fnzi_dec_array_dtype(b))->name);
  if (!(relative >= 0 && absolute >= 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "rtol %g and atol %g must not be negative", relative,
                    absolute);
  fnzi_krn_array *close = STEP(eq__Tensor, V(a), V(b));
  if (fnzi_krn_named_bool(s->call, "equal_nan", false) && is_real_or_complex(dtype)) {
    fnzi_krn_array *nan = STEP(logical_and, V(STEP(isnan, V(a))), V(STEP(isnan, V(b))));
    close = STEP(logical_or, V(close), V(nan));
  }
  if (relative != 0 || absolute != 0) {
    if (!is_real_or_complex(dtype)) {
      a = fnzi_dec_cast(s, a, FNZ_F32);
      b = fnzi_dec_cast(s, b, FNZ_F32);
    }
    fnzi_krn_array *allowed = STEP(abs, V(STEP(mul__Scalar, V(b), F(relative))));
    allowed = STEP(add__Scalar, V(allowed), F(absolute));
    fnzi_krn_array *actual = STEP(abs, V(SUB(a, b)));
    fnzi_krn_array *near =
        STEP(logical_and, V(STEP(isfinite, V(actual))), V(STEP(le__Tensor, V(actual), V(allowed))));
    close = STEP(logical_or, V(close), V(near));
  }
  fnzi_dec_result_give(s, close);
}

DECOMP(isreal) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  if (!fnzi_is_complex(fnzi_dec_array_dtype(a))) {
    fnzi_dec_result_give(s, STEP(ones_like, V(a), DTYPE(FNZ_BOOL)));
    return;
  }
  fnzi_krn_array *im = STEP(select__int, V(STEP(view_as_real, V(a))), I(-1), I(1));
  fnzi_dec_result_give(s, STEP(eq__Scalar, V(im), I(0)));
}

/* --- Lines between numbers in tensors --------------------------------------------------------- */
static void masking_find_ends(fnzi_dec_steps *s, fnz_arg ends[2]) {
  ends[0] = *fnzi_krn_named(s->call, "start");
  ends[1] = *fnzi_krn_named(s->call, "end");
  for (int i = 0; i < 2; i++)
    if (ends[i].tag == FNZ_ARG_VALUE) {
      const fnzi_krn_array *a = fnzi_krn_arg_array(&ends[i]);
      /* The number in a tensor that has one. */
      if (fnzi_dec_array_rank(a) != 0)
        fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                        "a tensor of %u dimensions stands for a number; it needs 0",
                        fnzi_dec_array_rank(a));
      ends[i] = fnzi_dec_number_at(s, a, 0);
    }
}

DECOMP(linspace_tensors) {
  fnz_arg ends[2];
  masking_find_ends(s, ends);
  fnzi_dec_result_give(s, STEP(linspace, ends[0], ends[1], *fnzi_krn_named(s->call, "steps"),
                               *fnzi_krn_named(s->call, "dtype")));
}

DECOMP(logspace_tensors) {
  fnz_arg ends[2];
  masking_find_ends(s, ends);
  fnzi_dec_result_give(s,
                       STEP(logspace, ends[0], ends[1], *fnzi_krn_named(s->call, "steps"),
                            *fnzi_krn_named(s->call, "base"), *fnzi_krn_named(s->call, "dtype")));
}
