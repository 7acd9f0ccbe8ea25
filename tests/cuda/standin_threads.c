/* standin_threads.c - the threads of a block, one after the other on stacks of their own. Each warp
 * runs as far as it can before the next one does: to the next barrier. So a warp that needs a later
 * warp's write, and does not wait for it, finds the old value. */
#undef _FORTIFY_SOURCE /* its longjmp() refuses other stacks */
#define _GNU_SOURCE
#include "tests/cuda/standin_parts.h"

#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { WARP = 32, MOST = 1024, STACK = 128 * 1024, SHARED = 48 * 1024, WIDEST = 16 };

/* Reports each change of stacks to AddressSanitizer. It does not see the jumps, after which it
 * would forget its knowledge of a stack. */
#ifdef STANDIN_IS_WATCHED
#include <sanitizer/common_interface_defs.h>
#define UNSEEN __attribute__((noinline, no_sanitize("address", "undefined")))
typedef void *jump[5];
#define MARK(at)    __builtin_setjmp(at)
#define GO_BACK(at) __builtin_longjmp(at, 1)
#else
#define UNSEEN
typedef jmp_buf jump;
#define MARK(at)    _setjmp(at)
#define GO_BACK(at) _longjmp(at, 1)
#endif

/* The point at which a stack goes on, and the stack. */
typedef struct where {
  jump jump;
  ucontext_t context;
  const void *bottom;
  size_t size;
  void *known; /* to AddressSanitizer, of its frames */
} where;

typedef struct thread {
  where at;
  enum { UNMADE, ENDED, READY, AT_BARRIER, AT_EXCHANGE } state;
  bool has_run; /* its stack has been entered */
  int site, from;
  unsigned mask;
  const void *mine;
  void *out;
  size_t bytes;
} thread;

static thread threads[MOST];
static unsigned nthreads, current;
static unsigned char *stacks;
static where scheduler;
static const standin_kernel *kernel;
static void **arguments;
static uint32_t warp_epochs[MOST / WARP];
static size_t shared;
static uint64_t serial;

void standin_wrong(const char *what) {
  standin_fail("%s", what);
}

/* --- Stacks ----------------------------------------------------------------------------------- */
UNSEEN static void jump_to(where *to, bool is_new) {
  if (is_new)
    setcontext(&to->context);
  GO_BACK(to->jump);
}

UNSEEN static void leave(where *from, const where *to) {
#ifdef STANDIN_IS_WATCHED
  __sanitizer_start_switch_fiber(&from->known, to->bottom, to->size);
#endif
  (void)from, (void)to;
}

/* `before`: the stack that was left, if it is not known yet. */
UNSEEN static void arrive(const where *at, where *before) {
#ifdef STANDIN_IS_WATCHED
  const void *bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(at ? at->known : NULL, &bottom, &size);
  if (before)
    before->bottom = bottom, before->size = size;
#endif
  (void)at, (void)before;
}

UNSEEN static void go(where *from, where *to, bool is_new) {
  leave(from, to);
  if (MARK(from->jump) == 0)
    jump_to(to, is_new);
  arrive(from, NULL);
}

static void give_way(int state) {
  thread *t = &threads[current];
  t->state = state;
  go(&t->at, &scheduler, false);
}

/* Begins anew whenever it is resumed behind its end. */
UNSEEN static void live(void) {
  arrive(NULL, &scheduler);
  for (;;) {
    kernel->run(arguments);
    give_way(ENDED);
  }
}

