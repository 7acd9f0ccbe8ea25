/* sizes.c - symbolic sizes: the program with its symbols replaced by the numbers of a call.
 *
 * needs   the key of a binding: the layouts of the inputs
 * gives   a program of fixed sizes whose ranges and guards hold; or, if sizes are data-dependent,
 *         the same program, to be run node by node; and sizes near the call's, to plan for */
#include "engine/steps/steps.h"
#include "run/numbers.h"

/* --- The numbers of a call
 * ------------------------------------------------------------------------
 */
fnz_status fnzi_stp_input_arrays(fnz_workspace *ws, fnzi_arena *arena, fnz_array **out) {
  uint32_t count = ws->exe->ninputs;
  FNZI_NEW(arena, count, out);
  for (uint32_t k = 0; k < count; k++) {
    fnzi_stp_run_input *g = &ws->inputs[k];
    fnz_array *a = &(*out)[k];
    if (g->layout && ws->exe->inputs[k].is_passed)
      *a = (fnz_array){"", g->layout->dtype, g->layout->rank, g->layout->sizes, g, 0};
    else if (g->has_scalar)
      *a = (fnz_array){"", FNZ_I64, 0, NULL, &g->scalar, sizeof g->scalar};
  }
  return FNZ_OK;
}

/* Numbers for all symbols, from the sizes of inputs; ranges and guards are checked. Ends with
 * fnzi_run_close(), also after a failure. */
static fnz_status open_numbers(fnz_workspace *ws, fnzi_arena *arena,
                               const fnzi_run_options *options, fnzi_run_state *run) {
  uint32_t count = ws->exe->ninputs;
  const fnz_array **given;
  fnz_array *arrays;
  memset(run, 0, sizeof *run);
  FNZI_NEW(arena, count, &given);
  FNZ_TRY(fnzi_stp_input_arrays(ws, arena, &arrays));
  for (uint32_t k = 0; k < count; k++)
    given[k] = arrays[k].data ? &arrays[k] : NULL;
  return fnzi_run_open_sizes(run, ws->ctx, ws->uses_folded ? ws->exe->folded : ws->exe->program,
                             ws->backend, options, given);
}

static void use(fnzi_stp_binding *b, const fnzi_stp_expansion *expansion) {
  b->program = expansion->program ? expansion->program : b->program;
  b->parts = expansion->parts;
}

/* Parts of a decomposed program whose source is exe->folded: nodes of the user's program. */
static fnz_status through_folded(fnz_workspace *ws, fnzi_stp_binding *b) {
  const fnzi_graph *graph = fnzi_graph_main(b->program);
  const uint32_t **parts;
  uint32_t *own;
  FNZI_NEW(&b->arena, b->program->graphs.count, &parts);
  FNZI_NEW(&b->arena, graph->nodes.count, &own);
  for (size_t g = 1; b->parts && g < b->program->graphs.count; g++)
    parts[g] = b->parts[g];
  for (uint32_t n = 0; n < graph->nodes.count; n++)
    own[n] = fnzi_stp_part_of(ws->exe->folded_parts, 0, fnzi_stp_part_of(b->parts, 0, n));
  parts[0] = own;
  b->parts = parts;
  b->whole = ws->exe->program;
  return FNZ_OK;
}

static fnzi_stp_mode mode_of(const fnz_executable *exe) {
  bool can_plan = !exe->is_unplanned && !exe->kernels && fnzi_stp_inputs_are_fixed(exe->program);
  if (exe->data_dependent == FNZI_STP_DATA_SIZES)
    return can_plan ? FNZI_STP_PLANNED : FNZI_STP_INTERPRETED;
  return exe->is_unplanned ? FNZI_STP_STEPWISE : FNZI_STP_PLANNED;
}

fnz_status fnzi_stp_sizes_bind(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_run_options options = {.emit = fnzi_run_emit_nothing};
  fnzi_run_state run;
  fnz_arrays *none;
  b->program = b->whole = ws->exe->program;
  b->mode = mode_of(ws->exe);
  b->uses_folded = ws->uses_folded;
  if (ws->uses_folded) {
    b->program = ws->exe->folded;
    b->parts = ws->exe->folded_parts;
  } else if (!ws->exe->has_symbols)
    use(b, &ws->exe->expansion);
  if (!ws->exe->has_symbols || ws->exe->data_dependent != FNZI_STP_DATA_NONE)
    return FNZ_OK;
  FNZ_TRY(fnz_arrays_create(ws->ctx, &none));
  options.inputs = none;
  fnz_status status = open_numbers(ws, &b->arena, &options, &run);
  if (status == FNZ_OK)
    status =
        fnzi_instantiate(&run.symbolic->sizes, &run.symbolic->point, FNZI_READINGS_RUN, &b->owned);
  fnzi_run_close(&run);
  fnz_arrays_destroy(none);
  if (status != FNZ_OK) {
    b->mode = FNZI_STP_INTERPRETED;
    return status == FNZ_UNSUPPORTED ? FNZ_OK : status;
  }
  b->program = b->whole = b->owned;
  if (!ws->exe->is_unplanned)
    FNZ_TRY(fnzi_stp_expand(ws->ctx, b->owned, ws->exe->kernels, !ws->exe->gpu, &b->expansion));
  use(b, &b->expansion);
  return b->uses_folded ? through_folded(ws, b) : FNZ_OK;
}

