/* checks: 3
 * written_test.c - written programs are read, and refusals are reported beforehand: every program
 * that a reader takes, and its functional form, in each format that a program is written in. */
#include "program/program.h"
#include "schema/schema.h"
#include "tests/help/context.h"

#include <dirent.h>
#include <stdio.h>

static size_t written, refused;

/* A .pt2 file does not declare operators. */
static bool declares(const fnz_program *p) {
  bool found = false;
  for (size_t i = 0; i < p->graphs.count; i++)
    for (size_t n = 0; n < p->graphs.data[i].nodes.count; n++) {
      const fnz_op *op = p->graphs.data[i].nodes.data[n].op;
      found = found || (op && fnzi_op_is_custom(op));
    }
  return found;
}

/* Reported refusals, and whether the writer's own is among them. */
typedef struct told {
  fnz_error sought;
  size_t count;
  bool found;
} told;

static void note(void *user, size_t graph, size_t node, const fnz_error *error) {
  told *t = user;
  (void)graph;
  (void)node;
  t->count++;
  t->found = t->found || (strcmp(t->sought.message, error->message) == 0 &&
                          strcmp(t->sought.where, error->where) == 0);
}

/* The list of refusals is empty where the program is written, and has what the writer says. */
static void must_be_told(const char *what, const fnz_program *p, fnz_format format,
                         fnz_status status) {
  told t = {.sought = *fnz_last_error(ctx)};
  OK(ctx, fnz_program_check_format(ctx, p, format, note, &t));
  ck_assert_msg((status == FNZ_OK) == (t.count == 0), "%s as %s: %zu refusals are told of", what,
                fnz_format_name(format), t.count);
  ck_assert_msg(status == FNZ_OK || t.found, "%s as %s: not told: %s: %s", what,
                fnz_format_name(format), t.sought.where, t.sought.message);
  refused += status != FNZ_OK;
}

static void must_be_read(const char *what, const fnz_program *p) {
  static const fnz_format formats[] = {FNZ_FORMAT_PT2, FNZ_FORMAT_JSON, FNZ_FORMAT_CBOR,
                                       FNZ_FORMAT_TEXT};
  for (size_t i = declares(p) ? 2 : 0; i < sizeof formats / sizeof *formats; i++) {
    fnz_buffer out = {0};
    fnz_program *again = NULL;
    fnz_status status = fnz_program_write(ctx, p, formats[i], &out);
    must_be_told(what, p, formats[i], status);
    if (status == FNZ_OK) {
      status = fnz_program_read(ctx, out.data, out.size, formats[i], &again);
      const fnz_error *e = fnz_last_error(ctx);
      ck_assert_msg(status == FNZ_OK, "%s as %s: %s: %s: %s", what, fnz_format_name(formats[i]),
                    fnz_class_name(e->kind), e->where, e->message);
      written++;
    }
    fnz_program_destroy(again);
    fnz_buffer_free(ctx, &out);
  }
}

static void see(const char *what, const void *bytes, size_t size) {
  fnz_program *p, *functional;
  if (fnz_program_read(ctx, bytes, size, FNZ_FORMAT_AUTO, &p) != FNZ_OK)
    return;
  must_be_read(what, p);
  if (fnz_functionalize(ctx, p, NULL, &functional) == FNZ_OK) {
    must_be_read(what, functional);
    fnz_program_destroy(functional);
  }
  fnz_program_destroy(p);
}

static void see_folder(const char *name) {
  char folder[512], path[1024];
  snprintf(folder, sizeof folder, "%s/fixtures/%s", FNZ_SOURCE_DIR, name);
  DIR *d = opendir(folder);
  ck_assert_ptr_nonnull(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    fnz_buffer b;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (e->d_name[0] == '.' || fnz_file_read(ctx, path, &b) != FNZ_OK)
      continue;
    see(path, b.data, b.size);
    fnz_buffer_free(ctx, &b);
  }
  closedir(d);
}

static void see_folders(const char *const *names, size_t count, size_t least) {
  begin();
  written = refused = 0;
  for (size_t i = 0; i < count; i++)
    see_folder(names[i]);
  ck_assert_uint_gt(written, least);
  ck_assert_uint_gt(refused, 0);
  end();
}

START_TEST(fixtures) {
  static const char *const names[] = {"boundary", "cli",  "custom",    "decompose", "functionalize",
                                      "hash",     "mlir", "pt2_write", "regions",   "symbolic",
                                      "why",      "pt2",  "program",   "vmap",      "prims"};
  see_folders(names, sizeof names / sizeof *names, 2000);
}
END_TEST

START_TEST(kept_inputs) {
  static const char *const names[] = {"fuzz/cbor", "fuzz/json", "fuzz/pt2", "fuzz/text"};
  see_folders(names, sizeof names / sizeof *names, 100);
}
END_TEST

#define BODY "program(%x: f32[4]) {\n%y: f32[4] = add.Scalar(%x, 1)\nreturn %y\n}\n"

/* No format takes what another one is refused for. */
START_TEST(all_refuse_alike) {
  static const struct {
    const char *text, *class_name;
  } rows[] = {
      {"fnz 1\nsymbol s0 = 2\nrange s0 2..0\n" BODY, "BOUNDS"},
      {"fnz 1\nsymbol \"\"\n" BODY, "SYNTAX"},
      {"fnz 1\nrange \"\" 0..4\n" BODY, "SYNTAX"},
      {"fnz 1\nsymbol s0 = -16\nprogram(%x: f32[{s0: 3}]) {\nreturn %x\n}\n", "BOUNDS"},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_program *p = NULL;
    see(rows[i].text, rows[i].text, strlen(rows[i].text));
    fnz_status status =
        fnz_program_read(ctx, rows[i].text, strlen(rows[i].text), FNZ_FORMAT_TEXT, &p);
    ck_assert_msg(status == FNZ_BAD_INPUT, "%s", rows[i].text);
    ck_assert_str_eq(fnz_class_name(fnz_last_error(ctx)->kind), rows[i].class_name);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

RUN_SUITE("written", fixtures, kept_inputs, all_refuse_alike)
