/* plan_write.c - fnz_plan_write(): makes the plan to print; for a GPU, or if sizes are symbols, the
 * binding that would run. */
#include "engine/engine.h"
#include "engine/plan/planner.h"
#include "engine/listing/listing.h"
#include "run/numbers.h"

#include <stdlib.h>

typedef struct printing {
  fnzi_listing_printer *print;
  const void *user;
} printing;

static void name_origins(fnzi_pln_plan *plan, uint32_t graph, const fnz_program *whole,
                         const uint32_t *const *parts) {
  plan->graph = graph;
  plan->whole = whole;
  plan->parts = parts;
}

/* --- A binding: on a GPU, and where inputs have symbols --------------------------------------- */
void fnzi_listing_name_origins(fnzi_stp_binding *b) {
  name_origins(&b->plan, 0, b->whole, b->parts);
  for (size_t k = 0; k < b->bodies.list.count; k++)
    name_origins(&b->nested[k].plan, b->bodies.list.data[k].graph, b->whole, b->parts);
}

/* Prints the plan of a binding. Plans of bodies belong to nested bindings, and are lent to
 * b->bodies while it prints. */
fnz_status fnzi_listing_binding(fnz_context *ctx, fnzi_stp_binding *b, const char *sizes, bool json,
                                fnz_buffer *out) {
  const fnzi_listing_subject what = {&b->plan, &b->bodies, b->device ? b : NULL, sizes};
  fnzi_listing_name_origins(b);
  for (size_t k = 0; k < b->bodies.list.count; k++)
    b->bodies.list.data[k].plan = b->nested[k].plan;
  fnz_status status =
      json ? fnzi_listing_json(ctx, &what, out) : fnzi_listing_text(ctx, &what, out);
  for (size_t k = 0; k < b->bodies.list.count; k++)
    b->bodies.list.data[k].plan = (fnzi_pln_plan){0};
  return status;
}

/* Fills in the inputs of a run at the sizes of `run`. */
static fnz_status give(fnz_workspace *ws, fnzi_run_state *run) {
  FNZ_TRY(fnzi_stp_inputs_set_weights(ws, NULL));
  for (uint32_t k = 0; k < run->graph->ninputs; k++) {
    uint64_t value = run->graph->inputs[k].u.value;
    if (run->symbolic && ws->exe->inputs[k].is_scalar)
      FNZ_TRY(fnzi_eng_give_number(ws, run, k));
    if (!ws->exe->inputs[k].is_tensor)
      continue;
    ws->inputs[k].layout = fnzi_run_recorded(run, &run->arena, value);
    if (!ws->inputs[k].layout)
      return fnzi_fail(ws->ctx, FNZ_CLASS_UNSUPPORTED, run->graph->values.data[value].name,
                       "a size of this input is a symbol that the program has no number for; give "
                       "inputs or sizes for the plan");
  }
  return FNZ_OK;
}

/* Prints the symbols of inputs only: a plan knows no data-dependent scalars. */
static fnz_status put_sizes(fnzi_run_state *run, fnz_buffer *out) {
  if (!run->symbolic || fnzi_stp_inputs_are_fixed(run->program))
    return FNZ_OK;
  const fnzi_sizes *sizes = &run->symbolic->sizes;
  for (size_t i = 0; i < sizes->free.count; i++)
    if (fnzi_is_data_symbol(sizes->free.data[i]))
      FNZ_TRY(fnzi_point_unset(&run->symbolic->point, sizes->free.data[i]));
  return fnzi_sizes_text(sizes, &run->symbolic->point, out);
}

/* Takes "s0=3" off a text; the symbol of that name. */
static fnz_status take_size(fnz_context *ctx, const fnzi_sizes *sizes, const char **text,
                            const fnzi_expr **symbol, int64_t *number) {
  const char *at = *text, *sign = at + strcspn(at, "=,");
  char *end;
  *symbol = NULL;
  for (size_t i = 0; i < sizes->free.count; i++)
    if (strlen(sizes->free.data[i]->atom_text) == (size_t)(sign - at) &&
        strncmp(sizes->free.data[i]->atom_text, at, (size_t)(sign - at)) == 0)
      *symbol = sizes->free.data[i];
  if (*sign != '=')
    return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, "sizes", "%s is no list of sizes; write s0=3,s1=5",
                     *text);
  if (!*symbol)
    return fnzi_fail(ctx, FNZ_CLASS_REF, "sizes", "no size of the program is called %.*s",
                     (int)(sign - at), at);
  *number = strtoll(sign + 1, &end, 10);
  if (end == sign + 1 || (*end && *end != ','))
    return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, "sizes", "%s takes an integer, not %s",
                     (*symbol)->atom_text, sign + 1);
  *text = end + (*end == ',');
  return FNZ_OK;
}

