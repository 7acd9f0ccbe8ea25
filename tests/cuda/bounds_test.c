/* checks: 17
 * bounds_test.c - places out of bounds on a GPU, by the stand-in for its driver: programs that
 * write a buffer fail as they do on the CPU, with its words, and leave the buffer as it was. */
#include "program/program.h"
#include "tests/help/run_help.h"

/* Over a buffer of [6, 4], %x of [3, 4] and indices %i and %j of [3]; some steps write the buffer
 * before a place is looked at, some behind. */
static const char *const bodies[] = {
    "  %a: f32[6,4] = index_copy_(%m, 0, %i, %x)\n  %y: f32[6,4] = mul.Tensor(%a, 2)\n"
    "  %b: f32[6,4] = add_.Tensor(%a, 1)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n  %y: f32[3,4] = embedding(%a, %i)\n"
    "  %b: f32[6,4] = index_put_(%a, [%j], %y)\n",
    "  %y: f32[3,4] = index_select(%m, 0, %i)\n  %a: f32[6,4] = index_add_(%m, 0, %j, %x)\n"
    "  %b: f32[6,4] = index_fill_.int_Scalar(%a, 0, %i, 2)\n",
    "  %a: f32[6,4] = index_put_(%m, [%i], %x, True)\n  %y: f32[3,4] = index.Tensor(%a, [%j])\n"
    "  %z: f32[6,4] = index_copy_(%a, 0, %j, %y)\n",
    "  %k: i64[1,3] = unsqueeze(%i, 0)\n  %y: f32[1,3] = gather(%m, 0, %k)\n"
    "  %a: f32[6,4] = scatter_.src(%m, 0, %k, %y)\n  %b: f32[6,4] = put_(%a, %j, %y)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n  %y: f32[] = nll_loss(%x, %i)\n"
    "  %b: f32[6,4] = mul_.Tensor(%a, %y)\n",
    "  %y: f32[3] = take(%m, %i)\n  %h: i64[3,6] = one_hot(%j, 6)\n"
    "  %k: i64[1,3] = unsqueeze(%j, 0)\n  %a: f32[6,4] = scatter_add_(%m, 0, %k, %x)\n",
    "  %a: f32[6,4] = index_copy_(%m, 0, %i, %x)\n  %t: f32[4,3] = t(%x)\n"
    "  %g: f32[4,4] = mm(%t, %x)\n  %s: f32[6,4] = sign(%a)\n  %z: f32[6,4] = mm(%s, %g)\n"
    "  %y: f32[6,4] = sign(%z)\n  %b: f32[6,4] = copy_(%a, %y)\n",
    "  %a: f32[6,4] = index_copy_(%m, 0, %i, %x)\n  %q: f32[1,6,4] = view(%a, [1, 6, 4])\n"
    "  %z: f32[1,6,4] = scaled_dot_product_attention(%q, %q, %q)\n"
    "  %v: f32[6,4] = view(%z, [6, 4])\n  %y: f32[6,4] = sign(%v)\n"
    "  %b: f32[6,4] = copy_(%a, %y)\n",
    "  %a: f32[6,4] = index_copy_(%m, 0, %i, %x)\n  %s: f32[6,4] = sign(%a)\n"
    "  %q: f32[1,6,4] = view(%s, [1, 6, 4])\n  %w: f32[6,6,1] = ones([6, 6, 1])\n"
    "  %z: f32[1,6,4] = conv1d(%q, %w)\n  %y: f32[6,4] = view(%z, [6, 4])\n"
    "  %b: f32[6,4] = copy_(%a, %y)\n",
    /* two that run at once, the second one writes the buffer */
    "  %y: f32[3,4] = index_select(%m, 0, %i)\n  %u: f32[3,4] = mul.Tensor(%x, 2)\n"
    "  %c: f32[3,4] = slice.Tensor(%m, 0, 0, 3)\n  %d: f32[3,4] = mul_.Tensor(%c, 2)\n"
    "  %k: f32[3,4] = cumsum(%u, 0)\n  %f: f32[3,4] = slice.Tensor(%m, 0, 3, 6)\n"
    "  %n: f32[3,4] = copy_(%f, %k)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n  %c: bool[3] = ge.Scalar(%i, 0)\n"
    "  %t: bool[] = all(%c)\n  %y: f32[6,4] = mul.Tensor(%a, 2)\n  _assert_async(%t)\n"
    "  %b: f32[6,4] = mul_.Tensor(%a, 2)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n  %o: i64[3] = arange(3)\n"
    "  %y: f32[3,4], %p: i64[3], %q: i64[3], %r: i64[3] = embedding_bag(%a, %i, %o, False, 1)\n"
    "  %b: f32[6,4] = index_copy_(%a, 0, %j, %y)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n"
    "  %o: i64[3] = sub.Tensor(%j, %j)\n  %y: f32[3,4], %p: i64[3], %q: i64[3], %r: i64[3,4] = "
    "embedding_bag(%a, %i, %o, False, 2)\n  %b: f32[6,4] = index_copy_(%a, 0, %j, %y)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n  %z: f32[3,2] = slice.Tensor(%x, 1, 0, 2)\n"
    "  %c: f32[3,6] = cat([%x, %z], 1)\n  %y: f32[] = cross_entropy_loss(%c, %i)\n"
    "  %b: f32[6,4] = mul_.Tensor(%a, %y)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n  %k: bool[3,4] = lt.Scalar(%x, 50)\n"
    "  %v: f32[1,12] = view(%x, [1, 12])\n  %u: f32[1,6] = slice.Tensor(%v, 1, 0, 6)\n"
    "  %y: f32[3,4] = masked_scatter(%x, %k, %u)\n  %s: f32[] = sum(%y)\n"
    "  %b: f32[6,4] = mul_.Tensor(%a, %s)\n",
    "  %a: f32[6,4] = add_.Tensor(%m, 1)\n  %c: bool[3] = lt.Scalar(%i, 0)\n"
    "  %d: f32[3] = where.Scalar(%c, inf, 1.0)\n  %y: f32[5] = histc(%d, 5)\n"
    "  %s: f32[] = sum(%y)\n  %b: f32[6,4] = mul_.Tensor(%a, %s)\n"};
