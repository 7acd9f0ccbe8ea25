/* decompose.c - what --decompose, --keep and --for ask for: operators of the functional form taken
 * apart. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sets[] = {
#define SET_ROW(name, words) #name,
    FNZ_DECOMPOSITION_ROWS(SET_ROW)
#undef SET_ROW
};

static bool is_set(const char *word) {
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (strcmp(sets[i], word) == 0)
      return true;
  return false;
}

/* The first word may be a set, else it is the target's; without either, operators that are named
 * are taken apart and nothing else. */
fnz_decompose_options cli_decompose_options(const cli_call *call) {
  fnz_functionalize_options functional = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  const fnz_target *target = cli_target(call);
  bool has_set = call->apart.count && is_set(call->apart.data[0]);
  o.set = has_set ? call->apart.data[0] : target ? target->set : "inference";
  o.decompose = call->apart.data + has_set;
  o.ndecompose = (size_t)call->apart.count - has_set;
  o.keep = call->kept.data;
  o.nkeep = (size_t)call->kept.count;
  if (cli_functionalize_options(call, &functional) == CLI_DONE)
    o.views = functional.views;
  return o;
}

/* --- what is left ----------------------------------------------------------------------------- */
typedef struct left_op {
  const fnz_op *op;
  const char *why;
  size_t nodes;
} left_op;

typedef struct left_ops {
  left_op *data;
  size_t count;
  bool lost;
} left_ops;

static void note_left(left_ops *all, const fnz_op *op, const char *why) {
  size_t i = 0;
  while (i < all->count && all->data[i].op != op)
    i++;
  if (i == all->count) {
    left_op *grown = realloc(all->data, (all->count + 1) * sizeof *grown);
    all->lost = all->lost || !grown;
    if (!grown)
      return;
    all->data = grown;
    all->data[all->count++] = (left_op){op, why, 0};
  }
  all->data[i].nodes++;
}

/* Operators that the set does not have, each with why; nothing when there are none. */
static int report_left(const cli_call *call, const fnz_decompose_options *o, const char *path) {
  left_ops all = {0};
  for (size_t g = 0; g < fnz_graph_count(call->functional); g++)
    for (size_t n = 0; n < fnz_node_count(call->functional, g); n++) {
      const fnz_node_info info = fnz_program_node(call->functional, g, n);
      const char *why = info.op ? fnz_decomposition_why_left(o, info.op) : NULL;
      if (why)
        note_left(&all, info.op, why);
    }
  for (size_t i = 0; i < all.count; i++)
    fprintf(stderr, "fnz: left: %s: %s, in %zu node%s: %s\n", path, fnz_op_name(all.data[i].op),
            all.data[i].nodes, all.data[i].nodes == 1 ? "" : "s", all.data[i].why);
  free(all.data);
  return all.lost ? cli_fail(call, FNZ_CLASS_NOMEM, path, "out of memory") : CLI_DONE;
}

int cli_decompose_check(cli_call *call, const char *set, const char *path) {
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnz_program *made;
  o.set = set;
  if (fnz_functionalize(call->ctx, call->program, NULL, &call->functional) != FNZ_OK)
    return CLI_DONE; /* the findings say why */
  CLI_TRY(cli_check(call, fnz_decompose(call->ctx, call->functional, &o, &made), path));
  fnz_program_destroy(call->functional);
  call->functional = made;
  for (size_t g = 0; g < fnz_graph_count(made); g++)
    for (size_t n = 0; n < fnz_node_count(made, g); n++) {
      const fnz_node_info info = fnz_program_node(made, g, n);
      const char *why = info.op ? fnz_decomposition_why_left(&o, info.op) : NULL;
      char where[192], what[512];
      if (!why)
        continue;
      snprintf(where, sizeof where, "node %zu (%s)", n, fnz_op_name(info.op));
      snprintf(what, sizeof what, "%s is not in the set %s and stays: %s", fnz_op_name(info.op),
               set, why);
      cli_refuse_node(call, g, n, FNZ_CLASS_UNSUPPORTED, where, what);
    }
  return cli_refusals_finish(call, path);
}

/* --- taking apart ----------------------------------------------------------------------------- */
/* A word that nearly is a set is taken for an operator, and refused: it was meant as a set. */
static int check_set(const cli_call *call) {
  char near[CLI_NEAR];
  const char *word = call->apart.count ? call->apart.data[0] : "inference";
  cli_near(word, sets, sizeof sets / sizeof *sets, near);
  if (is_set(word) || !*near || fnz_last_error(call->ctx)->kind != FNZ_CLASS_REF)
    return CLI_DONE;
  return cli_usage(call, "--decompose: %s is neither a set nor an operator%s", word, near);
}

/* A target has a set. Forms are what lint asks about. */
static int check_words(const cli_call *call, bool *wants) {
  const char *reader = call->options[CLI_FOR], *word = call->apart.data[0];
  *wants = call->apart.count || reader;
  if (reader && !cli_target(call))
    return cli_usage(call, "--for %s is a question to fnz lint; --to and --decompose say the form",
                     reader);
  if (reader && call->apart.count && is_set(word))
    return cli_usage(call,
                     "--for %s has a set of operators of its own; leave --decompose %s out, "
                     "or name operators",
                     reader, word);
  if (!*wants && cli_has(call, CLI_KEEP))
    return cli_usage(call, "--keep goes with --decompose or --for");
  return CLI_DONE;
}

int cli_decompose(cli_call *call, const char *path) {
  bool wants;
  CLI_TRY(check_words(call, &wants));
  if (!wants)
    return CLI_DONE;
  const fnz_decompose_options o = cli_decompose_options(call);
  cli_phase_begin(call);
  fnz_program *made;
  fnz_status status = fnz_decompose(call->ctx, call->functional, &o, &made);
  if (status == FNZ_BAD_INPUT)
    CLI_TRY(check_set(call));
  CLI_TRY(cli_check(call, status, path));
  fnz_program_destroy(call->functional);
  call->functional = made;
  cli_phase_end(call, CLI_PHASE_FUNCTIONALIZE);
  return cli_has(call, CLI_QUIET) ? CLI_DONE : report_left(call, &o, path);
}

int cli_decompose_explained(cli_call *call, const char *path) {
  bool wants;
  CLI_TRY(check_words(call, &wants));
  if (!wants)
    return CLI_DONE;
  fnz_decompose_options o = cli_decompose_options(call);
  o.origins = &call->step_origins;
  fnz_status status = fnz_decompose(call->ctx, call->functional, &o, &call->made_of);
  if (status == FNZ_BAD_INPUT)
    CLI_TRY(check_set(call));
  return cli_check(call, status, path);
}
