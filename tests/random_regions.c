/* random_regions.c - see random_regions.h. A scope is a graph that is being written: its tensors
 * with their geometry, and its text. Bodies get their place among the graphs before they are
 * written, so that references go to later graphs. */
#include "tests/random_regions.h"

#include "program/program.h"

#include <stdio.h>

enum { MOST_VARS = 160, MOST_GRAPHS = 120, MOST_OPERANDS = 8, MOST_DEPTH = 3 };

typedef struct var {
  unsigned id; /* its name: a letter and a number */
  char letter;
  const char *dtype;
  uint32_t rank;
  int64_t sizes[8], strides[8], offset;
} var;

typedef struct scope {
  fnz_buffer head, lines;
  var vars[MOST_VARS];
  size_t count;
} scope;

typedef struct drawing {
  fnz_context *ctx;
  uint64_t state;
  unsigned names;
  int budget;
  fnz_buffer graphs[MOST_GRAPHS];
  size_t ngraphs;
} drawing;

static unsigned draw(drawing *d, unsigned below) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(d->state >> 33) % below;
}

/* --- tensors ---------------------------------------------------------------------------------- */
static var dense(drawing *d, const char *dtype, uint32_t rank, const int64_t *sizes) {
  var v = {.id = d->names++, .letter = 'v', .dtype = dtype, .rank = rank};
  for (uint32_t k = 0; k < rank; k++)
    v.sizes[k] = sizes[k];
  fnzi_contiguous_strides(v.sizes, rank, v.strides);
  return v;
}

static int64_t numel(const var *v) {
  int64_t n = 1;
  for (uint32_t k = 0; k < v->rank; k++)
    n *= v->sizes[k];
  return n;
}

static bool is_dense(const var *v) {
  int64_t strides[8];
  fnzi_contiguous_strides(v->sizes, v->rank, strides);
  for (uint32_t k = 0; k < v->rank; k++)
    if (v->sizes[k] != 1 && v->strides[k] != strides[k])
      return false;
  return true;
}

static void put_list(drawing *d, fnz_buffer *b, const char *around, const int64_t *items,
                     uint32_t count) {
  OK(d->ctx, fnzi_printf(d->ctx, b, "%c", around[0]));
  for (uint32_t k = 0; k < count; k++)
    OK(d->ctx, fnzi_printf(d->ctx, b, "%s%lld", k ? "," : "", (long long)items[k]));
  OK(d->ctx, fnzi_printf(d->ctx, b, "%c", around[1]));
}

static void put_var(drawing *d, fnz_buffer *b, const var *v) {
  OK(d->ctx, fnzi_printf(d->ctx, b, "%%%c%u: %s", v->letter, v->id, v->dtype));
  put_list(d, b, "[]", v->sizes, v->rank);
  if (v->rank) {
    OK(d->ctx, fnzi_put_text(d->ctx, b, " stride"));
    put_list(d, b, "()", v->strides, v->rank);
  }
  if (v->offset)
    OK(d->ctx, fnzi_printf(d->ctx, b, " offset(%lld)", (long long)v->offset));
}

static var *keep(scope *s, var v) {
  if (s->count == MOST_VARS)
    ck_abort_msg("more than %d tensors in a scope", MOST_VARS);
  s->vars[s->count] = v;
  return &s->vars[s->count++];
}

static bool is_float(const var *v) {
  return v->dtype[0] == 'f';
}

/* Some tensor of floats; there is one in every scope that asks. */
static const var *pick(drawing *d, const scope *s) {
  const var *v;
  do
    v = &s->vars[draw(d, (unsigned)s->count)];
  while (!is_float(v));
  return v;
}

static bool has_floats(const scope *s) {
  for (size_t i = 0; i < s->count; i++)
    if (is_float(&s->vars[i]))
      return true;
  return false;
}

#define PUT(d, s, ...) OK((d)->ctx, fnzi_printf((d)->ctx, &(s)->lines, __VA_ARGS__))

static void define(drawing *d, scope *s, const var *v) {
  PUT(d, s, "  ");
  put_var(d, &s->lines, v);
  PUT(d, s, " = ");
}

