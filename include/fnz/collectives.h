/* collectives.h - programs that run in several processes: who talks to the others, as a struct of
 * functions that the caller gives.
 *
 * Operators of _c10d_functional, _c10d_functional_autograd and c10d_functional are computed with
 * what these functions say and do. libfnz_mpi has them over MPI (<fnz/mpi.h>),
 * fnz_collectives_one() those of a process that is alone.
 *
 *   fnz_context_set_collectives(ctx, collectives);
 *   status = fnz_run(ctx, program, backend, inputs, NULL, outputs);
 *
 * All processes run the same program, on tensors of the same sizes, in the same way: each by the
 * interpreter, or each by an executable. Calls keep their number and order: none is left out,
 * joined with another or moved before one, by fnz_functionalize(), fnz_compile() or a run, with any
 * number of threads. A process that fails between two of them makes no more; those who wait for it
 * are its caller's to end.
 *
 * Programs say a group by its name, and most operators how many processes it has, which must be as
 * many as there are. Where no functions are given, operators of one process run, and others are
 * refused, all_reduce and broadcast among them, which do not say how many they are for.
 *
 * Threads: functions are called in the thread that runs, one at a time for a context. Contexts that
 * run at the same time need collectives of their own, or such that bear it. */
#ifndef FNZ_COLLECTIVES_H
#define FNZ_COLLECTIVES_H

#include <fnz/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which processes: by name, or, in the older c10d_functional, by a list of ranks. */
typedef struct fnz_group {
  const char *name;     /* "0" is what PyTorch calls that of all; "" where there are ranks */
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

/** What a process does with the others of its group. Every function but `place` is called by all of
 * them, and returns when what it gives is there; memory is the caller's, and row-major. After
 * anything but FNZ_OK `message`, FNZ_COLLECTIVES_MESSAGE_BYTES of room, says why in one line. The
 * class of the failure is REF for FNZ_BAD_INPUT (a group that there is not), UNSUPPORTED, NOMEM and
 * IO for all else. */
typedef struct fnz_collectives {
  size_t size; /* sizeof(fnz_collectives); what lies beyond counts as NULL */
  const char *name;
  void *self;

  /** This process among those of the group, and how many they are. NULL for the group: all. */
  fnz_status (*place)(void *self, const fnz_group *group, int64_t *rank, int64_t *count,
                      char *message);

  /** `data`: `count` elements, which become those that all processes have together, the same bits
   * in each. `dtype` is one of U8 I8 I16 I32 I64 U16 U32 U64 F32 F64: bool comes as U8, 16-bit
   * floats as F32 and complex numbers as pairs. */
  fnz_status (*all_reduce)(void *self, const fnz_group *group, fnz_reduction reduction,
                           fnz_dtype dtype, void *data, size_t count, char *message);

  /** `bytes` of each process, one after the other by rank. */
  fnz_status (*all_gather)(void *self, const fnz_group *group, const void *from, size_t bytes,
                           void *to, char *message);

  /** Of `from`, `count` elements for each process, all_reduce's result for this one. NULL: fnz does
   * it by all_reduce. */
  fnz_status (*reduce_scatter)(void *self, const fnz_group *group, fnz_reduction reduction,
                               fnz_dtype dtype, const void *from, void *to, size_t count,
                               char *message);

  /** from_bytes[k] bytes of `from` go to process k, to_bytes[k] of `to` come from it; both lie one
   * after the other by rank. */
  fnz_status (*all_to_all)(void *self, const fnz_group *group, const void *from,
                           const size_t *from_bytes, void *to, const size_t *to_bytes,
                           char *message);

  /** `data` becomes what process `source` of the group has there. */
  fnz_status (*broadcast)(void *self, const fnz_group *group, int64_t source, void *data,
                          size_t bytes, char *message);

  /** Ends all processes, this one with `code`. The library never calls it. NULL: it cannot. */
  void (*abort)(void *self, int code);
  /** The library never calls it. NULL: there is nothing to end. */
  void (*destroy)(void *self);
} fnz_collectives;

/** Those of one process that is all of every group: its tensors stay what they are. Constant. */
FNZ_API const fnz_collectives *fnz_collectives_one(void);

/** From now on what is called through ctx goes by `collectives`, which are borrowed; NULL: by none.
 */
FNZ_API void fnz_context_set_collectives(fnz_context *ctx, const fnz_collectives *collectives);

#ifdef __cplusplus
}
#endif
#endif
