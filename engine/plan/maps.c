/* maps.c - windows of buffers: of the results of a view, of the region of a scatter, and back from
 * a view's result to its argument. */
#include "engine/plan/planner.h"

/* Finds the windows of a call of a view operator. as_strided counts elements of the row-major
 * tensor, wherever that begins. */
static fnz_status forward(fnzi_pln_planner *p, const fnzi_pln_fact *fact, const fnzi_op_call *call,
                          const fnz_geometry *base, fnzi_pln_windows *out) {
  fnz_geometry from = *base, *windows;
  int64_t strides[FNZ_MAX_RANK], low, high;
  bool contiguous = fnzi_is_contiguous(base), fits = true;
  *out = (fnzi_pln_windows){NULL, 0};
  if (fact->strided && !contiguous)
    return FNZ_OK;
  /* Strides of dimensions of one element, and of nothing, may be any numbers. */
  if (contiguous) {
    fnzi_contiguous_strides(from.sizes, from.rank, strides);
    from.strides = strides;
  }
  if (fact->strided)
    from.offset = 0;
  fnz_status status = fnzi_view_forward((fnzi_int_space){NULL, &p->plan->arena}, fact->view, call,
                                        &from, &windows, &out->count);
  if (status != FNZ_OK)
    return fnzi_is_final(status) ? status : FNZ_OK;
  for (size_t k = 0; fits && k < out->count; k++) {
    windows[k].is_conj = windows[k].is_neg = false;
    fits = !fact->strided ||
           (fnzi_extent(&windows[k], &low, &high) && low >= 0 && high <= fnz_geometry_numel(base));
    if (fact->strided)
      windows[k].offset += base->offset;
  }
  out->data = fits ? windows : NULL;
  return FNZ_OK;
}

fnz_status fnzi_pln_map_views(fnzi_pln_planner *p, const fnzi_node *node, const fnzi_pln_fact *fact,
                              const fnz_geometry *base, fnzi_pln_windows *out) {
  const fnzi_op_call call = {node->op, node->args, node->nargs};
  return forward(p, fact, &call, base, out);
}

fnz_status fnzi_pln_map_region(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_fact *fact, const fnz_geometry *base,
                               const fnz_geometry **out) {
  fnz_arg *args;
  fnzi_pln_windows windows;
  fnzi_op_call call = {.op = fact->through, .nargs = node->nargs - 1};
  FNZI_NEW(&p->scratch, call.nargs, &args);
  args[0] = node->args[0];
  for (size_t i = 1; i < call.nargs; i++)
    args[i] = node->args[i + 1].tag == FNZ_ARG_DEFAULT
                  ? fnzi_arg_get(node->op, node->args, node->nargs, i + 1)
                  : node->args[i + 1];
  call.args = args;
  FNZ_TRY(forward(p, fact, &call, base, &windows));
  const fnz_geometry *source = p->graph->values.data[fnzi_pln_argument(node, 1)].geometry;
  bool fits = windows.data && windows.count == 1 && fnzi_same_sizes(windows.data, source);
  *out = fits ? windows.data : NULL;
  return FNZ_OK;
}

static fnz_status new_map(fnzi_pln_planner *p, fnz_dtype dtype, uint32_t rank, fnz_geometry **out,
                          int64_t **sizes, int64_t **strides) {
  int64_t *numbers;
  FNZI_NEW(&p->plan->arena, 1, out);
  FNZI_NEW(&p->plan->arena, 2 * (size_t)rank, &numbers);
  *sizes = numbers;
  *strides = numbers + rank;
  **out = (fnz_geometry){.dtype = dtype, .rank = rank, .sizes = *sizes, .strides = *strides};
  return FNZ_OK;
}

