/* diff.c - are two programs the same but for names and order? Says where they part. */
#include "cli/cli.h"

#include <string.h>

/* --- for people ------------------------------------------------------------------------------- */
static void print_side(const char *file, const fnz_difference_side *side, int width, cli_hue hue) {
  if (!*side->text)
    return;
  printf("    %s%-*s  %s%s\n", cli_color(stdout, hue), width, file, side->text,
         cli_color(stdout, CLI_HUE_NONE));
  if (*side->source)
    printf("    %-*s  at ", width, "");
  cli_print_place(stdout, side->source);
  if (*side->source)
    putchar('\n');
}

/* --- for programs ----------------------------------------------------------------------------- */
static void json_side(fnzi_json_out *w, const char *name, const char *file,
                      const fnz_difference_side *side) {
  fnzi_json_open_as(w, name, '{');
  fnzi_json_out_text(w, "file", file);
  fnzi_json_out_text(w, "text", side->text);
  if (side->node != SIZE_MAX) {
    fnzi_json_out_count(w, "graph", side->graph);
    fnzi_json_out_count(w, "node", side->node);
  }
  cli_json_place(w, side->source);
  fnzi_json_close(w, '}');
}

static int diff_report(cli_call *call, const fnz_difference *d) {
  if (cli_has(call, CLI_JSON)) {
    fnzi_json_out *w = cli_json_begin(call);
    fnzi_json_out_flag(w, "same", !d);
    if (d) {
      fnzi_json_out_text(w, "where", d->where);
      fnzi_json_out_text(w, "what", d->what);
      json_side(w, "a", call->operands[0], &d->a);
      json_side(w, "b", call->operands[1], &d->b);
    }
    return cli_json_end(call);
  }
  if (d) {
    const char *a = call->operands[0], *b = call->operands[1];
    int width = (int)(strlen(a) > strlen(b) ? strlen(a) : strlen(b));
    printf("%sdifferent%s: %s\n  %s\n", cli_color(stdout, CLI_HUE_BAD),
           cli_color(stdout, CLI_HUE_NONE), d->where, d->what);
    print_side(a, &d->a, width, CLI_HUE_FIRST);
    print_side(b, &d->b, width, CLI_HUE_SECOND);
  } else if (!cli_has(call, CLI_QUIET))
    printf("%sthe same%s, but for names and order\n", cli_color(stdout, CLI_HUE_GOOD),
           cli_color(stdout, CLI_HUE_NONE));
  return cli_flush();
}

int cli_diff(cli_call *call) {
  fnz_difference *difference = NULL;
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_read_program(call, call->operands[1], &call->other));
  fnz_status status = fnz_program_compare(call->ctx, call->program, call->other, &difference);
  if (status != FNZ_OK && status != FNZ_DIFFERENT)
    return cli_check(call, status, NULL);
  int code = diff_report(call, difference);
  fnz_difference_destroy(difference);
  CLI_TRY(code);
  return status == FNZ_OK ? CLI_DONE : CLI_NEGATIVE;
}
