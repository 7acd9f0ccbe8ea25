/* functionalize.c - how time and memory of the pass grow with the program: five shapes of programs
 * from 10^3 nodes up to the number in argv[1] (10^6), built in memory, with fixed sizes and with a
 * symbol as the width. A shape whose time per node grows with the number of nodes is not linear,
 * and the last columns show it. argv[2] names one shape by its beginning; argv[3], "fixed" or
 * "symbol", one kind of width. */
#include "program/program.h"

#include <fnz/functionalize.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  SIDE = 8,
  ROUND = 10000, /* most pieces of one unbind */
  WIDTH = 1009   /* the hint of the symbol: no other number of a program is a multiple of it */
};

/* A program while it is built. Tensors are values with their geometry. */
typedef struct builder {
  fnz_context *ctx;
  fnz_program *program;
  uint32_t output;
  bool has_symbol; /* the width is one */
} builder;

static double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static fnz_arg value_arg(uint32_t value) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = value};
}

static fnz_arg int_arg(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}

/* The symbol of a size, a stride or an offset; 0: it is a number. */
static fnz_status symbol_of(builder *b, int64_t number, uint32_t *out) {
  char text[32] = "s0";
  *out = 0;
  if (!b->has_symbol || number <= 0 || number % WIDTH != 0)
    return FNZ_OK;
  if (number != WIDTH)
    snprintf(text, sizeof text, "%lld*s0", (long long)(number / WIDTH));
  return fnzi_symbol_add(b->program, text, true, number, out);
}

static fnz_status intern(builder *b, const fnz_geometry *g, const fnz_geometry **out) {
  uint32_t symbols[2 * FNZ_MAX_RANK + 1];
  fnz_geometry copy = *g;
  bool any = false;
  for (uint32_t i = 0; i <= 2 * g->rank; i++) {
    const int64_t number = i == 2 * g->rank ? g->offset
                           : i < g->rank    ? g->sizes[i]
                                            : g->strides[i - g->rank];
    FNZ_TRY(symbol_of(b, number, &symbols[i]));
    any = any || symbols[i];
  }
  copy.symbols = any ? symbols : NULL;
  return fnzi_intern_geometry(b->program, &copy, out);
}

static fnz_status new_value(builder *b, const fnz_geometry *g, uint32_t node, uint32_t *out) {
  const fnz_geometry *shared;
  FNZ_TRY(intern(b, g, &shared));
  return fnzi_value_add_fresh(b->program, 0, "t", shared, node, out);
}

static const fnz_geometry *geometry_of(const builder *b, uint32_t value) {
  return fnzi_value_at(b->program, 0, value)->geometry;
}

/* Adds op(args...) with a single result of the geometry. Missing arguments are defaults. */
static fnz_status add_node(builder *b, const char *name, const fnz_arg *args, size_t nargs,
                           const fnz_geometry *result, uint32_t *out) {
  const fnz_op *op = fnz_op_find(NULL, name);
  fnz_arg all[8] = {{0}};
  memcpy(all, args, nargs * sizeof *args);
  uint32_t node = (uint32_t)fnzi_graph_main(b->program)->nodes.count;
  FNZ_TRY(new_value(b, result, node, out));
  fnz_arg output = value_arg(*out);
  fnzi_node n = {
      .op = op, .args = all, .outputs = &output, .source = "", .nargs = op->nparams, .noutputs = 1};
  return fnzi_node_add(b->program, 0, &n, &node);
}

static fnz_status add_one(builder *b, uint32_t target) {
  fnz_arg args[] = {value_arg(target), int_arg(1)};
  uint32_t out;
  return add_node(b, "add_.Scalar", args, 2, geometry_of(b, target), &out);
}

static fnz_status transpose(builder *b, uint32_t base, uint32_t *out) {
  const fnz_geometry *g = geometry_of(b, base);
  int64_t strides[] = {g->strides[1], g->strides[0]}, sizes[] = {g->sizes[1], g->sizes[0]};
  fnz_geometry result = *g;
  result.sizes = sizes;
  result.strides = strides;
  fnz_arg args[] = {value_arg(base), int_arg(0), int_arg(1)};
  return add_node(b, "transpose.int", args, 3, &result, out);
}

/* base[at:at + 1] in its first dimension. */
static fnz_status slice(builder *b, uint32_t base, int64_t at, uint32_t *out) {
  const fnz_geometry *g = geometry_of(b, base);
  int64_t sizes[] = {1, g->sizes[1]};
  fnz_geometry result = *g;
  result.sizes = sizes;
  result.offset += at * g->strides[0];
  fnz_arg args[] = {value_arg(base), int_arg(0), int_arg(at), int_arg(at + 1), int_arg(1)};
  return add_node(b, "slice.Tensor", args, 5, &result, out);
}

/* --- The shapes: `n` is about the number of nodes, `x` the input ------------------------- */

