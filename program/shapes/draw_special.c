/* draw_special.c - numbers for the symbols of a program at which other things may happen than at
 * usual ones.
 *
 * needs   usual numbers, at which the program works
 * gives   one after the other: two symbols with the same number and with neighbouring ones, two
 *         numbers that nodes take as one, an index and the same one counted from the end, as much
 *         before the end as a piece is long, each symbol at the ends of its range, at small numbers
 *         and at the program's own constants, computed indices before the end */
#include "program/shapes/equations.h"

enum { NUMBERS = 12, LARGEST_CONSTANT = 48 };

typedef struct numbers {
  int64_t data[NUMBERS]; /* different ones */
  size_t count;
} numbers;

typedef struct special {
  fnzi_sizes *s;
  fnzi_point *point;
  fnzi_bounds *bounds;
  size_t k;   /* how many are left out */
  bool more;  /* there is one; it is set in the point */
  bool found; /* and it is in the ranges of these symbols */
} special;

static void add_number(numbers *n, int64_t number) {
  for (size_t i = 0; i < n->count; i++)
    if (n->data[i] == number)
      return;
  if (n->count < NUMBERS)
    n->data[n->count++] = number;
}

static bool may_be(const fnzi_bounds *b, int64_t number) {
  return number >= b->min && number <= b->max;
}

static const fnzi_bounds *special_bounds_of(const special *p, const fnzi_expr *symbol) {
  return &p->bounds[symbol->id];
}

/* --- two symbols ------------------------------------------------------------------------------ */
/* The k-th pair of symbols; false when there are no more, and *k is by how much. */
static bool pair_at(size_t count, size_t *k, size_t *first, size_t *second) {
  for (*first = 0; *first + 1 < count; ++*first) {
    size_t row = count - 1 - *first;
    if (*k < row) {
      *second = *first + 1 + *k;
      return true;
    }
    *k -= row;
  }
  return false;
}

/* A number for both. The smaller one that they have is more likely to be an index in both places.
 */
static int64_t common_number(int64_t a, int64_t b, const fnzi_bounds *first,
                             const fnzi_bounds *second) {
  int64_t less = a < b ? a : b, more = a < b ? b : a;
  if (may_be(first, less) && may_be(second, less))
    return less;
  if (may_be(first, more) && may_be(second, more))
    return more;
  return first->min > second->min ? first->min : second->min;
}

/* Equal, the second one more, the first one more. */
static fnz_status set_pair(special *p) {
  size_t place = p->k / 3, choice = p->k % 3, first, second;
  bool known;
  int64_t a, b;
  p->more = pair_at(p->s->free.count, &place, &first, &second);
  if (!p->more) {
    p->k = 3 * place + choice;
    return FNZ_OK;
  }
  const fnzi_expr *x = p->s->free.data[first], *y = p->s->free.data[second];
  FNZ_TRY(fnzi_point_int(p->point, x, &known, &a));
  FNZ_TRY(fnzi_point_int(p->point, y, &known, &b));
  a = common_number(a, b, special_bounds_of(p, x), special_bounds_of(p, y));
  b = a + (choice == 1);
  a += choice == 2;
  p->found = may_be(special_bounds_of(p, x), a) && may_be(special_bounds_of(p, y), b);
  FNZ_TRY(fnzi_point_set(p->point, x, a));
  return fnzi_point_set(p->point, y, b);
}

/* --- two numbers that nodes take -------------------------------------------------------------- */
/* Different scalars that nodes take together with tensors. If they are indices, two of them may
 * mean the same element. */
typedef struct taken {
  const fnzi_expr *data[NUMBERS];
  size_t count;
} taken;

static void find_taken(const fnzi_sizes *s, taken *t) {
  const fnzi_graph *graph = fnzi_graph_main(s->program);
  for (size_t n = 0; n < graph->nodes.count; n++) {
    const fnzi_node *node = &graph->nodes.data[n];
    for (uint32_t i = 1; i < node->nargs && node->args[0].tag == FNZ_ARG_VALUE; i++) {
      bool symbolic = node->args[i].tag == FNZ_ARG_SYMBOL;
      uint32_t symbol = symbolic ? graph->values.data[node->args[i].u.value].symbol : 0;
      const fnzi_expr *e = symbol ? s->symbols[symbol] : NULL;
      size_t k = 0;
      while (k < t->count && t->data[k] != e)
        k++;
      if (e && k == t->count && k < NUMBERS)
        t->data[t->count++] = e;
    }
  }
}

