/* mlir.c - programs as MLIR, for the verbs that write or check them. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static int find(const char *const *names, int count, const char *word) {
  for (int i = 0; word && i < count; i++)
    if (strcmp(names[i], word) == 0)
      return i;
  return 0;
}

void cli_mlir_take_options(cli_call *call, fnz_mlir_options *out) {
#define NAME(id, name) name,
  static const char *const weights[] = {FNZ_MLIR_WEIGHTS_ROWS(NAME)};
  static const char *const states[] = {FNZ_MLIR_STATE_ROWS(NAME)};
#undef NAME
  *out = (fnz_mlir_options)FNZ_MLIR_OPTIONS_INIT;
  out->weights =
      (fnz_mlir_weights)find(weights, FNZ_MLIR_WEIGHTS_COUNT, call->options[CLI_WEIGHTS]);
  out->state = (fnz_mlir_state)find(states, FNZ_MLIR_STATE_COUNT, call->options[CLI_STATE]);
  if (cli_has(call, CLI_STATE) && strcmp(call->options[CLI_STATE], states[out->state]) == 0)
    call->options[CLI_STATE] = NULL;
}

int cli_mlir_save(cli_call *call, const fnz_mlir_options *options, const char *path) {
  cli_phase_begin(call);
  fnz_status status = fnz_mlir_save(call->ctx, call->functional, options, path);
  if (status == FNZ_BAD_ARGUMENT) /* weights, and standard output has no room for a second file */
    return cli_usage(call, "%s", fnz_last_error(call->ctx)->message);
  CLI_TRY(cli_check(call, status, NULL));
  cli_phase_end(call, CLI_PHASE_WRITE);
  return CLI_DONE;
}

int cli_mlir_prepare(cli_call *call, const char *path) {
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnz_program *made;
  o.set = "mlir";
  cli_phase_begin(call);
  CLI_TRY(cli_check(call, fnz_decompose(call->ctx, call->functional, &o, &made), path));
  fnz_program_destroy(call->functional);
  call->functional = made;
  cli_phase_end(call, CLI_PHASE_FUNCTIONALIZE);
  return CLI_DONE;
}

static void mlir_note(void *user, size_t graph, size_t node, const fnz_error *error) {
  cli_refuse_node(user, graph, node, error->kind, error->where, error->message);
}

int cli_mlir_check(cli_call *call, const char *set, const char *path) {
  (void)set;
  if (fnz_functionalize(call->ctx, call->program, NULL, &call->functional) != FNZ_OK)
    return CLI_DONE;
  CLI_TRY(cli_mlir_prepare(call, path));
  CLI_TRY(
      cli_check(call, fnz_mlir_check(call->ctx, call->functional, NULL, mlir_note, call), path));
  return cli_refusals_finish(call, path);
}