enum { BODIES = sizeof bodies / sizeof *bodies };

static fnz_program *bounded_program(fnz_context *ctx, const char *body) {
  char text[1024];
  fnz_program *traced, *p;
  int n = snprintf(text, sizeof text,
                   "fnz 1\nweight \"m\": f32[6,4]\nprogram(%%m: f32[6,4] buffer \"m\", "
                   "%%x: f32[3,4], %%i: i64[3], %%j: i64[3])\n{\n%s  return %%y\n}\n",
                   body);
  OK(ctx, fnz_program_read(ctx, text, (size_t)n, FNZ_FORMAT_TEXT, &traced));
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  fnz_program_destroy(traced);
  return p;
}

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 33;
}

/* One place in eight is out of bounds. */
static fnz_arrays *bounded_inputs(fnz_context *ctx, uint64_t *seed) {
  static const int64_t sizes[] = {3, 4};
  static const char *const names[] = {"i", "j"};
  fnz_arrays *arrays;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, "x", FNZ_F32, 2, sizes, &data));
  for (int k = 0; k < 12; k++)
    ((float *)data)[k] = (float)(next_random(seed) % 100);
  for (int n = 0; n < 2; n++) {
    OK(ctx, fnz_arrays_add(arrays, names[n], FNZ_I64, 1, sizes, &data));
    for (int k = 0; k < 3; k++)
      ((int64_t *)data)[k] = next_random(seed) % 8 == 0 ? (int64_t)(next_random(seed) % 40) - 60
                                                        : (int64_t)(next_random(seed) % 6);
  }
  return arrays;
}

