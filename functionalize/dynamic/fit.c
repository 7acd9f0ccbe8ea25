/* fit.c - finds the expression for the numbers that several trials have in one place.
 *
 * needs   trials at sizes that are different enough. A sum needs as many trials more than unknowns
 *         as it has terms: among many sums, one fits any few numbers by chance
 * gives   the first of these that fits: a constant; an expression of the source program; a sum over
 *         one or two of its symbols and terms, over all of its symbols, or over three; a symbol and
 *         a number, divided and rounded down; the remainder of a symbol */
#include "functionalize/dynamic/dynamic.h"
#include "program/shapes/symbolic_set.h"

#include <math.h>

enum {
  MOST_ATOMS = 40,
  MOST_IN_THREES = 14, /* atoms */
  MOST_DIVISOR = 8,
  LEAST_FOR_QUOTIENT = 5 /* different numbers that are divided */
};

/* --- setting up ------------------------------------------------------------------------------- */
static fnz_status value_at(fnzi_fit *f, const fnzi_expr *e, size_t trial, bool *known,
                           int64_t *out) {
  return fnzi_point_int(&f->trials[trial]->point, e, known, out);
}

/* Is an integer in all trials. */
static fnz_status is_whole(fnzi_fit *f, const fnzi_expr *e, bool *whole) {
  int64_t number;
  *whole = true;
  for (size_t k = 0; k < f->ntrials && *whole; k++)
    FNZ_TRY(value_at(f, e, k, whole, &number));
  return FNZ_OK;
}

static fnz_status add_atom(fnzi_fit *f, const fnzi_expr *e) {
  bool whole;
  for (size_t i = 0; i < f->atoms.count; i++)
    if (f->atoms.data[i] == e)
      return FNZ_OK;
  if (e->is_real)
    return FNZ_OK;
  FNZ_TRY(is_whole(f, e, &whole));
  if (whole && f->atoms.count < MOST_ATOMS)
    FNZI_PUSH(f->sizes->set.ctx, &f->atoms, e);
  return FNZ_OK;
}

/* A number times the other one is no term of its own. */
static fnz_status add_product(fnzi_fit *f, const fnzi_expr *a, const fnzi_expr *b) {
  const fnzi_expr *e;
  if (fnzi_fit_form(f, a) != a || fnzi_fit_form(f, b) != b)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_mul(&f->sizes->set, a, b, &e));
  return add_atom(f, e);
}

/* Products of two symbols, then of one symbol and an expression that the program names: a size and
 * a stride. */
static fnz_status add_products(fnzi_fit *f, size_t known) {
  const fnzi_sizes *s = f->sizes;
  for (size_t i = 0; i < s->free.count && f->atoms.count < MOST_ATOMS; i++)
    for (size_t k = i; k < s->free.count; k++)
      FNZ_TRY(add_product(f, s->free.data[i], s->free.data[k]));
  for (size_t i = 0; i < known && f->atoms.count < MOST_ATOMS; i++)
    for (size_t k = 0; k < s->free.count && f->atoms.data[i]->kind == FNZI_EXPR_CALL; k++)
      FNZ_TRY(add_product(f, f->atoms.data[i], s->free.data[k]));
  return FNZ_OK;
}

/* Symbols first, then the calls and products of the program. */
static fnz_status add_atoms(fnzi_fit *f) {
  const fnzi_sizes *s = f->sizes;
  for (size_t i = 0; i < s->free.count; i++)
    FNZ_TRY(add_atom(f, s->free.data[i]));
  for (size_t i = 0; i < f->known; i++) {
    const fnzi_expr *e = f->forms[i];
    if (e && e->kind >= FNZI_EXPR_PRODUCT && !e->is_real && !fnzi_expr_is_condition(e))
      FNZ_TRY(add_atom(f, e));
  }
  return add_products(f, f->atoms.count);
}

fnz_status fnzi_fit_start(fnzi_fit *f, fnzi_sizes *sizes, fnzi_arena *arena,
                          fnzi_trial *const *trials, size_t ntrials) {
  *f = (fnzi_fit){.sizes = sizes, .trials = trials, .ntrials = ntrials, .arena = arena};
  f->known = sizes->own; /* expressions made for an earlier result may fit by chance */
  fnzi_map_init(&f->seen, sizes->set.ctx);
  FNZ_TRY(fnzi_fit_find_forms(f));
  return add_atoms(f);
}

