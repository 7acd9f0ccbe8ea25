/* steps.h - turns the steps of a plan into prebuilt calls and moves, and finds their operands.
 *
 *   slots.c               inputs, outputs and state of an executable, by name
 *   expand.c              decomposes operators into others
 *   sizes.c               symbolic sizes: the program for the sizes of a call
 *   heads.c               attention whose key and value only repeat heads
 *   late.c                data-dependent sizes: hides their values from the planner
 *   trivial.c             a plan in which every value has memory of its own
 *   call.c, move.c        a prebuilt call of a kernel; elements from window to window
 *   scalars.c, scalars.h  data-dependent scalars as operands of such steps
 *   inputs.c, overlap.c   memory that a caller gives; which of it must not overlap
 *   results.c             locations of results
 *   step_names.c          names of groups in measured times
 *
 * Functions run in the thread that has the workspace, or in that which compiles. Results are in the
 * arena of the binding or the given one, and live as long as it. Failures are in the context of the
 * workspace or executable: NOMEM, INTERNAL for a plan that does not fit its program, and the
 * classes that a comment names. */
#ifndef FNZI_STP_STEPS_H
#define FNZI_STP_STEPS_H

#include "engine/steps/executable.h"

/* Returns the buffer of a storage, or FNZI_PLN_NONE. */
static inline uint32_t fnzi_stp_buffer_of(const fnzi_stp_binding *b,
                                          const fnzi_krn_storage *storage) {
  uintptr_t first = (uintptr_t)b->storages, at = (uintptr_t)storage;
  if (at < first || (at - first) / sizeof *storage >= b->plan.buffers.count)
    return FNZI_PLN_NONE;
  return (uint32_t)((at - first) / sizeof *storage);
}

/* Grows memory of the workspace to at least `least` bytes. If it grows, its content is lost. */
FNZ_MUST_CHECK static inline fnz_status fnzi_stp_enlarge(fnz_workspace *ws, unsigned char **memory,
                                                         size_t *bytes, size_t least) {
  if (least <= *bytes)
    return FNZ_OK;
  fnzi_free(ws->ctx, *memory, *bytes);
  *bytes = 0;
  *memory = fnzi_resize(ws->ctx, NULL, 0, least);
  if (!*memory)
    return fnzi_no_memory(ws->ctx);
  *bytes = least;
  return FNZ_OK;
}

/* --- slots.c */
FNZ_MUST_CHECK fnz_status fnzi_stp_slots_make(fnz_executable *exe,
                                              const fnz_compile_options *options);

/* --- heads.c */
/* Returns whether the node is an attention whose key and value only repeat heads of other values.
 * heads: these two values. */
bool fnzi_stp_heads_find(const fnzi_graph *g, const fnzi_node *n, uint64_t heads[2]);
/* Makes the same attention over the heads themselves, with enable_gqa. */
FNZ_MUST_CHECK fnz_status fnzi_stp_heads_join(fnzi_arena *arena, const fnzi_node *n,
                                              const uint64_t heads[2], fnzi_node *out);
/* Sets (*unread)[n] for each node that repeats heads for such attentions and nothing else. */
FNZ_MUST_CHECK fnz_status fnzi_stp_heads_mark(fnzi_arena *arena, const fnzi_graph *g,
                                              bool **unread);

/* --- expand.c */
/* Decomposes operators that have no kernel of their own. `kernels`: operators with a kernel that is
 * registered there are not decomposed; NULL: none is. `on_cpu`: also decomposes operators that
 * groups compute faster. Destroy `out` by fnzi_stp_expansion_end(). */
FNZ_MUST_CHECK fnz_status fnzi_stp_expand(fnz_context *ctx, const fnz_program *program,
                                          const fnz_backend *kernels, bool on_cpu,
                                          fnzi_stp_expansion *out);
