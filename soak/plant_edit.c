/* plant_edit.c - walking over the places of a functional form, and changing its nodes. */
#include "soak/plant_edit.h"

#include "soak/choices.h"

#include <math.h>
#include <stdio.h>

uint64_t fnzi_plant_choose(fnzi_planting *t, uint64_t n) {
  return splitmix64(&t->state) % n;
}

/* --- what was done --------------------------------------------------------------------------- */
FNZI_PRINTF(3, 0)
static void note(fnzi_planting *t, const char *place, const char *format, va_list args) {
  int used = snprintf(t->what, sizeof t->what, "%s%s", place, *place ? ": " : "");
  if (used >= 0 && (size_t)used < sizeof t->what)
    vsnprintf(t->what + used, sizeof t->what - (size_t)used, format, args);
}

fnz_status fnzi_plant_note(fnzi_planting *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  note(t, "", format, args);
  va_end(args);
  return FNZ_OK;
}

fnz_status fnzi_plant_note_node(fnzi_planting *t, uint32_t graph, uint32_t node, const char *format,
                                ...) {
  char place[160] = "outputs";
  va_list args;
  if (node < fnzi_graph_at(t->p, graph)->nodes.count)
    fnzi_node_place(t->p, graph, node, place);
  va_start(args, format);
  note(t, place, format, args);
  va_end(args);
  return FNZ_OK;
}

/* --- walking --------------------------------------------------------------------------------- */
bool fnzi_plant_next_node(fnzi_planting *t, fnzi_plant_at *at) {
  if (at->began)
    at->node++;
  at->began = true;
  for (; !t->what[0] && at->graph < t->p->graphs.count; at->graph++, at->node = 0) {
    at->g = fnzi_graph_at(t->p, at->graph);
    if (at->node < at->g->nodes.count) {
      at->n = &at->g->nodes.data[at->node];
      return true;
    }
  }
  return false;
}

/* Finds the next item in argument `top`, or in later arguments. */
static bool next_in_node(fnzi_plant_at *at) {
  for (;; at->top++, at->walks = false) {
    if (at->top >= at->n->nargs)
      return false;
    if (!at->walks)
      fnzi_walk_start(&at->walk, &at->n->args[at->top], 1);
    at->walks = true;
    fnzi_step step = fnzi_walk_next(&at->walk);
    while (step == FNZI_STEP_OPEN || step == FNZI_STEP_CLOSE)
      step = fnzi_walk_next(&at->walk);
    if (step != FNZI_STEP_ITEM)
      continue;
    at->arg = (fnz_arg *)(uintptr_t)at->walk.arg; /* in the arena of the program */
    return true;
  }
}

bool fnzi_plant_next_item(fnzi_planting *t, fnzi_plant_at *at) {
  if (t->what[0])
    return false;
  while (!at->began || at->node >= at->g->nodes.count || !next_in_node(at)) {
    if (!fnzi_plant_next_node(t, at))
      return false;
    at->top = 0;
    at->walks = false;
  }
  return true;
}

/* --- values ---------------------------------------------------------------------------------- */
/* The node that defines the value; NULL for an input. */
static fnzi_node *definer_of(const fnzi_graph *g, uint64_t value) {
  uint32_t node = g->values.data[value].node;
  return node == FNZI_NO_NODE ? NULL : &g->nodes.data[node];
}

const char *fnzi_plant_value_name(const fnzi_graph *g, uint64_t value) {
  return g->values.data[value].name;
}

bool fnzi_plant_before(const fnzi_graph *g, uint64_t value, uint64_t *out) {
  const fnzi_node *n = definer_of(g, value);
  if (!n || n->nargs == 0 || n->args[0].tag != FNZ_ARG_VALUE)
    return false;
  *out = n->args[0].u.value;
  return g->values.data[*out].geometry == g->values.data[value].geometry;
}

/* Inputs and what earlier nodes give; equal geometries of a program are one. */
bool fnzi_plant_other(fnzi_planting *t, const fnzi_graph *g, uint64_t value, uint32_t node,
                      uint64_t *out) {
  const fnz_geometry *geometry = g->values.data[value].geometry;
  uint64_t seen = 0;
  for (size_t i = 0; i < g->values.count; i++) {
    const fnzi_value *v = &g->values.data[i];
    bool is_known = v->node == FNZI_NO_NODE || v->node < node;
    if (i != value && geometry && v->geometry == geometry && is_known &&
        fnzi_plant_choose(t, ++seen) == 0)
      *out = i;
  }
  return seen > 0;
}

/* --- kinds of nodes -------------------------------------------------------------------------- */
bool fnzi_plant_is_scatter(const fnzi_node *n) {
  static const char *const words[] = {"scatter",    "index_put",      "index_copy", "masked_fill",
                                      "index_fill", "slice_backward", "put"};
  const char *name = fnzi_node_target(n);
  for (size_t i = 0; n->op && i < sizeof words / sizeof *words; i++)
    if (strstr(name, words[i]))
      return true;
  return false;
}

