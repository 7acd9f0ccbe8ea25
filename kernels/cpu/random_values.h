/* random_values.h - random numbers by Philox4x32-10, as PyTorch's kernels for CUDA draw them: text
 * for the CPU and for a GPU.
 *
 * A thread draws four words at a time, a *block*: the counter has the thread's number above, and
 * the generator's offset in blocks, plus the turn of the thread, below. The words of a block become
 * elements of a law: four, or two if elements have 64 bits.
 *
 * The includer defines VALUE, the conversions of 16-bit floats (kernels/core/half.h), RANDOM_OUT
 * with random_put() and the like, which store elements, fnzi_cpu_reals, and the functions of floats
 * for which PyTorch uses a GPU's fast ones: random_log(), random_exp(), random_tan() and
 * random_sincos(); random_sincospi() is of doubles. */

/* Integers alone, which a GPU gets one by one. */
typedef struct random_draw {
  int64_t lanes; /* threads that draw */
  int64_t count; /* of elements */
  int64_t wide;  /* two elements of a block, in f64 or of 64 bits; else four */
  int64_t held;  /* elements are rounded to f16 (1) or bf16 (2) */
  int64_t side;  /* elements side by side that a thread takes at a time; 1: `lanes` lie between */
  int64_t range, base; /* of integers; 0: all of 64 bits */
} random_draw;

typedef struct random_source {
  uint64_t seed, offset;
} random_source;

enum { RANDOM_WORDS = 4 };

/* --- Words --------------------------------------------------------------------------------- */
VALUE void random_round(uint32_t *c, uint32_t low, uint32_t high) {
  const uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
  const uint32_t first = (uint32_t)(b >> 32) ^ c[1] ^ low,
                 third = (uint32_t)(a >> 32) ^ c[3] ^ high;
  c[0] = first, c[1] = (uint32_t)b;
  c[2] = third, c[3] = (uint32_t)a;
}

/* Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. */
VALUE void random_philox(uint64_t key, uint64_t below, uint64_t above, uint32_t *out) {
  enum { ROUNDS = 10 };
  uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
  out[0] = (uint32_t)below, out[1] = (uint32_t)(below >> 32);
  out[2] = (uint32_t)above, out[3] = (uint32_t)(above >> 32);
  for (int i = 0; i < ROUNDS; i++) {
    random_round(out, low, high);
    low += 0x9e3779b9u, high += 0xbb67ae85u;
  }
}

VALUE void random_words(const random_source *s, int64_t lane, int64_t turn, uint32_t *out) {
  random_philox(s->seed, s->offset / RANDOM_WORDS + (uint64_t)turn, (uint64_t)lane, out);
}

/* --- Elements ------------------------------------------------------------------------------ */
/* The elements of a block, or of its part if a thread takes several adjacent elements; the block's
 * number is below random_blocks(). */
VALUE int64_t random_each(const random_draw *d) {
  return d->wide || d->side == 2 ? 2 : RANDOM_WORDS;
}
VALUE int64_t random_rounds(const random_draw *d) {
  const int64_t each = d->lanes * random_each(d);
  return d->count / each + (d->count % each != 0);
}
VALUE int64_t random_blocks(const random_draw *d) {
  const int64_t each = random_each(d);
  return d->side == 1 ? random_rounds(d) * d->lanes : d->count / each + (d->count % each != 0);
}

/* Block `at` of words. */
VALUE void random_block(const random_source *s, const random_draw *d, int64_t at, uint32_t *out) {
  const int64_t parts = d->side > RANDOM_WORDS ? d->side / RANDOM_WORDS : 1, whole = at / parts;
  random_words(s, whole % d->lanes, whole / d->lanes * parts + at % parts, out);
}

/* Element k of that block. */
VALUE int64_t random_place(const random_draw *d, int64_t at, int64_t k) {
  const int64_t each = random_each(d);
  return d->side == 1 ? (at / d->lanes * each + k) * d->lanes + at % d->lanes : at * each + k;
}

