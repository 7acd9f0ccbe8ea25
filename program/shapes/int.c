/* int.c - operations on expressions, and on numbers that leave 61 bits.
 *
 * needs   words of one set
 * keeps   the set's canonical forms: words of equal expressions are equal
 * gives   a word; FNZI_INT_NONE where a number, or an expression, leaves what has one */
#include "program/shapes/ints.h"

#include <stdio.h>

/* An expression that is one number by its interval is equal to it: 2*s0 is 6, and so s0 is 3. */
static fnz_status settle(fnzi_ints *s, const fnzi_expr *e) {
  const fnzi_expr *rest;
  fnzi_knowledge *known;
  FNZ_TRY(fnzi_size_facts_plain(&s->facts, e, &rest));
  FNZ_TRY(fnzi_size_facts_see(&s->facts, e, &known));
  const int64_t only = known->bounds.min;
  if (rest->kind == FNZI_EXPR_NUMBER || only != known->bounds.max || only == INT64_MIN)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_number(s->set, -only, 1, &rest));
  FNZ_TRY(fnzi_expr_add(s->set, e, rest, &rest));
  return fnzi_size_facts_add_zero(&s->facts, rest);
}

fnz_status fnzi_ints_settle_symbol(fnzi_ints *s, const fnzi_expr *symbol) {
  const fnzi_expr *rest;
  if (!fnzi_is_data_symbol(symbol))
    FNZ_TRY(settle(s, symbol));
  FNZ_TRY(fnzi_size_facts_plain(&s->facts, symbol, &rest));
  s->has_settled = s->has_settled || rest->kind == FNZI_EXPR_NUMBER;
  return FNZ_OK;
}

fnz_status fnzi_ints_open(fnzi_ints *s, fnzi_sizes *sizes, fnzi_point *recorded) {
  *s = (fnzi_ints){
      .sizes = sizes, .set = &sizes->set, .recorded = recorded, .at = {0, FNZI_NO_NODE}};
  fnzi_arena_init(&s->arena, sizes->set.ctx);
  fnzi_size_facts_init(&s->facts, &sizes->set);
  /* Strides may have symbols that no size has, and that no run knows. */
  const size_t count = s->set->all.count;
  bool any = false;
  FNZI_NEW(&s->arena, count, &s->is_strange);
  for (size_t i = 0; i < count; i++)
    s->is_strange[i] = s->set->all.data[i]->kind == FNZI_EXPR_SYMBOL;
  for (size_t i = 0; i < sizes->free.count; i++)
    s->is_strange[sizes->free.data[i]->id] = 0;
  for (size_t i = 0; i < count; i++) { /* parts have lower ids */
    const fnzi_expr *e = s->set->all.data[i];
    for (uint32_t k = 0; k < e->count; k++)
      s->is_strange[i] |= s->is_strange[e->parts[k].expr->id];
    any = any || s->is_strange[i];
  }
  s->is_strange = any ? s->is_strange : NULL;
  FNZ_TRY(fnzi_size_facts_add_sizes(&s->facts, sizes));
  uint32_t before;
  do { /* one symbol may settle others */
    const fnzi_expr *of;
    before = s->facts.state + s->facts.replaced;
    for (size_t i = 1; i < sizes->program->symbols.count; i++)
      if (sizes->symbols[i] && fnzi_expr_is_linear(sizes->symbols[i], &of) &&
          !fnzi_is_data_symbol(of))
        FNZ_TRY(settle(s, sizes->symbols[i]));
    for (size_t i = 0; i < sizes->free.count; i++)
      FNZ_TRY(fnzi_ints_settle_symbol(s, sizes->free.data[i]));
  } while (before != s->facts.state + s->facts.replaced);
  return FNZ_OK;
}

void fnzi_ints_close(fnzi_ints *s) {
  FNZI_VEC_FREE(s->set->ctx, &s->guards);
  FNZI_VEC_FREE(s->set->ctx, &s->stops);
  fnzi_ints_points_free(s);
  fnzi_size_facts_free(&s->facts);
  fnzi_arena_free(&s->arena);
}

/* --- Words ------------------------------------------------------------------------------------ */
fnzi_int fnzi_ints_word(const fnzi_expr *e) {
  if (e->kind != FNZI_EXPR_NUMBER)
    return (fnzi_int){FNZI_INT_LIMIT + e->id};
  const fnzi_int number = {e->num};
  return e->den == 1 && fnzi_int_is_number(number) ? number : FNZI_INT_NONE;
}