bool fnzi_plant_is_random(const fnzi_node *n) {
  return n->op && (n->op->tags & FNZI_TAG_RANDOM);
}

bool fnzi_plant_is_assertion(const fnzi_node *n) {
  const char *name = fnzi_node_target(n);
  return strstr(name, "_assert") || fnzi_starts_with(name, "sym_constrain_range");
}

bool fnzi_plant_is_used(const fnzi_graph *g, const fnzi_node *n) {
  for (size_t i = 0; i <= g->nodes.count; i++) {
    const fnzi_node *by = i < g->nodes.count ? &g->nodes.data[i] : NULL;
    FNZI_EACH_ARG(each, by ? by->args : g->outputs, by ? by->nargs : g->noutputs)
      if (fnzi_is_reference(each.arg) && definer_of(g, each.arg->u.value) == n)
        return true;
  }
  return false;
}

/* --- changing nodes -------------------------------------------------------------------------- */
void fnzi_plant_replace(fnzi_graph *g, uint64_t from, uint64_t to) {
  for (size_t i = 0; i <= g->nodes.count; i++) {
    const fnzi_node *by = i < g->nodes.count ? &g->nodes.data[i] : NULL;
    FNZI_EACH_ARG(each, by ? by->args : g->outputs, by ? by->nargs : g->noutputs)
      if (fnzi_is_reference(each.arg) && each.arg->u.value == from)
        ((fnz_arg *)(uintptr_t)each.arg)->u.value = to;
  }
}

/* Values follow their nodes: those at from ... move by `by`. */
static void renumber(fnzi_graph *g, uint32_t from, int by) {
  for (size_t i = 0; i < g->values.count; i++)
    if (g->values.data[i].node != FNZI_NO_NODE && g->values.data[i].node >= from)
      g->values.data[i].node += (uint32_t)by;
}

void fnzi_plant_remove(fnzi_graph *g, uint32_t node) {
  size_t behind = --g->nodes.count - node;
  memmove(&g->nodes.data[node], &g->nodes.data[node + 1], behind * sizeof *g->nodes.data);
  renumber(g, node + 1, -1);
}

fnz_status fnzi_plant_insert(fnzi_planting *t, uint32_t graph, uint32_t node, fnzi_node **out) {
  fnzi_graph *g = fnzi_graph_at(t->p, graph);
  const fnzi_node nothing = {.source = ""};
  FNZI_PUSH(t->p->ctx, &g->nodes, nothing);
  memmove(&g->nodes.data[node + 1], &g->nodes.data[node],
          (g->nodes.count - 1 - node) * sizeof nothing);
  g->nodes.data[node] = nothing;
  renumber(g, node, 1);
  *out = &g->nodes.data[node];
  return FNZ_OK;
}

void fnzi_plant_move(fnzi_graph *g, uint32_t from, uint32_t to) {
  const fnzi_node moved = g->nodes.data[from];
  memmove(&g->nodes.data[to + 1], &g->nodes.data[to], (from - to) * sizeof moved);
  g->nodes.data[to] = moved;
  for (size_t i = 0; i < g->values.count; i++) {
    uint32_t *node = &g->values.data[i].node;
    if (*node == from)
      *node = to;
    else if (*node != FNZI_NO_NODE && *node >= to && *node < from)
      ++*node;
  }
}

bool fnzi_plant_has_other_strides(const fnz_geometry *g) {
  uint32_t large = 0;
  for (uint32_t d = 0; g && d < g->rank; d++)
    large += g->sizes[d] > 1;
  return large > 1 && !g->symbols && fnz_geometry_numel(g) > 0 && fnzi_is_dense(g);
}

/* Row-major becomes column-major, and the other way round. */
fnz_status fnzi_plant_other_strides(fnzi_planting *t, fnzi_value *v) {
  const fnz_geometry *g = v->geometry;
  fnz_geometry other = *g;
  int64_t *strides, step = 1;
  const bool in_rows = fnzi_is_contiguous(g);
  FNZI_NEW(&t->p->arena, g->rank, &strides);
  for (uint32_t i = 0; i < g->rank; i++) {
    uint32_t d = in_rows ? i : g->rank - 1 - i;
    strides[d] = step;
    step *= g->sizes[d];
  }
  other.strides = strides;
  return fnzi_intern_geometry(t->p, &other, &v->geometry);
}

