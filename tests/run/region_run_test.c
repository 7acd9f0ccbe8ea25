/* checks: 12
 * Bodies of higher-order operators in both interpreters: values as PyTorch gives them, memory that
 * is shared with the outside, branches that verification must come to, and refusals. */
#include "tests/help/faults.h"
#include "tests/help/run_help.h"

#include "program/program.h"
#include "run/eager/interp.h"

static fnz_context *ctx;

static void open_context(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static fnz_status read_text(fnz_context *c, const char *text, fnz_program **out) {
  return fnz_program_read(c, text, strlen(text), FNZ_FORMAT_TEXT, out);
}

static fnz_program *parse(const char *text) {
  fnz_program *p;
  OK(ctx, read_text(ctx, text, &p));
  return p;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Every input gets 1, 2, 4, 8, ...; bools the first of `p`. */
static fnz_arrays *inputs_of(const fnz_program *p, bool first_bool) {
  fnz_arrays *arrays;
  const fnzi_graph *g = fnzi_graph_main(p);
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    if (g->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    const fnzi_value *v = fnzi_value_at(p, 0, g->inputs[k].u.value);
    void *data;
    OK(ctx, fnz_arrays_add(arrays, v->name, v->geometry->dtype, v->geometry->rank,
                           v->geometry->sizes, &data));
    for (int64_t i = 0; i < fnz_geometry_numel(v->geometry); i++) {
      if (v->geometry->dtype == FNZ_F32)
        ((float *)data)[i] = (float)(1 << i);
      else if (v->geometry->dtype == FNZ_I64)
        ((int64_t *)data)[i] = 1 << i;
      else
        ((unsigned char *)data)[i] = first_bool;
    }
  }
  return arrays;
}

static fnz_status run_either(const fnz_program *p, bool original, bool first_bool,
                             fnz_arrays **out) {
  fnz_backend *cpu;
  fnz_arrays *inputs = inputs_of(p, first_bool);
  OK(ctx, fnz_arrays_create(ctx, out));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = fnz_run(ctx, p, cpu, inputs, original ? AS_ORIGINAL : NULL, *out);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(inputs);
  return status;
}

static void expect_floats(const fnz_arrays *out, const char *name, const float *want,
                          size_t count) {
  const fnz_array *array = fnz_arrays_find(out, name);
  ck_assert_msg(array != NULL, "no %s", name);
  ck_assert_uint_eq(array->bytes, count * sizeof *want);
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(((const float *)array->data)[i] == want[i], "%s[%zu] is %g, not %g", name, i,
                  (double)((const float *)array->data)[i], (double)want[i]);
}

#define BRANCHES                                                                                   \
  "graph yes(%a: f32[2]) {\n%r: f32[2] = add.Scalar(%a, 1)\nreturn %r\n}\n"                        \
  "graph no(%a: f32[2]) {\n%r: f32[2] = mul.Scalar(%a, 3)\nreturn %r\n}\n"

#define COND(pred)                                                                                 \
  "fnz 1 program(%x: f32[2], %p: bool[]) {\n"                                                      \
  "%y: f32[2] = higher_order.cond(" pred ", @yes, @no, [%x])\nreturn %y\n}\n" BRANCHES

/* i below x's second element: adds x to itself that often. */
#define LOOP(start)                                                                                \
  "fnz 1 program(%x: f32[2]) {\n"                                                                  \
  "%i: f32[] = full([], " start ")\n"                                                              \
  "%n: f32[], %y: f32[2] = higher_order.while_loop(@test, @turn, [%i, %x], [%x])\nreturn %y\n}\n"  \
  "graph test(%i: f32[], %a: f32[2], %x: f32[2]) {\n"                                              \
  "%last: f32[] = select_copy.int(%x, 0, 1)\n%more: bool[] = lt.Tensor(%i, %last)\n"               \
  "return single %more\n}\n"                                                                       \
  "graph turn(%i: f32[], %a: f32[2], %x: f32[2]) {\n"                                              \
  "%j: f32[] = add.Scalar(%i, 1)\n%b: f32[2] = add.Tensor(%a, %x)\nreturn %j, %b\n}\n"

#define MAP                                                                                        \
  "fnz 1 program(%x: f32[3,2], %y: f32[2]) {\n"                                                    \
  "%r: f32[3,2] = higher_order.map_impl(@body, [%x], [%y])\nreturn %r\n}\n"                        \
  "graph body(%a: f32[2], %y: f32[2]) {\n%r: f32[2] = sub.Tensor(%a, %y)\nreturn %r\n}\n"

#define SCAN                                                                                       \
  "fnz 1 program(%c: f32[2], %x: f32[3,2]) {\n"                                                    \
  "%d: f32[2], %r: f32[3,2] = higher_order.scan(@body, [%c], [%x], [])\nreturn %r, %d\n}\n"        \
  "graph body(%c: f32[2], %a: f32[2]) {\n%d: f32[2] = add.Tensor(%c, %a)\n"                        \
  "%r: f32[2] = mul.Tensor(%c, %a)\nreturn %d, %r\n}\n"

/* a - 2 b does not associate, so that the order shows. */
#define TREE(n)                                                                                    \
  "fnz 1 program(%x: f32[" #n "]) {\n"                                                             \
  "%r: f32[" #n "] = higher_order.associative_scan(@body, [%x], [])\nreturn %r\n}\n"               \
  "graph body(%a: f32[], %b: f32[]) {\n%r: f32[] = sub.Tensor(%a, %b, alpha=2)\nreturn %r\n}\n"

#define CALL                                                                                       \
  "fnz 1 program(%x: f32[2]) {\n"                                                                  \
  "%y: f32[2], %z: f32[2] = higher_order.wrap_with_set_grad_enabled(False, @outer, %x)\n"          \
  "%r: f32[2] = add.Tensor(%x, %z)\nreturn %r, %y\n}\n"                                            \
  "graph outer(%a: f32[2]) {\n%b: f32[2] = higher_order.invoke_subgraph(@inner, \"f\", %a)\n"      \
  "return %b, %b\n}\ngraph inner(%a: f32[2]) {\n%r: f32[2] = mul.Scalar(%a, 5)\nreturn %r\n}\n"

#define EFFECT                                                                                     \
  "fnz 1 program(%t: token token, %x: f32[2]) {\n"                                                 \
  "%u: token, %y: f32[2] = higher_order.with_effects(%t, operator(\"add.Scalar\"), %x, 7)\n"       \
  "return %y\n}\n"

/* x is 1, 2, 4, 8. */
#define AUTOCAST(device, on, dtype, sizes, body)                                                   \
  "fnz 1 program(%x: f32[2,2]) {\n%y: " dtype sizes " = higher_order.wrap_with_autocast(" device   \
  ", bf16, " on ", None, @g, %x)\n%z: f32" sizes " = _to_copy(%y, dtype=f32)\nreturn %z\n}\n"      \
  "graph g(%a: f32[2,2]) {\n" body "\nreturn %r\n}\n"
#define PRODUCT(dtype) "%b: f32[2,2] = add.Scalar(%a, 256)\n%r: " dtype "[2,2] = mm(%b, %b)"
#define LOWERED        "%l: bf16[2,2] = _to_copy(%a, dtype=bf16)\n"

static const struct {
  const char *text;
  bool first_bool;
  size_t count;
  float want[8];
} values[] = {
    {COND("%p"), true, 2, {2, 3}},
    {COND("%p"), false, 2, {3, 6}},
    {COND("True"), false, 2, {2, 3}},
    {LOOP("0.0"), false, 2, {3, 6}},
    {LOOP("2.0"), false, 2, {1, 2}},
    {MAP, false, 6, {0, 0, 3, 6, 15, 30}},
    {SCAN, false, 6, {1, 4, 8, 32, 96, 384}},
    {TREE(1), false, 1, {1}},
    {TREE(2), false, 2, {1, -3}},
    {TREE(3), false, 3, {1, -3, -11}},
    {TREE(5), false, 5, {1, -3, -11, 21, -11}},
    {TREE(7), false, 7, {1, -3, -11, 21, -11, 117, -11}},
    {CALL, false, 2, {6, 12}},
    {EFFECT, false, 2, {8, 9}},
    {AUTOCAST("\"cpu\"", "True", "bf16", "[2,2]", PRODUCT("bf16")),
     false,
     4,
     {133120, 134144, 135168, 137216}},
    {AUTOCAST("\"cpu\"", "False", "f32", "[2,2]", PRODUCT("f32")),
     false,
     4,
     {133129, 134418, 135460, 136776}},
    {AUTOCAST("\"cuda\"", "True", "f32", "[2,2]", PRODUCT("f32")),
     false,
     4,
     {133129, 134418, 135460, 136776}},
    {AUTOCAST("\"cpu\"", "True", "f32", "[]", LOWERED "%r: f32[] = prod(%l)"), false, 1, {64}},
    {AUTOCAST("\"cpu\"", "True", "f32", "[4,2]", LOWERED "%r: f32[4,2] = cat([%l, %a])"),
     false,
     8,
     {1, 2, 4, 8, 1, 2, 4, 8}},
    {AUTOCAST("\"cpu\"", "True", "f32", "[2,2]",
              "%r: f32[2,2] = higher_order.wrap_with_autocast(\"cpu\", None, False, None, @h, "
              "%a)") "graph h(%a: f32[2,2]) {\n%r: f32[2,2] = mm(%a, %a)\nreturn %r\n}\n",
     false,
     4,
     {9, 18, 36, 72}},
};

START_TEST(each_kind_gives_eager_values) {
  open_context();
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    for (int original = 0; original < 2; original++) {
      fnz_program *p = parse(values[i].text);
      fnz_arrays *out;
      OK(ctx, run_either(p, original != 0, values[i].first_bool, &out));
      expect_floats(out, "output.0", values[i].want, values[i].count);
      fnz_arrays_destroy(out);
      fnz_program_destroy(p);
    }
  fnz_context_destroy(ctx);
}
END_TEST

/* Values that are used after the node stay, even if a body uses them for the last time. */
START_TEST(only_own_values_are_given_away) {
  static const char text[] =
      "fnz 1 program(%x: f32[2]) {\n%y: f32[2] = neg(%x)\n"
      "%z: f32[2] = higher_order.strict_mode(@body, [%y, %y])\n"
      "%w: f32[2], %v: f32[2] = higher_order.scan(@turn, [%y], [%z], [%y])\n"
      "return %y, %w, %z\n}\n"
      "graph body(%a: f32[2], %b: f32[2]) {\n%c: f32[2] = mul.Scalar(%a, 3)\n"
      "%d: f32[2] = add.Tensor(%c, %b)\nreturn %d\n}\n"
      "graph turn(%c: f32[2], %s: f32[], %y: f32[2]) {\n%d: f32[2] = add.Tensor(%c, %s)\n"
      "%e: f32[2] = mul.Scalar(%y, 9)\n%f: f32[] = sum(%e)\nreturn %d, %f\n}\n";
  static const float first[2] = {-1, -2}, last[2] = {-13, -14}, middle[2] = {-4, -8};
  open_context();
  for (int original = 0; original < 2; original++) {
    fnz_program *p = parse(text);
    fnz_arrays *out;
    OK(ctx, run_either(p, original != 0, false, &out));
    expect_floats(out, "output.0", first, 2);
    expect_floats(out, "output.1", last, 2);
    expect_floats(out, "output.2", middle, 2);
    fnz_arrays_destroy(out);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */

static const struct {
  const char *text, *name;
  size_t count;
  float want[6];
} writes[] = {
    /* a write in a branch is seen outside */
    {"fnz 1 program(%x: f32[2], %p: bool[]) {\n"
     "%y: f32[2] = higher_order.cond(%p, @yes, @no, [%x])\nreturn %y\n}\n"
     "graph yes(%a: f32[2]) {\n%b: f32[2] = add_.Scalar(%a, 1)\nreturn %b\n}\n"
     "graph no(%a: f32[2]) {\n%b: f32[2] = neg(%a)\nreturn %b\n}\n",
     "input.x",
     2,
     {2, 3}},
    /* the result of the body is its operand: writing it later shows */
    {"fnz 1 program(%x: f32[2]) {\n%y: f32[2] = higher_order.strict_mode(@body, [%x])\n"
     "%z: f32[2] = mul_.Scalar(%y, 10)\nreturn %x\n}\ngraph body(%a: f32[2]) {\nreturn %a\n}\n",
     "output.0",
     2,
     {10, 20}},
    /* slices of map are windows */
    {"fnz 1 program(%x: f32[3,2]) {\n%y: f32[3,2] = higher_order.map_impl(@body, [%x], [])\n"
     "return %y\n}\n"
     "graph body(%a: f32[2]) {\n%b: f32[2] = add_.Scalar(%a, 100)\nreturn %b\n}\n",
     "input.x",
     6,
     {101, 102, 104, 108, 116, 132}},
    /* the first slice of scan is a copy */
    {"fnz 1 program(%c: f32[2], %x: f32[3,2]) {\n"
     "%d: f32[2], %y: f32[3,2] = higher_order.scan(@body, [%c], [%x], [])\nreturn %y\n}\n"
     "graph body(%c: f32[2], %a: f32[2]) {\n%b: f32[2] = add_.Scalar(%a, 100)\n"
     "%d: f32[2] = neg(%c)\nreturn %d, %b\n}\n",
     "input.x",
     6,
     {1, 2, 104, 108, 116, 132}},
    /* a loop without a turn gives copies */
    {"fnz 1 program(%x: f32[2]) {\n%y: f32[2] = higher_order.while_loop(@test, @turn, [%x], [])\n"
     "%z: f32[2] = zero_(%y)\nreturn %x\n}\n"
     "graph test(%a: f32[2]) {\nreturn False\n}\ngraph turn(%a: f32[2]) {\nreturn %a\n}\n",
     "output.0",
     2,
     {1, 2}},
    /* the condition may write too, each time it is evaluated */
    {"fnz 1 program(%x: f32[2]) {\n%i: f32[] = full([], 0.0)\n"
     "%j: f32[] = higher_order.while_loop(@test, @turn, [%i], [%x])\nreturn %x\n}\n"
     "graph test(%i: f32[], %x: f32[2]) {\n%y: f32[2] = add_.Scalar(%x, 1)\n"
     "%m: bool[] = lt.Scalar(%i, 2)\nreturn %m\n}\n"
     "graph turn(%i: f32[], %x: f32[2]) {\n%j: f32[] = add.Scalar(%i, 1)\nreturn %j\n}\n",
     "output.0",
     2,
     {4, 5}},
};

START_TEST(writes_in_bodies_are_real) {
  open_context();
  for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
    fnz_program *p = parse(writes[i].text);
    fnz_arrays *out;
    OK(ctx, run_either(p, true, true, &out));
    expect_floats(out, writes[i].name, writes[i].want, writes[i].count);
    fnz_arrays_destroy(out);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(functional_runs_refuse_writes_in_bodies) {
  open_context();
  fnz_program *p = parse(writes[0].text);
  fnz_arrays *out;
  ck_assert(fnzi_eag_needs_memory(p));
  FAILS(ctx, "UNSUPPORTED", run_either(p, false, true, &out));
  ck_assert_str_eq(fnz_last_error(ctx)->where, "node 0 of graph yes (add_.Scalar)");
  fnz_arrays_destroy(out);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Verification ----------------------------------------------------------------------------- */

static const char nested[] =
    "fnz 1 program(%x: f32[2], %p: bool[], %q: bool[]) {\n"
    "%y: f32[2] = higher_order.cond(%p, @yes, @no, [%x, %q])\nreturn %y\n}\n"
    "graph yes(%a: f32[2], %q: bool[]) {\n%r: f32[2] = relu(%a)\nreturn %r\n}\n"
    "graph no(%a: f32[2], %q: bool[]) {\n"
    "%r: f32[2] = higher_order.cond(%q, @deep, @other, [%a])\nreturn %r\n}\n"
    "graph deep(%a: f32[2]) {\n%r: f32[2] = higher_order.while_loop(@test, @turn, [%a], [])\n"
    "return %r\n}\n"
    "graph other(%a: f32[2]) {\n%r: f32[2] = exp(%a)\nreturn %r\n}\n"
    "graph test(%a: f32[2]) {\n%s: f32[] = sum(%a)\n%m: bool[] = lt.Scalar(%s, 9)\nreturn %m\n}\n"
    "graph turn(%a: f32[2]) {\n%r: f32[2] = sin(%a)\nreturn %r\n}\n";

/* Another operator in the rarest body is found in one trial: predicates are turned. */
START_TEST(verification_comes_to_every_body) {
  fnz_verify_report report = FNZ_VERIFY_REPORT_INIT;
  char other[sizeof nested];
  open_context();
  memcpy(other, nested, sizeof nested);
  memcpy(strstr(other, "sin("), "cos(", 4);
  fnz_program *a = parse(nested), *b = parse(other);
  OK(ctx, fnz_verify(ctx, a, a, NULL, WITH_TRIALS(1), &report));
  ck_assert_uint_eq(report.bodies, 12);
  ck_assert_uint_eq(report.bodies_run, 12);
  ck_assert_uint_gt(report.predicates_turned, 0);
  ck_assert_str_eq(report.missed, "");
  FAILS(ctx, "DIFFERENT", fnz_verify(ctx, a, b, NULL, WITH_TRIALS(1), NULL));
  fnz_program_destroy(a);
  fnz_program_destroy(b);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(bodies_never_run_are_told) {
  fnz_verify_report report = FNZ_VERIFY_REPORT_INIT;
  open_context();
  fnz_program *p = parse(COND("True"));
  OK(ctx, fnz_verify(ctx, p, p, NULL, NULL, &report));
  ck_assert_uint_eq(report.bodies, 4);
  ck_assert_uint_eq(report.bodies_run, 2);
  ck_assert_str_eq(report.missed, "no");
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* Hashes and numbers agree between the interpreters, for every kind. */
START_TEST(both_interpreters_agree) {
  fnz_verify_report report = FNZ_VERIFY_REPORT_INIT;
  open_context();
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    fnz_program *p = parse(values[i].text);
    fnz_arrays *inputs = inputs_of(p, true);
    OK(ctx, fnz_verify(ctx, p, p, inputs, WITH_TRIALS(8), &report));
    ck_assert(report.numbers);
    fnz_arrays_destroy(inputs);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Refusals --------------------------------------------------------------------------------- */

#define ONE(node, body)                                                                            \
  "fnz 1 program(%x: f32[3,2], %p: bool[], %q: bool[2], %s: f32[]) {\n%y: f32[3,2] = " node        \
  "\nreturn %y\n}\n" body
#define SAME "graph g(%a: f32[3,2]) {\nreturn %a\n}\n"

static const struct {
  const char *class_name, *where, *text;
} refused[] = {
    {"TYPE", "cond", ONE("higher_order.cond(%p, @g, @g)", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(%p, @g, @g, [%x, %x])", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(%p, @g, [%x])", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(%q, @g, @g, [%x])", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(\"p\", @g, @g, [%x])", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(%p, @g, @g, [[%x]])", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(%p, @g, @g, [%x], mode=%x)", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(%p, @g, @g, [%s])", SAME)},
    {"TYPE", "cond", ONE("higher_order.cond(%p, @g, @g, [3])", SAME)},
    {"TYPE", "cond",
     ONE("higher_order.cond(%p, @g, @h, [%x])",
         SAME "graph h(%a: f32[3,2]) {\n%b: i32[3,2] = _to_copy(%a, dtype=i32)\nreturn %b\n}\n")},
    {"TYPE", "cond",
     ONE("higher_order.cond(%p, @g, @h, [%x])", SAME "graph h(%a: f32[3,2]) {\nreturn\n}\n")},
    {"TYPE", "while_loop",
     ONE("higher_order.while_loop(@t, @g, [%x], [])",
         SAME "graph t(%a: f32[3,2]) {\nreturn %a\n}\n")},
    {"TYPE", "while_loop",
     ONE("higher_order.while_loop(@t, @g, [%x], [])",
         SAME "graph t(%a: f32[3,2]) {\nreturn True, False\n}\n")},
    {"TYPE", "map_impl", ONE("higher_order.map_impl(@g, [%x], [])", SAME)},
    {"TYPE", "map_impl", ONE("higher_order.map_impl(@g, [%s], [])", SAME)},
    {"TYPE", "map_impl", ONE("higher_order.map_impl(@g, [], [%x])", SAME)},
    {"TYPE", "map_impl",
     ONE("higher_order.map_impl(@g, [%x, %q], [])",
         "graph g(%a: f32[2], %b: bool[]) {\nreturn %a\n}\n")},
    {"TYPE", "scan",
     ONE("higher_order.scan(@g, [%s], [%x], [])",
         "graph g(%c: f32[], %a: f32[2]) {\nreturn %a\n}\n")},
    {"TYPE", "associative_scan",
     ONE("higher_order.associative_scan(@g, [%x], [])", "graph g(%a: f32[2]) {\nreturn %a\n}\n")},
    {"TYPE", "with_effects", ONE("higher_order.with_effects(%x, operator(\"neg\"), %x)", "")},
    {"REF", "",
     "fnz 1 program(%x: f32[2]) {\n%y: f32[2] = higher_order.wrap(@g, %x)\nreturn %y\n}\n"
     "graph g(%a: f32[2]) {\n%b: f32[2] = higher_order.wrap(@g, %a)\nreturn %b\n}\n"},
};

START_TEST(wrong_nodes_are_refused) {
  open_context();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    fnz_program *p = NULL;
    fnz_status status = read_text(ctx, refused[i].text, &p);
    const fnz_error *e = fnz_last_error(ctx);
    ck_assert_msg(status != FNZ_OK, "%s is accepted", refused[i].text);
    ck_assert_msg(strcmp(fnz_class_name(e->kind), refused[i].class_name) == 0, "%s: %s: %s",
                  refused[i].text, fnz_class_name(e->kind), e->message);
    ck_assert_msg(strstr(e->where, refused[i].where) != NULL, "%s: at %s", refused[i].text,
                  e->where);
  }
  fnz_context_destroy(ctx);
}
END_TEST

static const struct {
  const char *class_name, *text;
} not_run[] = {
    {"UNSUPPORTED", ONE("higher_order.flex_attention(%x)", "")},
    {"UNSUPPORTED", ONE("higher_order.wrap_with_autocast(\"cpu\", bf16, True, None, @g, %x)",
                        "graph g(%a: f32[3,2]) {\n%b: f32[2,2] = einsum(\"ij,ik->jk\", [%a, %a])\n"
                        "return %a\n}\n")},
    {"BOUNDS", "fnz 1 program(%x: f32[0,2]) {\n%y: f32[0,2] = higher_order.map_impl(@g, [%x], [])\n"
               "return %y\n}\ngraph g(%a: f32[2]) {\nreturn %a\n}\n"},
    {"REF", ONE("higher_order.wrap(@g, %x)", "graph g(%a: f32[3,2]) {\nreturn None\n}\n")},
};

START_TEST(what_cannot_be_run_is_refused) {
  open_context();
  for (size_t i = 0; i < sizeof not_run / sizeof *not_run; i++)
    for (int original = 0; original < 2; original++) {
      fnz_program *p = NULL;
      fnz_arrays *out;
      if (read_text(ctx, not_run[i].text, &p) != FNZ_OK)
        continue;
      ck_assert_msg(run_either(p, original != 0, true, &out) != FNZ_OK, "%s", not_run[i].text);
      ck_assert_str_eq(fnz_class_name(fnz_last_error(ctx)->kind), not_run[i].class_name);
      fnz_arrays_destroy(out);
      fnz_program_destroy(p);
    }
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Loops ------------------------------------------------------------------------------------ */

#define COUNT_TO(n)                                                                                \
  "fnz 1 program(%x: f32[8]) {\n%i: f32[] = full([], 0.0)\n"                                       \
  "%j: f32[], %y: f32[8] = higher_order.while_loop(@test, @turn, [%i, %x], [])\nreturn %y\n}\n"    \
  "graph test(%i: f32[], %a: f32[8]) {\n%m: bool[] = lt.Scalar(%i, " n ")\nreturn %m\n}\n"         \
  "graph turn(%i: f32[], %a: f32[8]) {\n%j: f32[] = add.Scalar(%i, 1)\n"                           \
  "%b: f32[8] = neg(%a)\nreturn %j, %b\n}\n"

/* Neither interpreter needs more memory for more turns. */
START_TEST(long_loops_need_no_memory) {
  for (int original = 0; original < 2; original++) {
    faults few = {.calls = 0};
    fnz_allocator allocator = {faults_resize, &few};
    ck_assert_int_eq(fnz_context_create(&allocator, &ctx), FNZ_OK);
    size_t peaks[2];
    for (int k = 0; k < 2; k++) {
      fnz_program *p = parse(k == 0 ? COUNT_TO("100") : COUNT_TO("20000"));
      fnz_arrays *out;
      OK(ctx, run_either(p, original != 0, true, &out));
      peaks[k] = fnz_context_peak_bytes(ctx);
      fnz_arrays_destroy(out);
      fnz_program_destroy(p);
    }
    ck_assert_uint_le(peaks[1], peaks[0] + 4096);
    fnz_context_destroy(ctx);
    ck_assert_uint_eq(few.live_bytes, 0);
  }
}
END_TEST

/* Five turns, of a condition and a body each, and the condition that ends them. */
START_TEST(loops_end_at_a_limit) {
  open_context();
  fnz_program *p = parse(COUNT_TO("5"));
  fnz_arrays *out;
  for (int original = 0; original < 2; original++) {
    ctx->limits.turns = 10;
    FAILS(ctx, "LIMIT", run_either(p, original != 0, true, &out));
    ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->where, "higher_order.while_loop"));
    fnz_arrays_destroy(out);
    for (ctx->limits.turns = 11; ctx->limits.turns < 13; ctx->limits.turns++) {
      OK(ctx, run_either(p, original != 0, true, &out));
      fnz_arrays_destroy(out);
    }
  }
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Memory that runs out --------------------------------------------------------------------- */

static fnz_status verify_text(fnz_context *c, const void *text) {
  fnz_program *p = NULL;
  fnz_status status = read_text(c, text, &p);
  if (status == FNZ_OK)
    status = fnz_verify(c, p, p, NULL, WITH_TRIALS(1), NULL);
  fnz_program_destroy(p);
  return status;
}

START_TEST(every_allocation_may_fail) {
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    ck_assert_uint_gt(each_fault(verify_text, values[i].text), 10);
}
END_TEST

RUN_SUITE("region_run", each_kind_gives_eager_values, only_own_values_are_given_away,
          writes_in_bodies_are_real, functional_runs_refuse_writes_in_bodies,
          verification_comes_to_every_body, bodies_never_run_are_told, both_interpreters_agree,
          wrong_nodes_are_refused, what_cannot_be_run_is_refused, long_loops_need_no_memory,
          loops_end_at_a_limit, every_allocation_may_fail)
