/* records.h - a zip archive as its records, for tests that change them: only stored ones are
 * read. */
#ifndef FNZ_TESTS_FUZZ_RECORDS_H
#define FNZ_TESTS_FUZZ_RECORDS_H

#include "base/base.h"
#include "tests/fuzz/tree.h"

enum { RECORDS_MOST = 64 };

typedef struct records {
  struct {
    tree_text name, data;
  } all[RECORDS_MOST];
  uint32_t count;
} records;

/* False if it is no such archive. The data stay where they are. */
bool records_read(records *out, const char *bytes, size_t size);
/* With the lengths, offsets and checksums that belong to it, and data but JSON at multiples of 64
 * bytes, as PyTorch has it. The size; 0 when there is no room. */
size_t records_write(const records *from, char *out, size_t capacity);

#endif
