/* show.c - a program as text; all of them of a file that has several. */
#include "cli/cli.h"

static int show(cli_call *call) {
  const fnz_program *program;
  CLI_TRY(cli_chosen(call, &program));
  CLI_TRY(cli_serialize(call, program, FNZ_FORMAT_TEXT));
  if (cli_has(call, CLI_JSON)) {
    fnzi_json_out *w = cli_json_begin(call);
    fnzi_json_key(w, "text");
    fnzi_json_out_string(w, call->out.data, call->out.size);
    return cli_json_end(call);
  }
  return cli_deliver(call, "-");
}

/* Behind a comment, as the text form has them. */
static int show_method(cli_call *call) {
  printf("# method ");
  cli_method_print(call);
  CLI_TRY(cli_flush());
  return show(call);
}

int cli_show(cli_call *call) {
  return cli_method_each(call, show, show_method);
}
