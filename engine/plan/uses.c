/* uses.c - finds the readers of a value, its frame, and its needed bytes.
 *
 * The needed bytes of a value are the union over its uses. A use by a view needs the needed bytes
 * of the view's results. A use as the base of an update needs the needed bytes of the result, less
 * the bytes that the update writes. Other uses need all bytes. One sweep backwards finds them. */
#include "engine/plan/planner.h"

/* The most spans of a set while few spans exist (FINE), and when many do (COARSE). */
enum { FINE = 4096, COARSE = 8, FREE_SPANS = 1 << 16, SPANS_PER_NODE = 64 };

/* --- Uses -------------------------------------------------------------------------------- */
static fnz_status count_use(fnzi_pln_planner *p, uint32_t value, void *user) {
  (void)user;
  p->values[value].uses++;
  return FNZ_OK;
}

/* Nodes come in order, so that the uses of a value are sorted. */
static fnz_status write_use(fnzi_pln_planner *p, uint32_t value, void *user) {
  const uint32_t *node = user;
  fnzi_pln_value *v = &p->values[value];
  p->uses[v->use + v->uses++] = *node;
  v->last = *node;
  return FNZ_OK;
}

static fnz_status is_born(fnzi_pln_planner *p, uint32_t value, void *user) {
  p->values[value].born = *(const uint32_t *)user;
  return FNZ_OK;
}

static fnz_status list_uses(fnzi_pln_planner *p) {
  const fnzi_graph *g = p->graph;
  uint32_t all = 0;
  for (uint32_t n = 0; n < p->end; n++)
    FNZ_TRY(fnzi_pln_each_value(p, g->nodes.data[n].args, g->nodes.data[n].nargs, count_use, NULL));
  for (size_t v = 0; v < g->values.count; v++) {
    p->values[v].use = all;
    all += p->values[v].uses;
    p->values[v].uses = 0;
    p->values[v].last = p->values[v].born = FNZI_PLN_NONE;
  }
  FNZI_NEW(&p->scratch, all, &p->uses);
  for (uint32_t n = 0; n < p->end; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    FNZ_TRY(fnzi_pln_each_value(p, node->args, node->nargs, write_use, &n));
    FNZ_TRY(fnzi_pln_each_value(p, node->outputs, node->noutputs, is_born, &n));
  }
  return FNZ_OK;
}

static fnz_status is_result(fnzi_pln_planner *p, uint32_t value, void *user) {
  (void)user;
  p->values[value].last = p->end;
  p->values[value].is_result = p->values[value].needs_all = true;
  return FNZ_OK;
}

/* --- Frames ------------------------------------------------------------------------------ */
static fnz_status new_frame(fnzi_pln_planner *p, uint32_t value, void *user) {
  (void)user;
  fnzi_pln_value *v = &p->values[value];
  if (!v->follows)
    v->root = value;
  if (v->window != NULL)
    return FNZ_OK;
  return fnzi_pln_map_dense(p, p->graph->values.data[value].geometry, false, &v->window);
}

static void follow(fnzi_pln_planner *p, uint32_t value, uint32_t base, const fnz_geometry *window) {
  fnzi_pln_value *v = &p->values[value];
  v->window = window;
  v->follows = true;
  v->root = p->values[base].root;
}

typedef struct windows {
  const fnz_geometry *data;
  size_t count, next;
  uint32_t base;
} windows;

static fnz_status take_window(fnzi_pln_planner *p, uint32_t value, void *user) {
  windows *w = user;
  if (w->next < w->count &&
      fnzi_same_sizes(&w->data[w->next], p->graph->values.data[value].geometry)) {
    p->values[value].window = &w->data[w->next];
    p->values[value].follows = true;
  }
  w->next++;
  return FNZ_OK;
}

static fnz_status frame_of_view(fnzi_pln_planner *p, const fnzi_node *node,
                                const fnzi_pln_fact *fact) {
  fnz_geometry *made;
  windows w = {.base = fnzi_pln_argument(node, 0)};
  bool found;
  FNZ_TRY(fnzi_pln_map_views(p, node, fact, p->values[w.base].window, &made, &w.count, &found));
  w.data = made;
  if (!found)
    w.count = 0;
  return fnzi_pln_each_value(p, node->outputs, node->noutputs, take_window, &w);
}

static fnz_status frame_of_same(fnzi_pln_planner *p, const fnzi_node *node,
                                const fnzi_pln_fact *fact) {
  uint32_t result = fnzi_pln_result_of(node), from = fnzi_pln_argument(node, fact->of);
  const fnz_geometry *window;
  FNZ_TRY(fnzi_pln_map_expand(p, p->values[from].window, p->graph->values.data[result].geometry,
                              &window));
  follow(p, result, from, window);
  return FNZ_OK;
}

