/* safetensors.h - writing safetensors files of arrays that lie anywhere. */
#ifndef FNZI_SAFETENSORS_H
#define FNZI_SAFETENSORS_H

#include "program/formats/out.h"

#include <fnz/arrays.h>

/* The bytes of a file, appended to an empty `out`: wide elements first, arrays of one width in
 * their order, the data behind the header at a multiple of `align`, which is one of 8. The data
 * becomes pieces where there are any (`pieces` not NULL), and must stay until these are written.
 * Fails with UNSUPPORTED for element types that such files do not have. */
FNZ_MUST_CHECK fnz_status fnzi_safetensors_put(fnzi_arena *arena, const fnz_array *const *arrays,
                                               size_t count, size_t align, fnz_buffer *out,
                                               fnzi_out_pieces *pieces);

#endif
