/* standin_parts.h - the interface between the parts of the stand-in for CUDA's driver.
 *
 *   standin_cuda.c     the driver's functions: contexts, memory, modules
 *   standin_stream.c   streams, and the jobs on them
 *   standin_graph.c    graphs of jobs
 *   standin_memory.c   device memory, and a map of its written bytes
 *   standin_threads.c  the threads of a block, which wait for each other */
#ifndef FNZ_TESTS_CUDA_STANDIN_PARTS_H
#define FNZ_TESTS_CUDA_STANDIN_PARTS_H

#include "tests/cuda/standin.h"
#include "tests/cuda/standin_library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __SANITIZE_ADDRESS__
#define STANDIN_IS_WATCHED 1 /* by AddressSanitizer */
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define STANDIN_IS_WATCHED 1
#endif
#endif

#pragma GCC visibility push(hidden) /* kernels have variables of these names */

/* --- standin_cuda.c: the first wrong call is reported, and nothing runs from then on */
/* Errors, by the driver's numbers; and limits. */
enum {
  SUCCESS,
  INVALID_VALUE,
  OUT_OF_MEMORY,
  NO_DEVICE = 100,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT,
  NOT_FOUND = 500,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801,
  NOT_IN_CAPTURE = 900,
  THREADS = 1024,
  ARGUMENT_BYTES = 4096 /* of a launch */
};

/* One thread at a time is in the driver: to the end of the function. */
int standin_lock(void);
void standin_unlock(const int *held);
#define STANDIN_LOCKED                                                                             \
  const int held_ __attribute__((cleanup(standin_unlock), unused)) = standin_lock()

int standin_fail(const char *what, ...) __attribute__((format(printf, 1, 2)));
bool standin_is_wrong(void);
/* SUCCESS where a call may do something. */
int standin_enter(void);
/* STANDIN_FAIL asks this call to fail, with standin_last_fault. */
bool standin_fault(const char *function);
extern int standin_last_fault;
extern standin_counts standin_counted;

/* It is memory of the host that copies read when they are done, not when they are put. */
bool standin_is_pinned(const void *at, size_t bytes);

/* --- standin_memory.c: addresses are no addresses of the host */
/* As shim.h reads it. For each byte of `data` the map has ALLOCATED and, once it was written,
 * WRITTEN; an address is `low` and the distance from `data`. */
enum { STANDIN_ALLOCATED = 1, STANDIN_WRITTEN = 3 };
typedef struct standin_room {
  uint64_t low, size;
  unsigned char *data, *map;
} standin_room;

extern standin_room standin_memory;

/* False: there is no room. */
bool standin_memory_take(size_t bytes, uint64_t *out);
/* Some block has this byte. */
bool standin_memory_has(uint64_t at);
/* How many bytes began there; 0: none did. */
size_t standin_memory_give(uint64_t at);
/* The host's address of bytes that `who` reads, or writes from now on; NULL when that is wrong. */
void *standin_memory_at(uint64_t at, size_t bytes, bool writes, const char *who);
/* The same for a kernel, whose accesses are aligned. */
void *standin_kernel_access(const void *at, size_t bytes, int writes);

/* --- standin_threads.c */
/* State that the shim of a library keeps for the running thread. */
typedef struct standin_place {
  unsigned x, y, z;
} standin_place;

typedef struct standin_now {
  standin_place thread, block, threads, blocks;
  uint64_t serial;            /* of the block, among all that ever ran: shared memory is its own */
  uint32_t epoch, warp_epoch; /* barriers that block and warp have passed */
} standin_now;

typedef struct standin_kernel {
  void (*run)(void **arguments); /* by each thread */
  standin_now *now;
} standin_kernel;

typedef struct standin_function {
  struct standin_function *next;
  /* One thread of its own, or one of a block. */
  void (*run)(void **arguments, int64_t thread, int64_t threads);
  standin_kernel blocks;
  int operands, numbers; /* 64-bit words of both arguments */
  int threads;           /* a block must have; 0: threads do not know of each other */
} standin_function;
/* standin_cuda.c: a kernel of a module that is loaded. */
bool standin_is_kernel(const standin_function *kernel);

/* All blocks of a launch, the last one first in `reverse`. */
void standin_blocks_run(const standin_kernel *kernel, void **arguments, unsigned blocks,
                        unsigned threads, bool reverse);
/* Called by threads. `site`: where in the text. */
void standin_barrier(int site);
/* Lane `from` of the warp gives `bytes` at `mine`, which arrive at `out`; all lanes of `mask` must
 * come. Lanes that there are not give nothing. */
void standin_exchange(int site, unsigned mask, int from, const void *mine, void *out, size_t bytes);
/* Shared memory that a block begins to use. */
void standin_share(size_t bytes);
void standin_wrong(const char *what);

/* --- standin_stream.c */
typedef struct standin_job {
  struct standin_job *next;
  enum { COPY_IN, COPY_OUT, COPY_WITHIN, FILL, LAUNCH, WORK } kind;
  uint64_t to, from;
  void *host;
  size_t bytes;
  unsigned char *held; /* COPY_IN: the host's bytes then; LAUNCH: the operands and the numbers */
  const void *pinned;  /* COPY_IN: where the host's bytes will be */
  size_t held_bytes;
  struct standin_function *kernel;
  unsigned blocks, threads; /* of each block */
  standin_work_fn *work;    /* WORK: of a library, on the held bytes */
} standin_job;

typedef struct standin_stream {
  struct standin_stream *next;
  standin_job *first, **last;
  struct standin_graph *captured; /* jobs on it become part of this graph; NULL: they run */
} standin_stream;

standin_stream *standin_stream_find(const void *on);
/* A job that is like another one, with memory of its own; NULL: there is none. */
/* The operands and the numbers of a kernel, one behind the other. */
void standin_arguments_copy(const struct standin_function *kernel, void *const *arguments,
                            unsigned char *out);
standin_job *standin_job_copy(const standin_job *job);
void standin_jobs_free(standin_job *jobs);
/* Appends a job to a stream, or to its captured graph. */
void standin_put(standin_stream *stream, standin_job *job);

/* --- standin_graph.c */
typedef struct standin_graph {
  struct standin_graph *next;
  standin_job *first, **last;
} standin_graph;

#pragma GCC visibility pop

#endif
