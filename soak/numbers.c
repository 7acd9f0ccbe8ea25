/* numbers.c - statements of programs with numbers that data decide: see numbers.h. */
#include "soak/numbers.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_VALUES = 96, MOST_STEPS = 24 };

typedef enum class { FLOATS, HALVES, INTEGERS, TRUTHS, CLASSES } class;

static const char *const dtypes[] = {"f32", "f16", "i64", "bool"};
static const char *const scalar_types[] = {"i64", "i64", "f32", "bool", "i32", "f64"};

typedef struct number {
  unsigned id;
  char text[32];                   /* of its symbol */
  bool is_float, is_bool, is_size; /* is_size: of a tensor that data decide the size of */
} number;

typedef struct gen {
  fnz_context *ctx;
  choices *c;
  fnz_buffer lines;
  unsigned names, symbols;
  char sizes[16];
  struct {
    unsigned ids[MOST_VALUES];
    uint32_t count;
  } of[CLASSES];
  number numbers[MOST_VALUES];
  uint32_t nnumbers;
  struct {
    unsigned id;
    uint8_t type; /* of scalar_types */
  } scalars[MOST_VALUES];
  uint32_t nscalars;
  unsigned last;
  bool has_sizes;
} gen;

#define PUT(g, ...) FNZ_TRY(fnzi_printf((g)->ctx, &(g)->lines, __VA_ARGS__))

static unsigned pick(gen *g, class of) {
  return g->of[of].ids[choose(g->c, g->of[of].count)];
}

static void keep(gen *g, class of, unsigned id) {
  if (g->of[of].count < MOST_VALUES)
    g->of[of].ids[g->of[of].count++] = id;
  g->last = id;
}

static const number *pick_number(gen *g) {
  return &g->numbers[choose(g->c, g->nnumbers)];
}

/* --- Numbers ---------------------------------------------------------------------------------- */
static fnz_status numbers_draw_item(gen *g) {
  uint32_t k = choose(g->c, g->nscalars);
  uint8_t type = g->scalars[k].type;
  number *n = &g->numbers[g->nnumbers];
  if (g->nnumbers == MOST_VALUES)
    return FNZ_OK;
  *n = (number){.id = g->names++, .is_float = type == 2 || type == 5, .is_bool = type == 3};
  snprintf(n->text, sizeof n->text, "%s%u", n->is_float ? "zuf" : "u", g->symbols++);
  g->nnumbers++;
  PUT(g, "  %%n%u: sym{%s} = item(%%v%u)\n", n->id, n->text, g->scalars[k].id);
  return FNZ_OK;
}

static fnz_status numbers_draw_arithmetic(gen *g) {
  static const char *const ops[] = {"add", "mul", "sub"}, *const signs[] = {"+", "*", "-"};
  uint32_t op = choose(g->c, 3);
  const number *a = pick_number(g);
  number *n = &g->numbers[g->nnumbers];
  if (g->nnumbers == MOST_VALUES || a->is_float || a->is_bool || strpbrk(a->text, "+*-"))
    return FNZ_OK;
  *n = (number){.id = g->names++};
  snprintf(n->text, sizeof n->text, "u%u%s2", (unsigned)atoi(a->text + 1), signs[op]);
  g->nnumbers++;
  PUT(g, "  %%n%u: sym{%s} = _operator.%s(%%n%u, 2)\n", n->id, n->text, ops[op], a->id);
  return FNZ_OK;
}

/* How many elements are true: then sizes depend on data as well. */
static fnz_status numbers_draw_size(gen *g) {
  unsigned id = g->names++, symbol = g->symbols++;
  number *n = &g->numbers[g->nnumbers];
  if (g->nnumbers == MOST_VALUES)
    return FNZ_OK;
  *n = (number){.id = g->names++, .is_size = true};
  snprintf(n->text, sizeof n->text, "u%u", symbol);
  g->nnumbers++;
  PUT(g, "  %%v%u: i64[{u%u},%d] stride(1,{u%u}) = nonzero(%%v%u)\n", id, symbol,
      strchr(g->sizes, ',') ? 2 : 1, symbol, pick(g, TRUTHS));
  PUT(g, "  %%n%u: sym{u%u} = sym_size.int(%%v%u, 0)\n", n->id, symbol, id);
  return FNZ_OK;
}

