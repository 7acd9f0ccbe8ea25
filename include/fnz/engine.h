/* engine.h - a program compiled once and run many times: memory is planned, views are not copied,
 * state is written in place.
 *
 * An *executable* is a functional program with the kernels that compute it. A *workspace* is what
 * one run at a time works in: plans for the sizes that it has met, their calls and the memory of
 * what lies between inputs and outputs. A *state* is the memory of the parameters and buffers that
 * the program changes, from call to call.
 *
 * Results are those of fnz_run(), bit for bit.
 *
 * Threads: an executable never changes, and any number of threads may run it, each with a context,
 * and with a workspace and a state of its own.
 *
 * A process that forks: the child may use what no other thread was using then. The thread that
 * forked works alone there, if there were others; one that the child starts has `threads` again. */
#ifndef FNZ_ENGINE_H
#define FNZ_ENGINE_H

#include <fnz/arrays.h>
#include <fnz/kernel.h>
#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_executable fnz_executable;
typedef struct fnz_workspace fnz_workspace;
typedef struct fnz_executable_state fnz_executable_state;

typedef struct fnz_compile_options {
  size_t size;                /* sizeof(fnz_compile_options) */
  int threads;                /* of one run; 0: as many as there are cores; at most 4096. Changes no
                                 result */
  const char *const *donated; /* user inputs, by graph name, whose memory a run may overwrite */
  size_t ndonated;
  const fnz_backend *kernels; /* a CPU backend: kernels registered with it are used; NULL: none.
                                 Only looked at while a workspace is made */
  bool check;         /* a plan that is not proved fails, FNZ_INTERNAL; else one without sharing of
                         memory takes its place */
  bool unplanned;     /* every value in memory of its own: to find out whether a plan is at fault */
  const char *device; /* "cpu", "cuda", "cuda:1"; NULL: "cpu" */
  const char *cache;  /* a folder where kernels for a GPU are kept, for the next process: files are
                         found by what they were compiled from; NULL: none */
  bool staging;       /* on a GPU: runs may be given memory of the CPU, which is copied there and
                         back; else that is refused */
} fnz_compile_options;
#define FNZ_COMPILE_OPTIONS_INIT                                                                   \
  { sizeof(fnz_compile_options), 0, NULL, 0, NULL, false, false, NULL, NULL, false }

/** Makes an executable.
 *
 * program  functional (fnz_functionalize(), FNZ_STATE_OUTPUTS). Borrowed: it must outlive the
 *          executable, which reads its weights where they lie.
 * options  NULL for defaults; what it points to is needed only during the call, but for `kernels`.
 * out      new; ends with fnz_executable_destroy(). NULL on failure. Its memory comes from the
 *          allocator of ctx, in whatever thread it runs.
 *
 * A program with views and no writes is taken, too: each view is computed as a copy. That is its
 * meaning, except for `as_strided`, `as_strided_copy`, `as_strided_scatter`, `sym_stride` and
 * `sym_storage_offset` of a tensor whose elements do not lie in rows.
 *
 * Fails with UNSUPPORTED for a program that writes, for these, and for a node that nothing computes
 * (with its place), REF for a donated input that there is not, and as a plan at the recorded sizes
 * does. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_compile(fnz_context *ctx, const fnz_program *program,
                                              const fnz_compile_options *options,
                                              fnz_executable **out);
/** After all of its workspaces and states have ended. NULL is allowed. */
FNZ_API void fnz_executable_destroy(fnz_executable *exe);

/* --- What goes in and comes out -----------------------------------------------------------------
 * INPUT   the user inputs that are tensors or symbolic integers, in order of the signature, by
 *         graph name: "x".
 * OUTPUT  what fnz_run() gives, numbers too, in its order and by its names: "output.0", then the
 *         final values, "buffer.cache". Those of a state are not outputs where a run is given that
 * state. STATE   the memories of a state: parameters and buffers with a final value,
 * "buffer.cache". */
typedef enum fnz_side { FNZ_SIDE_INPUT, FNZ_SIDE_OUTPUT, FNZ_SIDE_STATE } fnz_side;

typedef struct fnz_slot {
  const char *name;
  const fnz_geometry *geometry; /* as recorded, symbols too; NULL for a number */
  bool in_state;                /* OUTPUT: with a state it is there, and no output */
} fnz_slot;

FNZ_API size_t fnz_executable_count(const fnz_executable *exe, fnz_side side);
/** Borrowed from the executable. All zero for k beyond the count. */
FNZ_API fnz_slot fnz_executable_slot(const fnz_executable *exe, fnz_side side, size_t k);

