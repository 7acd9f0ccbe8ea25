/* team.c - threads that share loops: the caller's, and helpers that sleep between its loops.
 *
 * Each lane has its own part of a loop, the same one in loops of the same length, so that it finds
 * in its cache what it left there; a lane that is ready takes from the others' parts. The caller
 * waits only for helpers that are in the middle of an element: one that the system has not yet let
 * run, because other programs have the cores, is not missed. */
#include "kernels/core/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum {
  LINE = 64,    /* bytes that cores pass to each other */
  SHARES = 8,   /* of a part: a lane takes so much at a time, fewer leave it waiting at the end */
  LOOKS = 4000, /* at the ticket, some 70 us, before a helper sleeps: to wake it takes as long */
  LOOKS_BACK = 200 /* at the helpers before the caller offers them its core */
};

typedef struct part {
  atomic_llong next;
  int64_t end;
  char apart[LINE - 2 * sizeof(int64_t)];
} part;

typedef struct helper {
  fnzi_krn_team *team;
  pthread_t thread;
  int lane;
} helper;

struct fnzi_krn_team {
  fnz_context *ctx;
  int lanes;
  int started;   /* lanes that have a thread, the caller's one too */
  pid_t process; /* that has them: fork() takes no thread along but its caller */
  /* The loop. The ticket is odd while it is open, and another one for each loop. */
  atomic_uint ticket;
  atomic_int inside; /* helpers that may see the loop */
  fnzi_share_range_fn *body;
  const void *user;
  int64_t share;
  /* Sleep. */
  atomic_int asleep;
  atomic_bool ends;
  pthread_mutex_t lock;
  pthread_cond_t opened;
  helper *helpers; /* of each lane; the caller's is not used */
  part parts[];
};

static void pause_core(void) {
#ifdef __SSE2__
  _mm_pause();
#endif
}

/* --- The loop ------------------------------------------------------------------------------ */
/* Own part first. */
static void work(fnzi_krn_team *t, int lane) {
  for (int k = 0; k < t->lanes; k++) {
    part *p = &t->parts[(lane + k) % t->lanes];
    for (;;) {
      int64_t i = atomic_fetch_add_explicit(&p->next, t->share, memory_order_relaxed);
      int64_t end = i + t->share < p->end ? i + t->share : p->end;
      if (i >= p->end)
        break;
      t->body(t->user, i, end, lane);
    }
  }
}

static bool is_open(fnzi_krn_team *t, unsigned seen, unsigned *ticket) {
  *ticket = atomic_load(&t->ticket);
  return (*ticket & 1 && *ticket != seen) || atomic_load(&t->ends);
}

/* Waits for another loop than the one `seen`. */
static unsigned wait_open(fnzi_krn_team *t, unsigned seen) {
  unsigned ticket;
  for (int i = 0; i < LOOKS; i++) {
    if (is_open(t, seen, &ticket))
      return ticket;
    pause_core();
  }
  pthread_mutex_lock(&t->lock);
  atomic_fetch_add(&t->asleep, 1);
  while (!is_open(t, seen, &ticket))
    pthread_cond_wait(&t->opened, &t->lock);
  atomic_fetch_sub(&t->asleep, 1);
  pthread_mutex_unlock(&t->lock);
  return ticket;
}

/* The caller closes the loop and then looks who is inside; a helper enters and then looks whether
 * it is open: one of the two sees the other. */
static void *help(void *user) {
  helper *h = user;
  fnzi_krn_team *t = h->team;
  for (unsigned seen = 0;;) {
    seen = wait_open(t, seen);
    if (atomic_load(&t->ends))
      return NULL;
    atomic_fetch_add(&t->inside, 1);
    if (atomic_load(&t->ticket) == seen)
      work(t, h->lane);
    atomic_fetch_sub(&t->inside, 1);
  }
}

static void wake(fnzi_krn_team *t) {
  if (atomic_load(&t->asleep) == 0)
    return;
  pthread_mutex_lock(&t->lock);
  pthread_cond_broadcast(&t->opened);
  pthread_mutex_unlock(&t->lock);
}

