/* bodies.c - plans the bodies of nodes within a plan: finds bodies that can be planned, the
 * locations of their inputs and results, and memory for them in the surrounding plan.
 *
 * needs   a plan of graph 0, whose values have locations
 * gives   a list of its regions, then of the regions of their bodies, and so on; temporary buffers
 *         for them in the surrounding plans */
#include "engine/plan/bodies.h"

#include "engine/plan/planner.h"

/* A body of a body is planned for each path to it. */
enum { MOST_BODIES = 4096 };

typedef struct builder {
  fnz_context *ctx;
  fnzi_arena *arena;
  const fnz_program *program;
  bool ungrouped;
  fnzi_pln_plan *outermost;
  fnzi_pln_bodies *out;
} builder;

static fnzi_pln_plan *plan_of(const builder *m, uint32_t body) {
  return body == FNZI_PLN_NONE ? m->outermost : &m->out->list.data[body].plan;
}

/* --- Memory of a region ----------------------------------------------------------------------- */
static fnz_status take_scratch(const builder *m, fnzi_pln_region *r, size_t bytes, size_t *at) {
  size_t padded = bytes ? fnzi_pln_padded(bytes) : FNZI_PLN_ALIGNMENT;
  *at = r->bytes;
  if (padded < bytes || !fnzi_add_size(r->bytes, padded, &r->bytes) || r->bytes > INT64_MAX)
    return fnzi_fail(m->ctx, FNZ_CLASS_OVERFLOW, NULL, "temporary memory leaves 63 bits");
  return FNZ_OK;
}

fnz_status fnzi_pln_row_major_at(fnzi_arena *arena, const fnz_geometry *g, size_t at,
                                 const fnz_geometry **out) {
  fnz_geometry *copy;
  int64_t *strides;
  FNZI_NEW(arena, 1, &copy);
  FNZI_NEW(arena, g->rank, &strides);
  *copy = *g;
  copy->strides = strides;
  copy->offset = (int64_t)(at / fnzi_dtype(g->dtype)->bytes);
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  *out = copy;
  return FNZ_OK;
}

/* Finds the locations of results. A result that nothing reads has memory of the region, as long as
 * it runs. */
static fnz_status place_results(const builder *m, const fnzi_pln_plan *plan, fnzi_pln_region *r) {
  const fnzi_graph *body = fnzi_graph_at(m->program, r->hop.bodies[r->hop.nbodies - 1]);
  FNZI_NEW(m->arena, r->hop.results.count, &r->results);
  for (uint32_t j = 0; j < r->hop.results.count; j++) {
    const fnz_arg *arg = &r->hop.results.args[j];
    size_t at;
    if (arg->tag == FNZ_ARG_VALUE) {
      r->results[j] = plan->locations[arg->u.value];
      continue;
    }
    const fnz_geometry *g = fnzi_pln_tensor(body, &body->outputs[j]);
    FNZ_TRY(take_scratch(m, r, fnzi_pln_map_bytes(g), &at));
    r->results[j].buffer = FNZI_PLN_NONE;
    FNZ_TRY(fnzi_pln_row_major_at(m->arena, g, at, &r->results[j].map));
  }
  return FNZ_OK;
}

static fnz_geometry first_slice(const fnz_geometry *map) {
  fnz_geometry slice = *map;
  slice.rank--;
  slice.sizes++;
  slice.strides++;
  return slice;
}

static fnz_status slice_of(fnzi_arena *arena, const fnz_geometry *map, const fnz_geometry **out) {
  fnz_geometry *copy;
  FNZI_NEW(arena, 1, &copy);
  *copy = first_slice(map);
  *out = copy;
  return FNZ_OK;
}

static bool has_dense_slices(const fnz_geometry *map) {
  const fnz_geometry slice = first_slice(map);
  return fnzi_is_contiguous(&slice);
}

/* Finds the locations of all levels. Level 0 uses the operands going down, and the result going up,
 * if their slices are contiguous rows. The highest level has the same locations in both directions.
 */
