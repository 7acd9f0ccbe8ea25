/* random_programs.h - a random program from one choice buffer: inputs, views, writes, pure
 * operators, outputs. The same choices give the same program. */
#ifndef FNZ_TESTS_RANDOM_PROGRAMS_H
#define FNZ_TESTS_RANDOM_PROGRAMS_H

#include "tests/random_calls.h"

#include <fnz/fnz.h>

enum { RANDOM_MOST_OPS = 160 };

/* What was drawn, to see that nothing is left out. */
typedef struct random_counts {
  size_t programs, steps, longest;
  size_t used[RANDOM_MOST_OPS], refused[RANDOM_MOST_OPS]; /* per random_op() */
} random_counts;

/* Name of the k-th operator that is drawn; NULL behind the last one. */
const char *random_op(size_t k);

/* A verified program. About 5 in 100 have a last step that eager refuses. */
fnz_status random_program(fnz_context *ctx, choices *c, random_counts *counts, fnz_program **out);

/* Numbers for its inputs. */
fnz_status random_inputs(fnz_context *ctx, const fnz_program *p, uint64_t seed, fnz_arrays **out);

#endif
