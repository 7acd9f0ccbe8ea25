/* checks: 1
 * overlap_cases_test.c - writes to tensors that show an element in several places, against what
 * PyTorch made of them (fixtures/overlap/cases.txt): the aliasing interpreter, the functional form,
 * and both compared over hashes. */
#include "tests/help/test.h"

#include "program/program.h"

#include <fnz/fnz.h>

#include <stdio.h>

enum { LEAST = 500, MOST_REFUSED = 20, LINE = 4096 };

typedef struct testing {
  fnz_context *ctx;
  fnz_backend *cpu;
  FILE *file;
  char line[LINE], text[LINE];
  size_t cases, refused; /* by the pass, which knows no way */
} testing;

static size_t bytes_of(const char *hex, unsigned char *out) {
  size_t n = 0;
  unsigned byte;
  for (; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
    out[n] = (unsigned char)byte;
  return n;
}

static bool next_line(testing *t) {
  bool more = fgets(t->line, LINE, t->file) != NULL;
  if (more)
    t->line[strcspn(t->line, "\n")] = 0;
  return more;
}

/* The program, up to its closing brace. */
static fnz_program *read_program(testing *t) {
  fnz_program *p;
  size_t n = 0;
  do
    n += (size_t)snprintf(t->text + n, sizeof t->text - n, "%s\n", t->line);
  while (strcmp(t->line, "}") != 0 && next_line(t));
  OK(t->ctx, fnz_program_read(t->ctx, t->text, n, FNZ_FORMAT_TEXT, &p));
  return p;
}

static const fnz_geometry *input_of(const fnz_program *p, const char *name) {
  for (uint32_t k = 0; k < fnzi_graph_main(p)->ninputs; k++)
    if (strcmp(fnzi_value_at(p, 0, k)->name, name) == 0)
      return fnzi_value_at(p, 0, k)->geometry;
  ck_abort_msg("no input %s", name);
  return NULL;
}

/* "in NAME BYTES", bytes in row-major order; "-" for none. */
static void read_inputs(testing *t, const fnz_program *p, fnz_arrays *in) {
  char name[32];
  int at;
  while (next_line(t) && sscanf(t->line, "in %31s %n", name, &at) == 1) {
    const fnz_geometry *g = input_of(p, name);
    void *data;
    OK(t->ctx, fnz_arrays_add(in, name, g->dtype, g->rank, g->sizes, &data));
    if (t->line[at] != '-')
      bytes_of(t->line + at, data);
  }
}

static void compare(testing *t, const fnz_program *p, const fnz_arrays *in, bool original) {
  unsigned char want[LINE];
  fnz_arrays *out;
  size_t n = bytes_of(t->line + strlen("want "), want);
  OK(t->ctx, fnz_arrays_create(t->ctx, &out));
  fnz_status status = fnz_run(t->ctx, p, t->cpu, in, original ? AS_ORIGINAL : NULL, out);
  ck_assert_msg(status == FNZ_OK, "%s%s", t->text, fnz_last_error(t->ctx)->message);
  const fnz_array *got = fnz_arrays_find(out, "input.x");
  got = got ? got : fnz_arrays_find(out, "output.0");
  ck_assert_msg(memcmp(got->data, want, n) == 0, "%s%s differs", t->text,
                original ? "the original" : "the functional form");
  fnz_arrays_destroy(out);
}

static void check_case(testing *t) {
  fnz_program *p = read_program(t), *functional;
  fnz_arrays *in;
  OK(t->ctx, fnz_arrays_create(t->ctx, &in));
  read_inputs(t, p, in);
  compare(t, p, in, true);
  if (fnz_functionalize(t->ctx, p, NULL, &functional) == FNZ_OK) {
    compare(t, functional, in, false);
    ck_assert_msg(fnz_verify(t->ctx, p, functional, NULL, NULL, NULL) == FNZ_OK, "%s%s", t->text,
                  fnz_last_error(t->ctx)->message);
    t->cases++;
  } else {
    ck_assert_msg(t->ctx->reason == FNZI_REASON_NO_ROUTE, "%s%s", t->text,
                  fnz_last_error(t->ctx)->message);
    t->refused++;
  }
  fnz_arrays_destroy(in);
  fnz_program_destroy(functional);
  fnz_program_destroy(p);
}

START_TEST(writes_mean_what_pytorch_made_of_them) {
  testing t = {.file = fopen(FNZ_SOURCE_DIR "/fixtures/overlap/cases.txt", "r")};
  ck_assert_ptr_nonnull(t.file);
  ck_assert_int_eq(fnz_context_create(NULL, &t.ctx), FNZ_OK);
  OK(t.ctx, fnz_cpu_backend_create(t.ctx, 1, &t.cpu));
  while (next_line(&t))
    if (strcmp(t.line, "fnz 1") == 0)
      check_case(&t);
  ck_assert_uint_ge(t.cases, LEAST);
  ck_assert_uint_le(t.refused, MOST_REFUSED);
  fclose(t.file);
  fnz_backend_destroy(t.cpu);
  fnz_context_destroy(t.ctx);
}
END_TEST

RUN_SUITE("overlap_cases", writes_mean_what_pytorch_made_of_them)
