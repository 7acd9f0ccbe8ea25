/* checks: 13
 * compare_test.c - programs that are the same except for names and order, and the first difference
 * of programs that differ. */
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>
#include <stdio.h>

/* Two bodies of a program with inputs %x and %y, f32[4], and a buffer %b. */
static fnz_program *read_body(const char *body) {
  char text[4096];
  snprintf(text, sizeof text,
           "fnz 1 program(%%x: f32[4], %%y: f32[4], %%b: f32[4] buffer \"b\" persistent) {%s}",
           body);
  return read_text(text);
}

/* NULL: the same. Otherwise where, what, and the two texts, with ` | ` between. */
static void expect(fnz_program *a, fnz_program *b, const char *want) {
  fnz_difference *d;
  char got[1024] = "";
  fnz_status status = fnz_program_compare(ctx, a, b, &d);
  ck_assert_msg(status == FNZ_OK || status == FNZ_DIFFERENT, "%s", fnz_last_error(ctx)->message);
  ck_assert_int_eq(status == FNZ_DIFFERENT, d != NULL);
  if (d)
    snprintf(got, sizeof got, "%s | %s | %s | %s", d->where, d->what, d->a.text, d->b.text);
  fnz_difference_destroy(d);
  if (!want)
    ck_assert_msg(status == FNZ_OK, "differ: %s", got);
  else
    ck_assert_msg(strcmp(got, want) == 0, "wanted %s\ngot    %s", want, got);
  fnz_program_destroy(a);
  fnz_program_destroy(b);
}

/* The same, but `what` is only a part of the text. */
static void expect_part(fnz_program *a, fnz_program *b, const char *what) {
  fnz_difference *d;
  fnz_status status = fnz_program_compare(ctx, a, b, &d);
  ck_assert_msg(status == (what ? FNZ_DIFFERENT : FNZ_OK) && (!what || strstr(d->what, what)),
                "wanted %s\ngot    %s", what ? what : "no difference", d ? d->what : "none");
  fnz_difference_destroy(d);
  fnz_program_destroy(a);
  fnz_program_destroy(b);
}

static void bodies(const char *a, const char *b, const char *want) {
  expect(read_body(a), read_body(b), want);
}

#define NEG "%n: f32[4] = neg(%x) "
#define ABS "%a: f32[4] = abs(%y) "

START_TEST(names_order_and_dead_nodes_do_not_count) {
  begin();
  bodies(NEG ABS "%s: f32[4] = add.Tensor(%n, %a) return %s",
         "%p: f32[4] = abs(%y) at \"m.py:1\" %q: f32[4] = neg(%x) "
         "%r: f32[4] = add.Tensor(%q, %p) return %r",
         NULL);
  bodies(NEG "return %n", NEG ABS "return %n", NULL);
  bodies(NEG "%s: f32[4] = add.Tensor(%n, %n) return %s",
         NEG "%m: f32[4] = neg(%x) %s: f32[4] = add.Tensor(%n, %m) return %s", NULL);
  bodies("%s: f32[4] = add.Tensor(%x, %y) return %s",
         "%s: f32[4] = add.Tensor(%x, %y, alpha=1) return %s", NULL);
  bodies("[%p: f32[2], %q: f32[2]] = split_copy.Tensor(%x, 2) return %p, %q",
         "[%q: f32[2], %p: f32[2]] = split_copy.Tensor(%x, 2) return %q, %p", NULL);
  end();
}
END_TEST

