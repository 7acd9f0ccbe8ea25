/* regions.c - bodies, the nodes that have them, and whole programs: see regions.h.
 *
 * Bodies get their place among the graphs before they are written, so that references go to later
 * graphs. */
#include "soak/region_draws.h"

#include <stdio.h>

enum { MOST_OPERANDS = 8, MOST_DEPTH = 3 };

typedef region_gen gen;

#define PUT(g, s, ...) fnzi_region_put(g, &(s)->lines, __VA_ARGS__)

const char *fnzi_regions_step(size_t k) {
  static const char *const names[] = {
#define REGION_STEP_NAME(id, name) name,
      REGION_STEP_ROWS(REGION_STEP_NAME)
#undef REGION_STEP_NAME
  };
  return k < sizeof names / sizeof *names ? names[k] : NULL;
}

/* --- Bodies ----------------------------------------------------------------------------------- */
typedef struct operands {
  var vars[MOST_OPERANDS];
  size_t count, first_slice, nslices;
} operands;

/* Tensors of floats, some of them twice, and the position. */
static void capture(gen *g, const scope *s, uint32_t most, operands *out) {
  const uint32_t n = choose(g->c, most + 1);
  const var *position = fnzi_region_position(s);
  for (uint32_t i = 0; i < n && fnzi_region_has_floats(s); i++) {
    const var *v = fnzi_region_pick(g, s);
    bool is_among = false;
    for (size_t k = 0; k < out->count && !is_among; k++)
      is_among = out->vars[k].id == v->id && out->vars[k].letter == v->letter;
    if (!is_among || choose(g->c, 5) == 1)
      out->vars[out->count++] = *v;
  }
  if (position && choose(g->c, 2))
    out->vars[out->count++] = *position;
}

static void statements(gen *g, scope *s, unsigned depth);

static scope *open_scope(gen *g) {
  scope *s = fnzi_resize(g->ctx, NULL, 0, sizeof *s);
  if (s)
    memset(s, 0, sizeof *s);
  else
    g->status = fnzi_no_memory(g->ctx);
  return s;
}

static void close_scope(gen *g, scope *s) {
  fnz_buffer_free(g->ctx, &s->head);
  fnz_buffer_free(g->ctx, &s->lines);
  fnzi_free(g->ctx, s, sizeof *s);
}

static void regions_put_buffer(gen *g, fnz_buffer *to, const fnz_buffer *from) {
  if (g->status == FNZ_OK && from->size)
    g->status = fnzi_put(g->ctx, to, from->data, from->size);
}

/* Its tensors are the operands, slices of some of them. NULL: there is no memory. */
static scope *open_body(gen *g, const operands *in) {
  scope *s = open_scope(g);
  for (size_t k = 0; s && k < in->count; k++) {
    var v = in->vars[k];
    v.letter = 'a';
    v.id = (unsigned)k;
    if (k >= in->first_slice && k < in->first_slice + in->nslices) {
      fnzi_region_drop_dim(&v, 0);
      v.offset = 0;
    }
    if (k)
      fnzi_region_put(g, &s->head, ", ");
    fnzi_region_put_var(g, &s->head, &v);
    fnzi_region_keep(g, s, v);
  }
  return s;
}

static size_t reserve(gen *g) {
  if (g->ngraphs < REGION_GRAPHS)
    return g->ngraphs++;
  if (g->status == FNZ_OK)
    g->status = fnzi_fail(g->ctx, FNZ_CLASS_INTERNAL, "", "more than %d bodies", REGION_GRAPHS);
  return REGION_GRAPHS - 1;
}

static void close_body(gen *g, size_t place, scope *s, bool single, const var *outs, size_t nouts) {
  fnz_buffer *b = &g->graphs[place];
  fnzi_region_put(g, b, "graph g%zu(", place);
  regions_put_buffer(g, b, &s->head);
  fnzi_region_put(g, b, ") {\n");
  regions_put_buffer(g, b, &s->lines);
  fnzi_region_put(g, b, "  return%s", single ? " single" : "");
  for (size_t j = 0; j < nouts; j++)
    fnzi_region_put(g, b, "%s%%%c%u", j ? ", " : " ", outs[j].letter, outs[j].id);
  fnzi_region_put(g, b, "\n}\n");
  close_scope(g, s);
}

