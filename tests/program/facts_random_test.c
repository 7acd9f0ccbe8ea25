/* checks: 1
 * facts_random_test.c - answers about random expressions, compared with all small numbers.
 *
 * A trial has up to four symbols, a pool of expressions over them, and facts. Each expression is
 * computed here, by its tree, at every point of a small box that keeps to the facts. Then each pair
 * of the pool is a question: YES must hold at all of these points and NO at none.
 *
 * FNZ_QUESTIONS=100000000 asks as many, FNZ_SEED=7 begins elsewhere. */
#include "program/shapes/facts.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

enum { SYMBOLS = 4, POOL = 14, POINTS = 324, LARGEST = 100000, QUESTIONS = 250000 };
static const int64_t NO_VALUE = INT64_MIN; /* a division by zero */

typedef struct member {
  const fnzi_expr *e;
  int64_t at[POINTS];
} member;

typedef struct tally {
  uint64_t questions, settled, missed; /* missed: MAYBE, but the same answer at all points */
} tally;

typedef struct trial {
  fnz_context *ctx;
  fnzi_exprs set;
  fnzi_size_facts facts;
  uint64_t state;
  size_t npoints, pool;
  bool kept[POINTS]; /* the point keeps to the facts */
  bool bounded;      /* the box is all there is: its ends are facts */
  member members[POOL];
  char told[2000]; /* the facts, for messages */
} trial;

static uint64_t draw(trial *t, uint64_t below) {
  t->state ^= t->state << 13;
  t->state ^= t->state >> 7;
  t->state ^= t->state << 17;
  return t->state % below;
}

static const char *text_of(trial *t, const fnzi_expr *e) {
  const char *text;
  OK(t->ctx, fnzi_expr_text(&t->set, e, &text));
  return text;
}

static void tell(trial *t, const char *how, const fnzi_expr *e) {
  size_t size = strlen(t->told);
  snprintf(t->told + size, sizeof t->told - size, "%s %.200s; ", how, text_of(t, e));
}

/* --- values ----------------------------------------------------------------------------------- */
static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

typedef enum op { ADD, SUB, MUL, DIV, MOD, MIN, MAX, OPS } op;

static int64_t apply(op o, int64_t a, int64_t b) {
  if (a == NO_VALUE || b == NO_VALUE || ((o == DIV || o == MOD) && b == 0))
    return NO_VALUE;
  switch (o) {
  case ADD:
    return a + b;
  case SUB:
    return a - b;
  case MUL:
    return a * b;
  case DIV:
    return floor_of(a, b);
  case MOD:
    return a - b * floor_of(a, b);
  case MIN:
    return a < b ? a : b;
  default:
    return a > b ? a : b;
  }
}

static bool holds(fnzi_function relation, int64_t a, int64_t b) {
  switch (relation) {
  case FNZI_FUNCTION_EQ:
    return a == b;
  case FNZI_FUNCTION_NE:
    return a != b;
  case FNZI_FUNCTION_LT:
    return a < b;
  case FNZI_FUNCTION_LE:
    return a <= b;
  case FNZI_FUNCTION_GT:
    return a > b;
  default:
    return a >= b;
  }
}

/* --- a pool of expressions -------------------------------------------------------------------- */
static const fnzi_function functions[] = {[DIV] = FNZI_FUNCTION_FLOOR_DIV,
                                          [MOD] = FNZI_FUNCTION_MOD,
                                          [MIN] = FNZI_FUNCTION_MIN,
                                          [MAX] = FNZI_FUNCTION_MAX};

static void make(trial *t, op o, const member *a, const member *b, const fnzi_expr **out) {
  const fnzi_expr *args[2] = {a->e, b->e};
  if (o == ADD)
    OK(t->ctx, fnzi_expr_add(&t->set, a->e, b->e, out));
  else if (o == SUB)
    OK(t->ctx, fnzi_expr_sub(&t->set, a->e, b->e, out));
  else if (o == MUL)
    OK(t->ctx, fnzi_expr_mul(&t->set, a->e, b->e, out));
  else if (draw(t, 3) == 0) /* as a caller that has facts makes it */
    OK(t->ctx, fnzi_size_facts_call(&t->facts, functions[o], a->e, b->e, out));
  else
    OK(t->ctx, fnzi_expr_call(&t->set, functions[o], args, 2, out));
}

