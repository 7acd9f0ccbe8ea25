/* unique.c - the different elements, or slices along a dimension: in order, or as they follow each
 * other. Their number is the size of the result, so these
 * kernels make the results themselves (meta/data.c). */
#include "kernels/cpu/sort.h"
#include "kernels/cpu/cpu.h"

#include <math.h>

/* `count` slices of `length` elements, as keys; every NaN differs from everything. */
typedef struct slices {
  const double *real; /* one of the two: elements widened without loss */
  const int64_t *whole;
  int64_t count, length, outer, inner; /* element i of slice k: see at() */
  int64_t *order;                      /* slices in their order */
} slices;

/* The index of element i of slice k if there are `count` slices. */
static int64_t place_of(const slices *x, int64_t count, int64_t slice, int64_t i) {
  return (i / x->inner * count + slice) * x->inner + i % x->inner;
}

static int64_t at(const slices *x, int64_t slice, int64_t i) {
  return place_of(x, x->count, slice, i);
}

static int64_t key(const slices *x, int64_t slice, int64_t i) {
  int64_t place = at(x, slice, i);
  return x->real ? fnzi_cpu_real_key(x->real[place]) : x->whole[place];
}

static bool same(const slices *x, int64_t a, int64_t b) {
  for (int64_t i = 0; i < x->length; i++) {
    bool nan = x->real && isnan(x->real[at(x, a, i)]);
    if (nan || key(x, a, i) != key(x, b, i))
      return false;
  }
  return true;
}

static fnz_status open_slices(fnzi_krn_call *call, bool flat, uint32_t dim, slices *x) {
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
  FNZI_NEW(&call->scratch, (size_t)x->count, &x->order);
  for (int64_t k = 0; k < x->count; k++)
    x->order[k] = k;
  return FNZ_OK;
}

/* By the last element first, each time keeping what is equal in order: so by the first in the end.
 */
static fnz_status sort_slices(fnzi_krn_call *call, slices *x) {
  fnzi_cpu_pair *pairs;
  FNZI_NEW(&call->scratch, (size_t)x->count * 2, &pairs);
  for (int64_t i = x->length; i-- > 0;) {
    for (int64_t k = 0; k < x->count; k++)
      pairs[k] = (fnzi_cpu_pair){key(x, x->order[k], i), x->order[k]};
    const fnzi_cpu_pair *sorted = fnzi_cpu_sort_pairs(pairs, x->count);
    for (int64_t k = 0; k < x->count; k++)
      x->order[k] = sorted[k].place;
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

static fnz_status find(fnzi_krn_call *call, const slices *x, found *f) {
  FNZI_NEW(&call->scratch, (size_t)x->count, &f->first);
  FNZI_NEW(&call->scratch, (size_t)x->count, &f->which);
  FNZI_NEW(&call->scratch, (size_t)x->count, &f->repeats);
  f->count = 0;
  for (int64_t k = 0; k < x->count; k++) {
    int64_t slice = x->order[k];
    if (k == 0 || !same(x, slice, f->first[f->count - 1])) {
      f->first[f->count] = slice;
      f->repeats[f->count++] = 0;
    }
    f->which[slice] = f->count - 1;
    f->repeats[f->count - 1]++;
  }
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
  int64_t sizes[FNZ_MAX_RANK];
  const void *from;
  void *to;
  if (g->rank && !flat)
    memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  sizes[flat ? 0 : dim] = f->count;
  FNZ_TRY(fnzi_shape_add(call, g->dtype, flat ? 1 : g->rank, sizes, NULL));
  FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[0], false));
  FNZ_TRY(fnzi_krn_dense_get(call, self, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &to));
  for (int64_t k = 0; k < f->count; k++)
    for (int64_t i = 0; i < x->length; i++)
      memcpy((char *)to + (size_t)place_of(x, f->count, k, i) * self->cell,
             (const char *)from + (size_t)at(x, f->first[k], i) * self->cell, self->cell);
  return FNZ_OK;
}

/* A result that the arguments do not want is empty, as in eager. */
typedef struct asked {
  bool flat, sorts, inverse, counts;
  uint32_t dim;
} asked;

static fnz_status give(fnzi_krn_call *call, const asked *a) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const int64_t none = 0;
  slices x;
  found f;
  FNZ_TRY(open_slices(call, a->flat, a->dim, &x));
  if (a->sorts)
    FNZ_TRY(sort_slices(call, &x));
  FNZ_TRY(find(call, &x, &f));
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
