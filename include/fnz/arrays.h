/* arrays.h - named host tensors: what goes into a run and what comes out (safetensors files). */
#ifndef FNZ_ARRAYS_H
#define FNZ_ARRAYS_H

#include <fnz/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One dense row-major tensor with a name. */
typedef struct fnz_array {
  const char *name;
  fnz_dtype dtype;
  uint32_t rank;
  const int64_t *sizes;
  const void *data;
  size_t bytes;
} fnz_array;

/** A set of arrays with unique names, in order. Owns names, sizes and data. */
typedef struct fnz_arrays fnz_arrays;

FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_create(fnz_context *ctx, fnz_arrays **out);
FNZ_API void fnz_arrays_destroy(fnz_arrays *arrays);

FNZ_API size_t fnz_arrays_count(const fnz_arrays *arrays);
FNZ_API const fnz_array *fnz_arrays_at(const fnz_arrays *arrays, size_t index);
/** NULL when there is none of that name. */
FNZ_API const fnz_array *fnz_arrays_find(const fnz_arrays *arrays, const char *name);

/** Adds an array with zeroed data of the right size and hands out where to write it. The name is
 * copied. FNZ_BAD_INPUT (DUPLICATE) when it is there already. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_add(fnz_arrays *arrays, const char *name,
                                                 fnz_dtype dtype, uint32_t rank,
                                                 const int64_t *sizes, void **out_data);

/** From and to the bytes of a safetensors file. Reading copies; offsets must tile the data. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_read_safetensors(fnz_context *ctx, const void *bytes,
                                                              size_t size, fnz_arrays **out);
/** A whole safetensors file, "-" for standard input; of another file only the first bytes are read.
 */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_load(fnz_context *ctx, const char *path,
                                                  fnz_arrays **out);
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_write_safetensors(fnz_context *ctx,
                                                               const fnz_arrays *arrays,
                                                               fnz_buffer *out);
/** The same as a file, without a copy of the data; it appears whole or not at all. "-" is standard
 * output. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_save(fnz_context *ctx, const fnz_arrays *arrays,
                                                  const char *path);

#ifdef __cplusplus
}
#endif
#endif
