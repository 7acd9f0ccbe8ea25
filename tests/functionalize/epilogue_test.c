/* checks: 8
 * epilogue_test.c - states that are written at the end: only the windows of them that change, and
 * what counts as such an end. */
#include "functionalize/pass/pass.h"
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"
#include "tests/help/run_help.h"

#include <fnz/explain.h>

/* --- help ------------------------------------------------------------------------------------- */
static fnz_program *written_at_end(const fnz_program *p, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *out;
  options.views = views;
  options.state = FNZ_STATE_EPILOGUE;
  OK(ctx, fnz_functionalize(ctx, p, &options, &out));
  return out;
}

static void text_of(const fnz_program *p, fnz_format format, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  OK(ctx, fnz_program_write(ctx, p, format, out));
}

/* Functionalized again, and read from text and CBOR, it is the same. */
static void check_same(const char *name, const fnz_program *p, fnz_views views) {
  static const fnz_format formats[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_CBOR};
  fnz_program *again = written_at_end(p, views), *read;
  fnz_buffer text, other;
  text_of(p, FNZ_FORMAT_TEXT, &text);
  text_of(again, FNZ_FORMAT_TEXT, &other);
  ck_assert_msg(strcmp(text.data, other.data) == 0, "%s\n%s\n%s", name, text.data, other.data);
  fnz_buffer_free(ctx, &other);
  fnz_program_destroy(again);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    fnz_buffer bytes;
    text_of(p, formats[i], &bytes);
    OK(ctx, fnz_program_read(ctx, bytes.data, bytes.size, formats[i], &read));
    text_of(read, FNZ_FORMAT_TEXT, &other);
    ck_assert_msg(strcmp(text.data, other.data) == 0, "%s\n%s\n%s", name, text.data, other.data);
    fnz_program_destroy(read);
    fnz_buffer_free(ctx, &other);
    fnz_buffer_free(ctx, &bytes);
  }
  fnz_buffer_free(ctx, &text);
}

static void check_has(const char *name, const fnz_program *p, const char *has,
                      const char *has_not) {
  fnz_buffer text;
  text_of(p, FNZ_FORMAT_TEXT, &text);
  ck_assert_msg(strstr(text.data, has) != NULL, "%s\n%s", name, text.data);
  ck_assert_msg(!has_not || !strstr(text.data, has_not), "%s\n%s", name, text.data);
  fnz_buffer_free(ctx, &text);
}

/* --- windows ---------------------------------------------------------------------------------- */
#define CACHE "%x: f32[4,6] buffer \"cache\", "
#define ROW1  "%r: f32[6] offset(6) = select.int(%x, 0, 1)\n"

/* `has` and `has_not`: in the copy dialect. */
/* Else a write at the end would be an end already. */
#define END "%end: f32[2] = zeros([2])\nreturn %end"

