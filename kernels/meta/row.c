/* row.c - which operators compute row by row, over which dimensions. */
#include "kernels/meta/row.h"

#include <float.h>

/* The reduced dimensions, when they are the last ones; 0. */
static uint32_t reduced_last(fnzi_krn_call *call) {
  uint32_t rank = fnzi_krn_call_geometry(call, 0)->rank, dims = 0;
  bool reduced[FNZ_MAX_RANK];
  if (fnzi_meta_reduced_dims(call, reduced) != FNZ_OK)
    return 0;
  while (dims < rank && reduced[rank - 1 - dims])
    dims++;
  for (uint32_t d = 0; d + dims < rank; d++)
    if (reduced[d])
      return 0;
  return dims;
}

static uint32_t softmax_last(fnzi_krn_call *call) {
  uint32_t rank = fnzi_krn_call_geometry(call, 0)->rank, dim;
  bool last = fnzi_wrap_dim(call->ctx, fnz_op_name(call->op), fnzi_krn_named_int(call, "dim", -1),
                            rank, &dim) == FNZ_OK;
  return last && dim + 1 == rank ? 1 : 0;
}

static uint32_t normalised_last(fnzi_krn_call *call) {
  const int64_t *shape;
  size_t count;
  bool ok = fnzi_krn_named_ints(call, "normalized_shape", &shape, &count) == FNZ_OK;
  return ok && count <= fnzi_krn_call_geometry(call, 0)->rank ? (uint32_t)count : 0;
}

/* Eager adds up in the order of memory, and that is the order of rows. */
static bool sums_in_order(const fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  return fnzi_is_contiguous(g) || !fnzi_is_dense(g);
}

/* No kernel of a row converts. */
static bool has_types(const fnzi_krn_call *call, fnz_dtype result) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  bool computes = dtype == FNZ_F32 || dtype == FNZ_F64 || dtype == FNZ_I64 || dtype == FNZ_BOOL;
  return computes && call->outputs[0]->place.dtype == result;
}

static bool asks_truth(const fnzi_krn_call *call) {
  return strcmp(call->op->base, "any") == 0 || strcmp(call->op->base, "all") == 0;
}

/* The weights of a norm: floats, as many as a row has. */
static bool takes_row(fnzi_krn_call *call, const char *name, uint32_t dims, int8_t *out) {
  int at = fnzi_op_param(call->op, name);
  const fnzi_krn_array *a = at < 0 ? NULL : fnzi_krn_arg_array(&call->args[at]);
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0);
  *out = a ? (int8_t)at : -1;
  if (!a)
    return true;
  bool fits = a->place.dtype == FNZ_F32 && a->place.rank == dims && dims < x->rank;
  for (uint32_t d = 0; fits && d < dims; d++)
    fits = a->place.sizes[d] == x->sizes[x->rank - dims + d];
  return fits;
}

static bool find_norm(fnzi_krn_call *call, fnzi_meta_row *out) {
  out->dims = normalised_last(call);
  out->whole = true;
  return fnzi_krn_call_geometry(call, 0)->dtype == FNZ_F32 &&
         takes_row(call, "weight", out->dims, &out->args[1]) &&
         takes_row(call, "bias", out->dims, &out->args[2]);
}

