/* facts.c - what is known of expressions, kept by their ids.
 *
 * An expression is seen once per state: its parts first, then its interval. A call that is seen for
 * the first time brings the facts of its meaning along: of q = a // n that n*q is at most a and at
 * least a - n + 1, of a minimum or a maximum that it lies beside its arguments, of a remainder that
 * it is what the quotient leaves.
 *
 * A fact of one atom narrows the interval of the atom and is not listed. Others are found by each
 * of their atoms. The facts that calls bring along are found by atoms with calls only: they would
 * take the places of guards among the facts of a symbol. */
#include "program/shapes/facts.h"
#include "program/shapes/symbolic_set.h"

void fnzi_size_facts_init(fnzi_size_facts *f, fnzi_exprs *set) {
  *f = (fnzi_size_facts){.set = set, .state = 1, .news = 1};
}

void fnzi_size_facts_free(fnzi_size_facts *f) {
  fnz_context *ctx = f->set->ctx;
  FNZI_VEC_FREE(ctx, &f->of);
  FNZI_VEC_FREE(ctx, &f->facts);
  FNZI_VEC_FREE(ctx, &f->links);
  FNZI_VEC_FREE(ctx, &f->stack);
  FNZI_VEC_FREE(ctx, &f->calls);
}

/* A result that leaves 64 bits, or is too large, is a fact less. */
static fnz_status forgive(fnz_status status, bool *made) {
  *made = status == FNZ_OK;
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* --- seeing ----------------------------------------------------------------------------------- */
static fnz_status facts_follow_set(fnzi_size_facts *f) {
  static const fnzi_knowledge nothing = {.divisor = 1};
  while (f->of.count < f->set->all.count)
    FNZI_PUSH(f->set->ctx, &f->of, nothing);
  return FNZ_OK;
}

/* There may be sizes at which it has no value, as a division by 0. */
static bool is_partial(const fnzi_size_facts *f, const fnzi_expr *e) {
  bool divides = e->kind == FNZI_EXPR_CALL && e->function <= FNZI_FUNCTION_PYTHON_MOD;
  bool partial = e->is_real ||
                 (e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_INT_POW) ||
                 (divides && f->of.data[e->parts[1].expr->id].bounds.min < 1);
  for (uint32_t i = 0; i < e->count && !partial; i++)
    partial = f->of.data[e->parts[i].expr->id].is_partial ||
              (e->kind == FNZI_EXPR_PRODUCT && e->parts[i].num < 0);
  return partial;
}

/* The bounds, moved inwards to multiples of n; unchanged where no multiple is between them. */
static fnzi_bounds within_multiples(fnzi_bounds b, int64_t n) {
  static const int64_t far = (int64_t)1 << 61;
  fnzi_bounds out = b;
  if (n < 2 || n > far)
    return b;
  if (b.min > -far && b.min < far && b.min % n)
    out.min = b.min - b.min % n + (b.min > 0 ? n : 0);
  if (b.max > -far && b.max < far && b.max % n)
    out.max = b.max - b.max % n - (b.max < 0 ? n : 0);
  return out.min <= out.max ? out : b;
}

static fnz_status see_one(fnzi_size_facts *f, const fnzi_expr *e) {
  fnzi_knowledge *k = &f->of.data[e->id];
  k->is_partial = is_partial(f, e);
  k->bounds = fnzi_interval_of(f, e);
  k->divisor = fnzi_divisor_of(f, e);
  if (k->has_given) {
    k->bounds.min = k->given.min > k->bounds.min ? k->given.min : k->bounds.min;
    k->bounds.max = k->given.max < k->bounds.max ? k->given.max : k->bounds.max;
  }
  int64_t both;
  if (k->said_divisor && k->divisor &&
      fnzi_mul_i64(k->divisor / fnzi_gcd(k->divisor, k->said_divisor), k->said_divisor, &both))
    k->divisor = both;
  if (e->kind == FNZI_EXPR_SYMBOL) /* of others the symbols would have to follow */
    k->bounds = within_multiples(k->bounds, k->divisor);
  k->bounds_at = f->state;
  f->work++;
  if (k->is_seen || e->kind != FNZI_EXPR_CALL)
    return FNZ_OK;
  k->is_seen = true;
  FNZI_PUSH(f->set->ctx, &f->calls, e);
  return FNZ_OK;
}

/* Sees the parts before the whole. */
static fnz_status walk(fnzi_size_facts *f, const fnzi_expr *e) {
  FNZ_TRY(facts_follow_set(f));
  if (f->of.data[e->id].bounds_at == f->state)
    return FNZ_OK;
  f->stack.count = 0;
  FNZI_PUSH(f->set->ctx, &f->stack, e);
  while (f->stack.count) {
    const fnzi_expr *top = f->stack.data[f->stack.count - 1];
    size_t before = f->stack.count;
    bool done = f->of.data[top->id].bounds_at == f->state;
    for (uint32_t i = 0; i < top->count && !done; i++)
      if (f->of.data[top->parts[i].expr->id].bounds_at != f->state)
        FNZI_PUSH(f->set->ctx, &f->stack, top->parts[i].expr);
    if (f->stack.count > before)
      continue;
    if (!done)
      FNZ_TRY(see_one(f, top));
    f->stack.count--;
  }
  return FNZ_OK;
}

/* --- one atom --------------------------------------------------------------------------------- */
static fnz_status narrow_one(fnzi_size_facts *f, const fnzi_expr *e, fnzi_bounds b) {
  FNZ_TRY(walk(f, e));
  fnzi_knowledge *k = &f->of.data[e->id];
  if (b.min <= k->bounds.min && b.max >= k->bounds.max)
    return FNZ_OK;
  k->given = (fnzi_bounds){b.min > k->bounds.min ? b.min : k->bounds.min,
                           b.max < k->bounds.max ? b.max : k->bounds.max};
  k->has_given = true;
  f->state++;
  f->news++;
  return FNZ_OK;
}

/* Narrows an atom, and its parts if these follow: factors of a product that is 1 or more, arguments
 * of a minimum, a dividend. */
static fnz_status narrow(fnzi_size_facts *f, const fnzi_expr *e, fnzi_bounds b) {
  FNZ_TRY(narrow_one(f, e, b));
  bool each = e->kind == FNZI_EXPR_PRODUCT && b.min >= 1;
  for (uint32_t i = 0; i < e->count && each; i++)
    each = e->parts[i].num > 0 && f->of.data[e->parts[i].expr->id].bounds.min >= 0;
  for (uint32_t i = 0; i < e->count && each; i++)
    FNZ_TRY(narrow_one(f, e->parts[i].expr, (fnzi_bounds){1, INT64_MAX}));
  if (e->kind != FNZI_EXPR_CALL)
    return FNZ_OK;
  if (e->function == FNZI_FUNCTION_FLOOR_DIV) {
    /* The numbers of `a` at which a // n, for a number n, is within the bounds. */
    const fnzi_expr *n = e->parts[1].expr;
    fnzi_bounds a = {INT64_MIN, INT64_MAX};
    if (n->kind != FNZI_EXPR_NUMBER || n->den != 1 || n->num < 1 || !e->parts[0].expr->is_whole)
      return FNZ_OK;
    if (b.min != INT64_MIN && !fnzi_mul_i64(b.min, n->num, &a.min))
      a.min = INT64_MIN;
    if (b.max != INT64_MAX &&
        (!fnzi_mul_i64(b.max, n->num, &a.max) || !fnzi_add_i64(a.max, n->num - 1, &a.max)))
      a.max = INT64_MAX;
    return narrow_one(f, e->parts[0].expr, a);
  }
  for (uint32_t i = 0; i < e->count && e->function == FNZI_FUNCTION_MIN; i++)
    FNZ_TRY(narrow_one(f, e->parts[i].expr, (fnzi_bounds){b.min, INT64_MAX}));
  for (uint32_t i = 0; i < e->count && e->function == FNZI_FUNCTION_MAX; i++)
    FNZ_TRY(narrow_one(f, e->parts[i].expr, (fnzi_bounds){INT64_MIN, b.max}));
  return FNZ_OK;
}

/* --- facts of several atoms ------------------------------------------------------------------- */
/* A factor of the atom, or the atom, is `call`; any call if that is NULL. */
static bool has_call(const fnzi_expr *atom, const fnzi_expr *call) {
  bool found = call ? atom == call : atom->kind == FNZI_EXPR_CALL;
  for (uint32_t i = 0; i < atom->count && !found && atom->kind == FNZI_EXPR_PRODUCT; i++) {
    const fnzi_expr *factor = atom->parts[i].expr;
    found = call ? factor == call : factor->kind == FNZI_EXPR_CALL;
  }
  return found;
}

static fnz_status link_fact(fnzi_size_facts *f, const fnzi_row *row, const fnzi_expr *call) {
  fnz_context *ctx = f->set->ctx;
  fnzi_row_term *terms;
  const uint32_t fact = (uint32_t)f->facts.count;
  FNZI_NEW(&f->set->arena, row->count, &terms);
  memcpy(terms, row->terms, row->count * sizeof *terms);
  FNZI_PUSH(ctx, &f->facts, ((fnzi_size_fact){row->constant, row->count, terms}));
  if (!f->links.count)
    FNZI_PUSH(ctx, &f->links, ((fnzi_size_fact_link){0, 0}));
  /* At sizes at which the call has no value the fact does not hold, and an atom without the call
   * may have one. */
  const fnzi_expr *partial = call && f->of.data[call->id].is_partial ? call : NULL;
  for (uint32_t i = 0; i < row->count; i++) {
    fnzi_knowledge *k = &f->of.data[row->terms[i].atom->id];
    if (k->nlinks == FNZI_ATOM_FACTS || (call && !has_call(row->terms[i].atom, partial)))
      continue;
    FNZI_PUSH(ctx, &f->links, ((fnzi_size_fact_link){fact, k->links}));
    k->links = (uint32_t)f->links.count - 1;
    k->nlinks++;
  }
  f->news++;
  return FNZ_OK;
}

/* A fact that a call brings along, or one that a caller knows if that is NULL. */
static fnz_status facts_add(fnzi_size_facts *f, const fnzi_expr *e, const fnzi_expr *call) {
  fnzi_row row;
  FNZ_TRY(walk(f, e));
  if (f->of.data[e->id].is_fact || f->of.data[e->id].bounds.min >= 0 || !fnzi_row_of(e, &row))
    return FNZ_OK;
  f->of.data[e->id].is_fact = !call;
  fnzi_row_reduce(&row);
  if (row.count == 0 || row.constant == INT64_MIN)
    return FNZ_OK;
  if (row.count > 1)
    return link_fact(f, &row, call);
  fnzi_bounds b = {INT64_MIN, INT64_MAX}; /* the number of the one atom is 1 or -1 */
  if (row.terms[0].by > 0)
    b.min = -row.constant;
  else
    b.max = row.constant;
  if (!call || !f->of.data[call->id].is_partial)
    return narrow(f, row.terms[0].atom, b);
  return has_call(row.terms[0].atom, call) ? narrow_one(f, row.terms[0].atom, b) : FNZ_OK;
}

/* a - b is not negative, by the meaning of a call. */
static fnz_status add_order(fnzi_size_facts *f, const fnzi_expr *a, const fnzi_expr *b,
                            const fnzi_expr *call) {
  const fnzi_expr *e;
  bool made;
  FNZ_TRY(forgive(fnzi_expr_sub(f->set, a, b, &e), &made));
  return made ? facts_add(f, e, call) : FNZ_OK;
}

/* --- facts of calls --------------------------------------------------------------------------- */
/* n*q <= a <= n*q + n - 1; both are equal if n divides a. */
static fnz_status add_quotient(fnzi_size_facts *f, const fnzi_expr *call, const fnzi_expr *a,
                               const fnzi_expr *n) {
  const fnzi_expr *most, *product, *one;
  bool made, shrinks = f->of.data[a->id].bounds.min >= 0;
  bool divides = n->kind == FNZI_EXPR_NUMBER && n->num && f->of.data[a->id].divisor % n->num == 0;
  FNZ_TRY(forgive(fnzi_expr_mul(f->set, n, call, &product), &made));
  if (!made)
    return FNZ_OK;
  FNZ_TRY(add_order(f, a, product, call));
  if (divides)
    return add_order(f, product, a, call);
  FNZ_TRY(forgive(fnzi_expr_add(f->set, product, n, &most), &made));
  if (made)
    FNZ_TRY(forgive(fnzi_expr_sub(f->set, most, a, &most), &made));
  FNZ_TRY(fnzi_expr_number(f->set, 1, 1, &one));
  if (made)
    FNZ_TRY(add_order(f, most, one, call));
  return shrinks ? add_order(f, a, call, call) : FNZ_OK;
}

/* 0 <= m <= n - 1, and m = a - n * (a // n). */
static fnz_status add_remainder(fnzi_size_facts *f, const fnzi_expr *call, const fnzi_expr *a,
                                const fnzi_expr *n) {
  const fnzi_expr *rest, *one, *most;
  bool made, shrinks = f->of.data[a->id].bounds.min >= 0;
  FNZ_TRY(fnzi_expr_number(f->set, 1, 1, &one));
  FNZ_TRY(forgive(fnzi_expr_sub(f->set, n, one, &most), &made));
  if (made)
    FNZ_TRY(add_order(f, most, call, call));
  if (shrinks)
    FNZ_TRY(add_order(f, a, call, call));
  FNZ_TRY(forgive(
      fnzi_expr_call(f->set, FNZI_FUNCTION_FLOOR_DIV, (const fnzi_expr *[]){a, n}, 2, &rest),
      &made));
  if (made)
    FNZ_TRY(forgive(fnzi_expr_mul(f->set, n, rest, &rest), &made));
  if (made)
    FNZ_TRY(forgive(fnzi_expr_sub(f->set, a, rest, &rest), &made));
  if (made)
    FNZ_TRY(add_order(f, call, rest, call));
  return made ? add_order(f, rest, call, call) : FNZ_OK;
}

static fnz_status add_meaning(fnzi_size_facts *f, const fnzi_expr *call) {
  const fnzi_expr *first = call->parts[0].expr, *last = call->parts[call->count - 1].expr;
  bool divides = call->function <= FNZI_FUNCTION_PYTHON_MOD;
  FNZ_TRY(walk(f, call));
  if (call->is_real || fnzi_expr_takes_real(call) ||
      (divides && (!first->is_whole || !last->is_whole || f->of.data[last->id].bounds.min < 0)))
    return FNZ_OK;
  switch (call->function) {
  case FNZI_FUNCTION_FLOOR_DIV:
    return add_quotient(f, call, first, last);
  case FNZI_FUNCTION_MOD:
  case FNZI_FUNCTION_PYTHON_MOD:
    return add_remainder(f, call, first, last);
  case FNZI_FUNCTION_MIN:
    for (uint32_t i = 0; i < call->count; i++)
      FNZ_TRY(add_order(f, call->parts[i].expr, call, call));
    return FNZ_OK;
  case FNZI_FUNCTION_MAX:
    for (uint32_t i = 0; i < call->count; i++)
      FNZ_TRY(add_order(f, call, call->parts[i].expr, call));
    return FNZ_OK;
  default:
    return FNZ_OK;
  }
}

static fnz_status add_meanings(fnzi_size_facts *f) {
  while (f->calls.count)
    FNZ_TRY(add_meaning(f, f->calls.data[--f->calls.count]));
  return FNZ_OK;
}

fnz_status fnzi_size_facts_see(fnzi_size_facts *f, const fnzi_expr *e, fnzi_knowledge **out) {
  FNZ_TRY(walk(f, e));
  if (f->calls.count) {
    FNZ_TRY(add_meanings(f));
    FNZ_TRY(walk(f, e));
  }
  *out = &f->of.data[e->id];
  return FNZ_OK;
}

/* --- from callers ----------------------------------------------------------------------------- */
fnz_status fnzi_size_facts_add(fnzi_size_facts *f, const fnzi_expr *e) {
  FNZ_TRY(fnzi_size_facts_plain(f, e, &e));
  FNZ_TRY(facts_add(f, e, NULL));
  return add_meanings(f);
}

fnz_status fnzi_size_facts_add_range(fnzi_size_facts *f, const fnzi_expr *e, int64_t min,
                                     int64_t max) {
  const fnzi_expr *end;
  bool made = true;
  if (min != INT64_MIN) {
    FNZ_TRY(fnzi_expr_number(f->set, min, 1, &end));
    FNZ_TRY(forgive(fnzi_expr_sub(f->set, e, end, &end), &made));
    if (made)
      FNZ_TRY(fnzi_size_facts_add(f, end));
  }
  if (max == INT64_MAX)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_number(f->set, max, 1, &end));
  FNZ_TRY(forgive(fnzi_expr_sub(f->set, end, e, &end), &made));
  return made ? fnzi_size_facts_add(f, end) : FNZ_OK;
}

