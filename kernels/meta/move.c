/* move.c - shape rules of operators that move elements (joining, repeating, padding) and of
 * operators that create tensors. */
#include "kernels/meta/nn_image.h"

#include <math.h>

/* --- Joining ----------------------------------------------------------------------------- */

static fnz_dtype joined_dtype(const fnz_arg *list) {
  fnzi_promotion p = {0};
  for (uint32_t i = 0; i < list->count; i++) {
    const fnz_geometry *g = &fnzi_krn_arg_array(&list->u.list[i])->geometry;
    fnzi_promotion_add_tensor(&p, g->dtype, g->rank);
  }
  return fnzi_promotion_result(&p);
}

/* Channels-last tensors are joined in that order if all are. */
static bool are_channels_last(const fnz_arg *list) {
  for (uint32_t i = 0; i < list->count; i++)
    if (!fnzi_suggests_channels_last(&fnzi_krn_arg_array(&list->u.list[i])->geometry))
      return false;
  return true;
}

static fnz_status check_list(const fnzi_krn_call *call, const fnz_arg *list) {
  if (list->tag != FNZ_ARG_LIST || list->count == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "the list of tensors is empty");
  return FNZ_OK;
}

static fnz_status check_others(const fnzi_krn_call *call, const fnz_geometry *first,
                               const fnz_geometry *g, uint32_t index, uint32_t dim) {
  if (g->rank != first->rank)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "tensor %u has rank %u, the first one has %u", index, g->rank,
                                first->rank);
  for (uint32_t i = 0; i < g->rank; i++)
    if (i != dim && g->sizes[i] != first->sizes[i])
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "tensor %u has size %lld in dimension %u, the first one has %lld",
                                  index, (long long)g->sizes[i], i, (long long)first->sizes[i]);
  return FNZ_OK;
}

fnz_status fnzi_shape_cat(fnzi_krn_call *call) {
  const fnz_arg *list = &call->args[0];
  const fnz_geometry *first = NULL;
  int64_t sizes[FNZ_MAX_RANK], total = 0;
  uint32_t dim = 0;
  FNZ_TRY(check_list(call, list));
  for (uint32_t i = 0; i < list->count; i++) {
    const fnz_geometry *g = &fnzi_krn_arg_array(&list->u.list[i])->geometry;
    /* An empty tensor of one dimension joins with everything, as it always did. */
    bool skips = g->rank == 1 && g->sizes[0] == 0;
    if (skips && (first || i + 1 < list->count))
      continue;
    if (!first && skips) /* all are: there is nothing to join, along no dimension */
      return fnzi_shape_add(call, fnzi_krn_dtype_castable(call, joined_dtype(list)), 1, g->sizes,
                            NULL);
    if (!first) {
      first = g;
      if (g->rank == 0)
        return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "tensor %u has no dimension to join",
                                    i);
      FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), g->rank,
                            &dim));
    }
    FNZ_TRY(check_others(call, first, g, i, dim));
    if (!fnzi_add_i64(total, g->sizes[dim], &total))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "the joined size leaves 64 bits");
  }
  memcpy(sizes, first->sizes, first->rank * sizeof *sizes);
  sizes[dim] = total;
  fnz_dtype dtype = fnzi_krn_dtype_castable(call, joined_dtype(list));
  return are_channels_last(list) ? fnzi_shape_add_image(call, dtype, first->rank, sizes, first)
                                 : fnzi_shape_add(call, dtype, first->rank, sizes, NULL);
}

/* Eager's strides: tensors are joined along `dim`, which is then split. Behind the last dimension
 * each tensor has a further one, so that none is channels-last. */
static bool stacked_strides(const fnz_arg *list, const fnz_geometry *first, uint32_t dim,
                            int64_t *out) {
  if (dim == first->rank || !are_channels_last(list))
    return false;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  for (uint32_t i = 0; i < first->rank; i++)
    sizes[i] = first->sizes[i];
  sizes[dim] *= list->count;
  fnzi_channels_last_strides(sizes, first->rank, strides);
  for (uint32_t i = 0; i <= first->rank; i++)
    out[i] = i == dim ? strides[dim] * first->sizes[dim] : strides[i - (i > dim)];
  return true;
}

fnz_status fnzi_shape_stack(fnzi_krn_call *call) {
  const fnz_arg *list = &call->args[0];
  int64_t sizes[FNZ_MAX_RANK + 1], strides[FNZ_MAX_RANK + 1];
  uint32_t dim;
  FNZ_TRY(check_list(call, list));
  const fnz_geometry *first = &fnzi_krn_arg_array(&list->u.list[0])->geometry;
  for (uint32_t i = 1; i < list->count; i++)
    FNZ_TRY(
        check_others(call, first, &fnzi_krn_arg_array(&list->u.list[i])->geometry, i, UINT32_MAX));
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0),
                        first->rank + 1, &dim));
  for (uint32_t i = 0; i <= first->rank; i++)
    sizes[i] = i == dim ? list->count : first->sizes[i - (i > dim)];
  fnz_dtype dtype = fnzi_krn_dtype_castable(call, joined_dtype(list));
  FNZ_TRY(fnzi_krn_sizes_check(call->ctx, first->rank + 1, sizes, fnzi_dtype(dtype)->bytes));
  const bool is_last = stacked_strides(list, first, dim, strides);
  return fnzi_shape_add(call, dtype, first->rank + 1, sizes, is_last ? strides : NULL);
}