/* --- Numbers ------------------------------------------------------------------------------- */
VALUE float random_held(int64_t held, float v) {
  return held == 1   ? fnzi_krn_from_f16(fnzi_krn_to_f16(v))
         : held == 2 ? fnzi_krn_from_bf16(fnzi_krn_to_bf16(v))
                     : v;
}

/* Uniform in (0, 1]. */
VALUE float random_single(uint32_t word) {
  return fmaf((float)word, 0x1p-32f, 0x1p-33f);
}
VALUE uint64_t random_long(uint32_t low, uint32_t high) {
  return (uint64_t)low ^ (uint64_t)high << 21;
}
VALUE double random_double(uint32_t low, uint32_t high) {
  return fma((double)random_long(low, high), 0x1p-53, 0x1p-54);
}

/* Box and Muller: two words of a block for two normals, or all four. */
VALUE void random_normals(const uint32_t *w, double *out) {
  const float angle = 6.2831855f * 0x1p-32f;
  const float radius = sqrtf(-2.0f * logf(random_single(w[0])));
  float sine, cosine;
  random_sincos(fmaf((float)w[1], angle, angle / 2), &sine, &cosine);
  out[0] = (double)(sine * radius), out[1] = (double)(cosine * radius);
}
VALUE void random_wide_normals(const uint32_t *w, double *out) {
  const double radius = sqrt(-2.0 * log(random_double(w[0], w[1])));
  double sine, cosine;
  random_sincospi(fma((double)random_long(w[2], w[3]), 0x1p-52, 0x1p-53), &sine, &cosine);
  out[0] = sine * radius, out[1] = cosine * radius;
}

VALUE void random_uniforms(const random_draw *d, const uint32_t *w, double *out) {
  for (int k = 0; k < RANDOM_WORDS; k++)
    out[k] = d->wide && k < 2 ? random_double(w[2 * k], w[2 * k + 1]) : (double)random_single(w[k]);
}

/* By the mean x[0] and the deviation x[1]. */
VALUE void random_normal_numbers(const random_draw *d, const double *x, const uint32_t *w,
                                 double *out) {
  if (d->wide) {
    random_wide_normals(w, out);
    for (int k = 0; k < 2; k++)
      out[k] = fma(out[k], x[1], x[0]);
    return;
  }
  random_normals(w, out), random_normals(w + 2, out + 2);
  for (int k = 0; k < RANDOM_WORDS; k++)
    out[k] = (double)fmaf((float)out[k], (float)x[1], (float)x[0]);
}

/* --- Laws ---------------------------------------------------------------------------------- */
/* Numbers of a block, by a function of each uniform one. */
#define RANDOM_LAW(name)                                                                           \
  VALUE void random_draw_##name(const random_source *s, const random_draw *d, const double *x,     \
                                int64_t at, RANDOM_OUT to) {                                       \
    uint32_t words[RANDOM_WORDS];                                                                  \
    double v[RANDOM_WORDS];                                                                        \
    random_block(s, d, at, words);                                                                 \
    random_##name(d, x, words, v);                                                                 \
    for (int k = 0; k < random_each(d); k++)                                                       \
      if (random_place(d, at, k) < d->count)                                                       \
        random_put(to, random_place(d, at, k), v[k]);                                              \
  }
#define RANDOM_LAW_OF_EACH(name)                                                                   \
  VALUE void random_##name(const random_draw *d, const double *x, const uint32_t *w,               \
                           double *out) {                                                          \
    random_uniforms(d, w, out);                                                                    \
    for (int k = 0; k < random_each(d); k++)                                                       \
      out[k] = d->wide ? random_wide_##name(x, out[k]) : random_one_##name(d, x, (float)out[k]);   \
  }                                                                                                \
  RANDOM_LAW(name)

