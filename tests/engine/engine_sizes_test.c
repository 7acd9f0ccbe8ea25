/* checks: 5
 * engine_sizes_test.c - plans for the sizes of a call: each choice of sizes is planned once, the
 * least recently used plan is freed, and plans with much memory of their own are few. */
#include "engine/engine.h"
#include "tests/engine/engine_help.h"
#include "tests/help/faults.h"

static const char any_rows[] = "fnz 1\nsymbol s0 = 4\nrange s0 1..2000\n"
                               "program(%x: f32[{s0},3])\n{\n"
                               "  %y: f32[{s0},3] = add.Tensor(%x, 1)\n  return %y\n}\n";

typedef struct open {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
  float *x;
} open;

enum { MOST_ELEMENTS = 26 * 1024 };

static fnz_context *open_context(void) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  return ctx;
}

/* Takes the program. */
static open open_program(fnz_context *ctx, fnz_program *p) {
  open o = {.ctx = ctx, .p = p, .x = calloc(MOST_ELEMENTS, sizeof *o.x)};
  o.exe = compile(ctx, o.p);
  OK(ctx, fnz_workspace_create(ctx, o.exe, &o.ws));
  return o;
}

static void close_all(open *o) {
  free(o->x);
  fnz_workspace_destroy(o->ws);
  fnz_executable_destroy(o->exe);
  fnz_program_destroy(o->p);
}

static fnz_status run_rows(const open *o, int64_t rows, fnz_memory *out) {
  *out = (fnz_memory){NULL, NULL};
  const int64_t sizes[] = {rows, 3}, strides[] = {3, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  const fnz_memory in = {o->x, &g};
  const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = out, .workspace = o->ws};
  return fnz_executable_run(o->ctx, o->exe, &run);
}

static const fnzi_stp_binding *bound(const open *o, int64_t rows) {
  fnz_memory out;
  o->x[3 * rows - 1] = (float)rows;
  OK(o->ctx, run_rows(o, rows, &out));
  ck_assert_int_eq(out.geometry->sizes[0], rows);
  ck_assert_float_eq(((const float *)out.data)[3 * rows - 1], (float)rows + 1);
  return o->ws->last;
}

static bool is_kept(const open *o, int64_t rows) {
  for (size_t i = 0; i < o->ws->bindings.count; i++)
    if (o->ws->bindings.data[i]->layouts[0].sizes[0] == rows)
      return true;
  return false;
}

START_TEST(sizes_in_turn_are_bound_once) {
  enum { SIZES = 31, ROUNDS = 3 };
  fnz_context *ctx = open_context();
  open o = open_program(ctx, read_functional(ctx, any_rows));
  const fnzi_stp_binding *first[SIZES];
  for (int k = 0; k < SIZES; k++)
    first[k] = bound(&o, k + 1);
  ck_assert_uint_eq(o.ws->bindings.count, SIZES);
  for (int round = 1; round < ROUNDS; round++)
    for (int k = 0; k < SIZES; k++)
      ck_assert_ptr_eq(bound(&o, k + 1), first[k]);
  ck_assert_uint_eq(o.ws->bindings.count, SIZES);
  close_all(&o);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(the_least_recently_used_goes) {
  fnz_context *ctx = open_context();
  open o = open_program(ctx, read_functional(ctx, any_rows));
  for (int k = 1; k <= FNZI_STP_BINDINGS; k++)
    bound(&o, k);
  const fnzi_stp_binding *one = bound(&o, 1);
  bound(&o, 1000);
  ck_assert_uint_eq(o.ws->bindings.count, FNZI_STP_BINDINGS);
  ck_assert(is_kept(&o, 1) && !is_kept(&o, 2) && is_kept(&o, 3) && is_kept(&o, 1000));
  ck_assert_ptr_eq(bound(&o, 1), one);
  for (int k = 1001; k <= 1000 + 2 * FNZI_STP_BINDINGS; k++)
    bound(&o, k);
  ck_assert_uint_eq(o.ws->bindings.count, FNZI_STP_BINDINGS);
  ck_assert(!is_kept(&o, 1) && !is_kept(&o, 1000));
  close_all(&o);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(memory_does_not_grow_with_the_number_of_sizes) {
  faults f = {0};
  const fnz_allocator counting = {faults_resize, &f};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(&counting, &ctx), FNZ_OK);
  open o = open_program(ctx, read_functional(ctx, any_rows));
  for (int k = 1; k <= 3 * FNZI_STP_BINDINGS; k++)
    bound(&o, k);
  const size_t before = f.live_bytes;
  for (int k = 1; k <= 1900; k++)
    bound(&o, k);
  ck_assert_uint_lt(f.live_bytes, before + before / 4);
  close_all(&o);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
  ck_assert_uint_eq(f.live_bytes, 0);
}
END_TEST

/* A convolution has its weights once more for each choice of sizes, in the order in which it reads
 * them, from the second run on. Here these are 38 MB. */
static const char any_images[] =
    "fnz 1\nsymbol s0 = 4\nrange s0 1..2000\nweight \"w\": f32[1024,1024,3,3]\n"
    "program(%w: f32[1024,1024,3,3] parameter \"w\", %x: f32[1,1024,{s0},2])\n{\n"
    "  %y: f32[1,1024,{s0},2] = conv2d(%x, %w, None, [1, 1], [1, 1])\n  return %y\n}\n";

static void run_images(const open *o, int64_t rows) {
  const int64_t sizes[] = {1, 1024, rows, 2}, strides[] = {2048 * rows, 2 * rows, 2, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 4, .sizes = sizes, .strides = strides};
  const fnz_memory in[] = {{o->x, &g}};
  fnz_memory out = {NULL, NULL};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = o->ws};
  OK(o->ctx, fnz_executable_run(o->ctx, o->exe, &run));
}

