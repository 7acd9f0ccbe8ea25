/* methods.c - several programs as functions of one module, named after their files. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* --- names -------------------------------------------------------------------------------------
 */
/* "decode" of "models/decode.pt2", in room that the caller frees; NULL without memory. */
static char *name_of(const char *path) {
  const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
  const char *dot = strrchr(from, '.');
  return strndup(from, dot && dot != from ? (size_t)(dot - from) : strlen(from));
}

/* --- weights of other names ---------------------------------------------------------------------
 */
/* Applies "A=B": renames weight B of a later program to A, its name in the first program. */
static int share(cli_call *call, const char *pair, bool *found, int k) {
  const char *equals = strchr(pair, '=');
  char name[CLI_LONG];
  if (!equals || equals == pair || !equals[1] || (size_t)(equals - pair) >= sizeof name)
    return cli_usage(
        call, "--share %s: expected A=B, weight A of the first program and B of another", pair);
  snprintf(name, sizeof name, "%.*s", (int)(equals - pair), pair);
  if (!fnz_program_weight(call->methods[0], name).name)
    return cli_fail(FNZ_CLASS_REF, call->operands[0], "--share %s: there is no weight %s", pair,
                    name);
  if (!fnz_program_weight(call->methods[k], equals + 1).name)
    return CLI_DONE;
  *found = true;
  return cli_check(call, fnz_program_rename_weight(call->ctx, call->methods[k], equals + 1, name),
                   call->operands[k]);
}

static int share_all(cli_call *call) {
  for (int i = 0; i < call->nshares; i++) {
    bool found = false;
    for (int k = 1; k < call->nmethods; k++)
      CLI_TRY(share(call, call->shares[i], &found, k));
    if (!found)
      return cli_fail(FNZ_CLASS_REF, call->operands[1],
                      "--share %s: no program behind the first has that second weight",
                      call->shares[i]);
  }
  return CLI_DONE;
}

/* --- the programs ------------------------------------------------------------------------------
 */
static int prepare(cli_call *call, const char *path) {
  CLI_TRY(cli_read_program(call, path, &call->program));
  CLI_TRY(cli_functionalize(call, call->program, path));
  if (cli_has(call, CLI_VERIFY))
    CLI_TRY(cli_compare(call, call->functional, CLI_DEFAULT_TRIALS));
  CLI_TRY(cli_decompose(call, path));
  CLI_TRY(cli_mlir_prepare(call, path));
  CLI_TRY(cli_check(call, fnz_program_check_types(call->ctx, call->functional, NULL, NULL), path));
  call->methods[call->nmethods++] = call->functional;
  call->functional = NULL;
  fnz_program_destroy(call->program);
  call->program = NULL;
  return CLI_DONE;
}

static int save(cli_call *call, const fnz_mlir_options *options, char **names, const char *path) {
  fnz_method methods[CLI_MOST_METHODS];
  for (int k = 0; k < call->nmethods; k++) {
    names[k] = name_of(call->operands[k]);
    if (!names[k])
      return cli_fail(FNZ_CLASS_NOMEM, "", "out of memory");
    methods[k] = (fnz_method){names[k], call->methods[k]};
  }
  cli_phase_begin(call, CLI_PHASE_WRITE);
  fnz_status status =
      fnz_mlir_save_methods(call->ctx, methods, (size_t)call->nmethods, options, path);
  if (status == FNZ_BAD_ARGUMENT)
    return cli_usage(call, "%s", fnz_last_error(call->ctx)->message);
  CLI_TRY(cli_check(call, status, NULL));
  cli_phase_end(call, CLI_PHASE_WRITE);
  return CLI_DONE;
}

int cli_methods_convert(cli_call *call, fnz_format format, const char *path) {
  fnz_mlir_options options;
  char *names[CLI_MOST_METHODS] = {NULL};
  bool is_given = cli_has(call, CLI_STATE);
  if (format != FNZ_FORMAT_MLIR)
    return cli_usage(call,
                     "several programs become functions of one module of mlir; name FILE.mlir");
  if (cli_has(call, CLI_JSON) || cli_has(call, CLI_SAVE_STATE))
    return cli_usage(call, "%s is about one program",
                     cli_has(call, CLI_JSON) ? "--json" : "--save-state");
  cli_mlir_take_options(call, &options);
  if (!is_given)
    options.state = FNZ_MLIR_STATE_GLOBALS;
  for (int k = 0; k < call->noperands; k++)
    CLI_TRY(prepare(call, call->operands[k]));
  CLI_TRY(share_all(call));
  int code = save(call, &options, names, path);
  for (int k = 0; k < call->nmethods; k++)
    free(names[k]);
  CLI_TRY(code);
  if (call->talks)
    cli_print_times(call, stderr);
  return cli_flush();
}
