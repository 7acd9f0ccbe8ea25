/* arrays.c - runs with named arrays, as fnz_run() has them; and inputs that were written through
 * another one of their memory.
 *
 * Arrays are bound by the interpreter's own rules, so that the same ones are accepted, and refused
 * with the same words. */
#include "base/random.h"
#include "engine/engine.h"
#include "program/formats/formats.h"
#include "run/numbers.h"

/* --- Members ---------------------------------------------------------------------------------- */
fnz_status fnzi_eng_member_copy(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t k, void *out) {
  const fnz_geometry *layout = ws->inputs[k].layout;
  uint32_t memory = ws->exe->inputs[k].memory;
  size_t bytes = 0;
  for (uint32_t i = 0; i < fnzi_graph_main(ws->exe->program)->ninputs; i++)
    if (ws->exe->inputs[i].memory == memory && ws->inputs[i].bytes > bytes)
      bytes = ws->inputs[i].bytes;
  unsigned char *copy = fnzi_resize(ws->ctx, NULL, 0, bytes + 1);
  if (!copy)
    return fnzi_no_memory(ws->ctx);
  if (bytes)
    memcpy(copy, ws->inputs[k].start, bytes);
  fnz_status status = FNZ_OK;
  for (uint32_t i = 0; status == FNZ_OK && i < fnzi_graph_main(ws->exe->program)->noutputs; i++) {
    uint32_t owner = ws->exe->owners[i];
    const fnz_geometry *from;
    unsigned char *start;
    if (owner == FNZI_PLN_NONE || ws->exe->inputs[owner].memory != memory ||
        fnzi_graph_main(ws->exe->program)->outputs[i].tag != FNZ_ARG_VALUE)
      continue;
    status = fnzi_stp_result(ws, b, i, &from, &start);
    if (status == FNZ_OK) /* a final value */
      fnzi_stp_elements_move(from, start, ws->inputs[owner].layout, copy);
  }
  if (status == FNZ_OK)
    fnzi_stp_elements_pack(layout, copy, out);
  fnzi_free(ws->ctx, copy, bytes + 1);
  return status;
}

/* --- Arrays in -------------------------------------------------------------------------------- */
fnz_status fnzi_eng_give_number(fnz_workspace *ws, fnzi_run_state *run, uint32_t k) {
  fnz_arg number;
  bool known = false;
  ws->inputs[k] = (fnzi_stp_run_input){.has_scalar = false};
  if (run->symbolic)
    FNZ_TRY(fnzi_run_symbol_number(run, fnzi_graph_main(ws->exe->program)->inputs[k].u.value,
                                   &known, &number));
  if (known)
    ws->inputs[k] = (fnzi_stp_run_input){.scalar = number.u.i, .has_scalar = true};
  return FNZ_OK;
}

/* --- Arrays out ------------------------------------------------------------------------------- */
/* The arrays of results. */
typedef struct results {
  fnz_arrays *to;
  void **data;          /* per slot: the elements of its array; NULL: there is none yet */
  unsigned char **outs; /* per output of graph 0: elements for the run to fill; NULL if the output
                           is elsewhere and is moved after the run */
} results;

/* Returns the layout of an output that is known before the run; NULL if its sizes or its number are
 * data-dependent. */
static const fnz_geometry *arrays_planned(const fnz_workspace *ws, const fnzi_stp_binding *b,
                                          const fnzi_stp_slot *slot) {
  if (slot->is_member)
    return ws->inputs[slot->input].layout;
  if (slot->is_scalar) {
    /* The type of an output that sizes decide; NULL: it is no such number. */
    static const fnz_geometry whole = {.dtype = FNZ_I64}, real = {.dtype = FNZ_F64},
                              truth = {.dtype = FNZ_BOOL};
    uint8_t tag = fnzi_graph_main(b->program)->outputs[slot->output].tag;
    return tag == FNZ_ARG_INT     ? &whole
           : tag == FNZ_ARG_FLOAT ? &real
           : tag == FNZ_ARG_BOOL  ? &truth
                                  : NULL;
  }
  const fnzi_pln_location *location = &b->plan.outputs[slot->output];
  return fnzi_pln_has_memory(&b->plan, *location) ? location->map : NULL;
}

static bool arrays_is_asked(const fnzi_stp_slot *slot, const fnz_executable_state *state) {
  return !(state && slot->info.in_state);
}

/* Adds arrays for the run to write into, up to the first output whose sizes, or number, are not
 * known before it. */
