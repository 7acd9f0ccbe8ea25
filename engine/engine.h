/* engine.h - what the files of the runner share: an executable, a workspace, and, in binding.h,
 * what a workspace has made for the sizes of a call.
 *
 *   slots.c                     what goes in and comes out, by name
 *   compile.c                   fnz_compile(), and the workspaces that an executable keeps
 *   expand.c, expand_node.c     operators that are computed by others become those
 *   workspace.c                 memory, allocator, the bindings of the last sizes
 *   bind.c, bind_plan.c         the binding for the sizes of a call: kept, or planned
 *   sizes.c                     symbolic sizes: the program for the sizes of a call
 *   late.c                      sizes that data decide: what is planned all the same
 *   trivial.c                   a plan in which every value has memory of its own
 *   fill.c                      plan -> binding: storages, arrays, steps
 *   call.c, move.c              a prebuilt call of a kernel; elements from window to window
 *   taken.c, taken.h            numbers that data decide, as operands of such steps
 *   tile/                       nodes of a group, tile by tile; groups that run at once
 *   bind_bodies.c, nested.c     bodies of nodes: bindings within a binding; such a step
 *   given.c, apart.c            what a caller gives as memory; what of it must share none
 *   execute.c                   one run: pointers, state, results
 *   frames.c, act.c             its steps, those of bodies too; one step
 *   regions.c                   nodes that the interpreter evaluates
 *   undo.c                      a failed run leaves the state as it was
 *   results.c, run.c, arrays.c  where results lie; runs with memory, with named arrays
 *   state.c                     parameters and buffers that are changed
 *   step_names.c                what the times of groups are told as
 *   verify.c                    the engine beside the interpreter
 *   pool.c                      memory that states of several executables share
 *   device/                     the same on a GPU */
#ifndef FNZI_ENG_ENGINE_H
#define FNZI_ENG_ENGINE_H

#include "engine/binding.h"
#include "run/run.h"

#include <fnz/numbers.h>

#include <stdatomic.h>

/* --- The executable --------------------------------------------------------------------------- */
/* Input k of graph 0. */
typedef struct fnzi_eng_input {
  bool is_tensor, is_number; /* neither: a literal, an object, a token */
  bool by_caller;            /* a user input, or memory that user inputs share */
  bool in_state;             /* a parameter or buffer with a final value, or of its memory */
  bool is_held;              /* in the state, and no run writes it */
  bool is_donated;
  bool is_shared;            /* another input lies in its memory */
  bool is_guarded;           /* some guard says that it shares no memory with others */
  bool is_written;           /* it has a final value */
  uint32_t memory;           /* the first input of those that share memory; k itself */
  uint32_t slot;             /* INPUT or STATE, FNZI_ENG_NONE for none */
  const fnzi_weight *weight; /* NULL: the file has no data for it */
  const char *name;          /* "buffer.cache" */
  unsigned char *copy;       /* of a weight's memory that lies at an odd address; NULL: none */
  size_t copy_bytes;
} fnzi_eng_input;

typedef struct fnzi_eng_slot {
  fnz_slot shown;
  uint32_t
      of; /* INPUT, STATE: input of graph 0; OUTPUT: output of graph 0, or of a member: input */
  bool is_member; /* OUTPUT: an input that was written through another one of its memory */
  bool is_number; /* OUTPUT: a number, which lies with the CPU */
} fnzi_eng_slot;

typedef struct fnzi_eng_slots {
  fnzi_eng_slot *data;
  size_t count, capacity;
} fnzi_eng_slots;

enum { FNZI_ENG_KEPT = 16, FNZI_ENG_BINDINGS = 8 };