/* Tensors of one element that depend on others, so that items wait for steps. */
static fnz_status draw_scalar(gen *g, bool exact) {
  uint32_t k = choose(g->c, g->nscalars);
  uint8_t type = g->scalars[k].type;
  unsigned id = g->names;
  if (g->nscalars == MOST_VALUES || type == 3)
    return FNZ_OK;
  if (!exact && choose(g->c, 2)) {
    PUT(g, "  %%v%u: f32[] = mean(%%v%u)\n", g->names++, pick(g, FLOATS));
    type = 2;
  } else {
    PUT(g, "  %%v%u: %s[] = add.Scalar(%%v%u, %d)\n", g->names++, scalar_types[type],
        g->scalars[k].id, (int)choose_in(g->c, -2, 3));
  }
  g->scalars[g->nscalars].id = id;
  g->scalars[g->nscalars++].type = type;
  return FNZ_OK;
}

/* --- Tensors ---------------------------------------------------------------------------------- */
/* %a, %b: tensors of the class; %t: truths; #: a number of data; !: one or a constant. A class
 * behind it where the result is of another one. */
typedef struct use {
  const char *text;
  class of, out;
  bool exact;
} use;

static const use uses[] = {{"add.Scalar(%a, #)", FLOATS, FLOATS, true},
                           {"mul.Scalar(%a, #)", FLOATS, FLOATS, true},
                           {"sub.Scalar(%a, #)", FLOATS, FLOATS, true},
                           {"rsub.Scalar(%a, #)", FLOATS, FLOATS, true},
                           {"div.Scalar(%a, #)", FLOATS, FLOATS, true},
                           {"add.Tensor(%a, %b, alpha=#)", FLOATS, FLOATS, true},
                           {"sub.Tensor(%a, %b, alpha=#)", FLOATS, FLOATS, true},
                           {"addcdiv(%a, %b, %a, value=#)", FLOATS, FLOATS, true},
                           {"addcmul(%a, %b, %b, value=#)", FLOATS, FLOATS, true},
                           {"lerp.Scalar(%a, %b, #)", FLOATS, FLOATS, true},
                           {"clamp(%a, #)", FLOATS, FLOATS, true},
                           {"clamp(%a, !, !)", FLOATS, FLOATS, true},
                           {"clamp_max(%a, #)", FLOATS, FLOATS, true},
                           {"leaky_relu(%a, #)", FLOATS, FLOATS, true},
                           {"hardtanh(%a, #, !)", FLOATS, FLOATS, true},
                           {"threshold(%a, #, !)", FLOATS, FLOATS, true},
                           {"masked_fill.Scalar(%a, %t, #)", FLOATS, FLOATS, true},
                           {"where.ScalarOther(%t, %a, #)", FLOATS, FLOATS, true},
                           {"where.ScalarSelf(%t, #, %a)", FLOATS, FLOATS, true},
                           {"fill.Scalar(%a, #)", FLOATS, FLOATS, true},
                           {"pow.Tensor_Scalar(%a, #)", FLOATS, FLOATS, false},
                           {"pow.Scalar(#, %a)", FLOATS, FLOATS, false},
                           {"elu(%a, #)", FLOATS, FLOATS, false},
                           {"softplus(%a, #)", FLOATS, FLOATS, false},
                           {"gt.Scalar(%a, #)", FLOATS, TRUTHS, true},
                           {"eq.Scalar(%a, #)", INTEGERS, TRUTHS, true},
                           {"le.Scalar(%a, #)", HALVES, TRUTHS, true},
                           {"add.Scalar(%a, #)", HALVES, HALVES, true},
                           {"mul.Scalar(%a, #)", HALVES, HALVES, true},
                           {"add.Tensor(%a, %b, alpha=#)", HALVES, HALVES, true},
                           {"where.ScalarOther(%t, %a, #)", HALVES, HALVES, true},
                           {"add.Scalar(%a, #)", INTEGERS, INTEGERS, true},
                           {"mul.Scalar(%a, #)", INTEGERS, INTEGERS, true},
                           {"add.Tensor(%a, %b, alpha=#)", INTEGERS, INTEGERS, true},
                           {"clamp(%a, #)", INTEGERS, INTEGERS, true},
                           {"masked_fill.Scalar(%a, %t, #)", INTEGERS, INTEGERS, true},
                           {"mul.Scalar(%a, #)", INTEGERS, FLOATS, true},
                           {"mul.Tensor(%a, #)", FLOATS, FLOATS, true}, /* as torch.export has it */
                           {"add.Tensor(%a, #, alpha=#)", FLOATS, FLOATS, true},
                           {"sub.Tensor(%a, #)", FLOATS, FLOATS, true},
                           {"div.Tensor(%a, #)", FLOATS, FLOATS, true},
                           {"div.Tensor_mode(%a, #, rounding_mode='floor')", FLOATS, FLOATS, true},
                           {"gt.Tensor(%a, #)", FLOATS, TRUTHS, true},
                           {"mul.Tensor(%a, #)", HALVES, HALVES, true},
                           {"div.Tensor(%a, #)", HALVES, HALVES, true},
                           {"add.Tensor(%a, #)", INTEGERS, INTEGERS, true},
                           {"mul.Tensor(%a, #)", INTEGERS, INTEGERS, true},
                           {"add.Tensor(%a, %b)", FLOATS, FLOATS, true},
                           {"mul.Tensor(%a, %b)", FLOATS, FLOATS, true},
                           {"maximum(%a, %b)", FLOATS, FLOATS, true},
                           {"mul.Tensor(%a, %b)", HALVES, HALVES, true},
                           {"sub.Tensor(%a, %b)", INTEGERS, INTEGERS, true},
                           {"neg(%a)", FLOATS, FLOATS, true},
                           {"softmax.int(%a, -1)", FLOATS, FLOATS, false}};

