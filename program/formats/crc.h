/* crc.h - the CRC-32 of zip archives. */
#ifndef FNZI_CRC_H
#define FNZI_CRC_H

#include "base/base.h"

/* The checksum of `size` bytes that follow bytes with the checksum `crc`, 0 for none. */
uint32_t fnzi_crc32(uint32_t crc, const void *bytes, size_t size);

#endif