static fnz_status frame_of_update(fnzi_pln_planner *p, const fnzi_node *node, fnzi_pln_node *n) {
  uint32_t base = fnzi_pln_argument(node, 0), result = fnzi_pln_result_of(node);
  const fnz_geometry *region;
  bool found;
  /* Elements of a base that share bytes become several. */
  if (!fnzi_pln_map_injective(p->values[base].window))
    return FNZ_OK;
  follow(p, result, base, p->values[base].window);
  if (n->access != FNZI_PLN_ACCESS_SCATTER)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_region(p, node, n->fact, p->values[base].window, &region, &found));
  if (!found || (n->fact->strided && !fnzi_pln_map_injective(region)))
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
    else if (info->access == FNZI_PLN_ACCESS_SAME)
      FNZ_TRY(frame_of_same(p, node, info->fact));
    else if (info->access == FNZI_PLN_ACCESS_SCATTER || info->access == FNZI_PLN_ACCESS_BASE)
      FNZ_TRY(frame_of_update(p, node, info));
    FNZ_TRY(fnzi_pln_each_value(p, node->outputs, node->noutputs, new_frame, NULL));
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

static fnz_status needs_all(fnzi_pln_planner *p, uint32_t value, void *user) {
  (void)user;
  p->values[value].needs_all = true;
  return FNZ_OK;
}

/* Visits a result of a view of value `user`. It has another frame if no strides describe the view.
 */
static fnz_status pass_need(fnzi_pln_planner *p, uint32_t value, void *user) {
  uint32_t base = *(const uint32_t *)user;
  fnzi_pln_bytes need;
  if (p->values[base].needs_all)
    return FNZ_OK;
  if (!p->values[value].follows)
    return needs_all(p, base, NULL);
  if (p->values[value].needs_all &&
      fnz_geometry_numel(p->values[value].window) == fnz_geometry_numel(p->values[base].window) &&
      fnzi_is_dense(p->values[value].window))
    return needs_all(p, base, NULL);
  FNZ_TRY(needed_of(p, value, &need));
  return add_need(p, base, need);
}

static fnz_status need_of_base(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_node *info) {
  uint32_t base = fnzi_pln_argument(node, 0), result = fnzi_pln_result_of(node);
  fnzi_pln_bytes need;
  if (p->values[base].needs_all)
    return FNZ_OK;
  if (!p->values[result].follows)
    return needs_all(p, base, NULL);
  FNZ_TRY(needed_of(p, result, &need));
  if (info->access == FNZI_PLN_ACCESS_BASE &&
      need.count > 0) { /* the kernel takes elements whole */
    int64_t cell = (int64_t)fnzi_dtype(p->values[result].window->dtype)->bytes;
    FNZ_TRY(fnzi_pln_bytes_round(&p->scratch, need, cell, &need));
    p->values[result].need = need;
  }
  FNZ_TRY(fnzi_pln_bytes_less(&p->scratch, need, info->region, p->most, &need));
  return add_need(p, base, need);
}

static fnz_status need_of_node(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_node *info) {
  uint32_t first = fnzi_pln_argument(node, 0);
  uint32_t skip = 0;
  if (info->access == FNZI_PLN_ACCESS_VIEW)
    return fnzi_pln_each_value(p, node->outputs, node->noutputs, pass_need, &first);
  if (info->access == FNZI_PLN_ACCESS_SAME) {
    first = fnzi_pln_argument(node, info->fact->of);
    return pass_need(p, fnzi_pln_result_of(node), &first);
  }
  if (info->access == FNZI_PLN_ACCESS_SCATTER || info->access == FNZI_PLN_ACCESS_BASE) {
    FNZ_TRY(need_of_base(p, node, info));
    skip = 1;
  }
  return fnzi_pln_each_value(p, node->args + skip, node->nargs - skip, needs_all, NULL);
}

fnz_status fnzi_pln_uses_find(fnzi_pln_planner *p) {
  p->most = FINE;
  FNZ_TRY(list_uses(p));
  FNZ_TRY(fnzi_pln_each_value(p, p->graph->outputs, p->graph->noutputs, is_result, NULL));
  FNZ_TRY(fnzi_pln_each_value(p, p->graph->inputs, p->graph->ninputs, new_frame, NULL));
  FNZ_TRY(find_frames(p));
  for (uint32_t n = p->end; n-- > 0;)
    FNZ_TRY(need_of_node(p, &p->graph->nodes.data[n], &p->nodes[n]));
  return FNZ_OK;
}
