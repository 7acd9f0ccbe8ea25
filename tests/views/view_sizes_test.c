/* checks: 4
 * view_sizes_test.c - windows whose words are expressions, against the same views at numbers.
 *
 * A trial has a base with symbolic sizes, and windows of it or of each other. A point is a choice
 * of small numbers for the symbols. There the same calls are made with numbers: their windows are
 * the truth. A window is not looked at where a call that leads to it fails. Each answer about words
 * must hold at all points.
 *
 * FNZ_TALLY=1 prints how many answers were proved. FNZ_TRIALS=20000 makes as many, FNZ_SEED=7
 * begins elsewhere. */
#include "tests/help/memory.h"
#include "tests/help/words.h"
#include "views/composites.h"
#include "views/rule.h"

enum { WINDOWS = 7, MOST_PLACES = 700, LARGEST_SIZE = 12, ARGS = 5, ITEMS = 8 };

typedef struct call {
  fnzi_op_call call;
  fnz_arg args[ARGS], items[ITEMS];
  size_t index;                  /* which result, of several */
  const fnzi_view *view;         /* or, if NULL, */
  const fnzi_composite_row *row; /* this one */
} call;

typedef struct window {
  const fnz_geometry *words;
  const fnz_geometry *at[POINTS]; /* NULL: the point is none of it */
  const struct window *from;      /* NULL: the base */
  char how[300];                  /* the calls that led here */
} window;

typedef struct tally {
  size_t asked, told, so, missed; /* so: at all numbers there are; missed: of these not told */
} tally;

typedef struct trial {
  words w;
  choices c;
  window windows[WINDOWS]; /* the first one is the base */
  size_t count;
  call last;               /* the call that opened the last one, */
  const window *last_from; /* of this window; NULL: there is none */
  tally views, self, paths, relations[FNZI_UNKNOWN + 1];
} trial;

static void abort_trial(const trial *t, const window *a, const window *b, size_t point,
                        const char *what) {
  char numbers[80] = "";
  for (size_t k = 0; k < t->w.nsymbols; k++)
    snprintf(numbers + strlen(numbers), 20, "s%zu = %lld ", k, (long long)t->w.numbers[k][point]);
  print_window("a", a->at[point] ? a->at[point] : t->windows[0].at[point]);
  if (b && b->at[point])
    print_window("b", b->at[point]);
  ck_abort_msg("%s; a: %s; b: %s; at %s; %s", what, a->how, b ? b->how : "none", numbers,
               t->w.told);
}

/* --- words and numbers ------------------------------------------------------------------------ */
/* A geometry of words at a point; NULL where one has no value. */
static const fnz_geometry *numbers_of(trial *t, const fnz_geometry *g, size_t point) {
  fnz_geometry *out;
  int64_t *n;
  OK(t->w.ctx, fnzi_arena_take(&t->w.arena, 1, sizeof *out, (void **)&out));
  OK(t->w.ctx, fnzi_arena_take(&t->w.arena, 2 * (size_t)g->rank, sizeof *n, (void **)&n));
  *out = *g;
  out->sizes = n;
  out->strides = n + g->rank;
  out->offset = word_at(&t->w, fnzi_int_offset(g), point);
  bool fits = out->offset != NO_VALUE;
  for (uint32_t d = 0; d < g->rank; d++) {
    n[d] = word_at(&t->w, fnzi_int_size(g, d), point);
    n[g->rank + d] = word_at(&t->w, fnzi_int_stride(g, d), point);
    fits = fits && n[d] != NO_VALUE && n[g->rank + d] != NO_VALUE;
  }
  return fits ? out : NULL;
}

static bool arg_at(trial *t, fnz_arg arg, size_t point, fnz_arg *out) {
  *out = arg;
  if (fnzi_arg_is_int(&arg))
    *out = fnzi_arg_int(word_at(&t->w, fnzi_arg_word(&arg), point));
  return !fnzi_arg_is_int(&arg) || out->u.i != NO_VALUE;
}

/* An expression in a list that is -1 there, which would mean something else. */
static bool is_special(fnz_arg arg, fnz_arg there) {
  return arg.tag == FNZI_ARG_SIZE && there.u.i < 0;
}

/* A call with numbers in place of words; false where one has no value. */
static bool call_at(trial *t, const fnzi_op_call *from, size_t point, call *out) {
  bool fits = true;
  for (size_t i = 0; i < from->nargs; i++) {
    const fnz_arg *arg = &from->args[i];
    fits = arg_at(t, *arg, point, &out->args[i]) && fits;
    for (size_t k = 0; k < arg->count && arg->tag == FNZ_ARG_LIST; k++)
      fits = arg_at(t, arg->u.list[k], point, &out->items[k]) &&
             !is_special(arg->u.list[k], out->items[k]) && fits;
    if (arg->tag == FNZ_ARG_LIST)
      out->args[i].u.list = out->items;
  }
  out->call = (fnzi_op_call){from->op, out->args, from->nargs};
  return fits;
}

