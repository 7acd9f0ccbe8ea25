/* onednn_guard.cc - the one place that calls oneDNN. It catches exceptions, keeps the work on the
 * calling thread, and signals away from it. */
#include "kernels/cpu/onednn_guard.h"

#include <omp.h>
#include <signal.h>

static dnnl_status_t caught(dnnl_status_t (*work)(void *user), void *user) {
  try {
    return work(user);
  } catch (...) { /* only std::bad_alloc is thrown */
    return dnnl_out_of_memory;
  }
}

/* oneDNN takes as many threads as OpenMP would give the calling thread. Its products let the stack
 * pointer point into the heap for a while: the frame of a signal, which is several thousand bytes,
 * would overwrite what lies below. Signals of this thread wait until they are done. */
dnnl_status_t fnzi_cpu_onednn_guard(dnnl_status_t (*work)(void *user), void *user) {
  int threads = omp_get_max_threads();
  sigset_t all, before;
  sigfillset(&all);
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  for (int fault : faults) /* of the work itself */
    sigdelset(&all, fault);
  bool held = pthread_sigmask(SIG_BLOCK, &all, &before) == 0;
  omp_set_num_threads(1);
  dnnl_status_t status = caught(work, user);
  omp_set_num_threads(threads);
  if (held)
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  return status;
}
