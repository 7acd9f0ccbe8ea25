/* custom.h - a context with declared operators, and the fixtures that have some. */
#ifndef FNZ_TESTS_FUNCTIONALIZE_CUSTOM_H
#define FNZ_TESTS_FUNCTIONALIZE_CUSTOM_H

#include "program/program.h"
#include "tests/help/archive.h"
#include "tests/help/faults.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

static fnz_context *ctx;

static inline void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static inline void end(void) {
  fnz_context_destroy(ctx);
}

static inline const fnz_op *declare(const char *schema) {
  const fnz_op *op;
  OK(ctx, fnz_op_declare(ctx, schema, &op));
  return op;
}

static const char operators[] =
    "operator \"ns::f(Tensor(a!) x, Tensor y) -> ()\"\n"
    "operator \"ns::two(Tensor(a!) x, Tensor(b!) y) -> Tensor\"\n"
    "operator \"ns::many(Tensor(a!)[] xs, Tensor(b!)[] ys, Tensor(c!)? log) -> Tensor[]\"\n"
    "operator \"ns::gaps(Tensor(a!)?[] xs) -> ()\"\n"
    "operator \"ns::lists(Tensor(a!)[] xs, Tensor(b!)[] ys) -> (Tensor(b!)[], Tensor(a!)[])\"\n"
    "operator \"ns::news(Tensor(a!)[] xs) -> (Tensor(a!)[], Tensor, Tensor[])\"\n"
    "operator \"ns::parts(Tensor x) -> (Tensor[], Tensor[])\"\n"
    "operator \"ns::g_(Tensor(a!) x, int k=2) -> Tensor(a!)\"\n"
    "operator \"ns::both(Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor, Tensor(a!))\"\n"
    "operator \"ns::h.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\"\n"
    "operator \"ns::v(Tensor(a) x) -> Tensor(a)\"\n"
    "operator \"ns::log(Tensor x) -> ()\"\n"
    "operator \"ns::pure(Tensor x) -> (Tensor, Tensor)\"\n";

static inline fnz_status read_body(fnz_context *c, const char *inputs, const char *body,
                                   fnz_program **out) {
  char text[4096];
  int n = snprintf(text, sizeof text, "fnz 1\n%sprogram(%s)\n{\n%s\n}\n", operators, inputs, body);
  return fnz_program_read(c, text, (size_t)n, FNZ_FORMAT_TEXT, out);
}

static inline void declare_fixture_ops(void) {
  fnz_buffer text;
  OK(ctx, fnz_file_read(ctx, FNZ_SOURCE_DIR "/fixtures/custom/ops.txt", &text));
  OK(ctx, fnz_ops_declare(ctx, "ops.txt", text.data, text.size));
  fnz_buffer_free(ctx, &text);
}

static inline fnz_status read_fixture(const char *name, fnz_program **out) {
  char path[512];
  bytes file;
  snprintf(path, sizeof path, "../custom/%s", name);
  file = load_fixture(path);
  fnz_status status = fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_PT2, out);
  free(file.data);
  return status;
}

static inline fnz_program *functional_fixture(const char *name) {
  fnz_program *p, *functional;
  OK(ctx, read_fixture(name, &p));
  OK(ctx, fnz_verify(ctx, p, NULL, NULL, NULL, NULL));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
  fnz_program_destroy(p);
  return functional;
}

#endif