static fnz_status place_levels(const builder *m, const fnzi_pln_plan *plan, fnzi_pln_region *r) {
  uint32_t n = r->hop.xs.count;
  for (uint32_t level = 0; level < FNZI_PLN_LEVELS && fnzi_pln_level_size(r->iterations, level) > 0;
       level++) {
    FNZI_NEW(m->arena, n, &r->down[level]);
    FNZI_NEW(m->arena, n, &r->up[level]);
    for (uint32_t k = 0; k < n; k++) {
      const fnz_geometry *xs = plan->locations[r->hop.xs.args[k].u.value].map;
      fnzi_pln_location result = r->results[k];
      bool is_down = level == 0 && has_dense_slices(xs);
      bool is_up = level == 0 && result.buffer != FNZI_PLN_NONE && has_dense_slices(result.map);
      size_t bytes = fnzi_pln_map_bytes(xs) / (size_t)r->iterations *
                     (size_t)fnzi_pln_level_size(r->iterations, level);
      r->down[level][k] = r->up[level][k] = SIZE_MAX;
      if (!is_down)
        FNZ_TRY(take_scratch(m, r, bytes, &r->down[level][k]));
      if (!is_up && fnzi_pln_level_size(r->iterations, level) > 1)
        FNZ_TRY(take_scratch(m, r, bytes, &r->up[level][k]));
    }
  }
  return FNZ_OK;
}

/* --- A body as a program ---------------------------------------------------------------------- */
/* The result of the node whose memory input k of body `which` is; FNZI_PLN_NONE: of none. */
static uint32_t state_of_input(const fnzi_pln_region *r, uint32_t which, uint32_t k,
                               const fnzi_pln_plan *owner) {
  const fnzi_hop *hop = &r->hop;
  if (hop->kind == FNZI_HOP_WHILE_LOOP || hop->kind == FNZI_HOP_SCAN)
    return which + 1 == hop->nbodies && k < hop->carried.count ? k : FNZI_PLN_NONE;
  if ((hop->kind != FNZI_HOP_COND && hop->kind != FNZI_HOP_CALL) || k >= hop->captured.count)
    return FNZI_PLN_NONE;
  fnzi_pln_location location = owner->locations[hop->captured.args[k].u.value];
  for (uint32_t j = 0; j < hop->results.count; j++)
    if (fnz_geometry_numel(location.map) && fnzi_pln_location_equal(location, r->results[j]))
      return j;
  return FNZI_PLN_NONE;
}

static fnz_status layout_of(const builder *m, const fnzi_pln_region *r, const fnzi_pln_plan *owner,
                            uint32_t k, const fnz_geometry **out) {
  const fnzi_hop *hop = &r->hop;
  bool sliced;
  const fnz_arg *operand = fnzi_hop_operand(hop, k, &sliced);
  *out = owner->locations[operand->u.value].map;
  if (k < hop->carried.count)
    *out = r->results[k].map;
  if (!sliced)
    return FNZ_OK;
  FNZ_TRY(slice_of(m->arena, *out, out));
  return hop->kind == FNZI_HOP_ASSOCIATIVE_SCAN ? fnzi_pln_row_major_at(m->arena, *out, 0, out)
                                                : FNZ_OK;
}

static fnz_status window_of(const builder *m, const fnzi_pln_region *r, const fnzi_graph *body,
                            uint32_t which, uint32_t j, const fnz_geometry **out) {
  bool asks = r->hop.kind == FNZI_HOP_WHILE_LOOP && which == 0;
  if (asks)
    return fnzi_pln_row_major_at(m->arena, fnzi_pln_tensor(body, &body->outputs[0]), r->predicate,
                                 out);
  if (r->hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN)
    return fnzi_pln_row_major_at(m->arena, fnzi_pln_tensor(body, &body->outputs[j]), 0, out);
  *out = r->results[j].map;
  return fnzi_pln_is_stacked(r, j) && r->results[j].buffer != FNZI_PLN_NONE
             ? slice_of(m->arena, *out, out)
             : FNZ_OK;
}

typedef struct signature {
  fnz_input_spec *inputs;
  fnz_output_spec *outputs;
  const fnz_geometry **layouts, **outs;
  bool *writable;
} signature;

