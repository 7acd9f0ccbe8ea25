/* collectives.c - runs the command as one of several processes: loads libfnz_mpi, reads the groups
 * of the command line, and puts the rank into names of files. */
#include "cli/cli.h"

#include <fnz/mpi.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Groups: NAME=0,1/2,3 --------------------------------------------------------------------- */
typedef struct groups {
  fnz_mpi_group data[CLI_MOST_WORDS];
  char *names[CLI_MOST_WORDS];
  int64_t *ranks[CLI_MOST_WORDS];
  size_t count;
} groups;

/* Reads a rank, or several as "0-3"; *end is the text after it. */
static bool read_ranks(const char *text, const char **end, int64_t *first, int64_t *last) {
  char *stop;
  errno = 0;
  *first = *last = strtoll(text, &stop, 10);
  if (stop == text || *text < '0' || *text > '9' || errno)
    return false;
  if (*stop == '-') {
    const char *from = stop + 1;
    *last = strtoll(from, &stop, 10);
    if (*from < '0' || *from > '9' || errno)
      return false;
  }
  *end = stop;
  return *first <= *last && *last < CLI_MOST_RANKS;
}

/* Reads one group up to a slash; *text is the text after it. False if it is malformed. */
static bool read_list(const char **text, int64_t *ranks, size_t *count) {
  for (*count = 0;; ++*text) {
    int64_t first, last;
    if (!read_ranks(*text, text, &first, &last))
      return false;
    for (int64_t r = first; r <= last; r++) {
      if (*count == CLI_MOST_RANKS)
        return false;
      ranks[(*count)++] = r;
    }
    if (**text != ',')
      return **text == 0 || **text == '/';
  }
}

static int add_groups(const cli_call *call, groups *g, const char *word) {
  const char *text = strchr(word, '=');
  if (!text || text == word)
    return cli_usage(call, "--group takes NAME=RANKS, such as tp=0,1/2,3, not %s", word);
  const size_t length = (size_t)(text++ - word);
  for (bool more = true; more; text++) {
    const size_t k = g->count;
    if (k == CLI_MOST_WORDS)
      return cli_usage(call, "--group names more than %d groups", CLI_MOST_WORDS);
    g->names[k] = strndup(word, length);
    g->ranks[k] = malloc(CLI_MOST_RANKS * sizeof *g->ranks[k]);
    g->count++;
    if (!g->names[k] || !g->ranks[k])
      return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
    g->data[k] = (fnz_mpi_group){.name = g->names[k], .ranks = g->ranks[k]};
    if (!read_list(&text, g->ranks[k], &g->data[k].nranks))
      return cli_usage(call, "--group takes NAME=RANKS below %d, such as tp=0,1/2,3, not %s",
                       CLI_MOST_RANKS, word);
    more = *text == '/';
  }
  return CLI_DONE;
}

/* --- The library ------------------------------------------------------------------------------ */
typedef fnz_status create_fn(const fnz_mpi_options *options, fnz_collectives **out, char *message);

/* Looks in the folder of the command, as after a build; in the folder of libraries next to it, as
 * after an installation; and in the folders of the system's loader. */
