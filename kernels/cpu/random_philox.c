/* random_philox.c - random tensors by Philox: how many threads draw, how far that moves the
 * generator, and the elements, which are computed by random_values.h, or recorded. */
#include "kernels/cpu/random.h"
#include "kernels/core/half.h"
#include "kernels/core/sort_recorded.h"
#include "kernels/cpu/recording.h"

#include <math.h>
#include <stdlib.h>

#define VALUE      static inline
#define RANDOM_OUT const random_out *
typedef struct random_out {
  fnzi_cpu_reals_out reals;
  unsigned char *masks; /* or these, */
  int64_t *integers;    /* or those */
} random_out;
static void random_put(const random_out *to, int64_t i, double v) {
  if (to->masks)
    to->masks[i] = v != 0;
  else
    fnzi_cpu_real_put(&to->reals, i, v);
}
static void random_put_integer(const random_out *to, int64_t i, int64_t v) {
  to->integers[i] = v;
}
static int64_t random_integer_at(const random_out *to, int64_t i) {
  return to->integers[i];
}
static float random_log(float v) {
  return logf(v);
}
static float random_exp(float v) {
  return expf(v);
}
static float random_tan(float v) {
  return tanf(v);
}
static void random_sincos(float v, float *sine, float *cosine) {
  *sine = sinf(v), *cosine = cosf(v);
}
static void random_sincospi(double v, double *sine, double *cosine) {
  const double angle = 3.14159265358979323846 * v;
  *sine = sin(angle), *cosine = cos(angle);
}
#include "kernels/cpu/random_values.h"
#undef VALUE

/* --- The generator ---------------------------------------------------------------------------- */
fnz_status fnzi_cpu_threads_drawing(const fnzi_krn_call *call, int64_t *out) {
  const fnz_generator *g = call->ctx->generator;
  *out = call->record ? call->record->threads : g ? g->threads : 0;
  if (call->record || g)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                              "it draws random numbers, and the context has no generator; give it "
                              "one with fnz_context_set_generator()");
}

/* Advances the generator by `words`; while a call is recorded nothing is drawn yet. */
static random_source pass(const fnzi_krn_call *call, uint64_t words) {
  fnz_generator *g = call->ctx->generator;
  if (call->record)
    return (random_source){0, 0};
  return (random_source){g->seed, fnzi_generator_pass(g, words)};
}

/* --- Laws ------------------------------------------------------------------------------------- */
typedef void draw_block(const random_source *s, const random_draw *d, const double *x, int64_t at,
                        const random_out *to);
static const struct law {
  const char *name;
  draw_block *draw;
} laws[] = {{"uniform", random_draw_uniform},       {"normal", random_draw_normal},
            {"log_normal", random_draw_log_normal}, {"exponential", random_draw_exponential},
            {"cauchy", random_draw_cauchy},         {"geometric", random_draw_geometric},
            {"chance", random_draw_chance},         {"kept", random_draw_kept},
            {"integers", random_draw_integers}};

/* All threads go on as if they took element by element. */
static uint64_t philox_words_of(random_draw d) {
  d.side = 1;
  return (uint64_t)random_rounds(&d) * RANDOM_WORDS;
}

static int64_t held_of(fnz_dtype dtype) {
  return dtype == FNZ_F16 ? 1 : dtype == FNZ_BF16 ? 2 : 0;
}

enum { CHUNK = 1024 };

typedef struct drawing {
  draw_block *draw;
  random_source source;
  random_draw d;
  const double *numbers;
  random_out to;
} drawing;

static void draw_chunk(const void *user, int64_t i, int lane) {
  const drawing *w = user;
  const int64_t first = i * CHUNK, blocks = random_blocks(&w->d);
  (void)lane;
  for (int64_t at = first; at < blocks && at < first + CHUNK; at++)
    w->draw(&w->source, &w->d, w->numbers, at, &w->to);
}

