/* int.h - a size, stride, offset or bound in one word: a number, or an expression over symbols.
 *
 * Numbers lie in (-2**61, 2**61), because no tensor of more elements has memory. Above them are the
 * expressions, by their ids in the set of the pass, and one word that is *wrong*: the result of an
 * operation that failed. Operations on a wrong word are wrong, so a caller checks once, at the end:
 *
 *     fnzi_int stop = fnzi_int_add(ints, start, fnzi_int_mul(ints, count, step));
 *     FNZ_TRY(fnzi_int_check(ctx, ints, stop));
 *
 * A pass over a program without symbols has no set: its `ints` is NULL. */
#ifndef FNZI_INT_H
#define FNZI_INT_H

#include "program/shapes/facts.h"

typedef struct fnzi_int {
  int64_t bits;
} fnzi_int;

/* The expressions of a pass and the facts about them. */
typedef struct fnzi_ints {
  fnzi_facts facts;
  fnz_status status; /* of the first operation that failed, or FNZ_OK */
} fnzi_ints;

#define FNZI_INT_LIMIT ((int64_t)1 << 61)
#define FNZI_INT_FIRST ((int64_t)1 << 62) /* plus an id: an expression */
#define FNZI_INT_WRONG ((fnzi_int){FNZI_INT_FIRST + (FNZI_INT_LIMIT >> 1)}) /* above all ids */

typedef enum fnzi_int_op {
  FNZI_INT_ADD,
  FNZI_INT_SUB,
  FNZI_INT_MUL,
  FNZI_INT_DIV_DOWN,
  FNZI_INT_DIV_UP,
  FNZI_INT_MOD,
  FNZI_INT_MIN,
  FNZI_INT_MAX
} fnzi_int_op;

/* --- Words ------------------------------------------------------------------------------------ */
/* All words are numbers. Their sum with the limit has the two highest bits clear. */
static inline bool fnzi_int_are_numbers(fnzi_int a, fnzi_int b) {
  const uint64_t x = (uint64_t)a.bits + (uint64_t)FNZI_INT_LIMIT,
                 y = (uint64_t)b.bits + (uint64_t)FNZI_INT_LIMIT;
  return (x | y) >> 62 == 0;
}
static inline bool fnzi_int_is_symbolic(fnzi_int a) {
  return !fnzi_int_are_numbers(a, a);
}
static inline bool fnzi_int_is_wrong(fnzi_int a) {
  return a.bits == FNZI_INT_WRONG.bits;
}
/* The word of a number; wrong beyond the limit. */
static inline fnzi_int fnzi_int_of(int64_t n) {
  return n > -FNZI_INT_LIMIT && n < FNZI_INT_LIMIT ? (fnzi_int){n} : FNZI_INT_WRONG;
}
/* The word of an expression, with the calls in it settled. Wrong if there is no memory. */
fnzi_int fnzi_int_of_expr(fnzi_ints *ints, const fnzi_expr *e);
/* The expression of a word that is not wrong. */
FNZ_MUST_CHECK fnz_status fnzi_int_expr(fnzi_ints *ints, fnzi_int a, const fnzi_expr **out);
/* Fails for a wrong word, with the failure of the operation, or with OVERFLOW. */
FNZ_MUST_CHECK fnz_status fnzi_int_check(fnz_context *ctx, const fnzi_ints *ints, fnzi_int a);

/* --- Operations ------------------------------------------------------------------------------- */
/* The operation where a word is no number, or a number beyond the limit is the result. */
fnzi_int fnzi_int_apply(fnzi_ints *ints, fnzi_int_op op, fnzi_int a, fnzi_int b);

