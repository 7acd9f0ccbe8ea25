/* autocast.h - casts that an autocast region makes before its operators. */
#ifndef FNZI_RUN_AUTOCAST_H
#define FNZI_RUN_AUTOCAST_H

#include "run/frames.h"

/* The dtype that a region casts to: FNZ_DTYPE_COUNT when it casts nothing. `outer` is that of the
 * region around it. */
fnz_dtype fnzi_run_autocast_dtype(const fnzi_hop *hop, fnz_dtype outer);

/* Runs a node in a region that casts to `dtype`. */
FNZ_MUST_CHECK fnz_status fnzi_run_autocast_node(fnzi_run_state *run,
                                                 const fnzi_run_interpreter *by,
                                                 const fnzi_node *node, fnz_dtype dtype);

#endif