/* --- equalities ------------------------------------------------------------------------------- */
/* The same expression of other parts. */
static fnz_status remake(fnzi_size_facts *f, const fnzi_expr *e, const fnzi_expr **out) {
  const fnzi_expr *few[FNZI_FEW_PARTS], **parts = few;
  bool changed = false, made;
  if (e->count > FNZI_FEW_PARTS)
    FNZI_NEW(&f->set->arena, e->count, &parts);
  for (uint32_t i = 0; i < e->count; i++) {
    parts[i] = f->of.data[e->parts[i].expr->id].plain;
    changed = changed || parts[i] != e->parts[i].expr;
  }
  *out = e;
  if (!changed)
    return FNZ_OK;
  FNZ_TRY(forgive(fnzi_expr_with_parts(f->set, e, parts, out), &made));
  *out = made ? *out : e;
  return facts_follow_set(f);
}

fnz_status fnzi_size_facts_plain(fnzi_size_facts *f, const fnzi_expr *e, const fnzi_expr **out) {
  *out = e;
  FNZ_TRY(facts_follow_set(f));
  if (!f->replaced)
    return FNZ_OK;
  f->stack.count = 0;
  FNZI_PUSH(f->set->ctx, &f->stack, e);
  while (f->stack.count) {
    const fnzi_expr *top = f->stack.data[f->stack.count - 1], *plain,
                    *meaning = f->of.data[top->id].meaning;
    size_t before = f->stack.count;
    bool done = f->of.data[top->id].plain_at == f->replaced;
    for (uint32_t i = 0; i < top->count && !done; i++)
      if (f->of.data[top->parts[i].expr->id].plain_at != f->replaced)
        FNZI_PUSH(f->set->ctx, &f->stack, top->parts[i].expr);
    if (meaning && !done && f->of.data[meaning->id].plain_at != f->replaced)
      FNZI_PUSH(f->set->ctx, &f->stack, meaning);
    if (f->stack.count > before)
      continue;
    f->stack.count--;
    if (done)
      continue;
    if (meaning)
      plain = f->of.data[meaning->id].plain;
    else
      FNZ_TRY(remake(f, top, &plain));
    f->of.data[top->id].plain = plain;
    f->of.data[top->id].plain_at = f->replaced;
  }
  *out = f->of.data[e->id].plain;
  return FNZ_OK;
}