/* --- Running ---------------------------------------------------------------------------------- */
/** One run.
 *
 * inputs     one per INPUT slot. `data` with any strides, not copied; sizes must be those of the
 *            program, or such as its symbols allow. Of a symbolic integer `data` is one int64_t,
 *            NULL for the recorded one, and `geometry` is not looked at. Inputs that share memory
 *            by the signature must lie in one memory as recorded; where one of two is written,
 *            which the program's guards tell, or is donated, or the other one lies in the state,
 *            they must not overlap.
 * outputs    one per OUTPUT slot. `data` NULL: after the run it and `geometry` say where the result
 *            lies in the workspace, which must be given, until its next run. Else `data` is the
 *            caller's, of the sizes and strides of `geometry`, row-major where that is NULL. A
 *            number is an int64_t, a double or a bool, as `geometry` of rank 0 says after the run,
 *            and lies with the CPU: `data` given for it has 8 bytes, `geometry` NULL.
 *            Outputs must overlap neither each other nor an input or the state, and have a place
 *            for each element; but the final value of a donated input may lie in the memory of
 *            that input, with its strides. Those in a given state are not looked at.
 * state      NULL: the program's initial values, and final values come out as outputs. Else they
 *            are read and left there.
 * workspace  NULL: one that the executable keeps for this.
 * arena      NULL: memory of the workspace. Else `arena_bytes` of the caller's, at least what
 *            fnz_needs says, aligned to 64 bytes, and apart from all other memory. */
typedef struct fnz_execution {
  size_t size; /* sizeof(fnz_execution) */
  const fnz_memory *inputs;
  fnz_memory *outputs;
  fnz_executable_state *state;
  fnz_workspace *workspace;
  void *arena;
  size_t arena_bytes;
  bool on_device; /* of an executable for a GPU: `data` of inputs that are tensors and of outputs
                     are addresses there, of the device's primary context; ARGUMENT for one that the
                     driver does not know as such. Inputs are read where they lie, and must be
                     ready; what the CPU computes with is copied to it. An output must be row-major;
                     one without data lies there, too. UNSUPPORTED where inputs share memory */
} fnz_execution;
#define FNZ_EXECUTION_INIT                                                                         \
  { sizeof(fnz_execution), NULL, NULL, NULL, NULL, NULL, 0, false }

/** Runs. The first run with new sizes or strides makes a plan, and in the second one convolutions
 * keep their weights in the order that they are read in; after that a run with a workspace
 * allocates nothing, but where sizes depend on data or the interpreter evaluates a body of a
 * region. After a failure the outputs hold anything, and the state what it held before. On a GPU
 * a state that may have been written before a launch, a copy or a library failed is lost: further
 * runs with it fail.
 *
 * On a GPU without on_device all memory is the CPU's, and goes to the device and back in each run:
 * ARGUMENT, with the name of what was given so, unless the executable was compiled with `staging`.
 *
 * Fails with REF (an input is missing), TYPE, BOUNDS (sizes, an index), OVERLAP, ARGUMENT, and as
 * operators do, with the node's place. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_run(fnz_context *ctx, const fnz_executable *exe,
                                                     const fnz_execution *run);

/** As fnz_run(): inputs, and weights to replace, by name; results are appended to `outputs`. Arrays
 * are memory of the CPU: on a GPU `staging` is needed.
 * state      NULL, or as above; arrays for what is in it are refused.
 * workspace  as above. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_run_arrays(
    fnz_context *ctx, const fnz_executable *exe, const fnz_arrays *inputs,
    fnz_executable_state *state, fnz_workspace *workspace, fnz_arrays *outputs);

/** Runs with arrays, on memory with gaps, and with a state for three calls, weights and state among
 * the inputs too, and the same by fnz_run(): DIFFERENT, with the result and the element, when a bit
 * is not the same, or when one refuses what the other runs. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_verify(fnz_context *ctx, const fnz_executable *exe,
                                                        const fnz_arrays *inputs);

/** What a run with these inputs takes and does. */
typedef struct fnz_needs {
  size_t size;            /* sizeof(fnz_needs) */
  size_t arena_bytes;     /* of what lies between inputs and outputs */
  size_t steps;           /* kernels, moves and others */
  size_t moves;           /* steps that only move elements */
  uint64_t bytes_moved;   /* by those: read and written */
  uint64_t bytes_written; /* by all steps whose results have fixed sizes */
  /* Steps that are evaluated as fnz_run() does: regions, sizes that data decide. */
  size_t interpreted;
} fnz_needs;
#define FNZ_NEEDS_INIT                                                                             \
  { sizeof(fnz_needs), 0, 0, 0, 0, 0, 0 }
