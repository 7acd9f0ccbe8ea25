/* slots.c - what goes into an executable and comes out of it, by the names that fnz_run() gives.
 *
 * needs   a functional program
 * gives   facts of each input of graph 0; the slots of inputs, outputs and state */
#include "engine/steps/steps.h"
#include "program/state_io.h"

/* --- Inputs ----------------------------------------------------------------------------------- */
static fnz_status describe_input(fnz_executable *exe, uint32_t k) {
  const fnz_input_spec *spec = &exe->program->inputs[k];
  const fnz_arg *arg = &fnzi_graph_main(exe->program)->inputs[k];
  fnzi_stp_input *in = &exe->inputs[k];
  in->memory = fnzi_memory_of(exe->program, k);
  in->slot = FNZI_PLN_NONE;
  in->is_tensor = arg->tag == FNZ_ARG_VALUE;
  in->is_scalar = arg->tag == FNZ_ARG_SYMBOL;
  if (!in->is_tensor)
    return FNZ_OK;
  in->weight = spec->target ? fnzi_weight_find(exe->program, spec->target) : NULL;
  in->is_passed =
      spec->kind == FNZ_INPUT_USER || (spec->kind == FNZ_INPUT_MEMORY && in->weight == NULL);
  if (in->is_passed || (in->weight && !in->weight->blob))
    in->weight = NULL;
  const char *prefix = spec->kind == FNZ_INPUT_USER        ? "input"
                       : spec->kind == FNZ_INPUT_PARAMETER ? "parameter"
                       : spec->kind == FNZ_INPUT_BUFFER    ? "buffer"
                       : spec->kind == FNZ_INPUT_CONSTANT  ? "buffer"
                                                           : NULL;
  const char *target = spec->target;
  if (!target)
    target = fnzi_graph_main(exe->program)->values.data[arg->u.value].name;
  return prefix ? fnzi_arena_dotted(&exe->arena, prefix, target, &in->name) : FNZ_OK;
}

/* --- Final values ----------------------------------------------------------------------------- */
/* Indexes tensors by name, constants as buffers. The first one of a name counts. */
static fnz_status index_inputs(fnz_executable *exe, fnzi_arena *scratch, fnzi_map *inputs) {
  for (uint32_t k = fnzi_graph_main(exe->program)->ninputs; k-- > 0;) {
    const fnz_input_spec *spec = &exe->program->inputs[k];
    const char *key = exe->inputs[k].name;
    if (!exe->inputs[k].is_tensor || !spec->target)
      continue;
    if (!key)
      FNZ_TRY(fnzi_arena_dotted(scratch, fnzi_input_kind_names[spec->kind], spec->target, &key));
    FNZ_TRY(fnzi_map_set(inputs, key, strlen(key), k));
  }
  return FNZ_OK;
}

static bool is_final(const fnz_output_spec *spec) {
  return fnzi_io_input_kind_of(spec) != FNZI_NO_INPUT_KIND && !spec->metadata && !spec->set &&
         spec->target;
}

static fnz_status find_owner(fnz_executable *exe, fnzi_arena *scratch, const fnzi_map *inputs,
                             size_t output) {
  const fnz_output_spec *spec = &exe->program->outputs[output];
  const char *key,
      *prefix = fnzi_io_is_new_value(spec) ? "input" : fnzi_output_kind_of(spec)->prefix;
  uint64_t owner;
  if (!is_final(spec))
    return FNZ_OK;
  prefix = prefix ? prefix : fnzi_input_kind_names[fnzi_io_input_kind_of(spec)];
  FNZ_TRY(fnzi_arena_dotted(scratch, prefix, spec->target, &key));
  if (fnzi_map_get(inputs, key, strlen(key), &owner))
    exe->owners[output] = (uint32_t)owner;
  return FNZ_OK;
}

