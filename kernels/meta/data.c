/* data.c - shape rules of operators whose results have sizes that depend on data: bincount,
 * repeat_interleave of a tensor, unique. */
#include "kernels/meta/bins.h"

static const fnz_geometry *recorded(const fnzi_krn_call *call) {
  return call->nexpected ? call->expected[0] : NULL;
}

/* --- bincount ---------------------------------------------------------------------------- */
/* The greatest number, as if none had a sign. Signs of differences tell whether a block has a
 * greater one, because not every processor compares 64 bits side by side. */
static uint64_t greatest_of(const int64_t *values, int64_t count) {
  enum { BLOCK = 64 };
  uint64_t greatest = 0;
  for (int64_t i = 0, end; i < count && greatest <= INT64_MAX; i = end) {
    uint64_t signs = 0;
    end = count - i < BLOCK ? count : i + BLOCK;
    for (int64_t k = i; k < end; k++)
      signs |= (uint64_t)values[k] | (greatest - (uint64_t)values[k]);
    for (int64_t k = i; signs >> 63 && k < end; k++)
      greatest = (uint64_t)values[k] > greatest ? (uint64_t)values[k] : greatest;
  }
  return greatest;
}

fnz_status fnzi_meta_bincount_read(fnzi_krn_call *call, const int64_t **out, int64_t *most) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const void *data;
  FNZ_TRY(fnzi_krn_dense_get_as(call, self, FNZ_I64, &data));
  const int64_t count = fnzi_krn_array_numel(self), limit = INT64_C(1) << 40;
  *out = data;
  const uint64_t greatest = greatest_of(data, count);
  *most = count ? (int64_t)(greatest + 1) : 0;
  for (int64_t i = 0; greatest >= (uint64_t)limit && i < count; i++) {
    int64_t v = (*out)[i];
    if (v < 0 || v >= limit)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "element %lld of self is %lld; it must be from 0 to 2^40 - 1",
                                  (long long)i, (long long)v);
  }
  return FNZ_OK;
}

static fnz_status check_bincount(const fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const fnzi_krn_array *weights = fnzi_krn_named_array(call, "weights");
  if (fnzi_is_float(g->dtype) || g->dtype == FNZ_BOOL || g->rank != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "self is %s with %u dimensions; it needs integers "
                                "in 1",
                                fnzi_dtype(g->dtype)->name, g->rank);
  if (weights && (weights->geometry.rank != 1 || fnzi_krn_array_numel(weights) != g->sizes[0]))
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "weights has %lld elements, self %lld; both need as many in 1 dimension",
        (long long)fnzi_krn_array_numel(weights), (long long)g->sizes[0]);
  if (fnzi_krn_named_int(call, "minlength", 0) < 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "minlength is %lld; it must not be negative",
                                (long long)fnzi_krn_named_int(call, "minlength", 0));
  return FNZ_OK;
}

fnz_status fnzi_shape_bincount(fnzi_krn_call *call) {
  const fnzi_krn_array *weights = fnzi_krn_named_array(call, "weights");
  int64_t size = 0, least = fnzi_krn_named_int(call, "minlength", 0);
  const int64_t *values;
  bool weighs = weights && fnzi_krn_array_numel(weights) > 0;
  fnz_dtype dtype = !weighs ? FNZ_I64 : weights->geometry.dtype == FNZ_F32 ? FNZ_F32 : FNZ_F64;
  FNZ_TRY(check_bincount(call));
  if (call->has_data)
    FNZ_TRY(fnzi_meta_bincount_read(call, &values, &size));
  else if (!recorded(call))
    return fnzi_krn_size_refuse(call);
  else
    size = recorded(call)->rank ? recorded(call)->sizes[0] : 0;
  /* The size is not known: the recorded one is a symbol's number, 0 if it has none. */
  const fnz_geometry *g = call->has_data ? NULL : recorded(call);
  if (!g || !g->rank || !g->symbols || !g->symbols[0])
    size = size < least ? least : size;
  return fnzi_shape_add(call, dtype, 1, &size, NULL);
}

