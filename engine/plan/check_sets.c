/* check_sets.c - proves that steps that run at once are one pointwise program over different
 * operands, whose elements may come in any order, and that no step reads or writes a byte that
 * another step writes. */
#include "engine/plan/check.h"

#include <stdlib.h>

/* Some bytes that a step of the sets reads or writes. */
typedef struct reach {
  uint32_t memory, step, value;
  bool is_written;
  int64_t low, high;
} reach;

typedef struct reaches {
  reach *data;
  size_t count, capacity;
} reaches;

/* The two steps whose earlier spans end last, and their ends. */
typedef struct far {
  struct {
    uint32_t step;
    int64_t high;
  } two[2];
} far;

typedef struct together {
  fnzi_pln_checker *c;
  const fnzi_pln_step *first; /* of the sets */
  uint32_t step, values;      /* of the set that is looked at: values that have come up */
  size_t index;               /* in the pattern */
  struct {
    uint32_t *data;
    size_t count, capacity;
  } pattern;            /* of the first set: operand by operand, which of its values that is */
  reaches all, several; /* several: those in memories that more than one step uses */
} together;

static const fnzi_node *check_sets_node_at(const together *t, uint32_t n) {
  return &t->c->p.graph->nodes.data[n];
}

static fnz_status check_sets_wrong(const together *t, const char *what) {
  return fnzi_pln_check_wrong(t->c, fnzi_pln_result_of(check_sets_node_at(t, t->first->last)),
                              what);
}

/* --- Bytes ------------------------------------------------------------------------------------ */
static fnz_status add_value(together *t, uint32_t value, bool is_written) {
  fnzi_pln_checker *c = t->c;
  fnzi_pln_location location = c->plan->locations[value];
  fnzi_pln_bytes bytes;
  if (location.buffer == FNZI_PLN_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_check_image(c, value, location, &bytes));
  uint32_t memory = fnzi_pln_check_memory(c, location.buffer);
  fnzi_pln_check_user *user = &c->users[memory];
  if (user->sets != c->step + 1)
    *user = (fnzi_pln_check_user){c->step + 1, t->step, false};
  user->is_shared = user->is_shared || user->step != t->step;
  for (uint32_t i = 0; i < bytes.count; i++) {
    const reach r = {memory, t->step, value, is_written, bytes.spans[i].low, bytes.spans[i].high};
    FNZI_PUSH(c->p.ctx, &t->all, r);
  }
  return FNZ_OK;
}

/* --- One program ------------------------------------------------------------------------------ */
/* Numbers the values of a set in order of appearance. A value that appears for the first time is
 * read or written. */
static fnz_status check_sets_number_of(together *t, uint32_t value, bool is_result, uint32_t *out) {
  fnzi_pln_checker *c = t->c;
  bool is_new = c->seen[value] != t->step + 1;
  if (is_new) {
    c->seen[value] = t->step + 1;
    c->ordinals[value] = t->values++;
  }
  *out = c->ordinals[value];
  return is_new || is_result ? add_value(t, value, is_result) : FNZ_OK;
}

static fnz_dtype dtype_of(const together *t, const fnz_arg *arg) {
  const fnz_geometry *g = t->c->p.graph->values.data[arg->u.value].geometry;
  return g ? g->dtype : FNZ_DTYPE_COUNT;
}

static fnz_status same_operand(together *t, const fnz_arg *a, const fnz_arg *b, bool is_result,
                               bool *same) {
  const fnzi_value *values = t->c->p.graph->values.data;
  *same = a->tag == b->tag;
  switch ((fnz_tag)b->tag) {
  case FNZ_ARG_VALUE:
    *same = *same && dtype_of(t, a) == dtype_of(t, b) && dtype_of(t, b) != FNZ_DTYPE_COUNT;
    if (!*same)
      return FNZ_OK;
    /* Checks that each set uses its own value k wherever the first set uses its value k. */
    uint32_t number;
    FNZ_TRY(check_sets_number_of(t, (uint32_t)b->u.value, is_result, &number));
    if (t->step == t->c->step)
      FNZI_PUSH(t->c->p.ctx, &t->pattern, number);
    *same = t->index < t->pattern.count && t->pattern.data[t->index] == number;
    t->index++;
    return FNZ_OK;
  case FNZ_ARG_SYMBOL: /* an operand that is not in memory, of the required kind */
    *same = *same && values[a->u.value].number == values[b->u.value].number &&
            values[b->u.value].number != FNZ_ARG_DEFAULT;
    return FNZ_OK;
  case FNZ_ARG_LIST: /* of numbers */
    *same = *same && a->count == b->count;
    for (uint32_t i = 0; *same && i < a->count; i++)
      *same = a->u.list[i].tag == FNZ_ARG_INT && b->u.list[i].tag == FNZ_ARG_INT &&
              a->u.list[i].u.i == b->u.list[i].u.i;
    return FNZ_OK;
  case FNZ_ARG_STRING:
    *same = *same && strcmp(a->u.s, b->u.s) == 0;
    return FNZ_OK;
  default:
    *same = *same && a->u.i == b->u.i;
    return FNZ_OK;
  }
}

