/* memory_sweep.c - one call of the command, again and again in this process, with another
 * allocation failing each time until none is left to fail: once the one alone, once it and all
 * after it.
 *
 *     memory_sweep [-s STEP] [-b BEGIN] OUTPUT VERB ARGS...
 *
 * Every STEP-th allocation from BEGIN on; with STEP above 1, a sample of forty or so at most: the
 * cost of a call grows with the number of its allocations. The allocations of the command, of the
 * library, and of the C++ libraries below it count. Each time the command must end with exit 4 and
 * one line with the reason; OUTPUT must be as it was, by turns missing and there; no other file may
 * appear, and as many blocks must be freed as were allocated. A run may also work in spite of it,
 * and must then have the same output. Prints how many allocations failed; exit 1 at the first
 * fault, saying which.
 *
 * The current folder should be empty but for inputs; the allocator is put below the command by the
 * linker (--wrap), so this works under sanitizers too. */
#include "tests/faults/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fnz_main(int argc, char **argv);

/* --- the allocator --------------------------------------------------------------------------- */
static atomic_size_t calls, blocks;
static size_t fail_at; /* 0: never */
static bool fail_after;

bool sweep_fails(void) {
  size_t n = ++calls;
  return fail_at && (n == fail_at || (fail_after && n > fail_at));
}

/* FNZ_SWEEP_ALL: all allocations of the process, of every shared library and of libc itself; needs
 * glibc and no sanitizer. Otherwise the allocations of statically linked code, under the linker's
 * names. */
#ifdef FNZ_SWEEP_ALL
#define REAL(name) __libc_##name
#define OURS(name) name
#else
#define REAL(name) __real_##name
#define OURS(name) __wrap_##name
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
#endif
void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *p, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);
void REAL(free)(void *p);
void *OURS(malloc)(size_t size);
void *OURS(calloc)(size_t count, size_t size);
void *OURS(realloc)(void *p, size_t size);
void *OURS(memalign)(size_t alignment, size_t size);
void *OURS(aligned_alloc)(size_t alignment, size_t size);
int OURS(posix_memalign)(void **out, size_t alignment, size_t size);
void OURS(free)(void *p);

static void *took(void *p) {
  blocks += p != NULL;
  return p;
}

void *OURS(malloc)(size_t size) {
  return sweep_fails() ? NULL : took(REAL(malloc)(size));
}

void *OURS(calloc)(size_t count, size_t size) {
  return sweep_fails() ? NULL : took(REAL(calloc)(count, size));
}

void *OURS(realloc)(void *p, size_t size) {
  if (sweep_fails())
    return NULL;
  void *q = REAL(realloc)(p, size);
  blocks += !p && q;
  return q;
}

void *OURS(memalign)(size_t alignment, size_t size) {
  return sweep_fails() ? NULL : took(REAL(memalign)(alignment, size));
}

void *OURS(aligned_alloc)(size_t alignment, size_t size) {
  return OURS(memalign)(alignment, size);
}

int OURS(posix_memalign)(void **out, size_t alignment, size_t size) {
  *out = OURS(memalign)(alignment, size);
  return *out ? 0 : ENOMEM;
}

void OURS(free)(void *p) {
  blocks -= p != NULL;
  REAL(free)(p);
}

#ifndef FNZ_SWEEP_ALL
char *__wrap_strdup(const char *s) {
  return sweep_fails() ? NULL : took(__real_strdup(s));
}
#endif

/* --- one call --------------------------------------------------------------------------------- */
enum { OUT_OF_MEMORY = 4, ROOM = 1 << 16, MOST_ARGS = 64, MOST_OF_SAMPLE = 40 };

typedef struct sweep {
  const char *output;
  int argc;
  char **argv;
  int real_err; /* where this program itself speaks */
  char *want;   /* the output of a run without faults, NULL for none */
  size_t want_size, files;
  int want_code;
} sweep;

static const char precious[] = "precious";

static size_t count_files(void) {
  size_t count = 0;
  DIR *entries = opendir(".");
  for (struct dirent *e = entries ? readdir(entries) : NULL; e; e = readdir(entries))
    count++;
  if (entries)
    closedir(entries);
  return count;
}

static void write_file(const char *path, const char *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0)
    exit(2);
}

