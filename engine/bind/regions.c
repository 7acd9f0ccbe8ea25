/* regions.c - nodes that the interpreter evaluates, with their bodies, over the memory of a
 * binding: regions, scalars, data-dependent sizes.
 *
 * The interpreter gets arrays over places as its values. A result is copied to its place, if the
 * plan has one for it, and stays with the interpreter otherwise. */
#include "engine/bind/bind.h"
#include "engine/steps/taken.h"

static const fnzi_graph *graph_of(const fnzi_stp_binding *b) {
  return fnzi_graph_at(b->program, 0);
}

void fnzi_bnd_steps_close(fnz_workspace *ws) {
  fnzi_run_steps_close(ws->steps);
  ws->steps = NULL;
  ws->old = NULL;
  ws->old_rows = NULL;
  fnzi_arena_reset(&ws->passing);
}

fnz_status fnzi_bnd_steps_open(fnz_workspace *ws, fnzi_stp_binding *b) {
  const fnz_array **given;
  fnz_array *arrays;
  uint32_t count = graph_of(b)->ninputs;
  FNZI_NEW(&ws->passing, count, &given);
  FNZ_TRY(fnzi_stp_given_arrays(ws, &ws->passing, &arrays));
  for (uint32_t k = 0; k < count; k++)
    if (arrays[k].data)
      given[k] = &arrays[k];
  return fnzi_run_steps_open(ws->ctx, b->program, ws->backend, given, &ws->steps);
}

typedef struct passing {
  fnz_workspace *ws;
  const fnzi_stp_binding *b;
} passing;

/* Passes an array over the same window. A kernel of a custom operator may move its argument to
 * other memory, and the binding's array must stay the same for the next run. */
static fnz_status pass_in(void *user, const fnz_arg *arg) {
  const passing *p = user;
  fnz_context *ctx = p->ws->ctx;
  fnzi_krn_array *shown;
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnzi_krn_array *array = p->b->values[arg->u.value];
  if (!array || fnzi_run_steps_value(p->ws->steps, arg->u.value))
    return FNZ_OK;
  FNZ_TRY(
      fnzi_krn_array_create(ctx, &p->ws->machine->stock, &array->geometry, array->cell, &shown));
  fnz_status status = fnzi_krn_array_share(ctx, shown, array->storage, &array->place);
  if (status == FNZ_OK)
    return fnzi_run_steps_give(p->ws->steps, arg->u.value, fnzi_krn_array_handle(shown));
  fnzi_krn_array_release(ctx, shown);
  return status;
}

/* Copies the elements of a result in the binding's memory, because another result may be moved over
 * them. */
static fnz_status keep_rows(const passing *p, const fnzi_krn_array *from, fnz_geometry *layout,
                            void **rows) {
  int64_t *strides;
  FNZI_NEW(&p->ws->passing, FNZ_MAX_RANK, &strides);
  *layout = from->place;
  layout->offset = 0;
  layout->strides = strides;
  fnzi_contiguous_strides(layout->sizes, layout->rank, strides);
  FNZ_TRY(fnzi_arena_alloc(&p->ws->passing, (size_t)fnz_geometry_numel(layout),
                           fnzi_dtype(layout->dtype)->bytes, rows));
  fnzi_stp_elements_move(&from->place, from->storage->data, layout, *rows);
  return FNZ_OK;
}

/* A result that the interpreter has elsewhere than its place. */
typedef struct result {
  const fnzi_krn_array *from, *to;
  fnz_geometry layout;
  void *rows; /* NULL: its elements are in `from` */
} result;

typedef struct results {
  const passing *p;
  result *data;
  size_t count;
} results;

static fnz_status see_result(void *user, const fnz_arg *arg) {
  results *r = user;
  const fnzi_krn_array *to = arg->tag == FNZ_ARG_VALUE ? r->p->b->values[arg->u.value] : NULL;
  const fnzi_krn_array *from =
      to ? fnzi_krn_array_of(fnzi_run_steps_value(r->p->ws->steps, arg->u.value)) : NULL;
  if (from && from != to && r->data)
    r->data[r->count] = (result){.from = from, .to = to};
  r->count += from && from != to;
  return FNZ_OK;
}

/* Moves results to their places. The interpreter has checked their sizes. A result of a node with
 * bodies may have the place of an operand, so all are read before one is written. */
static fnz_status pass_out(const passing *p, const fnzi_node *node) {
  results all = {.p = p};
  FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, see_result, &all));
  FNZI_NEW(&p->ws->passing, all.count, &all.data);
  all.count = 0;
  FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, see_result, &all));
  for (size_t k = 0; k < all.count && !node->op; k++) {
    result *r = &all.data[k];
    if (fnzi_stp_buffer_of(p->b, r->from->storage) != FNZI_PLN_NONE)
      FNZ_TRY(keep_rows(p, r->from, &r->layout, &r->rows));
  }
  for (size_t k = 0; k < all.count; k++) {
    const result *r = &all.data[k];
    fnzi_stp_elements_move(r->rows ? &r->layout : &r->from->place,
                           r->rows ? r->rows : r->from->storage->data, &r->to->place,
                           r->to->storage->data);
  }
  return FNZ_OK;
}

