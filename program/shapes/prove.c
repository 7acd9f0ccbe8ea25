/* prove.c - questions about expressions, settled for all sizes.
 *
 * A question is whether a sum is not negative. There are four proofs. Its interval has no negative
 * number. Its terms have a common factor that is not negative, and neither is the rest. It is a
 * multiple of a fact plus a sum that is not negative; two facts are tried at most. Or this is so
 * with each argument of a minimum in its place. An example of the third:
 *
 *     s0 - 2*s1 + 4, where s1 = s0//2:   the fact s0 - 2*s1 cancels the term that has no bound
 *
 * The multiple is a number, or the rest of a product: a fact of s0 times s1 cancels s0*s1. */
#include "program/shapes/facts.h"
#include "program/shapes/symbolic_set.h"

enum { CANDIDATES = 32 }; /* facts that may cancel a term of one sum; more are not tried */

/* Questions about the sign of an expression. */
typedef enum question { AT_LEAST = 1, MORE = 2, AT_MOST = 4, LESS = 8 } question;

/* A fact that cancels a term when it is taken off `cofactor` times; NULL for a number of times. */
typedef struct candidate {
  uint32_t fact, term;
  const fnzi_expr *cofactor;
  int64_t by; /* the number of the term in the fact */
} candidate;

typedef struct candidates {
  uint32_t count;
  candidate list[CANDIDATES];
} candidates;

static fnzi_bounds prove_bounds_of(const fnzi_size_facts *f, const fnzi_expr *e) {
  return f->of.data[e->id].bounds;
}

/* --- a common factor -------------------------------------------------------------------------- */
static bool has_factor(const fnzi_expr *atom, const fnzi_expr *factor) {
  bool found = atom == factor;
  for (uint32_t i = 0; i < atom->count && atom->kind == FNZI_EXPR_PRODUCT && !found; i++)
    found = atom->parts[i].expr == factor && atom->parts[i].num > 0;
  return found;
}

/* A factor of all terms whose sign is known: at least `least`, or at most -`least`. */
static const fnzi_expr *common_factor(const fnzi_size_facts *f, const fnzi_row *row,
                                      int64_t least) {
  const fnzi_expr *first = row->count && !row->constant ? row->terms[0].atom : NULL;
  const uint32_t count = !first ? 0 : first->kind == FNZI_EXPR_PRODUCT ? first->count : 1;
  for (uint32_t i = 0; i < count; i++) {
    const fnzi_expr *factor = first->kind == FNZI_EXPR_PRODUCT ? first->parts[i].expr : first;
    const fnzi_bounds b = prove_bounds_of(f, factor);
    bool common = b.min >= least || b.max <= -least;
    for (uint32_t k = 0; k < row->count && common; k++)
      common = has_factor(row->terms[k].atom, factor);
    if (common)
      return factor;
  }
  return NULL;
}

/* Takes all such factors out of the row. */
static fnz_status strip(fnzi_size_facts *f, fnzi_row *row, int64_t least) {
  const fnzi_expr *factor;
  fnzi_knowledge *known;
  while ((factor = common_factor(f, row, least))) {
    const int64_t sign = prove_bounds_of(f, factor).min >= least ? 1 : -1;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->count; i++) {
      fnzi_row_term t = row->terms[i];
      FNZ_TRY(fnzi_expr_without(f->set, t.atom, factor, &t.atom));
      FNZ_TRY(fnzi_size_facts_see(f, t.atom, &known));
      t.by = sign < 0 ? -t.by : t.by;
      if (t.atom->kind == FNZI_EXPR_NUMBER)
        row->constant = t.by;
      else
        row->terms[kept++] = t;
    }
    row->count = kept;
    fnzi_row_reduce(row);
  }
  return FNZ_OK;
}

/* --- facts ------------------------------------------------------------------------------------ */
/* A fact that is linked to `from`, times a cofactor, may cancel the term. */
static void try_links(const fnzi_size_facts *f, const fnzi_row *row, candidate c,
                      const fnzi_expr *from, candidates *out) {
  const fnzi_row_term *t = &row->terms[c.term];
  const fnzi_expr *wanted = c.cofactor ? from : t->atom;
  for (uint32_t at = f->of.data[from->id].links; at; at = f->links.data[at].next) {
    const fnzi_size_fact *fact = &f->facts.data[f->links.data[at].fact];
    c.fact = f->links.data[at].fact;
    bool there = out->count == CANDIDATES, fits = false;
    for (uint32_t i = 0; i < out->count && !there; i++)
      there = out->list[i].fact == c.fact && out->list[i].term == c.term &&
              out->list[i].cofactor == c.cofactor;
    for (uint32_t i = 0; i < fact->count && !there && !fits; i++) {
      fits = fact->terms[i].atom == wanted && (fact->terms[i].by > 0) == (t->by > 0);
      c.by = fact->terms[i].by;
    }
    if (fits)
      out->list[out->count++] = c;
  }
}

