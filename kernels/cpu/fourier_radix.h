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
INLINE NUMBER NAMED(rotated)(NUMBER a) {
  return (NUMBER){a.im, -a.re};
}
INLINE NUMBER NAMED(product)(NUMBER a, const double *by) {
  return (NUMBER){a.re * by[0] - a.im * by[1], a.re * by[1] + a.im * by[0]};
}
#define PLUS(a, b)    NAMED(sum)(a, b)
#define MINUS(a, b)   NAMED(difference)(a, b)
#define SCALED(a, by) NAMED(scaled)(a, by)
#define ROTATED(a)    NAMED(rotated)(a)

/* Point j of the group, and where its sum k goes; the group at place 0 is multiplied by no root. */
#define POINT(j) NAMED(load)(g->from, g->first + (j)*g->apart + q)
#define PUT(k, a)                                                                                  \
  NAMED(store)                                                                                     \
  (g->to, g->target + (k)*g->run + q,                                                              \
   twiddles ? NAMED(product)(a, g->roots + 2 * (k)*g->root_step) : a)

INLINE void NAMED(sums_2)(const group *g, int64_t q, bool twiddles) {
  NUMBER a = POINT(0), b = POINT(1);
  PUT(0, PLUS(a, b));
  PUT(1, MINUS(a, b));
}

INLINE void NAMED(sums_3)(const group *g, int64_t q, bool twiddles) {
  const double sine = 0.86602540378443864676;
  NUMBER a = POINT(0), b = POINT(1), c = POINT(2);
  NUMBER both = PLUS(b, c), side = ROTATED(SCALED(MINUS(b, c), sine));
  NUMBER middle = MINUS(a, SCALED(both, 0.5));
  PUT(0, PLUS(a, both));
  PUT(1, PLUS(middle, side));
  PUT(2, MINUS(middle, side));
}

INLINE void NAMED(sums_4)(const group *g, int64_t q, bool twiddles) {
  NUMBER a = POINT(0), b = POINT(1), c = POINT(2), d = POINT(3);
  NUMBER even = PLUS(a, c), odd = PLUS(b, d), far = MINUS(a, c), side = ROTATED(MINUS(b, d));
  PUT(0, PLUS(even, odd));
  PUT(1, PLUS(far, side));
  PUT(2, MINUS(even, odd));
  PUT(3, MINUS(far, side));
}

INLINE void NAMED(sums_5)(const group *g, int64_t q, bool twiddles) {
  const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
  const double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
  NUMBER a = POINT(0), b = POINT(1), c = POINT(2), d = POINT(3), e = POINT(4);
  NUMBER outer = PLUS(b, e), inner = PLUS(c, d), outer_off = MINUS(b, e), inner_off = MINUS(c, d);
  NUMBER near = PLUS(a, PLUS(SCALED(outer, c1), SCALED(inner, c2)));
  NUMBER far = PLUS(a, PLUS(SCALED(outer, c2), SCALED(inner, c1)));
  NUMBER near_side = ROTATED(PLUS(SCALED(outer_off, s1), SCALED(inner_off, s2)));
  NUMBER far_side = ROTATED(MINUS(SCALED(outer_off, s2), SCALED(inner_off, s1)));
  PUT(0, PLUS(a, PLUS(outer, inner)));
  PUT(1, PLUS(near, near_side));
  PUT(2, PLUS(far, far_side));
  PUT(3, MINUS(far, far_side));
  PUT(4, MINUS(near, near_side));
}

/* Eight points become their transform. */
INLINE void NAMED(eight)(NUMBER x[8]) {
  const double half_root = 0.70710678118654752440;
  NUMBER b0 = PLUS(x[0], x[4]), b1 = MINUS(x[0], x[4]), b2 = PLUS(x[2], x[6]),
         b3 = ROTATED(MINUS(x[2], x[6]));
  NUMBER c0 = PLUS(x[1], x[5]), c1 = MINUS(x[1], x[5]), c2 = PLUS(x[3], x[7]),
         c3 = ROTATED(MINUS(x[3], x[7]));
  NUMBER even[] = {PLUS(b0, b2), PLUS(b1, b3), MINUS(b0, b2), MINUS(b1, b3)};
  NUMBER odd[] = {PLUS(c0, c2), PLUS(c1, c3), ROTATED(MINUS(c0, c2)), MINUS(c1, c3)};
  odd[1] = SCALED(PLUS(odd[1], ROTATED(odd[1])), half_root);
  odd[3] = SCALED(MINUS(ROTATED(odd[3]), odd[3]), half_root);
  for (int k = 0; k < 4; k++) {
    x[k] = PLUS(even[k], odd[k]);
    x[k + 4] = MINUS(even[k], odd[k]);
  }
}

INLINE void NAMED(sums_8)(const group *g, int64_t q, bool twiddles) {
  NUMBER x[8];
  for (int j = 0; j < 8; j++)
    x[j] = POINT(j);
  NAMED(eight)(x);
  for (int k = 0; k < 8; k++)
    PUT(k, x[k]);
}

/* Points j and radix - j are multiplied by conjugate roots, so sums k and radix - k are computed
 * together. */
