/* symbolic_print.c - texts of symbolic expressions: the canonical one, and sympy's. */
#include "program/shapes/symbolic_set.h"

const fnzi_function_row fnzi_functions[FNZI_FUNCTION_COUNT] = {
#define FNZI_FUNCTION(id, name, srepr, least, most) {name, srepr, least, most},
#define FNZI_FUNCTION_NAME(name, id)
#include "program/shapes/symbolic.def"
#undef FNZI_FUNCTION
#undef FNZI_FUNCTION_NAME
};

/* --- the canonical text ----------------------------------------------------------------------- */
/* Between two arguments; NULL: the function is written as a call. */
static const char *infix(fnzi_function function) {
  static const char *const signs[FNZI_FUNCTION_COUNT] = {[FNZI_FUNCTION_FLOOR_DIV] = "//",
                                                         [FNZI_FUNCTION_LT] = " < ",
                                                         [FNZI_FUNCTION_LE] = " <= ",
                                                         [FNZI_FUNCTION_GT] = " > ",
                                                         [FNZI_FUNCTION_GE] = " >= "};
  return signs[function];
}

static bool is_atom(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_SYMBOL || (e->kind == FNZI_EXPR_REAL && e->real >= 0) ||
         (e->kind == FNZI_EXPR_NUMBER && e->num >= 0 && e->den == 1) ||
         (e->kind == FNZI_EXPR_CALL && !infix(e->function));
}

/* A sign and a number; nothing for 1. */
static fnz_status put_with(fnz_context *ctx, const char *sign, int64_t number, fnz_buffer *out) {
  if (number == 1)
    return FNZ_OK;
  FNZ_TRY(fnzi_put_text(ctx, out, sign));
  return fnzi_put_int(ctx, out, number);
}

static fnz_status put_ratio(fnz_context *ctx, int64_t num, int64_t den, fnz_buffer *out) {
  FNZ_TRY(fnzi_put_int(ctx, out, num));
  return put_with(ctx, "/", den, out);
}

/* The constant comes last, or first where that saves a leading minus. */
static fnz_status put_sum(fnz_context *ctx, const fnzi_expr *e, fnz_buffer *out) {
  bool leads = e->num > 0 && e->parts->num < 0;
  if (leads)
    FNZ_TRY(put_ratio(ctx, e->num, e->den, out));
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_shapes_part *p = &e->parts[i];
    bool minus = p->num < 0, first = i == 0 && !leads;
    bool bare = p->expr->kind == FNZI_EXPR_PRODUCT || is_atom(p->expr) ||
                (p->num == 1 && p->den == 1 && !fnzi_expr_is_condition(p->expr));
    int64_t num = minus ? -p->num : p->num;
    FNZ_TRY(fnzi_put_text(ctx, out, first ? (minus ? "-" : "") : minus ? " - " : " + "));
    FNZ_TRY(put_with(ctx, "", num, out));
    FNZ_TRY(fnzi_put_text(ctx, out, num == 1 ? "" : "*"));
    FNZ_TRY(fnzi_put_text(ctx, out, bare ? "" : "("));
    FNZ_TRY(fnzi_put(ctx, out, p->expr->atom_text, p->expr->text_size));
    FNZ_TRY(fnzi_put_text(ctx, out, bare ? "" : ")"));
    FNZ_TRY(put_with(ctx, "/", p->den, out));
  }
  if (leads || e->num == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_put_text(ctx, out, e->num < 0 ? " - " : " + "));
  return put_ratio(ctx, e->num < 0 ? -e->num : e->num, e->den, out);
}

/* A factor or an argument. */
static fnz_status put_part(fnz_context *ctx, const fnzi_expr *e, bool bare, fnz_buffer *out) {
  bare = bare || is_atom(e);
  FNZ_TRY(fnzi_put_text(ctx, out, bare ? "" : "("));
  if (e->atom_text)
    FNZ_TRY(fnzi_put(ctx, out, e->atom_text, e->text_size));
  else
    FNZ_TRY(e->kind == FNZI_EXPR_SUM ? put_sum(ctx, e, out) : put_ratio(ctx, e->num, e->den, out));
  return fnzi_put_text(ctx, out, bare ? "" : ")");
}

static fnz_status put_factor(fnz_context *ctx, const fnzi_shapes_part *p, int64_t power,
                             fnz_buffer *out) {
  FNZ_TRY(put_part(ctx, p->expr, false, out));
  return put_with(ctx, "**", power, out);
}

