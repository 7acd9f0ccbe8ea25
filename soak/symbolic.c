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
    if (fnzi_symbolic_is_same_shape(&g->tensors[at], t) ||
        (g->tensors[at].rank == 0 && strcmp(g->tensors[at].dtype, t->dtype) == 0))
      return &g->tensors[at];
  return t;
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

/* Joins a list of two that differ in one dimension at most, and computes the size of that. With
 * four dimensions cat() may keep channels innermost, which only the numbers show. */
static bool join(symbolic_gen *g, tensor *out, char *args, size_t capacity) {
  uint32_t dim;
  size_t at = choose(g->c, (uint32_t)g->tensors_count);
  if (!fnzi_symbolic_pick_dim(g, out, &dim) || (out->rank > 3 && !fnzi_symbolic_is_dense(out)))
    return false;
  for (size_t n = 0; n < g->tensors_count; n++, at = (at + 1) % g->tensors_count) {
    tensor other = g->tensors[at];
    const number size = other.sizes[dim];
    other.sizes[dim] = out->sizes[dim];
    if (!fnzi_symbolic_is_same_shape(&other, out))
      continue;
    out->sizes[dim] = fnzi_number_combine(ARITHMETIC_ADD, &out->sizes[dim], &size);
    fnzi_symbolic_make_dense(out);
    snprintf(args, capacity, ", %s], %u", other.name, dim);
    return true;
  }
  return false;
}

/* Draws the arguments of a call after its first tensor, and the memory of its result. */
static bool draw_arguments(symbolic_gen *g, size_t row, tensor *out, char *args, size_t capacity) {
  const tensor first = *out, *operand = &first;
  if (calls[row].takes == LIST)
    return join(g, out, args, capacity);
  if (calls[row].takes == NUMBER)
    snprintf(args, capacity, ", %u", 1 + choose(g->c, 3));
  if (calls[row].takes == TENSOR) {
    operand = pick_operand(g, out);
    snprintf(args, capacity, ", %s", operand->name);
  }
  const tensor *const both[] = {&first, operand};
  if (!calls[row].writes)
    fnzi_symbolic_make_like(out, both, 2);
  return !calls[row].writes || fnzi_symbolic_is_writable(out);
}

static bool draw_call(symbolic_gen *g, size_t row) {
  tensor out = *fnzi_symbolic_pick(g);
  const char *list = calls[row].takes == LIST ? "[" : "";
  char of[sizeof out.name], args[32] = "";
  memcpy(of, out.name, sizeof of);
  if (out.dtype[0] == 'b' || !draw_arguments(g, row, &out, args, sizeof args))
    return false;
  return fnzi_symbolic_define(g, &out, "%s(%s%s%s)", calls[row].op, list, of, args);
}

/* --- steps that give numbers ----------------------------------------------------------------- */
/* Reads a number off an input, which may have been written. Exporters want to know that it is not
 * negative, to take it as an index. */