/* The first symbol by which the one becomes equal to the other. */
static fnz_status solve_by_any(special *p, const fnzi_expr *one, const fnzi_expr *other) {
  for (size_t f = 0; f < p->s->free.count && !p->found; f++) {
    /* The symbol gets a number at which `one` has the value of `other`, which must not change. */
    const fnzi_expr *symbol = p->s->free.data[f];
    bool known, solved, wrong;
    int64_t old, wanted, number;
    FNZ_TRY(fnzi_point_int(p->point, symbol, &known, &old));
    FNZ_TRY(fnzi_point_int(p->point, other, &known, &wanted));
    if (known) {
      FNZ_TRY(fnzi_point_unset(p->point, symbol));
      FNZ_TRY(fnzi_point_int(p->point, other, &p->found, &number));
      FNZ_TRY(fnzi_point_solve(p->point, one, wanted, &solved, &wrong));
      FNZ_TRY(fnzi_point_int(p->point, symbol, &known, &number));
      p->found = p->found && known && may_be(special_bounds_of(p, symbol), number);
      if (!p->found)
        FNZ_TRY(fnzi_point_set(p->point, symbol, old));
    }
  }
  return FNZ_OK;
}

/* The p->k-th pair of a sum of symbols and another size; single symbols are pairs above. */
static bool find_sum(special *p, const taken *t, const fnzi_expr **sum, const fnzi_expr **other) {
  for (size_t i = 0; i < t->count; i++)
    for (size_t k = 0; k < t->count; k++) {
      if (i == k || t->data[i]->kind != FNZI_EXPR_SUM)
        continue;
      *sum = t->data[i];
      *other = t->data[k];
      if (p->k == 0)
        return true;
      p->k--;
    }
  return false;
}

static fnz_status set_equal(special *p) {
  taken t = {.count = 0};
  const fnzi_expr *sum, *other;
  find_taken(p->s, &t);
  p->more = find_sum(p, &t, &sum, &other);
  if (!p->more)
    return FNZ_OK;
  FNZ_TRY(solve_by_any(p, sum, other));
  return solve_by_any(p, other, sum);
}

/* --- counted from the end --------------------------------------------------------------------- */
static bool takes_number(const fnzi_node *node) {
  for (uint32_t i = 0; i < node->nargs; i++)
    if (node->args[i].tag == FNZ_ARG_SYMBOL)
      return node->args[0].tag == FNZ_ARG_VALUE;
  return false;
}

/* The lengths that a negative index counts from: sizes of tensors that nodes take together with
 * symbolic scalars. */
static fnz_status find_ends(const special *p, fnzi_arena *arena, numbers *ends) {
  const fnzi_graph *graph = fnzi_graph_main(p->s->program);
  for (size_t n = 0; n < graph->nodes.count; n++) {
    const fnzi_node *node = &graph->nodes.data[n];
    const fnz_geometry *g = NULL;
    fnz_status status = FNZ_OK;
    if (takes_number(node))
      status = fnzi_sizes_geometry(p->s, p->point,
                                   graph->values.data[node->args[0].u.value].geometry, arena, &g);
    if (status == FNZ_NO_MEMORY) /* else the numbers are none that the program takes */
      return status;
    for (uint32_t d = 0; g && d < g->rank; d++)
      add_number(ends, g->sizes[d]);
  }
  return FNZ_OK;
}

/* Sets y, where it may be negative, to the same index as x. */
static fnz_status set_same_index(special *p, const fnzi_expr *x, const fnzi_expr *y,
                                 const numbers *ends) {
  bool known;
  int64_t number;
  if (x == y || special_bounds_of(p, y)->min >= 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_point_int(p->point, x, &known, &number));
  for (size_t e = 0; e < ends->count && !p->more; e++) {
    int64_t same = number - ends->data[e];
    if (same >= 0 || !may_be(special_bounds_of(p, y), same))
      continue;
    p->more = p->found = p->k == 0;
    if (p->more)
      return fnzi_point_set(p->point, y, same);
    p->k--;
  }
  return FNZ_OK;
}

