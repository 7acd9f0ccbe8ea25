/* warn.c - warnings about a program that is converted all the same. */
#include "cli/cli.h"
#include "program/program.h"

#include <string.h>

/* A file that PyTorch wrote does not say that a constant and a buffer are one tensor. */
void cli_warn_constants(const cli_call *call, const char *path) {
  size_t count;
  (void)fnz_graph_inputs(call->program, 0, &count);
  for (uint32_t k = 0; k < count && !cli_has(call, CLI_QUIET); k++) {
    char what[FNZI_CONSTANT_WORDS], remedy[FNZI_CONSTANT_WORDS];
    if (!fnzi_is_written_constant(call->program, call->functional, k))
      continue;
    fnzi_written_constant_say(call->program, k, what, remedy);
    fprintf(stderr, "fnz: %sWARNING%s: ", cli_color(stderr, CLI_HUE_WARNING),
            cli_color(stderr, CLI_HUE_NONE));
    cli_put_clean(stderr, path, strlen(path));
    fprintf(stderr, ": ");
    cli_put_clean(stderr, what, strlen(what));
    fprintf(stderr, "; ");
    cli_put_clean(stderr, remedy, strlen(remedy));
    fputc('\n', stderr);
  }
}
