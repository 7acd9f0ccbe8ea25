/* cache.h - code that NVRTC made, in files: in a folder that the caller names, and in none
 * otherwise. */
#ifndef FNZI_CUDA_CACHE_H
#define FNZI_CUDA_CACHE_H

#include "base/base.h"
#include "base/digest.h"

/* Appends the code of a key to `out`; false when there is none that can be trusted. A file of
 * another user, or one that others may write, is not read. */
bool fnzi_cuda_cache_read(fnz_context *ctx, const char *folder,
                          const unsigned char key[FNZI_DIGEST_BYTES], fnz_buffer *out);
/* Writes the code of a key. Failures are ignored, because the code can be compiled again. Files
 * appear whole or not at all, so that processes may write the same one at a time. */
void fnzi_cuda_cache_write(fnz_context *ctx, const char *folder,
                           const unsigned char key[FNZI_DIGEST_BYTES], const fnz_buffer *code);

#endif