/* Copies a value without a place out of the plan's memory, which later steps overwrite. */
static fnz_status keep_apart(void *user, const fnz_arg *arg) {
  const passing *p = user;
  fnz_geometry layout;
  fnz_handle handle;
  void *rows;
  if (arg->tag != FNZ_ARG_VALUE || p->b->values[arg->u.value])
    return FNZ_OK;
  const fnzi_krn_array *from = fnzi_krn_array_of(fnzi_run_steps_value(p->ws->steps, arg->u.value));
  uint32_t buffer = from ? fnzi_stp_buffer_of(p->b, from->storage) : FNZI_PLN_NONE;
  if (buffer == FNZI_PLN_NONE || p->b->plan.buffers.data[buffer].kind == FNZI_PLN_CONST)
    return FNZ_OK;
  FNZ_TRY(keep_rows(p, from, &layout, &rows));
  fnz_backend *by = p->ws->backend;
  FNZ_TRY(by->upload(by->self, p->ws->ctx, &layout, rows, &handle));
  return fnzi_run_steps_give(p->ws->steps, arg->u.value, handle);
}

fnz_status fnzi_bnd_steps_run(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node) {
  passing p = {ws, b};
  const fnzi_node *n = fnzi_node_at(b->program, 0, node);
  FNZ_TRY(fnzi_args_visit(n->args, n->nargs, pass_in, &p));
  FNZ_TRY(fnzi_run_steps_node(ws->steps, node));
  FNZ_TRY(fnzi_stp_takings_fill(ws, b, node));
  /* Before a result is written to the memory of one of these. */
  if (ws->exe->data == FNZI_STP_DATA_SIZES && b->mode == FNZI_STP_PLANNED)
    FNZ_TRY(fnzi_args_visit(n->outputs, n->noutputs, keep_apart, &p));
  return pass_out(&p, n);
}

/* --- Final values -------------------------------------------------------------------------------
 */
static bool ends_in_state(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k) {
  uint32_t owner = ws->exe->owners[k];
  return owner != FNZI_PLN_NONE && ws->exe->inputs[owner].in_state &&
         graph_of(b)->outputs[k].tag == FNZ_ARG_VALUE;
}

/* Copies a final value to row-major memory, because another final value may be written over it. */
static fnz_status copy_final(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t k, void **rows,
                             fnz_geometry *out) {
  const fnz_geometry *layout;
  unsigned char *start;
  int64_t *strides;
  FNZ_TRY(fnzi_stp_result(ws, b, k, &layout, &start));
  FNZI_NEW(&ws->passing, FNZ_MAX_RANK, &strides);
  *out = *layout;
  out->strides = strides;
  out->offset = 0;
  fnzi_contiguous_strides(out->sizes, out->rank, strides);
  FNZ_TRY(fnzi_arena_alloc(&ws->passing, (size_t)fnz_geometry_numel(out),
                           fnzi_dtype(out->dtype)->bytes, rows));
  fnzi_stp_elements_move(layout, start, out, *rows);
  return FNZ_OK;
}

/* Output k shows memory of the state, and is no final value that ends there. */
static bool shows_state(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k) {
  const fnz_arg *arg = &graph_of(b)->outputs[k];
  if (arg->tag != FNZ_ARG_VALUE || ends_in_state(ws, b, k))
    return false;
  const fnzi_krn_array *array = b->values[arg->u.value];
  array = array ? array : fnzi_krn_array_of(fnzi_run_steps_value(ws->steps, arg->u.value));
  for (size_t i = 0; array && i < b->plan.buffers.count; i++)
    if (array->storage == &b->storages[i] && b->plan.buffers.data[i].kind == FNZI_PLN_STATE)
      return true;
  return false;
}

/* Keeps the elements of outputs that show the state, before it gets its final values. */
static fnz_status keep_old(fnz_workspace *ws, fnzi_stp_binding *b) {
  uint32_t count = graph_of(b)->noutputs;
  fnz_geometry *old;
  void **rows;
  FNZI_NEW(&ws->passing, count, &old);
  FNZI_NEW(&ws->passing, count, &rows);
  for (uint32_t k = 0; k < count; k++)
    if (shows_state(ws, b, k))
      FNZ_TRY(copy_final(ws, b, k, &rows[k], &old[k]));
  ws->old = old;
  ws->old_rows = rows;
  return FNZ_OK;
}

/* Moves final values to their places. All are read before one is written. */
fnz_status fnzi_bnd_steps_finish(fnz_workspace *ws, fnzi_stp_binding *b) {
  uint32_t count = graph_of(b)->noutputs;
  fnz_geometry *windows;
  void **rows;
  FNZI_NEW(&ws->passing, count, &windows);
  FNZI_NEW(&ws->passing, count, &rows);
  for (uint32_t k = 0; k < count; k++)
    if (ends_in_state(ws, b, k))
      FNZ_TRY(copy_final(ws, b, k, &rows[k], &windows[k]));
  FNZ_TRY(keep_old(ws, b));
  for (uint32_t k = 0; k < count; k++) {
    if (!ends_in_state(ws, b, k))
      continue;
    const fnzi_stp_given *to = &ws->given[ws->exe->owners[k]];
    if (windows[k].dtype == to->layout->dtype && fnzi_same_sizes(&windows[k], to->layout))
      fnzi_stp_elements_move(&windows[k], rows[k], to->layout, to->start);
  }
  return FNZ_OK;
}
