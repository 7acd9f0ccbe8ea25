/* zip_out.h - writes a zip archive record by record, like PyTorch: uncompressed, without times, the
 * data of each record at a multiple of 64 bytes so that it can be used in place. */
#ifndef FNZI_ZIP_OUT_H
#define FNZI_ZIP_OUT_H

#include "program/formats/out.h"

typedef struct fnzi_zip_record {
  const char *name;
  uint64_t offset, size;
  uint32_t crc;
} fnzi_zip_record;

/* Zero at first but for ctx and out, which is empty; ends with fnzi_zip_out_free(). */
typedef struct fnzi_zip_out {
  fnz_context *ctx;
  fnz_buffer *out;
  fnzi_out_pieces *pieces; /* where bytes may go that stay; NULL: all into `out` */
  struct {
    fnzi_zip_record *data;
    size_t count, capacity;
  } records;
} fnzi_zip_out;

/* The most bytes that a record takes in the archive. */
uint64_t fnzi_zip_most_bytes(const char *name, uint64_t size);
/* Appends a record. `name` is borrowed until the end, and new. */
FNZ_MUST_CHECK fnz_status fnzi_zip_add(fnzi_zip_out *z, const char *name, const void *bytes,
                                       size_t size);
/* The same for bytes that stay as long as the output, and have the checksum `crc`. */
FNZ_MUST_CHECK fnz_status fnzi_zip_add_piece(fnzi_zip_out *z, const char *name, const void *bytes,
                                             size_t size, uint32_t crc);
/* Appends the directory; then the archive is whole. */
FNZ_MUST_CHECK fnz_status fnzi_zip_finish(fnzi_zip_out *z);
void fnzi_zip_out_free(fnzi_zip_out *z);

#endif
