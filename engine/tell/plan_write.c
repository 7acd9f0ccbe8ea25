/* plan_write.c - fnz_plan_write(): makes the plan that is told; for a GPU the binding that would
 * run. */
#include "engine/device/device.h"
#include "engine/plan/planner.h"
#include "engine/tell/tell.h"

static void name_origins(fnzi_eng_plan *plan, uint32_t graph, const fnz_program *whole,
                         const uint32_t *const *parts) {
  plan->graph = graph;
  plan->whole = whole;
  plan->parts = parts;
}

/* --- On a GPU: a binding -----------------------------------------------------------------------
 */
/* The plans of bodies are their bindings'; they are told as those of bodies. */
static fnz_status tell_binding(fnz_context *ctx, fnzi_eng_binding *b, bool json, fnz_buffer *out) {
  name_origins(&b->plan, 0, b->whole, b->parts);
  for (size_t k = 0; k < b->bodies.list.count; k++) {
    fnzi_eng_body *body = &b->bodies.list.data[k];
    body->plan = b->nested[k].plan;
    name_origins(&body->plan, body->graph, b->whole, b->parts);
  }
  fnz_status status = json ? fnzi_eng_tell_json(ctx, &b->plan, &b->bodies, b, out)
                           : fnzi_eng_tell(ctx, &b->plan, &b->bodies, b, out);
  for (size_t k = 0; k < b->bodies.list.count; k++)
    b->bodies.list.data[k].plan = (fnzi_eng_plan){0};
  return status;
}

static fnz_status tell(fnz_workspace *ws, bool json, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_at(ws->exe->program, 0);
  fnzi_eng_binding *b;
  FNZ_TRY(fnzi_eng_given_weights(ws, NULL));
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (ws->exe->inputs[k].is_tensor)
      ws->given[k].layout = g->values.data[g->inputs[k].u.value].geometry;
  FNZ_TRY(fnzi_eng_binding_find(ws, true, &b));
  return tell_binding(ws->ctx, b, json, out);
}

static fnz_status tell_executable(fnz_context *ctx, const fnz_executable *exe, bool json,
                                  fnz_buffer *out) {
  fnz_workspace *ws;
  fnz_buffer text = {.data = NULL};
  FNZ_TRY(fnzi_eng_workspace_create(exe, ctx, &ws));
  fnz_status status = fnzi_eng_told(ctx, ws, tell(ws, json, &text));
  if (status == FNZ_OK)
    status = fnzi_put(ctx, out, text.data, text.size);
  fnz_buffer_free(ws->ctx, &text);
  fnz_workspace_destroy(ws);
  return status;
}

static fnz_status write_on_device(fnz_context *ctx, const fnz_program *program, const char *device,
                                  bool json, fnz_buffer *out) {
  fnz_executable *exe;
  if (!fnzi_eng_inputs_are_fixed(program))
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the plan on a GPU is told of programs whose inputs have fixed sizes");
  FNZ_TRY(fnzi_eng_compile_to_tell(ctx, program, device, &exe));
  fnz_status status = tell_executable(ctx, exe, json, out);
  fnz_executable_destroy(exe);
  return status;
}

/* --- On the CPU: a plan -------------------------------------------------------------------------
 */
static fnz_status write_plan(fnz_context *ctx, fnzi_arena *arena, const fnz_program *whole,
                             const fnzi_eng_expansion *expansion, bool json, fnz_buffer *out) {
  const fnz_program *program = expansion->program ? expansion->program : whole;
  fnzi_eng_plan plan = {0};
  bool symbols = fnzi_program_has_symbols(program), numbers = fnzi_eng_only_numbers(program);
  bool is_late = symbols && !numbers && fnzi_eng_inputs_are_fixed(program);
  fnzi_eng_policy policy = {
      .bodies = program, .state = true, .ungrouped = symbols && !is_late && !numbers};
  const fnz_program *seen = program, *arranged;
  if (numbers || is_late)
    FNZ_TRY(fnzi_eng_numbers_mark(ctx, arena, program, &seen));
  if (is_late)
    FNZ_TRY(fnzi_eng_late_hide(arena, seen, &seen));
  arranged = seen;
  if (!policy.ungrouped) {
    FNZ_TRY(fnzi_eng_arrange(ctx, arena, seen, &arranged, &policy.order));
    FNZ_TRY(fnzi_eng_arrange_check(ctx, seen, arranged, &policy.order));
  }
  if (symbols && numbers)
    fnzi_eng_numbers_keep(seen, &arranged, &policy);
  FNZ_TRY(fnzi_eng_plan_make(ctx, arranged, &policy, &plan));
  fnzi_eng_bodies bodies = {.list = {.data = NULL}};
  fnz_status status = fnzi_eng_bodies_plan(ctx, arena, program, policy.ungrouped, &plan, &bodies);
  name_origins(&plan, 0, whole, expansion->parts);
  for (size_t b = 0; b < bodies.list.count; b++)
    name_origins(&bodies.list.data[b].plan, bodies.list.data[b].graph, whole, expansion->parts);
  if (status == FNZ_OK)
    status = json ? fnzi_eng_tell_json(ctx, &plan, &bodies, NULL, out)
                  : fnzi_eng_tell(ctx, &plan, &bodies, NULL, out);
  fnzi_eng_bodies_free(ctx, &bodies);
  fnzi_eng_plan_free(ctx, &plan);
  return status;
}

fnz_status fnz_plan_write(fnz_context *ctx, const fnz_program *program, bool json,
                          fnz_buffer *out) {
  return fnz_plan_write_for(ctx, program, NULL, json, out);
}

fnz_status fnz_plan_write_for(fnz_context *ctx, const fnz_program *program, const char *device,
                              bool json, fnz_buffer *out) {
  fnzi_eng_expansion expansion = {.program = NULL};
  fnzi_arena arena;
  if (device && strcmp(device, "cpu") != 0)
    return write_on_device(ctx, program, device, json, out);
  if (!fnzi_program_has_symbols(program))
    FNZ_TRY(fnzi_eng_expand(ctx, program, &expansion));
  fnzi_arena_init(&arena, ctx);
  fnz_status status = write_plan(ctx, &arena, program, &expansion, json, out);
  fnzi_arena_free(&arena);
  fnzi_eng_expansion_end(&expansion);
  return status;
}