/* --- one call --------------------------------------------------------------------------------- */
typedef enum outcome { OPENED, REFUSED, COPIED } outcome;

/* The windows of a call; composites first say which views they are. */
static outcome open_windows(trial *t, fnzi_ints *s, const call *k, const fnz_geometry *base,
                            const fnz_geometry **out) {
  fnzi_resolution r = {0};
  fnz_geometry *opened;
  size_t count;
  if (k->view) {
    if (fnzi_view_forward((fnzi_int_space){s, &t->w.arena}, k->view, &k->call, base, &opened,
                          &count) != FNZ_OK)
      return REFUSED;
    *out = k->index < count ? &opened[k->index] : NULL;
    return *out ? OPENED : REFUSED;
  }
  if (fnzi_composite_resolve((fnzi_int_space){s, &t->w.arena}, k->row, &k->call, &base, 1, &r) !=
      FNZ_OK)
    return REFUSED;
  const fnzi_composite_item *item = &r.items[k->index < r.count ? k->index : 0];
  size_t index = r.count > 1 ? 0 : k->index;
  *out = base;
  for (size_t i = 0; i < item->nsteps; i++) {
    const fnzi_view *view = item->steps[i].op == fnzi_op_of_step(FNZI_STEP_VIEW_COPY)
                                ? NULL
                                : fnzi_view_find(item->steps[i].op);
    if (!view)
      return COPIED;
    if (fnzi_view_forward((fnzi_int_space){s, &t->w.arena}, view, &item->steps[i], *out, &opened,
                          &count) != FNZ_OK)
      return REFUSED;
    if (count > 1 ? index >= count : index > 0 && count != 1)
      return REFUSED;
    *out = &opened[count > 1 ? index : 0];
  }
  return OPENED;
}

static bool shows_the_same(const fnz_geometry *a, const fnz_geometry *b) {
  bool same = a->rank == b->rank;
  for (uint32_t d = 0; d < a->rank && same; d++)
    same = a->sizes[d] == b->sizes[d];
  if (!same || count_elements(a) == 0)
    return same;
  for (uint32_t d = 0; d < a->rank && same; d++)
    same = a->sizes[d] == 1 || a->strides[d] == b->strides[d];
  return same && a->offset == b->offset;
}

/* --- drawing calls ---------------------------------------------------------------------------- */
static fnzi_int number_or_symbol(trial *t) {
  return perhaps(&t->c, 50) ? t->w.symbols[choose(&t->c, (uint32_t)t->w.nsymbols)]
                            : fnzi_int_of(choose(&t->c, 5));
}

/* A size, or a bound. */
static fnzi_int draw_word(trial *t) {
  fnzi_ints *s = &t->w.ints;
  const fnzi_int a = number_or_symbol(t), b = number_or_symbol(t), two = {2};
  switch (choose(&t->c, 12)) {
  case 0:
    return fnzi_int_add(s, a, b);
  case 1:
    return fnzi_int_sub(s, a, fnzi_int_of(1));
  case 2:
    return fnzi_int_mul(s, a, two);
  case 3:
    return fnzi_int_div_down(s, a, two);
  case 4:
    return fnzi_int_min(s, a, b);
  case 5:
    return fnzi_int_sub(s, a, b);
  default:
    return a;
  }
}

/* An index into a dimension, often one that fits. */
static fnzi_int draw_index(trial *t, fnzi_int size) {
  fnzi_ints *s = &t->w.ints;
  switch (choose(&t->c, 10)) {
  case 0:
    return fnzi_int_sub(s, size, fnzi_int_of(1 + choose(&t->c, 2)));
  case 1:
    return fnzi_int_div_down(s, size, fnzi_int_of(2));
  case 2:
    return fnzi_int_of(-(int64_t)choose(&t->c, 4));
  case 3:
    return fnzi_int_sub(s, fnzi_int_of(0), size);
  case 4:
  case 5:
    return draw_word(t);
  case 6:
    return size;
  default:
    return fnzi_int_of(choose(&t->c, 3));
  }
}

static void add_arg(call *k, fnz_arg arg) {
  k->args[k->call.nargs++] = arg;
}

static void add_int(call *k, fnzi_int word) {
  add_arg(k, fnzi_arg_of_int(word));
}

static void add_number(call *k, int64_t n) {
  add_arg(k, fnzi_arg_int(n));
}

static void add_list(call *k, uint32_t count) {
  add_arg(k, (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = k->items});
}

static void name_call(call *k, const char *op) {
  k->call.op = fnzi_ops_find(op);
  k->view = fnzi_view_find(k->call.op);
  k->row = k->view ? NULL : fnzi_composite_find(k->call.op);
}

