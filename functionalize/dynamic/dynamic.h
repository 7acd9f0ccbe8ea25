/* dynamic.h - the pass for programs with symbolic sizes.
 *
 * The pass is made once, with words in place of sizes (program/shapes/int.h). If it stops at a
 * question that has no proof and no answer that is right at all sizes, it is made again, and a
 * guard keeps the answer that the recorded sizes give (program/shapes/guards.c).
 *
 *   passes.c        all of it: passes, their result, its guards
 *   records.c       are the types right that the file records, at other sizes, too?
 *   lift*.c         the result of a pass with words to a program with symbolic sizes */
#ifndef FNZI_DYNAMIC_H
#define FNZI_DYNAMIC_H

#include "functionalize/pass/pass.h"
#include "program/provenance.h"
#include "program/shapes/ints.h"

#include <fnz/functionalize.h>

typedef struct fnzi_dyn {
  fnz_context *ctx;
  const fnz_program *program;
  const fnzi_pass_options *options;
  fnzi_sizes sizes; /* of the program */
  fnzi_arena arena;
  fnzi_draw draw;
  fnzi_point recorded, usual; /* in `usual` what is not recorded is drawn */
  fnzi_point *example;        /* `recorded`; NULL if that breaks a condition of the program */
  bool has_recorded;          /* all of them, and they break none */
  fnzi_instance moved;        /* the program at sizes that are looked at, one after the other */
} fnzi_dyn;

/* --- passes.c --------------------------------------------------------------------------------- */
/* fnz_functionalize() for a symbolic program. `notes` may be NULL. */
FNZ_MUST_CHECK fnz_status fnzi_dyn_program(fnz_context *ctx, const fnz_program *program,
                                           const fnzi_pass_options *options, fnzi_notes *notes,
                                           fnz_program **out);
/* *out: the pass would make the program again, which is functional by its operators. */
FNZ_MUST_CHECK fnz_status fnzi_dyn_is_final(fnz_context *ctx, const fnz_program *program,
                                            const fnzi_pass_options *options, bool *out);

/* --- records.c -------------------------------------------------------------------------------- */
/* *right: the types that the source records are right at the recorded sizes and at a few others.
 * *passes, if it is not NULL: the pass refuses nothing at the first of these sizes. */
FNZ_MUST_CHECK fnz_status fnzi_dyn_check_records(fnzi_dyn *d, bool *right, bool *passes);

/* --- lift.c ----------------------------------------------------------------------------------- */
/* The program that the pass has made of words. */
FNZ_MUST_CHECK fnz_status fnzi_lift_words(const struct fnzi_ints *ints, fnzi_sizes *sizes,
                                          fnzi_point *recorded, const fnz_program *result,
                                          fnzi_arena *arena, fnz_program **out);

#endif
