/* checks: 2
 * Slices whose bounds are read off a tensor: both interpreters write what Python's rules say, for
 * bounds that are negative, past the end and the wrong way round; or a guard says no. */
#include "tests/help/run_help.h"

enum { SIZE = 8, OUTSIDE = 3 };

typedef struct row {
  const char *text;
  int from, to;  /* the part that is sliced */
  bool accepted; /* all bounds are */
} row;

static int bound_of(int64_t n, int size) {
  n += n < 0 ? size : 0;
  return n < 0 ? 0 : n > size ? size : (int)n;
}

/* Elements a to b of the part are doubled. */
static void expect(const row *r, const int64_t *n, float *x) {
  int size = r->to - r->from, a = bound_of(n[0], size), b = bound_of(n[1], size);
  for (int i = 0; i < SIZE; i++)
    x[i] = (float)(i + 1) * (i - r->from >= a && i - r->from < b ? 2 : 1);
}

static fnz_arrays *inputs_of(fnz_context *ctx, const int64_t *n) {
  static const int64_t size = SIZE, two = 2;
  fnz_arrays *arrays;
  void *x, *bounds;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, "x", FNZ_F32, 1, &size, &x));
  for (int i = 0; i < SIZE; i++)
    ((float *)x)[i] = (float)(i + 1);
  OK(ctx, fnz_arrays_add(arrays, "n", FNZ_I64, 1, &two, &bounds));
  memcpy(bounds, n, 2 * sizeof *n);
  return arrays;
}

/* False when a guard keeps the numbers out. */
static bool run_one(fnz_context *ctx, const fnz_program *p, bool original, const int64_t *n,
                    float *x) {
  fnz_arrays *in = inputs_of(ctx, n), *out;
  fnz_backend *cpu;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &out));
  fnz_status status = fnz_run(ctx, p, cpu, in, original ? AS_ORIGINAL : NULL, out);
  if (status == FNZ_OK)
    memcpy(x, fnz_arrays_find(out, "input.x")->data, SIZE * sizeof *x);
  else
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, "(its guard)") != NULL, "%s",
                  fnz_last_error(ctx)->message);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(in);
  fnz_arrays_destroy(out);
  return status == FNZ_OK;
}

static void check_bounds(fnz_context *ctx, const row *r, const fnz_program *p, bool original) {
  size_t accepted = 0, all = 0;
  for (int64_t a = -SIZE - OUTSIDE; a <= SIZE + OUTSIDE; a++)
    for (int64_t b = -SIZE - OUTSIDE; b <= SIZE + OUTSIDE; b++, all++) {
      const int64_t n[2] = {a, b};
      float want[SIZE], got[SIZE];
      if (!run_one(ctx, p, original, n, got))
        continue;
      accepted++;
      expect(r, n, want);
      ck_assert_msg(memcmp(want, got, sizeof got) == 0, "%s: [%d:%d]", r->text, (int)a, (int)b);
    }
  ck_assert_uint_ge(accepted, all / 8);
  ck_assert(accepted == all || !(original || r->accepted));
}

static void check_row(const row *r) {
  fnz_context *ctx;
  fnz_program *p, *made;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_program_read(ctx, r->text, strlen(r->text), FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
  check_bounds(ctx, r, p, true);
  check_bounds(ctx, r, made, false);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}

#define HEAD                                                                                       \
  "fnz 1\nsymbol u0\nsymbol u1\nsymbol u2\nsymbol u3\nsymbol \"u3 >= 0\"\n"                        \
  "program(%x: f32[8], %n: i64[2])\n{\n"                                                           \
  "[%i: i64[], %j: i64[] offset(1)] = unbind.int(%n)\n"                                            \
  "%a: sym{u0} = item(%i)\n%b: sym{u1} = item(%j)\n"
#define TAIL                                                                                       \
  "%o: sym{u3} = sym_storage_offset(%s)\n%c: sym{u3 >= 0} = _operator.ge(%o, 0)\n"                 \
  "_assert_scalar(%c, \"offset\")\n%w: f32[{u2}] offset({u3}) = mul_.Tensor(%s, 2)\nreturn\n}\n"

START_TEST(of_a_tensor) {
  static const row whole = {HEAD "%s: f32[{u2}] offset({u3}) = slice.Tensor(%x, 0, %a, %b)\n" TAIL,
                            0, SIZE, true};
  check_row(&whole);
}
END_TEST

START_TEST(of_a_slice) {
  static const row part = {HEAD "%p: f32[4] offset(1) = slice.Tensor(%x, 0, 1, 5)\n"
                                "%s: f32[{u2}] offset({u3}) = slice.Tensor(%p, 0, %a, %b)\n" TAIL,
                           1, 5, false};
  check_row(&part);
}
END_TEST

RUN_SUITE("slices", of_a_tensor, of_a_slice)
