/* bind.c - from a plan to a binding: a storage per buffer, an array per value, a step per step.
 *
 * needs   ws->given: what the inputs look like
 * gives   a binding for these sizes and layouts, kept in the workspace with those of the last ones
 */
#include "engine/device.h"

static const fnzi_graph *graph_of(const fnzi_eng_binding *b) {
  return fnzi_graph_at(b->program, 0);
}

/* --- The key ------------------------------------------------------------------------------------
 */
static bool same_layout(const fnz_geometry *a, const fnz_geometry *b) {
  if (!a->sizes || !b)
    return !a->sizes == !b;
  if (a->dtype != b->dtype || a->rank != b->rank || a->offset != b->offset)
    return false;
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] != b->sizes[d] || a->strides[d] != b->strides[d])
      return false;
  return true;
}

static bool fits(const fnz_workspace *ws, const fnzi_eng_binding *b, bool with_state) {
  uint32_t count = fnzi_graph_at(ws->exe->program, 0)->ninputs;
  if (!b->made || b->with_state != with_state)
    return false;
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_eng_given *g = &ws->given[k];
    if (!same_layout(&b->layouts[k], g->layout) || (g->has_number && b->numbers[k] != g->number))
      return false;
  }
  return true;
}

static fnz_status copy_layout(fnzi_arena *arena, const fnz_geometry *from, fnz_geometry *to) {
  int64_t *numbers;
  FNZI_NEW(arena, 2 * FNZ_MAX_RANK, &numbers);
  *to = *from;
  to->symbols = NULL;
  to->sizes = numbers;
  to->strides = numbers + from->rank;
  if (from->rank) { /* else there may be no numbers */
    memcpy(numbers, from->sizes, from->rank * sizeof *numbers);
    memcpy(numbers + from->rank, from->strides, from->rank * sizeof *numbers);
  }
  return FNZ_OK;
}

static fnz_status keep_key(fnz_workspace *ws, fnzi_eng_binding *b) {
  uint32_t count = fnzi_graph_at(ws->exe->program, 0)->ninputs;
  FNZI_NEW(&b->arena, count, &b->layouts);
  FNZI_NEW(&b->arena, count, &b->numbers);
  for (uint32_t k = 0; k < count; k++) {
    b->numbers[k] = ws->given[k].number;
    if (ws->given[k].layout)
      FNZ_TRY(copy_layout(&b->arena, ws->given[k].layout, &b->layouts[k]));
  }
  return FNZ_OK;
}

/* --- The plan -----------------------------------------------------------------------------------
 */
/* A program that was arranged wrongly runs as it was. */
static fnz_status arrange(fnz_workspace *ws, fnzi_eng_binding *b, fnzi_eng_policy *policy) {
  const fnz_error had = ws->ctx->error;
  FNZ_TRY(fnzi_eng_arrange(ws->ctx, &b->arena, b->source, &b->program, &policy->order));
  fnz_status status = fnzi_eng_arrange_check(ws->ctx, b->source, b->program, &policy->order);
  if (status != FNZ_INTERNAL || ws->exe->checks)
    return status;
  ws->ctx->error = had;
  b->program = b->source;
  policy->order = (fnzi_eng_order){.source = NULL};
  policy->ungrouped = true;
  return FNZ_OK;
}

/* And so does one whose plan is wrong, without a plan. */
static fnz_status plan_and_check(fnz_workspace *ws, fnzi_eng_binding *b,
                                 const fnzi_eng_policy *policy) {
  const fnz_error had = ws->ctx->error;
  FNZ_TRY(fnzi_eng_plan_make(ws->ctx, b->program, policy, &b->plan));
  fnz_status status = fnzi_eng_plan_check(ws->ctx, &b->plan);
  if (status != FNZ_INTERNAL || ws->exe->checks)
    return status;
  ws->ctx->error = had;
  fnzi_eng_plan_free(ws->ctx, &b->plan);
  b->program = b->source;
  return fnzi_eng_plan_trivial(ws->ctx, b->program, policy, &b->plan);
}

