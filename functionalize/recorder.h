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
/* Adds every node that the values need, in the order of recording, and tells which values of graph
 * 0 they became. Nodes without results and random ones are needed too. */
FNZ_MUST_CHECK fnz_status fnzi_recorder_build(fnz_backend *recorder, const fnz_handle *wanted,
                                              size_t count, uint32_t *values);
/* Moves the program out. */
fnz_program *fnzi_recorder_take(fnz_backend *recorder);

#endif
