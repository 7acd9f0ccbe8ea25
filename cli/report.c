/* report.c - everything the command says: one line for a failure, a summary for a person.
 * Failures and summaries go to standard error, results to standard output.
 */
#include "base/remedy.h"
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Exit codes by fnz_status, in its order. */
static const int exits[] = {CLI_DONE, CLI_MEMORY, CLI_BUG, CLI_REFUSED,  CLI_REFUSED,
                            CLI_IO,   CLI_IO,     CLI_BUG, CLI_NEGATIVE, CLI_CANCELLED};

static const fnz_status statuses[] = {
#define CLASS_STATUS(name, status) status,
    FNZ_CLASS_ROWS(CLASS_STATUS)
#undef CLASS_STATUS
};

/* Written at once, lest lines of several processes meet in one. */
static void line(const cli_call *call, fnz_class kind, const char *file, const char *where,
                 const char *message) {
  char text[1 << 13], all[sizeof text + 64];
  snprintf(text, sizeof text, "%s%s%s%s%s", file, *file ? ": " : "", where, *where ? ": " : "",
           message);
  /* Messages quote files and arguments, whose control characters must neither end the line nor
   * reach the terminal. */
  for (unsigned char *s = (unsigned char *)text; *s; s++)
    *s = *s < 0x20 || *s == 0x7f ? '?' : *s;
  int length = snprintf(all, sizeof all, "fnz: %s%s%s: %s\n", cli_color(stderr, CLI_HUE_BAD),
                        fnz_class_name(kind), cli_color(stderr, CLI_HUE_NONE), text);
  cli_progress_clear();
  fwrite(all, 1, (size_t)length, stderr);
  /* --json shows the first failure of a call, because later ones follow from it. */
  cli_failure *kept = call ? call->failure : NULL;
  if (kept && !kept->is_set) {
    kept->is_set = true;
    kept->kind = kind;
    snprintf(kept->file, sizeof kept->file, "%s", file);
    snprintf(kept->where, sizeof kept->where, "%s", where);
    snprintf(kept->message, sizeof kept->message, "%s", message);
  }
}

int cli_fail(const cli_call *call, fnz_class kind, const char *where, const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  line(call, kind, "", where, message);
  return exits[statuses[kind]];
}

void cli_near(const char *word, const char *const *names, size_t count, char out[CLI_NEAR]) {
  fnz_context *ctx;
  fnz_buffer near = {NULL, 0, 0};
  *out = 0;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return;
  if (fnz_suggest(ctx, word, names, count, &near) == FNZ_OK && near.size)
    snprintf(out, CLI_NEAR, "; did you mean %s?", near.data);
  fnz_buffer_free(ctx, &near);
  fnz_context_destroy(ctx);
}

int cli_usage(const cli_call *call, const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  const char *verb = call ? call->verb->name : "";
  size_t used = strlen(message);
  const char *gap = used && message[used - 1] == '?' ? "" : ";";
  snprintf(message + used, sizeof message - used, "%s see fnz %s%s--help", gap, verb,
           *verb ? " " : "");
  line(call, FNZ_CLASS_ARGUMENT, verb, "", message);
  return CLI_USAGE;
}

/* A reader that went away has what it wanted, as `fnz show x | head` has: the command ends as
 * others do, by the signal and without a word. */
static void end_without_reader(const char *where) {
  struct pollfd output = {.fd = STDOUT_FILENO};
  if (strcmp(where, "standard output") != 0 || poll(&output, 1, 0) < 0 ||
      !(output.revents & POLLERR))
    return;
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
}

int cli_check(const cli_call *call, fnz_status status, const char *file) {
  cli_progress_clear();
  if (cli_is_cancelled())
    return CLI_CANCELLED;
  if (status == FNZ_OK)
    return CLI_DONE;
  const fnz_error *error = fnz_last_error(call->ctx);
  const char *shown = !file ? "" : strcmp(file, "-") == 0 ? "standard input" : file;
  if (strcmp(shown, error->where) == 0)
    shown = "";
  if (status == FNZ_IO)
    end_without_reader(error->where);
  char message[sizeof error->message + 64];
  snprintf(message, sizeof message, "%s", error->message);
  if (call->nranks > 1)
    snprintf(message, sizeof message, "rank %lld of %lld: %s", (long long)call->rank,
             (long long)call->nranks, error->message);
  line(call, error->kind, shown, error->where, message);
  return exits[status];
}