/** `run` as for fnz_executable_run(): workspace, state and inputs are looked at. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_get_needs(fnz_context *ctx,
                                                           const fnz_executable *exe,
                                                           const fnz_execution *run,
                                                           fnz_needs *out);

/* --- Workspaces ------------------------------------------------------------------------------- */
/** out  ends with fnz_workspace_destroy(), before the executable. NULL on failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_workspace_create(fnz_context *ctx, const fnz_executable *exe,
                                                       fnz_workspace **out);
/** NULL is allowed. */
FNZ_API void fnz_workspace_destroy(fnz_workspace *workspace);

/** A step of the last run; of a body, all times that it was run. Texts last until the next one. Of
 * a group, which computes several nodes, `target` has the operators of all with commas between
 * them, and `of` those that they are steps of, each once where it is several of them in a row. */
typedef struct fnz_step_time {
  const char *kind;   /* "kernel", "group", "move", "evaluated", "interpreted", "region": what
                         a node with bodies does itself */
  const char *target; /* the operator; "" for a move at the end */
  const char *of;     /* the program's operator that it is a step of; the same, but where that is
                         computed by others */
  uint64_t ns;
  uint64_t sets; /* of a group: operand sets that it was computed over at once; else 1 */
} fnz_step_time;
/** Whether runs take the time of each step, which makes them slower. */
FNZ_API void fnz_workspace_take_times(fnz_workspace *workspace, bool on);
/** *count steps of the last run that took times; borrowed until the next run. */
FNZ_API const fnz_step_time *fnz_workspace_times(const fnz_workspace *workspace, size_t *count);

/* --- State ------------------------------------------------------------------------------------ */
/** Memory of its own with the program's initial values; what the file has no data for must come
 * from fnz_executable_state_read() before the first run, which fails with REF otherwise.
 * out  ends with fnz_executable_state_destroy(), before the executable. NULL on failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_create(fnz_context *ctx,
                                                              const fnz_executable *exe,
                                                              fnz_executable_state **out);
/** Over the caller's memory, which holds what the state begins with and outlives it: one per STATE
 * slot, with the recorded strides. On a GPU without `staging` it lies there, at multiples of 16
 * bytes from the first element of the storage on, and is ready when a run begins.
 * out  as above. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_over(fnz_context *ctx,
                                                            const fnz_executable *exe,
                                                            const fnz_memory *memories,
                                                            fnz_executable_state **out);
/** Before the executable. NULL is allowed. */
FNZ_API void fnz_executable_state_destroy(fnz_executable_state *state);

/** The memory of a STATE slot, by its name or by that without the kind: "cache". NULL data for
 * none. It may be read and written between runs. On a GPU without `staging` it lies there; with it,
 * it is the CPU's, and is copied back and forth in each run from then on. */
FNZ_API fnz_memory fnz_executable_state_find(const fnz_executable_state *state, const char *name);
/** The state takes the elements of all arrays by their names. Nothing is changed on failure: REF
 * for a name that is not there, DUPLICATE for "cache" and "buffer.cache", TYPE, BOUNDS. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_read(fnz_context *ctx,
                                                            fnz_executable_state *state,
                                                            const fnz_arrays *arrays);
/** Appends what the state holds, by the names of the STATE slots. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_write(fnz_context *ctx,
                                                             const fnz_executable_state *state,
                                                             fnz_arrays *out);

/* --- What a plan is ------------------------------------------------------------------------------
 */
typedef struct fnz_plan_options {
  size_t size;        /* sizeof(fnz_plan_options) */
  bool json;          /* as an object, else as lines */
  const char *device; /* as fnz_compile() takes it, NULL for the CPU; or a kind of GPU: "sm_90" */
  const fnz_arrays *inputs; /* where sizes of inputs are symbols: named arrays as fnz_run() takes
                               them, whose sizes the plan is for; NULL: those that the program has
                               recorded. Not looked at else */
} fnz_plan_options;
#define FNZ_PLAN_OPTIONS_INIT                                                                      \
  { sizeof(fnz_plan_options), false, NULL, NULL }

/** Appends what the engine does with a functional program: each step with the bytes that it reads
 * and writes, each copy with the rule and the value that forced it, and the sums. docs/engine.md
 * says how to read it. Final values end in the memory of what they are the final values of. For a
 * GPU it says as well which kernels compute a step, with their blocks, threads, registers and
 * memory, which steps the CPU computes and why, and what is copied for them. Nothing of CUDA is
 * needed: without a GPU "cuda" is "sm_90", and registers are told where NVRTC is found.
 *
 * program  from fnz_functionalize(); borrowed.
 * options  NULL for defaults.
 * Fails with UNSUPPORTED when a node writes an argument, and where a size has no recorded number
 * and none is given, with what fnz_run() refuses inputs with, and with ARGUMENT for another device.
 */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_plan_write(fnz_context *ctx, const fnz_program *program,
                                                 const fnz_plan_options *options, fnz_buffer *out);

#ifdef __cplusplus
}
#endif
#endif