void fnzi_fit_end(fnzi_fit *f) {
  if (!f->sizes) /* it was never started */
    return;
  FNZI_VEC_FREE(f->sizes->set.ctx, &f->atoms);
  fnzi_map_free(&f->seen);
}

/* --- as they are ------------------------------------------------------------------------------ */
static fnz_status gives(fnzi_fit *f, const fnzi_expr *e, const int64_t *numbers, bool *yes) {
  *yes = true;
  for (size_t k = 0; k < f->ntrials && *yes; k++) {
    int64_t number;
    FNZ_TRY(value_at(f, e, k, yes, &number));
    *yes = *yes && number == numbers[k];
  }
  return FNZ_OK;
}

static bool is_constant(const int64_t *numbers, size_t count) {
  for (size_t k = 1; k < count; k++)
    if (numbers[k] != numbers[0])
      return false;
  return true;
}

/* The size of a slice equals its bound at usual sizes, and only there. */
static fnz_status find_meaning(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  for (size_t i = 0; i < f->sizes->meanings.count && !*out; i++) {
    const fnzi_expr *e = fnzi_fit_form(f, f->sizes->meanings.data[i]);
    bool yes = e != NULL;
    if (yes)
      FNZ_TRY(gives(f, e, numbers, &yes));
    *out = yes ? e : NULL;
  }
  return FNZ_OK;
}

