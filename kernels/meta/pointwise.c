/* pointwise.c - shape rules of operators that work element by element. */
#include "kernels/meta/point.h"

enum { MAX_TENSORS = 8 };

/* The geometries of the tensor arguments, lists not counted. */
static size_t tensors_of(const fnzi_krn_call *call, const fnz_geometry **out) {
  size_t count = 0;
  for (size_t i = 0; i < call->op->nparams && count < MAX_TENSORS; i++)
    if (fnzi_krn_call_geometry(call, i))
      out[count++] = fnzi_krn_call_geometry(call, i);
  return count;
}

static const fnz_geometry *geometry_of(void *user, const fnz_arg *arg) {
  (void)user;
  fnzi_krn_array *array = fnzi_krn_arg_array(arg);
  return array ? &array->geometry : NULL;
}

/* Adds a result with the strides that TensorIterator computes from the inputs in this order. */
static fnz_status add_iterated(fnzi_krn_call *call, const fnz_geometry *const *inputs, size_t count,
                               bool row_major) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(fnzi_meta_broadcast(call, inputs, count, &rank, sizes));
  fnzi_iterator_strides(inputs, count, rank, sizes, strides);
  fnz_dtype dtype =
      fnzi_op_result_dtype(call->op, call->args, call->op->nparams, geometry_of, NULL);
  FNZ_TRY(fnzi_shape_add(call, dtype, rank, sizes, row_major ? NULL : strides));
  return call->has_data || call->row->run != FNZI_RUN_point ? FNZ_OK
                                                            : fnzi_meta_point_accepts(call);
}

fnz_status fnzi_shape_point(fnzi_krn_call *call) {
  const fnz_geometry *inputs[MAX_TENSORS];
  size_t count = tensors_of(call, inputs);
  return add_iterated(call, inputs, count, false);
}

/* where: the condition chooses, so it must be bool; u8 is taken as what bool once was. */
fnz_status fnzi_shape_where(fnzi_krn_call *call) {
  const fnz_geometry *condition = fnzi_krn_call_geometry(call, 0);
  if (condition && condition->dtype != FNZ_BOOL && condition->dtype != FNZ_U8)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "condition is %s; it must be bool, which ne(0) makes of it",
                                fnzi_dtype(condition->dtype)->name);
  if (condition && condition->dtype == FNZ_U8)
    fnzi_krn_call_warn(call, "condition is u8 where bool is meant; convert it");
  return fnzi_shape_point(call);
}

/* The same in row-major order: eager's iterator is not asked about the result. */
fnz_status fnzi_shape_point_row_major(fnzi_krn_call *call) {
  const fnz_geometry *inputs[MAX_TENSORS];
  size_t count = tensors_of(call, inputs);
  return add_iterated(call, inputs, count, true);
}

/* rsub, threshold_backward: eager's iterator gets the second tensor first. */
fnz_status fnzi_shape_point_swapped(fnzi_krn_call *call) {
  const fnz_geometry *inputs[MAX_TENSORS];
  size_t count = tensors_of(call, inputs);
  if (count == 2) {
    const fnz_geometry *first = inputs[0];
    inputs[0] = inputs[1];
    inputs[1] = first;
  }
  return add_iterated(call, inputs, count, false);
}

/* Eager promotes no tensor of these. */
fnz_status fnzi_shape_point_alike(fnzi_krn_call *call) {
  const fnz_geometry *inputs[MAX_TENSORS];
  size_t count = tensors_of(call, inputs);
  for (size_t i = 1; i < count; i++)
    if (inputs[i]->dtype != inputs[0]->dtype)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "tensors are %s and %s; cast one of them",
                                  fnzi_dtype(inputs[0]->dtype)->name,
                                  fnzi_dtype(inputs[i]->dtype)->name);
  return add_iterated(call, inputs, count, false);
}

/* Two tensors of one type of real numbers, the parts of complex ones. */
fnz_status fnzi_shape_complex(fnzi_krn_call *call) {
  const fnz_geometry *parts[] = {fnzi_krn_call_geometry(call, 0), fnzi_krn_call_geometry(call, 1)};
  const fnz_dtype dtype = parts[0]->dtype, to = dtype == FNZ_F64   ? FNZ_C128
                                                : dtype == FNZ_F32 ? FNZ_C64
                                                                   : FNZ_C32;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t rank;
  if (dtype != parts[1]->dtype || (dtype != FNZ_F16 && dtype != FNZ_F32 && dtype != FNZ_F64))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "one part is %s, the other %s; both must be f16, f32 or f64",
                                fnzi_dtype(dtype)->name, fnzi_dtype(parts[1]->dtype)->name);
  FNZ_TRY(fnzi_meta_broadcast(call, parts, 2, &rank, sizes));
  fnzi_iterator_strides(parts, 2, rank, sizes, strides);
  return fnzi_shape_add(call, to, rank, sizes, strides);
}

