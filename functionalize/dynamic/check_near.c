/* check_near.c - sizes near others at which the general program is checked: the smallest ones of
 * any two symbols, one beside many, a few in a row, each even and odd.
 *
 * needs   the general program, the most usual of its trials
 * gives   further trials, as check.c does */
#include "functionalize/dynamic/sample.h"
#include "program/shapes/equations.h"

enum {
  ALIKE = 3,         /* numbers that all symbols have at once */
  SMALLEST = 5,      /* all numbers below it are tried; where few sizes work, more */
  SUCCESSIVE = 5,    /* numbers tried behind a usual one */
  MANY = 3,          /* so many times a usual number are many */
  MOST_PARITIES = 4, /* of so many symbols each is tried even and odd, beside the others */
  SMALL_PAIR = 32    /* a pair of symbols for so many special sizes */
};

/* --- small numbers ---------------------------------------------------------------------------- */
static fnz_status set_two(fnzi_general *g, fnzi_trial *t, const fnzi_expr *a, int64_t x,
                          const fnzi_expr *b, int64_t y, bool *found) {
  const fnzi_condition *broken;
  FNZ_TRY(fnzi_point_set(&t->point, a, x));
  FNZ_TRY(fnzi_point_set(&t->point, b, y));
  FNZ_TRY(fnzi_sizes_admit(&g->sizes, &t->point, &broken));
  *found = !broken;
  return FNZ_OK;
}

fnz_status fnzi_trial_set_two(fnzi_general *g, fnzi_trial *t, const fnzi_expr *a, int64_t x,
                              const fnzi_expr *b, int64_t y, bool *found) {
  *found = false;
  FNZ_TRY(fnzi_trial_numbers(g, &g->base->point, &t->point));
  return set_two(g, t, a, x, b, y, found);
}

static fnz_status set_data_zero(fnzi_general *g, fnzi_trial *t) {
  for (size_t i = 0; i < g->sizes.free.count; i++)
    if (fnzi_is_data_symbol(g->sizes.free.data[i]))
      FNZ_TRY(fnzi_point_set(&t->point, g->sizes.free.data[i], 0));
  return FNZ_OK;
}

static fnz_status check_beside_zeros(fnzi_general *g, const fnzi_expr *a, int64_t x,
                                     const fnzi_expr *b, int64_t y) {
  fnzi_trial *t;
  bool found = false;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_trial_numbers(g, &g->base->point, &t->point);
  if (status == FNZ_OK)
    status = set_data_zero(g, t);
  if (status == FNZ_OK)
    status = set_two(g, t, a, x, b, y, &found);
  return fnzi_trial_check_once(g, t, status, found);
}

fnz_status fnzi_trials_check_at(fnzi_general *g, const fnzi_expr *a, int64_t x, const fnzi_expr *b,
                                int64_t y) {
  fnzi_trial *t;
  bool found;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_trial_set_two(g, t, a, x, b, y, &found);
  return fnzi_trial_check_once(g, t, status, found);
}

/* All symbols at once; in the order of sizes.free. */
static fnz_status check_numbers(fnzi_general *g, const int64_t *numbers) {
  const fnzi_condition *broken = NULL;
  fnzi_trial *t;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < g->sizes.free.count && status == FNZ_OK; i++)
    status = fnzi_point_set(&t->point, g->sizes.free.data[i], numbers[i]);
  if (status == FNZ_OK)
    status = fnzi_sizes_admit(&g->sizes, &t->point, &broken);
  return fnzi_trial_check_once(g, t, status, !broken);
}

/* All symbols have the same number: nothing at all, of nothing. */
static fnz_status check_alike(fnzi_general *g) {
  int64_t *numbers;
  FNZI_NEW(&g->arena, g->sizes.free.count, &numbers);
  for (int64_t number = 0; number < ALIKE; number++) {
    for (size_t i = 0; i < g->sizes.free.count; i++)
      numbers[i] = number;
    FNZ_TRY(check_numbers(g, numbers));
  }
  return FNZ_OK;
}

/* The last index of all is -1. */
static int64_t least_of(const fnzi_expr *symbol) {
  return fnzi_is_data_symbol(symbol) ? -1 : 0;
}

/* Usual indices are too large for small sizes, so where the source does not work beside them it is
 * tried with all that is read off data at 0. */
static fnz_status check_small_at(fnzi_general *g, const fnzi_expr *a, int64_t x, const fnzi_expr *b,
                                 int64_t y) {
  const size_t before = g->trials.count;
  FNZ_TRY(fnzi_trials_check_at(g, a, x, b, y));
  return g->trials.count > before ? FNZ_OK : check_beside_zeros(g, a, x, b, y);
}

static fnz_status check_all_below(fnzi_general *g, int64_t below, const fnzi_expr *a,
                                  const fnzi_expr *b) {
  for (int64_t x = least_of(a); x < below; x++)
    for (int64_t y = least_of(b); y < below; y++)
      FNZ_TRY(check_small_at(g, a, x, b, y));
  return FNZ_OK;
}

/* The more pairs of symbols there are, the fewer numbers of each: about 300 pairs of numbers. */
static int64_t small_below(const fnzi_general *g) {
  static const int64_t below[] = {15, 15, 15, 10, 7};
  const size_t count = g->sizes.free.count;
  return count < sizeof below / sizeof *below ? below[count] : SMALLEST;
}

