/* draw.c - which numbers to try for the symbols of a program.
 *
 * needs   conditions of the program, which numbers must keep to
 * gives   usual numbers, all different and neither very small nor large */
#include "program/shapes/equations.h"

enum {
  USUAL_SPAN = 14,
  LEAST_USUAL = 3, /* where the range allows it */
  LEAST_SIZE = 2,  /* the same, when smaller numbers are drawn: 1 and 0 are special */
  TRIES = 200,
  FEW_TRIES = 16, /* within smaller spans */
  NARROW = 6,
  COARSE = 8,    /* quotients by so much hardly differ among usual numbers */
  QUOTIENTS = 3, /* so many different ones are wanted */
  WIDEST = 96    /* where the program can be run at so many */
};

void fnzi_draw_start(fnzi_draw *d, fnzi_sizes *sizes, uint64_t seed) {
  *d = (fnzi_draw){sizes, seed * 2654435769u + 1, USUAL_SPAN};
}

fnz_status fnzi_draw_bounds(const fnzi_sizes *s, fnzi_arena *arena, fnzi_bounds **out) {
  FNZI_NEW(arena, s->set.all.count, out);
  for (size_t i = 0; i < s->set.all.count; i++)
    (*out)[i] = (fnzi_bounds){fnzi_is_data_symbol(s->set.all.data[i]) ? INT64_MIN : 0, INT64_MAX};
  for (size_t i = 0; i < s->bounds.count; i++) {
    /* Bounds of slices count from the end where they are negative, and are clipped to the dimension
     * where they are past its end. */
    const fnzi_slice_bound *of = &s->bounds.data[i];
    const bool is_small = of->most < FNZI_LARGEST_END;
    (*out)[of->symbol->id] =
        (fnzi_bounds){is_small ? -of->most - 1 : -LEAST_USUAL, is_small ? of->most + 2 : INT64_MAX};
  }
  for (size_t i = 0; i < s->conditions.count; i++) {
    const fnzi_condition *c = &s->conditions.data[i];
    fnzi_bounds *b = &(*out)[c->expr->id];
    b->min = c->min != INT64_MIN ? c->min : b->min;
    b->max = c->max < b->max ? c->max : b->max;
  }
  return FNZ_OK;
}

/* --- usual numbers ---------------------------------------------------------------------------- */
typedef struct usual {
  fnzi_draw *draw;
  fnzi_bounds *bounds;
  int64_t *numbers;  /* by symbol, for the symbols that are drawn */
  int64_t *divisors; /* per drawn symbol: the largest number that it is divided by with rounding */
  int64_t span, far; /* of most symbols; of symbols with a large divisor, in USUAL_SPAN parts */
  bool is_far;       /* there are such */
  fnzi_map taken;    /* of the numbers */
} usual;

/* --- how far apart ---------------------------------------------------------------------------- */
/* Finds the largest divisor of a symbol, such as the product of all strides of convolutions that
 * make an image smaller and smaller. */
static fnz_status find_divisor(const fnzi_sizes *s, const fnzi_expr *symbol, fnzi_arena *arena,
                               int64_t *out) {
  int64_t *within; /* per expression: the divisor of the symbol in it; 0: it has no symbol */
  FNZI_NEW(arena, s->own, &within);
  for (size_t i = symbol->id; i < s->own; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    within[i] = e == symbol;
    for (uint32_t k = 0; k < e->count; k++)
      if (within[e->parts[k].expr->id] > within[i])
        within[i] = within[e->parts[k].expr->id];
    const bool divides = e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_FLOOR_DIV;
    const fnzi_expr *by = divides ? e->parts[1].expr : NULL;
    if (within[i] && by && by->kind == FNZI_EXPR_NUMBER && by->den == 1 && by->num > 1 &&
        (!fnzi_mul_i64(within[i], by->num, &within[i]) || within[i] > WIDEST))
      within[i] = WIDEST;
    *out = within[i] > *out ? within[i] : *out;
  }
  return FNZ_OK;
}

/* The least number is `wanted`, unless little would be left of the span. */
static void begin_at(fnzi_bounds *b, int64_t wanted, int64_t span) {
  if (b->min < wanted && b->max > wanted + span / 2)
    b->min = wanted;
}

/* The usual range of a symbol: near its least value, and within the dimensions that it bounds. */
static fnzi_bounds usual_bounds(const usual *u, size_t place) {
  const fnzi_expr *symbol = u->draw->sizes->free.data[place];
  fnzi_bounds b = u->bounds[symbol->id];
  /* The more it is divided by, the farther usual numbers must be apart. */
  const int64_t by = u->divisors[place], wanted = by * QUOTIENTS;
  int64_t span = by < COARSE ? u->span : u->far * (wanted < WIDEST ? wanted : WIDEST) / USUAL_SPAN;
  if (b.max < b.min) /* no number keeps to it */
    return (fnzi_bounds){b.min, b.min};
  if (b.min < 0 && b.max > 0)
    b.min = 0;
  if (b.min == INT64_MIN)
    b.min = b.max < INT64_MIN + span ? b.min : b.max - span;
  /* A bound of a slice selects some elements but not all, if the range allows it. */
  for (size_t i = 0; i < u->draw->sizes->bounds.count; i++) {
    const fnzi_slice_bound *of = &u->draw->sizes->bounds.data[i];
    if (of->symbol != symbol || of->most - 3 < b.min || of->most > b.max)
      continue;
    b.min += b.min == 0;
    b.max = of->most - 1;
  }
  if (span >= LEAST_USUAL)
    begin_at(&b, LEAST_USUAL, span);
  if (!fnzi_is_data_symbol(symbol))
    begin_at(&b, LEAST_SIZE, span);
  if ((uint64_t)b.max - (uint64_t)b.min > (uint64_t)span)
    b.max = b.min + span;
  return b;
}

