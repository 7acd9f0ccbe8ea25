/* checks: 1
 * engine_operators_test.c - every functional operator that the CPU computes, as a program of one
 * node, by the engine: the interpreter's bits, on memory with gaps too. The calls are those that
 * were recorded from PyTorch (fixtures/reference). */
#include "program/program.h"
#include "run/call/stack.h"
#include "tests/help/variant_fixture.h"

#include <stdio.h>

/* NEVER: of so many the recording has no call that eager accepts. */
enum {
  OPERATORS = 990,
  NEVER = 13,
#ifdef __aarch64__ /* a matrix with NaN has a Cholesky factor there */
  RUN = 29874,
#else
  RUN = 29873,
#endif
  MOST_RESULTS = 64,
  MOST_TENSORS = 64,
  WRONG_SHOWN = 20
};

typedef struct trial {
  variants v;
  scene s;
  fnz_program *p;
  fnz_arrays *inputs;
  fnz_handle handles[MOST_TENSORS]; /* per input */
  size_t nhandles;
  size_t calls, run, refused, skipped, wrong;
  char why[300];       /* the last one was left out */
  size_t operator_run; /* calls of the current operator that were run */
} trial;

/* --- A program of one call
 * ------------------------------------------------------------------------ */
/* The row-major elements go into an array, the strides into the program. */
static fnz_status add_input(trial *t, fnz_handle handle, uint64_t *value) {
  fnz_context *ctx = t->v.ctx;
  fnz_backend *by = t->s.backend;
  fnz_geometry g = *by->geometry(by->self, handle);
  char name[16];
  const fnz_geometry *kept;
  uint32_t made;
  void *data;
  snprintf(name, sizeof name, "x%zu", t->nhandles);
  FNZ_TRY(fnzi_intern_geometry(t->p, &g, &kept));
  FNZ_TRY(fnzi_value_add(t->p, 0, name, kept, FNZI_NO_NODE, &made));
  FNZ_TRY(fnz_arrays_add(t->inputs, name, g.dtype, g.rank, g.sizes, &data));
  FNZ_TRY(by->download(by->self, ctx, handle, data));
  t->handles[t->nhandles++] = handle;
  *value = made;
  return FNZ_OK;
}

static fnz_status lower(trial *t, fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  for (size_t k = 0; k < t->nhandles; k++)
    if (t->handles[k] == arg->u.value) {
      arg->u.value = k;
      return FNZ_OK;
    }
  ck_assert_uint_lt(t->nhandles, MOST_TENSORS);
  return add_input(t, arg->u.value, &arg->u.value);
}

static fnz_status lower_all(trial *t, const fnz_op *op, fnz_arg **out) {
  FNZ_TRY(fnzi_args_copy(t->p, t->s.stack->args, op->nparams, out));
  for (size_t i = 0; i < op->nparams; i++) {
    fnz_arg *arg = &(*out)[i];
    for (uint32_t k = 0; arg->tag == FNZ_ARG_LIST && k < arg->count; k++)
      FNZ_TRY(lower(t, (fnz_arg *)(uintptr_t)&arg->u.list[k]));
    FNZ_TRY(lower(t, arg));
  }
  return FNZ_OK;
}

/* Result k of the call, a list as one. */
static fnz_status add_result(trial *t, const fnz_geometry *result, size_t number, fnz_arg *out) {
  char name[16];
  const fnz_geometry *kept;
  uint32_t made;
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!result)
    return FNZ_OK;
  fnz_geometry g = *result;
  g.is_conj = g.is_neg = false;
  snprintf(name, sizeof name, "y%zu", number);
  FNZ_TRY(fnzi_intern_geometry(t->p, &g, &kept));
  FNZ_TRY(fnzi_value_add(t->p, 0, name, kept, 0, &made));
  *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made};
  return FNZ_OK;
}

static const fnz_geometry *result_at(const trial *t, size_t place, size_t item) {
  fnz_eager tensor = fnz_stack_tensor(t->s.stack, place, item);
  return tensor.handle ? fnz_eager_geometry(tensor) : NULL;
}

/* `all` gets the results one after the other, `outputs` one per return. */
static fnz_status add_results(trial *t, fnz_arg *all, size_t *count, fnz_arg *outputs) {
  *count = 0;
  for (size_t place = 0; place < fnz_stack_count(t->s.stack); place++) {
    const fnz_arg *top = &t->s.stack->args[place];
    if (top->tag != FNZ_ARG_LIST) {
      FNZ_TRY(add_result(t, result_at(t, place, 0), *count, &all[*count]));
      outputs[place] = all[(*count)++];
      continue;
    }
    outputs[place] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = top->count, .u.list = all + *count};
    for (size_t item = 0; item < top->count; item++, ++*count)
      FNZ_TRY(add_result(t, result_at(t, place, item), *count, &all[*count]));
  }
  return FNZ_OK;
}

