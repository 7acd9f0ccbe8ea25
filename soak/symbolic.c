/* symbolic.c - random programs over sizes and indices that are not known before they run: inputs,
 * numbers, writes and pure operators, outputs, written down as an exporter would have seen them. */
#include "soak/symbolic_draws.h"

#include <stdio.h>
#include <string.h>

/* --- writes and pure operators --------------------------------------------------------------- */
/* One that looks the same, or a single element, which broadcasts. */
static const tensor *pick_operand(symbolic_gen *g, const tensor *t) {
  size_t at = choose(g->c, (uint32_t)g->tensors_count);
  for (size_t n = 0; n < g->tensors_count; n++, at = (at + 1) % g->tensors_count)
    if (fnzi_symbolic_is_same_shape(&g->tensors[at], t) || g->tensors[at].rank == 0)
      return &g->tensors[at];
  return t;
}

/* An expanded one, which eager refuses to write. */
static bool is_repeated(const tensor *t) {
  bool repeated = false;
  for (uint32_t d = 0; d < t->rank; d++)
    repeated = repeated || (t->strides[d].is_known && t->strides[d].seen == 0);
  return repeated;
}

static const struct {
  const char *op;
  enum { ALONE, NUMBER, TENSOR, LIST } takes;
  bool writes;
} calls[] = {
    {"add_.Scalar", NUMBER, true}, {"mul_.Scalar", NUMBER, true}, {"fill_.Scalar", NUMBER, true},
    {"zero_", ALONE, true},        {"copy_", TENSOR, true},       {"add_.Tensor", TENSOR, true},
    {"mul.Scalar", NUMBER, false}, {"clone", ALONE, false},       {"add.Tensor", TENSOR, false},
    {"cat", LIST, false},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Joins a list of two that differ in one dimension at most, and computes the size of that. */
static bool join(symbolic_gen *g, tensor *out, char *args, size_t room) {
  uint32_t dim;
  size_t at = choose(g->c, (uint32_t)g->tensors_count);
  if (!fnzi_symbolic_pick_dim(g, out, &dim))
    return false;
  for (size_t n = 0; n < g->tensors_count; n++, at = (at + 1) % g->tensors_count) {
    tensor other = g->tensors[at];
    const number size = other.sizes[dim];
    other.sizes[dim] = out->sizes[dim];
    if (!fnzi_symbolic_is_same_shape(&other, out))
      continue;
    out->sizes[dim] = fnzi_number_combine(ARITHMETIC_ADD, &out->sizes[dim], &size);
    snprintf(args, room, ", %s], %u", other.name, dim);
    return true;
  }
  return false;
}

/* Draws the arguments of a call after its first tensor. */
static bool draw_arguments(symbolic_gen *g, size_t row, tensor *out, char *args, size_t room) {
  if (calls[row].takes == NUMBER)
    snprintf(args, room, ", %u", 1 + choose(g->c, 3));
  if (calls[row].takes == TENSOR)
    snprintf(args, room, ", %s", pick_operand(g, out)->name);
  return calls[row].takes != LIST || join(g, out, args, room);
}

static bool draw_call(symbolic_gen *g, size_t row) {
  tensor out = *fnzi_symbolic_pick(g);
  char of[sizeof out.name], args[32] = "";
  memcpy(of, out.name, sizeof of);
  if (!draw_arguments(g, row, &out, args, sizeof args))
    return false;
  fnzi_symbolic_name(g, out.name);
  if (!calls[row].writes)
    fnzi_symbolic_make_dense(&out);
  if (!fnzi_symbolic_is_usable(&out) ||
      (calls[row].writes && (out.may_overlap || is_repeated(&out))))
    return false;
  fnzi_symbolic_put(g, "  ");
  fnzi_symbolic_put_typed(g, &out);
  fnzi_symbolic_put(g, " = %s(%s%s%s)\n", calls[row].op, calls[row].takes == LIST ? "[" : "", of,
                    args);
  fnzi_symbolic_keep(g, &out);
  return true;
}

/* --- steps that give numbers ----------------------------------------------------------------- */
static bool keep_number(symbolic_gen *g, number *n) {
  if (g->numbers_count == SYMBOLIC_NUMBERS || fnzi_number_is_too_long(n))
    return false;
  fnzi_symbolic_name(g, n->name);
  fnzi_symbolic_put(g, "  %s: sym{\"%s\"} = ", n->name, n->text);
  g->numbers[g->numbers_count++] = *n;
  return true;
}

/* Reads a number off an input, which may have been written. */
static bool draw_item(symbolic_gen *g) {
  number n = {.is_known = false};
  size_t k = choose(g->c, (uint32_t)g->data_count);
  if (!g->data_count || g->items_count == SYMBOLIC_SYMBOLS)
    return false;
  snprintf(n.text, sizeof n.text, "u%zu", g->items_count);
  n.seen = g->data[k];
  if (!keep_number(g, &n))
    return false;
  g->items_count++;
  fnzi_symbolic_put(g, "item(%%i%zu)\n", k);
  return true;
}

static bool draw_data_write(symbolic_gen *g) {
  size_t k = choose(g->c, (uint32_t)g->data_count);
  if (!g->data_count)
    return false;
  g->data[k]++;
  fnzi_symbolic_put(g, "  %%v%zu: i64[] = add_.Scalar(%%i%zu, 1)\n", ++g->names, k);
  return true;
}

static bool draw_size(symbolic_gen *g) {
  const tensor *t = fnzi_symbolic_pick(g);
  uint32_t dim;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || t->sizes[dim].is_known)
    return false;
  number n = t->sizes[dim];
  if (!keep_number(g, &n))
    return false;
  fnzi_symbolic_put(g, "sym_size.int(%s, %u)\n", t->name, dim);
  return true;
}