static fnz_status add_arrays(fnz_workspace *ws, const fnzi_stp_binding *b,
                             const fnz_executable_state *state, results *r) {
  const fnzi_stp_slots *slots = &ws->exe->slots[FNZ_SIDE_OUTPUT];
  FNZI_NEW(&ws->call_arena, fnzi_graph_main(ws->exe->program)->noutputs, &r->outs);
  FNZI_NEW(&ws->call_arena, slots->count, &r->data);
  for (size_t i = 0; i < slots->count; i++) {
    const fnzi_stp_slot *slot = &slots->data[i];
    const fnz_geometry *g = arrays_is_asked(slot, state) ? arrays_planned(ws, b, slot) : NULL;
    if (!arrays_is_asked(slot, state))
      continue;
    if (!g)
      return FNZ_OK;
    FNZ_TRY(
        fnzi_arrays_add_unfilled(r->to, slot->info.name, g->dtype, g->rank, g->sizes, &r->data[i]));
    if (slot->is_member || slot->is_scalar)
      continue;
    const fnzi_pln_location *location = &b->plan.outputs[slot->output];
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[location->buffer];
    if (buffer->kind == FNZI_PLN_OUT && buffer->output == slot->output &&
        location->map->offset == 0 && fnzi_is_contiguous(location->map)) /* it fills its buffer */
      r->outs[slot->output] = r->data[i];
  }
  return FNZ_OK;
}

static fnz_status give_output(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_stp_slot *slot,
                              void *data, const results *r) {
  const fnz_geometry *layout = slot->is_member ? ws->inputs[slot->input].layout : NULL;
  unsigned char *start = NULL;
  if (!slot->is_member)
    FNZ_TRY(fnzi_stp_result(ws, b, slot->output, &layout, &start));
  if (!data)
    FNZ_TRY(fnzi_arrays_add_unfilled(r->to, slot->info.name, layout->dtype, layout->rank,
                                     layout->sizes, &data));
  if (slot->is_member)
    return fnzi_eng_member_copy(ws, b, slot->input, data);
  if (start != data)
    fnzi_stp_elements_pack(layout, start, data);
  return FNZ_OK;
}

/* --- Both ------------------------------------------------------------------------------------- */
static fnz_status run_bound(fnz_workspace *ws, fnzi_run_state *run,
                            const fnz_executable_state *state, fnz_arrays *outputs) {
  const size_t before = fnz_arrays_count(outputs);
  results r = {outputs, NULL, NULL};
  fnzi_stp_binding *b;
  fnzi_arena_reset(&ws->call_arena);
  FNZ_TRY(fnzi_stp_inputs_set_weights(ws, state));
  for (uint32_t k = 0; k < fnzi_graph_main(ws->exe->program)->ninputs; k++) {
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    const fnzi_run_binding *given = &run->bindings[k];
    if (in->is_scalar)
      FNZ_TRY(fnzi_eng_give_number(ws, run, k));
    else if (in->is_tensor && state && in->in_state && given->given)
      return fnzi_fail(ws->ctx, FNZ_CLASS_REF, given->name,
                       "the state has it; an array for it goes into the state");
    else if (in->is_tensor && !(state && in->in_state))
      FNZ_TRY(fnzi_stp_inputs_set_bound(ws, given, k));
  }
  FNZ_TRY(fnzi_stp_staging_check(ws));
  FNZ_TRY(fnzi_eng_binding_find(ws, state != NULL, &b));
  if (ws->exe->gpu)
    FNZ_TRY(ws->exe->gpu->find_memory(ws, b, false));
  fnz_status status = add_arrays(ws, b, state, &r);
  if (status == FNZ_OK)
    status = fnzi_eng_execute(ws, b, NULL, r.outs);
  const fnzi_stp_slots *slots = &ws->exe->slots[FNZ_SIDE_OUTPUT];
  for (size_t i = 0; i < slots->count && status == FNZ_OK; i++)
    if (arrays_is_asked(&slots->data[i], state))
      status = give_output(ws, b, &slots->data[i], r.data[i], &r);
  if (status != FNZ_OK)
    fnzi_arrays_shorten(outputs, before);
  return status;
}

fnz_status fnz_executable_run_arrays(fnz_context *ctx, const fnz_executable *exe,
                                     const fnz_arrays *inputs, fnz_executable_state *state,
                                     fnz_workspace *workspace, fnz_arrays *outputs) {
  const fnzi_run_options options = {
      .inputs = inputs, .borrows = true, .emit = fnzi_run_emit_nothing};
  fnz_workspace *ws = workspace;
  fnzi_run_state run;
  fnz_generator own;
  FNZ_TRY(fnzi_eng_begin(exe, ctx, &own, &ws));
  fnz_status status = fnzi_run_open(&run, ws->ctx, exe->program, ws->backend, &options);
  if (status == FNZ_OK)
    status = run_bound(ws, &run, state, outputs);
  fnzi_bnd_steps_close(ws);
  fnzi_run_close(&run);
  return fnzi_eng_end(exe, ctx, workspace, ws, status);
}
