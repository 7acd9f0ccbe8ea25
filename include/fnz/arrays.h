/* arrays.h - named host tensors: inputs and outputs of a run (safetensors files). */
#ifndef FNZ_ARRAYS_H
#define FNZ_ARRAYS_H

#include <fnz/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One dense row-major tensor with a name. `data`: the elements, `bytes` long. */
typedef struct fnz_array {
  const char *name;
  fnz_dtype dtype;
  uint32_t rank;
  const int64_t *sizes;
  const void *data;
  size_t bytes;
} fnz_array;

/** A set of arrays with unique names, in order. Owns names, sizes and data; pointers that it
 * returns are valid until the set is destroyed. Used by one thread at a time, as its context is. */
typedef struct fnz_arrays fnz_arrays;

/** out  empty; ends with fnz_arrays_destroy(), before ctx. NULL on failure (only FNZ_NO_MEMORY). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_create(fnz_context *ctx, fnz_arrays **out);
/** NULL is allowed. */
FNZ_API void fnz_arrays_destroy(fnz_arrays *arrays);

/** How many arrays there are, and array `index`; NULL beyond the last one. */
FNZ_API size_t fnz_arrays_count(const fnz_arrays *arrays);
FNZ_API const fnz_array *fnz_arrays_at(const fnz_arrays *arrays, size_t index);
/** NULL when there is none of that name. */
FNZ_API const fnz_array *fnz_arrays_find(const fnz_arrays *arrays, const char *name);

/** Adds an array with zeroed data of the right size and hands out where to write it. The name is
 * copied. Fails with DUPLICATE when it is there already, BOUNDS for a negative size, OVERFLOW for
 * more than 63 bits of bytes, LIMIT beyond FNZ_MAX_RANK, ENCODING for a name that is not UTF-8. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_add(fnz_arrays *arrays, const char *name,
                                                 fnz_dtype dtype, uint32_t rank,
                                                 const int64_t *sizes, void **out_data);

/** Reads the bytes of a safetensors file, by copying them; its offsets must tile its data.
 * out  new, as from fnz_arrays_create(). NULL on failure: TRUNCATED, SYNTAX, LIMIT, UNSUPPORTED for
 *      element types that fnz has none of, and as fnz_arrays_add(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_read_safetensors(fnz_context *ctx, const void *bytes,
                                                              size_t size, fnz_arrays **out);
/** The same from a file, "-" for standard input. If it is no safetensors file, only its first bytes
 * are read. Fails with FNZ_IO besides. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_arrays_load(fnz_context *ctx, const char *path,
                                                  fnz_arrays **out);
/** The bytes of a safetensors file. Fails with UNSUPPORTED for element types that such files have
 * not (c32, c128).
 * out  must be empty; ends with fnz_buffer_free(), also after a failure. */
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
