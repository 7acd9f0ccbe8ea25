/* checks: 4
 * again_test.c - a functional program stays as it is, text for text: each fixture, of fixed and of
 * symbolic sizes, in each dialect. Others do not. */
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

typedef struct tally {
  size_t programs, symbolic;
} tally;

static bool ends_with(const char *name, const char *end) {
  size_t size = strlen(name), tail = strlen(end);
  return size > tail && strcmp(name + size - tail, end) == 0;
}

static void text_of(fnz_context *ctx, const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){NULL, 0, 0};
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out));
}

/* The program is functionalized; then its result, and the same read from text. */
static void check_program(fnz_context *ctx, const fnz_program *p, const char *name,
                          const fnz_functionalize_options *options, tally *t) {
  fnz_program *once, *twice, *read, *thrice;
  fnz_buffer first, second, third;
  if (fnz_functionalize(ctx, p, options, &once) != FNZ_OK)
    return; /* refused, as some fixtures are */
  text_of(ctx, once, &first);
  OK(ctx, fnz_functionalize(ctx, once, options, &twice));
  text_of(ctx, twice, &second);
  OK(ctx, fnz_program_read(ctx, first.data, first.size, FNZ_FORMAT_TEXT, &read));
  OK(ctx, fnz_functionalize(ctx, read, options, &thrice));
  text_of(ctx, thrice, &third);
  ck_assert_msg(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
                "%s changes:\n%s\n%s", name, first.data, second.data);
  ck_assert_msg(first.size == third.size && memcmp(first.data, third.data, first.size) == 0,
                "%s changes when it was read:\n%s\n%s", name, first.data, third.data);
  t->programs++;
  t->symbolic += strstr(first.data, "symbol ") != NULL;
  fnz_buffer_free(ctx, &first);
  fnz_buffer_free(ctx, &second);
  fnz_buffer_free(ctx, &third);
  fnz_program_destroy(once);
  fnz_program_destroy(twice);
  fnz_program_destroy(read);
  fnz_program_destroy(thrice);
}

/* Every `stride`-th file of a folder of fixtures. */
static void check_folder(const char *folder, size_t stride,
                         const fnz_functionalize_options *options, tally *t) {
  char path[512];
  size_t count = 0;
  snprintf(path, sizeof path, "%s/fixtures/%s", FNZ_SOURCE_DIR, folder);
  DIR *entries = opendir(path);
  ck_assert_ptr_nonnull(entries);
  for (struct dirent *e = readdir(entries); e; e = readdir(entries)) {
    fnz_context *ctx;
    fnz_program *p;
    if ((!ends_with(e->d_name, ".fnz") && !ends_with(e->d_name, ".pt2")) || count++ % stride)
      continue;
    snprintf(path, sizeof path, "%s/fixtures/%s/%s", FNZ_SOURCE_DIR, folder, e->d_name);
    ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
    if (fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &p) == FNZ_OK) {
      if (fnz_program_place_views(ctx, p) == FNZ_OK)
        check_program(ctx, p, path, options, t);
      fnz_program_destroy(p);
    }
    fnz_context_destroy(ctx);
  }
  closedir(entries);
}

static const char *const folders[] = {"functionalize", "boundary", "regions", "state", "overlap",
                                      "vmap",          "custom",   "decode",  "prims"};

START_TEST(of_fixed_sizes) {
  tally t = {0};
  for (int way = 0; way < 12; way++) {
    fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
    options.views = (fnz_views)(way % 3);
    options.state = (fnz_state)(way / 3);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
      check_folder(folders[i], way == 0 ? 1 : 3, &options, &t);
  }
  printf("%zu programs\n", t.programs);
  ck_assert_uint_gt(t.programs, 400);
}
END_TEST

