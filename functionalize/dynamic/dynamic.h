/* dynamic.h - the pass for programs with symbolic sizes.
 *
 * The pass itself knows numbers only. So it is run at several *trials*, the program at different
 * sizes, and the results are lifted to one program. All results must be the same nodes, wired the
 * same way; every number in them becomes a constant or an expression that has this value in all
 * trials.
 *
 * In the order in which they are first at work:
 *
 *   tried.c         would the pass only make the program again?
 *   entry.c         all of it
 *   sample*.c       the trials: the program at usual sizes, and what the pass makes there
 *   dynamic.c       one program out of all trials, guards where it is not right
 *   same_graph.c    are two results the same program, perhaps but for numbers?
 *   fit*.c          numbers of the trials to an expression
 *   lift*.c         results of all trials to one program
 *   check_one.c     the check at one choice of sizes
 *   check*.c        the check where other decisions may be taken
 *   guards.c        a condition that keeps out the sizes where the program would be wrong
 *   pinned.c        the source where such a condition leaves a size one number */
#ifndef FNZI_DYNAMIC_H
#define FNZI_DYNAMIC_H

#include "functionalize/pass/pass.h"
#include "program/provenance.h"
#include "program/shapes/computer.h"
#include "views/oracle_log.h"

#include <fnz/functionalize.h>

/* The program at one choice of sizes, and the pass's result for it. */
typedef struct fnzi_trial {
  fnzi_point point;
  fnz_program *source, *result; /* NULL where it could not be made */
  fnzi_oracle_log decisions;
  struct fnzi_trial *like; /* another one, from which only numbers of data differ; NULL: none */
  bool fits;               /* its result is like the first one's */
  bool adopted;            /* an earlier result was wrong there */
  bool valid;              /* the source itself works there, as far as is known */
  bool right;              /* the general program is right there */
  bool behind;             /* not run lately, because an earlier trial gets the same answers */
  const char *lie;         /* a record of the source that is false at these sizes; NULL for none */
} fnzi_trial;

typedef struct fnzi_trials {
  fnzi_trial **data; /* the first decides what the general program looks like */
  size_t count, capacity;
} fnzi_trials;

/* --- fit_system.c ----------------------------------------------------------------------------- */
enum { FNZI_FIT_TERMS = 12 }; /* of a sum, with its constant */
typedef struct fnzi_fit_system {
  double rows[FNZI_FIT_TERMS][FNZI_FIT_TERMS + 1];
  size_t unknowns, found; /* rows that are independent so far */
} fnzi_fit_system;

/* Adds an equation in echelon form. */
void fnzi_fit_add_row(fnzi_fit_system *s, const double *row);
/* When there is a row for each unknown. */
void fnzi_fit_solve(const fnzi_fit_system *s, double *out);
/* A small fraction near x; false: there is none. */
bool fnzi_fit_fraction(double x, int64_t *num, int64_t *den);

/* --- fit.c ------------------------------------------------------------------------------------ */
typedef struct fnzi_fit {
  fnzi_sizes *sizes;
  fnzi_trial *const *trials; /* those whose numbers are fitted */
  size_t ntrials, known;     /* expressions of the set that are tried as they are */
  const fnzi_expr **forms;   /* of those */
  fnzi_arena *arena;
  struct {
    const fnzi_expr **data; /* what sums are made of */
    size_t count, capacity;
  } atoms;
  fnzi_map seen; /* numbers -> id of the expression + 1 */
  bool whole;    /* only whole factors are looked for */
} fnzi_fit;

FNZ_MUST_CHECK fnz_status fnzi_fit_start(fnzi_fit *fit, fnzi_sizes *sizes, fnzi_arena *arena,
                                         fnzi_trial *const *trials, size_t ntrials);
void fnzi_fit_end(fnzi_fit *fit);
/* Simplifies the expressions of the source, using sizes that have one value in all trials. The form
 * of an expression is NULL if it has no value then. (functionalize/dynamic/pinned.c) */
