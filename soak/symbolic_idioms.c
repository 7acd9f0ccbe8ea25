/* symbolic_idioms.c - lines that programs of unknown sizes have together: caches that grow, masks
 * of positions, rows that data choose, tensors of a size that is computed. */
#include "soak/symbolic_draws.h"

#include <stdio.h>
#include <string.h>

/* --- what they are made from ------------------------------------------------------------------ */
/* A tensor of floats with dimensions. */
static const tensor *pick_floats(symbolic_gen *g) {
  const tensor *t = fnzi_symbolic_pick(g);
  return t->rank && t->dtype[0] == 'f' ? t : NULL;
}

static tensor line_of(const char *dtype, const number *size) {
  tensor t = {.dtype = dtype, .rank = 1};
  t.sizes[0] = *size;
  fnzi_symbolic_make_dense(&t);
  return t;
}

/* Positions 0, 1, ... below a size. */
static bool define_positions(symbolic_gen *g, const tensor *of, uint32_t dim, tensor *out) {
  number size;
  if (!fnzi_symbolic_size(g, of, dim, &size))
    return false;
  *out = line_of("i64", &size);
  return fnzi_symbolic_define(g, out, "arange(%s)", fnzi_number_argument(&size));
}

/* --- caches ----------------------------------------------------------------------------------- */
/* Finds another tensor that differs in one dimension at most. */
static const tensor *find_part(symbolic_gen *g, const tensor *t, uint32_t dim) {
  size_t at = choose(g->c, (uint32_t)g->tensors_count);
  for (size_t n = 0; n < g->tensors_count; n++, at = (at + 1) % g->tensors_count) {
    tensor other = g->tensors[at];
    other.sizes[dim] = t->sizes[dim];
    if (fnzi_symbolic_is_same_shape(&other, t))
      return &g->tensors[at];
  }
  return NULL;
}

/* A cache grows by new elements and loses as many old ones, and is written back now and then. */
static bool draw_cache(symbolic_gen *g) {
  const tensor *picked = pick_floats(g);
  uint32_t dim;
  number by, start;
  if (!picked || !fnzi_symbolic_pick_dim(g, picked, &dim) ||
      (picked->rank > 3 && !fnzi_symbolic_is_dense(picked)))
    return false;
  const tensor t = *picked, *found = find_part(g, &t, dim);
  if (!found)
    return false;
  const tensor part = *found;
  tensor all = t;
  all.sizes[dim] = fnzi_number_combine(ARITHMETIC_ADD, &t.sizes[dim], &part.sizes[dim]);
  fnzi_symbolic_make_dense(&all);
  if (!fnzi_symbolic_size(g, &part, dim, &by) ||
      !fnzi_symbolic_define(g, &all, "cat([%s, %s], %u)", t.name, part.name, dim))
    return false;
  tensor last = all;
  start = fnzi_number_combine(ARITHMETIC_MUL, &by, &all.strides[dim]);
  last.offset = start;
  last.sizes[dim] = t.sizes[dim];
  if (!fnzi_symbolic_define(g, &last, "slice.Tensor(%s, %u, %s, 9223372036854775807)", all.name,
                            dim, fnzi_number_argument(&by)))
    return false;
  tensor back = t;
  return !fnzi_symbolic_is_writable(&t) || perhaps(g->c, 50) ||
         fnzi_symbolic_define(g, &back, "copy_(%s, %s)", t.name, last.name);
}

/* --- masks ------------------------------------------------------------------------------------ */
/* Compares positions of the last dimension with positions of the one before it, or a number. */
static bool define_mask(symbolic_gen *g, const tensor *t, tensor *out) {
  tensor columns, rows, as_column;
  number n;
  if (!define_positions(g, t, t->rank - 1, &columns))
    return false;
  if (t->rank < 2 || perhaps(g->c, 40)) {
    if (!fnzi_number_pick(g, SYMBOLIC_LARGEST, &n))
      return false;
    *out = line_of("bool", &columns.sizes[0]);
    return fnzi_symbolic_define(g, out, "lt.Scalar(%s, %s)", columns.name,
                                fnzi_number_argument(&n));
  }
  if (!define_positions(g, t, t->rank - 2, &rows))
    return false;
  as_column = rows;
  as_column.rank = 2;
  as_column.sizes[1] = as_column.strides[1] = fnzi_number_known(1);
  if (!fnzi_symbolic_define(g, &as_column, "unsqueeze(%s, 1)", rows.name))
    return false;
  *out = as_column;
  out->dtype = "bool";
  out->sizes[1] = columns.sizes[0];
  fnzi_symbolic_make_dense(out);
  return fnzi_symbolic_define(g, out, "le.Tensor(%s, %s)", columns.name, as_column.name);
}

static bool draw_mask(symbolic_gen *g) {
  const tensor *picked = pick_floats(g);
  tensor mask;
  if (!picked)
    return false;
  const tensor t = *picked;
  tensor out = t;
  if (!define_mask(g, &t, &mask))
    return false;
  if (fnzi_symbolic_is_writable(&t) && perhaps(g->c, 60))
    return fnzi_symbolic_define(g, &out, "masked_fill_.Scalar(%s, %s, %u)", t.name, mask.name,
                                choose(g->c, 3));
  const tensor *other = find_part(g, &t, 0);
  other = other && fnzi_symbolic_is_same_shape(other, &t) ? other : &t;
  const tensor *const like[] = {&mask, &t, other};
  fnzi_symbolic_make_like(&out, like, 3);
  return fnzi_symbolic_define(g, &out, "where.self(%s, %s, %s)", mask.name, t.name, other->name);
}

