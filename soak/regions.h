/* regions.h - a random program with bodies from one choice buffer: views, writes, buffers, caches
 * that tokens are written into, branches, loops, maps, scans and calls in each other, which capture
 * tensors that often share memory. The same choices give the same program.
 *
 * It is drawn as text, with sizes, strides and offsets that are worked out here, so that they are
 * no echo of the library's. It is sound, and eager PyTorch would run it, but for overlaps that it
 * refuses. */
#ifndef FNZI_SOAK_REGIONS_H
#define FNZI_SOAK_REGIONS_H

#include "soak/choices.h"
#include "soak/counts.h"

#include <fnz/fnz.h>

/* The program as text, appended to an empty buffer. counts->used is per fnzi_regions_step(). */
FNZ_MUST_CHECK fnz_status fnzi_regions_text(fnz_context *ctx, choices *c,
                                            fnzi_random_counts *counts, fnz_buffer *out);
/* A verified program. */
FNZ_MUST_CHECK fnz_status fnzi_regions_program(fnz_context *ctx, choices *c,
                                               fnzi_random_counts *counts, fnz_program **out);

/* Name of the k-th step that is drawn; NULL behind the last one. */
const char *fnzi_regions_step(size_t k);

#endif
