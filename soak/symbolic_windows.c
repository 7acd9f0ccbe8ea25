/* symbolic_windows.c - random views of tensors of unknown sizes that need more numbers than one:
 * windows that overlap, pieces, and tensors put into a place of a copy. */
#include "soak/symbolic_views.h"

#include <stdio.h>

bool fnzi_draw_unfold(symbolic_gen *g, const tensor *t, view *v) {
  tensor *o = &v->parts[0];
  uint32_t dim;
  const int64_t size = choose_in(g->c, 1, 3), step = choose_in(g->c, 1, 2);
  if (t->rank == SYMBOLIC_RANK || !fnzi_symbolic_pick_dim(g, t, &dim) || t->sizes[dim].seen < size)
    return false;
  number n = fnzi_number_with(ARITHMETIC_SUB, &t->sizes[dim], size);
  n = step == 1 ? n : fnzi_number_with(ARITHMETIC_FLOORDIV, &n, step);
  o->sizes[dim] = fnzi_number_with(ARITHMETIC_ADD, &n, 1);
  o->strides[dim] = fnzi_number_with(ARITHMETIC_MUL, &t->strides[dim], step);
  o->sizes[o->rank] = fnzi_number_known(size);
  o->strides[o->rank++] = t->strides[dim];
  o->may_overlap = t->may_overlap || step < size;
  fnzi_view_say(v, "%u, %d, %d", dim, (int)size, (int)step);
  return true;
}

static void windows_put_list(char *to, size_t capacity, const number *numbers, uint32_t count) {
  size_t at = 0;
  for (uint32_t d = 0; d < count; d++)
    at += (size_t)snprintf(to + at, capacity - at, "%s%s", d ? ", " : "",
                           fnzi_number_argument(&numbers[d]));
}

/* A window of the memory of `t`, at any place in it. */
bool fnzi_draw_as_strided(symbolic_gen *g, const tensor *t, view *v) {
  enum { MOST_SIZE = 4, MOST_STRIDE = 5, LIST = 64 };
  tensor *o = &v->parts[0];
  char sizes[LIST] = "", strides[LIST] = "";
  o->rank = 1 + choose(g->c, 2);
  if (!fnzi_number_pick(g, MOST_STRIDE, &o->offset))
    return false;
  int64_t last = o->offset.seen;
  for (uint32_t d = 0; d < o->rank; d++) {
    if (!fnzi_number_pick(g, MOST_SIZE, &o->sizes[d]) ||
        !fnzi_number_pick(g, MOST_STRIDE, &o->strides[d]))
      return false;
    last += (o->sizes[d].seen - 1) * o->strides[d].seen;
  }
  for (uint32_t d = 0; d < o->rank; d++)
    if (o->sizes[d].seen == 0)
      last = -1;
  if (last >= t->capacity)
    return false;
  o->may_overlap = o->rank > 1 || !o->strides[0].is_known;
  windows_put_list(sizes, sizeof sizes, o->sizes, o->rank);
  windows_put_list(strides, sizeof strides, o->strides, o->rank);
  fnzi_view_say(v, "[%s], [%s], %s", sizes, strides, fnzi_number_argument(&o->offset));
  return true;
}

/* Each as long as the first, but for the last one. */
bool fnzi_draw_chunk(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  const int64_t pieces = choose_in(g->c, 2, 3);
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || t->sizes[dim].seen < 1)
    return false;
  number size = fnzi_number_with(ARITHMETIC_ADD, &t->sizes[dim], pieces - 1);
  size = fnzi_number_with(ARITHMETIC_FLOORDIV, &size, pieces);
  fnzi_view_say(v, "%d, %u", (int)pieces, dim);
  return fnzi_view_cut(g, v, t, dim, &size);
}

/* A constant, or one of the program's numbers; false when it has none like it. */
static bool find_number(symbolic_gen *g, int64_t seen, bool is_known, number *out) {
  *out = fnzi_number_known(seen);
  for (size_t k = 0; k < g->numbers_count && !is_known; k++)
    if (g->numbers[k].seen == seen) {
      *out = g->numbers[k];
      return true;
    }
  return is_known;
}

bool fnzi_draw_split_with_sizes(symbolic_gen *g, const tensor *t, view *v) {
  number sizes[2];
  uint32_t dim;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) ||
      !fnzi_number_pick(g, t->sizes[dim].seen + 1, &sizes[0]) ||
      !find_number(g, t->sizes[dim].seen - sizes[0].seen,
                   t->sizes[dim].is_known && sizes[0].is_known, &sizes[1]))
    return false;
  v->parts[1] = *t;
  v->parts[0].sizes[dim] = sizes[0];
  v->parts[1].sizes[dim] = sizes[1];
  fnzi_tensor_move_on(&v->parts[1], dim, &sizes[0]);
  v->count = 2;
  fnzi_view_say(v, "[%s, %s], %u", fnzi_number_argument(&sizes[0]), fnzi_number_argument(&sizes[1]),
                dim);
  return true;
}

/* Puts a tensor that looks like a view of `t` where that view is, in a copy of `t`. */
static bool scatter(symbolic_gen *g, const tensor *t, view *v, symbolic_view_fn *draw) {
  view seen = {.parts = {*t}};
  if (!fnzi_symbolic_is_dense(t) || !draw(g, t, &seen))
    return false;
  size_t at = choose(g->c, (uint32_t)g->tensors_count), n = 0;
  while (n < g->tensors_count && !fnzi_symbolic_is_same_shape(&g->tensors[at], &seen.parts[0])) {
    at = (at + 1) % g->tensors_count;
    n++;
  }
  if (n == g->tensors_count)
    return false;
  fnzi_symbolic_make_dense(&v->parts[0]);
  fnzi_view_say(v, "%s, %s", g->tensors[at].name, seen.args);
  return true;
}

bool fnzi_draw_select_scatter(symbolic_gen *g, const tensor *t, view *v) {
  return scatter(g, t, v, fnzi_draw_select);
}

bool fnzi_draw_slice_scatter(symbolic_gen *g, const tensor *t, view *v) {
  return scatter(g, t, v, fnzi_draw_slice);
}
