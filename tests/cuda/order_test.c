/* checks: 2
 * order_test.c - sorts on a GPU have the CPU's bits, by the stand-in for one: rows of one element
 * to several tiles, along any dimension, with equal elements and NaN among them, whose places are
 * the CPU's as well. */
#include "kernels/core/core.h"
#include "soak/programs.h"
#include "tests/cuda/help.h"

#include <math.h>
#include <stdarg.h>

enum { PROGRAMS = 12 };

static uint64_t seed = 3;

static int draw(int below) {
  return (int)(splitmix64(&seed) % (unsigned)below);
}

typedef struct text {
  char of[4096];
  size_t size;
} text;

static void put(text *t, const char *format, ...) FNZI_PRINTF(2, 3);
static void put(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  t->size += (size_t)vsnprintf(t->of + t->size, sizeof t->of - t->size, format, args);
  va_end(args);
  ck_assert(t->size < sizeof t->of);
}

/* --- Programs --------------------------------------------------------------------------------- */
typedef struct shape {
  int sizes[3], dim; /* of them; the input lies with its first and last dimension exchanged */
  const char *dtype;
} shape;

static void put_type(text *t, const char *dtype, const shape *s, int size) {
  put(t, "%s[", dtype);
  for (int d = 0; d < 3; d++)
    if (d != s->dim)
      put(t, "%d%s", s->sizes[d], d < 2 ? ", " : "]");
    else if (size)
      put(t, "%d%s", size, d < 2 ? ", " : "]");
    else if (d == 2) /* the dimension is gone */
      t->size -= 2, put(t, "]");
}

/* A result of elements and one of places. */
static void put_results(text *t, const shape *s, int k, int size) {
  put(t, "  %%y%d: ", k);
  put_type(t, s->dtype, s, size);
  put(t, ", %%i%d: ", k);
  put_type(t, "i64", s, size);
}

static void put_program(text *t, const shape *s) {
  int length = s->sizes[s->dim], k = 1 + draw(draw(2) ? length : length / 64 + 1);
  const shape *x = s;
  t->size = 0;
  put(t, "fnz 1\nprogram(%%x: %s[%d, %d, %d])\n{\n  %%v: ", s->dtype, s->sizes[2], s->sizes[1],
      s->sizes[0]);
  put_type(t, s->dtype, x, length);
  put(t, " = permute(%%x, [2, 1, 0])\n");
  put_results(t, s, 0, length);
  put(t, " = sort(%%v, %d, %s)\n", s->dim, draw(2) ? "True" : "False");
  put_results(t, s, 1, k);
  put(t, " = topk(%%v, %d, %d, %s, %s)\n", k, s->dim, draw(2) ? "True" : "False",
      draw(3) ? "True" : "False");
  put_results(t, s, 2, 0);
  put(t, " = kthvalue(%%v, %d, %d)\n", k, s->dim);
  put_results(t, s, 3, 0);
  put(t, " = median.dim(%%v, %d)\n", s->dim);
  put_results(t, s, 4, 0);
  put(t, " = nanmedian.dim(%%v, %d)\n", s->dim);
  put_results(t, s, 5, 0);
  put(t, " = mode(%%v, %d)\n  %%a: ", s->dim);
  put_type(t, "i64", s, length);
  put(t,
      " = argsort(%%v, %d)\n  %%m: %s[] = median(%%v)\n  %%n: %s[] = nanmedian(%%v)\n"
      "  return %%a, %%m, %%n",
      s->dim, s->dtype, s->dtype);
  for (int i = 0; i < 6; i++)
    put(t, ", %%y%d, %%i%d", i, i);
  put(t, "\n}\n");
}

