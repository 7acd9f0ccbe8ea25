/* scalars.c - data-dependent scalars (such as the result of `item()`) as arguments. When the step
 * that computes the last scalar of a call has run, the call's arguments are filled in.
 *
 * A kernel reads them from its arguments. A group reads them from memory, in the type in which it
 * computes, converted as its kernels would convert them. */
#include "engine/steps/scalars.h"
#include "kernels/core/convert.h"
#include "kernels/meta/evaluate.h"
#include "kernels/meta/point.h"

_Static_assert((int)FNZI_POINT_OPERANDS == 4, "operands of a row or a choice");

enum { CELL = 16 };

/* --- While steps are made --------------------------------------------------------------------- */
fnz_status fnzi_stp_scalars_open(fnz_workspace *ws, fnzi_stp_binding *b) {
  const fnzi_graph *g = fnzi_graph_main(b->program);
  bool any = false;
  for (size_t v = 0; v < g->values.count && !any; v++)
    any = g->values.data[v].number != FNZ_ARG_DEFAULT;
  b->scalar_cells = (fnzi_krn_storage){.refs = 1 << 30, .stock = &ws->machine->stock};
  if (!any)
    return FNZ_OK;
  FNZI_NEW(&b->arena, g->values.count, &b->scalar_kinds);
  FNZI_NEW(&b->arena, g->nodes.count, &b->scalar_calls);
  for (size_t v = 0; v < g->values.count; v++)
    b->scalar_kinds[v] = fnzi_pln_scalar_like(g, v);
  return FNZ_OK;
}

fnz_status fnzi_stp_scalar_call_add(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t n,
                                    fnzi_krn_call *call, fnzi_stp_scalar_call **out) {
  const fnzi_graph *g = fnzi_graph_main(b->program);
  const fnzi_node *node = &g->nodes.data[n];
  fnzi_stp_scalar_call *entry;
  uint64_t *values;
  uint32_t last = 0;
  FNZI_NEW(&b->arena, 1, &entry);
  FNZI_NEW(&b->arena, call->op->nparams, &values);
  for (uint32_t k = 0; k < call->op->nparams; k++) {
    if (!(call->by_data >> k & 1))
      continue;
    values[k] = node->args[k].u.value;
    uint32_t from = g->values.data[values[k]].node;
    if (from >= n)
      return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, "", "%s takes a number that is made later",
                       call->op->name);
    last = from > last ? from : last;
  }
  *entry = (fnzi_stp_scalar_call){.next = b->scalar_calls[last],
                                  .node = n,
                                  .call = call,
                                  .args = (fnz_arg *)(uintptr_t)call->args,
                                  .values = values};
  b->scalar_calls[last] = entry;
  *out = entry;
  return FNZ_OK;
}

fnz_status fnzi_stp_scalar_call_copy(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node,
                                     const fnzi_krn_call *from, fnzi_stp_scalar_call **out) {
  fnzi_krn_call *call;
  fnzi_krn_array **outputs;
  fnz_arg *args;
  FNZI_NEW(&b->arena, 1, &call);
  FNZI_NEW(&b->arena, from->op->nparams, &args);
  FNZI_NEW(&b->arena, from->noutputs, &outputs);
  memcpy(args, from->args, from->op->nparams * sizeof *args);
  memcpy(outputs, from->outputs, from->noutputs * sizeof(fnzi_krn_array *));
  *call = *from;
  call->args = args;
  call->outputs = outputs;
  call->expected = NULL;
  call->nexpected = 0;
  FNZ_TRY(fnzi_stp_scalar_call_add(ws, b, node, call, out));
  (*out)->in_cells = true;
  /* If the previously added entry is of the same kind of node, it copies the new entry's scalars,
   * which are filled in before its own, instead of converting again. */
  fnzi_stp_scalar_call *previous = (*out)->next;
  if (previous && previous->code &&
      b->kinds->kinds.by_node[previous->node] == b->kinds->kinds.by_node[node])
    previous->same = *out;
  return FNZ_OK;
}

fnz_status fnzi_stp_scalar_cell(fnz_workspace *ws, fnzi_stp_binding *b,
                                fnzi_stp_scalar_call *scalars, uint32_t k, fnz_dtype dtype,
                                fnzi_krn_array **out) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  fnz_geometry one = {.dtype = dtype};
  FNZ_TRY(fnzi_krn_array_in_arena(&b->arena, &ws->machine->stock, &one, cell, out));
  one.offset = (int64_t)(b->scalar_cells.bytes / cell);
  scalars->cells[k].is_used = true;
  scalars->cells[k].dtype = dtype;
  scalars->cells[k].offset = b->scalar_cells.bytes;
  b->scalar_cells.bytes += CELL;
  return fnzi_krn_array_share(ws->ctx, *out, &b->scalar_cells, &one);
}

fnz_status fnzi_stp_scalar_cells_add(fnz_workspace *ws, fnzi_stp_binding *b,
                                     fnzi_stp_scalar_call *scalars) {
  const fnzi_krn_call *call = scalars->call;
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  fnzi_krn_array *cell;
  uint32_t count = 0;
  if (!fnzi_krn_can_convert(dtype, FNZ_C128) ||
      fnzi_kernel_facts(call->row)->takes != FNZI_TAKES_ELEMENT)
    return FNZ_OK;
  for (uint32_t k = 0; k < call->op->nparams; k++)
    if (call->by_data >> k & 1 && count++ == FNZI_POINT_OPERANDS)
      return FNZ_OK;
  count = 0;
  for (uint32_t k = 0; k < call->op->nparams; k++)
    if (call->by_data >> k & 1) {
      scalars->cells[count].arg = (uint8_t)k;
      FNZ_TRY(fnzi_stp_scalar_cell(ws, b, scalars, count++, dtype, &cell));
    }
  scalars->in_cells = true;
  return FNZ_OK;
}

