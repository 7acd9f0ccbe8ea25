/* functionalize.h - the pass, the run, and the check that they mean the same. */
#ifndef FNZ_FUNCTIONALIZE_H
#define FNZ_FUNCTIONALIZE_H

#include <fnz/arrays.h>
#include <fnz/backend.h>
#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fnz_views {
  FNZ_VIEWS_COPY = 0, /* `*_copy` and `*_scatter`: no result shares memory with an argument */
  FNZ_VIEWS_KEEP = 1, /* real view operators stay where they read, mutations go */
  /* As COPY, but every window is read from the whole of its storage by one `as_strided_copy` and
   * put back by one `as_strided_scatter`, with eager's sizes, strides and offset. */
  FNZ_VIEWS_STRIDED = 2
} fnz_views;

typedef enum fnz_state {
  FNZ_STATE_OUTPUTS = 0, /* final values are leading outputs */
  FNZ_STATE_EPILOGUE = 1 /* the last nodes write them: `as_strided_` for other sizes and strides,
                            `copy_` for elements; these write inputs, nothing else writes */
} fnz_state;

typedef struct fnz_functionalize_options {
  size_t size; /* sizeof(fnz_functionalize_options) */
  fnz_views views;
  fnz_state state;
  /* Names of operators that the result must not have: "slice_scatter" for all overloads,
   * "add.Tensor", "slice_scatter.default" for one. "aten::" and "aten." before them say nothing. A
   * name that no operator of the table, the context or the program has is refused, as REF. */
  const char *const *deny;
  size_t ndeny;
  /** Of programs with symbolic sizes: compares what was made with the original at sizes where other
   * decisions may be right, as fnz_verify_hashes() does; the original with itself, to see whether
   * it runs there. Where it says no, a guard keeps such sizes out. NULL: guards keep out all sizes
   * at which the pass would make other nodes. */
  fnz_status (*check)(fnz_context *ctx, const fnz_program *original, const fnz_program *functional,
                      const fnz_arrays *inputs, int trials);
  /** Of a program that was read and not checked yet; of one with symbolic sizes at each choice that
   * is tried, too: where what it records there is not what its operators give, a guard keeps such
   * sizes out, or it is refused. NULL: it is taken at its word. */
  fnz_status (*check_types)(fnz_context *ctx, const fnz_program *program, fnz_unruled_fn *unruled,
                            void *user);
  /** What fnz_decompose() gives (<fnz/decompose.h>). NULL: each operator stays what it is. */
  const struct fnz_expander *expander;
} fnz_functionalize_options;
#define FNZ_FUNCTIONALIZE_OPTIONS_INIT                                                             \
  {                                                                                                \
    sizeof(fnz_functionalize_options), FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS, NULL, 0,                 \
        fnz_verify_hashes, fnz_program_check_types, NULL                                           \
  }

/** Rewrites a program so that no operator writes an argument and (unless FNZ_VIEWS_KEEP) no result
 * shares memory with one. Final values of mutated inputs, parameters and buffers become leading
 * outputs that the signature names. Operators whose results nothing needs disappear, but for random
 * ones, and so do clones with the strides of their argument, unless the program returns them
 * (FNZ_VIEWS_COPY).
 *
 * Inputs that alias each other (see fnz_program_declare_alias(), and weights over the same bytes)
 * stay as they are while no write to one of them is seen through another one; else one input
 * stands for their memory, see fnz_input_spec. User inputs that are written and have not been
 * declared to alias must not: the result says so by a guard. Outputs say whose memory they lie in
 * in the original, see fnz_output_spec.
 *
 * program  borrowed, unchanged; may be shared with other threads during the call.
 * options  NULL for defaults.
 * out      new; ends with fnz_program_destroy(). NULL on failure. Weights are shared with `program`
 *          by reference count.
 *
 * Fails with FNZ_UNSUPPORTED (the message names the node and the operator; for an operator of
 * options->deny the node that makes it necessary), FNZ_BAD_INPUT (what
 * eager PyTorch would refuse as well, such as OVERLAP), FNZ_BAD_ARGUMENT for options that do not
 * exist, FNZ_NO_MEMORY. */
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
 * Numbers are integers; element types are those of the text form, f32, or PyTorch's, float32.
 * as_strided may reach beyond `y`, up to where the caller's memory ends.
 *
 * Fails with SYNTAX and the column, BOUNDS (no such view of y), and as fnz_program_declare_alias().
 */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_alias(fnz_context *ctx, fnz_program *program,
                                                    const char *alias);

