/* checks: 9
 * fourier_test.c - Fourier transforms compared with the sum that defines them, at all lengths for
 * which the plan has a method; cutting, padding, dividing and refusals; short times back again. */
#include "kernels/cpu/fourier.h"
#include "tests/help/faults.h"
#include "tests/run/variants.h"

#include <math.h>

enum { MOST = 1100, LONG = 6000 };
static double values[2 * LONG];

static fnz_handle drawn(fnz_dtype dtype, uint32_t rank, const int64_t *sizes) {
  bool pairs = dtype == FNZ_C64 || dtype == FNZ_C128;
  uint64_t state = 88172645463325252u;
  int64_t count = pairs ? 2 : 1;
  for (uint32_t d = 0; d < rank; d++)
    count *= sizes[d];
  ck_assert_int_le(count, (int64_t)(sizeof values / sizeof *values));
  for (int64_t i = 0; i < count; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    values[i] = (double)(state >> 40) / (1 << 24) - 0.5;
  }
  return CALL("_to_copy", T(tensor(pairs ? FNZ_C128 : FNZ_F64, rank, sizes, values)), D(dtype));
}

static double largest(fnz_handle a) {
  double value;
  fnz_handle most = CALL("_to_copy", T(CALL("max", T(CALL("abs", T(a))))), D(FNZ_F64));
  OK(eager.ctx, eager.backend->download(eager.backend->self, eager.ctx, most, &value));
  return value;
}

static void alike(fnz_handle a, fnz_handle b) {
  fnz_dtype dtype = look(a)->dtype;
  double most = largest(a), apart = largest(CALL("sub.Tensor", T(a), T(b)));
  double tolerance = dtype == FNZ_F32 || dtype == FNZ_C64 ? 1e-6 : 1e-13;
  ck_assert_msg(apart <= tolerance * (most > 1 ? most : 1), "%g apart of %g", apart, most);
}

/* The matrix of exp(sign 2 pi i k l / n). */
static fnz_handle matrix(int64_t n, double sign) {
  static const double turn = 6.28318530717958647692;
  static double roots[2 * MOST * MOST];
  for (int64_t k = 0; k < n; k++)
    for (int64_t l = 0; l < n; l++) {
      double angle = sign * turn * (double)(k * l % n) / (double)n;
      roots[2 * (k * n + l)] = cos(angle);
      roots[2 * (k * n + l) + 1] = sin(angle);
    }
  return tensor(FNZ_C128, 2, (int64_t[]){n, n}, roots);
}

static fnz_arg text(const char *s) {
  return (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)strlen(s), .u.s = s};
}

/* Five lines: one bunch of four and one of one; rows, and columns. */
static void compare_length(int64_t n) {
  fnz_handle there = matrix(n, -1), back = matrix(n, 1);
  fnz_handle a = drawn(FNZ_C128, 2, (int64_t[]){5, n});
  alike(CALL("mm", T(a), T(there)), CALL("fft_fft", T(a)));
  alike(CALL("div.Scalar", T(CALL("mm", T(a), T(back))), I(n)), CALL("fft_ifft", T(a)));
  fnz_handle columns = drawn(FNZ_C64, 2, (int64_t[]){n, 5});
  fnz_handle wide = CALL("mm", T(there), T(CALL("_to_copy", T(columns), D(FNZ_C128))));
  alike(CALL("fft_fft", T(columns), N, I(0)), CALL("_to_copy", T(wide), D(FNZ_C64)));
  fnz_handle real = drawn(FNZ_F64, 2, (int64_t[]){5, n});
  fnz_handle whole = CALL("mm", T(CALL("_to_copy", T(real), D(FNZ_C128))), T(there));
  alike(whole, CALL("fft_fft", T(real)));
  fnz_handle half = CALL("fft_rfft", T(real));
  alike(CALL("slice.Tensor", T(whole), I(1), I(0), I(n / 2 + 1)), half);
  alike(real, CALL("fft_irfft", T(half), I(n)));
}

