/* inputs.c - the inputs of a run, as memory of the inputs of graph 0. */
#include "engine/steps/steps.h"

static const fnzi_value *value_of(const fnz_workspace *ws, uint32_t k) {
  return &fnzi_graph_main(ws->exe->program)
              ->values.data[fnzi_graph_main(ws->exe->program)->inputs[k].u.value];
}

fnz_status fnzi_stp_extent_bytes(fnz_context *ctx, const fnz_geometry *g, size_t *out) {
  int64_t low, high;
  if (!fnzi_extent(g, &low, &high) || low < 0)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, "", "a tensor begins before its memory");
  if (!fnzi_mul_size((size_t)high, fnzi_dtype(g->dtype)->bytes, out))
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, "", "the bytes of a tensor leave 64 bits");
  return FNZ_OK;
}

/* --- Weights and state ------------------------------------------------------------------------ */
void fnzi_stp_inputs_set_state(fnz_workspace *ws) {
  const fnz_executable_state *s = ws->state;
  for (uint32_t k = 0; k < fnzi_graph_main(ws->exe->program)->ninputs; k++)
    if (ws->exe->inputs[k].is_tensor && ws->exe->inputs[k].in_state)
      ws->inputs[k].start = s->has_values[k] ? s->starts[k] : NULL;
}

fnz_status fnzi_stp_inputs_set_weights(fnz_workspace *ws, const fnz_executable_state *state) {
  ws->state = state;
  ws->on_device = ws->host_absent = false;
  for (uint32_t k = 0; k < fnzi_graph_main(ws->exe->program)->ninputs; k++) {
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    fnzi_stp_run_input *input = &ws->inputs[k];
    if (!in->is_tensor || in->is_passed)
      continue;
    *input = (fnzi_stp_run_input){.layout = value_of(ws, k)->geometry};
    if (in->weight) {
      input->layout = in->weight->geometry;
      input->start = fnzi_stp_weight_start(in);
    }
    if (state && in->in_state)
      input->start = state->has_values[k] ? state->starts[k] : NULL;
    FNZ_TRY(fnzi_stp_extent_bytes(ws->ctx, input->layout, &input->bytes));
  }
  /* Constants that were computed when the program was compiled. */
  for (uint32_t k = fnzi_graph_main(ws->exe->program)->ninputs; k < ws->exe->ninputs; k++) {
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    fnzi_stp_run_input *input = &ws->inputs[k];
    *input =
        (fnzi_stp_run_input){.layout = in->weight->geometry, .start = fnzi_stp_weight_start(in)};
    FNZ_TRY(fnzi_stp_extent_bytes(ws->ctx, input->layout, &input->bytes));
  }
  return FNZ_OK;
}

fnz_status fnzi_stp_inputs_set_bound(fnz_workspace *ws, const fnzi_run_binding *b, uint32_t k) {
  if (!ws->exe->inputs[k].is_passed && (!b->memory || !b->memory->cells || b->memory->is_borrowed))
    return FNZ_OK;
  ws->inputs[k] = (fnzi_stp_run_input){.start = b->memory->cells, .layout = b->geometry};
  return fnzi_stp_extent_bytes(ws->ctx, b->geometry, &ws->inputs[k].bytes);
}

/* --- Memory of the caller --------------------------------------------------------------------- */
static fnz_status check_geometry(fnz_workspace *ws, uint32_t k, const fnz_memory *memory) {
  const fnz_geometry *expected = value_of(ws, k)->geometry, *g = memory->geometry;
  const char *name = value_of(ws, k)->name;
  if (g && g->rank && (!g->sizes || !g->strides))
    return fnzi_fail(ws->ctx, FNZ_CLASS_ARGUMENT, name,
                     "the geometry of its memory has no sizes, or no strides");
  if (!g || (!memory->data && fnz_geometry_numel(g) > 0))
    return fnzi_fail(ws->ctx, FNZ_CLASS_REF, name,
                     "no memory was given for this input; give its `data` and `geometry`");
  if (g->dtype != expected->dtype)
    return fnzi_fail(ws->ctx, FNZ_CLASS_TYPE, name,
                     "the program takes %s, the memory given is %s; cast it before",
                     fnzi_dtype(expected->dtype)->name, fnzi_dtype(g->dtype)->name);
  if (g->rank != expected->rank)
    return fnzi_fail(ws->ctx, FNZ_CLASS_BOUNDS, name,
                     "the program takes %u dimensions, the memory given has %u; reshape it before",
                     expected->rank, g->rank);
  for (uint32_t d = 0; d < g->rank; d++) {
    bool is_fixed = !expected->symbols || !expected->symbols[d];
    if (g->sizes[d] < 0 || g->strides[d] < 0 || (is_fixed && g->sizes[d] != expected->sizes[d]))
      return fnzi_fail_for(
          ws->ctx, FNZI_REASON_SIZES, FNZ_CLASS_BOUNDS, name,
          "size %lld of dimension %u was traced, the memory given has %lld with "
          "stride %lld; give that size, or export the program with this dimension dynamic",
          (long long)expected->sizes[d], d, (long long)g->sizes[d], (long long)g->strides[d]);
  }
  if (g->is_conj || g->is_neg)
    return fnzi_fail(ws->ctx, FNZ_CLASS_UNSUPPORTED, name,
                     "an input with a conjugate or negative bit cannot be run; resolve it before");
  return FNZ_OK;
}