/* What functionalizing does with an operator. Columns: name, in words. Order is ABI. */
#define FNZ_ACTION_ROWS(ROW)                                                                       \
  ROW(FUNCTIONAL, "functional", "evaluated as it is")                                              \
  ROW(VIEW, "view", "a window into its argument's memory")                                         \
  ROW(COMPOSITE, "composite", "a view, its argument or a copy: eager geometry decides")            \
  ROW(INPLACE_VIEW, "inplace_view", "its argument becomes another window")                         \
  ROW(WRITE, "write", "its argument gets a new value")                                             \
  ROW(REFUSED, "refused", "there is no rule for it")

typedef enum fnz_action {
#define FNZ_ACTION_ENUM(id, name, words) FNZ_ACTION_##id,
  FNZ_ACTION_ROWS(FNZ_ACTION_ENUM)
#undef FNZ_ACTION_ENUM
      FNZ_ACTION_COUNT
} fnz_action;

#define FNZ_RULE_STEPS 4

/** Texts are static, NULL where they do not apply. */
typedef struct fnz_rule {
  fnz_action action;
  const char *name, *words;        /* of the action */
  const char *write, *write_words; /* what it does to what it writes: a kind of mutations.def */
  const char *view;                /* the rule that says which window it is */
  const char *reverse;             /* the rule that puts a changed window into its base */
  bool needs_base;                 /* that one needs the old base */
  const fnz_op *becomes;           /* in the functional program; NULL: depends on the call */
  const fnz_op *through;           /* what a reverse asks for; NULL: nothing */
  /* Of a composite: what it may be made of, besides an argument as it is, or the operator itself,
   * which then computes a new value. */
  const fnz_op *steps[FNZ_RULE_STEPS];
  size_t nsteps;
  bool may_be_itself, may_compute;
  const char *remedy; /* of a refused operator: what to do instead */
} fnz_rule;

/** The rule for any operator, declared ones included. Fills all of `out`. */
FNZ_API void fnz_op_get_rule(const fnz_op *op, fnz_rule *out);

/** Runs a functional program.
 * inputs   user inputs by graph name, "x" or "input.x"; sizes and dtypes must be the program's.
 * What is called "parameter.FQN", "buffer.FQN" (constants too) or has the graph name of one stands
 * for the file's data in this run, also in the memory of others that lie over the same bytes, and
 * where the file has none. "output.K" of this program is passed over, so that the outputs of one
 * run may be among the inputs of the next. REF for any other name that no input has, DUPLICATE for
 * an input under two names, OVERLAP where two that share memory disagree. fnz_verify() takes inputs
 * alike. outputs  receives "output.K" for the K-th user output, loss or gradient (tensors only),
 * and "input.NAME", "buffer.FQN", "parameter.FQN" for everything the signature names as mutated.
 * Must be an empty set of the same context. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_run(fnz_context *ctx, const fnz_program *program,
                                          fnz_backend *backend, const fnz_arrays *inputs,
                                          fnz_arrays *outputs);

/** The same for any program, on real aliasing memory: the definition of its meaning. Views and
 * writes happen in this process's memory, computing operators are evaluated by `backend`. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_run_original(fnz_context *ctx, const fnz_program *program,
                                                   fnz_backend *backend, const fnz_arrays *inputs,
                                                   fnz_arrays *outputs);

typedef struct fnz_run_options {
  size_t size;        /* sizeof(fnz_run_options) */
  bool original;      /* as fnz_run_original(), else as fnz_run() */
  bool check_schemas; /* FNZ_DIFFERENT when an operator changes an argument that its schema only
                         reads, or a declared operator's result lies in an argument's memory */
} fnz_run_options;
#define FNZ_RUN_OPTIONS_INIT                                                                       \
  { sizeof(fnz_run_options), false, false }

