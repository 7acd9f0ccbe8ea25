/* run_help.h - programs in text form for the tests of both interpreters. */
#ifndef FNZ_TESTS_HELP_RUN_HELP_H
#define FNZ_TESTS_HELP_RUN_HELP_H

#include "program/program.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <stdio.h>

static inline fnz_program *program_of(fnz_context *ctx, const char *inputs, const char *body) {
  char text[4096];
  fnz_program *p;
  int n = snprintf(text, sizeof text, "fnz 1\nprogram(%s)\n{\n%s\n}\n", inputs, body);
  OK(ctx, fnz_program_read(ctx, text, (size_t)n, FNZ_FORMAT_TEXT, &p));
  return p;
}

/* The recorded types of a program that was read are believed, so that interpreters meet them. */
static inline void believe(const fnz_program *p) {
  *p->unchecked = false;
}

/* Compares an aliasing body with a functional one over hashes; returns what fnz_verify does. */
static inline fnz_status compare_bodies(fnz_context *ctx, const char *inputs, const char *original,
                                        const char *functional) {
  fnz_program *a = program_of(ctx, inputs, original), *b = program_of(ctx, inputs, functional);
  const fnz_verify_options values = {
      .size = sizeof values, .trials = 2, .allow_narrower = true, .ignore_memory = true};
  fnz_status status = fnz_verify(ctx, a, b, NULL, &values, NULL);
  fnz_program_destroy(a);
  fnz_program_destroy(b);
  return status;
}

/* Runs an aliasing body over hashes. */
static inline fnz_status run_body(fnz_context *ctx, const char *inputs, const char *body,
                                  bool bytewise, fnz_arrays *out) {
  fnz_program *p = program_of(ctx, inputs, body);
  fnz_backend *backend;
  OK(ctx, fnz_hash_backend_create(ctx, 1, bytewise, &backend));
  fnz_status status = fnz_run(ctx, p, backend, NULL, AS_ORIGINAL, out);
  fnz_backend_destroy(backend);
  fnz_program_destroy(p);
  return status;
}

#endif
