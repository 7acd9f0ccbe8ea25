/* unique.c - the different elements, or slices along a dimension: in order, or as they follow each
 * other. Their number is the size of the result, so these
 * kernels make the results themselves (meta/data.c). */
#include "kernels/cpu/pick.h"
#include "kernels/cpu/sort.h"
#include "kernels/cpu/cpu.h"

#include <math.h>

/* A result that the arguments do not want is empty, as in eager. */
typedef struct asked {
  bool flat, sorts, inverse, counts;
  uint32_t dim;
} asked;

/* `count` slices of `length` elements, as keys; every NaN differs from everything. */
typedef struct slices {
  const double *real; /* one of the two: elements widened without loss */
  const int64_t *whole;
  int64_t count, length, outer, inner; /* a slice: `outer` runs of `inner` elements */
  int64_t *order;                      /* slices in their order; NULL: as they follow each other */
} slices;

/* The first element of run `outer` of a slice. */
static int64_t unique_place_of(const slices *x, int64_t slice, int64_t outer) {
  return (outer * x->count + slice) * x->inner;
}

static int64_t key(const slices *x, int64_t place) {
  return x->real ? fnzi_cpu_real_key(x->real[place]) : x->whole[place];
}

/* As the first elements that differ: below 0, 0 or above. */
static int compare(const slices *x, int64_t a, int64_t b) {
  for (int64_t o = 0; o < x->outer; o++) {
    int64_t p = unique_place_of(x, a, o), q = unique_place_of(x, b, o);
    for (int64_t i = 0; i < x->inner; i++) {
      int64_t first = key(x, p + i), second = key(x, q + i);
      if (first != second)
        return first < second ? -1 : 1;
    }
  }
  return 0;
}

static bool unique_has_nan(const slices *x, int64_t slice) {
  for (int64_t o = 0; x->real && o < x->outer; o++)
    for (int64_t i = 0; i < x->inner; i++)
      if (isnan(x->real[unique_place_of(x, slice, o) + i]))
        return true;
  return false;
}

static fnz_status unique_open_slices(fnzi_krn_call *call, const asked *a, slices *x) {
  const bool flat = a->flat;
  const uint32_t dim = a->dim;
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const fnz_geometry *g = &self->geometry;
  bool real = fnzi_is_float(g->dtype);
  const void *wide;
  *x = (slices){.count = flat ? fnz_geometry_numel(g) : g->sizes[dim], .outer = 1, .inner = 1};
  for (uint32_t d = 0; !flat && d < dim; d++)
    x->outer *= g->sizes[d];
  for (uint32_t d = dim + 1; !flat && d < g->rank; d++)
    x->inner *= g->sizes[d];
  x->length = x->outer * x->inner;
  FNZ_TRY(fnzi_krn_dense_get_as(call, self, real ? FNZ_F64 : FNZ_I64, &wide));
  if (real)
    x->real = wide;
  else
    x->whole = wide;
  x->order = NULL;
  if (a->sorts)
    FNZI_NEW(&call->scratch, (size_t)x->count, &x->order);
  for (int64_t k = 0; a->sorts && k < x->count; k++)
    x->order[k] = k;
  return FNZ_OK;
}

/* Equal slices stay in order. */
static void unique_merge(const slices *x, const int64_t *from, int64_t *to, int64_t middle,
                         int64_t end) {
  int64_t a = 0, b = middle;
  for (int64_t i = 0; i < end; i++) {
    bool is_second = a == middle || (b < end && compare(x, from[b], from[a]) < 0);
    to[i] = from[is_second ? b++ : a++];
  }
}

static fnz_status sort_slices(fnzi_krn_call *call, slices *x) {
  int64_t *to;
  if (x->length == 1) {
    fnzi_cpu_pair *pairs;
    FNZI_NEW(&call->scratch, (size_t)x->count * 2, &pairs);
    for (int64_t k = 0; k < x->count; k++)
      pairs[k] = (fnzi_cpu_pair){key(x, k), k};
    const fnzi_cpu_pair *sorted = fnzi_cpu_sort_pairs(pairs, x->count);
    for (int64_t k = 0; k < x->count; k++)
      x->order[k] = sorted[k].place;
    return FNZ_OK;
  }
  FNZI_NEW(&call->scratch, (size_t)x->count, &to);
  for (int64_t run = 1; run < x->count; run *= 2) {
    int64_t *from = x->order;
    for (int64_t at = 0; at < x->count; at += 2 * run) {
      int64_t left = x->count - at, middle = run < left ? run : left;
      unique_merge(x, from + at, to + at, middle, 2 * run < left ? 2 * run : left);
    }
    x->order = to, to = from;
  }
  return FNZ_OK;
}

/* --- Results ----------------------------------------------------------------------------- */
typedef struct found {
  int64_t count;
  int64_t *first;   /* slice that stands for each */
  int64_t *which;   /* per slice: which one it is */
  int64_t *repeats; /* of each */
} found;

/* Slice k in order is another one than the slice before it. */
static bool is_new(const slices *x, int64_t k) {
  int64_t slice = x->order ? x->order[k] : k, before = k == 0 ? 0 : k - 1;
  before = x->order ? x->order[before] : before;
  if (x->length == 1 && x->whole)
    return (k == 0) | (x->whole[slice] != x->whole[before]);
  if (x->length == 1)
    return (k == 0) | (x->real[slice] != x->real[before]);
  return k == 0 || compare(x, slice, before) != 0 || unique_has_nan(x, slice);
}

