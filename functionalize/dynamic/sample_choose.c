/* sample_choose.c - sizes at which the program is tried: the exporter's, usual ones, and the same
 * with other data-dependent scalars.
 *
 * needs   a verified program with symbols, its sizes open
 * gives   trials at sizes that are different from each other and not small; some differ in numbers
 *         of data only, which shows what windows these move */
#include "functionalize/dynamic/sample.h"

enum {
  ATTEMPTS = 96, /* to find usual sizes that the program takes */
  MOST_TRIALS = 24,
  NARROW_SPAN = 4, /* what works only in so small a one works at few sizes */
  MOVED = 3,       /* trials with other data at the same sizes */
  MOVES = 12       /* attempts to find one */
};

/* Operators that copy take indices that lie nowhere, as far as a pass sees; running them decides.
 */
static fnz_status try_source(fnzi_general *g, fnzi_trial *t) {
  fnz_program *source = NULL;
  bool bearable;
  FNZ_TRY(fnzi_sizes_are_bearable(&g->sizes, &t->point, &bearable));
  if (!g->options->asked.check || !fnzi_sizes_have_data(&g->sizes) || !bearable)
    return FNZ_OK;
  fnz_status status = fnzi_instantiate(&g->sizes, &t->point, FNZI_READINGS_WATCHED, &source);
  if (status == FNZ_OK)
    status = fnzi_general_compare(g, source, source);
  fnz_program_destroy(source);
  return status == FNZ_BAD_INPUT || fnzi_is_final(status) ? status : FNZ_OK;
}

/* Keeps the trial when the pass works there. */
static fnz_status try_sizes(fnzi_general *g, fnzi_trial *t, bool *kept, fnz_status *failure) {
  *kept = false;
  fnz_status status = fnzi_trial_run(g, t);
  if (status == FNZ_OK) {
    FNZI_PUSH(g->ctx, &g->trials, t);
    *kept = true;
    return FNZ_OK;
  }
  *failure = status;
  return fnzi_is_final(status) || status == FNZ_INTERNAL ? status : FNZ_OK;
}

/* Tries the source first, if it can be run, then the pass. Only the exporter's own example is not
 * tried this way: it is known to work. */
static fnz_status try_drawn(fnzi_general *g, fnzi_trial *t, bool *kept, fnz_status *failure) {
  *kept = false;
  fnz_status status = try_source(g, t);
  if (status == FNZ_OK)
    return try_sizes(g, t, kept, failure);
  *failure = status;
  return fnzi_is_final(status) ? status : FNZ_OK;
}

static size_t trials_wanted(const fnzi_general *g) {
  size_t wanted = 2 * g->sizes.free.count + 6;
  return wanted < MOST_TRIALS ? wanted : MOST_TRIALS;
}

static bool is_size_of(const fnzi_general *g, const fnz_geometry *shape, const fnzi_expr *symbol) {
  for (uint32_t d = 0; shape && shape->symbols && d < shape->rank; d++)
    if (shape->symbols[d] && g->sizes.symbols[shape->symbols[d]] == symbol)
      return true;
  return false;
}

/* Every symbol is the size of an input, so a guard on inputs can demand that some are equal. */
static bool inputs_have_all(const fnzi_general *g) {
  const fnzi_graph *graph = &g->program->graphs.data[0];
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    bool found = false;
    for (uint32_t k = 0; k < graph->ninputs && !found; k++) {
      const fnz_arg *arg = &graph->inputs[k];
      found = arg->tag == FNZ_ARG_VALUE &&
              is_size_of(g, graph->values.data[arg->u.value].geometry, g->sizes.free.data[i]);
    }
    if (!found)
      return false;
  }
  return true;
}

/* Drops the recorded sizes if they break a condition, as an example's sizes may do by mistake: they
 * say nothing about the program then. */
static fnz_status drop_recorded(fnzi_general *g) {
  const fnzi_condition *broken;
  FNZ_TRY(fnzi_sizes_admit(&g->sizes, &g->recorded, &broken));
  g->has_recorded = g->has_recorded && !broken;
  return FNZ_OK;
}

/* No sizes were found that keep to all conditions: names the condition that the numbers of the
 * point break. */
static fnz_status breaks(fnzi_general *g, fnzi_point *point, const fnzi_condition *c,
                         const char *whose) {
  fnz_buffer asks = {NULL, 0, 0}, text = {NULL, 0, 0};
  fnz_status status = fnzi_sizes_put_condition(&g->sizes, c, &asks);
  if (status == FNZ_OK)
    status = fnzi_sizes_text(&g->sizes, point, &text);
  if (status == FNZ_OK)
    status =
        fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                  "no sizes were found that keep to the program's ranges and guards: it is for "
                  "sizes with %s, %s are %s; correct these conditions, or record sizes that "
                  "keep to them",
                  asks.data, whose, text.data ? text.data : "(none)");
  fnz_buffer_free(g->ctx, &asks);
  fnz_buffer_free(g->ctx, &text);
  return status;
}

