/* refusals.h - the part of the judge that compares refusals, and what its parts share. */
#ifndef FNZI_SOAK_REFUSALS_H
#define FNZI_SOAK_REFUSALS_H

#include "base/base.h"
#include "soak/judge.h"

/* The refusal by the pass; a class of NONE when it refuses nothing. */
typedef struct fnzi_refusal {
  fnz_error error;
  fnzi_reason reason;
} fnzi_refusal;

/* The verdict on a program that the pass, or the aliasing run over numbers, or both refuse. The
 * context has the error of the run, whose status is `eager`. */
fnzi_verdict fnzi_compare_refusals(fnzi_judge *judge, const fnzi_refusal *refused,
                                   fnz_status eager);

/* How programs are run over hashes. */
extern const fnzi_run_options fnzi_judge_unknowns;
/* WRONG, and why. */
fnzi_verdict fnzi_judge_wrong(fnzi_judge *judge, const char *kind, const char *format, ...)
    FNZI_PRINTF(3, 4);
/* WRONG, with the error of the context. */
fnzi_verdict fnzi_judge_failed(fnzi_judge *judge, const char *kind);
/* A well-formed program without writes, and without views unless these may stay. */
fnzi_verdict fnzi_judge_functional(fnzi_judge *judge, const fnz_program *p, bool may_view);

/* Dialects of the result beside copies. */
typedef struct fnzi_dialect {
  unsigned check;
  const char *name;
  fnz_views views;
} fnzi_dialect;
enum { FNZI_DIALECTS = 2 };
extern const fnzi_dialect fnzi_dialects[FNZI_DIALECTS];
/* WRONG, in that dialect. */
fnzi_verdict fnzi_judge_in_dialect(fnzi_judge *judge, size_t which);

#endif
