/* step_names.c - names of a group in measured times: all of its operators, as in fnz_plan_write(),
 * and the operators of the user's program that they are steps of. */
#include "engine/steps/steps.h"

/* Appends the operators of nodes first..last, or of the nodes of `whole` that they are parts of.
 * Consecutive parts of one node count once. */
static fnz_status put_names(fnz_context *ctx, const fnzi_stp_binding *b, const fnzi_pln_step *step,
                            bool whole, fnz_buffer *text) {
  uint32_t before = FNZI_PLN_NONE;
  for (uint32_t n = step->first; n <= step->last; n++) {
    uint32_t node = whole ? fnzi_stp_whole_node(b, n) : n;
    if (node == before)
      continue;
    before = node;
    FNZ_TRY(fnzi_printf(
        ctx, text, "%s%s", text->size ? ", " : "",
        fnzi_node_target(fnzi_node_at(whole ? b->whole : b->program, whole ? b->graph : 0, node))));
  }
  return FNZ_OK;
}

static fnz_status keep_names(fnz_workspace *ws, const fnzi_stp_binding *b,
                             const fnzi_pln_step *step, bool whole, const char **out) {
  fnz_buffer text = {0};
  fnz_status status = put_names(ws->ctx, b, step, whole, &text);
  if (status == FNZ_OK)
    status = fnzi_arena_string(&ws->run_arena, text.data, text.size, out);
  fnz_buffer_free(ws->ctx, &text);
  return status;
}

fnz_status fnzi_stp_step_names(fnz_workspace *ws, const fnzi_stp_binding *b,
                               const fnzi_pln_step *step, fnz_step_time *time) {
  if (step->kind != FNZI_PLN_GROUP)
    return FNZ_OK;
  FNZ_TRY(keep_names(ws, b, step, false, &time->target));
  return keep_names(ws, b, step, true, &time->of);
}
