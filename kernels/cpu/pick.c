/* pick.c - dense rows picked by number, as embedding, index_select and index do. */
#include "kernels/cpu/pick.h"

#include "kernels/cpu/special_reals.h"

enum { BLOCK = 64, AHEAD = 2, LINE = 64, MOST_AHEAD = 1024 }; /* rows; bytes */

/* The processor does not know where the next row is before it is read. */
static void read_ahead(const fnzi_cpu_picked *p, int64_t i) {
  const char *row = p->from + p->index[i] * p->from_row;
  int64_t bytes = p->bytes < MOST_AHEAD ? p->bytes : MOST_AHEAD;
  for (int64_t at = 0; at < bytes; at += LINE)
    __builtin_prefetch(row + at);
}

static void pick_block(const void *user, int64_t block, int lane) {
  const fnzi_cpu_picked *p = user;
  int64_t end = p->count - block * BLOCK < BLOCK ? p->count : (block + 1) * BLOCK;
  (void)lane;
  for (int64_t i = block * BLOCK; i < end; i++) {
    if (i + AHEAD < end)
      read_ahead(p, i + AHEAD);
    memcpy(p->to + i * p->bytes, p->from + p->index[i] * p->from_row, (size_t)p->bytes);
  }
}

void fnzi_cpu_rows_gather(const fnzi_krn_call *call, const fnzi_cpu_picked *rows) {
  if (rows->bytes)
    fnzi_cpu_rows_spread(call, (rows->count + BLOCK - 1) / BLOCK, BLOCK * rows->bytes, pick_block,
                         rows);
}