/* --- nodes ------------------------------------------------------------------------------------ */
static var clone(drawing *d, scope *s, const var *of) {
  var from = *of, v = dense(d, "f32", of->rank, of->sizes);
  define(d, s, &v);
  PUT(d, s, "clone(%%%c%u, memory_format=contiguous_format)\n", from.letter, from.id);
  return *keep(s, v);
}

static var scaled(drawing *d, scope *s, const var *of) {
  var from = clone(d, s, of), v = dense(d, "f32", from.rank, from.sizes);
  define(d, s, &v);
  PUT(d, s, "mul.Tensor(%%v%u, %u)\n", from.id, 2 + draw(d, 7));
  return *keep(s, v);
}

static var sum(drawing *d, scope *s) {
  var from = *pick(d, s), v = dense(d, "f32", 0, NULL);
  define(d, s, &v);
  PUT(d, s, "sum(%%%c%u)\n", from.letter, from.id);
  return *keep(s, v);
}

static var constant(drawing *d, scope *s, const char *dtype, uint32_t rank, const int64_t *sizes) {
  var v = dense(d, dtype, rank, sizes);
  define(d, s, &v);
  PUT(d, s, "full(");
  put_list(d, &s->lines, "[]", sizes, rank);
  PUT(d, s, ", 0, dtype=%s)\n", dtype);
  return v;
}

/* New memory with these sizes, made of something in the scope. */
static var like(drawing *d, scope *s, uint32_t rank, const int64_t *sizes) {
  for (size_t i = s->count; i-- > 0;) {
    const var *v = &s->vars[i];
    if (is_float(v) && v->rank == rank && draw(d, 3) &&
        (rank == 0 || memcmp(v->sizes, sizes, rank * sizeof *sizes) == 0))
      return scaled(d, s, v);
  }
  var number = sum(d, s), zeros = constant(d, s, "f32", rank, sizes);
  var v = dense(d, "f32", rank, sizes);
  define(d, s, &v);
  PUT(d, s, "add.Tensor(%%v%u, %%v%u)\n", zeros.id, number.id);
  return *keep(s, v);
}

static void drop_dim(var *v, uint32_t dim) {
  v->rank--;
  for (uint32_t k = dim; k < v->rank; k++) {
    v->sizes[k] = v->sizes[k + 1];
    v->strides[k] = v->strides[k + 1];
  }
}

static void view(drawing *d, scope *s) {
  const var from = *pick(d, s);
  const unsigned kind = draw(d, 4), dim = from.rank ? draw(d, from.rank) : 0;
  const int64_t size = from.rank ? from.sizes[dim] : 0;
  var v = from;
  v.id = d->names++;
  v.letter = 'v';
  if (kind == 0 && size) {
    int64_t at = draw(d, (unsigned)size);
    v.offset += at * v.strides[dim];
    drop_dim(&v, dim);
    define(d, s, &v);
    PUT(d, s, "select.int(%%%c%u, %u, %lld)\n", from.letter, from.id, dim, (long long)at);
  } else if (kind == 1 && size) {
    int64_t start = draw(d, (unsigned)size), step = 1 + draw(d, 2);
    v.sizes[dim] = (size - start + step - 1) / step;
    v.offset += start * v.strides[dim];
    v.strides[dim] *= step;
    define(d, s, &v);
    PUT(d, s, "slice.Tensor(%%%c%u, %u, %lld, %lld, %lld)\n", from.letter, from.id, dim,
        (long long)start, (long long)size, (long long)step);
  } else if (kind == 2 && from.rank > 1) {
    v.sizes[0] = from.sizes[from.rank - 1];
    v.sizes[from.rank - 1] = from.sizes[0];
    v.strides[0] = from.strides[from.rank - 1];
    v.strides[from.rank - 1] = from.strides[0];
    define(d, s, &v);
    PUT(d, s, "transpose.int(%%%c%u, 0, %u)\n", from.letter, from.id, from.rank - 1);
  } else if (is_dense(&from)) {
    v.rank = 1;
    v.sizes[0] = numel(&from);
    v.strides[0] = 1;
    define(d, s, &v);
    PUT(d, s, "view(%%%c%u, [-1])\n", from.letter, from.id);
  } else
    return;
  keep(s, v);
}