/** Either of the two runs above, with options; NULL for defaults. Checking costs a copy of every
 * argument of every node; the message names node, operator and argument. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_run_with(fnz_context *ctx, const fnz_program *program,
                                               fnz_backend *backend, const fnz_arrays *inputs,
                                               const fnz_run_options *options, fnz_arrays *outputs);

/** Runs `original` on aliasing memory and `functional` as functional program, both over hashes, and
 * compares every user output, loss and gradient and every mutated input, parameter and buffer,
 * `trials` times with other seeds. Parameters, buffers and constants of one name are compared as
 * data, where both programs have data. `functional` may be any program; NULL functionalizes
 * `original` first, and `original` itself is only run as it is, where its sizes are fixed.
 *
 * inputs  NULL: every input element is a fresh unknown, so equal means equal for all values of
 * these shapes. Otherwise the programs are also compared on these numbers where kernels exist.
 * trials  less than 1 is taken as 1.
 * Returns FNZ_OK when equal, FNZ_DIFFERENT when not (the message names output and element, or the
 * weights, in how many elements they differ and by how much). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_verify(fnz_context *ctx, const fnz_program *original,
                                             const fnz_program *functional,
                                             const fnz_arrays *inputs, int trials);

/** The same without inputs, for two programs, neither NULL. A static program that calls this and
 * not fnz_verify() is linked without kernels over numbers. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_verify_hashes(fnz_context *ctx, const fnz_program *original,
                                                    const fnz_program *functional,
                                                    const fnz_arrays *inputs, int trials);

/** What a comparison has seen. Bodies are the graphs of higher-order operators, of both programs:
 * what was found equal holds for those that were run. */
typedef struct fnz_verify_report {
  int trials; /* over hashes: more than requested while a body has not been run */
  size_t bodies, bodies_run;
  char missed[128];     /* the name of a body that was never run, or "" */
  bool numbers;         /* also compared on the numbers given */
  size_t sizes;         /* of programs with symbolic sizes: how many choices of them; else 0 */
  char no_numbers[160]; /* why numbers that were given were not compared: "no CPU kernel for
                           add.Tensor"; or "" */
  /* Weights that both programs have: compared as data; of these, not equal; not compared, because
   * one program has no data for them. All 0 while the programs themselves differ. */
  size_t weights, weights_differing, weights_without;
} fnz_verify_report;

/** As fnz_verify(), and says what was seen; also of use when the programs differ. Fills all of
 * `out`. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_verify_with(fnz_context *ctx, const fnz_program *original,
                                                  const fnz_program *functional,
                                                  const fnz_arrays *inputs, int trials,
                                                  fnz_verify_report *out);

typedef struct fnz_verify_options {
  size_t size; /* sizeof(fnz_verify_options) */
  int trials;
  bool ignore_weights; /* programs with other numbers in their weights may be equal */
} fnz_verify_options;
#define FNZ_VERIFY_OPTIONS_INIT                                                                    \
  { sizeof(fnz_verify_options), 2, false }

/** The same with options; NULL for defaults. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_verify_as(fnz_context *ctx, const fnz_program *original,
                                                const fnz_program *functional,
                                                const fnz_arrays *inputs,
                                                const fnz_verify_options *options,
                                                fnz_verify_report *out);

#ifdef __cplusplus
}
#endif
#endif
