/* point_rest_values.h - what the values of f16 and bf16 rows are made of. The includer defines
 * R(x), which rounds a float to the type, TO and FROM, its bits and back, and VALUE, the specifiers
 * of functions: they compute here and on a GPU. */
/* At least `eps` from both ends of [0, 1]. */
VALUE float inside(float x, float eps) {
  return x < R(eps) ? R(eps) : x > R(1 - R(eps)) ? R(1 - R(eps)) : x;
}

VALUE float floor_quotient(float a, float b) {
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
VALUE float next(float x, float y) {
  uint16_t bits = TO(x);
  if (x != x || y != y)
    return x + y;
  if (x == y)
    return y;
  if (x == 0)
    return FROM(y < 0 ? 0x8001 : 1);
  return FROM((uint16_t)((x < y) == (x > 0) ? bits + 1 : bits - 1));
}