static void write(drawing *d, scope *s) {
  static const char *const calls[] = {"add_.Tensor", "mul_.Tensor", "fill_.Scalar"};
  const var to = *pick(d, s);
  var v = to;
  unsigned kind = draw(d, 4);
  v.id = d->names++;
  v.letter = 'v';
  if (kind < 3) {
    define(d, s, &v);
    PUT(d, s, "%s(%%%c%u, %u)  at \"m.py:%u\"\n", calls[kind], to.letter, to.id, 2 + draw(d, 7),
        v.id);
  } else {
    var from = like(d, s, to.rank, to.sizes);
    define(d, s, &v);
    PUT(d, s, "copy_(%%%c%u, %%v%u)  at \"m.py:%u\"\n", to.letter, to.id, from.id, v.id);
  }
  if (draw(d, 2))
    keep(s, v);
}

/* --- bodies ----------------------------------------------------------------------------------- */
typedef struct operands {
  var vars[MOST_OPERANDS];
  size_t count, first_slice, nslices;
} operands;

static void capture(drawing *d, const scope *s, size_t most, operands *out) {
  size_t n = draw(d, (unsigned)most + 1);
  for (size_t i = 0; i < n && has_floats(s); i++) {
    const var *v = pick(d, s);
    bool known = false;
    for (size_t k = 0; k < out->count; k++)
      known |= out->vars[k].id == v->id && out->vars[k].letter == v->letter;
    if (!known || draw(d, 5) == 0)
      out->vars[out->count++] = *v;
  }
}

static void statements(drawing *d, scope *s, unsigned depth);

/* A scope whose tensors are the operands, slices of some of them. */
static scope *open_body(drawing *d, const operands *in) {
  scope *s = calloc(1, sizeof *s);
  for (size_t k = 0; k < in->count; k++) {
    var v = in->vars[k];
    v.letter = 'a';
    v.id = (unsigned)k;
    if (k >= in->first_slice && k < in->first_slice + in->nslices) {
      drop_dim(&v, 0);
      v.offset = 0;
    }
    if (k)
      OK(d->ctx, fnzi_put_text(d->ctx, &s->head, ", "));
    put_var(d, &s->head, &v);
    keep(s, v);
  }
  return s;
}

static size_t reserve(drawing *d) {
  if (d->ngraphs == MOST_GRAPHS)
    ck_abort_msg("more than %d bodies", MOST_GRAPHS);
  return d->ngraphs++;
}

static void close_body(drawing *d, size_t place, scope *s, bool single, const var *outs,
                       size_t nouts) {
  fnz_buffer *b = &d->graphs[place];
  OK(d->ctx, fnzi_printf(d->ctx, b, "graph g%zu(%.*s) {\n%.*s  return%s", place, (int)s->head.size,
                         s->head.size ? s->head.data : "", (int)s->lines.size,
                         s->lines.size ? s->lines.data : "", single ? " single" : ""));
  for (size_t j = 0; j < nouts; j++)
    OK(d->ctx, fnzi_printf(d->ctx, b, "%s%%%c%u", j ? ", " : " ", outs[j].letter, outs[j].id));
  OK(d->ctx, fnzi_put_text(d->ctx, b, "\n}\n"));
  fnz_buffer_free(d->ctx, &s->head);
  fnz_buffer_free(d->ctx, &s->lines);
  free(s);
}

static void put_operands(drawing *d, scope *s, const operands *o, size_t from, size_t to) {
  PUT(d, s, "[");
  for (size_t k = from; k < to; k++)
    PUT(d, s, "%s%%%c%u", k > from ? ", " : "", o->vars[k].letter, o->vars[k].id);
  PUT(d, s, "]");
}

/* Results that look like `outs`, with `stack` slices each from output `stacked` on. */
static void put_results(drawing *d, scope *s, const var *outs, size_t nouts, size_t stacked,
                        int64_t stack) {
  PUT(d, s, "  ");
  for (size_t j = 0; j < nouts; j++) {
    var v = outs[j];
    v.id = d->names++;
    v.letter = 'v';
    if (j >= stacked) {
      int64_t sizes[8] = {stack};
      memcpy(sizes + 1, outs[j].sizes, outs[j].rank * sizeof *sizes);
      v = dense(d, "f32", outs[j].rank + 1, sizes);
    }
    if (j)
      PUT(d, s, ", ");
    put_var(d, &s->lines, &v);
    keep(s, v);
  }
  PUT(d, s, " = higher_order.");
}