fnz_status fnzi_ints_expr(const fnzi_ints *s, fnzi_int a, const fnzi_expr **out) {
  if (fnzi_int_is_number(a))
    return fnzi_expr_number(s->set, a.bits, 1, out);
  *out = s->set->all.data[a.bits - FNZI_INT_LIMIT];
  return FNZ_OK;
}

fnz_status fnzi_ints_plain(fnzi_ints *s, const fnzi_expr *e, const fnzi_expr **out) {
  *out = e;
  return s->has_settled ? fnzi_size_facts_plain(&s->facts, e, out) : FNZ_OK;
}

fnz_status fnzi_ints_settled(fnzi_ints *s, const fnzi_expr *e, fnzi_int *out) {
  fnzi_knowledge *known;
  FNZ_TRY(fnzi_ints_plain(s, e, &e));
  FNZ_TRY(fnzi_size_facts_see(&s->facts, e, &known));
  const fnzi_int only = {known->bounds.min};
  /* A size that a node determines keeps its name, so that there is one that gives it. */
  const bool is_free = known->bounds.min != known->bounds.max || fnzi_is_data_symbol(e);
  *out = is_free ? fnzi_ints_word(e) : fnzi_int_is_number(only) ? only : FNZI_INT_NONE;
  return FNZ_OK;
}

/* --- Arithmetic ------------------------------------------------------------------------------- */
typedef fnz_status operation(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b,
                             const fnzi_expr **out);
enum { ADD = 1, SUBTRACT, MULTIPLY, LESS, AT_LEAST };

static bool find_both(fnzi_ints *s, fnzi_int a, fnzi_int b, const fnzi_expr **x,
                      const fnzi_expr **y) {
  return s && !fnzi_int_is_none(a) && !fnzi_int_is_none(b) &&
         fnzi_ints_worked(s, fnzi_ints_expr(s, a, x)) &&
         fnzi_ints_worked(s, fnzi_ints_expr(s, b, y));
}

/* An expression that grows too large has no word, like a number that does. */
static fnzi_int int_compute(fnzi_ints *s, operation *f, fnzi_int a, fnzi_int b) {
  const fnzi_expr *x, *y, *result;
  fnzi_int word;
  return find_both(s, a, b, &x, &y) && fnzi_ints_worked(s, f(s, x, y, &result)) &&
                 fnzi_ints_worked(s, fnzi_ints_settled(s, result, &word))
             ? word
             : FNZI_INT_NONE;
}

static fnz_status sum(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b, const fnzi_expr **out) {
  return fnzi_expr_add(s->set, a, b, out);
}

static fnz_status difference(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b,
                             const fnzi_expr **out) {
  const fnzi_expr *minus;
  FNZ_TRY(fnzi_expr_scale(s->set, b, -1, 1, &minus));
  return fnzi_expr_add(s->set, a, minus, out);
}

static fnz_status int_product(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b,
                              const fnzi_expr **out) {
  return fnzi_expr_mul(s->set, a, b, out);
}

static fnz_status quotient(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b,
                           const fnzi_expr **out) {
  return fnzi_size_facts_call(&s->facts, FNZI_FUNCTION_FLOOR_DIV, a, b, out);
}

static fnz_status least(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b,
                        const fnzi_expr **out) {
  return fnzi_size_facts_call(&s->facts, FNZI_FUNCTION_MIN, a, b, out);
}

static fnz_status greatest(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b,
                           const fnzi_expr **out) {
  return fnzi_size_facts_call(&s->facts, FNZI_FUNCTION_MAX, a, b, out);
}

/* The entry for an operation or a question; *known: its result is there. Layers of a model ask for
 * the same ones again and again. */
static fnzi_ints_done *find_done(fnzi_ints *s, uint32_t kind, fnzi_int a, fnzi_int b, bool *known) {
  const uint64_t mixed = (uint64_t)a.bits ^ (uint64_t)b.bits << 3 ^ (uint64_t)kind << 5;
  fnzi_ints_done *d = &s->done[(mixed ^ mixed >> 8) & (FNZI_INTS_DONE - 1)];
  *known = d->operation == kind && d->state == s->facts.news + s->facts.replaced &&
           fnzi_int_same(d->a, a) && fnzi_int_same(d->b, b);
  return d;
}

static fnzi_int remember(fnzi_ints *s, uint32_t kind, operation *f, fnzi_int a, fnzi_int b) {
  bool known = true;
  fnzi_ints_done *d = s ? find_done(s, kind, a, b, &known) : NULL;
  if (!known) {
    const fnzi_int result = int_compute(s, f, a, b);
    *d = (fnzi_ints_done){a, b, result, kind, s->facts.news + s->facts.replaced};
  }
  return d ? d->result : FNZI_INT_NONE;
}

