/* fourier_lines.c - the passes of a Fourier transform by Stockham's way: one for each factor of the
 * length, which leave all in order. Once for each instruction set. */
#include "kernels/cpu/fourier.h"

#include <string.h>

typedef fnzi_cpu_wave wave;
typedef fnzi_cpu_root root;

static inline wave plus(wave a, wave b) {
  return (wave){a.re + b.re, a.im + b.im};
}
static inline wave minus(wave a, wave b) {
  return (wave){a.re - b.re, a.im - b.im};
}
static inline wave times(wave a, root w) {
  return (wave){a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}
/* -i a */
static inline wave turned(wave a) {
  return (wave){a.im, -a.re};
}

/* A pass takes blocks of `radix` x `rest` x `done` places to `rest` x `radix` x `done`. */
typedef struct pass {
  const fnzi_cpu_factors *plan;
  size_t radix, rest, done;
} pass;

static inline root root_of(const pass *p, size_t block, size_t k) {
  return p->plan->roots[block * k * p->done];
}

static void by_two(const pass *p, const wave *x, wave *y) {
  size_t step = p->rest * p->done;
  for (size_t b = 0; b < p->rest; b++) {
    root w = root_of(p, b, 1);
    for (size_t q = 0; q < p->done; q++) {
      const wave *a = &x[b * p->done + q];
      wave *to = &y[2 * b * p->done + q];
      to[0] = plus(a[0], a[step]);
      to[p->done] = times(minus(a[0], a[step]), w);
    }
  }
}

static void by_four(const pass *p, const wave *x, wave *y) {
  size_t step = p->rest * p->done;
  for (size_t b = 0; b < p->rest; b++) {
    root w1 = root_of(p, b, 1), w2 = root_of(p, b, 2), w3 = root_of(p, b, 3);
    for (size_t q = 0; q < p->done; q++) {
      const wave *a = &x[b * p->done + q];
      wave *to = &y[4 * b * p->done + q];
      wave even = plus(a[0], a[2 * step]), apart = minus(a[0], a[2 * step]);
      wave odd = plus(a[step], a[3 * step]), across = turned(minus(a[step], a[3 * step]));
      to[0] = plus(even, odd);
      to[p->done] = times(plus(apart, across), w1);
      to[2 * p->done] = times(minus(even, odd), w2);
      to[3 * p->done] = times(minus(apart, across), w3);
    }
  }
}

static void by_any(const pass *p, const wave *x, wave *y) {
  size_t step = p->rest * p->done, part = p->plan->length / p->radix;
  for (size_t b = 0; b < p->rest; b++)
    for (size_t k = 0; k < p->radix; k++) {
      root w = root_of(p, b, k);
      for (size_t q = 0; q < p->done; q++) {
        const wave *a = &x[b * p->done + q];
        wave sum = a[0];
        for (size_t r = 1; r < p->radix; r++)
          sum = plus(sum, times(a[r * step], p->plan->roots[part * (r * k % p->radix)]));
        y[(p->radix * b + k) * p->done + q] = times(sum, w);
      }
    }
}

static void transform(const fnzi_cpu_factors *plan, wave *x, wave *room) {
  wave *from = x, *to = room;
  pass p = {.plan = plan, .done = 1};
  for (size_t i = 0; i < plan->count; i++) {
    p.radix = plan->factors[i];
    p.rest = plan->length / p.done / p.radix;
    if (p.radix == 2)
      by_two(&p, from, to);
    else if (p.radix == 4)
      by_four(&p, from, to);
    else
      by_any(&p, from, to);
    p.done *= p.radix;
    wave *other = from;
    from = to;
    to = other;
  }
  if (from != x)
    memcpy(x, from, plan->length * sizeof *x);
}

fnzi_cpu_fourier_fn *const FNZI_ISA_NAME(fnzi_cpu_fourier) = transform;
