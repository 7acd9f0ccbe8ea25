/* diff.c - are two programs the same but for names and order? Says where they part. */
#include "cli/cli.h"

#include <string.h>

static int read_both(cli_call *call) {
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  return cli_read_program(call, call->operands[1], &call->other);
}

/* --- for people ------------------------------------------------------------------------------- */
static void print_side(const char *file, const fnz_difference_side *side, int width) {
  if (!*side->text)
    return;
  printf("    %-*s  %s\n", width, file, side->text);
  if (*side->source)
    printf("    %-*s  at ", width, "");
  cli_print_place(stdout, side->source);
  if (*side->source)
    putchar('\n');
}

static void print_difference(const cli_call *call, const fnz_difference *d) {
  const char *a = call->operands[0], *b = call->operands[1];
  int width = (int)(strlen(a) > strlen(b) ? strlen(a) : strlen(b));
  printf("different: %s\n  %s\n", d->where, d->what);
  print_side(a, &d->a, width);
  print_side(b, &d->b, width);
}

/* --- for programs ----------------------------------------------------------------------------- */
static void json_side(const char *name, const char *file, const fnz_difference_side *side) {
  printf(",\n  \"%s\": {\"file\": ", name);
  cli_json_string(stdout, file);
  printf(", \"text\": ");
  cli_json_string(stdout, side->text);
  if (side->node != SIZE_MAX)
    printf(", \"graph\": %zu, \"node\": %zu", side->graph, side->node);
  printf(", ");
  cli_json_place(stdout, side->source);
  putchar('}');
}

static void json_difference(const cli_call *call, const fnz_difference *d) {
  printf("{\n  \"same\": %s", d ? "false" : "true");
  if (d) {
    printf(",\n  \"where\": ");
    cli_json_string(stdout, d->where);
    printf(",\n  \"what\": ");
    cli_json_string(stdout, d->what);
    json_side("a", call->operands[0], &d->a);
    json_side("b", call->operands[1], &d->b);
  }
  printf("\n}\n");
}

static void tell(const cli_call *call, const fnz_difference *d) {
  if (cli_has(call, CLI_JSON))
    json_difference(call, d);
  else if (d)
    print_difference(call, d);
  else if (!cli_has(call, CLI_QUIET))
    printf("the same, but for names and order\n");
}

int cli_diff(cli_call *call) {
  fnz_difference *difference = NULL;
  CLI_TRY(read_both(call));
  fnz_status status = fnz_program_compare(call->ctx, call->program, call->other, &difference);
  if (status != FNZ_OK && status != FNZ_DIFFERENT)
    return cli_check(call, status, NULL);
  tell(call, difference);
  fnz_difference_destroy(difference);
  CLI_TRY(cli_flush());
  return status == FNZ_OK ? CLI_DONE : CLI_NEGATIVE;
}