START_TEST(the_smallest_part_is_shown) {
  begin();
  bodies("%s: f32[4] = add.Tensor(%x, %y) return %s", "%s: f32[4] = add.Tensor(%y, %x) return %s",
         "output 0 | another input | %x: f32[4] | %y: f32[4]");
  bodies("%s: f32[4] = add.Scalar(%x, 1) %e: f32[4] = exp(%s) return %e",
         "%t: f32[4] = add.Scalar(%x, 2) %e: f32[4] = exp(%t) return %e",
         "output 0 | argument `other`: 1 and 2 | %s: f32[4] = add.Scalar(%x, 1) | "
         "%t: f32[4] = add.Scalar(%x, 2)");
  bodies("%s: f32[4] = add.Scalar(%x, 1) %e: f32[4] = exp(%s) return %e",
         "%s: f32[4] = add.Scalar(%x, 1) %e: f32[4] = sin(%s) return %e",
         "output 0 | operators: exp and sin | %e: f32[4] = exp(%s) | %e: f32[4] = sin(%s)");
  bodies("%s: f32[4] = mul.Scalar(%x, 1) return %s", "%s: f32[4] = mul.Scalar(%x, 1.0) return %s",
         "output 0 | argument `other`: 1 and 1.0 | %s: f32[4] = mul.Scalar(%x, 1) | "
         "%s: f32[4] = mul.Scalar(%x, 1.0)");
  bodies("[%p: f32[2], %q: f32[2]] = split_copy.Tensor(%x, 2) return %p",
         "[%p: f32[2], %q: f32[2]] = split_copy.Tensor(%x, 2) return %q",
         "output 0 | another result of the operator | "
         "[%p: f32[2], %q: f32[2]] = split_copy.Tensor(%x, 2) | "
         "[%p: f32[2], %q: f32[2]] = split_copy.Tensor(%x, 2)");
  end();
}
END_TEST

START_TEST(signatures_are_compared) {
  begin();
  bodies(NEG "return %n", NEG "return %n, %n", "outputs | 1 and 2 outputs |  | ");
  bodies(NEG "return %n", NEG "return %n buffer_mutation \"b\"",
         "output 0 | kinds: user and buffer_mutation |  | ");
  bodies(NEG "return %n input_mutation \"x\"", NEG "return %n input_mutation \"y\"",
         "output 0 | input_mutation of `input 0` and of `input 1` |  | ");
  expect(read_text("fnz 1 program(%x: f32[2]) { return %x }"),
         read_text("fnz 1 program(%other: f32[2]) { return %other }"), NULL);
  expect(read_text("fnz 1 program(%x: f32[2]) { return %x }"),
         read_text("fnz 1 program(%x: f32[3]) { return %x }"),
         "input 0 | another input | %x: f32[2] | %x: f32[3]");
  expect(read_text("fnz 1 program(%x: f32[2]) { return %x }"),
         read_text("fnz 1 program(%x: f32[2], %y: f32[2]) { return %x }"),
         "inputs | 1 and 2 user inputs |  | ");
  expect(read_text("fnz 1 program(%x: f32[2], %b: f32[2] buffer \"b\") { return %x }"),
         read_text("fnz 1 program(%x: f32[2], %b: f32[2] buffer \"c\") { return %x }"),
         "weights | only the first program has buffer b |  | ");
  end();
}
END_TEST

#define SLICES "%p: f32[2] = slice.Tensor(%x, 0, 0, 2) %q: f32[2] offset(2) = "

START_TEST(writes_keep_their_order) {
  begin();
  bodies("%s: f32[4] = add_.Scalar(%x, 1) %t: f32[4] = add_.Scalar(%y, 2) return %x, %y",
         "%t: f32[4] = add_.Scalar(%y, 2) %s: f32[4] = add_.Scalar(%x, 1) return %s, %t", NULL);
  bodies(NEG "%s: f32[4] = add_.Scalar(%x, 1) return %n",
         "%s: f32[4] = add_.Scalar(%x, 1) " NEG "return %n",
         "output 0 | the second program has written there before, the other has not | "
         "%x: f32[4] | %s: f32[4] = add_.Scalar(%x, 1)");
  bodies("%s: f32[4] = add_.Scalar(%x, 1) return %y", "return %y",
         "what is written to x | only the first program has it | "
         "%s: f32[4] = add_.Scalar(%x, 1) | ");
  bodies(SLICES "slice.Tensor(%x, 0, 2, 4) %s: f32[2] = add_.Scalar(%p, 1) return %x",
         SLICES "slice.Tensor(%x, 0, 2, 4) %s: f32[2] offset(2) = add_.Scalar(%q, 1) return %x",
         "output 0 | results: f32[2] and f32[2] offset(2) | %s: f32[2] = add_.Scalar(%p, 1) | "
         "%s: f32[2] offset(2) = add_.Scalar(%q, 1)");
  /* A view that is opened later is the same view. */
  bodies("%p: f32[2] = slice.Tensor(%x, 0, 0, 2) %s: f32[4] = add_.Scalar(%x, 1) return %p",
         "%s: f32[4] = add_.Scalar(%x, 1) %p: f32[2] = slice.Tensor(%x, 0, 0, 2) return %p", NULL);
  /* But t_ moves its argument. */
  expect(read_text("fnz 1 program(%x: f32[2,2]) { %r: f32[2] = select.int(%x, 0, 0) "
                   "%t: f32[2,2] stride(1,2) = t_(%x) return %r }"),
         read_text("fnz 1 program(%x: f32[2,2]) { %t: f32[2,2] stride(1,2) = t_(%x) "
                   "%r: f32[2] = select.int(%x, 0, 0) return %r }"),
         "output 0 | the second program has written there before, the other has not | "
         "%x: f32[2,2] | %t: f32[2,2] stride(1,2) = t_(%x)");
  end();
}
END_TEST

