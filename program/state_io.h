/* state_io.h - state as plain inputs and outputs: an input or weight that a program writes becomes
 * a user input, and its new value a user output whose `target` names that input. */
#ifndef FNZI_STATE_IO_H
#define FNZI_STATE_IO_H

#include "program/program.h"

/* The output is the new value of the user input that its target names. */
static inline bool fnzi_io_is_new_value(const fnz_output_spec *spec) {
  return spec->kind == FNZ_OUTPUT_USER && spec->target != NULL;
}
/* The kind of input whose new value an output is, whether that is written to it or handed back;
 * FNZI_NO_INPUT_KIND for other outputs. The spec's target names the input. */
static inline int fnzi_io_input_kind_of(const fnz_output_spec *spec) {
  const fnzi_output_kind *kind = fnzi_output_kind_of(spec);
  return fnzi_io_is_new_value(spec)           ? FNZ_INPUT_USER
         : kind->taker == FNZI_TAKEN_AS_FINAL ? kind->of
                                              : FNZI_NO_INPUT_KIND;
}
/* Some output is such a new value. */
bool fnzi_io_has_pairs(const fnz_program *p);

/* Final values become new values, behind all other outputs, in their order. Parameters and buffers
 * that have one become user inputs behind all other inputs, by the names of their values, and lose
 * their data; other weights in their memory, which no node uses, go. With keeps_buffers, buffers
 * and their final values stay as they are. For a functional program that no other thread uses yet.
 *
 * Fails with UNSUPPORTED for a final value that no value of the same type can stand for: other
 * sizes, strides or memory, and memory that several used inputs lie in. */
FNZ_MUST_CHECK fnz_status fnzi_io_make(fnz_context *ctx, fnz_program *p, bool keeps_buffers);

/* New values that nodes make get names: "k_cache_out" is that of k_cache, where that name is free.
 */
FNZ_MUST_CHECK fnz_status fnzi_io_name(fnz_program *p);

/* The other way round: a copy of `p` in which inputs that are parameters or buffers of `original`
 * are these again, with the data that the original has, and new values are final values. Inputs go
 * by the names of their values. Ends with fnz_program_destroy(); NULL on failure. */
FNZ_MUST_CHECK fnz_status fnzi_io_undo(fnz_context *ctx, const fnz_program *p,
                                       const fnz_program *original, fnz_program **out);

/* After names of values have changed (program/values.c). */
FNZ_MUST_CHECK fnz_status fnzi_values_index(fnz_program *p, uint32_t graph);
/* Ends the values that are gone, one flag per value; nothing may refer to them. The last values get
 * their numbers (program/values.c). */
FNZ_MUST_CHECK fnz_status fnzi_values_drop(fnz_program *p, uint32_t graph, const bool *gone);

#endif
