/* checks: 7
 * pt2_guards_test.c - conditions of a program as nodes of a .pt2 file: where they stand, that they
 * mean the same when they are read back, and what no node can say. */
#include "base/base.h"
#include "tests/help/archive.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

/* The lines of the body between the braces are these. */
static void body_is(const fnz_program *p, const char *want) {
  fnz_buffer text = {0};
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, &text));
  const char *body = strstr(text.data, "\n{\n");
  ck_assert_ptr_nonnull(body);
  ck_assert_str_eq(body + 3, want);
  fnz_buffer_free(ctx, &text);
}

static void becomes(const char *from, const char *body) {
  fnz_program *p = read_text(from), *read = read_again(p, FNZ_FORMAT_PT2);
  ck_assert_uint_eq(fnz_program_guard_count(read), 0);
  body_is(read, body);
  fnz_program_destroy(p);
  fnz_program_destroy(read);
}

/* --- where they stand ------------------------------------------------------------------------- */
START_TEST(conditions_on_inputs_come_first) {
  begin();
  becomes("fnz 1 symbol s0 = 3 symbol s1 = 4\n"
          "guard \"s0 >= 2\" guard \"And(s0 > 2, Eq(Mod(s1, 2), 0))\"\n"
          "program(%x: f32[{s0},{s1 + 1}] stride({s1 + 1},1)) {\n"
          "  %y: f32[{s0},{s1 + 1}] stride({s1 + 1},1) = mul.Scalar(%x, 2) return %y }",
          "  %sym: sym{s0} = sym_size.int(%x, 0)\n"
          "  %sym_1: sym{s0 >= 2} = _operator.ge(%sym, 2)\n"
          "  _assert_scalar(%sym_1, \"the program is for sizes with s0 >= 2\")\n"
          "  %sym_2: sym{s1 + 1} = sym_size.int(%x, 1)\n"
          "  %sym_3: sym{s1} = _operator.sub(%sym_2, 1)\n"
          "  %sym_4: sym{Mod(s1, 2)} = _operator.mod(%sym_3, 2)\n"
          "  %sym_5: sym{Eq(Mod(s1, 2), 0)} = _operator.eq(%sym_4, 0)\n"
          "  _assert_scalar(%sym_5, \"the program is for sizes with Eq(Mod(s1, 2), 0)\")\n"
          "  %sym_6: sym{s0 > 2} = _operator.gt(%sym, 2)\n"
          "  _assert_scalar(%sym_6, \"the program is for sizes with s0 > 2\")\n"
          "  %y: f32[{s0},{s1 + 1}] stride({s1 + 1},1) = mul.Scalar(%x, 2)\n"
          "  return %y\n}\n");
  end();
}
END_TEST

/* A multiple of 2 is even, whatever the symbol is. PyTorch does not load an assertion of 1. */
START_TEST(conditions_that_always_hold_are_left_out) {
  begin();
  becomes("fnz 1 symbol s0 = 3 guard \"Eq(PythonMod(2*s0, 2), 0)\"\n"
          "program(%x: f32[{s0}]) { %y: f32[{s0}] = mul.Scalar(%x, 2) return %y }",
          "  %y: f32[{s0}] = mul.Scalar(%x, 2)\n"
          "  return %y\n}\n");
  end();
}
END_TEST

START_TEST(conditions_on_data_follow_it) {
  begin();
  becomes("fnz 1 symbol s0 = 4 symbol u0 = 2 guard \"u0 < s0\"\n"
          "program(%x: f32[{s0}], %i: i64[]) {\n"
          "  %y: f32[{s0}] = mul.Scalar(%x, 2)\n"
          "  %u: sym{u0} = item(%i)\n"
          "  %z: f32[{s0}] = mul.Scalar(%y, %u) return %z }",
          "  %y: f32[{s0}] = mul.Scalar(%x, 2)\n"
          "  %u: sym{u0} = item(%i)\n"
          "  %sym: sym{s0} = sym_size.int(%x, 0)\n"
          "  %sym_1: sym{u0 < s0} = _operator.lt(%u, %sym)\n"
          "  _assert_scalar(%sym_1, \"the program is for sizes with u0 < s0\")\n"
          "  %z: f32[{s0}] = mul.Scalar(%y, %u)\n"
          "  return %z\n}\n");
  /* A body of a region comes along; of a size that no value has there is nothing to say. */
  becomes("fnz 1 symbol s0 = 4 guard \"s9 > 3\" guard \"s0 > 1\"\n"
          "program(%x: f32[{s0}], %c: bool[]) {\n"
          "  %y: f32[{s0}] = higher_order.cond(%c, @a, @b, [%x]) return %y }\n"
          "graph a(%p: f32[{s0}]) { %q: f32[{s0}] = neg(%p) return %q }\n"
          "graph b(%p: f32[{s0}]) { %q: f32[{s0}] = abs(%p) return %q }",
          "  %sym: sym{s0} = sym_size.int(%x, 0)\n"
          "  %sym_1: sym{s0 > 1} = _operator.gt(%sym, 1)\n"
          "  _assert_scalar(%sym_1, \"the program is for sizes with s0 > 1\")\n"
          "  %y: f32[{s0}] = higher_order.cond(%c, @a, @b, [%x])\n"
          "  return %y\n}\n\n"
          "graph a(\n  %p: f32[{s0}])\n{\n  %q: f32[{s0}] = neg(%p)\n  return %q\n}\n\n"
          "graph b(\n  %p: f32[{s0}])\n{\n  %q: f32[{s0}] = abs(%p)\n  return %q\n}\n");
  end();
}
END_TEST