#define ZEROS "%p: f32[4] = zeros([4]) %q: f32[4] = zeros([4]) "

START_TEST(equal_tensors_are_not_one_tensor) {
  begin();
  /* Which of two fresh tensors is written is a matter of names. */
  bodies(ZEROS "%s: f32[4] = add_.Tensor(%p, %x) return %p, %q",
         ZEROS "%s: f32[4] = add_.Tensor(%q, %x) return %q, %p", NULL);
  bodies(ZEROS "%s: f32[4] = add_.Tensor(%p, %x) return %p, %q",
         ZEROS "%s: f32[4] = add_.Tensor(%p, %x) return %q, %p",
         "output 0 | the first program has written there before, the other has not | "
         "%s: f32[4] = add_.Tensor(%p, %x) | %p: f32[4] = zeros([4])");
  /* reshape may be a copy each time. */
  bodies("%p: f32[4] = reshape(%x, [4]) %q: f32[4] = reshape(%x, [4]) "
         "%s: f32[4] = add_.Scalar(%p, 1) return %p",
         "%p: f32[4] = reshape(%x, [4]) %q: f32[4] = reshape(%x, [4]) "
         "%s: f32[4] = add_.Scalar(%p, 1) return %q",
         "output 0 | another one of the tensors that are made alike | "
         "%p: f32[4] = reshape(%x, [4]) | %q: f32[4] = reshape(%x, [4])");
  /* Norms write what their schemas do not say. */
#define NORM "%n: f32[2,4] = batch_norm(%x, None, None, %m, %v, True, 0.1, 1e-05, False) "
#define HEAD "fnz 1 program(%x: f32[2,4], %m: f32[4], %v: f32[4]) { "
  expect(read_text(HEAD "%c: f32[4] = neg(%m) " NORM "return %c, %n }"),
         read_text(HEAD NORM "%c: f32[4] = neg(%m) return %c, %n }"),
         "output 0 | the second program has written there before, the other has not | %m: f32[4] | "
         "%n: f32[2,4] = batch_norm(%x, None, None, %m, %v, True, 0.1, 1e-05, False)");
  end();
}
END_TEST

START_TEST(random_operators_stay_apart) {
  begin();
  bodies("%p: f32[4] = rand_like(%x) %q: f32[4] = rand_like(%x) return %p, %q",
         "%p: f32[4] = rand_like(%x) return %p, %p",
         "output 1 | only the first program has it | %p: f32[4] = rand_like(%x) | ");
  bodies("%p: f32[4] = rand_like(%x) %q: f32[4] = rand_like(%y) return %p",
         "%q: f32[4] = rand_like(%y) %p: f32[4] = rand_like(%x) return %p",
         "output 0 | only the second program has it |  | %q: f32[4] = rand_like(%y)");
  bodies("%p: f32[4] = rand_like(%x) return %x", "return %x",
         "random numbers | only the first program has it | %p: f32[4] = rand_like(%x) | ");
  end();
}
END_TEST