static fnz_status set_from_end(special *p, fnzi_arena *arena) {
  numbers ends = {.count = 0};
  size_t count = p->s->free.count;
  FNZ_TRY(find_ends(p, arena, &ends));
  for (size_t i = 0; i < count && !p->more; i++)
    for (size_t k = 0; k < count && !p->more; k++)
      FNZ_TRY(set_same_index(p, p->s->free.data[i], p->s->free.data[k], &ends));
  return FNZ_OK;
}

/* --- the end itself --------------------------------------------------------------------------- */
/* How long a piece may be: numbers that nodes take beside symbolic ones. */
static fnz_status find_lengths(const special *p, numbers *lengths) {
  const fnzi_graph *graph = fnzi_graph_main(p->s->program);
  for (size_t n = 0; n < graph->nodes.count; n++) {
    const fnzi_node *node = &graph->nodes.data[n];
    for (uint32_t i = 1; i < node->nargs && takes_number(node); i++)
      if (node->args[i].tag == FNZ_ARG_INT)
        add_number(lengths, node->args[i].u.i);
  }
  taken t = {.count = 0};
  find_taken(p->s, &t);
  for (size_t i = 0; i < t.count; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(p->point, t.data[i], &known, &number));
    if (known)
      add_number(lengths, number);
  }
  return FNZ_OK;
}

/* Sets a data-dependent scalar so that `e` has the value `wanted`, if a value near 0 does that. */
static fnz_status set_by_data(special *p, const fnzi_expr *e, int64_t wanted) {
  for (size_t i = 0; i < p->s->free.count && !p->found; i++)
    if (fnzi_is_data_symbol(p->s->free.data[i])) {
      const fnzi_expr *symbol = p->s->free.data[i];
      int64_t old, number;
      bool had, known;
      FNZ_TRY(fnzi_point_int(p->point, symbol, &had, &old));
      for (int64_t n = -1; n >= -LARGEST_CONSTANT && had && !p->found; n--) {
        FNZ_TRY(fnzi_point_set(p->point, symbol, n));
        FNZ_TRY(fnzi_point_int(p->point, e, &known, &number));
        p->found = known && number == wanted && may_be(special_bounds_of(p, symbol), n);
      }
      if (had && !p->found)
        FNZ_TRY(fnzi_point_set(p->point, symbol, old));
    }
  return FNZ_OK;
}

/* Starts a piece its own length before the end, so that its end is 0, which as an index means the
 * beginning. For symbols. */
static fnz_status set_to_end(special *p) {
  numbers lengths = {.count = 0};
  FNZ_TRY(find_lengths(p, &lengths));
  for (size_t i = 0; i < p->s->free.count; i++)
    for (size_t k = 0; k < lengths.count; k++) {
      const fnzi_expr *symbol = p->s->free.data[i];
      if (lengths.data[k] <= 0 || !may_be(special_bounds_of(p, symbol), -lengths.data[k]))
        continue;
      p->more = p->found = p->k == 0;
      if (p->more)
        return fnzi_point_set(p->point, symbol, -lengths.data[k]);
      p->k--;
    }
  return FNZ_OK;
}

/* The same for computed scalars, such as a quotient or a sum. */
static fnz_status set_computed_to_end(special *p) {
  numbers lengths = {.count = 0};
  taken t = {.count = 0};
  FNZ_TRY(find_lengths(p, &lengths));
  find_taken(p->s, &t);
  for (size_t i = 0; i < t.count; i++)
    for (size_t k = 0; k < lengths.count; k++) {
      if (t.data[i]->kind == FNZI_EXPR_SYMBOL || lengths.data[k] <= 0 ||
          lengths.data[k] > LARGEST_CONSTANT)
        continue;
      p->more = p->k == 0;
      if (p->more)
        return set_by_data(p, t.data[i], -lengths.data[k]);
      p->k--;
    }
  return FNZ_OK;
}