static fnz_status numbers_put_number(gen *g, const number *n) {
  return fnzi_printf(g->ctx, &g->lines, "%%n%u", n->id);
}

static fnz_status put_operand(gen *g, const use *u, char what, const number *n) {
  switch (what) {
  case '#':
    return numbers_put_number(g, n);
  case '!':
    return choose(g->c, 2) ? numbers_put_number(g, n)
                           : fnzi_printf(g->ctx, &g->lines, "%d.5", (int)choose_in(g->c, -3, 3));
  default:
    return fnzi_printf(g->ctx, &g->lines, "%%v%u", pick(g, what == 't' ? TRUTHS : u->of));
  }
}

/* Integers take numbers that leave them integers: no floats, and no truths as factors. */
static bool takes(const use *u, const number *n) {
  if (u->of == INTEGERS && u->out == FLOATS)
    return n->is_float;
  return u->of != INTEGERS || u->out == TRUTHS || (!n->is_float && !n->is_bool);
}

static fnz_status draw_use(gen *g, bool exact) {
  const use *u = &uses[choose(g->c, sizeof uses / sizeof *uses)];
  const number *n = pick_number(g);
  unsigned id = g->names;
  if ((exact && !u->exact) || !takes(u, n))
    return FNZ_OK;
  g->names++;
  PUT(g, "  %%v%u: %s%s = ", id, dtypes[u->out], g->sizes);
  for (const char *s = u->text; *s; s++)
    if (*s == '#' || *s == '!')
      FNZ_TRY(put_operand(g, u, *s, n));
    else if (*s == '%')
      FNZ_TRY(put_operand(g, u, *++s, n));
    else
      PUT(g, "%c", *s);
  PUT(g, "\n");
  keep(g, u->out, id);
  return FNZ_OK;
}

