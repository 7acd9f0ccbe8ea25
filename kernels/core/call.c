/* call.c - what shape rules and kernels ask of a call: arguments by name, refusals, results. */
#include "kernels/core/core.h"

#include <stdio.h>

fnz_status fnzi_krn_call_refuse(const fnzi_krn_call *call, fnz_class kind, const char *format,
                                ...) {
  char text[sizeof call->ctx->error.message];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return fnzi_fail(call->ctx, kind, NULL, "%s: %s",
                   call->asked ? call->asked->name : call->op->name, text);
}

void fnzi_krn_call_warn(const fnzi_krn_call *call, const char *format, ...) {
  char text[FNZ_WARNING_BYTES];
  va_list list;
  if (!call->warning)
    return;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  (void)snprintf(call->warning, FNZ_WARNING_BYTES, "%.40s: %.*s",
                 call->asked ? call->asked->name : call->op->name, FNZ_WARNING_BYTES - 44, text);
}

double fnzi_krn_number_float(const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_FLOAT)
    return arg->u.f;
  if (arg->tag == FNZ_ARG_COMPLEX)
    return arg->u.list[0].u.f;
  return (double)arg->u.i;
}

int64_t fnzi_krn_number_int(const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_BOOL)
    return arg->u.i;
  double v = fnzi_krn_number_float(arg);
  return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v : INT64_MIN;
}

static const fnz_arg *given(const fnzi_krn_call *call, const char *name) {
  const fnz_arg *arg = fnzi_krn_named(call, name);
  return arg && arg->tag != FNZ_ARG_NONE && arg->tag != FNZ_ARG_DEFAULT ? arg : NULL;
}

fnz_status fnzi_krn_factor_check(const fnzi_krn_call *call, const char *name, fnz_dtype compute) {
  const fnz_arg *factor = fnzi_op_param(call->op, name) < 0 ? NULL : fnzi_krn_named(call, name);
  bool is_exact = compute == FNZ_BOOL || fnzi_is_integer(compute);
  bool wider = factor && ((factor->tag == FNZ_ARG_COMPLEX && !fnzi_is_complex(compute)) ||
                          (factor->tag == FNZ_ARG_FLOAT && is_exact) ||
                          (factor->tag == FNZ_ARG_BOOL && compute != FNZ_BOOL));
  if (!wider)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s is no number of %s, which is computed",
                              name, fnzi_dtype(compute)->name);
}

int64_t fnzi_krn_named_int(const fnzi_krn_call *call, const char *name, int64_t fallback) {
  const fnz_arg *arg = given(call, name);
  return arg && fnzi_arg_is_real(arg) ? fnzi_krn_number_int(arg) : fallback;
}

double fnzi_krn_named_float(const fnzi_krn_call *call, const char *name, double fallback) {
  const fnz_arg *arg = given(call, name);
  return arg && fnzi_arg_is_real(arg) ? fnzi_krn_number_float(arg) : fallback;
}

fnz_dtype fnzi_krn_named_dtype(const fnzi_krn_call *call, const char *name, fnz_dtype fallback) {
  const fnz_arg *arg = given(call, name);
  return arg && arg->tag == FNZ_ARG_DTYPE ? (fnz_dtype)arg->u.i : fallback;
}

fnz_dtype fnzi_krn_dtype_target(const fnzi_krn_call *call, fnz_dtype fallback) {
  return fnzi_krn_named_dtype(call, "dtype",
                              call->target == FNZ_DTYPE_COUNT ? fallback : call->target);
}

fnz_dtype fnzi_krn_dtype_castable(const fnzi_krn_call *call, fnz_dtype computed) {
  bool casts = call->target != FNZ_DTYPE_COUNT && fnzi_can_cast(computed, call->target);
  return casts ? call->target : computed;
}

const char *fnzi_krn_named_string(const fnzi_krn_call *call, const char *name) {
  const fnz_arg *arg = given(call, name);
  return arg && arg->tag == FNZ_ARG_STRING ? arg->u.s : "";
}

