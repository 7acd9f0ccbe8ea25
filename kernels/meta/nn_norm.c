/* nn_norm.c - shapes of normalisations. */
#include "kernels/meta/nn_image.h"

/* Eager keeps statistics in the type of the parameters, which may be wider than the input's. */
static fnz_dtype statistics_dtype(const fnzi_krn_call *call) {
  static const char *const names[] = {"weight", "running_mean", "input"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const fnzi_krn_array *a = fnzi_krn_named_array(call, names[i]);
    if (a)
      return a->geometry.dtype;
  }
  return FNZ_F32;
}

static fnz_status check_length(fnzi_krn_call *call, const char *name, int64_t want) {
  const fnzi_krn_array *a = fnzi_krn_named_array(call, name);
  if (a && fnzi_krn_array_numel(a) != want)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "%s has %lld elements, but there are %lld channels", name,
                                (long long)fnzi_krn_array_numel(a), (long long)want);
  return FNZ_OK;
}

static fnz_status channels(fnzi_krn_call *call) {
  static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  if (!fnzi_is_float(g->dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "input is of type %s; cast it to a floating-point one",
                                fnzi_dtype(g->dtype)->name);
  if (g->rank < 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "input has %u dimensions; it needs 2 or more", g->rank);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    FNZ_TRY(check_length(call, names[i], g->sizes[1]));
    /* Half inputs may have float parameters; all other parameters have the input's type. */
    const fnzi_krn_array *a = fnzi_krn_named_array(call, names[i]);
    fnz_dtype input = fnzi_krn_call_geometry(call, 0)->dtype;
    bool is_half = input == FNZ_F16 || input == FNZ_BF16;
    if (a && a->geometry.dtype != input && (!is_half || a->geometry.dtype != FNZ_F32))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                  "%s is of type %s, the input of %s; cast one of them", names[i],
                                  fnzi_dtype(a->geometry.dtype)->name, fnzi_dtype(input)->name);
  }
  return fnzi_shape_add_image(call, g->dtype, g->rank, g->sizes, g);
}

static fnz_status add_vectors(fnzi_krn_call *call, int count, fnz_dtype dtype, int64_t length) {
  for (int i = 0; i < count; i++)
    FNZ_TRY(fnzi_shape_add(call, dtype, 1, &length, NULL));
  return FNZ_OK;
}

/* batch_norm, instance_norm */
fnz_status fnzi_shape_channel_norm(fnzi_krn_call *call) {
  return channels(call);
}

/* The statistics are saved in training only. */
fnz_status fnzi_shape_native_batch_norm(fnzi_krn_call *call) {
  FNZ_TRY(channels(call));
  bool training = fnzi_krn_named_bool(call, "training", false);
  int64_t length = training ? fnzi_krn_call_geometry(call, 0)->sizes[1] : 0;
  return add_vectors(call, 2, statistics_dtype(call), length);
}

fnz_status fnzi_shape_batch_norm_functional(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_shape_native_batch_norm(call));
  return add_vectors(call, 2, fnzi_krn_named_array(call, "running_mean")->geometry.dtype,
                     fnzi_krn_call_geometry(call, 0)->sizes[1]);
}

fnz_status fnzi_shape_batch_norm_with_update(fnzi_krn_call *call) {
  FNZ_TRY(channels(call));
  int64_t length = fnzi_krn_call_geometry(call, 0)->sizes[1];
  FNZ_TRY(add_vectors(call, 2, statistics_dtype(call), length));
  FNZ_TRY(add_vectors(call, 1, FNZ_U8, 0));
  return add_vectors(call, 2, fnzi_krn_named_array(call, "running_mean")->geometry.dtype, length);
}

