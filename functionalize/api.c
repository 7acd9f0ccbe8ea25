/* api.c - functionalizes a program: options, types, the pass, metadata, denied operators.
 *
 * needs   a verified program; complete options (defaults.c)
 * gives   a functional program, and on request the origins of its nodes or the refusals */
#include "functionalize/api.h"

#include "functionalize/dynamic/dynamic.h"
#include "functionalize/explain/explain.h"
#include "program/state_io.h"

static bool has_out(const fnz_program *p) {
  bool found = false;
  for (size_t i = 0; i < p->graphs.count; i++)
    for (size_t n = 0; n < p->graphs.data[i].nodes.count && !found; n++) {
      const fnz_op *op = p->graphs.data[i].nodes.data[n].op;
      found = op && op->kind == FNZI_KIND_OUT;
    }
  return found;
}

/* The program stays as it is, text for text; each node comes from itself. */
static fnz_status keep(fnz_context *ctx, const fnz_program *program, fnzi_notes *notes,
                       fnz_program **out) {
  if (notes)
    fnzi_notes_clear(notes);
  for (uint32_t g = 0; notes && g < program->graphs.count; g++)
    for (uint32_t n = 0; n < program->graphs.data[g].nodes.count; n++) {
      const fnzi_note note = {g, n, fnzi_why_node(fnzi_node_at(program, g, n))};
      FNZI_PUSH(ctx, &notes->nodes, note);
    }
  return fnzi_program_copy(ctx, program, out);
}

/* Whether the program is functional already. If an expander decomposes operators, the result is
 * another program in any case. */
static fnz_status is_functional(fnz_context *ctx, const fnz_program *program,
                                const fnzi_pass_options *options, bool *out) {
  *out = false;
  return options->expander ? FNZ_OK : fnzi_pass_is_functional(ctx, program, &options->asked, out);
}

/* A functional program of fixed sizes becomes itself in the pass. But views that stay and epilogues
 * have several forms: then it is kept. */
static fnz_status pass_numbers(fnz_context *ctx, const fnz_program *program,
                               const fnzi_pass_options *options, fnzi_notes *notes,
                               fnz_program **out) {
  bool has_forms =
      options->asked.views == FNZ_VIEWS_KEEP || options->asked.state == FNZ_STATE_EPILOGUE;
  bool stays = false;
  FNZ_TRY(fnzi_pass_program(ctx, program, options, notes, out));
  bool failed = notes && notes->failures.count;
  if (has_forms && !failed)
    FNZ_TRY(is_functional(ctx, program, options, &stays));
  if (!stays)
    return fnzi_metadata_keep(program, notes, *out);
  fnz_program_destroy(*out);
  *out = NULL;
  return keep(ctx, program, notes, out);
}

/* A program with symbolic sizes: the same pass, over sizes that are expressions (dynamic/). A
 * functional one is kept. */
static fnz_status pass_symbols(fnz_context *ctx, const fnz_program *program,
                               const fnzi_pass_options *options, fnzi_notes *notes,
                               fnz_program **out) {
  bool stays;
  FNZ_TRY(is_functional(ctx, program, options, &stays));
  if (stays)
    FNZ_TRY(fnzi_dyn_is_final(ctx, program, options, &stays));
  if (stays)
    return keep(ctx, program, notes, out);
  FNZ_TRY(fnzi_dyn_program(ctx, program, options, notes, out));
  return fnzi_metadata_keep(program, NULL, *out);
}

static fnz_status make(fnz_context *ctx, const fnz_program *program,
                       const fnzi_pass_options *options, fnzi_notes *notes, fnz_program **out) {
  fnzi_pass_options all = *options;
  *out = NULL;
  FNZ_TRY(fnzi_options_check(ctx, &options->asked));
  FNZ_TRY(fnzi_expl_deny_check_names(ctx, program, &options->asked));
  /* The types of a program that was read are checked once. */
  bool is_due = options->asked.check_types && program->unchecked && *program->unchecked;
  if (is_due)
    FNZ_TRY(options->asked.check_types(ctx, program, NULL, NULL));
  all.whole = all.whole || fnzi_expl_deny_has_views(&options->asked);
  FNZ_TRY(!fnzi_program_has_symbols(program) ? pass_numbers(ctx, program, &all, notes, out)
                                             : pass_symbols(ctx, program, &all, notes, out));
  /* A program that was functional already keeps its signature, which may be unable to record the
   * memory of its outputs. */
  bool has_finals = false;
  for (size_t k = 0; k < fnzi_graph_main(program)->noutputs; k++)
    has_finals = has_finals || fnzi_output_is_mutation(&program->outputs[k]) ||
                 fnzi_io_is_new_value(&program->outputs[k]);
  (*out)->says_no_sharing = program->says_no_sharing && has_finals;
  /* An out= argument takes any sizes, so a file may record for it what its operator never gives. */
  if (options->asked.check_types && program->unchecked && has_out(program))
    FNZ_TRY(options->asked.check_types(ctx, *out, NULL, NULL));
  const fnz_state state = options->asked.state;
  if (state == FNZ_STATE_IO || state == FNZ_STATE_BUFFERS)
    FNZ_TRY(fnzi_io_make(ctx, *out, state == FNZ_STATE_BUFFERS));
  FNZ_TRY(fnzi_io_name(*out));
  return fnzi_expl_deny_check(ctx, program, *out, &options->asked, notes);
}

static fnz_status drop_failed(fnz_status status, fnz_program **out) {
  if (status == FNZ_OK)
    return FNZ_OK;
  fnz_program_destroy(*out);
  *out = NULL;
  return status;
}

/* --- with nothing else or origins, with findings ---------------------------------------------- */
fnz_status fnzi_functionalize(fnz_context *ctx, const fnz_program *program,
                              const fnzi_pass_options *options, fnz_program **out) {
  fnz_origins **origins = options->asked.origins;
  fnzi_notes notes = {.lints = false};
  bool needs_notes = program->extras || options->asked.ndeny || origins;
  fnzi_task_begin(ctx, "functionalize", NULL, 0);
  fnz_status status = make(ctx, program, options, needs_notes ? &notes : NULL, out);
  status = fnzi_task_end(ctx, status);
  if (status == FNZ_OK && origins)
    status = fnzi_expl_origins_make(ctx, program, *out, &notes, origins);
  fnzi_notes_free(ctx, &notes);
  return drop_failed(status, out);
}

fnz_status fnzi_functionalize_lint(fnz_context *ctx, const fnz_program *program,
                                   const fnzi_pass_options *options, fnz_findings **out) {
  fnzi_notes notes = {.lints = true};
  fnz_program *to;
  fnzi_task_begin(ctx, "functionalize", NULL, 0);
  fnz_status status = make(ctx, program, options, &notes, &to);
  status = drop_failed(fnzi_task_end(ctx, status), &to);
  status = fnzi_expl_findings(ctx, program, to, &notes, status, out);
  fnz_program_destroy(to);
  fnzi_notes_free(ctx, &notes);
  return status;
}
