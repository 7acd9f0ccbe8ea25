/* checks: 3
 * engine_norm_test.c - batch norms of inference are steps that join groups; results have the
 * interpreter's bits. */
#include "tests/engine/engine_help.h"
#include "tests/help/context.h"

#include <math.h>
#include <stdio.h>

enum { BATCH = 2, CHANNELS = 5, PLANE = 33 };

/* One call of `op`, whose last arguments are given, then relu. A plane of 0: x has no planes. */
static fnz_program *read_norm(const char *dtype, int plane, const char *op, const char *results,
                              const char *weights, const char *rest) {
  char text[2048], x[64], c[32];
  snprintf(x, sizeof x, plane ? "%s[%d,%d,%d,%d]" : "%s[%d,%d]", dtype, BATCH, CHANNELS, plane,
           plane);
  snprintf(c, sizeof c, "%s[%d]", dtype, CHANNELS);
  snprintf(text, sizeof text,
           "fnz 1\nprogram(%%x: %s, %%w: %s, %%b: %s, %%m: %s, %%v: %s)\n{\n"
           "  %%n: %s%s = %s(%%x, %s, %%m, %%v%s)\n  %%y: %s = relu(%%n)\n  return %%y\n}\n",
           x, c, c, c, c, x, results, op, weights, rest, x);
  return read_functional(ctx, text);
}

static bool is_decomposed(const fnz_program *p) {
  fnz_buffer out = {0};
  OK(ctx, fnz_stage_write(ctx, p, NULL, "decomposed", &out));
  OK(ctx, fnzi_put(ctx, &out, "", 1));
  bool found = strstr((const char *)out.data, "addcmul") != NULL;
  fnz_buffer_free(ctx, &out);
  return found;
}

static float drawn(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(int32_t)*seed * 0x1p-30f;
}

/* All are f32. Some variances are negative, and some elements no numbers. */
static fnz_arrays *draw(int64_t plane) {
  static const char *const names[] = {"w", "b", "m", "v"};
  const int64_t sizes[] = {BATCH, CHANNELS, plane, plane};
  const int64_t count = BATCH * CHANNELS * (plane ? plane * plane : 1);
  fnz_arrays *inputs;
  uint32_t seed = 1;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  OK(ctx, fnz_arrays_add(inputs, "x", FNZ_F32, plane ? 4 : 2, sizes, &data));
  for (int64_t i = 0; i < count; i++)
    ((float *)data)[i] = i % 97 == 5 ? NAN : i % 97 == 7 ? -INFINITY : drawn(&seed);
  for (size_t k = 0; k < 4; k++) {
    OK(ctx, fnz_arrays_add(inputs, names[k], FNZ_F32, 1, &sizes[1], &data));
    for (int i = 0; i < CHANNELS; i++)
      ((float *)data)[i] = drawn(&seed) + (k == 3 && i ? 2 : 0);
  }
  return inputs;
}

static void check_plane(int plane, const char *op, const char *results, const char *weights,
                        const char *rest) {
  fnz_program *p = read_norm("f32", plane, op, results, weights, rest);
  fnz_executable *exe = compile(ctx, p);
  fnz_arrays *inputs = draw(plane);
  ck_assert(is_decomposed(p));
  OK(ctx, fnz_executable_verify(ctx, exe, inputs));
  fnz_arrays_destroy(inputs);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
}

static void check(const char *op, const char *results, const char *weights, const char *rest) {
  check_plane(PLANE, op, results, weights, rest);
  check_plane(3, op, results, weights, rest);
  check_plane(0, op, results, weights, rest);
}

START_TEST(norms_have_the_bits_of_the_kernel) {
  begin();
  check("batch_norm", "", "%w, %b", ", False, 0.1, 0.001, False");
  check("batch_norm", "", "None, %b", ", False, 0.1, 0.001, False");
  check("batch_norm", "", "%w, None", ", False, 0.1, 0.001, False");
  check("batch_norm", "", "None, None", ", False, 0.1, 0.001, False");
  end();
}
END_TEST

START_TEST(norms_of_several_results_too) {
  begin();
  check("_native_batch_norm_legit_no_training", ", %mean: f32[0], %rstd: f32[0]", "%w, %b",
        ", 0.1, 0.001");
  check("native_batch_norm", ", %mean: f32[0], %rstd: f32[0]", "%w, %b", ", False, 0.1, 0.001");
  end();
}
END_TEST

static bool stays(const char *dtype, int plane, const char *rest) {
  fnz_program *p = read_norm(dtype, plane, "batch_norm", "", "%w, %b", rest);
  bool found = !is_decomposed(p);
  fnz_program_destroy(p);
  return found;
}

START_TEST(others_stay) {
  begin();
  ck_assert(!stays("f32", PLANE, ", False, 0.1, 0.001, False"));
  ck_assert(stays("f16", PLANE, ", False, 0.1, 0.001, False"));
  ck_assert(stays("f64", PLANE, ", False, 0.1, 0.001, False"));
  ck_assert(stays("f32", PLANE, ", True, 0.1, 0.001, False"));
  end();
}
END_TEST

RUN_SUITE("engine_norm", norms_have_the_bits_of_the_kernel, norms_of_several_results_too,
          others_stay)
