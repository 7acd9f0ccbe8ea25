/* taken.c - data-dependent scalars (such as the result of `item()`) as arguments. When the step
 * that computes the last scalar of a call has run, the call's arguments are filled in.
 *
 * A kernel reads them from its arguments. A group reads them from memory, in the type in which it
 * computes, converted as its kernels would convert them. */
#include "engine/steps/taken.h"
#include "kernels/core/convert.h"
#include "kernels/meta/evaluate.h"
#include "kernels/meta/point.h"

_Static_assert((int)FNZI_POINT_OPERANDS == 4, "operands of a row or a choice");

enum { CELL = 16 };

/* --- While steps are made -----------------------------------------------------------------------
 */
fnz_status fnzi_stp_takings_open(fnz_workspace *ws, fnzi_stp_binding *b) {
  const fnzi_graph *g = fnzi_graph_at(b->program, 0);
  bool any = false;
  for (size_t v = 0; v < g->values.count && !any; v++)
    any = g->values.data[v].number != FNZ_ARG_DEFAULT;
  b->taken = (fnzi_krn_storage){.refs = 1 << 30, .stock = &ws->machine->stock};
  if (!any)
    return FNZ_OK;
  FNZI_NEW(&b->arena, g->values.count, &b->likes);
  FNZI_NEW(&b->arena, g->nodes.count, &b->takings);
  for (size_t v = 0; v < g->values.count; v++)
    b->likes[v] = fnzi_pln_number_like(g, v);
  return FNZ_OK;
}

fnz_status fnzi_stp_taking_add(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t n,
                               fnzi_krn_call *call, fnzi_stp_taking **out) {
  const fnzi_graph *g = fnzi_graph_at(b->program, 0);
  const fnzi_node *node = &g->nodes.data[n];
  fnzi_stp_taking *made;
  uint64_t *values;
  uint32_t last = 0;
  FNZI_NEW(&b->arena, 1, &made);
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
  *made = (fnzi_stp_taking){.next = b->takings[last],
                            .node = n,
                            .call = call,
                            .args = (fnz_arg *)(uintptr_t)call->args,
                            .values = values};
  b->takings[last] = made;
  *out = made;
  return FNZ_OK;
}

fnz_status fnzi_stp_taking_copy(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node,
                                const fnzi_krn_call *from, fnzi_stp_taking **out) {
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
  FNZ_TRY(fnzi_stp_taking_add(ws, b, node, call, out));
  (*out)->of_group = true;
  /* If the previously added entry is of the same kind of node, it copies the new entry's scalars,
   * which are filled in before its own, instead of converting again. */
  fnzi_stp_taking *had = (*out)->next;
  if (had && had->code && b->shapes->kinds.of[had->node] == b->shapes->kinds.of[node])
    had->like = *out;
  return FNZ_OK;
}

fnz_status fnzi_stp_taking_cell(fnz_workspace *ws, fnzi_stp_binding *b, fnzi_stp_taking *taking,
                                uint32_t k, fnz_dtype dtype, fnzi_krn_array **out) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  fnz_geometry one = {.dtype = dtype};
  FNZ_TRY(fnzi_krn_array_in_arena(&b->arena, &ws->machine->stock, &one, cell, out));
  one.offset = (int64_t)(b->taken.bytes / cell);
  taking->cells[k].is = true;
  taking->cells[k].dtype = dtype;
  taking->cells[k].at = b->taken.bytes;
  b->taken.bytes += CELL;
  return fnzi_krn_array_share(ws->ctx, *out, &b->taken, &one);
}

fnz_status fnzi_stp_taking_elements(fnz_workspace *ws, fnzi_stp_binding *b,
                                    fnzi_stp_taking *taking) {
  const fnzi_krn_call *call = taking->call;
  fnz_dtype dtype = call->outputs[0]->place.dtype;
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
      taking->cells[count].arg = (uint8_t)k;
      FNZ_TRY(fnzi_stp_taking_cell(ws, b, taking, count++, dtype, &cell));
    }
  taking->of_group = true;
  return FNZ_OK;
}