struct fnz_executable {
  fnz_context *ctx; /* its own: memory of the executable comes from it, and it is not touched when
                       the executable runs */
  const fnz_program *program;
  const fnz_backend *kernels;
  int threads;
  bool unplanned, checks;
  bool staging;  /* on a device: memory of the CPU may be given */
  bool is_told;  /* its plan is told, and nothing runs */
  bool is_guest; /* the device is another one's, who ends it */
  fnzi_limits limits;
  fnzi_arena arena;
  fnzi_eng_expansion expansion; /* of a program of fixed sizes */
  fnzi_eng_input *inputs;       /* of graph 0 */
  uint32_t *owners;             /* per output of graph 0: the input whose final value it is;
                                   FNZI_ENG_NONE for none, and for one that has other sizes then */
  fnzi_eng_slots slots[3];
  bool has_symbols;
  bool by_steps;                     /* data decide sizes: graph 0 is evaluated node by node */
  bool by_numbers;                   /* data decide numbers, but no size: what gives them is */
  struct fnzi_cuda_device *device;   /* NULL: the CPU */
  _Atomic(uint64_t) *device_weights; /* per input: its address there; 0: it is not there yet */
  _Atomic(fnz_workspace *) kept[FNZI_ENG_KEPT];
};

FNZ_MUST_CHECK fnz_status fnzi_eng_slots_make(fnz_executable *exe,
                                              const fnz_compile_options *options);
/* --- compile.c: an executable that only tells of its plans; without any yet. */
FNZ_MUST_CHECK fnz_status fnzi_eng_compile_to_tell(fnz_context *ctx, const fnz_program *program,
                                                   const char *device, fnz_executable **out);
/* One for a device that is open and outlives it, without weights; the first run makes the plan. */
FNZ_MUST_CHECK fnz_status fnzi_eng_compile_on(fnz_context *ctx, const fnz_program *program,
                                              int threads, struct fnzi_cuda_device *device,
                                              fnz_executable **out);

/* Threads of Philox that a run draws by where it is given no generator; 0: it is none of Philox. */
int64_t fnzi_eng_threads_drawing(const fnz_executable *exe);

/* --- Memory of a workspace -------------------------------------------------------------------- */
/* Blocks by size; freed ones are kept for the next of their class, so that what runs again and
 * again allocates nothing. */
enum { FNZI_ENG_CLASSES = 256 };
typedef struct fnzi_eng_cache {
  fnz_allocator from;
  void *freed[FNZI_ENG_CLASSES];
} fnzi_eng_cache;

struct fnz_workspace {
  const fnz_executable *exe;
  fnzi_eng_cache cache;
  fnz_context *ctx; /* its own, over the cache */
  fnz_backend *backend;
  fnzi_krn_machine *machine;
  fnzi_arena arena;   /* as long as the workspace */
  fnzi_arena scratch; /* of the kernel that runs */
  fnzi_arena calling; /* of a call: where its outputs go */
  fnzi_arena passing; /* of the run: what is needed to tell its results */
  fnzi_eng_binding bindings[FNZI_ENG_BINDINGS];
  const fnzi_eng_binding *ran; /* the one that ran last; NULL */
  uint64_t runs;
  fnzi_eng_given *given; /* per input */
  fnz_geometry *layouts; /* per input: of memory of the caller */
  fnzi_eng_out *outs;    /* per OUTPUT slot */
  fnzi_eng_out room;     /* the arena, where it is the caller's: without a layout */
  uint32_t *order;       /* inputs, outputs and the arena, in the order of their addresses in the
                            last run */
  unsigned char *block;  /* of the arena and of results */
  size_t block_bytes;
  fnzi_run_steps *steps; /* the interpreter at work; NULL */
  fnz_geometry *old; /* per output of graph 0, in `passing`: those that lay in a state before it */
  void **old_rows;   /* got its final values; NULL, or NULL for one: the others */
  unsigned char *kept; /* what the state held before the run */
  size_t kept_bytes;
  const fnz_executable_state *state; /* of the run; NULL */
  void *stream;                      /* of the device; NULL; of a guest it is lent for a run */
  bool lags; /* nobody waits for what a run has put on the stream: all that is put there later comes
                behind it */
  uint64_t device_block, replaced; /* memory there: engine/device/room.c */
  size_t device_bytes;
  bool host_absent;               /* the CPU has no part in the run, and no memory for it */
  bool on_device;                 /* the run is given memory of the device: */
  uint64_t *device_in;            /* per input of graph 0: where it lies there; 0: with the CPU */
  uint64_t *device_out;           /* per output of graph 0: the same */
  uint64_t *known_in, *known_out; /* per slot: an address that is known to lie there; 0: none */
  uint64_t device_results;        /* room there for results that the caller has none for, */
  size_t device_results_bytes;
  fnzi_eng_addresses device_late; /* and for those whose sizes data decide */
  unsigned char *shadow;          /* room of the CPU for inputs that lie there */
  size_t shadow_bytes;
  unsigned char *pinned; /* what is small and copied between, as copies like it */
  size_t pinned_bytes;
  const fnzi_eng_binding *filled; /* whose flag and outputs on the device are as they have to be, */
  size_t filled_to;               /* up to here; NULL: nobody's */
  unsigned char *staging;         /* what is copied between, packed */
  size_t staging_bytes;
  size_t device_step, device_done; /* the step that is put on the stream, and that before which all
                                      is known to be computed */
  size_t entered;                  /* bodies, in this run */
  uint32_t refusing;               /* the node that refuses a number, and 1; 0: that of the step */
  struct fnzi_eng_met *met;        /* what sizes have in common there: engine/device/met.c */
  bool takes_times;
  fnz_step_time *times;
  size_t ntimes, times_room;
};

