/* context.h - the allocator and the error object that all calls share.
 *
 * Threads: one context is used by one thread at a time; any number of contexts may live at once.
 * A finished program is immutable and may be read by many threads, each with its own context. */
#ifndef FNZ_CONTEXT_H
#define FNZ_CONTEXT_H

#include <fnz/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_context fnz_context;

/** Allocation of memory. `resize(user, NULL, 0, n)` allocates, `resize(user, p, old, 0)` frees and
 * returns NULL, any other call reallocates. NULL for a wanted size above 0 means out of memory. */
typedef struct fnz_allocator {
  void *(*resize)(void *user, void *p, size_t old_bytes, size_t new_bytes);
  void *user;
} fnz_allocator;

/** allocator  copied; NULL for the C library's.
 * out        new; ends with fnz_context_destroy(). NULL on failure (only FNZ_NO_MEMORY). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_context_create(const fnz_allocator *allocator,
                                                     fnz_context **out);

/** Destroy everything that was created with the context first. A GPU that it was used for stays in
 * use until then (docs/gpu.md). NULL is allowed. */
FNZ_API void fnz_context_destroy(fnz_context *ctx);

/** The last failure; borrowed, valid until the next call on ctx. */
FNZ_API const fnz_error *fnz_last_error(const fnz_context *ctx);

/** Most bytes that were allocated through this context at one time. */
FNZ_API size_t fnz_context_peak_bytes(const fnz_context *ctx);

/** Whether a function that writes a file returns only when the file and its name are on the disk
 * (fsync). Off at first: a file still appears whole or not at all, whatever happens to the process,
 * but a machine that loses power right after may have lost it or left it empty. A sync takes 1 to
 * 400 ms. */
FNZ_API void fnz_context_set_sync(fnz_context *ctx, bool sync);

/** How far a long call is. */
typedef struct fnz_progress {
  size_t size;       /* sizeof(fnz_progress) of the library */
  const char *what;  /* static: "read", "functionalize", "decompose", "verify", "compile", "run",
                        "hash", "write" */
  const char *unit;  /* the things that are counted: "nodes", "bytes", "seeds"; static */
  uint64_t done, of; /* how many are done, of how many; `of` is 0 if nothing knows that */
  double share;      /* the part that is done, from 0 to 1; below 0 if nothing knows it */
} fnz_progress;

/** Returns whether the call goes on; false cancels it. */
typedef bool fnz_progress_fn(void *user, const fnz_progress *progress);

/** Sets a function that follows all long calls on the context, and may cancel them. A call uses it
 * first after 0.1 s, and then at most ten times a second, in the thread that made the call. The
 * function must not call others on the same context.
 *
 * A cancelled call returns FNZ_CANCELLED soon, when the operator or the piece of a file that it
 * works on is finished. It is a failure like others: outputs are not set, the state of an
 * executable is unchanged, and a file appears whole or not at all. For this reason a run that has
 * begun to write its state, or inputs in place, goes on to its end, unless it can take back its
 * writes. A run on a GPU cannot be cancelled.
 *
 * progress  NULL: none. Not to be changed during a call. */
FNZ_API void fnz_context_set_progress(fnz_context *ctx, fnz_progress_fn *progress, void *user);

/** "0.1.0". Static. */
FNZ_API const char *fnz_version(void);

/** The FNZ_ABI_VERSION that the library was compiled with; <fnz/api.h> says what it means. */
FNZ_API unsigned fnz_abi_version(void);

/** Bytes that a call hands out. Ends with fnz_buffer_free(). */
typedef struct fnz_buffer {
  char *data; /* one more byte, zero, follows the `size` bytes */
  size_t size;
  size_t capacity;
} fnz_buffer;

/** Frees the bytes and empties the buffer; one that is empty, all zero, is allowed. */
FNZ_API void fnz_buffer_free(fnz_context *ctx, fnz_buffer *buffer);

/** Appends up to three of `names` that are similar to `word`, nearest first, as "add, abs or all";
 * nothing if none is similar. `word` is not among `names`. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_suggest(fnz_context *ctx, const char *word,
                                              const char *const *names, size_t count,
                                              fnz_buffer *out);

#ifdef __cplusplus
}
#endif
#endif
