/* symbolic_real.c - doubles in symbolic expressions: their values at a point.
 *
 * needs   arguments with values
 * gives   what Python computes of them: IEEE doubles, from left to right */
#include "program/shapes/symbolic_set.h"

#include "program/shapes/python.h"

#include <math.h>

static const double LEAST_LABELLED = 1e-290; /* 0 and numbers near it: their labels are subnormal */

/* --- values ----------------------------------------------------------------------------------- */
/* Numbers of all kinds that no literal is: large and small, and below 0, for neighbouring n. */
static double some_double(int64_t n) {
  const double x = (double)n, part = 0.3183098861837907;
  switch (n & 3) {
  case 0:
    return x + part;
  case 1:
    return -x - part;
  case 2:
    return part / (1 + fabs(x));
  default:
    return x / 8 + part;
  }
}

bool fnzi_number_as_real(const fnzi_expr *e, const fnzi_number *n, double *out) {
  *out = n->known == FNZI_NUMBER_REAL ? n->real : (double)n->num / (double)n->den;
  if (n->known == FNZI_NUMBER_KNOWN && fnzi_is_float_symbol(e))
    *out = some_double(n->num);
  return n->known == FNZI_NUMBER_REAL || n->known == FNZI_NUMBER_KNOWN;
}

fnz_status fnzi_point_label(const fnzi_point *point, const fnzi_expr *e, double value,
                            double *out) {
  uint32_t hash = 2166136261u ^ point->salt;
  const char *text;
  FNZ_TRY(fnzi_expr_text(point->set, e, &text));
  for (const char *c = text; *c; c++)
    hash = (hash ^ (unsigned char)*c) * 16777619u;
  hash = (hash ^ hash >> 15) * 2246822519u;
  const double bits = 1 + (double)(hash >> 10); /* 22 bits, of 2^-30 of the value */
  if (fabs(value) < LEAST_LABELLED)
    *out = value < 0 ? -bits * 0x1p-1074 : bits * 0x1p-1074;
  else
    *out = value - value * bits * 0x1p-52;
  return FNZ_OK;
}

static double argument(const fnzi_expr *e, uint32_t i, const fnzi_number *values) {
  double x;
  fnzi_number_as_real(e->parts[i].expr, &values[e->parts[i].expr->id], &x);
  return x;
}

static double of_two(fnzi_function function, double x, double y) {
  switch (function) {
  case FNZI_FUNCTION_REAL_ADD:
    return x + y;
  case FNZI_FUNCTION_REAL_MUL:
    return x * y;
  case FNZI_FUNCTION_REAL_POW:
    return fnzi_python_power(x, y);
  case FNZI_FUNCTION_REAL_DIV:
    return x / y;
  case FNZI_FUNCTION_MIN:
    return y < x ? y : x;
  case FNZI_FUNCTION_MAX:
    return y > x ? y : x;
  case FNZI_FUNCTION_FLOOR_DIV:
    return fnzi_python_quotient(x, y);
  default:
    return fnzi_python_remainder(x, y);
  }
}

/* Applies a function that rounds to an integer; false if it is none. */
static bool round_one(fnzi_function function, double x, double *out) {
  *out = function == FNZI_FUNCTION_FLOOR   ? floor(x)
         : function == FNZI_FUNCTION_TRUNC ? trunc(x)
                                           : nearbyint(x);
  return function == FNZI_FUNCTION_FLOOR || function == FNZI_FUNCTION_TRUNC ||
         function == FNZI_FUNCTION_ROUND;
}

static bool real_holds(fnzi_function relation, double x, double y) {
  switch (relation) {
  case FNZI_FUNCTION_EQ:
    return x == y;
  case FNZI_FUNCTION_NE:
    return x != y;
  case FNZI_FUNCTION_LT:
    return x < y;
  case FNZI_FUNCTION_LE:
    return x <= y;
  case FNZI_FUNCTION_GT:
    return x > y;
  default:
    return x >= y;
  }
}

fnzi_number fnzi_real_call(const fnzi_expr *e, const fnzi_number *values) {
  double x = e->count ? argument(e, 0, values) : e->real, rounded;
  if (e->kind == FNZI_EXPR_CALL && fnzi_expr_is_condition(e))
    return (fnzi_number){real_holds(e->function, x, argument(e, 1, values)), 1, FNZI_NUMBER_KNOWN,
                         0};
  if (e->kind == FNZI_EXPR_CALL && round_one(e->function, x, &rounded)) {
    bool fits = rounded > -0x1p62 && rounded < 0x1p62;
    return (fnzi_number){fits ? (int64_t)rounded : 0, 1,
                         fits ? FNZI_NUMBER_KNOWN : FNZI_NUMBER_UNDEFINED, 0};
  }
  if (e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_ITE)
    x = argument(e, values[e->parts[1].expr->id].num ? 0 : 2, values);
  else if (e->kind == FNZI_EXPR_CALL && e->function >= FNZI_FUNCTION_SQRT)
    x = fnzi_python_unary(fnzi_functions[e->function].name + strlen("OpaqueUnaryFn_"), x);
  else
    for (uint32_t i = 1; i < e->count; i++)
      x = of_two(e->function, x, argument(e, i, values));
  return (fnzi_number){0, 1, isfinite(x) ? FNZI_NUMBER_REAL : FNZI_NUMBER_UNDEFINED, x};
}