/* Gives symbols the numbers of a text, in place of the recorded ones. */
static fnz_status set_sizes(fnz_context *ctx, fnzi_run_state *run, const char *text) {
  fnz_buffer words = {.data = NULL};
  const fnzi_condition *broken;
  if (!run->symbolic)
    return fnzi_fail(ctx, FNZ_CLASS_REF, "sizes", "the program has fixed sizes; leave this out");
  fnzi_sizes *sizes = &run->symbolic->sizes;
  while (*text) {
    const fnzi_expr *symbol;
    int64_t number = 0;
    FNZ_TRY(take_size(ctx, sizes, &text, &symbol, &number));
    FNZ_TRY(fnzi_point_set(&run->symbolic->point, symbol, number));
  }
  FNZ_TRY(fnzi_sizes_admit(sizes, &run->symbolic->point, &broken));
  if (!broken)
    return FNZ_OK;
  fnz_status status = fnzi_sizes_put_condition(sizes, broken, &words);
  if (status == FNZ_OK)
    status = fnzi_fail(ctx, FNZ_CLASS_BOUNDS, "sizes", "the program is for sizes with %s",
                       (const char *)words.data);
  fnz_buffer_free(ctx, &words);
  return status;
}

static fnz_status print_at(fnz_workspace *ws, fnzi_run_state *run, const printing *how,
                           fnz_buffer *out) {
  fnz_buffer sizes = {.data = NULL};
  fnzi_stp_binding *b;
  FNZ_TRY(give(ws, run));
  FNZ_TRY(fnzi_eng_binding_find(ws, true, &b));
  fnz_status status = put_sizes(run, &sizes);
  if (status == FNZ_OK)
    status = how->print(ws->ctx, b, sizes.size ? (const char *)sizes.data : NULL, how->user, out);
  fnz_buffer_free(ws->ctx, &sizes);
  return status;
}

static fnz_status print_executable(fnz_context *ctx, fnzi_arena *arena, const fnz_executable *exe,
                                   const fnz_plan_options *given, const printing *how,
                                   fnz_buffer *out) {
  const fnzi_run_options options = {.inputs = given->sizes ? NULL : given->inputs,
                                    .borrows = true,
                                    .emit = fnzi_run_emit_nothing};
  fnz_workspace *ws;
  fnzi_run_state run;
  fnz_buffer text = {.data = NULL};
  const fnz_array **none;
  FNZI_NEW(arena, fnzi_graph_main(exe->program)->ninputs, &none);
  FNZ_TRY(fnzi_eng_workspace_create(exe, ctx, &ws));
  memset(&run, 0, sizeof run);
  /* Take the sizes of the inputs if there are any, else the recorded sizes. */
  fnz_status status =
      options.inputs
          ? fnzi_run_open(&run, ws->ctx, exe->program, ws->backend, &options)
          : fnzi_run_open_sizes(&run, ws->ctx, exe->program, ws->backend, &options, none);
  if (status == FNZ_OK && given->sizes)
    status = set_sizes(ws->ctx, &run, given->sizes);
  if (status == FNZ_OK)
    status = print_at(ws, &run, how, &text);
  fnzi_run_close(&run);
  status = fnzi_eng_propagate(ctx, ws, status);
  if (status == FNZ_OK)
    status = fnzi_put(ctx, out, text.data, text.size);
  fnz_buffer_free(ws->ctx, &text);
  fnz_workspace_destroy(ws);
  return status;
}