static void draw_cut(trial *t, const fnz_geometry *g, call *k) {
  const uint32_t dim = choose(&t->c, g->rank);
  const fnzi_int size = fnzi_int_size(g, dim), start = draw_index(t, size);
  const bool all = perhaps(&t->c, 20);
  name_call(k, "slice.Tensor");
  add_number(k, dim);
  add_int(k, perhaps(&t->c, 30) ? fnzi_int_of(0) : start);
  add_int(k, all ? fnzi_int_of(INT64_MAX) : draw_index(t, size));
  if (perhaps(&t->c, 40))
    add_int(k, perhaps(&t->c, 15) ? draw_word(t) : fnzi_int_of(2 + choose(&t->c, 2)));
}

static void draw_pieces(trial *t, const fnz_geometry *g, call *k) {
  fnzi_ints *s = &t->w.ints;
  const uint32_t dim = choose(&t->c, g->rank), kind = choose(&t->c, 6);
  const fnzi_int size = fnzi_int_size(g, dim), index = draw_index(t, size);
  static const char *const names[] = {"narrow",           "select.int", "split.Tensor",
                                      "split_with_sizes", "chunk",      "tensor_split.sections"};
  name_call(k, names[kind]);
  if (kind < 2)
    add_number(k, dim);
  if (kind == 0) {
    add_int(k, index);
    add_int(k, perhaps(&t->c, 50) ? draw_index(t, size) : fnzi_int_sub(s, size, index));
  } else if (kind == 1)
    add_int(k, index);
  else if (kind == 2)
    add_int(k, perhaps(&t->c, 50) ? fnzi_int_div_up(s, size, fnzi_int_of(2)) : index);
  else if (kind == 3) {
    k->items[0] = fnzi_arg_of_int(index);
    k->items[1] = fnzi_arg_of_int(fnzi_int_sub(s, size, index));
    add_list(k, 2);
  } else
    add_number(k, 2 + choose(&t->c, 2));
  if (kind >= 2)
    add_number(k, dim);
  k->index = kind >= 2 ? choose(&t->c, 3) : 0;
}

static void draw_order(trial *t, const fnz_geometry *g, call *k) {
  const uint32_t kind = choose(&t->c, 3), turn = choose(&t->c, g->rank);
  static const char *const names[] = {"transpose.int", "permute", "movedim.int"};
  name_call(k, names[kind]);
  if (kind != 1) {
    add_number(k, choose(&t->c, g->rank));
    add_number(k, choose(&t->c, g->rank));
    return;
  }
  for (uint32_t d = 0; d < g->rank; d++)
    k->items[d] = fnzi_arg_int((d + turn) % g->rank);
  add_list(k, g->rank);
}

static void draw_ones(trial *t, const fnz_geometry *g, call *k) {
  const uint32_t kind = choose(&t->c, 4);
  name_call(k, kind == 0   ? "squeeze.dim"
               : kind == 1 ? "squeeze"
               : kind == 2 ? "unsqueeze"
                           : "expand");
  if (kind == 0)
    add_number(k, choose(&t->c, g->rank));
  if (kind == 2)
    add_number(k, choose(&t->c, g->rank + 1));
  if (kind != 3)
    return;
  const uint32_t more = choose(&t->c, 2);
  for (uint32_t d = 0; d < g->rank + more; d++) {
    const bool grows = d < more || fnzi_int_is(fnzi_int_size(g, d - more), 1);
    k->items[d] = fnzi_arg_of_int(grows ? draw_word(t) : fnzi_int_of(-1));
  }
  add_list(k, g->rank + more);
}

static void draw_strided(trial *t, const fnz_geometry *g, call *k) {
  const uint32_t dim = choose(&t->c, g->rank);
  if (g->rank > 1 && perhaps(&t->c, 60)) {
    name_call(k, "diagonal");
    add_int(k, draw_index(t, fnzi_int_size(g, dim)));
    add_number(k, dim);
    add_number(k, (dim + 1 + choose(&t->c, g->rank - 1)) % g->rank);
    return;
  }
  name_call(k, "unfold");
  add_number(k, dim);
  add_int(k, draw_index(t, fnzi_int_size(g, dim)));
  add_int(k, fnzi_int_of(1 + choose(&t->c, 3)));
}

