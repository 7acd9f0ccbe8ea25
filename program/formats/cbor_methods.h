/* cbor_methods.h - several programs as one CBOR item (docs/cbor-format.md): their names, which a
 * reader knows before it has read any program, the programs, and the blobs of all of them. */
#ifndef FNZI_CBOR_METHODS_H
#define FNZI_CBOR_METHODS_H

#include "program/formats/out.h"
#include "program/program.h"

#include <fnz/methods.h>

/* By its first bytes. */
bool fnzi_cbor_is_methods(const char *bytes, size_t size);

/* Refuses a file of several methods in a reader of one program; the message lists their names. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_refuse_methods(fnz_context *ctx, const char *bytes,
                                                   size_t size);

/* Fails where a method cannot have this name: ARGUMENT. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_check_method(fnz_context *ctx, const char *name, size_t size);

/* The result of reading: programs that are not verified yet. The caller destroys them, also after a
 * failure. Names are in the arena. */
typedef struct fnzi_cbor_set {
  fnzi_arena *arena;
  fnzi_blob *file; /* whose bytes these are; NULL when they are only borrowed */
  const char **names;
  fnz_program **programs; /* NULL where none was begun */
  size_t count;
} fnzi_cbor_set;
FNZ_MUST_CHECK fnz_status fnzi_cbor_read_methods(fnz_context *ctx, const char *bytes, size_t size,
                                                 fnzi_cbor_set *set);

/* Parameters and buffers of one name must have one blob. `pieces` NULL: all goes into `out`. */
FNZ_MUST_CHECK fnz_status fnzi_cbor_write_methods(fnz_context *ctx, const fnz_method *methods,
                                                  size_t count, fnz_buffer *out,
                                                  fnzi_out_pieces *pieces);

#endif