/* A term without a bound must be cancelled; if there is none, any term may be. */
static fnz_status gather(fnzi_size_facts *f, const fnzi_row *row, candidates *out) {
  uint32_t from = row->count, to = row->count;
  bool unbounded = false;
  out->count = 0;
  for (uint32_t i = 0; i < row->count && !unbounded; i++) {
    const fnzi_bounds b = prove_bounds_of(f, row->terms[i].atom);
    unbounded = row->terms[i].by > 0 ? b.min == INT64_MIN : b.max == INT64_MAX;
    if (b.min != b.max && (unbounded || from == row->count))
      from = i;
  }
  to = unbounded ? from + 1 : row->count;
  for (uint32_t i = from; i < to; i++) {
    const fnzi_expr *atom = row->terms[i].atom;
    for (uint32_t k = 0; k < row->count; k++)
      try_links(f, row, (candidate){.term = i}, row->terms[k].atom, out);
    for (uint32_t k = 0; k < atom->count && atom->kind == FNZI_EXPR_PRODUCT; k++) {
      const fnzi_expr *rest, *factor = atom->parts[k].expr;
      fnzi_knowledge *known;
      if (atom->parts[k].num < 1 || !f->of.data[factor->id].links)
        continue;
      FNZ_TRY(fnzi_expr_without(f->set, atom, factor, &rest));
      FNZ_TRY(fnzi_size_facts_see(f, rest, &known));
      if (known->bounds.min >= 0)
        try_links(f, row, (candidate){.term = i, .cofactor = rest}, factor, out);
    }
  }
  return FNZ_OK;
}

/* Adds by * atom to a row; false if there are too many terms or it leaves 64 bits. */
static bool prove_add_term(fnzi_row *row, const fnzi_expr *atom, int64_t by) {
  uint32_t i = 0;
  if (!atom || by == 0)
    return fnzi_add_i64(row->constant, by, &row->constant);
  while (i < row->count && row->terms[i].atom != atom)
    i++;
  if (i == FNZI_ROW_TERMS)
    return false;
  if (i == row->count)
    row->terms[row->count++] = (fnzi_row_term){atom, 0};
  bool fits =
      fnzi_add_i64(row->terms[i].by, by, &row->terms[i].by) && row->terms[i].by != INT64_MIN;
  if (row->terms[i].by == 0)
    row->terms[i] = row->terms[--row->count];
  return fits;
}

/* cofactor * atom; NULL stands for 1. */
static fnz_status prove_times(fnzi_size_facts *f, const fnzi_expr *cofactor, const fnzi_expr *atom,
                              const fnzi_expr **out) {
  fnzi_knowledge *known;
  *out = cofactor ? cofactor : atom;
  if (cofactor && atom)
    FNZ_TRY(fnzi_expr_mul(f->set, cofactor, atom, out));
  return *out ? fnzi_size_facts_see(f, *out, &known) : FNZ_OK;
}

/* Takes the multiple of a fact off a row; *fits false if the result is no row. */
static fnz_status prove_cancel(fnzi_size_facts *f, const fnzi_row *row, const candidate *c,
                               fnzi_row *out, bool *fits) {
  const int64_t by = row->terms[c->term].by, common = fnzi_gcd(by, c->by);
  const int64_t mine = (c->by < 0 ? -c->by : c->by) / common, its = -(by < 0 ? -by : by) / common;
  const fnzi_size_fact fact = f->facts.data[c->fact];
  const fnzi_expr *atom;
  int64_t n;
  *out = (fnzi_row){0};
  *fits = fnzi_mul_i64(row->constant, mine, &out->constant);
  for (uint32_t i = 0; i < row->count && *fits; i++)
    *fits = fnzi_mul_i64(row->terms[i].by, mine, &n) && prove_add_term(out, row->terms[i].atom, n);
  for (uint32_t i = 0; i <= fact.count && *fits; i++) {
    fnz_status status =
        prove_times(f, c->cofactor, i < fact.count ? fact.terms[i].atom : NULL, &atom);
    if (fnzi_is_final(status))
      return status;
    *fits = status == FNZ_OK &&
            fnzi_mul_i64(i < fact.count ? fact.terms[i].by : fact.constant, its, &n) &&
            prove_add_term(out, atom, n);
  }
  f->work++;
  if (!*fits)
    return FNZ_OK;
  fnzi_row_reduce(out);
  return strip(f, out, 0);
}

