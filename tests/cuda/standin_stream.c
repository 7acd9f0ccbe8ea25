/* standin_stream.c - streams of the stand-in for CUDA's driver: copies and launches, which run when
 * a call waits for them. */
#include "tests/cuda/standin_parts.h"

#include <stdlib.h>
#include <string.h>

static standin_stream *streams;

int cuStreamCreate(void **out, unsigned flags);
int cuStreamCreate(void **out, unsigned flags) {
  STANDIN_LOCKED;
  if (standin_fault("cuStreamCreate"))
    return standin_last_fault;
  standin_stream *s = calloc(1, sizeof *s);
  (void)flags;
  if (!s || standin_enter() != SUCCESS)
    return s ? (free(s), standin_enter()) : OUT_OF_MEMORY;
  s->last = &s->first;
  s->next = streams;
  streams = s;
  standin_counted.streams_held++;
  *out = s;
  return SUCCESS;
}

static standin_stream **find_stream(const void *on) {
  standin_stream **s = &streams;
  while (*s && *s != on)
    s = &(*s)->next;
  if (!*s)
    standin_fail("a stream is used that is none");
  return s;
}

standin_stream *standin_stream_find(const void *on) {
  return *find_stream(on);
}

standin_job *standin_job_copy(const standin_job *from) {
  standin_job *j = malloc(sizeof *j);
  if (!j)
    return NULL;
  *j = *from;
  j->next = NULL;
  j->held = from->held ? malloc(from->held_bytes + 1) : NULL;
  if (from->held && j->held)
    memcpy(j->held, from->held, from->held_bytes);
  return j;
}

void standin_jobs_free(standin_job *jobs) {
  while (jobs) {
    standin_job *j = jobs;
    jobs = j->next;
    free(j->held);
    free(j);
  }
}

void standin_put(standin_stream *s, standin_job *j) {
  standin_job ***last = s->captured ? &s->captured->last : &s->last;
  **last = j;
  *last = &j->next;
}

/* Captured jobs stay on the device. */
static standin_job *put(void *on, int kind) {
  standin_stream *s = *find_stream(on);
  bool fits = s && (!s->captured || kind == LAUNCH || kind == COPY_WITHIN || kind == WORK);
  standin_job *j = fits && standin_enter() == SUCCESS ? calloc(1, sizeof *j) : NULL;
  if (!j)
    return NULL;
  j->kind = kind;
  standin_put(s, j);
  return j;
}

static bool hold(standin_job *j, const void *bytes, size_t count) {
  j->held = malloc(count + 1);
  j->held_bytes = count;
  if (j->held)
    memcpy(j->held, bytes, count);
  return j->held != NULL;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *on);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *on) {
  STANDIN_LOCKED;
  if (standin_fault("cuMemcpyHtoDAsync_v2"))
    return standin_last_fault;
  standin_job *j = put(on, COPY_IN);
  bool waits = standin_is_pinned(from, bytes);
  if (j && waits)
    j->pinned = from;
  if (!j || (!waits && !hold(j, from, bytes)))
    return j ? OUT_OF_MEMORY : standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  j->to = to;
  j->bytes = bytes;
  return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *on);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *on) {
  STANDIN_LOCKED;
  if (standin_fault("cuMemcpyDtoHAsync_v2"))
    return standin_last_fault;
  standin_job *j = put(on, COPY_OUT);
  if (!j)
    return standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  j->host = to;
  j->from = from;
  j->bytes = bytes;
  return SUCCESS;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *on);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *on) {
  STANDIN_LOCKED;
  if (standin_fault("cuMemcpyDtoDAsync_v2"))
    return standin_last_fault;
  standin_job *j = put(on, COPY_WITHIN);
  if (!j)
    return standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  j->to = to;
  j->from = from;
  j->bytes = bytes;
  return SUCCESS;
}

int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, void *on);
int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, void *on) {
  STANDIN_LOCKED;
  if (standin_fault("cuMemsetD8Async"))
    return standin_last_fault;
  standin_job *j = put(on, FILL);
  if (!j || !hold(j, &byte, 1))
    return j ? OUT_OF_MEMORY : standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  j->to = to;
  j->bytes = bytes;
  return SUCCESS;
}

