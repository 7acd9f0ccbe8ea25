/* team.c - how many threads share a loop, in a process that forked too.
 *
 * fork() takes only the thread that calls it along. To that thread OpenMP has the others still, and
 * it would wait for them for ever: it works alone from then on, unless there were no others. A
 * thread that the child starts has a team of its own. */
#include "kernels/core/core.h"

#include <pthread.h>
#include <sys/stat.h>

static _Thread_local bool had_others; /* when this thread forked */
static _Thread_local bool is_alone;   /* this thread came out of a fork, and had others before */

/* A folder has a link more for each thread; without /proc there may be some. Threads of other
 * libraries count, too, because such a library may share OpenMP with fnz. */
static void look_around(void) {
  enum { OF_ONE = 3 };
  struct stat tasks;
  had_others = stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > OF_ONE;
}

static void begin_child(void) {
  is_alone = is_alone || had_others;
}

__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(look_around, NULL, begin_child); /* fails without memory alone */
}

int fnzi_krn_team(int threads) {
  return is_alone ? 1 : threads;
}
