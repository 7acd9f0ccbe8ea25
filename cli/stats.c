/* stats.c - figures of a program and of its functional form, operators without a shape rule, and
 * the time of each phase. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* Operators in the order in which they come. */
static void note_unruled(void *user, const char *op) {
  cli_call *call = user;
  size_t i = 0;
  while (i < call->nunruled && strcmp(call->unruled[i].op, op) != 0)
    i++;
  if (i == call->nunruled) {
    cli_unruled *more = realloc(call->unruled, (i + 1) * sizeof *more);
    call->lost = call->lost || !more;
    if (!more)
      return;
    call->unruled = more;
    call->unruled[call->nunruled++] = (cli_unruled){op, 0};
  }
  call->unruled[i].nodes++;
}

static int stats_report(cli_call *call) {
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  fnz_status status = fnz_program_check_types(call->ctx, call->program, note_unruled, call);
  CLI_TRY(cli_check(call, status, call->operands[0]));
  if (call->lost)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  CLI_TRY(cli_serialize(call, call->functional, FNZ_FORMAT_TEXT)); /* which has no weights */
  if (cli_has(call, CLI_JSON))
    return cli_print_json(call);
  cli_print_summary(call, stdout, "functional");
  for (size_t i = 0; i < call->nunruled; i++)
    printf("%s%s %zu", i ? ", " : "recorded types not checked, because there is no shape rule: ",
           call->unruled[i].op, call->unruled[i].nodes);
  if (call->nunruled)
    putchar('\n');
  cli_print_times(call, stdout);
  printf("memory: at most %zu bytes\n", fnz_context_peak_bytes(call->ctx));
  return cli_flush();
}

static int report_method(cli_call *call) {
  printf("method ");
  cli_method_print(call);
  return stats_report(call);
}

int cli_stats(cli_call *call) {
  return cli_method_each(call, stats_report, report_method);
}