static const struct row {
  const char *name, *inputs, *body, *has, *has_not;
} rows[] = {
    {"a window", CACHE "%k: f32[6]", ROW1 "%c: f32[6] offset(6) = copy_(%r, %k)\n" END,
     "copy_(%select, %k)", "scatter"},
    {"a window, and a result of all", CACHE "%k: f32[6]",
     ROW1 "%c: f32[6] offset(6) = copy_(%r, %k)\n" END ", %x", "copy_(%select, %k)", "copy_(%x"},
    {"a window of a window", CACHE "%k: f32[2]",
     ROW1 "%s: f32[2] offset(7) = slice.Tensor(%r, 0, 1, 3)\n%c: f32[2] offset(7) = copy_(%s, "
          "%k)\n" END,
     "copy_(%slice, %k)", "scatter"},
    {"a window below a view", CACHE "%k: f32[3]",
     "%v: f32[24] = view(%x, [24])\n%s: f32[3] offset(16) = slice.Tensor(%v, 0, 16, 19)\n%c: "
     "f32[3] offset(16) = copy_(%s, %k)\n" END,
     "copy_(%slice, %k)", "scatter"},
    {"two windows, the later over the former", CACHE "%k: f32[6], %l: f32[4,2]",
     ROW1 "%c: f32[6] offset(6) = copy_(%r, %k)\n%s: f32[4,2] stride(6,1) offset(2) = "
          "slice.Tensor(%x, 1, 2, 4)\n%d: f32[4,2] stride(6,1) offset(2) = copy_(%s, %l)\n" END,
     "copy_(%slice, %l)", "scatter"},
    {"a window that gets its old value back", CACHE "%k: f32[6], %l: f32[2]",
     "%o: f32[6] offset(6) = select.int(%x, 0, 1)\n%b: f32[6] = clone(%o)\n" ROW1
     "%c: f32[6] offset(6) = copy_(%r, %k)\n%n: f32[6] = slice_scatter(%b, %l, 0, 1, 3)\n"
     "%s: f32[4] offset(8) = slice.Tensor(%r, 0, 2, 6)\n%t: f32[4] offset(2) = slice.Tensor(%n, "
     "0, 2, 6)\n%d: f32[4] offset(8) = copy_(%s, %t)\n" END,
     "copy_(%", NULL},
    {"a window of what is moved", CACHE "%k: f32[6]",
     "%a: f32[6] offset(12) = select.int(%x, 0, 2)\n" ROW1
     "%c: f32[6] offset(6) = copy_(%r, %a)\n" END,
     "copy_(%select, %", "copy_(%x"},
    {"a part of a part of another tensor", CACHE "%k: f32[2,6]",
     "%z: f32[5,6] = zeros([5, 6])\n%a: f32[2,6] = slice.Tensor(%z, 0, 0, 2)\n%c: f32[2,6] = "
     "copy_(%a, %k)\n%b: f32[2,6] = slice.Tensor(%z, 0, 0, 2)\n%s: f32[2,6] offset(6) = "
     "slice.Tensor(%x, 0, 1, 3)\n%d: f32[2,6] offset(6) = copy_(%s, %b)\n" END ", %z",
     "copy_(%slice, %k)", "copy_(%x"},
    {"a window of memory with gaps", "%x: f32[4,6] stride(12,2), %k: f32[4]",
     "%s: f32[4] stride(12) offset(4) = select.int(%x, 1, 2)\n%c: f32[4] stride(12) offset(4) = "
     "copy_(%s, %k)\n" END,
     "copy_(%select, %k)", "scatter"},
    {"a diagonal", CACHE "%k: f32[4]",
     "%s: f32[4] stride(7) = diagonal(%x)\n%c: f32[4] stride(7) = copy_(%s, %k)\n" END,
     "copy_(%diagonal, %k)", "scatter"},
    {"by strides", CACHE "%k: f32[2,2]",
     "%s: f32[2,2] stride(7,3) offset(1) = as_strided(%x, [2, 2], [7, 3], 1)\n%c: f32[2,2] "
     "stride(7,3) offset(1) = copy_(%s, %k)\n" END,
     "copy_(%as_strided, %k)", "scatter"},
    {"a part of complex numbers", "%x: c64[4], %k: f32[4]",
     "%v: f32[4,2] = view_as_real(%x)\n%s: f32[4] stride(2) = select.int(%v, 1, 0)\n%c: f32[4] "
     "stride(2) = copy_(%s, %k)\n" END,
     "copy_(%select, %k)", "scatter"},
    {"every window", CACHE "%k: f32[2,6], %l: f32[2,6]",
     "%s: f32[2,6] = slice.Tensor(%x, 0, 0, 2)\n%c: f32[2,6] = copy_(%s, %k)\n%t: f32[2,6] "
     "offset(12) = slice.Tensor(%x, 0, 2, 4)\n%d: f32[2,6] offset(12) = copy_(%t, %l)\n" END,
     "copy_(%x, ", NULL},
    {"no window that is known", CACHE "%i: i64[2], %k: f32[2,6]",
     "%c: f32[4,6] = index_put_(%x, [%i], %k)\n" END, "copy_(%x, %index_put)", NULL},
    {"all, then a window", CACHE "%k: f32[6]",
     "%m: f32[4,6] = mul_.Tensor(%x, %x)\n" ROW1 "%c: f32[6] offset(6) = copy_(%r, %k)\n" END,
     "copy_(%x, %select_scatter)", NULL},
};

