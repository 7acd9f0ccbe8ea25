/* api.c - functionalizes a program: options, types, the pass, metadata, denied operators.
 *
 * needs   a verified program; a complete wish (defaults.c)
 * gives   a functional program, and on request the origins of its nodes or the refusals */
#include "functionalize/api.h"

#include "functionalize/dynamic/dynamic.h"
#include "functionalize/explain/explain.h"
#include "program/state_io.h"

/* The types of a program that was read are checked once. */
static fnz_status check_types(fnz_context *ctx, const fnz_program *program,
                              const fnz_functionalize_options *options) {
  bool is_due = options->check_types && program->unchecked && *program->unchecked;
  return is_due ? options->check_types(ctx, program, NULL, NULL) : FNZ_OK;
}

static bool has_out(const fnz_program *p) {
  bool found = false;
  for (size_t i = 0; i < p->graphs.count; i++)
    for (size_t n = 0; n < p->graphs.data[i].nodes.count && !found; n++) {
      const fnz_op *op = p->graphs.data[i].nodes.data[n].op;
      found = op && op->kind == FNZI_KIND_OUT;
    }
  return found;
}

/* An out= argument takes any sizes, so a file may record for it what its operator never gives. */
static fnz_status check_made(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, const fnz_program *made) {
  bool is_due = options->check_types && program->unchecked && has_out(program);
  return is_due ? options->check_types(ctx, made, NULL, NULL) : FNZ_OK;
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
                                const fnzi_pass_wish *wish, bool *out) {
  *out = false;
  return wish->expander ? FNZ_OK : fnzi_pass_is_functional(ctx, program, &wish->asked, out);
}

/* A functional program of fixed sizes becomes itself in the pass. But views that stay and epilogues
 * have several forms: then it is kept. */
static fnz_status pass_numbers(fnz_context *ctx, const fnz_program *program,
                               const fnzi_pass_wish *wish, fnzi_notes *notes, fnz_program **out) {
  bool has_forms = wish->asked.views == FNZ_VIEWS_KEEP || wish->asked.state == FNZ_STATE_EPILOGUE;
  bool stays = false;
  FNZ_TRY(fnzi_pass_program(ctx, program, wish, notes, NULL, out));
  bool failed = notes && notes->failures.count;
  if (has_forms && !failed)
    FNZ_TRY(is_functional(ctx, program, wish, &stays));
  if (!stays)
    return fnzi_metadata_keep(program, notes, *out);
  fnz_program_destroy(*out);
  *out = NULL;
  return keep(ctx, program, notes, out);
}

/* The pass knows numbers only: a program with symbolic sizes is passed at several choices of sizes,
 * and the results become one program, unless it is functional already. */
static fnz_status pass_symbols(fnz_context *ctx, const fnz_program *program,
                               const fnzi_pass_wish *wish, fnzi_notes *notes, fnz_program **out) {
  bool stays;
  if (wish->method == FNZI_PASS_COMPUTED)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the pass does not compute with symbolic sizes yet; use FNZI_PASS_TRIED");
  FNZ_TRY(is_functional(ctx, program, wish, &stays));
  if (stays)
    FNZ_TRY(fnzi_dyn_is_final(ctx, program, wish, &stays));
  if (stays)
    return keep(ctx, program, notes, out);
  FNZ_TRY(fnzi_dyn_program(ctx, program, wish, notes, out));
  return fnzi_metadata_keep(program, NULL, *out);
}

/* Whether the result does not record the memory of its outputs: a program that was functional
 * already keeps its signature, which may be unable to record it. */
static bool stays_silent(const fnz_program *p) {
  bool has_finals = false;
  for (size_t k = 0; k < fnzi_graph_at(p, 0)->noutputs; k++)
    has_finals = has_finals || fnzi_output_is_mutation(&p->outputs[k]) ||
                 fnzi_io_is_new_value(&p->outputs[k]);
  return p->says_no_sharing && has_finals;
}

static fnz_status make(fnz_context *ctx, const fnz_program *program, const fnzi_pass_wish *wish,
                       fnzi_notes *notes, fnz_program **out) {
  fnzi_pass_wish all = *wish;
  *out = NULL;
  FNZ_TRY(fnzi_options_check(ctx, &wish->asked));
  FNZ_TRY(fnzi_expl_deny_check_names(ctx, program, &wish->asked));
  FNZ_TRY(check_types(ctx, program, &wish->asked));
  all.whole = all.whole || fnzi_expl_deny_has_views(&wish->asked);
  FNZ_TRY(fnzi_program_has_symbols(program) ? pass_symbols(ctx, program, &all, notes, out)
                                            : pass_numbers(ctx, program, &all, notes, out));
  (*out)->says_no_sharing = stays_silent(program);
  FNZ_TRY(check_made(ctx, program, &wish->asked, *out));
  const fnz_state state = wish->asked.state;
  if (state == FNZ_STATE_IO || state == FNZ_STATE_BUFFERS)
    FNZ_TRY(fnzi_io_make(ctx, *out, state == FNZ_STATE_BUFFERS));
  FNZ_TRY(fnzi_io_name(*out));
  return fnzi_expl_deny_check(ctx, program, *out, &wish->asked, notes);
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
                              const fnzi_pass_wish *wish, fnz_program **out) {
  fnz_origins **origins = wish->asked.origins;
  fnzi_notes notes = {.lints = false};
  bool needs_notes = program->extras || wish->asked.ndeny || origins;
  fnz_status status = make(ctx, program, wish, needs_notes ? &notes : NULL, out);
  if (status == FNZ_OK && origins)
    status = fnzi_expl_origins_make(ctx, program, *out, &notes, origins);
  fnzi_notes_free(ctx, &notes);
  return drop_failed(status, out);
}

fnz_status fnzi_functionalize_lint(fnz_context *ctx, const fnz_program *program,
                                   const fnzi_pass_wish *wish, fnz_findings **out) {
  fnzi_notes notes = {.lints = true};
  fnz_program *to;
  fnz_status status = drop_failed(make(ctx, program, wish, &notes, &to), &to);
  status = fnzi_expl_findings(ctx, program, to, &notes, status, out);
  fnz_program_destroy(to);
  fnzi_notes_free(ctx, &notes);
  return status;
}
