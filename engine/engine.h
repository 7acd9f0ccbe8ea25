/* engine.h - executables, workspaces and their runs.
 *
 *   compile.c            fnz_compile(), and the workspaces that an executable keeps
 *   fold.c               values that depend on weights alone
 *   workspace.c          workspaces: memory of runs, one run at a time
 *   bind.c               the binding for the sizes of a run: a kept one, or a new one
 *   execute.c            one run: pointers, state, results
 *   run.c, arrays.c      runs with memory, with named arrays
 *   state.c              parameters and buffers that are changed
 *   pool.c               memory that states of several executables share
 *   device.c             opens libfnz_cuda and finds the functions of a GPU
 *   verify.c             compares the engine with the interpreter
 *
 * An executable may be used by several threads at once, a workspace or a state by one. Functions
 * with a `ctx` report errors there; others in the context of the workspace or executable, from
 * where fnzi_eng_propagate() copies them. A run that fails restores the state, or marks it as lost.
 */
#ifndef FNZI_ENG_ENGINE_H
#define FNZI_ENG_ENGINE_H

#include "engine/bind/bind.h"
#include "engine/steps/device.h"

/* --- compile.c */
/* Creates an executable whose plans are printed, and which never runs. It has no plan yet. */
FNZ_MUST_CHECK fnz_status fnzi_eng_compile_to_print(fnz_context *ctx, const fnz_program *program,
                                                    const char *device, fnz_executable **out);
/* An open device, which its owner closes. */
typedef struct fnzi_eng_lent_device {
  const fnzi_stp_device *gpu;
  struct fnzi_cuda_device *device;
  int64_t threads_drawing;
} fnzi_eng_lent_device;
/* Creates an executable without weights on the device of `host`, which must outlive it. The first
 * run makes the plan. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_eng_compile_on(fnz_context *ctx,
                                                          const fnz_program *program, int threads,
                                                          const fnzi_eng_lent_device *lent,
                                                          fnz_executable **out);

/* --- fold.c */
/* Creates exe->folded and its inputs if there are values that depend on weights alone. */
FNZ_MUST_CHECK fnz_status fnzi_eng_fold(fnz_executable *exe);
/* Returns whether the run uses exe->folded: it replaces none of the weights that were folded. */
bool fnzi_eng_uses_folded(const fnz_workspace *ws);

/* --- device.c */
/* Finds the functions of a device: "cuda", "cuda:1", "sm_90". Opens libfnz_cuda, unless it is
 * linked. Fails with ARGUMENT if there is no such device, and with UNSUPPORTED if the library is
 * missing or of another build. */
FNZ_MUST_CHECK fnz_status fnzi_eng_device_find(fnz_context *ctx, const char *name,
                                               const fnzi_stp_device **out);
/* Takes the addresses of inputs on the device from the caller: sets ws->device_in. */
FNZ_MUST_CHECK fnz_status fnzi_eng_device_inputs(fnz_workspace *ws);

/* --- workspace.c */
/* Creates a workspace. Errors are in `ctx`. */
FNZ_MUST_CHECK fnz_status fnzi_eng_workspace_create(const fnz_executable *exe, fnz_context *ctx,
                                                    fnz_workspace **out);
/* Take a workspace that the executable keeps, or create one; give it back. */
FNZ_MUST_CHECK fnz_status fnzi_eng_workspace_take(const fnz_executable *exe, fnz_context *ctx,
                                                  fnz_workspace **out);
void fnzi_eng_workspace_give(const fnz_executable *exe, fnz_workspace *ws);
/* Copies the error of the workspace's context to the caller's, and returns `status`. */
fnz_status fnzi_eng_propagate(fnz_context *ctx, const fnz_workspace *ws, fnz_status status);
/* IO if a file changed whose pages are weights: before a run reads them, and after it did. */
FNZ_MUST_CHECK fnz_status fnzi_eng_check_files(const fnz_executable *exe, fnz_context *ctx);
/* Prepares a run. *ws: the caller's workspace; if NULL, receives one of the executable's. The run
 * uses the collectives and the generator of `ctx`; without a generator it uses `own`. */
FNZ_MUST_CHECK fnz_status fnzi_eng_begin(const fnz_executable *exe, fnz_context *ctx,
                                         fnz_generator *own, fnz_workspace **ws);
/* Ends a run, and gives back a workspace that is not the caller's: `given` is NULL then. Copies the
 * error to `ctx` and returns `status`. */
fnz_status fnzi_eng_end(const fnz_executable *exe, fnz_context *ctx, const fnz_workspace *given,
                        fnz_workspace *ws, fnz_status status);
/* Creates a context, and allocates `bytes` of zeroed memory from it: an object that owns its
 * context.
 */
FNZ_MUST_CHECK fnz_status fnzi_eng_with_context(fnz_context *ctx, const fnz_allocator *allocator,
                                                size_t bytes, fnz_context **own, void **out);

/* --- bind.c */
/* Finds the binding for the inputs in ws->inputs, or makes one. */
FNZ_MUST_CHECK fnz_status fnzi_eng_binding_find(fnz_workspace *ws, bool with_state,
                                                fnzi_stp_binding **out);
/* Frees all bindings of the workspace. */
void fnzi_eng_bindings_end(fnz_workspace *ws);

/* --- execute.c */
/* Runs `b` with ws->inputs. `outs`: per output of graph 0, memory for its elements; NULL, or NULL
 * for one output: memory of the workspace. */
FNZ_MUST_CHECK fnz_status fnzi_eng_execute(fnz_workspace *ws, fnzi_stp_binding *b, void *arena,
                                           unsigned char *const *outs);

/* --- run.c, arrays.c */
/* Runs like fnz_executable_run(). `bound`: weights in place of the file's; NULL. */
FNZ_MUST_CHECK fnz_status fnzi_eng_run_bound(const fnz_executable *exe, fnz_context *ctx,
                                             const fnz_execution *run, const fnzi_run_state *bound);
/* Sets ws->inputs[k] to the value of input k, a symbol, if the sizes of the other inputs decide it.
 */
FNZ_MUST_CHECK fnz_status fnzi_eng_give_number(fnz_workspace *ws, fnzi_run_state *run, uint32_t k);
/* Copies input k as it is after the run, row-major, if the run wrote its memory through another
 * input that shares it (is_member). */
FNZ_MUST_CHECK fnz_status fnzi_eng_member_copy(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t k,
                                               void *out);

#endif