/* Regions are compared as what they compute. */
static fnz_program *read_cond(const char *yes, const char *name) {
  char text[2048];
  snprintf(text, sizeof text,
           "fnz 1 program(%%p: bool[], %%x: f32[2]) {"
           " [%%r: f32[2]] = higher_order.cond(%%p, @%s, @no, [%%x]) return %%r }\n"
           "graph %s(%%x: f32[2]) { %s return %%r }\n"
           "graph no(%%x: f32[2]) { %%r: f32[2] = neg(%%x) return %%r }",
           name, name, yes);
  return read_text(text);
}

START_TEST(regions_are_looked_into) {
  begin();
  expect(read_cond("%r: f32[2] = abs(%x)", "yes"),
         read_cond("%z: f32[2] = exp(%x) %r: f32[2] = abs(%x)", "other"), NULL);
  expect(read_cond("%r: f32[2] = abs(%x)", "yes"), read_cond("%r: f32[2] = exp(%x)", "yes"),
         "output 0 | operators: abs and exp | %r: f32[2] = abs(%x) | %r: f32[2] = exp(%x)");
  end();
}
END_TEST

/* --- tables ----------------------------------------------------------------------------------- */
/* One argument of a call each, NULL: the same. */
static const struct {
  const char *a, *b, *what;
} arguments[] = {
    {"1", "2", "argument 0: 1 and 2"},
    {"1.5", "2.5", "argument 0: 1.5 and 2.5"},
    {"True", "False", "argument 0: True and False"},
    {"complex(1.0, 2.0)", "complex(1.0, 3.0)",
     "argument 0: complex(1.0, 2.0) and complex(1.0, 3.0)"},
    {"\"a\"", "\"b\"", "argument 0: \"a\" and \"b\""},
    {"f32", "f64", "argument 0: f32 and f64"},
    {"strided", "sparse_coo", "argument 0: strided and sparse_coo"},
    {"preserve_format", "contiguous_format", "argument 0: preserve_format and contiguous_format"},
    {"device(\"cpu\")", "device(\"cuda\")", "argument 0: device(\"cpu\") and device(\"cuda\")"},
    {"operator(\"a\")", "operator(\"b\")", "argument 0: operator(\"a\") and operator(\"b\")"},
    {"default", "None", "argument 0: default and None"},
    {"%x", "%s", "argument 0: %x and %s"},
    {"%s", "%t", "argument 0: %s and %t"},
    {"%t", "%o", "argument 0: %t and %o"},
    {"[1, [2]]", "[1, [3]]", "argument 0: [1, [2]] and [1, [3]]"},
    {"[%x, 1]", "[1, %x]", "argument 0: [%x, 1] and [1, %x]"},
    {"%x", "%x, 1", "argument 1: default and 1"},
    {"mode=1", "mode=2", "argument `mode`: 1 and 2"},
    {"mode=1", "1", "the name of argument 0: `mode` and ``"},
    {"@g", "@h", NULL}, /* regions that are the same */
    {"@g", "@i", "regions with other inputs or outputs"},
    {"@g", "@j", "regions with other inputs or outputs"},
};

static fnz_program *read_call(const char *argument) {
  char text[1024];
  snprintf(text, sizeof text,
           "fnz 1 symbol s0 = 4 program(%%x: f32[2], %%s: sym{s0}, %%t: token token, "
           "%%o: object object \"o\") { %%y: f32[2] = higher_order.f(%s) return %%y }\n"
           "graph g() { return 1 }\ngraph h() { return 1 }\ngraph i() { return 2 }\n"
           "graph j() { return single 1 }",
           argument);
  return read_text(text);
}

START_TEST(arguments_of_every_kind) {
  begin();
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
    expect(read_call(arguments[i].a), read_call(arguments[i].a), NULL);
    expect_part(read_call(arguments[i].a), read_call(arguments[i].b), arguments[i].what);
  }
  end();
}
END_TEST

#define ON(more) "program(%x: f32[4], %y: f32[4]) { " more " }"
#define REGION(result, nodes)                                                                      \
  "program(%x: f32[4]) { %a: f32[4] = higher_order.w(@g, %x) return " result " }\n"                \
  "graph g(%q: f32[4]) { " nodes " }"
