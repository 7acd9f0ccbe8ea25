/* progress.c - one line on a terminal about a call that takes long, and Ctrl-C.
 *
 * The line is on standard error, while a function of the library works, and is erased afterwards.
 * Ctrl-C cancels that function, so that everything ends as after a failure; then the process ends
 * by the signal, without a word. If that takes longer than a second, the signal ends it at once. */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 1000, COLUMNS = 80, PATIENCE_S = 1 };

static const char erase[] = "\r\033[K";

/* Handlers of signals have nothing else to go by. */
static volatile sig_atomic_t interrupted, is_shown;

/* --- Ctrl-C ----------------------------------------------------------------------------------- */
static void end_by_signal(void) {
  if (is_shown)
    (void)!write(STDERR_FILENO, erase, sizeof erase - 1);
  signal(SIGINT, SIG_DFL);
  raise(SIGINT);
}

static void end_late(int number) {
  (void)number;
  end_by_signal();
}

static void interrupt(int number) {
  (void)number;
  if (interrupted)
    end_by_signal();
  interrupted = 1;
  alarm(PATIENCE_S);
}

bool cli_is_cancelled(void) {
  return interrupted;
}

void cli_end_cancelled(void) {
  if (!interrupted)
    return;
  fflush(stdout);
  end_by_signal();
}

/* --- The line --------------------------------------------------------------------------------- */
double cli_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* "12 of 40 nodes", "1.5 of 2.0 GB". */
static int put_figures(char *out, size_t size, const fnz_progress *p) {
  const bool are_bytes = strcmp(p->unit, "bytes") == 0;
  if (are_bytes && p->of)
    return snprintf(out, size, ", %.1f of %.1f GB", (double)p->done / 1e9, (double)p->of / 1e9);
  if (are_bytes)
    return snprintf(out, size, ", %.1f GB", (double)p->done / 1e9);
  if (p->of)
    return snprintf(out, size, ", %llu of %llu %s", (unsigned long long)p->done,
                    (unsigned long long)p->of, p->unit);
  return *p->unit ? snprintf(out, size, ", %llu %s", (unsigned long long)p->done, p->unit) : 0;
}

bool cli_progress(cli_call *call, const fnz_progress *progress) {
  const double now = cli_now_ms();
  if (!call->shows_progress || now - call->reported < PERIOD_MS || interrupted)
    return !interrupted;
  call->reported = now;
  char text[256];
  struct winsize window;
  bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  size_t used = (size_t)snprintf(text, sizeof text, "fnz: %s", progress->what),
         most = (is_known ? window.ws_col : COLUMNS) - 1;
  if (progress->share >= 0)
    used += (size_t)snprintf(text + used, sizeof text - used, " %.0f %%", progress->share * 100);
  used += (size_t)put_figures(text + used, sizeof text - used, progress);
  used += (size_t)snprintf(text + used, sizeof text - used, ", %.0f s", (now - call->opened) / 1e3);
  fprintf(stderr, "%s%.*s", erase, (int)(used < most ? used : most), text);
  fflush(stderr);
  is_shown = 1;
  return true;
}

static bool follow(void *user, const fnz_progress *progress) {
  return cli_progress(user, progress);
}

void cli_progress_open(cli_call *call) {
  /* A command in the background ignores the signal, and goes on to. */
  struct sigaction had, new = {.sa_handler = interrupt};
  if (sigaction(SIGINT, NULL, &had) == 0 && had.sa_handler == SIG_DFL) {
    signal(SIGALRM, end_late);
    sigaction(SIGINT, &new, NULL);
  }
  call->opened = call->reported = cli_now_ms();
  fnz_context_set_progress(call->ctx, follow, call);
}

void cli_progress_clear(void) {
  if (!is_shown)
    return;
  fputs(erase, stderr);
  fflush(stderr);
  is_shown = 0;
}
