/* run.c - runs over the caller's memory. */
#include "base/random.h"
#include "engine/engine.h"

/* The data of one run. */
typedef struct running {
  const fnz_executable *exe;
  const fnz_execution *run;
  const fnzi_run_state *bound; /* weights in place of the file's; NULL */
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  unsigned char **outs; /* per output of graph 0: the caller's memory where it is row-major */
  fnz_memory *results;  /* per OUTPUT slot: a copy of the result, see keep_shown(); or NULL data */
} running;

static bool run_is_asked(const running *r, const fnzi_stp_slot *slot) {
  return !(r->run->state && slot->info.in_state);
}

/* Returns whether an address is in the memory of a donated input. */
static bool is_in_donated(const running *r, uint32_t k, const void *data) {
  const fnzi_stp_run_input *input = &r->ws->inputs[k];
  const uintptr_t at = (uintptr_t)data, start = (uintptr_t)input->start;
  return r->exe->inputs[k].is_donated && at >= start && at - start < input->bytes;
}

/* Returns the location of an output; NULL if data decide its sizes, and for members. */
static const fnz_geometry *run_planned(const running *r, const fnzi_stp_slot *slot) {
  const fnzi_pln_location *location =
      slot->is_member || slot->is_scalar ? NULL : &r->b->plan.outputs[slot->output];
  return location && location->buffer != FNZI_PLN_NONE ? location->map : NULL;
}

static fnz_status check_out(const running *r, const fnzi_stp_slot *slot,
                            const fnz_geometry *expected, const fnz_geometry *given) {
  if (given && given->rank && (!given->sizes || !given->strides))
    return fnzi_fail(r->ws->ctx, FNZ_CLASS_ARGUMENT, slot->info.name,
                     "the geometry of its memory has no sizes, or no strides");
  if (!given || (given->dtype == expected->dtype && fnzi_same_sizes(given, expected)))
    return FNZ_OK;
  char is[FNZI_SHAPE_TEXT], has[FNZI_SHAPE_TEXT];
  fnzi_shape_text(expected, is);
  fnzi_shape_text(given, has);
  return fnzi_fail(r->ws->ctx, FNZ_CLASS_BOUNDS, slot->info.name,
                   "the output is %s, the memory given for it is %s", is, has);
}

/* Makes a row-major geometry of these sizes, which lives as long as the results. */
static fnz_status rows_of(running *r, const fnz_geometry *like, const fnz_geometry **out) {
  fnz_geometry *g;
  int64_t *numbers;
  FNZI_NEW(&r->ws->call_arena, 1, &g);
  FNZI_NEW(&r->ws->call_arena, 2 * (size_t)like->rank, &numbers);
  *g = (fnz_geometry){.dtype = like->dtype, .rank = like->rank};
  g->sizes = numbers;
  g->strides = numbers + like->rank;
  if (like->rank > 0)
    memcpy(numbers, like->sizes, like->rank * sizeof *numbers);
  fnzi_contiguous_strides(numbers, like->rank, numbers + like->rank);
  *out = g;
  return FNZ_OK;
}

/* Takes memory for OUTPUT slot i. `want`: the result; NULL if only data decide that. */
static fnz_status take_memory(running *r, size_t i, const fnz_geometry *expected) {
  const fnzi_stp_slot *slot = &r->exe->slots[FNZ_SIDE_OUTPUT].data[i];
  const fnz_memory *out = &r->run->outputs[i];
  const fnz_geometry *layout = out->geometry;
  if (expected)
    FNZ_TRY(check_out(r, slot, expected, layout));
  if (expected && !layout)
    FNZ_TRY(rows_of(r, expected, &layout));
  return layout ? fnzi_stp_output_set(r->ws, i, out->data, layout) : FNZ_OK;
}

