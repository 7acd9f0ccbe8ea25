/* main.c - the command: finds the verb, parses its options, runs it, and frees what it used. */
#include "cli/cli.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const cli_verb verbs[] = {
#define VERB_ROW(name, operands, least, most, compares, options, reading, summary, examples)       \
  {#name, operands, least, most, compares, options, reading, summary, examples, cli_##name},
    CLI_VERB_ROWS(VERB_ROW)
#undef VERB_ROW
};

enum { VERBS = sizeof verbs / sizeof *verbs };

static int help(void) {
  printf("fnz %s - rewrites traced tensor programs so that nothing aliases and nothing is written\n"
         "\nusage: fnz VERB [options] ...\n\n",
         fnz_version());
  for (int i = 0; i < VERBS; i++)
    printf("  %-8s %-16s %s\n", verbs[i].name, verbs[i].operands, verbs[i].summary);
  printf("\nIN is a .pt2 file, its model.json, fnz CBOR or fnz text, recognised by its content;\n"
         "- is standard input. fnz VERB --help prints options and examples, fnz --version the "
         "version.\n\n"
         "examples:\n"
         "  fnz convert model.pt2 -o model.cbor --verify\n"
         "  fnz show model.pt2 --functional\n"
         "  fnz run model.pt2 --inputs in.safetensors --outputs out.safetensors\n\n"
         "exit: 0 done, 1 a negative answer, 2 input refused, 3 I/O, 4 out of memory,\n"
         "      5 an internal check failed, 64 bad usage\n");
  return cli_flush();
}

static int verb_help(const cli_verb *verb) {
  printf("usage: fnz %s %s%s[options]\n\n%s\n\noptions:\n", verb->name, verb->operands,
         *verb->operands ? " " : "", verb->summary);
  cli_print_options(verb);
  printf("\nexamples:\n%s", verb->examples);
  return cli_flush();
}

static const cli_verb *find_verb(const char *name) {
  for (int i = 0; i < VERBS; i++)
    if (strcmp(name, verbs[i].name) == 0)
      return &verbs[i];
  return NULL;
}

static int refuse_verb(const char *name) {
  const char *names[VERBS];
  char near[CLI_NEAR];
  for (int i = 0; i < VERBS; i++)
    names[i] = verbs[i].name;
  cli_near(name, names, VERBS, near);
  if (access(name, F_OK) == 0)
    return cli_usage(NULL, "%s is a file, and a verb comes before it: fnz show %s", name, name);
  return cli_usage(NULL, "there is no %s %s%s", *name == '-' ? "option" : "verb",
                   *name ? name : "of an empty name", near);
}

/* The command ends the process itself: nothing for report_foreign_end() to report. */
static bool ended;

/* The handler of SIGBUS names its files. */
static const cli_call *running;

static int make_call(cli_call *call) {
  CLI_TRY(cli_check_files(call));
  if (fnz_context_create(NULL, &call->ctx) != FNZ_OK)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  running = call;
  cli_progress_open(call);
  fnz_context_set_collectives(call->ctx, call->collectives);
  fnz_context_set_sync(call->ctx, cli_has(call, CLI_SYNC));
  fnz_context_set_reading(call->ctx, cli_has(call, CLI_STRUCTURE) ? FNZ_READING_MAP_LATE
                                                                  : call->verb->reading);
  int result = cli_split_names(call);
  if (result == CLI_DONE)
    result = cli_declare_ops(call);
  if (result == CLI_DONE)
    result = call->verb->run(call);
  running = NULL;
  return result;
}

static int run_verb(const cli_verb *verb, int argc, char **argv) {
  cli_failure failure = {0};
  cli_call call = {.verb = verb, .failure = &failure};
  for (int i = 0; i < CLI_PHASE_COUNT; i++)
    call.ms[i] = -1;
  int result = cli_parse(&call, argc, argv);
  if (result == CLI_DONE && cli_has(&call, CLI_HELP))
    return verb_help(verb);
  if (result == CLI_DONE)
    result = cli_check_streams(&call);
  call.talks = !cli_has(&call, CLI_QUIET) && (cli_has(&call, CLI_VERBOSE) || isatty(STDERR_FILENO));
  call.shows_progress = !cli_has(&call, CLI_QUIET) && cli_is_terminal(stderr);
  if (result == CLI_DONE)
    result = cli_collectives_open(&call);
  if (result == CLI_DONE)
    result = make_call(&call);
  /* All words are looked at: parsing stops at a bad option, which may come before --json. */
  bool asks_json = false;
  for (int i = 0; !asks_json && i < argc && strcmp(argv[i], "--") != 0; i++)
    asks_json = strcmp(argv[i], cli_option_name(CLI_JSON)) == 0;
  if (result != CLI_DONE && asks_json &&
      (call.ctx || fnz_context_create(NULL, &call.ctx) == FNZ_OK))
    cli_json_failure(&call, result);
  /* Without this, the other processes would wait forever for the failed one. */
  const fnz_collectives *c = call.collectives;
  if (result != CLI_DONE && call.nranks >= 2 && c->abort) {
    ended = true;
    fflush(stdout);
    c->abort(c->self, result);
  }
  if (call.ctx)
    cli_call_end(&call);
  cli_collectives_end(&call);
  return result;
}

