/* guards.c - conditions on sizes that a pass cannot prove and asks the caller to keep.
 *
 * needs   sizes of an example, at which a guard has to hold; none is taken on numbers of data
 * gives   a fact, and a guard of the program that is made, with the question that it answers */
#include "program/shapes/ints.h"

static fnz_status add(fnzi_ints *s, fnzi_int a, int64_t number, const char *question) {
  const fnzi_expr *sides[2];
  fnzi_ints_guard guard = {.question = question, .node = s->at};
  FNZ_TRY(fnzi_ints_expr(s, a, &sides[0]));
  FNZ_TRY(fnzi_expr_number(s->set, number, 1, &sides[1]));
  FNZ_TRY(fnzi_expr_call(s->set, FNZI_FUNCTION_NE, sides, 2, &guard.condition));
  FNZI_PUSH(s->set->ctx, &s->guards, guard);
  return fnzi_size_facts_add_condition(&s->facts, guard.condition);
}

bool fnzi_int_require_not(fnzi_ints *s, fnzi_int a, int64_t number, const char *question) {
  int64_t here;
  if (s->may_run || !fnzi_ints_recorded(s, a, &here) || here == number)
    return false;
  const fnz_status status = add(s, a, number, question);
  if (fnzi_is_final(status))
    s->status = status;
  return status == FNZ_OK;
}