bool fnzi_stp_scalar_find(const fnzi_stp_binding *b, const fnzi_krn_call *call, uint32_t k,
                          fnz_dtype dtype, size_t *at) {
  size_t nodes = b->scalar_calls ? fnzi_graph_main(b->program)->nodes.count : 0;
  for (size_t n = 0; n < nodes; n++)
    for (const fnzi_stp_scalar_call *t = b->scalar_calls[n]; t; t = t->next)
      for (uint32_t i = 0; i < FNZI_POINT_OPERANDS && t->call == call; i++)
        if (t->cells[i].is_used && t->cells[i].arg == k && t->cells[i].dtype == dtype) {
          *at = t->cells[i].offset;
          return true;
        }
  return false;
}

fnz_status fnzi_stp_scalars_close(fnzi_stp_binding *b) {
  unsigned char *cells;
  if (b->scalar_cells.bytes == 0)
    return FNZ_OK;
  FNZI_NEW(&b->arena, b->scalar_cells.bytes + CELL, &cells);
  b->scalar_cells.data = cells + (CELL - (uintptr_t)cells % CELL) % CELL;
  return FNZ_OK;
}

/* --- In a run --------------------------------------------------------------------------------- */
/* Applies the shape rule to the call, now that its scalars are known. The results must have the
 * planned types and sizes. */
static fnz_status check_call(fnz_workspace *ws, fnzi_krn_call *call, const fnzi_krn_call *planned) {
  FNZ_TRY(fnzi_meta_evaluate_shape(call, planned->row));
  bool same = call->noutputs == planned->noutputs;
  for (size_t k = 0; same && k < call->noutputs; k++) {
    const fnzi_krn_array *a = call->outputs[k], *b = planned->outputs[k];
    same = !a || !b ||
           (a->geometry.dtype == b->geometry.dtype && fnzi_same_sizes(&a->geometry, &b->geometry));
  }
  return same ? FNZ_OK
              : fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, "",
                          "%s: its results are not what was planned", call->op->name);
}

fnz_status fnzi_stp_scalar_call_check(fnz_workspace *ws, const fnzi_krn_call *planned) {
  enum { MOST_RESULTS = 64 };
  fnzi_krn_array *outputs[MOST_RESULTS];
  fnzi_krn_call call = *planned;
  call.by_data = 0;
  call.has_data = false;
  call.outputs = outputs;
  call.noutputs = 0;
  call.capacity = MOST_RESULTS;
  call.scratch = ws->scratch;
  fnz_status status = check_call(ws, &call, planned);
  fnzi_meta_outputs_release(&call);
  ws->scratch = call.scratch;
  fnzi_arena_reset(&ws->scratch);
  return status;
}

static fnz_status fail_differs(fnz_workspace *ws, const fnzi_stp_scalar_call *t, const char *what) {
  return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: %s is not what was planned",
                   t->call->op->name, what);
}

static bool is_planned(const fnzi_meta_point_code *a, const fnzi_meta_point_code *b) {
  return a->run == b->run && a->compute == b->compute && a->class_dtype == b->class_dtype &&
         a->out == b->out && a->arity == b->arity;
}

static fnz_status scalars_fill_call(fnz_workspace *ws, const fnzi_stp_binding *b,
                                    const fnzi_stp_scalar_call *t) {
  fnzi_meta_point_code code;
  for (uint32_t k = 0; k < FNZI_POINT_OPERANDS && t->same; k++)
    if (t->cells[k].is_used)
      memcpy(b->scalar_cells.data + t->cells[k].offset,
             b->scalar_cells.data + t->same->cells[k].offset, CELL);
  if (t->same)
    return FNZ_OK;
  for (uint32_t k = 0; k < t->call->op->nparams; k++) {
    fnz_arg number;
    if (!(t->call->by_data >> k & 1))
      continue;
    FNZ_TRY(fnzi_run_steps_number(ws->steps, t->values[k], &number));
    if (number.tag != b->scalar_kinds[t->values[k]].tag)
      return fail_differs(ws, t, "the kind of a number");
    t->args[k] = number;
  }
  if (t->in_cells)
    FNZ_TRY(fnzi_stp_scalar_call_check(ws, t->call));
  if (t->code && (!t->call->kernels->code(t->call, &code) || !is_planned(&code, t->code)))
    return fail_differs(ws, t, "the row");
  for (uint32_t k = 0; k < FNZI_POINT_OPERANDS; k++) {
    if (!t->cells[k].is_used)
      continue;
    unsigned char *to = b->scalar_cells.data + t->cells[k].offset;
    if (t->code)
      memcpy(to, code.in[k].number, fnzi_dtype(t->cells[k].dtype)->bytes);
    else
      fnzi_krn_number_cell(&t->args[t->cells[k].arg], t->cells[k].dtype, to);
  }
  return FNZ_OK;
}

fnz_status fnzi_stp_scalars_fill(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node) {
  for (const fnzi_stp_scalar_call *t = b->scalar_calls ? b->scalar_calls[node] : NULL; t;
       t = t->next) {
    fnz_status status = scalars_fill_call(ws, b, t);
    if (status != FNZ_OK) {
      ws->refusing_node = t->node + 1;
      return status;
    }
  }
  return FNZ_OK;
}
