/* color.c - colours on a terminal: the only place that writes them. They mark errors, verdicts,
 * sides of a difference and kinds of findings, and say nothing that the words do not say. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For messages before there is a call, too. */
static enum { AUTO, ALWAYS, NEVER } mode;

bool cli_is_terminal(FILE *to) {
  const char *kind = getenv("TERM");
  return isatty(fileno(to)) && !(kind && strcmp(kind, "dumb") == 0);
}

void cli_color_choose(const char *when) {
  mode = !when || strcmp(when, "auto") == 0 ? AUTO : strcmp(when, "always") == 0 ? ALWAYS : NEVER;
}

const char *cli_color(FILE *to, cli_hue hue) {
  static const char *const codes[] = {
      [CLI_HUE_BAD] = "\033[1;31m", [CLI_HUE_GOOD] = "\033[32m",  [CLI_HUE_WARNING] = "\033[33m",
      [CLI_HUE_BOLD] = "\033[1m",   [CLI_HUE_FIRST] = "\033[31m", [CLI_HUE_SECOND] = "\033[32m",
      [CLI_HUE_NONE] = "\033[0m"};
  /* https://no-color.org: any text that is not empty. */
  const char *none = getenv("NO_COLOR");
  return mode == ALWAYS || (mode == AUTO && !(none && *none) && cli_is_terminal(to)) ? codes[hue]
                                                                                     : "";
}