#define INNER(nodes)                                                                               \
  REGION("%x", "%r: f32[4] = higher_order.w(@h, %q) return %q }\ngraph h(%q: f32[4]) { " nodes)
#define WRITTEN "the first program has written there before, the other has not"

static const struct {
  const char *a, *b, *what;
} wholes[] = {
    {ON("return 3"), ON("return 3"), NULL},
    {ON("return 3"), ON("return 4"), "3 and 4"},
    {ON("return 3"), ON("return %x"), "3 and %x"},
    {ON("return [%x, 3]"), ON("return [%x, 3]"), NULL},
    {ON("return [%x, 3]"), ON("return [%x]"), "[%x, 3] and [%x]"},
    {ON("return [%x]"), ON("return [%y]"), "another input"},
    {ON("%a: f32[4] = neg(%x) return [%x, %a]"), ON("%a: f32[4] = neg(%y) return [%x, %a]"),
     "another input"},
    {ON("higher_order.f(%x) return %x"), ON("return %x"), "only the first program has it"},
    {ON("higher_order.f(%x) return %x"), ON("%a: f32[4] = higher_order.f(%x) return %x"),
     "only the first program has it"},
    {ON("higher_order.f(1) higher_order.f(2) return %x"),
     ON("higher_order.f(2) higher_order.f(1) return %x"), "argument 0: 2 and 1"},
    {ON("None = add_.Tensor(%x, %y) return %x"), ON("return %x"), WRITTEN},
    {ON("None = add_.Tensor(%x, %y) return %x"), ON("%a: f32[4] = add_.Tensor(%x, %y) return %a"),
     "results: no tensor and f32[4]"},
    {ON("_foreach_neg_([%x]) return %x"), ON("_foreach_neg_([%y]) return %x"), WRITTEN},
    {REGION("%a", "return %q"), REGION("%a", "return %q"), NULL},
    {REGION("%a", "return %q, 3"), REGION("%a", "return %q, 4"), "regions with other"},
    {REGION("%a", "%r: f32[4] = add_.Scalar(%q, 1) return %r"),
     REGION("%a", "%r: f32[4] = add_.Scalar(%q, 2) return %r"), "argument `other`: 1 and 2"},
    {REGION("%x", "%r: f32[4] = add_.Scalar(%q, 1) return %r"), REGION("%x", "return %q"), WRITTEN},
    {REGION("%x", "%r: f32[4] = rand_like(%q) return %r"), REGION("%x", "return %q"),
     "only the first program has it"},
    {REGION("%x", "_assert_async(%q) return %q"), REGION("%x", "return %q"),
     "only the first program has it"},
    {INNER("%r: f32[4] = add_.Scalar(%q, 1) return %r"), INNER("return %q"), WRITTEN},
    {INNER("%r: f32[4] = rand_like(%q) return %r"), INNER("return %q"),
     "only the first program has it"},
    {INNER("_assert_async(%q) return %q"), INNER("return %q"), "only the first program has it"},
    {"program(%x: f32[4], %y: f32[4] shares %x) { %a: f32[4] = add_.Scalar(%x, 1) return %y }",
     "program(%x: f32[4], %y: f32[4] shares %x) { %b: f32[4] = add_.Scalar(%x, 1) return %y }",
     NULL},
    {"program(%x: f32[4], %y: f32[4] shares %x) { return %y }", ON("return %y"), "another input"},
    {"program(3 literal \"k\") { return }", "program(4 literal \"k\") { return }", "another input"},
    {"program(%x: f32[4] constant \"c\") { return %x }",
     "program(%x: f32[4] constant \"d\") { return %x }", "another input"},
    {"symbol s0 = 4 program(%x: f32[{s0}]) { return %x }",
     "symbol s1 = 4 program(%x: f32[{s1}]) { return %x }", "another input"},
    {"program(%x: f32[2,2]) { %t: f32[2,2] stride(1,2) = t_(%x) return %t }",
     "program(%x: f32[2,2]) { %t: f32[2,2] stride(1,2) = t_(%x) return %x }",
     "an input, and what a node computes"},
    {ON("%p: f32[2] = slice.Tensor(%x, 0, 0, 2) return %p input_mutation \"x\" set"),
     ON("%p: f32[2] = slice.Tensor(%x, 0, 0, 2) return %p input_mutation \"x\""),
     "it lies in other memory of the original"},
    {ON("return %x in %y"), ON("return %x in %y as f32[4] stride(1)"),
     "it lies in other memory of the original"},
    {ON("return %x in %x"), ON("return %x in %y"), "it lies in other memory of the original"},
};

