/* checks: 1
 * strides_test.c - kernels that add up give the same bits for the same elements however these lie:
 * a view as the original has it, with gaps or overlap, and the copy that the functional form has.
 */
#include "tests/help/run_help.h"

static const char *const places[] = {"66,1", "66,3", "2,66", "66,0", "0,2", "3,5", "1,24", "20,1"};

/* Results computed from %v: f32[24,20]; %row is its first row. */
static const char *const results[] = {
    "f32[] = sum(%v)",
    "f32[20] = sum.dim_IntList(%v, [0])",
    "f32[24] = sum.dim_IntList(%v, [1])",
    "f64[24] = sum.dim_IntList(%v, [1], dtype=f64)",
    "f16[] = sum(%v, dtype=f16)",
    "f32[] = mean(%v)",
    "f32[20] = mean.dim(%v, [0])",
    "f32[24] = mean.dim(%v, [1])",
    "f32[] = nansum(%v)",
    "f32[24] = nansum(%v, [1])",
    "f32[] = prod(%v)",
    "f32[20] = prod.dim_int(%v, 0)",
    "f32[24] = prod.dim_int(%v, 1)",
    "f32[] = var.correction(%v, None)",
    "f32[20] = var.correction(%v, [0])",
    "f32[24] = std.correction(%v, [1])",
    "f32[] = linalg_vector_norm(%v)",
    "f32[20] = linalg_vector_norm(%v, 3, [0])",
    "f32[24] = linalg_vector_norm(%v, 1, [1])",
    "f32[24] = logsumexp(%v, [1])",
    "f32[20] = logsumexp(%v, [0])",
    "f32[24,20] = _softmax(%v, 1, False)",
    "f32[24,20] = _log_softmax(%v, 0, False)",
    "f32[24,20] = cumsum(%v, 1)",
    "f32[24,20] = cumprod(%v, 0)",
    "f32[24,20] = logcumsumexp(%v, 1)",
    "f32[24] = mv(%v, %row)",
    "f32[] = dot(%row, %row)",
    "f32[24,24] = einsum(\"ij,kj->ik\", [%v, %v])",
};

/* Between 0.5 and 1.5, so that products stay near 1. */
static fnz_arrays *random_input(fnz_context *ctx) {
  const int64_t sizes[2] = {40, 66};
  uint64_t state = 1;
  fnz_arrays *arrays;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, "x", FNZ_F32, 2, sizes, &data));
  for (size_t i = 0; i < (size_t)(sizes[0] * sizes[1]); i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ((float *)data)[i] = 0.5f + (float)(state >> 40) / (float)(1 << 24);
  }
  return arrays;
}

START_TEST(the_same_bits_wherever_elements_lie) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_arrays *inputs = random_input(ctx);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    for (size_t k = 0; k < sizeof results / sizeof *results; k++) {
      char body[512];
      const char *strides = places[i], *second = strchr(strides, ',') + 1;
      snprintf(body, sizeof body,
               "%%v: f32[24,20] stride(%s) = as_strided(%%x, [24,20], [%s], 0)\n"
               "%%row: f32[20] stride(%s) = select.int(%%v, 0, 0)\n%%r: %s\nreturn %%r",
               strides, strides, second, results[k]);
      fnz_program *p = program_of(ctx, "%x: f32[40,66]", body);
      fnz_status status = fnz_verify(ctx, p, NULL, inputs, WITH_TRIALS(1), NULL);
      ck_assert_msg(status == FNZ_OK, "%s of strides %s: %s", results[k], strides,
                    fnz_last_error(ctx)->message);
      fnz_program_destroy(p);
    }
  fnz_arrays_destroy(inputs);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("strides", the_same_bits_wherever_elements_lie)