static random_out philox_out_of(fnz_dtype dtype, void *out) {
  switch (dtype) {
  case FNZ_BOOL:
    return (random_out){.masks = out};
  case FNZ_I64:
    return (random_out){.integers = out};
  case FNZ_F64:
  case FNZ_C128:
    return (random_out){.reals.d = out};
  default:
    return (random_out){.reals.f = out};
  }
}

fnz_status fnzi_cpu_draw_philox(fnzi_krn_call *call, fnz_dtype dtype, int64_t count, void *out,
                                const fnzi_cpu_law *law) {
  enum { BLOCK = 256 }; /* threads; no more blocks draw than there are elements */
  int64_t threads;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  if (count == 0)
    return FNZ_OK;
  const int64_t blocks = (count - 1) / BLOCK + 1;
  const random_draw d = {.lanes = blocks < threads / BLOCK ? blocks * BLOCK : threads,
                         .count = count,
                         .wide = law->is_wide,
                         .held = held_of(law->held),
                         .side = law->side ? law->side : 1,
                         .range = law->range,
                         .base = law->base};
  if (call->record) {
    const fnz_dtype part = dtype == FNZ_C64 ? FNZ_F32 : dtype == FNZ_C128 ? FNZ_F64 : dtype;
    fnzi_cpu_recording t = {
        .f = {.numbers = law->numbers, .nnumbers = 3, .draws = philox_words_of(d)}};
    fnzi_cpu_record_window(&t, part, count, out);
    fnzi_cpu_record_integers(&t, &d, sizeof d);
    return fnzi_cpu_record(call, &t, law->name, random_blocks(&d));
  }
  size_t k = 0;
  while (strcmp(laws[k].name, law->name) != 0)
    k++;
  const drawing w = {laws[k].draw, pass(call, philox_words_of(d)), d, law->numbers,
                     philox_out_of(dtype, out)};
  fnzi_cpu_rows_spread(call, random_blocks(&d) / CHUNK + 1, CHUNK, draw_chunk, &w);
  return FNZ_OK;
}

/* --- Chances of their own --------------------------------------------------------------------- */
fnz_status fnzi_cpu_probability(const fnzi_krn_call *call, const char *name, double p) {
  if (p >= 0 && p <= 1)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s is %g; it must be from 0 to 1", name, p);
}

fnz_status fnzi_cpu_draw_own(fnzi_krn_call *call, int64_t count, const fnzi_cpu_reals *p,
                             unsigned char *out) {
  enum { PASSED = 12 }; /* PyTorch says 10, which becomes a multiple of 4 */
  const int64_t blocks = count / RANDOM_WORDS + (count % RANDOM_WORDS != 0);
  const random_draw d = {.lanes = blocks, .count = count, .side = RANDOM_WORDS};
  if (call->record) {
    fnzi_cpu_recording t = {.f = {.checks = true, .draws = PASSED}};
    fnzi_cpu_record_reals(&t, p, count);
    fnzi_cpu_record_window(&t, FNZ_BOOL, count, out);
    fnzi_cpu_record_integers(&t, &d, sizeof d);
    return fnzi_cpu_record(call, &t, "own_chance", blocks);
  }
  for (int64_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_cpu_probability(call, "a probability", fnzi_cpu_real_at(p, i)));
  const random_source source = pass(call, PASSED);
  for (int64_t at = 0; at < blocks; at++)
    random_draw_own(&source, &d, p, at, &(random_out){.masks = out});
  return FNZ_OK;
}

