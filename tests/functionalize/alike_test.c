/* checks: 2
 * alike_test.c - which programs are one but for numbers: what holds for one form of a result at
 * some sizes may hold for it at others. */
#include "functionalize/dynamic/dynamic.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <stdio.h>

#define NODE(call)   "%x: f32[2,3]) {\n  %y: f32[2,3] = " call "\n  return %y\n}"
#define TYPED(type)  "%x: f32[2,3]) {\n  %y: " type " = _operator.pos(%x)\n  return %y\n}"
#define OUTPUT(said) "%x: f32[2,3], %z: f32[4,3]) {\n  %y: f32[2,3] = sin(%x)\n  return " said "\n}"
#define INPUT(said)  "%x: f32[2,3]" said ") {\n  %y: f32[2,3] = sin(%x)\n  return %y\n}"
#define UNUSED(type) "%x: f32[2,3]) {\n  %y: " type " = _operator.pos(%x)\n  return %x\n}"
#define OWN(call)    "%x: f32[2]) {\n  %y: f32[2] = " call "\n  return %y\n}"
#define EFFECT(name)                                                                               \
  "%t: token token, %x: f32[2]) {\n"                                                               \
  "  %u: token = higher_order.with_effects(%t, operator(\"my::" name "\"), %x)\n"                  \
  "  return %u token\n}"
#define REGION(call, body)                                                                         \
  "%p: bool[], %x: f32[2]) {\n  %y: f32[2] = higher_order.cond(%p, " call ", @g, [%x])\n"          \
  "  return %y\n}\ngraph f(%a: f32[2]) {\n  %b: f32[2] = " body "\n  return %b\n}\n"               \
  "graph g(%a: f32[2]) {\n  %b: f32[2] = cos(%a)\n  return %b\n}"

#define OPERATORS                                                                                  \
  "operator \"my::f(Tensor x) -> Tensor\"\noperator \"my::g(Tensor x) -> Tensor\"\n"               \
  "operator \"my::log(Tensor x) -> ()\"\noperator \"my::say(Tensor x) -> ()\"\n"