/* With one fact, which is the second if there was one. */
static fnz_status prove_with_one(fnzi_size_facts *f, const fnzi_row *row, uint32_t *tries,
                                 bool *yes) {
  candidates all;
  fnzi_row rest;
  bool fits;
  FNZ_TRY(gather(f, row, &all));
  for (uint32_t i = 0; i < all.count && *tries && !*yes; i++, --*tries) {
    FNZ_TRY(prove_cancel(f, row, &all.list[i], &rest, &fits));
    *yes = fits && fnzi_row_least(f, &rest) >= 0;
  }
  return FNZ_OK;
}

static fnz_status prove_with_two(fnzi_size_facts *f, const fnzi_row *row, uint32_t *tries,
                                 bool *yes) {
  candidates all;
  fnzi_row rest;
  bool fits;
  FNZ_TRY(gather(f, row, &all));
  for (uint32_t i = 0; i < all.count && *tries && !*yes; i++) {
    FNZ_TRY(prove_cancel(f, row, &all.list[i], &rest, &fits));
    if (fits)
      FNZ_TRY(prove_with_one(f, &rest, tries, yes));
  }
  return FNZ_OK;
}

/* --- cases ------------------------------------------------------------------------------------ */
/* The row with an argument of term `at` in its place. */
static fnz_status replace_term(fnzi_size_facts *f, const fnzi_row *row, uint32_t at,
                               const fnzi_expr *argument, fnzi_row *out, bool *fits) {
  const int64_t by = row->terms[at].by;
  fnzi_knowledge *known;
  fnzi_row with;
  int64_t n = 0;
  *out = *row;
  out->terms[at] = out->terms[--out->count];
  *fits = argument->is_whole && fnzi_row_of(argument, &with) &&
          fnzi_mul_i64(with.constant, by, &n) && prove_add_term(out, NULL, n);
  for (uint32_t i = 0; *fits && i < with.count; i++)
    *fits = fnzi_mul_i64(with.terms[i].by, by, &n) && prove_add_term(out, with.terms[i].atom, n);
  if (!*fits)
    return FNZ_OK;
  FNZ_TRY(fnzi_size_facts_see(f, argument, &known));
  fnzi_row_reduce(out);
  return strip(f, out, 0);
}

/* A minimum is one of its arguments: the row is not negative if it is not for each of them. */
static fnz_status prove_by_cases(fnzi_size_facts *f, const fnzi_row *row, uint32_t *tries,
                                 bool *yes) {
  for (uint32_t i = 0; i < row->count && *tries && !*yes; i++) {
    const fnzi_row_term *t = &row->terms[i];
    /* The row is least where the term is one of its arguments, whichever: a minimum with a positive
     * number, or a maximum with a negative one. */
    bool all = t->atom->kind == FNZI_EXPR_CALL && t->atom->count <= FNZI_ROW_TERMS &&
               t->atom->function == (t->by > 0 ? FNZI_FUNCTION_MIN : FNZI_FUNCTION_MAX);
    for (uint32_t k = 0; all && k < t->atom->count; k++) {
      fnzi_row one;
      FNZ_TRY(replace_term(f, row, i, t->atom->parts[k].expr, &one, &all));
      bool holds = all && fnzi_row_least(f, &one) >= 0;
      if (all && !holds)
        FNZ_TRY(prove_with_one(f, &one, tries, &holds));
      if (all && !holds)
        FNZ_TRY(prove_with_two(f, &one, tries, &holds));
      all = holds;
    }
    *yes = all;
  }
  return FNZ_OK;
}

/* --- signs ------------------------------------------------------------------------------------ */
/* Looks at the interval alone. */
static bool is_plain(fnzi_bounds b, question q) {
  return q == AT_LEAST ? b.min >= 0 : q == MORE ? b.min > 0 : q == AT_MOST ? b.max <= 0 : b.max < 0;
}