START_TEST(transforms_are_the_sums_that_define_them) {
  static const int64_t more[] = {961, 1009, 1024};
  for (int64_t n = 1; n <= 130; n++) {
    open_backend(false);
    compare_length(n);
    close_backend();
  }
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    open_backend(false);
    compare_length(more[i]);
    close_backend();
  }
}
END_TEST

/* The sum for one line, in wider numbers. */
static void sum_directly(const double *x, int64_t n, double *out) {
  static long double roots[2 * LONG];
  for (int64_t k = 0; k < n; k++) {
    long double angle = -6.283185307179586476925L * (long double)k / (long double)n;
    roots[2 * k] = cosl(angle);
    roots[2 * k + 1] = sinl(angle);
  }
  for (int64_t k = 0; k < n; k++) {
    long double re = 0, im = 0;
    for (int64_t j = 0, at = 0; j < n; j++, at = (at + k) % n) {
      re += x[2 * j] * roots[2 * at] - x[2 * j + 1] * roots[2 * at + 1];
      im += x[2 * j] * roots[2 * at + 1] + x[2 * j + 1] * roots[2 * at];
    }
    out[2 * k] = (double)re;
    out[2 * k + 1] = (double)im;
  }
}

/* One line, and several lines with it among them: other methods give the same bits. */
START_TEST(long_lines_are_sums_too) {
  static const int64_t lengths[] = {1000, 1009, 2018, 4096, 6000};
  static double sums[2 * LONG];
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    int64_t n = lengths[i];
    open_backend(false);
    fnz_handle line = drawn(FNZ_C128, 1, (int64_t[]){n});
    sum_directly(values, n, sums);
    fnz_handle one = CALL("fft_fft", T(line));
    alike(tensor(FNZ_C128, 1, (int64_t[]){n}, sums), one);
    fnz_handle many = CALL("fft_fft", T(CALL("repeat", T(line), L(I(11), I(1)))));
    fnz_handle same = CALL("eq.Tensor", T(many), T(one));
    ck_assert_double_eq(largest(CALL("_to_copy", T(CALL("logical_not", T(same))), D(FNZ_F64))), 0);
    alike(line, CALL("fft_ifft", T(one)));
    close_backend();
  }
}
END_TEST

/* One pass, or one product with numbers, over the drawn points. */
enum { PASSED = 8 * 5 * 24, TIMES = 0 };
static void pass_points(const fnzi_cpu_fft_passes *passes, int radix, int64_t places, int64_t run,
                        double (*out)[PASSED]) {
  fnzi_cpu_fft_block from = {values, values + PASSED}, to = {out[0], out[1]};
  const double *roots = values + 2 * PASSED;
  if (radix == TIMES) {
    passes->times(roots, places, run, from, to);
    return;
  }
  fnzi_cpu_fft_pass pass = {places, run, {roots, 1}, radix, places};
  if (radix <= 5 || radix == 8)
    passes->by_radix[radix](&pass, from, to);
  else
    passes->by_any(&pass, from, to);
}

/* Runs of whole vectors of each set, and shorter ones. */
START_TEST(passes_are_alike_in_all_sets) {
  static double want[2][PASSED], have[2][PASSED];
  static const int64_t runs[] = {1, 3, 8, 16, 24};
  open_backend(false);
  (void)drawn(FNZ_C128, 1, (int64_t[]){LONG});
  close_backend();
  for (int isa = 1; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (int radix = TIMES; radix <= 8; radix++)
      for (int64_t places = 1; radix != 1 && radix != 6 && places <= 5; places++)
        for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
          pass_points(fnzi_cpu_fft_passes_for(FNZI_ISA_BASE), radix, places, runs[r], want);
          pass_points(fnzi_cpu_fft_passes_for((fnzi_krn_isa)isa), radix, places, runs[r], have);
          ck_assert_msg(memcmp(want, have, sizeof want) == 0, "radix %d, %lld places, runs of %lld",
                        radix, (long long)places, (long long)runs[r]);
        }
}
END_TEST

