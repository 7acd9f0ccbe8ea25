/* engine.h - a program compiled once and run many times: memory is planned, views are not copied,
 * state is written in place.
 *
 * An *executable* is a functional program with the kernels that compute it. A *workspace* serves
 * one run at a time: it has plans for the sizes that it has met, their calls, and the memory of
 * values between inputs and outputs. A *state* is the memory of the parameters and buffers that
 * the program changes, from call to call.
 *
 * Results equal fnz_run()'s, bit for bit.
 *
 * Threads: an executable never changes, and any number of threads may run it, each with a context,
 * and with a workspace and a state of its own.
 *
 * A process that forks: the child may use objects that no other thread was using then; it starts
 * threads of its own. If the system refuses a thread, a run has fewer. */
#ifndef FNZ_ENGINE_H
#define FNZ_ENGINE_H

#include <fnz/arrays.h>
#include <fnz/explain.h>
#include <fnz/functionalize.h>
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
  const char *cache; /* a folder that keeps compiled kernels for a GPU for the next process, under a
                        digest of their sources; NULL: none */
  bool staging;      /* on a GPU: runs may be given memory of the CPU, which is copied there and
                        back; else that is refused */
  const char *const *held; /* parameters and buffers, by qualified name, that are in the state
                              although the program only reads them, because another program on that
                              state writes them; names that it does not have are passed over. Not on
                              a GPU: UNSUPPORTED */
  size_t nheld;
  bool in_place; /* the final value of a donated input is computed in the memory of that input.
                    There it stays, and so does a result that is the input itself, if a run gives no
                    memory for it. Ignored on a GPU */
} fnz_compile_options;
#define FNZ_COMPILE_OPTIONS_INIT                                                                   \
  { sizeof(fnz_compile_options), 0, NULL, 0, NULL, false, false, NULL, NULL, false, NULL, 0, false }

/** Makes an executable.
 *
 * program  functional (fnz_functionalize(), FNZ_STATE_OUTPUTS). Borrowed: it must outlive the
 *          executable, which reads its weights in place. On the CPU, values that depend on weights
 *          alone are computed here, up to 512 MiB; so the data of weights must not change.
 * options  NULL for defaults; everything that it points to, except `kernels`, is needed only during
 *          the call.
 * out      new; ends with fnz_executable_destroy(). NULL on failure. Its memory comes from the
 *          allocator of ctx, in whatever thread it runs.
 *
 * A program with views and no writes is taken, too: each view is computed as a copy. That is its
 * meaning, except for `as_strided`, `as_strided_copy`, `as_strided_scatter`, `sym_stride` and
 * `sym_storage_offset` of a tensor whose elements do not lie in rows.
 *
 * Fails with UNSUPPORTED for a program that writes, for these operators, and for a node without a
 * kernel (with its place). Fails with REF if a donated input does not exist, and if the plan at the
 * recorded sizes does. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_compile(fnz_context *ctx, const fnz_program *program,
                                              const fnz_compile_options *options,
                                              fnz_executable **out);
/** Destroy all of its workspaces and states first. NULL is allowed. */
FNZ_API void fnz_executable_destroy(fnz_executable *exe);

/* --- What goes in and comes out -----------------------------------------------------------------
 * INPUT   the user inputs that are tensors or symbolic integers, in order of the signature, by
 *         graph name: "x".
 * OUTPUT  the results of fnz_run(), numbers too, in its order and by its names: "output.0", then
 *         the final values, "buffer.cache". A run with a state leaves its final values there.
 * STATE   the memories of a state: parameters and buffers with a final value, and
 *         fnz_compile_options.held: "buffer.cache". */
typedef enum fnz_side { FNZ_SIDE_INPUT, FNZ_SIDE_OUTPUT, FNZ_SIDE_STATE } fnz_side;

typedef struct fnz_slot {
  const char *name;
  const fnz_geometry *geometry; /* as recorded, symbols too; NULL for a number */
  bool in_state;                /* OUTPUT: with a state it is there, and no output */
} fnz_slot;

/** How many slots a side has, and slot `k`, borrowed from the executable. All zero for k beyond the
 * count. */
FNZ_API size_t fnz_executable_count(const fnz_executable *exe, fnz_side side);
FNZ_API fnz_slot fnz_executable_slot(const fnz_executable *exe, fnz_side side, size_t k);