static fnz_program *read_whole(const char *body) {
  char text[1024];
  snprintf(text, sizeof text, "fnz 1 %s", body);
  return read_text(text);
}

START_TEST(whole_programs) {
  begin();
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
    expect_part(read_whole(wholes[i].a), read_whole(wholes[i].b), wholes[i].what);
  end();
}
END_TEST

/* --- weights ---------------------------------------------------------------------------------- */
static void give(fnz_program *p, const char *name, float first) {
  const int64_t sizes[] = {2}, strides[] = {1};
  const fnz_geometry look = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};
  const float numbers[] = {first, 7};
  const fnz_geometry *g;
  fnzi_blob *blob;
  OK(ctx, fnzi_intern_geometry(p, &look, &g));
  OK(ctx, fnzi_blob_create(ctx, sizeof numbers, &blob));
  memcpy(fnzi_blob_data(blob), numbers, sizeof numbers);
  OK(ctx, fnzi_weight_add(p, name, blob, g));
  fnzi_blob_release(blob);
}

/* The same numbers in every second place, with something else between them. */
static void give_gaps(fnz_program *p, const char *name, float first, float between) {
  const int64_t sizes[] = {2, 1}, strides[] = {2, 1};
  const fnz_geometry look = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  const float numbers[] = {first, between, 7};
  const fnz_geometry *g;
  fnzi_blob *blob;
  OK(ctx, fnzi_intern_geometry(p, &look, &g));
  OK(ctx, fnzi_blob_create(ctx, sizeof numbers, &blob));
  memcpy(fnzi_blob_data(blob), numbers, sizeof numbers);
  OK(ctx, fnzi_weight_add(p, name, blob, g));
  fnzi_blob_release(blob);
}

static fnz_program *read_gaps(const char *kind, float first, float between) {
  char text[256];
  snprintf(text, sizeof text, "fnz 1 program(%%c: f32[2,1] %s \"c\") { return %%c }", kind);
  fnz_program *p = read_text(text);
  give_gaps(p, "c", first, between);
  return p;
}

/* Two buffers, in one storage or in two. */
static fnz_program *read_pair(bool is_shared) {
  fnz_program *p =
      read_text("fnz 1 program(%a: f32[2] buffer \"a\", %b: f32[2] buffer \"b\", 3 literal \"a\") "
                "{ %w: f32[2] = add_.Scalar(%a, 1) return %b }");
  give(p, "a", 1);
  if (is_shared)
    OK(ctx, fnzi_weight_add(p, "b", p->weights.data[0].blob, p->weights.data[0].geometry));
  else
    give(p, "b", 1);
  return p;
}

START_TEST(weights_with_gaps_and_in_one_storage) {
  begin();
  expect(read_gaps("constant", 1, 8), read_gaps("constant", 1, 9), NULL);
  expect(read_gaps("constant", 1, 8), read_gaps("constant", 2, 8),
         "output 0 | another input | %c: f32[2,1] | %c: f32[2,1]");
  expect(read_gaps("buffer", 1, 8), read_gaps("buffer", 1, 9), NULL);
  expect(read_gaps("buffer", 1, 8), read_gaps("buffer", 2, 8),
         "buffer c | it has other numbers |  | ");
  expect(read_pair(true), read_pair(true), NULL);
  expect(read_pair(true), read_pair(false),
         "output 0 | the first program has written there before, the other has not | "
         "%w: f32[2] = add_.Scalar(%a, 1) | %b: f32[2]");
  end();
}
END_TEST

