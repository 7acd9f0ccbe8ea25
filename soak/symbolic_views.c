/* symbolic_views.c - random views of tensors of unknown sizes, with the sizes, strides and offset
 * that an exporter records. */
#include "soak/symbolic_draws.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_PARTS = 4 };

/* What a view of `t` looks like, and its arguments behind the tensor; false where it does not fit.
 */
typedef struct view {
  tensor parts[MOST_PARTS];
  size_t count; /* of parts; 0: one, which is no list */
  char args[160];
} view;
typedef bool view_fn(symbolic_gen *g, const tensor *t, view *out);

static void say(view *v, const char *format, ...) FNZ_PRINTF(2, 3);
static void say(view *v, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(v->args, sizeof v->args, format, ap);
  va_end(ap);
}

static void drop_dim(tensor *t, uint32_t dim) {
  t->rank--;
  for (uint32_t d = dim; d < t->rank; d++) {
    t->sizes[d] = t->sizes[d + 1];
    t->strides[d] = t->strides[d + 1];
  }
}

static void add_dim(tensor *t, uint32_t dim) {
  for (uint32_t d = t->rank++; d > dim; d--) {
    t->sizes[d] = t->sizes[d - 1];
    t->strides[d] = t->strides[d - 1];
  }
}

static void move_on(tensor *t, uint32_t dim, const number *by) {
  const number step = fnzi_number_combine(ARITHMETIC_MUL, by, &t->strides[dim]);
  t->offset = fnzi_number_combine(ARITHMETIC_ADD, &step, &t->offset);
}

bool fnzi_symbolic_pick_dim(symbolic_gen *g, const tensor *t, uint32_t *dim) {
  *dim = choose(g->c, t->rank);
  return t->rank > 0;
}

static bool view_select(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number at;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !fnzi_number_pick(g, t->sizes[dim].seen, &at))
    return false;
  bool from_end = at.is_known && perhaps(g->c, 25);
  say(v, "%u, %s%s", dim, from_end ? "-1" : "", from_end ? "" : fnzi_number_argument(&at));
  at = from_end ? fnzi_number_with(ARITHMETIC_SUB, &t->sizes[dim], 1) : at;
  move_on(&v->parts[0], dim, &at);
  drop_dim(&v->parts[0], dim);
  return true;
}

static bool view_narrow(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number start, length;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !fnzi_number_pick(g, t->sizes[dim].seen + 1, &start) ||
      !fnzi_number_pick(g, t->sizes[dim].seen - start.seen + 1, &length))
    return false;
  say(v, "%u, %s, %s", dim, fnzi_number_argument(&start), fnzi_number_argument(&length));
  move_on(&v->parts[0], dim, &start);
  v->parts[0].sizes[dim] = length;
  return true;
}

/* From `start` on, to the end, to some number or to so many before the end. */
static bool view_slice(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim, how = choose(g->c, 3);
  number start, end;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !fnzi_number_pick(g, t->sizes[dim].seen + 1, &start))
    return false;
  const number *size = &t->sizes[dim];
  const int64_t left = size->seen - start.seen;
  if (how == 1 && !fnzi_number_pick(g, size->seen + 1, &end))
    return false;
  if (how == 1 && end.seen < start.seen)
    return false;
  const int64_t before = how == 2 ? choose_in(g->c, 1, 3) : 0;
  if (before > left)
    return false;
  if (how == 0)
    say(v, "%u, %s", dim, fnzi_number_argument(&start));
  else if (how == 1)
    say(v, "%u, %s, %s", dim, fnzi_number_argument(&start), fnzi_number_argument(&end));
  else
    say(v, "%u, %s, %d", dim, fnzi_number_argument(&start), (int)-before);
  end = how == 1 ? end : how == 0 ? *size : fnzi_number_with(ARITHMETIC_SUB, size, before);
  move_on(&v->parts[0], dim, &start);
  v->parts[0].sizes[dim] =
      start.is_known && start.seen == 0 ? end : fnzi_number_combine(ARITHMETIC_SUB, &end, &start);
  return true;
}

static bool view_transpose(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t a, b;
  if (t->rank < 2 || !fnzi_symbolic_pick_dim(g, t, &a))
    return false;
  b = (a + 1 + choose(g->c, t->rank - 1)) % t->rank;
  tensor *o = &v->parts[0];
  o->sizes[a] = t->sizes[b];
  o->sizes[b] = t->sizes[a];
  o->strides[a] = t->strides[b];
  o->strides[b] = t->strides[a];
  say(v, "%u, %u", a, b);
  return true;
}

static bool view_unsqueeze(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim = choose(g->c, t->rank + 1);
  if (t->rank == SYMBOLIC_RANK)
    return false;
  tensor *o = &v->parts[0];
  add_dim(o, dim);
  o->sizes[dim] = fnzi_number_known(1);
  o->strides[dim] = dim == t->rank
                        ? fnzi_number_known(1)
                        : fnzi_number_combine(ARITHMETIC_MUL, &t->sizes[dim], &t->strides[dim]);
  say(v, "%u", dim);
  return true;
}

static bool view_diagonal(symbolic_gen *g, const tensor *t, view *v) {
  (void)g;
  if (t->rank != 2)
    return false;
  tensor *o = &v->parts[0];
  o->rank = 1;
  o->sizes[0] = fnzi_number_combine(ARITHMETIC_MIN, &t->sizes[0], &t->sizes[1]);
  if (strcmp(t->sizes[0].text, t->sizes[1].text) == 0)
    o->sizes[0] = t->sizes[0];
  o->strides[0] = fnzi_number_combine(ARITHMETIC_ADD, &t->strides[0], &t->strides[1]);
  return true;
}