static fnz_status make_plan(fnz_workspace *ws, fnzi_eng_binding *b) {
  uint32_t count = graph_of(b)->ninputs;
  b->source = b->program;
  const fnz_geometry **layouts;
  bool *writable;
  FNZI_NEW(&b->arena, count, &layouts);
  FNZI_NEW(&b->arena, count, &writable);
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_eng_input *in = &ws->exe->inputs[k];
    layouts[k] = b->layouts[k].sizes ? &b->layouts[k] : NULL;
    writable[k] = in->is_tensor && ((b->with_state && in->in_state) || in->is_donated);
  }
  fnzi_eng_policy policy = {.writable = writable,
                            .layouts = layouts,
                            .state = b->with_state,
                            .ungrouped = ws->exe->kernels != NULL || ws->exe->by_numbers};
  if (b->by_steps)
    return fnzi_eng_plan_steps(ws->ctx, b->program, &policy, &b->plan);
  if (ws->exe->unplanned)
    return fnzi_eng_plan_trivial(ws->ctx, b->program, &policy, &b->plan);
  if (!policy.ungrouped)
    FNZ_TRY(arrange(ws, b, &policy));
  return plan_and_check(ws, b, &policy);
}

/* --- Memory -------------------------------------------------------------------------------------
 */
static fnz_status make_storages(fnz_workspace *ws, fnzi_eng_binding *b) {
  enum { FOR_EVER = 1 << 30 }; /* uses of a storage that no array ends */
  FNZI_NEW(&b->arena, b->plan.buffers.count, &b->storages);
  for (size_t i = 0; i < b->plan.buffers.count; i++)
    b->storages[i] = (fnzi_krn_storage){
        .refs = FOR_EVER, .bytes = b->plan.buffers.data[i].bytes, .stock = &ws->machine->stock};
  return FNZ_OK;
}

static size_t padded(size_t bytes) {
  return (bytes + FNZI_ENG_ALIGNMENT - 1) & ~(size_t)(FNZI_ENG_ALIGNMENT - 1);
}

/* Where results of graph 0 lie in the memory of the workspace, if the caller gives none. */
static fnz_status place_outs(fnz_workspace *ws, fnzi_eng_binding *b) {
  uint32_t count = graph_of(b)->noutputs;
  size_t at = 0;
  FNZI_NEW(&b->arena, count, &b->outs);
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_eng_buffer *buffer = &b->plan.buffers.data[i];
    if (buffer->kind != FNZI_ENG_OUT)
      continue;
    b->outs[buffer->of] = at;
    if (buffer->bytes > SIZE_MAX / 4 || !fnzi_add_size(at, padded(buffer->bytes), &at))
      return fnzi_no_memory(ws->ctx);
  }
  b->outs_bytes = at;
  b->arena_bytes = padded(b->plan.arena_bytes);
  return FNZ_OK;
}

/* --- Values -------------------------------------------------------------------------------------
 */
static const fnz_geometry *seen_geometry(const fnz_workspace *ws, const fnzi_eng_binding *b,
                                         uint64_t v) {
  const fnzi_graph *g = graph_of(b);
  for (uint32_t k = 0; b->by_steps && k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE && g->inputs[k].u.value == v)
      return ws->given[k].layout;
  return g->values.data[v].geometry;
}

static fnz_status make_value(fnz_workspace *ws, fnzi_eng_binding *b, uint64_t v) {
  const fnzi_eng_place *place = &b->plan.places[v];
  const fnz_geometry *g = seen_geometry(ws, b, v);
  if (place->buffer == FNZI_ENG_NONE || !g ||
      b->plan.buffers.data[place->buffer].kind == FNZI_ENG_LATE)
    return FNZ_OK;
  fnzi_krn_storage *storage = &b->storages[place->buffer];
  FNZ_TRY(fnzi_krn_array_create(ws->ctx, &ws->machine->stock, g, fnzi_dtype(g->dtype)->bytes,
                                &b->values[v]));
  return fnzi_krn_array_share(ws->ctx, b->values[v], storage, place->map);
}