static void *load(const char *name) {
  static const char *const folders[] = {"", "../" FNZ_LIBDIR "/"};
  char path[4096], own[2048];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length > 0 ? length : 0] = 0;
  char *end = strrchr(own, '/');
  for (size_t k = 0; k < sizeof folders / sizeof *folders && end; k++) {
    snprintf(path, sizeof path, "%.*s/%s%s", (int)(end - own), own, folders[k], name);
    if (access(path, R_OK) == 0)
      return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static int open_mpi(cli_call *call, const groups *g) {
  char message[FNZ_COLLECTIVES_MESSAGE_BYTES];
  fnz_mpi_options options = FNZ_MPI_OPTIONS_INIT;
  create_fn *create = NULL;
  options.groups = g->data;
  options.ngroups = g->count;
  char name[64];
  snprintf(name, sizeof name, "libfnz_mpi.so.%d.%d", FNZ_VERSION_MAJOR, FNZ_VERSION_MINOR);
  void *library = load(name);
  void *found = library ? dlsym(library, "fnz_mpi_collectives_create") : NULL;
  const char *why = found ? NULL : dlerror();
  if (!found)
    return cli_fail(call, FNZ_CLASS_UNSUPPORTED, "--collectives mpi",
                    "%s cannot be used (%s); build fnz with MPI and -DFNZ_MPI=ON, and install the "
                    "library next to the command",
                    name, why ? why : "no reason is known");
  memcpy(&create, &found, sizeof found);
  fnz_collectives *c = NULL;
  fnz_status status = create(&options, &c, message);
  if (status == FNZ_BAD_INPUT)
    return cli_usage(call, "%s", message);
  if (status != FNZ_OK)
    return cli_fail(call, status == FNZ_NO_MEMORY ? FNZ_CLASS_NOMEM : FNZ_CLASS_IO,
                    "--collectives mpi", "%s", message);
  call->collectives = c;
  if (c->place(c->self, NULL, &call->rank, &call->nranks, message) != FNZ_OK)
    return cli_fail(call, FNZ_CLASS_IO, "--collectives mpi", "%s", message);
  return CLI_DONE;
}

/* --- Files of each process -------------------------------------------------------------------- */
/* Replaces each %r in the word by the rank. */
static int put_rank(cli_call *call, const char **word) {
  char rank[24];
  const char *at = *word ? strstr(*word, "%r") : NULL;
  if (!at)
    return CLI_DONE;
  snprintf(rank, sizeof rank, "%lld", (long long)call->rank);
  char *made = malloc(strlen(*word) / 2 * strlen(rank) + strlen(*word) + 1), *to = made;
  if (!made || call->nranked == CLI_MOST_RANKED) {
    free(made);
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  }
  for (const char *from = *word; *from;) {
    const bool is_rank = strncmp(from, "%r", 2) == 0;
    to += sprintf(to, "%.*s", is_rank ? 24 : 1, is_rank ? rank : from);
    from += is_rank ? 2 : 1;
  }
  call->ranked[call->nranked++] = made;
  *word = made;
  return CLI_DONE;
}

static int put_ranks(cli_call *call) {
  static const cli_option written[] = {CLI_OUTPUTS, CLI_SAVE_STATE};
  for (size_t k = 0; k < sizeof written / sizeof *written; k++) {
    const char *path = call->options[written[k]];
    if (path && call->nranks > 1 && !strstr(path, "%r"))
      return cli_usage(call,
                       "each of %lld processes writes %s; name it with %%r, which is its rank",
                       (long long)call->nranks, path);
    CLI_TRY(put_rank(call, &call->options[written[k]]));
  }
  CLI_TRY(put_rank(call, &call->options[CLI_STATE_FILE]));
  for (int k = 0; k < call->ninput_files; k++)
    CLI_TRY(put_rank(call, &call->input_files[k]));
  for (int k = 0; k < call->noperands; k++)
    CLI_TRY(put_rank(call, &call->operands[k]));
  return CLI_DONE;
}

int cli_collectives_open(cli_call *call) {
  groups g = {.count = 0};
  int result = CLI_DONE;
  if (!cli_has(call, CLI_COLLECTIVES))
    return cli_has(call, CLI_GROUP)
               ? cli_usage(call, "--group needs --collectives; add --collectives mpi")
               : CLI_DONE;
  for (int k = 0; k < call->ngroups && result == CLI_DONE; k++)
    result = add_groups(call, &g, call->groups[k]);
  if (result == CLI_DONE && strcmp(call->options[CLI_COLLECTIVES], "mpi") == 0)
    result = open_mpi(call, &g);
  else if (result == CLI_DONE && g.count)
    result = cli_usage(call, "--group needs --collectives mpi");
  else if (result == CLI_DONE) {
    call->collectives = fnz_collectives_one();
    call->nranks = 1;
  }
  for (size_t k = 0; k < g.count; k++) {
    free(g.names[k]);
    free(g.ranks[k]);
  }
  return result == CLI_DONE ? put_ranks(call) : result;
}

void cli_collectives_end(cli_call *call) {
  for (int k = 0; k < call->nranked; k++)
    free(call->ranked[k]);
  if (call->collectives && call->collectives->destroy)
    call->collectives->destroy(call->collectives->self);
}