/* Joins dimensions, or makes two of one. */
static void draw_shape(trial *t, const fnz_geometry *g, call *k) {
  fnzi_ints *s = &t->w.ints;
  const uint32_t dim = choose(&t->c, g->rank), kind = choose(&t->c, 4);
  const fnzi_int size = fnzi_int_size(g, dim), part = number_or_symbol(t);
  uint32_t n = 0;
  name_call(k, kind == 0 ? "flatten.using_ints" : kind == 1 ? "view" : "reshape");
  if (kind == 0) {
    add_number(k, dim);
    add_number(k, dim + choose(&t->c, g->rank - dim));
    return;
  }
  const bool splits = perhaps(&t->c, 50) && !(fnzi_int_is_number(part) && part.bits < 1);
  for (uint32_t d = 0; d < g->rank; d++) {
    if (d == dim && splits) {
      k->items[n++] = fnzi_arg_of_int(part);
      k->items[n++] = fnzi_arg_of_int(fnzi_int_div_down(s, size, part));
    } else if (d == dim && d + 1 < g->rank) {
      k->items[n++] = fnzi_arg_of_int(fnzi_int_mul(s, size, fnzi_int_size(g, d + 1)));
      d++;
    } else
      k->items[n++] = fnzi_arg_of_int(fnzi_int_size(g, d));
  }
  if (perhaps(&t->c, 30))
    k->items[choose(&t->c, n)] = fnzi_arg_int(-1);
  add_list(k, n);
}

static void add_to(trial *t, fnz_arg *arg, fnzi_int more) {
  *arg = fnzi_arg_of_int(fnzi_int_add(&t->w.ints, fnzi_arg_word(arg), more));
}

/* Makes a call one that opens the window behind, or beside. */
static bool move_on(trial *t, const fnz_geometry *g, call *k) {
  const fnzi_int one = {1};
  const char *op = k->call.op->name;
  if (strcmp(op, "slice.Tensor") == 0 && k->call.nargs == 5)
    add_to(t, &k->args[2], one);
  else if (strcmp(op, "slice.Tensor") == 0) {
    k->args[2] = k->args[3];
    k->args[3] = fnzi_arg_of_int(fnzi_int_size(g, (uint32_t)k->args[1].u.i));
  } else if (strcmp(op, "select.int") == 0 || strcmp(op, "diagonal") == 0)
    add_to(t, &k->args[op[0] == 's' ? 2 : 1], one);
  else if (strcmp(op, "narrow") == 0) {
    add_to(t, &k->args[2], fnzi_arg_word(&k->args[3]));
    k->args[3] = fnzi_arg_of_int(fnzi_int_sub(
        &t->w.ints, fnzi_int_size(g, (uint32_t)k->args[1].u.i), fnzi_arg_word(&k->args[2])));
  } else if (strstr(op, "split") || strcmp(op, "chunk") == 0)
    k->index = (k->index + 1) % 2;
  else
    return false;
  return true;
}

static void draw_call(trial *t, const fnz_geometry *g, call *k) {
  typedef void draw_fn(trial *, const fnz_geometry *, call *);
  static draw_fn *const draws[] = {draw_cut,   draw_cut,  draw_pieces,  draw_pieces,
                                   draw_order, draw_ones, draw_strided, draw_shape};
  memset(k, 0, sizeof *k);
  k->call.nargs = 1;
  k->args[0] = fnzi_arg_default();
  draws[g->rank ? choose(&t->c, sizeof draws / sizeof *draws) : 5](t, g, k);
  k->call.args = k->args;
}

/* --- windows ---------------------------------------------------------------------------------- */
static void tell_arg(trial *t, const fnz_arg *arg, char *out, size_t size) {
  size_t at = strlen(out);
  if (fnzi_arg_is_int(arg))
    snprintf(out + at, size - at, " %s", WORD(&t->w, fnzi_arg_word(arg)));
  for (size_t k = 0; k < arg->count && arg->tag == FNZ_ARG_LIST; k++) {
    at = strlen(out);
    snprintf(out + at, size - at, "%c%s", k ? ',' : ' ',
             WORD(&t->w, fnzi_arg_word(&arg->u.list[k])));
  }
}

static void tell_call(trial *t, const call *k, const window *from, window *to) {
  snprintf(to->how, sizeof to->how, "%s; %s", from->how, k->call.op->name);
  for (size_t i = 0; i < k->call.nargs; i++)
    tell_arg(t, &k->args[i], to->how, sizeof to->how);
}

/* The words that refuse a call do so for all sizes. */
static bool refuses_for_all(const call *k) {
  static const char *const names[] = {"select.int", "narrow", "split_with_sizes", "slice.Tensor"};
  bool is = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    is = is || strcmp(k->call.op->name, names[i]) == 0;
  return is;
}

static size_t count_points(const trial *t, const window *a, const window *b) {
  size_t n = 0;
  for (size_t i = 0; i < t->w.npoints; i++)
    n += a->at[i] && b->at[i];
  return n;
}

