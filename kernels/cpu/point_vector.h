/* point_vector.h - what rows of float classes say, of vectors. Behind point_rows.h and the
 * functions for elements; gives F, V, W and the words of point_scalar.h new meanings. The includer
 * defines T, LANES (how many make a vector), BITS (the integer of T's size), MOST_BITS (its
 * largest), EPSILON (what 1 lacks to its neighbour), SLEEF(x, accuracy), the name of a vector
 * function, and OWN(x), that of one that need not be SLEEF's.
 *
 * If vectors have more than 16 bytes it also defines INTRINSIC(x) and ROUND, instructions by their
 * names. SLEEF is then the form whose bits depend on neither lanes nor neighbours. So it is on
 * aarch64, where VECTOR is the type that they take. Elsewhere SLEEF chooses for the processor, and
 * FUSED(x) and UNFUSED(x) are that form, with FMA and without. */
#ifdef VECTOR
typedef VECTOR vector;
#else
typedef T vector __attribute__((vector_size(LANES * sizeof(T))));
#endif
typedef BITS lanes_mask __attribute__((vector_size(LANES * sizeof(T))));

/* --- Elements in memory ------------------------------------------------------------------- */
static inline vector get(const T *from) {
  vector v;
  memcpy(&v, from, sizeof v);
  return v;
}

static inline void put(T *to, vector v) {
  memcpy(to, &v, sizeof v);
}

/* The first `count` lanes, by masks where there are any: a loop stores them one by one, and the
 * register that is loaded from them waits for all. */
#if FNZI_ISA == 4
#if LANES == 16
typedef __mmask16 lanes_bits;
#else
typedef __mmask8 lanes_bits;
#endif
#define FIRST_LANES(count) ((lanes_bits)((1U << (count)) - 1))
static inline vector get_some(const T *from, int64_t count) {
  return INTRINSIC(maskz_loadu)(FIRST_LANES(count), from);
}
static inline void put_some(T *to, vector v, int64_t count) {
  INTRINSIC(mask_storeu)(to, FIRST_LANES(count), v);
}
#elif FNZI_ISA == 3
static inline __m256i first_lanes(int64_t count) {
  lanes_mask at;
  for (int i = 0; i < LANES; i++)
    at[i] = i;
  return (__m256i)(at < (BITS)count);
}
static inline vector get_some(const T *from, int64_t count) {
  return INTRINSIC(maskload)(from, first_lanes(count));
}
static inline void put_some(T *to, vector v, int64_t count) {
  INTRINSIC(maskstore)(to, first_lanes(count), v);
}
#else
static inline vector get_some(const T *from, int64_t count) {
  T lanes[LANES] = {0};
  for (int64_t i = 0; i < count; i++)
    lanes[i] = from[i];
  return get(lanes);
}
static inline void put_some(T *to, vector v, int64_t count) {
  T lanes[LANES];
  put(lanes, v);
  memcpy(to, lanes, (size_t)count * sizeof *to);
}
#endif

/* --- Words -------------------------------------------------------------------------------- */
static inline vector each_lane(T x) {
  return x - (vector){0}; /* not +: -0 stays */
}

static inline vector same_lanes(vector x) {
  return x;
}

/* Compilers make two instructions of the last form, and load an operand of both. */
static inline vector choose(lanes_mask c, vector x, vector y) {
#if FNZI_ISA == 4
  return (vector)_mm512_ternarylogic_epi64((__m512i)c, (__m512i)x, (__m512i)y, 0xca);
#else
  return (vector)(((lanes_mask)x & c) | ((lanes_mask)y & ~c));
#endif
}

/* A number or a vector, as a vector. */
#define LIFT(x) _Generic((x), vector : same_lanes, default : each_lane)(x)

#undef CHOOSE
#undef AND
#undef OR
#undef TRUTH
#undef EACH
#undef ANY_OF
#define CHOOSE(c, x, y) choose((lanes_mask)(c), LIFT(x), LIFT(y))
#define AND(x, y)       ((x) & (y))
#define OR(x, y)        ((x) | (y))
#define TRUTH(c)        choose((lanes_mask)(c), each_lane(1), each_lane(0))
#define EACH(x)         each_lane((T)(x))
#define ANY_OF(c)       any_lane((lanes_mask)(c))

/* The instructions give their second operand if one of both is NaN. */
#ifdef INTRINSIC
static inline vector greater_lanes(vector x, vector y) {
  return choose((lanes_mask)(x != x), x, INTRINSIC(max)(x, y));
}

static inline vector lesser_lanes(vector x, vector y) {
  return choose((lanes_mask)(y != y), y, INTRINSIC(min)(y, x));
}
#undef GREATER
#undef LESSER
#define GREATER(x, y) greater_lanes(LIFT(x), LIFT(y))
#define LESSER(x, y)  lesser_lanes(LIFT(x), LIFT(y))
#endif

