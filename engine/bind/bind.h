/* bind.h - a binding for the sizes of a call, made from a plan, and how its steps run.
 *
 *   bind_plan.c        the program for the sizes of a call, and its plan
 *   fill.c             plan -> binding: storages, arrays, steps
 *   bind_bodies.c      bodies of nodes: bindings within a binding
 *   nested.c           a step for a node with such bodies
 *   frames.c, thunk.c  runs all steps, also of bodies; one step
 *   regions.c          nodes that the interpreter evaluates
 *   undo.c             restores the state after a failed run
 *
 * All functions run in the thread that has the workspace `ws`, which owns the binding. A function
 * that makes something leaves nothing to free when it fails, if the binding is destroyed as a whole
 * by fnzi_bnd_drop() or fnzi_bnd_clear(). Errors are in the context of the workspace. */
#ifndef FNZI_BND_H
#define FNZI_BND_H

#include "engine/steps/steps.h"

/* --- bind_plan.c */
/* Makes a binding without a device, in zeroed memory; destroys it. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_bnd_plan(fnz_workspace *ws, fnzi_stp_binding *b,
                                                    bool with_state);
FNZI_SHARED void fnzi_bnd_drop(fnz_workspace *ws, fnzi_stp_binding *b);
/* Returns the threads of the generator that a run on a GPU draws from: the caller's, or its own. */
int64_t fnzi_bnd_threads_of(const fnz_workspace *ws);

/* --- fill.c */
/* Makes storages, arrays and thunks of a binding that has a plan; frees them and the plan. */
FNZ_MUST_CHECK fnz_status fnzi_bnd_fill(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_bnd_clear(fnz_workspace *ws, fnzi_stp_binding *b);

/* --- bind_bodies.c, nested.c */
/* Makes bindings for the bodies that are planned, and connects them. */
FNZ_MUST_CHECK fnz_status fnzi_bnd_nested_bind(fnz_workspace *ws, fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_bnd_nested_thunk(fnz_workspace *ws, fnzi_stp_binding *b,
                                                const fnzi_pln_step *step);
void fnzi_bnd_nested_end(fnz_workspace *ws, fnzi_stp_binding *b);

/* --- frames.c */
/* Prepares a run; runs all thunks, or one, with the thunks of its bodies. */
FNZ_MUST_CHECK fnz_status fnzi_bnd_frames_open(fnz_workspace *ws, fnzi_stp_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_bnd_frames_run(fnz_workspace *ws, fnzi_stp_binding *b);
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_bnd_frames_run_thunk(fnz_workspace *ws,
                                                                fnzi_stp_binding *b, size_t i);
/* Times of thunks, if the workspace measures them: the time now; adds the time since `began`. */
FNZI_SHARED uint64_t fnzi_bnd_time_now(const fnz_workspace *ws);
FNZI_SHARED void fnzi_bnd_time_add(fnz_workspace *ws, const fnzi_stp_binding *b, size_t thunk,
                                   uint64_t began);

/* --- thunk.c */
/* Runs one thunk that is no region. */
FNZ_MUST_CHECK fnz_status fnzi_bnd_thunk_run(fnz_workspace *ws, fnzi_stp_binding *b,
                                             const fnzi_stp_thunk *thunk);

/* --- regions.c: nodes that the interpreter evaluates */
FNZ_MUST_CHECK fnz_status fnzi_bnd_steps_open(fnz_workspace *ws, fnzi_stp_binding *b);
void fnzi_bnd_steps_close(fnz_workspace *ws);
FNZ_MUST_CHECK fnz_status fnzi_bnd_steps_run(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node);
/* Copies final values into the state, if no plan moves them there. */
FNZ_MUST_CHECK fnz_status fnzi_bnd_steps_finish(fnz_workspace *ws, fnzi_stp_binding *b);

/* --- undo.c */
/* Says that a thunk that can fail does so before it writes. */
bool fnzi_bnd_never_fails(const fnzi_stp_thunk *thunk);
/* *late: a step of a body may fail after a result of it was written. `repeats`: the body runs
 * again. */
FNZ_MUST_CHECK fnz_status fnzi_bnd_undo_fails_after_write(fnz_context *ctx, fnzi_stp_binding *b,
                                                          bool repeats, bool *fails_after_write);
/* Finds the state to keep before a run that enters at most `most_bodies`; keeps it; restores it. */
FNZ_MUST_CHECK fnz_status fnzi_bnd_undo_plan(fnz_context *ctx, fnzi_stp_binding *b,
                                             size_t most_bodies);
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_bnd_undo_keep(fnz_workspace *ws,
                                                         const fnzi_stp_binding *b);
FNZI_SHARED void fnzi_bnd_undo(const fnz_workspace *ws, const fnzi_stp_binding *b);

#endif
