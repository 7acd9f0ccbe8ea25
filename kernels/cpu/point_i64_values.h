/* point_i64_values.h - what the values of integer rows are made of. The includer defines VALUE, the
 * specifiers of functions: they compute here and on a GPU. An includer that computes in fewer bits
 * than 64 defines WORD, UNSIGNED_WORD and QUOTIENT, a float that has more places than its numbers.
 */
#ifndef WORD
#define WORD          int64_t
#define UNSIGNED_WORD uint64_t
#endif
#define GREATER(x, y)    ((x) > (y) ? (x) : (y))
#define LESSER(x, y)     ((y) < (x) ? (y) : (x))
#define BOUND(x, value)  (value)
#define WRAP(x, sign, y) ((WORD)((UNSIGNED_WORD)(x)sign(UNSIGNED_WORD)(y)))

#ifdef QUOTIENT
VALUE WORD truncate(WORD a, WORD b) {
  WORD divisor = b == 0 || b == -1 ? 1 : b;
  WORD quotient = (WORD)((QUOTIENT)a / (QUOTIENT)divisor);
  return b == 0 ? 0 : b == -1 ? WRAP(0, -, a) : quotient;
}
#else
VALUE WORD truncate(WORD a, WORD b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return WRAP(0, -, a);
  return a == (int32_t)a && b == (int32_t)b ? (int32_t)a / (int32_t)b : a / b; /* quicker */
}
#endif

VALUE WORD divide(WORD a, WORD b) {
  WORD quotient = truncate(a, b);
  return (a < 0) != (b < 0) && WRAP(quotient, *, b) != a ? quotient - 1 : quotient;
}

VALUE WORD modulo(WORD a, WORD b) {
  WORD rest = WRAP(a, -, WRAP(truncate(a, b), *, b));
  return rest + (b & -(WORD)((rest != 0) & ((rest < 0) != (b < 0)))); /* compilers add branches */
}

/* A negative exponent gives 0, but 1 and -1 stay what they are. */
VALUE WORD power(WORD base, WORD exponent) {
  UNSIGNED_WORD result = 1, factor = (UNSIGNED_WORD)base;
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return (WORD)result;
}

VALUE WORD divisor(WORD a, WORD b) {
  a = a < 0 ? WRAP(0, -, a) : a;
  b = b < 0 ? WRAP(0, -, b) : b;
  while (a != 0 && (a < 0 || b < 0 || a != (int32_t)a || b != (int32_t)b)) {
    WORD rest = b % a;
    b = a;
    a = rest;
  }
  uint32_t x = (uint32_t)a, y = (uint32_t)b; /* divided quicker; if a is 0, b is the result. The
                                              * least number has no absolute value. */
  if (a == 0)
    return b;
  while (x != 0) {
    uint32_t rest = y % x;
    y = x;
    x = rest;
  }
  return (WORD)y;
}

VALUE WORD multiple(WORD a, WORD b) {
  WORD product = WRAP(truncate(a, divisor(a, b)), *, b);
  return product < 0 ? WRAP(0, -, product) : product;
}