static bool find(fnzi_krn_call *call, fnzi_meta_row *out) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  switch (call->row->run) {
  case FNZI_RUN_sum:
    out->dims = reduced_last(call);
    return dtype != FNZ_BOOL && sums_in_order(call) && has_types(call, dtype);
  case FNZI_RUN_reduce:
    out->dims = reduced_last(call);
    return has_types(call, dtype) && (dtype == FNZ_BOOL) == asks_truth(call);
  case FNZI_RUN_arg:
    out->dims = reduced_last(call);
    return dtype != FNZ_BOOL && has_types(call, FNZ_I64);
  case FNZI_RUN_logsumexp:
    out->dims = reduced_last(call);
    return dtype == FNZ_F32 && has_types(call, dtype);
  case FNZI_RUN_variance:
  case FNZI_RUN_deviation:
  case FNZI_RUN_vector_norm:
    out->dims = reduced_last(call);
    return fnzi_is_float(dtype) && has_types(call, dtype);
  case FNZI_RUN_softmax:
  case FNZI_RUN_safe_softmax:
  case FNZI_RUN_log_softmax:
    out->dims = softmax_last(call);
    out->whole = true;
    return dtype == FNZ_F32 && has_types(call, dtype);
  case FNZI_RUN_layer_norm:
  case FNZI_RUN_rms_norm:
    return find_norm(call, out) && has_types(call, dtype);
  default:
    return false;
  }
}

bool fnzi_meta_by_rows(fnzi_krn_call *call, fnzi_meta_row *out) {
  const fnzi_krn_array *x =
      call->row && call->op->nparams ? fnzi_krn_arg_array(&call->args[0]) : NULL;
  *out = (fnzi_meta_row){.length = 1, .args = {0, -1, -1}};
  if (!x || call->noutputs == 0 || call->noutputs > FNZI_ROW_RESULTS || !find(call, out) ||
      out->dims == 0)
    return false;
  for (uint32_t d = x->place.rank - out->dims; d < x->place.rank; d++)
    out->length *= x->place.sizes[d];
  if (out->length < 2)
    return false;
  out->count = fnzi_krn_array_numel(x) / out->length;
  return out->count > 0;
}

fnz_status fnzi_meta_find_rows(fnzi_krn_call *call, fnzi_meta_row *out, bool *found) {
  const fnz_error had = call->ctx->error;
  call->ctx->error = (fnz_error){0};
  *found = call->row->memory == FNZI_MEMORY_NEW && fnzi_meta_by_rows(call, out);
  if (!*found && call->ctx->error.kind == FNZ_CLASS_NOMEM)
    return FNZ_NO_MEMORY;
  call->ctx->error = had;
  return FNZ_OK;
}

/* --- Numbers ---------------------------------------------------------------------------------- */
/* `unbiased` says 0 or 1; `correction` says it freely and is 1 when absent. */
static double correction(const fnzi_krn_call *call) {
  if (fnzi_op_param(call->op, "unbiased") >= 0)
    return fnzi_krn_named_bool(call, "unbiased", true) ? 1 : 0;
  return fnzi_krn_named_float(call, "correction", 1);
}

/* The default eps of an RMS norm is that of the input's own type. */
static double epsilon(fnz_dtype dtype) {
  if (dtype == FNZ_F64)
    return DBL_EPSILON;
  if (dtype == FNZ_F16)
    return 0x1p-10;
  return dtype == FNZ_BF16 ? 0x1p-7 : FLT_EPSILON;
}

double fnzi_meta_row_parameter(const fnzi_krn_call *call) {
  switch (call->row->run) {
  case FNZI_RUN_sum:
    return strcmp(call->op->base, "mean") == 0;
  case FNZI_RUN_arg:
    return strcmp(call->op->base, "argmax") == 0;
  case FNZI_RUN_safe_softmax:
    return 1;
  case FNZI_RUN_variance:
  case FNZI_RUN_deviation:
    return correction(call);
  case FNZI_RUN_vector_norm: /* linalg_vector_norm calls its order `ord`, norm calls it `p` */
    return fnzi_krn_named_float(call, "ord", fnzi_krn_named_float(call, "p", 2));
  case FNZI_RUN_layer_norm:
  case FNZI_RUN_group_norm:
    return fnzi_krn_named_float(call, "eps", 1e-5);
  case FNZI_RUN_rms_norm:
    return fnzi_krn_named_float(call, "eps", epsilon(fnzi_krn_call_geometry(call, 0)->dtype));
  default:
    return 0;
  }
}