/* Returns the meaning of a slice if one fits, else the known expression with the shortest text. */
static fnz_status find_known(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  FNZ_TRY(find_meaning(f, numbers, out));
  if (*out)
    return FNZ_OK;
  size_t shortest = SIZE_MAX;
  for (size_t i = 0; i < f->known; i++) {
    const fnzi_expr *e = f->forms[i];
    const char *text;
    bool yes;
    if (!e || e->is_real || fnzi_expr_is_condition(e))
      continue;
    FNZ_TRY(fnzi_expr_text(&f->sizes->set, e, &text));
    if (strlen(text) >= shortest)
      continue;
    FNZ_TRY(gives(f, e, numbers, &yes));
    *out = yes ? e : *out;
    shortest = yes ? strlen(text) : shortest;
  }
  return FNZ_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */
static fnz_status make_sum(fnzi_fit *f, const fnzi_expr *const *terms, size_t count,
                           const double *factors, const fnzi_expr **out) {
  int64_t num, den;
  fnzi_exprs *set = &f->sizes->set;
  *out = NULL;
  for (size_t i = 0; i <= count; i++)
    if (!fnzi_fit_fraction(factors[i], &num, &den) || (f->whole && den != 1))
      return FNZ_OK;
  fnzi_fit_fraction(factors[count], &num, &den);
  const fnzi_expr *sum, *term;
  FNZ_TRY(fnzi_expr_number(set, num, den, &sum));
  for (size_t i = 0; i < count; i++) {
    fnzi_fit_fraction(factors[i], &num, &den);
    FNZ_TRY(fnzi_expr_scale(set, terms[i], num, den, &term));
    FNZ_TRY(fnzi_expr_add(set, sum, term, &sum));
  }
  *out = sum;
  return FNZ_OK;
}

/* The terms have the same numbers in both trials. */
static fnz_status are_alike(fnzi_fit *f, const fnzi_expr *const *terms, size_t count, size_t a,
                            size_t b, bool *out) {
  *out = true;
  for (size_t i = 0; i < count && *out; i++) {
    int64_t x, y;
    FNZ_TRY(value_at(f, terms[i], a, out, &x));
    FNZ_TRY(value_at(f, terms[i], b, out, &y));
    *out = x == y;
  }
  return FNZ_OK;
}

/* The terms are different in at least so many trials. */
static fnz_status is_sure(fnzi_fit *f, const fnzi_expr *const *terms, size_t count, size_t least,
                          bool *out) {
  size_t different = 0;
  for (size_t k = 0; k < f->ntrials; k++) {
    bool alike = false;
    for (size_t i = 0; i < k && !alike; i++)
      FNZ_TRY(are_alike(f, terms, count, i, k, &alike));
    different += !alike;
  }
  *out = different >= least;
  return FNZ_OK;
}

/* The number of trials that must differ for the terms of a sum. A symbol plus a constant needs only
 * 2, because most numbers are such sums. */
static size_t least_different(const fnzi_fit *f, const fnzi_expr *const *terms, size_t count,
                              const double *factors) {
  bool plain = count == 1 && terms[0]->kind == FNZI_EXPR_SYMBOL && f->ntrials > 2 &&
               fabs(factors[0] - 1) < 1e-9;
  return plain ? 2 : count + 1 + count;
}

/* factor * term + ... + constant, which is checked on all trials. */
static fnz_status try_sum(fnzi_fit *f, const fnzi_expr *const *terms, size_t count,
                          const int64_t *numbers, const fnzi_expr **out) {
  fnzi_fit_system s = {.unknowns = count + 1};
  double factors[FNZI_FIT_TERMS] = {0};
  bool yes = false;
  *out = NULL;
  for (size_t k = 0; k < f->ntrials && s.found < s.unknowns; k++) {
    double row[FNZI_FIT_TERMS + 1] = {0};
    for (size_t i = 0; i < count; i++) {
      int64_t x;
      FNZ_TRY(value_at(f, terms[i], k, &yes, &x));
      row[i] = (double)x;
    }
    row[count] = 1;
    row[count + 1] = (double)numbers[k];
    fnzi_fit_add_row(&s, row);
  }
  if (s.found < s.unknowns)
    return FNZ_OK;
  fnzi_fit_solve(&s, factors);
  FNZ_TRY(make_sum(f, terms, count, factors, out));
  if (*out)
    FNZ_TRY(gives(f, *out, numbers, &yes));
  if (*out && yes)
    FNZ_TRY(is_sure(f, terms, count, least_different(f, terms, count, factors), &yes));
  *out = yes ? *out : NULL;
  return FNZ_OK;
}

/* All symbols, which sizes of tensors put together are sums of; then any three atoms. */
static fnz_status find_long_sum(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  size_t symbols = f->sizes->free.count;
  size_t count = f->atoms.count < MOST_IN_THREES ? f->atoms.count : MOST_IN_THREES;
  if (symbols > 2 && symbols < FNZI_FIT_TERMS && symbols <= f->atoms.count)
    FNZ_TRY(try_sum(f, f->atoms.data, symbols, numbers, out));
  for (size_t i = 0; i < count && !*out; i++)
    for (size_t j = i + 1; j < count && !*out; j++)
      for (size_t k = j + 1; k < count && !*out; k++) {
        const fnzi_expr *terms[3] = {f->atoms.data[i], f->atoms.data[j], f->atoms.data[k]};
        FNZ_TRY(try_sum(f, terms, 3, numbers, out));
      }
  return FNZ_OK;
}

static fnz_status find_sum_of(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  for (size_t i = 0; i < f->atoms.count && !*out; i++)
    FNZ_TRY(try_sum(f, &f->atoms.data[i], 1, numbers, out));
  for (size_t i = 0; i < f->atoms.count && !*out; i++)
    for (size_t k = i + 1; k < f->atoms.count && !*out; k++) {
      const fnzi_expr *terms[2] = {f->atoms.data[i], f->atoms.data[k]};
      FNZ_TRY(try_sum(f, terms, 2, numbers, out));
    }
  return *out ? FNZ_OK : find_long_sum(f, numbers, out);
}

/* Whole factors first: at sizes that are multiples of 3, 2*(n//3) is 2*n/3 too. */
static fnz_status find_sum(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  f->whole = true;
  FNZ_TRY(find_sum_of(f, numbers, out));
  f->whole = false;
  return *out ? FNZ_OK : find_sum_of(f, numbers, out);
}

/* --- divided ---------------------------------------------------------------------------------- */
/* (atom + c) // d for small numbers. */
static fnz_status find_quotient(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  fnzi_exprs *set = &f->sizes->set;
  for (size_t i = 0; i < f->sizes->free.count && i < f->atoms.count && !*out; i++)
    for (int64_t d = 2; d <= MOST_DIVISOR && !*out; d++)
      for (int64_t c = -MOST_DIVISOR; c <= MOST_DIVISOR && !*out; c++) {
        const fnzi_expr *args[2], *shift, *made;
        bool yes;
        FNZ_TRY(fnzi_expr_number(set, c, 1, &shift));
        FNZ_TRY(fnzi_expr_number(set, d, 1, &args[1]));
        FNZ_TRY(fnzi_expr_add(set, f->atoms.data[i], shift, &args[0]));
        FNZ_TRY(fnzi_expr_call(set, FNZI_FUNCTION_FLOOR_DIV, args, 2, &made));
        FNZ_TRY(gives(f, made, numbers, &yes));
        if (yes)
          FNZ_TRY(is_sure(f, &f->atoms.data[i], 1, LEAST_FOR_QUOTIENT, &yes));
        *out = yes ? made : NULL;
      }
  return FNZ_OK;
}

/* --- remainders ------------------------------------------------------------------------------- */
/* Whether the symbol is a multiple of one number in all trials. The remainder of a multiple may as
 * well be a quotient: multiples of 65 divided by 65 are also their remainders by 64. */
static fnz_status is_multiple(fnzi_fit *f, const fnzi_expr *symbol, bool *out) {
  int64_t divisor = 0;
  for (size_t k = 0; k < f->ntrials; k++) {
    int64_t number;
    bool known;
    FNZ_TRY(value_at(f, symbol, k, &known, &number));
    divisor = known && number > INT64_MIN ? fnzi_gcd(divisor, number < 0 ? -number : number) : 0;
  }
  *out = divisor != 1;
  return FNZ_OK;
}

/* The largest number by which the symbol and all numbers leave the same remainder or, `left`, by
 * which they add up to multiples. */
static fnz_status find_divisor(fnzi_fit *f, const fnzi_expr *symbol, const int64_t *numbers,
                               bool left, int64_t *out) {
  *out = 0;
  for (size_t k = 0; k < f->ntrials; k++) {
    int64_t number, apart;
    bool known;
    FNZ_TRY(value_at(f, symbol, k, &known, &number));
    known = known && numbers[k] > INT64_MIN &&
            fnzi_add_i64(number, left ? numbers[k] : -numbers[k], &apart);
    *out = known && apart > INT64_MIN ? fnzi_gcd(*out, apart < 0 ? -apart : apart) : 1;
  }
  return FNZ_OK;
}

/* Whether the symbol reaches the divisor in some trial. An index from the end looks like a
 * remainder as long as it does not. */
static fnz_status reaches(fnzi_fit *f, const fnzi_expr *symbol, const fnzi_expr *divisor,
                          bool *out) {
  *out = false;
  for (size_t k = 0; k < f->ntrials && !*out; k++) {
    int64_t number, by;
    bool known, is_by;
    FNZ_TRY(value_at(f, symbol, k, &known, &number));
    FNZ_TRY(value_at(f, divisor, k, &is_by, &by));
    *out = known && is_by && number >= by;
  }
  return FNZ_OK;
}

/* symbol mod divisor or, with `left`, divisor - symbol mod divisor. */
static fnz_status try_remainder(fnzi_fit *f, const fnzi_expr *symbol, const fnzi_expr *divisor,
                                bool left, const int64_t *numbers, const fnzi_expr **out) {
  fnzi_exprs *set = &f->sizes->set;
  const fnzi_expr *args[2] = {symbol, divisor}, *made;
  bool yes;
  *out = NULL;
  FNZ_TRY(reaches(f, symbol, divisor, &yes));
  if (!yes)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_call(set, FNZI_FUNCTION_PYTHON_MOD, args, 2, &made));
  if (left) {
    FNZ_TRY(fnzi_expr_scale(set, made, -1, 1, &made));
    FNZ_TRY(fnzi_expr_add(set, divisor, made, &made));
  }
  FNZ_TRY(gives(f, made, numbers, &yes));
  if (yes)
    FNZ_TRY(is_sure(f, args, 1, LEAST_FOR_QUOTIENT, &yes));
  *out = yes ? made : NULL;
  return FNZ_OK;
}

