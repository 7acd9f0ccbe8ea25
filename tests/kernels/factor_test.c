/* checks: 7
 * factor_test.c - matrices factored and solved: factors multiply back to the matrix, in every type
 * and for larger ones, and refusals. fixtures/made has PyTorch's results. */
#include "tests/help/faults.h"
#include "tests/run/variants.h"

#include <math.h>

static const fnz_dtype dtypes[] = {FNZ_F32, FNZ_F64, FNZ_C64, FNZ_C128};

/* A matrix with an inverse; complex ones are not real. */
static fnz_handle matrix(fnz_dtype dtype, int64_t rows, int64_t columns) {
  bool pairs = dtype == FNZ_C64 || dtype == FNZ_C128;
  static double values[2 * 150 * 150];
  uint64_t state = 88172645463325252u;
  for (int64_t i = 0; i < (pairs ? 2 : 1) * rows * columns; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    values[i] = (double)(state >> 40) / (1 << 24) - 0.5;
  }
  for (int64_t i = 0; i < rows && i < columns; i++)
    values[(pairs ? 2 : 1) * (i * columns + i)] += (double)columns / 4;
  return CALL("_to_copy",
              T(tensor(pairs ? FNZ_C128 : FNZ_F64, 2, (int64_t[]){rows, columns}, values)),
              D(dtype));
}

static fnz_handle turned(fnz_handle a) {
  return CALL("_conj_physical", T(CALL("transpose.int", T(a), I(-2), I(-1))));
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
  double tolerance = dtype == FNZ_F32 || dtype == FNZ_C64 ? 2e-5 : 1e-12;
  ck_assert_msg(apart <= tolerance * (most > 1 ? most : 1), "%g apart of %g", apart, most);
}

static fnz_handle unit(fnz_handle a) {
  return CALL("eye", I(look(a)->sizes[0]), D(look(a)->dtype));
}

START_TEST(factors_multiply_to_the_matrix) {
  fnz_handle out[4], plu[3], a, p;
  size_t count;
  open_backend(false);
  for (size_t k = 0; k < 4; k++)
    for (int64_t rows = 1; rows <= 150; rows = rows * 5 + 2) {
      int64_t columns = rows < 100 ? rows + 3 : 70;
      a = matrix(dtypes[k], rows, columns);
      MANY("linalg_lu", plu, 3, &count, T(a));
      alike(a, CALL("mm", T(CALL("mm", T(plu[0]), T(plu[1]))), T(plu[2])));
      MANY("linalg_qr", out, 2, &count, T(a), (fnz_arg){.tag = FNZ_ARG_STRING, .u.s = "complete"});
      alike(a, CALL("mm", T(out[0]), T(out[1])));
      alike(unit(out[0]), CALL("mm", T(turned(out[0])), T(out[0])));
      p = CALL("mm", T(a), T(turned(a)));
      MANY("linalg_cholesky_ex", out, 2, &count, T(p), B(false));
      alike(p, CALL("mm", T(out[0]), T(turned(out[0]))));
      MANY("linalg_cholesky_ex", out, 2, &count, T(p), B(true));
      alike(p, CALL("mm", T(turned(out[0])), T(out[0])));
    }
  close_backend();
}
END_TEST

/* Their vectors have one sign or the other. */
START_TEST(spectra_multiply_to_the_matrix) {
  fnz_handle out[3], a, p;
  size_t count;
  open_backend(false);
  for (size_t k = 0; k < 4; k++)
    for (int64_t rows = 1; rows <= 130; rows = rows * 4 + 3) {
      a = matrix(dtypes[k], rows, rows < 100 ? rows + 3 : 70);
      MANY("_linalg_svd", out, 3, &count, T(a), B(false), B(true));
      alike(a, CALL("mm", T(CALL("mul.Tensor", T(out[0]), T(out[1]))), T(out[2])));
      alike(CALL("linalg_svdvals", T(a)), out[1]);
      MANY("linalg_svd", out, 3, &count, T(a), B(true));
      alike(unit(out[0]), CALL("mm", T(turned(out[0])), T(out[0])));
      alike(unit(out[2]), CALL("mm", T(out[2]), T(turned(out[2]))));
      alike(a, CALL("mm", T(CALL("mm", T(a), T(CALL("linalg_pinv", T(a), F(1e-6))))), T(a)));
      p = CALL("mm", T(a), T(turned(a)));
      for (int upper = 0; upper < 2; upper++) {
        MANY("linalg_eigh", out, 2, &count, T(p),
             (fnz_arg){.tag = FNZ_ARG_STRING, .u.s = upper ? "U" : "L"});
        alike(p, CALL("mm", T(CALL("mul.Tensor", T(out[1]), T(out[0]))), T(turned(out[1]))));
        alike(unit(p), CALL("mm", T(turned(out[1])), T(out[1])));
      }
    }
  close_backend();
}
END_TEST