/* --- Repeating and padding --------------------------------------------------------------- */

/* Sizes have leading ones where there are fewer of them. */
fnz_status fnzi_shape_repeat(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK];
  const int64_t *repeats;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, "repeats", &repeats, &count));
  if (count < self->rank || count > FNZ_MAX_RANK)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%zu repeats for a tensor of rank %u",
                                count, self->rank);
  for (size_t i = 0, ahead = count - self->rank; i < count; i++) {
    const int64_t size = i < ahead ? 1 : self->sizes[i - ahead];
    if (repeats[i] < 0)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "repeats must not be negative, got %lld",
                                  (long long)repeats[i]);
    if (!fnzi_mul_i64(size, repeats[i], &sizes[i]))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "%lld times %lld leaves 64 bits",
                                  (long long)size, (long long)repeats[i]);
  }
  return fnzi_shape_add(call, self->dtype, (uint32_t)count, sizes, NULL);
}

fnz_status fnzi_shape_pad(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK];
  const int64_t *pad;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, "pad", &pad, &count));
  if (count % 2 || count / 2 > self->rank)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%zu pads for a tensor of rank %u", count,
                                self->rank);
  for (uint32_t i = 0; i < self->rank; i++) {
    size_t at = 2 * (size_t)(self->rank - 1 - i);
    sizes[i] = self->sizes[i];
    if (at < count && (!fnzi_add_i64(sizes[i], pad[at], &sizes[i]) ||
                       !fnzi_add_i64(sizes[i], pad[at + 1], &sizes[i])))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "a padded size leaves 64 bits");
  }
  FNZ_TRY(fnzi_shape_add(call, self->dtype, self->rank, sizes, NULL));
  return fnzi_meta_number_check(call, "value");
}

/* --- Making tensors ---------------------------------------------------------------------- */
/* For full() without a dtype: the dtype of the number. */
static fnz_dtype number_dtype(const fnz_arg *number) {
  if (!number || number->tag == FNZ_ARG_FLOAT)
    return FNZ_F32;
  if (number->tag == FNZ_ARG_COMPLEX)
    return FNZ_C64;
  return number->tag == FNZ_ARG_BOOL ? FNZ_BOOL : FNZ_I64;
}

/* Without gaps, the dimensions from the outermost to the innermost. */
static fnz_status add_permuted(fnzi_krn_call *call, fnz_dtype dtype, size_t rank,
                               const int64_t *sizes, const int64_t *order) {
  int64_t strides[FNZ_MAX_RANK], stride = 1;
  uint64_t seen = 0;
  for (size_t i = rank; i-- > 0;) {
    int64_t d = order[i];
    if (d < 0 || d >= (int64_t)rank || (seen >> d & 1))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "physical_layout has %lld at %zu; it must name each of %zu dimensions once", (long long)d,
          i, rank);
    seen |= UINT64_C(1) << d;
    strides[d] = stride;
    if (!fnzi_mul_i64(stride, sizes[d] > 0 ? sizes[d] : 1, &stride))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "the sizes have too large a product");
  }
  return fnzi_shape_add(call, dtype, (uint32_t)rank, sizes, strides);
}

static fnz_status add_created(fnzi_krn_call *call) {
  const fnz_geometry *self =
      fnzi_krn_named_array(call, "self") ? fnzi_krn_call_geometry(call, 0) : NULL;
  fnz_dtype dtype = self ? self->dtype : number_dtype(fnzi_krn_named(call, "fill_value"));
  const int64_t *sizes, *strides, *order;
  size_t rank, nstrides, norder;
  FNZ_TRY(fnzi_krn_named_ints(call, "size", &sizes, &rank));
  FNZ_TRY(fnzi_krn_named_ints(call, "stride", &strides, &nstrides));
  FNZ_TRY(fnzi_krn_named_ints(call, "physical_layout", &order, &norder));
  if (rank > FNZ_MAX_RANK || (nstrides && nstrides != rank))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%zu sizes and %zu strides", rank,
                                nstrides);
  if (norder != rank && fnzi_krn_named(call, "physical_layout"))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%zu sizes and a physical_layout of %zu",
                                rank, norder);
  for (size_t i = 0; i < nstrides; i++)
    if (strides[i] < 0)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "stride %lld is negative; give 0 or more",
                                  (long long)strides[i]);
  dtype = fnzi_krn_named_dtype(call, "dtype", dtype);
  if (norder)
    return add_permuted(call, dtype, rank, sizes, order);
  if (nstrides)
    return fnzi_shape_add(call, dtype, (uint32_t)rank, sizes, strides);
  return fnzi_shape_add_format(call, dtype, (uint32_t)rank, sizes);
}

