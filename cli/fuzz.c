/* fuzz.c - random programs against their functional forms; one that is wrong is made small and
 * printed as a program that the other verbs read. */
#include "cli/cli.h"
#include "soak/soak.h"

#include <string.h>
#include <time.h>

enum { MOST_PROGRAMS = 2000000000, MOST_JOBS = 256, SECONDS = 10 };

typedef struct fuzzing {
  const cli_call *call;
  fnzi_soak_options options;
  time_t told;
  char what[512]; /* is wrong with the program that was found; "" for none */
} fuzzing;

/* The notes in front of the program are comments of its text. */
static void print_finding(void *user, const fnzi_finding *finding) {
  fuzzing *f = user;
  snprintf(f->what, sizeof f->what, "program %llu: %s: %.400s", (unsigned long long)finding->index,
           finding->kind, finding->reason);
  for (char *c = f->what; *c; c++)
    *c = *c == '\n' ? ' ' : *c;
  printf("# %s\n%s\n", f->what, finding->text);
}

static void tell_progress(void *user, uint64_t done) {
  fuzzing *f = user;
  time_t now = time(NULL);
  if (!f->call->talks || now - f->told < SECONDS)
    return;
  f->told = now;
  fprintf(stderr, "fnz: %llu of %llu programs\n", (unsigned long long)done,
          (unsigned long long)f->options.count);
}

static unsigned checks_of(const char *against) {
  if (!against)
    return FNZI_CHECK_ALL;
  return strcmp(against, "keep") == 0      ? FNZI_CHECK_KEEP
         : strcmp(against, "strided") == 0 ? FNZI_CHECK_STRIDED
         : strcmp(against, "engine") == 0  ? FNZI_CHECK_ENGINE
                                           : 0;
}

static int read_options(const cli_call *call, fnzi_soak_options *out) {
  int seed, count, first, jobs;
  CLI_TRY(cli_number(call, CLI_SEED, 1, 0, MOST_PROGRAMS, &seed));
  CLI_TRY(cli_number(call, CLI_COUNT, 10000, 1, MOST_PROGRAMS, &count));
  CLI_TRY(cli_number(call, CLI_FIRST, 0, 0, MOST_PROGRAMS, &first));
  CLI_TRY(cli_number(call, CLI_JOBS, 1, 1, MOST_JOBS, &jobs));
  if (cli_has(call, CLI_SYMBOLIC) && cli_has(call, CLI_AGAINST) &&
      strcmp(call->options[CLI_AGAINST], "engine") == 0)
    return cli_usage(call, "programs of unknown sizes are not run by the engine; leave out "
                           "--symbolic or --against engine");
  out->seed = (uint64_t)seed;
  out->count = (uint64_t)count;
  out->first = (uint64_t)first;
  out->jobs = (size_t)jobs;
  if (cli_has(call, CLI_SYMBOLIC) && cli_has(call, CLI_REGIONS))
    return cli_usage(call, "--symbolic and --regions are two kinds of programs; give one of them");
  out->kind = cli_has(call, CLI_SYMBOLIC)  ? FNZI_SOAK_SYMBOLIC
              : cli_has(call, CLI_REGIONS) ? FNZI_SOAK_REGIONS
                                           : FNZI_SOAK_PLAIN;
  out->checks = checks_of(call->options[CLI_AGAINST]);
  out->found = print_finding;
  out->progress = tell_progress;
  return CLI_DONE;
}

/* The answer to the run: nothing is wrong, and nothing was left out. */
static int conclude(const fuzzing *f, const fnzi_soak_report *report) {
  const char *gap = fnzi_soak_gap(report, f->options.checks);
  if (f->what[0]) {
    cli_fail(FNZ_CLASS_DIFFERENT, "fuzz", "seed %llu, %s", (unsigned long long)f->options.seed,
             f->what);
    return CLI_BUG;
  }
  if (gap)
    return cli_fail(FNZ_CLASS_INTERNAL, "fuzz",
                    "%llu programs, but there was never %s; the generator has lost it",
                    (unsigned long long)report->drawn.programs, gap);
  return CLI_DONE;
}

int cli_fuzz(cli_call *call) {
  fuzzing f = {.call = call, .told = time(NULL)};
  fnzi_soak_report report;
  f.options.user = &f;
  CLI_TRY(read_options(call, &f.options));
  /* Programs are judged over numbers too: without a CPU backend that fails here, and by name. */
  CLI_TRY(cli_check(call, fnz_cpu_backend_create(call->ctx, 1, &call->backend), NULL));
  fnz_status status = fnzi_soak_run(&f.options, &report);
  if (status == FNZ_NO_MEMORY)
    return cli_fail(FNZ_CLASS_NOMEM, "", "out of memory");
  if (status != FNZ_OK)
    return cli_fail(FNZ_CLASS_IO, "fuzz", "there are no %zu threads to be had; give --jobs 1",
                    f.options.jobs);
  if (!cli_has(call, CLI_QUIET))
    fnzi_soak_print(stdout, f.what[0] ? "# " : "", &report);
  CLI_TRY(cli_flush());
  return conclude(&f, &report);
}
