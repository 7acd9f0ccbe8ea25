/* sizes.c - symbolic sizes: the program with the numbers of a call in their place.
 *
 * needs   the key of a binding: what the inputs look like
 * gives   a program of fixed sizes, whose ranges and guards hold; or the same program, to be run
 *         node by node, where data decide sizes */
#include "engine/engine.h"
#include "run/numbers.h"

/* --- The numbers of a call
 * ------------------------------------------------------------------------
 */
fnz_status fnzi_eng_given_arrays(fnz_workspace *ws, fnzi_arena *arena, fnz_array **out) {
  uint32_t count = fnzi_graph_at(ws->exe->program, 0)->ninputs;
  FNZI_NEW(arena, count, out);
  for (uint32_t k = 0; k < count; k++) {
    fnzi_eng_given *g = &ws->given[k];
    fnz_array *a = &(*out)[k];
    if (g->layout && ws->exe->inputs[k].by_caller)
      *a = (fnz_array){"", g->layout->dtype, g->layout->rank, g->layout->sizes, g, 0};
    else if (g->has_number)
      *a = (fnz_array){"", FNZ_I64, 0, NULL, &g->number, sizeof g->number};
  }
  return FNZ_OK;
}

/* Numbers for all symbols, from the sizes of inputs; ranges and guards are checked. */
static fnz_status instantiate(fnz_workspace *ws, fnzi_eng_binding *b, fnzi_run_state *run,
                              const fnzi_run_options *options) {
  uint32_t count = fnzi_graph_at(ws->exe->program, 0)->ninputs;
  const fnz_array **given;
  fnz_array *arrays;
  FNZI_NEW(&b->arena, count, &given);
  FNZ_TRY(fnzi_eng_given_arrays(ws, &b->arena, &arrays));
  for (uint32_t k = 0; k < count; k++)
    given[k] = arrays[k].data ? &arrays[k] : NULL;
  FNZ_TRY(fnzi_run_open_sizes(run, ws->ctx, ws->exe->program, ws->backend, options, given));
  return fnzi_instantiate(&run->symbolic->sizes, &run->symbolic->point, FNZI_READINGS_RUN,
                          &b->owned);
}

static void use(fnzi_eng_binding *b, const fnzi_eng_expansion *expansion) {
  b->program = expansion->program ? expansion->program : b->program;
  b->parts = expansion->parts;
}

static fnz_status use_owned(fnz_workspace *ws, fnzi_eng_binding *b) {
  b->program = b->whole = b->owned;
  if (!ws->exe->unplanned)
    FNZ_TRY(fnzi_eng_expand(ws->ctx, b->owned, &b->expansion));
  use(b, &b->expansion);
  return FNZ_OK;
}

fnz_status fnzi_eng_sizes_bind(fnz_workspace *ws, fnzi_eng_binding *b) {
  fnzi_run_options options = {.emit = fnzi_run_emit_nothing};
  fnzi_run_state run;
  fnz_arrays *none;
  b->program = b->whole = ws->exe->program;
  b->by_steps = ws->exe->by_steps;
  b->is_late = b->by_steps && !ws->exe->unplanned && !ws->exe->kernels &&
               fnzi_eng_inputs_are_fixed(b->program);
  if (!ws->exe->has_symbols)
    use(b, &ws->exe->expansion);
  if (!ws->exe->has_symbols || b->by_steps || ws->exe->by_numbers)
    return FNZ_OK;
  FNZ_TRY(fnz_arrays_create(ws->ctx, &none));
  options.inputs = none;
  memset(&run, 0, sizeof run);
  fnz_status status = instantiate(ws, b, &run, &options);
  fnzi_run_close(&run);
  fnz_arrays_destroy(none);
  b->by_steps = status == FNZ_UNSUPPORTED;
  return status == FNZ_OK ? use_owned(ws, b) : b->by_steps ? FNZ_OK : status;
}