/* OpenBLAS reads variables before main(), so if it is linked into the command, the linker makes
 * this the first function that runs (CMakeLists.txt).
 *
 * It is kept from starting threads, which look for work for a while: kernels call it from threads
 * of their own (matmul_product.c). And it knows processors by their model: on one that is newer
 * than itself it would take SSE3, a fifth of the speed. python/fnz/_library.py says the same. */
void cli_start_blas(void) {
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

/* Page faults are most of the system time of a short run. A block that is allocated, marked for
 * large pages and freed again stays the end of the heap, so that later allocations use these pages.
 * This is a hint: a system without large pages ignores it. */
static void prefer_large_pages(void) {
#if defined M_TRIM_THRESHOLD && defined MADV_HUGEPAGE
  enum { PAGE = 1 << 12, BYTES = 31 << 20 };
  char *room = malloc(BYTES);
  if (room)
    (void)madvise(room + (PAGE - (uintptr_t)room % PAGE) % PAGE, BYTES - PAGE, MADV_HUGEPAGE);
  free(room);
#endif
}

/* Keeps freed memory in the process, large tensors too: each node allocates what an earlier one has
 * freed, and new pages of the system cost more than most computations on them. */
static void keep_memory(void) {
#ifdef M_MMAP_MAX
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1); /* none */
  mallopt(M_TOP_PAD, 4 << 20);
#endif
}

/* A library may end the process. Replaces its exit code, which a script would take for an answer of
 * the command. */
static void report_foreign_end(void) {
  if (ended)
    return;
  cli_fail(NULL, FNZ_CLASS_NOMEM, "", "a library ended the process; the system has no more for it");
  _exit(CLI_MEMORY);
}

static int main_answer(int argc, char **argv) {
  if (argc < 2)
    return cli_usage(NULL, "a verb is missing");
  if (strcmp(argv[1], "help") == 0 && argc > 2) {
    const cli_verb *asked = find_verb(argv[2]);
    return asked ? verb_help(asked) : refuse_verb(argv[2]);
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
    return help();
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
      strcmp(argv[1], "version") == 0) {
    printf("fnz %s\n", fnz_version());
    return cli_flush();
  }
  if (strcmp(argv[1], "--completion") == 0)
    return cli_print_completion();
  int at = 1;
  while (at < argc && !find_verb(argv[at]))
    at++;
  if (argv[1][0] == '-' && at < argc) { /* the verb comes in front of options that are before it */
    char *name = argv[at];
    memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof *argv);
    argv[1] = name;
  }
  const cli_verb *verb = find_verb(argv[1]);
  if (!verb)
    return refuse_verb(argv[1]);
  prefer_large_pages();
  return run_verb(verb, argc - 2, argv + 2);
}

static void say(const char *text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
}

/* A mapped program lost its end while it was in use. */
static void report_short_file(int number) {
  (void)number;
  say("fnz: IO: ");
  for (int i = 0; running && i < running->noperands; i++) {
    say(i ? " or " : "");
    say(running->operands[i]);
  }
  say(": the file became shorter while it was read; call again when it is whole\n");
  _exit(CLI_IO);
}

int main(int argc, char **argv) {
  keep_memory();
  /* A stream that the caller has closed is not to become the next file that is opened: what takes
   * its place refuses to be read, or written. */
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0)
      (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  signal(SIGBUS, report_short_file);
  /* A reader that goes away, or a file that may not grow, is an error of the write and not the end
   * of the process. */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  if (atexit(report_foreign_end) != 0)
    return cli_fail(NULL, FNZ_CLASS_NOMEM, "", "out of memory");
  int code = main_answer(argc, argv);
  ended = true;
  cli_end_cancelled();
  return code;
}