/* Neither the order of dimensions in memory nor views change a number. */
START_TEST(strides_change_no_bit) {
  open_backend(false);
  fnz_handle a = drawn(FNZ_C64, 3, (int64_t[]){6, 7, 10});
  fnz_handle turned =
      CALL("permute", T(CALL("contiguous", T(CALL("permute", T(a), L(I(2), I(0), I(1)))))),
           L(I(1), I(2), I(0)));
  fnz_handle part = CALL("slice.Tensor", T(a), I(2), I(1), I(10), I(2));
  for (int64_t dim = 0; dim < 3; dim++)
    for (int64_t way = 0; way < 3; way++) {
      const fnz_arg dims = L(I(dim), I((dim + 1) % 3));
      fnz_handle same = CALL("eq.Tensor", T(CALL("_fft_c2c", T(a), dims, I(way), B(true))),
                             T(CALL("_fft_c2c", T(turned), dims, I(way), B(true))));
      ck_assert_double_eq(largest(CALL("_to_copy", T(CALL("logical_not", T(same))), D(FNZ_F64))),
                          0);
      same = CALL("eq.Tensor", T(CALL("fft_fft", T(part), N, I(dim))),
                  T(CALL("fft_fft", T(CALL("clone", T(part))), N, I(dim))));
      ck_assert_double_eq(largest(CALL("_to_copy", T(CALL("logical_not", T(same))), D(FNZ_F64))),
                          0);
    }
  close_backend();
}
END_TEST

START_TEST(dimensions_come_one_after_the_other) {
  open_backend(false);
  fnz_handle real = drawn(FNZ_F64, 3, (int64_t[]){4, 5, 6});
  fnz_handle a = CALL("fft_fft", T(CALL("fft_fft", T(real), N, I(0))), N, I(2));
  alike(a, CALL("fft_fftn", T(real), N, L(I(0), I(-1))));
  alike(a, CALL("_fft_r2c", T(real), L(I(0), I(2)), I(0), B(false)));
  fnz_handle half = CALL("fft_rfftn", T(real), N, L(I(0), I(2)));
  alike(CALL("slice.Tensor", T(a), I(2), I(0), I(4)), half);
  alike(real, CALL("fft_irfftn", T(half), L(I(4), I(6)), L(I(0), I(2))));
  alike(CALL("fft_fft2", T(real)), CALL("fft_fftn", T(real), N, L(I(1), I(2))));
  a = CALL("constant_pad_nd", T(CALL("slice.Tensor", T(real), I(1), I(0), I(3))), L(I(0), I(4)));
  alike(CALL("fft_fft2", T(a)), CALL("fft_fft2", T(real), L(I(3), I(10))));
  alike(CALL("div.Scalar", T(CALL("fft_fft", T(real))), F(sqrt(6))),
        CALL("fft_fft", T(real), N, I(-1), text("ortho")));
  alike(CALL("div.Scalar", T(CALL("fft_fft", T(real))), I(6)),
        CALL("fft_fft", T(real), N, I(-1), text("forward")));
  close_backend();
}
END_TEST

/* Transformed dimensions last, the others by their strides: as eager has them. */
START_TEST(strides_are_those_of_eager) {
  open_backend(true);
  fnz_handle a = CALL("zeros", L(I(4), I(5), I(6)), D(FNZ_C64));
  ck_assert_str_eq(shape(CALL("fft_fft", T(a))), "c64 [4 5 6] [30 6 1] 0");
  ck_assert_str_eq(shape(CALL("fft_fft", T(a), N, I(0))), "c64 [4 5 6] [1 24 4] 0");
  ck_assert_str_eq(shape(CALL("fft_fftn", T(a), N, L(I(2), I(0)))), "c64 [4 5 6] [6 24 1] 0");
  ck_assert_str_eq(shape(CALL("fft_irfft", T(a), N, I(1))), "f32 [4 8 6] [48 1 8] 0");
  fnz_handle turned = CALL("permute", T(a), L(I(2), I(0), I(1)));
  ck_assert_str_eq(shape(CALL("fft_fft", T(turned))), "c64 [6 4 5] [5 30 1] 0");
  close_backend();
}
END_TEST

