/* recorder.h - a backend that computes nothing and writes down the calls it gets: a program. */
#ifndef FNZ_RECORDER_H
#define FNZ_RECORDER_H

#include <fnz/backend.h>
#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/** shapes  decides what results look like when a call does not say so: a meta backend, borrowed;
 * NULL when every call says so. out     ends with fnz_backend_destroy(). Its upload() and
 * download() fail. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_recorder_create(fnz_context *ctx, fnz_backend *shapes,
                                                      fnz_backend **out);

/** A new user input of the program. The name must be new. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_recorder_input(fnz_backend *recorder, const char *name,
                                                     const fnz_geometry *geometry, fnz_handle *out);

/** Ends the recording: a program with these outputs, without the nodes that nothing needs. Nothing
 * can be recorded after that: FNZ_BAD_ARGUMENT. out  ends with fnz_program_destroy(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_recorder_finish(fnz_backend *recorder,
                                                      const fnz_handle *outputs, size_t count,
                                                      fnz_program **out);

#ifdef __cplusplus
}
#endif
#endif
