/* mpi.h - <fnz/collectives.h> over MPI: libfnz_mpi, a library of its own, which needs nothing of
 * libfnz. Without it no MPI is needed. */
#ifndef FNZ_MPI_H
#define FNZ_MPI_H

#include <fnz/collectives.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Some of all processes, under a name that programs use. All processes must name the same groups
 * in the same order. Groups with equal names share no process; a call in a program uses the group
 * that contains its process. */
typedef struct fnz_mpi_group {
  const char *name;
  const int64_t *ranks; /* in the order of the group */
  size_t nranks;
} fnz_mpi_group;

typedef struct fnz_mpi_options {
  size_t size;              /* sizeof(fnz_mpi_options) */
  const void *communicator; /* the address of an MPI_Comm, which is copied; NULL: MPI_COMM_WORLD */
  const fnz_mpi_group *groups;
  size_t ngroups;
} fnz_mpi_options;
#define FNZ_MPI_OPTIONS_INIT                                                                       \
  { sizeof(fnz_mpi_options), NULL, NULL, 0 }

/** Starts MPI unless the process has done that, and then ends it in `destroy` as well. All
 * processes of the communicator call it. The group "0" is all processes, unless a group with that
 * name is given; groups by tags and ranks need not be given.
 *
 * MPI starts once in a process: after `destroy` has ended it, there is no second time. It is
 * started for one thread (MPI_THREAD_FUNNELED): programs with these collectives run one context at
 * a time, in the thread that has created them.
 *
 * One process reduces and sends the result to the others: it depends only on the order in which MPI
 * reduces, and has the same bits in all.
 *
 * options  NULL for defaults; needed only during the call.
 * out      ends by its `destroy`, in all processes. Its `abort` is MPI_Abort(). NULL on failure.
 * message  FNZ_COLLECTIVES_MESSAGE_BYTES of room: what failed, "" for FNZ_OK. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_mpi_collectives_create(const fnz_mpi_options *options,
                                                             fnz_collectives **out, char *message);

#ifdef __cplusplus
}
#endif
#endif
