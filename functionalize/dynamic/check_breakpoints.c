/* check_breakpoints.c - checks the general program at breakpoints of expressions. In the trials
 * that the program was made from, an expression may always have had one value, or equalled one of
 * its arguments, as Min(n, 1000) equals n. The program may contain that value in its place, and is
 * wrong at other sizes then.
 *
 * needs   the general program, trials at usual sizes
 * gives   further trials, checked; the expressions that turn, and a list of expressions that turn
 *         only at sizes too large to be tried */
#include "functionalize/dynamic/sample.h"

enum { ENOUGH = 3 /* trials at which a turn is tried by two symbols */ };

typedef enum comparison { NOT_KNOWN, SAME, DIFFERENT } comparison;

/* *number: that of `a` there, where both are known. */
static fnz_status compare_in(fnzi_trial *t, const fnzi_expr *a, const fnzi_expr *b, int64_t *number,
                             comparison *out) {
  bool known[2];
  int64_t other;
  FNZ_TRY(fnzi_point_int(&t->point, a, &known[0], number));
  FNZ_TRY(fnzi_point_int(&t->point, b, &known[1], &other));
  *out = !known[0] || !known[1] ? NOT_KNOWN : *number == other ? SAME : DIFFERENT;
  return FNZ_OK;
}

/* Which trials count. */
typedef bool trial_is(const fnzi_trial *t);

static bool is_valid(const fnzi_trial *t) {
  return t->valid;
}

static bool is_right(const fnzi_trial *t) {
  return t->valid && t->right;
}

/* The program was made from it. */
static bool is_fitted(const fnzi_trial *t) {
  return t->valid && t->fits;
}

/* How two expressions compare in the trials asked. */
typedef struct tally {
  size_t same, different;
  int64_t number; /* of the first one, where they were first different */
  bool varies;    /* it has others, too, or is not known somewhere */
} tally;

static fnz_status count_same(fnzi_general *g, trial_is *is, const fnzi_expr *a, const fnzi_expr *b,
                             tally *out) {
  *out = (tally){0};
  for (size_t i = 0; i < g->trials.count && !out->varies; i++) {
    comparison c;
    int64_t number;
    if (!is(g->trials.data[i]))
      continue;
    FNZ_TRY(compare_in(g->trials.data[i], a, b, &number, &c));
    out->same += c == SAME;
    out->different += c == DIFFERENT;
    out->number = c == DIFFERENT && out->different == 1 ? number : out->number;
    out->varies = c == NOT_KNOWN || (c == DIFFERENT && number != out->number);
  }
  return FNZ_OK;
}

fnz_status fnzi_trials_equal(fnzi_general *g, const fnzi_expr *a, const fnzi_expr *b, bool right,
                             bool *out) {
  tally t;
  FNZ_TRY(count_same(g, right ? is_right : is_valid, a, b, &t));
  *out = t.same && !t.different && !t.varies;
  return FNZ_OK;
}

/* The value of e in the first valid trial from index `from` on; NULL if it is not known. */
static fnz_status number_from(fnzi_general *g, size_t from, const fnzi_expr *e,
                              const fnzi_expr **out) {
  bool known = false;
  int64_t number;
  *out = NULL;
  for (size_t i = from; i < g->trials.count && !known; i++)
    if (g->trials.data[i]->valid)
      FNZ_TRY(fnzi_point_int(&g->trials.data[i]->point, e, &known, &number));
  return known ? fnzi_expr_number(&g->sizes.set, number, 1, out) : FNZ_OK;
}

fnz_status fnzi_trials_number(fnzi_general *g, const fnzi_expr *e, const fnzi_expr **out) {
  return number_from(g, 0, e, out);
}

/* Makes the check at numbers of a trial that were found, if `e` and `like` differ there and the
 * program is small enough; else *left_out becomes true. */
static fnz_status check_where_different(fnzi_general *g, fnzi_trial *t, fnz_status status,
                                        bool found, const fnzi_expr *e, const fnzi_expr *like,
                                        bool *left_out) {
  comparison c = NOT_KNOWN;
  int64_t number;
  bool small = false;
  if (status == FNZ_OK && found)
    status = compare_in(t, e, like, &number, &c);
  if (status == FNZ_OK && c == DIFFERENT)
    status = fnzi_sizes_are_small(&g->sizes, &t->point, &small);
  *left_out = *left_out || (c == DIFFERENT && !small);
  return fnzi_trial_check_once(g, t, status, small);
}

/* Near the numbers at which they cease to be the same as one symbol grows or shrinks. */
static fnz_status check_one_symbol(fnzi_general *g, const fnzi_expr *e, const fnzi_expr *like,
                                   bool *left_out) {
  bool more = true;
  for (size_t k = 0; more; k++) {
    fnzi_trial *t;
    bool found = false;
    FNZ_TRY(fnzi_trial_new(g, &t));
    fnz_status status = fnzi_trial_numbers(g, &g->trials.data[0]->point, &t->point);
    more = false;
    if (status == FNZ_OK)
      status = fnzi_draw_turn(&g->sizes, e, like, k, &t->point, &more, &found);
    FNZ_TRY(check_where_different(g, t, status, found, e, like, left_out));
  }
  return FNZ_OK;
}

static bool are_data(const fnzi_expr *a, const fnzi_expr *b) {
  return fnzi_is_data_symbol(a) && fnzi_is_data_symbol(b);
}