/* Sets the window of input k, from the start of its memory. The caller passes the address of the
 * element with all indices 0; the signature says how far the memory reaches before it. */
static fnz_status set_memory(fnz_workspace *ws, uint32_t k, const fnz_memory *memory) {
  fnzi_stp_run_input *input = &ws->inputs[k];
  fnz_geometry *layout = &ws->layouts[k];
  FNZ_TRY(check_geometry(ws, k, memory));
  size_t cell = fnzi_dtype(memory->geometry->dtype)->bytes;
  bool shares = ws->exe->inputs[k].memory != k || ws->exe->inputs[k].is_shared;
  *layout = *memory->geometry;
  layout->symbols = NULL;
  layout->offset = shares ? value_of(ws, k)->geometry->offset : 0;
  if (memory->data && (uintptr_t)memory->data % (cell > 8 ? 8 : cell))
    return fnzi_fail(ws->ctx, FNZ_CLASS_ARGUMENT, value_of(ws, k)->name,
                     "its elements do not lie at multiples of their size");
  *input = (fnzi_stp_run_input){.layout = layout};
  if (memory->data)
    input->start = (unsigned char *)memory->data - fnzi_krn_stride_bytes(layout->offset, cell);
  return fnzi_stp_extent_bytes(ws->ctx, layout, &input->bytes);
}

/* Checks that inputs that share memory start at one address. An input that only represents the
 * memory gets that address. */
static fnz_status check_shared(fnz_workspace *ws, uint32_t k) {
  const fnzi_stp_input *in = &ws->exe->inputs[k];
  fnzi_stp_run_input *input = &ws->inputs[k];
  if (in->slot == FNZI_PLN_NONE) {
    *input = (fnzi_stp_run_input){.layout = value_of(ws, k)->geometry};
    for (uint32_t i = 0; i < fnzi_graph_main(ws->exe->program)->ninputs && !input->start; i++)
      if (i != k && ws->exe->inputs[i].memory == in->memory && ws->exe->inputs[i].is_tensor)
        input->start = ws->inputs[i].start;
    return fnzi_stp_extent_bytes(ws->ctx, input->layout, &input->bytes);
  }
  const fnz_geometry *expected = value_of(ws, k)->geometry;
  bool same = input->start == ws->inputs[in->memory].start || !input->start;
  for (uint32_t d = 0; d < expected->rank; d++)
    same = same && (expected->sizes[d] == 1 || input->layout->strides[d] == expected->strides[d]);
  if (same)
    return FNZ_OK;
  return fnzi_fail(ws->ctx, FNZ_CLASS_OVERLAP, value_of(ws, k)->name,
                   "this input shares memory with %s by the signature; give both in one memory, "
                   "with the recorded strides and offsets",
                   value_of(ws, in->memory)->name);
}

fnz_status fnzi_stp_inputs_set(fnz_workspace *ws, const fnz_memory *inputs) {
  for (uint32_t k = 0; k < fnzi_graph_main(ws->exe->program)->ninputs; k++) {
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    if (in->slot == FNZI_PLN_NONE || in->in_state)
      continue;
    if (!in->is_scalar) {
      FNZ_TRY(set_memory(ws, k, &inputs[in->slot]));
      continue;
    }
    const fnzi_symbol *symbol = &ws->exe->program->symbols.data[value_of(ws, k)->symbol];
    const void *number = inputs[in->slot].data;
    ws->inputs[k] =
        (fnzi_stp_run_input){.scalar = symbol->hint, .has_scalar = symbol->has_hint || number};
    if (number)
      memcpy(&ws->inputs[k].scalar, number, sizeof ws->inputs[k].scalar);
  }
  for (uint32_t k = 0; k < fnzi_graph_main(ws->exe->program)->ninputs; k++) {
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    if (in->is_tensor && in->is_passed && (in->is_shared || in->memory != k))
      FNZ_TRY(check_shared(ws, k));
  }
  return FNZ_OK;
}

/* --- On the device ---------------------------------------------------------------------------- */
fnz_status fnzi_stp_staging_check(fnz_workspace *ws) {
  const fnzi_stp_slots *in = &ws->exe->slots[FNZ_SIDE_INPUT],
                       *out = &ws->exe->slots[FNZ_SIDE_OUTPUT];
  const fnzi_stp_slot *slot = NULL;
  if (!ws->exe->device || ws->exe->staging)
    return FNZ_OK;
  for (size_t i = 0; i < in->count && !slot; i++)
    slot = in->data[i].info.geometry ? &in->data[i] : NULL;
  bool is_input = slot != NULL;
  for (size_t i = 0; i < out->count && !slot; i++)
    slot = !out->data[i].is_scalar && !(ws->state && out->data[i].info.in_state) ? &out->data[i]
                                                                                 : NULL;
  if (!slot)
    return FNZ_OK;
  return fnzi_fail(
      ws->ctx, FNZ_CLASS_ARGUMENT, slot->info.name,
      "%s \"%s\" lies with the CPU, and the executable is for a GPU: give memory there "
      "(on_device), or compile with the option staging, which copies it",
      is_input ? "input" : "output", slot->info.name);
}
