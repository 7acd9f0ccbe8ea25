/* zip.h - the entries of a zip archive in memory. Names are keys and never become paths. */
#ifndef FNZI_ZIP_H
#define FNZI_ZIP_H

#include "base/base.h"

typedef struct fnzi_zip_entry {
  const char *name; /* UTF-8, relative, without ".." and backslashes */
  size_t index, name_size;
  uint64_t size, packed; /* bytes, plain and as stored */
  uint64_t data;         /* where its bytes are */
  uint32_t crc;
  uint16_t method; /* 0: its bytes lie there as they are */
} fnzi_zip_entry;

/* Ends with fnzi_zip_close(). */
typedef struct fnzi_zip {
  fnz_context *ctx;
  const char *bytes;
  size_t size;
  fnzi_arena arena;
  fnzi_map names;
  fnzi_zip_entry *entries; /* in the order of the directory */
  size_t count;
} fnzi_zip;

/* The list at the end of an archive, found in its last bytes: whole where FNZI_ZIP_END of them, or
 * all, are given. */
typedef struct fnzi_zip_directory {
  const char *bytes;
  size_t size;
  uint64_t start;                 /* of these bytes in the file */
  uint64_t offset, length, count; /* in the file; entries */
  bool is_further_up;             /* what says where it is does not lie in these bytes */
} fnzi_zip_directory;

enum { FNZI_ZIP_END = 65535 + 22 + 20 + 56 }; /* the end records, behind them a comment */

FNZ_MUST_CHECK fnz_status fnzi_zip_find_directory(fnz_context *ctx, fnzi_zip_directory *d);
/* The name of the entry at *at of a directory; *at moves past it. NULL if there is none. */
const char *fnzi_zip_next_name(const char *directory, size_t size, size_t *at, size_t *name_size);

/* Opens and checks the whole directory: exactly one end record that reaches the end of the bytes,
 * entries one after the other without overlap, unique names, stored or deflated, not encrypted,
 * local headers that agree. `bytes` are borrowed until fnzi_zip_close(), which must be called after
 * a failure too. Classes: TRUNCATED, ARCHIVE, UNSUPPORTED, ENCODING, DUPLICATE, LIMIT. */
FNZ_MUST_CHECK fnz_status fnzi_zip_open(fnz_context *ctx, const char *bytes, size_t size,
                                        fnzi_zip *out);
void fnzi_zip_close(fnzi_zip *zip);

/* NULL when there is none. */
const fnzi_zip_entry *fnzi_zip_find(const fnzi_zip *zip, const char *name);

/* The bytes of an entry that is stored uncompressed, as a window of the archive; with `checks`
 * after a check of their CRC, for which they are read. *out is NULL without a failure if the entry
 * is compressed. */
FNZ_MUST_CHECK fnz_status fnzi_zip_look(const fnzi_zip *zip, const fnzi_zip_entry *entry,
                                        bool checks, const char **out);
/* Unpacks an entry into `out`, which has room for entry->size bytes, and checks its CRC. */
FNZ_MUST_CHECK fnz_status fnzi_zip_read(fnzi_zip *zip, const fnzi_zip_entry *entry, void *out);

#endif