/* --- Functions of the C library, here f_<name> ---------------------------------------------- */
static inline vector f_fabs(vector x) {
  return (vector)((lanes_mask)x & MOST_BITS);
}

static inline vector f_copysign(vector x, vector y) {
  return (vector)(((lanes_mask)x & MOST_BITS) | ((lanes_mask)y & ~MOST_BITS));
}

/* Lane by lane. */
#define LANEWISE(x)                                                                                \
  static inline vector f_##x(vector a) {                                                           \
    for (int i = 0; i < LANES; i++)                                                                \
      a[i] = F(x)(a[i]);                                                                           \
    return a;                                                                                      \
  }

#ifdef INTRINSIC
#define ROUNDED(x, how)                                                                            \
  static inline vector f_##x(vector a) {                                                           \
    return ROUND(a, (how) | _MM_FROUND_NO_EXC);                                                    \
  }
ROUNDED(floor, _MM_FROUND_TO_NEG_INF)
ROUNDED(ceil, _MM_FROUND_TO_POS_INF)
ROUNDED(trunc, _MM_FROUND_TO_ZERO)
ROUNDED(rint, _MM_FROUND_CUR_DIRECTION)

static inline vector f_sqrt(vector x) {
  return INTRINSIC(sqrt)(x);
}

static inline vector f_fma(vector x, vector y, vector z) {
  return INTRINSIC(fmadd)(x, y, z);
}
#define SLEEF_z10(x) SLEEF(x, u10)
#else
LANEWISE(floor)
LANEWISE(ceil)
LANEWISE(trunc)
LANEWISE(rint)
LANEWISE(sqrt)

static inline vector f_fma(vector x, vector y, vector z) {
  for (int i = 0; i < LANES; i++)
    x[i] = F(fma)(x[i], y[i], z[i]);
  return x;
}

#ifdef FUSED
/* For forms that do not let lanes depend on each other, SLEEF only has names per instruction
 * set. */
#define STEADY(x)                                                                                  \
  static __attribute__((unused)) vector steady_##x(vector a) {                                     \
    bool fuses = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");                  \
    return fuses ? FUSED(x)(a) : UNFUSED(x)(a);                                                    \
  }
STEADY(sin)
STEADY(cos)
STEADY(tan)
#define SLEEF_z10(x) steady_##x
#else
#define SLEEF_z10(x) SLEEF(x, u10)
#endif
#endif

/* --- Exact functions -------------------------------------------------------------------------- */
static inline bool any_lane(lanes_mask c) {
#if FNZI_ISA == 4
  return _mm512_test_epi64_mask((__m512i)c, (__m512i)c) != 0;
#elif FNZI_ISA == 3
  return !_mm256_testz_si256((__m256i)c, (__m256i)c);
#else
  BITS any = 0;
  for (int i = 0; i < LANES; i++)
    any |= c[i];
  return any != 0;
#endif
}

/* A number before NaN, but not before one that signals: the C library knows which. b of two that
 * are equal. */
#define EXTREME(x, sign)                                                                           \
  static __attribute__((noinline)) vector x##_lanes(vector a, vector b) {                          \
    for (int i = 0; i < LANES; i++)                                                                \
      a[i] = F(x)(a[i], b[i]);                                                                     \
    return a;                                                                                      \
  }                                                                                                \
  static inline vector f_##x(vector a, vector b) {                                                 \
    bool has_nan = any_lane((lanes_mask)(a != a) | (lanes_mask)(b != b));                          \
    return has_nan ? x##_lanes(a, b) : choose((lanes_mask)(a sign b), a, b);                       \
  }
EXTREME(fmax, >)
EXTREME(fmin, <)

static __attribute__((noinline)) vector fmod_lanes(vector a, vector b) {
  for (int i = 0; i < LANES; i++)
    a[i] = F(fmod)(a[i], b[i]);
  return a;
}

/* A quotient that has all its places is at most 1 too large once it is cut off. The rest is exact
 * then. */
static inline vector f_fmod(vector a, vector b) {
  vector quotient = a / b, size = f_fabs(b), rest = f_fma(-f_trunc(quotient), b, a);
  lanes_mask simple =
      (lanes_mask)(f_fabs(quotient) < 1 / EPSILON) & (lanes_mask)(size < (T)INFINITY);
  vector signed_rest = (vector)((lanes_mask)rest ^ ((lanes_mask)a & ~MOST_BITS));
  rest = f_copysign(choose((lanes_mask)(signed_rest < 0), size - f_fabs(rest), rest), a);
  return any_lane(~simple) ? choose(simple, rest, fmod_lanes(a, b)) : rest;
}