static void regions_put_operands(gen *g, scope *s, const operands *o, size_t from, size_t to) {
  PUT(g, s, "[");
  for (size_t k = from; k < to; k++)
    PUT(g, s, "%s%%%c%u", k > from ? ", " : "", o->vars[k].letter, o->vars[k].id);
  PUT(g, s, "]");
}

/* Results that look like `outs`, with `stack` slices each from output `stacked` on. */
static void put_results(gen *g, scope *s, const var *outs, size_t nouts, size_t stacked,
                        int64_t stack) {
  PUT(g, s, "  ");
  for (size_t j = 0; j < nouts; j++) {
    var v = outs[j];
    v.id = g->names++;
    v.letter = 'v';
    if (j >= stacked) {
      int64_t sizes[REGION_RANK + 1] = {stack};
      memcpy(sizes + 1, outs[j].sizes, outs[j].rank * sizeof *sizes);
      v = fnzi_region_dense(g, "f32", outs[j].rank + 1, sizes);
    }
    if (j)
      PUT(g, s, ", ");
    fnzi_region_put_var(g, &s->lines, &v);
    fnzi_region_keep(g, s, v);
  }
  PUT(g, s, " = higher_order.");
}

/* --- Regions ---------------------------------------------------------------------------------- */
static void branch(gen *g, size_t place, const operands *o, bool gives_operand, unsigned depth,
                   var outs[2]) {
  scope *b = open_body(g, o);
  if (!b)
    return;
  statements(g, b, depth + 1);
  const var *first = &o->vars[0], *last = &o->vars[o->count - 1];
  last = last->dtype[0] == 'f' ? last : first;
  outs[0] = gives_operand ? b->vars[0] : fnzi_region_like(g, b, first->rank, first->sizes);
  outs[1] = fnzi_region_like(g, b, last->rank, last->sizes);
  close_body(g, place, b, false, outs, 2);
}

static void condition(gen *g, scope *s, unsigned depth) {
  operands o = {.count = 0};
  const var number = fnzi_region_sum(g, s), truth = fnzi_region_dense(g, "bool", 0, NULL);
  var outs[2] = {{.letter = 'v'}};
  fnzi_region_define(g, s, &truth);
  PUT(g, s, "gt.Scalar(%%v%u, 0)", number.id);
  fnzi_region_end_node(g, s);
  o.vars[o.count++] = *fnzi_region_pick(g, s);
  capture(g, s, 2, &o);
  const bool gives_operand = choose(g->c, 8) == 1;
  const size_t yes = reserve(g), no = reserve(g);
  branch(g, yes, &o, gives_operand, depth, outs);
  branch(g, no, &o, gives_operand, depth, outs);
  put_results(g, s, outs, 2, 2, 0);
  PUT(g, s, "cond(%%v%u, @g%zu, @g%zu, ", truth.id, yes, no);
  regions_put_operands(g, s, &o, 0, o.count);
  PUT(g, s, ")");
  fnzi_region_end_node(g, s);
}

/* The first result is anything: an operand, a view of one, or new. */
static void call(gen *g, scope *s, unsigned depth) {
  const uint32_t which = choose(g->c, 4);
  operands o = {.count = 0};
  var outs[2];
  const size_t place = reserve(g);
  o.vars[o.count++] = *fnzi_region_pick(g, s);
  capture(g, s, 3, &o);
  scope *b = open_body(g, &o);
  if (!b)
    return;
  statements(g, b, depth + 1);
  outs[0] = *fnzi_region_pick(g, b);
  outs[1] = fnzi_region_like(g, b, o.vars[0].rank, o.vars[0].sizes);
  close_body(g, place, b, false, outs, 2);
  put_results(g, s, outs, 2, 2, 0);
  if (which == 0)
    PUT(g, s, "strict_mode(@g%zu, ", place);
  else if (which == 1)
    PUT(g, s, "wrap_with_set_grad_enabled(False, @g%zu, ", place);
  else if (which == 2)
    PUT(g, s, "invoke_subgraph(@g%zu, \"id\", ", place);
  else
    PUT(g, s, "hints_wrapper(@g%zu, ", place);
  regions_put_operands(g, s, &o, 0, o.count);
  PUT(g, s, which == 3 ? ", [])" : ")");
  fnzi_region_end_node(g, s);
}