/* --- one symbol ------------------------------------------------------------------------------- */
/* The k-th number for a symbol; false when there are no more. */
static bool special_number(const numbers *c, fnzi_bounds b, size_t k, int64_t *out) {
  static const int64_t small[] = {0, 1, 2, 3, 4, -1};
  enum { SMALL = sizeof small / sizeof *small };
  bool has_min = b.min > -FNZI_LARGEST_END && b.min < FNZI_LARGEST_END,
       has_max = b.max <= FNZI_LARGEST_END;
  if (k < SMALL)
    *out = small[k];
  else if (k < SMALL + 2)
    *out = has_min ? b.min + (int64_t)(k - SMALL) : 0;
  else if (k < SMALL + 4)
    *out = has_max ? b.max - (int64_t)(k - SMALL - 2) : 0;
  else { /* a constant, the next number and, of what may be negative, as much before the end */
    size_t at = k - SMALL - 4;
    size_t choices = b.min < 0 ? 3 : 2;
    if (at / choices >= c->count)
      return false;
    *out = c->data[at / choices] + (at % choices == 1);
    *out = at % choices == 2 ? -*out : *out;
  }
  return true;
}

static fnz_status set_single(special *p) {
  numbers c = {.count = 0};
  int64_t number = 0;
  /* Numbers among the arguments of nodes: where a size equals one, something may be special. */
  for (size_t i = 0; i < p->s->program->graphs.count; i++)
    for (size_t n = 0; n < p->s->program->graphs.data[i].nodes.count; n++) {
      const fnzi_node *node = &p->s->program->graphs.data[i].nodes.data[n];
      if (fnzi_is_size_node(node))
        continue;
      FNZI_EACH_ARG(each, node->args, node->nargs)
        if (each.arg->tag == FNZ_ARG_INT && each.arg->u.i >= 2 && each.arg->u.i <= LARGEST_CONSTANT)
          add_number(&c, each.arg->u.i);
    }
  for (size_t i = 0; i < p->s->free.count && !p->more; i++) {
    const fnzi_expr *symbol = p->s->free.data[i];
    const fnzi_bounds *b = special_bounds_of(p, symbol);
    size_t n = 0;
    while (n <= p->k && special_number(&c, *b, n, &number))
      n++;
    p->more = n > p->k;
    p->found = p->more && may_be(b, number);
    if (p->more)
      return fnzi_point_set(p->point, symbol, number);
    p->k -= n;
  }
  return FNZ_OK;
}

static fnz_status set_special(special *p, fnzi_arena *arena) {
  const fnzi_condition *broken;
  int64_t *before;
  FNZ_TRY(fnzi_draw_bounds(p->s, arena, &p->bounds));
  FNZ_TRY(fnzi_free_numbers(p->s, p->point, arena, &before));
  FNZ_TRY(set_pair(p));
  if (!p->more)
    FNZ_TRY(set_equal(p));
  if (!p->more)
    FNZ_TRY(set_from_end(p, arena));
  if (!p->more)
    FNZ_TRY(set_to_end(p));
  if (!p->more)
    FNZ_TRY(set_single(p));
  if (!p->more && fnzi_sizes_have_data(p->s))
    FNZ_TRY(set_computed_to_end(p));
  if (!p->found)
    return FNZ_OK;
  FNZ_TRY(fnzi_equations_mend(p->s, p->bounds, before, p->point));
  FNZ_TRY(fnzi_sizes_admit(p->s, p->point, &broken));
  p->found = !broken;
  return FNZ_OK;
}

fnz_status fnzi_draw_special(fnzi_draw *d, size_t k, fnzi_point *point, bool *more, bool *found) {
  fnzi_arena arena;
  special p = {.s = d->sizes, .point = point, .k = k};
  fnzi_arena_init(&arena, d->sizes->set.ctx);
  fnz_status status = set_special(&p, &arena);
  fnzi_arena_free(&arena);
  *more = p.more;
  *found = p.found;
  return status;
}
