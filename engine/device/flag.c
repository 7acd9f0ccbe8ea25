/* flag.c - a place out of bounds, which only data say, is found by a kernel: it sets the
 * flag. The run then ends as if it had not begun, and the CPU runs again, to say what is wrong.
 *
 * What a kernel may write before the flag is set is what a step may write on the CPU before another
 * one fails: it is kept before the run (undo.c). From the first step on that can set the flag and
 * writes to the state, or comes after one that can, kernels look at the flag and write nothing
 * where it is set. Libraries do not look: where they come later, all that is written is kept. */
#include "engine/device/way.h"

static bool sets_flag(const fnzi_eng_work *work) {
  for (uint32_t k = 0; k < work->nlaunches; k++)
    for (uint32_t i = 0; i < work->launches[k].noperands; i++)
      if (work->launches[k].buffers[i] == FNZI_ENG_AT_FLAG)
        return true;
  return false;
}

static bool calls_library(const fnzi_eng_work *work) {
  for (uint32_t k = 0; k < work->nlaunches; k++)
    if (work->launches[k].call)
      return true;
  return false;
}

static bool is_state(const fnzi_eng_plan *plan, const fnzi_eng_place *p) {
  return p->buffer != FNZI_ENG_NONE && plan->buffers.data[p->buffer].kind == FNZI_ENG_STATE;
}

/* Of the results of its nodes. */
static bool step_writes_state(const fnzi_eng_plan *plan, const fnzi_eng_step *step) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  bool writes = false;
  if (step->kind == FNZI_ENG_MOVE)
    return is_state(plan, &step->to);
  uint32_t first = fnzi_eng_step_begin(step);
  for (uint32_t n = first; n <= step->node; n++)
    for (uint32_t k = 0; k < g->nodes.data[n].noutputs; k++) {
      const fnz_arg *out = &g->nodes.data[n].outputs[k];
      for (uint32_t i = 0; i < (out->tag == FNZ_ARG_LIST ? out->count : 1); i++) {
        const fnz_arg *one = out->tag == FNZ_ARG_LIST ? &out->u.list[i] : out;
        writes =
            writes || (one->tag == FNZ_ARG_VALUE && is_state(plan, &plan->places[one->u.value]));
      }
    }
  return writes;
}

/* A launch is for all that run at once. */
static bool writes_state(const fnzi_eng_plan *plan, const fnzi_eng_step *step) {
  bool writes = step_writes_state(plan, step);
  for (uint32_t k = 1; k < step->sets; k++)
    writes = writes || step_writes_state(plan, &step[k]);
  return writes;
}

fnz_status fnzi_eng_works_guard(fnzi_eng_maker *m) {
  const fnzi_eng_plan *plan = &m->b->plan;
  size_t count = plan->steps.count, first = count;
  bool library = false, flagged = false;
  m->d->first_writes = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    bool writes = m->d->works[i].on_device && writes_state(plan, &plan->steps.data[i]);
    flagged = flagged || sets_flag(&m->d->works[i]);
    if (writes && m->d->first_writes == SIZE_MAX)
      m->d->first_writes = i;
    if (flagged && first == count && writes_state(plan, &plan->steps.data[i]))
      first = i;
    library = library || (first < count && calls_library(&m->d->works[i]));
  }
  m->d->has_flag = flagged;
  if (library) {
    m->b->saved_bytes = 0;
    for (size_t i = 0; i < plan->buffers.count; i++)
      m->b->saved_bytes += m->b->saved[i] ? plan->buffers.data[i].bytes : 0;
    return FNZ_OK;
  }
  for (size_t i = first; i < count; i++)
    FNZ_TRY(fnzi_eng_work_guard(m, &m->d->works[i]));
  return FNZ_OK;
}
