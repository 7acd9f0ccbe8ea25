/* interp.h - running any program on aliasing memory, as eager does. */
#ifndef FNZI_RUN_EAGER_INTERP_H
#define FNZI_RUN_EAGER_INTERP_H

#include "run/run.h"

FNZ_MUST_CHECK fnz_status fnzi_eag_run(fnz_context *ctx, const fnz_program *program,
                                       fnz_backend *backend, const fnzi_run_options *options);

/* The meaning of the program depends on shared memory: some node writes an argument, by its schema
 * or as batch norm does, gives a window that its schema is silent about (meshgrid, type_as), or
 * goes by the strides of its argument. */
bool fnzi_eag_needs_memory(const fnz_program *program);

#endif
