/* regions.c - nodes that the interpreter evaluates, with their bodies, over the memory of a
 * binding: regions, scalars, data-dependent sizes.
 *
 * The interpreter gets arrays over locations as its values. A result is copied to its location, if
 * the plan has one for it, and stays with the interpreter otherwise. */
#include "engine/bind/bind.h"
#include "engine/steps/scalars.h"

void fnzi_bnd_steps_close(fnz_workspace *ws) {
  fnzi_run_steps_close(ws->steps);
  ws->steps = NULL;
  ws->old_layouts = NULL;
  ws->old_values = NULL;
  fnzi_arena_reset(&ws->run_arena);
}

fnz_status fnzi_bnd_steps_open(fnz_workspace *ws, fnzi_stp_binding *b) {
  const fnz_array **given;
  fnz_array *arrays;
  uint32_t count = fnzi_graph_main(b->program)->ninputs;
  FNZI_NEW(&ws->run_arena, count, &given);
  FNZ_TRY(fnzi_stp_input_arrays(ws, &ws->run_arena, &arrays));
  for (uint32_t k = 0; k < count; k++)
    if (arrays[k].data)
      given[k] = &arrays[k];
  return fnzi_run_steps_open(ws->ctx, b->program, ws->backend, given, &ws->steps);
}

/* Passes an array over the same window as value `v`. A kernel of a custom operator may move its
 * argument to other memory, and the binding's array must stay the same for the next run. */
static fnz_status pass_in(fnz_workspace *ws, const fnzi_stp_binding *b, uint64_t v) {
  const fnzi_krn_array *array = b->values[v];
  fnzi_krn_array *copy;
  if (!array || fnzi_run_steps_value(ws->steps, v))
    return FNZ_OK;
  FNZ_TRY(
      fnzi_krn_array_create(ws->ctx, &ws->machine->stock, &array->geometry, array->cell, &copy));
  fnz_status status = fnzi_krn_array_share(ws->ctx, copy, array->storage, &array->window);
  if (status == FNZ_OK)
    return fnzi_run_steps_give(ws->steps, v, fnzi_krn_array_handle(copy));
  fnzi_krn_array_release(ws->ctx, copy);
  return status;
}

/* Copies elements to row-major memory, because others may be written over them. */
static fnz_status copy_row_major(fnz_workspace *ws, const fnz_geometry *from,
                                 const unsigned char *start, fnz_geometry *layout, void **rows) {
  int64_t *strides;
  FNZI_NEW(&ws->run_arena, FNZ_MAX_RANK, &strides);
  *layout = *from;
  layout->offset = 0;
  layout->strides = strides;
  fnzi_contiguous_strides(layout->sizes, layout->rank, strides);
  FNZ_TRY(fnzi_arena_alloc(&ws->run_arena, (size_t)fnz_geometry_numel(layout),
                           fnzi_dtype(layout->dtype)->bytes, rows));
  fnzi_stp_elements_move(from, start, layout, *rows);
  return FNZ_OK;
}

/* A result that the interpreter has elsewhere than its place. */
typedef struct result {
  const fnzi_krn_array *to;
  fnz_geometry layout;
  const void *data;
} result;

typedef struct results {
  result *data;
  size_t count, capacity;
} results;

static fnz_status add_result(fnz_workspace *ws, const fnzi_stp_binding *b, bool has_bodies,
                             uint64_t v, results *out) {
  const fnzi_krn_array *to = b->values[v],
                       *from = to ? fnzi_krn_array_of(fnzi_run_steps_value(ws->steps, v)) : NULL;
  if (!from || from == to)
    return FNZ_OK;
  result r = {to, from->window, from->storage->data};
  void *rows;
  if (has_bodies && fnzi_stp_buffer_of(b, from->storage) != FNZI_PLN_NONE) {
    FNZ_TRY(copy_row_major(ws, &from->window, from->storage->data, &r.layout, &rows));
    r.data = rows;
  }
  FNZI_PUSH(ws->ctx, out, r);
  return FNZ_OK;
}

/* Copies a value without a location out of the plan's memory, which later steps overwrite. */
static fnz_status copy_unplaced(fnz_workspace *ws, const fnzi_stp_binding *b, uint64_t v) {
  fnz_backend *by = ws->backend;
  fnz_geometry layout;
  fnz_handle handle;
  void *rows;
  if (b->values[v])
    return FNZ_OK;
  const fnzi_krn_array *from = fnzi_krn_array_of(fnzi_run_steps_value(ws->steps, v));
  uint32_t buffer = from ? fnzi_stp_buffer_of(b, from->storage) : FNZI_PLN_NONE;
  if (buffer == FNZI_PLN_NONE || b->plan.buffers.data[buffer].kind == FNZI_PLN_CONST)
    return FNZ_OK;
  FNZ_TRY(copy_row_major(ws, &from->window, from->storage->data, &layout, &rows));
  FNZ_TRY(by->upload(by->self, ws->ctx, &layout, rows, &handle));
  return fnzi_run_steps_give(ws->steps, v, handle);
}