/* --- Functions ---------------------------------------------------------------------------------
 */
/* Makes a workspace; `ctx` gets errors. */
FNZ_MUST_CHECK fnz_status fnzi_eng_workspace_create(const fnz_executable *exe, fnz_context *ctx,
                                                    fnz_workspace **out);
/* One that the executable keeps, or a new one; and back. */
FNZ_MUST_CHECK fnz_status fnzi_eng_workspace_take(const fnz_executable *exe, fnz_context *ctx,
                                                  fnz_workspace **out);
void fnzi_eng_workspace_give(const fnz_executable *exe, fnz_workspace *ws);
/* The failure of the workspace's context as one of the caller's. */
fnz_status fnzi_eng_told(fnz_context *ctx, const fnz_workspace *ws, fnz_status status);

/* The binding for what ws->given says; made when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_eng_binding_find(fnz_workspace *ws, bool with_state,
                                                fnzi_eng_binding **out);
void fnzi_eng_binding_end(fnz_workspace *ws, fnzi_eng_binding *b);
/* --- bind_plan.c: one without a device, in zeroed memory; and its end. */
FNZ_MUST_CHECK fnz_status fnzi_eng_binding_plan(fnz_workspace *ws, fnzi_eng_binding *b,
                                                bool with_state);
void fnzi_eng_binding_drop(fnz_workspace *ws, fnzi_eng_binding *b);
/* Of what a run on a GPU draws from, that it has been given or would have. */
int64_t fnzi_eng_threads_of(const fnz_workspace *ws);
/* The buffer whose storage it is; FNZI_ENG_NONE for what is no buffer's. */
static inline uint32_t fnzi_eng_buffer_of(const fnzi_eng_binding *b,
                                          const fnzi_krn_storage *storage) {
  uintptr_t first = (uintptr_t)b->storages, at = (uintptr_t)storage;
  if (at < first || (at - first) / sizeof *storage >= b->plan.buffers.count)
    return FNZI_ENG_NONE;
  return (uint32_t)((at - first) / sizeof *storage);
}
/* Makes the steps of a binding whose plan, storages and arrays are there. */
FNZ_MUST_CHECK fnz_status fnzi_eng_call_make(fnz_workspace *ws, fnzi_eng_binding *b,
                                             const fnzi_eng_step *step);
void fnzi_eng_owns_end(fnz_workspace *ws, fnzi_eng_binding *b);
/* The call of a node, whose values have arrays; in `arena`. *known: of all like it; NULL. */
FNZ_MUST_CHECK fnz_status fnzi_eng_node_call(fnz_workspace *ws, fnzi_eng_binding *b,
                                             fnzi_arena *arena, uint32_t node, fnzi_krn_call *out,
                                             fnzi_eng_shaped **known);

