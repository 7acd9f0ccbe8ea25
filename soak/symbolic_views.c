/* symbolic_views.c - random views of tensors of unknown sizes, with the sizes, strides and offset
 * that an exporter records. */
#include "soak/symbolic_views.h"

#include <stdarg.h>
#include <stdio.h>

void fnzi_view_say(view *v, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(v->args, sizeof v->args, format, ap);
  va_end(ap);
}

void fnzi_tensor_drop_dim(tensor *t, uint32_t dim) {
  t->rank--;
  for (uint32_t d = dim; d < t->rank; d++) {
    t->sizes[d] = t->sizes[d + 1];
    t->strides[d] = t->strides[d + 1];
  }
}

void fnzi_tensor_add_dim(tensor *t, uint32_t dim) {
  for (uint32_t d = t->rank++; d > dim; d--) {
    t->sizes[d] = t->sizes[d - 1];
    t->strides[d] = t->strides[d - 1];
  }
}

void fnzi_tensor_move_on(tensor *t, uint32_t dim, const number *by) {
  const number step = fnzi_number_combine(ARITHMETIC_MUL, by, &t->strides[dim]);
  t->offset = fnzi_number_combine(ARITHMETIC_ADD, &step, &t->offset);
}

bool fnzi_symbolic_pick_dim(symbolic_gen *g, const tensor *t, uint32_t *dim) {
  *dim = choose(g->c, t->rank);
  return t->rank > 0;
}

bool fnzi_draw_select(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number at;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !fnzi_number_pick(g, t->sizes[dim].seen, &at))
    return false;
  bool from_end = at.is_known && perhaps(g->c, 25);
  fnzi_view_say(v, "%u, %s%s", dim, from_end ? "-1" : "",
                from_end ? "" : fnzi_number_argument(&at));
  at = from_end ? fnzi_number_with(ARITHMETIC_SUB, &t->sizes[dim], 1) : at;
  fnzi_tensor_move_on(&v->parts[0], dim, &at);
  fnzi_tensor_drop_dim(&v->parts[0], dim);
  return true;
}

bool fnzi_draw_narrow(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number start, length;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !fnzi_number_pick(g, t->sizes[dim].seen + 1, &start) ||
      !fnzi_number_pick(g, t->sizes[dim].seen - start.seen + 1, &length))
    return false;
  fnzi_view_say(v, "%u, %s, %s", dim, fnzi_number_argument(&start), fnzi_number_argument(&length));
  fnzi_tensor_move_on(&v->parts[0], dim, &start);
  v->parts[0].sizes[dim] = length;
  return true;
}

/* Draws the end of a slice from `start` on: the end of the dimension, some number or so many before
 * the end. *says: as an argument. */
static bool pick_end(symbolic_gen *g, const number *size, const number *start,
                     char says[SYMBOLIC_TEXT], number *end) {
  const uint32_t how = choose(g->c, 3);
  const int64_t before = how == 2 ? choose_in(g->c, 1, 3) : 0;
  *end = how == 2 ? fnzi_number_with(ARITHMETIC_SUB, size, before) : *size;
  if (how == 1 && !fnzi_number_pick(g, size->seen + 1, end))
    return false;
  if (how == 0)
    snprintf(says, SYMBOLIC_TEXT, "%lld", (long long)INT64_MAX);
  else if (how == 1)
    snprintf(says, SYMBOLIC_TEXT, "%s", fnzi_number_argument(end));
  else
    snprintf(says, SYMBOLIC_TEXT, "%d", (int)-before);
  return end->seen >= start->seen;
}

/* Draws where a slice begins: at some number, or so many before the end. */
static bool pick_start(symbolic_gen *g, const number *size, char says[SYMBOLIC_TEXT],
                       number *start) {
  const int64_t before = choose_in(g->c, 1, 3);
  const bool from_end = perhaps(g->c, 20);
  if (from_end && before <= size->seen) {
    *start = fnzi_number_with(ARITHMETIC_SUB, size, before);
    snprintf(says, SYMBOLIC_TEXT, "%d", (int)-before);
    return true;
  }
  if (!fnzi_number_pick(g, size->seen + 1, start))
    return false;
  snprintf(says, SYMBOLIC_TEXT, "%s", fnzi_number_argument(start));
  return true;
}

