/* flag.c - kernels report an index that is out of bounds in the data: they set the flag. The run
 * then restores the state, and the CPU runs again to produce the error message.
 *
 * The state that a kernel may write before the flag is set is saved before the run, as on the CPU
 * for a step before one that fails (undo.c). Starting with the first step that writes to the state
 * and may run after the flag is set, kernels that write to the state read the flag and write
 * nothing if it is set. Other kernels compute on with the data they find. If a guarded kernel
 * writes to other memory too, that memory stays unwritten, so kernels after it read the flag as
 * well. Libraries do not read the flag: if one would have to, everything that is written is
 * saved. */
#include "engine/device/lowering.h"

static bool calls_library(const fnzi_dev_work *work) {
  for (uint32_t k = 0; k < work->nlaunches; k++)
    if (work->launches[k].call)
      return true;
  return false;
}

/* Whether results are written to the state, and to other memory. */
typedef struct targets {
  bool state, others;
} targets;

static void add_target(const fnzi_pln_plan *plan, const fnzi_pln_location *p, targets *out) {
  bool state = p->buffer != FNZI_PLN_NONE && plan->buffers.data[p->buffer].kind == FNZI_PLN_STATE;
  out->state = out->state || state;
  out->others = out->others || (!state && p->buffer != FNZI_PLN_NONE);
}

static void add_step(const fnzi_pln_plan *plan, const fnzi_pln_step *step, targets *out) {
  const fnzi_graph *g = fnzi_graph_main(plan->program);
  if (step->kind == FNZI_PLN_MOVE) {
    add_target(plan, &step->to, out);
    return;
  }
  for (uint32_t n = step->first; n <= step->last; n++)
    for (uint32_t k = 0; k < g->nodes.data[n].noutputs; k++) {
      const fnz_arg *all = &g->nodes.data[n].outputs[k];
      for (uint32_t i = 0; i < (all->tag == FNZ_ARG_LIST ? all->count : 1); i++) {
        const fnz_arg *one = all->tag == FNZ_ARG_LIST ? &all->u.list[i] : all;
        if (one->tag == FNZ_ARG_VALUE)
          add_target(plan, &plan->locations[one->u.value], out);
      }
    }
}

/* Returns the targets of a step and of the steps that run at once with it: they share a launch. */
static targets targets_of(const fnzi_pln_plan *plan, const fnzi_pln_step *step) {
  targets out = {false, false};
  for (uint32_t k = 0; k == 0 || k < step->sets; k++)
    add_step(plan, &step[k], &out);
  return out;
}

/* The steps from `first` on, which the flag guards. */
typedef struct behind {
  size_t first;
  bool others;        /* some step writes to the state and elsewhere */
  bool library;       /* some step calls a library */
  bool library_state; /* a library writes to the state */
} behind;

fnz_status fnzi_dev_works_guard(fnzi_dev_builder *m) {
  const fnzi_pln_plan *plan = &m->b->plan;
  size_t count = plan->steps.count;
  behind b = {.first = count};
  bool flagged = false;
  m->d->first_writes = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const fnzi_dev_work *work = &m->d->works[i];
    targets to = targets_of(plan, &plan->steps.data[i]);
    for (uint32_t k = 0; k < work->nlaunches; k++)
      for (uint32_t o = 0; o < work->launches[k].noperands; o++)
        flagged = flagged || work->launches[k].buffers[o] == FNZI_DEV_AT_FLAG;
    if (to.state && work->on_device && m->d->first_writes == SIZE_MAX)
      m->d->first_writes = i;
    if (to.state && flagged && b.first > i)
      b.first = i;
    if (b.first > i)
      continue;
    b.others = b.others || (to.state && to.others);
    b.library = b.library || calls_library(work);
    b.library_state = b.library_state || (to.state && calls_library(work));
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