/* An executable and its state. */
typedef struct side {
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_arrays *outputs;
  fnz_status status;
  char message[400];
} side;

static void open_side(fnz_context *ctx, const fnz_program *p, const char *device, side *s) {
  static const int64_t sizes[] = {6, 4};
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_arrays *arrays;
  void *data;
  options.threads = 1;
  options.staging = true;
  options.device = device;
  OK(ctx, fnz_compile(ctx, p, &options, &s->exe));
  OK(ctx, fnz_executable_state_create(ctx, s->exe, &s->state));
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, "buffer.m", FNZ_F32, 2, sizes, &data));
  memset(data, 0, 24 * sizeof(float));
  OK(ctx, fnz_executable_state_read(ctx, s->state, arrays));
  fnz_arrays_destroy(arrays);
}

static void run_side(fnz_context *ctx, const fnz_arrays *inputs, side *s) {
  s->message[0] = 0;
  OK(ctx, fnz_arrays_create(ctx, &s->outputs));
  s->status = fnz_executable_run_arrays(ctx, s->exe, inputs, s->state, NULL, s->outputs);
  if (s->status != FNZ_OK)
    snprintf(s->message, sizeof s->message, "%s: %s", fnz_last_error(ctx)->where,
             fnz_last_error(ctx)->message);
}

static void close_side(side *s) {
  fnz_executable_state_destroy(s->state);
  fnz_executable_destroy(s->exe);
}

static void compare_sides(fnz_context *ctx, side *a, side *b) {
  fnz_arrays *held[2];
  ck_assert_str_eq(a->message, b->message);
  ck_assert_int_eq(a->status, b->status);
  OK(ctx, fnz_arrays_create(ctx, &held[0]));
  OK(ctx, fnz_arrays_create(ctx, &held[1]));
  OK(ctx, fnz_executable_state_write(ctx, a->state, held[0]));
  OK(ctx, fnz_executable_state_write(ctx, b->state, held[1]));
  ck_assert_mem_eq(fnz_arrays_at(held[0], 0)->data, fnz_arrays_at(held[1], 0)->data,
                   24 * sizeof(float));
  for (size_t k = 0; a->status == FNZ_OK && k < fnz_arrays_count(a->outputs); k++)
    ck_assert_mem_eq(fnz_arrays_at(a->outputs, k)->data, fnz_arrays_at(b->outputs, k)->data,
                     fnz_arrays_at(a->outputs, k)->bytes);
  fnz_arrays_destroy(held[0]);
  fnz_arrays_destroy(held[1]);
}

/* The GPU reports the CPU's error, leaves the CPU's state, and goes on from there. */
START_TEST(a_place_out_of_bounds_changes_nothing) {
  uint64_t seed = 7 + (uint64_t)_i;
  size_t failed = 0;
  fnz_context *ctx;
  side cpu, gpu;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = bounded_program(ctx, bodies[_i]);
  open_side(ctx, p, "cpu", &cpu);
  open_side(ctx, p, "cuda", &gpu);
  for (int run = 0; run < 40; run++) {
    fnz_arrays *inputs = bounded_inputs(ctx, &seed);
    run_side(ctx, inputs, &cpu);
    run_side(ctx, inputs, &gpu);
    compare_sides(ctx, &cpu, &gpu);
    failed += cpu.status != FNZ_OK;
    fnz_arrays_destroy(inputs);
    fnz_arrays_destroy(cpu.outputs);
    fnz_arrays_destroy(gpu.outputs);
  }
  ck_assert_uint_ge(failed, 8);
  ck_assert_uint_le(failed, 32);
  close_side(&cpu);
  close_side(&gpu);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("bounds");
  tcase_set_timeout(c, 1200);
  tcase_add_loop_test(c, a_place_out_of_bounds_changes_nothing, 0, BODIES);
  return run_one_case("bounds", c);
}
