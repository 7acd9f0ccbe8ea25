/* library.h - operator libraries: PyTorch's native_functions.yaml, read, checked and completed.
 *
 * The ATen table that operator.h looks into was made from such a library. Use this header if you
 * have operators of your own in the same format, or want the table of another PyTorch. Its
 * functions are in libfnz_native, which needs libfnz or libfnz_core: pkg-config fnz_native fnz, or
 * fnz_native fnz_core. */
#ifndef FNZ_LIBRARY_H
#define FNZ_LIBRARY_H

#include <fnz/context.h>
#include <fnz/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_library fnz_library;

/** The two files. Bytes and names are borrowed for the call only; messages contain the names. */
typedef struct fnz_library_source {
  const char *functions_name;
  const void *functions;
  size_t functions_size;
  const char *tags_name;
  const void *tags;
  size_t tags_size;
} fnz_library_source;

/** Reads native functions and the tags that they may have, checks them by all rules of PyTorch's
 * code generator, adds the variants that it would generate, and groups them.
 * out  ends with fnz_library_destroy(); NULL on failure.
 * Every class of FNZ_BAD_INPUT can occur; the error's `where` is "file:line", and the message of a
 * broken rule begins with "rule NAME:". */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_library_read(fnz_context *ctx,
                                                   const fnz_library_source *source,
                                                   fnz_library **out);

/** NULL is allowed. */
FNZ_API void fnz_library_destroy(fnz_library *library);

/** Functions are numbered in the order of the file; generated ones come last. */
FNZ_API size_t fnz_library_count(const fnz_library *library);
/** Belongs to the library. NULL beyond the last one. Functions of operator.h about a single
 * operator accept it too. They do not find other operators of the library: the twin and the
 * members are the operator itself or NULL, see fnz_library_twin(). */
FNZ_API const fnz_op *fnz_library_op(const fnz_library *library, size_t index);
/** The functional member of its group; NULL when it is in none. */
FNZ_API const fnz_op *fnz_library_twin(const fnz_library *library, size_t index);
/** The line of its entry, from 1; that of the original when it was generated. */
FNZ_API uint32_t fnz_library_line(const fnz_library *library, size_t index);

/* Counts of a library. Columns: enum, key in JSON, description. Order is ABI. */
#define FNZ_LIBRARY_COUNT_ROWS(ROW)                                                                \
  ROW(ENTRIES, "entries", "entries in the file")                                                   \
  ROW(FUNCTIONAL, "functional", "  functional")                                                    \
  ROW(INPLACE, "inplace", "  in-place")                                                            \
  ROW(OUT, "out", "  out")                                                                         \
  ROW(MUTABLE, "mutable", "  mutable")                                                             \
  ROW(SCRATCH, "scratch", "  scratch")                                                             \
  ROW(GENERATED, "generated", "generated in addition")                                             \
  ROW(GENERATED_OUT, "generated_out", "  out")                                                     \
  ROW(GENERATED_FUNCTIONAL, "generated_functional", "  functional")                                \
  ROW(GENERATED_RENAMED, "generated_renamed", "    of these with a name in _functional")           \
  ROW(TOTAL, "total", "operators in all")                                                          \
  ROW(GROUPS, "groups", "groups of functional and out")                                            \
  ROW(GROUPS_INPLACE, "groups_inplace", "  with an in-place operator")                             \
  ROW(GROUPS_MUTABLE, "groups_mutable", "  with a mutable operator")                               \
  ROW(SINGLE, "single", "operators in no group")                                                   \
  ROW(STRUCTURED, "structured", "structured groups")                                               \
  ROW(VIEWS, "views", "view groups")                                                               \
  ROW(VIEWS_IMPLICIT, "views_implicit", "  composite implicit")                                    \
  ROW(VIEWS_COPY, "views_copy", "  with a copying operator")                                       \
  ROW(VIEWS_INPLACE, "views_inplace", "  with an in-place operator")                               \
  ROW(IMPLICIT, "composite_implicit", "entries that are composite implicit")                       \
  ROW(EXPLICIT, "composite_explicit", "entries that are composite explicit")                       \
  ROW(NON_FUNCTIONAL, "composite_explicit_non_functional", "  but not functional")                 \
  ROW(AUTOGEN, "autogen", "entries with autogen")                                                  \
  ROW(TAGS, "tags", "tags that are declared")                                                      \
  ROW(RULES, "rules", "rules that hold")

typedef enum fnz_library_counted {
#define FNZ_LIBRARY_COUNT_ENUM(id, key, text) FNZ_LIBRARY_COUNT_##id,
  FNZ_LIBRARY_COUNT_ROWS(FNZ_LIBRARY_COUNT_ENUM)
#undef FNZ_LIBRARY_COUNT_ENUM
      FNZ_LIBRARY_COUNTS
} fnz_library_counted;

/** Fills counts[FNZ_LIBRARY_COUNTS]. */
FNZ_API void fnz_library_count_all(const fnz_library *library, size_t *counts);

/** Writes the operators as the table that fnz is built from: a line of headings, then one line per
 * operator, sorted by name.
 * out  must be empty; ends with fnz_buffer_free(), also after a failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_library_write_table(fnz_context *ctx,
                                                          const fnz_library *library,
                                                          fnz_buffer *out);

#ifdef __cplusplus
}
#endif
#endif
