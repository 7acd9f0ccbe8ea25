/* checks: 5
 * team_test.c - loops that threads share: each element once, lanes that never meet, loops within
 * loops, short and long ones in turns, and a process that forked. */
#include "tests/help/context.h"
#include "tests/help/test.h"

#include "kernels/core/team.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4000, LANES = 3, LONGEST = 30 };

typedef struct seen {
  fnzi_krn_team *team;
  atomic_int times[MOST]; /* per element */
  atomic_bool busy[LANES];
  atomic_int met, outside; /* elements whose lane was taken, or is none */
} seen;

static void note(const void *user, int64_t i, int lane) {
  seen *s = *(seen *const *)user;
  atomic_fetch_add(&s->times[i], 1);
  if (lane < 0 || lane >= LANES) {
    atomic_fetch_add(&s->outside, 1);
    return;
  }
  if (atomic_exchange(&s->busy[lane], true))
    atomic_fetch_add(&s->met, 1);
  for (volatile int k = 0; k < 50; k++)
    continue;
  atomic_store(&s->busy[lane], false);
}

static void share_and_check(seen *s, int64_t count) {
  for (int64_t i = 0; i < MOST; i++)
    atomic_store(&s->times[i], 0);
  fnzi_krn_share(s->team, count, note, &s);
  for (int64_t i = 0; i < MOST; i++)
    ck_assert_int_eq(atomic_load(&s->times[i]), i < count);
  ck_assert_int_eq(atomic_load(&s->met), 0);
  ck_assert_int_eq(atomic_load(&s->outside), 0);
}

static void open_team(seen *s) {
  begin();
  OK(ctx, fnzi_krn_team_create(ctx, LANES, &s->team));
  ck_assert_int_eq(fnzi_krn_team_lanes(s->team), LANES);
}

static void close_team(seen *s) {
  fnzi_krn_team_destroy(s->team);
  end();
}

START_TEST(each_element_is_done_once) {
  static seen s;
  open_team(&s);
  for (int64_t count = 0; count <= MOST; count += count < 60 ? 1 : 197)
    share_and_check(&s, count);
  close_team(&s);
}
END_TEST

START_TEST(helpers_sleep_and_wake) {
  static seen s;
  open_team(&s);
  for (int k = 0; k < 40; k++) {
    share_and_check(&s, 1 + k * 7);
    if (k % 4 == 0)
      nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
  }
  close_team(&s);
}
END_TEST

START_TEST(one_thread_is_no_team) {
  static seen s;
  begin();
  OK(ctx, fnzi_krn_team_create(ctx, 1, &s.team));
  ck_assert_ptr_null(s.team);
  ck_assert_int_eq(fnzi_krn_team_lanes(NULL), 1);
  share_and_check(&s, 100);
  close_team(&s);
}
END_TEST

typedef struct outer {
  fnzi_krn_team *team;
  atomic_int done;
} outer;

static void count_inner(const void *user, int64_t i, int lane) {
  (void)i;
  outer *o = *(outer *const *)user;
  atomic_fetch_add(&o->done, lane == 0);
}

static void share_inner(const void *user, int64_t i, int lane) {
  outer *o = *(outer *const *)user;
  (void)i;
  if (lane != 0) /* so that the caller has closed the loop meanwhile */
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  fnzi_krn_share(o->team, 10, count_inner, user);
}

START_TEST(loops_within_loops_are_done) {
  static seen s;
  open_team(&s);
  outer o = {.team = s.team}, *at = &o;
  for (int i = 1; i <= 100; i++) {
    fnzi_krn_share(s.team, 50, share_inner, &at);
    ck_assert_int_eq(atomic_load(&o.done), 500 * i);
  }
  share_and_check(&s, 500);
  close_team(&s);
}
END_TEST

static void note_lane(const void *user, int64_t i, int lane) {
  (void)i;
  atomic_fetch_or(*(atomic_uint *const *)user, 1u << lane);
  sched_yield();
}

/* AddressSanitizer has a lock while it starts a thread, which a child would find locked for ever.
 */
static void wait_for_helpers(seen *s) {
  static atomic_uint lanes;
  atomic_uint *at = &lanes;
  while (atomic_load(&lanes) != (1u << LANES) - 1)
    fnzi_krn_share(s->team, 100, note_lane, &at);
}

/* ThreadSanitizer ends a child that starts threads. */
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define FORKS 0
#endif
#endif
#ifndef FORKS
#define FORKS 1
#endif

START_TEST(a_child_has_helpers_of_its_own) {
  static seen s;
  if (!FORKS)
    return;
  open_team(&s);
  wait_for_helpers(&s);
  share_and_check(&s, 300);
  pid_t child = fork();
  if (child == 0) {
    alarm(LONGEST);
    fnzi_krn_share(s.team, 1000, note, &(seen *){&s});
    for (int64_t i = 0; i < 1000; i++)
      if (atomic_load(&s.times[i]) != (i < 300 ? 2 : 1))
        _exit(1);
    fnzi_krn_team_destroy(s.team);
    _exit(0);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  share_and_check(&s, 300);
  close_team(&s);
}
END_TEST

RUN_SUITE("team", each_element_is_done_once, helpers_sleep_and_wake, one_thread_is_no_team,
          loops_within_loops_are_done, a_child_has_helpers_of_its_own)