void standin_arguments_copy(const standin_function *k, void *const *arguments, unsigned char *out) {
  memcpy(out, arguments[0], (size_t)k->operands * 8);
  if (k->numbers)
    memcpy(out + k->operands * 8, arguments[1], (size_t)k->numbers * 8);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *on, void **arguments, void **extra);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *on, void **arguments, void **extra) {
  STANDIN_LOCKED;
  if (standin_fault("cuLaunchKernel"))
    return standin_last_fault;
  standin_function *k = function;
  if (gx == 0 || gx > INT32_MAX || bx == 0 || bx > THREADS || gy != 1 || gz != 1 || by != 1 ||
      bz != 1 || shared != 0 || extra)
    return INVALID_VALUE;
  if (!standin_is_kernel(k))
    return standin_enter();
  if (k->threads && bx != (unsigned)k->threads)
    return standin_fail("a kernel for blocks of %d threads has blocks of %u", k->threads, bx);
  standin_job *j = put(on, LAUNCH);
  unsigned char held[ARGUMENT_BYTES];
  standin_arguments_copy(k, arguments, held);
  if (!j || !hold(j, held, (size_t)(k->operands + k->numbers) * 8))
    return j ? OUT_OF_MEMORY : standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  j->kernel = k;
  j->blocks = gx;
  j->threads = bx;
  return SUCCESS;
}

int standin_work(void *on, standin_work_fn *work, const void *what, size_t bytes) {
  STANDIN_LOCKED;
  standin_job *j = put(on, WORK);
  if (!j || !hold(j, what, bytes))
    return j ? OUT_OF_MEMORY : standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  j->work = work;
  return SUCCESS;
}

static void run_kernel(const standin_job *j) {
  bool reverse = getenv("STANDIN_REVERSE") != NULL;
  int64_t threads = (int64_t)j->blocks * j->threads;
  if (standin_fault("kernel"))
    return;
  standin_counted.launches++;
  if (!standin_is_kernel(j->kernel)) /* its module was unloaded */
    return;
  void *arguments[] = {j->held, j->held + j->kernel->operands * 8};
  if (j->kernel->threads) {
    standin_blocks_run(&j->kernel->blocks, arguments, j->blocks, j->threads, reverse);
    return;
  }
  for (int64_t t = 0; t < threads && !standin_is_wrong(); t++)
    j->kernel->run(arguments, reverse ? threads - 1 - t : t, threads);
}

static void run_job(const standin_job *j) {
  void *to = j->host;
  const void *from = j->pinned ? j->pinned : j->held;
  if (j->kind == LAUNCH) {
    run_kernel(j);
    return;
  }
  if (j->kind == WORK) {
    j->work(j->held);
    return;
  }
  if (j->kind == FILL) {
    to = standin_memory_at(j->to, j->bytes, true, "a copy");
    if (to)
      memset(to, *j->held, j->bytes);
    return;
  }
  if (j->kind != COPY_IN)
    from = standin_memory_at(j->from, j->bytes, false, "a copy");
  if (j->kind != COPY_OUT)
    to = standin_memory_at(j->to, j->bytes, true, "a copy");
  if (!to || !from)
    return;
  memmove(to, from, j->bytes);
  *(j->kind == COPY_IN    ? &standin_counted.bytes_in
    : j->kind == COPY_OUT ? &standin_counted.bytes_out
                          : &standin_counted.bytes_within) += j->bytes;
}

int cuStreamSynchronize(void *on);
int cuStreamSynchronize(void *on) {
  STANDIN_LOCKED;
  if (standin_fault("cuStreamSynchronize"))
    return standin_last_fault;
  standin_stream *s = *find_stream(on);
  if (s && s->captured)
    return NOT_IN_CAPTURE;
  standin_counted.waits++;
  while (s && s->first) {
    standin_job *j = s->first;
    s->first = j->next;
    if (!standin_is_wrong())
      run_job(j);
    free(j->held);
    free(j);
  }
  if (s)
    s->last = &s->first;
  return standin_enter();
}

int cuStreamDestroy_v2(void *on);
int cuStreamDestroy_v2(void *on) {
  STANDIN_LOCKED;
  cuStreamSynchronize(on);
  standin_stream **s = find_stream(on);
  if (!*s)
    return standin_enter();
  *s = (*s)->next;
  free(on);
  standin_counted.streams_held--;
  return SUCCESS;
}