/* The row that is not negative if the answer is yes. */
static fnz_status row_for(fnzi_size_facts *f, const fnzi_expr *e, question q, fnzi_row *row,
                          bool *fits) {
  const bool strict = q == MORE || q == LESS;
  *fits = fnzi_row_of(e, row) && row->constant != INT64_MIN;
  if (!*fits)
    return FNZ_OK;
  for (uint32_t i = 0; i < row->count && (q == AT_MOST || q == LESS); i++)
    row->terms[i].by = -row->terms[i].by;
  row->constant = q == AT_MOST || q == LESS ? -row->constant : row->constant;
  FNZ_TRY(strip(f, row, strict));
  *fits = fnzi_add_i64(row->constant, -(int64_t)strict, &row->constant);
  fnzi_row_reduce(row);
  return FNZ_OK;
}

/* An answer is remembered: a proof for ever, else until there is something new. */
static fnz_status ask(fnzi_size_facts *f, const fnzi_expr *e, question q, bool *yes) {
  fnzi_knowledge *k;
  FNZ_TRY(fnzi_size_facts_see(f, e, &k));
  const uint32_t news = f->news;
  *yes = (k->proved & q) != 0 || is_plain(k->bounds, q);
  if (*yes || ((k->failed & q) && k->asked_at == news))
    return FNZ_OK;
  uint32_t tries = FNZI_PROOF_TRIES;
  fnzi_row row;
  bool fits;
  FNZ_TRY(row_for(f, e, q, &row, &fits));
  if (fits) {
    *yes = fnzi_row_least(f, &row) >= 0;
    if (!*yes)
      FNZ_TRY(prove_with_one(f, &row, &tries, yes));
    if (!*yes)
      FNZ_TRY(prove_with_two(f, &row, &tries, yes));
    if (!*yes)
      FNZ_TRY(prove_by_cases(f, &row, &tries, yes));
  }
  k = &f->of.data[e->id];
  if (*yes)
    k->proved |= (uint8_t)q;
  else {
    k->failed = (uint8_t)(k->asked_at == news ? k->failed | q : q);
    k->asked_at = news;
  }
  return FNZ_OK;
}

static fnz_status ask_both(fnzi_size_facts *f, const fnzi_expr *e, question yes, question no,
                           fnzi_truth *out) {
  bool is, is_not = false;
  FNZ_TRY(ask(f, e, yes, &is));
  if (!is)
    FNZ_TRY(ask(f, e, no, &is_not));
  *out = is ? FNZI_YES : is_not ? FNZI_NO : FNZI_MAYBE;
  return FNZ_OK;
}

/* --- equality --------------------------------------------------------------------------------- */
/* Some number divides all terms but not the constant. */
static bool leaves_rest(const fnzi_size_facts *f, const fnzi_expr *e) {
  fnzi_row row;
  int64_t common = 0, n;
  if (!fnzi_row_of(e, &row))
    return false;
  for (uint32_t i = 0; i < row.count; i++) {
    n = row.terms[i].by;
    if (!fnzi_mul_i64(n, f->of.data[row.terms[i].atom->id].divisor, &n) || n == INT64_MIN)
      n = row.terms[i].by;
    common = fnzi_gcd(common, n);
  }
  return common ? row.constant % common != 0 : row.constant != 0;
}

static fnz_status is_zero(fnzi_size_facts *f, const fnzi_expr *e, fnzi_truth *out) {
  fnzi_knowledge *k;
  fnzi_truth least, most;
  FNZ_TRY(fnzi_size_facts_see(f, e, &k));
  *out = FNZI_NO;
  if (k->is_not_zero || leaves_rest(f, e))
    return FNZ_OK;
  FNZ_TRY(ask_both(f, e, AT_LEAST, LESS, &least));
  if (least == FNZI_NO)
    return FNZ_OK;
  FNZ_TRY(ask_both(f, e, AT_MOST, MORE, &most));
  if (most != FNZI_NO)
    *out = least == FNZI_YES && most == FNZI_YES ? FNZI_YES : FNZI_MAYBE;
  return FNZ_OK;
}

/* --- questions -------------------------------------------------------------------------------- */

