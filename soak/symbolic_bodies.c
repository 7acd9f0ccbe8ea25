/* symbolic_bodies.c - cond and while_loop over tensors of unknown sizes. A body works on copies of
 * its operands, as torch.export wants it: it neither writes nor returns their memory. */
#include "soak/symbolic_draws.h"

#include <stdio.h>
#include <string.h>

enum { MOST_OPERANDS = 3, MOST_GRAPHS = 8 };

/* Tensors of floats, and at most one size. The first tensor is carried or returned. */
typedef struct operands {
  tensor tensors[MOST_OPERANDS];
  uint32_t count;
  number size;
  bool has_size;
} operands;

static bool pick_operands(symbolic_gen *g, operands *o) {
  *o = (operands){.count = 0};
  if (g->in_body || g->graphs_count + 2 > MOST_GRAPHS)
    return false;
  for (uint32_t want = 1 + choose(g->c, MOST_OPERANDS), k = 0; k < want; k++) {
    const tensor *t = fnzi_symbolic_pick(g);
    if (t->dtype[0] == 'f' && t->rank < 4) /* many sizes in a loop take seconds to verify */
      o->tensors[o->count++] = *t;
  }
  for (size_t k = g->numbers_count; k-- > 0 && !o->has_size && perhaps(g->c, 60);)
    if (!fnzi_number_is_data(&g->numbers[k])) {
      o->size = g->numbers[k];
      o->has_size = true;
    }
  return o->count > 0;
}

/* --- a body ----------------------------------------------------------------------------------- */
typedef struct body {
  char name[8];
  const char *inputs, *lines, *returns; /* before the tensors, the lines and the result */
} body;

static void put_copy(symbolic_gen *b, const tensor *t) {
  tensor copy = *t;
  fnzi_symbolic_make_dense(&copy);
  (void)fnzi_symbolic_define(b, &copy, "clone(%s, memory_format=contiguous_format)", t->name);
}

static tensor bodies_input_of(const operands *o, uint32_t k) {
  tensor in = o->tensors[k];
  snprintf(in.name, sizeof in.name, "%%a%u", k);
  return in;
}

static void bodies_put_head(symbolic_gen *b, const body *text, const operands *o) {
  fnzi_symbolic_put(b, "graph %s(%s", text->name, text->inputs);
  for (uint32_t k = 0; k < o->count; k++) {
    const tensor in = bodies_input_of(o, k);
    fnzi_symbolic_put(b, k ? ", " : "");
    fnzi_symbolic_put_typed(b, &in);
  }
  if (o->has_size)
    fnzi_symbolic_put(b, ", %%n: sym{\"%s\"}", o->size.text);
  fnzi_symbolic_put(b, ") {\n%s", text->lines);
}

/* The body computes with copies, and with the size. */
static void copy_operands(symbolic_gen *b, const operands *o) {
  for (uint32_t k = 0; k < o->count; k++) {
    const tensor in = bodies_input_of(o, k);
    put_copy(b, &in);
  }
  if (!o->has_size)
    return;
  number *n = &b->numbers[b->numbers_count++];
  *n = o->size;
  snprintf(n->name, sizeof n->name, "%%n");
}

/* Draws a body with tensors of its own; its text goes behind the program. */
static bool draw_body(symbolic_gen *g, const body *text, const operands *o) {
  symbolic_gen *b = fnzi_resize(g->ctx, NULL, 0, sizeof *b);
  if (!b) {
    g->status = fnzi_no_memory(g->ctx);
    return false;
  }
  memset(b, 0, sizeof *b);
  b->ctx = g->ctx;
  b->c = g->c;
  b->counts = g->counts;
  b->draw_lines = g->draw_lines;
  b->in_body = true;
  bodies_put_head(b, text, o);
  copy_operands(b, o);
  b->draw_lines(b, 1 + choose(b->c, 5));
  /* A copy of the newest tensor that looks like the first operand. */
  size_t k = b->tensors_count;
  while (k > 0 && !fnzi_symbolic_is_same_shape(&b->tensors[k - 1], &o->tensors[0]))
    k--;
  if (k > 0)
    put_copy(b, &b->tensors[k - 1]);
  fnzi_symbolic_put(b, "  return %s%%v%zu\n}\n", text->returns, b->names);
  const bool done = k > 0;
  if (g->status == FNZ_OK)
    g->status = b->status;
  if (done && g->status == FNZ_OK)
    g->status = fnzi_put(g->ctx, &g->graphs, b->body.data, b->body.size);
  if (b->guards.size && g->status == FNZ_OK)
    g->status = fnzi_put(g->ctx, &g->guards, b->guards.data, b->guards.size);
  fnz_buffer_free(g->ctx, &b->guards);
  fnz_buffer_free(g->ctx, &b->body);
  fnzi_free(g->ctx, b, sizeof *b);
  return done;
}