static fnz_status put_product(fnz_context *ctx, const fnzi_expr *e, fnz_buffer *out) {
  bool any = false;
  for (uint32_t i = 0; i < e->count; i++) {
    if (e->parts[i].num < 0)
      continue;
    FNZ_TRY(fnzi_put_text(ctx, out, any ? "*" : ""));
    FNZ_TRY(put_factor(ctx, &e->parts[i], e->parts[i].num, out));
    any = true;
  }
  FNZ_TRY(fnzi_put_text(ctx, out, any ? "" : "1"));
  for (uint32_t i = 0; i < e->count; i++) {
    if (e->parts[i].num > 0)
      continue;
    /* A power of a sum would be multiplied out when it is read: the sum divides as often as it is.
     */
    bool is_sum = e->parts[i].expr->kind == FNZI_EXPR_SUM;
    for (int64_t k = is_sum ? e->parts[i].num : -1; k < 0; k++) {
      FNZ_TRY(fnzi_put_text(ctx, out, "/"));
      FNZ_TRY(put_factor(ctx, &e->parts[i], is_sum ? 1 : -e->parts[i].num, out));
    }
  }
  return FNZ_OK;
}

static fnz_status put_call(fnz_context *ctx, const fnzi_expr *e, fnz_buffer *out) {
  const char *sign = infix(e->function);
  if (!sign)
    FNZ_TRY(fnzi_printf(ctx, out, "%s(", fnzi_functions[e->function].name));
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_expr *arg = e->parts[i].expr;
    FNZ_TRY(fnzi_put_text(ctx, out, i == 0 ? "" : sign ? sign : ", "));
    bool bare = !sign || (fnzi_expr_is_condition(e) && !fnzi_expr_is_condition(arg));
    FNZ_TRY(put_part(ctx, arg, bare, out));
  }
  return sign ? FNZ_OK : fnzi_put_text(ctx, out, ")");
}

fnz_status fnzi_expr_put_text(fnz_context *ctx, const fnzi_expr *e, fnz_buffer *out) {
  switch (e->kind) {
  case FNZI_EXPR_NUMBER:
    return put_ratio(ctx, e->num, e->den, out);
  case FNZI_EXPR_REAL: {
    char text[32];
    fnzi_double_text(e->real, text);
    return fnzi_put_text(ctx, out, text);
  }
  case FNZI_EXPR_SYMBOL:
    return fnzi_put_text(ctx, out, e->atom_text);
  case FNZI_EXPR_SUM:
    return put_sum(ctx, e, out);
  case FNZI_EXPR_PRODUCT:
    return put_product(ctx, e, out);
  case FNZI_EXPR_CALL:
    return put_call(ctx, e, out);
  }
  return FNZ_INTERNAL;
}

/* --- sympy's text ----------------------------------------------------------------------------- */
/* A place in the tree: the expression, and how many of its pieces are written. */
typedef struct level {
  const fnzi_expr *e;
  uint32_t step;
  int64_t num, den; /* e ** num in a product, e * num/den in a sum; 1 else */
  bool is_power;
  bool in_real;  /* an argument of a function on doubles */
  bool as_truth; /* nothing else than a condition is wanted, or the whole is one */
} level;

typedef struct levels {
  level *data;
  size_t count, capacity;
} levels;

static fnz_status put_number(fnz_context *ctx, int64_t num, int64_t den, fnz_buffer *out) {
  if (den == 1)
    return fnzi_printf(ctx, out, "Integer(%lld)", (long long)num);
  return fnzi_printf(ctx, out, "Rational(%lld, %lld)", (long long)num, (long long)den);
}

static bool is_ite(const fnzi_expr *e) {
  return e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_ITE;
}

/* A sum of one term is that term, a product of one power that power. */
static bool is_bare(const fnzi_expr *e) {
  return (e->kind == FNZI_EXPR_SUM && e->count == 1 && e->num == 0) ||
         (e->kind == FNZI_EXPR_PRODUCT && e->count == 1);
}

/* An integer that must be printed as a double: PyTorch writes ToFloat. */
static bool is_converted(const level *l) {
  return l->in_real && !fnzi_expr_is_condition(l->e) && !l->e->is_real &&
         l->e->kind != FNZI_EXPR_NUMBER;
}

/* A condition that is the number 1 or 0, which sympy does not take it for. */
static bool is_counted(const level *l) {
  return fnzi_expr_is_condition(l->e) && !l->as_truth;
}

/* Prints the text before the expression of a level: a coefficient or power around it, then its
 * head. */
