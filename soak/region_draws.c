/* region_draws.c - tensors and nodes of a program with bodies: see region_draws.h. */
#include "soak/region_draws.h"

#include <stdarg.h>
#include <stdio.h>

typedef region_gen gen;

/* --- Text ------------------------------------------------------------------------------------- */
FNZI_PRINTF(3, 0)
static void put_arguments(gen *g, fnz_buffer *to, const char *format, va_list arguments) {
  char text[400];
  int n = vsnprintf(text, sizeof text, format, arguments);
  if (g->status == FNZ_OK && (n < 0 || (size_t)n >= sizeof text))
    g->status = fnzi_fail(g->ctx, FNZ_CLASS_INTERNAL, "", "a line is too long");
  if (g->status == FNZ_OK)
    g->status = fnzi_put(g->ctx, to, text, (size_t)n);
}

void fnzi_region_put(gen *g, fnz_buffer *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  put_arguments(g, to, format, arguments);
  va_end(arguments);
}

static void draws_put_list(gen *g, fnz_buffer *to, const char *around, const int64_t *items,
                           uint32_t count) {
  fnzi_region_put(g, to, "%c", around[0]);
  for (uint32_t k = 0; k < count; k++)
    fnzi_region_put(g, to, "%s%lld", k ? "," : "", (long long)items[k]);
  fnzi_region_put(g, to, "%c", around[1]);
}

void fnzi_region_put_var(gen *g, fnz_buffer *to, const var *v) {
  fnzi_region_put(g, to, "%%%c%u: %s", v->letter, v->id, v->dtype);
  draws_put_list(g, to, "[]", v->sizes, v->rank);
  if (v->rank) {
    fnzi_region_put(g, to, " stride");
    draws_put_list(g, to, "()", v->strides, v->rank);
  }
  if (v->offset)
    fnzi_region_put(g, to, " offset(%lld)", (long long)v->offset);
}

void fnzi_region_count(gen *g, region_step step, bool fits) {
  g->counts->steps++;
  (fits ? g->counts->used : g->counts->refused)[step]++;
}

/* --- Tensors ---------------------------------------------------------------------------------- */
var fnzi_region_dense(gen *g, const char *dtype, uint32_t rank, const int64_t *sizes) {
  var v = {.letter = 'v', .id = g->names++, .dtype = dtype, .rank = rank};
  for (uint32_t k = 0; k < rank; k++)
    v.sizes[k] = sizes[k];
  fnzi_contiguous_strides(v.sizes, rank, v.strides);
  return v;
}

static bool is_dense(const var *v) {
  int64_t strides[REGION_RANK];
  fnzi_contiguous_strides(v->sizes, v->rank, strides);
  for (uint32_t k = 0; k < v->rank; k++)
    if (v->sizes[k] != 1 && v->strides[k] != strides[k])
      return false;
  return true;
}

const var *fnzi_region_keep(gen *g, scope *s, var v) {
  if (s->count < REGION_VARS)
    s->vars[s->count++] = v;
  else if (g->status == FNZ_OK)
    g->status = fnzi_fail(g->ctx, FNZ_CLASS_INTERNAL, "", "more than %d tensors", REGION_VARS);
  return &s->vars[s->count - 1];
}

static bool is_float(const var *v) {
  return v->dtype[0] == 'f';
}

static uint32_t count_floats(const scope *s) {
  uint32_t n = 0;
  for (size_t i = 0; i < s->count; i++)
    n += is_float(&s->vars[i]);
  return n;
}

bool fnzi_region_has_floats(const scope *s) {
  return count_floats(s) > 0;
}

const var *fnzi_region_pick(gen *g, const scope *s) {
  uint32_t wanted = choose(g->c, count_floats(s));
  size_t i = 0;
  while (!is_float(&s->vars[i]) || wanted-- > 0)
    i++;
  return &s->vars[i];
}

const var *fnzi_region_position(const scope *s) {
  for (size_t i = 0; i < s->count; i++)
    if (s->vars[i].dtype[0] == 'i' && s->vars[i].rank == 1 && s->vars[i].sizes[0] == 1)
      return &s->vars[i];
  return NULL;
}

void fnzi_region_drop_dim(var *v, uint32_t dim) {
  v->rank--;
  for (uint32_t k = dim; k < v->rank; k++) {
    v->sizes[k] = v->sizes[k + 1];
    v->strides[k] = v->strides[k + 1];
  }
}

/* --- Nodes ------------------------------------------------------------------------------------ */
void fnzi_region_define(gen *g, scope *s, const var *v) {
  fnzi_region_put(g, &s->lines, "  ");
  fnzi_region_put_var(g, &s->lines, v);
  fnzi_region_put(g, &s->lines, " = ");
}

void fnzi_region_end_node(gen *g, scope *s) {
  fnzi_region_put(g, &s->lines, "  at \"m.py:%u\"\n", ++g->nodes);
}

