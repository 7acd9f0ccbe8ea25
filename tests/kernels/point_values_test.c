/* checks: 1
 * point_values_test.c - pointwise operators against the values of fixtures/point/values.txt, which
 * scripts/make_point_fixture.py got from PyTorch 2.15 on a CPU. */
#include "tests/kernels/kernels_nn.h"

#include <float.h>
#include <stdio.h>

enum { MOST_ARGS = 4, MOST_NUMBERS = 256, LINE = 16384 };

typedef struct tensor_text {
  double values[MOST_NUMBERS];
  int64_t count;
} tensor_text;

/* The numbers up to "]". */
static void read_tensor(tensor_text *out) {
  out->count = 0;
  for (char *word; (word = strtok(NULL, " \n")) && strcmp(word, "]") != 0;) {
    ck_assert_int_lt(out->count, MOST_NUMBERS);
    out->values[out->count++] = strtod(word, NULL);
  }
}

static fnz_arg tensor_of(fnz_dtype dtype, const tensor_text *t) {
  char cells[MOST_NUMBERS * 8];
  bool pairs = fnzi_is_complex(dtype);
  int64_t size = pairs ? t->count / 2 : t->count, stride = 1;
  const fnz_geometry g = {.dtype = dtype, .rank = 1, .sizes = &size, .strides = &stride};
  fnzi_krn_convert(&(fnzi_krn_conversion){dtype, pairs ? FNZ_C128 : FNZ_F64,
                                          (int64_t)fnzi_dtype(dtype)->bytes, pairs ? 16 : 8},
                   cells, t->values, size);
  OK(ctx, cpu->upload(cpu->self, ctx, &g, cells, &made[nmade]));
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
}

static fnz_arg read_arg(fnz_dtype dtype, char *word) {
  tensor_text t;
  switch (*word) {
  case '[':
    read_tensor(&t);
    return tensor_of(dtype, &t);
  case 's':
    return (fnz_arg){.tag = FNZ_ARG_STRING, .u.s = word + 2};
  case 'd':
    return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = strtod(word + 1, NULL)};
  default:
    return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = strtoll(word + 1, NULL, 10)};
  }
}

/* One unit in the last place of a number of this size. */
static double unit(fnz_dtype dtype, double size) {
  bool is_double = dtype == FNZ_F64 || dtype == FNZ_C128;
  int exponent;
  frexp(size, &exponent);
  return ldexp(1, exponent - (is_double ? DBL_MANT_DIG : FLT_MANT_DIG));
}

static bool is_near(double have, double want, double allowed) {
  if (want != want || isinf(want))
    return want != want ? have != have : have == want;
  return fabs(have - want) <= allowed;
}

/* Parts of a complex number are measured by its size. Says the first number that is off. */
static bool compare(const char *op, fnz_dtype dtype, double ulps, const tensor_text *want) {
  double have[MOST_NUMBERS];
  char cells[MOST_NUMBERS * 8];
  const fnz_geometry *g = cpu->geometry(cpu->self, outs[0]);
  bool pairs = fnzi_is_complex(g->dtype);
  int64_t count = fnz_geometry_numel(g), width = pairs ? 2 : 1;
  ck_assert_msg(count * width == want->count, "%s: %lld numbers", op, (long long)want->count);
  OK(ctx, cpu->download(cpu->self, ctx, outs[0], cells));
  fnzi_krn_convert(&(fnzi_krn_conversion){pairs ? FNZ_C128 : FNZ_F64, g->dtype, pairs ? 16 : 8,
                                          (int64_t)fnzi_dtype(g->dtype)->bytes},
                   have, cells, count);
  for (int64_t i = 0; i < want->count; i++) {
    const double *pair = &want->values[i - i % width];
    double size = pairs ? hypot(pair[0], pair[1]) : fabs(want->values[i]);
    double allowed = isfinite(size) ? ulps * unit(dtype, size) : 0;
    if (is_near(have[i], want->values[i], allowed))
      continue;
    fprintf(stderr, "%s of %s: number %lld is %a, eager has %a: %g units\n", op,
            fnzi_dtype(dtype)->name, (long long)i, have[i], want->values[i],
            fabs(have[i] - want->values[i]) / unit(dtype, size));
    return false;
  }
  return true;
}

static bool check_line(char *line) {
  fnz_arg args[MOST_ARGS];
  tensor_text want;
  size_t nargs = 0;
  fnz_dtype dtype = FNZ_DTYPE_COUNT;
  const char *op = strtok(line, " "), *name = strtok(NULL, " ");
  double ulps = strtod(strtok(NULL, " "), NULL);
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++)
    if (strcmp(fnzi_dtype((fnz_dtype)d)->name, name) == 0)
      dtype = (fnz_dtype)d;
  start(1);
  for (char *word; (word = strtok(NULL, " \n")) && strcmp(word, "=") != 0;) {
    ck_assert_uint_lt(nargs, MOST_ARGS);
    args[nargs++] = read_arg(dtype, word);
  }
  ck_assert_str_eq(strtok(NULL, " \n"), "[");
  read_tensor(&want);
  OK(ctx, apply(op, args, nargs));
  bool is_same = compare(op, dtype, ulps, &want);
  finish();
  return is_same;
}

START_TEST(values_are_eagers) {
  static char line[LINE];
  size_t lines = 0, wrong = 0;
  FILE *f = fopen(FNZ_SOURCE_DIR "/fixtures/point/values.txt", "r");
  ck_assert_ptr_nonnull(f);
  for (; fgets(line, LINE, f); lines++)
    wrong += !check_line(line);
  fclose(f);
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_eq(lines, 150);
}
END_TEST

RUN_SUITE("point values", values_are_eagers)
