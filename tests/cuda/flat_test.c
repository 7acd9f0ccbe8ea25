/* checks: 16
 * flat_test.c - groups without rows on a GPU have the CPU's bits, by the stand-in for one: operands
 * that are dense, repeat, lie turned or at odd places, of all widths, at random; and errors that
 * are planted in the text are found. */
#include "tests/cuda/both.h"

#include <stdarg.h>

enum { PROGRAMS = 60, PLANTS = 13 };

static uint64_t seed = 11;

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
typedef struct operand {
  int sizes[3], order[3]; /* dimension d of the group is dimension order[d] of the input */
  const char *dtype;
} operand;

static void put_sizes(text *t, const char *dtype, const int *sizes) {
  put(t, "%s[%d, %d, %d]", dtype, sizes[0], sizes[1], sizes[2]);
}

/* Some dimensions have one element, and some change places. */
static operand draw_operand(const int *sizes, const char *dtype) {
  operand o = {.order = {0, 1, 2}, .dtype = dtype};
  for (int d = 0; d < 3; d++)
    o.sizes[d] = draw(4) ? sizes[d] : 1;
  for (int d = 2; d > 0; d--) {
    int other = draw(d + 1), was = o.order[d];
    if (draw(2))
      o.order[d] = o.order[other], o.order[other] = was;
  }
  return o;
}

/* As it lies in the input. */
static void input_sizes(const operand *o, int *out) {
  for (int d = 0; d < 3; d++)
    out[o->order[d]] = o->sizes[d];
}

static void put_program(text *t) {
  static const int all[] = {1, 2, 3, 8, 16, 24, 33, 40, 64, 67};
  static const char *const types[][3] = {
      {"f32", "f32", "f32"},  {"bf16", "f32", "f32"}, {"bf16", "bf16", "bf16"},
      {"f64", "f32", "f64"},  {"bool", "f32", "f32"}, {"i64", "i64", "i64"},
      {"f16", "bf16", "f32"}, {"u8", "i32", "i32"},   {"c64", "c64", "c64"}};
  const char *const *type = types[draw(9)];
  int sizes[3], in[3], out[3];
  for (int d = 0; d < 3; d++)
    sizes[d] = all[draw(10)];
  operand o[2] = {draw_operand(sizes, type[0]), draw_operand(sizes, type[1])};
  for (int d = 0; d < 3; d++)
    out[d] = o[0].sizes[d] > o[1].sizes[d] ? o[0].sizes[d] : o[1].sizes[d];
  t->size = 0;
  put(t, "fnz 1\nprogram(");
  for (int k = 0; k < 2; k++) {
    input_sizes(&o[k], in);
    put(t, "%s%%x%d: ", k ? ", " : "", k);
    put_sizes(t, o[k].dtype, in);
  }
  put(t, ")\n{\n");
  for (int k = 0; k < 2; k++) {
    put(t, "  %%v%d: ", k);
    put_sizes(t, o[k].dtype, o[k].sizes);
    put(t, " = permute(%%x%d, [%d, %d, %d])\n", k, o[k].order[0], o[k].order[1], o[k].order[2]);
  }
  put(t, "  %%a: ");
  put_sizes(t, type[2], out);
  put(t, " = add.Tensor(%%v0, %%v1)\n  %%b: ");
  put_sizes(t, type[2], out);
  put(t, " = mul.Tensor(%%a, %%v0)\n  return %%b%s\n}\n", draw(2) ? ", %a" : "");
}

static fnz_status run_text(fnz_context *ctx, const text *t, bool *equal) {
  fnz_program *traced;
  OK(ctx, fnz_program_read(ctx, t->of, t->size, FNZ_FORMAT_TEXT, &traced));
  return run_on_both(ctx, functional_of(ctx, traced), equal);
}

static void try_text(fnz_context *ctx, const text *t) {
  bool equal;
  fnz_status status = run_text(ctx, t, &equal);
  ck_assert_msg(status == FNZ_OK, "%s\n%s", fnz_last_error(ctx)->message, t->of);
  ck_assert_msg(equal, "%s", t->of);
}

