/* safetensors.h - the tensors of a safetensors file one by one, and the header of one piece by
 * piece. */
#ifndef FNZI_SAFETENSORS_H
#define FNZI_SAFETENSORS_H

#include "program/formats/out.h"
#include "program/program.h"

typedef fnz_status fnzi_safetensor_visit(void *user, const fnz_array *t);

/* Checks the whole header, then visits each tensor. The array that a visit gets is valid during the
 * visit, its data as long as `bytes`. */
FNZ_MUST_CHECK fnz_status fnzi_safetensors_visit(fnzi_arena *arena, const char *bytes, size_t size,
                                                 fnzi_safetensor_visit *visit, void *user);

/* Begins a header, in an empty buffer; puts a tensor's entry, whose data lie at `offset` of all
 * data; ends it, so that these begin at a multiple of `align`. */
FNZ_MUST_CHECK fnz_status fnzi_safetensors_begin(fnz_context *ctx, fnz_buffer *out);
FNZ_MUST_CHECK fnz_status fnzi_safetensors_put(fnz_context *ctx, const fnz_array *t, size_t offset,
                                               fnz_buffer *out);
FNZ_MUST_CHECK fnz_status fnzi_safetensors_end(fnz_context *ctx, size_t align, fnz_buffer *out);

typedef struct fnzi_safetensors_header {
  size_t align;       /* the data begins at a multiple of it, a multiple of 8 */
  const char *member; /* the text that it begins with, may be empty */
} fnzi_safetensors_header;

/* The bytes of a whole file, appended to an empty `out`: wide elements first, arrays of one width
 * in their order. The data becomes pieces if there are any (`pieces` not NULL), and must stay until
 * these are written. Fails with UNSUPPORTED for element types that such files do not have. */
FNZ_MUST_CHECK fnz_status fnzi_safetensors_put_all(fnzi_arena *arena,
                                                   const fnz_array *const *arrays, size_t count,
                                                   fnzi_safetensors_header header, fnz_buffer *out,
                                                   fnzi_out_pieces *pieces);

#endif