/* A quotient of integers could be meant in two ways. */
fnz_status fnzi_shape_addcdiv(fnzi_krn_call *call) {
  const fnz_geometry *a = fnzi_krn_call_geometry(call, 1), *b = fnzi_krn_call_geometry(call, 2);
  bool floats = !a || !b || fnzi_is_float(a->dtype) || fnzi_is_float(b->dtype) ||
                fnzi_is_complex(a->dtype) || fnzi_is_complex(b->dtype);
  if (!floats)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "tensor1 is %s and tensor2 is %s; make one a float",
                                fnzi_dtype(a->dtype)->name, fnzi_dtype(b->dtype)->name);
  return fnzi_shape_point(call);
}

/* masked_fill, masked_scatter: self and mask broadcast together, the dtype is self's, the result is
 * row-major. */
fnz_status fnzi_shape_masked(fnzi_krn_call *call) {
  const fnz_geometry *inputs[] = {fnzi_krn_call_geometry(call, 0), fnzi_krn_call_geometry(call, 1)};
  const fnzi_krn_array *value = fnzi_krn_named_array(call, "value");
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  if (inputs[1]->dtype != FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "mask is of type %s, it must be bool",
                                fnzi_dtype(inputs[1]->dtype)->name);
  if (value && value->geometry.rank > 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "value has rank %u, it must have no dimensions",
                                value->geometry.rank);
  FNZ_TRY(fnzi_meta_broadcast(call, inputs, 2, &rank, sizes));
  FNZ_TRY(fnzi_shape_add(call, inputs[0]->dtype, rank, sizes, NULL));
  return fnzi_meta_number_check(call, "value");
}

/* The result looks like argument 0. */
fnz_status fnzi_shape_self(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  return fnzi_shape_add_like(call, self->dtype, self);
}

/* The same, in row-major order whatever the layout of argument 0. */
fnz_status fnzi_shape_row_major(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  return fnzi_shape_add(call, self->dtype, self->rank, self->sizes, NULL);
}

static void warn_of_cast(const fnzi_krn_call *call, fnz_dtype to, fnz_dtype from) {
  if (fnzi_is_complex(from) && !fnzi_is_complex(to) && to != FNZ_BOOL)
    fnzi_krn_call_warn(call, "%s is cast to %s without the imaginary parts; use real",
                       fnzi_dtype(from)->name, fnzi_dtype(to)->name);
}

/* copy: src must broadcast to self. */
fnz_status fnzi_shape_copy(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0),
                     *src = fnzi_krn_call_geometry(call, 1);
  for (uint32_t i = 0; i < src->rank; i++) {
    uint32_t at = i + self->rank - src->rank;
    if (src->rank > self->rank || (src->sizes[i] != 1 && src->sizes[i] != self->sizes[at]))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "src has size %lld in dimension %u, which does not broadcast to self",
          (long long)src->sizes[i], i);
  }
  warn_of_cast(call, self->dtype, src->dtype);
  return fnzi_shape_self(call);
}

fnz_status fnzi_shape_add_format(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank,
                                 const int64_t *sizes) {
  const fnz_arg *format = fnzi_krn_named(call, "memory_format");
  int64_t strides[FNZ_MAX_RANK];
  if (!format || format->tag != FNZ_ARG_MEMORY_FORMAT || (format->u.i != 2 && format->u.i != 3))
    return fnzi_shape_add(call, dtype, rank, sizes, NULL);
  if (rank != format->u.i + 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "channels last needs %lld dimensions, there are %u",
                                (long long)format->u.i + 2, rank);
  FNZ_TRY(fnzi_krn_sizes_check(call->ctx, rank, sizes, 1));
  fnzi_channels_last_strides(sizes, rank, strides);
  return fnzi_shape_add(call, dtype, rank, sizes, strides);
}

/* clone, _to_copy, *_like: argument 0 with another dtype and memory format. */
fnz_status fnzi_shape_like(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", self->dtype);
  const fnz_arg *format = fnzi_krn_named(call, "memory_format");
  warn_of_cast(call, dtype, self->dtype);
  bool keeps = !format || format->tag != FNZ_ARG_MEMORY_FORMAT || format->u.i == 4;
  FNZ_TRY(keeps ? fnzi_shape_add_like(call, dtype, self)
                : fnzi_shape_add_format(call, dtype, self->rank, self->sizes));
  return fnzi_meta_number_check(call, "fill_value");
}
