/* sample.h - what the parts of the pass for symbolic sizes share: the trials of one run. */
#ifndef FNZI_SAMPLE_H
#define FNZI_SAMPLE_H

#include "functionalize/dynamic/dynamic.h"

/* An expression that was mostly the same as another one where the program was tried. */
typedef struct fnzi_seen_same {
  const fnzi_expr *expr, *like;
} fnzi_seen_same;
typedef struct fnzi_seen {
  fnzi_seen_same *data;
  size_t count, capacity;
} fnzi_seen;

typedef struct fnzi_general {
  fnz_context *ctx;
  const fnz_program *program;
  const fnzi_pass_options *options;
  fnzi_sizes sizes;
  fnzi_arena arena;
  fnzi_draw draw;
  fnzi_point recorded;
  bool has_recorded;
  fnzi_trials trials; /* usual ones, then those at which the check is made */
  size_t usual;
  fnzi_trial *base; /* of the usual ones, that from which special numbers differ in one or two */
  size_t adopted;   /* how many were, or MOST_OF_FEW: no more are */
  struct {
    uint8_t *data;
    size_t count, capacity;
  } unknown;         /* answers that no pass may rely on */
  size_t asked;      /* rounds of passes so far */
  size_t asks_until; /* answers behind so many are not relied on either; SIZE_MAX: they are */
  struct {
    const fnzi_expr **data; /* found so far */
    size_t count, capacity;
  } guards;
  fnzi_seen turning, unsure; /* by the last check: at usual sizes; and where they are not the same
                              * the program is too large to be tried */
  fnzi_map useless;          /* numbers at which the source does not work */
  fnz_program *made;
  struct {
    fnzi_sizes sizes; /* of the general program */
    fnzi_point point;
    bool open;
  } of_made;
  struct {
    fnzi_instance source, made;
    fnzi_oracle_log log;
  } moved;        /* programs at sizes that are checked, one after the other */
  uint32_t salts; /* of trials so far: each has its own */
  bool rare;      /* few of the sizes that were drawn work */
  bool alike;     /* some usual sizes were made equal where the exporter's are */
} fnzi_general;

/* --- dynamic.c -------------------------------------------------------------------------------- */
/* fnzi_general_end() must follow, also after a failure. ctx, program and options are set. */
FNZ_MUST_CHECK fnz_status fnzi_general_start(fnzi_general *g);
/* Makes g->made, and what keeps it to sizes at which it is right. */
FNZ_MUST_CHECK fnz_status fnzi_general_make(fnzi_general *g);
void fnzi_general_end(fnzi_general *g);

/* --- tried.c ---------------------------------------------------------------------------------- */
/* *out: the source records what is right at the recorded sizes and at a few others. */
FNZ_MUST_CHECK fnz_status fnzi_general_is_honest(fnzi_general *g, bool *out);

/* --- sample.c --------------------------------------------------------------------------------- */
/* A trial without numbers. It ends with fnzi_trial_end(). */
FNZ_MUST_CHECK fnz_status fnzi_trial_new(fnzi_general *g, fnzi_trial **out);
void fnzi_trial_end(fnzi_general *g, fnzi_trial *t);
/* The numbers of all symbols, as far as they are known. */
FNZ_MUST_CHECK fnz_status fnzi_trial_numbers(fnzi_general *g, fnzi_point *from, fnzi_point *to);
/* The program at those sizes, made when there is none yet, or none any more. */
FNZ_MUST_CHECK fnz_status fnzi_trial_source(fnzi_general *g, fnzi_trial *t);
/* The pass at the sizes of the trial. */
FNZ_MUST_CHECK fnz_status fnzi_trial_run(fnzi_general *g, fnzi_trial *t);
/* Some trial has these numbers. */
FNZ_MUST_CHECK fnz_status fnzi_trials_have(fnzi_general *g, fnzi_point *point, bool *out);
/* The pass at all of them. */
FNZ_MUST_CHECK fnz_status fnzi_trials_run(fnzi_general *g);
/* Marks the answers of two passes that differ, which no pass may rely on; *changed when there are
 * any. */
FNZ_MUST_CHECK fnz_status fnzi_trials_compare(fnzi_general *g, const fnzi_oracle_log *a,
                                              const fnzi_oracle_log *b, bool *changed);
/* Runs the passes at usual sizes until all of them give the same answers. */
FNZ_MUST_CHECK fnz_status fnzi_trials_agree(fnzi_general *g);
/* When more answers are unknown: passes at one of all usual sizes that got the same answers so far,
 * the first one among them, until they agree. */
