/* telling.c - two trials that are enough for a program of which an excerpt is right everywhere: the
 * recorded sizes, and others, large and drawn, such that no two expressions of the source have the
 * same numbers in both. A number of the result then tells which expression it is.
 *
 * needs   a program with recorded sizes, its sizes open
 * keeps   to what is certain: what has no expression of the source, or is not right at the sizes of
 *         a check, is made from usual trials instead (sample_choose.c)
 * gives   the general program, or nothing */
#include "functionalize/dynamic/sample.h"

enum {
  LARGE = 997, /* symbols lie within so much of the least they may be */
  DRAWS = 8
};

/* --- which numbers ---------------------------------------------------------------------------- */
static fnz_status numbers_of(const fnzi_expr *e, fnzi_point *const points[2], int64_t numbers[2],
                             bool *known) {
  *known = e->kind != FNZI_EXPR_NUMBER && !e->is_real && !fnzi_expr_is_condition(e);
  for (size_t i = 0; i < 2 && *known; i++)
    FNZ_TRY(fnzi_point_int(points[i], e, known, &numbers[i]));
  return FNZ_OK;
}

/* By the ids of expressions: a minimum that is always the same one of its arguments, or has one in
 * it, is another expression. */
static fnz_status find_others(fnzi_general *g, uint8_t **out) {
  FNZ_TRY(fnzi_sizes_settled(&g->sizes, &g->arena, out));
  for (size_t i = 0; i < g->sizes.own; i++)
    for (uint32_t k = 0; k < g->sizes.set.all.data[i]->count; k++)
      (*out)[i] |= (*out)[g->sizes.set.all.data[i]->parts[k].expr->id];
  return FNZ_OK;
}

static fnz_status compare_all(fnzi_general *g, fnzi_point *const points[2], fnzi_map *met,
                              bool *telling) {
  uint8_t *others;
  FNZ_TRY(find_others(g, &others));
  for (size_t i = 0; i < g->sizes.own && *telling; i++) {
    int64_t *numbers;
    uint64_t unused;
    bool known;
    FNZI_NEW(&g->arena, 2, &numbers);
    FNZ_TRY(numbers_of(g->sizes.set.all.data[i], points, numbers, &known));
    if (!known || others[i])
      continue;
    *telling =
        numbers[0] != numbers[1] && !fnzi_map_get(met, numbers, 2 * sizeof *numbers, &unused);
    FNZ_TRY(fnzi_map_set(met, numbers, 2 * sizeof *numbers, 1));
  }
  return FNZ_OK;
}

/* No expression of the source is a number in both, or the same as another one. */
static fnz_status are_telling(fnzi_general *g, fnzi_trial *a, fnzi_trial *b, bool *out) {
  fnzi_point *const points[2] = {&a->point, &b->point};
  fnzi_map met;
  *out = true;
  fnzi_map_init(&met, g->ctx);
  fnz_status status = compare_all(g, points, &met, out);
  fnzi_map_free(&met);
  return status;
}

/* --- the trials ------------------------------------------------------------------------------- */
/* Its pass works, and it is the next one of all; or it has ended. */
static fnz_status keep(fnzi_general *g, fnzi_trial *t, fnz_status status, bool *kept) {
  if (status == FNZ_OK && *kept)
    status = fnzi_trial_run(g, t);
  *kept = *kept && status == FNZ_OK;
  if (*kept)
    FNZI_PUSH(g->ctx, &g->trials, t);
  else
    fnzi_trial_end(g, t);
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

static fnz_status find_recorded(fnzi_general *g, bool *found) {
  const fnzi_condition *broken;
  fnzi_trial *t;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_trial_numbers(g, &g->recorded, &t->point);
  if (status == FNZ_OK)
    status = fnzi_sizes_admit(&g->sizes, &t->point, &broken);
  *found = status == FNZ_OK && g->has_recorded && !broken;
  return keep(g, t, status, found);
}

static fnz_status find_large(fnzi_general *g, fnzi_draw *draw, bool *found) {
  fnzi_trial *t;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_draw_numbers(draw, &t->point, found);
  if (status == FNZ_OK && *found)
    status = are_telling(g, g->trials.data[0], t, found);
  return keep(g, t, status, found);
}

static fnz_status find_both(fnzi_general *g, bool *found) {
  fnzi_draw draw;
  FNZ_TRY(find_recorded(g, found));
  if (!*found)
    return FNZ_OK;
  fnzi_draw_start(&draw, &g->sizes, 2);
  draw.span = LARGE;
  draw.unrun = true;
  *found = false;
  for (size_t i = 0; i < DRAWS && !*found; i++)
    FNZ_TRY(find_large(g, &draw, found));
  g->usual = g->trials.count;
  g->trials.telling = true;
  return FNZ_OK;
}

/* --- the program ------------------------------------------------------------------------------ */
fnz_status fnzi_general_make_telling(fnzi_general *g, bool *done) {
  FNZ_TRY(find_both(g, done));
  if (!*done)
    return FNZ_OK;
  fnz_status status = fnzi_trials_agree(g);
  if (status == FNZ_OK)
    status = fnzi_general_finish_light(g, done);
  *done = *done && status == FNZ_OK;
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}