/* `normalized_shape` must be the last sizes of the input. */
static fnz_status layer(fnzi_krn_call *call, uint32_t *lead) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const int64_t *shape;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, "normalized_shape", &shape, &count));
  int64_t length = 1;
  bool fits = count > 0 && count <= g->rank;
  for (size_t i = 0; fits && i < count; i++) {
    fits = shape[i] == g->sizes[g->rank - count + i];
    length *= fits ? shape[i] : 1;
  }
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "normalized_shape is not the last %zu of the input's %u sizes",
                                count, g->rank);
  FNZ_TRY(check_length(call, "weight", length));
  FNZ_TRY(check_length(call, "bias", length));
  *lead = g->rank - (uint32_t)count;
  return fnzi_shape_add(call, g->dtype, g->rank, g->sizes, NULL);
}

fnz_status fnzi_shape_layer_norm(fnzi_krn_call *call) {
  uint32_t lead;
  return layer(call, &lead);
}

static fnz_status row_statistics(fnzi_krn_call *call, int results, fnz_dtype dtype) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t lead;
  FNZ_TRY(layer(call, &lead));
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i] = i < lead ? g->sizes[i] : 1;
  for (int k = 0; k < results; k++)
    FNZ_TRY(fnzi_shape_add(call, dtype, g->rank, sizes, NULL));
  return FNZ_OK;
}

fnz_status fnzi_shape_native_layer_norm(fnzi_krn_call *call) {
  return row_statistics(call, 2, statistics_dtype(call));
}

/* For f64 they are f64, else f32, whatever the weight is. */
fnz_status fnzi_shape_fused_rms_norm(fnzi_krn_call *call) {
  fnz_dtype input = fnzi_krn_call_geometry(call, 0)->dtype;
  return row_statistics(call, 1, input == FNZ_F64 ? FNZ_F64 : FNZ_F32);
}

static fnz_status groups(fnzi_krn_call *call, int64_t count) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  if (g->rank < 2 || count < 1 || g->sizes[1] % count)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "%lld groups do not divide the input's channels", (long long)count);
  return channels(call);
}

fnz_status fnzi_shape_group_norm(fnzi_krn_call *call) {
  return groups(call, fnzi_krn_named_int(call, "num_groups", 1));
}

fnz_status fnzi_shape_native_group_norm(fnzi_krn_call *call) {
  int64_t count = fnzi_krn_named_int(call, "group", 1);
  FNZ_TRY(groups(call, count));
  /* N, C and HxW, which repeat the sizes of the input. */
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t n = fnzi_krn_named_int(call, "N", 0), c = fnzi_krn_named_int(call, "C", 0),
          area = fnzi_krn_named_int(call, "HxW", 0), have = 1;
  for (uint32_t i = 2; i < g->rank; i++)
    have *= g->sizes[i];
  if (n != g->sizes[0] || c != g->sizes[1] || area != have)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_UNSUPPORTED,
        "N %lld, C %lld and HxW %lld are other ones than input's %lld, %lld "
        "and %lld",
        (long long)n, (long long)c, (long long)area, (long long)g->sizes[0], (long long)g->sizes[1],
        (long long)have);
  const int64_t sizes[] = {fnzi_krn_call_geometry(call, 0)->sizes[0], count};
  FNZ_TRY(fnzi_shape_add(call, statistics_dtype(call), 2, sizes, NULL));
  return fnzi_shape_add(call, statistics_dtype(call), 2, sizes, NULL);
}

fnz_status fnzi_shape_renorm(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  if (!fnzi_is_float(g->dtype) && !fnzi_is_complex(g->dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "self is %s; cast it to a float first",
                                fnzi_dtype(g->dtype)->name);
  if (g->rank < 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "self has %u dimensions; it needs 2 or more", g->rank);
  if (!(fnzi_krn_named_float(call, "p", 2) > 0))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "the order p of the norm must be above 0");
  if (!(fnzi_krn_named_float(call, "maxnorm", 0) >= 0))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "maxnorm must be at least 0");
  FNZ_TRY(
      fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), g->rank, &dim));
  return fnzi_shape_add(call, g->dtype, g->rank, g->sizes, NULL);
}