/* The same call with numbers: the window there, or that the point is none. */
static void open_at(trial *t, const call *k, const window *from, window *to, size_t point,
                    outcome told) {
  call numbers = *k;
  to->at[point] = NULL;
  if (!from->at[point] || !call_at(t, &k->call, point, &numbers))
    return;
  const outcome is = open_windows(t, NULL, &numbers, from->at[point], &to->at[point]);
  if (told == OPENED && is == COPIED)
    abort_trial(t, from, to, point, "the view is a copy here");
  if (told == REFUSED && is == OPENED)
    abort_trial(t, from, to, point, "the call that is refused works here");
  if (is != OPENED || told != OPENED) {
    to->at[point] = NULL;
    return;
  }
  const fnz_geometry *words = numbers_of(t, to->words, point);
  if (strncmp(k->call.op->name, "squeeze", 7) == 0 && to->at[point]->rank != to->words->rank)
    to->at[point] = NULL; /* the file would record another rank */
  else if (!words || !shows_the_same(words, to->at[point])) {
    if (words)
      print_window("words", words);
    abort_trial(t, to, from, point, "the words are wrong");
  }
}

/* A run that gets as far has no negative sizes: the pass takes that for a fact, too. */
static void assume_sizes(trial *t, const window *w) {
  const fnzi_int zero = {0};
  for (uint32_t d = 0; d < w->words->rank; d++)
    if (!fnzi_int_is_at_least(&t->w.ints, fnzi_int_size(w->words, d), zero))
      words_guard(&t->w, FNZI_FUNCTION_GE, fnzi_int_size(w->words, d), zero);
  for (size_t k = 0; k <= t->count; k++)
    for (size_t i = 0; i < t->w.npoints; i++)
      if (!t->w.kept[i])
        t->windows[k].at[i] = NULL;
}

/* A size is 0 at all numbers by facts that came after it: its word would be another one. */
static bool is_stale(trial *t, const window *w) {
  const fnzi_int zero = {0};
  bool stale = false;
  for (uint32_t d = 0; d < w->words->rank; d++) {
    const fnzi_int size = fnzi_int_size(w->words, d);
    stale = stale || (!fnzi_int_is_number(size) && fnzi_int_is_at_least(&t->w.ints, zero, size));
  }
  return stale;
}

static void add_window(trial *t) {
  const window *from = t->last_from;
  window *to = &t->windows[t->count];
  call *k = &t->last;
  t->last_from = NULL;
  if (!from || !perhaps(&t->c, 60) || !move_on(t, from->words, k)) {
    from = &t->windows[perhaps(&t->c, 40) ? choose(&t->c, (uint32_t)t->count) : t->count - 1];
    if (from->words->rank > 5)
      return;
    draw_call(t, from->words, k);
  }
  to->from = from;
  tell_call(t, k, from, to);
  const outcome told = open_windows(t, &t->w.ints, k, from->words, &to->words);
  t->views.asked++;
  t->views.told += told == OPENED;
  if (told == REFUSED &&
      !(refuses_for_all(k) && fnz_last_error(t->w.ctx)->kind == FNZ_CLASS_BOUNDS))
    return;
  for (size_t i = 0; i < t->w.npoints; i++)
    open_at(t, k, from, to, i, told);
  if (told != OPENED || count_points(t, to, to) < 3)
    return;
  assume_sizes(t, to);
  t->count++;
  t->last_from = from;
}

/* Row-major, in another order of dimensions, or with gaps between rows. */
static bool add_base(trial *t) {
  fnzi_ints *s = &t->w.ints;
  static fnz_geometry base;
  static fnzi_int sizes[3], strides[3], rows[3];
  const uint32_t rank = 1 + choose(&t->c, 3), kind = choose(&t->c, 4), turn = choose(&t->c, rank);
  window *w = &t->windows[0];
  w->from = t->last_from = NULL;
  base = (fnz_geometry){.dtype = FNZ_F32, .rank = rank, .offset = perhaps(&t->c, 20) ? 3 : 0};
  base.sizes = &sizes->bits;
  base.strides = &strides->bits;
  for (uint32_t d = 0; d < rank; d++) {
    sizes[d] = draw_word(t);
    words_guard(&t->w, FNZI_FUNCTION_GE, sizes[d], fnzi_int_of(0));
  }
  fnzi_int_row_strides(s, &base, rows);
  for (uint32_t d = rank - 1, k = kind == 1; k && d-- > 0;) /* gaps */
    rows[d] = fnzi_int_mul(s, fnzi_int_add(s, sizes[d + 1], fnzi_int_of(1)), rows[d + 1]);
  for (uint32_t d = 0; d < rank; d++)
    strides[kind == 2 ? (d + turn) % rank : d] = rows[d];
  const fnzi_int plain[3] = {sizes[0], sizes[1], sizes[2]};
  for (uint32_t d = 0; d < rank && kind == 2; d++)
    sizes[(d + turn) % rank] = plain[d];
  snprintf(w->how, sizeof w->how, "base");
  for (uint32_t d = 0; d < rank; d++)
    snprintf(w->how + strlen(w->how), 60, " %.25s:%.25s", WORD(&t->w, sizes[d]),
             WORD(&t->w, strides[d]));
  w->words = &base;
  for (size_t i = 0; i < t->w.npoints; i++) {
    w->at[i] = t->w.kept[i] ? numbers_of(t, &base, i) : NULL;
    for (uint32_t d = 0; d < rank && w->at[i]; d++)
      if (w->at[i]->sizes[d] < 0 || w->at[i]->sizes[d] > LARGEST_SIZE)
        w->at[i] = NULL;
    if (w->at[i] && bytes_needed(w->at[i]) > MOST_PLACES * sizeof(float))
      w->at[i] = NULL;
  }
  t->count = 1;
  return count_points(t, w, w) > 1;
}