/* --- rows that data choose -------------------------------------------------------------------- */
/* The places of a line that are true, as many as data decide. */
static bool define_places(symbolic_gen *g, const tensor *line, tensor *out) {
  const number zero = fnzi_number_known(0);
  tensor truths, pairs;
  number count;
  /* A truth value for each element of `line`. */
  static const char *const ops[] = {"gt.Scalar", "le.Scalar", "eq.Scalar"};
  const tensor *const like[] = {line};
  const uint32_t bound = line->dtype[0] == 'f' ? choose(g->c, 64) : choose(g->c, 4);
  truths = *line;
  truths.dtype = "bool";
  fnzi_symbolic_make_like(&truths, like, 1);
  const bool define_truths =
      fnzi_symbolic_define(g, &truths, "%s(%s, %u)", ops[choose(g->c, 3)], line->name, bound);
  if (!define_truths || !fnzi_symbolic_data(g, line->sizes[0].seen / 2, &count))
    return false;
  pairs = line_of("i64", &count);
  pairs.rank = 2;
  pairs.sizes[1] = fnzi_number_known(1);
  pairs.strides[1] = count;
  if (!fnzi_symbolic_define(g, &pairs, "nonzero(%s)", truths.name))
    return false;
  if (perhaps(g->c, 70)) {
    if (!fnzi_symbolic_define_number(g, &count, "sym_size.int(%s, 0)", pairs.name))
      return false;
    fnzi_symbolic_assert(g, &count, ">=", &zero);
  }
  *out = line_of("i64", &pairs.sizes[0]);
  return fnzi_symbolic_define(g, out, "select.int(%s, 1, 0)", pairs.name);
}

/* A line that is as long as a dimension of `t`: an expert or a class for each of its rows. */
static bool pick_line(symbolic_gen *g, const tensor *t, uint32_t dim, tensor *out) {
  size_t at = choose(g->c, (uint32_t)g->tensors_count);
  for (size_t n = 0; n < g->tensors_count; n++, at = (at + 1) % g->tensors_count) {
    const tensor *line = &g->tensors[at];
    if (line->rank == 1 && line->dtype[0] != 'b' &&
        strcmp(line->sizes[0].text, t->sizes[dim].text) == 0) {
      *out = *line;
      return true;
    }
  }
  return define_positions(g, t, dim, out);
}

/* Computes with the rows of one expert and puts them back; or only reads them. */
static bool draw_expert(symbolic_gen *g) {
  const tensor *picked = pick_floats(g);
  uint32_t dim;
  tensor line, places;
  if (!picked || g->in_body || !fnzi_symbolic_pick_dim(g, picked, &dim))
    return false;
  const tensor t = *picked;
  if (!pick_line(g, &t, dim, &line) || !define_places(g, &line, &places))
    return false;
  tensor rows = t, result, back = t;
  rows.sizes[dim] = places.sizes[0];
  fnzi_symbolic_make_dense(&rows);
  if (!fnzi_symbolic_define(g, &rows, "index_select(%s, %u, %s)", t.name, dim, places.name))
    return false;
  result = rows;
  if (!fnzi_symbolic_define(g, &result, "mul.Scalar(%s, %u)", rows.name, 1 + choose(g->c, 3)))
    return false;
  if (!fnzi_symbolic_is_writable(&t) || perhaps(g->c, 30))
    return true;
  return fnzi_symbolic_define(g, &back, "%s(%s, %u, %s, %s)",
                              perhaps(g->c, 50) ? "index_add_" : "index_copy_", t.name, dim,
                              places.name, result.name);
}

/* --- tensors of a size that is computed ------------------------------------------------------- */
static bool draw_creation(symbolic_gen *g) {
  number size;
  if (!fnzi_number_pick(g, SYMBOLIC_LARGEST, &size))
    return false;
  const char *n = fnzi_number_argument(&size);
  tensor t = line_of("f32", &size);
  if (perhaps(g->c, 50))
    return fnzi_symbolic_define(g, &t, "arange(%s, dtype=f32)", n);
  t.rank = 2;
  t.sizes[1] = fnzi_number_known(choose_in(g->c, 1, 3));
  fnzi_symbolic_make_dense(&t);
  return fnzi_symbolic_define(g, &t, "full([%s, %s], %u, dtype=f32)", n, t.sizes[1].text,
                              choose(g->c, 3));
}

/* --- the table -------------------------------------------------------------------------------- */
typedef bool idiom_fn(symbolic_gen *g);
static const struct {
  const char *op;
  idiom_fn *fn;
} idioms[] = {{"a cache that grows", draw_cache},
              {"a mask of positions", draw_mask},
              {"rows that data choose", draw_expert},
              {"arange, full", draw_creation},
              {"higher_order.cond", fnzi_symbolic_draw_cond},
              {"higher_order.while_loop", fnzi_symbolic_draw_loop}};
enum { IDIOMS = sizeof idioms / sizeof *idioms };

const char *fnzi_symbolic_idiom(size_t k) {
  return k < IDIOMS ? idioms[k].op : NULL;
}

bool fnzi_symbolic_draw_idiom(symbolic_gen *g, size_t k) {
  return idioms[k].fn(g);
}