static fnz_status chain(builder *b, uint32_t x, size_t n) {
  uint32_t v = x;
  for (size_t i = 0; i < n / 2; i++) {
    FNZ_TRY(transpose(b, v, &v));
    FNZ_TRY(add_one(b, v));
  }
  b->output = v;
  return FNZ_OK;
}

static fnz_status slices(builder *b, uint32_t x, size_t n) {
  for (size_t i = 0; i < n / 2; i++) {
    uint32_t v;
    FNZ_TRY(slice(b, x, (int64_t)i, &v));
    FNZ_TRY(add_one(b, v));
  }
  b->output = x;
  return FNZ_OK;
}

/* The pieces that unbind(x) has, as the outputs of one node. */
static fnz_status unbind_pieces(builder *b, uint32_t x, uint32_t node, fnz_arg *pieces) {
  const fnz_geometry *g = geometry_of(b, x);
  fnz_geometry piece = {
      .dtype = g->dtype, .rank = 1, .sizes = g->sizes + 1, .strides = g->strides + 1};
  for (int64_t i = 0; i < g->sizes[0]; i++) {
    uint32_t value;
    piece.offset = i * g->strides[0];
    FNZ_TRY(new_value(b, &piece, node, &value));
    pieces[i] = value_arg(value);
  }
  return FNZ_OK;
}

static fnz_status unbind_round(builder *b, uint32_t x) {
  uint32_t node = (uint32_t)fnzi_graph_main(b->program)->nodes.count;
  uint32_t rows = (uint32_t)geometry_of(b, x)->sizes[0];
  fnz_arg args[] = {value_arg(x), int_arg(0)};
  fnz_arg *pieces;
  FNZI_NEW(&b->program->arena, rows, &pieces);
  FNZ_TRY(unbind_pieces(b, x, node, pieces));
  fnz_arg list = {.tag = FNZ_ARG_LIST, .count = rows, .u.list = pieces};
  fnzi_node unbound = {.op = fnz_op_find(NULL, "unbind.int"),
                       .args = args,
                       .outputs = &list,
                       .source = "",
                       .nargs = 2,
                       .noutputs = 1};
  FNZ_TRY(fnzi_node_add(b->program, 0, &unbound, &node));
  for (uint32_t i = 0; i < rows; i++)
    FNZ_TRY(add_one(b, (uint32_t)pieces[i].u.value));
  return FNZ_OK;
}

static fnz_status unbind(builder *b, uint32_t x, size_t n) {
  for (size_t done = 0; done < n; done += (size_t)geometry_of(b, x)->sizes[0])
    FNZ_TRY(unbind_round(b, x));
  b->output = x;
  return FNZ_OK;
}

static fnz_status reads(builder *b, uint32_t x, size_t n) {
  uint32_t sum = x;
  for (size_t i = 0; i < n / 3; i++) {
    uint32_t v;
    FNZ_TRY(slice(b, x, (int64_t)(i % SIDE), &v));
    FNZ_TRY(add_one(b, v));
    fnz_arg args[] = {value_arg(sum), value_arg(x)};
    FNZ_TRY(add_node(b, "add.Tensor", args, 2, geometry_of(b, x), &sum));
  }
  b->output = sum;
  return FNZ_OK;
}

/* One long chain of views; then writes to its two ends in turn. */
static fnz_status ends(builder *b, uint32_t x, size_t n) {
  uint32_t tip = x;
  for (size_t i = 0; i < n / 2; i++)
    FNZ_TRY(transpose(b, tip, &tip));
  for (size_t i = 0; i < n / 2; i++)
    FNZ_TRY(add_one(b, i % 2 ? tip : x));
  b->output = x;
  return FNZ_OK;
}

typedef struct shape {
  const char *name;
  fnz_status (*build)(builder *b, uint32_t x, size_t n);
  size_t share; /* rows of x: n divided by it, at most ROUND if 1; 0 for a small x */
} shape;

static const shape shapes[] = {{"view, write, view, write", chain, 0},
                               {"slices written in turn", slices, 2},
                               {"unbind, write each piece", unbind, 1},
                               {"slice, write, read base", reads, 0},
                               {"view chain, both ends", ends, 0}};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/* --- Building and measuring -------------------------------------------------------------- */

static fnz_status set_signature(builder *b, uint32_t x) {
  fnz_program *p = b->program;
  fnzi_graph *g = fnzi_graph_main(p);
  FNZI_NEW(&p->arena, 1, &g->inputs);
  FNZI_NEW(&p->arena, 1, &g->outputs);
  FNZI_NEW(&p->arena, 1, &p->inputs);
  FNZI_NEW(&p->arena, 1, &p->outputs);
  *g->inputs = value_arg(x);
  *g->outputs = value_arg(b->output);
  *p->inputs = (fnz_input_spec){.kind = FNZ_INPUT_USER, .target = "x"};
  *p->outputs = (fnz_output_spec){.kind = FNZ_OUTPUT_USER};
  g->ninputs = g->noutputs = 1;
  return FNZ_OK;
}