static fnz_status sign(const builder *m, const fnzi_pln_region *r, const fnzi_graph *body,
                       uint32_t which, signature *s) {
  const fnzi_pln_plan *owner = plan_of(m, r->owner);
  FNZI_NEW(m->arena, body->ninputs, &s->inputs);
  FNZI_NEW(m->arena, body->ninputs, &s->layouts);
  FNZI_NEW(m->arena, body->ninputs, &s->writable);
  FNZI_NEW(m->arena, body->noutputs, &s->outputs);
  FNZI_NEW(m->arena, body->noutputs, &s->outs);
  for (uint32_t j = 0; j < body->noutputs; j++) {
    s->outputs[j].kind = FNZ_OUTPUT_USER;
    FNZ_TRY(window_of(m, r, body, which, j, &s->outs[j]));
  }
  for (uint32_t k = 0; k < body->ninputs; k++) {
    uint32_t j = state_of_input(r, which, k, owner);
    s->inputs[k].kind = FNZ_INPUT_USER;
    FNZ_TRY(layout_of(m, r, owner, k, &s->layouts[k]));
    if (j != FNZI_PLN_NONE) {
      /* Makes input k state, and output j its final value. */
      char digits[FNZI_INT_TEXT];
      fnzi_int_text((int64_t)k, digits);
      FNZ_TRY(fnzi_arena_string(m->arena, digits, strlen(digits), &s->inputs[k].target));
      s->outputs[j].kind = FNZ_OUTPUT_INPUT_MUTATION;
      s->outputs[j].target = s->inputs[k].target;
      s->writable[k] = true;
    }
  }
  return FNZ_OK;
}

static fnz_status plan_body(const builder *m, const fnzi_pln_region *r, uint32_t which,
                            fnzi_pln_body *b) {
  const fnzi_graph *body = fnzi_graph_at(m->program, b->graph);
  fnz_program *copy;
  signature s;
  FNZ_TRY(sign(m, r, body, which, &s));
  FNZ_TRY(fnzi_pln_with_graph(m->arena, m->program, body, 1, &copy));
  copy->inputs = s.inputs;
  copy->outputs = s.outputs;
  copy->guards.count = 0;
  b->source = b->program = copy;
  b->policy = (fnzi_pln_policy){.writable = s.writable,
                                .layouts = s.layouts,
                                .outs = s.outs,
                                .bodies = m->program,
                                .state = true,
                                .channels_last = m->outermost->channels_last,
                                .ungrouped = m->ungrouped};
  if (!m->ungrouped) {
    FNZ_TRY(fnzi_pln_arrange(m->ctx, m->arena, b->source, &b->program, &b->policy.order));
    FNZ_TRY(fnzi_pln_arrange_check(m->ctx, b->source, b->program, &b->policy.order));
  }
  return fnzi_pln_make(m->ctx, b->program, &b->policy, &b->plan);
}

/* Plans the bodies of a region. A body that cannot be planned is no failure: the interpreter will
 * report its error. */
static fnz_status open_bodies(builder *m, uint32_t region) {
  fnzi_pln_region *r = &m->out->regions.data[region];
  const fnz_error had = m->ctx->error;
  for (uint32_t i = 0; i < r->hop.nbodies; i++) {
    fnzi_pln_body b = {.region = region, .graph = r->hop.bodies[i]};
    r->bodies[i] = (uint32_t)m->out->list.count;
    FNZI_PUSH(m->ctx, &m->out->list, b);
    fnz_status status = plan_body(m, r, i, &m->out->list.data[r->bodies[i]]);
    if (fnzi_is_final(status) || status == FNZ_INTERNAL)
      return status;
    if (status == FNZ_OK)
      continue;
    m->ctx->error = had;
    r->why = "its body cannot be planned";
    return FNZ_OK;
  }
  return FNZ_OK;
}

/* --- The list --------------------------------------------------------------------------------- */
static fnz_status read_region(builder *m, uint32_t owner, uint32_t step) {
  fnzi_pln_plan *plan = plan_of(m, owner);
  const fnz_error had = m->ctx->error;
  fnzi_pln_region r = {.owner = owner, .step = step, .node = plan->steps.data[step].last};
  fnz_status status = fnzi_hop_read(m->ctx, m->program,
                                    &fnzi_graph_main(plan->program)->nodes.data[r.node], &r.hop);
  if (status != FNZ_OK)
    r.why = "there is no rule for it";
  else if (m->out->list.count + r.hop.nbodies > MOST_BODIES)
    r.why = "there are too many bodies";
  else
    r.why = fnzi_pln_left_why(m->program, plan, &r);
  m->ctx->error = had;
  r.buffer = FNZI_PLN_NONE;
  if (!r.why) {
    if (r.hop.kind == FNZI_HOP_WHILE_LOOP)
      FNZ_TRY(take_scratch(m, &r, FNZI_PLN_ALIGNMENT, &r.predicate));
    FNZ_TRY(place_results(m, plan, &r));
    if (r.hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN)
      FNZ_TRY(place_levels(m, plan, &r));
  }
  plan->steps.data[step].region = (uint32_t)m->out->regions.count;
  FNZI_PUSH(m->ctx, &m->out->regions, r);
  return r.why ? FNZ_OK : open_bodies(m, plan->steps.data[step].region);
}