/* zeros, ones, full, empty and new_*: sizes as argument, maybe strides or an order. */
fnz_status fnzi_shape_create(fnzi_krn_call *call) {
  FNZ_TRY(add_created(call));
  return fnzi_meta_number_check(call, "fill_value");
}

fnz_status fnzi_shape_scalar_tensor(fnzi_krn_call *call) {
  return fnzi_shape_add(call, fnzi_krn_named_dtype(call, "dtype", FNZ_F32), 0, NULL, NULL);
}

fnz_status fnzi_shape_eye(fnzi_krn_call *call) {
  int64_t n = fnzi_krn_named_int(call, "n", 0), sizes[] = {n, fnzi_krn_named_int(call, "m", n)};
  return fnzi_shape_add(call, fnzi_krn_named_dtype(call, "dtype", FNZ_F32), 2, sizes, NULL);
}

fnz_status fnzi_shape_arange(fnzi_krn_call *call) {
  double start = fnzi_krn_named_float(call, "start", 0), end = fnzi_krn_named_float(call, "end", 0);
  double step = fnzi_krn_named_float(call, "step", 1), count;
  static const char *const names[] = {"start", "end", "step"};
  bool floats = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const fnz_arg *arg = fnzi_krn_named(call, names[i]);
    floats = floats || (arg && arg->tag == FNZ_ARG_FLOAT);
  }
  if (!(step != 0) || (end - start) / step < 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "step %g does not lead from %g to %g", step,
                                start, end);
  count = (end - start) / step;
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", floats ? FNZ_F32 : FNZ_I64);
  if (dtype == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "not for bool; make integers and compare them");
  if (!(count < 4503599627370496.0))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "%g elements are too many", count);
  int64_t size = (int64_t)count;
  size += (double)size < count;
  return fnzi_shape_add(call, dtype, 1, &size, NULL);
}

fnz_status fnzi_shape_range(fnzi_krn_call *call) {
  double start = fnzi_krn_named_float(call, "start", 0), end = fnzi_krn_named_float(call, "end", 0);
  double step = fnzi_krn_named_float(call, "step", 1), most = 4503599627370496.0;
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", FNZ_F32);
  if (!(fabs(start) < most && fabs(end) < most && fabs(step) < most))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "from %g to %g by %g is too far", start,
                                end, step);
  if (fnzi_is_integer(dtype)) {
    start = trunc(start);
    end = trunc(end);
    step = trunc(step);
  }
  if (step == 0 || (end - start) / step < 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "step %g does not lead from %g to %g", step,
                                start, end);
  if (dtype == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "not for bool; make integers and compare them");
  /* How many numbers of the result's type there are up to the end, which belongs to them. */
  const bool is_half = dtype == FNZ_F16 || dtype == FNZ_BF16;
  double length = fnzi_is_integer(dtype)
                      ? (double)(((int64_t)end - (int64_t)start) / (int64_t)step) + 1
                  : is_half ? (double)(((float)end - (float)start) / (float)step + 1)
                            : (end - start) / step + 1;
  if (!(length < most))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "%g elements are too many", length);
  int64_t size = (int64_t)length;
  return fnzi_shape_add(call, dtype, 1, &size, NULL);
}

/* Complex ends make complex numbers; no other type is theirs. */
fnz_status fnzi_shape_linspace(fnzi_krn_call *call) {
  int64_t steps = fnzi_krn_named_int(call, "steps", 0);
  bool is_complex = fnzi_krn_named(call, "start")->tag == FNZ_ARG_COMPLEX ||
                    fnzi_krn_named(call, "end")->tag == FNZ_ARG_COMPLEX;
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", is_complex ? FNZ_C64 : FNZ_F32);
  if (is_complex && !fnzi_is_complex(dtype))
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_TYPE,
        "start or end is complex, but the result is to be %s; make it c64 or c128",
        fnzi_dtype(dtype)->name);
  return fnzi_shape_add(call, dtype, 1, &steps, NULL);
}

fnz_status fnzi_shape_triangle(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  if (self->rank < 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "self has rank %u, at least 2 are needed",
                                self->rank);
  return fnzi_shape_add(call, self->dtype, self->rank, self->sizes, NULL);
}

/* --- Checks of what does not change a shape --------------------------------------------------- */
fnz_status fnzi_shape_flip(fnzi_krn_call *call) {
  uint32_t dim, rank = fnzi_krn_call_geometry(call, 0)->rank;
  const int64_t *dims;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, "dims", &dims, &count));
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[i], rank, &dim));
  return fnzi_shape_self(call);
}

fnz_status fnzi_shape_fill(fnzi_krn_call *call) {
  const fnz_geometry *value = fnzi_krn_call_geometry(call, 1);
  if (value && value->rank != 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "value must have no dimensions, it has %u",
                                value->rank);
  FNZ_TRY(fnzi_shape_self(call));
  return fnzi_meta_number_check(call, "value");
}