static void add_number(trial *t, int64_t n) {
  member *m = &t->members[t->pool++];
  OK(t->ctx, fnzi_expr_number(&t->set, n, 1, &m->e));
  for (size_t i = 0; i < t->npoints; i++)
    m->at[i] = n;
}

/* Leaves the pool as it is if the result is large somewhere, or has no value anywhere. */
static void add_member(trial *t) {
  static const op often[] = {ADD, ADD, SUB, SUB, MUL, DIV, MOD, MIN, MAX};
  const op o = often[draw(t, sizeof often / sizeof *often)];
  const member *a = &t->members[draw(t, t->pool)], *b = &t->members[draw(t, t->pool)];
  member *m = &t->members[t->pool];
  bool any = false;
  if ((o == DIV || o == MOD) && b->e->kind == FNZI_EXPR_NUMBER && b->e->num == 0)
    return;
  for (size_t i = 0; i < t->npoints; i++) {
    m->at[i] = apply(o, a->at[i], b->at[i]);
    any = any || m->at[i] != NO_VALUE;
    if (m->at[i] != NO_VALUE && (m->at[i] > LARGEST || m->at[i] < -LARGEST))
      return;
  }
  if (!any)
    return;
  make(t, o, a, b, &m->e);
  t->pool++;
}

/* Symbol k runs through `sides` numbers from `least` on. */
static void add_symbol(trial *t, size_t k, size_t count) {
  static const size_t sides[] = {12, 10, 6, 4};
  const size_t side = sides[count - 1];
  const int64_t least = draw(t, 3) == 0 ? -(int64_t)draw(t, 4) : (int64_t)draw(t, 3);
  char name[8];
  member *m = &t->members[t->pool++];
  snprintf(name, sizeof name, "s%zu", k);
  OK(t->ctx, fnzi_expr_symbol(&t->set, name, strlen(name), &m->e));
  size_t below = 1, all = 1;
  for (size_t i = 0; i < count; i++) {
    below *= i < k ? side : 1;
    all *= side;
  }
  t->npoints = all;
  for (size_t i = 0; i < all; i++)
    m->at[i] = least + (int64_t)(i / below % side);
  OK(t->ctx, fnzi_size_facts_add_range(&t->facts, m->e, least,
                                       t->bounded ? least + (int64_t)side - 1 : INT64_MAX));
  tell(t, t->bounded ? "all of" : "from its least on", m->e);
}

/* --- facts ------------------------------------------------------------------------------------ */
typedef struct fact {
  const member *a, *b;
  fnzi_function relation;
  int64_t divisor; /* 0: a and b are compared; else Mod(a, divisor) is, with 0 */
  bool denies;     /* the condition is that the opposite does not hold */
} fact;

static bool keeps(const fact *w, size_t i) {
  const int64_t a = w->a->at[i], b = w->b->at[i];
  if (a == NO_VALUE || b == NO_VALUE)
    return false;
  if (w->divisor)
    return holds(w->relation, apply(MOD, a, w->divisor), 0);
  return holds(w->relation, a, b) != w->denies;
}

static void condition_of(trial *t, const fact *w, const fnzi_expr **out) {
  const fnzi_expr *args[2] = {w->a->e, w->b->e};
  if (w->divisor) {
    OK(t->ctx, fnzi_expr_number(&t->set, w->divisor, 1, &args[1]));
    OK(t->ctx, fnzi_expr_call(&t->set, FNZI_FUNCTION_MOD, args, 2, &args[0]));
    OK(t->ctx, fnzi_expr_number(&t->set, 0, 1, &args[1]));
  }
  OK(t->ctx, fnzi_expr_call(&t->set, w->relation, args, 2, out));
  if (w->denies)
    OK(t->ctx, fnzi_expr_call(&t->set, FNZI_FUNCTION_NOT, out, 1, out));
}