/* The neighbour of x on the way to y: the bits count the numbers of a sign. */
static inline vector f_nextafter(vector x, vector y) {
  lanes_mask none = {0}, away = (lanes_mask)(x < y) ^ (lanes_mask)(x > 0);
  vector found = (vector)((lanes_mask)x + 1 - (away & 2));
  found = choose((lanes_mask)(x == 0), f_copysign((vector)(none + 1), y), found);
  found = choose((lanes_mask)(x == y), y, found);
  return choose((lanes_mask)(x != x) | (lanes_mask)(y != y), x + y, found);
}

#undef F
#define F(x)           f_##x
#define SLEEF_own(x)   OWN(x)
#define SLEEF_u05(x)   SLEEF(x, u05)
#define SLEEF_u10(x)   SLEEF(x, u10)
#define V(x, accuracy) SLEEF_##accuracy(x)
#define W              V
#define N              vector

/* --- Loops -------------------------------------------------------------------------------- */
/* Vectors of operands that are one element, and how far the vectors of all operands are apart. */
typedef struct vector_steps {
  T one[4][LANES];
  int64_t steps[4];
} vector_steps;

static const int64_t whole_steps[4] = {LANES, LANES, LANES, LANES};

/* Points operands that are one element, as `same` says, to a vector of it. */
static inline const int64_t *repeat_same(vector_steps *v, const T **p, uint32_t same, int arity) {
  for (int k = 0; k < 4; k++) {
    v->steps[k] = k < arity && same >> k & 1 ? 0 : LANES;
    if (v->steps[k] != 0)
      continue;
    const T one = *p[k];
    for (int i = 0; i < LANES; i++)
      v->one[k][i] = one;
    p[k] = v->one[k];
  }
  return v->steps;
}

/* GCC makes copies of a function for arguments that it knows, Clang does not. */
#ifdef __clang__
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noinline, noclone))
#endif

/* The loop of row `name`, once value_<name> is there. For a sum of two NaNs the compiler chooses
 * one as the result, by the order of the operands in its code. So one piece of code computes all
 * elements of a row, also the rest at the end, and the compiler may make no second copy of it. */
#define RUN_VECTORS(name, arity)                                                                   \
  static ONE_COPY void full_##name(T *o, const T *const *p, const int64_t *steps, int64_t count) { \
    const T *pa = p[0], *pb = p[1], *pc = p[2], *pd = p[3];                                        \
    const int64_t sa = steps[0], sb = steps[1], sc = steps[2], sd = steps[3];                      \
    for (int64_t i = 0; i < count; i += LANES) {                                                   \
      put(o + i, value_##name(get(pa), get(pb), get(pc), get(pd)));                                \
      pa += sa, pb += sb, pc += sc, pd += sd;                                                      \
    }                                                                                              \
  }                                                                                                \
  static __attribute__((noinline)) void same_##name(void *out, const void *const *in,              \
                                                    uint32_t same, int64_t count) {                \
    T *o = out, last[5][LANES];                                                                    \
    int64_t left = count % LANES, full = count - left;                                             \
    vector_steps v;                                                                                \
    OPERANDS(arity)                                                                                \
    const T *p[] = {pa, pb, pc, pd};                                                               \
    const int64_t *steps = same ? repeat_same(&v, p, same, arity) : whole_steps;                   \
    full_##name(o, p, steps, full);                                                                \
    if (left == 0)                                                                                 \
      return;                                                                                      \
    for (int k = 0; k < 4; k++) {                                                                  \
      if (k < (arity))                                                                             \
        put(last[k], get_some(p[k] + (steps[k] ? full : 0), left));                                \
      p[k] = last[k < (arity) ? k : (arity)-1];                                                    \
    }                                                                                              \
    full_##name(last[4], p, whole_steps, LANES);                                                   \
    put_some(o + full, get(last[4]), left);                                                        \
  }                                                                                                \
  static void run_##name(void *out, const void *const *in, int64_t count) {                        \
    same_##name(out, in, 0, count);                                                                \
  }
#define VALUE_OF(name) static inline vector value_##name(vector a, vector b, vector c, vector d)
#define VECTOR_LOOP(name, arity, value)                                                            \
  VALUE_OF(name) {                                                                                 \
    (void)a, (void)b, (void)c, (void)d;                                                            \
    return LIFT(value);                                                                            \
  }                                                                                                \
  RUN_VECTORS(name, arity)
#define MAPPED_LOOP(name, arity, before, function, accuracy, after)                                \
  VALUE_OF(name) {                                                                                 \
    (void)a, (void)b, (void)c, (void)d;                                                            \
    vector t = V(function, accuracy)(before);                                                      \
    return (after);                                                                                \
  }                                                                                                \
  RUN_VECTORS(name, arity)