fnz_status fnzi_bnd_steps_run(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node) {
  const fnzi_node *n = fnzi_node_at(b->program, 0, node);
  FNZI_EACH_ARG(each, n->args, n->nargs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(pass_in(ws, b, each.arg->u.value));
  FNZ_TRY(fnzi_run_steps_node(ws->steps, node));
  FNZ_TRY(fnzi_stp_scalars_fill(ws, b, node));
  /* Before a result is written to the memory of one of these. */
  bool copies = ws->exe->data_dependent == FNZI_STP_DATA_SIZES && b->mode == FNZI_STP_PLANNED;
  FNZI_EACH_ARG(each, n->outputs, n->noutputs)
    if (copies && each.arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(copy_unplaced(ws, b, each.arg->u.value));
  /* Results move to their places; the interpreter has checked their sizes. A result of a node with
   * bodies may have the location of an operand, so all are read before one is written. */
  results all = {NULL, 0, 0};
  fnz_status status = FNZ_OK;
  FNZI_EACH_ARG(each, n->outputs, n->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE && status == FNZ_OK)
      status = add_result(ws, b, !n->op, each.arg->u.value, &all);
  for (size_t k = 0; k < all.count && status == FNZ_OK; k++) {
    const result *r = &all.data[k];
    fnzi_stp_elements_move(&r->layout, r->data, &r->to->window, r->to->storage->data);
  }
  FNZI_VEC_FREE(ws->ctx, &all);
  return status;
}

/* --- Final values ----------------------------------------------------------------------------- */
static bool ends_in_state(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k) {
  uint32_t owner = ws->exe->owners[k];
  return owner != FNZI_PLN_NONE && ws->exe->inputs[owner].in_state &&
         fnzi_graph_main(b->program)->outputs[k].tag == FNZ_ARG_VALUE;
}

static fnz_status copy_final(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t k, void **rows,
                             fnz_geometry *out) {
  const fnz_geometry *layout;
  unsigned char *start;
  FNZ_TRY(fnzi_stp_result(ws, b, k, &layout, &start));
  return copy_row_major(ws, layout, start, out, rows);
}

/* Says that output k shows memory of the state, and is no final value that ends there. */
static bool shows_state(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k) {
  const fnz_arg *arg = &fnzi_graph_main(b->program)->outputs[k];
  if (arg->tag != FNZ_ARG_VALUE || ends_in_state(ws, b, k))
    return false;
  const fnzi_krn_array *array = b->values[arg->u.value];
  array = array ? array : fnzi_krn_array_of(fnzi_run_steps_value(ws->steps, arg->u.value));
  for (size_t i = 0; array && i < b->plan.buffers.count; i++)
    if (array->storage == &b->storages[i] && b->plan.buffers.data[i].kind == FNZI_PLN_STATE)
      return true;
  return false;
}

/* Moves final values to their places. Before one is written, all are read, and so are the elements
 * of outputs that show the state. */
fnz_status fnzi_bnd_steps_finish(fnz_workspace *ws, fnzi_stp_binding *b) {
  uint32_t count = fnzi_graph_main(b->program)->noutputs;
  fnz_geometry *windows;
  void **rows;
  FNZI_NEW(&ws->run_arena, count, &windows);
  FNZI_NEW(&ws->run_arena, count, &rows);
  FNZI_NEW(&ws->run_arena, count, &ws->old_layouts);
  FNZI_NEW(&ws->run_arena, count, &ws->old_values);
  for (uint32_t k = 0; k < count; k++)
    if (ends_in_state(ws, b, k))
      FNZ_TRY(copy_final(ws, b, k, &rows[k], &windows[k]));
  for (uint32_t k = 0; k < count; k++)
    if (shows_state(ws, b, k))
      FNZ_TRY(copy_final(ws, b, k, &ws->old_values[k], &ws->old_layouts[k]));
  for (uint32_t k = 0; k < count; k++) {
    if (!ends_in_state(ws, b, k))
      continue;
    const fnzi_stp_run_input *to = &ws->inputs[ws->exe->owners[k]];
    if (windows[k].dtype == to->layout->dtype && fnzi_same_sizes(&windows[k], to->layout))
      fnzi_stp_elements_move(&windows[k], rows[k], to->layout, to->start);
  }
  return FNZ_OK;
}
