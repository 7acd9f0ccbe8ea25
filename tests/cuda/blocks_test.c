/* checks: 16
 * blocks_test.c - what the stand-in for a GPU sees of kernels whose threads know of each other:
 * right ones compute, in both orders of threads, and each planted error is found. */
#include "engine/cuda/run.h"
#include "tests/cuda/counted.h"
#include "tests/help/run_help.h"

#include <stdio.h>

enum { THREADS = 128, COLUMNS = 1000, ROWS = 3 };

/* The sums of rows: within a warp by shuffles, over warps by shared memory, which is used twice. */
#define SUMS(first, second, bound)                                                                 \
  "BLOCKS(k0, 128, const places<2> p) {\n"                                                         \
  "  SHARED(float, parts, 4);\n"                                                                   \
  "  const int me = threadIdx.x, lane = me % 32, warp = me / 32;\n"                                \
  "  for (int64_t row = blockIdx.x; row < 3; row += gridDim.x) {\n"                                \
  "    float sum = 0;\n"                                                                           \
  "    for (int c = me; c < " bound "; c += 128)\n"                                                \
  "      sum += LOAD(float, p.at[0] + (row * 1000 + c) * 4);\n"                                    \
  "    for (int by = 16; by > 0; by /= 2)\n"                                                       \
  "      sum += __shfl_xor_sync(~0u, sum, by);\n"                                                  \
  "    if (lane == 0)\n      parts[warp] = sum;\n" first                                           \
  "    sum = parts[0] + parts[1] + parts[2] + parts[3];\n" second                                  \
  "    if (me == 0)\n      STORE(float, p.at[1] + row * 4, sum);\n"                                \
  "  }\n}\n"
#define BARRIER "    __syncthreads();\n"

typedef struct bench {
  fnz_context *ctx;
  fnzi_cuda_device device;
  void *module, *kernel, *stream;
  uint64_t at[2];
} bench;

static void add_lines(fnz_context *ctx, fnz_buffer *out, const char *const *lines) {
  for (; *lines; lines++)
    OK(ctx, fnzi_put_text(ctx, out, *lines));
}

static void open_bench(bench *b, const char *text) {
  fnz_buffer source = {.data = NULL}, code = {.data = NULL};
  ck_assert_int_eq(fnz_context_create(NULL, &b->ctx), FNZ_OK);
  OK(b->ctx, fnzi_cuda_device_open(b->ctx, NULL, "cuda:0", NULL, &b->device));
  OK(b->ctx, fnzi_cuda_enter(b->ctx, &b->device));
  add_lines(b->ctx, &source, fnzi_cuda_text_prelude);
  OK(b->ctx, fnzi_put(b->ctx, &source, text, strlen(text) + 1));
  OK(b->ctx, fnzi_cuda_nvrtc_compile(b->ctx, &b->device.nvrtc, (const char *)source.data,
                                     b->device.major, b->device.minor, &code));
  ck_assert_int_eq(b->device.driver.module_load(&b->module, code.data), 0);
  ck_assert_int_eq(b->device.driver.module_function(&b->kernel, b->module, "k0"), 0);
  OK(b->ctx, fnzi_cuda_stream_make(b->ctx, &b->device, &b->stream));
  OK(b->ctx, fnzi_cuda_allocate(b->ctx, &b->device, ROWS * COLUMNS * 4, &b->at[0]));
  OK(b->ctx, fnzi_cuda_allocate(b->ctx, &b->device, ROWS * 4, &b->at[1]));
  fnz_buffer_free(b->ctx, &source);
  fnz_buffer_free(b->ctx, &code);
}

static void close_bench(bench *b) {
  fnzi_cuda_stream_end(&b->device, b->stream);
  fnzi_cuda_free(&b->device, b->at[0]);
  fnzi_cuda_free(&b->device, b->at[1]);
  b->device.driver.module_end(b->module);
  fnzi_cuda_leave(&b->device);
  fnzi_cuda_device_close(&b->device);
  fnz_context_destroy(b->ctx);
}

static fnz_status launch(bench *b, unsigned blocks, unsigned threads) {
  static float data[ROWS * COLUMNS];
  void *arguments[] = {b->at};
  for (int i = 0; i < ROWS * COLUMNS; i++)
    data[i] = (float)(i % 7 + i / COLUMNS);
  FNZ_TRY(fnzi_cuda_copy_in(b->ctx, &b->device, b->at[0], data, sizeof data, b->stream));
  return fnzi_cuda_driver_status(b->ctx, &b->device.driver,
                                 b->device.driver.launch(b->kernel, blocks, 1, 1, threads, 1, 1, 0,
                                                         b->stream, arguments, NULL),
                                 "a kernel is started");
}