static fnz_status find_owners(fnz_executable *exe) {
  fnzi_arena scratch;
  fnzi_map inputs;
  bool any = false;
  FNZI_NEW(&exe->arena, fnzi_graph_main(exe->program)->noutputs, &exe->owners);
  for (size_t i = 0; i < fnzi_graph_main(exe->program)->noutputs; i++) {
    exe->owners[i] = FNZI_PLN_NONE;
    any = any || is_final(&exe->program->outputs[i]);
  }
  if (!any)
    return FNZ_OK;
  fnzi_arena_init(&scratch, exe->ctx);
  fnzi_map_init(&inputs, exe->ctx);
  fnz_status status = index_inputs(exe, &scratch, &inputs);
  for (size_t i = 0; status == FNZ_OK && i < fnzi_graph_main(exe->program)->noutputs; i++)
    status = find_owner(exe, &scratch, &inputs, i);
  fnzi_map_free(&inputs);
  fnzi_arena_free(&scratch);
  return status;
}

/* Finds the state: parameters and buffers with a final value, and every input in their memory,
 * unless the caller passes some of it. */
static fnz_status find_state(fnz_executable *exe) {
  bool *written, *called; /* per memory */
  FNZI_NEW(&exe->arena, fnzi_graph_main(exe->program)->ninputs, &written);
  FNZI_NEW(&exe->arena, fnzi_graph_main(exe->program)->ninputs, &called);
  for (size_t i = 0; i < fnzi_graph_main(exe->program)->noutputs; i++)
    if (exe->owners[i] != FNZI_PLN_NONE)
      written[exe->inputs[exe->owners[i]].memory] = true;
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++)
    if (exe->inputs[k].is_tensor && exe->inputs[k].is_passed)
      called[exe->inputs[k].memory] = true;
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++) {
    uint32_t memory = exe->inputs[k].memory;
    exe->inputs[k].in_state = exe->inputs[k].is_tensor && written[memory] && !called[memory];
  }
  return FNZ_OK;
}

/* Adds parameters and buffers to the state that another program writes, and that this program
 * reads. */
static fnz_status find_read_only(fnz_executable *exe, const fnz_compile_options *options) {
  bool *is_held; /* per memory */
  FNZI_NEW(&exe->arena, fnzi_graph_main(exe->program)->ninputs, &is_held);
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++) {
    const fnz_input_spec *in = &exe->program->inputs[k];
    if (in->kind != FNZ_INPUT_PARAMETER && in->kind != FNZ_INPUT_BUFFER)
      continue;
    for (size_t i = 0; i < options->nheld; i++)
      if (strcmp(in->target, options->held[i]) == 0)
        is_held[exe->inputs[k].memory] = true;
  }
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++) {
    fnzi_stp_input *in = &exe->inputs[k];
    if (!is_held[in->memory] || in->in_state || !in->is_tensor || in->is_passed)
      continue;
    if (options->device && strcmp(options->device, "cpu") != 0)
      return fnzi_fail(exe->ctx, FNZ_CLASS_UNSUPPORTED, in->name,
                       "the program only reads it, and on a GPU a state has only what it writes");
    in->in_state = in->is_read_only = true;
  }
  return FNZ_OK;
}

/* --- Slots ------------------------------------------------------------------------------------ */
static fnz_status add(fnz_executable *exe, fnz_side side, fnzi_stp_slot slot) {
  FNZI_PUSH(exe->ctx, &exe->slots[side], slot);
  return FNZ_OK;
}

static fnz_status add_inputs(fnz_executable *exe) {
  const fnzi_graph *g = fnzi_graph_main(exe->program);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    fnzi_stp_input *in = &exe->inputs[k];
    bool is_user = exe->program->inputs[k].kind == FNZ_INPUT_USER && in->is_passed;
    fnz_side side = in->in_state ? FNZ_SIDE_STATE : FNZ_SIDE_INPUT;
    if (!is_user && !in->is_scalar && !(in->in_state && in->name))
      continue;
    const char *name = in->in_state ? in->name : g->values.data[g->inputs[k].u.value].name;
    in->slot = (uint32_t)exe->slots[side].count;
    FNZ_TRY(add(exe, side,
                (fnzi_stp_slot){
                    .info = {name, fnzi_pln_tensor(fnzi_graph_main(exe->program), &g->inputs[k]),
                             in->in_state},
                    .input = k}));
  }
  return FNZ_OK;
}

