/* task.h - long steps of a call: how far they are, and whether the caller cancels them
 * (fnz_context_set_progress()).
 *
 * Steps are nested: verification runs programs, which run nodes. A step begins and ends in one
 * function, and says in between how far it is. After the caller has cancelled, every further word
 * fails, and the outermost end makes any result FNZ_CANCELLED. Without a function of the caller
 * nothing is noted. */
#ifndef FNZI_TASK_H
#define FNZI_TASK_H

#include <fnz/context.h>

enum { FNZI_TASK_LEVELS = 8 }; /* deeper steps are not counted */

typedef struct fnzi_task_level {
  const char *what, *unit; /* static; unit NULL: the next level counts */
  uint64_t done, of;       /* of 0: unknown */
} fnzi_task_level;

typedef struct fnzi_tasks {
  fnz_progress_fn *report;
  void *user;
  uint64_t due;   /* when it is called next, in nanoseconds of a clock */
  uint32_t depth; /* of open steps */
  bool cancelled;
  fnzi_task_level levels[FNZI_TASK_LEVELS];
} fnzi_tasks;

/* Opens a step of `of` units. Each begin needs its end, also after a failure. */
void fnzi_task_begin(fnz_context *ctx, const char *what, const char *unit, uint64_t of);
/* Returns `status`, or of the outermost step FNZ_CANCELLED if the caller has cancelled it: then the
 * caller of this function destroys its result, if there is one. */
FNZ_MUST_CHECK fnz_status fnzi_task_end(fnz_context *ctx, fnz_status status);
/* `done` units of the innermost step are done; fails if the caller cancels. */
FNZ_MUST_CHECK fnz_status fnzi_task_at(fnz_context *ctx, uint64_t done);
/* As many more are done. */
FNZ_MUST_CHECK fnz_status fnzi_task_add(fnz_context *ctx, uint64_t more);
/* No more is done than before. */
FNZ_MUST_CHECK fnz_status fnzi_task_look(fnz_context *ctx);
/* fnzi_task_at() where the step can no longer be cancelled. */
void fnzi_task_show(fnz_context *ctx, uint64_t done);

/* Bytes that are worked on between two looks. */
enum { FNZI_TASK_BYTES = 1 << 24 };

#endif
