/* region_ops_check.c - the node of a higher-order operator against its bodies.
 *
 * needs: a node that fnzi_hop_read() has read, of a program whose graphs are sound one by one.
 * checks: as many operands as the bodies have inputs, as many results as they give, and of each the
 *         kind, the dtype and the sizes. Strides may differ: a body takes tensors as they come. An
 *         input that is a literal takes that number only, in each turn. */
#include "program/region_ops.h"

#include <stdio.h>

typedef struct checking {
  fnz_context *ctx;
  const fnz_program *p;
  uint32_t graph;
  const fnzi_hop *hop;
} checking;

/* A value of the node and the value of a body that must match it. */
typedef struct pair {
  const fnz_arg *arg;
  uint32_t graph;
  const char *what;
  uint32_t number;
  bool sliced; /* it has one dimension more */
} pair;

static const fnz_geometry *region_ops_geometry_of(const checking *c, const pair *side) {
  return side->arg->tag == FNZ_ARG_VALUE
             ? fnzi_value_at(c->p, side->graph, side->arg->u.value)->geometry
             : NULL;
}

/* Numbers go together. */
enum { TENSOR, NUMBER, TOKEN, OBJECT, NOTHING };

static int kind_of(const fnz_arg *arg) {
  switch (arg->tag) {
  case FNZ_ARG_VALUE:
    return TENSOR;
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_INT:
  case FNZ_ARG_FLOAT:
  case FNZ_ARG_BOOL:
    return NUMBER;
  case FNZ_ARG_TOKEN:
    return TOKEN;
  case FNZ_ARG_OBJECT:
    return OBJECT;
  default:
    return NOTHING;
  }
}

/* "graph body_0", for messages. */
static void name_body(const checking *c, uint32_t graph, char out[64]) {
  const char *name = fnzi_graph_at(c->p, graph)->name;
  if (name[0] != '\0')
    snprintf(out, 64, "graph %.50s", name);
  else
    snprintf(out, 64, "graph %u", graph);
}

/* "f32[4,3]", as far as there is room. */
static void describe(const checking *c, const pair *side, char out[128]) {
  const fnz_geometry *g = region_ops_geometry_of(c, side);
  if (side->arg->tag == FNZ_ARG_INT) {
    snprintf(out, 128, "%lld", (long long)side->arg->u.i);
    return;
  }
  if (g == NULL) {
    snprintf(out, 128, "%s", kind_of(side->arg) == NUMBER ? "a number" : "no tensor");
    return;
  }
  int used = snprintf(out, 128, "%s[", fnzi_dtype(g->dtype)->name);
  for (uint32_t d = 0; d < g->rank && used < 90; d++)
    used += snprintf(out + used, 128 - (size_t)used, "%s%lld", d > 0 ? "," : "",
                     (long long)g->sizes[d]);
  snprintf(out + used, 128 - (size_t)used, used < 90 ? "]" : ",...]");
}

static fnz_status differ(const checking *c, const pair *a, const pair *b) {
  char body[64], first[128], second[128];
  name_body(c, b->graph, body);
  describe(c, a, first);
  describe(c, b, second);
  return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, "", "%s: %s %u is %s%s, but %s %u of %s is %s",
                   fnzi_node_target(c->hop->node), a->what, a->number, first,
                   a->sliced ? ", cut into slices" : "", b->what, b->number, body, second);
}

/* `a` has `more` leading dimensions that are left out. */
static bool same_sizes(const fnz_geometry *a, const fnz_geometry *b, uint32_t more) {
  if (a->rank != b->rank + more)
    return false;
  for (uint32_t d = 0; d < b->rank; d++) {
    bool symbolic = (a->symbols && a->symbols[d + more] != 0) || (b->symbols && b->symbols[d] != 0);
    if (!symbolic && a->sizes[d + more] != b->sizes[d])
      return false;
  }
  return true;
}

static fnz_status region_ops_compare(const checking *c, const pair *a, const pair *b) {
  const fnz_geometry *g = region_ops_geometry_of(c, a), *h = region_ops_geometry_of(c, b);
  bool literal = a->arg->tag == FNZ_ARG_INT && b->arg->tag == FNZ_ARG_INT;
  if (kind_of(a->arg) != kind_of(b->arg) || (literal && a->arg->u.i != b->arg->u.i))
    return differ(c, a, b);
  if (g == NULL || h == NULL)
    return FNZ_OK;
  bool same = g->dtype == h->dtype && same_sizes(g, h, a->sliced);
  return same ? FNZ_OK : differ(c, a, b);
}

static fnz_status refuse_numbers(const checking *c, uint32_t body, const char *what, uint32_t has,
                                 uint32_t needs) {
  char name[64];
  name_body(c, body, name);
  return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, "", "%s: %s has %u %s, the node has %u for them",
                   fnzi_node_target(c->hop->node), name, has, what, needs);
}

static fnz_status check_body_inputs(const checking *c, uint32_t body) {
  const fnzi_graph *g = fnzi_graph_at(c->p, body);
  uint32_t count = fnzi_hop_input_count(c->hop);
  if (g->ninputs != count)
    return refuse_numbers(c, body, "inputs", g->ninputs, count);
  for (uint32_t k = 0; k < count; k++) {
    bool sliced;
    pair a = {fnzi_hop_operand(c->hop, k, &sliced), c->graph, "operand", k, 0};
    pair b = {&g->inputs[k], body, "input", k, 0};
    a.sliced = sliced;
    FNZ_TRY(region_ops_compare(c, &a, &b));
  }
  return FNZ_OK;
}

/* The body's results against the node's; the first `carried` are not stacked, the others are where
 * `stacked`. */
