/* variant_program.h - a recorded call (variant_fixture.h) as a program of one node. */
#ifndef FNZ_TESTS_HELP_VARIANT_PROGRAM_H
#define FNZ_TESTS_HELP_VARIANT_PROGRAM_H

#include "program/program.h"
#include "tests/help/variant_fixture.h"

enum { MOST_RESULTS = 64, MOST_TENSORS = 64 };

typedef struct variant_program {
  scene *s;
  fnz_program *p;
  fnz_arrays *inputs;
  fnz_handle handles[MOST_TENSORS]; /* per input */
  size_t nhandles;
} variant_program;

/* Opens the scene and makes the program and its inputs, of one call of `op`. Fails when PyTorch's
 * arguments do not fit a program, or fnz refuses the call. Close it in either case. */
fnz_status variant_program_open(variant_program *t, scene *s, const fnz_op *op,
                                const fnzi_json *call);
void variant_program_close(variant_program *t);

#endif