/* Small ones, and ones that are solved by blocks. */
START_TEST(solutions_solve) {
  open_backend(false);
  for (size_t i = 0; i < 8; i++) {
    size_t k = i / 2, count;
    int64_t rows = i % 2 ? 150 : 20;
    fnz_handle a = matrix(dtypes[k], rows, rows), b = matrix(dtypes[k], rows, rows / 2 - 3), x,
               f[3];
    x = CALL("linalg_solve", T(a), T(b));
    alike(b, CALL("mm", T(a), T(x)));
    x = CALL("linalg_solve", T(a), T(turned(b)), B(false));
    alike(turned(b), CALL("mm", T(x), T(a)));
    alike(unit(a), CALL("mm", T(CALL("inverse", T(a))), T(a)));
    MANY("linalg_lu_factor_ex", f, 3, &count, T(a));
    x = CALL("linalg_lu_solve", T(f[0]), T(f[1]), T(b), B(true), B(true));
    alike(b, CALL("mm", T(turned(a)), T(x)));
    x = CALL("linalg_lu_solve", T(f[0]), T(f[1]), T(turned(b)), B(false), B(true));
    alike(turned(b), CALL("mm", T(x), T(turned(a))));
    fnz_handle small = CALL("mul.Scalar", T(a), F(2.0 / (double)rows));
    x = CALL("matrix_exp", T(small));
    alike(unit(a), CALL("mm", T(x), T(CALL("matrix_exp", T(CALL("neg", T(small)))))));
  }
  close_backend();
}
END_TEST