fnzi_int fnzi_ints_add(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return remember(s, ADD, sum, a, b);
}

fnzi_int fnzi_ints_sub(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return remember(s, SUBTRACT, difference, a, b);
}

fnzi_int fnzi_ints_mul(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return remember(s, MULTIPLY, int_product, a, b);
}

/* --- Division --------------------------------------------------------------------------------- */
/* A divisor of several terms divides by its first one. */
static fnz_status divide_sum(fnzi_ints *s, const fnzi_expr *a, const fnzi_expr *b,
                             const fnzi_expr **out) {
  const fnzi_expr *lead = b;
  if (b->kind == FNZI_EXPR_SUM)
    FNZ_TRY(fnzi_expr_scale(s->set, b->parts[0].expr, b->parts[0].num, b->parts[0].den, &lead));
  /* The terms of `a` that `lead` divides are divided by it; others are left out. */
  const fnzi_shapes_part one = {a, 1, 1}, *parts = a->kind == FNZI_EXPR_SUM ? a->parts : &one;
  const uint32_t count = a->kind == FNZI_EXPR_SUM ? a->count : 1;
  FNZ_TRY(fnzi_expr_number(s->set, 0, 1, out));
  for (uint32_t i = 0; i < count; i++) {
    /* The multiple of `lead` in the term: term / lead, if that is an integer for all integers. */
    const fnzi_expr *whole, *inverse;
    FNZ_TRY(fnzi_expr_scale(s->set, parts[i].expr, parts[i].num, parts[i].den, &whole));
    FNZ_TRY(fnzi_expr_pow(s->set, lead, -1, &inverse));
    FNZ_TRY(fnzi_expr_mul(s->set, whole, inverse, &whole));
    if (whole->is_whole)
      FNZ_TRY(fnzi_expr_add(s->set, *out, whole, out));
  }
  return FNZ_OK;
}

static fnzi_int divide_down(fnzi_int a, fnzi_int b) {
  return (fnzi_int){a.bits / b.bits - (a.bits % b.bits < 0)};
}

fnzi_int fnzi_ints_quotient(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  if (fnzi_int_is_number(a) && fnzi_int_is_number(b))
    return divide_down(a, b);
  return int_compute(s, fnzi_int_is_number(b) ? quotient : divide_sum, a, b);
}

/* *out: a is so many times b. */
static bool divide_evenly(fnzi_ints *s, fnzi_int a, fnzi_int b, fnzi_int *out) {
  *out = fnzi_int_is_number(b) ? FNZI_INT_NONE : fnzi_ints_quotient(s, a, b);
  return fnzi_int_is_product(s, a, *out, b);
}

fnzi_int fnzi_int_div_down(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  fnzi_int even;
  if (fnzi_int_is_number(a) && fnzi_int_is_number(b))
    return divide_down(a, b);
  return divide_evenly(s, a, b, &even) ? even : int_compute(s, quotient, a, b);
}

fnzi_int fnzi_int_div_up(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  fnzi_int even;
  if (fnzi_int_is_number(a) && fnzi_int_is_number(b))
    return (fnzi_int){a.bits / b.bits + (a.bits % b.bits > 0)};
  if (fnzi_int_is(b, 1) || divide_evenly(s, a, b, &even))
    return fnzi_int_is(b, 1) ? a : even;
  const fnzi_int most = fnzi_int_sub(s, b, fnzi_int_of(1));
  return int_compute(s, quotient, fnzi_int_add(s, a, most), b);
}

fnzi_int fnzi_int_min(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  if (fnzi_int_is_number(a) && fnzi_int_is_number(b))
    return a.bits < b.bits ? a : b;
  return fnzi_int_same(a, b) ? a : int_compute(s, least, a, b);
}

fnzi_int fnzi_int_max(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  if (fnzi_int_is_number(a) && fnzi_int_is_number(b))
    return a.bits > b.bits ? a : b;
  return fnzi_int_same(a, b) ? a : int_compute(s, greatest, a, b);
}

fnzi_int fnzi_int_from_end(fnzi_ints *s, fnzi_int index, fnzi_int size) {
  const fnzi_int zero = {0}, one = {1};
  if (fnzi_int_is_at_least(s, index, zero))
    return index;
  if (fnzi_int_is_less(s, index, zero))
    return fnzi_int_add(s, index, size);
  /* It may be below 0 or not; derived_symbols.c has the same form for bounds. */
  const fnzi_int below = fnzi_int_max(s, zero, fnzi_int_sub(s, zero, index));
  return fnzi_int_add(s, index, fnzi_int_mul(s, size, fnzi_int_min(s, one, below)));
}