static fnz_status check_body_results(const checking *c, uint32_t body, uint32_t carried,
                                     bool stacked) {
  const fnzi_graph *g = fnzi_graph_at(c->p, body);
  fnzi_operands results = c->hop->results;
  if (g->noutputs != results.count)
    return refuse_numbers(c, body, "outputs", g->noutputs, results.count);
  for (uint32_t k = 0; k < results.count; k++) {
    pair a = {&results.args[k], c->graph, "result", k, stacked && k >= carried};
    pair b = {&g->outputs[k], body, "output", k, 0};
    bool unused = a.arg->tag == FNZ_ARG_NONE;
    if (!unused)
      FNZ_TRY(region_ops_compare(c, &a, &b));
  }
  return FNZ_OK;
}

/* The results of an iteration are the inputs of the next one; a scan gives more, which it stacks.
 */
static fnz_status check_iteration(const checking *c, uint32_t body, uint32_t count) {
  const fnzi_graph *g = fnzi_graph_at(c->p, body);
  bool gives_more = c->hop->kind == FNZI_HOP_SCAN;
  if (gives_more ? g->noutputs < count : g->noutputs != count)
    return refuse_numbers(c, body, "outputs", g->noutputs, count);
  for (uint32_t k = 0; k < count; k++) {
    pair a = {&g->outputs[k], body, "output", k, 0};
    pair b = {&g->inputs[k], body, "input", k, 0};
    FNZ_TRY(region_ops_compare(c, &a, &b));
  }
  return FNZ_OK;
}

static fnz_status check_condition(const checking *c, uint32_t body) {
  const fnzi_graph *g = fnzi_graph_at(c->p, body);
  if (g->noutputs != 1)
    return refuse_numbers(c, body, "outputs", g->noutputs, 1);
  pair b = {&g->outputs[0], body, "output", 0, 0};
  const fnz_geometry *geometry = region_ops_geometry_of(c, &b);
  char name[64];
  bool fits = kind_of(b.arg) == NUMBER || (geometry != NULL && fnz_geometry_numel(geometry) == 1);
  if (fits)
    return FNZ_OK;
  name_body(c, body, name);
  return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, "", "%s: %s is its condition, but gives no single bool",
                   fnzi_node_target(c->hop->node), name);
}

/* Every tensor that is cut has the same number of slices. */
static fnz_status check_slices(const checking *c) {
  const fnz_geometry *first = NULL;
  if (c->hop->xs.count == 0)
    return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, "", "%s has nothing to go along",
                     fnzi_node_target(c->hop->node));
  for (uint32_t i = 0; i < c->hop->xs.count; i++) {
    const fnz_geometry *g = fnzi_value_at(c->p, c->graph, c->hop->xs.args[i].u.value)->geometry;
    if (g->rank == 0)
      return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, "", "%s: scanned operand %u has no dimension",
                       fnzi_node_target(c->hop->node), i);
    bool symbolic = g->symbols && g->symbols[0] != 0;
    if (first != NULL && !symbolic && g->sizes[0] != first->sizes[0])
      return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, "", "%s: scanned operands of %lld and %lld slices",
                       fnzi_node_target(c->hop->node), (long long)first->sizes[0],
                       (long long)g->sizes[0]);
    first = symbolic ? first : g;
  }
  return FNZ_OK;
}

fnz_status fnzi_hop_check(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                          const fnzi_hop *hop) {
  checking c = {ctx, p, graph, hop};
  uint32_t carried = hop->carried.count;
  if (hop->kind == FNZI_HOP_EFFECT) {
    if (hop->results.count < 1 || hop->results.args[0].tag != FNZ_ARG_TOKEN)
      return fnzi_fail(c.ctx, FNZ_CLASS_TYPE, "", "%s: the first result must be a token",
                       fnzi_node_target(hop->node));
    if (hop->captured.count <= hop->op->nparams)
      return FNZ_OK;
    return fnzi_fail(c.ctx, FNZ_CLASS_TYPE, "", "%s: %u arguments for %s",
                     fnzi_node_target(hop->node), hop->captured.count, hop->op->name);
  }
  if (hop->kind == FNZI_HOP_COND) {
    pair a = {c.hop->pred, c.graph, "operand", 0, 0};
    const fnz_geometry *g = region_ops_geometry_of(&c, &a);
    if (g != NULL && fnz_geometry_numel(g) != 1)
      return fnzi_fail(c.ctx, FNZ_CLASS_TYPE, "", "%s: the predicate has %lld elements, not 1",
                       fnzi_node_target(c.hop->node), (long long)fnz_geometry_numel(g));
  }
  bool stacked = hop->kind == FNZI_HOP_MAP || hop->kind == FNZI_HOP_SCAN ||
                 hop->kind == FNZI_HOP_ASSOCIATIVE_SCAN;
  if (stacked)
    FNZ_TRY(check_slices(&c));
  for (uint32_t i = 0; i < hop->nbodies; i++)
    FNZ_TRY(check_body_inputs(&c, hop->bodies[i]));
  if (hop->kind == FNZI_HOP_WHILE_LOOP)
    FNZ_TRY(check_condition(&c, hop->bodies[0]));
  for (uint32_t i = hop->kind == FNZI_HOP_WHILE_LOOP; i < hop->nbodies; i++)
    FNZ_TRY(check_body_results(&c, hop->bodies[i], carried, stacked));
  if (hop->kind == FNZI_HOP_ASSOCIATIVE_SCAN)
    return check_iteration(&c, hop->bodies[0], hop->xs.count);
  bool is_loop = hop->kind == FNZI_HOP_WHILE_LOOP || hop->kind == FNZI_HOP_SCAN;
  return is_loop ? check_iteration(&c, hop->bodies[hop->nbodies - 1], carried) : FNZ_OK;
}