static fnz_status build_into(builder *b, const shape *s, size_t n) {
  uint32_t graph, x;
  int64_t rows = s->share ? (int64_t)(n / s->share) : SIDE;
  if (s->share == 1 && rows > ROUND)
    rows = ROUND;
  const int64_t width = b->has_symbol ? WIDTH : SIDE;
  int64_t sizes[] = {rows, width}, strides[] = {width, 1};
  fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  const fnz_geometry *shared;
  if (fnz_graph_count(b->program) == 0)
    FNZ_TRY(fnzi_graph_add(b->program, "", &graph));
  FNZ_TRY(intern(b, &g, &shared));
  FNZ_TRY(fnzi_value_add(b->program, 0, "x", shared, FNZI_NO_NODE, &x));
  FNZ_TRY(s->build(b, x, n));
  FNZ_TRY(set_signature(b, x));
  return fnz_program_verify(b->ctx, b->program);
}

static fnz_status build(fnz_context *ctx, const shape *s, bool has_symbol, size_t n,
                        fnz_program **out) {
  FNZ_TRY(fnzi_program_create(ctx, out));
  builder b = {.ctx = ctx, .program = *out, .has_symbol = has_symbol};
  return build_into(&b, s, n);
}

typedef struct figures {
  bool has_symbol;
  size_t nodes_in, nodes_out;
  double seconds, bytes;
} figures;

/* The pass gets a context of its own, so that its peak is what it needed beside its input. */
static fnz_status measure(const shape *s, size_t n, fnz_context *ctx, fnz_context *pass,
                          fnz_program **input, fnz_program **output, figures *out) {
  fnz_stats stats;
  FNZ_TRY(build(ctx, s, out->has_symbol, n, input));
  double start = now_seconds();
  FNZ_TRY(fnz_functionalize(pass, *input, NULL, output));
  out->seconds = now_seconds() - start;
  out->bytes = (double)fnz_context_peak_bytes(pass);
  stats = fnz_program_stats(*input);
  out->nodes_in = stats.nodes;
  stats = fnz_program_stats(*output);
  out->nodes_out = stats.nodes;
  return FNZ_OK;
}

static const char *kind_of(const figures *f) {
  return f->has_symbol ? "symbol" : "fixed";
}

static void report(const shape *s, const figures *f, const figures *before) {
  double us = f->seconds * 1e6 / (double)f->nodes_in;
  double growth = before->nodes_in ? us / (before->seconds * 1e6 / (double)before->nodes_in) : 1;
  printf("%-26s %-6s %9zu %9.3f %8.0f %8.0f %9.2f %9.2f\n", s->name, kind_of(f), f->nodes_in, us,
         f->bytes / (double)f->nodes_in, f->bytes / (double)f->nodes_out,
         (double)f->nodes_out / (double)f->nodes_in, growth);
}

static int run(const shape *s, size_t n, figures *before) {
  fnz_context *ctx, *pass;
  fnz_program *input = NULL, *output = NULL;
  figures f = {.has_symbol = before->has_symbol};
  if (fnz_context_create(NULL, &ctx) != FNZ_OK || fnz_context_create(NULL, &pass) != FNZ_OK)
    return EXIT_FAILURE;
  fnz_status status = measure(s, n, ctx, pass, &input, &output, &f);
  if (status == FNZ_OK) {
    report(s, &f, before);
    *before = f;
  } else {
    bool built = fnz_last_error(pass)->status != FNZ_OK;
    const fnz_error *e = fnz_last_error(built ? pass : ctx);
    fprintf(stderr, "%s: %s: %s: %s\n", s->name, fnz_class_name(e->kind), e->where, e->message);
  }
  fnz_program_destroy(output);
  fnz_program_destroy(input);
  fnz_context_destroy(pass);
  fnz_context_destroy(ctx);
  return status == FNZ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  size_t most = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
  int result = EXIT_SUCCESS;
  printf("%-26s %-6s %9s %9s %8s %8s %9s %9s\n", "shape", "width", "nodes", "us/node", "B/node",
         "B/out", "out/in", "growth");
  for (int i = 0; i < 2 * SHAPES; i++) {
    const shape *s = &shapes[i / 2];
    figures before = {.has_symbol = i % 2};
    if ((argc > 2 && strncmp(s->name, argv[2], strlen(argv[2])) != 0) ||
        (argc > 3 && strcmp(kind_of(&before), argv[3]) != 0))
      continue;
    for (size_t n = 1000; n <= most && result == EXIT_SUCCESS; n *= 10)
      result = run(s, n, &before);
  }
  return result;
}
