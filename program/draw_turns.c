/* draw_turns.c - numbers for the symbols of one expression near those where it may turn: where a
 * minimum changes sides, a quotient becomes more than 0.
 *
 * needs   usual numbers, at which the program works
 * gives   one after the other: each symbol at small numbers and at the expression's own constants
 */
#include "program/sizes.h"

enum {
  CONSTANTS = 6,
  SMALL = 4, /* 0 to 3 */
  WAYS = 3,  /* a constant, the next number, its double */
  ROOM = 8,
  MOST_ELEMENTS = 1 << 18 /* of all values together */
};
static const int64_t LARGEST = 1ll << 40;

typedef struct turns {
  const fnzi_sizes *s;
  uint8_t *parts; /* of the expression, by their ids */
  int64_t constants[CONSTANTS];
  size_t count;
} turns;

static void add_constant(turns *t, int64_t number) {
  int64_t size = number < 0 && number > -LARGEST ? -number : number;
  for (size_t i = 0; i < t->count; i++)
    if (t->constants[i] == size)
      return;
  if (size >= SMALL && size < LARGEST && t->count < CONSTANTS)
    t->constants[t->count++] = size;
}

static fnz_status find_parts(turns *t, const fnzi_expr *e, fnzi_arena *arena) {
  size_t count = (size_t)e->id + 1; /* parts stand before */
  FNZI_NEW(arena, count, &t->parts);
  t->parts[e->id] = true;
  fnzi_mark_parts(t->s, count, t->parts);
  for (size_t i = 0; i < count; i++) {
    const fnzi_expr *part = t->s->set.all.data[i];
    if (t->parts[i] && part->den == 1)
      add_constant(t, part->num);
  }
  return FNZ_OK;
}

static int64_t number_at(const turns *t, size_t k) {
  if (k < SMALL)
    return (int64_t)k;
  int64_t c = t->constants[(k - SMALL) / WAYS];
  size_t way = (k - SMALL) % WAYS;
  return way == 0 ? c : way == 1 ? c + 1 : c + c;
}

/* Sizes of tensors are made larger than the number, which may be an index. */
static fnz_status make_room(turns *t, int64_t number, const fnzi_bounds *bounds,
                            fnzi_point *point) {
  for (size_t i = 0; i < t->s->free.count; i++) {
    const fnzi_expr *symbol = t->s->free.data[i];
    const fnzi_bounds *b = &bounds[symbol->id];
    bool known;
    int64_t old, room = number + number + ROOM;
    FNZ_TRY(fnzi_point_int(point, symbol, &known, &old));
    if (!fnzi_is_data_symbol(symbol) && old < room && room >= b->min && room <= b->max)
      FNZ_TRY(fnzi_point_set(point, symbol, room));
  }
  return FNZ_OK;
}

static fnz_status set_turn(turns *t, size_t k, fnzi_point *point, fnzi_arena *arena, bool *more,
                           bool *found) {
  size_t each = SMALL + WAYS * t->count, with_room = k % 2;
  const fnzi_condition *broken;
  fnzi_bounds *bounds;
  FNZ_TRY(fnzi_draw_bounds(t->s, arena, &bounds));
  k /= 2;
  for (size_t i = 0; i < t->s->free.count && !*more; i++) {
    const fnzi_expr *symbol = t->s->free.data[i];
    if (!t->parts[symbol->id])
      continue;
    *more = k < each;
    k -= *more ? 0 : each;
    if (!*more)
      continue;
    int64_t number = number_at(t, k);
    if (with_room)
      FNZ_TRY(make_room(t, number, bounds, point));
    *found = number >= bounds[symbol->id].min && number <= bounds[symbol->id].max;
    FNZ_TRY(fnzi_point_set(point, symbol, number));
  }
  if (!*found)
    return FNZ_OK;
  FNZ_TRY(fnzi_sizes_admit(t->s, point, &broken));
  *found = !broken;
  return FNZ_OK;
}

fnz_status fnzi_draw_turn(const fnzi_sizes *s, const fnzi_expr *e, size_t k, fnzi_point *point,
                          bool *more, bool *found) {
  turns t = {.s = s};
  fnzi_arena arena;
  *more = *found = false;
  fnzi_arena_init(&arena, s->set.ctx);
  fnz_status status = find_parts(&t, e, &arena);
  if (status == FNZ_OK)
    status = set_turn(&t, k, point, &arena, more, found);
  fnzi_arena_free(&arena);
  return status;
}

/* --- how much it would be --------------------------------------------------------------------- */
static fnz_status count_elements(const fnzi_sizes *s, fnzi_point *point, fnzi_arena *arena,
                                 bool *out) {
  const fnzi_graph *graph = fnzi_graph_at(s->program, 0);
  int64_t elements = 0;
  for (size_t i = 0; i < graph->values.count && *out; i++) {
    const fnz_geometry *g = NULL;
    fnz_status status = fnzi_sizes_geometry(s, point, graph->values.data[i].geometry, arena, &g);
    if (status == FNZ_NO_MEMORY) /* else the numbers are none that the program takes */
      return status;
    *out = fnzi_add_i64(elements, g ? fnz_geometry_numel(g) : 0, &elements) &&
           elements <= MOST_ELEMENTS;
  }
  return FNZ_OK;
}

fnz_status fnzi_sizes_are_small(const fnzi_sizes *s, fnzi_point *point, bool *out) {
  fnzi_arena arena;
  *out = true;
  fnzi_arena_init(&arena, s->set.ctx);
  fnz_status status = count_elements(s, point, &arena, out);
  fnzi_arena_free(&arena);
  return status;
}