static fnz_status finish(trial *t, const fnz_arg *all, size_t count) {
  size_t tensors = 0, at = 0;
  FNZ_TRY(fnzi_graph_set_inputs(t->p, 0, t->nhandles));
  for (size_t k = 0; k < t->nhandles; k++) {
    t->p->graphs.data[0].inputs[k] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = k};
    t->p->inputs[k].target = t->p->graphs.data[0].values.data[k].name;
  }
  for (size_t k = 0; k < count; k++)
    tensors += all[k].tag == FNZ_ARG_VALUE;
  FNZ_TRY(fnzi_graph_set_outputs(t->p, 0, tensors));
  for (size_t k = 0; k < count; k++)
    if (all[k].tag == FNZ_ARG_VALUE)
      t->p->graphs.data[0].outputs[at++] = all[k];
  return FNZ_OK;
}

static fnz_status begin_program(trial *t, const fnz_op *op, fnz_arg **args) {
  uint32_t at;
  t->nhandles = 0;
  FNZ_TRY(fnzi_program_create(t->v.ctx, &t->p));
  FNZ_TRY(fnzi_graph_add(t->p, "", &at));
  FNZ_TRY(fnz_arrays_create(t->v.ctx, &t->inputs));
  return lower_all(t, op, args);
}

static fnz_status end_program(trial *t, const fnz_op *op, fnz_arg *args) {
  fnz_arg all[MOST_RESULTS], outputs[MOST_RESULTS];
  fnzi_node node = {.op = op, .args = args, .outputs = outputs, .source = "t.py:1"};
  size_t count;
  uint32_t at;
  node.nargs = op->nparams;
  node.noutputs = (uint32_t)fnz_stack_count(t->s.stack);
  FNZ_TRY(add_results(t, all, &count, outputs));
  FNZ_TRY(fnzi_node_add(t->p, 0, &node, &at));
  FNZ_TRY(finish(t, all, count));
  return fnz_program_verify(t->v.ctx, t->p);
}

/* --- One call
 * ------------------------------------------------------------------------------------- */
/* What is refused before it is run is refused by the interpreter as well. */
static fnz_status both_refuse(trial *t, const fnz_program *p) {
  const fnz_error error = *fnz_last_error(t->v.ctx);
  fnz_arrays *none;
  FNZ_TRY(fnz_arrays_create(t->v.ctx, &none));
  fnz_status status = fnz_run(t->v.ctx, p, t->s.backend, t->inputs, NULL, none);
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
  fnz_status status = fnz_executable_verify(t->v.ctx, exe, t->inputs);
  fnz_executable_destroy(exe);
  return status == FNZ_DIFFERENT ? FNZ_INTERNAL : status;
}

static void judge(trial *t, const fnz_op *op, size_t number) {
  fnz_program *functional;
  if (fnz_functionalize(t->v.ctx, t->p, NULL, &functional) != FNZ_OK) {
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

/* Tensors with lazy bits are no inputs of programs. */
static fnz_status see_bits(void *user, const fnz_arg *arg) {
  const trial *t = user;
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnz_geometry *g = t->s.backend->geometry(t->s.backend->self, arg->u.value);
  return g->is_conj || g->is_neg ? FNZ_UNSUPPORTED : FNZ_OK;
}

static void skip(trial *t) {
  const fnz_error *e = fnz_last_error(t->v.ctx);
  t->skipped++;
  snprintf(t->why, sizeof t->why, "%s: %s", e->where, e->message);
}

/* With the arguments as they were before they were arranged. */
static fnz_status call_anew(trial *t, const fnz_op *op, const fnzi_json *call) {
  scene_close(&t->s);
  scene_open(&t->s, t->v.inputs.at[call->u.first->u.i]);
  return fnz_call(t->v.ctx, op, t->s.stack);
}

static void try_call(trial *t, const fnz_op *op, size_t number, const fnzi_json *call) {
  fnz_arg *args;
  scene_open(&t->s, t->v.inputs.at[call->u.first->u.i]);
  fnz_stack *stack = t->s.stack;
  t->calls++;
  if (fnzi_call_stack_arrange(stack, op) != FNZ_OK ||
      fnzi_args_visit(stack->args, op->nparams, see_bits, t) != FNZ_OK ||
      begin_program(t, op, &args) != FNZ_OK || call_anew(t, op, call) != FNZ_OK ||
      end_program(t, op, args) != FNZ_OK)
    skip(t);
  else
    judge(t, op, number);
  fnz_arrays_destroy(t->inputs);
  fnz_program_destroy(t->p);
  t->inputs = NULL;
  t->p = NULL;
  scene_close(&t->s);
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
  ck_assert_uint_eq(t.run, RUN);
  ck_assert_uint_eq(t.wrong, 0);
  scene_end(&t.s);
}
END_TEST

RUN_SUITE("engine operators", operators_have_the_interpreters_bits)