/* Sets *out if the node is computed element by element. A call may be of a kernel that refuses
 * elements, or takes other types than tiles do. */
static fnz_status is_elementwise(together *t, const fnzi_pln_step *s, const fnzi_node *node,
                                 bool *out) {
  const fnzi_pln_fact *means;
  fnzi_pln_role role;
  if (s->kind == FNZI_PLN_CALL) {
    FNZ_TRY(fnzi_pln_role_find(t->c->p.ctx, t->c->p.graph, node, &role));
    *out = s->is_point && role.kind == FNZI_PLN_ROLE_POINT;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_pln_fact_find(&t->c->p, node->op, &means));
  *out = fnzi_pln_node_access(&t->c->p, node, means) == FNZI_PLN_ACCESS_POINT && !means->elements;
  return FNZ_OK;
}

static fnz_status check_sets_program(together *t, const fnzi_pln_step *s) {
  uint32_t first = t->first->first, other = s->first;
  bool same = (s->kind == FNZI_PLN_GROUP || (s->kind == FNZI_PLN_CALL && !s->in_place)) &&
              other <= s->last && s->last - other == t->first->last - first &&
              s->last < t->c->p.graph->nodes.count;
  t->values = 0;
  t->index = 0;
  for (uint32_t n = 0; same && first + n <= t->first->last; n++) {
    const fnzi_node *a = check_sets_node_at(t, first + n), *b = check_sets_node_at(t, other + n);
    FNZ_TRY(is_elementwise(t, s, b, &same));
    same = same && a->op == b->op && a->nargs == b->nargs && a->noutputs == b->noutputs;
    for (uint32_t k = 0; same && k < a->noutputs; k++)
      FNZ_TRY(same_operand(t, &a->outputs[k], &b->outputs[k], true, &same));
    for (uint32_t k = 0; same && k < a->nargs; k++)
      FNZ_TRY(same_operand(t, &a->args[k], &b->args[k], false, &same));
  }
  return same ? FNZ_OK
              : check_sets_wrong(t, "steps that run at once are not of one pointwise program");
}

/* --- Apart ------------------------------------------------------------------------------------ */
static int compare(const void *a, const void *b) {
  const reach *x = a, *y = b;
  if (x->memory != y->memory)
    return x->memory < y->memory ? -1 : 1;
  return x->low < y->low ? -1 : x->low > y->low;
}

/* Says that an earlier span of another step ends after the start of `r`. */
static bool check_sets_is_within(const far *f, const reach *r) {
  return (f->two[0].step != r->step && f->two[0].high > r->low) ||
         (f->two[1].step != r->step && f->two[1].high > r->low);
}

static void extend(far *f, const reach *r) {
  uint32_t at = f->two[0].step == r->step ? 0 : 1;
  if (f->two[at].step != r->step && f->two[at].high >= r->high)
    return;
  f->two[at].high =
      f->two[at].step == r->step && f->two[at].high > r->high ? f->two[at].high : r->high;
  f->two[at].step = r->step;
  if (f->two[1].high > f->two[0].high) {
    far swapped = {{f->two[1], f->two[0]}};
    *f = swapped;
  }
}

/* --- The whole -------------------------------------------------------------------------------- */
static fnz_status check_sets(together *t) {
  uint32_t count = t->first->sets;
  if (count > t->c->plan->steps.count - t->c->step)
    return check_sets_wrong(t, "more steps run at once than there are");
  for (t->step = t->c->step; t->step < t->c->step + count; t->step++) {
    const fnzi_pln_step *s = &t->c->plan->steps.data[t->step];
    FNZ_TRY(check_sets_program(t, s));
    if (t->step > t->c->step && s->sets != 0)
      return check_sets_wrong(t, "a step runs at once with two others");
  }
  for (size_t i = 0; i < t->all.count; i++) /* memory that only one step uses cannot overlap */
    if (t->c->users[t->all.data[i].memory].is_shared)
      FNZI_PUSH(t->c->p.ctx, &t->several, t->all.data[i]);
  const far none = {{{FNZI_PLN_NONE, INT64_MIN}, {FNZI_PLN_NONE, INT64_MIN}}};
  far all = none, written = none;
  const reaches *of = &t->several;
  if (of->count)
    qsort(of->data, of->count, sizeof *of->data, compare);
  for (size_t i = 0; i < of->count; i++) {
    const reach *r = &of->data[i];
    if (i > 0 && of->data[i - 1].memory != r->memory)
      all = written = none;
    if (check_sets_is_within(&written, r) || (r->is_written && check_sets_is_within(&all, r)))
      return fnzi_pln_check_wrong(t->c, r->value,
                                  "of steps that run at once, one writes what another one uses");
    extend(&all, r);
    if (r->is_written)
      extend(&written, r);
  }
  return FNZ_OK;
}

fnz_status fnzi_pln_check_sets(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  together t = {.c = c, .first = s};
  fnz_status status = s->sets > 1 ? check_sets(&t) : FNZ_OK;
  FNZI_VEC_FREE(c->p.ctx, &t.pattern);
  FNZI_VEC_FREE(c->p.ctx, &t.all);
  FNZI_VEC_FREE(c->p.ctx, &t.several);
  return status;
}
