/* checks: 4
 * kernels_made_test.c - operators that are computed by others, and the kernels beside them, against
 * what PyTorch gives for random arguments: fixtures/made, fixtures/backward, and libraries of it:
 * fixtures/library; and which of equal elements it gives: fixtures/ties. Numbers may be apart by a
 * few roundings of the largest one in a result, places not at all. Calls that PyTorch refuses must
 * be refused. */
#include "schema/custom.h"
#include "tests/help/faults.h"
#include "tests/help/variant_fixture.h"

#include <stdio.h>

enum { WHAT_BYTES = 400 };

/* unknown: calls whose result has a size that the meta backend cannot know. */
static const struct {
  const char *folder;
  size_t operators, calls, unknown;
} fixtures[] = {{"made", 291, 2859, 79},
                {"backward", 73, 730, 0},
                {"library", 26, 451, 13},
                {"ties", 5, 212, 0}};

typedef struct replay {
  variants v;
  scene s;
  bool has_data;
  size_t calls, wrong, unknown, stranger; /* stranger: results with other strides */
  char what[WHAT_BYTES];
} replay;

static void compare_elements(replay *r, size_t k, block want, fnz_eager have) {
  unsigned char *cells = malloc(block_bytes(want) + 1);
  OK(r->v.ctx, r->s.backend->download(r->s.backend->self, r->v.ctx, have.handle, cells));
  block_compare(want, cells, k, r->what, sizeof r->what);
  free(cells);
}

static void compare_tensor(replay *r, size_t k, const fnzi_json *seen, fnz_eager have) {
  shape want;
  variants_shape(&r->v, (size_t)seen->u.first->u.i, &want);
  const fnz_geometry *g = fnz_eager_geometry(have);
  size_t bytes = want.g.rank * sizeof *want.g.sizes;
  bool same = g->dtype == want.g.dtype && g->rank == want.g.rank &&
              (!bytes || memcmp(g->sizes, want.g.sizes, bytes) == 0);
  if (!same)
    snprintf(r->what, sizeof r->what, "result %zu has another type or other sizes", k);
  else
    r->stranger += bytes && fnz_geometry_numel(g) > 1 && memcmp(g->strides, want.g.strides, bytes);
  if (same && r->has_data)
    compare_elements(r, k, variants_block(&r->v, (size_t)seen->u.first->next->u.i), have);
}

static void compare_result(replay *r, size_t k, const fnzi_json *want, fnz_eager have) {
  const fnzi_json *seen = fnzi_json_find(want, "new");
  if (!seen && have.handle)
    snprintf(r->what, sizeof r->what, "result %zu must be undefined", k);
  else if (seen && !have.handle)
    snprintf(r->what, sizeof r->what, "result %zu is undefined", k);
  else if (seen)
    compare_tensor(r, k, seen, have);
}

static void compare_results(replay *r, const fnzi_json *results) {
  size_t place = 0, k = 0;
  if (fnz_stack_count(r->s.stack) != results->count)
    snprintf(r->what, sizeof r->what, "%zu results instead of %u", fnz_stack_count(r->s.stack),
             results->count);
  for (const fnzi_json *want = results->u.first; want && !r->what[0]; want = want->next, place++) {
    size_t item = 0;
    bool listed = want->kind == FNZI_JSON_ARRAY;
    for (const fnzi_json *one = listed ? want->u.first : want; one && !r->what[0];
         one = listed ? one->next : NULL)
      compare_result(r, k++, one, fnz_stack_tensor(r->s.stack, place, item++));
  }
}

/* A refusal: of what PyTorch refuses, or of a size that depends on data. */
static void judge_refusal(replay *r, bool raises) {
  const fnz_error *e = fnz_last_error(r->v.ctx);
  bool unknown = !r->has_data && !raises && e->kind == FNZ_CLASS_UNSUPPORTED;
  r->unknown += unknown;
  if ((!raises && !unknown) || e->kind == FNZ_CLASS_INTERNAL)
    snprintf(r->what, sizeof r->what, "refused: %s", e->message);
}

static void replay_call(replay *r, const fnz_op *op, size_t number, const fnzi_json *call) {
  const fnzi_json *results = call->u.first->next;
  bool raises = results->next != NULL;
  r->what[0] = 0;
  r->calls++;
  scene_open(&r->s, r->v.inputs.at[call->u.first->u.i]);
  fnz_status status = fnz_call(r->v.ctx, op, r->s.stack);
  if (status == FNZ_OK && !raises)
    compare_results(r, results);
  else if (status == FNZ_OK && r->has_data)
    snprintf(r->what, sizeof r->what, "is accepted, PyTorch raises");
  else if (status != FNZ_OK)
    judge_refusal(r, raises);
  scene_close(&r->s);
  if (!r->what[0])
    return;
  r->wrong++;
  printf("%s: %s #%zu: %s\n", r->s.backend->name, fnz_op_name(op), number, r->what);
}

/* Finds an operator of the table, or of a library. */
static const fnz_op *find_op(fnz_context *ctx, const char *name) {
  const fnz_op *op = fnz_op_find(NULL, name);
  const char *schema = op ? NULL : fnzi_builtin_schema(name);
  if (schema)
    OK(ctx, fnz_op_declare(ctx, schema, &op));
  return op;
}

