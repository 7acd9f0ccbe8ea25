/* by_memory.c - operators that count places in memory, on values that do not lie there in rows.
 *
 * In eager as_strided_copy and as_strided_scatter see the memory of their argument. A backend has
 * only its elements, and counts places in the row-major tensor from 0 on. So an argument that the
 * program records with other strides, or another offset, is brought into the order of its memory
 * before the call, and the result of a scatter is brought back after it.
 *
 * gives   UNSUPPORTED where that memory has gaps, or shows elements several times */
#include "run/frames.h"
#include "run/numbers.h"
#include "schema/aten_names.h"

bool fnzi_run_counts_places(const fnz_op *op) {
  return op == &fnzi_ops[FNZI_ATEN_as_strided_copy] ||
         op == &fnzi_ops[FNZI_ATEN_as_strided_scatter];
}

/* The dimensions in the order of memory, the largest stride first. */
static void memory_order(const fnz_geometry *g, uint32_t order[FNZ_MAX_RANK]) {
  for (uint32_t d = 0; d < g->rank; d++) {
    uint32_t k = d;
    for (; k > 0 && g->strides[order[k - 1]] < g->strides[d]; k--)
      order[k] = order[k - 1];
    order[k] = d;
  }
}

/* Row-major, with the dimensions of `g` in this order. */
static fnz_status rows_of(fnzi_arena *arena, const fnz_geometry *g, const uint32_t *order,
                          fnz_geometry *out) {
  int64_t *sizes, *strides;
  FNZI_NEW(arena, g->rank, &sizes);
  FNZI_NEW(arena, g->rank, &strides);
  for (uint32_t d = 0; d < g->rank; d++)
    sizes[d] = g->sizes[order[d]];
  fnzi_contiguous_strides(sizes, g->rank, strides);
  *out = (fnz_geometry){.dtype = g->dtype, .rank = g->rank, .sizes = sizes, .strides = strides};
  return FNZ_OK;
}

/* Dimension k of the result is dimension order[k] of the argument. */
static fnz_status permute(fnzi_run_state *run, fnz_arg value, const uint32_t *order,
                          const fnz_geometry *expected, fnz_handle *out) {
  int64_t dims[FNZ_MAX_RANK];
  fnz_arg args[2] = {value};
  for (uint32_t d = 0; d < expected->rank; d++)
    dims[d] = order[d];
  FNZ_TRY(fnzi_arg_ints(&run->scratch, dims, expected->rank, &args[1]));
  const fnz_request call = {&fnzi_ops[FNZI_ATEN_permute_copy], args, 2, &expected, ""};
  return fnzi_run_apply(run, &call, out, 1);
}

static fnz_status refuse_gaps(const fnzi_run_state *run, const fnz_request *call) {
  return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                   "%s counts places in memory, and its argument is recorded with strides by which "
                   "it has gaps there or shows elements several times; functionalize the program, "
                   "or clone() the argument",
                   call->op->name);
}

static fnz_status on_rows(fnzi_run_state *run, const fnz_geometry *self, const fnz_geometry *rows,
                          const fnz_request *call, fnz_handle *out) {
  const uint32_t at = (uint32_t)fnzi_op_param(call->op, "storage_offset");
  fnz_arg *args;
  FNZI_NEW(&run->scratch, call->nargs, &args);
  memcpy(args, call->args, call->nargs * sizeof *args);
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = *out};
  args[at] = fnzi_arg_int(args[at].tag == FNZ_ARG_INT ? args[at].u.i - self->offset : 0);
  fnz_request inner = *call;
  inner.args = args;
  if (call->op == &fnzi_ops[FNZI_ATEN_as_strided_scatter])
    inner.expected = &rows;
  fnz_handle before = *out;
  *out = 0;
  fnz_status status = fnzi_run_apply(run, &inner, out, 1);
  run->backend->release(run->backend->self, before);
  return status;
}

fnz_status fnzi_run_apply_by_memory(fnzi_run_state *run, const fnz_geometry *self,
                                    const fnz_request *call, fnz_handle *out) {
  uint32_t order[FNZ_MAX_RANK], back[FNZ_MAX_RANK] = {0};
  fnz_geometry rows;
  *out = 0;
  if (self == NULL || (fnzi_is_contiguous(self) && self->offset == 0))
    return fnzi_run_apply(run, call, out, 1);
  if (!fnzi_is_dense(self))
    return refuse_gaps(run, call);
  memory_order(self, order);
  FNZ_TRY(rows_of(&run->scratch, self, order, &rows));
  FNZ_TRY(permute(run, call->args[0], order, &rows, out));
  FNZ_TRY(on_rows(run, self, &rows, call, out));
  if (call->op == &fnzi_ops[FNZI_ATEN_as_strided_copy])
    return FNZ_OK;
  fnz_handle scattered = *out;
  for (uint32_t d = 0; d < self->rank; d++)
    back[order[d]] = d;
  fnz_status status = permute(run, (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = scattered}, back,
                              call->expected[0] ? call->expected[0] : self, out);
  run->backend->release(run->backend->self, scattered);
  return status;
}