FNZ_MUST_CHECK fnz_status fnzi_fit_find_forms(fnzi_fit *fit);
const fnzi_expr *fnzi_fit_form(const fnzi_fit *fit, const fnzi_expr *e);
/* The expression that is numbers[k] in trial k; NULL when none was found. */
FNZ_MUST_CHECK fnz_status fnzi_fit_numbers(fnzi_fit *fit, const int64_t *numbers,
                                           const fnzi_expr **out);
/* The same where the numbers of some trials, but not of all, do not matter. */
FNZ_MUST_CHECK fnz_status fnzi_fit_some(fnzi_fit *fit, const int64_t *numbers, const bool *matters,
                                        const fnzi_expr **out);
/* The expression of the program whose value, as a floating point number, is numbers[k] in trial k;
 * NULL when there is none. `same`: they are all the same, and may be
 * a literal: only the expression with these labels is meant. */
FNZ_MUST_CHECK fnz_status fnzi_fit_reals(fnzi_fit *fit, const double *numbers, bool same,
                                         const fnzi_expr **out);
/* e is numbers[k] in trial k: the label of its value or, without `labels`, the value. */
FNZ_MUST_CHECK fnz_status fnzi_fit_gives(fnzi_fit *fit, const fnzi_expr *e, const double *numbers,
                                         bool labels, bool *yes);

/* The condition of the program that is true in trial k where numbers[k] is 1; NULL when there is
 * none. */
FNZ_MUST_CHECK fnz_status fnzi_fit_truths(fnzi_fit *fit, const int64_t *numbers,
                                          const fnzi_expr **out);

/* --- same_graph.c ----------------------------------------------------------------------------- */
/* fnzi_alike() ignores numbers, fnzi_same() does not; neither compares names and source lines. */
bool fnzi_alike(const fnz_program *a, const fnz_program *b);
bool fnzi_same(const fnz_program *a, const fnz_program *b);

/* --- lift.c ----------------------------------------------------------------------------------- */
/* One program out of the results of the trials that fit. *out NULL without an error: some number
 * has no expression, which `what` describes. */
FNZ_MUST_CHECK fnz_status fnzi_lift(fnz_context *ctx, fnzi_sizes *sizes, fnzi_point *recorded,
                                    const fnzi_trials *trials, const char **what, fnzi_arena *arena,
                                    fnz_program **out);

/* The same of one result, whose words become expressions. */
FNZ_MUST_CHECK fnz_status fnzi_lift_words(const struct fnzi_ints *ints, fnzi_sizes *sizes,
                                          fnzi_point *recorded, const fnz_program *result,
                                          fnzi_arena *arena, fnz_program **out);

/* --- computed.c ------------------------------------------------------------------------------- */
/* One pass whose sizes are expressions. *out NULL without an error: a question about sizes that it
 * cannot answer, or a kind of program that it does not take. */
FNZ_MUST_CHECK fnz_status fnzi_dyn_compute(fnz_context *ctx, const fnz_program *program,
                                           const fnzi_pass_options *options, fnzi_notes *notes,
                                           fnz_program **out);

/* --- entry.c ---------------------------------------------------------------------------------- */
/* fnz_functionalize() for a symbolic program. `asked` may be NULL. */
FNZ_MUST_CHECK fnz_status fnzi_dyn_program(fnz_context *ctx, const fnz_program *program,
                                           const fnzi_pass_options *options, fnzi_notes *notes,
                                           fnz_program **out);

/* --- tried.c ---------------------------------------------------------------------------------- */
/* *out: the pass would make the program again, which is functional by its operators. */
FNZ_MUST_CHECK fnz_status fnzi_dyn_is_final(fnz_context *ctx, const fnz_program *program,
                                            const fnzi_pass_options *options, bool *out);

#endif
