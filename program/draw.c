/* draw.c - which numbers to try for the symbols of a program.
 *
 * needs   conditions of the program, which numbers must keep to
 * gives   usual numbers, all different and neither very small nor large; special ones: ends of
 *         ranges, 0 and 1, the program's own constants, equal and neighbouring ones */
#include "program/sizes.h"

enum {
  USUAL_SPAN = 14,
  LEAST_USUAL = 3, /* where the range allows it */
  TRIES = 200,
  NARROW = 6,
  LARGEST_END = 96, /* larger ends of ranges are not tried: programs run at these sizes */
  CONSTANTS = 12,
  LARGEST_CONSTANT = 48
};

static uint64_t next(fnzi_draw *d) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (d->state ^ (d->state >> 29)) >> 16;
}

void fnzi_draw_start(fnzi_draw *d, fnzi_sizes *sizes, uint64_t seed) {
  *d = (fnzi_draw){sizes, seed * 2654435769u + 1, USUAL_SPAN, NULL};
}

/* Bounds of slices count from the end where they are negative. */
static int64_t least_bound(const fnzi_slice_bound *b) {
  return b->most < LARGEST_END ? -b->most - 1 : -LEAST_USUAL;
}

/* And what is past the end is the end. */
static int64_t most_bound(const fnzi_slice_bound *b) {
  return b->most < LARGEST_END ? b->most + 2 : INT64_MAX;
}

/* What ranges say of each symbol, by the ids of expressions. Without one it is a size or an index,
 * from 0 on, if no bound of a slice. */