/* Into the state, which is %v0. */
static fnz_status draw_write(gen *g) {
  static const char *const ops[] = {"add_.Scalar", "mul_.Scalar", "clamp_"};
  PUT(g, "  %%v%u: f32%s = %s(%%v0, %%n%u)\n", g->names++, g->sizes, ops[choose(g->c, 3)],
      pick_number(g)->id);
  return FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */
static fnz_status numbers_put_head(gen *g, fnz_buffer *out) {
  FNZ_TRY(fnzi_put_text(g->ctx, out, "fnz 1\n"));
  for (uint32_t k = 0; k < g->nnumbers; k++)
    if (strchr("uz", g->numbers[k].text[0]) && strpbrk(g->numbers[k].text, "+*-") == NULL)
      FNZ_TRY(fnzi_printf(g->ctx, out, "symbol %s\n", g->numbers[k].text));
  for (uint32_t k = 0; k < g->nnumbers; k++)
    if (g->numbers[k].is_size)
      FNZ_TRY(fnzi_printf(g->ctx, out, "range %s 0..1000\n", g->numbers[k].text));
  FNZ_TRY(fnzi_put_text(g->ctx, out, "program("));
  unsigned id = 0;
  for (int of = 0; of < CLASSES; of++)
    for (int k = 0; k < 2; k++, id++)
      FNZ_TRY(fnzi_printf(g->ctx, out, "%s%%v%u: %s%s", id ? ", " : "", id, dtypes[of], g->sizes));
  for (size_t k = 0; k < sizeof scalar_types / sizeof *scalar_types; k++)
    FNZ_TRY(fnzi_printf(g->ctx, out, ", %%v%u: %s[]", id++, scalar_types[k]));
  return fnzi_put_text(g->ctx, out, ")\n{\n");
}

static fnz_status numbers_draw(gen *g, bool exact, fnz_buffer *out) {
  uint32_t steps = 4 + choose(g->c, MOST_STEPS);
  g->has_sizes = choose(g->c, 5) == 1;
  static const char *const sizes[] = {"[6]", "[2,3]", "[70]", "[3,1]", "[5,40]"};
  snprintf(g->sizes, sizeof g->sizes, "%s", sizes[choose(g->c, 5)]);
  for (int of = 0; of < CLASSES; of++)
    for (int k = 0; k < 2; k++)
      keep(g, (class)of, g->names++);
  for (size_t k = 0; k < sizeof scalar_types / sizeof *scalar_types; k++) {
    g->scalars[g->nscalars].id = g->names++;
    g->scalars[g->nscalars++].type = (uint8_t)k;
  }
  for (int k = 0; k < 2; k++)
    FNZ_TRY(numbers_draw_item(g));
  for (uint32_t k = 0; k < steps; k++) {
    uint32_t what = choose(g->c, 12);
    FNZ_TRY(what == 0                   ? numbers_draw_item(g)
            : what == 1                 ? numbers_draw_arithmetic(g)
            : what == 2                 ? draw_scalar(g, exact)
            : what == 3                 ? draw_write(g)
            : what == 4 && g->has_sizes ? numbers_draw_size(g)
                                        : draw_use(g, exact));
  }
  FNZ_TRY(numbers_put_head(g, out));
  FNZ_TRY(fnzi_put(g->ctx, out, g->lines.data, g->lines.size));
  return fnzi_printf(g->ctx, out, "  return %%v%u, %%v%u, %%v%u\n}\n", g->last, pick(g, FLOATS),
                     pick(g, INTEGERS));
}

fnz_status fnzi_numbers_text(fnz_context *ctx, choices *c, bool exact, fnz_buffer *out) {
  gen g = {.ctx = ctx, .c = c};
  fnz_status status = numbers_draw(&g, exact, out);
  fnz_buffer_free(ctx, &g.lines);
  return status;
}
