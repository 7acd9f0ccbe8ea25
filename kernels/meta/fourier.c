/* fourier.c - shape rules of Fourier transforms. In memory the dimensions that are transformed come
 * last, the others before them by their strides, as eager leaves them. */
#include "kernels/core/core.h"

typedef struct transform {
  const fnz_geometry *self;
  int64_t dims[FNZ_MAX_RANK]; /* from 0 on */
  size_t count;
  bool named[FNZ_MAX_RANK];
} transform;

static fnz_status transform_get(fnzi_krn_call *call, bool complex, transform *t) {
  const int64_t *dims;
  t->self = fnzi_krn_call_geometry(call, 0);
  fnz_dtype have = t->self->dtype;
  bool fits = complex ? have == FNZ_C64 || have == FNZ_C128 : have == FNZ_F32 || have == FNZ_F64;
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "self is %s; it must be %s",
                                fnzi_dtype(have)->name, complex ? "c64 or c128" : "f32 or f64");
  FNZ_TRY(fnzi_krn_named_ints(call, "dim", &dims, &t->count));
  if (t->count > t->self->rank)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "dim has %zu numbers; self has %u dimensions", t->count,
                                t->self->rank);
  memset(t->named, 0, sizeof t->named);
  for (size_t i = 0; i < t->count; i++) {
    int64_t rank = t->self->rank, dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= rank || t->named[dim])
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "dim has %lld; it must have dimensions of %u, each once",
                                  (long long)dims[i], t->self->rank);
    t->named[dim] = true;
    t->dims[i] = dim;
  }
  return FNZ_OK;
}

/* The largest stride first; dimensions with equal strides stay in order. */
static void sort_by_strides(const int64_t *strides, int64_t *dims, size_t count) {
  for (size_t i = 1; i < count; i++)
    for (size_t k = i; k > 0 && strides[dims[k - 1]] < strides[dims[k]]; k--) {
      int64_t other = dims[k];
      dims[k] = dims[k - 1];
      dims[k - 1] = other;
    }
}

/* The dimensions that stay come in the order of C++'s partition of two ends, which exchanges. */
static void others_of(const transform *t, int64_t *order) {
  size_t first = 0, last = t->self->rank;
  for (size_t d = 0; d < last; d++)
    order[d] = (int64_t)d;
  for (;;) {
    while (first < last && !t->named[order[first]])
      first++;
    if (first == last)
      return;
    do
      last--;
    while (first < last && t->named[order[last]]);
    if (first == last)
      return;
    int64_t other = order[first];
    order[first++] = order[last];
    order[last] = other;
  }
}

/* Appends the result. Without elements it is row-major; elements are made of none by no transform.
 */
static fnz_status fourier_add_result(fnzi_krn_call *call, const transform *t, fnz_dtype dtype,
                                     const int64_t *sizes, const int64_t *strides) {
  bool is_empty = false;
  for (uint32_t d = 0; d < t->self->rank; d++)
    is_empty = is_empty || sizes[d] == 0;
  if (!is_empty && fnz_geometry_numel(t->self) == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "a dimension that is transformed has no elements; it needs one");
  return fnzi_shape_add(call, dtype, t->self->rank, sizes, is_empty ? NULL : strides);
}

/* Strides of a result of these sizes, of a tensor with strides `have`; `dims` are the transformed
 * dimensions, in order. */
static void strides_of(const transform *t, const int64_t *have, const int64_t *sizes,
                       const int64_t *dims, size_t count, int64_t *strides) {
  int64_t order[FNZ_MAX_RANK], step = 1;
  size_t rest = t->self->rank - count;
  others_of(t, order);
  sort_by_strides(have, order, rest);
  memcpy(order + rest, dims, count * sizeof *dims);
  for (size_t i = t->self->rank; i-- > 0;) {
    strides[order[i]] = step;
    step *= sizes[order[i]];
  }
}

fnz_status fnzi_shape_fourier(fnzi_krn_call *call) {
  transform t;
  int64_t strides[FNZ_MAX_RANK];
  FNZ_TRY(transform_get(call, true, &t));
  if (t.count == 0)
    return fnzi_shape_add_like(call, t.self->dtype, t.self);
  sort_by_strides(t.self->strides, t.dims, t.count);
  strides_of(&t, t.self->strides, t.self->sizes, t.dims, t.count, strides);
  return fourier_add_result(call, &t, t.self->dtype, t.self->sizes, strides);
}

static fnz_status check_last(const fnzi_krn_call *call, const transform *t) {
  if (t->count)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "dim is empty; it needs a dimension");
}

fnz_status fnzi_shape_fourier_of_real(fnzi_krn_call *call) {
  transform t;
  int64_t strides[FNZ_MAX_RANK], sizes[FNZ_MAX_RANK];
  FNZ_TRY(transform_get(call, false, &t));
  FNZ_TRY(check_last(call, &t));
  memcpy(sizes, t.self->sizes, t.self->rank * sizeof *sizes);
  if (fnzi_krn_named_bool(call, "onesided", true))
    sizes[t.dims[t.count - 1]] = sizes[t.dims[t.count - 1]] / 2 + 1;
  sort_by_strides(t.self->strides, t.dims, t.count - 1);
  strides_of(&t, t.self->strides, sizes, t.dims, t.count, strides);
  return fourier_add_result(call, &t, t.self->dtype == FNZ_F32 ? FNZ_C64 : FNZ_C128, sizes,
                            strides);
}

/* All dimensions but the last are transformed before it, and leave their order. */
fnz_status fnzi_shape_fourier_to_real(fnzi_krn_call *call) {
  transform t, before;
  int64_t strides[FNZ_MAX_RANK], sizes[FNZ_MAX_RANK], have[FNZ_MAX_RANK];
  int64_t length = fnzi_krn_named_int(call, "last_dim_size", 1);
  FNZ_TRY(transform_get(call, true, &t));
  FNZ_TRY(check_last(call, &t));
  int64_t last = t.dims[t.count - 1];
  bool fits = t.self->sizes[last] == length || t.self->sizes[last] == length / 2 + 1;
  if (length < 1 || !(fits || t.self->sizes[last] == 0))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "last_dim_size is %lld, of a dimension of %lld elements; it needs "
                                "half of it and one more, or all",
                                (long long)length, (long long)t.self->sizes[last]);
  memcpy(sizes, t.self->sizes, t.self->rank * sizeof *sizes);
  memcpy(have, t.self->strides, t.self->rank * sizeof *have);
  if (t.count > 1) {
    before = t;
    before.named[last] = false;
    sort_by_strides(have, before.dims, t.count - 1);
    strides_of(&before, t.self->strides, sizes, before.dims, t.count - 1, have);
    memset(t.named, 0, sizeof t.named);
    t.named[last] = true;
  }
  sizes[last] = length;
  strides_of(&t, have, sizes, &last, 1, strides);
  return fourier_add_result(call, &t, t.self->dtype == FNZ_C64 ? FNZ_F32 : FNZ_F64, sizes, strides);
}
