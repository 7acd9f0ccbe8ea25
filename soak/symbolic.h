/* symbolic.h - a random program whose sizes and indices are not known before it runs: symbols of
 * its inputs' sizes, and numbers read off data. The same choices give the same program.
 *
 * It is drawn as text, with the sizes, strides and offsets that an exporter would record: these are
 * worked out here, so that they are no echo of the library's. */
#ifndef FNZI_SOAK_SYMBOLIC_H
#define FNZI_SOAK_SYMBOLIC_H

#include "soak/choices.h"
#include "soak/counts.h"

#include <fnz/fnz.h>

/* A verified program. counts->used is per fnzi_symbolic_step(). */
FNZ_MUST_CHECK fnz_status fnzi_symbolic_program(fnz_context *ctx, choices *c,
                                                fnzi_random_counts *counts, fnz_program **out);

/* Name of the k-th step that is drawn; NULL behind the last one. */
const char *fnzi_symbolic_step(size_t k);

/* Data decide a number of this expression: it has a symbol such as u0. */
bool fnzi_symbolic_is_data(const char *text);

#endif
