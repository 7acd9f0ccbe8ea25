/* row.c - which operators compute row by row, over which dimensions. */
#include "kernels/meta/row.h"

#include <float.h>

/* --- Locations of rows ------------------------------------------------------------------------ */

/* The weights of a norm: floats, as many as a row has. */
static bool takes_row(fnzi_krn_call *call, const char *name, uint32_t dims, int8_t *out) {
  int at = fnzi_op_param(call->op, name);
  const fnzi_krn_array *a = at < 0 ? NULL : fnzi_krn_arg_array(&call->args[at]);
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0);
  *out = a ? (int8_t)at : -1;
  if (!a)
    return true;
  bool fits = a->window.dtype == FNZ_F32 && a->window.rank == dims && dims < x->rank;
  for (uint32_t d = 0; fits && d < dims; d++)
    fits = a->window.sizes[d] == x->sizes[x->rank - dims + d];
  return fits;
}

/* over_<over>() of row_ops.def: the rows lie along the last dimensions. */
static bool over_reduction(fnzi_krn_call *call, fnzi_meta_row *out) {
  uint32_t rank = fnzi_krn_call_geometry(call, 0)->rank, dims = 0;
  bool reduced[FNZ_MAX_RANK];
  if (fnzi_meta_reduced_dims(call, reduced) != FNZ_OK)
    return false;
  while (dims < rank && reduced[rank - 1 - dims])
    dims++;
  for (uint32_t d = 0; d + dims < rank; d++)
    if (reduced[d])
      return false;
  out->dims = dims;
  return dims > 0;
}

static bool over_along_dim(fnzi_krn_call *call, fnzi_meta_row *out) {
  uint32_t rank = fnzi_krn_call_geometry(call, 0)->rank, dim;
  bool last = fnzi_wrap_dim(call->ctx, fnz_op_name(call->op), fnzi_krn_named_int(call, "dim", -1),
                            rank, &dim) == FNZ_OK;
  out->dims = last && dim + 1 == rank ? 1 : 0;
  out->whole = true;
  return out->dims > 0;
}

static bool over_layer_norm(fnzi_krn_call *call, fnzi_meta_row *out) {
  const int64_t *shape;
  size_t count;
  bool ok = fnzi_krn_named_ints(call, "normalized_shape", &shape, &count) == FNZ_OK;
  out->dims = ok && count <= fnzi_krn_call_geometry(call, 0)->rank ? (uint32_t)count : 0;
  out->whole = true;
  return out->dims > 0 && takes_row(call, "weight", out->dims, &out->args[1]) &&
         takes_row(call, "bias", out->dims, &out->args[2]);
}

/* --- What groups take in ---------------------------------------------------------------------- */
static fnz_dtype row_dtype_of(const fnzi_krn_call *call) {
  return fnzi_krn_call_geometry(call, 0)->dtype;
}

/* No kernel of a row converts. */
static bool has_types(const fnzi_krn_call *call, fnz_dtype result) {
  fnz_dtype dtype = row_dtype_of(call);
  bool computes = dtype == FNZ_F32 || dtype == FNZ_F64 || dtype == FNZ_I64 || dtype == FNZ_BOOL;
  return computes && call->outputs[0]->window.dtype == result;
}

/* takes_<types>() of row_ops.def. */
static bool takes_sums(const fnzi_krn_call *call) {
  fnz_dtype dtype = row_dtype_of(call);
  /* Eager adds up in the order of memory, and that is the order of rows. */
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  bool in_order = fnzi_is_contiguous(g) || !fnzi_is_dense(g);
  return dtype != FNZ_BOOL && in_order && has_types(call, dtype);
}

static bool takes_folds(const fnzi_krn_call *call) {
  fnz_dtype dtype = row_dtype_of(call);
  return has_types(call, dtype) && (dtype == FNZ_BOOL) == (call->row->mode == FNZI_MODE_any ||
                                                           call->row->mode == FNZI_MODE_all);
}

static bool takes_places(const fnzi_krn_call *call) {
  return row_dtype_of(call) != FNZ_BOOL && has_types(call, FNZ_I64);
}

static bool takes_floats(const fnzi_krn_call *call) {
  fnz_dtype dtype = row_dtype_of(call);
  return fnzi_is_float(dtype) && has_types(call, dtype);
}

static bool takes_singles(const fnzi_krn_call *call) {
  return row_dtype_of(call) == FNZ_F32 && has_types(call, FNZ_F32);
}

static bool row_find(fnzi_krn_call *call, fnzi_meta_row *out) {
  switch (call->row->run) {
#define ROW(run, over, types, ...)                                                                 \
  case FNZI_RUN_##run:                                                                             \
    return takes_##types(call) && over_##over(call, out);
#include "kernels/row_ops.def"
  default:
    return false;
  }
}

bool fnzi_meta_by_rows(fnzi_krn_call *call, fnzi_meta_row *out) {
  const fnzi_krn_array *x =
      call->row && call->op->nparams ? fnzi_krn_arg_array(&call->args[0]) : NULL;
  *out = (fnzi_meta_row){.length = 1, .args = {0, -1, -1}};
  if (!x || call->noutputs == 0 || call->noutputs > FNZI_ROW_RESULTS || !row_find(call, out))
    return false;
  for (uint32_t d = x->window.rank - out->dims; d < x->window.rank; d++)
    out->length *= x->window.sizes[d];
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
/* <parameter>_of() of row_ops.def. */
static double none_of(const fnzi_krn_call *call) {
  (void)call;
  return 0;
}

/* `unbiased` means 0 or 1; `correction` is any number and is 1 when absent. */
static double correction_of(const fnzi_krn_call *call) {
  if (fnzi_op_param(call->op, "unbiased") >= 0)
    return fnzi_krn_named_bool(call, "unbiased", true) ? 1 : 0;
  return fnzi_krn_named_float(call, "correction", 1);
}

/* linalg_vector_norm calls its order `ord`, norm calls it `p`. */
static double order_of(const fnzi_krn_call *call) {
  return fnzi_krn_named_float(call, "ord", fnzi_krn_named_float(call, "p", 2));
}

static double eps_of(const fnzi_krn_call *call) {
  return fnzi_krn_named_float(call, "eps", 1e-5);
}

/* The default of an RMS norm is that of the type it computes in. */
static double eps_of_type_of(const fnzi_krn_call *call) {
  return fnzi_krn_named_float(call, "eps",
                              row_dtype_of(call) == FNZ_F64 ? DBL_EPSILON : FLT_EPSILON);
}

double fnzi_meta_row_parameter(const fnzi_krn_call *call) {
  switch (call->row->run) {
#define EACH(run, over, parameter, ...)                                                            \
  case FNZI_RUN_##run:                                                                             \
    return parameter##_of(call);
#include "kernels/row_ops.def"
  default:
    return 0;
  }
}
