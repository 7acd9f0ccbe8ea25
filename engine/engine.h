/* engine.h - executables, workspaces and their runs.
 *
 *   compile.c            fnz_compile(), and the workspaces that an executable keeps
 *   fold.c               values that depend on weights alone
 *   workspace.c          memory, allocator, the bindings of the last sizes
 *   bind.c               the binding for the sizes of a call: kept, or new, on its device
 *   execute.c            one run: pointers, state, results
 *   run.c, arrays.c      runs with memory, with named arrays
 *   state.c              parameters and buffers that are changed
 *   pool.c               memory that states of several executables share
 *   device.c             the functions of a GPU, and what needs no executable
 *   verify.c             compares the engine with the interpreter */
#ifndef FNZI_ENG_ENGINE_H
#define FNZI_ENG_ENGINE_H

#include "engine/bind/bind.h"
#include "engine/steps/device.h"

/* --- compile.c */
/* Makes an executable that only prints its plans. It has none yet. */
FNZ_MUST_CHECK fnz_status fnzi_eng_compile_to_print(fnz_context *ctx, const fnz_program *program,
                                                    const char *device, fnz_executable **out);
/* An open device of another owner, who closes it. */
typedef struct fnzi_eng_host {
  const fnzi_stp_device *gpu;
  struct fnzi_cuda_device *device;
  int64_t threads_drawing;
} fnzi_eng_host;
/* Makes an executable for an open device, which must outlive it, without weights. The first run
 * makes the plan. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_eng_compile_on(fnz_context *ctx,
                                                          const fnz_program *program, int threads,
                                                          const fnzi_eng_host *host,
                                                          fnz_executable **out);

/* --- fold.c */
/* Makes exe->folded and its inputs, if there are values that depend on weights alone. */
FNZ_MUST_CHECK fnz_status fnzi_eng_fold(fnz_executable *exe);
/* Returns whether a run takes exe->folded: none of its weights is replaced. */
bool fnzi_eng_folds(const fnz_workspace *ws);

/* --- device.c */
/* Finds the functions of a device: "cuda", "cuda:1", "sm_90". Opens libfnz_cuda, unless it is
 * linked. Fails with ARGUMENT if there is no such device, and with UNSUPPORTED if the library is
 * missing or of another build. */
FNZ_MUST_CHECK fnz_status fnzi_eng_device_find(fnz_context *ctx, const char *name,
                                               const fnzi_stp_device **out);
/* Takes the addresses of inputs on the device from the caller: sets ws->device_in. */
FNZ_MUST_CHECK fnz_status fnzi_eng_device_inputs(fnz_workspace *ws);

/* --- workspace.c */
/* Makes a workspace; `ctx` gets errors. */
FNZ_MUST_CHECK fnz_status fnzi_eng_workspace_create(const fnz_executable *exe, fnz_context *ctx,
                                                    fnz_workspace **out);
/* Takes a workspace that the executable keeps, or a new one; gives it back. */
FNZ_MUST_CHECK fnz_status fnzi_eng_workspace_take(const fnz_executable *exe, fnz_context *ctx,
                                                  fnz_workspace **out);
void fnzi_eng_workspace_give(const fnz_executable *exe, fnz_workspace *ws);
/* Copies the error of the workspace's context to the caller's, and returns `status`. */
fnz_status fnzi_eng_propagate(fnz_context *ctx, const fnz_workspace *ws, fnz_status status);
/* Prepares a run of the caller in its workspace, if *ws is one, or in a kept one, with its
 * collectives and its generator, or `own`. */
FNZ_MUST_CHECK fnz_status fnzi_eng_begin(const fnz_executable *exe, fnz_context *ctx,
                                         fnz_generator *own, fnz_workspace **ws);
/* Ends the run. `given`: the caller's workspace; NULL. Returns `status`, with its error. */
fnz_status fnzi_eng_end(const fnz_executable *exe, fnz_context *ctx, const fnz_workspace *given,
                        fnz_workspace *ws, fnz_status status);
/* Makes a context of its own for zeroed memory of `bytes`. */
FNZ_MUST_CHECK fnz_status fnzi_eng_with_context(fnz_context *ctx, const fnz_allocator *allocator,
                                                size_t bytes, fnz_context **own, void **out);

/* --- bind.c */
/* Returns the binding for ws->given; makes a missing one. */
FNZ_MUST_CHECK fnz_status fnzi_eng_binding_find(fnz_workspace *ws, bool with_state,
                                                fnzi_stp_binding **out);
void fnzi_eng_bindings_end(fnz_workspace *ws);

/* --- execute.c */
/* Runs `b` with ws->given. `outs`: per output of graph 0, memory for the row-major elements; NULL:
 * the workspace's. */
FNZ_MUST_CHECK fnz_status fnzi_eng_execute(fnz_workspace *ws, fnzi_stp_binding *b, void *arena,
                                           unsigned char *const *outs);

/* --- run.c, arrays.c */
/* Runs like fnz_executable_run(), without a state, on weights that are bound. */
FNZ_MUST_CHECK fnz_status fnzi_eng_run_bound(const fnz_executable *exe, fnz_context *ctx,
                                             const fnz_execution *run, const fnzi_run_state *bound);
/* Sets ws->given[k] to the number that input k has at the sizes of `run`, if that is known. */
FNZ_MUST_CHECK fnz_status fnzi_eng_give_number(fnz_workspace *ws, fnzi_run_state *run, uint32_t k);
/* Copies the elements of input k after a run, row-major, from memory that other inputs have final
 * values of. */
FNZ_MUST_CHECK fnz_status fnzi_eng_member(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t k,
                                          void *out);

#endif
