/* members.c - finds nodes that may be in a group: pointwise nodes, and nodes that compute rows. */
#include "engine/plan/planner.h"
#include "kernels/backends.h"
#include "kernels/core/float8.h"
#include "kernels/meta/point.h"
#include "kernels/meta/row.h"

enum {
  MOST_PARAMETERS = 16,                /* of an operator that may be in a group */
  MOST_ROW = 64 * 1024 / sizeof(float) /* elements: rows of some values stay in the second cache */
};

static void stand_in(const fnz_geometry *g, fnzi_krn_array *out, fnz_arg *arg) {
  out->geometry = out->window = *g;
  arg->u.value = fnzi_krn_array_handle(out);
}

/* Makes arrays without memory of tensors, and numbers of their kind of data-dependent scalars.
 * Returns false if an argument is neither tensor nor plain. */
static bool lower(const fnzi_graph *g, const fnzi_node *node, uint32_t by_data,
                  fnzi_krn_array *arrays, fnz_arg *args) {
  for (uint32_t k = 0; k < node->op->nparams; k++) {
    args[k] = fnzi_arg_get(node->op, node->args, node->nargs, k);
    if (by_data >> k & 1)
      args[k] = fnzi_pln_scalar_like(g, args[k].u.value);
    const fnz_arg *arg = &args[k];
    for (uint32_t i = 0; arg->tag == FNZ_ARG_LIST && i < arg->count; i++)
      if (arg->u.list[i].tag != FNZ_ARG_INT)
        return false;
    if (arg->tag != FNZ_ARG_VALUE && (fnzi_is_reference(arg) || arg->tag == FNZ_ARG_GRAPH))
      return false;
    if (args[k].tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *of = g->values.data[args[k].u.value].geometry;
    if (of == NULL || of->is_conj || of->is_neg || of->rank > FNZ_MAX_RANK)
      return false;
    stand_in(of, &arrays[k], &args[k]);
  }
  return true;
}

/* --- Pointwise ------------------------------------------------------------------------------- */
static bool converts(fnz_dtype to, fnz_dtype from) {
  return fnzi_krn_can_convert(to, from) && !fnzi_krn_is_float8(to) && !fnzi_krn_is_float8(from);
}

/* Says that an operand is a scalar, or has elements that need no conversion but to `dtype`. */
static bool fits_operand(const fnz_arg *arg, fnz_dtype dtype) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  if (a)
    return converts(dtype, a->window.dtype);
  return (arg->tag == FNZ_ARG_INT || arg->tag == FNZ_ARG_FLOAT || arg->tag == FNZ_ARG_BOOL) &&
         fnzi_meta_point_class(dtype) != FNZ_DTYPE_COUNT;
}

static bool is_mask(const fnz_arg *arg) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  return a && a->window.dtype == FNZ_BOOL;
}

/* Says that a tile program computes the same as the kernel (engine/tile/build.c), and that nothing
 * else depends on the values of elements. */
static bool computes(const fnzi_krn_call *call) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  const fnz_arg *args = call->args;
  const fnzi_krn_array *first = fnzi_krn_arg_array(&args[0]);
  switch ((fnzi_krn_tile)fnzi_kernel_facts(call->row)->tile) {
  case FNZI_TILE_POINT:
    return fnzi_meta_point_is_plain(call);
  case FNZI_TILE_WHERE:
    return is_mask(&args[0]) && fits_operand(&args[1], dtype) && fits_operand(&args[2], dtype);
  case FNZI_TILE_MASKED_FILL:
    return fits_operand(&args[0], dtype) && is_mask(&args[1]) && fits_operand(&args[2], dtype) &&
           !fnzi_krn_arg_array(&args[2]);
  case FNZI_TILE_CAST:
    return first && first->window.dtype != dtype && converts(dtype, first->window.dtype) &&
           fnzi_same_sizes(&first->window, &call->outputs[0]->window);
  case FNZI_TILE_NONE:
    break;
  }
  return false;
}

