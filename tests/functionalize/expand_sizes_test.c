/* checks: 4
 * expand_sizes_test.c - calls that an expander gives at numbers: expressions are found for their
 * sizes, and other calls at some sizes are refused. */
#include "functionalize/pass/pass.h"
#include "program/shapes/ints.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

static fnz_context *ctx;
static fnz_program *program;
static fnzi_sizes sizes;
static fnzi_point recorded;
static fnzi_ints ints;
static fnzi_arena arena;

static void begin(void) {
  const char *text = "fnz 1 symbol s0 = 4 symbol s1 = 6 program(%x: f32[{s0},{s1}]) { return %x }";
  fnzi_draw draw;
  bool complete;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_arena_init(&arena, ctx);
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &program));
  OK(ctx, fnzi_sizes_open(&sizes, ctx, program));
  fnzi_point_init(&recorded, &sizes.set);
  OK(ctx, fnzi_sizes_recorded(&sizes, &recorded, &complete));
  OK(ctx, fnzi_ints_open(&ints, &sizes, &recorded));
  fnzi_draw_start(&draw, &sizes, 1);
  OK(ctx, fnzi_ints_points_draw(&ints, &draw));
}

static void end(void) {
  fnzi_ints_close(&ints);
  fnzi_point_free(&recorded);
  fnzi_sizes_close(&sizes);
  fnz_program_destroy(program);
  fnzi_arena_free(&arena);
  fnz_context_destroy(ctx);
}

/* --- expanders: full([size]) for a node of sizes a and b -------------------------------------- */
typedef struct calls {
  fnzi_pass_expander base;
  int64_t (*size)(int64_t a, int64_t b); /* below 0: it fails; NEVER: it stays */
  int asked;
} calls;
enum { NEVER = 1 << 20 };

static bool may_expand(const fnzi_pass_expander *self, const fnzi_script_whole *whole) {
  (void)self, (void)whole;
  return true;
}

static fnz_status add_full(fnzi_arena *to, int64_t size, fnzi_script *out) {
  const fnz_op *op = fnz_op_find(ctx, "full");
  fnz_geometry *g;
  int64_t *dims;
  fnz_arg *args, *list;
  FNZI_NEW(to, 1, &g);
  FNZI_NEW(to, 2, &dims);
  FNZI_NEW(to, op->nparams, &args);
  FNZI_NEW(to, 1, &list);
  dims[0] = size;
  dims[1] = 1;
  *g = (fnz_geometry){.rank = 1, .sizes = dims, .strides = dims + 1};
  *list = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = size};
  args[0] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = list};
  args[1] = (fnz_arg){.tag = FNZ_ARG_INT};
  const fnzi_script_call call = {op, args, (uint32_t)out->values.count, 1};
  FNZI_PUSH(ctx, &out->values, g);
  FNZI_PUSH(ctx, &out->calls, call);
  return fnzi_script_result_add(out, call.first);
}

static fnz_status expand(const fnzi_pass_expander *self, fnzi_arena *to,
                         const fnzi_script_whole *whole, fnzi_script *out, bool *done) {
  calls *c = (calls *)(uintptr_t)self;
  const fnz_geometry *self_at = whole->geometries[0];
  const int64_t size = c->size(self_at->sizes[0], self_at->sizes[1]);
  c->asked++;
  *out = (fnzi_script){.arena = to, .ninputs = 1};
  *done = size != NEVER;
  if (size < 0)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "too small");
  if (!*done)
    return FNZ_OK;
  FNZI_PUSH(ctx, &out->values, self_at);
  return add_full(to, size, out);
}

