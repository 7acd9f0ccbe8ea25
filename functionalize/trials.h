/* trials.h - what the parts of the pass for symbolic sizes share: the trials of one run. */
#ifndef FNZI_TRIALS_H
#define FNZI_TRIALS_H

#include "functionalize/generalize.h"

/* An expression that was the same as another one where the program was tried, and is not where it
 * is too large for that. */
typedef struct fnzi_unsure {
  const fnzi_expr *expr, *like;
} fnzi_unsure;

typedef struct fnzi_general {
  fnz_context *ctx;
  const fnz_program *program;
  const fnz_functionalize_options *options;
  fnzi_sizes sizes;
  fnzi_arena arena;
  fnzi_draw draw;
  fnzi_point recorded;
  bool has_recorded;
  fnzi_trials trials; /* usual ones, then those at which the check is made */
  size_t usual;
  size_t adopted; /* how many were, or MOST_ADOPTED: no more are */
  struct {
    uint8_t *data;
    size_t count, capacity;
  } unknown; /* answers that no pass may rely on */
  struct {
    const fnzi_expr **data; /* found so far */
    size_t count, capacity;
  } guards;
  struct {
    fnzi_unsure *data; /* of the last check */
    size_t count, capacity;
  } unsure;
  fnz_program *made;
  bool alike; /* some usual sizes were made equal where the exporter's are */
} fnzi_general;

/* --- trials.c --------------------------------------------------------------------------------- */
/* A trial without numbers. It ends with fnzi_trial_end(). */
FNZ_MUST_CHECK fnz_status fnzi_trial_new(fnzi_general *g, fnzi_trial **out);
void fnzi_trial_end(fnzi_general *g, fnzi_trial *t);
/* The numbers of all symbols, as far as they are known. */
FNZ_MUST_CHECK fnz_status fnzi_trial_numbers(fnzi_general *g, fnzi_point *from, fnzi_point *to);
/* The pass at the sizes of the trial. */
FNZ_MUST_CHECK fnz_status fnzi_trial_run(fnzi_general *g, fnzi_trial *t);
/* Some trial has these numbers. */
FNZ_MUST_CHECK fnz_status fnzi_trials_have(fnzi_general *g, fnzi_point *point, bool *out);
/* Usual sizes at which the pass works; the failure of the last one when there are none. */
FNZ_MUST_CHECK fnz_status fnzi_trials_find(fnzi_general *g);
/* The pass at all of them. */
FNZ_MUST_CHECK fnz_status fnzi_trials_run(fnzi_general *g);
/* Marks the answers of two passes that differ, which no pass may rely on; *changed when there are
 * any. */
FNZ_MUST_CHECK fnz_status fnzi_trials_compare(fnzi_general *g, const fnzi_decisions *a,
                                              const fnzi_decisions *b, bool *changed);
/* Passes until none of them answers differently; counts them in *rounds, up to `most`. */
FNZ_MUST_CHECK fnz_status fnzi_trials_agree(fnzi_general *g, size_t most, size_t *rounds);

/* --- trials_check.c --------------------------------------------------------------------------- */
/* The general program everywhere. Trials that were only checked in an earlier round go first. */
FNZ_MUST_CHECK fnz_status fnzi_trials_check(fnzi_general *g);
/* The number of an expression in the first trial that is valid; NULL for none. */
FNZ_MUST_CHECK fnz_status fnzi_trials_number(fnzi_general *g, const fnzi_expr *e,
                                             const fnzi_expr **out);
/* Both have the same number in all of the first `count` trials that are valid; false for none. */
FNZ_MUST_CHECK fnz_status fnzi_trials_equal(fnzi_general *g, const fnzi_expr *a, const fnzi_expr *b,
                                            size_t count, bool *out);

#endif
