/* trivial.c - plans without analysis: every value has its own memory and every node is a call; or
 * the interpreter evaluates every node. */
#include "engine/plan/planner.h"
#include "engine/steps/steps.h"
#include "program/state_io.h"
#include "schema/aten_names.h"

typedef struct builder {
  fnz_context *ctx;
  const fnz_program *program;
  const fnzi_graph *graph;
  const fnzi_pln_policy *policy;
  fnzi_pln_plan *plan;
} builder;

static fnz_status trivial_add_step(builder *m, fnzi_pln_step step) {
  step.first = step.last;
  FNZI_PUSH(m->ctx, &m->plan->steps, step);
  return FNZ_OK;
}

static bool is_writable(const builder *m, uint32_t k) {
  return m->policy->writable && m->policy->writable[k];
}

/* Adds a row-major window that fills its own buffer. */
static fnz_status add_row_major(builder *m, const fnz_geometry *g, fnzi_pln_buffer_kind kind,
                                uint32_t owner, fnzi_pln_location *out) {
  fnz_geometry *map;
  int64_t *strides;
  size_t bytes = fnzi_pln_map_bytes(g);
  fnzi_pln_buffer buffer = {.kind = (uint8_t)kind, .bytes = bytes};
  FNZI_NEW(&m->plan->arena, 1, &map);
  FNZI_NEW(&m->plan->arena, g->rank, &strides);
  *map = *g;
  map->offset = 0;
  map->symbols = NULL;
  map->strides = strides;
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  out->map = map;
  buffer.output = owner;
  if (kind == FNZI_PLN_TEMP) {
    buffer.value = owner;
    size_t padded = fnzi_pln_padded(bytes);
    buffer.offset = m->plan->arena_bytes;
    if (padded < bytes || !fnzi_add_size(m->plan->arena_bytes, padded, &m->plan->arena_bytes))
      return fnzi_no_memory(m->ctx);
  }
  out->buffer = (uint32_t)m->plan->buffers.count;
  FNZI_PUSH(m->ctx, &m->plan->buffers, buffer);
  return FNZ_OK;
}