static fnz_status open_level(fnz_context *ctx, const level *l, fnz_buffer *out) {
  bool plain = l->num == 1 && l->den == 1;
  if (l->e->kind == FNZI_EXPR_REAL || (l->in_real && l->e->kind == FNZI_EXPR_NUMBER))
    return fnzi_printf(ctx, out, "Float('%.17g', precision=53)",
                       l->e->kind == FNZI_EXPR_REAL ? l->e->real
                                                    : (double)l->e->num / (double)l->e->den);
  if (is_converted(l))
    FNZ_TRY(fnzi_put_text(ctx, out, "ToFloat("));
  if (!plain && l->is_power)
    FNZ_TRY(fnzi_put_text(ctx, out, "Pow("));
  if (!plain && !l->is_power) {
    FNZ_TRY(fnzi_put_text(ctx, out, "Mul("));
    FNZ_TRY(put_number(ctx, l->num, l->den, out));
    FNZ_TRY(fnzi_put_text(ctx, out, ", "));
  }
  if (l->e->kind == FNZI_EXPR_NUMBER)
    return put_number(ctx, l->e->num, l->e->den, out);
  if (l->e->kind == FNZI_EXPR_SYMBOL) {
    const char *assumptions = l->e->atom_text[0] == 's'    ? ", positive=True, integer=True"
                              : fnzi_is_float_symbol(l->e) ? ""
                                                           : ", integer=True";
    return fnzi_printf(ctx, out, "Symbol('%s'%s)", l->e->atom_text, assumptions);
  }
  if (is_counted(l))
    FNZ_TRY(fnzi_put_text(ctx, out, "Piecewise(ExprCondPair(Integer(1), "));
  const char *head = l->e->kind == FNZI_EXPR_SUM       ? "Add"
                     : l->e->kind == FNZI_EXPR_PRODUCT ? "Mul"
                                                       : fnzi_functions[l->e->function].srepr;
  return is_bare(l->e) ? FNZ_OK : fnzi_printf(ctx, out, "%s(", head);
}

static fnz_status close_level(fnz_context *ctx, const level *l, fnz_buffer *out) {
  bool compound = l->e->kind >= FNZI_EXPR_SUM;
  if (l->e->kind == FNZI_EXPR_SUM && l->e->num != 0) {
    FNZ_TRY(fnzi_put_text(ctx, out, ", "));
    FNZ_TRY(put_number(ctx, l->e->num, l->e->den, out));
  }
  if (compound && !is_bare(l->e))
    FNZ_TRY(fnzi_put_text(ctx, out, is_ite(l->e) ? ", true))" : ")"));
  if (is_counted(l))
    FNZ_TRY(fnzi_put_text(ctx, out, "), ExprCondPair(Integer(0), true))"));
  if (is_converted(l))
    return fnzi_put_text(ctx, out, ")");
  if (l->num == 1 && l->den == 1)
    return FNZ_OK;
  return l->is_power ? fnzi_printf(ctx, out, ", Integer(%lld))", (long long)l->num)
                     : fnzi_put_text(ctx, out, ")");
}

static fnz_status put_levels(fnz_context *ctx, levels *stack, fnz_buffer *out) {
  while (stack->count) {
    level *l = &stack->data[stack->count - 1];
    if (l->step == 0)
      FNZ_TRY(open_level(ctx, l, out));
    if (l->e->kind < FNZI_EXPR_SUM || l->step == l->e->count) {
      FNZ_TRY(close_level(ctx, l, out));
      stack->count--;
      continue;
    }
    if (l->step)
      FNZ_TRY(fnzi_put_text(ctx, out, is_ite(l->e) && l->step == 2 ? "), ExprCondPair(" : ", "));
    const fnzi_shapes_part *p = &l->e->parts[l->step];
    /* The argument that comes next is a condition as such. */
    bool wants_truth =
        l->e->kind == FNZI_EXPR_CALL &&
        (is_ite(l->e) ? l->step == 1
                      : l->e->function == FNZI_FUNCTION_AND || l->e->function == FNZI_FUNCTION_OR ||
                            l->e->function == FNZI_FUNCTION_NOT);
    level next = {p->expr,
                  0,
                  p->num,
                  p->den,
                  l->e->kind == FNZI_EXPR_PRODUCT,
                  fnzi_expr_wants_doubles(l->e),
                  wants_truth};
    l->step++;
    FNZI_PUSH(ctx, stack, next);
  }
  return FNZ_OK;
}

fnz_status fnzi_expr_put_srepr(fnz_context *ctx, const fnzi_expr *expr, fnz_buffer *out) {
  levels stack = {NULL, 0, 0};
  level first = {expr, 0, 1, 1, false, false, true};
  void *data = NULL;
  fnz_status status = fnzi_grow(ctx, &data, &stack.capacity, 1, sizeof first);
  stack.data = data;
  if (status == FNZ_OK) {
    stack.data[stack.count++] = first;
    status = put_levels(ctx, &stack, out);
  }
  FNZI_VEC_FREE(ctx, &stack);
  return status;
}
