/* other_sizes.c - plans a program at sizes other than a run's. Such a plan is made only for the
 * tables of its kernels and never runs: numbers that are the same in both plans become constants in
 * the kernels' texts (engine/cuda/text_tables.c). */
#include "engine/device/lowering.h"

enum { MOST_TIMES = 8 }; /* most such plans of a workspace */

struct fnzi_dev_other_sizes {
  fnzi_cuda_tables tables;
  uint32_t count;
  struct {
    bool *data;
    size_t count, capacity;
  } answers;
};

fnz_status fnzi_dev_sizes_open(fnz_workspace *ws, fnzi_cuda_tables **out) {
  if (!ws->other_sizes) {
    FNZI_NEW(&ws->arena, 1, &ws->other_sizes);
    ws->other_sizes->tables.arena = &ws->arena;
  }
  *out = &ws->other_sizes->tables;
  return FNZ_OK;
}

void fnzi_dev_sizes_end(fnz_workspace *ws) {
  if (!ws->other_sizes)
    return;
  fnzi_cuda_tables_end(ws->ctx, &ws->other_sizes->tables);
  FNZI_VEC_FREE(ws->ctx, &ws->other_sizes->answers);
}

fnz_status fnzi_dev_answer_note(fnzi_dev_builder *m, bool answer) {
  struct fnzi_dev_other_sizes *other = m->ws->other_sizes;
  if (!m->text.tables)
    return FNZ_OK;
  if (m->nanswers++ == 0)
    other->answers.count = 0;
  FNZI_PUSH(m->ws->ctx, &other->answers, answer);
  return FNZ_OK;
}

bool fnzi_dev_answer_next(fnzi_dev_builder *m) {
  const struct fnzi_dev_other_sizes *other = m->ws->other_sizes;
  size_t k = m->nanswers++;
  return k < other->answers.count && other->answers.data[k];
}

/* Plans at nearby sizes. Sizes for which planning fails are skipped. */
static fnz_status compare_near(fnz_workspace *ws, uint32_t choice, fnzi_dev_compare *compare,
                               bool with_state) {
  const fnz_error had = ws->ctx->error;
  fnzi_stp_run_input *own = ws->inputs, *nearby;
  fnzi_stp_binding *other;
  bool found;
  FNZ_TRY(fnzi_stp_sizes_near(ws, choice, &nearby, &found));
  if (!found)
    return FNZ_OK;
  FNZI_NEW(&ws->run_arena, 1, &other);
  ws->inputs = nearby;
  fnz_status status = fnzi_bnd_plan(ws, other, with_state);
  if (status == FNZ_OK && other->owned)
    status = compare(ws, other, &ws->other_sizes->tables);
  fnzi_bnd_drop(ws, other);
  ws->inputs = own;
  if (status == FNZ_NO_MEMORY || status == FNZ_INTERNAL)
    return status;
  ws->ctx->error = had;
  return FNZ_OK;
}

bool fnzi_dev_sizes_needed(const fnz_workspace *ws, const fnzi_stp_binding *b) {
  return b->owned && ws->other_sizes->tables.fresh && ws->other_sizes->count < MOST_TIMES;
}

fnz_status fnzi_dev_sizes_compare(fnz_workspace *ws, const fnzi_stp_binding *b,
                                  fnzi_dev_compare *compare) {
  ws->other_sizes->count++;
  for (uint32_t choice = 0; choice < FNZI_STP_NEAR && ws->other_sizes->tables.fresh; choice++)
    FNZ_TRY(compare_near(ws, choice, compare, b->with_state));
  return FNZ_OK;
}
