/* bind.c - finds the binding for the inputs of a run, or makes a new one, on its device.
 *
 * needs   ws->given: the layouts of the inputs
 * gives   a binding for these sizes and layouts; the workspace keeps the last few
 */
#include "engine/engine.h"

/* --- The key ------------------------------------------------------------------------------------
 */
static bool same_layout(const fnz_geometry *a, const fnz_geometry *b) {
  if (!a->sizes || !b)
    return !a->sizes == !b;
  if (a->dtype != b->dtype || a->rank != b->rank || a->offset != b->offset)
    return false;
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] != b->sizes[d] || a->strides[d] != b->strides[d])
      return false;
  return true;
}

static bool fits(const fnz_workspace *ws, const fnzi_stp_binding *b, bool with_state) {
  uint32_t count = fnzi_graph_at(ws->exe->program, 0)->ninputs;
  if (!b->made || b->with_state != with_state ||
      (b->asks_threads && b->threads != fnzi_bnd_threads_of(ws)))
    return false;
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_stp_given *g = &ws->given[k];
    if (!same_layout(&b->layouts[k], g->layout) || (g->has_number && b->numbers[k] != g->number))
      return false;
  }
  return true;
}

/* --- What it takes ------------------------------------------------------------------------------
 */
static void count_needs(fnzi_stp_binding *b) {
  fnz_needs *n = &b->needs;
  n->arena_bytes = b->arena_bytes;
  n->steps = b->acts.count;
  for (size_t i = 0; i < b->acts.count; i++) {
    const fnzi_stp_act *act = &b->acts.data[i];
    if (act->kind == FNZI_STP_ACT_INTERPRET)
      n->interpreted++;
    if (act->kind != FNZI_STP_ACT_MOVE)
      continue;
    n->moves++;
    n->bytes_moved += 2 * (uint64_t)act->u.move.bytes;
    n->bytes_written += (uint64_t)act->u.move.bytes;
  }
}

void fnzi_eng_binding_end(fnz_workspace *ws, fnzi_stp_binding *b) {
  if (!b->made)
    return;
  if (b->gpu)
    b->gpu->unbind(ws, b);
  fnzi_bnd_drop(ws, b);
}

/* Returns the least recently used binding, except the binding of the last run, whose results stay
 * until the next run. */
static fnzi_stp_binding *oldest(fnz_workspace *ws) {
  fnzi_stp_binding *found = NULL;
  for (size_t i = 0; i < FNZI_STP_BINDINGS; i++) {
    fnzi_stp_binding *b = &ws->bindings[i];
    if (b != ws->ran && (!found || (found->made && (!b->made || b->used < found->used))))
      found = b;
  }
  return found;
}

fnz_status fnzi_eng_binding_find(fnz_workspace *ws, bool with_state, fnzi_stp_binding **out) {
  fnzi_stp_binding *b = NULL;
  for (size_t i = 0; i < FNZI_STP_BINDINGS && !b; i++)
    if (fits(ws, &ws->bindings[i], with_state))
      b = &ws->bindings[i];
  fnz_status status = FNZ_OK;
  if (!b) {
    b = oldest(ws);
    fnzi_eng_binding_end(ws, b);
    status = fnzi_bnd_plan(ws, b, with_state);
    b->gpu = ws->exe->gpu;
    if (status == FNZ_OK && b->gpu)
      status = b->gpu->bind(ws, b);
    if (status == FNZ_OK)
      count_needs(b);
    else
      fnzi_eng_binding_end(ws, b);
  }
  b->used = ++ws->runs;
  *out = b;
  return status;
}
