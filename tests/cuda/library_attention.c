/* library_attention.c - attention of random sizes, and at the edges of its masks. */
#include "tests/cuda/library_help.h"

static void put_attention(text *t) {
  static const char *const masks[] = {"None", "None", "%mask", "%mask"};
  const char *type = draw_type(t, 1, 4);
  long long queries = draw(t, 0, 3) ? draw(t, 1, 9) : draw(t, 63, 70),
            keys = draw(t, 0, 3) ? draw(t, 1, 9) : draw(t, 63, queries < 9 ? 300 : 140);
  long long width = draw(t, 1, 40), wide = draw(t, 0, 4) ? draw(t, 1, 20) : draw(t, 60, 140);
  const char *mask = masks[draw(t, 0, 3)];
  bool causal = mask[0] == 'N' && draw(t, 0, 1), grouped = draw(t, 0, 2) == 0;
  int heads = grouped ? 2 : 4;
  put_input(t, "%%q: %s[2,4,%lld,%lld]", type, queries, width);
  if (draw(t, 0, 1)) {
    put_input(t, "%%k_: %s[2,%lld,%d,%lld]", type, keys, heads, width);
    put_line(t, "  %%k: %s[2,%d,%lld,%lld] = transpose.int(%%k_, 1, 2)\n", type, heads, keys,
             width);
  } else {
    put_input(t, "%%k: %s[2,%d,%lld,%lld]", type, heads, keys, width);
  }
  put_input(t, "%%v: %s[2,%d,%lld,%lld]", type, heads, keys, wide);
  if (mask[0] == '%')
    put_input(t, "%%mask: %s[%s%lld,%lld]", draw(t, 0, 1) ? "bool" : type,
              draw(t, 0, 1) ? "2,1," : "", draw(t, 0, 2) ? queries : 1ll, keys);
  put_line(t,
           "  %%y: %s[2,4,%lld,%lld] = scaled_dot_product_attention(%%q, %%k, %%v, %s, 0.0, "
           "%s%s%s)\n  return %%y",
           type, queries, wide, mask, causal ? "True" : "False", draw(t, 0, 1) ? ", scale=0.5" : "",
           grouped ? ", enable_gqa=True" : "");
}

START_TEST(attention_has_the_cpus_results) {
  fnz_context *ctx = open_context();
  uint64_t count = count_of(12);
  for (uint64_t i = 0; i < count; i++) {
    text t = {.seed = 3000 + i};
    put_attention(&t);
    run_text(ctx, &t);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Rows without a visible key are zeros; hidden keys do not count; logarithms of the sums. */
START_TEST(attention_keeps_its_edges) {
  fnz_context *ctx = open_context();
  for (uint64_t i = 0; i < 6; i++) {
    text t = {.seed = i};
    long long queries = i % 2 ? 3 : 66, keys = i % 3 ? 5 : 70;
    put_input(&t,
              "%%q: f32[2,2,%lld,8], %%k: f32[2,2,%lld,8], %%v: f32[2,2,%lld,300], %%m: f32[%lld]",
              queries, keys, keys, keys);
    put_line(&t,
             "  %%h: f32[%lld] = mul.Scalar(%%m, %s)\n"
             "  %%y: f32[2,2,%lld,300], %%l: f32[2,2,%lld] = "
             "_scaled_dot_product_flash_attention_for_cpu(%%q, %%k, %%v, 0.0, %s, attn_mask=%s)\n"
             "  return %%y, %%l",
             keys, i % 2 ? "-inf" : "100", queries, queries, i < 3 ? "True" : "False",
             i < 3 ? "None" : "%h");
    run_text(ctx, &t);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

void add_attention(TCase *c) {
  tcase_add_test(c, attention_has_the_cpus_results);
  tcase_add_test(c, attention_keeps_its_edges);
}
