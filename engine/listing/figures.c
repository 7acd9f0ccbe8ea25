/* figures.c - counts the steps, copies, bytes and in-place updates of a plan. */
#include "engine/listing/listing.h"
#include "kernels/backends.h"
#include "program/state_io.h"

static uint64_t args_bytes(const fnzi_graph *g, const fnz_arg *args, size_t count) {
  uint64_t bytes = 0;
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      bytes += fnzi_pln_map_bytes(g->values.data[each.arg->u.value].geometry);
  return bytes;
}

/* --- Groups ------------------------------------------------------------------------------ */
uint64_t fnzi_listing_stored_bytes(const fnzi_pln_plan *plan, const fnz_arg *args, size_t count) {
  uint64_t bytes = 0;
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE &&
        plan->locations[each.arg->u.value].buffer != FNZI_PLN_NONE)
      bytes += fnzi_pln_map_bytes(plan->locations[each.arg->u.value].map);
  return bytes;
}

static bool has_value(const fnz_arg *args, size_t count, uint64_t value) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE && each.arg->u.value == value)
      return true;
  return false;
}

/* Says that a node from `first` to before `end` makes the value, or takes it from outside. */
static bool is_met(const fnzi_graph *g, uint32_t first, uint32_t end, uint64_t value) {
  for (uint32_t n = first; n < end; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    if (has_value(node->args, node->nargs, value) ||
        has_value(node->outputs, node->noutputs, value))
      return true;
  }
  return false;
}

void fnzi_listing_group_bytes(const fnzi_pln_plan *plan, const fnzi_pln_step *s, uint64_t *read,
                              uint64_t *written) {
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  *read = *written = 0;
  for (uint32_t n = s->first; n <= s->last; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    FNZI_EACH_ARG(each, node->args, node->nargs)
      if (each.arg->tag == FNZ_ARG_VALUE && !is_met(g, s->first, n, each.arg->u.value))
        *read += fnzi_pln_map_bytes(g->values.data[each.arg->u.value].geometry);
    *written += fnzi_listing_stored_bytes(plan, node->outputs, node->noutputs);
  }
}

/* Counts a step. Data say how much an update in place writes: it counts with as many bytes as it
 * reads. */
static void count_step(const fnzi_pln_plan *plan, const fnzi_pln_step *s,
                       fnzi_listing_figures *out) {
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  if (s->kind == FNZI_PLN_MOVE) {
    out->read += fnzi_pln_map_bytes(s->from.map);
    out->written += fnzi_pln_map_bytes(s->to.map);
    out->copies += fnzi_listing_is_copy(s);
    out->copied += fnzi_listing_is_copy(s) ? fnzi_pln_map_bytes(s->to.map) : 0;
    return;
  }
  if (s->kind == FNZI_PLN_GROUP) {
    uint64_t read, written;
    fnzi_listing_group_bytes(plan, s, &read, &written);
    out->groups++;
    out->read += read;
    out->written += written;
    return;
  }
  const fnzi_node *node = &g->nodes.data[s->last];
  uint64_t read = args_bytes(g, node->args + s->in_place, node->nargs - s->in_place);
  out->calls++;
  out->read += read;
  out->written += s->in_place ? read : args_bytes(g, node->outputs, node->noutputs);
}

static void count_updates(const fnzi_pln_plan *plan, fnzi_listing_figures *out) {
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  size_t s = 0;
  for (uint32_t n = 0; n < g->nodes.count; n++) {
    size_t copies = 0, steps = 0;
    const fnzi_node *node = &g->nodes.data[n];
    for (; s < plan->steps.count && plan->steps.data[s].last == n; s++, steps++) {
      const fnzi_pln_step *step = &plan->steps.data[s];
      bool of_base =
          node->nargs && node->args[0].tag == FNZ_ARG_VALUE && node->args[0].u.value == step->value;
      copies += fnzi_listing_is_copy(step) && of_base;
    }
    const fnzi_kernel *row = node->op ? fnzi_kernel_row(node->op) : NULL;
    if (!row || row->memory != FNZI_MEMORY_BASE)
      continue; /* neither a scatter, nor a kernel that changes argument 0 */
    out->updates++;
    out->in_place += copies == 0;
    out->idle += steps == 0;
  }
}

void fnzi_listing_figures_of(const fnzi_pln_plan *plan, fnzi_listing_figures *out) {
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  *out = (fnzi_listing_figures){.nodes = g->nodes.count, .steps = plan->steps.count};
  for (size_t s = 0; s < plan->steps.count; s++)
    count_step(plan, &plan->steps.data[s], out);
  for (size_t s = 0; s < plan->steps.count; out->launches++)
    s += plan->steps.data[s].sets > 1 ? plan->steps.data[s].sets : 1;
  count_updates(plan, out);
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
  for (uint32_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    out->naive += args_bytes(g, node->args, node->nargs);
    out->naive += args_bytes(g, node->outputs, node->noutputs);
  }
}