static fnz_status make_values(fnz_workspace *ws, fnzi_eng_binding *b) {
  size_t count = graph_of(b)->values.count;
  FNZI_NEW(&b->arena, count, &b->values);
  for (uint64_t v = 0; v < count; v++)
    FNZ_TRY(make_value(ws, b, v));
  return FNZ_OK;
}

static fnz_status see_input(void *user, const fnz_arg *arg) {
  bool *used = user;
  if (arg->tag == FNZ_ARG_VALUE)
    used[arg->u.value] = true;
  return FNZ_OK;
}

/* What nodes and outputs read: data must be there. */
static fnz_status find_needed(fnzi_eng_binding *b) {
  const fnzi_graph *g = graph_of(b);
  bool *used;
  FNZI_NEW(&b->arena, g->values.count, &used);
  for (size_t n = 0; n < g->nodes.count; n++)
    FNZ_TRY(fnzi_args_visit(g->nodes.data[n].args, g->nodes.data[n].nargs, see_input, used));
  FNZ_TRY(fnzi_args_visit(g->outputs, g->noutputs, see_input, used));
  FNZI_NEW(&b->arena, g->ninputs, &b->needed);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_VALUE && used[g->inputs[k].u.value])
      b->needed[b->nneeded++] = k;
  return FNZ_OK;
}

/* --- Steps --------------------------------------------------------------------------------------
 */
static fnz_status make_move(fnz_workspace *ws, fnzi_eng_binding *b, const fnzi_eng_step *step) {
  fnzi_eng_act act = {.kind = FNZI_ENG_ACT_MOVE, .node = step->node};
  act.u.move.from = &b->storages[step->from.buffer];
  act.u.move.to = &b->storages[step->to.buffer];
  FNZ_TRY(fnzi_eng_move_make(&b->arena, step->from.map, step->to.map, &act.u.move));
  FNZI_PUSH(ws->ctx, &b->acts, act);
  return FNZ_OK;
}

static fnz_status make_interpreted(fnz_workspace *ws, fnzi_eng_binding *b, uint32_t node) {
  const fnzi_eng_act act = {.kind = FNZI_ENG_ACT_INTERPRET, .node = node};
  b->interprets = true;
  FNZI_PUSH(ws->ctx, &b->acts, act);
  return FNZ_OK;
}

static fnz_status make_act(fnz_workspace *ws, fnzi_eng_binding *b, const fnzi_eng_step *step) {
  switch ((fnzi_eng_step_kind)step->kind) {
  case FNZI_ENG_MOVE:
    return make_move(ws, b, step);
  case FNZI_ENG_CALL:
    return step->is_point ? fnzi_eng_tile_of_group(ws, b, step) : fnzi_eng_call_make(ws, b, step);
  case FNZI_ENG_REGION:
  case FNZI_ENG_APPLY:
    return make_interpreted(ws, b, step->node);
  case FNZI_ENG_GROUP:
    return fnzi_eng_tile_of_group(ws, b, step);
  }
  return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a step of a kind that nothing runs");
}

/* In order of nodes, so that what is refused first is what the interpreter refuses first. */
static fnz_status check_shapes(fnz_workspace *ws, fnzi_eng_binding *b, uint32_t *from,
                               uint32_t to) {
  for (; *from < to; ++*from)
    FNZ_TRY(fnzi_eng_shape_check(ws, b, *from));
  return FNZ_OK;
}

static fnz_status make_acts(fnz_workspace *ws, fnzi_eng_binding *b) {
  uint32_t next = 0;
  FNZI_RESERVE(ws->ctx, &b->acts, b->plan.steps.count);
  for (size_t i = 0; i < b->plan.steps.count; i++) {
    const fnzi_eng_step *step = &b->plan.steps.data[i];
    if (step->kind != FNZI_ENG_MOVE)
      FNZ_TRY(check_shapes(ws, b, &next, step->kind == FNZI_ENG_GROUP ? step->first : step->node));
    FNZ_TRY(make_act(ws, b, step));
    next = step->kind == FNZI_ENG_MOVE ? next : step->node + 1;
  }
  FNZ_TRY(fnzi_eng_tile_registers(b));
  return check_shapes(ws, b, &next, (uint32_t)graph_of(b)->nodes.count);
}

