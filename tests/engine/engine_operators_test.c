/* checks: 1
 * engine_operators_test.c - every functional operator that the CPU computes, as a program of one
 * node, by the engine: the interpreter's bits, on memory with gaps too. The calls were recorded
 * from PyTorch (fixtures/reference). */
#include "tests/help/variant_program.h"

#include <stdio.h>

/* NEVER: of so many the recording has no call that eager accepts. BY_BLAS: whether a matrix with
 * NaN has a Cholesky factor is up to the loops that OpenBLAS has for the processor. */
enum {
  OPERATORS = 990,
  NEVER = 13,
  BY_BLAS = 2,
#ifdef __aarch64__ /* a matrix with NaN has a Cholesky factor there */
  RUN = 29862,
#else
  RUN = 29905,
#endif
  WRONG_SHOWN = 20
};

typedef struct trial {
  variants v;
  scene s;
  variant_program one;
  size_t calls, run, refused, skipped, wrong;
  char why[300];       /* the last one was left out */
  size_t operator_run; /* calls of the current operator that were run */
} trial;

/* --- One call
 * ------------------------------------------------------------------------------------- */
/* The interpreter refuses every program that is refused before a run. */
static fnz_status both_refuse(trial *t, const fnz_program *p) {
  const fnz_error error = *fnz_last_error(t->v.ctx);
  fnz_arrays *none;
  FNZ_TRY(fnz_arrays_create(t->v.ctx, &none));
  fnz_status status = fnz_run(t->v.ctx, p, t->s.backend, t->one.inputs, NULL, none);
  fnz_arrays_destroy(none);
  bool same = status != FNZ_OK && fnz_last_error(t->v.ctx)->kind == error.kind;
  t->v.ctx->error = error;
  return same ? FNZ_DIFFERENT : error.status;
}

/* DIFFERENT when both refuse. */
static fnz_status verify(trial *t, const fnz_program *p, bool unplanned) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = 1;
  options.check = true;
  options.unplanned = unplanned;
  if (fnz_compile(t->v.ctx, p, &options, &exe) != FNZ_OK)
    return both_refuse(t, p);
  fnz_status status = fnz_executable_verify(t->v.ctx, exe, t->one.inputs);
  fnz_executable_destroy(exe);
  return status == FNZ_DIFFERENT ? FNZ_INTERNAL : status;
}

static void judge(trial *t, const fnz_op *op, size_t number) {
  fnz_program *functional;
  if (fnz_functionalize(t->v.ctx, t->one.p, NULL, &functional) != FNZ_OK) {
    t->refused++;
    return;
  }
  fnz_status status = verify(t, functional, number % 2 == 1);
  fnz_program_destroy(functional);
  t->run += status == FNZ_OK;
  t->operator_run += status == FNZ_OK;
  t->refused += status == FNZ_DIFFERENT;
  if (status == FNZ_OK || status == FNZ_DIFFERENT)
    return;
  if (t->wrong++ < WRONG_SHOWN)
    printf("%s #%zu: %s: %s\n", op->name, number, fnz_last_error(t->v.ctx)->where,
           fnz_last_error(t->v.ctx)->message);
}

static void skip(trial *t) {
  const fnz_error *e = fnz_last_error(t->v.ctx);
  t->skipped++;
  snprintf(t->why, sizeof t->why, "%s: %s", e->where, e->message);
}

static void try_call(trial *t, const fnz_op *op, size_t number, const fnzi_json *call) {
  t->calls++;
  if (variant_program_open(&t->one, &t->s, op, call) != FNZ_OK)
    skip(t);
  else
    judge(t, op, number);
  variant_program_close(&t->one);
}

START_TEST(operators_have_the_interpreters_bits) {
  trial t = {.calls = 0};
  size_t operators = 0, never = 0;
  scene_begin(&t.s, &t.v, "reference", create_cpu);
  const fnzi_json *calls = fnzi_json_find(t.v.calls.root, "calls");
  for (const fnzi_json *one = calls->u.first; one; one = one->next, operators++) {
    const fnz_op *op = fnz_op_find(NULL, one->key);
    size_t number = 0;
    t.operator_run = 0;
    for (const fnzi_json *call = one->u.first; call; call = call->next)
      try_call(&t, op, number++, call);
    never += t.operator_run == 0;
    if (t.operator_run == 0)
      printf("%s: no call of it was run: %s\n", op->name, t.why);
  }
  printf("%zu operators, %zu never run; %zu calls: %zu the same, %zu refused, %zu left out, %zu "
         "wrong\n",
         operators, never, t.calls, t.run, t.refused, t.skipped, t.wrong);
  ck_assert_uint_eq(operators, OPERATORS);
  ck_assert_uint_eq(never, NEVER);
  ck_assert_uint_ge(t.run, RUN - BY_BLAS);
  ck_assert_uint_le(t.run, RUN);
  ck_assert_uint_eq(t.wrong, 0);
  scene_end(&t.s);
}
END_TEST

RUN_SUITE("engine operators", operators_have_the_interpreters_bits)
