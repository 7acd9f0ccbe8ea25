/* methods.h - several programs in one file, as methods of one model: prefill and decode. Each
 * weight is there once, whichever methods have it, and so is the state.
 *
 * Parameters and buffers of one name are one in all methods; fnz_program_rename_weight() makes
 * names equal. Constants belong to their program: they are one only if they have one name and the
 * same elements.
 *
 * Threads: as programs. A set never changes, except that fnz_methods_take() and
 * fnz_methods_destroy() are for one thread. */
#ifndef FNZ_METHODS_H
#define FNZ_METHODS_H

#include <fnz/formats.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A program and its name among several. */
typedef struct fnz_method {
  const char *name;
  const fnz_program *program;
} fnz_method;

/** Programs of different names, over common weights. */
typedef struct fnz_methods fnz_methods;

enum { FNZ_METHODS_MOST = 256 }; /* in a set */

/** Makes a set of copies of programs; they share their weights with the originals.
 *
 * methods  1 to FNZ_METHODS_MOST. Names are UTF-8 of 1 to 255 bytes, without control characters,
 *          each once. Borrowed for the call only.
 * out      ends with fnz_methods_destroy(), before ctx; NULL on failure.
 *
 * Parameters and buffers of one name must have the same type and the same place in memory, strides
 * and sharing included. They must have the same elements unless a method has a final value of them;
 * then they begin as in the first method that has them. Fails with DIFFERENT, naming the weight and
 * both methods, where they are not; with ARGUMENT for no method, too many, and for such names. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_methods_create(fnz_context *ctx, const fnz_method *methods,
                                                     size_t count, fnz_methods **out);
/** Also its programs. NULL is allowed. */
FNZ_API void fnz_methods_destroy(fnz_methods *set);

/* --- What there is ---------------------------------------------------------------------------- */
FNZ_API size_t fnz_methods_count(const fnz_methods *set);
/** In the order of the file. Borrowed from the set. All NULL for k beyond the count. */
FNZ_API fnz_method fnz_methods_at(const fnz_methods *set, size_t k);
/** Borrowed from the set; NULL: there is none of that name, or it was taken. */
FNZ_API const fnz_program *fnz_methods_find(const fnz_methods *set, const char *name);
/** Takes a program out of the set; it may outlive the set and the other programs. Fails with REF,
 * listing the names, where there is none of that name.
 * name  NULL: the only one of a set that has one; ARGUMENT, listing the names, where it has more.
 * out   ends with fnz_program_destroy(), before the context of the set. NULL on failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_methods_take(fnz_context *ctx, fnz_methods *set,
                                                   const char *name, fnz_program **out);

/** A weight of a set: a parameter, buffer or constant. `name` is borrowed from the set. */
typedef struct fnz_methods_weight {
  const char *name;
  uint64_t bytes; /* of its elements */
  size_t users;   /* methods that have it */
  bool is_state;  /* some method has a final value of it */
} fnz_methods_weight;

/** Number of weights, each counted once, whatever fnz_methods_take() has taken. */
FNZ_API size_t fnz_methods_count_weights(const fnz_methods *set);
/** In the order of the methods. `name` is NULL for k beyond the count. */
FNZ_API fnz_methods_weight fnz_methods_weight_at(const fnz_methods *set, size_t k);

/* --- Files ------------------------------------------------------------------------------------ */
/** Reads a set and verifies its programs. Whatever fnz_program_read() reads is a set of one method,
 * "main". fnz_program_read() refuses bytes of a set with ARGUMENT, and names the methods.
 * bytes  borrowed for the call only.
 * out    as in fnz_methods_create(). Every class of FNZ_BAD_INPUT can occur. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_methods_read(fnz_context *ctx, const void *bytes, size_t size,
                                                   fnz_format format, fnz_methods **out);
/** The same of a file, whose weights are not copied, and of a program whose weights lie beside it.
 */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_methods_load(fnz_context *ctx, const char *path,
                                                   fnz_format format, fnz_methods **out);

/** Writes a set as CBOR: the same set gives the same bytes. Fails with ARGUMENT for a set that a
 * program was taken out of.
 * out  must be empty; ends with fnz_buffer_free(), also after a failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_methods_write(fnz_context *ctx, const fnz_methods *set,
                                                    fnz_buffer *out);
/** The same into a file, as fnz_program_save(), without a copy of the weights. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_methods_save(fnz_context *ctx, const fnz_methods *set,
                                                   const char *path);

#ifdef __cplusplus
}
#endif
#endif