static fnz_status no_sizes(fnzi_general *g) {
  const fnzi_condition *broken;
  fnzi_point point;
  bool found;
  FNZ_TRY(fnzi_sizes_admit(&g->sizes, &g->recorded, &broken));
  if (broken)
    return breaks(g, &g->recorded, broken, "the recorded ones");
  fnzi_point_init(&point, &g->sizes.set);
  fnz_status status = fnzi_draw_numbers(&g->draw, &point, &found);
  if (status == FNZ_OK)
    status = fnzi_sizes_admit(&g->sizes, &point, &broken);
  if (status == FNZ_OK && broken)
    status = breaks(g, &point, broken, "the last ones tried");
  else if (status == FNZ_OK)
    status = fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "no sizes were found that keep to the program's ranges");
  fnzi_point_free(&point);
  return status;
}

/* They differ in numbers of data at most. */
static fnz_status same_sizes(fnzi_general *g, fnzi_trial *a, fnzi_trial *b, bool *out) {
  *out = true;
  for (size_t i = 0; i < g->sizes.free.count && *out; i++) {
    const fnzi_expr *symbol = g->sizes.free.data[i];
    bool known;
    int64_t x, y;
    FNZ_TRY(fnzi_point_int(&a->point, symbol, &known, &x));
    FNZ_TRY(fnzi_point_int(&b->point, symbol, &known, &y));
    *out = fnzi_is_data_symbol(symbol) || x == y;
  }
  return FNZ_OK;
}

/* Marks the trials that have the sizes of trial i as like it; *found if there is one. */
static fnz_status join_moved(fnzi_general *g, size_t i, bool *found) {
  fnzi_trial *t = g->trials.data[i];
  *found = false;
  for (size_t k = 0; k < g->trials.count; k++) {
    bool same = false;
    if (k != i && g->trials.data[k] != t->like)
      FNZ_TRY(same_sizes(g, t, g->trials.data[k], &same));
    if (same && !g->trials.data[k]->like)
      g->trials.data[k]->like = t;
    *found = *found || same;
  }
  return FNZ_OK;
}

/* Draws other data-dependent scalars for the point; *found false if the draw finds none. */
static fnz_status draw_data(fnzi_general *g, fnzi_point *point, bool *found) {
  fnzi_point other;
  const fnzi_condition *broken = NULL;
  fnzi_point_init(&other, &g->sizes.set);
  fnz_status status = fnzi_draw_numbers(&g->draw, &other, found);
  for (size_t i = 0; status == FNZ_OK && i < g->sizes.free.count; i++) {
    const fnzi_expr *symbol = g->sizes.free.data[i];
    bool known;
    int64_t number;
    status = fnzi_point_int(&other, symbol, &known, &number);
    if (status == FNZ_OK && known && fnzi_is_data_symbol(symbol))
      status = fnzi_point_set(point, symbol, number);
  }
  if (status == FNZ_OK)
    status = fnzi_sizes_admit(&g->sizes, point, &broken);
  *found = *found && !broken;
  fnzi_point_free(&other);
  return status;
}