/* --- Running ---------------------------------------------------------------------------------- */
/** One run.
 *
 * inputs     one per INPUT slot. `data` with any strides, not copied; sizes must equal the
 *            program's, or be allowed by its symbols. For a symbolic integer `data` is one int64_t,
 *            NULL for the recorded one, and `geometry` is ignored. Inputs that share memory by the
 *            signature must be windows of one memory as recorded. Two other inputs must not overlap
 *            if one of them is written (the program's guards name it) or donated, or if the other
 *            is in the state.
 * outputs    one per OUTPUT slot. `data` NULL: the run sets it and `geometry` to the result in the
 *            workspace, which must be given; valid until its next run (but see
 *            fnz_compile_options.in_place). Else `data` is the caller's
 *            memory with the sizes and strides of `geometry`, row-major if that is NULL. A number
 *            is an int64_t, a double or a bool, by the dtype of `geometry`, of rank 0, after the
 *            run. It is in CPU memory: if `data` is given for it, it has 8 bytes, and `geometry` is
 *            NULL.
 *            Outputs must not overlap each other, an input or the state, and no two elements may
 *            share memory. As an exception, the final value of a donated input may be in the memory
 *            of that input, with its strides. Outputs in a given state are ignored.
 * state      NULL: the program's initial values are used, and final values are outputs. Else
 *            initial values are read from the state, and final values stored there.
 * workspace  NULL: one that the executable keeps for this.
 * arena      NULL: memory of the workspace. Else `arena_bytes` of the caller's memory, at least
 *            fnz_needs.arena_bytes, aligned to 64 bytes, and separate from all other memory. */
typedef struct fnz_execution {
  size_t size; /* sizeof(fnz_execution) */
  const fnz_memory *inputs;
  fnz_memory *outputs;
  fnz_executable_state *state;
  fnz_workspace *workspace;
  void *arena;
  size_t arena_bytes;
  bool on_device; /* of an executable for a GPU: `data` of inputs that are tensors and of outputs
                     are addresses there, of the device's primary context; ARGUMENT for an address
                     that the driver does not know. Inputs are read in place, and must be ready;
                     operands of CPU steps are copied. An output must be row-major; one without data
                     stays on the GPU, too. UNSUPPORTED where inputs share memory */
} fnz_execution;
#define FNZ_EXECUTION_INIT                                                                         \
  { sizeof(fnz_execution), NULL, NULL, NULL, NULL, NULL, 0, false }

