/* numbers_of_mlir_draw.c - see numbers_of_mlir_draw.h. */
#include "tests/formats/numbers_of_mlir_draw.h"

#include "program/shapes/symbolic.h"
#include "soak/choices.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 48, STEPS = 24, LONGEST = 240, TRIES = 12 };

/* Operator, operands and result (i, f, b), and the expression of the result. */
static const struct {
  const char *target, *takes;
  char gives;
  const char *expression;
} steps[] = {
    {"_operator.add", "ii", 'i', "(%s) + (%s)"},
    {"_operator.sub", "ii", 'i', "(%s) - (%s)"},
    {"_operator.mul", "ii", 'i', "(%s) * (%s)"},
    {"_operator.mul", "bi", 'i', "(%s) * (%s)"},
    {"_operator.neg", "i", 'i', "-(%s)"},
    {"_operator.floordiv", "ii", 'i', "FloorDiv(%s, %s)"},
    {"_operator.mod", "ii", 'i', "PythonMod(%s, %s)"},
    {"torch.sym_min", "ii", 'i', "Min(%s, %s)"},
    {"torch.sym_max", "ii", 'i', "Max(%s, %s)"},
    {"_operator.eq", "ii", 'b', "Eq(%s, %s)"},
    {"_operator.ne", "ii", 'b', "Ne(%s, %s)"},
    {"_operator.lt", "ii", 'b', "(%s) < (%s)"},
    {"_operator.le", "ii", 'b', "(%s) <= (%s)"},
    {"_operator.gt", "ii", 'b', "(%s) > (%s)"},
    {"_operator.ge", "ii", 'b', "(%s) >= (%s)"},
    {"_operator.and_", "bb", 'b', "And(%s, %s)"},
    {"_operator.or_", "bb", 'b', "Or(%s, %s)"},
    {"torch.sym_not", "b", 'b', "Not(%s)"},
    {"torch.sym_ite", "bii", 'i', "Ite(%2$s, %1$s, %3$s)"},
    {"torch.sym_float", "i", 'f', "ToFloat(%s)"},
    {"_operator.sub", "ff", 'f', "(%s) + Mul(-1.0, %s)"},
    {"_operator.mul", "ff", 'f', "(%s) * (%s)"},
    {"_operator.neg", "f", 'f', "-(%s)"},
    {"_operator.truediv", "ff", 'f', "FloatTrueDiv(%s, %s)"},
    {"torch._sym_sqrt", "f", 'f', "OpaqueUnaryFn_sqrt(%s)"},
    {"_operator.pow", "ff", 'f', "FloatPow(%s, %s)"},
    {"math.trunc", "f", 'i', "TruncToInt(%s)"},
    {"_operator.gt", "ff", 'b', "(%s) > (%s)"},
    {"_operator.ge", "ff", 'b', "(%s) >= (%s)"},
    {"_operator.eq", "ff", 'b', "Eq(%s, %s)"},
};

typedef struct number {
  char kind;
  const char *text; /* its expression */
} number;

typedef struct drawing {
  fnz_context *ctx;
  choices *c;
  fnzi_exprs set;
  number numbers[MOST]; /* %n0 ... */
  size_t count;
  fnz_buffer *out;
} drawing;

/* A number of this kind, or a small constant integer. */
static void pick(drawing *d, char kind, char *name, char *text) {
  size_t k = choose(d->c, (uint32_t)d->count);
  for (size_t i = 0; d->numbers[k].kind != kind && i < d->count; i++)
    k = (k + 1) % d->count;
  if (kind == 'i' && perhaps(d->c, 25)) {
    snprintf(name, 16, "%d", (int)choose_in(d->c, -3, 7));
    snprintf(text, LONGEST, "%s", name);
    return;
  }
  snprintf(name, 16, "%%n%zu", k);
  snprintf(text, LONGEST, "%s", d->numbers[k].kind == kind ? d->numbers[k].text : "");
}

static fnz_status put(drawing *d, size_t step, char names[3][16], const char *text) {
  const char *takes = steps[step].takes;
  FNZ_TRY(fnzi_printf(d->ctx, d->out, "  %%n%zu: sym{\"%s\"} = %s(", d->count, text,
                      steps[step].target));
  for (size_t i = 0; takes[i]; i++)
    FNZ_TRY(fnzi_printf(d->ctx, d->out, "%s%s", i ? ", " : "", names[i]));
  d->numbers[d->count++] = (number){steps[step].gives, text};
  return fnzi_printf(d->ctx, d->out, ")\n");
}

/* One more number, unless it is a constant, or its expression is long or cannot be said. */
static fnz_status draw_step(drawing *d) {
  char names[3][16], texts[3][LONGEST], text[4 * LONGEST];
  size_t step = choose(d->c, sizeof steps / sizeof *steps);
  const fnzi_expr *e;
  const char *made;
  for (size_t i = 0; steps[step].takes[i]; i++) {
    pick(d, steps[step].takes[i], names[i], texts[i]);
    if (!texts[i][0])
      return FNZ_OK;
  }
  snprintf(text, sizeof text, steps[step].expression, texts[0], texts[1], texts[2]);
  fnz_status status = fnzi_expr_parse(&d->set, text, strlen(text), &e);
  if (status == FNZ_NO_MEMORY)
    return status;
  if (status != FNZ_OK || e->kind == FNZI_EXPR_NUMBER || e->kind == FNZI_EXPR_REAL)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_text(&d->set, e, &made));
  return strlen(made) < LONGEST ? put(d, step, names, made) : FNZ_OK;
}

static fnz_status draw(drawing *d) {
  static const number first[] = {{'i', "s0"}, {'i', "s1"},   {'i', "u0"},
                                 {'i', "u1"}, {'f', "zuf0"}, {'f', "zuf1"}};
  static const char head[] = "fnz 1\nsymbol s0 = 5\nsymbol s1 = 7\nsymbol u0 = 3\nsymbol u1 = 4\n"
                             "program(%x: f32[{s0},{s1}] stride({s1},1), %i: i64[], %j: i64[],\n"
                             "  %f: f32[], %g: f32[])\n{\n"
                             "  %n0: sym{s0} = sym_size.int(%x, 0)\n"
                             "  %n1: sym{s1} = sym_size.int(%x, 1)\n"
                             "  %n2: sym{u0} = item(%i)\n  %n3: sym{u1} = item(%j)\n"
                             "  %n4: sym{zuf0} = item(%f)\n  %n5: sym{zuf1} = item(%g)\n";
  FNZ_TRY(fnzi_put(d->ctx, d->out, head, sizeof head - 1));
  d->count = sizeof first / sizeof *first;
  memcpy(d->numbers, first, sizeof first);
  for (size_t i = 0; i < STEPS && d->count < MOST; i++)
    FNZ_TRY(draw_step(d));
  FNZ_TRY(fnzi_printf(d->ctx, d->out, "  return %%x"));
  for (size_t k = 6; k < d->count; k++)
    FNZ_TRY(fnzi_printf(d->ctx, d->out, ", %%n%zu", k));
  return fnzi_printf(d->ctx, d->out, "\n}\n");
}

fnz_status numbers_of_mlir_draw(fnz_context *ctx, uint64_t seed, fnz_buffer *out) {
  static choices c;
  drawing d = {.ctx = ctx, .c = &c, .out = out};
  choices_start(&c, 35, seed);
  fnzi_exprs_init(&d.set, ctx);
  fnz_status status = draw(&d);
  fnzi_exprs_free(&d.set);
  return status;
}
