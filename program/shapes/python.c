/* python.c - arithmetic on doubles and large integers as Python has it. */
#include "program/shapes/python.h"

#include <math.h>

/* --- division --------------------------------------------------------------------------------- */
double fnzi_python_remainder(double x, double y) {
  double rest = y == 0 ? NAN : fmod(x, y);
  if (rest == 0)
    return copysign(0.0, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

double fnzi_python_quotient(double x, double y) {
  double rest = y == 0 ? NAN : fmod(x, y), quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0))
    quotient -= 1;
  if (quotient == 0)
    return copysign(0.0, x / y);
  double floored = floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

static uint64_t magnitude(int64_t a) {
  return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

/* Bits of the quotient until there are more than a double has; the last one says that some are
 * left. */
double fnzi_python_divide(int64_t a, int64_t b) {
  const uint64_t x = magnitude(a), y = magnitude(b), exact = UINT64_C(1) << 53;
  if (b == 0)
    return NAN;
  if (x <= exact && y <= exact)
    return (double)a / (double)b;
  uint64_t quotient = x / y, rest = x % y;
  int power = 0;
  for (; rest != 0 && quotient < UINT64_C(1) << 62; power--) {
    bool one = 2 * rest >= y;
    quotient = 2 * quotient + one;
    rest = 2 * rest - (one ? y : 0);
  }
  double found = ldexp((double)(quotient | (rest != 0)), power);
  return (a < 0) != (b < 0) ? -found : found;
}

/* --- powers and functions --------------------------------------------------------------------- */
double fnzi_python_power(double x, double y) {
  bool complex = x < 0 && isfinite(x) && isfinite(y) && y != floor(y);
  double found = pow(x, y);
  bool refused =
      complex || (x == 0 && y < 0 && isfinite(y)) || (isinf(found) && isfinite(x) && isfinite(y));
  return refused ? NAN : found;
}

static const struct {
  const char *name;
  double (*compute)(double x);
} rows[] = {{"sqrt", sqrt}, {"cos", cos},   {"cosh", cosh}, {"sin", sin},    {"sinh", sinh},
            {"tan", tan},   {"tanh", tanh}, {"asin", asin}, {"acos", acos},  {"atan", atan},
            {"exp", exp},   {"log", log},   {"log2", log2}, {"asinh", asinh}};

bool fnzi_python_has_unary(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0)
      return true;
  return false;
}

double fnzi_python_unary(const char *name, double x) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0) {
      double found = rows[i].compute(x);
      return isinf(found) && isfinite(x) ? NAN : found;
    }
  return NAN;
}