static inline fnzi_int fnzi_int_add(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  return fnzi_int_are_numbers(a, b) ? fnzi_int_of(a.bits + b.bits)
                                    : fnzi_int_apply(ints, FNZI_INT_ADD, a, b);
}
static inline fnzi_int fnzi_int_sub(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  return fnzi_int_are_numbers(a, b) ? fnzi_int_of(a.bits - b.bits)
                                    : fnzi_int_apply(ints, FNZI_INT_SUB, a, b);
}
static inline fnzi_int fnzi_int_mul(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  int64_t out;
  if (fnzi_int_are_numbers(a, b))
    return fnzi_mul_i64(a.bits, b.bits, &out) ? fnzi_int_of(out) : FNZI_INT_WRONG;
  return fnzi_int_apply(ints, FNZI_INT_MUL, a, b);
}
/* a / b rounded down, and rounded up. A division by 0 is wrong. */
static inline fnzi_int fnzi_int_div_down(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  if (!fnzi_int_are_numbers(a, b) || b.bits == 0)
    return fnzi_int_apply(ints, FNZI_INT_DIV_DOWN, a, b);
  const bool apart = a.bits % b.bits != 0 && (a.bits < 0) != (b.bits < 0);
  return (fnzi_int){a.bits / b.bits - apart};
}
static inline fnzi_int fnzi_int_div_up(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  if (!fnzi_int_are_numbers(a, b) || b.bits == 0)
    return fnzi_int_apply(ints, FNZI_INT_DIV_UP, a, b);
  const bool apart = a.bits % b.bits != 0 && (a.bits < 0) == (b.bits < 0);
  return (fnzi_int){a.bits / b.bits + apart};
}
/* a - b * (a / b rounded down): it has the sign of b. */
static inline fnzi_int fnzi_int_mod(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  if (!fnzi_int_are_numbers(a, b) || b.bits == 0)
    return fnzi_int_apply(ints, FNZI_INT_MOD, a, b);
  const int64_t rest = a.bits % b.bits;
  return (fnzi_int){rest && (rest < 0) != (b.bits < 0) ? rest + b.bits : rest};
}
static inline fnzi_int fnzi_int_min(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  if (fnzi_int_are_numbers(a, b))
    return a.bits < b.bits ? a : b;
  return fnzi_int_apply(ints, FNZI_INT_MIN, a, b);
}
static inline fnzi_int fnzi_int_max(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  if (fnzi_int_are_numbers(a, b))
    return a.bits > b.bits ? a : b;
  return fnzi_int_apply(ints, FNZI_INT_MAX, a, b);
}

/* --- Questions -------------------------------------------------------------------------------- */
/* The answer where a word is no number; MAYBE if one is wrong, or without memory. */
fnzi_truth fnzi_int_ask(fnzi_ints *ints, fnzi_function relation, fnzi_int a, fnzi_int b);

/* Whether a relation, EQ to GE, holds for all sizes, for none, or is not settled. */
static inline fnzi_truth fnzi_int_compare(fnzi_ints *ints, fnzi_function relation, fnzi_int a,
                                          fnzi_int b) {
  if (!fnzi_int_are_numbers(a, b))
    return fnzi_int_ask(ints, relation, a, b);
  const int64_t x = a.bits, y = b.bits;
  const bool yes = relation == FNZI_FUNCTION_EQ   ? x == y
                   : relation == FNZI_FUNCTION_NE ? x != y
                   : relation == FNZI_FUNCTION_LT ? x < y
                   : relation == FNZI_FUNCTION_LE ? x <= y
                   : relation == FNZI_FUNCTION_GT ? x > y
                                                  : x >= y;
  return yes ? FNZI_YES : FNZI_NO;
}
/* It is proved that both are one number. */
static inline bool fnzi_int_same(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  if (a.bits == b.bits)
    return !fnzi_int_is_wrong(a);
  return !fnzi_int_are_numbers(a, b) && fnzi_int_ask(ints, FNZI_FUNCTION_EQ, a, b) == FNZI_YES;
}
/* It is proved that a is b or more. */
static inline bool fnzi_int_at_least(fnzi_ints *ints, fnzi_int a, fnzi_int b) {
  if (fnzi_int_are_numbers(a, b))
    return a.bits >= b.bits;
  return fnzi_int_ask(ints, FNZI_FUNCTION_GE, a, b) == FNZI_YES;
}

#endif
