/* figures.c - counts the steps, copies, bytes and in-place updates of a plan. */
#include "engine/tell/tell.h"
#include "kernels/backends.h"
#include "program/state_io.h"

typedef struct sum {
  const fnzi_graph *graph;
  uint64_t bytes;
} sum;

static fnz_status add_bytes(void *user, const fnz_arg *arg) {
  sum *s = user;
  if (arg->tag == FNZ_ARG_VALUE)
    s->bytes += fnzi_pln_map_bytes(s->graph->values.data[arg->u.value].geometry);
  return FNZ_OK;
}

static uint64_t args_bytes(const fnzi_graph *g, const fnz_arg *args, size_t count) {
  sum s = {g, 0};
  return fnzi_args_visit(args, count, add_bytes, &s) == FNZ_OK ? s.bytes : 0;
}

/* --- Groups ------------------------------------------------------------------------------ */
typedef struct search {
  uint64_t value;
  bool found;
} search;

static fnz_status find_value(void *user, const fnz_arg *arg) {
  search *s = user;
  s->found = s->found || (arg->tag == FNZ_ARG_VALUE && arg->u.value == s->value);
  return FNZ_OK;
}

typedef struct group_sum {
  const fnzi_pln_plan *plan;
  uint32_t first, node;
  uint64_t read;
} group_sum;

/* An earlier node of the group makes it, or takes it from outside. */
static fnz_status add_operand(void *user, const fnz_arg *arg) {
  group_sum *g = user;
  const fnzi_graph *graph = fnzi_graph_at(g->plan->program, 0);
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  search s = {arg->u.value, false};
  for (uint32_t n = g->first; n < g->node && !s.found; n++) {
    const fnzi_node *node = &graph->nodes.data[n];
    FNZ_TRY(fnzi_args_visit(node->args, node->nargs, find_value, &s));
    FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, find_value, &s));
  }
  g->read += s.found ? 0 : fnzi_pln_map_bytes(graph->values.data[arg->u.value].geometry);
  return FNZ_OK;
}

void fnzi_tell_group_bytes(const fnzi_pln_plan *plan, const fnzi_pln_step *s, uint64_t *read,
                           uint64_t *written) {
  const fnzi_graph *graph = fnzi_graph_at(plan->program, 0);
  group_sum g = {.plan = plan, .first = s->first, .node = s->first};
  fnz_status status = FNZ_OK;
  *written = 0;
  for (; g.node <= s->node && status == FNZ_OK; g.node++) {
    const fnzi_node *node = &graph->nodes.data[g.node];
    status = fnzi_args_visit(node->args, node->nargs, add_operand, &g);
    for (uint32_t k = 0; k < node->noutputs; k++) {
      uint64_t value = node->outputs[k].u.value;
      if (node->outputs[k].tag == FNZ_ARG_VALUE && plan->places[value].buffer != FNZI_PLN_NONE)
        *written += fnzi_pln_map_bytes(graph->values.data[value].geometry);
    }
  }
  *read = g.read;
}

static bool is_copy(const fnzi_pln_step *s) {
  return s->kind == FNZI_PLN_MOVE && s->rule != FNZI_PLN_UPDATE && s->rule != FNZI_PLN_JOIN;
}

/* How much an update in place writes, data say: it counts with as many bytes as it reads. */
static void count_step(const fnzi_pln_plan *plan, const fnzi_pln_step *s, fnzi_tell_figures *out) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  if (s->kind == FNZI_PLN_MOVE) {
    out->read += fnzi_pln_map_bytes(s->from.map);
    out->written += fnzi_pln_map_bytes(s->to.map);
    out->copies += is_copy(s);
    out->copied += is_copy(s) ? fnzi_pln_map_bytes(s->to.map) : 0;
    return;
  }
  if (s->kind == FNZI_PLN_GROUP) {
    uint64_t taken, stored;
    fnzi_tell_group_bytes(plan, s, &taken, &stored);
    out->groups++;
    out->read += taken;
    out->written += stored;
    return;
  }
  const fnzi_node *node = &g->nodes.data[s->node];
  uint64_t read = args_bytes(g, node->args + s->in_place, node->nargs - s->in_place);
  out->calls++;
  out->read += read;
  out->written += s->in_place ? read : args_bytes(g, node->outputs, node->noutputs);
}

/* A region update of a base: a scatter, or a kernel that changes argument 0. */
static bool is_update(const fnzi_node *node) {
  const fnzi_kernel *row = node->op ? fnzi_kernel_row(node->op) : NULL;
  return row && row->memory == FNZI_MEMORY_BASE;
}

static void count_updates(const fnzi_pln_plan *plan, fnzi_tell_figures *out) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  size_t s = 0;
  for (uint32_t n = 0; n < g->nodes.count; n++) {
    size_t copies = 0, steps = 0;
    const fnzi_node *node = &g->nodes.data[n];
    for (; s < plan->steps.count && plan->steps.data[s].node == n; s++, steps++) {
      const fnzi_pln_step *step = &plan->steps.data[s];
      bool of_base =
          node->nargs && node->args[0].tag == FNZ_ARG_VALUE && node->args[0].u.value == step->value;
      copies += is_copy(step) && of_base;
    }
    if (!is_update(node))
      continue;
    out->updates++;
    out->in_place += copies == 0;
    out->idle += steps == 0;
  }
}

static void count_ends(const fnzi_pln_plan *plan, fnzi_tell_figures *out) {
  for (size_t k = 0; k < plan->noutputs; k++) {
    uint32_t buffer = plan->outputs[k].buffer;
    bool is_final = fnzi_io_input_kind_of(&plan->program->outputs[k]) != FNZI_NO_INPUT_KIND;
    if (is_final && buffer != FNZI_PLN_NONE && plan->buffers.data[buffer].kind == FNZI_PLN_STATE)
      out->finals++;
  }
  out->finals_in_place = out->finals;
  for (size_t s = 0; s < plan->steps.count; s++)
    if (plan->steps.data[s].kind == FNZI_PLN_MOVE && plan->steps.data[s].rule == FNZI_PLN_FINAL)
      out->finals_in_place--;
}

void fnzi_tell_figures_of(const fnzi_pln_plan *plan, fnzi_tell_figures *out) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  *out = (fnzi_tell_figures){.nodes = g->nodes.count, .steps = plan->steps.count};
  for (size_t s = 0; s < plan->steps.count; s++)
    count_step(plan, &plan->steps.data[s], out);
  for (size_t s = 0; s < plan->steps.count; out->launches++)
    s += plan->steps.data[s].sets > 1 ? plan->steps.data[s].sets : 1;
  count_updates(plan, out);
  count_ends(plan, out);
  for (uint32_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    out->naive += args_bytes(g, node->args, node->nargs);
    out->naive += args_bytes(g, node->outputs, node->noutputs);
  }
}
