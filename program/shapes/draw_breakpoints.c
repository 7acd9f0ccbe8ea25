/* draw_breakpoints.c - sizes at which an expression stops being equal to a number: at which a
 * minimum changes sides, or a quotient becomes more than 0.
 *
 * needs   usual sizes, at which the program works and the expression has the number
 * gives   one after the other: each symbol at the first numbers above and below its own at which
 *         they differ, and next to these, with the other sizes unchanged and with larger ones */
#include "program/shapes/equations.h"

enum {
  SIDES = 4, /* above, next to it; below, next to it */
  ROOM = 8
};
static const int64_t FARTHEST = 1ll << 40;

typedef struct drawing {
  const fnzi_sizes *s;
  const fnzi_constant *constant;
  fnzi_point *point;
  uint8_t *parts; /* of the expression, by their ids */
} drawing;

static fnz_status differ_at(drawing *t, const fnzi_expr *symbol, int64_t number, bool *out) {
  bool known;
  int64_t is;
  FNZ_TRY(fnzi_point_set(t->point, symbol, number));
  FNZ_TRY(fnzi_point_int(t->point, t->constant->expr, &known, &is));
  *out = known && is != t->constant->number;
  return FNZ_OK;
}

/* The number of the symbol that is wanted on one side of the breakpoint. */
static fnz_status number_at(drawing *t, const fnzi_expr *symbol, size_t side, const fnzi_bounds *b,
                            int64_t *out, bool *found) {
  int64_t direction = side < 2 ? 1 : -1;
  FNZ_TRY(fnzi_point_int(t->point, symbol, found, out));
  if (!*found)
    return FNZ_OK;
  int64_t reach = direction > 0 ? (b->max < FARTHEST ? b->max : FARTHEST) - *out
                                : *out - (b->min > -FARTHEST ? b->min : -FARTHEST);
  /* The nearest number in this direction at which they differ, if longer and longer steps within
   * `room` meet one. */
  int64_t from = *out, same = 0, step = 1;
  *found = false;
  while (!*found && same < reach) {
    step = step < reach ? step : reach;
    FNZ_TRY(differ_at(t, symbol, from + (direction > 0 ? step : -step), found));
    same = *found ? same : step;
    step = *found ? step : step + step / 4 + 1;
  }
  while (*found && step - same > 1) {
    int64_t middle = same + (step - same) / 2;
    bool differ;
    FNZ_TRY(differ_at(t, symbol, from + (direction > 0 ? middle : -middle), &differ));
    *(differ ? &step : &same) = middle;
  }
  FNZ_TRY(fnzi_point_set(t->point, symbol, from));
  *out = from + (direction > 0 ? step : -step);
  *out += *found && side % 2 ? direction : 0;
  *found = *found && *out >= b->min && *out <= b->max;
  return FNZ_OK;
}

static fnz_status set_breakpoint(drawing *t, size_t k, fnzi_arena *arena, bool *more, bool *found) {
  const fnzi_expr *symbol = NULL;
  const fnzi_condition *broken;
  fnzi_bounds *bounds;
  int64_t number = 0, *before;
  FNZI_NEW(arena, t->s->set.all.count, &t->parts);
  t->parts[t->constant->expr->id] = true;
  fnzi_mark_parts(t->s, (size_t)t->constant->expr->id + 1, t->parts); /* parts come first */
  size_t place = k / 2 / SIDES;
  for (size_t i = 0; i < t->s->free.count && !symbol; i++)
    if (t->parts[t->s->free.data[i]->id] && place-- == 0)
      symbol = t->s->free.data[i];
  *more = symbol != NULL;
  if (!symbol)
    return FNZ_OK;
  FNZ_TRY(fnzi_draw_bounds(t->s, arena, &bounds));
  FNZ_TRY(fnzi_free_numbers(t->s, t->point, arena, &before));
  FNZ_TRY(number_at(t, symbol, k / 2 % SIDES, &bounds[symbol->id], &number, found));
  if (!*found)
    return FNZ_OK;
  if (k % 2) { /* with larger ones beside it, which make room */
    for (size_t i = 0; i < t->s->free.count; i++) {
      const fnzi_expr *other = t->s->free.data[i];
      const fnzi_bounds *b = &bounds[other->id];
      bool known;
      int64_t old, reach = number + number + ROOM;
      FNZ_TRY(fnzi_point_int(t->point, other, &known, &old));
      if (!fnzi_is_data_symbol(other) && old < reach && reach >= b->min && reach <= b->max)
        FNZ_TRY(fnzi_point_set(t->point, other, reach));
    }
  }
  FNZ_TRY(fnzi_point_set(t->point, symbol, number));
  FNZ_TRY(fnzi_equations_mend(t->s, bounds, before, t->point));
  FNZ_TRY(fnzi_sizes_admit(t->s, t->point, &broken));
  *found = !broken;
  return FNZ_OK;
}

fnz_status fnzi_draw_breakpoint(const fnzi_sizes *s, const fnzi_constant *constant, size_t k,
                                fnzi_point *point, bool *more, bool *found) {
  drawing t = {s, constant, point, NULL};
  fnzi_arena arena;
  *more = *found = false;
  fnzi_arena_init(&arena, s->set.ctx);
  fnz_status status = set_breakpoint(&t, k, &arena, more, found);
  fnzi_arena_free(&arena);
  return status;
}