/* Lets the run write to memory of the caller. */
static fnz_status locate_output(running *r, size_t i) {
  const fnzi_stp_slot *slot = &r->exe->slots[FNZ_SIDE_OUTPUT].data[i];
  const fnz_memory *out = &r->run->outputs[i];
  const fnz_geometry *expected = run_planned(r, slot);
  if (!out->data && !r->run->workspace)
    return fnzi_fail(r->ws->ctx, FNZ_CLASS_ARGUMENT, slot->info.name,
                     "an output without memory needs a workspace, where it stays");
  if (out->data && r->ws->on_device && !slot->is_scalar)
    FNZ_TRY(r->exe->gpu->check(r->ws, slot->info.name, out->data, &r->ws->checked_out[i]));
  if (!out->data)
    return FNZ_OK;
  FNZ_TRY(take_memory(r, i, slot->is_member ? r->ws->inputs[slot->input].layout : expected));
  if (!expected) /* of a member too, which is no output of the graph */
    return FNZ_OK;
  const uint32_t owner = r->exe->owners[slot->output];
  bool is_plain = !out->geometry || fnzi_is_contiguous(out->geometry);
  if (r->ws->on_device && !is_plain)
    return fnzi_fail(r->ws->ctx, FNZ_CLASS_UNSUPPORTED, slot->info.name,
                     "an output on the device is row-major; give memory without strides");
  if (r->ws->on_device)
    r->ws->device_out[slot->output] = (uint64_t)(uintptr_t)out->data;
  /* Memory of the donated input whose final value this is gets it by a move at the end, because
   * steps may still read that input. */
  else if ((is_plain ? fnzi_is_contiguous(expected) : fnzi_same_strides(out->geometry, expected)) &&
           !r->outs[slot->output] &&
           (owner == FNZI_PLN_NONE || !is_in_donated(r, owner, out->data)) &&
           r->b->plan.buffers.data[r->b->plan.outputs[slot->output].buffer].kind == FNZI_PLN_OUT)
    r->outs[slot->output] = out->data;
  return FNZ_OK;
}

static fnz_status place_outputs(running *r) {
  const fnzi_stp_slots *slots = &r->exe->slots[FNZ_SIDE_OUTPUT];
  FNZI_NEW(&r->ws->call_arena, fnzi_graph_main(r->exe->program)->noutputs, &r->outs);
  for (size_t i = 0; i < slots->count; i++) {
    r->ws->outputs[i].data = NULL;
    if (run_is_asked(r, &slots->data[i]))
      FNZ_TRY(locate_output(r, i));
  }
  return fnzi_stp_overlap_check(r->ws, r->run->state != NULL);
}

/* Returns a result in the workspace, or copies it to memory of the caller. */
static fnz_status give_result(running *r, size_t i) {
  const fnzi_stp_slot *slot = &r->exe->slots[FNZ_SIDE_OUTPUT].data[i];
  fnz_memory *out = &r->run->outputs[i];
  const fnz_geometry *layout, *to = out->geometry;
  unsigned char *start;
  FNZ_TRY(fnzi_stp_result(r->ws, r->b, slot->output, &layout, &start));
  if (r->results[i].data) {
    layout = r->results[i].geometry;
    start = r->results[i].data;
  }
  unsigned char *at =
      start + fnzi_krn_stride_bytes(layout->offset, fnzi_dtype(layout->dtype)->bytes);
  if (!out->data) {
    *out = (fnz_memory){at, layout};
    return FNZ_OK;
  }
  if (out->data == at && r->outs[slot->output] == at)
    return FNZ_OK;
  FNZ_TRY(check_out(r, slot, layout, to));
  if (!to)
    FNZ_TRY(rows_of(r, layout, &to));
  if (!r->ws->outputs[i].data) { /* of sizes that only data decided */
    FNZ_TRY(fnzi_stp_output_set(r->ws, i, out->data, to));
    FNZ_TRY(fnzi_stp_overlap_check(r->ws, r->run->state != NULL));
  }
  if (slot->is_scalar)
    out->geometry = to;
  if (out->data == at && fnzi_same_strides(layout, to)) /* asked for in the input's memory */
    return FNZ_OK;
  fnz_geometry window = *to;
  window.offset = 0;
  fnzi_stp_elements_move(layout, start, &window, out->data);
  return FNZ_OK;
}

static fnz_status give_member(running *r, const fnzi_stp_slot *slot, fnz_memory *out) {
  const fnz_geometry *rows, *layout = r->ws->inputs[slot->input].layout;
  void *data = out->data;
  FNZ_TRY(rows_of(r, layout, &rows));
  FNZ_TRY(check_out(r, slot, layout, out->geometry));
  bool is_plain = out->data && (!out->geometry || fnzi_is_contiguous(out->geometry));
  if (!is_plain)
    FNZ_TRY(fnzi_arena_alloc(&r->ws->call_arena, (size_t)fnz_geometry_numel(rows),
                             fnzi_dtype(rows->dtype)->bytes, &data));
  FNZ_TRY(fnzi_eng_member_copy(r->ws, r->b, slot->input, data));
  if (!out->data)
    *out = (fnz_memory){data, rows};
  else if (!is_plain)
    fnzi_stp_elements_move(rows, data, out->geometry, out->data);
  return FNZ_OK;
}