/* A window has the same bits as its copy, though PyTorch factors the two otherwise. */
START_TEST(bits_do_not_depend_on_strides) {
  static const char *const ops[] = {
      "det",       "linalg_det",         "logdet", "inverse", "linalg_cholesky_ex",
      "linalg_qr", "linalg_lu_factor_ex"};
  open_backend(false);
  fnz_handle wide = matrix(FNZ_F32, 12, 12);
  fnz_handle window = CALL("slice.Tensor", T(wide), I(1), I(2), I(11));
  window = CALL("slice.Tensor", T(window), I(0), I(2), I(11));
  fnz_handle copy = CALL("clone", T(window), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    ck_assert(largest(CALL("sub.Tensor", T(CALL(ops[i], T(window))), T(CALL(ops[i], T(copy))))) ==
              0);
  close_backend();
}
END_TEST

START_TEST(shapes_of_nothing) {
  open_backend(true);
  fnz_handle none = CALL("zeros", L(I(2), I(0), I(3))), out[3];
  size_t count;
  MANY("linalg_qr", out, 2, &count, T(none), (fnz_arg){.tag = FNZ_ARG_STRING, .u.s = "complete"});
  ck_assert_str_eq(shape(out[0]), "f32 [2 0 0] [1 1 1] 0");
  ck_assert_str_eq(shape(out[1]), "f32 [2 0 3] [3 1 1] 0");
  MANY("linalg_lu_factor_ex", out, 3, &count, T(none));
  ck_assert_str_eq(shape(out[1]), "i32 [2 0] [1 1] 0");
  ck_assert_str_eq(shape(out[2]), "i32 [2] [1] 0");
  close_backend();
}
END_TEST

static const char *said(void) {
  return fnz_last_error(eager.ctx)->message;
}

START_TEST(refusals_say_what_to_do) {
  open_backend(false);
  fnz_handle square = matrix(FNZ_F32, 3, 3), wide = matrix(FNZ_F32, 2, 3);
  fnz_handle zero = CALL("zeros", L(I(2), I(2))), whole = CALL("_to_copy", T(square), D(FNZ_I64));
  REFUSED("BOUNDS", "linalg_cholesky_ex", T(wide));
  ck_assert_str_eq(said(), "linalg_cholesky_ex: self is of 2 by 3; it must be square");
  REFUSED("TYPE", "linalg_qr", T(whole));
  ck_assert_str_eq(said(), "linalg_qr: A is i64; it must be f32, f64, c64 or c128");
  REFUSED("ARGUMENT", "linalg_inv", T(zero));
  ck_assert_str_eq(said(), "linalg_inv: matrix 0 is singular: LAPACK stops at column 1");
  REFUSED("ARGUMENT", "linalg_lu_factor_ex", T(zero), B(true), B(true));
  REFUSED("ARGUMENT", "linalg_cholesky", T(zero));
  REFUSED("UNSUPPORTED", "linalg_lu_factor_ex", T(zero), B(false));
  REFUSED("BOUNDS", "linalg_solve", T(square), T(wide));
  ck_assert_str_eq(said(),
                   "linalg_solve: matrices of 3 by 3 do not go with 2 rows on the other side");
  REFUSED("ARGUMENT", "linalg_qr", T(wide), (fnz_arg){.tag = FNZ_ARG_STRING, .u.s = "q"});
  fnz_handle pivots = CALL("_to_copy", T(VECTOR(1, 4, 1)), D(FNZ_I32));
  REFUSED("BOUNDS", "linalg_lu_solve", T(square), T(pivots), T(square));
  ck_assert_str_eq(said(), "linalg_lu_solve: pivot 4 is not a row of 3, counted from 1");
  REFUSED("BOUNDS", "lu_unpack", T(square), T(pivots));
  REFUSED("TYPE", "linalg_solve", T(square), T(matrix(FNZ_F64, 3, 3)));
  const double odd[] = {NAN, INFINITY};
  for (int i = 0; i < 2; i++) {
    fnz_handle none = CALL("full", L(I(5), I(5)), F(odd[i]));
    REFUSED("ARGUMENT", "linalg_svdvals", T(none));
    REFUSED("ARGUMENT", "linalg_svd", T(none));
    REFUSED("ARGUMENT", "linalg_eigh", T(none));
  }
  close_backend();
}
END_TEST

/* --- Without memory ----------------------------------------------------------------------- */
static fnz_status each_op(fnz_context *ctx, fnz_backend *cpu, fnz_arg a) {
  static const char *const ops[] = {"linalg_qr",       "linalg_inv", "_linalg_slogdet",
                                    "linalg_cholesky", "linalg_lu",  "matrix_exp"};
  fnz_handle out[4];
  size_t count;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    const fnz_request request = {fnz_op_find(NULL, ops[i]), &a, 1, NULL, ""};
    FNZ_TRY(cpu->apply(cpu->self, ctx, &request, out, 4, &count));
    for (size_t k = 0; k < count; k++)
      cpu->release(cpu->self, out[k]);
  }
  return FNZ_OK;
}

static fnz_status without_memory(fnz_context *ctx, const void *user) {
  static const float values[] = {3, 1, 1, 3};
  static const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  fnz_arg a = {.tag = FNZ_ARG_VALUE};
  fnz_backend *cpu = NULL;
  (void)user;
  FNZ_TRY(fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = cpu->upload(cpu->self, ctx, &g, values, &a.u.value);
  if (status == FNZ_OK) {
    status = each_op(ctx, cpu, a);
    cpu->release(cpu->self, a.u.value);
  }
  fnz_backend_destroy(cpu);
  return status;
}

START_TEST(every_step_may_lack_memory) {
  ck_assert_uint_gt(each_fault(without_memory, NULL), 50);
}
END_TEST

RUN_SUITE("factor", factors_multiply_to_the_matrix, spectra_multiply_to_the_matrix, solutions_solve,
          bits_do_not_depend_on_strides, shapes_of_nothing, refusals_say_what_to_do,
          every_step_may_lack_memory)