/* --- Each place as often as a tensor says ------------------------------------------------ */
fnz_status fnzi_meta_repeats_read(fnzi_krn_call *call, const int64_t **out, int64_t *sum) {
  const fnzi_krn_array *repeats = fnzi_krn_call_input(call, 0);
  const void *data;
  FNZ_TRY(fnzi_krn_dense_get_as(call, repeats, FNZ_I64, &data));
  *out = data;
  *sum = 0;
  const int64_t count = fnzi_krn_array_numel(repeats);
  for (int64_t i = 0; i < count; i++)
    if ((*out)[i] < 0 || !fnzi_add_i64(*sum, (*out)[i], sum))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "repeats has %lld at place %lld; it must not be negative, and all "
          "together fit 64 bits",
          (long long)(*out)[i], (long long)i);
  return FNZ_OK;
}

fnz_status fnzi_shape_repeats(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const fnz_arg *given = fnzi_krn_named(call, "output_size");
  const int64_t *values;
  int64_t sum = -1;
  if ((g->dtype != FNZ_I64 && g->dtype != FNZ_I32) || g->rank != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "repeats are %s with %u dimensions; they need i64 or "
                                "i32 in 1",
                                fnzi_dtype(g->dtype)->name, g->rank);
  if (call->has_data)
    FNZ_TRY(fnzi_meta_repeats_read(call, &values, &sum));
  if (given && given->tag == FNZ_ARG_INT && sum >= 0 && given->u.i != sum)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "output_size is %lld, but repeats add up to %lld",
                                (long long)given->u.i, (long long)sum);
  if (sum < 0 && given && given->tag == FNZ_ARG_INT)
    sum = given->u.i;
  if (sum < 0 && recorded(call) && recorded(call)->rank)
    sum = recorded(call)->sizes[0];
  if (sum < 0)
    return fnzi_krn_size_refuse(call);
  return fnzi_shape_add(call, g->dtype, 1, &sum, NULL);
}

/* --- unique ------------------------------------------------------------------------------ */
/* The kernel makes the results, which only it can count. */
static fnz_status give_unique(fnzi_krn_call *call, fnzi_krn_run run) {
  if (call->has_data)
    return call->kernels->runs[run](call);
  /* Without data: as recorded. */
  if (!call->nexpected || !call->expected[0])
    return fnzi_krn_size_refuse(call);
  for (size_t k = 0; k < call->nexpected && k < call->capacity; k++) {
    const fnz_geometry *g = call->expected[k];
    if (g)
      FNZ_TRY(fnzi_shape_add(call, g->dtype, g->rank, g->sizes, g->strides));
  }
  return FNZ_OK;
}

fnz_status fnzi_shape_unique(fnzi_krn_call *call) {
  return give_unique(call, FNZI_RUN_unique);
}

static fnz_status give_along(fnzi_krn_call *call, fnzi_krn_run run) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0),
                        g->rank ? g->rank : 1, &dim));
  if (g->rank == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "self has no dimensions; it needs one");
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->sizes[d] == 0 && d != dim)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "self has size 0 in dimension %u; only dimension %u may be empty",
                                  d, dim);
  return give_unique(call, run);
}

fnz_status fnzi_shape_unique_dim(fnzi_krn_call *call) {
  return give_along(call, FNZI_RUN_unique_dim);
}

fnz_status fnzi_shape_unique_consecutive(fnzi_krn_call *call) {
  const fnz_arg *dim = fnzi_krn_named(call, "dim");
  bool only = fnzi_krn_call_geometry(call, 0)->rank == 1 && fnzi_krn_named_int(call, "dim", 1) == 0;
  bool along = dim && dim->tag == FNZ_ARG_INT && !only;
  return along ? fnzi_shape_unique_dim_consecutive(call)
               : give_unique(call, FNZI_RUN_unique_consecutive);
}

fnz_status fnzi_shape_unique_dim_consecutive(fnzi_krn_call *call) {
  return give_along(call, FNZI_RUN_unique_dim_consecutive);
}
