/* onednn_guard.cc - the one place that catches what oneDNN throws. */
#include "kernels/cpu/onednn_guard.h"

dnnl_status_t fnzi_cpu_onednn_guard(dnnl_status_t (*work)(void *user), void *user) {
  try {
    return work(user);
  } catch (...) { /* only std::bad_alloc is thrown */
    return dnnl_out_of_memory;
  }
}
