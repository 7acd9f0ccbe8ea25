/* fuzz.c - random programs against their functional forms; one that is wrong is made small and
 * printed as a program that the other verbs read. With --plant mistakes are made in functional
 * forms, of given programs too, and verification must find them. */
#include "cli/cli.h"
#include "soak/soak.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROGRAMS = 2000000000, MOST_JOBS = 256 };
/* How many programs, and how often each one that is given has its turn. */
enum { PROGRAMS = 10000, TURNS = 4 };

typedef struct fuzzing {
  cli_call *call;
  fnzi_soak_options options;
  char what[512];           /* is wrong with the program that was found; "" for none */
  fnz_buffer text, mistake; /* of it, for --json */
  fnz_program *given[CLI_MOST_FILES];
  const char *files[CLI_MOST_FILES]; /* that these come from */
  size_t ngiven;
} fuzzing;

/* A finding without its text is a finding still. */
static void keep_text(const fuzzing *f, fnz_buffer *to, const char *text) {
  if (text && fnzi_json_put_string(f->call->ctx, to, text, strlen(text)) != FNZ_OK)
    to->size = 0;
}

/* The notes in front of a program are comments of its text. */
static void fuzz_print_finding(void *user, const fnzi_finding *finding) {
  fuzzing *f = user;
  cli_progress_clear();
  const char *file = f->ngiven ? f->files[finding->index % f->ngiven] : "";
  snprintf(f->what, sizeof f->what, "program %llu%s%s: %s: %.300s",
           (unsigned long long)finding->index, *file ? ", " : "", file, finding->kind,
           finding->reason);
  for (char *c = f->what; *c; c++)
    *c = *c == '\n' ? ' ' : *c;
  if (cli_has(f->call, CLI_JSON)) {
    f->text.size = f->mistake.size = 0;
    keep_text(f, &f->text, finding->text);
    keep_text(f, &f->mistake, finding->mistake);
    return;
  }
  printf("# %s\n%s\n", f->what, finding->text);
  if (finding->mistake)
    printf("# the functional form with this mistake, which verify finds equal:\n%s\n",
           finding->mistake);
}

static bool report_progress(void *user, uint64_t done) {
  fuzzing *f = user;
  const fnz_progress progress = {.size = sizeof progress,
                                 .what = "fuzz",
                                 .unit = "programs",
                                 .done = done,
                                 .of = f->options.count,
                                 .share = (double)done / (double)f->options.count};
  return cli_progress(f->call, &progress);
}

static int fuzz_check_options(const cli_call *call) {
  const bool plants = cli_has(call, CLI_PLANT), symbolic = cli_has(call, CLI_SYMBOLIC);
  const char *against = call->options[CLI_AGAINST];
  if (symbolic && against && strcmp(against, "engine") == 0)
    return cli_usage(call, "programs of unknown sizes are not run by the engine; leave out "
                           "--symbolic or --against engine");
  if (symbolic && cli_has(call, CLI_REGIONS))
    return cli_usage(call, "--symbolic and --regions are two kinds of programs; give one of them");
  if (plants && against)
    return cli_usage(call, "--plant compares by verification alone; leave out --against");
  if (call->noperands && !plants)
    return cli_usage(call, "it draws its programs; with --plant it takes files, such as %s",
                     call->operands[0]);
  if (call->noperands && (symbolic || cli_has(call, CLI_REGIONS)))
    return cli_usage(call, "--symbolic and --regions draw programs; leave out %s",
                     call->operands[0]);
  return CLI_DONE;
}

static int read_options(const cli_call *call, fnzi_soak_options *out) {
  int seed, count, first, jobs;
  const bool given = call->noperands > 0;
  CLI_TRY(cli_number(call, CLI_SEED, 1, 0, MOST_PROGRAMS, &seed));
  CLI_TRY(cli_number(call, CLI_COUNT, given ? TURNS : PROGRAMS, 1, MOST_PROGRAMS, &count));
  CLI_TRY(cli_number(call, CLI_FIRST, 0, 0, MOST_PROGRAMS, &first));
  CLI_TRY(cli_number(call, CLI_JOBS, 1, 1, MOST_JOBS, &jobs));
  CLI_TRY(fuzz_check_options(call));
  out->seed = (uint64_t)seed;
  out->count = (uint64_t)count;
  out->first = (uint64_t)first;
  out->jobs = (size_t)jobs;
  out->kind = given                         ? FNZI_SOAK_GIVEN
              : cli_has(call, CLI_SYMBOLIC) ? FNZI_SOAK_SYMBOLIC
              : cli_has(call, CLI_REGIONS)  ? FNZI_SOAK_REGIONS
                                            : FNZI_SOAK_PLAIN;
  out->plants = cli_has(call, CLI_PLANT);
  const char *against = call->options[CLI_AGAINST];
  out->checks = !against                          ? FNZI_CHECK_ALL
                : strcmp(against, "keep") == 0    ? FNZI_CHECK_KEEP
                : strcmp(against, "strided") == 0 ? FNZI_CHECK_STRIDED
                : strcmp(against, "engine") == 0  ? FNZI_CHECK_ENGINE
                                                  : 0;
  out->found = fuzz_print_finding;
  out->progress = report_progress;
  return CLI_DONE;
}

/* A file that cannot be read is named, and left out: among many there may be some that are to be
 * refused. */
