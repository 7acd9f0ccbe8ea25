/* show.c - a program as text; all of them of a file that has several. */
#include "cli/cli.h"
#include "program/program.h"

#include <stdio.h>

static int show(cli_call *call) {
  const fnz_program *program;
  call->keeps_origins = true;
  CLI_TRY(cli_chosen(call, &program));
  CLI_TRY(cli_serialize(call, program, FNZ_FORMAT_TEXT));
  if (cli_has(call, CLI_JSON)) {
    fnzi_json_out *w = cli_json_begin(call);
    fnzi_json_key(w, "text");
    fnzi_json_out_string(w, call->out.data, call->out.size);
    return cli_json_end(call);
  }
  if (call->functional) {
    /* A comment for each guard on sizes that a node asked for: its question and the node. */
    for (size_t k = 0; k < fnz_program_guard_count(call->functional); k++) {
      const fnz_guard guard = fnz_program_guard(call->functional, k);
      const fnz_guard_origin of = fnz_origins_guard(call->origins, k);
      if (!guard.text || of.node == SIZE_MAX)
        continue;
      char place[160];
      fnzi_node_place(call->program, (uint32_t)of.graph, (uint32_t)of.node, place);
      printf("# guard %s: %s; asked by %s\n", guard.text, of.why, place);
    }
    CLI_TRY(cli_flush());
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