static bool view_flatten(symbolic_gen *g, const tensor *t, view *v) {
  tensor *o = &v->parts[0];
  (void)g;
  if (t->rank < 2 || !fnzi_symbolic_is_mergeable(t, 0, t->rank - 1))
    return false;
  for (uint32_t d = 1; d < t->rank; d++)
    o->sizes[0] = fnzi_number_combine(ARITHMETIC_MUL, &o->sizes[0], &t->sizes[d]);
  o->strides[0] = t->strides[t->rank - 1];
  o->rank = 1;
  say(v, "[-1]");
  return true;
}

/* Two halves by a number that a node has computed; and parts whose sizes are given. */
static void cut(tensor *parts, const tensor *t, uint32_t dim, const number *sizes, size_t count) {
  number at = fnzi_number_known(0);
  for (size_t k = 0; k < count; k++) {
    parts[k] = *t;
    parts[k].sizes[dim] = sizes[k];
    move_on(&parts[k], dim, &at);
    at = k ? fnzi_number_combine(ARITHMETIC_ADD, &at, &sizes[k]) : sizes[k];
  }
}

static bool view_split(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number size;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !fnzi_number_pick(g, t->sizes[dim].seen, &size) ||
      size.seen < 1)
    return false;
  const int64_t whole = t->sizes[dim].seen;
  v->count = (size_t)((whole + size.seen - 1) / size.seen);
  if (v->count > MOST_PARTS)
    return false;
  number sizes[MOST_PARTS];
  number left = t->sizes[dim];
  for (size_t k = 0; k + 1 < v->count; k++) {
    sizes[k] = size;
    left = fnzi_number_combine(ARITHMETIC_SUB, &left, &size);
  }
  sizes[v->count - 1] = left;
  cut(v->parts, t, dim, sizes, v->count);
  say(v, "%s, %u", fnzi_number_argument(&size), dim);
  return true;
}

static bool view_unbind(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !t->sizes[dim].is_known ||
      t->sizes[dim].seen > MOST_PARTS)
    return false;
  v->count = (size_t)t->sizes[dim].seen;
  if (!v->count)
    return false;
  for (size_t k = 0; k < v->count; k++) {
    const number at = fnzi_number_known((int64_t)k);
    v->parts[k] = *t;
    move_on(&v->parts[k], dim, &at);
    drop_dim(&v->parts[k], dim);
  }
  say(v, "%u", dim);
  return true;
}

static bool view_expand(symbolic_gen *g, const tensor *t, view *v) {
  number size;
  if (t->rank == SYMBOLIC_RANK || !fnzi_number_pick(g, SYMBOLIC_LARGEST, &size))
    return false;
  tensor *o = &v->parts[0];
  add_dim(o, 0);
  o->sizes[0] = size;
  o->strides[0] = fnzi_number_known(0);
  say(v, "[%s%s]", fnzi_number_argument(&size),
      t->rank == 0   ? ""
      : t->rank == 1 ? ", -1"
      : t->rank == 2 ? ", -1, -1"
                     : ", -1, -1, -1");
  return true;
}

/* Columns: operator, how it is drawn. */
#define VIEW_ROWS(ROW)                                                                             \
  ROW("select.int", view_select)                                                                   \
  ROW("narrow", view_narrow)                                                                       \
  ROW("slice.Tensor", view_slice)                                                                  \
  ROW("transpose.int", view_transpose)                                                             \
  ROW("unsqueeze", view_unsqueeze)                                                                 \
  ROW("diagonal", view_diagonal)                                                                   \
  ROW("view", view_flatten)                                                                        \
  ROW("split.Tensor", view_split)                                                                  \
  ROW("unbind.int", view_unbind)                                                                   \
  ROW("expand", view_expand)

static const struct {
  const char *op;
  view_fn *fn;
} views[] = {
#define VIEW_ROW(op, fn) {op, fn},
    VIEW_ROWS(VIEW_ROW)
#undef VIEW_ROW
};
enum { VIEWS = sizeof views / sizeof *views };

static void put_view(symbolic_gen *g, const char *op, const tensor *t, view *v) {
  const size_t count = v->count ? v->count : 1;
  fnzi_symbolic_put(g, v->count ? "  [" : "  ");
  for (size_t k = 0; k < count; k++) {
    fnzi_symbolic_name(g, v->parts[k].name);
    fnzi_symbolic_put(g, k ? ", " : "");
    fnzi_symbolic_put_typed(g, &v->parts[k]);
    fnzi_symbolic_keep(g, &v->parts[k]);
  }
  fnzi_symbolic_put(g, "%s = %s(%s%s%s)\n", v->count ? "]" : "", op, t->name,
                    v->args[0] ? ", " : "", v->args);
}

const char *fnzi_symbolic_view(size_t k) {
  return k < VIEWS ? views[k].op : NULL;
}

bool fnzi_symbolic_draw_view(symbolic_gen *g, size_t row) {
  const tensor *t = fnzi_symbolic_pick(g);
  view v;
  memset(&v, 0, sizeof v);
  v.parts[0] = *t;
  if (!views[row].fn(g, t, &v))
    return false;
  for (size_t k = 0; k < (v.count ? v.count : 1); k++)
    if (!fnzi_symbolic_is_usable(&v.parts[k]))
      return false;
  put_view(g, views[row].op, t, &v);
  return true;
}