var fnzi_region_node(gen *g, scope *s, var v, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fnzi_region_define(g, s, &v);
  put_arguments(g, &s->lines, format, arguments);
  fnzi_region_end_node(g, s);
  va_end(arguments);
  return *fnzi_region_keep(g, s, v);
}

var fnzi_region_clone(gen *g, scope *s, const var *of) {
  const var from = *of;
  return fnzi_region_node(g, s, fnzi_region_dense(g, "f32", from.rank, from.sizes),
                          "clone(%%%c%u, memory_format=contiguous_format)", from.letter, from.id);
}

var fnzi_region_scaled(gen *g, scope *s, const var *of) {
  const var from = fnzi_region_clone(g, s, of);
  return fnzi_region_node(g, s, fnzi_region_dense(g, "f32", from.rank, from.sizes),
                          "mul.Tensor(%%v%u, %u)", from.id, 2 + choose(g->c, 7));
}

var fnzi_region_sum(gen *g, scope *s) {
  const var from = *fnzi_region_pick(g, s);
  return fnzi_region_node(g, s, fnzi_region_dense(g, "f32", 0, NULL), "sum(%%%c%u)", from.letter,
                          from.id);
}

var fnzi_region_constant(gen *g, scope *s, const char *dtype, uint32_t rank, const int64_t *sizes) {
  const var v = fnzi_region_dense(g, dtype, rank, sizes);
  fnzi_region_define(g, s, &v);
  fnzi_region_put(g, &s->lines, "full(");
  draws_put_list(g, &s->lines, "[]", sizes, rank);
  fnzi_region_put(g, &s->lines, ", 0, dtype=%s)", dtype);
  fnzi_region_end_node(g, s);
  return v;
}

static bool has_sizes(const var *v, uint32_t rank, const int64_t *sizes) {
  return is_float(v) && v->rank == rank &&
         (rank == 0 || memcmp(v->sizes, sizes, rank * sizeof *sizes) == 0);
}

var fnzi_region_like(gen *g, scope *s, uint32_t rank, const int64_t *sizes) {
  for (size_t i = s->count; i-- > 0;)
    if (has_sizes(&s->vars[i], rank, sizes) && choose(g->c, 3) != 1)
      return fnzi_region_scaled(g, s, &s->vars[i]);
  const var number = fnzi_region_sum(g, s), zeros = fnzi_region_constant(g, s, "f32", rank, sizes);
  return fnzi_region_node(g, s, fnzi_region_dense(g, "f32", rank, sizes),
                          "add.Tensor(%%v%u, %%v%u)", zeros.id, number.id);
}

/* --- Views ------------------------------------------------------------------------------------ */
static var window_of(gen *g, const var *from) {
  var v = *from;
  v.letter = 'v';
  v.id = g->names++;
  return v;
}

/* A slice of one element has step 1: its stride would have no effect, and a tensor with all
 * elements of a memory may be recorded with it or without. */
static void slice(gen *g, scope *s, const var *from, uint32_t dim) {
  var v = window_of(g, from);
  const int64_t size = from->sizes[dim], start = choose(g->c, (uint32_t)size),
                step = size - start > 1 ? 1 + choose(g->c, 2) : 1;
  v.sizes[dim] = (size - start + step - 1) / step;
  v.offset += start * v.strides[dim];
  v.strides[dim] *= step;
  fnzi_region_node(g, s, v, "slice.Tensor(%%%c%u, %u, %lld, %lld, %lld)", from->letter, from->id,
                   dim, (long long)start, (long long)size, (long long)step);
}

static void transpose(gen *g, scope *s, const var *from) {
  var v = window_of(g, from);
  const uint32_t last = from->rank - 1;
  v.sizes[0] = from->sizes[last];
  v.sizes[last] = from->sizes[0];
  v.strides[0] = from->strides[last];
  v.strides[last] = from->strides[0];
  fnzi_region_node(g, s, v, "transpose.int(%%%c%u, 0, %u)", from->letter, from->id, last);
}

static void flatten(gen *g, scope *s, const var *from) {
  var v = window_of(g, from);
  v.rank = 1;
  int64_t n = 1;
  for (uint32_t k = 0; k < from->rank; k++)
    n *= from->sizes[k];
  v.sizes[0] = n;
  v.strides[0] = 1;
  fnzi_region_node(g, s, v, "view(%%%c%u, [-1])", from->letter, from->id);
}

void fnzi_region_view(gen *g, scope *s) {
  const var from = *fnzi_region_pick(g, s);
  const uint32_t kind = choose(g->c, 4), dim = choose(g->c, from.rank);
  const bool has_slices = from.rank > 0 && from.sizes[dim] > 0;
  bool fits = true;
  if (kind == 0 && has_slices) {
    var v = window_of(g, &from);
    const int64_t at = choose(g->c, (uint32_t)from.sizes[dim]);
    v.offset += at * v.strides[dim];
    fnzi_region_drop_dim(&v, dim);
    fnzi_region_node(g, s, v, "select.int(%%%c%u, %u, %lld)", from.letter, from.id, dim,
                     (long long)at);
  } else if (kind == 1 && has_slices)
    slice(g, s, &from, dim);
  else if (kind == 2 && from.rank > 1 && from.sizes[0] != 1 && from.sizes[from.rank - 1] != 1)
    transpose(g, s, &from);
  else if (is_dense(&from))
    flatten(g, s, &from);
  else
    fits = false;
  fnzi_region_count(g, REGION_VIEW, fits);
}