static const struct {
  const char *a, *b;
  bool alike;
} pairs[] = {
    {NODE("sin(%x)"), NODE("sin(%x)"), true},
    {NODE("sin(%x)"), NODE("cos(%x)"), false},
    {NODE("sin(%x)"), NODE("sin(%x)\n  %w: f32[2,3] = sin(%x)"), false},
    {NODE("roll(%x, [1], [0])"), NODE("roll(%x, [2], [1])"), true},
    {NODE("roll(%x, [1], [0])"), NODE("roll(%x, [1, 1], [0, 1])"), false},
    {NODE("add.Tensor(%x, %x, alpha=3)"), NODE("add.Tensor(%x, %x, alpha=2)"), true},
    {NODE("mul.Scalar(%x, 2)"), NODE("mul.Scalar(%x, 2.5)"), true},
    {NODE("mul.Scalar(%x, complex(1.0, 2.0))"), NODE("mul.Scalar(%x, complex(1.0, 2.0))"), true},
    {NODE("mul.Scalar(%x, complex(1.0, 2.0))"), NODE("mul.Scalar(%x, complex(1.0, 3.0))"), false},
    {NODE("mul.Scalar(%x, complex(1.0, 2.0))"), NODE("mul.Scalar(%x, complex(4.0, 2.0))"), false},
    {NODE("div.Tensor_mode(%x, %x, rounding_mode=\"floor\")"),
     NODE("div.Tensor_mode(%x, %x, rounding_mode=\"trunc\")"), false},
    {NODE("div.Tensor_mode(%x, %x, rounding_mode=\"floor\")"),
     NODE("div.Tensor_mode(%x, %x, rounding_mode=None)"), false},
    {NODE("_to_copy(%x, dtype=f32)"), NODE("_to_copy(%x, dtype=f32)"), true},
    {NODE("_to_copy(%x, device=device(\"cpu\"))"), NODE("_to_copy(%x, device=device(\"cuda:0\"))"),
     false},
    {NODE("clone(%x, memory_format=contiguous_format)"),
     NODE("clone(%x, memory_format=preserve_format)"), false},
    {NODE("sum.dim_IntList(%x, [0], dtype=f32)"), NODE("sum.dim_IntList(%x, [0], dtype=f64)"),
     false},
    {TYPED("f32[2,3]"), TYPED("f32[5,7] stride(1,5)"), true},
    {TYPED("f32[2,3]"), TYPED("f64[2,3]"), false},
    {TYPED("f32[2,3]"), TYPED("f32[6]"), false},
    {TYPED("c64[2,3]"), TYPED("c64[2,3] conj"), false},
    {TYPED("f32[2,3]"), TYPED("f32[2,3] neg"), false},
    {TYPED("f32[2,3]"), TYPED("sym"), false},
    {OUTPUT("%y"), OUTPUT("%y, %y"), false},
    {OUTPUT("%y"), OUTPUT("%x"), false},
    {OUTPUT("%y"), OUTPUT("%y loss"), false},
    {OUTPUT("%y, %y"), OUTPUT("%y, %y loss"), false},
    {OUTPUT("%y new"), OUTPUT("%y is %x"), false},
    {OUTPUT("%y input_mutation \"x\""), OUTPUT("%y input_mutation \"z\""), false},
    {OUTPUT("%y input_mutation \"x\""), OUTPUT("%y input_mutation \"x\" metadata"), false},
    {OUTPUT("%y in %z as f32[2,3]"), OUTPUT("%y in %z as f32[2,3] offset(1)"), true},
    {OUTPUT("%y in %z as f32[2,3]"), OUTPUT("%y"), false},
    {INPUT(""), INPUT(" buffer \"b\""), false},
    {INPUT(" buffer \"b\""), INPUT(" buffer \"c\""), false},
    {INPUT(""), INPUT(", %z: f32[2,3]"), false},
    {NODE("add.Tensor(%x, %x, alpha=True)"), NODE("add.Tensor(%x, %x, alpha=2)"), true},
    {NODE("sum.dim_IntList(%x, [0])"), NODE("sum.dim_IntList(%x, None)"), false},
    {NODE("sum.dim_IntList(%x, None)"), NODE("sum.dim_IntList(%x, [0])"), false},
    {NODE("_to_copy(%x, layout=strided)"), NODE("_to_copy(%x, layout=sparse_coo)"), false},
    {NODE("div.Tensor_mode(%x, %x, rounding_mode=\"floor\")"),
     NODE("div.Tensor_mode(%x, %x, rounding_mode=\"floo\")"), false},
    {NODE("sin(%x)\n  %a: sym = _operator.add(1, 2)"),
     NODE("sin(%x)\n  %a: sym = _operator.mul(1, 2)"), false},
    {NODE("sin(%x)\n  _assert_scalar(True, \"so\")"), NODE("sin(%x)"), false},
    {UNUSED("f32[2,3]"), UNUSED("sym"), false},
    {UNUSED("sym"), UNUSED("f32[2,3]"), false},
    {OWN("my::f(%x)"), OWN("my::f(%x)"), true},
    {OWN("my::f(%x)"), OWN("my::g(%x)"), false},
    {OWN("my::f(%x)"), OWN("sin(%x)"), false},
    {EFFECT("log"), EFFECT("log"), true},
    {EFFECT("log"), EFFECT("say"), false},
    {INPUT(", %z: f32[]"), INPUT(", %z: sym"), false},
    {INPUT(" written, %z: f32[3] offset(3) shares %x"), INPUT(", %z: f32[3] offset(3) shares %x"),
     false},
    {INPUT(", %z: f32[3] offset(3) shares %x"), INPUT(", %z: f32[3] offset(3)"), false},
    {OUTPUT("%y input_mutation \"x\" metadata"), OUTPUT("%y input_mutation \"x\" metadata set"),
     false},
    {OUTPUT("%y, %z, %y is 0"), OUTPUT("%y, %z, %y is 1"), false},
    {OUTPUT("%y in %z as f32[2,3]"), OUTPUT("%y in %z as f32[2,3] neg"), false},
    {REGION("@f", "sin(%a)"), REGION("@f", "sin(%a)"), true},
    {REGION("@f", "sin(%a)"), REGION("@f", "cos(%a)"), false},
    {REGION("@f", "sin(%a)"), REGION("@g", "sin(%a)"), false},
    {REGION("@f", "sin(%a)"), NODE("sin(%x)"), false},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static fnz_program *read_one(fnz_context *ctx, const char *head, const char *program) {
  char text[1024];
  fnz_program *p;
  int n = snprintf(text, sizeof text, "fnz 1\n%sprogram(%s\n", head, program);
  OK(ctx, fnz_program_read(ctx, text, (size_t)n, FNZ_FORMAT_TEXT, &p));
  return p;
}

static void check(const char *head_a, const char *a, const char *head_b, const char *b,
                  bool alike) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_one(ctx, head_a, a), *q = read_one(ctx, head_b, b);
  ck_assert_msg(fnzi_alike(p, q) == alike, "%s\nand %s", a, b);
  ck_assert_msg(fnzi_alike(q, p) == alike, "the other way round: %s\nand %s", a, b);
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  fnz_context_destroy(ctx);
}

START_TEST(only_numbers_may_differ) {
  for (size_t k = 0; k < PAIRS; k++)
    check(OPERATORS, pairs[k].a, OPERATORS, pairs[k].b, pairs[k].alike);
}
END_TEST

START_TEST(as_many_guards) {
  static const char one[] = "symbol s0 = 4 guard \"s0 >= 3\"\n";
  check(one, NODE("sin(%x)"), one, NODE("sin(%x)"), true);
  check(one, NODE("sin(%x)"), "symbol s0 = 4\n", NODE("sin(%x)"), false);
}
END_TEST

RUN_SUITE("alike", only_numbers_may_differ, as_many_guards)
