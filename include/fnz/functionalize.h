/* functionalize.h - rewriting a program so that nothing aliases and nothing is written in place.
 *
 * <fnz/run.h> runs programs, <fnz/verify.h> compares them, <fnz/rules.h> says what becomes of an
 * operator. */
#ifndef FNZ_FUNCTIONALIZE_H
#define FNZ_FUNCTIONALIZE_H

#include <fnz/program.h>
#include <fnz/verify.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fnz_views {
  FNZ_VIEWS_COPY = 0, /* `*_copy` and `*_scatter`: no result shares memory with an argument, but at
                         the end by FNZ_STATE_EPILOGUE */
  /* Real view operators stay where they read, mutations go. A copy is a view and a clone: `*_copy`
   * operators stay only if a view has other bits, as _conj, or if one of no elements has another
   * dtype. */
  FNZ_VIEWS_KEEP = 1,
  /* As COPY, but every window is read from the whole of its storage by one `as_strided_copy` and
   * put back by one `as_strided_scatter`, with eager's sizes, strides and offset. */
  FNZ_VIEWS_STRIDED = 2
} fnz_views;

typedef enum fnz_state {
  FNZ_STATE_OUTPUTS = 0, /* final values are leading outputs */
  /* The last nodes write them: `as_strided_` for other sizes and strides, `copy_` for elements.
   * These write inputs, nothing else writes. A final value may be the old one except in some
   * windows. Then only the windows are written, unless a view is denied: views of the input, in
   * every dialect, stand right before the `copy_` into the last of them. Nothing else reads them.
   */
  FNZ_STATE_EPILOGUE = 1,
  /* The caller holds the state: parameters and buffers that are written are user inputs behind all
   * others, and each final value, of a user input too, is a user output behind all others whose
   * spec has the input's name as `target`. The program has no data for these inputs any more: the
   * caller passes the data of fnz_program_weight() of the original, or any other. */
  FNZ_STATE_IO = 2,
  /* Buffers stay the program's, and their final values are leading outputs. The caller holds
   * parameters that are written, as with IO, and each final value of a user input is a user output
   * behind all others. */
  FNZ_STATE_BUFFERS = 3
} fnz_state;

typedef struct fnz_origins fnz_origins; /* <fnz/explain.h> */

typedef struct fnz_functionalize_options {
  size_t size; /* sizeof(fnz_functionalize_options) */
  fnz_views views;
  fnz_state state;
  /* Names of operators that the result must not have: "slice_scatter" for all overloads,
   * "add.Tensor", "slice_scatter.default" for one. "aten::" and "aten." before them say nothing. A
   * name that no operator of the table, the context or the program has is refused, as REF. */
  const char *const *deny;
  size_t ndeny;
  /** Checks the result for programs with symbolic sizes: compares it with the original at sizes
   * where other decisions may be right, as fnz_verify_hashes() does, without a report; and the
   * original with itself, to see whether it runs there. If the check fails, a guard excludes such
   * sizes. NULL: guards exclude all sizes at which the pass would make other nodes. */
  fnz_status (*check)(fnz_context *ctx, const fnz_program *original, const fnz_program *functional,
                      const fnz_verify_options *options, fnz_verify_report *report);
  /** Checks recorded types of a program that was read and not checked yet; with symbolic sizes at
   * each choice of sizes that is tried, too. If types recorded there differ from the results of its
   * operators, a guard excludes such sizes, or the program is refused. NULL: recorded types are
   * trusted. */
  fnz_status (*check_types)(fnz_context *ctx, const fnz_program *program, fnz_unruled_fn *unruled,
                            void *user);
  /** Receives where each node of the result comes from (<fnz/explain.h>): new, ends with
   * fnz_origins_destroy() before the context does; NULL on failure. NULL: not wanted. fnz_lint()
   * does not look at it. */
  fnz_origins **origins;
} fnz_functionalize_options;
#define FNZ_FUNCTIONALIZE_OPTIONS_INIT                                                             \
  {                                                                                                \
    sizeof(fnz_functionalize_options), FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS, NULL, 0,                 \
        fnz_verify_hashes, fnz_program_check_types, NULL                                           \
  }

/** Rewrites a program so that no operator writes an argument and (unless FNZ_VIEWS_KEEP) no result
 * shares memory with one, but for the end of FNZ_STATE_EPILOGUE. Final values of mutated inputs,
 * parameters and buffers become leading outputs that the signature names. Operators whose results
 * nothing needs disappear, but for random ones, and so do clones with the strides of their
 * argument, unless the program returns them (FNZ_VIEWS_COPY).
 *
 * A program that is functional already stays as it is: functionalizing a result again gives the
 * same text.
 *
 * Inputs that alias each other (see fnz_program_declare_alias(), and weights over the same bytes)
 * stay as they are while no write to one of them is seen through another one; else one input stands
 * for their memory, see fnz_input_spec. User inputs that are written and have not been declared to
 * alias must not: the result has a guard for that. Outputs record whose memory they have in the
 * original, see fnz_output_spec.
 *
 * program  borrowed, unchanged; may be shared with other threads during the call.
 * options  NULL for defaults.
 * out      new; ends with fnz_program_destroy(). NULL on failure. Weights are shared with `program`
 *          by reference count.
 *
 * Fails with FNZ_UNSUPPORTED (the message names the node and the operator; for an operator of
 * options->deny the node that makes it necessary; for a form of state the input whose final
 * value has no place there), FNZ_BAD_INPUT (what eager PyTorch would refuse
 * as well, such as OVERLAP), FNZ_BAD_ARGUMENT for options that do not exist, FNZ_NO_MEMORY. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                                                    const fnz_functionalize_options *options,
                                                    fnz_program **out);

/** Says that inputs alias, as text: "x=y[1:]", "v=b.view(-1)". See fnz_program_declare_alias().
 *
 *   ALIAS = NAME "=" NAME STEP*        the second input, and how to look at it to see the first one
 *   STEP  = "[" ITEM, ... "]"          ITEM: a number, A:B:C with any of them missing, or None
 *         | ".t()" | ".transpose(D,D)" | ".permute(D,...)" | ".unsqueeze(D)"
 *         | ".view(N,...)" | ".view(DTYPE)" | ".view_as_real()"
 *         | ".as_strided(SIZES,STRIDES[,OFFSET])"    lists in (...) or [...]
 *
 * Numbers are integers; element types have the names of the text form, f32, or PyTorch's, float32.
 * as_strided may reach beyond `y`, up to where the caller's memory ends.
 *
 * Fails with SYNTAX and the column, BOUNDS (no such view of y), and as fnz_program_declare_alias().
 */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_alias(fnz_context *ctx, fnz_program *program,
                                                    const char *alias);

#ifdef __cplusplus
}
#endif
#endif
