/* cache.h - a cache of code that NVRTC compiled, as files in a folder that the caller names.
 * Without a folder nothing is cached. */
#ifndef FNZI_CUDA_CACHE_H
#define FNZI_CUDA_CACHE_H

#include "base/base.h"
#include "base/digest.h"

/* Appends the code of a key to `out`. Returns false if there is no file, or it cannot be trusted:
 * files of another user, or that others may write, are not read. */
bool fnzi_cuda_cache_read(fnz_context *ctx, const char *folder,
                          const unsigned char key[FNZI_DIGEST_BYTES], fnz_buffer *out);
/* Writes the code of a key. Failures are ignored, because the code can be compiled again. Files
 * appear whole or not at all, so that processes may write the same one at a time. */
void fnzi_cuda_cache_write(fnz_context *ctx, const char *folder,
                           const unsigned char key[FNZI_DIGEST_BYTES], const fnz_buffer *code);

#endif
