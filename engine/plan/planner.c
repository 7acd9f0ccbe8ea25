/* planner.c - makes a plan: calls the files of planner.h in order. */
#include "engine/plan/planner.h"

#include "program/state_io.h"

/* --- Inputs ------------------------------------------------------------------------------ */
/* Maps "buffer.cache" and the like to the index of the input. */
static fnz_status index_inputs(fnzi_pln_planner *p, fnzi_map *names) {
  for (uint32_t k = 0; k < p->graph->ninputs; k++) {
    const fnz_input_spec *spec = &p->program->inputs[k];
    const char *name;
    if (spec->target == NULL)
      continue;
    FNZ_TRY(fnzi_arena_dotted(&p->scratch, fnzi_input_kind_names[spec->kind], spec->target, &name));
    FNZ_TRY(fnzi_map_set(names, name, strlen(name), k));
  }
  return FNZ_OK;
}

/* Finds the input whose final value output k is. A final value of other sizes does not fit into the
 * memory of the input, so it counts as an output. */
static fnz_status find_final(fnzi_pln_planner *p, const fnzi_map *names, uint32_t k) {
  const fnz_output_spec *spec = &p->program->outputs[k];
  const int kind = fnzi_io_input_kind_of(spec);
  const fnz_arg *arg = &p->graph->outputs[k];
  const bool *writable = p->policy->writable;
  const char *name;
  uint64_t input;
  p->final_of[k] = FNZI_PLN_NONE;
  if (kind == FNZI_NO_INPUT_KIND || spec->set || spec->metadata || spec->target == NULL ||
      arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  FNZ_TRY(fnzi_arena_dotted(&p->scratch, fnzi_input_kind_names[kind], spec->target, &name));
  if (!fnzi_map_get(names, name, strlen(name), &input) ||
      !(writable == NULL || writable[fnzi_memory_of(p->program, (uint32_t)input)]))
    return FNZ_OK;
  const fnz_geometry *g = fnzi_pln_tensor(p->graph, arg);
  const fnz_geometry *to = fnzi_pln_tensor(p->graph, &p->graph->inputs[input]);
  const fnz_geometry *layout =
      p->policy->layouts && p->policy->layouts[input] ? p->policy->layouts[input] : to;
  if (fnzi_pln_same_kind(g, to) && fnzi_pln_map_injective(layout))
    p->final_of[k] = (uint32_t)input;
  return FNZ_OK;
}

static fnz_status find_finals(fnzi_pln_planner *p) {
  fnzi_map names;
  fnzi_map_init(&names, p->ctx);
  fnz_status status = p->policy->state ? index_inputs(p, &names) : FNZ_OK;
  for (uint32_t k = 0; status == FNZ_OK && k < p->graph->noutputs; k++)
    status = find_final(p, &names, k);
  fnzi_map_free(&names);
  return status;
}

/* Locates input k in its buffer, which inputs that share memory have in common. */
static fnz_status open_input(fnzi_pln_planner *p, uint32_t k) {
  const fnz_geometry *g = fnzi_pln_tensor(p->graph, &p->graph->inputs[k]);
  const fnz_geometry *layout =
      p->policy->layouts && p->policy->layouts[k] ? p->policy->layouts[k] : g;
  uint32_t first = fnzi_memory_of(p->program, k), value = (uint32_t)p->graph->inputs[k].u.value;
  fnzi_pln_buffer buffer = {.kind = FNZI_PLN_CONST, .input = first};
  size_t bytes;
  if (g == NULL)
    return FNZ_OK;
  if (p->input_buffers[first] == FNZI_PLN_NONE)
    FNZ_TRY(fnzi_pln_buffer_add(p, buffer, &p->input_buffers[first]));
  p->input_buffers[k] = p->input_buffers[first];
  fnzi_pln_buffer *b = &p->plan->buffers.data[p->input_buffers[k]];
  FNZ_TRY(fnzi_pln_extent_bytes(p, value, layout, &bytes));
  b->bytes = bytes > b->bytes ? bytes : b->bytes;
  if (p->policy->writable && p->policy->writable[k])
    b->kind = FNZI_PLN_STATE;
  p->values[value].window = layout;
  fnzi_pln_locate(p, value, (fnzi_pln_location){p->input_buffers[k], layout}, FNZI_PLN_NONE);
  return FNZ_OK;
}

static fnz_status open_inputs(fnzi_pln_planner *p) {
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    p->input_buffers[k] = FNZI_PLN_NONE;
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    FNZ_TRY(open_input(p, k));
  for (uint32_t k = 0; k < p->graph->noutputs; k++)
    if (p->final_of[k] != FNZI_PLN_NONE)
      p->plan->buffers.data[p->input_buffers[p->final_of[k]]].kind = FNZI_PLN_STATE;
  return FNZ_OK;
}

/* --- The plan ---------------------------------------------------------------------------- */
/* Refuses a program that writes or that has symbolic sizes. */
static fnz_status planner_check(fnzi_pln_planner *p) {
  if (fnzi_program_has_symbols(p->program) && !fnzi_pln_only_scalars(p->program))
    return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "the program has sizes that are symbols; give them numbers first");
  for (uint32_t n = 0; n < p->end; n++) {
    const fnzi_node *node = &p->graph->nodes.data[n];
    if (node->op != NULL && fnz_op_is_mutating(node->op))
      return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, "",
                       "%s writes an argument; functionalize the program first", node->op->name);
  }
  return FNZ_OK;
}

