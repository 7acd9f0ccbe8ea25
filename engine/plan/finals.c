/* finals.c - R4 and R6: final values outside their state, and outputs outside their memory, are
 * moved after the last step. These moves act as one: other moves read the bytes that a move
 * overwrites before it. If moves wait for each other in a circle, one reads from a copy. */
#include "engine/plan/planner.h"

typedef struct ending {
  fnzi_pln_step move;
  uint32_t before; /* count of pending moves that read bytes that it overwrites */
  bool done;
} ending;

typedef struct endings {
  fnzi_pln_planner *p;
  ending *all;
  uint32_t count;
  uint32_t *heads, *next; /* moves by the buffer that they read */
  uint32_t *ready, nready;
} endings;

/* Marks moves as ready that waited for `of` to read `from`. */
static fnz_status release(endings *e, uint32_t move, fnzi_pln_location from) {
  bool overlap;
  for (uint32_t k = 0; k < e->count; k++) {
    if (k == move || e->all[k].done || e->all[k].move.to.buffer != from.buffer)
      continue;
    FNZ_TRY(fnzi_pln_maps_overlap(e->p, from.map, e->all[k].move.to.map, &overlap));
    if (overlap && --e->all[k].before == 0)
      e->ready[e->nready++] = k;
  }
  return FNZ_OK;
}

static fnz_status save(endings *e, uint32_t k) {
  fnzi_pln_step *move = &e->all[k].move;
  fnzi_pln_location from = move->from, to;
  FNZ_TRY(fnzi_pln_map_dense(e->p, from.map, false, &to.map));
  FNZ_TRY(fnzi_pln_buffer_for(e->p, move->value, to.map, &to.buffer));
  fnzi_pln_step first = *move;
  first.rule = FNZI_PLN_PARALLEL;
  first.to = to;
  FNZ_TRY(fnzi_pln_move_add(e->p, first));
  move->from = to;
  return release(e, k, from);
}

static fnz_status order(endings *e) {
  uint32_t left = 0;
  for (uint32_t k = 0; k < e->count; k++) {
    fnzi_pln_location to = e->all[k].move.to;
    /* Other moves that read what move k overwrites come before it. */
    for (uint32_t i = e->heads[to.buffer]; i != FNZI_PLN_NONE; i = e->next[i]) {
      bool overlap = false;
      if (i != k)
        FNZ_TRY(fnzi_pln_maps_overlap(e->p, e->all[i].move.from.map, to.map, &overlap));
      e->all[k].before += overlap;
    }
    if (e->all[k].before == 0)
      e->ready[e->nready++] = k;
  }
  for (uint32_t saved = 0; saved < e->count; saved++) {
    for (; e->nready == 0; left++)
      if (!e->all[left].done)
        FNZ_TRY(save(e, left));
    const uint32_t k = e->ready[--e->nready];
    const fnzi_pln_step *move = &e->all[k].move;
    bool overlap = false;
    if (move->from.buffer == move->to.buffer)
      FNZ_TRY(fnzi_pln_maps_overlap(e->p, move->from.map, move->to.map, &overlap));
    if (overlap)
      FNZ_TRY(save(e, k));
    FNZ_TRY(fnzi_pln_move_add(e->p, *move));
    e->all[k].done = true;
    if (!overlap)
      FNZ_TRY(release(e, k, move->from));
  }
  return FNZ_OK;
}

/* Leaves an output in the memory of an input, unless a final value is moved there. */
static fnz_status open_late(endings *e, uint32_t k, fnzi_pln_location from) {
  fnzi_pln_planner *p = e->p;
  fnzi_pln_location *to = &p->plan->outputs[k];
  const fnzi_pln_buffer *b = &p->plan->buffers.data[from.buffer];
  bool is_kept = b->kind == FNZI_PLN_CONST || b->kind == FNZI_PLN_STATE;
  for (uint32_t i = 0; is_kept && i < e->count; i++)
    is_kept = e->all[i].move.to.buffer != from.buffer;
  *to = from;
  if (is_kept)
    return FNZ_OK;
  fnzi_pln_buffer out = {.kind = FNZI_PLN_OUT, .output = k, .bytes = fnzi_pln_map_bytes(from.map)};
  const fnz_geometry *g = p->graph->values.data[p->graph->outputs[k].u.value].geometry;
  FNZ_TRY(fnzi_pln_map_dense(p, p->policy->strided ? g : from.map, !p->policy->strided, &to->map));
  return fnzi_pln_buffer_add(p, out, &to->buffer);
}

static fnz_status collect(endings *e, bool finals) {
  fnzi_pln_planner *p = e->p;
  for (uint32_t k = 0; k < p->graph->noutputs; k++) {
    bool is_final = p->final_of[k] != FNZI_PLN_NONE;
    if (!fnzi_pln_is_tensor(p, &p->graph->outputs[k]) || is_final != finals)
      continue;
    uint32_t value = (uint32_t)p->graph->outputs[k].u.value;
    fnzi_pln_location from = p->plan->locations[value], *to = &p->plan->outputs[k];
    if (from.buffer == FNZI_PLN_NONE)
      return fnzi_fail(p->ctx, FNZ_CLASS_INTERNAL, p->graph->values.data[value].name,
                       "the plan is wrong: output %%%s has no location",
                       p->graph->values.data[value].name);
    if (to->buffer == FNZI_PLN_NONE)
      FNZ_TRY(open_late(e, k, from));
    if (fnzi_pln_location_equal(from, *to) || fnz_geometry_numel(from.map) == 0)
      continue;
    e->all[e->count++] = (ending){.move = {.rule = is_final ? FNZI_PLN_FINAL : FNZI_PLN_OUTPUT,
                                           .last = FNZI_PLN_NONE,
                                           .value = value,
                                           .because = FNZI_PLN_NONE,
                                           .from = from,
                                           .to = *to}};
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_finals_add(fnzi_pln_planner *p) {
  endings e = {.p = p};
  size_t most = p->graph->noutputs + (size_t)1;
  FNZI_NEW(&p->scratch, most, &e.all);
  FNZI_NEW(&p->scratch, most, &e.next);
  FNZI_NEW(&p->scratch, most, &e.ready);
  FNZ_TRY(collect(&e, true));
  FNZ_TRY(collect(&e, false));
  const size_t buffers = p->plan->buffers.count;
  FNZI_NEW(&p->scratch, buffers, &e.heads);
  for (size_t b = 0; b < buffers; b++)
    e.heads[b] = FNZI_PLN_NONE;
  for (uint32_t k = 0; k < e.count; k++) {
    uint32_t from = e.all[k].move.from.buffer;
    e.next[k] = e.heads[from];
    e.heads[from] = k;
  }
  return order(&e);
}
