/* library_convs.c - convolutions of random sizes and strides, and their gradients. */
#include "tests/cuda/library_help.h"

static void put_image(text *t, const char *name, const char *type, const int64_t *sizes, int rank) {
  static const char *const orders[] = {"", "", "", "[0, 2, 1]", "[0, 3, 1, 2]", "[0, 4, 1, 2, 3]"};
  char first[128] = "", last[128] = "";
  for (int d = 0; d < rank; d++) {
    int from = d == 0 ? 0 : d + 1 == rank ? 1 : d + 1; /* channels last */
    snprintf(first + strlen(first), 24, "%s%lld", d ? "," : "", (long long)sizes[d]);
    snprintf(last + strlen(last), 24, "%s%lld", d ? "," : "", (long long)sizes[from]);
  }
  const int64_t how = draw(t, 0, 3);
  if (how > 1) {
    put_input(t, "%%%s: %s[%s]", name, type, first);
    return;
  }
  if (how == 1) { /* behind another one: between multiples of 16 bytes, where that is so large */
    long long n = sizes[0];
    put_input(t, "%%%s_: %s[%lld%s]", name, type, n + 1, strchr(first, ','));
    put_line(t, "  %%%s: %s[%s] = slice.Tensor(%%%s_, 0, 1, %lld, 1)\n", name, type, first, name,
             n + 1);
    return;
  }
  put_input(t, "%%%s_: %s[%s]", name, type, last);
  put_line(t, "  %%%s: %s[%s] = permute(%%%s_, %s)\n", name, type, first, name, orders[rank]);
}

static void put_list(text *t, const int64_t *list, int count) {
  for (int d = 0; d < count; d++)
    put_line(t, "%s%lld", d ? ", " : "[", (long long)list[d]);
  put_line(t, "], ");
}

static void put_result(text *t, const char *name, const char *type, const int64_t *sizes,
                       int rank) {
  put_line(t, "  %%%s: %s[", name, type);
  for (int d = 0; d < rank; d++)
    put_line(t, "%s%lld", d ? "," : "", (long long)sizes[d]);
  put_line(t, "]");
}

static void put_conv(text *t) {
  const char *type = draw_type(t, 1, 4);
  int spatial = (int)draw(t, 1, 3);
  bool transposed = draw(t, 0, 2) == 0, has_bias = draw(t, 0, 1);
  int64_t groups = draw(t, 1, 3), ins = groups * draw(t, 1, 3), outs = groups * draw(t, 1, 3);
  int64_t x[5] = {draw(t, 1, 2), ins}, y[5] = {x[0], outs}, w[5];
  int64_t stride[3], padding[3], dilation[3], extra[3];
  w[0] = transposed ? ins : outs, w[1] = (transposed ? outs : ins) / groups;
  for (int d = 0; d < spatial; d++) {
    w[2 + d] = draw(t, 1, 3), stride[d] = draw(t, 1, 3), dilation[d] = draw(t, 1, 2);
    padding[d] = draw(t, 0, 1), extra[d] = transposed ? draw(t, 0, stride[d] - 1) : 0;
    x[2 + d] = draw(t, 6, 8);
    int64_t reach = dilation[d] * (w[2 + d] - 1) + 1;
    y[2 + d] = transposed ? (x[2 + d] - 1) * stride[d] - 2 * padding[d] + reach + extra[d]
                          : (x[2 + d] + 2 * padding[d] - reach) / stride[d] + 1;
  }
  put_image(t, "x", type, x, spatial + 2);
  put_image(t, "w", type, w, spatial + 2);
  if (has_bias)
    put_input(t, "%%b: %s[%lld]", type, (long long)outs);
  put_result(t, "y", type, y, spatial + 2);
  put_line(t, " = convolution(%%x, %%w, %s, ", has_bias ? "%b" : "None");
  put_list(t, stride, spatial);
  put_list(t, padding, spatial);
  put_list(t, dilation, spatial);
  put_line(t, "%s, ", transposed ? "True" : "False");
  put_list(t, extra, spatial);
  put_line(t, "%lld)\n  return %%y", (long long)groups);
}

START_TEST(convolutions_have_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(20);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 2000 + i};
    put_conv(&t);
    run_text(ctx, &t);
  }
  standin_library_counts c = library_now(true);
  if (is_without())
    ck_assert_uint_eq(c.opened, 0);
  else if (is_standin())
    ck_assert(c.runs * 2 >= count && c.backward * 6 >= count);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* All three gradients; that by the weight is a convolution for each group, or one for all groups of
 * a channel. */
