/* standin_batch.h - many texts as one library, for the stand-in for NVRTC: a compiler takes longer
 * to begin and to read what all texts begin with than for the kernels of a small program.
 *
 * Between standin_batch_begin() and standin_batch_end() a text that is in no library yet is kept
 * and refused, and standin_batch_build() builds all that were refused since; so who has many
 * programs tries them, builds, and tries those again that were refused. */
#ifndef FNZ_TESTS_CUDA_STANDIN_BATCH_H
#define FNZ_TESTS_CUDA_STANDIN_BATCH_H

#include <stdbool.h>
#include <stddef.h>

/* "standin_batch_begin" and so on of libnvrtc.so.13. */
typedef void standin_batch_fn(void);
typedef size_t standin_batch_count_fn(void); /* texts that were refused since the beginning */
typedef bool standin_batch_build_fn(void);

/* --- For standin_nvrtc.c: true while texts are kept. *image: of a text that is in a library,
 * malloc()'s. */
bool standin_batch_take(const char *text, unsigned char **image, size_t *bytes);

/* How a text becomes a library. To compile takes longer than to run what comes of it. */
#define STANDIN_WORDS                                                                              \
  "-std=c++17 -w -fPIC -shared -nostdlib -ffp-contract=off -fno-exceptions -fno-rtti "             \
  "-fno-asynchronous-unwind-tables"

/* The flags in standin_nvrtc.c: STANDIN_FLAGS. */
const char *standin_flags(void);

/* The beginning of such an image, after its length: in place of a library its path, and the prefix
 * of the names of its kernels ("<path> <prefix>"). */
#define STANDIN_IN_LIBRARY "library "

#endif
