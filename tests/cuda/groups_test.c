/* checks: 27
 * groups_test.c - groups that go by rows on a GPU, by the stand-in for one, at random; and errors
 * that are planted in the text of kernels of rows. */
#include "tests/cuda/rows_help.h"

enum { PLANTS = 26 };

/* --- Groups ----------------------------------------------------------------------------------- */
/* $ is one value, & another. */
static void put_call(draft *d, const char *call, int a, int b) {
  for (; *call; call++)
    if (*call == '$' || *call == '&')
      put(d, "%%v%d", *call == '$' ? a : b);
    else
      put(d, "%c", *call);
}

/* Pointwise nodes before, between and after nodes of rows; values stay between -3 and 3. */
static void put_group(draft *d) {
  static const char *const whole[] = {"tanh($)", "sigmoid($)", "softmax.int($, -1)",
                                      "mul.Tensor($, 0.5)", "neg($)"};
  static const char *const numbers[] = {"mean.dim($, [-1], True)", "amax($, [-1], True)",
                                        "amin($, [-1], True)",
                                        "linalg_vector_norm($, inf, [-1], True)"};
  static const char *const pairs[] = {"maximum($, &)", "minimum($, &)", "where.self(%mask, $, &)"};
  static const int lengths[] = {2, 7, 33, 130, 1024, 1025, 2500};
  int rows = 1 + draw(5), length = lengths[draw(7)], count = 1, all[32] = {1};
  *d = (draft){.rank = 1, .sizes = {length}, .reduced = {true}, .scale = OF_ONE};
  put(d,
      "fnz 1\nprogram(%%x: f32[%d, %d], %%mask: bool[%d, %d])\n{\n  %%v0: f32[%d, %d] = sin(%%x)\n",
      rows, length, rows, length, rows, length);
  for (int n = 4 + draw(12); count < n; count++) {
    int a = draw(count), b = draw(count), kind = draw(3);
    if (kind == 2)
      all[count] = 1;
    else
      all[count] = kind == 0 || !all[a] ? all[a] : 0;
    put(d, "  %%v%d: f32[%d, %d] = ", count, rows, all[count] ? length : 1);
    if (kind == 2)
      put_call(d, pairs[all[a] || all[b] ? draw(3) : 2], a, b);
    else
      put_call(d, all[a] && !all[count] ? numbers[draw(4)] : whole[draw(5)], a, a);
    put(d, "\n");
  }
  put(d, "  return ");
  for (int k = 0; k < count; k++)
    if (k + 1 == count || draw(2))
      put(d, "%%v%d%s", k, k + 1 < count ? ", " : "");
  put(d, "\n}\n");
}

START_TEST(groups_have_the_cpus_results) {
  static draft d;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int i = 0; i < 25; i++) {
    put_group(&d);
    try_draft(ctx, &d);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* Each error that is planted in the text is found, by the stand-in or by the numbers. In a process
 * of its own, because an error lasts. */
START_TEST(planted_errors_are_found) {
  static const struct {
    const char *program;
    int rows, length;
    const char *plant;
  } plants[] = {
      {"softmax.int(%x, -1)", 3, 2500, "1;__syncthreads();;"},    /* no barrier in join_block() */
      {"layer_norm(%x, [2500])", 3, 2500, "2;__syncthreads();;"}, /* no second one */
      {"softmax.int(%x, -1)", 3, 2500, "1;__syncthreads();if (threadIdx.x < 128) __syncthreads()"},
      {"softmax.int(%x, -1)", 3, 2500, "1;j >= 625;j >= 626"},
      {"softmax.int(%x, -1)", 3, 2500, "3;j >= 625;j >= 624"},
      {"softmax.int(%x, -1)", 3, 2500, "4;j >= 625;j >= 624"},
      {"softmax.int(%x, -1)", 3, 2500, "1;at < 3;at < 4"},
      {"softmax.int(%x, -1)", 3, 2500, "1;at < 3;at < 2"},
      {"softmax.int(%x, -1)", 3, 2500, "1;by = 16;by = 8"},
      {"softmax.int(%x, -1)", 3, 2500, "1;k < 8;k < 7"},
      {"softmax.int(%x, -1)", 3, 2500, "2;e < 4;e < 3"},         /* of a bunch */
      {"softmax.int(%x, -1)", 3, 2500, "4;v0[u];v0[0]"},         /* values kept of another bunch, */
      {"softmax.int(%x, -1)", 3, 2500, "1;i0 * 10000;10000"},    /* of another row */
      {"softmax.int(%x, -1)", 1, 2501, "2;2500 + me;2501 + me"}, /* behind the last bunch */
      {"softmax.int(%x, -1)", 1, 2501, "3;j < 2501;j < 2500"},
      {"cumsum(%x, -1)", 3, 2500, "9;__syncthreads();;"}, /* no barrier in scan_block() */
      {"cumsum(%x, -1)", 3, 2500, "10;__syncthreads();;"},
      {"cumsum(%x, -1)", 3, 2500, "1;length = 2500;length = 2501"},
      {"cumsum(%x, -1)", 3, 2500, "1;lane >= by;lane > by"},
      {"cumsum(%x, -1)", 3, 2500, "1;first == 0;first >= 0"},
      {"softmax.int(%x, -1)", 3, 40001, "2;begin + 16384 :;begin + 15000 :"}, /* by pieces */
      {"softmax.int(%x, -1)", 3, 40001, "2;(int64_t)piece * 16384;(int64_t)piece * 16000"},
      {"softmax.int(%x, -1)", 3, 40001, "1;+ piece * 4;+ piece * 0"},
      {"softmax.int(%x, -1)", 3, 40001, "4;u < 3;u < 2"},
      {"softmax.int(%x, 0)", 70, 2051, "3;__syncthreads();;"}, /* no barrier in join_across() */
      {"softmax.int(%x, 0)", 70, 2051, "1;32 * k;32 + k"}};
  const int rows = plants[_i].rows, length = plants[_i].length;
  static draft d = {.rank = 2, .reduced = {false, true}, .scale = OF_ITSELF};
  fnz_context *ctx;
  fnz_program *p;
  fnz_arrays *inputs, *want, *got;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  ck_assert_int_eq((int)(sizeof plants / sizeof *plants), PLANTS);
  d.sizes[0] = rows;
  d.sizes[1] = length;
  put(&d, "fnz 1\nprogram(%%x: f32[%d, %d])\n{\n  %%y: f32[%d, %d] = %s\n  return %%y\n}\n", rows,
      length, rows, length, plants[_i].program);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_program_read(ctx, d.text, d.size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnzi_random_inputs(ctx, p, 3, &inputs));
  want = run_on(ctx, p, "cpu", inputs);
  setenv("STANDIN_PLANT", plants[_i].plant, 1);
  options.staging = true;
  options.device = "cuda";
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_arrays_create(ctx, &got));
  fnz_status status = fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, got);
  if (status == FNZ_OK)
    ck_assert_msg(!is_close(&d, fnz_arrays_at(got, 0), fnz_arrays_at(want, 0), 0, NULL), "%s",
                  plants[_i].plant);
  else
    ck_assert_msg(counts_now().wrong != NULL, "%s: %s", plants[_i].plant,
                  fnz_last_error(ctx)->message);
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("row_groups");
  tcase_set_timeout(c, 1200);
  tcase_add_test(c, groups_have_the_cpus_results);
  ADD_OF_STANDIN(c, planted_errors_are_found, PLANTS);
  return run_one_case("row_groups", c);
}
