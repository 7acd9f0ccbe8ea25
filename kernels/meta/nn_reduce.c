/* nn_reduce.c - shapes of softmax, of statistics along dimensions, and of sorting. */
#include "kernels/meta/meta.h"

static fnz_status reduce(fnzi_krn_call *call, fnz_dtype dtype) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  bool reduced[FNZ_MAX_RANK] = {false}, keep = fnzi_krn_named_bool(call, "keepdim", false);
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank = 0;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  for (uint32_t i = 0; i < g->rank; i++)
    if (!reduced[i] || keep)
      sizes[rank++] = reduced[i] ? 1 : g->sizes[i];
  return fnzi_shape_add(call, dtype, rank, sizes, NULL);
}

static fnz_status need_float(fnzi_krn_call *call, fnz_dtype dtype) {
  if (!fnzi_is_float(dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "needs a floating-point tensor, not %s; cast it first",
                                fnzi_dtype(dtype)->name);
  return FNZ_OK;
}

/* logsumexp of integers is that of the default float. */
fnz_status fnzi_shape_logsumexp(fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  return reduce(call, fnzi_krn_dtype_castable(call, fnzi_is_float(dtype) ? dtype : FNZ_F32));
}

/* The statistics of complex numbers are real. */
static fnz_dtype real_dtype(fnz_dtype dtype) {
  return dtype == FNZ_C64 ? FNZ_F32 : dtype == FNZ_C128 ? FNZ_F64 : dtype;
}

/* linalg_vector_norm and norm: in the dtype given, else the input's. */
fnz_status fnzi_shape_vector_norm(fnzi_krn_call *call) {
  fnz_dtype self = fnzi_krn_call_geometry(call, 0)->dtype;
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", self);
  FNZ_TRY(need_float(call, real_dtype(self)));
  FNZ_TRY(need_float(call, real_dtype(dtype)));
  if (fnzi_is_complex(self) && !fnzi_is_complex(dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "dtype is %s for a tensor of %s; give a complex one",
                                fnzi_dtype(dtype)->name, fnzi_dtype(self)->name);
  if (fnzi_promote(self, dtype) != dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "dtype %s is narrower than self, %s",
                                fnzi_dtype(dtype)->name, fnzi_dtype(self)->name);
  return reduce(call, real_dtype(dtype));
}

fnz_status fnzi_shape_variance(fnzi_krn_call *call) {
  fnz_dtype dtype = real_dtype(fnzi_krn_call_geometry(call, 0)->dtype);
  FNZ_TRY(need_float(call, dtype));
  FNZ_TRY(reduce(call, fnzi_krn_dtype_castable(call, dtype)));
  /* With as many elements as the correction takes away there is nothing left to divide by. */
  double correction =
      fnzi_krn_named_float(call, "correction", fnzi_krn_named_bool(call, "unbiased", true) ? 1 : 0);
  int64_t all = fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)),
          each = fnzi_krn_array_numel(call->outputs[0]);
  if (all == 0 || (double)(all / (each ? each : 1)) <= correction)
    fnzi_krn_call_warn(call, "no more elements than the correction of %g; give a smaller one",
                       correction);
  return FNZ_OK;
}

/* var_mean and std_mean: two results. */
fnz_status fnzi_shape_variance_mean(fnzi_krn_call *call) {
  FNZ_TRY(need_float(call, fnzi_krn_call_geometry(call, 0)->dtype));
  FNZ_TRY(fnzi_shape_variance(call));
  return fnzi_shape_variance(call);
}

/* min and max of all, or along one dimension. */
fnz_status fnzi_shape_aminmax(fnzi_krn_call *call) {
  FNZ_TRY(reduce(call, fnzi_krn_call_geometry(call, 0)->dtype));
  return reduce(call, fnzi_krn_call_geometry(call, 0)->dtype);
}

fnz_status fnzi_shape_softmax(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  bool widen = fnzi_krn_named_bool(call, "half_to_float", false);
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", widen ? FNZ_F32 : g->dtype);
  uint32_t dim;
  FNZ_TRY(need_float(call, dtype));
  FNZ_TRY(fnzi_wrap_dim(call->ctx, fnz_op_name(call->op), fnzi_krn_named_int(call, "dim", -1),
                        g->rank, &dim));
  return fnzi_shape_add(call, dtype, g->rank, g->sizes, NULL);
}

/* --- Sorting ----------------------------------------------------------------------------- */
static fnz_status sort_dim(fnzi_krn_call *call, uint32_t *dim) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  return fnzi_wrap_dim(call->ctx, fnz_op_name(call->op), fnzi_krn_named_int(call, "dim", -1),
                       g->rank, dim);
}

fnz_status fnzi_shape_sort(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  FNZ_TRY(sort_dim(call, &dim));
  FNZ_TRY(fnzi_shape_add_like(call, g->dtype, g));
  return fnzi_shape_add_like(call, FNZ_I64, g);
}

fnz_status fnzi_shape_argsort(fnzi_krn_call *call) {
  uint32_t dim;
  FNZ_TRY(sort_dim(call, &dim));
  return fnzi_shape_add_like(call, FNZ_I64, fnzi_krn_call_geometry(call, 0));
}

fnz_status fnzi_shape_msort(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  return fnzi_shape_add_like(call, g->dtype, g);
}

fnz_status fnzi_shape_topk(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK], k = fnzi_krn_named_int(call, "k", 0);
  uint32_t dim;
  if (g->dtype == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for bool; cast self to an integer");
  FNZ_TRY(sort_dim(call, &dim));
  int64_t size = g->rank ? g->sizes[dim] : 1;
  if (k < 0 || k > size)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "k is %lld, but dimension %u has %lld elements", (long long)k, dim,
                                (long long)size);
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i] = i == dim ? k : g->sizes[i];
  FNZ_TRY(fnzi_shape_add(call, g->dtype, g->rank, sizes, NULL));
  return fnzi_shape_add(call, FNZ_I64, g->rank, sizes, NULL);
}
