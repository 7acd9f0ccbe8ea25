/* symbolic_apply.c - what operators and calls in the text of an expression are in the canonical
 * form. */
#include "program/shapes/symbolic_set.h"

/* Functions that the canonical form does not have, and their definitions. */
typedef enum shorthand {
  INTEGER, /* and other names for their argument */
  RATIONAL,
  TRUE_DIV,
  NATURAL_POWER,
  CEILING,
  CEIL_DIV,
  INDEXING,
  PIECEWISE,
  ABSOLUTE,
  EITHER_CONDITION
} shorthand;

static const struct {
  const char *name;
  shorthand what;
  uint32_t least, most;
} shorthands[] = {{"Integer", INTEGER, 1, 1},     {"Identity", INTEGER, 1, 1},
                  {"ToFloat", INTEGER, 1, 1},     {"Rational", RATIONAL, 2, 2},
                  {"IntTrueDiv", TRUE_DIV, 2, 2}, {"FloatTrueDiv", TRUE_DIV, 2, 2},
                  {"Pow", NATURAL_POWER, 2, 2},   {"PowByNatural", NATURAL_POWER, 2, 2},
                  {"ceiling", CEILING, 1, 1},     {"CeilToInt", CEILING, 1, 1},
                  {"CeilDiv", CEIL_DIV, 2, 2},    {"ModularIndexing", INDEXING, 3, 3},
                  {"Piecewise", PIECEWISE, 2, 0}, {"ITE", EITHER_CONDITION, 3, 3},
                  {"Abs", ABSOLUTE, 1, 1}};

static const struct {
  const char *name;
  fnzi_function function;
} names[] = {
#define FNZI_FUNCTION(id, name, srepr, least, most)                                                \
  {name, FNZI_FUNCTION_##id}, {srepr, FNZI_FUNCTION_##id},
#define FNZI_FUNCTION_NAME(name, id) {name, FNZI_FUNCTION_##id},
#include "program/shapes/symbolic.def"
#undef FNZI_FUNCTION
#undef FNZI_FUNCTION_NAME
};

/* --- operators -------------------------------------------------------------------------------- */

static fnz_status apply_divide(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                               const fnzi_expr **out) {
  const fnzi_expr *args[2] = {a, b};
  if (fnzi_exprs_are_real(args, 2))
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_DIV, args, 2, out);
  FNZ_TRY(fnzi_expr_pow(set, b, -1, out));
  return fnzi_expr_mul(set, a, *out, out);
}

/* -(-a // b) */
static fnz_status ceil_div(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                           const fnzi_expr **out) {
  const fnzi_expr *args[2] = {NULL, b};
  FNZ_TRY(fnzi_expr_scale(set, a, -1, 1, &args[0]));
  fnzi_function function = b ? FNZI_FUNCTION_FLOOR_DIV : FNZI_FUNCTION_FLOOR;
  FNZ_TRY(fnzi_expr_call(set, function, args, b ? 2 : 1, out));
  return fnzi_expr_scale(set, *out, -1, 1, out);
}

static fnz_status power(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                        const fnzi_expr **out) {
  const fnzi_expr *args[2] = {a, b};
  if (b->kind == FNZI_EXPR_NUMBER && b->den == 1)
    return fnzi_expr_pow(set, a, b->num, out);
  bool reals = !a->is_whole || !b->is_whole;
  return fnzi_expr_plain_call(set, reals ? FNZI_FUNCTION_REAL_POW : FNZI_FUNCTION_INT_POW, args, 2,
                              out);
}

/* A truth value as a number: 1 or 0 if a condition holds, and else the other one. */
static fnz_status apply_choose(fnzi_exprs *set, const fnzi_expr *const *args,
                               const fnzi_expr **out) {
  bool is_truth = fnzi_expr_is(args[0], 1) && fnzi_expr_is(args[2], 0);
  bool is_other = fnzi_expr_is(args[0], 0) && fnzi_expr_is(args[2], 1);
  if (!is_truth && !is_other)
    return fnzi_expr_call(set, FNZI_FUNCTION_ITE, args, 3, out);
  *out = args[1];
  return is_other ? fnzi_expr_call(set, FNZI_FUNCTION_NOT, &args[1], 1, out) : FNZ_OK;
}

/* The second argument if the first condition holds, else the third. */
static fnz_status either(fnzi_exprs *set, const fnzi_expr *const *args, const fnzi_expr **out) {
  const fnzi_expr *where[2] = {args[0], args[1]}, *other[2] = {NULL, args[2]}, *both[2];
  FNZ_TRY(fnzi_expr_call(set, FNZI_FUNCTION_AND, where, 2, &both[0]));
  FNZ_TRY(fnzi_expr_call(set, FNZI_FUNCTION_NOT, args, 1, &other[0]));
  FNZ_TRY(fnzi_expr_call(set, FNZI_FUNCTION_AND, other, 2, &both[1]));
  return fnzi_expr_call(set, FNZI_FUNCTION_OR, both, 2, out);
}

