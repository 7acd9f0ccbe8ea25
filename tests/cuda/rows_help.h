/* rows_help.h - programs that go by rows, run on the stand-in for a GPU and on the CPU, for
 * rows_test.c and groups_test.c. */
#ifndef FNZ_TESTS_CUDA_ROWS_HELP_H
#define FNZ_TESTS_CUDA_ROWS_HELP_H

#include "engine/cuda/run.h"
#include "kernels/core/convert.h"
#include "program/program.h"
#include "soak/programs.h"
#include "tests/cuda/counted.h"
#include "tests/help/run_help.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 4096 };

/* The unit of errors: the sum of all addends, 1 or the greatest element, nothing. */
typedef enum scale { OF_SUM, OF_ONE, OF_ITSELF, EXACT } scale;

static uint64_t state = 5;

static inline int draw(int below) {
  return (int)(splitmix64(&state) % (unsigned)below);
}

typedef struct draft {
  char text[ROOM];
  size_t size;
  int rank, sizes[4], order[4]; /* `order`: of dimensions in memory */
  bool reduced[4], keeps;
  int first; /* LAST: of a row */
  scale scale;
} draft;

static inline void put(draft *d, const char *format, ...) FNZI_PRINTF(2, 3);
static inline void put(draft *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  d->size += (size_t)vsnprintf(d->text + d->size, sizeof d->text - d->size, format, args);
  va_end(args);
  ck_assert(d->size < sizeof d->text);
}

/* --- Bounds ----------------------------------------------------------------------------------- */
static inline double value_at(const fnz_array *a, size_t i) {
  double v;
  size_t cell = fnz_dtype_get_info(a->dtype)->bytes;
  fnzi_krn_convert_one(FNZ_F64, &v, a->dtype, (const char *)a->data + i * cell);
  return v;
}

/* The last place of 1 in a dtype. */
static inline double unit_of(fnz_dtype dtype) {
  return dtype == FNZ_F64   ? 0x1p-52
         : dtype == FNZ_F32 ? 0x1p-23
         : dtype == FNZ_F16 ? 0x1p-10
                            : 0x1p-7;
}

/* *at: the first element that is too far off. */
static inline bool is_close(const draft *d, const fnz_array *got, const fnz_array *want,
                            double greatest, size_t *at) {
  double length = 1, narrow = unit_of(got->dtype);
  double sums = narrow < 0x1p-23 ? narrow : 0x1p-23; /* sums of 16-bit floats are f32's */
  for (int k = 0; k < d->rank; k++)
    length *= d->reduced[k] ? d->sizes[k] : 1;
  double by = d->scale == OF_SUM      ? length * greatest
              : d->scale == OF_ITSELF ? 0
              : greatest > 1          ? greatest
                                      : 1;
  if (!fnzi_is_float(got->dtype))
    return memcmp(got->data, want->data, got->bytes) == 0;
  for (size_t i = 0; i < got->bytes / fnz_dtype_get_info(got->dtype)->bytes; i++) {
    double x = value_at(got, i), y = value_at(want, i);
    double most = 8 * narrow * fabs(y) + sums * (8 + length / 16) * (by + fabs(y));
    if (at)
      *at = i;
    if (x != y && !(d->scale != EXACT && fabs(x - y) <= most) && !(isnan(x) && isnan(y)))
      return false;
  }
  return true;
}

static inline void compare(const draft *d, const fnz_array *got, const fnz_array *want,
                           double greatest) {
  size_t i = 0;
  ck_assert_uint_eq(got->bytes, want->bytes);
  ck_assert_msg(is_close(d, got, want, greatest, &i), "element %zu is %.9g, not %.9g\n%s", i,
                value_at(got, i), value_at(want, i), d->text);
}

static inline double greatest_of(const fnz_array *a) {
  double most = 0;
  for (size_t i = 0; i < a->bytes / fnz_dtype_get_info(a->dtype)->bytes; i++)
    if (fabs(value_at(a, i)) > most)
      most = fabs(value_at(a, i));
  return most;
}

/* --- Runs ------------------------------------------------------------------------------------- */
static inline fnz_arrays *run_on(fnz_context *ctx, const fnz_program *p, const char *device,
                                 const fnz_arrays *inputs) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_arrays *out;
  options.threads = 1;
  options.staging = true;
  options.device = device;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, out));
  fnz_executable_destroy(exe);
  return out;
}

/* Compares the device with the CPU; only inputs and outputs are copied. */
static inline void try_draft(fnz_context *ctx, const draft *d) {
  fnz_program *p;
  fnz_arrays *inputs, *got, *want;
  fnz_status status = fnz_program_read(ctx, d->text, d->size, FNZ_FORMAT_TEXT, &p);
  ck_assert_msg(status == FNZ_OK, "%s\n%s", fnz_last_error(ctx)->message, d->text);
  OK(ctx, fnzi_random_inputs(ctx, p, splitmix64(&state), &inputs));
  want = run_on(ctx, p, "cpu", inputs);
  standin_counts before = counts_now();
  got = run_on(ctx, p, "cuda", inputs);
  standin_counts after = counts_now();
  uint64_t in = 0, out = 0, gaps = 16 * (fnz_arrays_count(got) + fnz_arrays_count(inputs) + 1);
  for (size_t k = 0; k < fnz_arrays_count(inputs); k++)
    in += fnz_arrays_at(inputs, k)->bytes;
  for (size_t k = 0; k < fnz_arrays_count(got); k++)
    out += fnz_arrays_at(got, k)->bytes;
  ck_assert_msg(after.launches > before.launches, "not on the device\n%s", d->text);
  ck_assert_msg(after.bytes_in - before.bytes_in <= in + gaps, "%s", d->text);
  ck_assert_msg(after.bytes_out - before.bytes_out <= out + gaps, "%s", d->text);
  for (size_t k = 0; k < fnz_arrays_count(got); k++)
    compare(d, fnz_arrays_at(got, k), fnz_arrays_at(want, k),
            greatest_of(fnz_arrays_at(inputs, 0)));
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_program_destroy(p);
}

#endif
