/* reduce.c - shape rules of operators that make one element of many, and of running sums. */
#include "kernels/meta/meta.h"

fnz_status fnzi_meta_reduced_dims(fnzi_krn_call *call, bool reduced[FNZ_MAX_RANK]) {
  uint32_t rank = fnzi_krn_call_geometry(call, 0)->rank;
  const int64_t *dims;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, "dim", &dims, &count));
  /* An empty list means no dimension for any and all, and all dimensions for other operators. */
  const fnz_arg *given = fnzi_krn_named(call, "dim");
  bool asks = call->row->mode == FNZI_MODE_any || call->row->mode == FNZI_MODE_all;
  bool is_all = count == 0 && !(asks && given && given->tag == FNZ_ARG_LIST);
  for (uint32_t i = 0; i < FNZ_MAX_RANK; i++)
    reduced[i] = is_all;
  for (size_t k = 0; k < count; k++) {
    uint32_t dim;
    FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[k], rank, &dim));
    if (rank && reduced[dim])
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "dimension %u appears twice", dim);
    reduced[dim] = true;
  }
  return FNZ_OK;
}

static fnz_status check_number(const fnzi_krn_call *call) {
  if (fnzi_krn_call_geometry(call, 0)->dtype == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for bool; cast self to an integer");
  return FNZ_OK;
}

static fnz_status add_reduced(fnzi_krn_call *call, fnz_dtype dtype) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  bool reduced[FNZ_MAX_RANK], keeps = fnzi_krn_named_bool(call, "keepdim", false);
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  for (uint32_t i = 0; i < self->rank; i++)
    if (!reduced[i])
      sizes[rank++] = self->sizes[i];
    else if (keeps)
      sizes[rank++] = 1;
  return fnzi_shape_add(call, dtype, rank, sizes, NULL);
}

fnz_status fnzi_shape_count_nonzero(fnzi_krn_call *call) {
  return add_reduced(call, FNZ_I64);
}

/* Sums of bool and integers are i64. */
static fnz_dtype sum_dtype(const fnzi_krn_call *call) {
  fnz_dtype self = fnzi_krn_call_geometry(call, 0)->dtype;
  bool counts = self == FNZ_BOOL || fnzi_is_integer(self);
  return fnzi_krn_dtype_target(call, counts ? FNZ_I64 : self);
}

fnz_status fnzi_shape_sum(fnzi_krn_call *call) {
  return add_reduced(call, sum_dtype(call));
}

fnz_status fnzi_shape_nansum(fnzi_krn_call *call) {
  if (fnzi_is_complex(fnzi_krn_call_geometry(call, 0)->dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "not for complex numbers; sum the real parts");
  return add_reduced(call, sum_dtype(call));
}

fnz_status fnzi_shape_trace(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  if (self->rank != 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "self has rank %u, it must be a matrix",
                                self->rank);
  FNZ_TRY(check_number(call));
  return fnzi_shape_add(call, sum_dtype(call), 0, NULL, NULL);
}

fnz_status fnzi_shape_equal(fnzi_krn_call *call) {
  return fnzi_shape_add(call, FNZ_BOOL, 0, NULL, NULL);
}

fnz_status fnzi_shape_mean(fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", fnzi_krn_call_geometry(call, 0)->dtype);
  if (!fnzi_is_float(dtype) && !fnzi_is_complex(dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "the mean of %s needs a float dtype",
                                fnzi_dtype(dtype)->name);
  return add_reduced(call, fnzi_krn_dtype_castable(call, dtype));
}

/* A reduction without a neutral element needs at least one element. */
static fnz_status check_reduced(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  bool reduced[FNZ_MAX_RANK];
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  for (uint32_t i = 0; i < self->rank; i++)
    if (reduced[i] && self->sizes[i] == 0)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "dimension %u has no elements", i);
  return FNZ_OK;
}

fnz_status fnzi_shape_reduce(fnzi_krn_call *call) {
  FNZ_TRY(check_reduced(call));
  return add_reduced(call, fnzi_krn_call_geometry(call, 0)->dtype);
}

fnz_status fnzi_shape_truth(fnzi_krn_call *call) {
  fnz_dtype self = fnzi_krn_call_geometry(call, 0)->dtype;
  bool counts = self == FNZ_U8 || call->target == FNZ_U8;
  return add_reduced(call, counts ? FNZ_U8 : FNZ_BOOL);
}

fnz_status fnzi_shape_arg(fnzi_krn_call *call) {
  FNZ_TRY(check_number(call));
  FNZ_TRY(check_reduced(call));
  return add_reduced(call, FNZ_I64);
}

/* max.dim and min.dim: values and where they are. */
fnz_status fnzi_shape_extreme(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_shape_reduce(call));
  return add_reduced(call, FNZ_I64);
}

/* Of all elements; none have a median too. */
fnz_status fnzi_shape_median(fnzi_krn_call *call) {
  FNZ_TRY(check_number(call));
  return add_reduced(call, fnzi_krn_call_geometry(call, 0)->dtype);
}

fnz_status fnzi_shape_median_dim(fnzi_krn_call *call) {
  FNZ_TRY(check_number(call));
  return fnzi_shape_extreme(call);
}

fnz_status fnzi_shape_kthvalue(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  int64_t k = fnzi_krn_named_int(call, "k", 1);
  uint32_t dim;
  FNZ_TRY(fnzi_shape_median_dim(call));
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", -1), self->rank,
                        &dim));
  int64_t size = self->rank ? self->sizes[dim] : 1;
  if (k < 1 || k > size)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "k is %lld, it must be 1 to %lld",
                                (long long)k, (long long)size);
  return FNZ_OK;
}

/* Adds a result with the sizes of self. */
static fnz_status add_running(fnzi_krn_call *call, fnz_dtype dtype) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), self->rank,
                        &dim));
  return fnzi_shape_add(call, dtype, self->rank, self->sizes, NULL);
}

fnz_status fnzi_shape_scan(fnzi_krn_call *call) {
  if (sum_dtype(call) == FNZ_BOOL && fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)) > 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "not as bool; give an integer dtype");
  return add_running(call, sum_dtype(call));
}

fnz_status fnzi_shape_logcumsumexp(fnzi_krn_call *call) {
  return add_running(call, fnzi_krn_call_geometry(call, 0)->dtype);
}

/* cummax and cummin: values and where they are. */
fnz_status fnzi_shape_running_extreme(fnzi_krn_call *call) {
  FNZ_TRY(add_running(call, fnzi_krn_call_geometry(call, 0)->dtype));
  return add_running(call, FNZ_I64);
}
