/* interp.h - running any program on aliasing memory, as eager does. */
#ifndef FNZI_RUN_EAGER_INTERP_H
#define FNZI_RUN_EAGER_INTERP_H

#include "run/run.h"

FNZ_MUST_CHECK fnz_status fnzi_eag_run(fnz_context *ctx, const fnz_program *program,
                                       fnz_backend *backend, const fnzi_run_options *options);

/* What the program means depends on shared memory: some node writes an argument, by its schema or
 * as batch norm does, or gives a window of which its schema says nothing (meshgrid, type_as). */
bool fnzi_eag_needs_memory(const fnz_program *program);

#endif