/* --- what they mean --------------------------------------------------------------------------- */
static fnz_status run_at(const fnz_program *p, int64_t rows, int64_t columns) {
  fnz_arrays *given, *got;
  fnz_backend *cpu;
  void *data;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &given));
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_arrays_add(given, "x", FNZ_F32, 2, (const int64_t[2]){rows, columns}, &data));
  fnz_status status = fnz_run(ctx, p, cpu, given, NULL, got);
  fnz_arrays_destroy(given);
  fnz_arrays_destroy(got);
  fnz_backend_destroy(cpu);
  return status;
}

/* --- what an exporter's guards say ------------------------------------------------------------ */
#define ROWS "L['x'].size()[0]"

/* Guards of a size from 2 to 64: whether the range implies it already, and for others the last
 * number that they take and the first that they refuse. */
static const struct {
  const char *text;
  int64_t taken, refused; /* 0: no guard */
} guards[] = {
    {ROWS " <= 10", 10, 11},
    {ROWS " < 10", 9, 10},
    {ROWS " >= 10", 10, 9},
    {ROWS " > 10", 11, 10},
    {ROWS " == 10", 10, 11},
    {ROWS " != 10", 9, 10},
    {"10 >= " ROWS, 10, 11},
    {"10 > " ROWS, 9, 10},
    {"10 <= " ROWS, 10, 9},
    {"10 < " ROWS, 11, 10},
    {ROWS " >= 2", 0, 0},
    {ROWS " > 1", 0, 0},
    {ROWS " <= 64", 0, 0},
    {ROWS " < 65", 0, 0},
    {"2 <= " ROWS, 0, 0},
    {"1 < " ROWS, 0, 0},
    {"64 >= " ROWS, 0, 0},
    {"65 > " ROWS, 0, 0},
    {ROWS " >= 3", 3, 2},
    {ROWS " > 2", 3, 2},
    {ROWS " <= 63", 63, 64},
    {ROWS " < 64", 63, 64},
    {ROWS " % 4 == 0", 8, 9},
    {"torch.sym_min(" ROWS ", 5) <= 4", 4, 5},
    {"torch.sym_max(" ROWS ", 5) < 7", 6, 7},
    {ROWS " // 3 < 4", 11, 12},
    {"2*" ROWS " - 1 <= 19", 10, 11},
    {"L['x'].size()[2] <= 10", 0, 0}, /* it has two dimensions */
    {"L['z'].size()[0] <= 10", 0, 0},
};

/* A program with one input; its name is the key, in small letters. */
static fnz_program *with_guard(const char *input, const char *guard) {
  static const char empty[] = "\"guards_code\": []";
  fnz_program *p, *made;
  fnz_buffer json = {0}, text = {0};
  char source[256];
  snprintf(source, sizeof source,
           "fnz 1 symbol s0 = 8 symbol s1 = 2 range s0 2..64\n"
           "program(%%%s: f32[{s0},{s1}] stride({s1},1)) {\n"
           "  %%y: f32[{s0},{s1}] stride({s1},1) = neg(%%%s) return %%y }",
           input, input);
  p = read_text(source);
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_JSON, &json));
  const char *at = strstr(json.data, empty);
  ck_assert_ptr_nonnull(at);
  OK(ctx, fnzi_printf(ctx, &text, "%.*s\"guards_code\": [\"%s\"]%s", (int)(at - json.data),
                      json.data, guard, at + sizeof empty - 1));
  fnz_program_destroy(p);
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_JSON, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &json);
  fnz_buffer_free(ctx, &text);
  return made;
}

