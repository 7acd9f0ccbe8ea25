/* worker.h - what one thread needs to draw programs and to judge them: memory of its own, a
 * context, backends, a judge. */
#ifndef FNZI_SOAK_WORKER_H
#define FNZI_SOAK_WORKER_H

#include "soak/judge.h"
#include "soak/soak.h"
#include "soak/heap.h"
#include "soak/programs.h"
#include "soak/regions.h"
#include "soak/symbolic.h"

typedef struct fnzi_worker {
  fnzi_heap heap;
  fnz_context *ctx;
  fnz_backend *meta;
  fnzi_judge *judge;
  fnzi_soak_kind kind;           /* of programs that are drawn */
  fnzi_planter *planter;         /* NULL: programs are compared as they are */
  const fnz_program *given;      /* of FNZI_SOAK_GIVEN: the program at hand */
  uint64_t seed;                 /* of the planter */
  uint64_t draws[FNZI_VERDICTS]; /* for the last program of unknown sizes, at choices of sizes */
  choices at_hand, tried;        /* of the program that is judged; of a smaller one */
} fnzi_worker;

/* fnzi_worker_close() must follow, also after a failure. Must not move. */
FNZ_MUST_CHECK fnz_status fnzi_worker_open(fnzi_worker *w, bool plants);
void fnzi_worker_close(fnzi_worker *w);

/* Draws a program from the choices and judges it; w->judge has the reason if it is wrong. `text`
 * gets its text, when that is not NULL and there is a program. */
fnzi_verdict fnzi_worker_try(fnzi_worker *w, choices *c, unsigned checks,
                             fnzi_random_counts *counts, fnz_buffer *text);

/* Makes w->at_hand, which is wrong, smaller as long as the same check fails (soak/shrink.c). */
void fnzi_worker_shrink(fnzi_worker *w, unsigned checks);

#endif