/** Runs. The first run with new sizes or strides makes a plan, and in the second one convolutions
 * keep their weights in the order that they are read in. After that a run with a workspace
 * allocates nothing, unless sizes depend on data or the interpreter evaluates a body of a region.
 * After a failure the contents of outputs are undefined, and the state is unchanged. On a GPU
 * a state that may have been written before a launch, a copy or a library failed is lost: further
 * runs with it fail.
 *
 * On a GPU without on_device all memory is the CPU's, and is copied to the device and back in each
 * run. This requires an executable that was compiled with `staging`; else it fails with ARGUMENT
 * and the name of the input, output or state.
 *
 * Fails with REF (an input is missing), TYPE, BOUNDS (sizes, an index), OVERLAP, ARGUMENT, and as
 * operators do, with the node's place. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_run(fnz_context *ctx, const fnz_executable *exe,
                                                     const fnz_execution *run);

/** As fnz_run(): inputs, and weights to replace, by name; results are appended to `outputs`. Arrays
 * are memory of the CPU: on a GPU `staging` is needed.
 * state      NULL, or as above; arrays for its parameters and buffers are refused.
 * workspace  as above. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_run_arrays(
    fnz_context *ctx, const fnz_executable *exe, const fnz_arrays *inputs,
    fnz_executable_state *state, fnz_workspace *workspace, fnz_arrays *outputs);

/** Compares the executable with fnz_run(): with arrays, on memory with gaps, and with a state for
 * three calls, weights and state among the inputs too. Fails with DIFFERENT, naming the result and
 * the element, if a bit differs, or if one of them refuses inputs that the other runs. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_verify(fnz_context *ctx, const fnz_executable *exe,
                                                        const fnz_arrays *inputs);

/** Memory and work of a run with these inputs. */
typedef struct fnz_needs {
  size_t size;            /* sizeof(fnz_needs) */
  size_t arena_bytes;     /* of values between inputs and outputs */
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

/** A step of the last run; a step of a body counts all iterations together. Texts are valid until
 * the next run. For a group, which computes several nodes, `target` lists the operators of all
 * nodes, separated by commas. `of` lists the operators of the program that they are steps of,
 * consecutive equal ones once. */
typedef struct fnz_step_time {
  const char *kind; /* "kernel", "group", "move", "evaluated", "interpreted", or "region": the work
                       of a node with bodies itself */
  const char *target; /* the operator; "" for a move at the end */
  const char *of;     /* the program's operator that it is a step of; differs from `target` if that
                         operator is decomposed */
  uint64_t ns;
  uint64_t sets; /* of a group: operand sets that it was computed over at once; else 1 */
} fnz_step_time;
/** Whether runs take the time of each step, which makes them slower. */
FNZ_API void fnz_workspace_take_times(fnz_workspace *workspace, bool on);
/** *count steps of the last run that took times; borrowed until the next run. */
FNZ_API const fnz_step_time *fnz_workspace_times(const fnz_workspace *workspace, size_t *count);

/* --- State ------------------------------------------------------------------------------------ */
/** Creates a state with memory of its own and the program's initial values. Values without data in
 * the file must come from fnz_executable_state_read() before the first run, which fails with REF
 * otherwise.
 * out  ends with fnz_executable_state_destroy(), before the executable. NULL on failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_create(fnz_context *ctx,
                                                              const fnz_executable *exe,
                                                              fnz_executable_state **out);
/** Creates a state over the caller's memory, which holds the initial values and must outlive the
 * state: one memory per STATE slot, with the recorded strides. On a GPU without `staging` it is
 * memory of the GPU whose storage is aligned to 16 bytes, and must be ready when a run begins.
 * out  as above. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_over(fnz_context *ctx,
                                                            const fnz_executable *exe,
                                                            const fnz_memory *memories,
                                                            fnz_executable_state **out);
/** Creates a state that shares memory with the state of another executable: parameters and buffers
 * of one name are one memory, in which they have the contents that they have now; what only `exe`
 * has begins as in fnz_executable_state_create(). So a run with either state goes on where the last
 * one ended, as prefill and decode do (<fnz/methods.h>). A state may share with any number of
 * others, and shares with all that those share with.
 *
 * other  a state of any executable on the same device; states that share memory are one object for
 *        threads. Memory ends with the last of them, in any order; that of
 *        fnz_executable_state_over() is the caller's.
 * out    as above.
 * Fails with REF if something in either state has no data yet; with TYPE or BOUNDS, naming it, if
 * the two do not have one type, sizes and strides; with OVERLAP if memory is shared within one of
 * them and not within the other; with UNSUPPORTED on a GPU without `staging`, where
 * fnz_executable_state_over() does it. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_beside(fnz_context *ctx,
                                                              const fnz_executable *exe,
                                                              fnz_executable_state *other,
                                                              fnz_executable_state **out);
/** Destroy states before their executable. NULL is allowed. */
FNZ_API void fnz_executable_state_destroy(fnz_executable_state *state);

/** The memory of a STATE slot, by its name or without the kind: "cache". NULL data if there is
 * none. It may be read and written between runs. On a GPU without `staging` it is memory of the
 * GPU; with `staging` it is memory of the CPU, and is copied back and forth in each run from then
 * on. */
FNZ_API fnz_memory fnz_executable_state_find(const fnz_executable_state *state, const char *name);
/** Copies the elements of all arrays into the state, by name. Nothing is changed on failure: REF
 * for an unknown name, DUPLICATE for "cache" together with "buffer.cache", TYPE, BOUNDS. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_read(fnz_context *ctx,
                                                            fnz_executable_state *state,
                                                            const fnz_arrays *arrays);
/** Appends the contents of the state, by the names of the STATE slots. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_executable_state_write(fnz_context *ctx,
                                                             const fnz_executable_state *state,
                                                             fnz_arrays *out);

/* --- What a plan is --------------------------------------------------------------------------- */
typedef struct fnz_plan_options {
  size_t size;        /* sizeof(fnz_plan_options) */
  bool json;          /* as an object, else as lines */
  const char *device; /* as fnz_compile() takes it, NULL for the CPU; or a kind of GPU: "sm_90" */
  /* For inputs with symbolic sizes: named arrays as for fnz_run(), whose sizes the plan uses; NULL:
   * the recorded sizes. Ignored for fixed sizes. */
  const fnz_arrays *inputs;
  const char *sizes; /* "s0=3,s1=5": numbers of symbols instead of the recorded ones; NULL: none.
                        Not together with `inputs` */
} fnz_plan_options;
#define FNZ_PLAN_OPTIONS_INIT                                                                      \
  { sizeof(fnz_plan_options), false, NULL, NULL, NULL }

/** Appends the plan of a functional program: each step with the bytes that it reads and writes,
 * each copy with the rule and the value that forced it, and the sums. Final values are in the
 * memory of their parameter, buffer or input. docs/copies.md explains the lines. For a GPU it also
 * prints the kernels of each step, with their blocks, threads, registers and memory, the steps that
 * run on the CPU with the reason, and their copies (docs/gpu.md). Nothing of CUDA is needed:
 * without a GPU "cuda" is "sm_90", and registers are printed if NVRTC is found.
 *
 * program  from fnz_functionalize(); borrowed.
 * options  NULL for defaults.
 * Fails with UNSUPPORTED if a node writes an argument, or if a size has neither a recorded number
 * nor a given one; as fnz_run() for inputs that it refuses; with ARGUMENT for another device, and
 * for inputs together with sizes. Fails for `sizes` with SYNTAX in another form, with REF for a
 * symbol that the program does not have, and with BOUNDS for a number that a range or a guard
 * excludes. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_plan_write(fnz_context *ctx, const fnz_program *program,
                                                 const fnz_plan_options *options, fnz_buffer *out);

/* --- What a run copies ---------------------------------------------------------------------------
 * Costs of the plan: bytes that a run moves. A functional program has a node for each view, but a
 * run copies only what its plan says. */
typedef struct fnz_costs fnz_costs;

/** Sums over a run. Bodies of regions count as if they had one iteration. */
typedef struct fnz_cost_sums {
  size_t size;        /* sizeof(fnz_cost_sums) */
  uint64_t copied;    /* bytes of costs of kind COPY */
  uint64_t joined;    /* of kind JOIN */
  uint64_t moved;     /* bytes that all steps read and write, without bodies */
  size_t copies;      /* of kind COPY */
  size_t interpreted; /* steps that the interpreter evaluates; their copies are not known */
} fnz_cost_sums;
#define FNZ_COST_SUMS_INIT                                                                         \
  { sizeof(fnz_cost_sums), 0, 0, 0, 0, 0 }

typedef struct fnz_costs_options {
  size_t size; /* sizeof(fnz_costs_options) */
  /* The program that was functionalized, and where nodes come from: entries name the modules of
   * the model, and layers are recognised. NULL: they name none. */
  const fnz_program *original;
  const fnz_origins *origins;
  const fnz_plan_options *plan; /* its inputs or sizes; the rest is ignored; NULL for defaults */
} fnz_costs_options;
#define FNZ_COSTS_OPTIONS_INIT                                                                     \
  { sizeof(fnz_costs_options), NULL, NULL, NULL }

/** Finds what a run on the CPU copies, with the state in place.
 *
 * program  from fnz_functionalize(); borrowed for the call.
 * options  NULL for defaults.
 * out      new; ends with fnz_costs_destroy(). NULL on failure.
 * Fails with UNSUPPORTED if the engine cannot run the program (a node without a kernel, named), if
 * it has no plan for it, and as fnz_plan_write(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_costs_find(fnz_context *ctx, const fnz_program *program,
                                                 const fnz_costs_options *options, fnz_costs **out);
/** NULL is allowed. */
FNZ_API void fnz_costs_destroy(fnz_costs *costs);
FNZ_API size_t fnz_costs_count(const fnz_costs *costs);
/** NULL beyond the last one. The most bytes come first. */
FNZ_API const fnz_cost *fnz_costs_at(const fnz_costs *costs, size_t index);
/** Fills the fields that the caller's structure has. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_costs_get_sums(fnz_context *ctx, const fnz_costs *costs,
                                                     fnz_cost_sums *out);
/** The sizes that the plan is for, "s0 = 3"; "" if sizes are fixed. */
FNZ_API const char *fnz_costs_sizes(const fnz_costs *costs);
/** The bytes that a node of the functional program alone costs, and the entry that they are part
 * of; 0 and NULL: a run moves nothing for it. */
FNZ_API uint64_t fnz_costs_of_node(const fnz_costs *costs, size_t graph, size_t node,
                                   const fnz_cost **entry);

/** As fnz_lint(), but the findings of kind COPY are what a run copies, and there are none of kind
 * SCATTER. If the engine has no plan, the result is fnz_lint()'s, and fnz_findings_no_run() says
 * why.
 *
 * plan  as in fnz_costs_options. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_lint_run(fnz_context *ctx, const fnz_program *program,
                                               const fnz_functionalize_options *options,
                                               const fnz_plan_options *plan, fnz_findings **out);

/* --- Stages ----------------------------------------------------------------------------------- */
/** Returns the name of stage `k`, in the order in which a program passes them, or NULL after the
 * last one:
 *
 *   tape         the calls that the pass recorded, before anything is simplified
 *   simplified   the functional program
 *   decomposed   operators that the engine computes by others are those
 *   arranged     nodes of a group are adjacent, operators on lists are split into items
 *   groups       the steps of the plan, each with its nodes
 *   places       the plan: locations and copies, as fnz_plan_write() prints it
 */
FNZ_API const char *fnz_stage_name(size_t k);

/** Appends a program as text, as it is after a stage. Stages after `simplified` need fixed sizes:
 * symbols of inputs get their recorded numbers.
 *
 * program  as read; borrowed.
 * options  of functionalizing; NULL for defaults. Views of a tape are always copies.
 * Fails with ARGUMENT if no stage is called `stage`; as fnz_functionalize() and fnz_plan_write().
 */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_stage_write(fnz_context *ctx, const fnz_program *program,
                                                  const fnz_functionalize_options *options,
                                                  const char *stage, fnz_buffer *out);

#ifdef __cplusplus
}
#endif
#endif