/* --- Writes ----------------------------------------------------------------------------------- */
/* The result of a writing node is its target; some programs go on with that. */
static void write_node(gen *g, scope *s, const var *to, const char *call) {
  const var v = window_of(g, to);
  const size_t before = s->count;
  fnzi_region_node(g, s, v, "%s", call);
  if (choose(g->c, 2) == 0)
    s->count = before;
}

void fnzi_region_write(gen *g, scope *s) {
  static const char *const calls[] = {"add_.Tensor", "mul_.Tensor", "fill_.Scalar"};
  const var to = *fnzi_region_pick(g, s);
  const uint32_t kind = choose(g->c, 4);
  char call[100];
  if (kind < 3) {
    snprintf(call, sizeof call, "%s(%%%c%u, %u)", calls[kind], to.letter, to.id,
             2 + choose(g->c, 7));
  } else {
    const var from = fnzi_region_like(g, s, to.rank, to.sizes);
    snprintf(call, sizeof call, "copy_(%%%c%u, %%v%u)", to.letter, to.id, from.id);
  }
  write_node(g, s, &to, call);
  fnzi_region_count(g, REGION_WRITE, true);
}

void fnzi_region_random(gen *g, scope *s) {
  static const char *const calls[][2] = {
      {"uniform_", ""}, {"normal_", ""}, {"bernoulli_.float", ", 0.5"}};
  const var of = *fnzi_region_pick(g, s);
  const uint32_t kind = choose(g->c, 6);
  char call[64];
  fnzi_region_count(g, REGION_RANDOM, true);
  if (kind < 3) {
    fnzi_region_node(g, s, fnzi_region_dense(g, "f32", of.rank, of.sizes),
                     "rand_like(%%%c%u, memory_format=contiguous_format)", of.letter, of.id);
    return;
  }
  snprintf(call, sizeof call, "%s(%%%c%u%s)", calls[kind - 3][0], of.letter, of.id,
           calls[kind - 3][1]);
  write_node(g, s, &of, call);
}

/* --- Caches ----------------------------------------------------------------------------------- */
void fnzi_region_token(gen *g, scope *s) {
  const var to = *fnzi_region_pick(g, s);
  const uint32_t kind = choose(g->c, 4), dim = kind == 1 ? 0 : choose(g->c, to.rank);
  const bool fits = to.rank > 0 && to.sizes[dim] > 0;
  int64_t sizes[REGION_RANK] = {0};
  char call[160];
  fnzi_region_count(g, REGION_TOKEN, fits);
  if (!fits)
    return;
  memcpy(sizes, to.sizes, to.rank * sizeof *sizes);
  sizes[dim] = 1;
  /* An index below the size: of a position, or a constant. */
  static const int64_t one[] = {1};
  const var *position = fnzi_region_position(s);
  const var index = fnzi_region_dense(g, "i64", 1, one);
  const size_t before = s->count;
  if (position)
    fnzi_region_node(g, s, index, "remainder.Scalar(%%%c%u, %lld)", position->letter, position->id,
                     (long long)to.sizes[dim]);
  else
    fnzi_region_node(g, s, index, "full([1], %u, dtype=i64)",
                     choose(g->c, (uint32_t)to.sizes[dim]));
  s->count = before; /* it is no position */
  const var token = fnzi_region_like(g, s, to.rank, sizes);
  if (kind == 1)
    snprintf(call, sizeof call, "index_put_(%%%c%u, [%%v%u], %%v%u, %s)", to.letter, to.id,
             index.id, token.id, choose(g->c, 2) ? "True" : "False");
  else if (kind == 2)
    snprintf(call, sizeof call, "index_add_(%%%c%u, %u, %%v%u, %%v%u)", to.letter, to.id, dim,
             index.id, token.id);
  else
    snprintf(call, sizeof call, "index_copy_(%%%c%u, %u, %%v%u, %%v%u)", to.letter, to.id, dim,
             index.id, token.id);
  write_node(g, s, &to, call);
}

void fnzi_region_advance(gen *g, scope *s) {
  const var *position = fnzi_region_position(s);
  fnzi_region_count(g, REGION_ADVANCE, position != NULL);
  if (!position)
    return;
  const var to = *position;
  const var v = window_of(g, &to);
  const size_t before = s->count;
  fnzi_region_node(g, s, v, "add_.Tensor(%%%c%u, %u)", to.letter, to.id, 1 + choose(g->c, 2));
  s->count = before;
}
