/* checks: 1
 *
 * layout_test.c - what a kernel computes for an element must not depend on where the element lies
 * in memory: the original program and its functional form keep the same values under other strides.
 */
#include "tests/help/test.h"

#include <fnz/numbers.h>

enum { ROWS = 5, COLUMNS = 13, COUNT = ROWS * COLUMNS };

static const int64_t sizes[] = {ROWS, COLUMNS};
static const int64_t layouts[][2] = {{COLUMNS, 1}, {1, ROWS}, {4 * COLUMNS, 3}};

static void apply(fnz_context *ctx, fnz_backend *b, const char *name, const int64_t *strides,
                  const float *x, float *out) {
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  fnz_handle in, result;
  size_t count;
  OK(ctx, b->upload(b->self, ctx, &g, x, &in));
  const fnz_arg args[] = {{.tag = FNZ_ARG_VALUE, .u.value = in}};
  const fnz_request call = {.op = fnz_op_find(NULL, name), .args = args, .nargs = 1, .source = ""};
  OK(ctx, b->apply(b->self, ctx, &call, &result, 1, &count));
  OK(ctx, b->download(b->self, ctx, result, out));
  b->release(b->self, result);
  b->release(b->self, in);
}

START_TEST(strides_do_not_change_bits) {
  static const char *const names[] = {"sigmoid", "tanh", "exp",  "log", "silu",  "gelu",
                                      "erf",     "mish", "sqrt", "sin", "rsqrt", "softplus"};
  float x[COUNT], first[COUNT], other[COUNT];
  fnz_context *ctx;
  fnz_backend *b;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &b));
  for (int i = 0; i < COUNT; i++)
    x[i] = (float)(i % 29) * 0.37f - 3.1f;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    apply(ctx, b, names[k], layouts[0], x, first);
    for (size_t l = 1; l < sizeof layouts / sizeof *layouts; l++) {
      apply(ctx, b, names[k], layouts[l], x, other);
      ck_assert_msg(memcmp(first, other, sizeof first) == 0, "%s depends on strides", names[k]);
    }
  }
  fnz_backend_destroy(b);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("layout", strides_do_not_change_bits)