static fnz_status draw_one(usual *u, fnzi_point *point, size_t i, bool distinct) {
  const fnzi_expr *symbol = u->draw->sizes->free.data[i];
  const fnzi_bounds b = usual_bounds(u, i);
  int64_t *number = &u->numbers[i];
  /* Between nothing and all of a small dimension there are few numbers: two may be equal. */
  for (size_t k = 0; k < u->draw->sizes->bounds.count; k++) {
    const fnzi_slice_bound *of = &u->draw->sizes->bounds.data[k];
    if (of->symbol == symbol) {
      distinct = distinct && of->most > NARROW;
      break;
    }
  }
  for (size_t tries = 0; tries < 8; tries++) {
    *number = b.min + (int64_t)(fnzi_draw_next(u->draw) % (uint64_t)(b.max - b.min + 1));
    uint64_t unused;
    if (!distinct || !fnzi_map_get(&u->taken, number, sizeof *number, &unused))
      break;
  }
  if (distinct)
    FNZ_TRY(fnzi_map_set(&u->taken, number, sizeof *number, 1));
  return fnzi_point_set(point, symbol, *number);
}

static fnz_status draw_within(usual *u, fnzi_point *point, size_t tries, bool *found) {
  *found = false;
  for (size_t i = 0; i < tries && !*found; i++) {
    const fnzi_condition *broken = NULL;
    fnz_status status = FNZ_OK;
    fnzi_map_init(&u->taken, u->draw->sizes->set.ctx);
    for (size_t k = 0; k < u->draw->sizes->free.count && status == FNZ_OK; k++)
      status = draw_one(u, point, k, i < tries / 2);
    fnzi_map_free(&u->taken);
    FNZ_TRY(status);
    FNZ_TRY(fnzi_equations_draw(u->draw, u->bounds, point));
    FNZ_TRY(fnzi_sizes_admit(u->draw->sizes, point, &broken));
    *found = !broken;
  }
  return FNZ_OK;
}

/* --- where the program can be run ------------------------------------------------------------- */
/* Sizes that are far apart may make the program too large to be run. Draws smaller ones then; if
 * there are none, the first draw is kept. */
static fnz_status draw_bearable(usual *u, fnzi_point *point, fnzi_arena *arena) {
  const fnzi_sizes *s = u->draw->sizes;
  bool found = true, bearable = false;
  int64_t *first;
  FNZ_TRY(fnzi_free_numbers(s, point, arena, &first));
  FNZ_TRY(fnzi_sizes_are_bearable(s, point, &bearable));
  while (!bearable) {
    /* Shrinks the spans of large divisors last: for the others, few different sizes are as good as
     * many. */
    int64_t *span = u->span > 1 ? &u->span : &u->far;
    *span /= 2;
    if (*span <= 0)
      break;
    FNZ_TRY(draw_within(u, point, FEW_TRIES, &found));
    if (found)
      FNZ_TRY(fnzi_sizes_are_bearable(s, point, &bearable));
  }
  for (size_t i = 0; !bearable && i < s->free.count; i++)
    FNZ_TRY(fnzi_point_set(point, s->free.data[i], first[i]));
  return FNZ_OK;
}

static fnz_status draw_numbers(fnzi_draw *d, fnzi_point *point, fnzi_arena *arena, bool *found) {
  usual u = {.draw = d, .span = d->span, .far = d->span};
  FNZ_TRY(fnzi_draw_bounds(d->sizes, arena, &u.bounds));
  FNZI_NEW(arena, d->sizes->free.count, &u.numbers);
  FNZI_NEW(arena, d->sizes->free.count, &u.divisors);
  for (size_t i = 0; i < d->sizes->free.count; i++) {
    FNZ_TRY(find_divisor(d->sizes, d->sizes->free.data[i], arena, &u.divisors[i]));
    u.is_far = u.is_far || u.divisors[i] >= COARSE;
  }
  FNZ_TRY(draw_within(&u, point, TRIES, found));
  return *found && u.is_far ? draw_bearable(&u, point, arena) : FNZ_OK;
}

fnz_status fnzi_draw_numbers(fnzi_draw *d, fnzi_point *point, bool *found) {
  fnzi_arena arena;
  *found = false;
  fnzi_arena_init(&arena, d->sizes->set.ctx);
  fnz_status status = draw_numbers(d, point, &arena, found);
  fnzi_arena_free(&arena);
  return status;
}

fnz_status fnzi_draw_recorded(fnzi_draw *draw, fnzi_point *point, bool *found) {
  const fnzi_condition *broken = NULL;
  bool is_complete;
  fnzi_point recorded;
  FNZ_TRY(fnzi_draw_numbers(draw, point, found));
  fnzi_point_init(&recorded, &draw->sizes->set);
  fnz_status status = fnzi_sizes_recorded(draw->sizes, &recorded, &is_complete);
  if (status == FNZ_OK)
    status = fnzi_sizes_adopt(draw->sizes, point, draw->sizes, &recorded);
  if (status == FNZ_OK)
    status = fnzi_sizes_admit(draw->sizes, point, &broken);
  if (status == FNZ_OK && broken)
    status = fnzi_draw_numbers(draw, point, found);
  fnzi_point_free(&recorded);
  return status;
}