static void loop(gen *g, scope *s, unsigned depth) {
  operands o = {.count = 0};
  var outs[MOST_OPERANDS];
  o.vars[o.count++] = fnzi_region_constant(g, s, "i64", 0, NULL);
  if (choose(g->c, 3))
    o.vars[o.count++] = fnzi_region_clone(g, s, fnzi_region_pick(g, s));
  const size_t carried = o.count;
  capture(g, s, 2, &o);
  const size_t test = reserve(g), turn = reserve(g);
  /* It runs three times. */
  scope *head = open_body(g, &o);
  if (head) {
    const var goes_on = fnzi_region_dense(g, "bool", 0, NULL);
    fnzi_region_node(g, head, goes_on, "lt.Scalar(%%a0, 3)");
    close_body(g, test, head, true, &goes_on, 1);
  }
  scope *b = open_body(g, &o);
  if (!b)
    return;
  if (fnzi_region_has_floats(b))
    statements(g, b, depth + 1);
  outs[0] = fnzi_region_node(g, b, fnzi_region_dense(g, "i64", 0, NULL), "add.Tensor(%%a0, 1)");
  for (size_t k = 1; k < carried; k++)
    outs[k] = fnzi_region_like(g, b, o.vars[k].rank, o.vars[k].sizes);
  close_body(g, turn, b, false, outs, carried);
  put_results(g, s, outs, carried, carried, 0);
  PUT(g, s, "while_loop(@g%zu, @g%zu, ", test, turn);
  regions_put_operands(g, s, &o, 0, carried);
  PUT(g, s, ", ");
  regions_put_operands(g, s, &o, carried, o.count);
  PUT(g, s, ")");
  fnzi_region_end_node(g, s);
}

/* Over the slices of a tensor that has some. */
static void slices(gen *g, scope *s, const var *xs, unsigned depth, bool scans) {
  operands o = {.nslices = 1};
  var outs[MOST_OPERANDS];
  if (scans)
    o.vars[o.count++] = fnzi_region_clone(g, s, fnzi_region_pick(g, s));
  const size_t carried = o.first_slice = o.count;
  o.vars[o.count++] = *xs;
  capture(g, s, 2, &o);
  const size_t place = reserve(g);
  scope *b = open_body(g, &o);
  if (!b)
    return;
  statements(g, b, depth + 1);
  if (scans)
    outs[0] = fnzi_region_like(g, b, o.vars[0].rank, o.vars[0].sizes);
  outs[carried] = fnzi_region_like(g, b, xs->rank - 1, xs->sizes + 1);
  close_body(g, place, b, false, outs, carried + 1);
  put_results(g, s, outs, carried + 1, carried, xs->sizes[0]);
  PUT(g, s, scans ? "scan(@g%zu, " : "map_impl(@g%zu, ", place);
  if (scans) {
    regions_put_operands(g, s, &o, 0, carried);
    PUT(g, s, ", ");
  }
  regions_put_operands(g, s, &o, carried, carried + 1);
  PUT(g, s, ", ");
  regions_put_operands(g, s, &o, carried + 1, o.count);
  PUT(g, s, ")");
  fnzi_region_end_node(g, s);
}

/* --- Steps ------------------------------------------------------------------------------------ */
static void region(gen *g, scope *s, unsigned depth) {
  static const region_step steps[] = {REGION_COND,  REGION_COND, REGION_CALL,
                                      REGION_WHILE, REGION_SCAN, REGION_MAP};
  const region_step step = steps[choose(g->c, sizeof steps / sizeof *steps)];
  const var xs = *fnzi_region_pick(g, s);
  const bool has_slices = xs.rank > 0 && xs.sizes[0] > 0;
  const bool fits = has_slices || (step != REGION_SCAN && step != REGION_MAP);
  fnzi_region_count(g, step, fits);
  if (!fits)
    return;
  if (step == REGION_COND)
    condition(g, s, depth);
  else if (step == REGION_CALL)
    call(g, s, depth);
  else if (step == REGION_WHILE)
    loop(g, s, depth);
  else
    slices(g, s, &xs, depth, step == REGION_SCAN);
}

static void statements(gen *g, scope *s, unsigned depth) {
  for (uint32_t n = 1 + choose(g->c, 4); n > 0 && g->budget-- > 0 && g->status == FNZ_OK; n--) {
    if (depth == 0)
      choices_part(g->c);
    const uint32_t kind = choose(g->c, 11);
    if (kind < 2)
      fnzi_region_view(g, s);
    else if (kind < 4)
      fnzi_region_write(g, s);
    else if (kind < 6)
      fnzi_region_token(g, s);
    else if (kind == 6)
      fnzi_region_advance(g, s);
    else if (kind == 7)
      fnzi_region_random(g, s);
    else if (depth < MOST_DEPTH)
      region(g, s, depth);
  }
}

