/* results.h - keeps the results of one program, and compares results of other programs with them.
 *
 * These are all outputs and the final values of all inputs, parameters and buffers, also of inputs
 * that neither program writes. Over hashes, also in which memory outputs lie and with which
 * strides, and the calls that draw random numbers, assert or have no results, in order. */
#ifndef FNZI_RESULTS_H
#define FNZI_RESULTS_H

#include "kernels/hash/hash.h"
#include "run/verify/sharing.h"

typedef struct fnzi_ver_result {
  const char *name;
  fnz_geometry g;
  unsigned char *cells; /* NULL: a series of hashes, which begins with `start` */
  size_t bytes;
  fnzi_cell start;
  bool met; /* the other program has it too */
} fnzi_ver_result;

typedef struct fnzi_ver_results {
  fnz_context *ctx;
  fnzi_arena arena;
  struct {
    fnzi_ver_result *data;
    size_t count, capacity;
  } list;
  size_t next;    /* in the list: the expected next result of the other program */
  fnzi_map names; /* name -> index into the list, once it is needed */
  bool knows_names;
  const fnz_program *original;
  bool numbers; /* NaN equals NaN */
  struct {
    fnzi_hash_effect *data; /* of the original */
    size_t count;
  } effects;
  bool ignore_memory;               /* where outputs lie does not count */
  fnzi_ver_sights first, other;     /* of the original; of the program that is compared */
  fnzi_ver_sights *seen;            /* `first` or `other`: filled by the current run */
  char not_compared[FNZI_VER_NOTE]; /* of the report */
} fnzi_ver_results;

/* fnzi_ver_results_free() must follow. */
void fnzi_ver_results_init(fnzi_ver_results *r, fnz_context *ctx);
/* Drops all results; then results of `original`, which must live on, can be kept. */
void fnzi_ver_results_start(fnzi_ver_results *r, const fnz_program *original, bool numbers);
void fnzi_ver_results_free(fnzi_ver_results *r);

/* Runs the original on aliasing memory and keeps its results. The emit function of the options is
 * set here. */
FNZ_MUST_CHECK fnz_status fnzi_ver_results_keep(fnzi_ver_results *r, fnz_backend *backend,
                                                const fnzi_run_options *options);
/* Runs another program with the same backend and inputs: DIFFERENT when its results are not those
 * kept. May be repeated. */
FNZ_MUST_CHECK fnz_status fnzi_ver_results_meet(fnzi_ver_results *r, const fnz_program *other,
                                                fnz_backend *backend,
                                                const fnzi_run_options *options);

#endif
