/* checks: 6
 * content_test.c - the hash of a program's content: equal if a comparison finds no difference, with
 * other names, orders and formats; different otherwise. */
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

#define HEAD             "fnz 1\nprogram(\n  %x: f32[4],\n  %y: f32[4])\n{\n"
#define BODY(a, b, last) HEAD a b last "}\n"
#define ADD              "  %a: f32[4] = add.Tensor(%x, %y)\n"
#define MUL              "  %m: f32[4] = mul.Tensor(%x, %y)\n"
#define SUM              "  %s: f32[4] = sub.Tensor(%a, %m)\n  return %s\n"

/* The first is the same as each of the others, up to NULL; then come programs that differ from
 * it. */
static const char *const same[] = {
    BODY(ADD, MUL, SUM),
    BODY(MUL, ADD, SUM),
    BODY(ADD, MUL, "  %dead: f32[4] = neg(%m)\n" SUM),
    BODY("  %q: f32[4] = add.Tensor(%x, %y, alpha=1)  at \"m.py:3\"\n", MUL,
         "  %s: f32[4] = sub.Tensor(%q, %m)\n  return %s\n"),
    BODY(ADD, MUL,
         "  %b: f32[4] = add.Tensor(%x, %y)\n  %s: f32[4] = sub.Tensor(%b, %m)\n  return %s\n"),
};
static const char *const different[] = {
    BODY(ADD, MUL, "  %s: f32[4] = sub.Tensor(%m, %a)\n  return %s\n"),
    BODY("  %a: f32[4] = add.Tensor(%y, %x)\n", MUL, SUM),
    BODY("  %a: f32[4] = add.Tensor(%x, %y, alpha=2)\n", MUL, SUM),
    BODY(ADD, MUL, "  %s: f32[4] = sub.Tensor(%a, %m)\n  return %s, %s\n"),
    BODY(ADD, MUL, "  %s: f32[4] = sub.Tensor(%a, %m)\n  return %a\n"),
    BODY(ADD, MUL, "  %w: f32[4] = add_.Tensor(%x, %y)\n" SUM),
    BODY(ADD, MUL, "  %r: f32[4] = rand_like(%x)\n" SUM),
};
enum { SAME = sizeof same / sizeof *same, ALL = SAME + sizeof different / sizeof *different };

static void hash_of(const fnz_program *p, bool weights, unsigned char out[FNZ_HASH_BYTES]) {
  OK(ctx, fnz_program_hash(ctx, p, weights, out));
}

START_TEST(hashes_agree_with_comparisons) {
  begin();
  fnz_program *p[ALL];
  unsigned char hash[ALL][FNZ_HASH_BYTES];
  for (int i = 0; i < ALL; i++) {
    p[i] = read_text(i < SAME ? same[i] : different[i - SAME]);
    hash_of(p[i], true, hash[i]);
  }
  for (int i = 0; i < ALL; i++)
    for (int k = 0; k < ALL; k++) {
      bool equal = memcmp(hash[i], hash[k], FNZ_HASH_BYTES) == 0;
      ck_assert_msg(equal == (fnz_program_compare(ctx, p[i], p[k], NULL) == FNZ_OK), "%d and %d", i,
                    k);
      ck_assert_msg(equal == (i == k || (i < SAME && k < SAME)), "%d and %d", i, k);
    }
  for (int i = 0; i < ALL; i++)
    fnz_program_destroy(p[i]);
  end();
}
END_TEST

static fnz_program *load(const char *name) {
  char path[256];
  fnz_program *p;
  snprintf(path, sizeof path, "%s/fixtures/pt2/%s.pt2", FNZ_SOURCE_DIR, name);
  OK(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &p));
  return p;
}

/* The same through .pt2, CBOR and text; with weights where the format has them. A text does not say
 * that two weights lie in one storage, so an original that writes there is another one in it. */