static void put_gradient(text *t) {
  const char *type = draw_type(t, 1, 4);
  int spatial = (int)draw(t, 1, 2);
  bool transposed = draw(t, 0, 2) == 0;
  int64_t groups = draw(t, 1, 2), ins = groups * draw(t, 1, 3), outs = groups * draw(t, 1, 3);
  int64_t x[5] = {draw(t, 1, 3), ins}, y[5] = {x[0], outs}, w[5];
  int64_t stride[3], padding[3], dilation[3], none[3] = {0};
  w[0] = transposed ? ins : outs, w[1] = (transposed ? outs : ins) / groups;
  for (int d = 0; d < spatial; d++) {
    w[2 + d] = draw(t, 1, 3), stride[d] = draw(t, 1, 2), dilation[d] = draw(t, 1, 2);
    padding[d] = draw(t, 0, 1);
    x[2 + d] = draw(t, 6, 8);
    int64_t reach = dilation[d] * (w[2 + d] - 1) + 1;
    y[2 + d] = transposed ? (x[2 + d] - 1) * stride[d] - 2 * padding[d] + reach
                          : (x[2 + d] + 2 * padding[d] - reach) / stride[d] + 1;
  }
  put_image(t, "g", type, y, spatial + 2);
  put_image(t, "x", type, x, spatial + 2);
  put_image(t, "w", type, w, spatial + 2);
  put_result(t, "dx", type, x, spatial + 2);
  put_line(t, ", ");
  put_result(t, "dw", type, w, spatial + 2);
  put_line(t, ", %%db: %s[%lld] = convolution_backward(%%g, %%x, %%w, [%lld], ", type,
           (long long)outs, (long long)outs);
  put_list(t, stride, spatial);
  put_list(t, padding, spatial);
  put_list(t, dilation, spatial);
  put_line(t, "%s, ", transposed ? "True" : "False");
  put_list(t, none, spatial);
  put_line(t, "%lld, [True, True, True])\n  return %%dx, %%dw, %%db", (long long)groups);
}

START_TEST(gradients_have_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(12);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 7000 + i};
    put_gradient(&t);
    run_text(ctx, &t);
  }
  standin_library_counts c = library_now(true);
  if (!is_without() && is_standin())
    ck_assert_uint_ge(c.by_weight * 3, count);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* More zeros on one side than on the other, which cuDNN lacks: a step pads before. No batch. */
START_TEST(odd_convolutions_have_the_cpus_results) {
  static const char *const inputs = "%x: f32[3,7,8], %w: f32[4,3,2,4], %b: f32[4]";
  fnz_context *ctx = open_context();
  text t = {.seed = 5};
  strcpy(t.inputs, inputs);
  put_line(&t, "  %%y: f32[4,7,8] = conv2d.padding(%%x, %%w, %%b, [1, 1], \"same\")\n  return %%y");
  run_text(ctx, &t);
  ck_assert_uint_eq(library_now(true).runs, !is_without() && is_standin());
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* A result that begins between multiples of 16 bytes, for it is a piece of another one; with cuDNN
 * all the same. */
START_TEST(a_convolution_is_a_piece_of_a_result) {
  fnz_context *ctx = open_context();
  text t = {.seed = 6};
  put_input(&t, "%%p: f32[1,1,7,7], %%x: f32[1,3,7,7], %%w: f32[2,3,3,3], %%b: f32[2]");
  put_line(&t, "  %%y: f32[1,2,7,7] = convolution(%%x, %%w, %%b, [1, 1], [1, 1], [1, 1], False, "
               "[0, 0], 1)\n"
               "  %%z: f32[1,3,7,7] = cat([%%p, %%y], 1)\n  return %%z");
  run_text(ctx, &t);
  ck_assert_uint_eq(library_now(true).runs, !is_without() && is_standin());
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

void add_convs(TCase *c) {
  tcase_add_test(c, convolutions_have_the_cpus_results);
  tcase_add_test(c, gradients_have_the_cpus_results);
  tcase_add_test(c, odd_convolutions_have_the_cpus_results);
  tcase_add_test(c, a_convolution_is_a_piece_of_a_result);
}