START_TEST(guards_keep_to_their_bounds) {
  begin();
  fnz_program *named = with_guard("az", "L['AZ'].size()[0] <= 10");
  ck_assert_uint_eq(fnz_program_guard_count(named), 1);
  fnz_program_destroy(named);
  end();
  for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) {
    begin();
    fnz_program *p = with_guard("x", guards[i].text);
    size_t count = fnz_program_guard_count(p);
    ck_assert_msg(count == (guards[i].taken != 0), "%s: %zu guards", guards[i].text, count);
    if (guards[i].taken) {
      ck_assert_msg(run_at(p, guards[i].taken, 2) == FNZ_OK, "%s: %s", guards[i].text,
                    fnz_last_error(ctx)->message);
      ck_assert_msg(run_at(p, guards[i].refused, 2) == FNZ_BAD_INPUT, "%s: %lld is taken",
                    guards[i].text, (long long)guards[i].refused);
    }
    fnz_program_destroy(p);
    end();
  }
}
END_TEST

static void is_refused_at(const fnz_program *p, int64_t rows, int64_t columns, const char *why) {
  FAILS(ctx, "BOUNDS", run_at(p, rows, columns));
  ck_assert_msg(strstr(fnz_last_error(ctx)->message, why), "%s", fnz_last_error(ctx)->message);
}

START_TEST(what_is_read_back_keeps_to_them) {
  begin();
  bytes file = load_fixture("../symbolic/sizes/turned.pt2");
  fnz_program *p, *made, *once_more;
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_AUTO, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
  ck_assert_uint_eq(fnz_program_guard_count(made), 2);
  fnz_program *read = read_again(made, FNZ_FORMAT_PT2);
  OK(ctx, fnz_functionalize(ctx, read, NULL, &once_more));
  const fnz_program *const all[] = {made, read, once_more};
  for (size_t i = 0; i < 3; i++) {
    OK(ctx, run_at(all[i], 5, 6));
    OK(ctx, run_at(all[i], 3, 0));
    is_refused_at(all[i], 1, 5, i ? " (its assertion)" : " (its guard)");
    is_refused_at(all[i], 5, 1, i ? " (its assertion)" : " (its guard)");
    OK(ctx, fnz_verify(ctx, p, all[i], NULL, WITH_TRIALS(1), NULL));
  }
  fnz_program_destroy(p);
  fnz_program_destroy(made);
  fnz_program_destroy(read);
  fnz_program_destroy(once_more);
  free(file.data);
  end();
}
END_TEST

/* --- what no node can say --------------------------------------------------------------------- */
static void must_refuse(const char *text, const char *says) {
  fnz_program *p = read_text(text);
  fnz_buffer out = {0};
  FAILS(ctx, "UNSUPPORTED", fnz_program_write(ctx, p, FNZ_FORMAT_PT2, &out));
  ck_assert_msg(strstr(fnz_last_error(ctx)->message, says), "%s", fnz_last_error(ctx)->message);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
}

START_TEST(refusals) {
  begin();
  must_refuse("fnz 1 symbol s0 = 4 guard \"12/s0 > 1\"\n"
              "program(%x: f32[{s0}]) { %y: f32[{s0}] = neg(%x) return %y }",
              "needs the number 1/s0, which divides by a size");
  /* Only a body knows the number. */
  must_refuse("fnz 1 symbol u0 = 2 guard \"u0 < 3\"\n"
              "program(%x: f32[4], %i: i64[], %c: bool[]) {\n"
              "  %y: f32[4] = higher_order.cond(%c, @a, @a, [%x, %i]) return %y }\n"
              "graph a(%p: f32[4], %k: i64[]) {\n"
              "  %u: sym{u0} = item(%k) %q: f32[4] = mul.Scalar(%p, %u) return %q }",
              "the guard u0 < 3 cannot be expressed in a .pt2 file, since no size");
  end();
}
END_TEST

START_TEST(no_memory_anywhere) {
  static char text[] = "fnz 1 symbol s0 = 4 symbol u0 = 2 guard \"And(u0 < s0, s0 > 1)\"\n"
                       "program(%x: f32[{s0}], %i: i64[]) {\n"
                       "  %u: sym{u0} = item(%i)\n"
                       "  %z: f32[{s0}] = mul.Scalar(%x, %u) return %z }";
  const bytes file = {text, strlen(text)};
  ck_assert_uint_gt(each_fault(rewrite, &file), 50);
}
END_TEST

RUN_SUITE("pt2_guards", conditions_on_inputs_come_first, conditions_that_always_hold_are_left_out,
          conditions_on_data_follow_it, guards_keep_to_their_bounds,
          what_is_read_back_keeps_to_them, refusals, no_memory_anywhere)