fnz_status fnzi_krn_named_ints(fnzi_krn_call *call, const char *name, const int64_t **out,
                               size_t *count) {
  const fnz_arg *arg = given(call, name), *items = arg;
  int64_t *ints;
  *count = !arg ? 0 : arg->tag == FNZ_ARG_LIST ? arg->count : 1;
  if (arg && arg->tag == FNZ_ARG_LIST)
    items = arg->u.list;
  FNZI_NEW(&call->scratch, *count, &ints);
  for (size_t i = 0; i < *count; i++) {
    if (!fnzi_arg_is_real(&items[i]))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "item %zu of %s is not an integer", i,
                                  name);
    ints[i] = fnzi_krn_number_int(&items[i]);
  }
  *out = ints;
  return FNZ_OK;
}

fnz_status fnzi_krn_named_ints_of(fnzi_krn_call *call, const char *name, size_t want,
                                  int64_t fallback, int64_t *out) {
  const int64_t *ints = NULL;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, name, &ints, &count));
  if (count > 1 && count != want)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s has %zu numbers where %zu are needed",
                                name, count, want);
  for (size_t i = 0; i < want; i++)
    out[i] = !count || !ints ? fallback : ints[count == 1 ? 0 : i];
  return FNZ_OK;
}

fnz_status fnzi_krn_float_check(const fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  if (fnzi_is_float(dtype))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s is %s; cast it to a floating-point type",
                              call->op->params[0].name, fnzi_dtype(dtype)->name);
}

fnz_status fnzi_krn_size_refuse(const fnzi_krn_call *call) {
  return fnzi_krn_call_refuse(
      call, FNZ_CLASS_UNSUPPORTED,
      "the result's size depends on data, which is not there; run it on data");
}

/* The caller's geometry wins over ours in everything but dtype and sizes, which must agree. */
static fnz_status check_expected(const fnzi_krn_call *call, const fnz_geometry *have,
                                 const fnz_geometry *want) {
  if (have->dtype != want->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "result %zu is %s here but %s is recorded",
                                call->noutputs, fnzi_dtype(have->dtype)->name,
                                fnzi_dtype(want->dtype)->name);
  if (have->rank != want->rank)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "result %zu has rank %u here but %u is recorded", call->noutputs,
                                have->rank, want->rank);
  for (uint32_t i = 0; i < have->rank; i++)
    if (have->sizes[i] != want->sizes[i])
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_TYPE,
          "result %zu has size %lld in dimension %u here but %lld is recorded", call->noutputs,
          (long long)have->sizes[i], i, (long long)want->sizes[i]);
  return FNZ_OK;
}

fnz_status fnzi_shape_add(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank, const int64_t *sizes,
                          const int64_t *strides) {
  int64_t dense[FNZ_MAX_RANK];
  if (rank > FNZ_MAX_RANK)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "a result of rank %u is above %d", rank,
                                FNZ_MAX_RANK);
  for (uint32_t i = 0; i < rank; i++)
    if (sizes[i] < 0)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "size %lld of dimension %u is negative",
                                  (long long)sizes[i], i);
  fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  const bool is_expected = call->expected && call->noutputs < call->nexpected;
  const fnz_geometry *want = is_expected ? call->expected[call->noutputs] : NULL;
  fnzi_krn_array *array;
  if (want) {
    FNZ_TRY(check_expected(call, &g, want));
    g = *want;
  } else if (!strides) {
    FNZ_TRY(fnzi_krn_sizes_check(call->ctx, rank, sizes, fnzi_dtype(dtype)->bytes));
    fnzi_contiguous_strides(sizes, rank, dense);
    g.strides = dense;
  }
  FNZ_TRY(fnzi_krn_array_create(call->ctx, call->stock, &g, fnzi_dtype(dtype)->bytes, &array));
  if (call->noutputs == call->capacity) {
    fnzi_krn_array_release(call->ctx, array);
    return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT, "there is room for %zu results only",
                                call->capacity);
  }
  call->outputs[call->noutputs++] = array;
  return FNZ_OK;
}

fnz_status fnzi_shape_add_like(fnzi_krn_call *call, fnz_dtype dtype, const fnz_geometry *like) {
  int64_t strides[FNZ_MAX_RANK];
  if (fnzi_is_dense(
          like)) /* also an empty one, whatever its strides are beyond the empty dimension */
    return fnzi_shape_add(call, dtype, like->rank, like->sizes, like->strides);
  fnzi_iterator_strides(&like, 1, like->rank, like->sizes, strides);
  return fnzi_shape_add(call, dtype, like->rank, like->sizes, strides);
}