/* Tiles (tile.h): of a group, or a call that may run as one; a run, with the registers of the
 * binding. */
FNZ_MUST_CHECK fnz_status fnzi_eng_tile_of_group(fnz_workspace *ws, fnzi_eng_binding *b,
                                                 const fnzi_eng_step *step);
FNZ_MUST_CHECK fnz_status fnzi_eng_tile_registers(fnzi_eng_binding *b);
void fnzi_eng_tile_run(const fnzi_eng_tile *tile, unsigned char *registers);
/* Tables for the tiles that run at once, when all acts are made; a run of one of them. */
FNZ_MUST_CHECK fnz_status fnzi_eng_sets_make(fnz_workspace *ws, fnzi_eng_binding *b);
void fnzi_eng_sets_run(const fnzi_eng_sets *sets, unsigned char *registers);
/* A node that has no step of its own: its operator takes these arguments. */
FNZ_MUST_CHECK fnz_status fnzi_eng_shape_check(fnz_workspace *ws, fnzi_eng_binding *b,
                                               uint32_t node);

/* `from` and `to`: windows of the same sizes and element. */
FNZ_MUST_CHECK fnz_status fnzi_eng_move_make(fnzi_arena *arena, const fnz_geometry *from,
                                             const fnz_geometry *to, fnzi_eng_move *out);
void fnzi_eng_move_run(const fnzi_eng_move *move);
void fnzi_eng_elements_move(const fnz_geometry *from, const unsigned char *from_start,
                            const fnz_geometry *to, unsigned char *to_start);

/* Elements of input k after a run, of the memory that other inputs have final values of, row-major.
 */
FNZ_MUST_CHECK fnz_status fnzi_eng_member(fnz_workspace *ws, fnzi_eng_binding *b, uint32_t k,
                                          void *out);

/* A run of `b` with ws->given; `outs` per output of graph 0: memory for the row-major elements,
 * NULL: the workspace's. */
FNZ_MUST_CHECK fnz_status fnzi_eng_execute(fnz_workspace *ws, fnzi_eng_binding *b, void *arena,
                                           unsigned char *const *outs);
/* Where output k of graph 0 lies after a run: its window and the start of its memory; a number as a
 * tensor without dimensions. */
FNZ_MUST_CHECK fnz_status fnzi_eng_result(fnz_workspace *ws, fnzi_eng_binding *b, uint32_t k,
                                          const fnz_geometry **layout, unsigned char **start);

/* Weights and state: what does not come with a call. */
FNZ_MUST_CHECK fnz_status fnzi_eng_given_weights(fnz_workspace *ws,
                                                 const fnz_executable_state *state);
/* What the interpreter has bound to input k, unless that is the file's own weight. */
FNZ_MUST_CHECK fnz_status fnzi_eng_given_bound(fnz_workspace *ws, const fnzi_run_binding *b,
                                               uint32_t k);
/* fnz_executable_run() with the weights that are bound, without a state. */
FNZ_MUST_CHECK fnz_status fnzi_eng_run_bound(const fnz_executable *exe, fnz_context *ctx,
                                             const fnz_execution *run, const fnzi_run_state *bound);
/* What is given, and asked for, lies with the CPU: ARGUMENT with its name where it may not. */
FNZ_MUST_CHECK fnz_status fnzi_eng_staging_check(fnz_workspace *ws);
/* Inputs that are in ws->state begin where it has them now. */
void fnzi_eng_given_state(fnz_workspace *ws);
/* What a caller gives as memory. */
FNZ_MUST_CHECK fnz_status fnzi_eng_given_inputs(fnz_workspace *ws, const fnz_memory *inputs);
/* --- apart.c */
FNZ_MUST_CHECK fnz_status fnzi_eng_apart_find(fnz_executable *exe);
/* Memory of ws->given, ws->outs and ws->room; OVERLAP. */
FNZ_MUST_CHECK fnz_status fnzi_eng_apart_check(fnz_workspace *ws, bool with_state);
/* Memory for OUTPUT slot i, with that geometry: BOUNDS, OVERLAP, ARGUMENT, or it is in ws->outs. */
FNZ_MUST_CHECK fnz_status fnzi_eng_apart_take(fnz_workspace *ws, size_t i, const void *data,
                                              const fnz_geometry *layout);