static bool start(trial *t, uint64_t seed, uint64_t index) {
  choices_start(&t->c, seed, index);
  words_open(&t->w, &t->c, 1 + choose(&t->c, SYMBOLS), 0);
  if (perhaps(&t->c, 30))
    words_guard(&t->w, FNZI_FUNCTION_GE, draw_word(t), draw_word(t));
  if (perhaps(&t->c, 10))
    words_guard(&t->w, FNZI_FUNCTION_EQ, draw_word(t), draw_word(t));
  if (!add_base(t))
    return false;
  for (size_t tries = 0; t->count < WINDOWS && tries < 2 * WINDOWS; tries++)
    add_window(t);
  return true;
}

/* --- which memory they share ------------------------------------------------------------------ */
static unsigned char seen[2 * MOST_PLACES];

static bool mark(const fnz_geometry *g, unsigned char bit) {
  bool twice = false;
  for (int64_t i = 0, n = count_elements(g); i < n; i++) {
    const int64_t place = place_of(g, i);
    ck_assert_msg(place >= 0 && place < (int64_t)sizeof seen, "the place %lld", (long long)place);
    unsigned char *at = &seen[place];
    twice = twice || (*at & bit);
    *at |= bit;
  }
  return twice;
}

/* The relations of two sets of places, as bits: several where one is empty. */
static unsigned true_relations(const fnz_geometry *a, const fnz_geometry *b) {
  bool has[4] = {false};
  memset(seen, 0, sizeof seen);
  mark(a, 1);
  mark(b, 2);
  for (size_t i = 0; i < sizeof seen; i++)
    has[seen[i]] = true;
  return (unsigned)!has[3] << FNZI_DISJOINT | (unsigned)(!has[1] && !has[2]) << FNZI_EQUAL |
         (unsigned)!has[2] << FNZI_CONTAINS | (unsigned)!has[1] << FNZI_INSIDE |
         (unsigned)(has[1] && has[2] && has[3]) << FNZI_OVERLAPS | 1u << FNZI_UNKNOWN;
}

static bool is_counted(const window *a, const window *b) {
  return !fnzi_int_is_empty(a->words) && !fnzi_int_is_empty(b->words) &&
         (fnzi_int_is_symbolic(a->words) || fnzi_int_is_symbolic(b->words));
}

static void check_relation(trial *t, const window *a, const window *b) {
  static const char *const names[] = {"disjoint", "equal", "contains", "inside", "overlaps", ""};
  const fnz_geometry *frame = perhaps(&t->c, 90) ? t->windows[0].words : NULL;
  const fnzi_relation told =
      fnzi_oracle_relate(&t->w.ints, a->words, b->words, frame, FNZI_LITTLE_WORK);
  unsigned all = (1u << (FNZI_UNKNOWN + 1)) - 1;
  size_t points = 0;
  for (size_t i = 0; i < t->w.npoints; i++) {
    if (!a->at[i] || !b->at[i])
      continue;
    const unsigned is = true_relations(a->at[i], b->at[i]);
    all &= is;
    points += count_elements(a->at[i]) && count_elements(b->at[i]);
    if (!(is >> told & 1))
      abort_trial(t, a, b, i, names[told]);
  }
  if (points < 3 || !frame || !is_counted(a, b)) /* numbers alone have other answers */
    return;
  for (size_t r = 0; r < FNZI_UNKNOWN; r++) {
    const bool so = all >> r & 1 && t->w.bounded;
    t->relations[r].asked++;
    t->relations[r].told += told == r;
    t->relations[r].so += so;
    t->relations[r].missed += so && told == FNZI_UNKNOWN;
  }
}

