/* recording.h - a recorded formula (kernels/core/window.h), while it is put together: windows over
 * row-major memory, the last one for the result, and integers. */
#ifndef FNZI_CPU_RECORDING_H
#define FNZI_CPU_RECORDING_H

#include "kernels/cpu/special_reals.h"

enum { FNZI_RECORDING_WINDOWS = 4, FNZI_RECORDING_INTEGERS = 16 };

typedef struct fnzi_cpu_recording {
  fnzi_krn_formula f;
  fnzi_krn_window windows[FNZI_RECORDING_WINDOWS];
  int64_t integers[FNZI_RECORDING_INTEGERS];
} fnzi_cpu_recording;

static inline void fnzi_cpu_record_window(fnzi_cpu_recording *t, fnz_dtype dtype, int64_t count,
                                          const void *data) {
  fnzi_krn_window_dense(&t->windows[t->f.nwindows++], dtype, 1, &count, data);
}
static inline void fnzi_cpu_record_reals(fnzi_cpu_recording *t, const fnzi_cpu_reals *x,
                                         int64_t count) {
  fnzi_cpu_reals_window(x, count, &t->windows[t->f.nwindows++]);
}
static inline void fnzi_cpu_record_reals_out(fnzi_cpu_recording *t, const fnzi_cpu_reals_out *x,
                                             int64_t count) {
  const fnzi_cpu_reals read = fnzi_cpu_reals_read(x);
  fnzi_cpu_record_reals(t, &read, count);
}
static inline void fnzi_cpu_record_integers(fnzi_cpu_recording *t, const void *numbers,
                                            size_t bytes) {
  memcpy(t->integers + t->f.nintegers, numbers, bytes);
  t->f.nintegers += (uint32_t)(bytes / sizeof *t->integers);
}
static inline void fnzi_cpu_record_integer(fnzi_cpu_recording *t, int64_t number) {
  fnzi_cpu_record_integers(t, &number, sizeof number);
}

/* `count` calls of its function. */
FNZ_MUST_CHECK static inline fnz_status
fnzi_cpu_record(const fnzi_krn_call *call, fnzi_cpu_recording *t, const char *name, int64_t count) {
  t->f.name = name;
  t->f.count = count;
  t->f.windows = t->windows;
  t->f.integers = t->integers;
  t->f.nresults = 1;
  return call->record->formula(call->record->user, &t->f);
}

#endif