/* Draws arithmetic on a number and a constant, mostly, or on two numbers. */
static bool draw_arithmetic(symbolic_gen *g) {
  if (!g->numbers_count)
    return false;
  const arithmetic op = (arithmetic)choose(g->c, ARITHMETIC);
  const number a = g->numbers[choose(g->c, (uint32_t)g->numbers_count)];
  number b =
      fnzi_number_known(perhaps(g->c, 15) ? choose_in(g->c, 10, 110) : choose_in(g->c, 1, 5));
  if (op < ARITHMETIC_FLOORDIV && perhaps(g->c, 30))
    b = g->numbers[choose(g->c, (uint32_t)g->numbers_count)];
  number n = fnzi_number_combine(op, &a, &b);
  if (!keep_number(g, &n))
    return false;
  fnzi_symbolic_put(g, "%s(%s, %s)\n", fnzi_arithmetic_op(op), fnzi_number_argument(&a),
                    fnzi_number_argument(&b));
  return true;
}

/* --- the program ----------------------------------------------------------------------------- */
typedef bool number_fn(symbolic_gen *g);
static const struct {
  const char *op;
  number_fn *fn;
} readers[] = {{"item", draw_item},
               {"add_.Scalar of what is read", draw_data_write},
               {"sym_size.int", draw_size},
               {"arithmetic", draw_arithmetic}};
enum { READERS = sizeof readers / sizeof *readers };

static size_t count_views(void) {
  size_t n = 0;
  while (fnzi_symbolic_view(n))
    n++;
  return n;
}

const char *fnzi_symbolic_step(size_t k) {
  const size_t views = count_views();
  return k < READERS                   ? readers[k].op
         : k < READERS + views         ? fnzi_symbolic_view(k - READERS)
         : k < READERS + views + CALLS ? calls[k - READERS - views].op
                                       : NULL;
}

static void step(symbolic_gen *g) {
  const size_t views = count_views();
  uint32_t percent = choose(g->c, 100);
  if (percent == 0)
    return; /* the simplest step is none */
  size_t first = percent < 20 ? 0 : percent < 60 ? READERS : READERS + views;
  size_t count = percent < 20 ? READERS : percent < 60 ? views : CALLS;
  size_t row = choose(g->c, (uint32_t)count);
  bool done = first == 0         ? readers[row].fn(g)
              : first == READERS ? fnzi_symbolic_draw_view(g, row)
                                 : draw_call(g, row);
  g->counts->used[first + row] += done;
  g->counts->refused[first + row] += !done;
  g->counts->steps += done;
}

