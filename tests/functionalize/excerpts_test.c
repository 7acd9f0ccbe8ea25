/* checks: 5
 * excerpts_test.c - long programs with symbolic sizes, analysed by an excerpt: the result equals
 * the one without an excerpt, and is right; instances that move to other sizes; minima that ranges
 * decide. */
#include "program/shapes/sizes.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

static fnz_context *ctx;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static fnz_program *parse(const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  return p;
}

/* --- long programs ---------------------------------------------------------------------------- */
enum { FEW = 5, MANY = 12, ROOM = 1 << 14 };

/* Each layer reads a transposed window, writes all of one tensor and one column of it. `odd` is in
 * the middle. */
static const char *layers(int count, const char *head, const char *odd) {
  static const char layer[] = "  %%a%d: f32[{s0},{s1},2,4] = view(%%h%d, [%%n, %%m, 2, 4])\n"
                              "  %%t%d: f32[{s0},2,{s1},4] = transpose.int(%%a%d, 1, 2)\n"
                              "  %%r%d: f32[{s0},2,{s1},4] = relu(%%t%d)\n"
                              "  %%h%d: f32[{s0},{s1},8] = _unsafe_view(%%r%d, [%%n, %%m, 8])\n"
                              "  %%p%d: f32[{s0},{s1},8] = add_.Tensor(%%h%d, %%y)\n"
                              "  %%c%d: f32[{s0},{s1}] = select.int(%%h%d, 2, 1)\n"
                              "  %%z%d: f32[{s0},{s1}] = mul_.Scalar(%%c%d, 2)\n";
  static char text[ROOM];
  int at = snprintf(text, sizeof text,
                    "fnz 1 symbol s0 = 3 symbol s1 = 5 %s\n"
                    "program(%%x: f32[{s0},{s1},8], %%y: f32[{s0},{s1},8], %%q: f32[{s1},{s1}]) {\n"
                    "  %%n: sym{s0} = sym_size.int(%%x, 0)  %%m: sym{s1} = sym_size.int(%%x, 1)\n"
                    "  %%h0: f32[{s0},{s1},8] = exp(%%x)\n",
                    head);
  for (int i = 1; i <= count; i++) {
    at += snprintf(text + at, sizeof text - (size_t)at, layer, i, i - 1, i, i, i, i, i, i, i, i, i,
                   i, i, i);
    if (i == count / 2)
      at += snprintf(text + at, sizeof text - (size_t)at, "%s", odd);
  }
  ck_assert_int_lt(at, ROOM / 2);
  snprintf(text + at, sizeof text - (size_t)at, "  return %%h%d, %%q }", count);
  return text;
}

static void put_made(const char *text, fnz_buffer *out) {
  fnz_program *p = parse(text), *made;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
  OK(ctx, fnz_verify(ctx, p, made, NULL, NULL, NULL));
  OK(ctx, fnz_program_write(ctx, made, FNZ_FORMAT_TEXT, out));
  fnz_program_destroy(made);
  fnz_program_destroy(p);
}

/* A program of few layers has no excerpt: its result is how the result of many layers begins. */
START_TEST(an_excerpt_changes_nothing) {
  static const char *const heads[] = {"range s0 1.. range s1 1..64", "range s0 2.. range s1 2..",
                                      "guard \"Eq(s0, 3)\""};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    fnz_buffer few = {NULL, 0, 0}, many = {NULL, 0, 0};
    begin();
    put_made(layers(FEW, heads[i], ""), &few);
    put_made(layers(MANY, heads[i], ""), &many);
    const char *end = strstr(few.data, "  return ");
    ck_assert(end && (size_t)(end - few.data) < many.size);
    ck_assert_msg(memcmp(few.data, many.data, (size_t)(end - few.data)) == 0, "%s", heads[i]);
    fnz_buffer_free(ctx, &few);
    fnz_buffer_free(ctx, &many);
    fnz_context_destroy(ctx);
  }
}
END_TEST

/* One storage among many alike ones is written where sizes decide what of it: a diagonal is all of
 * it where it has one place, a transposed one is its own where it has one row. */
START_TEST(what_sizes_decide_is_seen_among_many) {
  static const char *const odd[] = {
      "  %d: f32[{s1}] = diagonal(%q)  %e: f32[{s1}] = fill_.Scalar(%d, 2)\n"
      "  %u: f32[{s1},{s1}] = t(%q)  %v: f32[{s1},{s1}] = add_.Scalar(%u, 1)\n",
      "  %d: f32[{s1},{s1}] = t(%q)  %e: f32[{s1**2: 25}] = reshape(%d, [-1])\n"
      "  %v: f32[{s1**2: 25}] = add_.Scalar(%e, 1)\n"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    const fnz_verify_options often = {.size = sizeof often, .trials = 6, .allow_narrower = true};
    fnz_program *made;
    begin();
    fnz_program *p = parse(layers(MANY, "range s0 1.. range s1 1..", odd[i]));
    OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
    OK(ctx, fnz_verify(ctx, p, made, NULL, &often, NULL));
    fnz_program_destroy(made);
    fnz_program_destroy(p);
    fnz_context_destroy(ctx);
  }
}
END_TEST

