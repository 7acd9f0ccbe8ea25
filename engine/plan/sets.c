/* sets.c - finds consecutive groups that run the same program on different operands. No group may
 * read or write a byte that another one writes. Lists of small tensors, such as an optimizer's,
 * then cost one step instead of one for each tensor.
 *
 * Locations are chosen as if steps ran one after the other. Only the arena differs: buffers of
 * steps that run at once are live at once. */
#include "engine/plan/planner.h"

enum {
  MOST_ELEMENTS = 1 << 18, /* of a set: larger ones justify a step and memory of their own */
  MOST_USES = 256          /* of a buffer, which are compared with each other */
};

/* A use of a buffer: an operand or a result of a step of the sets. */
typedef struct use {
  const fnz_geometry *map;
  uint32_t step, next;
  bool is_written;
} use;

typedef struct sets {
  fnzi_pln_planner *p;
  uint32_t first, step; /* steps: the first set, and the current set */
  bool fits;
  /* Per value: its counterpart in the other set, valid if its mark is `step`. */
  uint32_t *twin, *mark, *twin_back, *mark_back;
  /* Per buffer: its last use in `all` and their number, valid if its `opened` is `first`. */
  uint32_t *heads, *counts, *opened;
  struct {
    use *data;
    size_t count, capacity;
  } all;
} sets;

/* Says that the step is a small group without rows, or a node that may be one. */
static bool is_small_group(const fnzi_pln_planner *p, const fnzi_pln_step *s) {
  if (s->kind != FNZI_PLN_GROUP && !(s->kind == FNZI_PLN_CALL && s->is_point))
    return false;
  for (uint32_t n = s->first; n <= s->last; n++)
    if (!p->nodes[n].is_point)
      return false;
  uint32_t result = fnzi_pln_result_of(&p->graph->nodes.data[s->last]);
  return fnz_geometry_numel(p->graph->values.data[result].geometry) <= MOST_ELEMENTS;
}

/* --- One program ------------------------------------------------------------------------------ */
/* Notes that `b` corresponds to `a`. Returns false if either corresponds to another value already,
 * or the types differ. */
static bool stands_for(sets *s, uint64_t a, uint64_t b) {
  const fnz_geometry *x = s->p->graph->values.data[a].geometry;
  const fnz_geometry *y = s->p->graph->values.data[b].geometry;
  if (s->mark[a] == s->step || s->mark_back[b] == s->step)
    return s->mark[a] == s->step && s->mark_back[b] == s->step && s->twin[a] == b &&
           s->twin_back[b] == a;
  s->mark[a] = s->mark_back[b] = s->step;
  s->twin[a] = (uint32_t)b;
  s->twin_back[b] = (uint32_t)a;
  return x && y && x->dtype == y->dtype;
}

static bool sets_same_arg(sets *s, const fnz_arg *a, const fnz_arg *b) {
  if (a->tag != b->tag)
    return false;
  if (a->tag == FNZ_ARG_VALUE)
    return stands_for(s, a->u.value, b->u.value);
  if (a->tag == FNZ_ARG_SYMBOL) /* numbers of data are operands */
    return s->p->graph->values.data[a->u.value].number ==
           s->p->graph->values.data[b->u.value].number;
  if (a->tag == FNZ_ARG_STRING)
    return strcmp(a->u.s, b->u.s) == 0;
  if (a->tag != FNZ_ARG_LIST)
    return memcmp(&a->u, &b->u, sizeof a->u) == 0;
  for (uint32_t i = 0; a->count == b->count && i < a->count; i++) /* of numbers (members.c) */
    if (a->u.list[i].tag != b->u.list[i].tag || a->u.list[i].u.i != b->u.list[i].u.i)
      return false;
  return a->count == b->count;
}

static bool same_program(sets *s, const fnzi_pln_step *a, const fnzi_pln_step *b) {
  uint32_t first = a->first, other = b->first;
  const fnzi_node *nodes = s->p->graph->nodes.data;
  bool same = a->last - first == b->last - other;
  for (uint32_t n = first; same && n <= a->last; n++) {
    const fnzi_node *x = &nodes[n], *y = &nodes[other + (n - first)];
    same = x->op == y->op && x->nargs == y->nargs && x->noutputs == y->noutputs;
    for (uint32_t k = 0; same && k < x->nargs; k++)
      same = sets_same_arg(s, &x->args[k], &y->args[k]);
    for (uint32_t k = 0; same && k < x->noutputs; k++)
      same = sets_same_arg(s, &x->outputs[k], &y->outputs[k]);
  }
  return same;
}

