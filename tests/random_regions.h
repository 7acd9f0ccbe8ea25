/* random_regions.h - programs with bodies drawn from a seed: views, writes and functional
 * operators, branches, loops, maps, scans and calls in each other, which capture tensors that often
 * share memory. They are sound, and eager PyTorch would run them, but for overlaps that it refuses.
 */
#ifndef FNZ_TESTS_RANDOM_REGIONS_H
#define FNZ_TESTS_RANDOM_REGIONS_H

#include "tests/test.h"

/* The program as text, appended to an empty buffer. */
void random_regions(fnz_context *ctx, unsigned seed, fnz_buffer *out);

#endif
