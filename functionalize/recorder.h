/* recorder.h - the recording backend as the pass uses it: it also makes the signature itself. */
#ifndef FNZI_RECORDER_H
#define FNZI_RECORDER_H

#include "program/program.h"

#include <fnz/recorder.h>

/* The program under construction: inputs may be added to graph 0 before anything is recorded. */
fnz_program *fnzi_recorder_program(fnz_backend *recorder);
/* Declares a value of graph 0, defined by no node, as something that calls may use. */
FNZ_MUST_CHECK fnz_status fnzi_recorder_value(fnz_backend *recorder, uint32_t value,
                                              fnz_handle *out);
/* Calls of `op` from now on give lists as long as those among `outputs`, its first results, which
 * are borrowed until the program is built. NULL: nothing is known. */
void fnzi_recorder_expect(fnz_backend *recorder, const fnz_op *op, const fnz_arg *outputs,
                          uint32_t count);
/* Adds every node that the values need, in the order of recording, and tells which values of graph
 * 0 they became. Nodes without results and random ones are needed too. With `skip_clones`, a clone
 * of the same geometry is its argument, but for the values wanted: those are memory of their own in
 * whatever runs the program. */
FNZ_MUST_CHECK fnz_status fnzi_recorder_build(fnz_backend *recorder, const fnz_handle *wanted,
                                              size_t count, bool skip_clones, uint32_t *values);
/* Moves the program out. */
fnz_program *fnzi_recorder_take(fnz_backend *recorder);

#endif
