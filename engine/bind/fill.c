/* fill.c - turns a plan into a binding: a storage per buffer, an array per value, a thunk per step;
 * also for plans of bodies. */
#include "engine/bind/bind.h"
#include "engine/steps/scalars.h"
#include "engine/tile/tile.h"

static fnz_status make_value(fnz_workspace *ws, fnzi_stp_binding *b, uint64_t v) {
  const fnzi_graph *graph = fnzi_graph_main(b->program);
  const fnzi_pln_location *location = &b->plan.locations[v];
  const fnz_geometry *g = graph->values.data[v].geometry;
  for (uint32_t k = 0; b->mode == FNZI_STP_INTERPRETED && k < graph->ninputs; k++)
    if (graph->inputs[k].tag == FNZ_ARG_VALUE && graph->inputs[k].u.value == v)
      g = ws->inputs[k].layout;
  if (!g || !fnzi_pln_has_memory(&b->plan, *location))
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_array_in_arena(&b->arena, &ws->machine->stock, g, fnzi_dtype(g->dtype)->bytes,
                                  &b->values[v]));
  FNZ_TRY(
      fnzi_krn_array_share(ws->ctx, b->values[v], &b->storages[location->buffer], location->map));
  b->values[v]->window.dtype =
      location->map->dtype; /* of a weight that products convert (fold.c) */
  b->values[v]->cell = fnzi_dtype(location->map->dtype)->bytes;
  return FNZ_OK;
}

/* --- Steps ------------------------------------------------------------------------------------ */
static fnz_status make_act(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_pln_step *step) {
  switch ((fnzi_pln_step_kind)step->kind) {
  case FNZI_PLN_MOVE: {
    fnzi_stp_thunk thunk = {.kind = FNZI_STP_THUNK_MOVE, .node = step->last};
    thunk.u.move.from = &b->storages[step->from.buffer];
    thunk.u.move.to = &b->storages[step->to.buffer];
    FNZ_TRY(fnzi_stp_move_make(&b->arena, step->from.map, step->to.map, &thunk.u.move));
    FNZI_PUSH(ws->ctx, &b->thunks, thunk);
    return FNZ_OK;
  }
  case FNZI_PLN_CALL:
    return step->is_point ? fnzi_tile_of_group(ws, b, step) : fnzi_stp_call_make(ws, b, step);
  case FNZI_PLN_REGION:
    return fnzi_bnd_nested_thunk(ws, b, step);
  case FNZI_PLN_APPLY:
    b->has_interpreted = true;
    FNZI_PUSH(ws->ctx, &b->thunks,
              ((fnzi_stp_thunk){.kind = FNZI_STP_THUNK_INTERPRET, .node = step->last}));
    return FNZ_OK;
  case FNZI_PLN_GROUP:
    return fnzi_tile_of_group(ws, b, step);
  }
  return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, NULL, "a step of a kind that nothing runs");
}

/* Goes in order of nodes, so that the first error is the interpreter's first error. */
static fnz_status check_shapes(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t *from,
                               uint32_t to) {
  for (; *from < to; ++*from)
    FNZ_TRY(fnzi_stp_shape_check(ws, b, *from));
  return FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */
/* Takes the kinds of the plan, if nodes were grouped. */
static fnz_status fill(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_stp_kinds *s = b->kinds;
  uint32_t next = 0;
  s->kinds = b->plan.kinds;
  if (!s->kinds.by_node)
    FNZ_TRY(fnzi_pln_kinds_find(ws->ctx, &s->arena, fnzi_graph_main(b->program), &s->kinds));
  FNZI_NEW(&s->arena, s->kinds.count, &s->by_kind);
  FNZI_RESERVE(ws->ctx, &b->thunks, b->plan.steps.count);
  for (size_t i = 0; i < b->plan.steps.count; i++) {
    const fnzi_pln_step *step = &b->plan.steps.data[i];
    FNZ_TRY(fnzi_task_at(ws->ctx, i));
    if (step->kind != FNZI_PLN_MOVE)
      FNZ_TRY(check_shapes(ws, b, &next, step->first));
    FNZ_TRY(make_act(ws, b, step));
    next = step->kind == FNZI_PLN_MOVE ? next : step->last + 1;
  }
  FNZ_TRY(fnzi_stp_scalars_close(b));
  FNZ_TRY(fnzi_tile_sets_make(ws, b));
  FNZ_TRY(fnzi_tile_registers(b));
  return check_shapes(ws, b, &next, (uint32_t)fnzi_graph_main(b->program)->nodes.count);
}

fnz_status fnzi_bnd_fill(fnz_workspace *ws, fnzi_stp_binding *b) {
  enum { FOR_EVER = 1 << 30 }; /* uses of a storage that no array ends */
  fnzi_stp_kinds shapes;
  FNZI_NEW(&b->arena, b->plan.buffers.count, &b->storages);
  for (size_t i = 0; i < b->plan.buffers.count; i++)
    b->storages[i] = (fnzi_krn_storage){
        .refs = FOR_EVER, .bytes = b->plan.buffers.data[i].bytes, .stock = &ws->machine->stock};
  FNZI_NEW(&b->arena, fnzi_graph_main(b->program)->values.count, &b->values);
  for (uint64_t v = 0; v < fnzi_graph_main(b->program)->values.count; v++)
    FNZ_TRY(make_value(ws, b, v));
  FNZ_TRY(fnzi_stp_scalars_open(ws, b));
  fnzi_arena_init(&shapes.arena, ws->ctx);
  b->kinds = &shapes;
  fnzi_task_begin(ws->ctx, "compile", "steps", b->plan.steps.count);
  fnz_status status = fnzi_task_end(ws->ctx, fill(ws, b));
  b->kinds = NULL;
  fnzi_arena_free(&shapes.arena);
  return status;
}

void fnzi_bnd_clear(fnz_workspace *ws, fnzi_stp_binding *b) {
  if (!b->is_open)
    return;
  for (size_t i = 0; i < b->unread.count; i++)
    fnzi_krn_array_release(ws->ctx, b->unread.data[i]);
  FNZI_VEC_FREE(ws->ctx, &b->unread);
  fnzi_stp_prepared_end(ws, b);
  FNZI_VEC_FREE(ws->ctx, &b->thunks);
  fnzi_pln_free(ws->ctx, &b->plan);
  fnzi_stp_expansion_end(&b->expansion);
  fnz_program_destroy(b->owned);
  fnzi_arena_free(&b->arena);
  *b = (fnzi_stp_binding){.is_open = false};
}
