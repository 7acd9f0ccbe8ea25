/* bytes.h - sets of bytes of a buffer, as sorted spans that neither meet nor touch. */
#ifndef FNZI_ENG_BYTES_H
#define FNZI_ENG_BYTES_H

#include "program/program.h"

typedef struct fnzi_eng_span {
  int64_t low, high; /* [low, high) */
} fnzi_eng_span;

typedef struct fnzi_eng_bytes {
  const fnzi_eng_span *spans;
  uint32_t count;
  bool inexact; /* more bytes than there are: the set has more spans than allowed */
} fnzi_eng_bytes;

/* The bytes of a window. With more than `most` spans (at least 1) it is one span, from the first
 * byte to the last, and inexact. Spans are in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_eng_bytes_of(fnzi_arena *arena, const fnz_geometry *map,
                                            uint32_t most, fnzi_eng_bytes *out);
/* All of a or b; spans beyond `most` are joined over the gaps between them (inexact). */
FNZ_MUST_CHECK fnz_status fnzi_eng_bytes_join(fnzi_arena *arena, fnzi_eng_bytes a, fnzi_eng_bytes b,
                                              uint32_t most, fnzi_eng_bytes *out);
/* What of a is not in b; `b` must be exact. */
FNZ_MUST_CHECK fnz_status fnzi_eng_bytes_less(fnzi_arena *arena, fnzi_eng_bytes a, fnzi_eng_bytes b,
                                              uint32_t most, fnzi_eng_bytes *out);
/* Spans in any order become a set; the memory is taken over. */
fnzi_eng_bytes fnzi_eng_bytes_sort(fnzi_eng_span *spans, uint32_t count);
/* Whole cells that have some byte of a; cells lie at multiples of their size. */
FNZ_MUST_CHECK fnz_status fnzi_eng_bytes_round(fnzi_arena *arena, fnzi_eng_bytes a, int64_t cell,
                                               fnzi_eng_bytes *out);
/* Some byte of a, `shift` bytes further on, is in b. */
bool fnzi_eng_bytes_meet(fnzi_eng_bytes a, int64_t shift, fnzi_eng_bytes b);
/* The same, leaving out the bytes of `less`, which is exact and where b is. */
bool fnzi_eng_bytes_meet_less(fnzi_eng_bytes a, int64_t shift, fnzi_eng_bytes b,
                              fnzi_eng_bytes less);
/* Every byte of `part` is in `whole`, which is exact. */
bool fnzi_eng_bytes_hold(fnzi_eng_bytes whole, fnzi_eng_bytes part);

#endif