/* Returns a result in CPU memory as row-major elements. */
static fnz_status pack(running *r, const fnzi_stp_slot *slot, fnz_memory *out) {
  const fnz_geometry *layout, *rows;
  unsigned char *start;
  void *packed;
  *out = (fnz_memory){NULL, NULL};
  if (slot->is_member)
    return give_member(r, slot, out);
  FNZ_TRY(fnzi_stp_result(r->ws, r->b, slot->output, &layout, &start));
  FNZ_TRY(rows_of(r, layout, &rows));
  FNZ_TRY(fnzi_arena_alloc(&r->ws->call_arena, (size_t)fnz_geometry_numel(rows),
                           fnzi_dtype(rows->dtype)->bytes, &packed));
  fnzi_stp_elements_move(layout, start, rows, packed);
  *out = (fnz_memory){packed, rows};
  return FNZ_OK;
}

/* Returns row-major elements of a result, at the caller's address or at one of the workspace. */
static fnz_status give_on_device(running *r, const fnzi_stp_slot *slot, fnz_memory *out) {
  fnz_memory packed;
  uint64_t at = (uint64_t)(uintptr_t)out->data;
  if (!slot->is_member && r->exe->gpu->is_direct(r->ws, r->b, slot->output)) {
    if (at) /* the run has written there */
      return FNZ_OK;
    out->data = (void *)(uintptr_t)r->ws->device_out[slot->output];
    return rows_of(r, run_planned(r, slot), &out->geometry);
  }
  FNZ_TRY(pack(r, slot, &packed));
  FNZ_TRY(check_out(r, slot, packed.geometry, out->geometry));
  size_t cell = fnzi_dtype(packed.geometry->dtype)->bytes,
         count = (size_t)fnz_geometry_numel(packed.geometry);
  FNZ_TRY(r->exe->gpu->put(r->ws, packed.data, count * cell, &at));
  if (!out->data)
    *out = (fnz_memory){(void *)(uintptr_t)at, packed.geometry};
  return FNZ_OK;
}

/* Copies results in the memory of donated inputs, because these get their final values next. */
static fnz_status keep_shown(running *r) {
  const fnzi_stp_slots *slots = &r->exe->slots[FNZ_SIDE_OUTPUT];
  FNZI_NEW(&r->ws->call_arena, slots->count, &r->results);
  for (size_t i = 0; i < slots->count; i++) {
    const fnzi_stp_slot *slot = &slots->data[i];
    const fnz_geometry *layout;
    unsigned char *start;
    bool shows = false;
    if (!run_is_asked(r, slot) || r->exe->device || slot->is_scalar || slot->is_member)
      continue;
    /* The interpreter may leave a result there, which no plan has looked at. */
    const fnzi_pln_location *location = &r->b->plan.outputs[slot->output];
    if (location->buffer != FNZI_PLN_NONE &&
        r->b->plan.buffers.data[location->buffer].kind != FNZI_PLN_LATE)
      continue;
    FNZ_TRY(fnzi_stp_result(r->ws, r->b, slot->output, &layout, &start));
    for (uint32_t k = 0; k < fnzi_graph_main(r->exe->program)->ninputs; k++)
      shows = shows || is_in_donated(r, k, start);
    if (shows)
      FNZ_TRY(pack(r, slot, &r->results[i]));
  }
  return FNZ_OK;
}

