/* onednn_guard.cc - the one place that calls oneDNN. It catches exceptions, and keeps the work on
 * the calling thread. */
#include "kernels/cpu/onednn_guard.h"

#include <omp.h>

static dnnl_status_t caught(dnnl_status_t (*work)(void *user), void *user) {
  try {
    return work(user);
  } catch (...) { /* only std::bad_alloc is thrown */
    return dnnl_out_of_memory;
  }
}

/* oneDNN takes as many threads as OpenMP would give the calling thread. */
dnnl_status_t fnzi_cpu_onednn_guard(dnnl_status_t (*work)(void *user), void *user) {
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  dnnl_status_t status = caught(work, user);
  omp_set_num_threads(threads);
  return status;
}
