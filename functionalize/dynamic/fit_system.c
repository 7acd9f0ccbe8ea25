/* fit_system.c - linear equations: the factors of a sum, from numbers that it has.
 *
 * needs   as many equations as there are unknowns, at most FNZI_FIT_TERMS
 * gives   doubles: exact arithmetic would overflow, and decides on a candidate only (fit.c) */
#include "functionalize/dynamic/dynamic.h"

#include <math.h>

void fnzi_fit_add_row(fnzi_fit_system *s, const double *row) {
  double r[FNZI_FIT_TERMS + 1];
  memcpy(r, row, sizeof r);
  for (size_t i = 0; i < s->found; i++) {
    size_t lead = 0;
    while (fabs(s->rows[i][lead]) < 1e-9)
      lead++;
    double by = r[lead] / s->rows[i][lead];
    for (size_t c = 0; c <= s->unknowns; c++)
      r[c] -= by * s->rows[i][c];
    r[lead] = 0;
  }
  size_t lead = 0;
  while (lead < s->unknowns && fabs(r[lead]) < 1e-9)
    lead++;
  if (lead < s->unknowns && s->found < s->unknowns)
    memcpy(s->rows[s->found++], r, sizeof r);
}

/* Solves for the unknown of each row once the others are known. Rows have different leads, and a
 * later row has none of the earlier leads. */
void fnzi_fit_solve(const fnzi_fit_system *s, double *out) {
  bool done[FNZI_FIT_TERMS] = {false};
  for (size_t i = s->found; i-- > 0;) {
    size_t lead = 0;
    while (fabs(s->rows[i][lead]) < 1e-9)
      lead++;
    double value = s->rows[i][s->unknowns];
    for (size_t c = 0; c < s->unknowns; c++)
      if (c != lead && done[c])
        value -= s->rows[i][c] * out[c];
    out[lead] = value / s->rows[i][lead];
    done[lead] = true;
  }
}

bool fnzi_fit_fraction(double x, int64_t *num, int64_t *den) {
  for (*den = 1; *den <= 64; ++*den) {
    double n = x * (double)*den;
    if (fabs(n) > 1e15)
      return false;
    *num = (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
    if (fabs(n - (double)*num) < 1e-6)
      return true;
  }
  return false;
}
