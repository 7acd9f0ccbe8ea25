/* checks: 5
 * values_wait_test.c - calls on values of a GPU are put on one stream, one after another: nothing
 * is copied, and only a read waits. */
#include "tests/cuda/values_lines.h"

/* The counts after the stream's work is done. */
static standin_counts counts_when_read(side *s) {
  unsigned char cells[CELLS];
  size_t bytes;
  OK(s->ctx, cells_of(s->ctx, s->tensors[0], cells, &bytes));
  return counts_now();
}

/* In place, through a view with gaps and into out=: one kernel, and no byte is copied. */
START_TEST(calls_copy_nothing) {
  static const char *const lines[] = {"add_.Scalar t0 f1.5 i1", "mul_.Tensor t4 t4",
                                      "add.out t0 t0 t5 @out", "relu t4"};
  fnz_context *ctx = open_context();
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&gpu));
  OK(ctx, step(&gpu, "slice.Tensor t0 i1 i0 i6 i2"));
  OK(ctx, step(&gpu, "zeros [4,6]"));
  for (size_t i = 0; i < 4; i++)
    for (int times = 0; times < 3; times++) {
      standin_counts before = counts_when_read(&gpu), after;
      OK(ctx, step(&gpu, lines[i]));
      after = counts_now();
      fnz_eager_release(gpu.tensors[--gpu.count]);
      if (times > 0) /* the block that programs work in has grown */
        ck_assert_uint_eq(after.waits, before.waits);
      ck_assert_msg(after.bytes_in == before.bytes_in && after.bytes_out == before.bytes_out &&
                        after.bytes_within == before.bytes_within,
                    "%s copies", lines[i]);
      after = counts_when_read(&gpu);
      ck_assert_uint_eq(after.launches + after.graphs, before.launches + before.graphs + 1);
    }
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Calls come one after another, of whatever program: only a read waits. */
START_TEST(who_reads_waits) {
  enum { CALLS = 100, EACH = 5 }; /* entered twice, and a launch */
  static const char *const lines[] = {"add_.Scalar t0 f1 i1", "mul_.Scalar t0 f0.5"};
  fnz_context *ctx = open_context();
  unsigned char cells[CELLS];
  float first, want;
  size_t bytes;
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&gpu));
  counts_when_read(&gpu);
  OK(ctx, cells_of(ctx, gpu.tensors[0], cells, &bytes));
  memcpy(&want, cells, sizeof want);
  standin_counts before = counts_now(), after;
  for (int i = 0; i < 2 * CALLS; i++) {
    if (i == CALLS)
      before = counts_now();
    OK(ctx, step(&gpu, lines[i % 2]));
    fnz_eager_release(gpu.tensors[--gpu.count]);
    want = i % 2 ? want * 0.5F : want + 1;
  }
  after = counts_now();
  ck_assert_uint_eq(after.waits, before.waits);
  ck_assert_uint_le(after.calls - before.calls, (uint64_t)EACH * CALLS + 1);
  OK(ctx, cells_of(ctx, gpu.tensors[0], cells, &bytes));
  memcpy(&first, cells, sizeof first);
  ck_assert_float_eq(first, want);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Results that are given back while kernels read and write them, in blocks that the backend cannot
 * keep all of. */
START_TEST(memory_goes_when_nobody_works_in_it) {
  fnz_context *ctx = open_context();
  unsigned char cells[CELLS];
  size_t bytes;
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&gpu));
  counts_when_read(&gpu);
  for (int round = 0; round < 8; round++) {
    const size_t had = gpu.count;
    for (int i = 0; i < 40; i++)
      OK(ctx, step(&gpu, "mul.Tensor t0 t0"));
    while (gpu.count > had)
      fnz_eager_release(gpu.tensors[--gpu.count]);
  }
  OK(ctx, cells_of(ctx, gpu.tensors[0], cells, &bytes));
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* A tensor whose strides kernels do not support is copied to a block that all programs share, which
 * grows. */
START_TEST(the_block_grows_when_nobody_works_in_it) {
  static const char *const lines[] = {"slice.Tensor t1 i0 i1 i6", "mul.Tensor t4 t4", "ones [90,6]",
                                      "slice.Tensor t6 i1 i1 i6", "mul.Tensor t7 t7"};
  fnz_context *ctx = open_context();
  unsigned char cells[CELLS];
  float third;
  size_t bytes;
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&gpu));
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    OK(ctx, step(&gpu, lines[i]));
  OK(ctx, cells_of(ctx, gpu.tensors[5], cells, &bytes));
  memcpy(&third, cells + 2 * sizeof third, sizeof third);
  ck_assert_float_eq(third, 3.5F * 3.5F);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Steps of the CPU ------------------------------------------------------------------------- */
/* The CPU's calls come between calls without a wait, on their results, and in their order. */
START_TEST(the_cpu_comes_in_its_turn) {
  static const char *const lines[] = {
      "mul_.Scalar t0 f2",   "linalg_solve_triangular t5 t4 b1 @upper",
      "add_.Tensor t0 t1",   "linalg_solve_triangular.out t5 t4 b1 @upper t4 @out",
      "mul_.Tensor t0 t1",   "index_fill_.int_Scalar t0 i0 t2 f9",
      "add_.Scalar t0 f1 i1"};
  unsigned char x[CELLS], y[CELLS];
  size_t n, m;
  fnz_context *ctx = open_context();
  side cpu, gpu;
  OK(ctx, open_side(&cpu, ctx, false));
  OK(ctx, open_side(&gpu, ctx, true));
  for (int k = 0; k < 2; k++) {
    side *s = k ? &gpu : &cpu;
    OK(ctx, give_all(s));
    OK(ctx, step(s, "unsqueeze t1 i0"));
    OK(ctx, step(s, "full [1,1] f2"));
    for (int times = 0; times < 3; times++)
      for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const size_t had = s->count;
        OK(ctx, step(s, lines[i]));
        while (s->count > had)
          fnz_eager_release(s->tensors[--s->count]);
      }
  }
  for (size_t i = 0; i < 2; i++) {
    OK(ctx, cells_of(ctx, cpu.tensors[i], x, &n));
    OK(ctx, cells_of(ctx, gpu.tensors[i], y, &m));
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(x, y, n);
  }
  close_side(&cpu);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("values_wait");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, calls_copy_nothing);
  tcase_add_test(c, who_reads_waits);
  tcase_add_test(c, memory_goes_when_nobody_works_in_it);
  tcase_add_test(c, the_block_grows_when_nobody_works_in_it);
  tcase_add_test(c, the_cpu_comes_in_its_turn);
  return run_one_case("values_wait", c);
}