static fnz_status read_regions(builder *m, uint32_t owner) {
  for (uint32_t s = 0; s < plan_of(m, owner)->steps.count; s++) {
    const fnzi_pln_step *step = &plan_of(m, owner)->steps.data[s];
    if (step->kind == FNZI_PLN_REGION &&
        fnzi_is_hop(&fnzi_graph_main(plan_of(m, owner)->program)->nodes.data[step->last]))
      FNZ_TRY(read_region(m, owner, s));
  }
  return FNZ_OK;
}

/* --- Memory ----------------------------------------------------------------------------------- */
/* Adds the memory of a region, whose bodies have theirs, to the surrounding plan. */
static fnz_status nest(builder *m, fnzi_pln_region *r) {
  fnzi_pln_plan *plan = plan_of(m, r->owner);
  size_t most = 0;
  for (uint32_t i = 0; i < r->hop.nbodies; i++) {
    size_t bytes = m->out->list.data[r->bodies[i]].plan.arena_bytes;
    most = bytes > most ? bytes : most;
  }
  if (most)
    FNZ_TRY(take_scratch(m, r, most, &r->arena));
  if (!r->bytes)
    return FNZ_OK;
  r->buffer = (uint32_t)plan->buffers.count;
  plan->steps.data[r->step].scratch = r->buffer;
  FNZI_PUSH(m->ctx, &plan->buffers,
            ((fnzi_pln_buffer){
                .kind = FNZI_PLN_TEMP,
                .value = fnzi_pln_result_of(&fnzi_graph_main(plan->program)->nodes.data[r->node]),
                .bytes = r->bytes,
                .first = r->step,
                .last = r->step}));
  return FNZ_OK;
}

fnz_status fnzi_pln_bodies_plan(fnz_context *ctx, fnzi_arena *arena, const fnz_program *program,
                                bool ungrouped, fnzi_pln_plan *plan, fnzi_pln_bodies *out) {
  builder m = {ctx, arena, program, ungrouped, plan, out};
  FNZ_TRY(read_regions(&m, FNZI_PLN_NONE));
  if (out->regions.count == 0)
    return fnzi_pln_check(ctx, plan);
  for (uint32_t b = 0; b < out->list.count; b++)
    if (!out->regions.data[out->list.data[b].region].why)
      FNZ_TRY(read_regions(&m, b));
  /* Goes from the innermost plan outwards; the checker proves plans that got buffers. */
  size_t at = out->regions.count;
  for (size_t b = out->list.count + 1; b-- > 0;) {
    uint32_t owner = b ? (uint32_t)b - 1 : FNZI_PLN_NONE;
    for (; at > 0 && out->regions.data[at - 1].owner == owner; at--)
      if (!out->regions.data[at - 1].why)
        FNZ_TRY(nest(&m, &out->regions.data[at - 1]));
    if (b && out->regions.data[out->list.data[owner].region].why)
      continue;
    FNZ_TRY(fnzi_pln_arena_layout(ctx, plan_of(&m, owner)));
    FNZ_TRY(fnzi_pln_check(ctx, plan_of(&m, owner)));
  }
  return FNZ_OK;
}

void fnzi_pln_bodies_free(fnz_context *ctx, fnzi_pln_bodies *bodies) {
  for (size_t b = 0; b < bodies->list.count; b++)
    fnzi_pln_free(ctx, &bodies->list.data[b].plan);
  FNZI_VEC_FREE(ctx, &bodies->list);
  FNZI_VEC_FREE(ctx, &bodies->regions);
}