START_TEST(formats_do_not_count) {
  begin();
  static const char *const names[] = {"kv_cache",       "batchnorm_train",     "tied",
                                      "dynamic_slices", "cond_local_mutation", "written_constant",
                                      "alias_003"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = load(names[i]);
    fnz_program *cbor = read_again(p, FNZ_FORMAT_CBOR), *text = read_again(p, FNZ_FORMAT_TEXT);
    unsigned char a[FNZ_HASH_BYTES], b[FNZ_HASH_BYTES];
    hash_of(p, true, a);
    hash_of(cbor, true, b);
    ck_assert_mem_eq(a, b, sizeof a);
    hash_of(p, false, a);
    hash_of(cbor, false, b);
    ck_assert_mem_eq(a, b, sizeof a);
    hash_of(text, false, b);
    bool equal = memcmp(a, b, sizeof a) == 0;
    ck_assert(equal == (fnz_program_compare(ctx, p, text, NULL) == FNZ_OK));
    ck_assert(equal == (strcmp(names[i], "tied") != 0));
    fnz_program_destroy(p);
    fnz_program_destroy(cbor);
    fnz_program_destroy(text);
  }
  end();
}
END_TEST

START_TEST(numbers_of_weights_count) {
  begin();
  fnz_program *p = load("weights_a"), *q = load("weights_b");
  unsigned char a[FNZ_HASH_BYTES], b[FNZ_HASH_BYTES];
  hash_of(p, true, a);
  hash_of(q, true, b);
  ck_assert_mem_ne(a, b, sizeof a);
  hash_of(p, false, a);
  hash_of(q, false, b);
  ck_assert_mem_eq(a, b, sizeof a);
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  end();
}
END_TEST

START_TEST(a_weight_without_data_is_refused) {
  begin();
  fnz_program *p = load("kv_cache"), *text = read_again(p, FNZ_FORMAT_TEXT);
  unsigned char a[FNZ_HASH_BYTES];
  FAILS(ctx, "REF", fnz_program_hash(ctx, text, true, a));
  fnz_program_destroy(p);
  fnz_program_destroy(text);
  end();
}
END_TEST

/* A weight's name, kind and persistence, a range, a guard. */
START_TEST(signatures_count) {
  begin();
  static const char *const texts[] = {
      "fnz 1\nweight \"a\": f32[4]\nprogram(\n  %a: f32[4] buffer \"a\" persistent)\n{\n"
      "  return %a\n}\n",
      "fnz 1\nweight \"a\": f32[4]\nprogram(\n  %a: f32[4] buffer \"a\")\n{\n  return %a\n}\n",
      "fnz 1\nweight \"b\": f32[4]\nprogram(\n  %a: f32[4] buffer \"b\")\n{\n  return %a\n}\n",
      "fnz 1\nweight \"a\": f32[4]\nprogram(\n  %a: f32[4] parameter \"a\")\n{\n  return %a\n}\n",
      "fnz 1\nprogram(\n  %a: f32[4])\n{\n  return %a\n}\n",
      "fnz 1\nrange s0 2..8\nprogram(\n  %a: f32[4])\n{\n  return %a\n}\n",
      "fnz 1\nrange s0 2..9\nprogram(\n  %a: f32[4])\n{\n  return %a\n}\n",
  };
  enum { COUNT = sizeof texts / sizeof *texts };
  unsigned char hash[COUNT][FNZ_HASH_BYTES];
  for (int i = 0; i < COUNT; i++) {
    fnz_program *p = read_text(texts[i]);
    hash_of(p, false, hash[i]);
    fnz_program_destroy(p);
    for (int k = 0; k < i; k++)
      ck_assert_msg(memcmp(hash[i], hash[k], FNZ_HASH_BYTES) != 0, "%d and %d", i, k);
  }
  end();
}
END_TEST

/* Each allocation fails once: NO_MEMORY each time, and nothing lost. */
static fnz_status hash_once(fnz_context *c, const void *user) {
  unsigned char hash[FNZ_HASH_BYTES];
  return fnz_program_hash(c, user, false, hash);
}

START_TEST(memory_runs_out) {
  begin();
  for (int i = 0; i < ALL; i++) {
    fnz_program *p = read_text(i < SAME ? same[i] : different[i - SAME]);
    ck_assert_uint_gt(each_fault(hash_once, p), 10);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

RUN_SUITE("content", memory_runs_out, hashes_agree_with_comparisons, formats_do_not_count,
          numbers_of_weights_count, a_weight_without_data_is_refused, signatures_count)
