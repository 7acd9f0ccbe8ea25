/* foreign.h - files that are often given for a program or for its inputs, known by their first
 * bytes, and archives by the names in them. */
#ifndef FNZI_FOREIGN_H
#define FNZI_FOREIGN_H

#include "base/base.h"

enum { FNZI_HEAD = 512 }; /* bytes of a file that are enough to know it */

/* "a pickle"; NULL for what is nothing that is known. */
const char *fnzi_kind_of(const char *bytes, size_t size);

/* Where a program is wanted: fails for what is known to be none, and says what to do with it. */
FNZ_MUST_CHECK fnz_status fnzi_refuse_foreign(fnz_context *ctx, const char *bytes, size_t size);

/* What the names in a zip archive say of it. */
typedef struct fnzi_zip_names {
  bool program, pickle, code, arrays;
} fnzi_zip_names;

void fnzi_note_name(fnzi_zip_names *names, const char *name, size_t size);
/* Fails, with what the archive is instead of a program. */
FNZ_MUST_CHECK fnz_status fnzi_refuse_names(fnz_context *ctx, const fnzi_zip_names *names);

/* What is seen of a file before it is read: its first bytes, of `total` in all. */
typedef struct fnzi_foreign_seen {
  const char *head;
  size_t size;
  uint64_t total;
  int fd; /* for fnzi_seen_read(); -1 for a stream */
} fnzi_foreign_seen;

typedef fnz_status fnzi_look(fnz_context *ctx, const fnzi_foreign_seen *seen);

/* Fills `out` with bytes of the file from `at` on; with fewer than `size` where they cannot be
 * read. */
FNZ_MUST_CHECK fnz_status fnzi_seen_read(fnz_context *ctx, const fnzi_foreign_seen *seen,
                                         uint64_t at, size_t size, fnz_buffer *out);

/* Of a zip archive the list at its end is enough to know that it holds no program. What cannot be
 * seen here is left to the reader of the whole. */
FNZ_MUST_CHECK fnz_status fnzi_refuse_foreign_archive(fnz_context *ctx,
                                                      const fnzi_foreign_seen *seen);

/* fnz_file_read(), but of a file that `look` refuses no more is read than that; NULL looks at none.
 */
FNZ_MUST_CHECK fnz_status fnzi_file_read(fnz_context *ctx, const char *path, fnzi_look *look,
                                         fnz_buffer *out);

/* The same as a blob, mapped if the context says so (fnz_context_set_reading()). */
struct fnzi_blob;
FNZ_MUST_CHECK fnz_status fnzi_file_blob(fnz_context *ctx, const char *path, fnzi_look *look,
                                         struct fnzi_blob **out);

/* IO: what could not be done with a file, and why, by errno. */
fnz_status fnzi_file_error(fnz_context *ctx, const char *path, const char *what);

/* Looks at the beginning of a file, if there is one that can be read. */
FNZ_MUST_CHECK fnz_status fnzi_file_look(fnz_context *ctx, const char *path, fnzi_look *look);

/* fnz_file_read() of a file that has just that size, of which else nothing is read: TRUNCATED, REF.
 */
#define FNZI_ANY_SIZE UINT64_MAX
FNZ_MUST_CHECK fnz_status fnzi_file_read_sized(fnz_context *ctx, const char *path, uint64_t size,
                                               fnz_buffer *out);

#endif
