/* foreign.h - files that are often given for a program or for its inputs, known by their first
 * bytes, and archives by the names in them. */
#ifndef FNZI_FOREIGN_H
#define FNZI_FOREIGN_H

#include "base/base.h"

enum { FNZI_HEAD = 512 }; /* bytes of a file that are enough to know it */

/* "a pickle"; NULL for an unknown kind. */
const char *fnzi_kind_of(const char *bytes, size_t size);

/* Fails if the bytes are known not to be a program, with a remedy. */
FNZ_MUST_CHECK fnz_status fnzi_refuse_foreign(fnz_context *ctx, const char *bytes, size_t size);

/* The kinds of entries that the names in a zip archive reveal. */
typedef struct fnzi_zip_names {
  bool program, pickle, code, arrays;
} fnzi_zip_names;

void fnzi_note_name(fnzi_zip_names *names, const char *name, size_t size);
/* Fails, naming the kind of archive that was found. */
FNZ_MUST_CHECK fnz_status fnzi_refuse_names(fnz_context *ctx, const fnzi_zip_names *names);

/* The first bytes of a file, of `total` in all, seen before the rest is read. */
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

/* The directory at the end of a zip archive is enough to know that it holds no program. Anything
 * that the directory does not show is left to the reader of the whole file. */
FNZ_MUST_CHECK fnz_status fnzi_refuse_foreign_archive(fnz_context *ctx,
                                                      const fnzi_foreign_seen *seen);

/* fnz_file_read(), but of a file that `look` refuses no more is read than that; NULL looks at none.
 */
FNZ_MUST_CHECK fnz_status fnzi_file_read(fnz_context *ctx, const char *path, fnzi_look *look,
                                         fnz_buffer *out);

/* Like fnzi_file_read(), but returns a blob, mapped if the context allows it
 * (fnz_context_set_reading()). A file of another size than `want` is not read: TRUNCATED, REF. */
#define FNZI_ANY_SIZE UINT64_MAX
struct fnzi_blob;
FNZ_MUST_CHECK fnz_status fnzi_file_blob(fnz_context *ctx, const char *path, fnzi_look *look,
                                         uint64_t want, struct fnzi_blob **out);

/* IO: what could not be done with a file, and why, by errno. */
fnz_status fnzi_file_error(fnz_context *ctx, const char *path, const char *what);
/* Names the file in the error of a failure that belongs to no part of the file. Returns `status`.
 */
fnz_status fnzi_file_failed(fnz_context *ctx, const char *path, fnz_status status);
/* The remedy where another file than a program's is given. */
#define FNZI_EXPORT "export the program in Python and write it with torch.export.save"

/* Looks at the beginning of a file, if there is one that can be read. */
FNZ_MUST_CHECK fnz_status fnzi_file_look(fnz_context *ctx, const char *path, fnzi_look *look);

#endif
