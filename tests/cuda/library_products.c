/* library_products.c - products of matrices of random sizes and strides. */
#include "tests/cuda/library_help.h"

/* A factor of rows by cols behind a batch ("" or "3,"), as an input that it is a view of. */
static void put_factor(text *t, const char *name, const char *type, const char *batch, int64_t rows,
                       int64_t cols) {
  int lead = (int)(batch[0] != 0) + (strchr(batch, ',') != strrchr(batch, ','));
  long long r = rows, c = cols;
  switch (draw(t, 0, 4)) {
  case 0:
    put_input(t, "%%%s_: %s[%s%lld,%lld]", name, type, batch, c, r);
    put_line(t, "  %%%s: %s[%s%lld,%lld] = transpose.int(%%%s_, %d, %d)\n", name, type, batch, r, c,
             name, lead, lead + 1);
    return;
  case 1:
    put_input(t, "%%%s_: %s[%s%lld,%lld]", name, type, batch, r, c + 3);
    put_line(t, "  %%%s: %s[%s%lld,%lld] = slice.Tensor(%%%s_, %d, 1, %lld, 1)\n", name, type,
             batch, r, c, name, lead + 1, c + 1);
    return;
  case 2:
    put_input(t, "%%%s_: %s[%s%lld,%lld]", name, type, batch, r, 2 * c);
    put_line(t, "  %%%s: %s[%s%lld,%lld] = slice.Tensor(%%%s_, %d, 0, %lld, 2)\n", name, type,
             batch, r, c, name, lead + 1, 2 * c);
    return;
  default:
    put_input(t, "%%%s: %s[%s%lld,%lld]", name, type, batch, r, c);
  }
}

static void put_added(text *t, const char *type, const char *batch, int64_t m, int64_t n) {
  long long rows = draw(t, 0, 2) ? m : 1, cols = draw(t, 0, 3) ? n : 1;
  switch (draw(t, 0, 2)) {
  case 0:
    put_input(t, "%%c: %s[%lld]", type, (long long)n);
    return;
  case 1:
    put_input(t, "%%c: %s[%s%lld,%lld]", type, batch, (long long)m, (long long)n);
    return;
  default:
    put_input(t, "%%c: %s[%lld,%lld]", type, rows, cols);
  }
}

/* A vector for all rows, as it is or a piece of a longer one: then it lies between multiples of 16
 * bytes. */
static void put_bias(text *t, const char *type, int64_t n) {
  long long from = draw(t, 0, 2), size = n;
  if (from == 0) {
    put_input(t, "%%c: %s[%lld]", type, size);
    return;
  }
  put_input(t, "%%c_: %s[%lld]", type, size + 2);
  put_line(t, "  %%c: %s[%lld] = slice.Tensor(%%c_, 0, %lld, %lld, 1)\n", type, size, from,
           from + size);
}

static int64_t draw_size(text *t) {
  static const int64_t odd[] = {0, 1, 1, 64, 65, 70, 130};
  return draw(t, 0, 3) ? draw(t, 1, 20) : odd[draw(t, 0, 6)];
}

static void put_product(text *t) {
  static const char *const numbers[] = {"", ", beta=1, alpha=2", ", beta=0", ", beta=-2",
                                        ", alpha=0"};
  const char *type = draw_type(t, 0, 7), *numbered = numbers[draw(t, 0, 4)];
  long long m = draw_size(t), n = draw_size(t), k = draw_size(t);
  if (draw(t, 0, 9) == 0)
    m = draw(t, 1, 2), k = draw(t, 128, 400);
  int kind = (int)draw(t, 0, 9);
  switch (kind) {
  case 0:
  case 1:
    put_factor(t, "a", type, "", m, k);
    put_factor(t, "b", type, "", k, n);
    if (kind == 1)
      put_added(t, type, "", m, n);
    put_line(t,
             kind ? "  %%y: %s[%lld,%lld] = addmm(%%c, %%a, %%b%s)"
                  : "  %%y: %s[%lld,%lld] = mm(%%a, %%b)",
             type, m, n, numbered);
    break;
  case 2:
  case 3:
    put_factor(t, "a", type, "3,", m, k);
    put_factor(t, "b", type, "3,", k, n);
    if (kind == 3)
      put_added(t, type, "3,", m, n);
    put_line(t,
             kind == 3 ? "  %%y: %s[3,%lld,%lld] = baddbmm(%%c, %%a, %%b%s)"
                       : "  %%y: %s[3,%lld,%lld] = bmm(%%a, %%b)",
             type, m, n, numbered);
    break;
  case 4:
    put_factor(t, "a", type, "2,3,", m, k);
    put_factor(t, "b", type, draw(t, 0, 1) ? "3," : "2,1,", k, n);
    put_line(t, "  %%y: %s[2,3,%lld,%lld] = matmul(%%a, %%b)", type, m, n);
    break;
  case 5:
    put_factor(t, "a", type, "2,", m, k);
    put_factor(t, "b", type, "", n, k);
    put_bias(t, type, n);
    put_line(t,
             draw(t, 0, 2) ? "  %%y: %s[2,%lld,%lld] = linear(%%a, %%b, %%c)"
                           : "  %%y: %s[2,%lld,%lld] = linear(%%a, %%b)",
             type, m, n);
    break;
  case 6:
    put_factor(t, "a", type, "", m, k);
    put_input(t, "%%b: %s[%lld]", type, k);
    put_line(t, "  %%y: %s[%lld] = mv(%%a, %%b)", type, m);
    break;
  case 7:
    put_input(t, "%%a: %s[%lld], %%b: %s[%lld]", type, k, type, k);
    put_line(t, "  %%y: %s[] = dot(%%a, %%b)", type);
    break;
  case 8:
    put_factor(t, "a", type, "3,", m, k);
    put_factor(t, "b", type, "3,", k, n);
    put_input(t, "%%c: %s[%lld,%lld]", type, m, n);
    put_line(t, "  %%y: %s[%lld,%lld] = addbmm(%%c, %%a, %%b%s)", type, m, n, numbered);
    break;
  default:
    put_factor(t, "a", type, "", m, k);
    put_input(t, "%%b: %s[%lld], %%c: %s[%lld]", type, k, type, m);
    put_line(t, "  %%y: %s[%lld] = addmv(%%c, %%a, %%b%s)", type, m, numbered);
  }
  put_line(t, "\n  return %%y");
}

START_TEST(products_have_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(20);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 1000 + i};
    put_product(&t);
    run_text(ctx, &t);
  }
  standin_library_counts c = library_now(false);
  if (is_without())
    ck_assert_uint_eq(c.opened, 0);
  else if (is_standin())
    ck_assert_uint_ge(c.runs * 3, count);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

void add_products(TCase *c) {
  tcase_add_test(c, products_have_the_cpus_results);
}