/* --- The whole ------------------------------------------------------------------------------- */
const fnz_geometry *fnzi_pln_role_space(const fnzi_graph *g, const fnzi_node *node,
                                        fnzi_pln_role_kind kind) {
  uint32_t value =
      kind == FNZI_PLN_ROLE_ROW ? fnzi_pln_argument(node, 0) : fnzi_pln_result_of(node);
  return g->values.data[value].geometry;
}

static fnz_status members_find(fnzi_krn_call *call, fnzi_pln_role *out) {
  fnzi_meta_row row;
  bool rows;
  if (call->noutputs == 1 && fnzi_kernel_facts(call->row)->tile != FNZI_TILE_NONE &&
      fnz_geometry_numel(&call->outputs[0]->window) > 0 && computes(call)) {
    out->kind = FNZI_PLN_ROLE_POINT;
    return FNZ_OK;
  }
  if (call->by_data) /* rows are computed by numbers of the plan */
    return FNZ_OK;
  FNZ_TRY(fnzi_meta_find_rows(call, &row, &rows));
  if (rows && row.length <= MOST_ROW) {
    out->kind = FNZI_PLN_ROLE_ROW;
    out->dims = row.dims;
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_role_find(fnz_context *ctx, const fnzi_graph *g, const fnzi_node *node,
                              fnzi_pln_role *out) {
  fnzi_krn_array arrays[MOST_PARAMETERS], results[FNZI_ROW_RESULTS], *outputs[FNZI_ROW_RESULTS];
  fnz_arg args[MOST_PARAMETERS], none;
  const fnzi_kernel *row = node->op ? fnzi_kernel_row(node->op) : NULL;
  uint32_t by_data = fnzi_pln_scalar_arguments(g, node);
  *out = (fnzi_pln_role){.kind = FNZI_PLN_ROLE_NONE};
  if (row == NULL || node->op->nparams > MOST_PARAMETERS || node->noutputs == 0 ||
      node->noutputs > FNZI_ROW_RESULTS || !lower(g, node, by_data, arrays, args))
    return FNZ_OK;
  for (uint32_t k = 0; k < node->noutputs; k++) {
    const fnz_geometry *of = fnzi_pln_tensor(g, &node->outputs[k]);
    if (of == NULL)
      return FNZ_OK;
    outputs[k] = &results[k];
    stand_in(of, outputs[k], &none);
  }
  fnzi_krn_call call = {.ctx = ctx,
                        .op = node->op,
                        .args = args,
                        .outputs = outputs,
                        .noutputs = node->noutputs,
                        .capacity = node->noutputs,
                        .target = FNZ_DTYPE_COUNT,
                        .row = row,
                        .by_data = by_data};
  fnzi_arena_init(&call.scratch, ctx);
  fnz_status status = members_find(&call, out);
  if (out->kind != FNZI_PLN_ROLE_NONE)
    out->space = fnzi_pln_role_space(g, node, (fnzi_pln_role_kind)out->kind);
  fnzi_arena_free(&call.scratch);
  return status;
}

fnzi_pln_cover fnzi_pln_cover_of(const fnz_geometry *space, uint32_t dims, const fnz_geometry *g) {
  bool row = dims > 0 && g->rank == space->rank, dropped = dims > 0;
  if (fnzi_same_sizes(space, g))
    return FNZI_PLN_COVER_ALL;
  for (uint32_t d = 0; row && d < g->rank; d++)
    row = g->sizes[d] == (d + dims < space->rank ? space->sizes[d] : 1);
  dropped = dropped && g->rank + dims == space->rank;
  for (uint32_t d = 0; dropped && d < g->rank; d++)
    dropped = g->sizes[d] == space->sizes[d];
  return row ? FNZI_PLN_COVER_ROW : dropped ? FNZI_PLN_COVER_DROPPED : FNZI_PLN_COVER_OTHER;
}