static void replay_all(create_fn *create, bool has_data, size_t fixture) {
  replay r = {.has_data = has_data};
  size_t operators = 0;
  fnz_context *library; /* has its operators */
  ck_assert_int_eq(fnz_context_create(NULL, &library), FNZ_OK);
  scene_begin(&r.s, &r.v, fixtures[fixture].folder, create);
  const fnzi_json *calls = fnzi_json_find(r.v.calls.root, "calls");
  for (const fnzi_json *one = calls->u.first; one; one = one->next, operators++) {
    const fnz_op *op = find_op(library, one->key);
    size_t number = 0;
    ck_assert_msg(op != NULL, "no operator is called %s", one->key);
    for (const fnzi_json *call = one->u.first; call; call = call->next)
      replay_call(&r, op, number++, call);
  }
  printf("%s: %zu operators, %zu calls, %zu wrong, %zu of unknown size, %zu results with other "
         "strides\n",
         r.s.backend->name, operators, r.calls, r.wrong, r.unknown, r.stranger);
  ck_assert_uint_eq(operators, fixtures[fixture].operators);
  ck_assert_uint_eq(r.calls, fixtures[fixture].calls);
  ck_assert_uint_eq(r.wrong, 0);
  ck_assert_uint_eq(r.unknown, has_data ? 0 : fixtures[fixture].unknown);
  scene_end(&r.s);
  fnz_context_destroy(library);
}

START_TEST(on_the_cpu) {
  for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
    replay_all(create_cpu, true, i);
}
END_TEST

START_TEST(shapes_only) {
  for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
    replay_all(fnz_meta_backend_create, false, i);
}
END_TEST

/* --- Without memory ----------------------------------------------------------------------- */
static fnz_arg number(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}

/* An LSTM of one layer, and what differs among five numbers: steps and sizes found on the way. */
static fnz_status run_lstm(fnz_context *ctx, fnz_backend *cpu, const fnz_arg *t) {
  const fnz_arg state[] = {t[1], t[1]}, params[] = {t[2], t[2]};
  const fnz_arg args[] = {t[0],
                          {.tag = FNZ_ARG_LIST, .count = 2, .u.list = state},
                          {.tag = FNZ_ARG_LIST, .count = 2, .u.list = params},
                          {.tag = FNZ_ARG_BOOL, .u.i = 0},
                          number(1),
                          {.tag = FNZ_ARG_FLOAT, .u.f = 0},
                          {.tag = FNZ_ARG_BOOL, .u.i = 0},
                          {.tag = FNZ_ARG_BOOL, .u.i = 0},
                          {.tag = FNZ_ARG_BOOL, .u.i = 0}};
  const fnz_request lstm = {fnz_op_find(NULL, "lstm.input"), args, 9, NULL, ""};
  fnz_handle out[3];
  size_t count = 0;
  fnz_status status = cpu->apply(cpu->self, ctx, &lstm, out, 3, &count);
  for (size_t i = 0; i < count; i++)
    cpu->release(cpu->self, out[i]);
  const fnz_request unique = {fnz_op_find(NULL, "_unique2"), t, 1, NULL, ""};
  if (status == FNZ_OK)
    status = cpu->apply(cpu->self, ctx, &unique, out, 3, &count);
  for (size_t i = 0; status == FNZ_OK && i < count; i++)
    cpu->release(cpu->self, out[i]);
  return status;
}

static fnz_status without_memory(fnz_context *ctx, const void *user) {
  static const int64_t sizes[][3] = {{3, 1, 2}, {1, 1, 2}, {8, 2, 0}}, strides[] = {2, 2, 1};
  static const float zeros[16];
  fnz_arg t[3] = {{.tag = FNZ_ARG_NONE}, {.tag = FNZ_ARG_NONE}, {.tag = FNZ_ARG_NONE}};
  fnz_backend *cpu = NULL;
  (void)user;
  fnz_status status = fnz_cpu_backend_create(ctx, 1, &cpu);
  for (int i = 0; status == FNZ_OK && i < 3; i++) {
    fnz_geometry g = {.dtype = FNZ_F32,
                      .rank = i == 2 ? 2 : 3,
                      .sizes = sizes[i],
                      .strides = i == 2 ? strides + 1 : strides};
    t[i].tag = FNZ_ARG_VALUE;
    status = cpu->upload(cpu->self, ctx, &g, zeros, &t[i].u.value);
  }
  if (status == FNZ_OK)
    status = run_lstm(ctx, cpu, t);
  for (int i = 0; i < 3; i++)
    if (t[i].tag == FNZ_ARG_VALUE && t[i].u.value)
      cpu->release(cpu->self, t[i].u.value);
  fnz_backend_destroy(cpu);
  return status;
}

START_TEST(every_step_may_lack_memory) {
  ck_assert_uint_gt(each_fault(without_memory, NULL), 50);
}
END_TEST

/* --- Refusals ----------------------------------------------------------------------------- */
static void refused(const char *op, const fnz_arg *args, size_t nargs, const char *class_name,
                    const char *says) {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_handle out[4];
  size_t count;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  const fnz_request call = {fnz_op_find(NULL, op), args, nargs, NULL, ""};
  FAILS(ctx, class_name, cpu->apply(cpu->self, ctx, &call, out, 4, &count));
  ck_assert_msg(strstr(fnz_last_error(ctx)->message, says) != NULL, "%s",
                fnz_last_error(ctx)->message);
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}

START_TEST(refusals_name_the_operator) {
  const fnz_arg none = {.tag = FNZ_ARG_NONE};
  const fnz_arg empty[] = {{.tag = FNZ_ARG_LIST}};
  refused("hstack", empty, 1, "BOUNDS", "hstack: tensors is empty; it needs a tensor");
  const fnz_arg cell[] = {none, empty[0], none, none};
  refused("lstm_cell", cell, 4, "TYPE", "lstm_cell: argument input must be a tensor");
  const fnz_arg triangle[] = {number(-1), number(2)};
  refused("tril_indices", triangle, 2, "BOUNDS", "tril_indices: row -1");
}
END_TEST

RUN_SUITE("kernels_made", on_the_cpu, shapes_only, every_step_may_lack_memory,
          refusals_name_the_operator)
