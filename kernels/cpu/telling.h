/* telling.h - a recorded formula (kernels/core/window.h), while it is put together: windows over
 * row-major memory, the last one for the result, and integers. */
#ifndef FNZI_CPU_TELLING_H
#define FNZI_CPU_TELLING_H

#include "kernels/cpu/special_reals.h"

enum { FNZI_TELLING_WINDOWS = 4, FNZI_TELLING_INTEGERS = 16 };

typedef struct fnzi_cpu_telling {
  fnzi_krn_formula f;
  fnzi_krn_window windows[FNZI_TELLING_WINDOWS];
  int64_t integers[FNZI_TELLING_INTEGERS];
} fnzi_cpu_telling;

static inline void fnzi_cpu_tell_window(fnzi_cpu_telling *t, fnz_dtype dtype, int64_t count,
                                        const void *data) {
  fnzi_krn_window_dense(&t->windows[t->f.nwindows++], dtype, 1, &count, data);
}
static inline void fnzi_cpu_tell_reals(fnzi_cpu_telling *t, const fnzi_cpu_reals *x,
                                       int64_t count) {
  fnzi_cpu_reals_window(x, count, &t->windows[t->f.nwindows++]);
}
static inline void fnzi_cpu_tell_reals_out(fnzi_cpu_telling *t, const fnzi_cpu_reals_out *x,
                                           int64_t count) {
  const fnzi_cpu_reals read = fnzi_cpu_reals_read(x);
  fnzi_cpu_tell_reals(t, &read, count);
}
static inline void fnzi_cpu_tell_integers(fnzi_cpu_telling *t, const void *numbers, size_t bytes) {
  memcpy(t->integers + t->f.nintegers, numbers, bytes);
  t->f.nintegers += (uint32_t)(bytes / sizeof *t->integers);
}
static inline void fnzi_cpu_tell_integer(fnzi_cpu_telling *t, int64_t number) {
  fnzi_cpu_tell_integers(t, &number, sizeof number);
}

/* `count` calls of its function. */
FNZ_MUST_CHECK static inline fnz_status
fnzi_cpu_tell(const fnzi_krn_call *call, fnzi_cpu_telling *t, const char *name, int64_t count) {
  t->f.name = name;
  t->f.count = count;
  t->f.windows = t->windows;
  t->f.integers = t->integers;
  t->f.nresults = 1;
  return call->record->formula(call->record->user, &t->f);
}

#endif