/* --- Samples of rows ------------------------------------------------------------------------- */
fnz_status fnzi_cpu_draw_rows(fnzi_krn_call *call, int64_t rows, int64_t samples, float *out) {
  enum { BLOCK = 128, MOST_ROWS = 65535 };
  const random_rows r = {samples, ((samples - 1) / BLOCK + 1) * BLOCK,
                         rows < MOST_ROWS ? rows : MOST_ROWS};
  const uint64_t words = (uint64_t)((rows - 1) / r.at_once + 1) * RANDOM_WORDS;
  const int64_t count = rows * samples;
  if (call->record) {
    fnzi_cpu_recording t = {.f = {.draws = words}};
    fnzi_cpu_record_window(&t, FNZ_F32, count, out);
    fnzi_cpu_record_integers(&t, &r, sizeof r);
    return fnzi_cpu_record(call, &t, "row_uniform", count);
  }
  const random_source source = pass(call, words);
  for (int64_t at = 0; at < count; at++)
    random_draw_row(&source, &r, at, &(random_out){.reals.f = out});
  return FNZ_OK;
}

/* --- What is made of masks and normals -------------------------------------------------------- */
fnz_status fnzi_cpu_mask_reals(fnzi_krn_call *call, const fnzi_cpu_masking *m) {
  const bool wide = m->to.d != NULL;
  const int64_t held = held_of(m->held);
  if (call->record) {
    fnzi_cpu_recording t = {.f = {.numbers = m->numbers, .nnumbers = 4}};
    fnzi_cpu_record_reals(&t, &m->from, m->count);
    if (m->mask)
      fnzi_cpu_record_window(&t, FNZ_BOOL, m->count, m->mask);
    fnzi_cpu_record_reals_out(&t, &m->to, m->count);
    fnzi_cpu_record_integer(&t, held);
    fnzi_cpu_record_integer(&t, m->shifts);
    return fnzi_cpu_record(call, &t, m->mask ? "masked" : "dropped", m->count);
  }
  for (int64_t i = 0; i < m->count; i++)
    fnzi_cpu_real_put(&m->to, i,
                      random_masked(wide, held, m->shifts, m->numbers,
                                    fnzi_cpu_real_at(&m->from, i), m->mask && m->mask[i]));
  return FNZ_OK;
}

fnz_status fnzi_cpu_check_deviations(fnzi_krn_call *call, const fnzi_cpu_moving *m) {
  for (int64_t i = 0; i < m->count && !call->record && fnzi_cpu_reals_present(&m->deviations); i++)
    if (!(fnzi_cpu_real_at(&m->deviations, i) >= 0))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "the deviation is %g; it must be 0 or more",
                                  fnzi_cpu_real_at(&m->deviations, i));
  return FNZ_OK;
}

fnz_status fnzi_cpu_move_normals(fnzi_krn_call *call, const fnzi_cpu_moving *m) {
  const bool scales = fnzi_cpu_reals_present(&m->deviations),
             has_means = fnzi_cpu_reals_present(&m->means), wide = m->normals.d != NULL;
  const fnzi_cpu_reals normals = fnzi_cpu_reals_read(&m->normals);
  const int64_t held = held_of(m->held);
  if (call->record) {
    fnzi_cpu_recording t = {.f = {.numbers = &m->mean, .nnumbers = 1, .checks = true}};
    fnzi_cpu_record_reals(&t, scales ? &m->deviations : &normals, m->count);
    fnzi_cpu_record_reals(&t, has_means ? &m->means : &normals, m->count);
    fnzi_cpu_record_reals_out(&t, &m->normals, m->count);
    fnzi_cpu_record_integer(&t, held);
    fnzi_cpu_record_integer(&t, scales);
    fnzi_cpu_record_integer(&t, has_means);
    return fnzi_cpu_record(call, &t, "moved", m->count);
  }
  for (int64_t i = 0; i < m->count; i++)
    fnzi_cpu_real_put(&m->normals, i,
                      random_moved(wide, held, scales, fnzi_cpu_real_at(&normals, i),
                                   scales ? fnzi_cpu_real_at(&m->deviations, i) : 1,
                                   has_means ? fnzi_cpu_real_at(&m->means, i) : m->mean));
  return FNZ_OK;
}

