/* results.c - finds the memory of a result of graph 0 after a run. */
#include "engine/steps/steps.h"

static fnz_status number_result(fnz_workspace *ws, const fnz_arg *arg, const fnz_geometry **layout,
                                unsigned char **start) {
  fnz_geometry *g; /* without dimensions */
  void *element;
  fnz_arg number = *arg;
  if (arg->tag == FNZ_ARG_SYMBOL && !ws->steps)
    return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, NULL,
                     "a number that is returned was not computed");
  if (arg->tag == FNZ_ARG_SYMBOL)
    FNZ_TRY(fnzi_run_steps_number(ws->steps, arg->u.value, &number));
  FNZI_NEW(&ws->call_arena, 1, &g);
  FNZ_TRY(fnzi_arena_alloc(&ws->call_arena, 1, sizeof(int64_t), &element));
  g->dtype = fnzi_run_number_element(&number, element);
  *layout = g;
  *start = element;
  return FNZ_OK;
}

fnz_status fnzi_stp_result(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t k,
                           const fnz_geometry **layout, unsigned char **start) {
  const fnzi_pln_location *location = &b->plan.outputs[k];
  if (fnzi_graph_main(b->program)->outputs[k].tag != FNZ_ARG_VALUE)
    return number_result(ws, &fnzi_graph_main(b->program)->outputs[k], layout, start);
  if (ws->old_values && ws->old_values[k]) {
    *layout = &ws->old_layouts[k];
    *start = ws->old_values[k];
    return FNZ_OK;
  }
  if (fnzi_pln_has_memory(&b->plan, *location)) {
    *layout = location->map;
    *start = b->storages[location->buffer].data;
    return FNZ_OK;
  }
  uint64_t v = fnzi_graph_main(b->program)->outputs[k].u.value;
  const fnzi_krn_array *array = b->values[v];
  if (!array && ws->steps)
    array = fnzi_krn_array_of(fnzi_run_steps_value(ws->steps, v));
  if (!array || !array->storage)
    return fnzi_fail(ws->ctx, FNZ_CLASS_REF, fnzi_graph_main(b->program)->values.data[v].name,
                     "the value is undefined");
  *layout = &array->window;
  *start = array->storage->data;
  return FNZ_OK;
}
