/* stats.c - figures of a program and of its functional form, and what each step took. */
#include "cli/cli.h"

int cli_stats(cli_call *call) {
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  CLI_TRY(cli_serialize(call, call->functional, FNZ_FORMAT_CBOR));
  if (cli_has(call, CLI_JSON)) {
    cli_print_json(call);
    return cli_flush();
  }
  cli_print_summary(call, stdout, "functional");
  cli_print_times(call, stdout);
  printf("at most %zu bytes at one time\n", fnz_context_peak_bytes(call->ctx));
  return cli_flush();
}
