/* int.c - operations and questions on sizes that are expressions.
 *
 * needs   words of one set
 * gives   the word of the result; the wrong word, and the status in the set, for a failure */
#include "views/int.h"

static fnzi_int fail(fnzi_ints *ints, fnz_status status) {
  if (ints && ints->status == FNZ_OK)
    ints->status = status;
  return FNZI_INT_WRONG;
}

/* The word of a settled expression. A fraction is no size. */
static fnzi_int word_of(const fnzi_expr *e) {
  if (e->kind != FNZI_EXPR_NUMBER)
    return (fnzi_int){FNZI_INT_FIRST + (int64_t)e->id};
  return e->den == 1 ? fnzi_int_of(e->num) : FNZI_INT_WRONG;
}

fnzi_int fnzi_int_of_expr(fnzi_ints *ints, const fnzi_expr *e) {
  fnz_status status = fnzi_facts_settle(&ints->facts, e, &e);
  return status == FNZ_OK ? word_of(e) : fail(ints, status);
}

fnz_status fnzi_int_expr(fnzi_ints *ints, fnzi_int a, const fnzi_expr **out) {
  if (!fnzi_int_is_symbolic(a))
    return fnzi_expr_number(ints->facts.set, a.bits, 1, out);
  *out = ints->facts.set->all.data[a.bits - FNZI_INT_FIRST];
  return FNZ_OK;
}

fnz_status fnzi_int_check(fnz_context *ctx, const fnzi_ints *ints, fnzi_int a) {
  if (!fnzi_int_is_wrong(a))
    return FNZ_OK;
  if (ints && ints->status != FNZ_OK)
    return ints->status;
  return fnzi_fail(
      ctx, FNZ_CLASS_OVERFLOW, NULL,
      "a size, stride or offset leaves 61 bits, or is divided by 0; use smaller sizes");
}

/* -(-a // b) */
static fnz_status div_up(fnzi_facts *f, const fnzi_expr *a, const fnzi_expr *b,
                         const fnzi_expr **out) {
  FNZ_TRY(fnzi_expr_scale(f->set, a, -1, 1, &a));
  FNZ_TRY(fnzi_facts_call(f, FNZI_FUNCTION_FLOOR_DIV, a, b, out));
  return fnzi_expr_scale(f->set, *out, -1, 1, out);
}

static fnz_status apply(fnzi_ints *ints, fnzi_int_op op, fnzi_int x, fnzi_int y,
                        const fnzi_expr **out) {
  fnzi_facts *f = &ints->facts;
  const fnzi_expr *a, *b;
  FNZ_TRY(fnzi_int_expr(ints, x, &a));
  FNZ_TRY(fnzi_int_expr(ints, y, &b));
  switch (op) {
  case FNZI_INT_ADD:
    return fnzi_expr_add(f->set, a, b, out);
  case FNZI_INT_SUB:
    return fnzi_expr_sub(f->set, a, b, out);
  case FNZI_INT_MUL:
    return fnzi_expr_mul(f->set, a, b, out);
  case FNZI_INT_DIV_DOWN:
    return fnzi_facts_call(f, FNZI_FUNCTION_FLOOR_DIV, a, b, out);
  case FNZI_INT_DIV_UP:
    return div_up(f, a, b, out);
  case FNZI_INT_MOD:
    return fnzi_facts_call(f, FNZI_FUNCTION_MOD, a, b, out);
  case FNZI_INT_MIN:
    return fnzi_facts_call(f, FNZI_FUNCTION_MIN, a, b, out);
  case FNZI_INT_MAX:
    return fnzi_facts_call(f, FNZI_FUNCTION_MAX, a, b, out);
  }
  return FNZ_INTERNAL;
}

fnzi_int fnzi_int_apply(fnzi_ints *ints, fnzi_int_op op, fnzi_int a, fnzi_int b) {
  const fnzi_expr *e = NULL;
  if (!ints || fnzi_int_is_wrong(a) || fnzi_int_is_wrong(b))
    return FNZI_INT_WRONG;
  fnz_status status = apply(ints, op, a, b, &e);
  return status == FNZ_OK ? word_of(e) : fail(ints, status);
}

fnzi_truth fnzi_int_ask(fnzi_ints *ints, fnzi_function relation, fnzi_int x, fnzi_int y) {
  const fnzi_expr *a, *b;
  fnzi_truth out = FNZI_MAYBE;
  if (!ints || fnzi_int_is_wrong(x) || fnzi_int_is_wrong(y))
    return FNZI_MAYBE;
  fnz_status status = fnzi_int_expr(ints, x, &a);
  if (status == FNZ_OK)
    status = fnzi_int_expr(ints, y, &b);
  if (status == FNZ_OK)
    status = fnzi_facts_compare(&ints->facts, relation, a, b, &out);
  if (status != FNZ_OK)
    fail(ints, status);
  return status == FNZ_OK ? out : FNZI_MAYBE;
}