/* --- Programs --------------------------------------------------------------------------------- */
static void put_input(gen *g, scope *s, var v, bool is_state) {
  v.letter = is_state ? 'b' : 'x';
  if (s->count)
    fnzi_region_put(g, &s->head, ", ");
  fnzi_region_put_var(g, &s->head, &v);
  if (is_state) {
    /* A constant that is written becomes a buffer. */
    const uint32_t kind = choose(g->c, 5);
    fnzi_region_put(g, &s->head, " %s \"s%u\"%s", kind == 4 ? "constant" : "buffer", v.id,
                    kind % 4 % 2 ? " persistent" : "");
  }
  fnzi_region_keep(g, s, v);
}

static void draw_program(gen *g, fnz_buffer *out) {
  scope *s = open_scope(g);
  if (!s)
    return;
  /* Buffers come first, as exporters have them. Half of the programs have a position, mostly as
   * state. */
  static const int64_t shapes[][3] = {{4, 0, 0}, {3, 2, 0}, {2, 3, 0}, {2, 2, 3}, {1, 0, 0}};
  static const uint32_t ranks[] = {1, 2, 2, 3, 1};
  const uint32_t nbuffers = choose(g->c, 4), ninputs = 1 + choose(g->c, 3),
                 position = choose(g->c, 4);
  for (uint32_t k = 0; k < nbuffers + ninputs; k++) {
    const uint32_t shape = choose(g->c, 4);
    if (k == 0 && position > 1)
      put_input(g, s, fnzi_region_dense(g, "i64", 1, shapes[4]), true);
    put_input(g, s, fnzi_region_dense(g, "f32", ranks[shape], shapes[shape]), k < nbuffers);
  }
  if (position == 1)
    put_input(g, s, fnzi_region_dense(g, "i64", 1, shapes[4]), false);
  for (g->budget = 4 + (int)choose(g->c, 14); g->budget > 0 && g->status == FNZ_OK;)
    statements(g, s, 0);
  choices_part(g->c);
  fnzi_region_scaled(g, s, fnzi_region_pick(g, s)); /* so that something is returned */
  fnzi_region_put(g, out, "fnz 1\nprogram(");
  regions_put_buffer(g, out, &s->head);
  fnzi_region_put(g, out, ") {\n");
  regions_put_buffer(g, out, &s->lines);
  /* The last tensor, and some of the others. */
  fnzi_region_put(g, out, "  return");
  for (size_t i = 0, n = 0; i < s->count; i++) {
    const var *v = &s->vars[i];
    if (v->dtype[0] == 'f' && v->letter == 'v' && (i + 1 == s->count || choose(g->c, 3) == 1))
      fnzi_region_put(g, out, "%s%%v%u", n++ ? ", " : " ", v->id);
  }
  fnzi_region_put(g, out, "\n}\n");
  for (size_t k = 0; k < g->ngraphs; k++)
    regions_put_buffer(g, out, &g->graphs[k]);
  g->counts->programs++;
  g->counts->lengths[fnzi_random_bucket(g->nodes)]++;
  close_scope(g, s);
}

fnz_status fnzi_regions_text(fnz_context *ctx, choices *c, fnzi_random_counts *counts,
                             fnz_buffer *out) {
  gen *g = fnzi_resize(ctx, NULL, 0, sizeof *g);
  if (!g)
    return fnzi_no_memory(ctx);
  memset(g, 0, sizeof *g);
  g->ctx = ctx;
  g->c = c;
  g->counts = counts;
  draw_program(g, out);
  for (size_t k = 0; k < g->ngraphs; k++)
    fnz_buffer_free(ctx, &g->graphs[k]);
  const fnz_status status = g->status;
  fnzi_free(ctx, g, sizeof *g);
  return status;
}

fnz_status fnzi_regions_program(fnz_context *ctx, choices *c, fnzi_random_counts *counts,
                                fnz_program **out) {
  fnz_buffer text = {0};
  *out = NULL;
  fnz_status status = fnzi_regions_text(ctx, c, counts, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, out);
  fnz_buffer_free(ctx, &text);
  return status;
}