/* From `start` to `end`. The last `-first` elements are as many as that. */
static number length_of(const number *size, const number *start, const number *end,
                        const char *first) {
  if (start->is_known && start->seen == 0)
    return *end;
  if (first[0] == '-' && strcmp(end->text, size->text) == 0)
    return fnzi_number_known(size->seen - start->seen);
  return fnzi_number_combine(ARITHMETIC_SUB, end, start);
}

bool fnzi_draw_slice(symbolic_gen *g, const tensor *t, view *v) {
  tensor *o = &v->parts[0];
  uint32_t dim;
  number start, end;
  char first[SYMBOLIC_TEXT], last[SYMBOLIC_TEXT];
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !pick_start(g, &t->sizes[dim], first, &start) ||
      !pick_end(g, &t->sizes[dim], &start, last, &end))
    return false;
  const int64_t step = perhaps(g->c, 25) ? choose_in(g->c, 2, 3) : 1;
  fnzi_tensor_move_on(o, dim, &start);
  o->sizes[dim] = length_of(&t->sizes[dim], &start, &end, first);
  if (step > 1) {
    o->sizes[dim] = fnzi_number_with(ARITHMETIC_ADD, &o->sizes[dim], step - 1);
    o->sizes[dim] = fnzi_number_with(ARITHMETIC_FLOORDIV, &o->sizes[dim], step);
    o->strides[dim] = fnzi_number_with(ARITHMETIC_MUL, &o->strides[dim], step);
  }
  fnzi_view_say(v, "%u, %s, %s, %d", dim, first, last, (int)step);
  return true;
}

bool fnzi_draw_diagonal(symbolic_gen *g, const tensor *t, view *v) {
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

bool fnzi_view_cut(symbolic_gen *g, view *v, const tensor *t, uint32_t dim, const number *size) {
  number at = fnzi_number_known(0), left = t->sizes[dim];
  if (fnzi_number_is_data(size) || fnzi_number_is_data(&left) || size->seen < 1 ||
      fnzi_number_is_too_long(size) || left.seen > SYMBOLIC_PARTS * size->seen)
    return false;
  for (v->count = 0; left.seen > 0; v->count++) {
    tensor *part = &v->parts[v->count];
    const bool is_last = left.seen <= size->seen;
    *part = *t;
    part->sizes[dim] = is_last ? left : *size;
    fnzi_tensor_move_on(part, dim, &at);
    at = v->count ? fnzi_number_combine(ARITHMETIC_ADD, &at, size) : *size;
    left = is_last ? fnzi_number_known(0) : fnzi_number_combine(ARITHMETIC_SUB, &left, size);
  }
  if (v->count > 0) {
    /* The exporter notes how many there are: at sizes with another number the program means
     * nothing. */
    if (!t->sizes[dim].is_known || !size->is_known) {
      fnzi_symbolic_guard(g, "(%s)*(%zu) < %s", size->text, v->count - 1, t->sizes[dim].text);
      fnzi_symbolic_guard(g, "%s <= (%s)*(%zu)", t->sizes[dim].text, size->text, v->count);
    }
  }
  return v->count > 0;
}

bool fnzi_draw_split(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number size;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !fnzi_number_pick(g, t->sizes[dim].seen, &size))
    return false;
  fnzi_view_say(v, "%s, %u", fnzi_number_argument(&size), dim);
  return fnzi_view_cut(g, v, t, dim, &size);
}

bool fnzi_draw_unbind(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || !t->sizes[dim].is_known ||
      t->sizes[dim].seen > SYMBOLIC_PARTS)
    return false;
  v->count = (size_t)t->sizes[dim].seen;
  if (!v->count)
    return false;
  for (size_t k = 0; k < v->count; k++) {
    const number at = fnzi_number_known((int64_t)k);
    v->parts[k] = *t;
    fnzi_tensor_move_on(&v->parts[k], dim, &at);
    fnzi_tensor_drop_dim(&v->parts[k], dim);
  }
  fnzi_view_say(v, "%u", dim);
  return true;
}