/* Constants are compared by content, parameters by name. */
static fnz_program *read_weighted(const char *constant, float first, float parameter) {
  char text[512];
  snprintf(text, sizeof text,
           "fnz 1 program(%%c: f32[2] constant \"%s\", %%w: f32[2] parameter \"w\", %%x: f32[2]) {"
           " %%r: f32[2] = addcmul(%%x, %%c, %%w) return %%r }",
           constant);
  fnz_program *p = read_text(text);
  give(p, constant, first);
  give(p, "w", parameter);
  return p;
}

START_TEST(weights_are_compared_by_content) {
  begin();
  expect(read_weighted("c0", 1, 2), read_weighted("other", 1, 2), NULL);
  expect(read_weighted("c0", 1, 2), read_weighted("c0", 3, 2),
         "output 0 | another input | %c: f32[2] | %c: f32[2]");
  expect(read_weighted("c0", 1, 2), read_weighted("c0", 1, 3),
         "parameter w | it has other numbers |  | ");
  expect(read_weighted("c0", 1, 2),
         read_text("fnz 1 weight \"c0\": f32[2] weight \"w\": f32[2] program("
                   "%c: f32[2] constant \"c0\", %w: f32[2] parameter \"w\", %x: f32[2]) {"
                   " %r: f32[2] = addcmul(%x, %c, %w) return %r }"),
         NULL);
  end();
}
END_TEST

/* --- depth ------------------------------------------------------------------------------------ */
enum { DEEP = 60000 };

/* The first node of a long chain is `first`. */
static fnz_program *read_chain(const char *first) {
  size_t capacity = (size_t)DEEP * 48 + 256, used;
  char *text = malloc(capacity);
  ck_assert_ptr_nonnull(text);
  used = (size_t)snprintf(text, capacity, "fnz 1 program(%%x: f32[2]) {\n%%v0: f32[2] = %s(%%x)\n",
                          first);
  for (int i = 1; i < DEEP; i++)
    used +=
        (size_t)snprintf(text + used, capacity - used, "%%v%d: f32[2] = neg(%%v%d)\n", i, i - 1);
  snprintf(text + used, capacity - used, "return %%v%d }", DEEP - 1);
  fnz_program *p = read_text(text);
  free(text);
  return p;
}

START_TEST(depth_is_no_matter) {
  begin();
  expect(read_chain("exp"), read_chain("exp"), NULL);
  expect(read_chain("exp"), read_chain("sin"),
         "output 0 | operators: exp and sin | %v0: f32[2] = exp(%x) | %v0: f32[2] = sin(%x)");
  end();
}
END_TEST

static fnz_status compare_once(fnz_context *c, const void *user) {
  (void)user;
  fnz_program *a = NULL, *b = NULL;
  fnz_difference *d = NULL;
  const char *x = "fnz 1 program(%x: f32[4]) { %p: f32[2] = slice.Tensor(%x, 0, 0, 2)"
                  " %s: f32[2] = add_.Scalar(%p, 1) at \"m.py:1\" return %x }";
  const char *y = "fnz 1 program(%x: f32[4]) { %p: f32[2] = slice.Tensor(%x, 0, 0, 2)"
                  " %s: f32[2] = add_.Scalar(%p, 2) at \"m.py:2\" return %x }";
  fnz_status status = fnz_program_read(c, x, strlen(x), FNZ_FORMAT_TEXT, &a);
  if (status == FNZ_OK)
    status = fnz_program_read(c, y, strlen(y), FNZ_FORMAT_TEXT, &b);
  if (status == FNZ_OK)
    status = fnz_program_compare(c, a, b, &d);
  ck_assert((status == FNZ_DIFFERENT) == (d != NULL));
  fnz_difference_destroy(d);
  fnz_program_destroy(a);
  fnz_program_destroy(b);
  return status == FNZ_DIFFERENT ? FNZ_OK : status;
}

START_TEST(out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(compare_once, NULL), 40);
}
END_TEST

RUN_SUITE("compare", names_order_and_dead_nodes_do_not_count, the_smallest_part_is_shown,
          signatures_are_compared, writes_keep_their_order, equal_tensors_are_not_one_tensor,
          random_operators_stay_apart, regions_are_looked_into, arguments_of_every_kind,
          whole_programs, weights_are_compared_by_content, weights_with_gaps_and_in_one_storage,
          depth_is_no_matter, out_of_memory_is_an_error)
