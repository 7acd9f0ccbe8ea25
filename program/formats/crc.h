/* crc.h - the CRC-32 of zip archives. */
#ifndef FNZI_CRC_H
#define FNZI_CRC_H

#include "base/base.h"

/* Tables for eight bytes at a time, and factors for 64. Zero at first; made with the first
 * checksum.
 */
typedef struct fnzi_crc {
  uint32_t of[8][256];
  uint64_t by_block[2], by_register[2];
  bool is_made;
} fnzi_crc;

/* The checksum of `size` bytes that follow bytes with the checksum `crc`, 0 for none. */
uint32_t fnzi_crc32(fnzi_crc *tables, uint32_t crc, const void *bytes, size_t size);

#endif