FNZ_MUST_CHECK fnz_status fnzi_trials_ask_few(fnzi_general *g);
/* Then at the others; *changed: they did not get the same answers any more, and now all agree. */
FNZ_MUST_CHECK fnz_status fnzi_trials_ask_rest(fnzi_general *g, bool *changed);

/* --- sample_choose.c -------------------------------------------------------------------------- */
/* Usual sizes at which the pass works; the failure of the last one when there are none. */
FNZ_MUST_CHECK fnz_status fnzi_trials_find(fnzi_general *g);

/* --- guards.c --------------------------------------------------------------------------------- */
/* A condition that holds at the recorded sizes and in all trials that are right, or else in the
 * usual ones, and not in trial `wrong`. If several conditions do, takes one that excludes most of
 * the other wrong trials; NULL if there is none. */
FNZ_MUST_CHECK fnz_status fnzi_find_guard(fnzi_general *g, const fnzi_trial *wrong,
                                          const fnzi_expr **out);

/* --- check_one.c ------------------------------------------------------------------------------ */
/* Do both mean the same at their sizes, as the caller's check says? */
FNZ_MUST_CHECK fnz_status fnzi_general_compare(const fnzi_general *g, const fnz_program *a,
                                               const fnz_program *b);
/* How many special sizes there is time for. */
size_t fnzi_trials_most_special(const fnzi_general *g);
/* The check at a trial of the caller's, which it takes, if no trial has its numbers; `found` says
 * that they are any. */
FNZ_MUST_CHECK fnz_status fnzi_trial_check_once(fnzi_general *g, fnzi_trial *t, fnz_status status,
                                                bool found);
/* Ends what is kept of a general program. */
void fnzi_general_forget_made(fnzi_general *g);
/* Destroys the check's results too. */
void fnzi_general_end_check(fnzi_general *g);
/* The check at the sizes of one trial. */
FNZ_MUST_CHECK fnz_status fnzi_trial_check(fnzi_general *g, fnzi_trial *t);

/* --- check.c ---------------------------------------------------------------------------------- */
/* The general program everywhere. Trials that were only checked in an earlier round go first. */
FNZ_MUST_CHECK fnz_status fnzi_trials_check(fnzi_general *g);
/* `symbol >= number` or `symbol <= number`. */
bool fnzi_is_bound(const fnzi_expr *guard);
/* Adds trials that a new guard still admits: from a bound on to the first size at which the program
 * is right, or two sizes of each remainder. */
FNZ_MUST_CHECK fnz_status fnzi_trials_check_edge(fnzi_general *g, const fnzi_expr *guard);

/* --- check_near.c ----------------------------------------------------------------------------- */
/* Sets two symbols to these numbers and the others to their usual ones; *found: they keep to all
 * conditions. */
FNZ_MUST_CHECK fnz_status fnzi_trial_set_two(fnzi_general *g, fnzi_trial *t, const fnzi_expr *a,
                                             int64_t x, const fnzi_expr *b, int64_t y, bool *found);
/* Checks the program at these numbers. */
FNZ_MUST_CHECK fnz_status fnzi_trials_check_at(fnzi_general *g, const fnzi_expr *a, int64_t x,
                                               const fnzi_expr *b, int64_t y);
/* Checks at the smallest numbers, at successive ones, at even and odd ones. */
FNZ_MUST_CHECK fnz_status fnzi_trials_check_near(fnzi_general *g);

/* --- check_breakpoints.c ---------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_trials_check_turns(fnzi_general *g);
/* The number of an expression in the first trial that is valid; NULL for none. */
FNZ_MUST_CHECK fnz_status fnzi_trials_number(fnzi_general *g, const fnzi_expr *e,
                                             const fnzi_expr **out);
/* Both have the same number in all trials that are valid or, with `right`, at which the general
 * program is right; false for none. */
FNZ_MUST_CHECK fnz_status fnzi_trials_equal(fnzi_general *g, const fnzi_expr *a, const fnzi_expr *b,
                                            bool right, bool *out);
/* By the ids of expressions, in the arena: what `e` is made of, itself too. */
FNZ_MUST_CHECK fnz_status fnzi_trials_parts(fnzi_general *g, const fnzi_expr *e, uint8_t **out);
/* The parts of the program's expressions that are neither symbols, numbers nor conditions. */
FNZ_MUST_CHECK fnz_status fnzi_trials_made(fnzi_general *g, uint8_t **out);

/* --- check_equal.c ---------------------------------------------------------------------------- */
FNZ_MUST_CHECK fnz_status fnzi_trials_check_equal(fnzi_general *g);

#endif