/* --- regions ---------------------------------------------------------------------------------- */
static void condition(drawing *d, scope *s, unsigned depth) {
  operands o = {.count = 0};
  var number = sum(d, s), pred = dense(d, "bool", 0, NULL), outs[2];
  size_t place[2], alias;
  define(d, s, &pred);
  PUT(d, s, "gt.Scalar(%%v%u, 0)\n", number.id);
  o.vars[o.count++] = *pick(d, s);
  capture(d, s, 2, &o);
  alias = draw(d, 8) ? MOST_OPERANDS : 0; /* sometimes the branches return the first operand */
  place[0] = reserve(d);
  place[1] = reserve(d);
  for (size_t i = 0; i < 2; i++) {
    scope *b = open_body(d, &o);
    statements(d, b, depth + 1);
    outs[0] = alias == 0 ? b->vars[0] : like(d, b, o.vars[0].rank, o.vars[0].sizes);
    outs[1] = like(d, b, o.vars[o.count - 1].rank, o.vars[o.count - 1].sizes);
    close_body(d, place[i], b, false, outs, 2);
  }
  put_results(d, s, outs, 2, 2, 0);
  PUT(d, s, "cond(%%v%u, @g%zu, @g%zu, ", pred.id, place[0], place[1]);
  put_operands(d, s, &o, 0, o.count);
  PUT(d, s, ")\n");
}

static void call(drawing *d, scope *s, unsigned depth) {
  const unsigned which = draw(d, 4);
  operands o = {.count = 0};
  var outs[2];
  size_t place = reserve(d), n = 1;
  o.vars[o.count++] = *pick(d, s);
  capture(d, s, 3, &o);
  scope *b = open_body(d, &o);
  statements(d, b, depth + 1);
  outs[0] = *pick(d, b); /* anything: an operand, a view of one, or new */
  var other = like(d, b, o.vars[0].rank, o.vars[0].sizes);
  outs[n++] = other;
  close_body(d, place, b, false, outs, n);
  put_results(d, s, outs, n, n, 0);
  if (which == 0)
    PUT(d, s, "strict_mode(@g%zu, ", place);
  else if (which == 1)
    PUT(d, s, "wrap_with_set_grad_enabled(False, @g%zu, ", place);
  else if (which == 2)
    PUT(d, s, "invoke_subgraph(@g%zu, \"id\", ", place);
  else
    PUT(d, s, "hints_wrapper(@g%zu, ", place);
  put_operands(d, s, &o, 0, o.count);
  PUT(d, s, which == 3 ? ", [])\n" : ")\n");
}

static void loop(drawing *d, scope *s, unsigned depth) {
  operands o = {.count = 0};
  var outs[MOST_OPERANDS], turns = constant(d, s, "i64", 0, NULL);
  size_t place[2], carried;
  o.vars[o.count++] = turns;
  if (draw(d, 3))
    o.vars[o.count++] = clone(d, s, pick(d, s));
  carried = o.count;
  capture(d, s, 2, &o);
  place[0] = reserve(d);
  place[1] = reserve(d);
  scope *test = open_body(d, &o);
  var goes_on = dense(d, "bool", 0, NULL);
  define(d, test, &goes_on);
  PUT(d, test, "lt.Scalar(%%a0, 3)\n");
  close_body(d, place[0], test, true, &goes_on, 1);
  scope *turn = open_body(d, &o);
  if (has_floats(turn))
    statements(d, turn, depth + 1);
  outs[0] = dense(d, "i64", 0, NULL);
  define(d, turn, &outs[0]);
  PUT(d, turn, "add.Tensor(%%a0, 1)\n");
  for (size_t k = 1; k < carried; k++)
    outs[k] = like(d, turn, o.vars[k].rank, o.vars[k].sizes);
  close_body(d, place[1], turn, false, outs, carried);
  put_results(d, s, outs, carried, carried, 0);
  PUT(d, s, "while_loop(@g%zu, @g%zu, ", place[0], place[1]);
  put_operands(d, s, &o, 0, carried);
  PUT(d, s, ", ");
  put_operands(d, s, &o, carried, o.count);
  PUT(d, s, ")\n");
}

