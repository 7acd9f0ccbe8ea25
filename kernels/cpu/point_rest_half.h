/* point_rest_half.h - what f16 and bf16 share. The includer defines NAME (of the table), TO and
 * FROM, which round a float to the bits of the type and back, and the REST_ macros of its own rows.
 */
#include "kernels/cpu/half.h"
#include "kernels/cpu/point_rest.h"

#define T float

static float R(float x) {
  return FROM(TO(x));
}

/* At least `eps` from both ends of [0, 1]. */
static float inside(float x, float eps) {
  return x < R(eps) ? R(eps) : x > R(1 - R(eps)) ? R(1 - R(eps)) : x;
}

static float floor_quotient(float a, float b) {
  if (b == 0)
    return a / b;
  float rest = fmodf(a, b), quotient = R(R(a - rest) / b);
  if (rest != 0 && (b < 0) != (rest < 0))
    quotient = R(quotient - 1);
  if (quotient == 0)
    return copysignf(0, a / b);
  float whole = floorf(quotient);
  return R(quotient - whole) > 0.5f ? whole + 1 : whole;
}

/* The neighbour of x on the way to y: its bits count the numbers of one sign. */
static float next(float x, float y) {
  uint16_t bits = TO(x);
  if (x != x || y != y)
    return x + y;
  if (x == y)
    return y;
  if (x == 0)
    return FROM(y < 0 ? 0x8001 : 1);
  return FROM((uint16_t)((x < y) == (x > 0) ? bits + 1 : bits - 1));
}
