/* symbolic_reshapes.c - random views of tensors of unknown sizes that show all of them, in other
 * dimensions. */
#include "soak/symbolic_views.h"

#include <stdio.h>

bool fnzi_draw_transpose(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t a, b;
  if (t->rank < 2 || !fnzi_symbolic_pick_dim(g, t, &a))
    return false;
  b = (a + 1 + choose(g->c, t->rank - 1)) % t->rank;
  tensor *o = &v->parts[0];
  o->sizes[a] = t->sizes[b];
  o->sizes[b] = t->sizes[a];
  o->strides[a] = t->strides[b];
  o->strides[b] = t->strides[a];
  fnzi_view_say(v, "%u, %u", a, b);
  return true;
}

bool fnzi_draw_unsqueeze(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim = choose(g->c, t->rank + 1);
  if (t->rank == SYMBOLIC_RANK)
    return false;
  tensor *o = &v->parts[0];
  fnzi_tensor_add_dim(o, dim);
  o->sizes[dim] = fnzi_number_known(1);
  o->strides[dim] = dim == t->rank
                        ? fnzi_number_known(1)
                        : fnzi_number_combine(ARITHMETIC_MUL, &t->sizes[dim], &t->strides[dim]);
  fnzi_view_say(v, "%u", dim);
  return true;
}

bool fnzi_draw_view_as_one(symbolic_gen *g, const tensor *t, view *v) {
  tensor *o = &v->parts[0];
  (void)g;
  if (t->rank < 2 || !fnzi_symbolic_is_mergeable(t, 0, t->rank - 1))
    return false;
  for (uint32_t d = 1; d < t->rank; d++)
    o->sizes[0] = fnzi_number_combine(ARITHMETIC_MUL, &o->sizes[0], &t->sizes[d]);
  o->strides[0] = t->strides[t->rank - 1];
  o->rank = 1;
  fnzi_view_say(v, "[-1]");
  return true;
}

bool fnzi_draw_expand(symbolic_gen *g, const tensor *t, view *v) {
  number size;
  if (t->rank == SYMBOLIC_RANK || !fnzi_number_pick(g, SYMBOLIC_LARGEST, &size))
    return false;
  tensor *o = &v->parts[0];
  fnzi_tensor_add_dim(o, 0);
  o->sizes[0] = size;
  o->strides[0] = fnzi_number_known(0);
  static const char same[] = ", -1, -1, -1, -1, -1";
  enum { EACH = sizeof ", -1" - 1 };
  _Static_assert(sizeof same - 1 == EACH * SYMBOLIC_RANK, "one for each dimension");
  fnzi_view_say(v, "[%s%.*s]", fnzi_number_argument(&size), (int)(EACH * t->rank), same);
  return true;
}

bool fnzi_draw_squeeze(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || fnzi_number_is_data(&t->sizes[dim]) ||
      (!t->sizes[dim].is_known && t->sizes[dim].seen == 1))
    return false;
  if (t->sizes[dim].is_known && t->sizes[dim].seen == 1)
    fnzi_tensor_drop_dim(&v->parts[0], dim);
  if (!t->sizes[dim].is_known)
    fnzi_symbolic_guard(g, "Ne(%s, 1)", t->sizes[dim].text);
  fnzi_view_say(v, "%u", dim);
  return true;
}

/* Dimensions `first` to `last` become one, whose stride is that of the last. */
static void merge(tensor *t, uint32_t first, uint32_t last) {
  for (uint32_t d = last; d > first; d--) {
    t->sizes[d - 1] = fnzi_number_combine(ARITHMETIC_MUL, &t->sizes[d - 1], &t->sizes[d]);
    t->strides[d - 1] = t->strides[d];
    fnzi_tensor_drop_dim(t, d);
  }
}

bool fnzi_draw_flatten(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t first, last;
  if (!fnzi_symbolic_pick_dim(g, t, &first))
    return false;
  last = first + choose(g->c, t->rank - first);
  if (!fnzi_symbolic_is_mergeable(t, first, last))
    return false;
  merge(&v->parts[0], first, last);
  fnzi_view_say(v, "%u, %u", first, last);
  return true;
}

/* `n` is "(outer)*(inner)", or a constant with small factors. */
static bool find_factors(const number *n, number *outer, number *inner) {
  const size_t length = strlen(n->text);
  if (n->is_known && n->seen > 2 && n->seen % 2 == 0) {
    *inner = fnzi_number_known(2);
    *outer = fnzi_number_known(n->seen / 2);
    return true;
  }
  if (n->is_known || length < 7 || strncmp(n->text + length - 4, "*(2)", 4) != 0)
    return false;
  *inner = fnzi_number_known(2);
  *outer = (number){.seen = n->seen / 2};
  memcpy(outer->text, n->text + 1, length - 6);
  return true;
}