static fnz_status place_inputs(builder *m) {
  uint32_t *buffers;
  FNZI_NEW(&m->plan->arena, m->graph->ninputs, &buffers);
  for (uint32_t k = 0; k < m->graph->ninputs; k++) {
    const fnz_arg *arg = &m->graph->inputs[k];
    uint32_t first = fnzi_memory_of(m->program, k);
    int64_t low, high;
    if (arg->tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *g = m->policy->layouts ? m->policy->layouts[k] : NULL;
    g = g ? g : m->graph->values.data[arg->u.value].geometry;
    if (!fnzi_extent(g, &low, &high) || low < 0)
      return fnzi_fail(m->ctx, FNZ_CLASS_BOUNDS, "", "a tensor begins before its memory");
    size_t bytes = (size_t)high * fnzi_dtype(g->dtype)->bytes;
    fnzi_pln_buffer added = {.kind = is_writable(m, k) ? FNZI_PLN_STATE : FNZI_PLN_CONST,
                             .input = k};
    if (first == k) {
      buffers[k] = (uint32_t)m->plan->buffers.count;
      FNZI_PUSH(m->ctx, &m->plan->buffers, added);
    }
    fnzi_pln_buffer *buffer = &m->plan->buffers.data[buffers[first]];
    buffer->bytes = bytes > buffer->bytes ? bytes : buffer->bytes;
    m->plan->locations[arg->u.value] = (fnzi_pln_location){buffers[first], g};
  }
  return FNZ_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------ */
/* Adds the steps of a node. If result 0 has the type and sizes of argument 0, it starts as a copy
 * of it. */
static fnz_status plan_node(builder *m, uint32_t n) {
  const fnzi_node *node = &m->graph->nodes.data[n];
  const fnzi_value *values = m->graph->values.data;
  fnzi_pln_location *locations = m->plan->locations;
  fnzi_pln_step step = {.kind = node->op ? FNZI_PLN_CALL : FNZI_PLN_REGION,
                        .last = n,
                        .region = FNZI_PLN_NONE,
                        .scratch = FNZI_PLN_NONE};
  if (fnzi_pln_is_assertion(node)) /* no kernel computes it */
    return FNZ_OK;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(add_row_major(m, values[each.arg->u.value].geometry, FNZI_PLN_TEMP,
                            (uint32_t)each.arg->u.value, &locations[each.arg->u.value]));
  if (node->op && node->nargs && node->args[0].tag == FNZ_ARG_VALUE && node->noutputs &&
      node->outputs[0].tag == FNZ_ARG_VALUE) {
    uint64_t from = node->args[0].u.value, to = node->outputs[0].u.value;
    step.in_place = fnzi_pln_same_kind(values[from].geometry, values[to].geometry);
    if (step.in_place)
      FNZ_TRY(trivial_add_step(m, (fnzi_pln_step){.kind = FNZI_PLN_MOVE,
                                                  .rule = FNZI_PLN_BASE_ALIVE,
                                                  .last = n,
                                                  .value = (uint32_t)from,
                                                  .because = FNZI_PLN_NONE,
                                                  .from = locations[from],
                                                  .to = locations[to]}));
  }
  return trivial_add_step(m, step);
}

/* --- Outputs ---------------------------------------------------------------------------------- */
/* Returns the input whose memory the output has to end in; FNZI_PLN_NONE. */
static uint32_t state_of(const builder *m, uint32_t k) {
  const fnz_output_spec *spec = &m->program->outputs[k];
  const int kind = fnzi_io_input_kind_of(spec);
  bool is_final = kind != FNZI_NO_INPUT_KIND && !spec->metadata && !spec->set;
  for (uint32_t i = 0; is_final && m->policy->state && i < m->graph->ninputs; i++) {
    fnz_input_kind input_kind = m->program->inputs[i].kind;
    bool fits =
        (int)input_kind == kind || (input_kind == FNZ_INPUT_CONSTANT && kind == FNZ_INPUT_BUFFER);
    if (fits && is_writable(m, i) && strcmp(m->program->inputs[i].target, spec->target) == 0)
      return i;
  }
  return FNZI_PLN_NONE;
}

static fnz_status move_at_end(builder *m, uint64_t v, fnzi_pln_rule rule, fnzi_pln_location from,
                              fnzi_pln_location to) {
  return trivial_add_step(m, (fnzi_pln_step){.kind = FNZI_PLN_MOVE,
                                             .rule = (uint8_t)rule,
                                             .last = FNZI_PLN_NONE,
                                             .value = (uint32_t)v,
                                             .because = FNZI_PLN_NONE,
                                             .from = from,
                                             .to = to});
}

/* Locates outputs, and moves final values to their state. Everything is read before anything is
 * written. */
static fnz_status place_outputs(builder *m) {
  for (uint32_t k = 0; k < m->graph->noutputs; k++) {
    const fnz_arg *arg = &m->graph->outputs[k];
    if (arg->tag != FNZ_ARG_VALUE)
      continue;
    bool is_kept = state_of(m, k) != FNZI_PLN_NONE;
    FNZ_TRY(add_row_major(m, m->graph->values.data[arg->u.value].geometry,
                          is_kept ? FNZI_PLN_TEMP : FNZI_PLN_OUT, k, &m->plan->outputs[k]));
    FNZ_TRY(move_at_end(m, arg->u.value, is_kept ? FNZI_PLN_PARALLEL : FNZI_PLN_OUTPUT,
                        m->plan->locations[arg->u.value], m->plan->outputs[k]));
  }
  for (uint32_t k = 0; k < m->graph->noutputs; k++) {
    uint32_t owner = m->graph->outputs[k].tag == FNZ_ARG_VALUE ? state_of(m, k) : FNZI_PLN_NONE;
    if (owner == FNZI_PLN_NONE)
      continue;
    fnzi_pln_location to = m->plan->locations[m->graph->inputs[owner].u.value];
    FNZ_TRY(move_at_end(m, m->graph->outputs[k].u.value, FNZI_PLN_FINAL, m->plan->outputs[k], to));
    m->plan->outputs[k] = to;
  }
  return FNZ_OK;
}

static fnz_status make(builder *m, bool interpreted) {
  fnzi_pln_plan *plan = m->plan;
  fnzi_arena_init(&plan->arena, m->ctx);
  plan->program = m->program;
  plan->nvalues = m->graph->values.count;
  plan->noutputs = m->graph->noutputs;
  FNZI_NEW(&plan->arena, plan->nvalues, &plan->locations);
  FNZI_NEW(&plan->arena, plan->noutputs, &plan->outputs);
  for (size_t v = 0; v < plan->nvalues; v++)
    plan->locations[v].buffer = FNZI_PLN_NONE;
  for (size_t k = 0; k < plan->noutputs; k++)
    plan->outputs[k].buffer = FNZI_PLN_NONE;
  FNZ_TRY(place_inputs(m));
  for (uint32_t n = 0; n < m->graph->nodes.count; n++)
    if (interpreted)
      FNZ_TRY(trivial_add_step(m, (fnzi_pln_step){.kind = FNZI_PLN_APPLY, .last = n}));
    else if (!fnzi_pln_is_assertion(&m->graph->nodes.data[n]))
      FNZ_TRY(plan_node(m, n));
  return interpreted ? FNZ_OK : place_outputs(m);
}

fnz_status fnzi_stp_plan_trivial(fnz_context *ctx, const fnz_program *program,
                                 const fnzi_pln_policy *policy, bool interpreted,
                                 fnzi_pln_plan *out) {
  builder m = {ctx, program, fnzi_graph_main(program), policy, out};
  fnz_status status = make(&m, interpreted);
  if (status != FNZ_OK)
    fnzi_pln_free(ctx, out);
  return status;
}