/* The whole file; NULL when it is not there. */
static char *read_file(const char *path, size_t *size) {
  struct stat st;
  FILE *f = fopen(path, "rb");
  *size = 0;
  if (!f)
    return NULL;
  if (fstat(fileno(f), &st) != 0)
    exit(2);
  char *bytes = REAL(malloc)((size_t)st.st_size + 1);
  if (!bytes || fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
    exit(2);
  bytes[st.st_size] = 0;
  *size = (size_t)st.st_size;
  fclose(f);
  return bytes;
}

/* Both streams of the command go to files; this program keeps its own. */
static void catch_streams(sweep *s) {
  s->real_err = dup(STDERR_FILENO);
  int out = open(".stdout", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
  int err = open(".stderr", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
  if (s->real_err < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
    exit(2);
  close(out);
  close(err);
}

static int call(sweep *s, size_t n, bool after) {
  char *argv[MOST_ARGS + 1];
  fflush(stdout);
  clearerr(stdout);
  if (ftruncate(STDOUT_FILENO, 0) != 0 || ftruncate(STDERR_FILENO, 0) != 0)
    exit(2);
  memcpy(argv, s->argv, ((size_t)s->argc + 1) * sizeof *argv);
  calls = 0;
  fail_after = after;
  fail_at = n;
  int code = fnz_main(s->argc, argv);
  fail_at = 0;
  fflush(stdout);
  return code;
}

static void complain(const sweep *s, size_t n, bool after, const char *what) {
  size_t size;
  char *said = read_file(".stderr", &size);
  dprintf(s->real_err, "allocation %zu%s: %s; said: %s\ncall: fnz", n,
          after ? " and all after" : "", what, said ? said : "");
  for (int i = 1; i < s->argc; i++)
    dprintf(s->real_err, " %s", s->argv[i]);
  dprintf(s->real_err, "\n");
  exit(1);
}

static bool same_bytes(const char *a, size_t a_size, const char *b, size_t b_size) {
  return (a == NULL) == (b == NULL) && a_size == b_size && (!a || memcmp(a, b, a_size) == 0);
}

static bool one_line(void) {
  static const char begins[] = "fnz: NOMEM: ";
  size_t size;
  char *said = read_file(".stderr", &size);
  bool is = said && strncmp(said, begins, sizeof begins - 1) == 0 &&
            strchr(said, '\n') == said + size - 1;
  REAL(free)(said);
  return is;
}

/* NULL, or the fault. */
static const char *judge(const sweep *s, int code, bool was_there) {
  size_t size;
  char *bytes = read_file(s->output, &size);
  bool kept = was_there ? same_bytes(bytes, size, precious, sizeof precious - 1) : !bytes;
  bool done = same_bytes(bytes, size, s->want, s->want_size) || (!s->want && kept);
  REAL(free)(bytes);
  if (code == s->want_code)
    return done ? NULL : "it says that it worked, but its output is another";
  if (code != OUT_OF_MEMORY)
    return "another exit code than 4";
  if (!kept)
    return "an output, or the target is changed";
  return one_line() ? NULL : "no line that says it";
}

/* True when nothing was left to fail. */
static bool one_fault(sweep *s, size_t n, bool after) {
  bool there = n % 2;
  unlink(s->output);
  if (there)
    write_file(s->output, precious, sizeof precious - 1);
  size_t before = blocks;
  int code = call(s, n, after);
  if (calls < n)
    return true;
  const char *wrong = judge(s, code, there);
  if (!wrong && blocks != before)
    wrong = "blocks are not given back";
  unlink(s->output);
  if (!wrong && count_files() != s->files)
    wrong = "a file is left behind";
  if (wrong)
    complain(s, n, after, wrong);
  return false;
}

static size_t run_all(sweep *s, size_t begin, size_t step) {
  size_t faults = 0;
  for (int after = 0; after < 2; after++)
    for (size_t n = begin; !one_fault(s, n, after); n += step)
      faults++;
  return faults;
}

/* Twice: memory that is set up once and stays is there afterwards. */
static void run_without_faults(sweep *s) {
  for (int i = 0; i < 2; i++) {
    unlink(s->output);
    s->want_code = call(s, 0, false);
  }
  s->want = read_file(s->output, &s->want_size);
  unlink(s->output);
  s->files = count_files();
  if (s->want_code > 2)
    complain(s, 0, false, "it fails without a fault");
}

int main(int argc, char **argv) {
  size_t step = 1, begin = 1;
  int at = 1;
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
    *(argv[at][1] == 's' ? &step : &begin) = strtoul(argv[at + 1], NULL, 10);
  if (at + 1 >= argc || argc - at > MOST_ARGS || !step || !begin)
    return 2;
  sweep s = {.output = argv[at], .argc = argc - at, .argv = argv + at};
  s.argv[0] = argv[0];
  catch_streams(&s);
  run_without_faults(&s);
  if (step > 1 && calls / step > MOST_OF_SAMPLE)
    step = calls / MOST_OF_SAMPLE;
  size_t faults = run_all(&s, begin, step);
  dprintf(s.real_err, "%zu\n", faults);
  REAL(free)(s.want);
  return 0;
}