START_TEST(plans_with_much_memory_are_few) {
  enum { SIZES = 12, FEW = 8, WEIGHT_BYTES = 1024 * 1024 * 9 * sizeof(float) };
  fnz_context *ctx = open_context();
  fnz_program *traced;
  fnzi_blob *blob;
  OK(ctx, fnz_program_read(ctx, any_images, sizeof any_images - 1, FNZ_FORMAT_TEXT, &traced));
  OK(ctx, fnzi_blob_create(ctx, WEIGHT_BYTES, &blob));
  memset(fnzi_blob_data(blob), 0, WEIGHT_BYTES);
  traced->weights.data[0].blob = blob;
  open o = open_program(ctx, functional_of(ctx, traced));
  for (int k = 1; k <= SIZES; k++) {
    run_images(&o, k + 1);
    run_images(&o, k + 1);
  }
  ck_assert_uint_eq(o.ws->bindings.count, FEW);
  close_all(&o);
  fnz_context_destroy(ctx);
}
END_TEST

/* Runs a second size, without memory for the plan or some part of it, and the first one again. */
static fnz_status run_two(fnz_context *ctx, const void *user) {
  open o = {.ctx = ctx, .p = (fnz_program *)(uintptr_t)user, .x = calloc(MOST_ELEMENTS, 4)};
  fnz_memory out;
  fnz_status status = fnz_compile(ctx, o.p, NULL, &o.exe);
  if (status == FNZ_OK)
    status = fnz_workspace_create(ctx, o.exe, &o.ws);
  if (status == FNZ_OK)
    status = run_rows(&o, 2, &out);
  if (status == FNZ_OK) {
    const fnz_status second = run_rows(&o, 5, &out);
    ck_assert(second != FNZ_OK || o.ws->bindings.count == 2);
    status = run_rows(&o, 2, &out);
    ck_assert(status != FNZ_OK || ((const float *)out.data)[5] == 1);
    status = status == FNZ_OK ? second : status;
  }
  o.p = NULL;
  close_all(&o);
  return status;
}

START_TEST(a_failed_plan_leaves_the_others) {
  fnz_context *ctx = open_context();
  fnz_program *p = read_functional(ctx, any_rows);
  ck_assert_uint_gt(each_fault(run_two, p), 0);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("engine_sizes", sizes_in_turn_are_bound_once, the_least_recently_used_goes,
          memory_does_not_grow_with_the_number_of_sizes, plans_with_much_memory_are_few,
          a_failed_plan_leaves_the_others)