START_TEST(only_windows_that_change_are_written) {
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int views = 0; views < 3; views++) {
      fnz_program *p = program_of(ctx, rows[i].inputs, rows[i].body);
      fnz_program *f = written_at_end(p, (fnz_views)views);
      if (views == FNZ_VIEWS_COPY)
        check_has(rows[i].name, f, rows[i].has, rows[i].has_not);
      fnz_status status = fnz_verify(ctx, p, f, NULL, WITH_TRIALS(3), NULL);
      ck_assert_msg(status == FNZ_OK, "%s: %s", rows[i].name, fnz_last_error(ctx)->message);
      check_same(rows[i].name, f, (fnz_views)views);
      fnz_program_destroy(f);
      fnz_program_destroy(p);
    }
  end();
}
END_TEST

static void replace_all(char text[4096], const char *from, const char *to) {
  char rest[4096];
  for (char *at = text; *from && (at = strstr(at, from)); at += strlen(to)) {
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, 4096 - (size_t)(at - text), "%s%s", to, rest);
  }
}

/* A window beside the right one, another value, and an older one are found. */
START_TEST(another_window_is_found) {
  begin();
  static const struct {
    size_t row;
    const char *changes[4];
  } mistakes[] = {
      {0, {"(%x, 0, 1)", "(%x, 0, 2)", "offset(6)", "offset(12)"}},
      {2, {"(%select, 0, 1, 3, 1)", "(%select, 0, 2, 4, 1)", "offset(7)", "offset(8)"}},
      {3, {"(%view, 0, 16, 19, 1)", "(%view, 0, 17, 20, 1)", "offset(16)", "offset(17)"}},
      {0, {"copy_(%select, %k)", "copy_(%select, 0)", "", ""}},
      {4, {"copy_(%slice, %l)", "copy_(%slice, 0)", "", ""}},
      {6, {"copy_(%select, %select_copy)", "copy_(%select, %select)", "", ""}},
  };
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    const struct row *row = &rows[mistakes[i].row];
    const char *const *c = mistakes[i].changes;
    fnz_program *p = program_of(ctx, row->inputs, row->body);
    fnz_program *f = written_at_end(p, FNZ_VIEWS_COPY);
    fnz_buffer text;
    char wrong[4096];
    text_of(f, FNZ_FORMAT_TEXT, &text);
    ck_assert_msg(strstr(text.data, c[0]) && strstr(text.data, c[2]), "%s", text.data);
    snprintf(wrong, sizeof wrong, "%s", text.data);
    replace_all(wrong, c[0], c[1]);
    replace_all(wrong, c[2], c[3]);
    fnz_program *planted = read_text(wrong);
    fnz_status status = fnz_verify(ctx, p, planted, NULL, WITH_TRIALS(3), NULL);
    ck_assert_msg(status != FNZ_OK && fnz_last_error(ctx)->kind == FNZ_CLASS_DIFFERENT, "%s\n%s",
                  wrong, status ? fnz_last_error(ctx)->message : "equal");
    fnz_program_destroy(planted);
    fnz_buffer_free(ctx, &text);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- what counts as an end -------------------------------------------------------------------- */
#define SLICE  "%s: f32[2] = slice.Tensor(%x, 0, 0, 2)\n"
#define WRITE  "%c: f32[2] = copy_(%s, %k)\n"
#define INPUTS "%x: f32[4] buffer \"x\", %y: f32[2] buffer \"y\", %k: f32[2]"

START_TEST(an_end_is_views_and_their_writes) {
  begin();
  static const struct {
    const char *body;
    uint32_t start;
    bool functional; /* in the dialect that keeps views */
  } ends[] = {
      {SLICE WRITE "return", 0, true},
      {"%n: f32[2] = neg(%k)\n" SLICE "%c: f32[2] = copy_(%s, %n)\nreturn", 1, true},
      {"%v: f32[2,2] = view(%x, [2, 2])\n%s: f32[2] = select.int(%v, 0, 0)\n" WRITE "return", 0,
       true},
      /* the window is returned, or the result of the write */
      {SLICE WRITE "return %s", 0, false},
      {SLICE WRITE "return %c", 0, false},
      /* it is read by another write */
      {SLICE WRITE "%d: f32[2] = copy_(%y, %s)\nreturn", 2, false},
      {SLICE WRITE "%d: f32[2] = copy_(%y, %c)\nreturn", 2, false},
      /* it is written twice; something stands between the two, or the view is of another tensor */
      {SLICE WRITE "%d: f32[2] = copy_(%s, %y)\nreturn", 3, false},
      {SLICE "%n: f32[2] = neg(%k)\n%c: f32[2] = copy_(%s, %n)\nreturn", 3, false},
      {"%n: f32[4] = neg(%x)\n%s: f32[2] = slice.Tensor(%n, 0, 0, 2)\n" WRITE "return %n", 3,
       false},
      /* another operator writes, or as_strided_ moves the view */
      {SLICE "%c: f32[2] = add_.Tensor(%s, %k)\nreturn", 2, false},
      {SLICE "%c: f32[1] = as_strided_(%s, [1], [1], 0)\nreturn", 2, false},
      /* the old value of an input is read too late */
      {"%o: f32[2] offset(2) = slice.Tensor(%x, 0, 2, 4)\n%e: f32[4] = copy_(%x, 1)\n%d: f32[2] = "
       "copy_(%y, %o)\nreturn",
       1, false},
      {"%o: f32[2] offset(2) = slice.Tensor(%x, 0, 2, 4)\n" SLICE
       "%c: f32[2] = copy_(%s, %o)\nreturn",
       1, false},
  };
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
    bool functional;
    fnz_program *p = program_of(ctx, INPUTS, ends[i].body);
    options.views = FNZ_VIEWS_KEEP;
    options.state = FNZ_STATE_EPILOGUE;
    ck_assert_msg(fnzi_epilogue_start(p) == ends[i].start, "%zu: %u\n%s", i, fnzi_epilogue_start(p),
                  ends[i].body);
    OK(ctx, fnzi_pass_is_functional(ctx, p, &options, &functional));
    ck_assert_msg(functional == ends[i].functional, "%zu\n%s", i, ends[i].body);
    /* Whatever it is: the pass gives what means the same, which stays. */
    fnz_program *f = written_at_end(p, FNZ_VIEWS_KEEP);
    fnz_status status = fnz_verify(ctx, p, f, NULL, WITH_TRIALS(3), NULL);
    ck_assert_msg(status == FNZ_OK, "%zu: %s", i, fnz_last_error(ctx)->message);
    check_same(ends[i].body, f, FNZ_VIEWS_KEEP);
    OK(ctx, fnzi_pass_is_functional(ctx, f, &options, &functional));
    ck_assert_msg(functional, "%zu\n%s", i, ends[i].body);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* In a dialect without views an end has them all the same, but no other part of the program. */
START_TEST(views_elsewhere_are_left_out) {
  begin();
  fnz_program *p = program_of(ctx, INPUTS,
                              "%v: f32[2] = slice.Tensor(%x, 0, 1, 3)\n%n: f32[2] = neg(%v)\n" SLICE
                              "%c: f32[2] = copy_(%s, %n)\nreturn");
  fnz_program *f = written_at_end(p, FNZ_VIEWS_COPY);
  check_has("", f, "slice_copy.Tensor(%x, 0, 1, 3)", NULL);
  check_has("", f, "copy_(%slice, %neg)", "scatter");
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- denied operators ------------------------------------------------------------------------- */
static fnz_status deny(const fnz_program *p, const char *name, fnz_program **out) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.state = FNZ_STATE_EPILOGUE;
  options.deny = &name;
  options.ndeny = 1;
  return fnz_functionalize(ctx, p, &options, out);
}

START_TEST(denied_views_are_not_used) {
  begin();
  fnz_program *p = program_of(ctx, rows[0].inputs, rows[0].body), *f;
  OK(ctx, deny(p, "select", &f));
  check_has("select", f, "copy_(%x, %select_scatter)", NULL);
  fnz_program_destroy(f);
  OK(ctx, deny(p, "select_scatter", &f)); /* which nothing needs */
  check_has("select_scatter", f, "copy_(%select, %k)", "scatter");
  fnz_program_destroy(f);
  ck_assert_int_eq(deny(p, "copy_", &f), FNZ_UNSUPPORTED);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- where nodes come from -------------------------------------------------------------------- */
START_TEST(windows_come_from_the_write) {
  begin();
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_origins *origins;
  fnz_program *f, *p = program_of(ctx, CACHE "%k: f32[6]",
                                  "%n: f32[6] = neg(%k) at \"m.py:1\"\n%r: f32[6] offset(6) = "
                                  "select.int(%x, 0, 1) at \"m.py:2\"\n%c: f32[6] offset(6) = "
                                  "copy_(%r, %n) at \"m.py:3\"\n" END);
  options.state = FNZ_STATE_EPILOGUE;
  options.origins = &origins;
  OK(ctx, fnz_functionalize(ctx, p, &options, &f));
  ck_assert_uint_eq(fnz_node_count(f, 0), 4); /* neg, zeros */
  for (size_t n = 2; n < 4; n++) {
    const fnz_origin *o = fnz_origins_at(origins, 0, n);
    ck_assert_str_eq(fnzi_node_at(f, 0, (uint32_t)n)->source, "m.py:3");
    ck_assert_int_eq(o->reason, FNZ_REASON_WRITE_BACK);
    ck_assert_uint_eq(o->node, 2);
    ck_assert_uint_eq(o->view, 1);
  }
  ck_assert_uint_eq(fnz_origins_at(origins, 0, 0)->node, 0);
  fnz_origins_destroy(origins);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- sizes that only a run knows -------------------------------------------------------------- */
/* Numbers that the end needs are there before it, so that no write changes a size that is read. */
START_TEST(symbolic_windows) {
  begin();
  static const char *const texts[] = {
      "symbol s0 = 6\nrange s0 4..\nprogram(%x: f32[8,{s0},2] buffer \"cache\", %k: "
      "f32[8,1,2])\n{\n%t: f32[8,2] stride({2*s0},1) = select.int(%x, 1, 0)\n%d: f32[8,2] "
      "stride({2*s0},1) = mul_.Tensor(%t, 3)\n%n: sym{s0} = sym_size.int(%x, 1)\n%m: sym{s0 - 1} = "
      "_operator.sub(%n, 1)\n%s: f32[8,1,2] stride({2*s0},2,1) offset({2*s0 - 2}) = "
      "slice.Tensor(%x, 1, %m, %n)\n%c: f32[8,1,2] stride({2*s0},2,1) offset({2*s0 - 2}) = "
      "copy_(%s, %k)\nreturn\n}\n",
      "symbol u0 = 3\nrange u0 0..7\nprogram(%x: f32[8,2] buffer \"cache\", %k: f32[2], %p: "
      "i64[])\n{\n%n: sym{u0} = item(%p)\n%s: f32[2] offset({2*u0}) = select.int(%x, 0, %n)\n%c: "
      "f32[2] offset({2*u0}) = copy_(%s, %k)\nreturn\n}\n"};
  for (size_t i = 0; i < 2 * 3; i++) {
    char text[2048];
    snprintf(text, sizeof text, "fnz 1\n%s", texts[i / 3]);
    fnz_program *p = read_text(text), *f = written_at_end(p, (fnz_views)(i % 3));
    const uint32_t start = fnzi_epilogue_start(f), count = (uint32_t)fnz_node_count(f, 0);
    ck_assert_uint_eq(count - start, i < 3 ? 4 : 2);
    check_has("", f, ", %k)", "scatter");
    OK(ctx, fnz_verify(ctx, p, f, NULL, WITH_TRIALS(2), NULL));
    check_same("", f, (fnz_views)(i % 3));
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- memory runs out -------------------------------------------------------------------------- */
static fnz_status write_windows(fnz_context *c, const void *user) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = NULL, *f = NULL;
  char text[1024];
  const struct row *row = user;
  const int size =
      snprintf(text, sizeof text, "fnz 1\nprogram(%s)\n{\n%s\n}\n", row->inputs, row->body);
  options.state = FNZ_STATE_EPILOGUE;
  fnz_status status = fnz_program_read(c, text, (size_t)size, FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(c, p, &options, &f);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory) {
  ck_assert_uint_gt(each_fault(write_windows, &rows[3]), 50);
  ck_assert_uint_gt(each_fault(write_windows, &rows[4]), 50);
}
END_TEST

RUN_SUITE("epilogue", only_windows_that_change_are_written, another_window_is_found,
          an_end_is_views_and_their_writes, views_elsewhere_are_left_out, denied_views_are_not_used,
          windows_come_from_the_write, symbolic_windows, out_of_memory)
