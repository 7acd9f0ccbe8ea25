/* out.h - output that is not one buffer: large runs of bytes that a program holds anyway, such
 * as weights, belong between the bytes of a buffer and are not copied into it. */
#ifndef FNZI_OUT_H
#define FNZI_OUT_H

#include "base/base.h"

/* `size` bytes that come before byte `at` of the buffer; borrowed. */
typedef struct fnzi_out_piece {
  size_t at;
  const void *data;
  size_t size;
} fnzi_out_piece;

/* Pieces in the order of their places. Initialize with zeros; free with FNZI_VEC_FREE(). */
typedef struct fnzi_out_pieces {
  fnzi_out_piece *data;
  size_t count, capacity;
  size_t bytes; /* of all */
} fnzi_out_pieces;

/* Shorter ones are cheaper to copy. */
enum { FNZI_PIECE_LEAST = 1024 };

/* Appends bytes to the output: to the pieces when there are any (`pieces` is not NULL) and these
 * are many enough, else to the buffer. They must stay until the output is written. */
static inline fnz_status fnzi_put_piece(fnz_context *ctx, fnz_buffer *out, fnzi_out_pieces *pieces,
                                        const void *data, size_t size) {
  fnzi_out_piece piece = {out->size, data, size};
  if (!pieces || size < FNZI_PIECE_LEAST)
    return fnzi_put(ctx, out, data, size);
  FNZI_PUSH(ctx, pieces, piece);
  pieces->bytes += size;
  return FNZ_OK;
}

/* file_write.c: fnz_file_write() of both. */
FNZ_MUST_CHECK fnz_status fnzi_file_write(fnz_context *ctx, const char *path,
                                          const fnz_buffer *bytes, const fnzi_out_pieces *pieces);

/* file_write.c: like this, but only the user may read or write the file, even before it has its
 * name, whatever the permissions of an older file. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_file_write_private(fnz_context *ctx, const char *path,
                                                              const fnz_buffer *bytes);

/* A file to be. */
typedef struct fnzi_out_file {
  const char *path; /* no "-" */
  const fnz_buffer *bytes;
  const fnzi_out_pieces *pieces; /* NULL: none */
} fnzi_out_file;

/* file_write.c: both files are written to the disk under temporary names before either replaces an
 * old one, the first one first. If the second cannot be replaced, the old first file is restored.
 * Only a process that is killed between the two leaves one of them. */
FNZ_MUST_CHECK fnz_status fnzi_file_write_pair(fnz_context *ctx, const fnzi_out_file *first,
                                               const fnzi_out_file *second);

#endif