/* Adds one or two facts at once that leave some points, if such come up. */
static void add_fact(trial *t) {
  fact facts[2];
  const fnzi_expr *conditions[2];
  const size_t count = 1 + !draw(t, 4);
  size_t before = 0, left = 0;
  for (size_t k = 0; k < count; k++)
    facts[k] = (fact){&t->members[draw(t, t->pool)], &t->members[draw(t, t->pool)],
                      (fnzi_function)(FNZI_FUNCTION_EQ + draw(t, 6)),
                      draw(t, 4) ? 0 : 2 + (int64_t)draw(t, 5), draw(t, 3) == 0};
  for (size_t k = 0; k < count; k++)
    if (facts[k].divisor) {
      facts[k].relation = FNZI_FUNCTION_EQ;
      facts[k].denies = false;
    }
  for (size_t i = 0; i < t->npoints; i++) {
    before += t->kept[i];
    left += t->kept[i] && keeps(&facts[0], i) && keeps(&facts[count - 1], i);
  }
  if (left == before || left * 8 < before || left < 3)
    return;
  for (size_t k = 0; k < count; k++)
    condition_of(t, &facts[k], &conditions[k]);
  OK(t->ctx, fnzi_expr_call(&t->set, FNZI_FUNCTION_AND, conditions, count, &conditions[0]));
  if (conditions[0]->kind == FNZI_EXPR_NUMBER) /* its sides had no value somewhere */
    return;
  OK(t->ctx, fnzi_size_facts_add_condition(&t->facts, conditions[0]));
  tell(t, "", conditions[0]);
  for (size_t i = 0; i < t->npoints; i++)
    t->kept[i] = t->kept[i] && keeps(&facts[0], i) && keeps(&facts[count - 1], i);
}

/* --- questions -------------------------------------------------------------------------------- */
static bool counts(const trial *t, size_t i, const member *a, const member *b) {
  return t->kept[i] && a->at[i] != NO_VALUE && b->at[i] != NO_VALUE;
}

static void ask(trial *t, const member *a, const member *b, fnzi_function relation, tally *sum) {
  fnzi_truth answer;
  OK(t->ctx, fnzi_size_facts_compare(&t->facts, relation, a->e, b->e, &answer));
  size_t yes = 0, no = 0;
  for (size_t i = 0; i < t->npoints; i++)
    if (counts(t, i, a, b)) {
      yes += holds(relation, a->at[i], b->at[i]);
      no += !holds(relation, a->at[i], b->at[i]);
    }
  const bool wrong = (answer == FNZI_YES && no) || (answer == FNZI_NO && yes);
  ck_assert_msg(!wrong, "relation %d of %s and %s is %d, but %zu points hold and %zu do not: %s",
                relation - FNZI_FUNCTION_EQ, text_of(t, a->e), text_of(t, b->e), answer, yes, no,
                t->told);
  sum->questions++;
  sum->settled += answer != FNZI_MAYBE;
  sum->missed += answer == FNZI_MAYBE && t->bounded && (yes == 0) != (no == 0);
}

/* Checks the interval and the divisor of an expression, and whether another one divides it. */
static void check_member(trial *t, const member *m, const member *n) {
  fnzi_knowledge *k;
  bool divides;
  OK(t->ctx, fnzi_size_facts_divides(&t->facts, n->e, m->e, &divides));
  OK(t->ctx, fnzi_size_facts_see(&t->facts, m->e, &k));
  for (size_t i = 0; i < t->npoints; i++) {
    const int64_t x = m->at[i];
    if (!t->kept[i] || x == NO_VALUE)
      continue;
    ck_assert_msg(x >= k->bounds.min && x <= k->bounds.max, "%s is %lld, not from %lld to %lld: %s",
                  text_of(t, m->e), (long long)x, (long long)k->bounds.min,
                  (long long)k->bounds.max, t->told);
    ck_assert_msg(k->divisor ? x % k->divisor == 0 : x == 0, "%lld does not divide %s: %s",
                  (long long)k->divisor, text_of(t, m->e), t->told);
    ck_assert_msg(!divides || n->at[i] == NO_VALUE || n->at[i] == 0 || x % n->at[i] == 0,
                  "%s does not divide %s: %s", text_of(t, n->e), text_of(t, m->e), t->told);
  }
}

