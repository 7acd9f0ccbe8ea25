/* judge.h - what one program shows: that the pass and the aliasing interpreter agree on it.
 *
 * Every program is run as it is, on aliasing memory, once over numbers and once over hashes; each
 * dialect of its functional form must give the same, and be functional, and not change when it is
 * functionalized again. Thorough runs also check what costs more: that it reads back as
 * it is written, the memory that it names for its outputs, and state written at the end. */
#ifndef FNZI_SOAK_JUDGE_H
#define FNZI_SOAK_JUDGE_H

#include "run/verify/results.h"
#include "soak/verdicts.h"

#include <fnz/fnz.h>

enum { FNZI_MOST_REASON = 900 };

/* A judge and its verdict. One per thread: backends live as long as it does. */
typedef struct fnzi_judge {
  fnz_context *ctx;
  fnz_backend *cpu, *hash[2]; /* a hash per element, per byte */
  fnzi_ver_results numbers, hashes;
  /* The program at hand: */
  const fnz_program *original;
  fnz_program *functional;
  const fnz_arrays *inputs;
  fnz_views views;      /* of a program of unknown sizes: the dialect that is tried */
  fnz_backend *hashing; /* the one whose results are kept; NULL for none yet */
  unsigned checks;
  bool has_numbers, is_large;
  fnz_class refusal;             /* of REFUSED, BEYOND */
  char kind[48];                 /* of WRONG: which check failed; shrinking keeps it */
  char reason[FNZI_MOST_REASON]; /* of WRONG */
} fnzi_judge;

/* fnzi_judge_destroy() must follow, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_judge_create(fnz_context *ctx, fnzi_judge **out);
void fnzi_judge_destroy(fnzi_judge *judge);

fnzi_verdict fnzi_judge_program(fnzi_judge *judge, const fnz_program *p, const fnz_arrays *inputs,
                                unsigned checks);
/* Judges a program of unknown sizes (soak/symbolic.h). `draws` counts the outcome at each choice of
 * sizes: EQUAL, REFUSED by eager, BEYOND the sizes for which the functional form is. */
fnzi_verdict fnzi_judge_symbolic(fnzi_judge *judge, const fnz_program *p, unsigned checks,
                                 uint64_t draws[FNZI_VERDICTS]);
/* Inputs of judge->original at sizes of its own: the exporter's for seed 0, if *recorded. */
FNZ_MUST_CHECK fnz_status fnzi_judge_draw(fnzi_judge *judge, uint64_t seed, fnz_arrays **out,
                                          bool *recorded);
/* The verdict on a program that could not even be made: why is in the context. */
fnzi_verdict fnzi_judge_nothing(fnzi_judge *judge);

#endif
