/* plant_bodies.c - mistakes in regions and their bodies, and in weights. */
#include "soak/plant_edit.h"

/* --- regions --------------------------------------------------------------------------------- */
fnz_status fnzi_plant_branches_swapped(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    if (strcmp(fnzi_node_target(at.n), "higher_order.cond") != 0 || at.n->nargs < 3 ||
        at.n->args[1].tag != FNZ_ARG_GRAPH || at.n->args[2].tag != FNZ_ARG_GRAPH ||
        !fnzi_plant_here(t))
      continue;
    const fnz_arg first = at.n->args[1];
    at.n->args[1] = at.n->args[2];
    at.n->args[2] = first;
    return fnzi_plant_note_node(t, at.graph, at.node, "its branches are swapped");
  }
  return FNZ_OK;
}

static bool has_bodies(const fnzi_node *n) {
  for (uint32_t i = 0; i < n->nargs; i++)
    if (n->args[i].tag == FNZ_ARG_GRAPH)
      return true;
  return false;
}

/* Two neighbours of one list that look the same. */
fnz_status fnzi_plant_body_operands(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);)
    for (uint32_t i = 0; has_bodies(at.n) && i < at.n->nargs; i++) {
      fnz_arg *items = (fnz_arg *)(uintptr_t)at.n->args[i].u.list;
      for (uint32_t k = 1; at.n->args[i].tag == FNZ_ARG_LIST && k < at.n->args[i].count; k++) {
        fnz_arg *a = &items[k - 1], *b = &items[k];
        if (a->tag != FNZ_ARG_VALUE || b->tag != FNZ_ARG_VALUE || a->u.value == b->u.value ||
            at.g->values.data[a->u.value].geometry != at.g->values.data[b->u.value].geometry ||
            !fnzi_plant_here(t))
          continue;
        const fnz_arg first = *a;
        *a = *b;
        *b = first;
        return fnzi_plant_note_node(t, at.graph, at.node, "operands %u and %u swapped", k - 1, k);
      }
    }
  return FNZ_OK;
}

/* Another dimension, direction or count. */
fnz_status fnzi_plant_body_number(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);)
    if ((at.arg->tag == FNZ_ARG_INT || at.arg->tag == FNZ_ARG_BOOL) && has_bodies(at.n) &&
        fnzi_plant_here(t))
      return fnzi_plant_change_number(t, &at);
  return FNZ_OK;
}

/* --- bodies ---------------------------------------------------------------------------------- */
fnz_status fnzi_plant_body_results(fnzi_planting *t) {
  for (uint32_t graph = 1; graph < t->p->graphs.count; graph++) {
    fnzi_graph *g = fnzi_graph_at(t->p, graph);
    for (uint32_t k = 1; k < g->noutputs; k++) {
      fnz_arg *a = &g->outputs[k - 1], *b = &g->outputs[k];
      if (a->tag != FNZ_ARG_VALUE || b->tag != FNZ_ARG_VALUE || a->u.value == b->u.value ||
          g->values.data[a->u.value].geometry != g->values.data[b->u.value].geometry ||
          !fnzi_plant_here(t))
        continue;
      const fnz_arg first = *a;
      *a = *b;
      *b = first;
      return fnzi_plant_note(t, "results %u and %u of %s swapped", k - 1, k, g->name);
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_body_result(fnzi_planting *t) {
  for (uint32_t graph = 1; graph < t->p->graphs.count; graph++) {
    fnzi_graph *g = fnzi_graph_at(t->p, graph);
    for (uint32_t k = 0; k < g->noutputs; k++) {
      uint64_t other;
      if (g->outputs[k].tag != FNZ_ARG_VALUE ||
          !fnzi_plant_other(t, g, g->outputs[k].u.value, (uint32_t)g->nodes.count, &other) ||
          !fnzi_plant_here(t))
        continue;
      g->outputs[k].u.value = other;
      return fnzi_plant_note(t, "result %u of %s is %%%s", k, g->name,
                             fnzi_plant_value_name(g, other));
    }
  }
  return FNZ_OK;
}

/* --- weights --------------------------------------------------------------------------------- */
/* The lowest bit of one element: a number beside its own. Other weights over the same bytes keep
 * theirs. */
fnz_status fnzi_plant_weight(fnzi_planting *t) {
  for (size_t k = 0; k < t->p->weights.count; k++) {
    fnzi_weight *w = &t->p->weights.data[k];
    const fnz_geometry *g = w->geometry;
    size_t item = fnzi_dtype(g->dtype)->bytes;
    fnzi_blob *changed;
    if (!w->blob || fnz_geometry_numel(g) == 0 || !fnzi_plant_here(t))
      continue;
    int64_t at = g->offset;
    for (uint32_t d = 0; d < g->rank; d++)
      at += (int64_t)fnzi_plant_choose(t, (uint64_t)g->sizes[d]) * g->strides[d];
    FNZ_TRY(fnzi_blob_create(t->p->ctx, fnzi_blob_bytes(w->blob), &changed));
    memcpy(fnzi_blob_data(changed), fnzi_blob_data(w->blob), fnzi_blob_bytes(w->blob));
    ((unsigned char *)fnzi_blob_data(changed))[(size_t)at * item] ^= 1;
    fnzi_blob_release(w->blob);
    w->blob = changed;
    return fnzi_plant_note(t, "element %lld of %s", (long long)at, w->name);
  }
  return FNZ_OK;
}