static void name_bodies(symbolic_gen *g, body *first, body *second) {
  snprintf(first->name, sizeof first->name, "g%zu", g->graphs_count++);
  snprintf(second->name, sizeof second->name, "g%zu", g->graphs_count++);
}

/* --- regions ---------------------------------------------------------------------------------- */
static void bodies_put_operands(const operands *o, uint32_t from, char *to, size_t capacity) {
  size_t at = 0;
  for (uint32_t k = from; k < o->count; k++)
    at +=
        (size_t)snprintf(to + at, capacity - at, "%s%s", k > from ? ", " : "", o->tensors[k].name);
  if (o->has_size)
    snprintf(to + at, capacity - at, "%s%s", from < o->count ? ", " : "", o->size.name);
}

/* A datum decides which branch it is. */
bool fnzi_symbolic_draw_cond(symbolic_gen *g) {
  operands o;
  body yes = {.inputs = "", .lines = "", .returns = ""}, no = yes;
  tensor truth = {.dtype = "bool"};
  char list[64] = "";
  if (!g->data_count || !pick_operands(g, &o))
    return false;
  tensor out = o.tensors[0];
  fnzi_symbolic_make_dense(&truth);
  fnzi_symbolic_make_dense(&out);
  const uint32_t datum = choose(g->c, (uint32_t)g->data_count), bound = choose(g->c, 4);
  if (!fnzi_symbolic_is_usable(&out) ||
      !fnzi_symbolic_define(g, &truth, "gt.Scalar(%%i%u, %u)", datum, bound))
    return false;
  name_bodies(g, &yes, &no);
  if (!draw_body(g, &yes, &o) || !draw_body(g, &no, &o))
    return false;
  bodies_put_operands(&o, 0, list, sizeof list);
  return fnzi_symbolic_define(g, &out, "higher_order.cond(%s, @%s, @%s, [%s])", truth.name,
                              yes.name, no.name, list);
}

/* A count and the first operand are carried. A datum says where the count begins. */
bool fnzi_symbolic_draw_loop(symbolic_gen *g) {
  operands o;
  body test = {.inputs = "%i: i64[], ", .lines = "", .returns = ""};
  body turn = {"", test.inputs, "  %j: i64[] = add.Tensor(%i, 1)\n", "%j, "};
  tensor start = {.dtype = "i64"}, out;
  char list[64] = "", next[sizeof start.name];
  if (!g->data_count || !pick_operands(g, &o))
    return false;
  const tensor was = o.tensors[0];
  fnzi_symbolic_make_dense(&start);
  fnzi_symbolic_make_dense(&o.tensors[0]);
  const uint32_t datum = choose(g->c, (uint32_t)g->data_count);
  if (!fnzi_symbolic_define(g, &o.tensors[0], "clone(%s, memory_format=contiguous_format)",
                            was.name) ||
      !fnzi_symbolic_define(g, &start, "clone(%%i%u)", datum))
    return false;
  name_bodies(g, &test, &turn);
  const fnz_buffer lines = g->body;
  g->body = g->graphs;
  bodies_put_head(g, &test, &o);
  fnzi_symbolic_put(g, "  %%l: bool[] = lt.Scalar(%%i, %u)\n  return single %%l\n}\n",
                    choose(g->c, 4));
  g->graphs = g->body;
  g->body = lines;
  if (!draw_body(g, &turn, &o))
    return false;
  out = o.tensors[0];
  bodies_put_operands(&o, 1, list, sizeof list);
  fnzi_symbolic_name(g, next);
  fnzi_symbolic_put(g, "  %s: i64[],", next);
  return fnzi_symbolic_define(g, &out, "higher_order.while_loop(@%s, @%s, [%s, %s], [%s])",
                              test.name, turn.name, start.name, o.tensors[0].name, list);
}