START_TEST(no_memory_is_an_error) {
  bool more = true;
  for (size_t n = 1; more; n += n < 100 ? 7 : 1499) {
    faults f = {.fail_at = n};
    fnz_allocator allocator = {faults_resize, &f};
    fnz_context *own;
    fnz_program *p = NULL, *made = NULL;
    const char *text = layers(MANY, "range s0 1.. range s1 1..", "");
    fnz_status status = fnz_context_create(&allocator, &own);
    if (status == FNZ_OK)
      status = fnz_program_read(own, text, strlen(text), FNZ_FORMAT_TEXT, &p);
    if (status == FNZ_OK)
      status = fnz_functionalize(own, p, NULL, &made);
    fnz_program_destroy(made);
    fnz_program_destroy(p);
    fnz_context_destroy(own);
    more = f.calls >= n;
    ck_assert_uint_eq(f.live_bytes, 0);
    ck_assert_int_eq(status, more ? FNZ_NO_MEMORY : FNZ_OK);
  }
}
END_TEST

/* --- instances -------------------------------------------------------------------------------- */
static void put_instance(const fnz_program *p, fnz_buffer *out) {
  out->size = 0;
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out));
}

START_TEST(instances_move) {
  static const int64_t numbers[][2] = {{3, 5}, {1, 1}, {0, 7}, {-1, 2}, {9, 4}};
  fnz_buffer moved = {NULL, 0, 0}, anew = {NULL, 0, 0};
  fnzi_instance instance = {0};
  fnzi_sizes sizes;
  begin();
  fnz_program *p = parse(layers(FEW, "", ""));
  OK(ctx, fnzi_sizes_open(&sizes, ctx, p));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    fnz_program *made;
    fnzi_point point;
    fnzi_point_init(&point, &sizes.set);
    for (size_t k = 0; k < 2; k++)
      OK(ctx, fnzi_point_set(&point, sizes.free.data[k], numbers[i][k]));
    const fnz_status status = fnzi_instantiate(&sizes, &point, FNZI_READINGS_KEPT, &made);
    ck_assert_int_eq(status, numbers[i][0] < 0 ? FNZ_BAD_INPUT : FNZ_OK);
    ck_assert_int_eq(fnzi_instance_move(&instance, &sizes, &point), status);
    if (status == FNZ_OK) {
      put_instance(made, &anew);
      put_instance(instance.program, &moved);
      ck_assert(moved.size == anew.size && !memcmp(moved.data, anew.data, anew.size));
    }
    fnz_program_destroy(made);
    fnzi_point_free(&point);
  }
  fnz_buffer_free(ctx, &moved);
  fnz_buffer_free(ctx, &anew);
  fnzi_instance_free(&instance);
  fnzi_sizes_close(&sizes);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- minima ----------------------------------------------------------------------------------- */
START_TEST(ranges_decide_minima) {
  static const struct {
    const char *range, *text;
    bool settled;
  } rows[] = {{"1..", "Min(768, 768*s0)", true},     {"0..", "Min(768, 768*s0)", false},
              {"2..9", "Max(9, s0)", true},          {"2..9", "Max(8, s0)", false},
              {"0..", "Max(s0, s0**2 + s0)", false}, {"3..5", "Min(s0 - 6, 0)", true},
              {"3..5", "Min(7 - 2*s0, 1)", true},    {"3..5", "Min(7 - 2*s0, 0)", false},
              {"1..", "Min(-5, -4*s0)", false},      {"2..", "Min(s0*s0, 3)", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[200];
    uint8_t *settled;
    fnzi_arena arena;
    fnzi_sizes sizes;
    begin();
    snprintf(text, sizeof text,
             "fnz 1 symbol s0 = 4 range s0 %s program(%%x: f32[{s0}], %%y: f32[{%s: 3}]) "
             "{ return %%x }",
             rows[i].range, rows[i].text);
    fnz_program *p = parse(text);
    fnzi_arena_init(&arena, ctx);
    OK(ctx, fnzi_sizes_open(&sizes, ctx, p));
    OK(ctx, fnzi_sizes_settled(&sizes, &arena, &settled));
    bool found = false;
    for (size_t k = 0; k < sizes.own; k++)
      found = found || settled[k];
    ck_assert_msg(found == rows[i].settled, "%s in %s", rows[i].text, rows[i].range);
    fnzi_sizes_close(&sizes);
    fnzi_arena_free(&arena);
    fnz_program_destroy(p);
    fnz_context_destroy(ctx);
  }
}
END_TEST

RUN_SUITE("excerpts", an_excerpt_changes_nothing, what_sizes_decide_is_seen_among_many,
          no_memory_is_an_error, instances_move, ranges_decide_minima)
