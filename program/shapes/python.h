/* python.h - arithmetic on doubles and large integers by Python's rules. The result is NaN if
 * Python would raise an exception. */
#ifndef FNZI_PYTHON_H
#define FNZI_PYTHON_H

#include "base/base.h"

/* x // y, computed from the remainder, so that 1.0 // 0.1 is 9. */
double fnzi_python_quotient(double x, double y);
/* x % y, with the sign of y. */
double fnzi_python_remainder(double x, double y);
/* x ** y; NaN also if the result would be complex or infinite. */
double fnzi_python_power(double x, double y);
/* a / b of integers, rounded once. */
double fnzi_python_divide(int64_t a, int64_t b);
/* math.NAME(x); NaN for an unknown name. */
double fnzi_python_unary(const char *name, double x);
bool fnzi_python_has_unary(const char *name);

#endif