/* The size that is found; "" where the node stays, NULL where it is refused. */
static const char *found_for(int64_t (*size)(int64_t a, int64_t b), const fnz_geometry *g,
                             int *asked) {
  calls c = {{.may_expand = may_expand, .expand = expand}, size, 0};
  const fnz_arg self = {.tag = FNZ_ARG_VALUE};
  const fnzi_script_whole whole = {fnz_op_find(ctx, "neg"), &self, &g, NULL, 0, 0};
  fnzi_script script;
  bool done;
  fnz_status status = fnzi_pass_expand_sizes(&ints, &c.base, &arena, &whole, &script, &done);
  const char *text = NULL;
  if (status == FNZ_OK && !done)
    text = "";
  else if (status == FNZ_OK) {
    const fnz_arg *list = &script.calls.data[0].args[0].u.list[0];
    ck_assert_int_eq(list->u.i, script.values.data[1]->sizes[0]);
    OK(ctx, fnzi_arena_format(&arena, &text, "%s", FNZI_PUT(&ints, fnzi_arg_word(list))));
  } else
    ck_assert_int_eq(status, FNZ_UNSUPPORTED);
  fnzi_script_free(&script);
  if (asked)
    *asked = c.asked;
  return text;
}

static const fnz_geometry *both(void) {
  const fnz_geometry *g;
  OK(ctx, fnzi_ints_geometry(&ints, program->graphs.data[0].values.data[0].geometry, &arena, &g));
  return g;
}

/* --- what is found ---------------------------------------------------------------------------- */
static int64_t twice(int64_t a, int64_t b) {
  (void)b;
  return 2 * a;
}
static int64_t all_of(int64_t a, int64_t b) {
  return a * b;
}
static int64_t joined(int64_t a, int64_t b) {
  return a + b;
}
static int64_t one(int64_t a, int64_t b) {
  (void)a, (void)b;
  return 1;
}
static int64_t half(int64_t a, int64_t b) {
  (void)b;
  return a / 2;
}
static int64_t from_two(int64_t a, int64_t b) {
  return a < 2 ? -1 : b;
}

START_TEST(expressions_are_found) {
  begin();
  ck_assert_str_eq(found_for(twice, both(), NULL), "2*s0");
  ck_assert_str_eq(found_for(all_of, both(), NULL), "s0*s1");
  ck_assert_str_eq(found_for(joined, both(), NULL), "s0 + s1");
  ck_assert_str_eq(found_for(half, both(), NULL), "s0//2");
  ck_assert_str_eq(found_for(one, both(), NULL), "1");
  ck_assert_str_eq(found_for(from_two, both(), NULL),
                   "s1"); /* sizes at which it fails do not count */
  end();
}
END_TEST

/* --- what is not ------------------------------------------------------------------------------ */
static int64_t half_of_next(int64_t a, int64_t b) {
  (void)b;
  return (a + 1) / 2;
}
static int64_t one_is_special(int64_t a, int64_t b) {
  (void)b;
  return a == 1 ? 2 : a;
}
static int64_t stays_at_equal(int64_t a, int64_t b) {
  return a == b ? NEVER : a;
}

START_TEST(other_calls_at_some_sizes_are_refused) {
  begin();
  ck_assert_ptr_null(found_for(half_of_next, both(), NULL));
  ck_assert_ptr_null(found_for(one_is_special, both(), NULL));
  ck_assert_ptr_null(found_for(stays_at_equal, both(), NULL));
  end();
}
END_TEST

static int64_t never(int64_t a, int64_t b) {
  (void)a, (void)b;
  return NEVER;
}

START_TEST(a_node_may_stay) {
  begin();
  ck_assert_str_eq(found_for(never, both(), NULL), "");
  end();
}
END_TEST

START_TEST(fixed_sizes_are_asked_once) {
  const int64_t dims[] = {4, 6, 6, 1};
  const fnz_geometry g = {.rank = 2, .sizes = dims, .strides = dims + 2};
  int asked;
  begin();
  ck_assert_str_eq(found_for(joined, &g, &asked), "10");
  ck_assert_int_eq(asked, 1);
  end();
}
END_TEST

RUN_SUITE("expand_sizes", expressions_are_found, other_calls_at_some_sizes_are_refused,
          a_node_may_stay, fixed_sizes_are_asked_once)
