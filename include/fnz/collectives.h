/* collectives.h - programs that run in several processes: communication as a struct of functions
 * that the caller provides.
 *
 * Operators of _c10d_functional, _c10d_functional_autograd and c10d_functional call these
 * functions. libfnz_mpi implements them over MPI (<fnz/mpi.h>), fnz_collectives_one() for a single
 * process.
 *
 *   fnz_context_set_collectives(ctx, collectives);
 *   status = fnz_run(ctx, program, backend, inputs, NULL, outputs);
 *
 * All processes run the same program, on tensors of the same sizes, in the same way: each by the
 * interpreter, or each by an executable. Calls keep their number and order: none is left out,
 * joined with another or moved before one, by fnz_functionalize(), fnz_compile() or a run, with any
 * number of threads. A process that fails between two calls makes no further ones; its caller must
 * end the processes that wait for it.
 *
 * Programs name a group, and most operators state its number of processes, which must be the real
 * one. Without functions, operators that state a single process run and others are refused. The
 * operators all_reduce and broadcast state no number and are refused too.
 *
 * Threads: functions are called in the thread that runs, one at a time for a context. Contexts that
 * run at the same time need collectives of their own, or thread-safe ones. */
#ifndef FNZ_COLLECTIVES_H
#define FNZ_COLLECTIVES_H

#include <fnz/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which processes: by name, or, in the older c10d_functional, by a list of ranks. */
typedef struct fnz_group {
  const char *name;     /* "0" is PyTorch's name for all processes; "" if there are ranks */
  const char *tag;      /* of a list of ranks; "" else */
  const int64_t *ranks; /* among all processes, in the order of the group; NULL for a name */
  size_t nranks;
} fnz_group;

/** How elements become one. The mean is a sum that fnz divides. */
typedef enum fnz_reduction {
  FNZ_REDUCTION_SUM, /* of integers: wraps */
  FNZ_REDUCTION_PRODUCT,
  FNZ_REDUCTION_MIN, /* NaN where one of them is NaN */
  FNZ_REDUCTION_MAX,
  FNZ_REDUCTION_BAND, /* bit by bit: of integers */
  FNZ_REDUCTION_BOR,
  FNZ_REDUCTION_BXOR
} fnz_reduction;

#define FNZ_COLLECTIVES_MESSAGE_BYTES 256

/** Communication of a process with its group. All processes of the group call each function except
 * `place`, and it returns when its result is complete. Memory belongs to the caller and is
 * row-major. After a failure `message`, FNZ_COLLECTIVES_MESSAGE_BYTES long, gives the reason in one
 * line. The class of the failure is REF for FNZ_BAD_INPUT (an unknown group), UNSUPPORTED, NOMEM,
 * and IO for every other status. */
typedef struct fnz_collectives {
  size_t size; /* sizeof(fnz_collectives); functions beyond it count as NULL */
  const char *name;
  void *self;

  /** The rank of this process in the group, and the number of its processes. NULL for the group:
   * all processes. */
  fnz_status (*place)(void *self, const fnz_group *group, int64_t *rank, int64_t *count,
                      char *message);

  /** Replaces the `count` elements of `data` by their reduction over all processes, with the same
   * bits in each. `dtype` is one of U8 I8 I16 I32 I64 U16 U32 U64 F32 F64: bool comes as U8, 16-bit
   * floats as F32 and complex numbers as pairs. */
  fnz_status (*all_reduce)(void *self, const fnz_group *group, fnz_reduction reduction,
                           fnz_dtype dtype, void *data, size_t count, char *message);

  /** Stores the `bytes` of each process in `to`, one after the other by rank. */
  fnz_status (*all_gather)(void *self, const fnz_group *group, const void *from, size_t bytes,
                           void *to, char *message);

  /** `from` has `count` elements for each process. Stores all_reduce's result for this process in
   * `to`. NULL: fnz uses all_reduce. */
  fnz_status (*reduce_scatter)(void *self, const fnz_group *group, fnz_reduction reduction,
                               fnz_dtype dtype, const void *from, void *to, size_t count,
                               char *message);

  /** Sends from_bytes[k] bytes of `from` to process k and receives to_bytes[k] bytes of `to` from
   * it; both are stored one after the other by rank. */
  fnz_status (*all_to_all)(void *self, const fnz_group *group, const void *from,
                           const size_t *from_bytes, void *to, const size_t *to_bytes,
                           char *message);

  /** Copies `data` of process `source` of the group to all its processes. */
  fnz_status (*broadcast)(void *self, const fnz_group *group, int64_t source, void *data,
                          size_t bytes, char *message);

  /** Ends all processes, the calling one with exit code `code`. The library never calls it. NULL:
   * impossible. */
  void (*abort)(void *self, int code);
  /** Destroys `self`. The library never calls it. NULL: nothing to destroy. */
  void (*destroy)(void *self);
} fnz_collectives;

/** The functions for a single process, which is the only member of every group: tensors stay
 * unchanged. Constant. */
FNZ_API const fnz_collectives *fnz_collectives_one(void);

/** Calls through ctx use `collectives` from now on, which are borrowed; NULL: none.
 */
FNZ_API void fnz_context_set_collectives(fnz_context *ctx, const fnz_collectives *collectives);

#ifdef __cplusplus
}
#endif
#endif
