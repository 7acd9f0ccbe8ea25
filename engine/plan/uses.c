/* uses.c - finds the readers of a value, its frame, and its needed bytes.
 *
 * The needed bytes of a value are the union over its uses. A use by a view needs the needed bytes
 * of the view's results. A use as the base of an update needs the needed bytes of the result, less
 * the bytes that the update writes. Other uses need all bytes. One sweep backwards finds them. */
#include "engine/plan/planner.h"

/* The most spans of a set while few spans exist (FINE), and when many do (COARSE). */
enum { FINE = 4096, COARSE = 8, FREE_SPANS = 1 << 16, SPANS_PER_NODE = 64 };

/* --- Uses -------------------------------------------------------------------------------- */
/* Lists the nodes that read each value. Nodes come in order, so that the uses of a value are
 * sorted. */
static fnz_status list_uses(fnzi_pln_planner *p) {
  const fnzi_graph *g = p->graph;
  uint32_t all = 0;
  for (uint32_t n = 0; n < p->end; n++)
    FNZI_PLN_EACH_TENSOR(each, p, g->nodes.data[n].args, g->nodes.data[n].nargs)
      p->values[each.arg->u.value].uses++;
  for (size_t v = 0; v < g->values.count; v++) {
    p->values[v].use = all;
    all += p->values[v].uses;
    p->values[v].uses = 0;
    p->values[v].last = p->values[v].born = FNZI_PLN_NONE;
  }
  FNZI_NEW(&p->scratch, all, &p->uses);
  for (uint32_t n = 0; n < p->end; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    FNZI_PLN_EACH_TENSOR(each, p, node->args, node->nargs) {
      fnzi_pln_value *v = &p->values[each.arg->u.value];
      p->uses[v->use + v->uses++] = n;
      v->last = n;
    }
  }
  FNZI_PLN_EACH_TENSOR(each, p, g->outputs, g->noutputs) {
    fnzi_pln_value *v = &p->values[each.arg->u.value];
    v->last = p->end;
    v->is_result = v->needs_all = true;
  }
  return FNZ_OK;
}

/* --- Frames ------------------------------------------------------------------------------ */
/* Notes where values are born, and opens frames for values that follow no other one. */
static fnz_status open_frames(fnzi_pln_planner *p, const fnz_arg *args, size_t count,
                              uint32_t born) {
  FNZI_PLN_EACH_TENSOR(each, p, args, count) {
    uint32_t value = (uint32_t)each.arg->u.value;
    fnzi_pln_value *v = &p->values[value];
    v->born = born;
    if (!v->follows)
      v->root = value;
    if (!v->window)
      FNZ_TRY(fnzi_pln_map_dense(p, p->graph->values.data[value].geometry, false, &v->window));
  }
  return FNZ_OK;
}

static void follow(fnzi_pln_planner *p, uint32_t value, uint32_t base, const fnz_geometry *window) {
  fnzi_pln_value *v = &p->values[value];
  v->window = window;
  v->follows = true;
  v->root = p->values[base].root;
}

static fnz_status frame_of_view(fnzi_pln_planner *p, const fnzi_node *node,
                                const fnzi_pln_fact *fact) {
  uint32_t base = fnzi_pln_argument(node, 0);
  fnzi_pln_windows windows;
  size_t k = 0;
  FNZ_TRY(fnzi_pln_map_views(p, node, fact, p->values[base].window, &windows));
  if (!windows.data)
    return FNZ_OK;
  FNZI_PLN_EACH_TENSOR(each, p, node->outputs, node->noutputs) {
    uint32_t value = (uint32_t)each.arg->u.value;
    if (k < windows.count &&
        fnzi_same_sizes(&windows.data[k], p->graph->values.data[value].geometry)) {
      p->values[value].window = &windows.data[k];
      p->values[value].follows = true;
    }
    k++;
  }
  return FNZ_OK;
}

static fnz_status frame_of_update(fnzi_pln_planner *p, const fnzi_node *node, fnzi_pln_node *n) {
  uint32_t base = fnzi_pln_argument(node, 0), result = fnzi_pln_result_of(node);
  const fnz_geometry *region;
  /* Elements of a base that share bytes become several. */
  if (!fnzi_pln_map_injective(p->values[base].window))
    return FNZ_OK;
  follow(p, result, base, p->values[base].window);
  if (n->access != FNZI_PLN_ACCESS_SCATTER)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_region(p, node, n->fact, p->values[base].window, &region));
  if (!region || (n->fact->strided && !fnzi_pln_map_injective(region)))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_bytes_of(&p->scratch, region, p->most, &n->region));
  if (n->region.inexact)
    n->region = (fnzi_pln_bytes){0};
  return FNZ_OK;
}

