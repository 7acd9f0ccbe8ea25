/* flag.c - a place out of bounds, which only data say, is found by a kernel: it sets the
 * flag. The run then ends as if it had not begun, and the CPU runs again, to say what is wrong.
 *
 * What a kernel may write before the flag is set is what a step may write on the CPU before another
 * one fails: it is kept before the run (undo.c). From the first step on that can set the flag and
 * writes to the state, or comes after one that can, kernels that write to the state look at the
 * flag and write nothing where it is set; others compute on, of what there is. Where one of the
 * former writes something else as well, which is missing then, those behind it look at the flag
 * too. Libraries do not look: where one would have to, all that is written is kept. */
#include "engine/device/way.h"

static bool sets_flag(const fnzi_dev_work *work) {
  for (uint32_t k = 0; k < work->nlaunches; k++)
    for (uint32_t i = 0; i < work->launches[k].noperands; i++)
      if (work->launches[k].buffers[i] == FNZI_DEV_AT_FLAG)
        return true;
  return false;
}

static bool calls_library(const fnzi_dev_work *work) {
  for (uint32_t k = 0; k < work->nlaunches; k++)
    if (work->launches[k].call)
      return true;
  return false;
}

static bool is_state(const fnzi_pln_plan *plan, const fnzi_pln_place *p) {
  return p->buffer != FNZI_PLN_NONE && plan->buffers.data[p->buffer].kind == FNZI_PLN_STATE;
}

/* Where results go. */
typedef struct targets {
  bool state, others;
} targets;

static void add_target(const fnzi_pln_plan *plan, const fnzi_pln_place *p, targets *out) {
  bool state = is_state(plan, p);
  out->state = out->state || state;
  out->others = out->others || (!state && p->buffer != FNZI_PLN_NONE);
}

static void add_step(const fnzi_pln_plan *plan, const fnzi_pln_step *step, targets *out) {
  const fnzi_graph *g = fnzi_graph_at(plan->program, 0);
  if (step->kind == FNZI_PLN_MOVE) {
    add_target(plan, &step->to, out);
    return;
  }
  for (uint32_t n = fnzi_pln_step_begin(step); n <= step->node; n++)
    for (uint32_t k = 0; k < g->nodes.data[n].noutputs; k++) {
      const fnz_arg *all = &g->nodes.data[n].outputs[k];
      for (uint32_t i = 0; i < (all->tag == FNZ_ARG_LIST ? all->count : 1); i++) {
        const fnz_arg *one = all->tag == FNZ_ARG_LIST ? &all->u.list[i] : all;
        if (one->tag == FNZ_ARG_VALUE)
          add_target(plan, &plan->places[one->u.value], out);
      }
    }
}

/* A launch is for all that run at once. */
static targets targets_of(const fnzi_pln_plan *plan, const fnzi_pln_step *step) {
  targets out = {false, false};
  for (uint32_t k = 0; k == 0 || k < step->sets; k++)
    add_step(plan, &step[k], &out);
  return out;
}

/* What is behind the flag: from step `first` on, */
typedef struct behind {
  size_t first;
  bool others;        /* some step writes to the state and elsewhere, */
  bool library;       /* a library is called, */
  bool library_state; /* and one writes to the state */
} behind;

static void see_step(fnzi_dev_maker *m, size_t i, bool flagged, behind *b) {
  const fnzi_dev_work *work = &m->d->works[i];
  targets to = targets_of(&m->b->plan, &m->b->plan.steps.data[i]);
  if (to.state && work->on_device && m->d->first_writes == SIZE_MAX)
    m->d->first_writes = i;
  if (to.state && flagged && b->first > i)
    b->first = i;
  if (b->first > i)
    return;
  b->others = b->others || (to.state && to.others);
  b->library = b->library || calls_library(work);
  b->library_state = b->library_state || (to.state && calls_library(work));
}

fnz_status fnzi_dev_works_guard(fnzi_dev_maker *m) {
  const fnzi_pln_plan *plan = &m->b->plan;
  size_t count = plan->steps.count;
  behind b = {.first = count};
  bool flagged = false;
  m->d->first_writes = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    flagged = flagged || sets_flag(&m->d->works[i]);
    see_step(m, i, flagged, &b);
  }
  m->d->has_flag = flagged;
  if (b.library_state || (b.library && b.others)) {
    m->b->saved_bytes = 0;
    for (size_t i = 0; i < plan->buffers.count; i++)
      m->b->saved_bytes += m->b->saved[i] ? plan->buffers.data[i].bytes : 0;
    return FNZ_OK;
  }
  for (size_t i = b.first; i < count; i++)
    if (b.others || targets_of(plan, &plan->steps.data[i]).state)
      FNZ_TRY(fnzi_dev_work_guard(m, &m->d->works[i]));
  return FNZ_OK;
}
