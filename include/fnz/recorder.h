/* recorder.h - a backend that computes nothing and writes down the calls it gets: a program. */
#ifndef FNZ_RECORDER_H
#define FNZ_RECORDER_H

#include <fnz/backend.h>
#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/** shapes  computes the geometry of results if a call does not state it: a meta backend, borrowed;
 *          it must outlive the recorder. NULL if every call states it.
 * out     ends with fnz_backend_destroy(), before ctx. Its upload() and download() fail. Used by
 *         one thread at a time. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_recorder_create(fnz_context *ctx, fnz_backend *shapes,
                                                      fnz_backend **out);

/** A new user input of the program, before the first operator (FNZ_BAD_ARGUMENT later).
 * name      must be new (DUPLICATE); copied.
 * geometry  copied.
 * out       a value that the caller releases. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_recorder_input(fnz_backend *recorder, const char *name,
                                                     const fnz_geometry *geometry, fnz_handle *out);

/** Sets the final value of an input: it becomes a leading output of the program, of kind
 * FNZ_OUTPUT_INPUT_MUTATION. After all writes, fnz_tensor_read() of a tensor around the input's
 * value returns the final value.
 * input  its name: REF when there is none, DUPLICATE when it has a final value already.
 * value  of the recorder; borrowed until fnz_recorder_finish(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_recorder_final(fnz_backend *recorder, const char *input,
                                                     fnz_handle value);

/** Finishes the recording and creates a program with these outputs after the final values, without
 * unneeded nodes. Nothing can be recorded after that: FNZ_BAD_ARGUMENT.
 * outputs  values of the recorder; borrowed.
 * out      ends with fnz_program_destroy(), and does not need the recorder any more. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_recorder_finish(fnz_backend *recorder,
                                                      const fnz_handle *outputs, size_t count,
                                                      fnz_program **out);

#ifdef __cplusplus
}
#endif
#endif