void fnzi_stp_expansion_end(fnzi_stp_expansion *expansion);
/* Returns the node that `node` is a part of; `node` itself if it was not decomposed. */
uint32_t fnzi_stp_part_of(const uint32_t *const *parts, uint32_t graph, uint32_t node);
/* Returns the node of b->whole that a node of b->program is a part or a list item of, or is itself;
 * FNZI_PLN_NONE: it is not known. */
uint32_t fnzi_stp_whole_node(const fnzi_stp_binding *b, uint32_t node);
/* Writes "node 3 (add.Tensor)", of `whole` if that is known. */
void fnzi_stp_node_text(const fnzi_stp_binding *b, uint32_t node, char out[160]);
/* Adds the location of the node to the message of an error. */
static inline fnz_status fnzi_stp_at_node(const fnz_workspace *ws, const fnzi_stp_binding *b,
                                          uint32_t node, fnz_status status) {
  char where[160] = "";
  if (status == FNZ_OK)
    return FNZ_OK;
  if (node != FNZI_PLN_NONE)
    fnzi_stp_node_text(b, node, where);
  return fnzi_at(ws->ctx, status, "%s", where);
}

/* --- sizes.c */
/* Instantiates the program for the sizes of ws->inputs: sets b->program. */
FNZ_MUST_CHECK fnz_status fnzi_stp_sizes_bind(fnz_workspace *ws, fnzi_stp_binding *b);
/* Copies ws->inputs with other values of all symbols, and without addresses of memory. The copy is
 * valid until the next run. `choice`: which values, 0 to FNZI_STP_NEAR - 1. *found: the program
 * accepts them. */
enum { FNZI_STP_NEAR = 5 };
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_stp_sizes_near(fnz_workspace *ws, uint32_t choice,
                                                          fnzi_stp_run_input **out, bool *found);
/* Makes an array of the given sizes, as the interpreter takes its inputs. */
FNZ_MUST_CHECK fnz_status fnzi_stp_input_arrays(fnz_workspace *ws, fnzi_arena *arena,
                                                fnz_array **out);

/* --- late.c */
FNZI_SHARED bool fnzi_stp_inputs_are_fixed(const fnz_program *program);
/* Hides data-dependent sizes from the planner: in the new program a value of such a size is no
 * tensor, and nodes that use one have no operator. */
FNZ_MUST_CHECK fnz_status fnzi_stp_late_hide(fnzi_arena *arena, const fnz_program *program,
                                             const fnz_program **out);
/* Returns `program` in the order of `arranged`, which was made from the result of
 * fnzi_stp_late_hide(). *kept: nodes without operators are still in their order. */
FNZ_MUST_CHECK fnz_status fnzi_stp_late_show(fnzi_arena *arena, const fnz_program *program,
                                             const fnz_program *arranged,
                                             const fnzi_pln_order *order, bool *in_order,
                                             const fnz_program **out);
/* The same for a program in which nothing was hidden: numbers the nodes of values again. */
FNZ_MUST_CHECK fnz_status fnzi_stp_late_renumber(fnzi_arena *arena, const fnz_program *arranged,
                                                 const fnz_program **out);

/* --- trivial.c */
/* Plans a program without the planner: each value has memory of its own. `interpreted`: only inputs
 * have locations, and the interpreter evaluates every node. */
FNZ_MUST_CHECK fnz_status fnzi_stp_plan_trivial(fnz_context *ctx, const fnz_program *program,
                                                const fnzi_pln_policy *policy, bool interpreted,
                                                fnzi_pln_plan *out);

/* --- call.c */
/* Makes the prebuilt calls of a step. The binding has a plan, storages and arrays already. */
FNZ_MUST_CHECK fnz_status fnzi_stp_call_make(fnz_workspace *ws, fnzi_stp_binding *b,
                                             const fnzi_pln_step *step);
void fnzi_stp_prepared_end(fnz_workspace *ws, fnzi_stp_binding *b);
/* Makes the call of a node whose values have arrays, in `arena`. *known: facts about the nodes of
 * its kind, NULL before the first one. */
