/* engine_numbers_test.c - numbers that data decide, as operands of steps: the engine against the
 * interpreter, over random programs, and what few programs must become. */
#include "engine/engine.h"
#include "soak/numbers.h"
#include "soak/programs.h"
#include "tests/engine_help.h"

#include <stdio.h>

typedef struct tally {
  size_t run, refused, applied, groups;
} tally;

/* How many steps are the interpreter's that take a number, and how many groups take one. */
static void count_steps(const fnz_executable *exe, fnz_context *ctx, tally *t) {
  fnz_workspace *ws;
  OK(ctx, fnzi_eng_workspace_take(exe, ctx, &ws));
  for (size_t i = 0; i < FNZI_ENG_BINDINGS; i++) {
    const fnzi_eng_binding *b = &ws->bindings[i];
    for (size_t k = 0; b->made && k < b->acts.count; k++) {
      const fnzi_node *node = b->acts.data[k].node == FNZI_ENG_NONE
                                  ? NULL
                                  : fnzi_node_at(b->program, 0, b->acts.data[k].node);
      t->applied += node && node->op && b->acts.data[k].kind == FNZI_ENG_ACT_INTERPRET &&
                    !fnzi_op_is_item(node->op);
    }
    t->groups += b->made && b->taken.bytes > 0;
  }
  fnzi_eng_workspace_give(exe, ws);
}

static void verify_random(fnz_context *ctx, unsigned seed, tally *t) {
  static choices c;
  fnz_buffer text = {0};
  fnz_program *traced, *p = NULL;
  fnz_arrays *inputs = NULL;
  choices_start(&c, 1, seed);
  OK(ctx, fnzi_numbers_text(ctx, &c, false, &text));
  fnz_status status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &traced);
  ck_assert_msg(status == FNZ_OK, "seed %u: %s\n%.*s", seed, fnz_last_error(ctx)->message,
                (int)text.size, text.data);
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  OK(ctx, fnzi_random_inputs(ctx, traced, seed, &inputs));
  fnz_executable *exe = compile(ctx, p);
  status = fnz_executable_verify(exe, ctx, inputs);
  bool is_fine = status == FNZ_OK || fnz_last_error(ctx)->kind != FNZ_CLASS_DIFFERENT;
  t->run += status == FNZ_OK;
  t->refused += status != FNZ_OK;
  if (status != FNZ_OK && getenv("FNZ_TELL"))
    printf("%u: %s %s\n", seed, fnz_class_name(fnz_last_error(ctx)->kind),
           fnz_last_error(ctx)->message);
  ck_assert_msg(is_fine, "seed %u: %s: %s\n%.*s", seed, fnz_last_error(ctx)->where,
                fnz_last_error(ctx)->message, (int)text.size, text.data);
  if (status == FNZ_OK)
    count_steps(exe, ctx, t);
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_program_destroy(traced);
  fnz_buffer_free(ctx, &text);
}

START_TEST(random_numbers_have_the_interpreters_bits) {
  const char *given = getenv("FNZ_PROGRAMS");
  unsigned most = given ? (unsigned)atoi(given) : 400;
  fnz_context *ctx;
  tally t = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (unsigned seed = 0; seed < most; seed++)
    verify_random(ctx, seed, &t);
  printf("%zu run, %zu refused; %zu applied, %zu programs with groups that take numbers\n", t.run,
         t.refused, t.applied, t.groups);
  ck_assert_uint_gt(t.run, t.refused);
  ck_assert_uint_gt(t.groups, t.run / 2);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("engine_numbers", random_numbers_have_the_interpreters_bits)
