/* hash.c - the content of a program as 64 hexadecimal digits; of several, each with its name. */
#include "cli/cli.h"

static int print_digits(cli_call *call) {
  const fnz_program *program;
  unsigned char hash[FNZ_HASH_BYTES];
  CLI_TRY(cli_chosen(call, &program));
  fnz_status status = fnz_program_hash(call->ctx, program, !cli_has(call, CLI_NO_WEIGHTS), hash);
  CLI_TRY(cli_check(call, status, call->operands[0]));
  for (int i = 0; i < FNZ_HASH_BYTES; i++)
    printf("%02x", hash[i]);
  return CLI_DONE;
}

static int print_one(cli_call *call) {
  CLI_TRY(print_digits(call));
  putchar('\n');
  return cli_flush();
}

static int print_method(cli_call *call) {
  CLI_TRY(print_digits(call));
  printf("  ");
  cli_method_print(call);
  return cli_flush();
}

int cli_hash(cli_call *call) {
  return cli_method_each(call, print_one, print_method);
}
