/* met.c - plans a program at sizes other than a run's. Such a plan is made only for the tables of
 * its kernels and never runs: numbers that are the same in both plans become constants in the
 * kernels' texts (engine/cuda/text_met.c). */
#include "engine/device/way.h"

enum { MOST_TIMES = 8 }; /* most such plans of a workspace */

struct fnzi_dev_met {
  fnzi_cuda_met tables;
  uint32_t times;
  struct {
    bool *data;
    size_t count, capacity;
  } said;
};

fnz_status fnzi_dev_met_open(fnz_workspace *ws, fnzi_cuda_met **out) {
  if (!ws->met) {
    FNZI_NEW(&ws->arena, 1, &ws->met);
    ws->met->tables.arena = &ws->arena;
  }
  *out = &ws->met->tables;
  return FNZ_OK;
}

void fnzi_dev_met_end(fnz_workspace *ws) {
  if (!ws->met)
    return;
  fnzi_cuda_met_end(ws->ctx, &ws->met->tables);
  FNZI_VEC_FREE(ws->ctx, &ws->met->said);
}

fnz_status fnzi_dev_met_note(fnzi_dev_maker *m, bool said) {
  struct fnzi_dev_met *met = m->ws->met;
  if (!m->text.met)
    return FNZ_OK;
  if (m->nsaid++ == 0)
    met->said.count = 0;
  FNZI_PUSH(m->ws->ctx, &met->said, said);
  return FNZ_OK;
}

bool fnzi_dev_met_said(fnzi_dev_maker *m) {
  const struct fnzi_dev_met *met = m->ws->met;
  size_t k = m->nsaid++;
  return k < met->said.count && met->said.data[k];
}

static fnz_status plan_and_meet(fnz_workspace *ws, fnzi_dev_meet *meet, bool with_state) {
  fnzi_stp_binding *other;
  FNZI_NEW(&ws->run_arena, 1, &other);
  fnz_status status = fnzi_bnd_plan(ws, other, with_state);
  if (status == FNZ_OK && other->owned)
    status = meet(ws, other, &ws->met->tables);
  fnzi_bnd_drop(ws, other);
  return status;
}

/* Plans at nearby sizes. Sizes for which planning fails are skipped. */
static fnz_status meet_near(fnz_workspace *ws, uint32_t way, fnzi_dev_meet *meet, bool with_state) {
  const fnz_error had = ws->ctx->error;
  fnzi_stp_run_input *own = ws->inputs, *near;
  bool found;
  FNZ_TRY(fnzi_stp_sizes_near(ws, way, &near, &found));
  if (!found)
    return FNZ_OK;
  ws->inputs = near;
  fnz_status status = plan_and_meet(ws, meet, with_state);
  ws->inputs = own;
  if (status == FNZ_NO_MEMORY || status == FNZ_INTERNAL)
    return status;
  ws->ctx->error = had;
  return FNZ_OK;
}

bool fnzi_dev_met_learns(const fnz_workspace *ws, const fnzi_stp_binding *b) {
  return b->owned && ws->met->tables.fresh && ws->met->times < MOST_TIMES;
}

fnz_status fnzi_dev_met_others(fnz_workspace *ws, const fnzi_stp_binding *b, fnzi_dev_meet *meet) {
  ws->met->times++;
  for (uint32_t way = 0; way < FNZI_STP_NEAR && ws->met->tables.fresh; way++)
    FNZ_TRY(meet_near(ws, way, meet, b->with_state));
  return FNZ_OK;
}
