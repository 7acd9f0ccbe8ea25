/* numbers.c - the CPU backend: the only file that names kernels over numbers, so a static program
 * that makes no such backend is linked without them. */
#include "kernels/backends.h"
#include "kernels/cpu/point.h"
#include "kernels/cpu/row_code.h"

#include <fnz/numbers.h>
#include <unistd.h>

fnz_status fnzi_kernel_decomposed(fnzi_krn_call *call) {
  (void)call;
  return FNZ_OK;
}

static fnzi_kernel_fn *const runs[FNZI_RUNS] = {
#define RUN(name, ...) [FNZI_RUN_##name] = fnzi_kernel_##name,
#include "kernels/runs.def"
#undef RUN
};

enum { MOST_THREADS = 4096 };

fnz_status fnzi_machine_create_numbers(fnz_context *ctx, int threads, fnz_backend **out) {
  static const fnzi_krn_kernels kernels = {fnzi_kernel_rows, runs, fnzi_cpu_point_code,
                                           fnzi_cpu_row_code};
  if (threads < 0 || threads > MOST_THREADS)
    return fnzi_fail(
        ctx, FNZ_CLASS_ARGUMENT, NULL,
        "the number of threads is %d; it goes from 0, as many as there are cores, to %d", threads,
        MOST_THREADS);
  if (threads == 0) { /* asking costs two system calls, so only who leaves it open pays for it */
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    threads = cores > 0 && cores < 1024 ? (int)cores : 1;
  }
  return fnzi_machine_create(ctx, "cpu", threads, &kernels, NULL, out);
}

fnz_status fnz_cpu_backend_create(fnz_context *ctx, int threads, fnz_backend **out) {
  return fnzi_machine_create_numbers(ctx, threads, out);
}