/* An expression with settled calls, or without replaced symbols, has the same values. */
static void check_values(trial *t, member *m, const fnzi_expr *e, const char *what,
                         const member *symbols, size_t count) {
  fnzi_point point;
  fnzi_point_init(&point, &t->set);
  for (size_t i = draw(t, 4); i < t->npoints; i += 1 + draw(t, 8)) {
    int64_t value;
    bool known;
    if (!t->kept[i] || m->at[i] == NO_VALUE)
      continue;
    for (size_t k = 0; k < count; k++)
      OK(t->ctx, fnzi_point_set(&point, symbols[k].e, symbols[k].at[i]));
    OK(t->ctx, fnzi_point_int(&point, e, &known, &value));
    ck_assert_msg(known && value == m->at[i], "%s is %s %s, which is another number: %s",
                  text_of(t, m->e), what, text_of(t, e), t->told);
  }
  fnzi_point_free(&point);
}

/* A call that the facts may make simpler has the same values. */
static void check_call(trial *t, const member *a, const member *b, size_t symbols) {
  const op o = (op)(DIV + draw(t, OPS - DIV));
  const fnzi_expr *e;
  member call;
  if ((o == DIV || o == MOD) && b->e->kind == FNZI_EXPR_NUMBER && b->e->num == 0)
    return;
  for (size_t i = 0; i < t->npoints; i++)
    call.at[i] = apply(o, a->at[i], b->at[i]);
  OK(t->ctx, fnzi_expr_call(&t->set, functions[o], (const fnzi_expr *[]){a->e, b->e}, 2, &call.e));
  OK(t->ctx, fnzi_size_facts_call(&t->facts, functions[o], a->e, b->e, &e));
  check_values(t, &call, e, "settled", t->members, symbols);
}

static void ask_all(trial *t, size_t symbols, tally *sum) {
  for (size_t i = 0; i < t->pool; i++) {
    const fnzi_expr *e;
    for (size_t k = 0; k < t->pool; k++)
      ask(t, &t->members[i], &t->members[k], (fnzi_function)(FNZI_FUNCTION_EQ + draw(t, 6)), sum);
    check_member(t, &t->members[i], &t->members[draw(t, t->pool)]);
    if (draw(t, 8))
      continue;
    OK(t->ctx, fnzi_size_facts_plain(&t->facts, t->members[i].e, &e));
    check_values(t, &t->members[i], e, "without replaced symbols", t->members, symbols);
    check_call(t, &t->members[i], &t->members[draw(t, t->pool)], symbols);
  }
}

static void run_trial(trial *t, uint64_t seed, tally *sum) {
  const size_t count = 1 + seed % SYMBOLS;
  t->state = seed * 0x9e3779b97f4a7c15u + 1;
  t->pool = 0;
  t->told[0] = 0;
  OK(NULL, fnz_context_create(NULL, &t->ctx));
  fnzi_exprs_init(&t->set, t->ctx);
  fnzi_size_facts_init(&t->facts, &t->set);
  t->bounded = draw(t, 2);
  for (size_t k = 0; k < count; k++)
    add_symbol(t, k, count);
  for (size_t i = 0; i < t->npoints; i++)
    t->kept[i] = true;
  add_number(t, (int64_t)draw(t, 3));
  add_number(t, 2 + (int64_t)draw(t, 4));
  for (size_t tries = 0; t->pool < POOL && tries < 3 * POOL; tries++)
    add_member(t);
  for (size_t round = 0; round < 3; round++) { /* new facts behind questions */
    for (uint64_t k = draw(t, 3); k > 0; k--)
      add_fact(t);
    ask_all(t, count, sum);
  }
  fnzi_size_facts_free(&t->facts);
  fnzi_exprs_free(&t->set);
  fnz_context_destroy(t->ctx);
}

static uint64_t number_in(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(answers_hold_at_all_numbers) {
  static trial t;
  tally sum = {0};
  const uint64_t most = number_in("FNZ_QUESTIONS", QUESTIONS);
  for (uint64_t seed = number_in("FNZ_SEED", 0); sum.questions < most; seed++)
    run_trial(&t, seed, &sum);
  if (getenv("FNZ_QUESTIONS"))
    printf("%llu questions, %llu settled; of those in a box %llu more are settled at all numbers\n",
           (unsigned long long)sum.questions, (unsigned long long)sum.settled,
           (unsigned long long)sum.missed);
  ck_assert_uint_gt(sum.settled * 5, sum.questions * 2);
  ck_assert_uint_lt(sum.missed * 8, sum.questions);
}
END_TEST

RUN_SUITE("facts_random", answers_hold_at_all_numbers)