bool fnzi_stp_taking_find(const fnzi_stp_binding *b, const fnzi_krn_call *call, uint32_t k,
                          fnz_dtype dtype, size_t *at) {
  size_t nodes = b->takings ? fnzi_graph_at(b->program, 0)->nodes.count : 0;
  for (size_t n = 0; n < nodes; n++)
    for (const fnzi_stp_taking *t = b->takings[n]; t; t = t->next)
      for (uint32_t i = 0; i < FNZI_POINT_OPERANDS && t->call == call; i++)
        if (t->cells[i].is && t->cells[i].arg == k && t->cells[i].dtype == dtype) {
          *at = t->cells[i].at;
          return true;
        }
  return false;
}

fnz_status fnzi_stp_takings_close(fnzi_stp_binding *b) {
  unsigned char *cells;
  if (b->taken.bytes == 0)
    return FNZ_OK;
  FNZI_NEW(&b->arena, b->taken.bytes + CELL, &cells);
  b->taken.data = cells + (CELL - (uintptr_t)cells % CELL) % CELL;
  return FNZ_OK;
}

/* --- In a run -----------------------------------------------------------------------------------
 */
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

fnz_status fnzi_stp_taken_check(fnz_workspace *ws, const fnzi_krn_call *planned) {
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

static fnz_status is_other(fnz_workspace *ws, const fnzi_stp_taking *t, const char *what) {
  return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: %s is not what was planned",
                   t->call->op->name, what);
}

static fnz_status take(fnz_workspace *ws, const fnzi_stp_binding *b, const fnzi_stp_taking *t) {
  for (uint32_t k = 0; k < t->call->op->nparams; k++) {
    fnz_arg number;
    if (!(t->call->by_data >> k & 1))
      continue;
    FNZ_TRY(fnzi_run_steps_number(ws->steps, t->values[k], &number));
    if (number.tag != b->likes[t->values[k]].tag)
      return is_other(ws, t, "the kind of a number");
    t->args[k] = number;
  }
  return FNZ_OK;
}

static bool is_planned(const fnzi_meta_point_code *a, const fnzi_meta_point_code *b) {
  return a->run == b->run && a->compute == b->compute && a->class_dtype == b->class_dtype &&
         a->out == b->out && a->arity == b->arity;
}

static fnz_status fill(fnz_workspace *ws, const fnzi_stp_binding *b, const fnzi_stp_taking *t) {
  fnzi_meta_point_code code;
  for (uint32_t k = 0; k < FNZI_POINT_OPERANDS && t->like; k++)
    if (t->cells[k].is)
      memcpy(b->taken.data + t->cells[k].at, b->taken.data + t->like->cells[k].at, CELL);
  if (t->like)
    return FNZ_OK;
  FNZ_TRY(take(ws, b, t));
  if (t->of_group)
    FNZ_TRY(fnzi_stp_taken_check(ws, t->call));
  if (t->code && (!t->call->kernels->code(t->call, &code) || !is_planned(&code, t->code)))
    return is_other(ws, t, "the row");
  for (uint32_t k = 0; k < FNZI_POINT_OPERANDS; k++) {
    if (!t->cells[k].is)
      continue;
    unsigned char *to = b->taken.data + t->cells[k].at;
    if (t->code)
      memcpy(to, code.in[k].number, fnzi_dtype(t->cells[k].dtype)->bytes);
    else
      fnzi_krn_number_cell(&t->args[t->cells[k].arg], t->cells[k].dtype, to);
  }
  return FNZ_OK;
}

fnz_status fnzi_stp_takings_fill(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node) {
  for (const fnzi_stp_taking *t = b->takings ? b->takings[node] : NULL; t; t = t->next) {
    fnz_status status = fill(ws, b, t);
    if (status != FNZ_OK) {
      ws->refusing = t->node + 1;
      return status;
    }
  }
  return FNZ_OK;
}