/* `symbol` is a part of `e`, at any depth. */
static fnz_status find_symbol(fnzi_size_facts *f, const fnzi_expr *e, const fnzi_expr *symbol,
                              bool *found) {
  const uint32_t mark = ++f->marks;
  f->stack.count = 0;
  FNZI_PUSH(f->set->ctx, &f->stack, e);
  while (f->stack.count && !*found) {
    const fnzi_expr *top = f->stack.data[--f->stack.count];
    *found = top == symbol;
    for (uint32_t i = 0; i < top->count; i++) {
      const fnzi_expr *part = top->parts[i].expr;
      if (part->id >= symbol->id && f->of.data[part->id].marked_at != mark)
        FNZI_PUSH(f->set->ctx, &f->stack, part);
      f->of.data[part->id].marked_at = mark;
    }
  }
  return FNZ_OK;
}

static fnz_status sum_of_fact(fnzi_size_facts *f, const fnzi_size_fact *fact,
                              const fnzi_expr **out) {
  const fnzi_expr *term;
  FNZ_TRY(fnzi_expr_number(f->set, fact->constant, 1, out));
  for (uint32_t i = 0; i < fact->count; i++) {
    FNZ_TRY(fnzi_expr_scale(f->set, fact->terms[i].atom, fact->terms[i].by, 1, &term));
    FNZ_TRY(fnzi_expr_add(f->set, *out, term, out));
  }
  return FNZ_OK;
}