static void check_self(trial *t, const window *a) {
  const fnzi_relation told = fnzi_oracle_relate_self(&t->w.ints, a->words, FNZI_LITTLE_WORK);
  bool never = true;
  for (size_t i = 0; i < t->w.npoints; i++) {
    if (!a->at[i])
      continue;
    memset(seen, 0, sizeof seen);
    const bool twice = mark(a->at[i], 1);
    never = never && !twice;
    if ((told == FNZI_DISJOINT && twice) || (told == FNZI_OVERLAPS && !twice))
      abort_trial(t, a, NULL, i, "overlap within itself");
  }
  if (!is_counted(a, a))
    return;
  t->self.asked++;
  t->self.told += told == FNZI_DISJOINT;
  t->self.so += never && t->w.bounded;
  t->self.missed += never && t->w.bounded && told == FNZI_UNKNOWN;
}

/* --- paths ------------------------------------------------------------------------------------ */
/* The steps with numbers lead from the one window there to the other. */
static void follow(trial *t, const fnzi_path *path, const window *a, const window *b,
                   size_t point) {
  const fnz_geometry *at = a->at[point], *words;
  for (size_t k = 0; k < path->count; k++) {
    const fnzi_view_step *step = &path->steps[k];
    fnz_geometry *opened;
    size_t count;
    call numbers = {0};
    if (!call_at(t, &step->call, point, &numbers) ||
        fnzi_view_forward((fnzi_int_space){NULL, &t->w.arena}, step->view, &numbers.call, at,
                          &opened, &count) != FNZ_OK)
      abort_trial(t, a, b, point, step->call.op->name);
    words = numbers_of(t, step->window, point);
    at = &opened[step->index];
    if (!words || !shows_the_same(words, at))
      abort_trial(t, a, b, point, "a step is wrong");
  }
  if (!shows_the_same(at, b->at[point])) {
    print_window("led to", at);
    abort_trial(t, a, b, point, "the path is wrong");
  }
}

/* The window is made of ranges of the other's dimensions there. */
static bool has_path(trial *t, const fnz_geometry *from, const fnz_geometry *to) {
  fnzi_path path;
  bool found;
  OK(t->w.ctx, fnzi_path_box((fnzi_int_space){NULL, &t->w.arena}, from, to, &path, &found));
  return found;
}

/* The pass asks only for paths to windows that are inside. */
static bool is_inside(trial *t, const window *a, const window *b) {
  const fnzi_relation told =
      fnzi_oracle_relate(&t->w.ints, a->words, b->words, t->windows[0].words, FNZI_LITTLE_WORK);
  bool is = told == FNZI_EQUAL || told == FNZI_CONTAINS;
  for (const window *up = b; up && !is; up = up->from)
    is = up == a;
  return is;
}

static void check_path(trial *t, const window *a, const window *b) {
  fnzi_path path;
  if (is_stale(t, a) || !is_inside(t, a, b))
    return;
  bool found, all = true;
  if (fnzi_path_box((fnzi_int_space){&t->w.ints, &t->w.arena}, a->words, b->words, &path, &found) !=
      FNZ_OK)
    ck_abort_msg("%s; a: %s; b: %s; %s", fnz_last_error(t->w.ctx)->message, a->how, b->how,
                 t->w.told);
  size_t points = 0;
  for (size_t i = 0; i < t->w.npoints; i++) {
    if (!a->at[i] || !b->at[i] || count_elements(a->at[i]) == 0)
      continue; /* a box says nothing of a frame without elements */
    if (found)
      follow(t, &path, a, b, i);
    else if (t->w.bounded && all && count_elements(b->at[i]))
      all = has_path(t, a->at[i], b->at[i]);
    points += count_elements(b->at[i]) > 0;
  }
  if (points < 3 || !is_counted(a, b))
    return;
  t->paths.asked++;
  t->paths.told += found;
  t->paths.so += all && t->w.bounded;
  t->paths.missed += all && t->w.bounded && !found;
}

/* --- the tests -------------------------------------------------------------------------------- */
enum { TRIALS = 1200 };

