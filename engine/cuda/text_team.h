/* text_team.h - writes the text of a group with rows: text_team.c assigns threads to rows and
 * computes the numbers, text_pass.c writes one pass of a team over the elements. */
#ifndef FNZI_CUDA_TEXT_TEAM_H
#define FNZI_CUDA_TEXT_TEAM_H

#include "engine/cuda/text_parts.h"

enum { FNZI_CUDA_TEAM_SLOTS = 1024 };

typedef struct fnzi_cuda_team {
  fnzi_cuda_writer w;
  fnzi_cuda_text *text;
  const fnzi_cuda_group *g;
  int64_t rows, length; /* of a row, or a piece of one */
  int64_t all;          /* of a row, pieces together */
  int64_t threads;      /* of a team */
  bool across; /* a block is several teams, of adjacent rows; a warp has one element of each row at
                  a time */
  uint8_t level[FNZI_CUDA_TEAM_SLOTS]; /* per slot: passes over a row before it is known */
  bool needed[FNZI_CUDA_TEAM_SLOTS];   /* per slot: the current pass computes it */
  fnzi_cuda_group wide;                /* over vectors of g (text_wide.c) */
  int width;                           /* elements of a vector */
  int64_t vectors;                     /* whole ones of a row, or of a piece of one */
  int64_t all_iterations;              /* vectors of a thread at most; in a general text the next
                                     power of two, so that few lengths have a text each */
  int iterations;                      /* those, or fewer, for which it has room */
  bool keeps_row;                      /* a thread has all of its vectors at once; */
  bool *kept, *loaded;                 /* per lane: from one pass to the next; already */
} fnzi_cuda_team;

/* Sets `needed` for all slots that needed slots are computed from. */
void fnzi_cuda_team_find_needed(fnzi_cuda_team *t);

/* How vectors are taken, after rows, threads and levels are known: `uses` counts, per lane, the
 * passes in which it is loaded. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_team_measure(fnzi_cuda_team *t, const uint8_t *uses);
/* Definitions that all passes share, before the first row; and in a row. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_team_put_types(const fnzi_cuda_team *t);
FNZ_MUST_CHECK fnz_status fnzi_cuda_team_put_kept(const fnzi_cuda_team *t);

/* Opens and closes a pass over the elements of a row. Statements over one element, index c of its
 * row, and the needed slots come between. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_team_open_pass(fnzi_cuda_team *t, bool stores);
FNZ_MUST_CHECK fnz_status fnzi_cuda_team_close_pass(fnzi_cuda_team *t, bool stores);

#endif