START_TEST(groups_have_the_cpus_bits) {
  static text t;
  fnz_context *ctx = open_context();
  for (int i = 0; i < PROGRAMS; i++) {
    put_program(&t);
    try_text(ctx, &t);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Such that threads take several pieces, ahead of each other; and some elements are left. */
static void put_large(text *t, const char *dtype, const char *out, int count) {
  t->size = 0;
  put(t,
      "fnz 1\nprogram(%%x: %s[%d])\n{\n  %%y: %s[%d] = abs(%%x)\n  %%z: %s[%d] = "
      "_to_copy(%%y, dtype=%s)\n  return %%z\n}\n",
      dtype, count, dtype, count, out, count, out);
}

START_TEST(large_groups_have_the_cpus_bits) {
  static text t;
  fnz_context *ctx = open_context();
  put_large(&t, "f32", "f32", (1 << 20) + 4099);
  try_text(ctx, &t);
  put_large(&t, "bf16", "f32", (1 << 21) + 8 * 300 + 5);
  try_text(ctx, &t);
  fnz_context_destroy(ctx);
}
END_TEST

/* Of 16 bits, or fewer, and even in both dimensions. */
static void put_pairs(text *t, const char *dtype, const char *other) {
  t->size = 0;
  put(t,
      "fnz 1\nprogram(%%x: %s[2, 80, 70], %%y: %s[2, 70, 80])\n{\n"
      "  %%t: %s[2, 70, 80] = transpose.int(%%x, 1, 2)\n"
      "  %%z: %s[2, 70, 80] = add.Tensor(%%t, %%y)\n  return %%z\n}\n",
      dtype, other, dtype, other);
}

START_TEST(pairs_have_the_cpus_bits) {
  static const char *const types[][2] = {
      {"bf16", "bf16"}, {"f16", "f32"}, {"u8", "i64"}, {"bf16", "c128"}, {"f32", "f32"}};
  static text t;
  fnz_context *ctx = open_context();
  for (int k = 0; k < 5; k++) {
    put_pairs(&t, types[k][0], types[k][1]);
    try_text(ctx, &t);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* Each in a process of its own, because an error lasts. */
static const struct {
  const char *plant, *of;
} plants[PLANTS] = {
    {"1;__syncthreads();;", "turned"}, /* no barrier after the load */
    {"1;u < 4;u < 3", "turned"},
    {"1;% 3 * 32;% 2 * 32", "turned"},
    {"1;(column + e) * 33 + row;row * 33 + column", "turned"},
    {"1;end0 = 70;end0 = 71", "turned"},
    {"1;tile < 6;tile < 5", "turned"},
    {"1;e < 2;e < 1", "pairs"}, /* one element of a pair is brought, */
    {"2;e < 2;e < 1", "pairs"}, /* or computed */
    {"1;row * 65;row * 63", "pairs"},
    {"1;at < 262;at < 261", "flat"},
    {"1;e < 4;e < 3", "flat"},
    {"1;1048 + FIRST;1049 + FIRST", "flat"},
    {"1;i0 * 16;i0 * 12", "flat"},
};

START_TEST(planted_errors_are_found) {
  static text t;
  fnz_context *ctx = open_context();
  bool equal;
  if (strcmp(plants[_i].of, "flat") == 0)
    put_large(&t, "f32", "f32", 1051);
  else if (strcmp(plants[_i].of, "pairs") == 0)
    put_pairs(&t, "bf16", "bf16");
  else
    put(&t, "fnz 1\nprogram(%%x: f32[40, 70])\n{\n  %%t: f32[70, 40] = t(%%x)\n"
            "  %%y: f32[70, 40] = mul.Tensor(%%t, 3)\n  return %%y\n}\n");
  setenv("STANDIN_PLANT", plants[_i].plant, 1);
  fnz_status status = run_text(ctx, &t, &equal);
  ck_assert_msg(!equal, "%s", plants[_i].plant);
  ck_assert_msg(status == FNZ_OK || counts_now().wrong != NULL, "%s: %s", plants[_i].plant,
                fnz_last_error(ctx)->message);
  fnz_context_destroy(ctx);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("flat");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, groups_have_the_cpus_bits);
  tcase_add_test(c, large_groups_have_the_cpus_bits);
  tcase_add_test(c, pairs_have_the_cpus_bits);
  ADD_OF_STANDIN(c, planted_errors_are_found, PLANTS);
  return run_one_case("flat", c);
}