static fnz_status find_frames(fnzi_pln_planner *p) {
  for (uint32_t n = 0; n < p->end; n++) {
    const fnzi_node *node = &p->graph->nodes.data[n];
    fnzi_pln_node *info = &p->nodes[n];
    FNZ_TRY(fnzi_pln_fact_find(p, node->op, &info->fact));
    info->access = (uint8_t)fnzi_pln_node_access(p, node, info->fact);
    if (info->access == FNZI_PLN_ACCESS_VIEW)
      FNZ_TRY(frame_of_view(p, node, info->fact));
    else if (info->access == FNZI_PLN_ACCESS_SAME) {
      uint32_t result = fnzi_pln_result_of(node),
               from = fnzi_pln_argument(node, info->fact->argument);
      const fnz_geometry *window;
      FNZ_TRY(fnzi_pln_map_expand(p, p->values[from].window, p->graph->values.data[result].geometry,
                                  &window));
      follow(p, result, from, window);
    } else if (info->access == FNZI_PLN_ACCESS_SCATTER || info->access == FNZI_PLN_ACCESS_BASE)
      FNZ_TRY(frame_of_update(p, node, info));
    FNZ_TRY(fnzi_pln_layout_choose(p, n));
    FNZ_TRY(open_frames(p, node->outputs, node->noutputs, n));
  }
  return FNZ_OK;
}

/* --- Needs ------------------------------------------------------------------------------- */
fnz_status fnzi_pln_image(fnzi_pln_planner *p, uint32_t value, fnzi_pln_bytes *out) {
  fnzi_pln_value *v = &p->values[value];
  if (!v->has_image) {
    FNZ_TRY(fnzi_pln_bytes_of(&p->scratch, v->window, p->most, &v->image));
    v->has_image = true;
    p->spans += v->image.count;
  }
  *out = v->image;
  return FNZ_OK;
}

static fnz_status needed_of(fnzi_pln_planner *p, uint32_t value, fnzi_pln_bytes *out) {
  *out = p->values[value].need;
  return p->values[value].needs_all ? fnzi_pln_image(p, value, out) : FNZ_OK;
}

static fnz_status add_need(fnzi_pln_planner *p, uint32_t value, fnzi_pln_bytes more) {
  fnzi_pln_value *v = &p->values[value];
  FNZ_TRY(fnzi_pln_bytes_join(&p->scratch, v->need, more, p->most, &v->need));
  p->spans += v->need.count;
  if (p->spans > FREE_SPANS + SPANS_PER_NODE * (size_t)p->end)
    p->most = COARSE;
  return FNZ_OK;
}

/* Adds the needs of a result of a view of `base`. It has another frame if no strides describe the
 * view. */
static fnz_status pass_need(fnzi_pln_planner *p, uint32_t result, uint32_t base) {
  const fnzi_pln_value *v = &p->values[result];
  fnzi_pln_value *value = &p->values[base];
  fnzi_pln_bytes need;
  if (value->needs_all)
    return FNZ_OK;
  value->needs_all =
      !v->follows || (v->needs_all && fnzi_is_dense(v->window) &&
                      fnz_geometry_numel(v->window) == fnz_geometry_numel(value->window));
  if (value->needs_all)
    return FNZ_OK;
  FNZ_TRY(needed_of(p, result, &need));
  return add_need(p, base, need);
}

static fnz_status need_of_base(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_node *info) {
  uint32_t base = fnzi_pln_argument(node, 0), result = fnzi_pln_result_of(node);
  fnzi_pln_bytes need;
  p->values[base].needs_all = p->values[base].needs_all || !p->values[result].follows;
  if (p->values[base].needs_all)
    return FNZ_OK;
  FNZ_TRY(needed_of(p, result, &need));
  if (info->access == FNZI_PLN_ACCESS_BASE &&
      need.count > 0) { /* the kernel takes elements whole */
    int64_t cell = (int64_t)fnzi_dtype(p->values[result].window->dtype)->bytes;
    FNZ_TRY(fnzi_pln_bytes_round(&p->scratch, need, cell, &need));
    p->values[result].need = need;
  }
  FNZ_TRY(fnzi_pln_bytes_subtract(&p->scratch, need, info->region, p->most, &need));
  return add_need(p, base, need);
}

static fnz_status need_of_node(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_node *info) {
  uint32_t first = fnzi_pln_argument(node, 0), skip = 0;
  if (info->access == FNZI_PLN_ACCESS_SAME)
    return pass_need(p, fnzi_pln_result_of(node), fnzi_pln_argument(node, info->fact->argument));
  if (info->access == FNZI_PLN_ACCESS_VIEW) {
    FNZI_PLN_EACH_TENSOR(each, p, node->outputs, node->noutputs)
      FNZ_TRY(pass_need(p, (uint32_t)each.arg->u.value, first));
    return FNZ_OK;
  }
  if (info->access == FNZI_PLN_ACCESS_SCATTER || info->access == FNZI_PLN_ACCESS_BASE) {
    FNZ_TRY(need_of_base(p, node, info));
    skip = 1;
  }
  FNZI_PLN_EACH_TENSOR(each, p, node->args + skip, node->nargs - skip)
    p->values[each.arg->u.value].needs_all = true;
  return FNZ_OK;
}

fnz_status fnzi_pln_uses_find(fnzi_pln_planner *p) {
  p->most = FINE;
  FNZ_TRY(list_uses(p));
  FNZ_TRY(open_frames(p, p->graph->inputs, p->graph->ninputs, FNZI_PLN_NONE));
  FNZ_TRY(find_frames(p));
  for (uint32_t n = p->end; n-- > 0;) {
    FNZ_TRY(fnzi_task_look(p->ctx));
    FNZ_TRY(need_of_node(p, &p->graph->nodes.data[n], &p->nodes[n]));
  }
  return FNZ_OK;
}