fnz_status fnzi_pln_map_expand(fnzi_pln_planner *p, const fnz_geometry *from,
                               const fnz_geometry *like, const fnz_geometry **out) {
  fnz_geometry *g;
  int64_t *sizes, *strides;
  if (fnzi_same_sizes(from, like)) {
    *out = from;
    return FNZ_OK;
  }
  FNZ_TRY(new_map(p, from->dtype, like->rank, &g, &sizes, &strides));
  uint32_t more = like->rank - from->rank;
  for (uint32_t d = 0; d < like->rank; d++) {
    sizes[d] = like->sizes[d];
    if (d >= more && from->sizes[d - more] == sizes[d])
      strides[d] = from->strides[d - more];
  }
  g->offset = from->offset;
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_pln_map_channels_last(fnzi_pln_planner *p, const fnz_geometry *g,
                                      const fnz_geometry **out) {
  fnz_geometry *copy;
  int64_t *sizes, *strides, stride = g->sizes[1];
  FNZ_TRY(new_map(p, g->dtype, g->rank, &copy, &sizes, &strides));
  for (uint32_t d = g->rank; d-- > 0;) {
    sizes[d] = g->sizes[d];
    strides[d] = d == 1 ? 1 : stride;
    if (d != 1)
      stride *= g->sizes[d];
  }
  *out = copy;
  return FNZ_OK;
}

fnz_status fnzi_pln_map_dense(fnzi_pln_planner *p, const fnz_geometry *g, bool row_major,
                              const fnz_geometry **out) {
  fnz_geometry *copy;
  int64_t *sizes, *strides;
  bool keeps = row_major ? fnzi_is_contiguous(g) && fnz_geometry_numel(g) > 0 : fnzi_is_dense(g);
  if (keeps && g->offset == 0 && !g->is_conj && !g->is_neg && !g->symbols) {
    *out = g;
    return FNZ_OK;
  }
  FNZ_TRY(new_map(p, g->dtype, g->rank, &copy, &sizes, &strides));
  for (uint32_t d = 0; d < g->rank; d++) {
    sizes[d] = g->sizes[d];
    strides[d] = g->strides[d];
  }
  if (!keeps || fnz_geometry_numel(g) == 0)
    fnzi_contiguous_strides(sizes, g->rank, strides);
  *out = copy;
  return FNZ_OK;
}

/* Cuts `size` elements from `start` on out of dimension `dim`. `size` 0: element `start`, without
 * the dimension. */
static fnz_status cut(fnzi_pln_planner *p, const fnz_geometry *map, uint32_t dim, int64_t start,
                      int64_t size, const fnz_geometry **out) {
  fnz_geometry *g;
  int64_t *sizes, *strides;
  uint32_t rank = 0;
  FNZ_TRY(new_map(p, map->dtype, map->rank - !size, &g, &sizes, &strides));
  for (uint32_t d = 0; d < map->rank; d++) {
    if (d == dim && !size)
      continue;
    sizes[rank] = d == dim ? size : map->sizes[d];
    strides[rank++] = map->strides[d];
  }
  g->offset = map->offset + start * map->strides[dim];
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_pln_map_pieces(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_fact *fact, const fnz_geometry *map,
                               const fnz_geometry ***out) {
  const fnz_arg *list = &node->args[0];
  int param = fnzi_op_param(node->op, "dim");
  fnz_arg along = {.tag = FNZ_ARG_INT};
  uint32_t dim;
  if (param >= 0)
    along = fnzi_arg_get(node->op, node->args, node->nargs, (size_t)param);
  FNZ_TRY(fnzi_wrap_dim(p->ctx, node->op->name, along.tag == FNZ_ARG_INT ? along.u.i : 0, map->rank,
                        &dim));
  FNZI_NEW(&p->scratch, list->count, out);
  int64_t at = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    const fnz_geometry *g = p->graph->values.data[list->u.list[i].u.value].geometry;
    if (fnz_geometry_numel(g) == 0)
      continue;
    int64_t size = fact->stacks ? 0 : g->sizes[dim];
    FNZ_TRY(cut(p, map, dim, at, size, &(*out)[i]));
    at += fact->stacks ? 1 : size;
  }
  return FNZ_OK;
}

/* --- From a view back to its argument
 * ------------------------------------------------------------------------ */
/* A dimension of the argument, of `size` places `step` apart in its row-major order, steps through
 * `map` as several dimensions of the view together, or as a part of one: *out elements. */
static bool stride_back(const fnz_geometry *view, const fnz_geometry *map, int64_t step,
                        int64_t size, int64_t *out) {
  for (uint32_t d = 0; d < view->rank; d++)
    if (view->sizes[d] > 1 && step % view->strides[d] == 0 &&
        view->strides[d] * view->sizes[d] >= step * size && view->strides[d] <= step) {
      *out = map->strides[d] * (step / view->strides[d]);
      return true;
    }
  int64_t at = step;
  for (bool first = true; at < step * size; first = false) {
    uint32_t d = 0;
    while (d < view->rank && (view->sizes[d] < 2 || view->strides[d] != at))
      d++;
    if (d == view->rank || at * view->sizes[d] > step * size)
      return false;
    if (first)
      *out = map->strides[d];
    else if (map->strides[d] != *out * (at / step))
      return false;
    at *= view->sizes[d];
  }
  return true;
}

fnz_status fnzi_pln_map_back(fnzi_pln_planner *p, const fnzi_node *node, const fnzi_pln_fact *fact,
                             const fnz_geometry *map, const fnz_geometry *argument,
                             const fnz_geometry **out) {
  fnz_geometry *g, probe = *argument;
  int64_t *sizes, *strides, rows[FNZ_MAX_RANK];
  fnzi_pln_windows view;
  *out = NULL;
  probe.offset = 0;
  probe.strides = rows;
  fnzi_contiguous_strides(probe.sizes, probe.rank, rows);
  FNZ_TRY(fnzi_pln_map_views(p, node, fact, &probe, &view));
  if (!view.data || view.count != 1 || view.data->offset != 0 || !fnzi_is_dense(view.data) ||
      fnz_geometry_numel(view.data) != fnz_geometry_numel(argument) ||
      fnz_geometry_numel(argument) == 0 ||
      fnzi_dtype(map->dtype)->bytes != fnzi_dtype(argument->dtype)->bytes)
    return FNZ_OK;
  FNZ_TRY(new_map(p, argument->dtype, argument->rank, &g, &sizes, &strides));
  g->offset = map->offset;
  for (uint32_t d = 0; d < g->rank; d++) {
    sizes[d] = argument->sizes[d];
    strides[d] = rows[d];
    if (sizes[d] > 1 && !stride_back(view.data, map, rows[d], sizes[d], &strides[d]))
      return FNZ_OK;
  }
  *out = g;
  return FNZ_OK;
}

/* --- Comparing --------------------------------------------------------------------------- */
bool fnzi_pln_map_equal(const fnz_geometry *a, const fnz_geometry *b) {
  if (a == b)
    return true;
  if (a->dtype != b->dtype || a->offset != b->offset || !fnzi_same_sizes(a, b))
    return false;
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] > 1 && a->strides[d] != b->strides[d])
      return false;
  return true;
}

bool fnzi_pln_location_equal(fnzi_pln_location a, fnzi_pln_location b) {
  return a.buffer == b.buffer && fnzi_pln_map_equal(a.map, b.map);
}

bool fnzi_pln_map_injective(const fnz_geometry *map) {
  return fnzi_is_dense(map) ||
         fnzi_oracle_relate_self(NULL, map, FNZI_LITTLE_WORK) == FNZI_DISJOINT;
}