static bool make(unsigned k) {
  thread *t = &threads[k];
  if (!stacks) {
    void *room = mmap(NULL, (size_t)MOST * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
      return false;
    stacks = room;
  }
  if (getcontext(&t->at.context) != 0)
    return false;
  t->at.context.uc_stack.ss_sp = stacks + (size_t)k * STACK;
  t->at.context.uc_stack.ss_size = STACK;
  t->at.context.uc_link = NULL;
  t->at.bottom = t->at.context.uc_stack.ss_sp;
  t->at.size = STACK;
  makecontext(&t->at.context, live, 0);
  t->has_run = false;
  t->state = ENDED;
  return true;
}

static void resume(unsigned k) {
  thread *t = &threads[k];
  bool is_new = !t->has_run;
  current = k;
  kernel->now->thread.x = k;
  kernel->now->warp_epoch = warp_epochs[k / WARP];
  t->has_run = true;
  go(&scheduler, &t->at, is_new);
}

/* --- What threads wait for -------------------------------------------------------------------- */
void standin_barrier(int site) {
  threads[current].site = site;
  give_way(AT_BARRIER);
}

void standin_exchange(int site, unsigned mask, int from, const void *mine, void *out,
                      size_t bytes) {
  thread *t = &threads[current];
  t->site = site, t->mask = mask, t->from = from;
  t->mine = mine, t->out = out, t->bytes = bytes;
  give_way(AT_EXCHANGE);
}

void standin_share(size_t bytes) {
  shared += bytes;
  if (shared > SHARED)
    standin_fail("a block shares %zu bytes, more than it has", shared);
}

/* Lanes of a warp that are there and in the mask. */
static bool is_in(unsigned first, unsigned mask, unsigned lane) {
  return lane < WARP && first + lane < nthreads && (mask >> lane & 1) != 0;
}

/* All lanes that lane `lead` waits for have come to where it is. */
static bool have_met(unsigned first, unsigned lead) {
  const thread *l = &threads[first + lead];
  for (unsigned k = 0; k < WARP; k++) {
    const thread *t = &threads[first + k];
    if (is_in(first, l->mask, k) &&
        (t->state != AT_EXCHANGE || t->site != l->site || t->mask != l->mask))
      return false;
  }
  return is_in(first, l->mask, lead);
}

static void exchange(unsigned first, unsigned lead) {
  unsigned char given[WARP][WIDEST];
  unsigned mask = threads[first + lead].mask;
  for (unsigned k = 0; k < WARP; k++)
    if (is_in(first, mask, k) && threads[first + k].bytes) /* none: __syncwarp() */
      memcpy(given[k], threads[first + k].mine, threads[first + k].bytes);
  for (unsigned k = 0; k < WARP; k++) {
    thread *t = &threads[first + k];
    if (!is_in(first, mask, k))
      continue;
    t->state = READY;
    if (t->bytes && !is_in(first, mask, (unsigned)t->from))
      standin_fail("a lane takes from lane %d, which gives nothing", t->from);
    else if (t->bytes)
      memcpy(t->out, given[t->from], t->bytes);
  }
  warp_epochs[first / WARP]++;
}

/* False: no lane waits for others. */
static bool exchange_any(unsigned first) {
  bool waits = false;
  for (unsigned k = 0; k < WARP && first + k < nthreads; k++) {
    if (threads[first + k].state != AT_EXCHANGE)
      continue;
    waits = true;
    if (have_met(first, k)) {
      exchange(first, k);
      return true;
    }
  }
  if (waits)
    standin_fail("not all lanes of a warp come to where others wait for them");
  return waits;
}

/* --- A block ---------------------------------------------------------------------------------- */
static void run_warp(unsigned first, bool reverse) {
  unsigned lanes = nthreads - first < WARP ? nthreads - first : WARP;
  do {
    for (unsigned k = 0; k < lanes && !standin_is_wrong(); k++) {
      unsigned at = first + (reverse ? lanes - 1 - k : k);
      if (threads[at].state == READY)
        resume(at);
    }
  } while (!standin_is_wrong() && exchange_any(first));
}

/* All wait at the same barrier; false when all have ended, or something is wrong. */
static bool pass_barrier(void) {
  unsigned waiting = 0;
  for (unsigned k = 0; k < nthreads; k++)
    waiting += threads[k].state == AT_BARRIER;
  if (waiting && waiting < nthreads)
    standin_fail("%u of %u threads of a block come to a barrier", waiting, nthreads);
  for (unsigned k = 1; k < nthreads && waiting == nthreads; k++)
    if (threads[k].site != threads[0].site) {
      standin_fail("threads of a block wait at different barriers");
      return false;
    }
  if (waiting < nthreads)
    return false;
  for (unsigned k = 0; k < nthreads; k++)
    threads[k].state = READY;
  kernel->now->epoch++;
  return true;
}

static void run_block(unsigned block, bool reverse) {
  unsigned warps = (nthreads + WARP - 1) / WARP;
  kernel->now->block.x = block;
  kernel->now->serial = ++serial;
  kernel->now->epoch = 0;
  shared = 0;
  memset(warp_epochs, 0, sizeof warp_epochs);
  for (unsigned k = 0; k < nthreads; k++)
    threads[k].state = READY;
  do {
    for (unsigned w = 0; w < warps && !standin_is_wrong(); w++)
      run_warp((reverse ? warps - 1 - w : w) * WARP, reverse);
  } while (!standin_is_wrong() && pass_barrier());
}

void standin_blocks_run(const standin_kernel *k, void **given, unsigned blocks, unsigned count,
                        bool reverse) {
  kernel = k;
  arguments = given;
  nthreads = count;
  k->now->threads = (standin_place){count, 1, 1};
  k->now->blocks = (standin_place){blocks, 1, 1};
  for (unsigned i = 0; i < count; i++)
    if (threads[i].state != ENDED && !make(i)) {
      standin_fail("there is no room for the stacks of threads");
      return;
    }
  for (unsigned b = 0; b < blocks && !standin_is_wrong(); b++)
    run_block(reverse ? blocks - 1 - b : b, reverse);
}