/* --- Permutations ----------------------------------------------------------------------------- */
typedef struct keyed {
  int64_t key, number;
} keyed;

static int by_key(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Numbers in the order of random keys; only the bits of `mask` count. */
typedef struct permutation {
  int64_t count, mask, sign;
  int64_t *keys; /* drawn ones, where the numbers go */
} permutation;

static uint64_t words_of_shuffle(const permutation *p) {
  return ((uint64_t)p->count + 3) / 4 * 4;
}

static fnz_status record_permutation(fnzi_krn_call *call, const permutation *p) {
  const int64_t bits[] = {p->mask, p->sign};
  fnzi_cpu_recording keys = {.f.draws = 0}, numbers = {.f.draws = words_of_shuffle(p)};
  fnzi_krn_recorded_sort recorded = {
      .dtype = FNZ_I64, .rows = 1, .length = p->count, .inner = 1, .keep = p->count};
  void *room;
  FNZ_TRY(fnzi_krn_scratch_take(call, p->count, sizeof *p->keys, &room));
  fnzi_cpu_record_window(&keys, FNZ_I64, p->count, p->keys);
  fnzi_cpu_record_window(&keys, FNZ_I64, p->count, room);
  fnzi_cpu_record_integers(&keys, bits, sizeof bits);
  FNZ_TRY(fnzi_cpu_record(call, &keys, "random_key", p->count));
  recorded.elements = room;
  FNZ_TRY(fnzi_krn_sort_record(call, &recorded));
  fnzi_cpu_record_window(&numbers, FNZ_I64, p->count, recorded.keys);
  fnzi_cpu_record_window(&numbers, FNZ_I64, p->count, recorded.places);
  fnzi_cpu_record_window(&numbers, FNZ_I64, p->count, p->keys);
  fnzi_cpu_record_integer(&numbers, p->count);
  return fnzi_cpu_record(call, &numbers, "shuffled", p->count);
}

static fnz_status philox_permute(fnzi_krn_call *call, const permutation *p) {
  const random_out to = {.integers = p->keys};
  keyed *x;
  FNZI_NEW(&call->scratch, (size_t)p->count, &x);
  for (int64_t i = 0; i < p->count; i++)
    x[i] = (keyed){random_key(p->keys[i], p->mask, p->sign), i};
  qsort(x, (size_t)p->count, sizeof *x, by_key);
  for (int64_t i = 0; i < p->count; i++)
    p->keys[i] = x[i].number;
  const random_source source = pass(call, words_of_shuffle(p));
  for (int64_t first = 0, end; first < p->count; first = end) {
    for (end = first + 1; end < p->count && x[end].key == x[first].key;)
      end++;
    random_shuffle(&source, &to, first, end);
  }
  return FNZ_OK;
}

/* Random keys are sorted, and numbers whose keys are the same are shuffled. */
fnz_status fnzi_cpu_permute_philox(fnzi_krn_call *call, int64_t count, int64_t *out) {
  /* Bits of a key, so that among `count` of them two are seldom the same. */
  const double n = (double)count, wanted = ceil(log2(n - (6 * n * n + 1) / (log(0.9) * 12)));
  const int bits = count == 0 ? 0 : wanted < 64 ? (int)wanted : 64;
  const bool narrow = bits <= 32;
  const permutation p = {.count = count,
                         .mask = bits < 64 ? ((int64_t)1 << bits) - 1 : -1,
                         .sign = bits == 32 ? (int64_t)1 << 31 : 0,
                         .keys = out};
  const fnzi_cpu_law law = {.name = "integers",
                            .range = narrow ? (int64_t)UINT32_MAX : -1,
                            .base = narrow ? INT32_MIN : INT64_MIN,
                            .is_wide = true};
  if (count == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_draw_philox(call, FNZ_I64, count, out, &law));
  return call->record ? record_permutation(call, &p) : philox_permute(call, &p);
}
