/* files.c - the files that a call reads and writes: no file twice, and none that is read is written
 * over, whatever names it has. */
#include "cli/cli.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of the call. */
typedef struct file {
  const char *option; /* "" for an operand */
  const char *path;
  cli_option of; /* CLI_OPTION_COUNT for an operand */
} file;

typedef struct files {
  file data[2 * CLI_MOST_WORDS];
  size_t count;
} files;

static void files_add(files *to, cli_option of, const char *path) {
  bool is_operand = of == CLI_OPTION_COUNT;
  if (path)
    to->data[to->count++] = (file){is_operand ? "" : cli_option_name(of), path, of};
}

static bool is_stream(const file *f) {
  return strcmp(f->path, "-") == 0;
}

/* --- Which there are -------------------------------------------------------------------------- */
static files files_read(const cli_call *call) {
  static const cli_option named[] = {CLI_STATE_FILE, CLI_OPS, CLI_IMPORT, CLI_TAGS};
  files all = {.count = 0};
  for (int i = 0; i < call->noperands; i++)
    files_add(&all, CLI_OPTION_COUNT, call->operands[i]);
  for (int i = 0; i < call->ninput_files; i++)
    files_add(&all, CLI_INPUTS, call->input_files[i]);
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    files_add(&all, named[i], call->options[named[i]]);
  return all;
}

static files files_written(const cli_call *call) {
  static const cli_option named[] = {CLI_OUTPUT, CLI_OUTPUTS, CLI_SAVE_STATE};
  files all = {.count = 0};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    files_add(&all, named[i], call->options[named[i]]);
  return all;
}

/* --- One file by two names -------------------------------------------------------------------- */
/* The folder of a path, and the name in it. */
static bool stat_folder(const char *path, struct stat *out, const char **name) {
  const char *slash = strrchr(path, '/');
  char folder[4096];
  *name = slash ? slash + 1 : path;
  int used = snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                      slash ? path : ".");
  return used > 0 && (size_t)used < sizeof folder && stat(folder, out) == 0;
}

static int stat_file(const char *path, struct stat *out) {
  return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, out) : stat(path, out);
}

/* Links to one file are the same. A file that does not exist yet is known by its folder and name.
 * Two writes to /dev/null and other devices take nothing from each other. */
static bool are_same(const file *a, const file *b) {
  struct stat x, y;
  const char *one, *other;
  bool is_there = stat_file(a->path, &x) == 0, other_is = stat_file(b->path, &y) == 0;
  if (is_there != other_is)
    return false;
  if (is_there)
    return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return stat_folder(a->path, &x, &one) && stat_folder(b->path, &y, &other) &&
         x.st_dev == y.st_dev && x.st_ino == y.st_ino && strcmp(one, other) == 0;
}

/* --- What is refused -------------------------------------------------------------------------- */
int cli_check_streams(const cli_call *call) {
  const files in = files_read(call), out = files_written(call);
  int streams = 0, results = 0;
  for (size_t i = 0; i < in.count; i++)
    streams += is_stream(&in.data[i]);
  for (size_t i = 0; i < out.count; i++)
    results += is_stream(&out.data[i]);
  if (streams > 1)
    return cli_usage(call, "two files cannot both come from standard input");
  if (results > 1)
    return cli_usage(call, "two files cannot both go to standard output");
  bool lists = cli_has(call, CLI_SAVE_STATE) && !cli_has(call, CLI_OUTPUTS);
  return results && lists ? cli_usage(call, "the state and the list of results cannot both go to "
                                            "standard output; add --outputs FILE")
                          : CLI_DONE;
}

int cli_check_files(const cli_call *call) {
  static const char *const others[] = {".npy", ".npz",  ".pt",   ".pth", ".pt2", ".pkl", ".h5",
                                       ".csv", ".json", ".cbor", ".fnz", ".txt", ".bin", ".onnx"};
  const files in = files_read(call), out = files_written(call);
  for (size_t i = 0; i < in.count; i++)
    for (size_t k = 0; k < i; k++) {
      const file *a = &in.data[k], *b = &in.data[i];
      bool are_arrays = (a->of == CLI_INPUTS || a->of == CLI_STATE_FILE) &&
                        (b->of == CLI_INPUTS || b->of == CLI_STATE_FILE);
      if (are_arrays && !is_stream(a) && are_same(a, b))
        return cli_usage(call, "%s %s and %s %s are one file; name it once", a->option, a->path,
                         b->option, b->path);
    }
  for (size_t i = 0; i < out.count; i++)
    for (size_t k = 0; k < i; k++)
      if (!is_stream(&out.data[i]) && are_same(&out.data[k], &out.data[i]))
        return cli_usage(call, "%s %s and %s %s are one file, which can hold only one of them",
                         out.data[k].option, out.data[k].path, out.data[i].option,
                         out.data[i].path);
  for (size_t i = 0; i < out.count; i++) {
    const file *f = &out.data[i];
    if (is_stream(f))
      continue;
    for (size_t k = 0; k < in.count; k++) {
      /* The final state may take the place of the first one, which has been read by then. */
      bool goes_on = f->of == CLI_SAVE_STATE && in.data[k].of == CLI_STATE_FILE;
      if (!goes_on && are_same(f, &in.data[k]))
        return cli_usage(call, "%s %s is what is read from %s; name another file", f->option,
                         f->path, in.data[k].path);
    }
    /* Results are safetensors: a name that promises other bytes would mislead what opens it. */
    for (size_t k = 0; f->of != CLI_OUTPUT && k < sizeof others / sizeof *others; k++)
      if (cli_ends_with(f->path, others[k]))
        return cli_usage(call,
                         "results are written as safetensors, not as %s; name %.*s.safetensors",
                         others[k], (int)(strlen(f->path) - strlen(others[k])), f->path);
  }
  return CLI_DONE;
}