/* From x[0] to x[1], whose distance is x[2]; what rounding takes to the end becomes the start. */
VALUE double random_one_uniform(const random_draw *d, const double *x, float u) {
  const double v = (double)random_held(d->held, fmaf(u, (float)x[2], (float)x[0]));
  return v == x[1] ? x[0] : v;
}
VALUE double random_wide_uniform(const double *x, double u) {
  const double v = fma(u, x[2], x[0]);
  return v == x[1] ? x[0] : v;
}
RANDOM_LAW_OF_EACH(uniform)

VALUE void random_normal(const random_draw *d, const double *x, const uint32_t *w, double *out) {
  random_normal_numbers(d, x, w, out);
}
RANDOM_LAW(normal)

/* Numbers whose logarithm is normal. */
VALUE void random_log_normal(const random_draw *d, const double *x, const uint32_t *w,
                             double *out) {
  random_normal_numbers(d, x, w, out);
  for (int k = 0; k < random_each(d); k++)
    out[k] = d->wide ? exp(out[k]) : (double)random_exp((float)out[k]);
}
RANDOM_LAW(log_normal)

/* With the rate x[0]; never 0. */
VALUE double random_one_exponential(const random_draw *d, const double *x, float u) {
  (void)d;
  return (double)(-1.0f / (float)x[0] * (u >= 1 - 0x1p-24f ? -0x1p-24f : random_log(u)));
}
VALUE double random_wide_exponential(const double *x, double u) {
  return -1.0 / x[0] * (u >= 1 - 0x1p-53 ? -0x1p-53 : log(u));
}
RANDOM_LAW_OF_EACH(exponential)

/* With the median x[0] and the scale x[1]. */
VALUE double random_one_cauchy(const random_draw *d, const double *x, float u) {
  (void)d;
  u = u > 1 - 0x1p-23f ? 1 - 0x1p-23f : u;
  u = u < 0x1p-23f ? 0x1p-23f : u;
  return (double)fmaf((float)x[1], random_tan(3.14159274f * (u - 0.5f)), (float)x[0]);
}
VALUE double random_wide_cauchy(const double *x, double u) {
  return fma(x[1], tan(3.14159265358979323846 * (u - 0.5)), x[0]);
}
RANDOM_LAW_OF_EACH(cauchy)

/* With the probability x[0] of an end. */
VALUE double random_one_geometric(const random_draw *d, const double *x, float u) {
  (void)d;
  return (double)ceilf(random_log(u) / random_log(1.0f + -(float)x[0]));
}
VALUE double random_wide_geometric(const double *x, double u) {
  return ceil(log(u) / log1p(-x[0]));
}
RANDOM_LAW_OF_EACH(geometric)

/* 1 with the probability x[0]. */
VALUE double random_one_chance(const random_draw *d, const double *x, float u) {
  (void)d;
  return u < (float)x[0];
}
VALUE double random_wide_chance(const double *x, double u) {
  return u < x[0];
}
RANDOM_LAW_OF_EACH(chance)

/* 1 where a uniform float is below x[0]: what dropout keeps, whatever type it is of. */
VALUE void random_kept(const random_draw *d, const double *x, const uint32_t *w, double *out) {
  (void)d;
  for (int k = 0; k < RANDOM_WORDS; k++)
    out[k] = (double)random_single(w[k]) < x[0];
}
RANDOM_LAW(kept)

/* --- Integers ------------------------------------------------------------------------------ */
VALUE int64_t random_integer(const random_draw *d, const uint32_t *w, int64_t k) {
  const uint64_t v = d->wide ? (uint64_t)w[2 * k] << 32 | w[2 * k + 1] : w[k];
  return (int64_t)((d->range ? v % (uint64_t)d->range : v) + (uint64_t)d->base);
}
VALUE void random_draw_integers(const random_source *s, const random_draw *d, const double *x,
                                int64_t at, RANDOM_OUT to) {
  uint32_t words[RANDOM_WORDS];
  (void)x;
  random_block(s, d, at, words);
  for (int k = 0; k < random_each(d); k++)
    if (random_place(d, at, k) < d->count)
      random_put_integer(to, random_place(d, at, k), random_integer(d, words, k));
}