int cli_flush(void) {
  static const char name[] = "standard output";
  cli_progress_clear();
  if (fflush(stdout) == 0 && !ferror(stdout))
    return CLI_DONE;
  int error = errno;
  end_without_reader(name);
  return cli_fail(NULL, FNZ_CLASS_IO, name, "cannot write: %s%s", strerror(error),
                  fnzi_errno_remedy(error));
}

void cli_print_summary(const cli_call *call, FILE *to, const char *out_name) {
  const fnz_stats in = fnz_program_stats(call->program);
  const fnz_stats out = fnz_program_stats(call->functional);
  const char *in_name = call->operands[0];
  int width = (int)(strlen(in_name) > strlen(out_name) ? strlen(in_name) : strlen(out_name));
  fprintf(to, "%-*s  %zu operators, %zu views, %zu writes", width, in_name, in.nodes, in.views,
          in.mutations);
  const char *torch = fnz_program_torch_version(call->program);
  const fnz_schema_version schema = fnz_program_schema_version(call->program);
  if (*torch)
    fprintf(to, "        torch %s", torch);
  if (schema.major || schema.minor)
    fprintf(to, "%sschema %d.%d", *torch ? ", " : "        ", schema.major, schema.minor);
  fputc('\n', to);
  fprintf(to,
          "%-*s  %zu operators, %zu views, %zu writes; %zu state outputs; %zu only move elements\n",
          width, out_name, out.nodes, out.views, out.mutations, out.mutated, out.copies);
  if (in.no_data)
    fprintf(to, "%-*s  no data for %zu of %zu weights (sizes only, or pickled)\n", width, in_name,
            in.no_data, in.weights);
}

/* Names in a report come from the file: control characters, which a terminal would act on, are left
 * out. */
static void put_plain(const char *text, FILE *to) {
  for (const char *c = text; *c; c++)
    fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, to);
}

/* Prints the scope of a comparison besides values, and its limits. */
static void put_scope(const cli_call *call, FILE *to) {
  const fnz_verify_report *seen = &call->seen;
  fprintf(to, " (hash domain, %d %s", seen->trials, seen->sizes ? "runs" : "seeds");
  if (call->other && seen->weights_without)
    fprintf(to, "; %zu weights have no data to compare", seen->weights_without);
  if (seen->numbers)
    fputs("; and on these inputs", to);
  else if (call->inputs) {
    fputs("; not on these inputs: ", to);
    put_plain(seen->no_numbers, to);
  }
  if (seen->predicates > seen->predicates_turned)
    fprintf(to, "; %zu of %zu predicates went both ways", seen->predicates_turned,
            seen->predicates);
  if (*seen->not_compared) {
    fputs("; not compared: ", to);
    put_plain(seen->not_compared, to);
  }
  fputc(')', to);
}

void cli_print_equal(const cli_call *call, FILE *to) {
  const fnz_verify_report *seen = &call->seen;
  bool all_run = seen->sizes || seen->bodies_run == seen->bodies;
  fprintf(to, "%sequal%s%s%s", cli_color(to, CLI_HUE_GOOD), cli_color(to, CLI_HUE_NONE),
          *seen->narrower ? " where both run," : "", to == stderr ? " to the original" : "");
  if (seen->sizes)
    fprintf(to, " at %zu choices of sizes, for all values", seen->sizes);
  else if (all_run)
    fputs(" for all values of these shapes", to);
  else
    fprintf(to, " where %zu of %zu bodies were run", seen->bodies_run, seen->bodies);
  put_scope(call, to);
  if (!all_run) {
    fputs("; never run: ", to);
    put_plain(seen->missed, to);
  }
  if (*seen->narrower) {
    fprintf(to, "; %s refuses ", call->other ? "the second program" : "the functional form");
    put_plain(seen->narrower, to);
  }
  fputc('\n', to);
}

void cli_print_times(const cli_call *call, FILE *to) {
  const char *gap = "";
#define PHASE_TIME(id, name)                                                                       \
  if (call->ms[CLI_PHASE_##id] >= 0) {                                                             \
    fprintf(to, "%s" name " %.1f ms", gap, call->ms[CLI_PHASE_##id]);                              \
    gap = "   ";                                                                                   \
  }
  CLI_PHASE_ROWS(PHASE_TIME)
#undef PHASE_TIME
  fputc('\n', to);
}