/* --- Elements --------------------------------------------------------------------------------- */
/* Few different ones in some places, of floats NaN and both zeros, too. */
static void fill(const fnz_array *x) {
  static const double numbers[] = {0, -0.0, 1, -1, 2, -0.5, INFINITY, -INFINITY};
  size_t cell = fnz_dtype_get_info(x->dtype)->bytes;
  const fnz_arg nan = {.tag = FNZ_ARG_FLOAT, .u.f = NAN};
  for (size_t i = 0; i < x->bytes / cell; i++) {
    fnz_arg number = {.tag = FNZ_ARG_FLOAT, .u.f = numbers[draw(8)]};
    unsigned char *at = (unsigned char *)x->data + i * cell;
    if (draw(3) == 0)
      continue;
    if (!fnzi_is_float(x->dtype)) /* equal ones */
      memset(at, draw(2) ? 0 : 1, cell);
    else
      fnzi_krn_number_cell(draw(20) ? &number : &nan, x->dtype, at);
  }
}

static fnz_arrays *run_on(fnz_context *ctx, const fnz_program *p, const char *device,
                          const fnz_arrays *inputs) {
  fnz_executable *exe;
  fnz_arrays *out;
  OK(ctx, compile(ctx, p, device, &exe));
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, out));
  fnz_executable_destroy(exe);
  return out;
}

static uint64_t bytes_of(const fnz_arrays *arrays) {
  uint64_t sum = 16;
  for (size_t k = 0; k < fnz_arrays_count(arrays); k++)
    sum += fnz_arrays_at(arrays, k)->bytes + 16;
  return sum;
}

/* All on the device: only inputs and outputs are copied. */
static void try_shape(fnz_context *ctx, const shape *s) {
  static text t;
  fnz_program *traced;
  fnz_arrays *inputs, *want, *got;
  put_program(&t, s);
  fnz_status status = fnz_program_read(ctx, t.of, t.size, FNZ_FORMAT_TEXT, &traced);
  ck_assert_msg(status == FNZ_OK, "%s\n%s", fnz_last_error(ctx)->message, t.of);
  fnz_program *p = functional_of(ctx, traced);
  OK(ctx, fnzi_random_inputs(ctx, p, splitmix64(&seed), &inputs));
  fill(fnz_arrays_at(inputs, 0));
  want = run_on(ctx, p, "cpu", inputs);
  standin_counts before = counts_now();
  got = run_on(ctx, p, "cuda", inputs);
  standin_counts after = counts_now();
  ck_assert_uint_le(after.bytes_out - before.bytes_out, bytes_of(got));
  for (size_t k = 0; k < fnz_arrays_count(want); k++)
    ck_assert_msg(memcmp(fnz_arrays_at(got, k)->data, fnz_arrays_at(want, k)->data,
                         fnz_arrays_at(want, k)->bytes) == 0,
                  "output %zu\n%s", k, t.of);
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(got);
  fnz_program_destroy(p);
}

START_TEST(sorted_rows_have_the_cpus_bits) {
  static const int lengths[] = {1, 2, 3, 17, 64, 500, 1023, 1024, 1025, 2049, 3000, 5003};
  static const char *const types[] = {"f32", "bf16", "i64", "f64", "f16", "i32", "i8", "u8"};
  fnz_context *ctx = open_context();
  for (int i = 0; i < PROGRAMS; i++) {
    shape s = {.dim = draw(3), .dtype = types[i % 8]};
    for (int d = 0; d < 3; d++)
      s.sizes[d] = 1 + draw(4);
    s.sizes[s.dim] = lengths[draw(12)];
    try_shape(ctx, &s);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Many short rows: a block takes several. */
START_TEST(many_rows_are_sorted) {
  static const int lengths[] = {1, 3, 8, 31};
  fnz_context *ctx = open_context();
  for (int i = 0; i < 4; i++) {
    shape s = {.sizes = {70, 3, 40}, .dim = 1, .dtype = i % 2 ? "f32" : "i16"};
    s.sizes[1] = lengths[i];
    try_shape(ctx, &s);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("order");
  tcase_set_timeout(c, 1800);
  tcase_add_test(c, sorted_rows_have_the_cpus_bits);
  tcase_add_test(c, many_rows_are_sorted);
  return run_one_case("order", c);
}