FNZ_MUST_CHECK fnz_status fnzi_stp_node_call(fnz_workspace *ws, fnzi_stp_binding *b,
                                             fnzi_arena *arena, uint32_t node, fnzi_krn_call *out,
                                             fnzi_stp_kind_facts **known);
/* Checks a node that has no step of its own: does its operator accept these arguments? */
FNZ_MUST_CHECK fnz_status fnzi_stp_shape_check(fnz_workspace *ws, fnzi_stp_binding *b,
                                               uint32_t node);

/* --- move.c */
/* Makes a move between windows of the same sizes and element size. */
FNZ_MUST_CHECK fnz_status fnzi_stp_move_make(fnzi_arena *arena, const fnz_geometry *from,
                                             const fnz_geometry *to, fnzi_stp_move *out);
void fnzi_stp_move_run(const fnzi_stp_move *move);
FNZI_SHARED void fnzi_stp_elements_move(const fnz_geometry *from, const unsigned char *from_start,
                                        const fnz_geometry *to, unsigned char *to_start);
/* Copies elements to row-major memory. */
void fnzi_stp_elements_pack(const fnz_geometry *from, const unsigned char *from_start, void *rows);

/* --- inputs.c */
/* Sets ws->inputs for weights and state: memory that does not come with a call. */
FNZ_MUST_CHECK fnz_status fnzi_stp_inputs_set_weights(fnz_workspace *ws,
                                                      const fnz_executable_state *state);
/* Takes the array that the interpreter has bound to input k, unless it is the file's own weight. */
FNZ_MUST_CHECK fnz_status fnzi_stp_inputs_set_bound(fnz_workspace *ws, const fnzi_run_binding *b,
                                                    uint32_t k);
/* Fails with ARGUMENT if an input or output is in memory of the CPU and the executable has no
 * `staging`. */
FNZ_MUST_CHECK fnz_status fnzi_stp_staging_check(fnz_workspace *ws);
/* Sets ws->inputs for inputs of the state to its addresses. */
FNZI_SHARED void fnzi_stp_inputs_set_state(fnz_workspace *ws);
/* Sets ws->inputs to memory of the caller. */
FNZ_MUST_CHECK fnz_status fnzi_stp_inputs_set(fnz_workspace *ws, const fnz_memory *inputs);
/* Computes the bytes up to the end of the last element. Fails with BOUNDS if an element is before
 * the start, and with OVERFLOW. */
FNZ_MUST_CHECK fnz_status fnzi_stp_extent_bytes(fnz_context *ctx, const fnz_geometry *g,
                                                size_t *out);

/* --- overlap.c */
/* Sets is_written and is_guarded of the inputs. */
FNZ_MUST_CHECK fnz_status fnzi_stp_overlap_open(fnz_executable *exe);
/* Fails with OVERLAP if ws->inputs, ws->outputs and ws->arena_memory share memory that they must
 * not. */
FNZ_MUST_CHECK fnz_status fnzi_stp_overlap_check(fnz_workspace *ws, bool with_state);
/* Sets ws->outputs for OUTPUT slot i to memory of the caller. Fails with BOUNDS, OVERLAP or
 * ARGUMENT.
 */
FNZ_MUST_CHECK fnz_status fnzi_stp_output_set(fnz_workspace *ws, size_t i, const void *data,
                                              const fnz_geometry *layout);

/* --- results.c */
/* Returns the location of output k of graph 0 after a run: its window and the start of its memory.
 * A scalar is a tensor without dimensions. */
FNZ_MUST_CHECK fnz_status fnzi_stp_result(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t k,
                                          const fnz_geometry **layout, unsigned char **start);

/* --- step_names.c */
/* Sets the names of a group's nodes in `time`. They are valid until the next run. */
FNZ_MUST_CHECK fnz_status fnzi_stp_step_names(fnz_workspace *ws, const fnzi_stp_binding *b,
                                              const fnzi_pln_step *step, fnz_step_time *time);

#endif