/* The facts of a symbol are facts of its meaning. */
/* Adds that `n` divides `e`. */
static fnz_status add_divisor(fnzi_size_facts *f, const fnzi_expr *e, int64_t n) {
  FNZ_TRY(facts_follow_set(f));
  fnzi_knowledge *k = &f->of.data[e->id];
  int64_t old = k->said_divisor ? k->said_divisor : 1;
  if (n > 1 && fnzi_mul_i64(old / fnzi_gcd(old, n), n, &k->said_divisor)) {
    f->state++;
    f->news++;
  }
  return FNZ_OK;
}

static fnz_status move_facts(fnzi_size_facts *f, const fnzi_expr *symbol,
                             const fnzi_expr *meaning) {
  const fnzi_knowledge k = f->of.data[symbol->id];
  const fnzi_expr *e;
  bool made;
  FNZ_TRY(fnzi_size_facts_add_range(f, meaning, k.bounds.min, k.bounds.max));
  if (k.divisor > 1)
    FNZ_TRY(add_divisor(f, meaning, k.divisor));
  for (uint32_t at = k.links; at; at = f->links.data[at].next) {
    const fnzi_size_fact fact = f->facts.data[f->links.data[at].fact];
    FNZ_TRY(forgive(sum_of_fact(f, &fact, &e), &made));
    if (made)
      FNZ_TRY(fnzi_size_facts_add(f, e));
  }
  return FNZ_OK;
}

