/* conditions.c - guards, assertions, ranges and recorded sizes of a program as facts.
 *
 * needs   conditions that hold in every run of the program
 * gives   facts. Equalities come first, so that other facts are about the symbols that are left */
#include "program/shapes/facts.h"
#include "program/shapes/sizes.h"
#include "program/shapes/symbolic_set.h"

enum { MOST_PARTS = 64 }; /* that wait, of one condition; those beyond are no facts */

static fnzi_function opposite(fnzi_function relation) {
  switch (relation) {
  case FNZI_FUNCTION_EQ:
    return FNZI_FUNCTION_NE;
  case FNZI_FUNCTION_NE:
    return FNZI_FUNCTION_EQ;
  case FNZI_FUNCTION_LT:
    return FNZI_FUNCTION_GE;
  case FNZI_FUNCTION_LE:
    return FNZI_FUNCTION_GT;
  case FNZI_FUNCTION_GT:
    return FNZI_FUNCTION_LE;
  default:
    return FNZI_FUNCTION_LT;
  }
}

/* a - b - 1 for whole numbers: a > b. */
static fnz_status add_more(fnzi_size_facts *f, const fnzi_expr *d) {
  const fnzi_expr *one;
  FNZ_TRY(fnzi_expr_number(f->set, 1, 1, &one));
  if (!d->is_whole)
    return fnzi_size_facts_add(f, d);
  FNZ_TRY(fnzi_expr_sub(f->set, d, one, &d));
  return fnzi_size_facts_add(f, d);
}

/* d is not 0: more than 0 if it is not negative. */
static fnz_status add_not_zero(fnzi_size_facts *f, const fnzi_expr *d) {
  const fnzi_expr *zero;
  fnzi_knowledge *k;
  fnzi_truth truth;
  FNZ_TRY(fnzi_expr_number(f->set, 0, 1, &zero));
  FNZ_TRY(fnzi_size_facts_plain(f, d, &d));
  FNZ_TRY(fnzi_size_facts_see(f, d, &k));
  k->is_not_zero = true;
  FNZ_TRY(fnzi_size_facts_compare(f, FNZI_FUNCTION_GE, d, zero, &truth));
  return truth == FNZI_YES ? add_more(f, d) : FNZ_OK;
}

static fnz_status add_relation(fnzi_size_facts *f, fnzi_function relation, const fnzi_expr *a,
                               const fnzi_expr *b) {
  const fnzi_expr *d, *minus;
  FNZ_TRY(fnzi_expr_sub(f->set, a, b, &d));
  FNZ_TRY(fnzi_expr_sub(f->set, b, a, &minus));
  switch (relation) {
  case FNZI_FUNCTION_EQ:
    return fnzi_size_facts_add_zero(f, d);
  case FNZI_FUNCTION_NE:
    FNZ_TRY(add_not_zero(f, d));
    return add_not_zero(f, minus);
  case FNZI_FUNCTION_LT:
    return add_more(f, minus);
  case FNZI_FUNCTION_LE:
    return fnzi_size_facts_add(f, minus);
  case FNZI_FUNCTION_GT:
    return add_more(f, d);
  default:
    return fnzi_size_facts_add(f, d);
  }
}

/* A condition that is to hold, or its opposite. */
typedef struct wanted {
  const fnzi_expr *e;
  bool holds;
} wanted;

fnz_status fnzi_size_facts_add_condition(fnzi_size_facts *f, const fnzi_expr *condition) {
  wanted stack[MOST_PARTS];
  size_t count = 0;
  stack[count++] = (wanted){condition, true};
  while (count) {
    const wanted w = stack[--count];
    const fnzi_function all = w.holds ? FNZI_FUNCTION_AND : FNZI_FUNCTION_OR;
    bool is_relation = w.e->kind == FNZI_EXPR_CALL && w.e->function >= FNZI_FUNCTION_EQ &&
                       w.e->function <= FNZI_FUNCTION_GE && !fnzi_expr_takes_real(w.e);
    if (is_relation) {
      fnz_status status = add_relation(f, w.holds ? w.e->function : opposite(w.e->function),
                                       w.e->parts[0].expr, w.e->parts[1].expr);
      if (status == FNZ_NO_MEMORY)
        return status;
    } else if (w.e->kind == FNZI_EXPR_CALL && w.e->function == FNZI_FUNCTION_NOT) {
      stack[count++] = (wanted){w.e->parts[0].expr, !w.holds};
    } else if (w.e->kind == FNZI_EXPR_CALL && w.e->function == all) {
      for (uint32_t i = 0; i < w.e->count && count < MOST_PARTS; i++)
        stack[count++] = (wanted){w.e->parts[i].expr, w.holds};
    }
  }
  return FNZ_OK;
}

/* --- of a program ----------------------------------------------------------------------------- */
/* Adds the conditions of the program, and that no size of a value of the first graph is negative:
 * every run computes these values. Nodes of a body may not run. */
fnz_status fnzi_size_facts_add_sizes(fnzi_size_facts *f, const fnzi_sizes *s) {
  const fnzi_graph *g = fnzi_graph_main(s->program);
  for (int others = 0; others < 2; others++) /* equalities first */
    for (size_t i = 0; i < s->conditions.count; i++) {
      const fnzi_condition *c = &s->conditions.data[i];
      bool is_equality = c->expr->kind == FNZI_EXPR_CALL && c->expr->function == FNZI_FUNCTION_EQ;
      if (is_equality == (others == 1))
        continue;
      if (!fnzi_expr_is_condition(c->expr))
        FNZ_TRY(fnzi_size_facts_add_range(f, c->expr, c->min, c->max));
      else if (c->min == 1)
        FNZ_TRY(fnzi_size_facts_add_condition(f, c->expr));
    }
  for (size_t i = 0; i < g->values.count; i++) {
    const fnz_geometry *shape = g->values.data[i].geometry;
    for (uint32_t d = 0; shape && shape->symbols && d < shape->rank; d++)
      if (shape->symbols[d] && s->symbols[shape->symbols[d]])
        FNZ_TRY(fnzi_size_facts_add(f, s->symbols[shape->symbols[d]]));
  }
  return FNZ_OK;
}
