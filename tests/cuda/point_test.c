/* checks: 2
 * point_test.c - the GPU has what the CPU has: every row of every class, with the same operands and
 * results. Nothing is launched, so no GPU is needed. */
#include "tests/test.h"

#include "kernels/cpu/point.h"
#include "kernels/cuda/cuda.h"

/* The number of rows; the two tables name the same ones in the same order. */
static size_t compare(const fnzi_cpu_point *cpu, const fnzi_cuda_point *cuda) {
  size_t i = 0;
  for (; cpu[i].name && cuda[i].name; i++) {
    ck_assert_str_eq(cpu[i].name, cuda[i].name);
    ck_assert_msg(cpu[i].arity == cuda[i].arity && cpu[i].out == cuda[i].out, "%s", cpu[i].name);
    ck_assert_msg(cuda[i].run != NULL, "%s: no launch", cuda[i].name);
    ck_assert_msg((cuda[i].on_self != NULL) == (cuda[i].arity == 2), "%s: self", cuda[i].name);
    ck_assert_msg((cuda[i].on_other != NULL) == (cuda[i].arity == 2), "%s: other", cuda[i].name);
  }
  ck_assert_ptr_null(cpu[i].name);
  ck_assert_ptr_null(cuda[i].name);
  return i;
}

START_TEST(every_row_of_every_class) {
  ck_assert_uint_gt(compare(fnzi_cpu_points_i64, fnzi_cuda_points_i64), 50);
  ck_assert_uint_gt(compare(fnzi_cpu_points_f32, fnzi_cuda_points_f32), 100);
  ck_assert_uint_eq(compare(fnzi_cpu_points_f64, fnzi_cuda_points_f64),
                    compare(fnzi_cpu_points_f32, fnzi_cuda_points_f32));
  ck_assert_uint_gt(compare(fnzi_cpu_points_c64, fnzi_cuda_points_c64), 50);
  ck_assert_uint_eq(compare(fnzi_cpu_points_c128, fnzi_cuda_points_c128),
                    compare(fnzi_cpu_points_c64, fnzi_cuda_points_c64));
}
END_TEST

static size_t compare_rest(const fnzi_cpu_rest *cpu, const fnzi_cuda_point *cuda) {
  size_t i = 0;
  for (; cpu[i].name && cuda[i].name; i++) {
    ck_assert_str_eq(cpu[i].name, cuda[i].name);
    ck_assert_ptr_nonnull(cuda[i].run);
  }
  ck_assert_ptr_null(cpu[i].name);
  ck_assert_ptr_null(cuda[i].name);
  return i;
}

START_TEST(every_row_of_the_16_bit_floats) {
  size_t half = compare_rest(fnzi_cpu_rest_f16, fnzi_cuda_points_f16);
  ck_assert_uint_gt(half, 5);
  ck_assert_uint_gt(compare_rest(fnzi_cpu_rest_bf16, fnzi_cuda_points_bf16), half);
}
END_TEST

RUN_SUITE("cuda point", every_row_of_every_class, every_row_of_the_16_bit_floats)