/* Replaces the youngest symbol that is 1 or -1 times in `e`, and in no other term. */
static fnz_status replace_symbol(fnzi_size_facts *f, const fnzi_expr *e, bool *done) {
  const fnzi_expr *symbol = NULL, *meaning = NULL, *rest;
  for (uint32_t i = 0; i < e->count && e->count <= FNZI_ROW_TERMS; i++) {
    const fnzi_shapes_part *p = &e->parts[i];
    bool within = false, made;
    if (p->expr->kind != FNZI_EXPR_SYMBOL || p->expr->is_real || (p->num != 1 && p->num != -1) ||
        (symbol && p->expr->id < symbol->id))
      continue;
    FNZ_TRY(forgive(fnzi_expr_scale(f->set, p->expr, p->num, 1, &rest), &made));
    FNZ_TRY(forgive(fnzi_expr_sub(f->set, e, rest, &rest), &made));
    FNZ_TRY(facts_follow_set(f));
    FNZ_TRY(find_symbol(f, rest, p->expr, &within));
    if (within)
      continue;
    symbol = p->expr;
    FNZ_TRY(fnzi_expr_scale(f->set, rest, -p->num, 1, &meaning));
  }
  *done = symbol != NULL;
  if (!symbol)
    return FNZ_OK;
  FNZ_TRY(walk(f, symbol));
  FNZ_TRY(facts_follow_set(f));
  f->of.data[symbol->id].meaning = meaning;
  f->replaced++;
  f->state++;
  f->news++;
  return move_facts(f, symbol, meaning);
}

fnz_status fnzi_size_facts_add_zero(fnzi_size_facts *f, const fnzi_expr *e) {
  const fnzi_expr *minus;
  bool done = false, made;
  FNZ_TRY(fnzi_size_facts_plain(f, e, &e));
  /* Mod(a, n) is 0 for a number n. */
  bool is_mod = e->kind == FNZI_EXPR_CALL &&
                (e->function == FNZI_FUNCTION_MOD || e->function == FNZI_FUNCTION_PYTHON_MOD);
  const fnzi_expr *n = is_mod ? e->parts[1].expr : NULL;
  if (n && n->kind == FNZI_EXPR_NUMBER && n->den == 1 && e->parts[0].expr->is_whole)
    FNZ_TRY(add_divisor(f, e->parts[0].expr, n->num));
  if (e->is_whole && e->kind == FNZI_EXPR_SUM)
    FNZ_TRY(replace_symbol(f, e, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_size_facts_add(f, e));
  FNZ_TRY(forgive(fnzi_expr_scale(f->set, e, -1, 1, &minus), &made));
  return made ? fnzi_size_facts_add(f, minus) : FNZ_OK;
}