INLINE void NAMED(sums_any)(const group *g, int64_t q, bool twiddles) {
  NUMBER both[FNZI_FFT_MOST_RADIX / 2], apart[FNZI_FFT_MOST_RADIX / 2], first = POINT(0),
                                                                        all = first;
  const int64_t half = g->radix / 2;
  for (int64_t j = 0; j < half; j++) {
    NUMBER a = POINT(j + 1), b = POINT(g->radix - 1 - j);
    both[j] = PLUS(a, b);
    apart[j] = MINUS(a, b);
    all = PLUS(all, both[j]);
  }
  PUT(0, all);
  for (int64_t k = 1; k <= half; k++) {
    NUMBER near = first, side = SCALED(first, 0);
    for (int64_t j = 0, at = k; j < half; j++) {
      const double *root = g->roots + 2 * at * g->around;
      near = PLUS(near, SCALED(both[j], root[0]));
      side = PLUS(side, SCALED(apart[j], root[1]));
      at = at + k < g->radix ? at + k : at + k - g->radix;
    }
    PUT(k, MINUS(near, ROTATED(side)));
    PUT(g->radix - k, PLUS(near, ROTATED(side)));
  }
}

#define STEP (int64_t)(sizeof(REAL) / sizeof(double))
#define RADIX(radix)                                                                               \
  static void NAMED(radix_##radix)(const fnzi_cpu_fft_pass *pass, fnzi_cpu_fft_block from,         \
                                   fnzi_cpu_fft_block to) {                                        \
    group g = group_at(pass, 0, from, to);                                                         \
    for (int64_t q = 0; q < g.run; q += STEP)                                                      \
      NAMED(sums_##radix)(&g, q, false);                                                           \
    for (int64_t p = 1; p < pass->places; p++) {                                                   \
      g = group_at(pass, p, from, to);                                                             \
      for (int64_t q = 0; q < g.run; q += STEP)                                                    \
        NAMED(sums_##radix)(&g, q, true);                                                          \
    }                                                                                              \
  }
RADIX(2)
RADIX(3)
RADIX(4)
RADIX(5)
RADIX(8)
RADIX(any)

/* Point k of eight transforms of `count` points becomes points of one. */
INLINE void NAMED(joined_8)(const fnzi_cpu_fft_join *j, int64_t k, int64_t lanes, int64_t lane) {
  NUMBER x[8];
  for (int64_t q = 0; q < 8; q++)
    x[q] = NAMED(load)(j->from, (8 * k + q) * lanes + lane);
  for (int64_t q = 1; q < 8 && k; q++) {
    const double root[] = {j->twiddles[2 * (q - 1) * j->count + k],
                           j->twiddles[(2 * q - 1) * j->count + k]};
    x[q] = NAMED(product)(x[q], root);
  }
  NAMED(eight)(x);
  for (int64_t q = 0; q < 8; q++)
    NAMED(store)(j->to, (k + q * j->count) * lanes + lane, x[q]);
}

static void NAMED(times)(const double *numbers, int64_t count, int64_t lanes,
                         fnzi_cpu_fft_block from, fnzi_cpu_fft_block to) {
  for (int64_t k = 0; k < count; k++)
    for (int64_t q = k * lanes; q < (k + 1) * lanes; q += STEP)
      NAMED(store)(to, q, NAMED(product)(NAMED(load)(from, q), numbers + 2 * k));
}

/* The points a and b are as far from the two ends of the line. */
INLINE NUMBER NAMED(joined)(NUMBER a, NUMBER b, REAL root_re, REAL root_im) {
  NUMBER even = {(a.re + b.re) / 2, (a.im - b.im) / 2},
         odd = {(a.im + b.im) / 2, (b.re - a.re) / 2};
  return (NUMBER){even.re + (odd.re * root_re - odd.im * root_im),
                  even.im + (odd.re * root_im + odd.im * root_re)};
}

INLINE NUMBER NAMED(parted)(NUMBER a, NUMBER b, REAL root_re, REAL root_im) {
  NUMBER even = {a.re + b.re, a.im - b.im}, far = {a.re - b.re, a.im + b.im};
  NUMBER odd = {far.re * root_re + far.im * root_im, far.im * root_re - far.re * root_im};
  return (NUMBER){even.re - odd.im, even.im + odd.re};
}

/* Points from `first` on, below `end`. */
static void NAMED(join)(const halves *h, int64_t first, int64_t end) {
  for (int64_t k = first; k < end; k++) {
    const REAL re = h->roots[2 * k] - (REAL){0}, im = h->roots[2 * k + 1] - (REAL){0};
    int64_t a = k % h->half * h->lanes, b = (h->half - k) % h->half * h->lanes;
    for (int64_t q = 0; q < h->lanes; q += STEP)
      NAMED(store)
    (h->to, k * h->lanes + q,
     NAMED(joined)(NAMED(load)(h->from, a + q), NAMED(load)(h->from, b + q), re, im));
  }
}

static void NAMED(split)(const halves *h, int64_t first, int64_t end) {
  for (int64_t k = first; k < end; k++) {
    const REAL re = h->roots[2 * k] - (REAL){0}, im = h->roots[2 * k + 1] - (REAL){0};
    int64_t a = k * h->lanes, b = (h->half - k) * h->lanes;
    for (int64_t q = 0; q < h->lanes; q += STEP)
      NAMED(store)
    (h->to, a + q, NAMED(parted)(NAMED(load)(h->from, a + q), NAMED(load)(h->from, b + q), re, im));
  }
}

#undef NUMBER
#undef PLUS
#undef MINUS
#undef SCALED
#undef ROTATED
#undef POINT
#undef PUT
#undef STEP
#undef RADIX
