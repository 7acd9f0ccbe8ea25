/* decompose.c - what --decompose and --keep ask for: operators of the functional form taken apart.
 */
#include "cli/cli.h"

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

/* The first word may be a set; operators alone are taken apart and nothing else. */
static fnz_decompose_options wanted(const cli_call *call) {
  fnz_functionalize_options functional = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  bool has_set = is_set(call->apart.data[0]);
  o.set = has_set ? call->apart.data[0] : "inference";
  o.decompose = call->apart.data + has_set;
  o.ndecompose = (size_t)call->apart.count - has_set;
  o.keep = call->kept.data;
  o.nkeep = (size_t)call->kept.count;
  if (cli_functionalize_options(call, &functional) == CLI_DONE)
    o.views = functional.views;
  return o;
}

int cli_decompose(cli_call *call, const char *path) {
  if (!call->apart.count)
    return cli_has(call, CLI_KEEP) ? cli_usage(call, "--keep goes with --decompose") : CLI_DONE;
  const fnz_decompose_options o = wanted(call);
  cli_phase_begin(call, CLI_PHASE_FUNCTIONALIZE);
  fnz_program *made;
  CLI_TRY(cli_check(call, fnz_decompose(call->ctx, call->functional, &o, &made), path));
  fnz_program_destroy(call->functional);
  call->functional = made;
  cli_phase_end(call, CLI_PHASE_FUNCTIONALIZE);
  return CLI_DONE;
}

int cli_decompose_explained(cli_call *call, const char *path) {
  if (!call->apart.count)
    return cli_has(call, CLI_KEEP) ? cli_usage(call, "--keep goes with --decompose") : CLI_DONE;
  const fnz_decompose_options o = wanted(call);
  return cli_check(
      call,
      fnz_decompose_explained(call->ctx, call->functional, &o, &call->made_of, &call->step_origins),
      path);
}
