/* numbers_of_mlir_draw.h - a random program that computes numbers from sizes and from numbers that
 * are read off tensors: by the operators of Python that programs have, with the expression of each
 * result beside it. */
#ifndef FNZ_TESTS_FORMATS_NUMBERS_OF_MLIR_DRAW_H
#define FNZ_TESTS_FORMATS_NUMBERS_OF_MLIR_DRAW_H

#include <fnz/fnz.h>

/* The program as text, appended to an empty buffer. */
FNZ_MUST_CHECK fnz_status numbers_of_mlir_draw(fnz_context *ctx, uint64_t seed, fnz_buffer *out);

#endif
