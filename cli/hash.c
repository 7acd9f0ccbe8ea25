/* hash.c - the content of a program as 64 hexadecimal digits. */
#include "cli/cli.h"

int cli_hash(cli_call *call) {
  const fnz_program *program;
  unsigned char hash[FNZ_HASH_BYTES];
  CLI_TRY(cli_chosen(call, &program));
  fnz_status status = fnz_program_hash(call->ctx, program, !cli_has(call, CLI_NO_WEIGHTS), hash);
  CLI_TRY(cli_check(call, status, call->operands[0]));
  for (int i = 0; i < FNZ_HASH_BYTES; i++)
    printf("%02x", hash[i]);
  putchar('\n');
  return cli_flush();
}
