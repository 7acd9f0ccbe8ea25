/* fourier_radix.h - the passes for one kind of REAL: a vector, or one double (fourier_passes.c). */
#define NUMBER NAMED(number)
typedef struct NUMBER {
  REAL re, im;
} NUMBER;

INLINE NUMBER NAMED(load)(fnzi_cpu_fft_block b, int64_t at) {
  NUMBER a;
  memcpy(&a.re, b.re + at, sizeof a.re);
  memcpy(&a.im, b.im + at, sizeof a.im);
  return a;
}
INLINE void NAMED(store)(fnzi_cpu_fft_block b, int64_t at, NUMBER a) {
  memcpy(b.re + at, &a.re, sizeof a.re);
  memcpy(b.im + at, &a.im, sizeof a.im);
}
INLINE NUMBER NAMED(sum)(NUMBER a, NUMBER b) {
  return (NUMBER){a.re + b.re, a.im + b.im};
}
INLINE NUMBER NAMED(difference)(NUMBER a, NUMBER b) {
  return (NUMBER){a.re - b.re, a.im - b.im};
}
INLINE NUMBER NAMED(scaled)(NUMBER a, double by) {
  return (NUMBER){a.re * by, a.im * by};
}
/* Times -i. */
INLINE NUMBER NAMED(turned)(NUMBER a) {
  return (NUMBER){a.im, -a.re};
}
INLINE NUMBER NAMED(product)(NUMBER a, const double *by) {
  return (NUMBER){a.re * by[0] - a.im * by[1], a.re * by[1] + a.im * by[0]};
}
#define PLUS(a, b)    NAMED(sum)(a, b)
#define MINUS(a, b)   NAMED(difference)(a, b)
#define SCALED(a, by) NAMED(scaled)(a, by)
#define TURNED(a)     NAMED(turned)(a)

/* Point j of the group, and where its sum k goes; the group at place 0 is turned by no root. */
#define POINT(j) NAMED(load)(g->from, g->first + (j)*g->apart + q)
#define PUT(k, a)                                                                                  \
  NAMED(store)                                                                                     \
  (g->to, g->target + (k)*g->run + q,                                                              \
   turns ? NAMED(product)(a, g->roots + 2 * (k)*g->root_step) : a)

INLINE void NAMED(sums_2)(const group *g, int64_t q, bool turns) {
  NUMBER a = POINT(0), b = POINT(1);
  PUT(0, PLUS(a, b));
  PUT(1, MINUS(a, b));
}

INLINE void NAMED(sums_3)(const group *g, int64_t q, bool turns) {
  const double sine = 0.86602540378443864676;
  NUMBER a = POINT(0), b = POINT(1), c = POINT(2);
  NUMBER both = PLUS(b, c), side = TURNED(SCALED(MINUS(b, c), sine));
  NUMBER middle = MINUS(a, SCALED(both, 0.5));
  PUT(0, PLUS(a, both));
  PUT(1, PLUS(middle, side));
  PUT(2, MINUS(middle, side));
}

INLINE void NAMED(sums_4)(const group *g, int64_t q, bool turns) {
  NUMBER a = POINT(0), b = POINT(1), c = POINT(2), d = POINT(3);
  NUMBER even = PLUS(a, c), odd = PLUS(b, d), far = MINUS(a, c), side = TURNED(MINUS(b, d));
  PUT(0, PLUS(even, odd));
  PUT(1, PLUS(far, side));
  PUT(2, MINUS(even, odd));
  PUT(3, MINUS(far, side));
}

INLINE void NAMED(sums_5)(const group *g, int64_t q, bool turns) {
  const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
  const double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
  NUMBER a = POINT(0), b = POINT(1), c = POINT(2), d = POINT(3), e = POINT(4);
  NUMBER outer = PLUS(b, e), inner = PLUS(c, d), outer_off = MINUS(b, e), inner_off = MINUS(c, d);
  NUMBER near = PLUS(a, PLUS(SCALED(outer, c1), SCALED(inner, c2)));
  NUMBER far = PLUS(a, PLUS(SCALED(outer, c2), SCALED(inner, c1)));
  NUMBER near_side = TURNED(PLUS(SCALED(outer_off, s1), SCALED(inner_off, s2)));
  NUMBER far_side = TURNED(MINUS(SCALED(outer_off, s2), SCALED(inner_off, s1)));
  PUT(0, PLUS(a, PLUS(outer, inner)));
  PUT(1, PLUS(near, near_side));
  PUT(2, PLUS(far, far_side));
  PUT(3, MINUS(far, far_side));
  PUT(4, MINUS(near, near_side));
}

#define STEP (int64_t)(sizeof(REAL) / sizeof(double))
#define RADIX(radix)                                                                               \
  static void NAMED(radix_##radix)(const fnzi_cpu_fft_pass *pass, fnzi_cpu_fft_block from,         \
                                   fnzi_cpu_fft_block to) {                                        \
    group g = group_at(pass, radix, 0, from, to);                                                  \
    for (int64_t q = 0; q < g.run; q += STEP)                                                      \
      NAMED(sums_##radix)(&g, q, false);                                                           \
    for (int64_t p = 1; p < pass->places; p++) {                                                   \
      g = group_at(pass, radix, p, from, to);                                                      \
      for (int64_t q = 0; q < g.run; q += STEP)                                                    \
        NAMED(sums_##radix)(&g, q, true);                                                          \
    }                                                                                              \
  }
RADIX(2)
RADIX(3)
RADIX(4)
RADIX(5)

static void NAMED(times)(const double *numbers, int64_t count, int64_t lanes,
                         fnzi_cpu_fft_block from, fnzi_cpu_fft_block to) {
  for (int64_t k = 0; k < count; k++)
    for (int64_t q = k * lanes; q < (k + 1) * lanes; q += STEP)
      NAMED(store)(to, q, NAMED(product)(NAMED(load)(from, q), numbers + 2 * k));
}

#undef NUMBER
#undef PLUS
#undef MINUS
#undef SCALED
#undef TURNED
#undef POINT
#undef PUT
#undef STEP
#undef RADIX
