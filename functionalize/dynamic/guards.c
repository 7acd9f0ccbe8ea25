/* guards.c - finds the simplest guard that excludes a size at which the general program is wrong.
 *
 * needs   trials at which the program is known to be right or wrong
 * gives   a condition that excludes a wrong trial and no right one. Candidates are tried in this
 *         order: slice bounds within their dimension, whatever else is right; a bound on one
 *         symbol; a non-negative index; an expression that keeps its usual value; a comparison of
 *         two symbols; excluding 0 or 1; a remainder; excluding any one value. If every candidate
 *         also excludes a right trial, the candidate with the best balance (wrong trials excluded
 *         minus right trials lost) that loses no usual size */
#include "functionalize/dynamic/sample.h"

enum { MOST_MODULUS = 8 };

typedef struct search {
  fnzi_general *g;
  fnzi_sizes *sizes;
  const fnzi_trials *trials;
  const fnzi_trial *wrong;
  size_t needed; /* the first `needed` trials that are right must stay allowed */
  size_t least;  /* wrong trials that the guard must exclude at least */
  const fnzi_expr *best;
  size_t kept_out, lost; /* wrong trials that `best` excludes; right trials that it excludes */
} search;

static fnz_status holds_at(fnzi_point *point, const fnzi_expr *e, bool *out) {
  int64_t number;
  FNZ_TRY(fnzi_point_int(point, e, out, &number));
  *out = *out && number == 1;
  return FNZ_OK;
}

static fnz_status holds(const fnzi_trial *t, const fnzi_expr *e, bool *out) {
  return holds_at((fnzi_point *)(uintptr_t)&t->point, e, out);
}

/* Whether wrong trials excluded minus right trials lost is larger than for the best so far. */
static bool is_better(const search *s, size_t kept_out, size_t lost) {
  return !s->best || kept_out + s->lost > s->kept_out + lost;
}

static fnz_status consider(search *s, const fnzi_expr *e) {
  size_t kept_out = 0, lost = 0;
  bool yes;
  FNZ_TRY(holds(s->wrong, e, &yes));
  if (yes)
    return FNZ_OK;
  if (s->g->has_recorded)
    FNZ_TRY(holds_at(&s->g->recorded, e, &yes));
  if (s->g->has_recorded && !yes)
    return FNZ_OK;
  for (size_t i = 0; i < s->trials->count; i++) {
    if (!s->trials->data[i]->valid)
      continue;
    FNZ_TRY(holds(s->trials->data[i], e, &yes));
    if (s->trials->data[i]->right && !yes && i < s->needed)
      return FNZ_OK;
    kept_out += !s->trials->data[i]->right && !yes;
    lost += s->trials->data[i]->right && !yes;
  }
  if (kept_out >= s->least && is_better(s, kept_out, lost)) {
    s->best = e;
    s->kept_out = kept_out;
    s->lost = lost;
  }
  return FNZ_OK;
}

static fnz_status compare(search *s, fnzi_function function, const fnzi_expr *a,
                          const fnzi_expr *b) {
  const fnzi_expr *args[2] = {a, b}, *e;
  FNZ_TRY(fnzi_expr_call(&s->sizes->set, function, args, 2, &e));
  return consider(s, e);
}

static fnz_status compare_number(search *s, fnzi_function function, const fnzi_expr *a,
                                 int64_t number) {
  const fnzi_expr *b;
  FNZ_TRY(fnzi_expr_number(&s->sizes->set, number, 1, &b));
  return compare(s, function, a, b);
}

static fnz_status number_at(const fnzi_trial *t, const fnzi_expr *symbol, int64_t *out) {
  bool known;
  return fnzi_point_int((fnzi_point *)(uintptr_t)&t->point, symbol, &known, out);
}

/* Lower bounds first: what small numbers break, as one of a size does, is often seen only beside
 * large ones, which are as good at keeping it out. */
static fnz_status bounds(search *s) {
  static const fnzi_function functions[] = {FNZI_FUNCTION_GE, FNZI_FUNCTION_LE};
  static const int64_t beside[] = {1, -1};
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
    for (size_t i = 0; i < s->sizes->free.count; i++) {
      int64_t number;
      FNZ_TRY(number_at(s->wrong, s->sizes->free.data[i], &number));
      FNZ_TRY(compare_number(s, functions[f], s->sizes->free.data[i], number + beside[f]));
    }
  return FNZ_OK;
}

/* Tries to bound a slice to its dimension. A negative bound, or one past the dimension, needs
 * another program. Few such numbers are tried, so if one is wrong, all are excluded, even if others
 * happen to be right. */
static fnz_status slice_bounds(search *s) {
  for (size_t i = 0; i < s->sizes->bounds.count && !s->best; i++) {
    const fnzi_slice_bound *b = &s->sizes->bounds.data[i];
    const fnzi_expr *args[2] = {b->symbol};
    int64_t number;
    FNZ_TRY(number_at(s->wrong, b->symbol, &number));
    if (number >= 0 && number <= b->most)
      continue;
    FNZ_TRY(fnzi_expr_number(&s->sizes->set, number < 0 ? 0 : b->most, 1, &args[1]));
    fnzi_function order = number < 0 ? FNZI_FUNCTION_GE : FNZI_FUNCTION_LE;
    FNZ_TRY(fnzi_expr_call(&s->sizes->set, order, args, 2, &s->best));
  }
  return FNZ_OK;
}

