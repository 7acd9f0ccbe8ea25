/* point_i64_values.h - what the values of integer rows are made of. The includer defines VALUE, the
 * specifiers of functions: they compute here and on a GPU. */
#define GREATER(x, y)    ((x) > (y) ? (x) : (y))
#define LESSER(x, y)     ((y) < (x) ? (y) : (x))
#define BOUND(x, value)  (value)
#define WRAP(x, sign, y) ((int64_t)((uint64_t)(x)sign(uint64_t)(y)))

VALUE int64_t truncate(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return WRAP(0, -, a);
  return a == (int32_t)a && b == (int32_t)b ? (int32_t)a / (int32_t)b : a / b; /* quicker */
}

VALUE int64_t divide(int64_t a, int64_t b) {
  int64_t quotient = truncate(a, b);
  return (a < 0) != (b < 0) && WRAP(quotient, *, b) != a ? quotient - 1 : quotient;
}

VALUE int64_t modulo(int64_t a, int64_t b) {
  int64_t rest = WRAP(a, -, WRAP(truncate(a, b), *, b));
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* A negative exponent gives 0, but 1 and -1 stay what they are. */
VALUE int64_t power(int64_t base, int64_t exponent) {
  uint64_t result = 1, factor = (uint64_t)base;
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return (int64_t)result;
}

VALUE int64_t divisor(int64_t a, int64_t b) {
  a = a < 0 ? WRAP(0, -, a) : a;
  b = b < 0 ? WRAP(0, -, b) : b;
  while (a != 0) {
    int64_t rest = modulo(b, a);
    b = a;
    a = rest;
  }
  return b;
}

VALUE int64_t multiple(int64_t a, int64_t b) {
  int64_t product = WRAP(truncate(a, divisor(a, b)), *, b);
  return product < 0 ? WRAP(0, -, product) : product;
}