START_TEST(short_times_come_back) {
  open_backend(false);
  fnz_handle a = drawn(FNZ_F64, 2, (int64_t[]){2, 100}), window = CALL("hann_window", I(24));
  window = CALL("_to_copy", T(window), D(FNZ_F64));
  fnz_handle s = CALL("stft", T(a), I(24), I(6), N, T(window), B(false), N, B(true));
  ck_assert_str_eq(shape(s), "c128 [2 13 13] [169 1 13] 0");
  fnz_handle first =
      CALL("mul.Tensor", T(CALL("slice.Tensor", T(a), I(1), I(0), I(24))), T(window));
  alike(CALL("fft_rfft", T(first)), CALL("select.int", T(s), I(2), I(0)));
  fnz_handle back = CALL("istft", T(s), I(24), I(6), N, T(window));
  alike(CALL("slice.Tensor", T(a), I(1), I(12), I(84)), back);
  close_backend();
}
END_TEST

static const char *said(void) {
  return fnz_last_error(eager.ctx)->message;
}

START_TEST(refusals_say_what_to_do) {
  open_backend(false);
  fnz_handle a = drawn(FNZ_F32, 2, (int64_t[]){3, 8});
  fnz_handle half = CALL("_to_copy", T(a), D(FNZ_F16)), none = CALL("zeros", L(I(0)));
  REFUSED("TYPE", "fft_fft", T(half));
  ck_assert_str_eq(said(), "fft_fft: self is f16; on a CPU it must be f32, f64, c64 or c128");
  REFUSED("ARGUMENT", "fft_fft", T(a), N, I(-1), text("all"));
  ck_assert_str_eq(said(), "fft_fft: norm is all; it must be forward, backward or ortho");
  REFUSED("BOUNDS", "fft_fft", T(a), N, I(2));
  ck_assert_str_eq(said(), "fft_fft: dim has 2; self has 2 dimensions");
  REFUSED("BOUNDS", "fft_fft", T(none));
  REFUSED("BOUNDS", "fft_fftn", T(a), L(I(2)), L(I(0), I(1)));
  REFUSED("BOUNDS", "fft_fft", T(a), I(0));
  REFUSED("BOUNDS", "stft", T(a), I(9), N, N, N, B(false), N, B(true));
  REFUSED("ARGUMENT", "stft", T(a), I(4));
  fnz_handle frames = CALL("stft", T(a), I(4), N, N, N, B(false), N, B(true));
  fnz_handle gaps = CALL("zeros", L(I(4)));
  REFUSED("ARGUMENT", "istft", T(frames), I(4), N, N, T(gaps));
  close_backend();
}
END_TEST

/* --- Without memory ----------------------------------------------------------------------- */
static fnz_status without_memory(fnz_context *ctx, const void *user) {
  static const float numbers[37] = {3, 1, 1, 3};
  static const int64_t sizes[] = {37}, strides[] = {1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};
  fnz_arg a = {.tag = FNZ_ARG_VALUE};
  fnz_backend *cpu = NULL;
  size_t count;
  fnz_handle out;
  (void)user;
  FNZ_TRY(fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = cpu->upload(cpu->self, ctx, &g, numbers, &a.u.value);
  if (status == FNZ_OK) {
    const fnz_request request = {fnz_op_find(NULL, "fft_ifft"), &a, 1, NULL, ""};
    status = cpu->apply(cpu->self, ctx, &request, &out, 1, &count);
    if (status == FNZ_OK)
      cpu->release(cpu->self, out);
    cpu->release(cpu->self, a.u.value);
  }
  fnz_backend_destroy(cpu);
  return status;
}

START_TEST(every_step_may_lack_memory) {
  ck_assert_uint_gt(each_fault(without_memory, NULL), 5);
}
END_TEST

RUN_SUITE("fourier", transforms_are_the_sums_that_define_them, long_lines_are_sums_too,
          passes_are_alike_in_all_sets, strides_change_no_bit, dimensions_come_one_after_the_other,
          strides_are_those_of_eager, short_times_come_back, refusals_say_what_to_do,
          every_step_may_lack_memory)
