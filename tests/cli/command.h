/* command.h - the command from outside: every call is a process of its own, without a shell, in a
 * folder of its own. */
#ifndef FNZ_TESTS_CLI_COMMAND_H
#define FNZ_TESTS_CLI_COMMAND_H

#include "tests/help/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 1 << 16, ARGS = 16 };

extern char **environ;

/* The outcome of one call: exit code and the two streams, cut to ROOM bytes. */
typedef struct outcome {
  int code;
  char out[ROOM], err[ROOM];
} outcome;

static char folder[] = "/tmp/fnz-cli-test-XXXXXX";

/* The folder is flat: the command makes no folders. */
static inline void leave_folder(void) {
  DIR *entries = opendir(folder);
  if (!entries || chdir(folder) != 0)
    return;
  for (struct dirent *e = readdir(entries); e; e = readdir(entries))
    unlink(e->d_name);
  closedir(entries);
  rmdir(folder);
}

static inline void enter_folder(void) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(atexit(leave_folder), 0);
  ck_assert_int_eq(chdir(folder), 0);
}

static inline void slurp(const char *path, char out[ROOM]) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  out[fread(out, 1, ROOM - 1, file)] = 0;
  ck_assert_int_eq(fclose(file), 0);
}

static inline void spill_bytes(const char *path, const char *data, size_t size) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(data, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
}

static inline void spill(const char *path, const char *text) {
  spill_bytes(path, text, strlen(text));
}

/* NULL closes a stream. */
static inline void open_stream(posix_spawn_file_actions_t *files, int fd, const char *path) {
  if (!path)
    posix_spawn_file_actions_addclose(files, fd);
  else if (fd == 0)
    posix_spawn_file_actions_addopen(files, fd, path, O_RDONLY, 0);
  else
    posix_spawn_file_actions_addopen(files, fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

/* The command under test: the built one, or FNZ_COMMAND. */
static inline const char *command_path(void) {
  const char *path = getenv("FNZ_COMMAND");
  return path ? path : FNZ_EXE;
}

static inline int spawn_fnz(char **argv, const char *in, const char *out, char **env) {
  posix_spawn_file_actions_t files;
  pid_t child;
  int result;
  ck_assert_int_eq(posix_spawn_file_actions_init(&files), 0);
  open_stream(&files, 0, in);
  open_stream(&files, 1, out);
  open_stream(&files, 2, ".err");
  ck_assert_int_eq(posix_spawn(&child, command_path(), &files, NULL, argv, env), 0);
  posix_spawn_file_actions_destroy(&files);
  ck_assert_int_eq(waitpid(child, &result, 0), child);
  ck_assert(WIFEXITED(result));
  return WEXITSTATUS(result);
}

/* Splits `words` at blanks into argv; none of the paths used here has one. */
static inline void split(const char *words, char *text, size_t capacity, char **argv) {
  static char name[] = "fnz";
  int count = 0;
  ck_assert_uint_lt(strlen(words), capacity);
  memcpy(text, words, strlen(words) + 1);
  argv[count++] = name;
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    ck_assert_int_lt(count, ARGS - 1);
    argv[count++] = word;
  }
  argv[count] = NULL;
}

static inline outcome *fnz_with(const char *words, const char *in, const char *out, char **env) {
  static outcome o;
  char text[2048], *argv[ARGS];
  split(words, text, sizeof text, argv);
  o.code = spawn_fnz(argv, in, out, env);
  o.out[0] = 0;
  if (out && strcmp(out, ".out") == 0)
    slurp(out, o.out);
  slurp(".err", o.err);
  return &o;
}

static inline outcome *fnz(const char *words) {
  return fnz_with(words, "/dev/null", ".out", environ);
}

static inline bool exists(const char *path) {
  struct stat st;
  return stat(path, &st) == 0;
}

/* A failure: this exit code, one line on standard error that begins so. Nothing is on standard
 * output but the object of --json. */
static inline void must_fail(const char *words, int code, const char *begins) {
  outcome *o = fnz(words);
  ck_assert_msg(o->code == code, "%s: exit %d, wanted %d: %s", words, o->code, code, o->err);
  ck_assert_msg(strncmp(o->err, begins, strlen(begins)) == 0, "%s: said %s", words, o->err);
  ck_assert_ptr_eq(strchr(o->err, '\n'), o->err + strlen(o->err) - 1);
  static const char object[] = "{\n  \"fnz_json\": 1,\n";
  ck_assert_int_eq(strncmp(o->out, object, strlen(object)) == 0, strstr(words, "--json") != NULL);
  ck_assert(strstr(words, "--json") || !*o->out);
}

static inline outcome *must_work(const char *words) {
  outcome *o = fnz(words);
  ck_assert_msg(o->code == 0, "%s: exit %d: %s", words, o->code, o->err);
  ck_assert_msg(*o->err == 0, "%s: said %s", words, o->err);
  return o;
}

static inline void has(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) != NULL, "no `%s` in:\n%s", part, text);
}

#endif