bool fnzi_draw_unflatten(symbolic_gen *g, const tensor *t, view *v) {
  tensor *o = &v->parts[0];
  uint32_t dim;
  number outer, inner;
  if (t->rank == SYMBOLIC_RANK || !fnzi_symbolic_pick_dim(g, t, &dim) ||
      !find_factors(&t->sizes[dim], &outer, &inner))
    return false;
  fnzi_tensor_add_dim(o, dim);
  o->sizes[dim] = outer;
  o->sizes[dim + 1] = inner;
  o->strides[dim + 1] = t->strides[dim];
  o->strides[dim] = fnzi_number_combine(ARITHMETIC_MUL, &t->strides[dim], &inner);
  fnzi_view_say(v, "%u, [-1, 2]", dim);
  return true;
}

/* Says all sizes. `middle`: in place of `count` dimensions from `dim` on. */
static bool say_sizes(symbolic_gen *g, const tensor *t, uint32_t dim, uint32_t count,
                      const char *middle, view *v) {
  size_t at = 0;
  number n;
  fnzi_view_say(v, "[");
  for (uint32_t d = 0; d < t->rank; d += d == dim ? count : 1) {
    if (d != dim && !fnzi_symbolic_size(g, t, d, &n))
      return false;
    at = strlen(v->args);
    snprintf(v->args + at, sizeof v->args - at, "%s%s", d ? ", " : "",
             d == dim ? middle : fnzi_number_argument(&n));
  }
  at = strlen(v->args);
  snprintf(v->args + at, sizeof v->args - at, "]");
  return true;
}

/* Two dimensions become one, whose size the program multiplies. */
bool fnzi_draw_product(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number a, b;
  if (t->rank < 2 || !fnzi_symbolic_pick_dim(g, t, &dim) || dim + 1 == t->rank ||
      !fnzi_symbolic_is_mergeable(t, dim, dim + 1) || !fnzi_symbolic_size(g, t, dim, &a) ||
      !fnzi_symbolic_size(g, t, dim + 1, &b))
    return false;
  number n = fnzi_number_combine(ARITHMETIC_MUL, &a, &b);
  if (!n.is_known && !n.name[0] &&
      !fnzi_symbolic_define_number(g, &n, "_operator.mul(%s, %s)", fnzi_number_argument(&a),
                                   fnzi_number_argument(&b)))
    return false;
  merge(&v->parts[0], dim, dim + 1);
  return say_sizes(g, t, dim, 2, fnzi_number_argument(&n), v);
}

/* A dimension of n is n // k by k. The exporter has noted that k divides n. */
bool fnzi_draw_quotient(symbolic_gen *g, const tensor *t, view *v) {
  uint32_t dim;
  number n;
  char middle[2 * SYMBOLIC_TEXT];
  const int64_t k = choose_in(g->c, 2, 3);
  if (t->rank == SYMBOLIC_RANK || !fnzi_symbolic_pick_dim(g, t, &dim) ||
      t->sizes[dim].seen % k != 0 || fnzi_number_is_data(&t->sizes[dim]) ||
      !fnzi_symbolic_size(g, t, dim, &n))
    return false;
  const number inner = fnzi_number_known(k);
  number outer = fnzi_number_with(ARITHMETIC_FLOORDIV, &n, k);
  if (!outer.is_known && !fnzi_symbolic_define_number(g, &outer, "_operator.floordiv(%s, %d)",
                                                      fnzi_number_argument(&n), (int)k))
    return false;
  if (!outer.is_known)
    fnzi_symbolic_guard(g, "Eq(PythonMod(%s, %d), 0)", n.text, (int)k);
  tensor *o = &v->parts[0];
  fnzi_tensor_add_dim(o, dim);
  o->sizes[dim] = outer;
  o->sizes[dim + 1] = inner;
  o->strides[dim + 1] = t->strides[dim];
  o->strides[dim] = fnzi_number_combine(ARITHMETIC_MUL, &t->strides[dim], &inner);
  snprintf(middle, sizeof middle, "%s, %d", fnzi_number_argument(&outer), (int)k);
  return say_sizes(g, t, dim, 1, middle, v);
}

/* In the exporter's example. */
static bool was_mergeable(const tensor *t) {
  int64_t stride = 0;
  for (uint32_t d = t->rank; d-- > 0;) {
    if (t->sizes[d].seen == 0)
      return true;
    if (t->sizes[d].seen == 1)
      continue;
    if (stride && t->strides[d].seen != stride)
      return false;
    stride = t->strides[d].seen * t->sizes[d].seen;
  }
  return true;
}

/* A view where it can be one, else a copy. A copy here may be a view at other sizes. */
bool fnzi_draw_reshape(symbolic_gen *g, const tensor *t, view *v) {
  tensor *o = &v->parts[0];
  (void)g;
  if (!t->rank)
    return false;
  const bool is_view = fnzi_symbolic_is_mergeable(t, 0, t->rank - 1);
  for (uint32_t d = 0; d < t->rank && !is_view; d++)
    if (fnzi_number_is_data(&t->sizes[d]) || fnzi_number_is_data(&t->strides[d]))
      return false;
  if (!is_view && was_mergeable(t))
    return false;
  merge(o, 0, t->rank - 1);
  if (!is_view)
    fnzi_symbolic_make_dense(o);
  fnzi_view_say(v, "[-1]");
  return true;
}
