/* crc.h - the CRC-32 of zip archives. */
#ifndef FNZI_CRC_H
#define FNZI_CRC_H

#include "base/base.h"

/* The checksum of `size` bytes that follow bytes with the checksum `crc`, 0 for none. */
uint32_t fnzi_crc32(uint32_t crc, const void *bytes, size_t size);
/* The checksum of many bytes. They count as units of the caller's step (base/task.h). */
FNZ_MUST_CHECK fnz_status fnzi_crc32_all(fnz_context *ctx, const void *bytes, size_t size,
                                         uint32_t *out);

#endif