static fnz_status find(fnzi_krn_call *call, const slices *x, const asked *a, found *f) {
  int64_t *starts;
  *f = (found){.count = 0};
  FNZI_NEW(&call->scratch, (size_t)x->count + 1, &f->first);
  FNZI_NEW(&call->scratch, a->counts ? (size_t)x->count + 1 : 0, &starts);
  FNZI_NEW(&call->scratch, a->inverse ? (size_t)x->count : 0, &f->which);
  for (int64_t k = 0; k < x->count; k++) {
    int64_t slice = x->order ? x->order[k] : k;
    bool counts = is_new(x, k); /* without a branch, as it is hard to foresee */
    f->first[f->count] = slice;
    if (a->counts)
      starts[f->count] = k;
    f->count += counts;
    if (a->inverse)
      f->which[slice] = f->count - 1;
  }
  f->repeats = starts;
  if (a->counts)
    starts[f->count] = x->count;
  for (int64_t k = 0; a->counts && k < f->count; k++)
    f->repeats[k] = starts[k + 1] - starts[k];
  return FNZ_OK;
}

static fnz_status give_numbers(fnzi_krn_call *call, uint32_t rank, const int64_t *sizes,
                               const int64_t *values) {
  void *out;
  FNZ_TRY(fnzi_shape_add(call, FNZ_I64, rank, sizes, NULL));
  size_t k = call->noutputs - 1;
  FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[k], false));
  FNZ_TRY(fnzi_krn_result_get_as(call, k, FNZ_I64, &out));
  int64_t count = fnzi_krn_array_numel(call->outputs[k]);
  if (count)
    memcpy(out, values, (size_t)count * sizeof *values);
  return FNZ_OK;
}

static fnz_status give_slices(fnzi_krn_call *call, bool flat, uint32_t dim, const slices *x,
                              const found *f) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const fnz_geometry *g = &self->geometry;
  const size_t bytes = (size_t)x->inner * self->cell;
  int64_t sizes[FNZ_MAX_RANK];
  const void *cells;
  void *out;
  if (g->rank && !flat)
    memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  sizes[flat ? 0 : dim] = f->count;
  FNZ_TRY(fnzi_shape_add(call, g->dtype, flat ? 1 : g->rank, sizes, NULL));
  FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[0], false));
  FNZ_TRY(fnzi_krn_dense_get(call, self, &cells));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &out));
  const char *from = cells;
  char *to = out;
  for (int64_t o = 0; o < x->outer; o++, from += (size_t)x->count * bytes) {
    if (x->inner == 1)
      fnzi_cpu_cells_pick(self->cell, to, from, f->first, f->count);
    for (int64_t k = 0; x->inner != 1 && k < f->count; k++)
      memcpy(to + (size_t)k * bytes, from + (size_t)f->first[k] * bytes, bytes);
    to += (size_t)f->count * bytes;
  }
  return FNZ_OK;
}

static fnz_status give(fnzi_krn_call *call, const asked *a) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const int64_t none = 0;
  slices x;
  found f;
  FNZ_TRY(unique_open_slices(call, a, &x));
  if (a->sorts)
    FNZ_TRY(sort_slices(call, &x));
  FNZ_TRY(find(call, &x, a, &f));
  FNZ_TRY(give_slices(call, a->flat, a->dim, &x, &f));
  if (!a->inverse)
    FNZ_TRY(give_numbers(call, 1, &none, NULL));
  else if (a->flat)
    FNZ_TRY(give_numbers(call, g->rank, g->sizes, f.which));
  else
    FNZ_TRY(give_numbers(call, 1, &x.count, f.which));
  if (fnzi_op_param(call->op, "return_counts") < 0)
    return FNZ_OK;
  return give_numbers(call, 1, a->counts ? &f.count : &none, f.repeats);
}

static asked read_asked(const fnzi_krn_call *call, bool sorts) {
  return (asked){.flat = true,
                 .sorts = sorts,
                 .inverse = fnzi_krn_named_bool(call, "return_inverse", false),
                 .counts = fnzi_krn_named_bool(call, "return_counts", false)};
}

fnz_status fnzi_kernel_unique(fnzi_krn_call *call) {
  const asked a = read_asked(call, true);
  return give(call, &a);
}

fnz_status fnzi_kernel_unique_consecutive(fnzi_krn_call *call) {
  const asked a = read_asked(call, false);
  return give(call, &a);
}

/* Inverse and counts are given, whether wanted or not. */
static fnz_status give_along(fnzi_krn_call *call, bool sorts) {
  asked a = {.sorts = sorts, .inverse = true, .counts = true};
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0),
                        fnzi_krn_call_geometry(call, 0)->rank, &a.dim));
  return give(call, &a);
}

fnz_status fnzi_kernel_unique_dim(fnzi_krn_call *call) {
  return give_along(call, true);
}

fnz_status fnzi_kernel_unique_dim_consecutive(fnzi_krn_call *call) {
  return give_along(call, false);
}