/* --- What it takes ------------------------------------------------------------------------------
 */
static void count_needs(fnzi_eng_binding *b) {
  fnz_needs *n = &b->needs;
  n->arena_bytes = b->arena_bytes;
  n->steps = b->acts.count;
  for (size_t i = 0; i < b->acts.count; i++) {
    const fnzi_eng_act *act = &b->acts.data[i];
    if (act->kind == FNZI_ENG_ACT_INTERPRET)
      n->interpreted++;
    if (act->kind != FNZI_ENG_ACT_MOVE)
      continue;
    n->moves++;
    n->bytes_moved += 2 * (uint64_t)act->u.move.bytes;
    n->bytes_written += (uint64_t)act->u.move.bytes;
  }
}

static fnz_status make(fnz_workspace *ws, fnzi_eng_binding *b, bool with_state) {
  fnzi_arena_init(&b->arena, ws->ctx);
  b->made = true;
  b->with_state = with_state;
  FNZ_TRY(keep_key(ws, b));
  FNZ_TRY(fnzi_eng_sizes_bind(ws, b));
  FNZ_TRY(make_plan(ws, b));
  FNZ_TRY(make_storages(ws, b));
  FNZ_TRY(place_outs(ws, b));
  FNZ_TRY(make_values(ws, b));
  FNZ_TRY(find_needed(b));
  FNZ_TRY(make_acts(ws, b));
  FNZ_TRY(fnzi_eng_undo_plan(ws->ctx, b));
  if (ws->exe->device)
    FNZ_TRY(fnzi_eng_device_bind(ws, b));
  count_needs(b);
  return FNZ_OK;
}

void fnzi_eng_binding_end(fnz_workspace *ws, fnzi_eng_binding *b) {
  if (!b->made)
    return;
  size_t count = b->values ? graph_of(b)->values.count : 0;
  for (size_t v = 0; v < count; v++)
    fnzi_krn_array_release(ws->ctx, b->values[v]);
  for (size_t i = 0; i < b->wasted.count; i++)
    fnzi_krn_array_release(ws->ctx, b->wasted.data[i]);
  FNZI_VEC_FREE(ws->ctx, &b->wasted);
  fnzi_eng_owns_end(ws, b);
  fnzi_eng_device_unbind(ws, b);
  FNZI_VEC_FREE(ws->ctx, &b->acts);
  fnzi_eng_plan_free(ws->ctx, &b->plan);
  fnzi_eng_expansion_end(&b->expansion);
  fnz_program_destroy(b->owned);
  fnzi_arena_free(&b->arena);
  *b = (fnzi_eng_binding){.made = false};
}

/* The one that was used longest ago. */
static fnzi_eng_binding *oldest(fnz_workspace *ws) {
  fnzi_eng_binding *found = &ws->bindings[0];
  for (size_t i = 0; i < FNZI_ENG_BINDINGS; i++)
    if (!ws->bindings[i].made || (found->made && ws->bindings[i].used < found->used))
      found = &ws->bindings[i];
  return found;
}

fnz_status fnzi_eng_binding_find(fnz_workspace *ws, bool with_state, fnzi_eng_binding **out) {
  fnzi_eng_binding *b = NULL;
  for (size_t i = 0; i < FNZI_ENG_BINDINGS && !b; i++)
    if (fits(ws, &ws->bindings[i], with_state))
      b = &ws->bindings[i];
  fnz_status status = FNZ_OK;
  if (!b) {
    b = oldest(ws);
    fnzi_eng_binding_end(ws, b);
    status = make(ws, b, with_state);
    if (status != FNZ_OK)
      fnzi_eng_binding_end(ws, b);
  }
  b->used = ++ws->runs;
  *out = b;
  return status;
}
