/* check_sets.c - steps that run at once: the same pointwise program over operand sets of their own,
 * in whatever order their elements come. What one of them writes none of the others reads or
 * writes. */
#include "engine/plan/check.h"

#include <stdlib.h>

/* Some bytes that a step of the sets reads or writes. */
typedef struct reach {
  uint32_t memory, step, value;
  bool is_written;
  int64_t low, high;
} reach;

/* How far earlier spans of two steps go, those that go farthest. */
typedef struct far {
  struct {
    uint32_t step;
    int64_t high;
  } of[2];
} far;

typedef struct together {
  fnzi_eng_checker *c;
  const fnzi_eng_step *first; /* of the sets */
  uint32_t step;
  struct {
    reach *data;
    size_t count, capacity;
  } all;
} together;

static const fnzi_node *node_at(const together *t, uint32_t n) {
  return &t->c->p.graph->nodes.data[n];
}

static fnz_status wrong(const together *t, const char *what) {
  return fnzi_eng_check_wrong(t->c, fnzi_eng_result_of(node_at(t, t->first->node)), what);
}

/* --- One program ---------------------------------------------------------------------------------
 */
/* Where a value first comes up in a set: the node, counted from the first one of the set, and the
 * place among its results and then its arguments. */
static uint32_t place_in(const together *t, uint32_t begin, uint32_t end, uint64_t value) {
  for (uint32_t n = begin; n <= end; n++) {
    const fnzi_node *node = node_at(t, n);
    for (uint32_t k = 0; k < node->noutputs + node->nargs; k++) {
      const fnz_arg *arg = k < node->noutputs ? &node->outputs[k] : &node->args[k - node->noutputs];
      if (arg->tag == FNZ_ARG_VALUE && arg->u.value == value)
        return (n - begin) * 64 + k;
    }
  }
  return FNZI_ENG_NONE;
}

static bool same_numbers(const fnz_arg *a, const fnz_arg *b) {
  bool same = a->count == b->count;
  for (uint32_t i = 0; same && i < a->count; i++)
    same = a->u.list[i].tag == FNZ_ARG_INT && b->u.list[i].tag == FNZ_ARG_INT &&
           a->u.list[i].u.i == b->u.list[i].u.i;
  return same;
}

static bool same_operand(const together *t, const fnzi_eng_step *of, const fnz_arg *a,
                         const fnz_arg *b) {
  const fnzi_eng_step *first = t->first;
  switch ((fnz_tag)a->tag) {
  case FNZ_ARG_VALUE:
    return b->tag == FNZ_ARG_VALUE &&
           place_in(t, fnzi_eng_step_begin(first), first->node, a->u.value) ==
               place_in(t, fnzi_eng_step_begin(of), of->node, b->u.value) &&
           t->c->p.graph->values.data[a->u.value].geometry->dtype ==
               t->c->p.graph->values.data[b->u.value].geometry->dtype;
  case FNZ_ARG_LIST:
    return b->tag == FNZ_ARG_LIST && same_numbers(a, b);
  case FNZ_ARG_STRING:
    return b->tag == FNZ_ARG_STRING && strcmp(a->u.s, b->u.s) == 0;
  default:
    return a->tag == b->tag && a->u.i == b->u.i;
  }
}

static bool same_node(const together *t, const fnzi_eng_step *of, const fnzi_node *a,
                      const fnzi_node *b) {
  bool same = a->op == b->op && a->nargs == b->nargs && a->noutputs == b->noutputs;
  for (uint32_t k = 0; same && k < a->nargs; k++)
    same = same_operand(t, of, &a->args[k], &b->args[k]);
  for (uint32_t k = 0; same && k < a->noutputs; k++)
    same = same_operand(t, of, &a->outputs[k], &b->outputs[k]);
  return same;
}

static fnz_status check_program(const together *t, const fnzi_eng_step *s) {
  uint32_t first = fnzi_eng_step_begin(t->first), other = fnzi_eng_step_begin(s);
  bool same = (s->kind == FNZI_ENG_GROUP || (s->kind == FNZI_ENG_CALL && !s->in_place)) &&
              other <= s->node && s->node - other == t->first->node - first &&
              s->node < t->c->p.graph->nodes.count;
  for (uint32_t k = 0; same && first + k <= t->first->node; k++) {
    fnzi_eng_role role;
    fnzi_eng_role_find(t->c->p.ctx, t->c->p.graph, node_at(t, other + k), &role);
    same = role.kind == FNZI_ENG_ROLE_POINT &&
           same_node(t, s, node_at(t, first + k), node_at(t, other + k));
  }
  return same ? FNZ_OK : wrong(t, "steps that run at once are not of one pointwise program");
}