static fnz_status find_bounds(const fnzi_sizes *s, fnzi_arena *arena, fnzi_bounds **out) {
  FNZI_NEW(arena, s->set.all.count, out);
  for (size_t i = 0; i < s->set.all.count; i++)
    (*out)[i] = (fnzi_bounds){0, INT64_MAX};
  for (size_t i = 0; i < s->bounds.count; i++) {
    fnzi_bounds *b = &(*out)[s->bounds.data[i].symbol->id];
    *b = (fnzi_bounds){least_bound(&s->bounds.data[i]), most_bound(&s->bounds.data[i])};
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
  int64_t *numbers; /* by symbol, those that are drawn */
  fnzi_map taken;   /* of them */
} usual;

/* Where a symbol usually lies: near the least that it may be, and within what it bounds. */
static fnzi_bounds usual_bounds(const usual *u, const fnzi_expr *symbol) {
  fnzi_bounds b = u->bounds[symbol->id];
  int64_t span = u->draw->span;
  if (b.min < 0 && b.max > 0)
    b.min = 0;
  for (size_t i = 0; i < u->draw->sizes->bounds.count; i++) {
    const fnzi_slice_bound *of = &u->draw->sizes->bounds.data[i];
    if (of->symbol != symbol || of->most - 3 < b.min || of->most > b.max)
      continue;
    b.min += b.min == 0; /* neither nothing nor all of it */
    b.max = of->most - 1;
  }
  if (b.min < LEAST_USUAL && span >= LEAST_USUAL && b.max > LEAST_USUAL + span / 2)
    b.min = LEAST_USUAL;
  if ((uint64_t)b.max - (uint64_t)b.min > (uint64_t)span)
    b.max = b.min + span;
  return b;
}

/* Between nothing and all of a small dimension there are few numbers: two may be equal. */
static bool is_narrow(const usual *u, const fnzi_expr *symbol) {
  for (size_t i = 0; i < u->draw->sizes->bounds.count; i++)
    if (u->draw->sizes->bounds.data[i].symbol == symbol)
      return u->draw->sizes->bounds.data[i].most <= NARROW;
  return false;
}

static bool is_taken(const usual *u, const int64_t *number) {
  uint64_t unused;
  return fnzi_map_get(&u->taken, number, sizeof *number, &unused);
}

/* A symbol before symbol i that has the same number in draw->like; i itself when there is none. */
static fnz_status find_alike(const usual *u, size_t i, size_t *out) {
  const fnzi_expr *const *symbols = u->draw->sizes->free.data;
  fnzi_point *like = u->draw->like;
  bool known = like != NULL, other_known;
  int64_t number = 0, other;
  *out = i;
  if (known)
    FNZ_TRY(fnzi_point_int(like, symbols[i], &known, &number));
  for (size_t k = 0; k < i && known && *out == i; k++) {
    FNZ_TRY(fnzi_point_int(like, symbols[k], &other_known, &other));
    *out = other_known && other == number ? k : i;
  }
  return FNZ_OK;
}

static fnz_status draw_one(usual *u, fnzi_point *point, size_t i, bool distinct) {
  const fnzi_expr *symbol = u->draw->sizes->free.data[i];
  const fnzi_bounds b = usual_bounds(u, symbol);
  int64_t *number = &u->numbers[i];
  size_t alike;
  distinct = distinct && !is_narrow(u, symbol);
  FNZ_TRY(find_alike(u, i, &alike));
  if (alike < i) {
    *number = u->numbers[alike];
    return fnzi_point_set(point, symbol, *number);
  }
  for (size_t tries = 0; tries < 8; tries++) {
    *number = b.min + (int64_t)(next(u->draw) % (uint64_t)(b.max - b.min + 1));
    if (!distinct || !is_taken(u, number))
      break;
  }
  if (distinct)
    FNZ_TRY(fnzi_map_set(&u->taken, number, sizeof *number, 1));
  return fnzi_point_set(point, symbol, *number);
}

static fnz_status draw_once(usual *u, fnzi_point *point, bool distinct, bool *found) {
  const fnzi_condition *broken = NULL;
  fnz_status status = FNZ_OK;
  fnzi_map_init(&u->taken, u->draw->sizes->set.ctx);
  for (size_t i = 0; i < u->draw->sizes->free.count && status == FNZ_OK; i++)
    status = draw_one(u, point, i, distinct);
  fnzi_map_free(&u->taken);
  FNZ_TRY(status);
  FNZ_TRY(fnzi_sizes_admit(u->draw->sizes, point, &broken));
  *found = !broken;
  return FNZ_OK;
}

static fnz_status draw_numbers(fnzi_draw *d, fnzi_point *point, fnzi_arena *arena, bool *found) {
  usual u = {.draw = d};
  FNZ_TRY(find_bounds(d->sizes, arena, &u.bounds));
  FNZI_NEW(arena, d->sizes->free.count, &u.numbers);
  for (size_t i = 0; i < TRIES && !*found; i++)
    FNZ_TRY(draw_once(&u, point, i < TRIES / 2, found));
  return FNZ_OK;
}

fnz_status fnzi_draw_numbers(fnzi_draw *d, fnzi_point *point, bool *found) {
  fnzi_arena arena;
  *found = false;
  fnzi_arena_init(&arena, d->sizes->set.ctx);
  fnz_status status = draw_numbers(d, point, &arena, found);
  fnzi_arena_free(&arena);
  return status;
}

/* --- special numbers -------------------------------------------------------------------------- */
typedef struct constants {
  int64_t data[CONSTANTS];
  size_t count;
} constants;

static fnz_status add_constant(void *user, const fnz_arg *arg) {
  constants *c = user;
  if (arg->tag != FNZ_ARG_INT || arg->u.i < 2 || arg->u.i > LARGEST_CONSTANT)
    return FNZ_OK;
  for (size_t i = 0; i < c->count; i++)
    if (c->data[i] == arg->u.i)
      return FNZ_OK;
  if (c->count < CONSTANTS)
    c->data[c->count++] = arg->u.i;
  return FNZ_OK;
}

/* Numbers among the arguments of nodes: where a size equals one, something may be special. */
static fnz_status find_constants(const fnz_program *p, constants *c) {
  c->count = 0;
  for (size_t i = 0; i < p->graphs.count; i++)
    for (size_t n = 0; n < p->graphs.data[i].nodes.count; n++) {
      const fnzi_node *node = &p->graphs.data[i].nodes.data[n];
      if (!fnzi_is_size_node(node))
        FNZ_TRY(fnzi_args_visit(node->args, node->nargs, add_constant, c));
    }
  return FNZ_OK;
}

/* The k-th number for a symbol; false when there are no more. */
static bool special_number(const constants *c, fnzi_bounds b, size_t k, int64_t *out) {
  static const int64_t small[] = {0, 1, 2, 3, 4, -1};
  enum { SMALL = sizeof small / sizeof *small };
  bool has_min = b.min > -LARGEST_END && b.min < LARGEST_END, has_max = b.max <= LARGEST_END;
  if (k < SMALL)
    *out = small[k];
  else if (k < SMALL + 2)
    *out = has_min ? b.min + (int64_t)(k - SMALL) : 0;
  else if (k < SMALL + 4)
    *out = has_max ? b.max - (int64_t)(k - SMALL - 2) : 0;
  else if (k - SMALL - 4 < 2 * c->count)
    *out = c->data[(k - SMALL - 4) / 2] + (int64_t)(k % 2);
  else
    return false;
  return true;
}

/* Pairs of symbols in order; false when there are no more. */
static bool pair_at(size_t count, size_t k, size_t *first, size_t *second) {
  for (*first = 0; *first + 1 < count; ++*first) {
    size_t row = count - 1 - *first;
    if (k < row) {
      *second = *first + 1 + k;
      return true;
    }
    k -= row;
  }
  return false;
}

/* 0: equal, 1 and 2: neighbours. */
static fnz_status set_pair(fnzi_sizes *s, fnzi_point *point, size_t k, bool *more) {
  size_t first, second;
  bool known;
  int64_t number;
  *more = pair_at(s->free.count, k / 3, &first, &second);
  if (!*more)
    return FNZ_OK;
  FNZ_TRY(fnzi_point_int(point, s->free.data[first], &known, &number));
  return fnzi_point_set(point, s->free.data[second], number + (k % 3 == 2 ? -1 : (int64_t)(k % 3)));
}

/* The k-th special number of single symbols; *more false when there are no more. */
static fnz_status set_single(fnzi_sizes *s, fnzi_point *point, size_t k, fnzi_arena *arena,
                             bool *more, bool *found) {
  constants c;
  fnzi_bounds *bounds;
  int64_t number = 0;
  FNZ_TRY(find_constants(s->program, &c));
  FNZ_TRY(find_bounds(s, arena, &bounds));
  for (size_t i = 0; i < s->free.count; i++) {
    const fnzi_bounds b = bounds[s->free.data[i]->id];
    size_t n = 0;
    while (special_number(&c, b, n, &number))
      n++;
    if (k >= n) {
      k -= n;
      continue;
    }
    special_number(&c, b, k, &number);
    *found = number >= b.min && number <= b.max;
    *more = true;
    return fnzi_point_set(point, s->free.data[i], number);
  }
  return FNZ_OK;
}

static fnz_status set_special(fnzi_sizes *s, size_t k, fnzi_point *point, fnzi_arena *arena,
                              bool *more, bool *found) {
  const fnzi_condition *broken;
  size_t symbols = s->free.count, pairs = symbols ? 3 * (symbols * (symbols - 1) / 2) : 0;
  *more = *found = false;
  if (k < pairs) {
    FNZ_TRY(set_pair(s, point, k, more));
    *found = *more;
  } else {
    FNZ_TRY(set_single(s, point, k - pairs, arena, more, found));
  }
  if (!*found)
    return FNZ_OK;
  FNZ_TRY(fnzi_sizes_admit(s, point, &broken));
  *found = !broken;
  return FNZ_OK;
}

fnz_status fnzi_draw_special(fnzi_draw *d, size_t k, fnzi_point *point, bool *more, bool *found) {
  fnzi_arena arena;
  fnzi_arena_init(&arena, d->sizes->set.ctx);
  fnz_status status = set_special(d->sizes, k, point, &arena, more, found);
  fnzi_arena_free(&arena);
  return status;
}