static bool symbolic_draw_item(symbolic_gen *g) {
  number n, zero = fnzi_number_known(0);
  size_t k = choose(g->c, (uint32_t)g->data_count);
  if (!g->data_count || !fnzi_symbolic_data(g, g->data[k], &n) ||
      !fnzi_symbolic_define_number(g, &n, "item(%%i%zu)", k))
    return false;
  fnzi_symbolic_assert(g, &n, ">=", &zero);
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

static bool symbolic_draw_size(symbolic_gen *g) {
  const tensor *t = fnzi_symbolic_pick(g);
  uint32_t dim;
  if (!fnzi_symbolic_pick_dim(g, t, &dim) || t->sizes[dim].is_known)
    return false;
  number n = t->sizes[dim];
  return fnzi_symbolic_define_number(g, &n, "sym_size.int(%s, %u)", t->name, dim);
}

/* Draws arithmetic on a number and a constant, mostly, or on two numbers. */
static bool symbolic_draw_arithmetic(symbolic_gen *g) {
  if (!g->numbers_count)
    return false;
  const arithmetic op = (arithmetic)choose(g->c, ARITHMETIC);
  const number a = g->numbers[choose(g->c, (uint32_t)g->numbers_count)];
  number b =
      fnzi_number_known(perhaps(g->c, 15) ? choose_in(g->c, 10, 110) : choose_in(g->c, 1, 5));
  if (op < ARITHMETIC_FLOORDIV && perhaps(g->c, 30))
    b = g->numbers[choose(g->c, (uint32_t)g->numbers_count)];
  number n = fnzi_number_combine(op, &a, &b);
  return fnzi_symbolic_define_number(g, &n, "%s(%s, %s)", fnzi_arithmetic_op(op),
                                     fnzi_number_argument(&a), fnzi_number_argument(&b));
}

/* Asserts that a number is not negative or at most a size, as programs do that slice by data. */
static bool draw_assertion(symbolic_gen *g) {
  if (!g->numbers_count)
    return false;
  const number a = g->numbers[choose(g->c, (uint32_t)g->numbers_count)];
  const number b = perhaps(g->c, 60) ? g->numbers[choose(g->c, (uint32_t)g->numbers_count)]
                                     : fnzi_number_known(choose_in(g->c, 8, 200));
  const bool is_lower = perhaps(g->c, 40);
  if ((is_lower && a.seen < 0) || (!is_lower && a.seen > b.seen) || fnzi_number_is_too_long(&b))
    return false;
  const number zero = fnzi_number_known(0);
  fnzi_symbolic_assert(g, &a, is_lower ? ">=" : "<=", is_lower ? &zero : &b);
  return true;
}

/* --- the program ----------------------------------------------------------------------------- */
typedef bool number_fn(symbolic_gen *g);
static const struct {
  const char *op;
  number_fn *fn;
} readers[] = {{"item", symbolic_draw_item},
               {"add_.Scalar of what is read", draw_data_write},
               {"sym_size.int", symbolic_draw_size},
               {"arithmetic", symbolic_draw_arithmetic},
               {"_assert_scalar", draw_assertion}};
enum { READERS = sizeof readers / sizeof *readers };

enum { READ, VIEW, CALL, IDIOM, KINDS };

static const char *step_of(uint32_t kind, size_t row) {
  return kind == READ   ? row < READERS ? readers[row].op : NULL
         : kind == VIEW ? fnzi_symbolic_view(row)
         : kind == CALL ? row < CALLS ? calls[row].op : NULL
                        : fnzi_symbolic_idiom(row);
}

static size_t count_rows(uint32_t kind) {
  size_t n = 0;
  while (step_of(kind, n))
    n++;
  return n;
}

const char *fnzi_symbolic_step(size_t k) {
  uint32_t kind = 0;
  for (; kind + 1 < KINDS && k >= count_rows(kind); kind++)
    k -= count_rows(kind);
  return step_of(kind, k);
}

static void draw_step(symbolic_gen *g, uint32_t kind) {
  const size_t row = choose(g->c, (uint32_t)count_rows(kind));
  const bool done = kind == READ   ? readers[row].fn(g)
                    : kind == VIEW ? fnzi_symbolic_draw_view(g, row)
                    : kind == CALL ? draw_call(g, row)
                                   : fnzi_symbolic_draw_idiom(g, row);
  size_t at = row;
  for (uint32_t k = 0; k < kind; k++)
    at += count_rows(k);
  g->counts->used[at] += done;
  g->counts->refused[at] += !done;
  g->counts->steps += done;
}

static void draw_lines(symbolic_gen *g, uint32_t count) {
  for (; count > 0; count--)
    draw_step(g, perhaps(g->c, 50) ? CALL : VIEW);
}

static number symbol(symbolic_gen *g, size_t k) {
  number n = {.seen = 3 + (int64_t)(k * 5 % 4)};
  snprintf(n.text, sizeof n.text, "s%zu", k);
  g->sizes_count += k == g->sizes_count;
  return n;
}

/* A size that is known, a symbol, or an expression that an exporter derives from one. */
static number draw_input_size(symbolic_gen *g) {
  uint32_t how = choose(g->c, 8);
  if (how < 2)
    return fnzi_number_known(1 + choose(g->c, SYMBOLIC_LARGEST));
  size_t k = g->sizes_count && how < 5 ? choose(g->c, (uint32_t)g->sizes_count) : g->sizes_count;
  const number n = symbol(g, k == SYMBOLIC_SYMBOLS ? 0 : k);
  return how == 7   ? fnzi_number_with(ARITHMETIC_MUL, &n, 2)
         : how == 6 ? fnzi_number_with(ARITHMETIC_ADD, &n, 1)
                    : n;
}

static void symbolic_draw_inputs(symbolic_gen *g) {
  static const char *const names[] = {"%x0", "%x1"};
  fnzi_symbolic_put(g, "program(");
  for (uint32_t n = 1 + choose(g->c, 2), k = 0; k < n; k++) {
    tensor t;
    /* Sizes, mostly of a batch, a sequence, a height and a width at once if there are four. */
    const bool is_image = perhaps(g->c, 15);
    t = (tensor){.dtype = "f32", .rank = is_image ? 4 : 1 + choose(g->c, 3)};
    snprintf(t.name, sizeof t.name, "%s", names[k]);
    for (uint32_t d = 0; d < t.rank; d++)
      t.sizes[d] = is_image && !(d == 1 && perhaps(g->c, 50))
                       ? symbol(g, d < g->sizes_count ? d : g->sizes_count)
                       : draw_input_size(g);
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

static void symbolic_put_buffer(symbolic_gen *g, const fnz_buffer *from) {
  if (g->status == FNZ_OK && from->size)
    g->status = fnzi_put(g->ctx, &g->body, from->data, from->size);
}

static fnz_status draw_text(symbolic_gen *g, fnz_buffer *text) {
  symbolic_draw_inputs(g);
  for (uint32_t steps = 2 + choose(g->c, perhaps(g->c, 10) ? 40 : 14); steps > 0; steps--) {
    choices_part(g->c);
    /* The simplest step is none. */
    const uint32_t percent = choose(g->c, 100);
    if (percent)
      draw_step(g, percent < 18 ? READ : percent < 54 ? VIEW : percent < 84 ? CALL : IDIOM);
  }
  choices_part(g->c);
  fnzi_symbolic_put(g, "  return ");
  for (uint32_t n = 1 + choose(g->c, 3), k = 0; k < n; k++)
    fnzi_symbolic_put(g, "%s%s", k ? ", " : "", fnzi_symbolic_pick(g)->name);
  fnzi_symbolic_put(g, "\n}\n");
  fnz_buffer body = g->body;
  g->body = (fnz_buffer){0};
  /* The symbols come first in the text, and are known last. */
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
  symbolic_put_buffer(g, &g->guards);
  symbolic_put_buffer(g, &body);
  symbolic_put_buffer(g, &g->graphs);
  fnz_buffer_free(g->ctx, &body);
  fnz_buffer_free(g->ctx, &g->guards);
  fnz_buffer_free(g->ctx, &g->graphs);
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
  g->draw_lines = draw_lines;
  fnz_status status = draw_text(g, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, out);
  fnz_buffer_free(ctx, &text);
  fnzi_free(ctx, g, sizeof *g);
  return status;
}