START_TEST(of_symbolic_sizes) {
  tally t = {0};
  for (int way = 0; way < 6; way++) {
    fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
    options.views = (fnz_views)(way % 3);
    options.state = (fnz_state)(way / 3);
    check_folder("symbolic", way == 0 ? 1 : 4, &options, &t);
    check_folder("symbolic/sizes", way == 0 ? 1 : 4, &options, &t);
  }
  printf("%zu programs, %zu symbolic\n", t.programs, t.symbolic);
  ck_assert_uint_gt(t.symbolic, 100);
}
END_TEST

static fnz_program *read_text(fnz_context *ctx, const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  return p;
}

/* Nodes that a pass leaves out, memory that no signature tells, and types that are right at the
 * recorded sizes only: there the pass has work to do. */
START_TEST(what_is_not) {
  static const struct {
    const char *text, *has, *has_not;
  } rows[] = {
      {"program(%x: f32[2])\n{\n%a: f32[2] = neg(%x)\n%b: f32[2] = exp(%x)\nreturn %b\n}\n", "exp",
       "neg"},
      {"program(%x: f32[2])\n{\n%a: f32[2] = clone(%x)\n%b: f32[2] = neg(%a)\nreturn %b\n}\n",
       "neg(%x)", "clone"},
      {"program(%x: f32[2])\n{\n%a: f32[2] = neg(%x)\nreturn %x, %a, %a\n}\n", "%x is %x", "%a,"},
      {"program(%x: f32[2,3])\n{\n%a: f32[3,2] stride(1,3) = t(%x)\nreturn %a\n}\n", "t_copy",
       "= t("},
      {"symbol s0 = 4\nprogram(%x: f32[{s0}])\n{\n%y: f32[{s0 + 4: 8}] = cat([%x, %x])\n"
       "return %y\n}\n",
       "guard", "%y"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_context *ctx;
    fnz_program *functional;
    fnz_buffer text;
    char source[512];
    snprintf(source, sizeof source, "fnz 1\n%s", rows[i].text);
    ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
    fnz_program *p = read_text(ctx, source);
    OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
    text_of(ctx, functional, &text);
    ck_assert_msg(strstr(text.data, rows[i].has) != NULL, "%s", text.data);
    ck_assert_msg(strstr(text.data, rows[i].has_not) == NULL, "%s", text.data);
    fnz_buffer_free(ctx, &text);
    fnz_program_destroy(functional);
    fnz_program_destroy(p);
    fnz_context_destroy(ctx);
  }
}
END_TEST

/* Names, texts, weights, metadata and origins: each node comes from itself. */
static fnz_status copy_once(fnz_context *ctx, const void *user) {
  fnz_program *p, *copy = NULL;
  fnz_origins *origins = NULL;
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.origins = &origins;
  fnz_status status = fnz_program_read(ctx, user, strlen(user), FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(ctx, p, &options, &copy);
  size_t count = status == FNZ_OK ? fnz_program_stats(copy).nodes : 0;
  for (size_t n = 0; n < count; n++)
    ck_assert_uint_eq(fnz_origins_at(origins, 0, n)->node, n);
  fnz_origins_destroy(origins);
  fnz_program_destroy(copy);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory) {
  static const char text[] =
      "fnz 1\noperator \"my::f(Tensor x, *, float scale) -> Tensor\"\nsymbol s0 = 4\n"
      "range s0 2..\nguard \"s0 >= 3\"\nguard disjoint \"x\" \"b\"\nweight \"b\": f32[2]\n"
      "program(\n%x: f32[{s0}], %b: f32[2] buffer \"b\")\n{\n"
      "%n: sym{s0} = sym_size.int(%x, 0)  at \"m.py:1\"\n%y: f32[{s0}] = my::f(%x, scale=0.5)\n"
      "%c: f32[2] = add.Tensor(%b, 1)\nreturn %c buffer_mutation \"b\", %y, %n\n}\n";
  ck_assert_uint_gt(each_fault(copy_once, text), 50);
}
END_TEST

RUN_SUITE("again", of_fixed_sizes, of_symbolic_sizes, what_is_not, out_of_memory)