static fnz_status expand(fnzi_exprs *set, shorthand what, const fnzi_expr *const *args,
                         size_t count, const fnzi_expr **out) {
  switch (what) {
  case INTEGER:
    *out = args[0];
    return FNZ_OK;
  case RATIONAL:
  case TRUE_DIV:
    return apply_divide(set, args[0], args[1], out);
  case NATURAL_POWER:
    return power(set, args[0], args[1], out);
  case CEILING:
    return ceil_div(set, args[0], NULL, out);
  case CEIL_DIV:
    return ceil_div(set, args[0], args[1], out);
  case INDEXING: {
    const fnzi_expr *inner[2] = {NULL, args[2]};
    FNZ_TRY(fnzi_expr_call(set, FNZI_FUNCTION_FLOOR_DIV, args, 2, &inner[0]));
    return fnzi_expr_call(set, FNZI_FUNCTION_MOD, inner, 2, out);
  }
  case PIECEWISE: {
    /* Values and their conditions, the first that holds; the last one always does. */
    if (count % 2 || !fnzi_expr_is(args[count - 1], 1))
      return fnzi_fail(set->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "a Piecewise that may have no value");
    *out = args[count - 2];
    for (size_t i = count - 2; i > 0; i -= 2)
      FNZ_TRY(apply_choose(set, (const fnzi_expr *[]){args[i - 2], args[i - 1], *out}, out));
    return FNZ_OK;
  }
  case ABSOLUTE: {
    const fnzi_expr *a = args[0];
    const fnzi_expr *both[2] = {a, NULL};
    FNZ_TRY(fnzi_expr_scale(set, a, -1, 1, &both[1]));
    return fnzi_expr_call(set, FNZI_FUNCTION_MAX, both, 2, out);
  }
  case EITHER_CONDITION:
    return either(set, args, out);
  }
  return FNZ_INTERNAL;
}

fnz_status fnzi_expr_binary(fnzi_exprs *set, char code, const fnzi_expr *const *args,
                            const fnzi_expr **out) {
  static const char codes[] = "f%=!<l>g&|";
  static const fnzi_function functions[] = {
      FNZI_FUNCTION_FLOOR_DIV, FNZI_FUNCTION_PYTHON_MOD, FNZI_FUNCTION_EQ, FNZI_FUNCTION_NE,
      FNZI_FUNCTION_LT,        FNZI_FUNCTION_LE,         FNZI_FUNCTION_GT, FNZI_FUNCTION_GE,
      FNZI_FUNCTION_AND,       FNZI_FUNCTION_OR};
  const char *found = strchr(codes, code);
  if (found)
    return fnzi_expr_call(set, functions[found - codes], args, 2, out);
  if (code == '*')
    return fnzi_expr_mul(set, args[0], args[1], out);
  if (code == '/')
    return apply_divide(set, args[0], args[1], out);
  return power(set, args[0], args[1], out);
}

/* --- calls ------------------------------------------------------------------------------------ */
/* False when there is no function of that name. */
bool fnzi_callee_find(const char *word, size_t size, fnzi_callee *out) {
  *out = (fnzi_callee){fnzi_is_word("Add", word, size)            ? FNZI_CALLEE_ADD
                       : fnzi_is_word("Mul", word, size)          ? FNZI_CALLEE_MUL
                       : fnzi_is_word("ExprCondPair", word, size) ? FNZI_CALLEE_PAIR
                                                                  : FNZI_CALLEE_NOTHING,
                       0};
  for (uint32_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++)
    if (fnzi_is_word(shorthands[i].name, word, size))
      *out = (fnzi_callee){FNZI_CALLEE_SHORTHAND, i};
  if (out->kind != FNZI_CALLEE_NOTHING)
    return true; /* some decide between two functions */
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
    if (fnzi_is_word(names[i].name, word, size))
      *out = (fnzi_callee){FNZI_CALLEE_FUNCTION, (uint32_t)names[i].function};
  return out->kind != FNZI_CALLEE_NOTHING;
}

bool fnzi_callee_takes(const fnzi_callee *callee, size_t count) {
  uint32_t least = 1, most = callee->kind == FNZI_CALLEE_NOTHING ? 1 : 0;
  if (callee->kind == FNZI_CALLEE_SHORTHAND) {
    least = shorthands[callee->row].least;
    most = shorthands[callee->row].most;
  } else if (callee->kind == FNZI_CALLEE_FUNCTION) {
    least = fnzi_functions[callee->row].least;
    most = fnzi_functions[callee->row].most;
  } else if (callee->kind == FNZI_CALLEE_PAIR)
    least = most = 2;
  return count >= least && (!most || count <= most);
}

bool fnzi_callee_has_pairs(const fnzi_callee *callee) {
  return callee->kind == FNZI_CALLEE_SHORTHAND && shorthands[callee->row].what == PIECEWISE;
}

fnz_status fnzi_callee_apply(fnzi_exprs *set, const fnzi_callee *callee,
                             const fnzi_expr *const *args, size_t count, const fnzi_expr **out) {
  switch (callee->kind) {
  case FNZI_CALLEE_SHORTHAND:
    return expand(set, shorthands[callee->row].what, args, count, out);
  case FNZI_CALLEE_FUNCTION:
    return fnzi_expr_call(set, (fnzi_function)callee->row, args, count, out);
  case FNZI_CALLEE_MUL:
    if (fnzi_exprs_are_real(args, count))
      return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_MUL, args, count, out);
    FNZ_TRY(fnzi_expr_number(set, 1, 1, out));
    for (size_t i = 0; i < count; i++)
      FNZ_TRY(fnzi_expr_mul(set, *out, args[i], out));
    return FNZ_OK;
  case FNZI_CALLEE_ADD:
  case FNZI_CALLEE_NOTHING:
  case FNZI_CALLEE_PAIR:
    break;
  }
  return fnzi_expr_sum(set, args, count, out);
}
