/* checks: 3
 * native_rules_test.c - every rule of rules.def is broken once, by a small file, and
 * reported with its name and the line. */
#include "tests/help/test.h"

#include "schema/native/native.h"

#include <stdio.h>

static const char tags[] = "- tag: pt2_compliant_tag\n  desc: x\n- tag: out\n  desc: x\n"
                           "- tag: inplace\n  desc: x\n- tag: generated\n  desc: x\n"
                           "- tag: nondeterministic_seeded\n  desc: x\n"
                           "- tag: view_copy\n  desc: x\n- tag: inplace_view\n  desc: x\n"
                           "- tag: core\n  desc: x\n";

/* Parts of the rows. */
#define F      "- func: f(Tensor self) -> Tensor\n"
#define F_OUT  "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
#define F_IN   "- func: f_(Tensor(a!) self) -> Tensor(a!)\n"
#define F_VIEW "- func: f(Tensor(a) self) -> Tensor(a)\n"
#define F_COPY "- func: f_copy(Tensor self) -> Tensor\n"
#define KERNEL "  dispatch:\n    CPU: k\n"
#define SHAPED "  structured: True\n" KERNEL
#define OPTIONS                                                                                    \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

typedef struct breach {
  fnzi_native_rule rule;
  int line;
  const char *functions, *tags; /* tags NULL: those above */
} breach;

static const breach breaches[] = {
#define BREACH(id, line, functions)            {FNZI_RULE_##id, line, functions, NULL},
#define TAGS_BREACH(id, line, functions, tags) {FNZI_RULE_##id, line, functions, tags},
#include "tests/schema/native_breaches.def"
#undef TAGS_BREACH
#undef BREACH
};

enum { BREACHES = sizeof breaches / sizeof *breaches };

static const char *const ids[] = {
#define RULE(stage, id, kind, text) #id,
#include "schema/native/rules.def"
#undef RULE
};

static fnz_context *ctx;

static fnz_status read_texts(const char *functions, const char *tags_text, fnz_library **out) {
  const fnz_library_source source = {
      .functions_name = "f.yaml",
      .functions = functions,
      .functions_size = strlen(functions),
      .tags_name = "t.yaml",
      .tags = tags_text,
      .tags_size = strlen(tags_text),
  };
  return fnz_library_read(ctx, &source, out);
}

static void check_breach(const breach *b) {
  char begin[80], where[40];
  fnz_library *library;
  const fnz_error *error = fnz_last_error(ctx);
  ck_assert_msg(read_texts(b->functions, b->tags ? b->tags : tags, &library) != FNZ_OK, "%s: %s",
                ids[b->rule], b->functions);
  snprintf(begin, sizeof begin, "rule %s: ", ids[b->rule]);
  snprintf(where, sizeof where, "%s.yaml:%d", b->tags ? "t" : "f", b->line);
  ck_assert_msg(strncmp(error->message, begin, strlen(begin)) == 0, "wanted %s, have %s of:\n%s",
                begin, error->message, b->functions);
  ck_assert_msg(strcmp(error->where, where) == 0, "%s at %s instead of %s:\n%s", begin,
                error->where, where, b->functions);
  ck_assert_msg(strstr(error->message, "; have ") != NULL, "%s", error->message);
  ck_assert_ptr_null(library);
}

START_TEST(each_broken_rule_is_reported) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < BREACHES; i++)
    check_breach(&breaches[i]);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(no_rule_is_left_out) {
  bool seen[FNZI_RULE_COUNT] = {false};
  for (size_t i = 0; i < BREACHES; i++)
    seen[breaches[i].rule] = true;
  for (int i = 0; i < FNZI_RULE_COUNT; i++)
    ck_assert_msg(seen[i], "nothing breaks %s", ids[i]);
}
END_TEST

/* The parts of the rows above break no rule by themselves. */
START_TEST(whole_groups_hold) {
  static const char *const good[] = {
      F,
      F KERNEL "  autogen: f.out\n",
      F "  structured_delegate: f.out\n" F_IN "  structured_delegate: f.out\n" F_OUT SHAPED,
      F_IN KERNEL F_OUT KERNEL "  autogen: f\n",
      F_VIEW KERNEL F_COPY "  tags: view_copy\n" KERNEL "  autogen: f_copy.out\n",
      F_VIEW F_IN "  tags: inplace_view\n",
      "- func: f(Tensor(a -> *) self) -> Tensor(a)[]\n",
      "- func: ns::f(Tensor self, __torch__.torch.classes.n.T t) -> (Tensor a, int b)\n",
      F "  structured_delegate: f.out\n" F_OUT
        "  structured: True\n  ufunc_inner_loop: f (All)\n  precomputed:\n  - int k\n",
  };
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    fnz_library *library;
    OK(ctx, read_texts(good[i], tags, &library));
    fnz_library_destroy(library);
  }
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("native_rules", each_broken_rule_is_reported, no_rule_is_left_out, whole_groups_hold)