/* A size that is known, a symbol, or an expression that an exporter derives from one. */
static number draw_input_size(symbolic_gen *g) {
  uint32_t how = choose(g->c, 8);
  number n = fnzi_number_known(1 + choose(g->c, SYMBOLIC_LARGEST));
  if (how < 2)
    return n;
  size_t k = g->sizes_count && how < 5 ? choose(g->c, (uint32_t)g->sizes_count) : g->sizes_count;
  if (k == SYMBOLIC_SYMBOLS)
    k = 0;
  g->sizes_count += k == g->sizes_count;
  snprintf(n.text, sizeof n.text, "s%zu", k);
  n.is_known = false;
  n.seen = 3 + (int64_t)(k * 5 % 4);
  return how == 7   ? fnzi_number_with(ARITHMETIC_MUL, &n, 2)
         : how == 6 ? fnzi_number_with(ARITHMETIC_ADD, &n, 1)
                    : n;
}

static void draw_inputs(symbolic_gen *g) {
  fnzi_symbolic_put(g, "program(");
  for (uint32_t n = 1 + choose(g->c, 2), k = 0; k < n; k++) {
    tensor t = {.rank = 1 + choose(g->c, 3)};
    snprintf(t.name, sizeof t.name, "%%x%u", k);
    for (uint32_t d = 0; d < t.rank; d++)
      t.sizes[d] = draw_input_size(g);
    fnzi_symbolic_make_dense(&t);
    fnzi_symbolic_put(g, k ? ", " : "");
    fnzi_symbolic_put_typed(g, &t);
    fnzi_symbolic_keep(g, &t);
  }
  g->data_count = choose(g->c, 4);
  for (size_t k = 0; k < g->data_count; k++) {
    g->data[k] = choose(g->c, 5);
    fnzi_symbolic_put(g, ", %%i%zu: i64[]", k);
  }
  fnzi_symbolic_put(g, ")\n{\n");
}

static void draw_outputs(symbolic_gen *g) {
  fnzi_symbolic_put(g, "  return ");
  for (uint32_t n = 1 + choose(g->c, 3), k = 0; k < n; k++)
    fnzi_symbolic_put(g, "%s%s", k ? ", " : "", fnzi_symbolic_pick(g)->name);
  fnzi_symbolic_put(g, "\n}\n");
}

/* The symbols come first in the text, and are known last. */
static void put_header(symbolic_gen *g) {
  fnzi_symbolic_put(g, "fnz 1\n");
  for (size_t k = 0; k < g->sizes_count; k++)
    fnzi_symbolic_put(g, "symbol s%zu = %zu\n", k, 3 + k * 5 % 4);
  for (size_t k = 0; k < g->items_count; k++)
    fnzi_symbolic_put(g, "symbol u%zu\n", k);
  for (size_t k = 0; k < g->sizes_count; k++)
    if (perhaps(g->c, 50))
      fnzi_symbolic_put(g, "range s%zu %u..\n", k, choose(g->c, 4));
  for (size_t k = 0; k < g->items_count; k++)
    if (perhaps(g->c, 50))
      fnzi_symbolic_put(g, "range u%zu 0..%u\n", k, 5 + choose(g->c, 30));
}

static fnz_status draw_text(symbolic_gen *g, fnz_buffer *text) {
  draw_inputs(g);
  for (uint32_t steps = 2 + choose(g->c, perhaps(g->c, 10) ? 40 : 14); steps > 0; steps--) {
    choices_part(g->c);
    step(g);
  }
  choices_part(g->c);
  draw_outputs(g);
  fnz_buffer body = g->body;
  g->body = (fnz_buffer){0};
  put_header(g);
  if (g->status == FNZ_OK)
    g->status = fnzi_put(g->ctx, &g->body, body.data, body.size);
  fnz_buffer_free(g->ctx, &body);
  *text = g->body;
  g->counts->programs++;
  g->counts->lengths[fnzi_random_bucket(g->tensors_count + g->numbers_count)]++;
  return g->status;
}

fnz_status fnzi_symbolic_program(fnz_context *ctx, choices *c, fnzi_random_counts *counts,
                                 fnz_program **out) {
  symbolic_gen *g = fnzi_resize(ctx, NULL, 0, sizeof *g);
  fnz_buffer text = {0};
  *out = NULL;
  if (!g)
    return fnzi_no_memory(ctx);
  memset(g, 0, sizeof *g);
  g->ctx = ctx;
  g->c = c;
  g->counts = counts;
  fnz_status status = draw_text(g, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, out);
  fnz_buffer_free(ctx, &text);
  fnzi_free(ctx, g, sizeof *g);
  return status;
}