/* The same of indices that data gives, where usual ones are not negative. */
static fnz_status indices(search *s) {
  const size_t needed = s->needed;
  s->needed = s->g->usual;
  for (size_t i = 0; i < s->sizes->free.count; i++) {
    const fnzi_expr *symbol = s->sizes->free.data[i];
    int64_t number;
    FNZ_TRY(number_at(s->wrong, symbol, &number));
    if (fnzi_is_data_symbol(symbol) && number < 0)
      FNZ_TRY(compare_number(s, FNZI_FUNCTION_GE, symbol, 0));
  }
  s->needed = needed;
  return FNZ_OK;
}

/* Tries to keep expressions at their usual value. A minimum usually equals one of its arguments,
 * and the result may have replaced it by that argument. */
static fnz_status turns(search *s) {
  for (size_t i = 0; i < s->g->turning.count; i++)
    FNZ_TRY(compare(s, FNZI_FUNCTION_EQ, s->g->turning.data[i].expr, s->g->turning.data[i].like));
  return FNZ_OK;
}

static fnz_status pairs(search *s) {
  static const fnzi_function functions[] = {FNZI_FUNCTION_NE, FNZI_FUNCTION_LE, FNZI_FUNCTION_GE,
                                            FNZI_FUNCTION_LT, FNZI_FUNCTION_GT, FNZI_FUNCTION_EQ};
  for (size_t i = 0; i < s->sizes->free.count; i++)
    for (size_t k = i + 1; k < s->sizes->free.count; k++)
      for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        FNZ_TRY(compare(s, functions[f], s->sizes->free.data[i], s->sizes->free.data[k]));
  return FNZ_OK;
}

static fnz_status remainders(search *s) {
  for (size_t i = 0; i < s->sizes->free.count; i++)
    for (int64_t d = 2; d <= MOST_MODULUS; d++)
      for (int64_t r = 0; r < d; r++) {
        const fnzi_expr *args[2] = {s->sizes->free.data[i]}, *rest;
        FNZ_TRY(fnzi_expr_number(&s->sizes->set, d, 1, &args[1]));
        FNZ_TRY(fnzi_expr_call(&s->sizes->set, FNZI_FUNCTION_MOD, args, 2, &rest));
        FNZ_TRY(compare_number(s, FNZI_FUNCTION_EQ, rest, r));
        FNZ_TRY(compare_number(s, FNZI_FUNCTION_NE, rest, r));
      }
  return FNZ_OK;
}

static fnz_status numbers_between(search *s, int64_t least, int64_t most) {
  for (size_t i = 0; i < s->sizes->free.count; i++) {
    int64_t number;
    FNZ_TRY(number_at(s->wrong, s->sizes->free.data[i], &number));
    if (number >= least && number <= most)
      FNZ_TRY(compare_number(s, FNZI_FUNCTION_NE, s->sizes->free.data[i], number));
  }
  return FNZ_OK;
}

static fnz_status single_numbers(search *s) {
  return numbers_between(s, INT64_MIN, INT64_MAX);
}

/* Sizes 0 and 1 are special in many operators (broadcasting, empty results), so try excluding them
 * before any other number. */
static fnz_status smallest_numbers(search *s) {
  return numbers_between(s, 0, 1);
}

typedef fnz_status kind(search *s);
static kind *const natural[] = {slice_bounds, bounds, indices, turns, pairs, NULL};
static kind *const repeating[] = {remainders, NULL};
static kind *const single[] = {single_numbers, NULL};
static kind *const smallest[] = {smallest_numbers, NULL};

/* The first kind that has one. */
static fnz_status look_among(search *s, kind *const *kinds) {
  for (size_t i = 0; kinds[i] && !s->best; i++)
    FNZ_TRY(kinds[i](s));
  return FNZ_OK;
}

static size_t count_wrong(const fnzi_trials *trials) {
  size_t n = 0;
  for (size_t i = 0; i < trials->count; i++)
    n += trials->data[i]->valid && !trials->data[i]->right;
  return n;
}

/* One after the other, until something is found. A remainder separates any few numbers: what
 * keeps out all that is wrong, and no usual sizes, is better than one that happens to lose nothing.
 */
fnz_status fnzi_find_guard(fnzi_general *g, const fnzi_trial *wrong, const fnzi_expr **out) {
  search s = {.g = g, .sizes = &g->sizes, .trials = &g->trials, .wrong = wrong};
  const size_t all = g->trials.count, usual = g->usual, every = count_wrong(&g->trials);
  const struct {
    kind *const *kinds;
    size_t needed, least;
  } rounds[] = {{natural, all, 0},    {smallest, all, every},  {repeating, all, every},
                {single, all, every}, {natural, usual, every}, {repeating, usual, every},
                {repeating, all, 0},  {single, all, 0},        {natural, usual, 0},
                {single, usual, 0}};
  for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
    s.needed = rounds[i].needed;
    s.least = rounds[i].least;
    FNZ_TRY(look_among(&s, rounds[i].kinds));
  }
  *out = s.best;
  return FNZ_OK;
}