/* --- Other numbers
 * ------------------------------------------------------------------------
 */
/* Returns another number for symbol i, which is n in the call. Most candidates are a multiple of 32
 * away, so that decisions based on sizes stay the same as at n. The last ones keep relations
 * between symbols. */
static int64_t near_size(uint32_t choice, int64_t n, size_t i) {
  const int64_t distance = 32 * ((int64_t)(i % 1024) + 1);
  const int64_t all[FNZI_STP_NEAR] = {n + distance, n + distance / 8, n - distance, n + 64, n + n};
  return n < INT32_MAX && all[choice] > 0 ? all[choice] : n + 1;
}

static fnz_status choose_point(const fnzi_sizes *sizes, fnzi_point *point, fnzi_arena *arena,
                               uint32_t choice, bool *admitted) {
  int64_t *numbers;
  bool known = true;
  FNZI_NEW(arena, sizes->free.count, &numbers);
  for (size_t i = 0; i < sizes->free.count && known; i++)
    if (!fnzi_is_data_symbol(sizes->free.data[i]))
      FNZ_TRY(fnzi_point_int(point, sizes->free.data[i], &known, &numbers[i]));
  *admitted = false;
  if (!known)
    return FNZ_OK;
  const fnzi_condition *broken;
  for (size_t i = 0; i < sizes->free.count; i++)
    if (!fnzi_is_data_symbol(sizes->free.data[i]))
      FNZ_TRY(fnzi_point_set(point, sizes->free.data[i], near_size(choice, numbers[i], i)));
  FNZ_TRY(fnzi_sizes_admit(sizes, point, &broken));
  *admitted = !broken;
  return FNZ_OK;
}

/* Finds the layout of an input at other sizes, as its own is: the recorded one, or row-major; NULL:
 * neither. */
static fnz_status lay_out(fnzi_arena *arena, const fnz_geometry *own, const fnz_geometry *recorded,
                          const fnz_geometry *recorded_there, const fnz_geometry **out) {
  bool same = true;
  fnz_geometry *layout;
  int64_t *strides;
  *out = recorded_there;
  for (uint32_t d = 0; d < own->rank; d++)
    same = same && own->strides[d] == recorded->strides[d];
  if (same || !recorded_there)
    return FNZ_OK;
  *out = NULL;
  if (!fnzi_is_contiguous(own))
    return FNZ_OK;
  FNZI_NEW(arena, 1, &layout);
  FNZI_NEW(arena, own->rank, &strides);
  *layout = *recorded_there;
  layout->offset = own->offset;
  layout->strides = strides;
  fnzi_contiguous_strides(layout->sizes, layout->rank, strides);
  *out = layout;
  return FNZ_OK;
}

static fnz_status find_near(fnz_workspace *ws, fnzi_run_state *run, uint32_t choice,
                            fnzi_stp_run_input *out, bool *found) {
  const fnz_geometry **recorded; /* of inputs that have symbols, at the sizes of this call */
  FNZI_NEW(&ws->run_arena, run->graph->ninputs, &recorded);
  for (uint32_t k = 0; k < run->graph->ninputs; k++) {
    const fnz_arg *in = &run->graph->inputs[k];
    const fnz_geometry *g = fnzi_pln_tensor(run->graph, in);
    if (g && g->symbols && ws->inputs[k].layout)
      recorded[k] = fnzi_run_recorded(run, &ws->run_arena, in->u.value);
  }
  FNZ_TRY(
      choose_point(&run->symbolic->sizes, &run->symbolic->point, &ws->run_arena, choice, found));
  /* Fills in the inputs at other sizes. Weights of sizes that are symbols are what they are. */
  for (uint32_t k = 0; k < run->graph->ninputs && *found; k++) {
    const fnz_arg *in = &run->graph->inputs[k];
    fnz_arg number;
    out[k] = ws->inputs[k];
    if (ws->exe->inputs[k].is_scalar) {
      FNZ_TRY(fnzi_run_symbol_number(run, in->u.value, &out[k].has_scalar, &number));
      out[k].scalar = number.u.i;
    } else if (recorded[k]) {
      *found = ws->exe->inputs[k].is_passed;
      FNZ_TRY(lay_out(&ws->run_arena, ws->inputs[k].layout, recorded[k],
                      fnzi_run_recorded(run, &ws->run_arena, in->u.value), &out[k].layout));
      *found = *found && out[k].layout;
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_stp_sizes_near(fnz_workspace *ws, uint32_t choice, fnzi_stp_run_input **out,
                               bool *found) {
  fnzi_run_options options = {.emit = fnzi_run_emit_nothing};
  fnzi_run_state run;
  fnz_arrays *none;
  *found = false;
  FNZI_NEW(&ws->run_arena, fnzi_graph_main(ws->exe->program)->ninputs, out);
  FNZ_TRY(fnz_arrays_create(ws->ctx, &none));
  options.inputs = none;
  fnz_status status = open_numbers(ws, &ws->run_arena, &options, &run);
  if (status == FNZ_OK)
    status = find_near(ws, &run, choice, *out, found);
  fnzi_run_close(&run);
  fnz_arrays_destroy(none);
  return status;
}