void fnzi_int_assume_same(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  const fnzi_int rest = fnzi_int_sub(s, a, b);
  const fnzi_expr *e;
  if (s->at.graph == 0 && !fnzi_int_is_none(rest) &&
      fnzi_ints_worked(s, fnzi_ints_expr(s, rest, &e)))
    fnzi_ints_worked(s, fnzi_size_facts_add_zero(&s->facts, e));
}

void fnzi_ints_assume_at_least(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  const fnzi_int more = fnzi_int_sub(s, a, b);
  const fnzi_expr *e;
  if (s->at.graph == 0 && !fnzi_int_is_none(more) &&
      !fnzi_int_is_at_least(s, more, fnzi_int_of(0)) &&
      fnzi_ints_worked(s, fnzi_ints_expr(s, more, &e)))
    fnzi_ints_worked(s, fnzi_size_facts_add(&s->facts, e));
}

/* --- Questions -------------------------------------------------------------------------------- */
bool fnzi_ints_recorded(fnzi_ints *s, fnzi_int a, int64_t *out) {
  bool known = fnzi_int_is_number(a);
  *out = a.bits;
  if (known || fnzi_int_is_none(a) || !s->recorded)
    return known;
  const fnzi_expr *e = s->set->all.data[a.bits - FNZI_INT_LIMIT];
  return fnzi_ints_worked(s, fnzi_point_int(s->recorded, e, &known, out)) && known;
}

/* LESS or AT_LEAST. A relation that is false at the recorded sizes has no proof. */
static bool is_so(fnzi_ints *s, uint32_t kind, fnzi_int a, fnzi_int b) {
  const fnzi_expr *x, *y;
  fnzi_truth truth = FNZI_MAYBE;
  int64_t here, there;
  bool known;
  if (fnzi_ints_recorded(s, a, &here) && fnzi_ints_recorded(s, b, &there) &&
      (here < there) != (kind == LESS))
    return false;
  fnzi_ints_done *d = find_done(s, kind, a, b, &known);
  if (known)
    return d->result.bits;
  const fnzi_function relation = kind == LESS ? FNZI_FUNCTION_LT : FNZI_FUNCTION_GE;
  bool is = find_both(s, a, b, &x, &y);
  is = is && ((kind == AT_LEAST && fnzi_interval_is_at_least(&s->facts, x, y)) ||
              (fnzi_ints_worked(s, fnzi_size_facts_compare(&s->facts, relation, x, y, &truth)) &&
               truth == FNZI_YES));
  *d = (fnzi_ints_done){a, b, {is}, kind, s->facts.news + s->facts.replaced};
  return is;
}

bool fnzi_ints_is_less(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return is_so(s, LESS, a, b);
}

bool fnzi_ints_is_at_least(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return is_so(s, AT_LEAST, a, b);
}

bool fnzi_int_is_not(fnzi_ints *s, fnzi_int a, int64_t number) {
  const fnzi_expr *x, *y;
  fnzi_truth truth = FNZI_MAYBE;
  int64_t here;
  if (fnzi_int_is_number(a))
    return a.bits != number;
  return !(fnzi_ints_recorded(s, a, &here) && here == number) &&
         find_both(s, a, fnzi_int_of(number), &x, &y) &&
         fnzi_ints_worked(s, fnzi_size_facts_compare(&s->facts, FNZI_FUNCTION_NE, x, y, &truth)) &&
         truth == FNZI_YES;
}

bool fnzi_ints_is_multiple(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  const fnzi_expr *x, *y;
  bool divides = false;
  return find_both(s, a, b, &x, &y) &&
         fnzi_ints_worked(s, fnzi_size_facts_divides(&s->facts, y, x, &divides)) && divides;
}

const char *fnzi_int_put(const fnzi_ints *s, fnzi_int a, char out[FNZI_INT_WORDS]) {
  const char *text = "more than 61 bits";
  if (fnzi_int_is_number(a)) {
    fnzi_int_text(a.bits, out);
    return out;
  }
  if (s && !fnzi_int_is_none(a) &&
      fnzi_expr_text(s->set, s->set->all.data[a.bits - FNZI_INT_LIMIT], &text) != FNZ_OK)
    text = "an expression";
  snprintf(out, FNZI_INT_WORDS, "%s", text);
  return out;
}