/* A trial at the sizes of another one with other data, if one is found soon. */
static fnz_status add_moved(fnzi_general *g, fnzi_trial *like) {
  fnz_status failure = FNZ_OK;
  bool kept = false;
  for (size_t i = 0; i < MOVES && !kept; i++) {
    fnzi_trial *t;
    bool found = false, there = true;
    FNZ_TRY(fnzi_trial_new(g, &t));
    fnz_status status = fnzi_trial_numbers(g, &like->point, &t->point);
    if (status == FNZ_OK)
      status = draw_data(g, &t->point, &found);
    if (status == FNZ_OK && found)
      status = fnzi_trials_have(g, &t->point, &there);
    t->like = like;
    if (status == FNZ_OK && !there)
      status = try_drawn(g, t, &kept, &failure);
    if (!kept)
      fnzi_trial_end(g, t);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

/* The exporter saw the same number for two symbols. */
static fnz_status are_some_equal(fnzi_general *g, bool *out) {
  *out = false;
  for (size_t i = 0; i < g->sizes.free.count; i++)
    for (size_t k = i + 1; k < g->sizes.free.count && !*out; k++) {
      bool known;
      int64_t a, b;
      FNZ_TRY(fnzi_point_int(&g->recorded, g->sizes.free.data[i], &known, &a));
      FNZ_TRY(fnzi_point_int(&g->recorded, g->sizes.free.data[k], &known, &b));
      *out = a == b;
    }
  return FNZ_OK;
}

/* The exporter's sizes, and new ones for symbols that it did not record. */
static fnz_status draw_recorded(fnzi_general *g, fnzi_point *point, bool *found) {
  const fnzi_condition *broken = NULL;
  *found = g->has_recorded;
  if (!g->has_recorded)
    FNZ_TRY(fnzi_draw_numbers(&g->draw, point, found));
  if (!*found)
    return FNZ_OK;
  FNZ_TRY(fnzi_trial_numbers(g, &g->recorded, point));
  FNZ_TRY(fnzi_sizes_admit(&g->sizes, point, &broken));
  *found = !broken;
  return FNZ_OK;
}

typedef struct finding {
  fnzi_general *g;
  fnz_status failure;      /* of the last sizes that the program did not take */
  size_t attempts, failed; /* failed since one that did not */
  bool have_equal;         /* the exporter's sizes contain equal symbols */
} finding;

/* A trial at new numbers: *kept, or it has ended. */
static fnz_status attempt(finding *f, bool *kept) {
  fnzi_general *g = f->g;
  bool found, there = false, first = f->attempts++ == 0, recorded = first && g->has_recorded;
  bool as_recorded = first || (f->failed % 4 == 2 && !g->has_recorded);
  fnzi_trial *t;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = as_recorded ? draw_recorded(g, &t->point, &found)
                                  : fnzi_draw_numbers(&g->draw, &t->point, &found);
  if (status == FNZ_OK && found)
    status = fnzi_trials_have(g, &t->point, &there);
  if (status == FNZ_OK && found && !there)
    status = recorded ? try_sizes(g, t, kept, &f->failure) : try_drawn(g, t, kept, &f->failure);
  if (!*kept)
    fnzi_trial_end(g, t);
  return status;
}

/* A program that fails at some sizes may work at smaller ones, because indices must be within their
 * dimensions. It may also work if sizes are equal that the exporter recorded as equal. */
static fnz_status find_usual(finding *f) {
  fnzi_general *g = f->g;
  while (f->attempts < ATTEMPTS && g->trials.count < trials_wanted(g)) {
    bool like = f->failed / 4 % 2 == 1 && f->have_equal, kept = false;
    g->draw.like = like ? &g->recorded : NULL;
    FNZ_TRY(attempt(f, &kept));
    if (!kept && f->attempts == 1 && g->has_recorded)
      return f->failure; /* the exporter's own sizes */
    g->alike = g->alike || (kept && like);
    f->failed = kept ? 0 : f->failed + 1;
    if (f->failed % 4 == 3 && g->draw.span > 1)
      g->draw.span = g->draw.span * 2 / 3;
  }
  g->draw.like = NULL;
  g->rare = g->trials.count < trials_wanted(g) || g->draw.span <= NARROW_SPAN;
  return FNZ_OK;
}

/* The exporter's numbers, but one more for the symbol. */
static fnz_status set_apart(fnzi_general *g, fnzi_point *point, const fnzi_expr *symbol,
                            bool *found) {
  const fnzi_condition *broken = NULL;
  bool known, there = false;
  int64_t number;
  FNZ_TRY(fnzi_trial_numbers(g, &g->recorded, point));
  FNZ_TRY(fnzi_point_int(point, symbol, &known, &number));
  *found = known && number < INT64_MAX;
  if (!*found)
    return FNZ_OK;
  FNZ_TRY(fnzi_point_set(point, symbol, number + 1));
  FNZ_TRY(fnzi_sizes_admit(&g->sizes, point, &broken));
  FNZ_TRY(fnzi_trials_have(g, point, &there));
  *found = !broken && !there;
  return FNZ_OK;
}

static fnz_status try_apart(finding *f, const fnzi_expr *symbol) {
  fnzi_trial *t;
  bool found = false, kept = false;
  FNZ_TRY(fnzi_trial_new(f->g, &t));
  fnz_status status = set_apart(f->g, &t->point, symbol, &found);
  if (status == FNZ_OK && found)
    status = try_drawn(f->g, t, &kept, &f->failure);
  if (!kept)
    fnzi_trial_end(f->g, t);
  return status;
}

/* Symbols were made equal because no other sizes worked; some of them may still differ. A few of
 * many conditions may be the reason for all these equal sizes. */
static fnz_status find_apart(finding *f) {
  fnzi_general *g = f->g;
  for (size_t i = 0; i < g->sizes.free.count && i < MOST_TRIALS && g->alike; i++)
    FNZ_TRY(try_apart(f, g->sizes.free.data[i]));
  return FNZ_OK;
}

static fnz_status find_moved(fnzi_general *g) {
  for (size_t i = 0, n = g->trials.count; i < n && i < MOVED && fnzi_sizes_have_data(&g->sizes);
       i++) {
    bool found;
    FNZ_TRY(join_moved(g, i, &found));
    if (!found)
      FNZ_TRY(add_moved(g, g->trials.data[i]));
  }
  return FNZ_OK;
}

fnz_status fnzi_trials_find(fnzi_general *g) {
  finding f = {.g = g, .failure = FNZ_OK};
  FNZ_TRY(drop_recorded(g));
  if (g->has_recorded && inputs_have_all(g))
    FNZ_TRY(are_some_equal(g, &f.have_equal));
  FNZ_TRY(find_usual(&f));
  FNZ_TRY(find_apart(&f));
  FNZ_TRY(find_moved(g));
  g->usual = g->trials.count;
  if (g->usual)
    return FNZ_OK;
  return f.failure != FNZ_OK ? f.failure : no_sizes(g);
}