fnz_status fnzi_size_facts_compare(fnzi_size_facts *f, fnzi_function relation, const fnzi_expr *a,
                                   const fnzi_expr *b, fnzi_truth *out) {
  const fnzi_expr *d;
  *out = FNZI_MAYBE;
  if (a->is_real || b->is_real)
    return FNZ_OK;
  fnz_status status = fnzi_expr_sub(f->set, a, b, &d);
  if (status != FNZ_OK)
    return fnzi_is_final(status) ? status : FNZ_OK;
  FNZ_TRY(fnzi_size_facts_plain(f, d, &d));
  switch (relation) {
  case FNZI_FUNCTION_EQ:
    return is_zero(f, d, out);
  case FNZI_FUNCTION_NE:
    FNZ_TRY(is_zero(f, d, out));
    *out = *out == FNZI_MAYBE ? *out : *out == FNZI_YES ? FNZI_NO : FNZI_YES;
    return FNZ_OK;
  case FNZI_FUNCTION_LT:
    return ask_both(f, d, LESS, AT_LEAST, out);
  case FNZI_FUNCTION_LE:
    return ask_both(f, d, AT_MOST, MORE, out);
  case FNZI_FUNCTION_GT:
    return ask_both(f, d, MORE, AT_MOST, out);
  case FNZI_FUNCTION_GE:
    return ask_both(f, d, AT_LEAST, LESS, out);
  default:
    return FNZ_OK;
  }
}

fnz_status fnzi_size_facts_divides(fnzi_size_facts *f, const fnzi_expr *n, const fnzi_expr *e,
                                   bool *out) {
  const fnzi_expr *rest, *args[2];
  fnzi_knowledge *k;
  *out = false;
  FNZ_TRY(fnzi_size_facts_plain(f, e, &args[0]));
  FNZ_TRY(fnzi_size_facts_plain(f, n, &args[1]));
  if (!args[0]->is_whole || !args[1]->is_whole || fnzi_expr_is(args[1], 0))
    return FNZ_OK;
  FNZ_TRY(fnzi_size_facts_see(f, args[0], &k));
  *out = args[1]->kind == FNZI_EXPR_NUMBER && k->divisor % args[1]->num == 0;
  fnzi_row row;
  if (!*out && fnzi_row_of(args[0], &row) && row.constant == 0) {
    *out = true;
    for (uint32_t i = 0; i < row.count && *out; i++)
      *out = has_factor(row.terms[i].atom, args[1]);
  }
  if (*out)
    return FNZ_OK;
  fnz_status status = fnzi_expr_call(f->set, FNZI_FUNCTION_MOD, args, 2, &rest);
  if (status != FNZ_OK)
    return fnzi_is_final(status) ? status : FNZ_OK;
  FNZ_TRY(fnzi_size_facts_see(f, rest, &k));
  *out = k->bounds.min == 0 && k->bounds.max == 0;
  return FNZ_OK;
}

/* --- calls ------------------------------------------------------------------------------------ */
fnz_status fnzi_size_facts_call(fnzi_size_facts *f, fnzi_function function, const fnzi_expr *a,
                                const fnzi_expr *b, const fnzi_expr **out) {
  const fnzi_expr *const args[] = {a, b};
  bool real = fnzi_exprs_are_real(args, 2);
  if (!real && (function == FNZI_FUNCTION_MIN || function == FNZI_FUNCTION_MAX)) {
    /* A minimum or maximum where one argument is always beside the other. */
    const bool least = function == FNZI_FUNCTION_MIN;
    fnzi_truth less, more;
    FNZ_TRY(fnzi_size_facts_compare(f, FNZI_FUNCTION_LE, args[0], args[1], &less));
    FNZ_TRY(fnzi_size_facts_compare(f, FNZI_FUNCTION_GE, args[0], args[1], &more));
    if (less == FNZI_YES || more == FNZI_YES) {
      *out = args[(least ? less : more) != FNZI_YES];
      return FNZ_OK;
    }
    return fnzi_expr_call(f->set, function, args, 2, out);
  }
  if (!real && function <= FNZI_FUNCTION_PYTHON_MOD) {
    /* A quotient or a remainder where the dividend is less than the divisor, or a multiple. */
    const fnzi_expr *zero;
    fnzi_truth not_negative, less;
    bool divides = false;
    FNZ_TRY(fnzi_expr_number(f->set, 0, 1, &zero));
    FNZ_TRY(fnzi_size_facts_compare(f, FNZI_FUNCTION_GE, a, zero, &not_negative));
    FNZ_TRY(fnzi_size_facts_compare(f, FNZI_FUNCTION_LT, a, b, &less));
    *out = function == FNZI_FUNCTION_FLOOR_DIV ? zero : a;
    if (not_negative == FNZI_YES && less == FNZI_YES && a->is_whole && b->is_whole)
      return FNZ_OK;
    *out = zero;
    if (function != FNZI_FUNCTION_FLOOR_DIV)
      FNZ_TRY(fnzi_size_facts_divides(f, b, a, &divides));
    if (divides)
      return FNZ_OK;
  }
  return fnzi_expr_call(f->set, function, args, 2, out);
}