/* By the ids of expressions, a bit for each of the first symbols that they contain. In the arena.
 */
static fnz_status find_spoken_of(fnzi_general *g, uint64_t **out) {
  const fnzi_exprs *set = &g->sizes.set;
  FNZI_NEW(&g->arena, set->all.count, out);
  for (size_t i = 0; i < g->sizes.free.count && i < 64; i++)
    (*out)[g->sizes.free.data[i]->id] |= UINT64_C(1) << i;
  for (size_t e = 0; e < set->all.count; e++)
    for (uint32_t k = 0; k < set->all.data[e]->count; k++)
      (*out)[e] |= (*out)[set->all.data[e]->parts[k].expr->id];
  return FNZ_OK;
}

/* Some number of the program depends on both. */
static bool are_related(const fnzi_general *g, const uint64_t *spoken_of, size_t a, size_t b) {
  const uint64_t both = spoken_of[g->sizes.free.data[a]->id] | spoken_of[g->sizes.free.data[b]->id];
  for (size_t i = 0; i < g->program->symbols.count; i++) {
    const fnzi_expr *e = g->sizes.symbols[i];
    if (e && (spoken_of[e->id] & both) == both)
      return true;
  }
  return false;
}

/* The smallest numbers of two symbols: an index of 0 into a size of 1. If few sizes work, the
 * working ones may have something in common that other sizes lack, and usual sizes show little.
 * More small ones are tried then. This is not needed if the usual sizes were made equal, because a
 * guard keeps them so. There may be no time for all pairs: those go first that some number depends
 * on together. */
static fnz_status check_small_pairs(fnzi_general *g) {
  const size_t count = g->sizes.free.count, most = fnzi_trials_most_special(g) / SMALL_PAIR;
  const int64_t below = g->rare && !g->alike ? small_below(g) : SMALLEST;
  uint64_t *spoken_of;
  FNZ_TRY(find_spoken_of(g, &spoken_of));
  for (size_t round = 0, pairs = 0; round < 2; round++)
    for (size_t i = 0; i < count && pairs < most; i++)
      for (size_t k = count > 1 ? i + 1 : i; k < count && pairs < most; k++)
        if (are_related(g, spoken_of, i, k) == (round == 0)) {
          FNZ_TRY(check_all_below(g, below, g->sizes.free.data[i], g->sizes.free.data[k]));
          pairs++;
        }
  return FNZ_OK;
}

static fnz_status check_small(fnzi_general *g) {
  FNZ_TRY(check_alike(g));
  return check_small_pairs(g);
}

/* Each size alone a little larger: among so many one after the other each remainder comes up, by 2
 * to 6. Usual ones are few, and may have but some of them. */
static fnz_status check_larger(fnzi_general *g) {
  const size_t most = fnzi_trials_most_special(g);
  for (size_t i = 0; i < g->sizes.free.count && i < most / SUCCESSIVE; i++) {
    const fnzi_expr *symbol = g->sizes.free.data[i];
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(&g->base->point, symbol, &known, &number));
    for (int64_t more = 1; known && more <= SUCCESSIVE; more++)
      FNZ_TRY(fnzi_trials_check_at(g, symbol, number + more, symbol, number + more));
  }
  return FNZ_OK;
}

/* All symbols at the base, and room for others. In the arena. */
static fnz_status usual_numbers(fnzi_general *g, int64_t **usual, int64_t **others) {
  FNZI_NEW(&g->arena, g->sizes.free.count, others);
  return fnzi_free_numbers(&g->sizes, &g->base->point, &g->arena, usual);
}

/* A product is odd where all of its factors are: one of eight, of three. */
static fnz_status check_parities(fnzi_general *g) {
  const size_t count = g->sizes.free.count;
  int64_t *usual, *others;
  FNZ_TRY(usual_numbers(g, &usual, &others));
  for (size_t bits = 1; count <= MOST_PARITIES && bits >> count == 0; bits++) {
    for (size_t i = 0; i < count; i++)
      others[i] = usual[i] + (int64_t)(bits >> i & 1);
    FNZ_TRY(check_numbers(g, others));
  }
  return FNZ_OK;
}

/* Dimensions of one element are laid out like any other, so that what is a copy elsewhere may be a
 * view there. If the other sizes are small too, an index may be too large for them. */
static fnz_status check_ones(fnzi_general *g) {
  const size_t count = g->sizes.free.count, most = fnzi_trials_most_special(g);
  int64_t *usual, *others;
  FNZ_TRY(usual_numbers(g, &usual, &others));
  for (size_t one = 0; one < count && one < most; one++) {
    for (size_t i = 0; i < count; i++) {
      others[i] = usual[i];
      if (!fnzi_is_data_symbol(g->sizes.free.data[i]) && !fnzi_mul_i64(MANY, usual[i], &others[i]))
        others[i] = usual[i];
    }
    others[one] = 1;
    FNZ_TRY(check_numbers(g, others));
  }
  return FNZ_OK;
}

fnz_status fnzi_trials_check_near(fnzi_general *g) {
  FNZ_TRY(check_small(g));
  FNZ_TRY(check_ones(g));
  FNZ_TRY(check_larger(g));
  return check_parities(g);
}
