/* task.c - long steps of a call, and the caller's function that follows them. */
#include "base/task.h"
#include "base/base.h"

#include <time.h>

enum { PERIOD_NS = 100000000 }; /* between two calls of the function */

/* A coarse clock is read in a fifth of the time. */
#ifdef CLOCK_MONOTONIC_COARSE
#define TASK_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define TASK_CLOCK CLOCK_MONOTONIC
#endif

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(TASK_CLOCK, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fnz_context_set_progress(fnz_context *ctx, fnz_progress_fn *progress, void *user) {
  ctx->own_tasks = (fnzi_tasks){.report = progress, .user = user};
  ctx->tasks = progress ? &ctx->own_tasks : NULL;
}

void fnzi_task_begin(fnz_context *ctx, const char *what, const char *unit, uint64_t of) {
  fnzi_tasks *t = ctx->tasks;
  if (!t)
    return;
  if (!t->depth) {
    t->due = now() + PERIOD_NS;
    t->cancelled = false;
  }
  if (t->depth < FNZI_TASK_LEVELS)
    t->levels[t->depth] = (fnzi_task_level){what, unit, 0, of};
  t->depth++;
}

static uint32_t count_levels(const fnzi_tasks *t) {
  return t->depth < FNZI_TASK_LEVELS ? t->depth : FNZI_TASK_LEVELS;
}

/* The part of a level that is done, with the levels in it; below 0 if its size is unknown. */
static double share_of(const fnzi_tasks *t, uint32_t first) {
  double share = 0;
  for (uint32_t k = count_levels(t); k-- > first;) {
    const fnzi_task_level *level = &t->levels[k];
    if (!level->unit)
      continue;
    if (!level->of) {
      share = k > first ? 0 : -1;
      continue;
    }
    share = ((double)level->done + share) / (double)level->of;
    share = share > 1 ? 1 : share;
  }
  return share;
}

static fnz_status cancel(fnz_context *ctx) {
  return fnzi_fail(ctx, FNZ_CLASS_CANCELLED, NULL, "the caller has cancelled it: %s",
                   ctx->tasks->levels[0].what);
}

/* Calls the function if it is time. Returns whether the step goes on. */
static bool report(fnzi_tasks *t) {
  const uint64_t at = now();
  if (at < t->due)
    return true;
  uint32_t first = 0;
  while (first + 1 < count_levels(t) && !t->levels[first].unit)
    first++;
  const fnzi_task_level *counted = &t->levels[first];
  const fnz_progress progress = {.size = sizeof progress,
                                 .what = t->levels[0].what,
                                 .unit = counted->unit ? counted->unit : "",
                                 .done = counted->done,
                                 .of = counted->of,
                                 .share = share_of(t, first)};
  const bool goes_on = t->report(t->user, &progress);
  t->due = now() + PERIOD_NS;
  return goes_on;
}

fnz_status fnzi_task_look(fnz_context *ctx) {
  fnzi_tasks *t = ctx->tasks;
  if (!t || !t->depth)
    return FNZ_OK;
  t->cancelled = t->cancelled || !report(t);
  return t->cancelled ? cancel(ctx) : FNZ_OK;
}

static void set_done(fnzi_tasks *t, uint64_t done) {
  if (t->depth && t->depth <= FNZI_TASK_LEVELS)
    t->levels[t->depth - 1].done = done;
}

fnz_status fnzi_task_at(fnz_context *ctx, uint64_t done) {
  if (!ctx->tasks)
    return FNZ_OK;
  set_done(ctx->tasks, done);
  return fnzi_task_look(ctx);
}

fnz_status fnzi_task_add(fnz_context *ctx, uint64_t more) {
  const fnzi_tasks *t = ctx->tasks;
  if (!t || !t->depth)
    return FNZ_OK;
  const bool counts = t->depth <= FNZI_TASK_LEVELS;
  return fnzi_task_at(ctx, counts ? t->levels[t->depth - 1].done + more : 0);
}

void fnzi_task_show(fnz_context *ctx, uint64_t done) {
  if (!ctx->tasks || !ctx->tasks->depth)
    return;
  set_done(ctx->tasks, done);
  (void)report(ctx->tasks);
}

fnz_status fnzi_task_end(fnz_context *ctx, fnz_status status) {
  fnzi_tasks *t = ctx->tasks;
  if (!t || --t->depth || !t->cancelled)
    return status;
  return cancel(ctx);
}