/* Tries a number as divisor, else a symbol: rolling by a data-dependent scalar needs one. */
static fnz_status find_remainder_of(fnzi_fit *f, const fnzi_expr *symbol, bool left,
                                    const int64_t *numbers, const fnzi_expr **out) {
  int64_t number;
  const fnzi_expr *divisor;
  bool is_one;
  FNZ_TRY(is_multiple(f, symbol, &is_one));
  if (is_one)
    return FNZ_OK;
  FNZ_TRY(find_divisor(f, symbol, numbers, left, &number));
  if (number > 1) {
    FNZ_TRY(fnzi_expr_number(&f->sizes->set, number, 1, &divisor));
    return try_remainder(f, symbol, divisor, left, numbers, out);
  }
  for (size_t i = 0; i < f->sizes->free.count && i < f->atoms.count && !*out; i++)
    if (f->sizes->free.data[i] != symbol &&
        fnzi_fit_form(f, f->sizes->free.data[i]) == f->sizes->free.data[i])
      FNZ_TRY(try_remainder(f, symbol, f->sizes->free.data[i], left, numbers, out));
  return FNZ_OK;
}

static fnz_status find_remainder(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  for (size_t i = 0; i < f->sizes->free.count && i < f->atoms.count && !*out; i++)
    for (int left = 0; left < 2 && !*out && !f->sizes->free.data[i]->is_real; left++)
      FNZ_TRY(find_remainder_of(f, f->sizes->free.data[i], left, numbers, out));
  return FNZ_OK;
}