static int read_given(cli_call *call, fuzzing *f) {
  for (int k = 0; k < call->noperands; k++) {
    fnz_program **p = &f->given[f->ngiven];
    fnz_status status = fnz_program_load(call->ctx, call->operands[k], FNZ_FORMAT_AUTO, p);
    if (status == FNZ_OK)
      status = fnz_program_place_views(call->ctx, *p);
    if (status == FNZ_OK)
      status = fnz_program_check_types(call->ctx, *p, NULL, NULL);
    if (status == FNZ_NO_MEMORY || status == FNZ_IO)
      return cli_check(call, status, call->operands[k]);
    if (status == FNZ_OK) {
      f->files[f->ngiven++] = call->operands[k];
      continue;
    }
    fnz_program_destroy(*p);
    *p = NULL;
    if (call->talks)
      fprintf(stderr, "fnz: %s is left out: %s\n", call->operands[k],
              fnz_last_error(call->ctx)->message);
  }
  f->options.given = (const fnz_program *const *)f->given;
  f->options.ngiven = f->ngiven;
  if (!call->noperands)
    return CLI_DONE;
  f->options.count *= f->ngiven;
  return f->ngiven ? CLI_DONE
                   : cli_fail(call, FNZ_CLASS_REF, "fuzz",
                              "none of the files holds a program that can be read");
}

/* The answer to the run: nothing is wrong, and nothing was left out. */
static int conclude(const fuzzing *f, const fnzi_soak_report *report) {
  const char *gap = f->options.plants ? NULL : fnzi_soak_gap(report, f->options.checks);
  if (f->what[0]) {
    cli_fail(f->call, FNZ_CLASS_DIFFERENT, "fuzz", "seed %llu, %s",
             (unsigned long long)f->options.seed, f->what);
    return f->options.plants ? CLI_NEGATIVE : CLI_BUG;
  }
  if (gap)
    return cli_fail(f->call, FNZ_CLASS_INTERNAL, "fuzz",
                    "%llu programs, but there was never %s; the generator has lost it",
                    (unsigned long long)report->drawn.programs, gap);
  return CLI_DONE;
}

/* The answer is whole before the failure is said, which --json then has no second object for. */
static int fuzz_report_json(cli_call *call, fuzzing *f, const fnzi_soak_report *report) {
  fnzi_json_out *w = cli_json_begin(call);
  fnzi_json_out_count(w, "seed", f->options.seed);
  if (f->options.plants) {
    fnzi_json_out_count(w, "programs", report->plants.programs);
    fnzi_json_out_count(w, "left_out", report->plants.left_out);
  } else {
    fnzi_json_out_count(w, "programs", report->drawn.programs);
    fnzi_json_open_as(w, "verdicts", '[');
    for (int v = 0; v < FNZI_VERDICTS; v++) {
      fnzi_json_open(w, '{');
      fnzi_json_out_text(w, "verdict", fnzi_verdict_name((fnzi_verdict)v));
      fnzi_json_out_count(w, "programs", report->verdicts[v]);
      fnzi_json_close(w, '}');
    }
    fnzi_json_close(w, ']');
  }
  fnzi_json_out_text(w, "wrong", f->what[0] ? f->what : NULL);
  if (f->text.size) {
    fnzi_json_key(w, "text");
    fnzi_json_out_raw(w, f->text.data, f->text.size);
  }
  if (f->mistake.size) {
    fnzi_json_key(w, "mistake");
    fnzi_json_out_raw(w, f->mistake.data, f->mistake.size);
  }
  CLI_TRY(cli_json_end(call));
  return conclude(f, report);
}

static int fuzz(cli_call *call, fuzzing *f) {
  fnzi_soak_report report;
  CLI_TRY(read_options(call, &f->options));
  CLI_TRY(read_given(call, f));
  /* Programs are judged over numbers too: without a CPU backend that fails here, and by name. */
  CLI_TRY(cli_check(call, fnz_cpu_backend_create(call->ctx, 1, &call->backend), NULL));
  fnz_status status = fnzi_soak_run(&f->options, &report);
  cli_progress_clear();
  if (status == FNZ_CANCELLED)
    return CLI_CANCELLED;
  if (status == FNZ_NO_MEMORY)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  if (status != FNZ_OK)
    return cli_fail(call, FNZ_CLASS_IO, "fuzz", "there are no %zu threads to be had; give --jobs 1",
                    f->options.jobs);
  if (cli_has(call, CLI_JSON))
    return fuzz_report_json(call, f, &report);
  if (!cli_has(call, CLI_QUIET)) {
    const char *prefix = f->what[0] ? "# " : "";
    /* Lines begin with `prefix`: behind a program they are comments of it. */
    const bool is_long = cli_has(call, CLI_VERBOSE);
    if (cli_has(call, CLI_PLANT))
      (is_long ? fnzi_plant_print : fnzi_plant_summary)(stdout, prefix, &report.plants);
    else
      (is_long ? fnzi_soak_print : fnzi_soak_summary)(stdout, prefix, &report);
  }
  CLI_TRY(cli_flush());
  return conclude(f, &report);
}

int cli_fuzz(cli_call *call) {
  fuzzing *f = calloc(1, sizeof *f);
  if (!f)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  f->call = call;
  f->options.user = f;
  int result = fuzz(call, f);
  for (size_t k = 0; k < f->ngiven; k++)
    fnz_program_destroy(f->given[k]);
  fnz_buffer_free(call->ctx, &f->text);
  fnz_buffer_free(call->ctx, &f->mistake);
  free(f);
  return result;
}
