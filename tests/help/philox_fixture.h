/* philox_fixture.h - fixtures/random/philox: a program of random operators, and the results of a
 * generator of CUDA for it (scripts/make_philox_fixture.py). */
#ifndef FNZ_TESTS_HELP_PHILOX_FIXTURE_H
#define FNZ_TESTS_HELP_PHILOX_FIXTURE_H

#include "program/program.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>
#include <math.h>
#include <stdio.h>

#define PHILOX_SEED    UINT64_C(0x123456789abcdef)
#define PHILOX_THREADS 512

static inline fnz_buffer philox_file(fnz_context *ctx, const char *name) {
  char path[512];
  fnz_buffer file;
  snprintf(path, sizeof path, "%s/fixtures/random/%s", FNZ_SOURCE_DIR, name);
  OK(ctx, fnz_file_read(ctx, path, &file));
  return file;
}

static inline fnz_program *philox_program(fnz_context *ctx) {
  fnz_buffer file = philox_file(ctx, "philox.txt");
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_AUTO, &p));
  fnz_buffer_free(ctx, &file);
  return p;
}

static inline fnz_arrays *philox_recorded(fnz_context *ctx) {
  fnz_buffer file = philox_file(ctx, "philox.safetensors");
  fnz_arrays *arrays;
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  fnz_buffer_free(ctx, &file);
  return arrays;
}

static inline fnz_arrays *philox_inputs(fnz_context *ctx, const fnz_arrays *recorded) {
  fnz_arrays *in;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &in));
  for (uint32_t i = 0; i < fnz_arrays_count(recorded); i++) {
    const fnz_array *a = fnz_arrays_at(recorded, i);
    if (strncmp(a->name, "input.", 6) != 0)
      continue;
    OK(ctx, fnz_arrays_add(in, a->name + 6, a->dtype, a->rank, a->sizes, &data));
    memcpy(data, a->data, a->bytes);
  }
  return in;
}

/* The context draws from it. */
static inline fnz_generator *philox_generator(fnz_context *ctx) {
  fnz_generator *g;
  OK(ctx, fnz_philox_generator_create(ctx, PHILOX_SEED, PHILOX_THREADS, &g));
  fnz_context_set_generator(ctx, g);
  return g;
}

/* The first results are equal in all bits; from the first normal numbers on except for the last
 * places. */
static inline bool philox_is_near(const fnz_array *a, const fnz_array *want) {
  enum { EXACT = 38 };
  const double bound = want->dtype == FNZ_F64 ? 0x1p-45 : 0x1p-18;
  if (strtol(want->name + strlen("output."), NULL, 10) < EXACT || want->dtype == FNZ_F16)
    return memcmp(a->data, want->data, want->bytes) == 0;
  for (size_t i = 0; i < want->bytes / (want->dtype == FNZ_F64 ? 8 : 4); i++) {
    const bool wide = want->dtype == FNZ_F64;
    const double x = wide ? ((const double *)a->data)[i] : (double)((const float *)a->data)[i];
    const double y =
        wide ? ((const double *)want->data)[i] : (double)((const float *)want->data)[i];
    if (!(fabs(x - y) <= bound * (1 + fabs(y))))
      return false;
  }
  return true;
}

#endif
