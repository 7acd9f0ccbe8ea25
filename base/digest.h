/* digest.h - a digest of bytes for which no other bytes can be found: BLAKE2b with 32 bytes of
 * result and no key, as RFC 7693 has it. `b2sum -l 256` and Python's hashlib.blake2b(bytes,
 * digest_size=32) give the same. No library that fnz links has one. */
#ifndef FNZI_DIGEST_H
#define FNZI_DIGEST_H

#include "base/base.h"

enum { FNZI_DIGEST_BYTES = 32, FNZI_DIGEST_BLOCK = 128 };

typedef struct fnzi_digest {
  uint64_t state[8];
  uint64_t taken; /* bytes that the state has */
  size_t used;    /* of the block */
  unsigned char block[FNZI_DIGEST_BLOCK];
} fnzi_digest;

FNZI_SHARED void fnzi_digest_start(fnzi_digest *d);
FNZI_SHARED void fnzi_digest_add(fnzi_digest *d, const void *bytes, size_t size);
/* The same for many bytes. They count as units of the caller's step (base/task.h). */
FNZ_MUST_CHECK fnz_status fnzi_digest_add_all(fnz_context *ctx, fnzi_digest *d, const void *bytes,
                                              size_t size);
FNZI_SHARED void fnzi_digest_end(fnzi_digest *d, unsigned char out[FNZI_DIGEST_BYTES]);

#endif