/* Numbers of data may be indices, for which tensors are made large enough. */
static fnz_status check_at(fnzi_general *g, const fnzi_seen_same *pair, const fnzi_expr *a,
                           int64_t x, const fnzi_expr *b, int64_t y) {
  fnzi_trial *t;
  bool found, left_out = false;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_trial_set_two(g, t, a, x, b, y, &found);
  if (status == FNZ_OK && found && are_data(a, b))
    status = fnzi_draw_room(&g->sizes, x > y ? x : y, &t->point, &found);
  return check_where_different(g, t, status, found, pair->expr, pair->like, &left_out);
}

/* Checks at small numbers of two symbols, the smallest first, until the program works at some at
 * which e and `like` differ: changing one symbol may not be enough to get there. */
static fnz_status check_two_symbols(fnzi_general *g, const fnzi_seen_same *pair, const fnzi_expr *a,
                                    const fnzi_expr *b) {
  const size_t before = g->trials.count;
  size_t left = fnzi_trials_most_special(g);
  for (int64_t larger = 0; left > 0; larger++)
    for (int64_t less = 0; less <= larger && left > 0; less++, left--) {
      if (g->trials.count >= before + ENOUGH)
        return FNZ_OK;
      FNZ_TRY(check_at(g, pair, a, larger, b, less));
      FNZ_TRY(check_at(g, pair, a, less, b, larger));
    }
  return FNZ_OK;
}

fnz_status fnzi_trials_parts(fnzi_general *g, const fnzi_expr *e, uint8_t **out) {
  FNZI_NEW(&g->arena, g->sizes.set.all.count, out);
  (*out)[e->id] = true;
  fnzi_mark_parts(&g->sizes, (size_t)e->id + 1, *out);
  return FNZ_OK;
}

/* Symbols of the expression; and a number of data that it takes with another one, which may be the
 * other end of a slice. */
static fnz_status check_pairs(fnzi_general *g, const fnzi_seen_same *pair) {
  uint8_t *parts;
  FNZ_TRY(fnzi_trials_parts(g, pair->expr, &parts));
  for (size_t i = 0; i < g->sizes.free.count; i++)
    for (size_t k = i + 1; k < g->sizes.free.count; k++) {
      const fnzi_expr *a = g->sizes.free.data[i], *b = g->sizes.free.data[k];
      if ((parts[a->id] && parts[b->id]) || (are_data(a, b) && (parts[a->id] || parts[b->id])))
        FNZ_TRY(check_two_symbols(g, pair, a, b));
    }
  return FNZ_OK;
}

/* Checks sizes at which the two differ; *left_out becomes true if the program is too large
 * there. */
static fnz_status check_turns_of(fnzi_general *g, const fnzi_seen_same *pair, bool *left_out) {
  const size_t before = g->trials.count;
  FNZ_TRY(check_one_symbol(g, pair->expr, pair->like, left_out));
  return g->trials.count == before ? check_pairs(g, pair) : FNZ_OK;
}

/* The k-th thing that the general program may contain in place of the expression: its value in the
 * first two trials or, for a call, one of its arguments. *same: both were equal in most trials that
 * the program was made from. A replacement must be equal in most trials: if it had to fit only one
 * other value, any term of a sum would do. NULL when there is no such k-th one. */
static fnz_status taken_for(fnzi_general *g, const fnzi_expr *e, size_t k, const fnzi_expr **out,
                            bool *same) {
  tally t;
  *same = false;
  *out = NULL;
  if (k < 2)
    FNZ_TRY(number_from(g, k, e, out));
  if (k == 1 && !*out)
    FNZ_TRY(number_from(g, 0, e, out));
  if (k >= 2 && e->kind == FNZI_EXPR_CALL && k - 2 < e->count)
    *out = e->parts[k - 2].expr;
  if (!*out)
    return FNZ_OK;
  FNZ_TRY(count_same(g, is_fitted, e, *out, &t));
  *same = t.same > t.different && !t.varies;
  return FNZ_OK;
}

fnz_status fnzi_trials_made(fnzi_general *g, uint8_t **out) {
  const fnzi_sizes *s = &g->sizes;
  FNZI_NEW(&g->arena, s->set.all.count, out);
  for (size_t i = 1; i < g->program->symbols.count; i++)
    if (s->symbols[i])
      (*out)[s->symbols[i]->id] = true;
  fnzi_mark_parts(s, s->set.all.count, *out);
  for (size_t i = 0; i < s->set.all.count; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    (*out)[i] = (*out)[i] && e->kind != FNZI_EXPR_SYMBOL && e->kind != FNZI_EXPR_NUMBER &&
                !fnzi_expr_is_condition(e);
  }
  return FNZ_OK;
}

/* The first two trials may have the same number. */
static bool is_last_turning(const fnzi_general *g, const fnzi_seen_same *pair) {
  const fnzi_seen_same *last = g->turning.count ? &g->turning.data[g->turning.count - 1] : NULL;
  return last && last->expr == pair->expr && last->like == pair->like;
}

fnz_status fnzi_trials_check_turns(fnzi_general *g) {
  uint8_t *made;
  size_t count = g->sizes.set.all.count;
  FNZ_TRY(fnzi_trials_made(g, &made));
  for (size_t i = 0; i < count; i++) {
    fnzi_seen_same u = {g->sizes.set.all.data[i], g->sizes.set.all.data[i]};
    for (size_t k = 0; made[i] && u.like; k++) {
      bool same, left_out = false;
      FNZ_TRY(taken_for(g, u.expr, k, &u.like, &same));
      if (!same || is_last_turning(g, &u))
        continue;
      FNZI_PUSH(g->ctx, &g->turning, u);
      FNZ_TRY(check_turns_of(g, &u, &left_out));
      if (left_out)
        FNZI_PUSH(g->ctx, &g->unsure, u);
    }
  }
  return FNZ_OK;
}