/* --- What is made of them ------------------------------------------------------------------ */
/* 1 with the probability that the element has of its own, by uniform floats; a thread has four
 * side by side. False: one of these has none. */
VALUE bool random_draw_own(const random_source *s, const random_draw *d, const fnzi_cpu_reals *p,
                           int64_t at, RANDOM_OUT to) {
  uint32_t words[RANDOM_WORDS];
  bool are_chances = true;
  random_block(s, d, at, words);
  for (int k = 0; k < RANDOM_WORDS && RANDOM_WORDS * at + k < d->count; k++) {
    const double chance = fnzi_cpu_real_at(p, RANDOM_WORDS * at + k);
    random_put(to, RANDOM_WORDS * at + k, (double)random_single(words[k]) <= chance);
    are_chances = are_chances && chance >= 0 && chance <= 1;
  }
  return are_chances;
}

/* An element that a mask keeps, or drops: times x[0] or x[1]. For alpha dropout, `shifts`: times
 * x[0] plus x[3] if kept, times 0 plus x[2] if dropped. */
VALUE double random_masked(bool wide, int64_t held, bool shifts, const double *x, double v,
                           bool kept) {
  const double factor = kept ? x[0] : shifts ? 0 : x[1], more = kept ? x[3] : x[2];
  if (wide)
    return shifts ? v * factor + more : v * factor;
  const float product = (float)v * (float)factor;
  return (double)(shifts ? random_held(held, product) + (float)more : product);
}

/* A normal number, times a deviation of its own if there is any, plus a mean, each step rounded to
 * the type of the result. */
VALUE double random_moved(bool wide, int64_t held, bool scales, double normal, double deviation,
                          double mean) {
  if (wide)
    return scales ? normal * deviation + mean : normal + mean;
  float v = random_held(held, (float)normal);
  v = scales ? random_held(held, v * (float)deviation) : v;
  return (double)(v + (float)mean);
}

/* --- Samples of rows ----------------------------------------------------------------------- */
typedef struct random_rows {
  int64_t samples;   /* of each row */
  int64_t row_lanes; /* threads of a row */
  int64_t at_once;   /* rows that draw in one turn */
} random_rows;

/* The uniform float of sample `at` of all rows: the first one of a block. */
VALUE void random_draw_row(const random_source *s, const random_rows *r, int64_t at,
                           RANDOM_OUT to) {
  const int64_t row = at / r->samples;
  uint32_t words[RANDOM_WORDS];
  random_words(s, row % r->at_once * r->row_lanes + at % r->samples, row / r->at_once, words);
  random_put(to, at, (double)random_single(words[0]));
}

/* --- Permutations -------------------------------------------------------------------------- */
/* Random keys, by which numbers are sorted: low bits, the top one may be a sign. */
VALUE int64_t random_key(int64_t drawn, int64_t mask, int64_t sign) {
  return (drawn & mask) ^ sign;
}

/* Word k of a thread from an offset on. */
VALUE uint32_t random_word(const random_source *s, int64_t lane, int64_t k) {
  uint32_t words[RANDOM_WORDS];
  random_words(s, lane, k / RANDOM_WORDS, words);
  return words[k % RANDOM_WORDS];
}

/* Numbers of one key, which stand from `first` to before `end`, are shuffled among each other. */
VALUE void random_shuffle(const random_source *s, RANDOM_OUT to, int64_t first, int64_t end) {
  for (int64_t i = end - first - 1, k = 0; i > 0; i--, k++) {
    const int64_t with = first + random_word(s, first, k) % (i + 1),
                  had = random_integer_at(to, first + i);
    random_put_integer(to, first + i, random_integer_at(to, with));
    random_put_integer(to, with, had);
  }
}