static fnz_status add_output(fnz_executable *exe, const char *name, size_t k) {
  uint32_t owner = exe->owners[k];
  bool in_state = owner != FNZI_PLN_NONE && exe->inputs[owner].in_state;
  return add(
      exe, FNZ_SIDE_OUTPUT,
      (fnzi_stp_slot){.info = {name,
                               fnzi_pln_tensor(fnzi_graph_main(exe->program),
                                               &fnzi_graph_main(exe->program)->outputs[k]),
                               in_state},
                      .output = (uint32_t)k,
                      .is_scalar = fnzi_graph_main(exe->program)->outputs[k].tag != FNZ_ARG_VALUE});
}

/* Adds "output.K" for tensors and numbers, then the memory that inputs were moved away from. */
static fnz_status add_results(fnz_executable *exe) {
  const fnzi_graph *g = fnzi_graph_main(exe->program);
  const char *name;
  size_t number = 0;
  for (size_t k = 0; k < g->noutputs; k++) {
    char digits[FNZI_INT_TEXT];
    if (!fnzi_output_is_result(&exe->program->outputs[k]))
      continue;
    fnzi_int_text((int64_t)number++, digits);
    FNZ_TRY(fnzi_arena_dotted(&exe->arena, "output", digits, &name));
    if (g->outputs[k].tag == FNZ_ARG_VALUE || fnzi_run_is_number(&g->outputs[k]))
      FNZ_TRY(add_output(exe, name, k));
  }
  for (size_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *spec = &exe->program->outputs[k];
    if (spec->kind != FNZ_OUTPUT_MEMORY_MUTATION || g->outputs[k].tag != FNZ_ARG_VALUE ||
        fnzi_run_is_whole_memory(exe->program, spec->target))
      continue;
    FNZ_TRY(fnzi_arena_dotted(&exe->arena, "memory", spec->target, &name));
    FNZ_TRY(add_output(exe, name, k));
  }
  return FNZ_OK;
}

static fnz_status add_finals(fnz_executable *exe, fnzi_map *finals) {
  const fnzi_graph *g = fnzi_graph_main(exe->program);
  uint64_t output;
  for (size_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *spec = &exe->program->outputs[k];
    const char *prefix = fnzi_output_kind_of(spec)->prefix, *name;
    if (!prefix || g->outputs[k].tag != FNZ_ARG_VALUE || !spec->target)
      continue;
    FNZ_TRY(fnzi_arena_dotted(&exe->arena, prefix, spec->target, &name));
    FNZ_TRY(fnzi_map_set(finals, name, strlen(name), k));
  }
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnzi_stp_input *in = &exe->inputs[k];
    if (!in->name)
      continue;
    if (fnzi_map_get(finals, in->name, strlen(in->name), &output))
      FNZ_TRY(add_output(exe, in->name, output));
    else if (exe->program->inputs[k].written)
      FNZ_TRY(
          add(exe, FNZ_SIDE_OUTPUT,
              (fnzi_stp_slot){.info = {in->name, fnzi_pln_tensor(g, &g->inputs[k]), in->in_state},
                              .input = k,
                              .is_member = true}));
  }
  return FNZ_OK;
}

fnz_status fnzi_stp_slots_make(fnz_executable *exe, const fnz_compile_options *options) {
  fnzi_map finals;
  FNZI_NEW(&exe->arena, fnzi_graph_main(exe->program)->ninputs, &exe->inputs);
  exe->ninputs = fnzi_graph_main(exe->program)->ninputs;
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++)
    FNZ_TRY(describe_input(exe, k));
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++)
    if (exe->inputs[k].memory != k)
      exe->inputs[k].is_shared = exe->inputs[exe->inputs[k].memory].is_shared = true;
  FNZ_TRY(find_owners(exe));
  FNZ_TRY(find_state(exe));
  FNZ_TRY(find_read_only(exe, options));
  FNZ_TRY(add_inputs(exe));
  FNZ_TRY(add_results(exe));
  fnzi_map_init(&finals, exe->ctx);
  fnz_status status = add_finals(exe, &finals);
  fnzi_map_free(&finals);
  return status;
}

size_t fnz_executable_count(const fnz_executable *exe, fnz_side side) {
  return (unsigned)side <= FNZ_SIDE_STATE ? exe->slots[side].count : 0;
}

fnz_slot fnz_executable_slot(const fnz_executable *exe, fnz_side side, size_t k) {
  return k < fnz_executable_count(exe, side) ? exe->slots[side].data[k].info : (fnz_slot){0};
}