static fnz_status make_tables(fnzi_pln_planner *p) {
  fnzi_pln_plan *plan = p->plan;
  plan->nvalues = p->graph->values.count;
  plan->noutputs = p->graph->noutputs;
  FNZI_NEW(&plan->arena, plan->nvalues, &plan->locations);
  FNZI_NEW(&plan->arena, plan->noutputs, &plan->outputs);
  FNZI_NEW(&p->scratch, fnzi_ops_count, &p->facts);
  FNZI_NEW(&p->scratch, p->end, &p->nodes);
  FNZI_NEW(&p->scratch, plan->nvalues, &p->values);
  FNZI_NEW(&p->scratch, p->graph->ninputs, &p->input_buffers);
  FNZI_NEW(&p->scratch, plan->noutputs, &p->final_of);
  for (size_t v = 0; v < plan->nvalues; v++)
    plan->locations[v].buffer = FNZI_PLN_NONE;
  return FNZ_OK;
}

static fnz_status planner_make(fnzi_pln_planner *p) {
  FNZ_TRY(planner_check(p));
  FNZ_TRY(make_tables(p));
  FNZ_TRY(fnzi_pln_pairs_find(p));
  FNZ_TRY(find_finals(p));
  FNZ_TRY(open_inputs(p));
  FNZ_TRY(fnzi_pln_uses_find(p));
  FNZ_TRY(fnzi_pln_groups_set(p));
  FNZ_TRY(fnzi_pln_hints_find(p));
  FNZ_TRY(fnzi_pln_place_all(p));
  FNZ_TRY(fnzi_pln_finals_add(p));
  FNZ_TRY(fnzi_pln_sets_find(p));
  return fnzi_pln_arena_layout(p->ctx, p->plan);
}

fnz_status fnzi_pln_make(fnz_context *ctx, const fnz_program *program,
                         const fnzi_pln_policy *policy, fnzi_pln_plan *out) {
  fnzi_pln_planner p = {.ctx = ctx, .program = program, .policy = policy, .plan = out};
  *out = (fnzi_pln_plan){.program = program,
                         .bodies = policy->bodies,
                         .channels_last = policy->channels_last,
                         .origins = policy->order.origins,
                         .kinds = policy->order.kinds};
  p.graph = fnzi_graph_main(program);
  p.end = (uint32_t)p.graph->nodes.count;
  fnzi_arena_init(&out->arena, ctx);
  fnzi_arena_init(&p.scratch, ctx);
  fnzi_task_begin(ctx, "compile", "nodes", p.end);
  fnz_status status = fnzi_task_end(ctx, planner_make(&p));
  FNZI_VEC_FREE(ctx, &p.tenants);
  FNZI_VEC_FREE(ctx, &p.operands);
  FNZI_VEC_FREE(ctx, &p.results);
  fnzi_arena_free(&p.scratch);
  if (status != FNZ_OK)
    fnzi_pln_free(ctx, out);
  return status;
}

void fnzi_pln_free(fnz_context *ctx, fnzi_pln_plan *plan) {
  FNZI_VEC_FREE(ctx, &plan->buffers);
  FNZI_VEC_FREE(ctx, &plan->steps);
  fnzi_arena_free(&plan->arena);
  *plan = (fnzi_pln_plan){0};
}
