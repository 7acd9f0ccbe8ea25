/* drawn.h - numbers for the inputs of a program of fixed sizes, the same each time, and the results
 * for them: f32 between -2 and 2, i64 from 0 to 2, and truth values. */
#ifndef FNZ_TESTS_HELP_DRAWN_H
#define FNZ_TESTS_HELP_DRAWN_H

#include "program/program.h"
#include "tests/help/run_help.h"

#include <math.h>

static inline void fill_drawn(const fnz_geometry *g, void *data, size_t k) {
  for (int64_t i = 0; i < fnz_geometry_numel(g); i++) {
    if (g->dtype == FNZ_F32)
      ((float *)data)[i] = (float)(2 * sin((double)i * 1.7 + (double)k));
    else if (g->dtype == FNZ_I64)
      ((int64_t *)data)[i] = (i + (int64_t)k) % 3;
    else
      ((unsigned char *)data)[i] = (i * 5 + (int64_t)k) % 3 != 0;
  }
}

static inline fnz_arrays *draw(fnz_context *ctx, const fnz_program *p) {
  fnz_arrays *given;
  const fnzi_graph *g = fnzi_graph_main(p);
  OK(ctx, fnz_arrays_create(ctx, &given));
  for (size_t k = 0; k < g->ninputs; k++) {
    const fnzi_value *v = fnzi_value_at(p, 0, g->inputs[k].u.value);
    void *data;
    OK(ctx, fnz_arrays_add(given, v->name, v->geometry->dtype, v->geometry->rank,
                           v->geometry->sizes, &data));
    fill_drawn(v->geometry, data, k);
  }
  return given;
}

static inline fnz_arrays *results_of(fnz_context *ctx, const fnz_program *p,
                                     const fnz_arrays *given) {
  fnz_backend *cpu;
  fnz_arrays *out;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_run(ctx, p, cpu, given, NULL, out));
  fnz_backend_destroy(cpu);
  return out;
}

/* Bit for bit, and f32 within a few roundings. */
static inline void check_alike(const fnz_array *a, const fnz_array *b, const char *text) {
  ck_assert_uint_eq(a->bytes, b->bytes);
  ck_assert_int_eq(a->dtype, b->dtype);
  if (a->dtype != FNZ_F32)
    ck_assert_msg(memcmp(a->data, b->data, a->bytes) == 0, "%s: %s differs", text, a->name);
  for (size_t i = 0; a->dtype == FNZ_F32 && i < a->bytes / sizeof(float); i++) {
    float x = ((const float *)a->data)[i], y = ((const float *)b->data)[i];
    ck_assert_msg(fabsf(x - y) <= 64 * 1.2e-7F * (1 + fabsf(y)), "%s: %s, element %zu: %g, not %g",
                  text, a->name, i, (double)x, (double)y);
  }
}

/* Both programs give the same for drawn numbers. */
static inline void check_same(fnz_context *ctx, const fnz_program *p, const fnz_program *made,
                              const char *text) {
  fnz_arrays *given = draw(ctx, p), *before = results_of(ctx, p, given),
             *after = results_of(ctx, made, given);
  ck_assert_uint_eq(fnz_arrays_count(before), fnz_arrays_count(after));
  for (size_t k = 0; k < fnz_arrays_count(before); k++)
    check_alike(fnz_arrays_at(after, k), fnz_arrays_at(before, k), text);
  fnz_arrays_destroy(after);
  fnz_arrays_destroy(before);
  fnz_arrays_destroy(given);
}

#endif
