/* show.c - a program as text. */
#include "cli/cli.h"

int cli_show(cli_call *call) {
  const fnz_program *program;
  CLI_TRY(cli_chosen(call, &program));
  CLI_TRY(cli_serialize(call, program, FNZ_FORMAT_TEXT));
  return cli_deliver(call, "-");
}
