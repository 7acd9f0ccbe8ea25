/* draw.c - a program as a picture: Graphviz source, or SVG by Graphviz's own `dot`. Nothing of the
 * picture is written before `dot` has ended well. */
#include "cli/cli.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Both ends are files and not pipes: neither side can wait for the other. */
static int spawn_dot(FILE *source, FILE *picture, pid_t *child) {
  char name[] = "dot", format[] = "-Tsvg";
  char *const argv[] = {name, format, NULL};
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error)
    return error;
  posix_spawn_file_actions_adddup2(&actions, fileno(source), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
  error = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static int run_dot(const cli_call *call, FILE *source, FILE *picture) {
  pid_t child;
  int error = spawn_dot(source, picture, &child), result = 0;
  if (error == ENOENT)
    return cli_fail(call, FNZ_CLASS_IO, "dot",
                    "Graphviz is not installed; install graphviz, or draw to a .dot file");
  if (error)
    return cli_fail(call, FNZ_CLASS_IO, "dot", "it could not be started: %s; draw to a .dot file",
                    strerror(error));
  while (waitpid(child, &result, 0) < 0)
    if (errno != EINTR)
      return cli_fail(call, FNZ_CLASS_IO, "dot", "its end could not be waited for: %s",
                      strerror(errno));
  if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
    return cli_fail(call, FNZ_CLASS_IO, "dot",
                    "it failed; draw to a .dot file to see what it was given");
  return CLI_DONE;
}

static int write_svg(const cli_call *call, FILE *source, FILE *picture, const char *path) {
  if (!source || !picture)
    return cli_fail(call, FNZ_CLASS_IO, "temporary file", "it could not be made: %s",
                    strerror(errno));
  if (fwrite(call->out.data, 1, call->out.size, source) != call->out.size || fflush(source) != 0)
    return cli_fail(call, FNZ_CLASS_IO, "temporary file", "it could not be written: %s",
                    strerror(errno));
  rewind(source);
  CLI_TRY(run_dot(call, source, picture));
  long size = fseek(picture, 0, SEEK_END) == 0 ? ftell(picture) : -1;
  if (size < 0)
    return cli_fail(call, FNZ_CLASS_IO, "dot", "what it wrote could not be read back: %s",
                    strerror(errno));
  rewind(picture);
  char *bytes = malloc((size_t)size + 1);
  if (!bytes)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  int result = fread(bytes, 1, (size_t)size, picture) == (size_t)size
                   ? cli_check(call, fnz_file_write(call->ctx, path, bytes, (size_t)size), NULL)
                   : cli_fail(call, FNZ_CLASS_IO, "dot", "what it wrote could not be read back");
  free(bytes);
  return result;
}

int cli_draw(cli_call *call) {
  const char *path = cli_has(call, CLI_OUTPUT) ? call->options[CLI_OUTPUT] : "-";
  bool svg = cli_ends_with(path, ".svg");
  if (!svg && strcmp(path, "-") != 0 && !cli_ends_with(path, ".dot"))
    return cli_usage(call,
                     "a picture goes to a .dot or .svg file, not to %s; Graphviz makes others: "
                     "fnz draw IN -o a.dot && dot -Tpng a.dot -o a.png",
                     path);
  const fnz_program *program;
  CLI_TRY(cli_chosen(call, &program));
  CLI_TRY(cli_serialize(call, program, FNZ_FORMAT_DOT));
  if (!svg)
    return cli_deliver(call, path);
  FILE *source = tmpfile(), *picture = tmpfile();
  int result = write_svg(call, source, picture, path);
  if (source)
    fclose(source);
  if (picture)
    fclose(picture);
  return result;
}