/* --- Bytes ---------------------------------------------------------------------------------------
 */
static fnz_status add_value(together *t, uint32_t value, bool is_written) {
  fnzi_eng_place at = t->c->plan->places[value];
  fnzi_eng_bytes bytes;
  if (at.buffer == FNZI_ENG_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_eng_check_image(t->c, value, at, &bytes));
  for (uint32_t i = 0; i < bytes.count; i++) {
    const reach r = {fnzi_eng_check_memory(t->c, at.buffer),
                     t->step,
                     value,
                     is_written,
                     bytes.spans[i].low,
                     bytes.spans[i].high};
    FNZI_PUSH(t->c->p.ctx, &t->all, r);
  }
  return FNZ_OK;
}

static fnz_status add_read(fnzi_eng_planner *p, uint32_t value, void *user) {
  (void)p;
  return add_value(user, value, false);
}

static fnz_status add_written(fnzi_eng_planner *p, uint32_t value, void *user) {
  (void)p;
  return add_value(user, value, true);
}

static int compare(const void *a, const void *b) {
  const reach *x = a, *y = b;
  if (x->memory != y->memory)
    return x->memory < y->memory ? -1 : 1;
  return x->low < y->low ? -1 : x->low > y->low;
}

/* A span of another step goes beyond the start of this one. */
static bool goes_into(const far *f, const reach *r) {
  return (f->of[0].step != r->step && f->of[0].high > r->low) ||
         (f->of[1].step != r->step && f->of[1].high > r->low);
}

static void extend(far *f, const reach *r) {
  uint32_t at = f->of[0].step == r->step ? 0 : 1;
  if (f->of[at].step != r->step && f->of[at].high >= r->high)
    return;
  f->of[at].high = f->of[at].step == r->step && f->of[at].high > r->high ? f->of[at].high : r->high;
  f->of[at].step = r->step;
  if (f->of[1].high > f->of[0].high) {
    far turned = {{f->of[1], f->of[0]}};
    *f = turned;
  }
}

static fnz_status check_spans(together *t) {
  const far none = {{{FNZI_ENG_NONE, INT64_MIN}, {FNZI_ENG_NONE, INT64_MIN}}};
  far all = none, written = none;
  if (t->all.count)
    qsort(t->all.data, t->all.count, sizeof *t->all.data, compare);
  for (size_t i = 0; i < t->all.count; i++) {
    const reach *r = &t->all.data[i];
    if (i > 0 && t->all.data[i - 1].memory != r->memory)
      all = written = none;
    if (goes_into(&written, r) || (r->is_written && goes_into(&all, r)))
      return fnzi_eng_check_wrong(t->c, r->value,
                                  "of steps that run at once, one writes what another one uses");
    extend(&all, r);
    if (r->is_written)
      extend(&written, r);
  }
  return FNZ_OK;
}

/* --- The whole -----------------------------------------------------------------------------------
 */
static fnz_status check(together *t) {
  uint32_t count = t->first->sets;
  if (count > t->c->plan->steps.count - t->c->step)
    return wrong(t, "more steps run at once than there are");
  for (t->step = t->c->step; t->step < t->c->step + count; t->step++) {
    const fnzi_eng_step *s = &t->c->plan->steps.data[t->step];
    FNZ_TRY(check_program(t, s));
    if (t->step > t->c->step && s->sets != 0)
      return wrong(t, "a step runs at once with two others");
    for (uint32_t n = fnzi_eng_step_begin(s); n <= s->node; n++) {
      const fnzi_node *node = node_at(t, n);
      FNZ_TRY(fnzi_eng_each_value(&t->c->p, node->args, node->nargs, add_read, t));
      FNZ_TRY(fnzi_eng_each_value(&t->c->p, node->outputs, node->noutputs, add_written, t));
    }
  }
  return check_spans(t);
}

fnz_status fnzi_eng_check_sets(fnzi_eng_checker *c, const fnzi_eng_step *s) {
  together t = {.c = c, .first = s};
  fnz_status status = s->sets > 1 ? check(&t) : FNZ_OK;
  FNZI_VEC_FREE(c->p.ctx, &t.all);
  return status;
}