/* --- Helpers ------------------------------------------------------------------------------- */
static void start_without_helpers(fnzi_krn_team *t) {
  t->started = 1;
  t->process = getpid();
  atomic_init(&t->ticket, 0);
  atomic_init(&t->inside, 0);
  atomic_init(&t->asleep, 0);
  atomic_init(&t->ends, false);
  pthread_mutex_init(&t->lock, NULL); /* cannot fail without attributes */
  pthread_cond_init(&t->opened, NULL);
}

static size_t bytes_of(int lanes) {
  return sizeof(fnzi_krn_team) + (size_t)lanes * (sizeof(part) + sizeof(helper));
}

fnz_status fnzi_krn_team_create(fnz_context *ctx, int threads, fnzi_krn_team **out) {
  *out = NULL;
  if (threads <= 1)
    return FNZ_OK;
  fnzi_krn_team *t = fnzi_resize(ctx, NULL, 0, bytes_of(threads));
  if (!t)
    return fnzi_no_memory(ctx);
  t->ctx = ctx;
  t->lanes = threads;
  t->helpers = (helper *)(t->parts + threads);
  start_without_helpers(t);
  *out = t;
  return FNZ_OK;
}

void fnzi_krn_team_destroy(fnzi_krn_team *t) {
  if (!t)
    return;
  if (t->process == getpid()) {
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->ends, true);
    pthread_cond_broadcast(&t->opened);
    pthread_mutex_unlock(&t->lock);
    for (int lane = 1; lane < t->started; lane++)
      pthread_join(t->helpers[lane].thread, NULL);
    pthread_cond_destroy(&t->opened);
    pthread_mutex_destroy(&t->lock);
  }
  fnzi_free(t->ctx, t, bytes_of(t->lanes));
}

int fnzi_krn_team_lanes(const fnzi_krn_team *t) {
  return t ? t->lanes : 1;
}

/* --- Sharing ------------------------------------------------------------------------------- */
/* A helper that is in the middle of an element: the caller may have closed the loop, and waits. */
static bool is_helping(fnzi_krn_team *t) {
  if (atomic_load(&t->inside))
    for (int lane = 1; lane < t->started; lane++)
      if (pthread_equal(t->helpers[lane].thread, pthread_self()))
        return true;
  return false;
}

/* A loop within a loop has no helpers, who are all in the outer one. */
void fnzi_krn_share_ranges(fnzi_krn_team *t, int64_t count, fnzi_share_range_fn *body,
                           const void *user) {
  if (t && t->process != getpid())
    start_without_helpers(t);
  if (!t || count <= 1 || atomic_load_explicit(&t->ticket, memory_order_relaxed) & 1 ||
      is_helping(t)) {
    body(user, 0, count, 0);
    return;
  }
  /* Signals are for the caller's threads. Without memory or threads there are fewer helpers. */
  if (t->started != t->lanes) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; t->started < t->lanes; t->started++) {
      helper *h = &t->helpers[t->started];
      *h = (helper){.team = t, .lane = t->started};
      if (pthread_create(&h->thread, NULL, help, h))
        break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  t->body = body;
  t->user = user;
  t->share = count / t->lanes / SHARES + 1;
  for (int lane = 0; lane < t->lanes; lane++) {
    t->parts[lane].end = count / t->lanes * (lane + 1) + count % t->lanes * (lane + 1) / t->lanes;
    atomic_store_explicit(&t->parts[lane].next, lane ? t->parts[lane - 1].end : 0,
                          memory_order_relaxed);
  }
  atomic_fetch_add(&t->ticket, 1);
  wake(t);
  work(t, 0);
  atomic_fetch_add(&t->ticket, 1);
  for (int i = 0; atomic_load(&t->inside); i++)
    if (i < LOOKS_BACK)
      pause_core();
    else
      sched_yield();
}

typedef struct elements {
  fnzi_share_fn *body;
  const void *user;
} elements;

static void run_each(const void *user, int64_t start, int64_t end, int lane) {
  const elements *e = user;
  for (int64_t i = start; i < end; i++)
    e->body(e->user, i, lane);
}

void fnzi_krn_share(fnzi_krn_team *t, int64_t count, fnzi_share_fn *body, const void *user) {
  fnzi_krn_share_ranges(t, count, run_each, &(elements){body, user});
}