static fnz_status run(bench *b, unsigned blocks, float out[ROWS]) {
  FNZ_TRY(launch(b, blocks, THREADS));
  FNZ_TRY(fnzi_cuda_copy_out(b->ctx, &b->device, out, b->at[1], ROWS * 4, b->stream));
  return fnzi_cuda_wait(b->ctx, &b->device, b->stream);
}

START_TEST(right_ones_compute) {
  bench b;
  float out[ROWS];
  open_bench(&b, SUMS(BARRIER, BARRIER, "1000"));
  for (unsigned blocks = 1; blocks <= 4; blocks++) {
    OK(b.ctx, run(&b, blocks, out));
    for (int r = 0; r < ROWS; r++) {
      float want = 0;
      for (int c = 0; c < COLUMNS; c++)
        want += (float)((r * COLUMNS + c) % 7 + r);
      ck_assert_float_eq(out[r], want);
    }
  }
  close_bench(&b);
}
END_TEST

/* Each in a process of its own, because an error lasts. */
START_TEST(wrong_ones_are_found) {
  static const struct {
    const char *text, *says;
  } cases[] = {
      {SUMS("", BARRIER, "1000"), "shared memory"},
      {SUMS(BARRIER, "", "1000"), "no barrier between"},
      {SUMS("    if (me < 64)\n" BARRIER, BARRIER, "1000"), "shared memory"},
      {SUMS(BARRIER, "    if (row + 1 < 3 && me < 32)\n" BARRIER, "1000"), "shared memory"},
      {SUMS(BARRIER, "    if (me < 32)\n      return;\n" BARRIER, "1000"), "come to a barrier"},
      {SUMS(BARRIER, BARRIER, "1001"), "outside of device memory"},
      {"BLOCKS(k0, 128, const places<2> p) {\n  if (threadIdx.x < 64)\n" BARRIER "  else\n" BARRIER
       "}\n",
       "different barriers"},
      {"BLOCKS(k0, 128, const places<2> p) {\n  if (threadIdx.x != 5)\n    "
       "(void)__shfl_xor_sync(~0u, 1, 1);\n}\n",
       "not all lanes of a warp"},
      {"BLOCKS(k0, 128, const places<2> p) {\n  SHARED(float, parts, 4);\n"
       "  STORE(float, p.at[1], parts[threadIdx.x % 4]);\n}\n",
       "shared memory that nothing has written"},
      {"BLOCKS(k0, 128, const places<2> p) {\n  SHARED(float, parts, 128);\n  parts[threadIdx.x + "
       "1] = 1;\n}\n",
       "leaves its shared memory"},
      {"BLOCKS(k0, 128, const places<2> p) {\n  SHARED(double, parts, 7000);\n  parts[threadIdx.x] "
       "= 1;\n}\n",
       "more than it has"}};
  bench b;
  float out[ROWS];
  ck_assert_int_eq((int)(sizeof cases / sizeof *cases), 11);
  open_bench(&b, cases[_i].text);
  FAILS(b.ctx, "INTERNAL", run(&b, 1, out));
  ck_assert_msg(strstr(fnz_last_error(b.ctx)->message, cases[_i].says) != NULL, "%s",
                fnz_last_error(b.ctx)->message);
  close_bench(&b);
}
END_TEST

/* Calls of the driver. */
START_TEST(wrong_calls_are_found) {
  bench b;
  float out[ROWS];
  open_bench(&b, SUMS(BARRIER, BARRIER, "1000"));
  switch (_i) {
  case 0:
    FAILS(b.ctx, "INTERNAL", launch(&b, 1, 64));
    break;
  case 1: /* before the kernel that reads it has run */
    OK(b.ctx, launch(&b, 1, THREADS));
    fnzi_cuda_free(&b.device, b.at[0]);
    FAILS(b.ctx, "INTERNAL", fnzi_cuda_wait(b.ctx, &b.device, b.stream));
    ck_assert_ptr_nonnull(strstr(fnz_last_error(b.ctx)->message, "given back"));
    break;
  case 2:
    OK(b.ctx, launch(&b, 1, THREADS));
    b.device.driver.module_end(b.module);
    FAILS(b.ctx, "INTERNAL", fnzi_cuda_wait(b.ctx, &b.device, b.stream));
    break;
  default:
    fnzi_cuda_stream_end(&b.device, b.stream);
    FAILS(b.ctx, "INTERNAL", run(&b, 1, out));
    break;
  }
  close_bench(&b);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("blocks");
  tcase_set_timeout(c, 300);
  tcase_add_test(c, right_ones_compute);
  ADD_OF_STANDIN(c, wrong_ones_are_found, 11);
  ADD_OF_STANDIN(c, wrong_calls_are_found, 4);
  return run_one_case("blocks", c);
}
