/* programs.h - a random program from one choice buffer: inputs, views, writes, pure
 * operators, outputs. The same choices give the same program. */
#ifndef FNZI_SOAK_PROGRAMS_H
#define FNZI_SOAK_PROGRAMS_H

#include "soak/calls.h"
#include "soak/counts.h"

#include <fnz/fnz.h>

/* Name of the k-th operator that is drawn; NULL behind the last one. */
const char *fnzi_random_op(size_t k);

/* A verified program. About 5 in 100 have a last step that eager refuses. `meta` is the backend of
 * shapes that the steps are tried on, NULL for one of its own. */
FNZ_MUST_CHECK fnz_status fnzi_random_program(fnz_context *ctx, fnz_backend *meta, choices *c,
                                              fnzi_random_counts *counts, fnz_program **out);

/* Numbers for a tensor. */
void fnzi_random_fill(const fnz_geometry *g, void *data, uint64_t *seed);
/* An element that is shown several times has one number. */
FNZ_MUST_CHECK fnz_status fnzi_random_agree(fnz_context *ctx, const fnz_geometry *g, void *data);
/* Numbers for its inputs, except for literals. */
FNZ_MUST_CHECK fnz_status fnzi_random_inputs(fnz_context *ctx, const fnz_program *p, uint64_t seed,
                                             fnz_arrays **out);

#endif