static fnz_status find(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  *out = NULL;
  if (is_constant(numbers, f->ntrials))
    return fnzi_expr_number(&f->sizes->set, numbers[0], 1, out);
  FNZ_TRY(find_known(f, numbers, out));
  if (!*out)
    FNZ_TRY(find_sum(f, numbers, out));
  if (!*out)
    FNZ_TRY(find_quotient(f, numbers, out));
  return *out ? FNZ_OK : find_remainder(f, numbers, out);
}

fnz_status fnzi_fit_numbers(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  size_t bytes = f->ntrials * sizeof *numbers;
  uint64_t id;
  *out = NULL;
  if (fnzi_map_get(&f->seen, numbers, bytes, &id)) {
    *out = id ? f->sizes->set.all.data[id - 1] : NULL;
    return FNZ_OK;
  }
  int64_t *key;
  FNZ_TRY(find(f, numbers, out));
  FNZI_NEW(f->arena, f->ntrials, &key);
  memcpy(key, numbers, bytes);
  return fnzi_map_set(&f->seen, key, bytes, *out ? (uint64_t)(*out)->id + 1 : 0);
}

fnz_status fnzi_fit_some(fnzi_fit *f, const int64_t *numbers, const bool *matters,
                         const fnzi_expr **out) {
  fnzi_fit some = *f;
  fnzi_trial **trials;
  int64_t *wanted;
  FNZI_NEW(f->arena, f->ntrials, &trials);
  FNZI_NEW(f->arena, f->ntrials, &wanted);
  some.trials = trials;
  some.ntrials = 0;
  for (size_t k = 0; k < f->ntrials; k++)
    if (matters[k]) {
      trials[some.ntrials] = f->trials[k];
      wanted[some.ntrials++] = numbers[k];
    }
  return find(&some, wanted, out);
}

fnz_status fnzi_fit_gives(fnzi_fit *f, const fnzi_expr *e, const double *numbers, bool labels,
                          bool *yes) {
  *yes = true;
  for (size_t k = 0; k < f->ntrials && *yes; k++) {
    fnzi_point *point = &f->trials[k]->point;
    double number;
    FNZ_TRY(fnzi_point_real(point, e, yes, &number));
    if (*yes && labels)
      FNZ_TRY(fnzi_point_label(point, e, number, &number));
    *yes = *yes && number == numbers[k];
  }
  return FNZ_OK;
}

static fnz_status find_real(fnzi_fit *f, const double *numbers, bool labels,
                            const fnzi_expr **out) {
  for (size_t i = 0; i < f->known && !*out; i++) {
    const fnzi_expr *e = f->sizes->set.all.data[i];
    bool yes;
    if (e->kind == FNZI_EXPR_NUMBER || e->kind == FNZI_EXPR_REAL ||
        (!labels && fnzi_expr_is_condition(e)))
      continue;
    FNZ_TRY(fnzi_fit_gives(f, e, numbers, labels, &yes));
    *out = yes ? e : NULL;
  }
  return FNZ_OK;
}

fnz_status fnzi_fit_reals(fnzi_fit *f, const double *numbers, bool same, const fnzi_expr **out) {
  *out = NULL;
  FNZ_TRY(find_real(f, numbers, true, out));
  return *out || same ? FNZ_OK : find_real(f, numbers, false, out);
}

fnz_status fnzi_fit_truths(fnzi_fit *f, const int64_t *numbers, const fnzi_expr **out) {
  *out = NULL;
  for (size_t i = 0; i < f->known && !*out; i++) {
    const fnzi_expr *e = f->sizes->set.all.data[i];
    bool yes;
    if (!fnzi_expr_is_condition(e))
      continue;
    FNZ_TRY(gives(f, e, numbers, &yes));
    *out = yes ? e : NULL;
  }
  return FNZ_OK;
}
