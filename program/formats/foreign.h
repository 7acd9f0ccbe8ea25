/* foreign.h - files that are often given for a program or for its inputs, known by their first
 * bytes. */
#ifndef FNZI_FOREIGN_H
#define FNZI_FOREIGN_H

#include "base/base.h"

enum { FNZI_HEAD = 512 }; /* bytes of a file that are enough to know it */

/* "a pickle"; NULL for what is nothing that is known. */
const char *fnzi_kind_of(const char *bytes, size_t size);

/* Where a program is wanted: fails for what is known to be none, and says what to do with it. */
FNZ_MUST_CHECK fnz_status fnzi_refuse_foreign(fnz_context *ctx, const char *bytes, size_t size);

/* Looks at the first bytes of a file, of `total` in all, before the others are read. */
typedef fnz_status fnzi_look(fnz_context *ctx, const char *head, size_t size, uint64_t total);

/* fnz_file_read(), but of a file that `look` refuses no more is read than that; NULL looks at none.
 */
FNZ_MUST_CHECK fnz_status fnzi_file_read(fnz_context *ctx, const char *path, fnzi_look *look,
                                         fnz_buffer *out);

#endif