static uint64_t number_in(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

/* At least `least` hundredths of the questions have an answer. At most `most` of the true answers
 * are missed. */
static void check_tally(const tally *t, const char *what, size_t least, size_t most) {
  if (getenv("FNZ_TALLY"))
    printf("%s: %zu asked, %zu told; in boxes %zu are so, %zu of them missed\n", what, t->asked,
           t->told, t->so, t->missed);
  ck_assert_msg(t->told * 100 >= t->asked * least, "%s: %zu of %zu told", what, t->told, t->asked);
  ck_assert_msg(t->missed * 100 <= t->so * most, "%s: %zu of %zu missed", what, t->missed, t->so);
}

static const window *any_window(trial *t) {
  return &t->windows[choose(&t->c, (uint32_t)t->count)];
}

static void check_relations(trial *t, const window *w) {
  check_relation(t, w, any_window(t));
  check_relation(t, any_window(t), w);
}

static void check_paths(trial *t, const window *w) {
  check_path(t, &t->windows[0], w);
  check_path(t, any_window(t), w);
}

typedef void check_fn(trial *t, const window *w);

static void run_trials(trial *t, check_fn *check, uint64_t series) {
  const uint64_t from = number_in("FNZ_SEED", 0), most = number_in("FNZ_TRIALS", TRIALS);
  for (uint64_t i = from; i < from + most; i++) {
    if (start(t, series, i))
      for (size_t k = 0; k < t->count; k++)
        check(t, &t->windows[k]);
    words_close(&t->w);
  }
}

START_TEST(relations_hold_at_all_numbers) {
  static trial t;
  run_trials(&t, check_relations, 1);
  check_tally(&t.views, "views", 70, 0);
  check_tally(&t.relations[FNZI_DISJOINT], "disjoint", 3, 60);
  check_tally(&t.relations[FNZI_EQUAL], "equal", 25, 20);
  check_tally(&t.relations[FNZI_CONTAINS], "contains", 4, 40);
  check_tally(&t.relations[FNZI_INSIDE], "inside", 4, 40);
}
END_TEST

START_TEST(overlaps_within_hold_at_all_numbers) {
  static trial t;
  run_trials(&t, check_self, 2);
  check_tally(&t.self, "no overlap within", 60, 20);
}
END_TEST

START_TEST(paths_lead_there_at_all_numbers) {
  static trial t;
  run_trials(&t, check_paths, 3);
  check_tally(&t.paths, "paths", 50, 35);
}
END_TEST

/* --- pieces of one dimension ------------------------------------------------------------------ */
static const fnz_geometry *slice_of(trial *t, const fnz_geometry *g, uint32_t dim, fnzi_int start,
                                    fnzi_int end) {
  const fnz_geometry *out = NULL;
  call k = {.args = {fnzi_arg_default()}, .call = {.args = k.args, .nargs = 1}};
  name_call(&k, "slice.Tensor");
  add_number(&k, dim);
  add_int(&k, start);
  add_int(&k, end);
  ck_assert_int_eq(open_windows(t, &t->w.ints, &k, g, &out), OPENED);
  return out;
}

static void check_pieces(trial *t, const fnz_geometry *g, uint32_t dim, fnzi_int cut) {
  fnzi_ints *s = &t->w.ints;
  const fnzi_int all = fnzi_int_of(INT64_MAX);
  const fnz_geometry *low = slice_of(t, g, dim, fnzi_int_of(0), cut);
  const fnz_geometry *high = slice_of(t, g, dim, cut, all);
  fnzi_path path;
  bool found;
  ck_assert_int_eq(fnzi_oracle_relate(s, low, high, g, 0), FNZI_DISJOINT);
  ck_assert_int_eq(fnzi_oracle_relate(s, high, low, g, 0), FNZI_DISJOINT);
  ck_assert_int_eq(fnzi_oracle_relate(s, g, low, g, 0), FNZI_CONTAINS);
  ck_assert_int_eq(fnzi_oracle_relate(s, high, g, g, 0), FNZI_INSIDE);
  ck_assert_int_eq(fnzi_oracle_relate(s, slice_of(t, g, dim, fnzi_int_of(0), all), g, g, 0),
                   FNZI_EQUAL);
  OK(t->w.ctx, fnzi_path_box((fnzi_int_space){s, &t->w.arena}, g, high, &path, &found));
  ck_assert(found && path.count == 1);
  ck_assert(fnzi_geometry_equal(path.steps[0].window, high));
}

START_TEST(pieces_of_a_dimension_are_told) {
  static trial t;
  choices_start(&t.c, 4, 0);
  words_open(&t.w, &t.c, 3, 0);
  fnzi_ints *s = &t.w.ints;
  const fnzi_int a = t.w.symbols[0], b = t.w.symbols[1], one = {1}, ab = fnzi_int_add(s, a, b);
  const fnzi_int size = fnzi_int_add(s, ab, fnzi_int_of(2));
  const fnzi_int cuts[] = {one, a, fnzi_int_add(s, a, one), ab, fnzi_int_sub(s, size, one)};
  for (uint32_t dim = 0; dim < 2; dim++)
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
      const fnzi_int sizes[2] = {dim ? t.w.symbols[2] : size, dim ? size : t.w.symbols[2]};
      const fnzi_int strides[2] = {sizes[1], one};
      const fnz_geometry g = {
          .dtype = FNZ_F32, .rank = 2, .sizes = &sizes->bits, .strides = &strides->bits};
      check_pieces(&t, &g, dim, cuts[k]);
    }
  words_close(&t.w);
}
END_TEST

RUN_SUITE("view_sizes", relations_hold_at_all_numbers, overlaps_within_hold_at_all_numbers,
          paths_lead_there_at_all_numbers, pieces_of_a_dimension_are_told)
