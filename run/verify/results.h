/* results.h - the results of one program, kept, and other programs' results held against them.
 *
 * Every user output and the final value of every input, parameter and buffer is compared, also of
 * those that neither program says it has written. */
#ifndef FNZI_RESULTS_H
#define FNZI_RESULTS_H

#include "run/run.h"

typedef struct fnzi_ver_result {
  const char *name;
  fnz_geometry g;
  unsigned char *cells;
  size_t bytes;
  bool met; /* the other program has it too */
} fnzi_ver_result;

typedef struct fnzi_ver_results {
  fnz_context *ctx;
  fnzi_arena arena;
  struct {
    fnzi_ver_result *data;
    size_t count, capacity;
  } list;
  size_t next;    /* in the list: where the next result of the other program should be */
  fnzi_map names; /* name -> index into the list, once it is needed */
  bool knows_names;
  const fnz_program *original;
  bool numbers; /* NaN equals NaN */
} fnzi_ver_results;

/* fnzi_results_free() must follow. */
void fnzi_results_init(fnzi_ver_results *r, fnz_context *ctx);
/* Forgets what there is; the results are to be those of `original`, which must live on. */
void fnzi_results_start(fnzi_ver_results *r, const fnz_program *original, bool numbers);
void fnzi_results_free(fnzi_ver_results *r);

/* Runs the original on aliasing memory. The options say what there is to run on; how results are
 * received is filled in here. */
FNZ_MUST_CHECK fnz_status fnzi_results_keep(fnzi_ver_results *r, fnz_backend *backend,
                                            const fnzi_run_options *options);
/* Runs another program in the same way, with the same backend and inputs: DIFFERENT when its
 * results are not those kept. As often as wanted. */
FNZ_MUST_CHECK fnz_status fnzi_results_meet(fnzi_ver_results *r, const fnz_program *other,
                                            fnz_backend *backend, const fnzi_run_options *options);

#endif