static void slices(drawing *d, scope *s, unsigned depth, bool scans) {
  operands o = {.count = 0};
  var outs[MOST_OPERANDS];
  const var xs = *pick(d, s);
  size_t place, carried;
  if (xs.rank == 0 || xs.sizes[0] == 0)
    return;
  if (scans)
    o.vars[o.count++] = clone(d, s, pick(d, s));
  carried = o.first_slice = o.count;
  o.vars[o.count++] = xs;
  o.nslices = 1;
  capture(d, s, 2, &o);
  place = reserve(d);
  scope *b = open_body(d, &o);
  statements(d, b, depth + 1);
  if (scans)
    outs[0] = like(d, b, o.vars[0].rank, o.vars[0].sizes);
  outs[carried] = like(d, b, xs.rank - 1, xs.sizes + 1);
  close_body(d, place, b, false, outs, carried + 1);
  put_results(d, s, outs, carried + 1, carried, xs.sizes[0]);
  PUT(d, s, scans ? "scan(@g%zu, " : "map_impl(@g%zu, ", place);
  if (scans) {
    put_operands(d, s, &o, 0, carried);
    PUT(d, s, ", ");
  }
  put_operands(d, s, &o, carried, carried + 1);
  PUT(d, s, ", ");
  put_operands(d, s, &o, carried + 1, o.count);
  PUT(d, s, ")\n");
}

static void region(drawing *d, scope *s, unsigned depth) {
  switch (draw(d, 6)) {
  case 0:
  case 1:
    condition(d, s, depth);
    return;
  case 2:
    call(d, s, depth);
    return;
  case 3:
    loop(d, s, depth);
    return;
  default:
    slices(d, s, depth, draw(d, 2));
  }
}

static void statements(drawing *d, scope *s, unsigned depth) {
  for (unsigned n = 1 + draw(d, 4); n > 0 && d->budget-- > 0; n--) {
    switch (draw(d, 8)) {
    case 0:
    case 1:
      view(d, s);
      break;
    case 2:
    case 3:
    case 4:
      write(d, s);
      break;
    default:
      if (depth < MOST_DEPTH)
        region(d, s, depth);
    }
  }
}

/* --- programs --------------------------------------------------------------------------------- */
static void write_program(drawing *d, const scope *s, fnz_buffer *out) {
  OK(d->ctx, fnzi_printf(d->ctx, out, "fnz 1\nprogram(%.*s) {\n%.*s  return", (int)s->head.size,
                         s->head.data, (int)s->lines.size, s->lines.data));
  for (size_t i = 0, n = 0; i < s->count; i++)
    if (is_float(&s->vars[i]) && s->vars[i].letter == 'v' && (i + 1 == s->count || !draw(d, 3)))
      OK(d->ctx, fnzi_printf(d->ctx, out, "%s%%v%u", n++ ? ", " : " ", s->vars[i].id));
  OK(d->ctx, fnzi_put_text(d->ctx, out, "\n}\n"));
  for (size_t g = 0; g < d->ngraphs; g++)
    OK(d->ctx, fnzi_printf(d->ctx, out, "%.*s", (int)d->graphs[g].size, d->graphs[g].data));
}

void random_regions(fnz_context *ctx, unsigned seed, fnz_buffer *out) {
  static const int64_t shapes[][3] = {{4, 0, 0}, {3, 2, 0}, {2, 3, 0}, {2, 2, 3}};
  static const uint32_t ranks[] = {1, 2, 2, 3};
  drawing d = {.ctx = ctx, .state = seed * 0x9e3779b97f4a7c15u};
  scope s = {.count = 0};
  unsigned ninputs = 1 + draw(&d, 3);
  d.budget = 4 + (int)draw(&d, 14);
  for (unsigned k = 0; k < ninputs; k++) {
    unsigned shape = draw(&d, 4);
    var v = dense(&d, "f32", ranks[shape], shapes[shape]);
    v.letter = 'x';
    if (k)
      OK(ctx, fnzi_put_text(ctx, &s.head, ", "));
    put_var(&d, &s.head, &v);
    keep(&s, v);
  }
  while (d.budget > 0)
    statements(&d, &s, 0);
  scaled(&d, &s, pick(&d, &s)); /* so that something is returned */
  write_program(&d, &s, out);
  for (size_t g = 0; g < d.ngraphs; g++)
    fnz_buffer_free(ctx, &d.graphs[g]);
  fnz_buffer_free(ctx, &s.head);
  fnz_buffer_free(ctx, &s.lines);
}