fnz_status fnzi_listing_new_binding(fnz_context *ctx, const fnz_program *program,
                                    const fnz_plan_options *options, fnzi_listing_printer *print,
                                    const void *user, fnz_buffer *out) {
  const printing how = {print, user};
  fnz_executable *exe;
  fnzi_arena arena;
  if (options->sizes && options->inputs)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, "sizes",
                     "inputs have sizes already; give one of both");
  FNZ_TRY(fnzi_eng_compile_to_print(ctx, program, options->device, &exe));
  fnzi_arena_init(&arena, ctx);
  fnz_status status = print_executable(ctx, &arena, exe, options, &how, out);
  fnzi_arena_free(&arena);
  fnz_executable_destroy(exe);
  return status;
}

static fnz_status print_plan(fnz_context *ctx, fnzi_stp_binding *b, const char *sizes,
                             const void *user, fnz_buffer *out) {
  const fnz_plan_options *options = user;
  return fnzi_listing_binding(ctx, b, sizes, options->json, out);
}

/* --- On the CPU: a plan ----------------------------------------------------------------------- */
static fnz_status write_plan(fnz_context *ctx, fnzi_arena *arena, const fnz_program *whole,
                             const fnzi_stp_expansion *expansion, bool json, fnz_buffer *out) {
  const fnz_program *program = expansion->program ? expansion->program : whole;
  fnzi_pln_plan plan = {0};
  bool symbols = fnzi_program_has_symbols(program), numbers = fnzi_pln_only_scalars(program);
  bool is_late = symbols && !numbers && fnzi_stp_inputs_are_fixed(program);
  fnzi_pln_policy policy = {.bodies = program,
                            .state = true,
                            .strided = true,
                            .channels_last = true,
                            .ungrouped = symbols && !is_late && !numbers};
  const fnz_program *seen = program, *arranged;
  if (numbers || is_late)
    FNZ_TRY(fnzi_pln_scalars_mark(ctx, arena, program, &seen));
  if (is_late)
    FNZ_TRY(fnzi_stp_late_hide(arena, seen, &seen));
  arranged = seen;
  if (!policy.ungrouped) {
    FNZ_TRY(fnzi_pln_arrange(ctx, arena, seen, &arranged, &policy.order));
    FNZ_TRY(fnzi_pln_arrange_check(ctx, seen, arranged, &policy.order));
  }
  if (symbols && numbers)
    fnzi_pln_scalars_keep_order(seen, &arranged, &policy);
  FNZ_TRY(fnzi_pln_make(ctx, arranged, &policy, &plan));
  fnzi_pln_bodies bodies = {.list = {.data = NULL}};
  fnz_status status = fnzi_pln_bodies_plan(ctx, arena, program, policy.ungrouped, &plan, &bodies);
  name_origins(&plan, 0, whole, expansion->parts);
  for (size_t b = 0; b < bodies.list.count; b++)
    name_origins(&bodies.list.data[b].plan, bodies.list.data[b].graph, whole, expansion->parts);
  const fnzi_listing_subject what = {&plan, &bodies, NULL, NULL};
  if (status == FNZ_OK)
    status = json ? fnzi_listing_json(ctx, &what, out) : fnzi_listing_text(ctx, &what, out);
  fnzi_pln_bodies_free(ctx, &bodies);
  fnzi_pln_free(ctx, &plan);
  return status;
}

fnz_status fnz_plan_write(fnz_context *ctx, const fnz_program *program,
                          const fnz_plan_options *options, fnz_buffer *out) {
  fnz_plan_options o = FNZ_PLAN_OPTIONS_INIT;
  fnzi_stp_expansion expansion = {.program = NULL};
  fnzi_arena arena;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  bool by_cpu = !o.device || strcmp(o.device, "cpu") == 0;
  if (!by_cpu || o.sizes || o.inputs || !fnzi_stp_inputs_are_fixed(program))
    return fnzi_listing_new_binding(ctx, program, &o, print_plan, &o, out);
  if (!fnzi_program_has_symbols(program))
    FNZ_TRY(fnzi_stp_expand(ctx, program, NULL, true, &expansion));
  fnzi_arena_init(&arena, ctx);
  fnz_status status = write_plan(ctx, &arena, program, &expansion, o.json, out);
  fnzi_arena_free(&arena);
  fnzi_stp_expansion_end(&expansion);
  return status;
}
