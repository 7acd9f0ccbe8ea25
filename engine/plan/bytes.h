/* bytes.h - sets of bytes of a buffer, as sorted spans that neither meet nor touch.
 *
 * All functions allocate in the arena that they get, and fail only for lack of memory. A set that
 * is `inexact` is larger than the true one, so callers may use it only where that is safe. */
#ifndef FNZI_PLN_BYTES_H
#define FNZI_PLN_BYTES_H

#include "program/program.h"

typedef struct fnzi_pln_span {
  int64_t low, high; /* [low, high) */
} fnzi_pln_span;

typedef struct fnzi_pln_bytes {
  const fnzi_pln_span *spans;
  uint32_t count;
  bool inexact; /* more bytes than there are: the set has more spans than allowed */
} fnzi_pln_bytes;

/* The bytes of a window. With more than `most` spans (at least 1) it is one span, from the first
 * byte to the last, and inexact. Spans are in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_pln_bytes_of(fnzi_arena *arena, const fnz_geometry *map,
                                            uint32_t most, fnzi_pln_bytes *out);
/* Computes the union of a and b. Spans beyond `most` are joined over the gaps between them
 * (inexact). */
FNZ_MUST_CHECK fnz_status fnzi_pln_bytes_join(fnzi_arena *arena, fnzi_pln_bytes a, fnzi_pln_bytes b,
                                              uint32_t most, fnzi_pln_bytes *out);
/* Computes the bytes of `a` that are not in `b`, which must be exact. */
FNZ_MUST_CHECK fnz_status fnzi_pln_bytes_subtract(fnzi_arena *arena, fnzi_pln_bytes a,
                                                  fnzi_pln_bytes b, uint32_t most,
                                                  fnzi_pln_bytes *out);
/* Makes a set of spans in any order, in their memory. */
fnzi_pln_bytes fnzi_pln_bytes_sort(fnzi_pln_span *spans, uint32_t count);
/* Computes the whole cells that contain some byte of a. Cells start at multiples of their size. */
FNZ_MUST_CHECK fnz_status fnzi_pln_bytes_round(fnzi_arena *arena, fnzi_pln_bytes a, int64_t cell,
                                               fnzi_pln_bytes *out);
/* Returns whether some byte of a, `shift` bytes further on, is in b. */
bool fnzi_pln_bytes_overlap(fnzi_pln_bytes a, int64_t shift, fnzi_pln_bytes b);
/* The same, leaving out the bytes of `less`, which is exact and where b is. */
bool fnzi_pln_bytes_overlap_outside(fnzi_pln_bytes a, int64_t shift, fnzi_pln_bytes b,
                                    fnzi_pln_bytes less);
/* Returns whether every byte of `part` is in `whole`, which is exact. */
bool fnzi_pln_bytes_contain(fnzi_pln_bytes whole, fnzi_pln_bytes part);

#endif