/* An array as the interpreter's numbers take one: with the sizes of what is given. */
FNZ_MUST_CHECK fnz_status fnzi_eng_given_arrays(fnz_workspace *ws, fnzi_arena *arena,
                                                fnz_array **out);

/* Bytes up to the end of the last element; BOUNDS. */
FNZ_MUST_CHECK fnz_status fnzi_eng_extent_bytes(fnz_context *ctx, const fnz_geometry *g,
                                                size_t *out);

/* --- undo.c: what the state held, where a step may fail after it was written */
/* What it refuses, it has refused before it runs. */
bool fnzi_eng_never_fails(const fnzi_eng_act *act);
/* A step of a body may fail after a result of it was written; `repeats`: the body runs again. */
FNZ_MUST_CHECK fnz_status fnzi_eng_undo_late(fnz_context *ctx, fnzi_eng_binding *b, bool repeats,
                                             bool *late);
/* `most_bodies`: that a run may enter. */
FNZ_MUST_CHECK fnz_status fnzi_eng_undo_plan(fnz_context *ctx, fnzi_eng_binding *b,
                                             size_t most_bodies);
FNZ_MUST_CHECK fnz_status fnzi_eng_undo_keep(fnz_workspace *ws, const fnzi_eng_binding *b);
void fnzi_eng_undo(const fnz_workspace *ws, const fnzi_eng_binding *b);

/* --- step_names.c */
/* Of a group, which is several nodes; until the next run. */
FNZ_MUST_CHECK fnz_status fnzi_eng_step_names(fnz_workspace *ws, const fnzi_eng_binding *b,
                                              const fnzi_eng_step *step, fnz_step_time *time);

/* --- expand.c */
/* `kernels`: a backend whose registered kernels compute operators that are not taken apart then;
 * NULL for none. `out` ends with fnzi_eng_expansion_end(). */
FNZ_MUST_CHECK fnz_status fnzi_eng_expand(fnz_context *ctx, const fnz_program *program,
                                          const fnz_backend *kernels, fnzi_eng_expansion *out);
void fnzi_eng_expansion_end(fnzi_eng_expansion *expansion);
/* The node of the program that was taken apart. */
uint32_t fnzi_eng_part_of(const uint32_t *const *parts, uint32_t graph, uint32_t node);
/* The node of `whole` that a node of `program` is, or is a part or an item of; FNZI_ENG_NONE. */
uint32_t fnzi_eng_whole_node(const fnzi_eng_binding *b, uint32_t node);
/* "node 3 (add.Tensor)", of `whole` where that is known. */
void fnzi_eng_place_of(const fnzi_eng_binding *b, uint32_t node, char out[160]);