/* --- Apart ------------------------------------------------------------------------------------ */
/* Compares the bytes that the step reads or writes with the bytes of the other steps. */
static fnz_status have_overlap(sets *s, uint32_t value, bool is_written) {
  fnzi_pln_planner *p = s->p;
  fnzi_pln_location location = p->plan->locations[value];
  bool overlap;
  if (location.buffer == FNZI_PLN_NONE || !fnzi_pln_buffer_writable(p, location.buffer) || !s->fits)
    return FNZ_OK;
  if (s->opened[location.buffer] != s->first) {
    s->opened[location.buffer] = s->first;
    s->heads[location.buffer] = FNZI_PLN_NONE;
    s->counts[location.buffer] = 0;
  }
  s->fits = s->counts[location.buffer]++ < MOST_USES;
  for (uint32_t k = s->heads[location.buffer]; s->fits && k != FNZI_PLN_NONE;
       k = s->all.data[k].next) {
    const use *x = &s->all.data[k];
    if (x->step == s->step || !(is_written || x->is_written))
      continue;
    FNZ_TRY(fnzi_pln_maps_overlap(p, x->map, location.map, &overlap));
    s->fits = !overlap;
  }
  const use new = {location.map, s->step, s->heads[location.buffer], is_written};
  s->heads[location.buffer] = (uint32_t)s->all.count;
  FNZI_PUSH(p->ctx, &s->all, new);
  return FNZ_OK;
}

static fnz_status add_step(sets *s, const fnzi_pln_step *step) {
  for (uint32_t n = step->first; n <= step->last; n++) {
    const fnzi_node *node = &s->p->graph->nodes.data[n];
    FNZI_PLN_EACH_TENSOR(each, s->p, node->args, node->nargs)
      FNZ_TRY(have_overlap(s, (uint32_t)each.arg->u.value, false));
    FNZI_PLN_EACH_TENSOR(each, s->p, node->outputs, node->noutputs)
      FNZ_TRY(have_overlap(s, (uint32_t)each.arg->u.value, true));
  }
  return FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */
/* Counts the steps from `first` on that run at once. */
static fnz_status count_sets(sets *s, uint32_t first, uint32_t *count) {
  const fnzi_pln_step *steps = s->p->plan->steps.data;
  *count = 1;
  s->first = s->step = first;
  s->fits = is_small_group(s->p, &steps[first]);
  s->all.count = 0;
  for (bool opened = false; s->fits && ++s->step < s->p->plan->steps.count; opened = true) {
    const fnzi_pln_step *next = &steps[s->step];
    s->fits = is_small_group(s->p, next) && same_program(s, &steps[first], next);
    if (s->fits && !opened) {
      uint32_t at = s->step;
      s->step = first;
      FNZ_TRY(add_step(s, &steps[first]));
      s->step = at;
    }
    if (s->fits)
      FNZ_TRY(add_step(s, next));
    *count += s->fits;
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_sets_find(fnzi_pln_planner *p) {
  sets s = {.p = p};
  size_t values = p->plan->nvalues, buffers = p->plan->buffers.count;
  FNZI_NEW(&p->scratch, values, &s.twin);
  FNZI_NEW(&p->scratch, values, &s.mark);
  FNZI_NEW(&p->scratch, values, &s.twin_back);
  FNZI_NEW(&p->scratch, values, &s.mark_back);
  FNZI_NEW(&p->scratch, buffers, &s.heads);
  FNZI_NEW(&p->scratch, buffers, &s.counts);
  FNZI_NEW(&p->scratch, buffers, &s.opened);
  for (size_t b = 0; b < buffers; b++)
    s.opened[b] = FNZI_PLN_NONE;
  fnz_status status = FNZ_OK;
  for (uint32_t i = 0, count; status == FNZ_OK && i < p->plan->steps.count; i += count) {
    status = count_sets(&s, i, &count);
    p->plan->steps.data[i].sets = count;
  }
  FNZI_VEC_FREE(p->ctx, &s.all);
  FNZ_TRY(status);
  /* Buffers that a step uses live until all steps that run with it are done. */
  fnzi_pln_plan *plan = p->plan;
  uint32_t *ends, count = (uint32_t)plan->steps.count;
  FNZI_NEW(&p->scratch, count, &ends);
  for (uint32_t i = 0, k; i < count; i += plan->steps.data[i].sets)
    for (k = 0; k < plan->steps.data[i].sets; k++)
      ends[i + k] = i + plan->steps.data[i].sets - 1;
  for (size_t b = 0; b < buffers; b++)
    if (plan->buffers.data[b].first != FNZI_PLN_NONE)
      plan->buffers.data[b].last = ends[plan->buffers.data[b].last];
  return FNZ_OK;
}
