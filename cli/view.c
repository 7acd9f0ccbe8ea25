/* view.c - a program and its functional form as one HTML page. */
#include "cli/cli.h"

#include <string.h>

/* The last part of a path is enough of a title. */
static const char *title_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return strcmp(path, "-") == 0 ? "standard input" : slash ? slash + 1 : path;
}

int cli_view(cli_call *call) {
  const char *path = cli_has(call, CLI_OUTPUT) ? call->options[CLI_OUTPUT] : "-";
  /* A name that says something else than a page. */
  const char *dot = strrchr(title_of(path), '.');
  bool is_other = dot && dot[1] && strcmp(dot, ".html") != 0 && strcmp(dot, ".htm") != 0;
  if (!cli_has(call, CLI_JSON) && strcmp(path, "-") != 0 && is_other)
    return cli_usage(call, "a page goes to a .html file, not to %s; fnz draw makes pictures", path);
  fnz_page_options options = FNZ_PAGE_OPTIONS_INIT;
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  options.title = title_of(call->operands[0]);
  options.json = cli_has(call, CLI_JSON);
  options.verify = cli_has(call, CLI_VERIFY);
  CLI_TRY(cli_check(call, fnz_page_write(call->ctx, call->program, &options, &call->out),
                    call->operands[0]));
  return cli_deliver(call, path);
}
