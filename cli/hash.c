/* hash.c - the content of a program as 64 hexadecimal digits; of several, each with its name. */
#include "cli/cli.h"

enum { DIGITS = 2 * FNZ_HASH_BYTES };

static int find_digits(cli_call *call, char out[DIGITS + 1]) {
  const fnz_program *program;
  unsigned char hash[FNZ_HASH_BYTES];
  CLI_TRY(cli_chosen(call, &program));
  fnz_status status = fnz_program_hash(call->ctx, program, !cli_has(call, CLI_STRUCTURE), hash);
  CLI_TRY(cli_check(call, status, call->operands[0]));
  for (int i = 0; i < FNZ_HASH_BYTES; i++)
    snprintf(out + 2 * (size_t)i, 3, "%02x", hash[i]);
  return CLI_DONE;
}

static int hash_print_one(cli_call *call) {
  char digits[DIGITS + 1];
  CLI_TRY(find_digits(call, digits));
  if (cli_has(call, CLI_JSON)) {
    fnzi_json_out *w = cli_json_begin(call);
    fnzi_json_out_text(w, "hash", digits);
    fnzi_json_out_flag(w, "structure", cli_has(call, CLI_STRUCTURE));
    return cli_json_end(call);
  }
  printf("%s\n", digits);
  return cli_flush();
}

static int print_method(cli_call *call) {
  char digits[DIGITS + 1];
  CLI_TRY(find_digits(call, digits));
  printf("%s  ", digits);
  cli_method_print(call);
  return cli_flush();
}

int cli_hash(cli_call *call) {
  return cli_method_each(call, hash_print_one, print_method);
}