static fnz_status take_arena(running *r) {
  r->ws->arena_memory = (fnzi_stp_run_output){r->run->arena, NULL, r->b->arena_bytes};
  if (!r->run->arena)
    return FNZ_OK;
  if (r->run->arena_bytes < r->b->arena_bytes)
    return fnzi_fail(r->ws->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the arena has %zu bytes, %zu are needed", r->run->arena_bytes,
                     r->b->arena_bytes);
  if ((uintptr_t)r->run->arena % FNZI_PLN_ALIGNMENT)
    return fnzi_fail(r->ws->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the arena does not begin at a multiple of %d bytes", FNZI_PLN_ALIGNMENT);
  return FNZ_OK;
}

static fnz_status run_in(running *r) {
  fnzi_arena_reset(&r->ws->call_arena);
  FNZ_TRY(fnzi_stp_inputs_set_weights(r->ws, r->run->state));
  for (uint32_t k = 0; r->bound && k < fnzi_graph_main(r->exe->program)->ninputs; k++)
    if (r->exe->inputs[k].is_tensor && !r->exe->inputs[k].is_passed)
      FNZ_TRY(fnzi_stp_inputs_set_bound(r->ws, &r->bound->bindings[k], k));
  FNZ_TRY(fnzi_stp_inputs_set(r->ws, r->run->inputs));
  r->ws->on_device = r->run->on_device;
  FNZ_TRY(r->ws->on_device ? fnzi_eng_device_inputs(r->ws) : fnzi_stp_staging_check(r->ws));
  FNZ_TRY(fnzi_eng_binding_find(r->ws, r->run->state != NULL, &r->b));
  FNZ_TRY(take_arena(r));
  FNZ_TRY(place_outputs(r));
  if (r->exe->gpu)
    FNZ_TRY(r->exe->gpu->find_memory(r->ws, r->b, false));
  FNZ_TRY(fnzi_eng_execute(r->ws, r->b, r->run->arena, r->outs));
  FNZ_TRY(keep_shown(r));
  const fnzi_stp_slots *slots = &r->exe->slots[FNZ_SIDE_OUTPUT];
  for (size_t i = 0; i < slots->count; i++) {
    const fnzi_stp_slot *slot = &slots->data[i];
    if (run_is_asked(r, slot) && r->ws->on_device && !slot->is_scalar)
      FNZ_TRY(give_on_device(r, slot, &r->run->outputs[i]));
    else if (run_is_asked(r, slot))
      FNZ_TRY(slot->is_member ? give_member(r, slot, &r->run->outputs[i]) : give_result(r, i));
  }
  return FNZ_OK;
}

/* Checks the run of the caller, whose workspace and state must be of this executable. */
static fnz_status take_run(const fnz_executable *exe, fnz_context *ctx, const fnz_execution *given,
                           fnz_execution *run) {
  *run = (fnz_execution){.size = sizeof *run};
  if (!given)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the run is NULL; give a fnz_execution with the memory of inputs and outputs");
  FNZ_TRY(fnzi_options_take(ctx, given, sizeof *run, run));
  if ((run->workspace && run->workspace->exe != exe) || (run->state && run->state->exe != exe))
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the workspace or the state of the run is of another executable");
  if (!run->inputs && exe->slots[FNZ_SIDE_INPUT].count)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the inputs of the run are NULL; give one fnz_memory for each of %zu",
                     exe->slots[FNZ_SIDE_INPUT].count);
  return FNZ_OK;
}

fnz_status fnzi_eng_run_bound(const fnz_executable *exe, fnz_context *ctx,
                              const fnz_execution *given, const fnzi_run_state *bound) {
  fnz_execution run;
  FNZ_TRY(take_run(exe, ctx, given, &run));
  running r = {.exe = exe, .run = &run, .bound = bound, .ws = run.workspace};
  if (!run.outputs && exe->slots[FNZ_SIDE_OUTPUT].count)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the outputs of the run are NULL; give one fnz_memory for each of %zu",
                     exe->slots[FNZ_SIDE_OUTPUT].count);
  if (run.on_device && !exe->gpu)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "memory of a GPU was given to an executable for the CPU");
  fnz_generator own;
  FNZ_TRY(fnzi_eng_begin(exe, ctx, &own, &r.ws));
  return fnzi_eng_end(exe, ctx, run.workspace, r.ws, run_in(&r));
}

fnz_status fnz_executable_run(fnz_context *ctx, const fnz_executable *exe,
                              const fnz_execution *run) {
  return fnzi_eng_run_bound(exe, ctx, run, NULL);
}

fnz_status fnz_executable_get_needs(fnz_context *ctx, const fnz_executable *exe,
                                    const fnz_execution *given, fnz_needs *out) {
  fnz_execution run;
  FNZ_TRY(take_run(exe, ctx, given, &run));
  FNZ_TRY(fnzi_sized_check(ctx, out, sizeof *out));
  running r = {.exe = exe, .run = &run, .ws = run.workspace};
  if (!r.ws)
    FNZ_TRY(fnzi_eng_workspace_take(exe, ctx, &r.ws));
  fnz_status status = fnzi_stp_inputs_set_weights(r.ws, run.state);
  if (status == FNZ_OK)
    status = fnzi_stp_inputs_set(r.ws, run.inputs);
  if (status == FNZ_OK)
    status = fnzi_eng_binding_find(r.ws, run.state != NULL, &r.b);
  if (status == FNZ_OK)
    fnzi_report_give(&r.b->needs, out);
  fnzi_eng_propagate(ctx, r.ws, status);
  if (!run.workspace)
    fnzi_eng_workspace_give(exe, r.ws);
  return status;
}