/* --- bind_bodies.c, nested.c, frames.c: bodies as bindings within a binding */
/* Bindings for the bodies that are planned, and what connects them. */
FNZ_MUST_CHECK fnz_status fnzi_eng_nested_bind(fnz_workspace *ws, fnzi_eng_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_eng_nested_act(fnz_workspace *ws, fnzi_eng_binding *b,
                                              const fnzi_eng_step *step);
void fnzi_eng_nested_end(fnz_workspace *ws, fnzi_eng_binding *b);
/* --- fill.c: storages, arrays and acts of a binding that has a plan; ends them and the plan. */
FNZ_MUST_CHECK fnz_status fnzi_eng_binding_fill(fnz_workspace *ws, fnzi_eng_binding *b);
void fnzi_eng_binding_clear(fnz_workspace *ws, fnzi_eng_binding *b);
/* --- frames.c: before a run; all acts, or one, with those of its bodies. */
FNZ_MUST_CHECK fnz_status fnzi_eng_frames_open(fnz_workspace *ws, fnzi_eng_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_eng_frames_run(fnz_workspace *ws, fnzi_eng_binding *b);
FNZ_MUST_CHECK fnz_status fnzi_eng_frames_run_act(fnz_workspace *ws, fnzi_eng_binding *b, size_t i);
/* Times of acts, where the workspace takes them: when one begins, and that it has ended. */
uint64_t fnzi_eng_time_now(const fnz_workspace *ws);
void fnzi_eng_time_add(fnz_workspace *ws, const fnzi_eng_binding *b, size_t act, uint64_t began);
/* One act that is no region. */
FNZ_MUST_CHECK fnz_status fnzi_eng_act_run(fnz_workspace *ws, fnzi_eng_binding *b,
                                           const fnzi_eng_act *act);

/* --- sizes.c */
FNZ_MUST_CHECK fnz_status fnzi_eng_sizes_bind(fnz_workspace *ws, fnzi_eng_binding *b);
/* As ws->given with other numbers of all symbols, near to those in one of some ways, and no memory
 * of that size. Until the next run. *found: the program takes them. */
enum { FNZI_ENG_NEAR = 5 };
FNZ_MUST_CHECK fnz_status fnzi_eng_sizes_near(fnz_workspace *ws, uint32_t way, fnzi_eng_given **out,
                                              bool *found);

/* --- late.c */
bool fnzi_eng_inputs_are_fixed(const fnz_program *program);
/* As the planner sees it: what is late is no tensor, and who touches that has no operator. */
FNZ_MUST_CHECK fnz_status fnzi_eng_late_hide(fnzi_arena *arena, const fnz_program *program,
                                             const fnz_program **out);
/* The program in the order of `arranged`, which was made of what was hidden. *kept: nodes without
 * operators are in the order that they had. */
FNZ_MUST_CHECK fnz_status fnzi_eng_late_show(fnzi_arena *arena, const fnz_program *program,
                                             const fnz_program *arranged,
                                             const fnzi_eng_order *order, bool *kept,
                                             const fnz_program **out);
/* The same, for a program of which nothing was hidden: what its values are read off. */
FNZ_MUST_CHECK fnz_status fnzi_eng_late_number(fnzi_arena *arena, const fnz_program *arranged,
                                               const fnz_program **out);

/* --- regions.c: nodes by the interpreter */
FNZ_MUST_CHECK fnz_status fnzi_eng_steps_open(fnz_workspace *ws, fnzi_eng_binding *b);
void fnzi_eng_steps_close(fnz_workspace *ws);
FNZ_MUST_CHECK fnz_status fnzi_eng_steps_run(fnz_workspace *ws, fnzi_eng_binding *b, uint32_t node);

/* Final values go into the state, where no plan moves them. */
FNZ_MUST_CHECK fnz_status fnzi_eng_steps_finish(fnz_workspace *ws, fnzi_eng_binding *b);

/* --- trivial.c */
FNZ_MUST_CHECK fnz_status fnzi_eng_plan_trivial(fnz_context *ctx, const fnz_program *program,
                                                const fnzi_eng_policy *policy, fnzi_eng_plan *out);

/* Only inputs have places, and every node is the interpreter's. */
FNZ_MUST_CHECK fnz_status fnzi_eng_plan_steps(fnz_context *ctx, const fnz_program *program,
                                              const fnzi_eng_policy *policy, fnzi_eng_plan *out);

/* --- state.c */
struct fnz_executable_state {
  const fnz_executable *exe;
  fnz_context *ctx; /* its own */
  fnzi_arena arena;
  /* Per input of graph 0: where its memory begins; NULL: it is not in the state. */
  unsigned char **starts;
  /* Per input: there are elements; a weight without data has none before they are read. */
  bool *filled;
  /* Per input that is the first of its memory: bytes up to the end of its last window; and of what
   * is owned, else 0. */
  size_t *extents, *bytes;
  struct fnzi_eng_pool *pool; /* pool.h: of states that share memory, which owns it; NULL: alone */
  struct fnzi_eng_device_state *device; /* device.h; NULL: without a device */
};

#endif