fnz_status fnzi_plant_set_operator(fnzi_planting *t, fnzi_node *n, const char *name, bool *done) {
  *done = false;
  if (!n->op) {
    fnzi_node_other other = *n->u.other;
    FNZ_TRY(fnzi_intern(t->p, name, strlen(name), &other.target));
    *done = true;
    return fnzi_node_keep(t->p, n, &other);
  }
  const fnz_op *op = fnzi_ops_find(name);
  if (!op || op->nparams != n->op->nparams || op->nreturns != n->op->nreturns)
    return FNZ_OK;
  n->op = op;
  *done = true;
  return FNZ_OK;
}

/* --- numbers --------------------------------------------------------------------------------- */
/* Dimensions and sizes are other kinds' matter. */
bool fnzi_plant_is_operand_number(const fnzi_plant_at *at) {
  /* The type of the parameter that the item is for; FNZI_TYPE_COUNT of a node without an operator.
   */
  fnzi_type type =
      at->n->op && at->top < at->n->op->nparams ? at->n->op->params[at->top].type : FNZI_TYPE_COUNT;
  if (at->arg->tag == FNZ_ARG_FLOAT)
    return !isnan(at->arg->u.f);
  return at->arg->tag == FNZ_ARG_INT &&
         (type == FNZI_TYPE_SCALAR || type == FNZI_TYPE_FLOAT || type == FNZI_TYPE_TENSOR);
}

/* Not from 0 to -1, which often is the same place counted from the end. */
fnz_status fnzi_plant_change_number(fnzi_planting *t, const fnzi_plant_at *at) {
  fnz_arg *arg = at->arg;
  if (arg->tag == FNZ_ARG_FLOAT) {
    double was = arg->u.f;
    arg->u.f = nextafter(was, was > 0 && isinf(was) ? 0 : INFINITY);
    return fnzi_plant_note_node(t, at->graph, at->node, "%.17g becomes %.17g", was, arg->u.f);
  }
  int64_t was = arg->u.i;
  if (arg->tag == FNZ_ARG_BOOL)
    arg->u.i = !was;
  else
    arg->u.i +=
        was == INT64_MAX || (was != 0 && was > INT64_MIN && fnzi_plant_choose(t, 2)) ? -1 : 1;
  return fnzi_plant_note_node(t, at->graph, at->node, "%lld becomes %lld", (long long)was,
                              (long long)arg->u.i);
}

fnz_status fnzi_plant_change_value(fnzi_planting *t, const fnzi_plant_at *at, uint64_t to) {
  uint64_t was = at->arg->u.value;
  at->arg->u.value = to;
  return fnzi_plant_note_node(t, at->graph, at->node, "%%%s becomes %%%s",
                              fnzi_plant_value_name(at->g, was), fnzi_plant_value_name(at->g, to));
}

/* --- causes ---------------------------------------------------------------------------------- */
static void mark_all(const fnz_arg *args, size_t count, uint8_t *marks) {
  FNZI_EACH_ARG(each, args, count)
    if (fnzi_is_reference(each.arg))
      marks[each.arg->u.value] = 1;
}

/* The graph says whether a loop goes on. */
static bool edit_is_condition(const fnz_program *p, uint32_t graph) {
  for (uint32_t k = 0; k < graph; k++) {
    const fnzi_graph *g = fnzi_graph_at(p, k);
    for (size_t i = 0; i < g->nodes.count; i++) {
      const fnzi_node *n = &g->nodes.data[i];
      if (strstr(fnzi_node_target(n), "while_loop") && n->nargs > 0 &&
          n->args[0].tag == FNZ_ARG_GRAPH && n->args[0].u.i == graph)
        return true;
    }
  }
  return false;
}

fnz_status fnzi_plant_causes(fnzi_planting *t, uint32_t graph, bool of_assertions, uint8_t **out) {
  const fnzi_graph *g = fnzi_graph_at(t->p, graph);
  FNZI_NEW(&t->p->arena, g->values.count + 1, out);
  for (size_t i = 0; i < g->nodes.count; i++) {
    const fnzi_node *n = &g->nodes.data[i];
    bool is_branch = strcmp(fnzi_node_target(n), "higher_order.cond") == 0 && n->nargs > 0;
    if (of_assertions && fnzi_plant_is_assertion(n))
      mark_all(n->args, n->nargs, *out);
    else if (!of_assertions && is_branch)
      mark_all(n->args, 1, *out);
  }
  if (!of_assertions && edit_is_condition(t->p, graph))
    mark_all(g->outputs, g->noutputs, *out);
  /* The causes of marked values, backwards, as definitions come before uses. */
  for (size_t i = g->nodes.count; i-- > 0;) {
    const fnzi_node *n = &g->nodes.data[i];
    bool any = false;
    FNZI_EACH_ARG(each, n->outputs, n->noutputs)
      any = any || (fnzi_is_reference(each.arg) && (*out)[each.arg->u.value]);
    if (any)
      mark_all(n->args, n->nargs, *out);
  }
  return FNZ_OK;
}
