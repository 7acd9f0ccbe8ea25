/* special_reals.h - float or double memory, read and written as doubles.
 *
 * Norms, softmax, pooling and losses are computed in double, a piece at a time that stays in the
 * innermost cache, whatever the element type is: one definition of each, and an error that
 * is that of the last rounding. */
#ifndef FNZI_CPU_SPECIAL_REALS_H
#define FNZI_CPU_SPECIAL_REALS_H

#include "kernels/core/window.h"
#include "kernels/cpu/cpu.h"

enum { FNZI_PIECE = 1024 }; /* doubles on the stack */

/* Row-major elements; one of the two pointers is set, none for an absent tensor. */
typedef struct fnzi_cpu_reals {
  const float *f;
  const double *d;
} fnzi_cpu_reals;

typedef struct fnzi_cpu_reals_out {
  float *f;
  double *d;
} fnzi_cpu_reals_out;

/* F64 for f64, F32 for every other type. */
static inline fnz_dtype fnzi_cpu_real_dtype(fnz_dtype dtype) {
  return dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
}

/* An absent array (NULL) gives absent reals. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_reals_open(fnzi_krn_call *call, const fnzi_krn_array *array,
                                              fnz_dtype dtype, fnzi_cpu_reals *out);
FNZ_MUST_CHECK fnz_status fnzi_cpu_reals_result(fnzi_krn_call *call, size_t k, fnz_dtype dtype,
                                                fnzi_cpu_reals_out *out);
/* Scratch memory of the call. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_reals_scratch(fnzi_krn_call *call, fnz_dtype dtype,
                                                 int64_t count, fnzi_cpu_reals_out *out);

static inline bool fnzi_cpu_reals_present(const fnzi_cpu_reals *x) {
  return x->f || x->d;
}
static inline fnzi_cpu_reals fnzi_cpu_reals_read(const fnzi_cpu_reals_out *x) {
  return (fnzi_cpu_reals){x->f, x->d};
}
static inline double fnzi_cpu_real_at(const fnzi_cpu_reals *x, int64_t at) {
  return x->f ? (double)x->f[at] : x->d[at];
}
/* As it would be stored there. */
static inline double fnzi_cpu_real_round(const fnzi_cpu_reals *x, double value) {
  return x->f ? (double)(float)value : value;
}
static inline void fnzi_cpu_real_put(const fnzi_cpu_reals_out *x, int64_t at, double value) {
  if (x->f)
    x->f[at] = (float)value;
  else
    x->d[at] = value;
}

/* Elements as a window, for a recorded formula (kernels/core/window.h). */
void fnzi_cpu_reals_window(const fnzi_cpu_reals *x, int64_t count, fnzi_krn_window *out);

/* Row-major cells of sizes `from` broadcast to row-major cells of sizes `to`. */
void fnzi_cpu_expand_cells(const fnzi_krn_call *call, const fnz_geometry *from, const void *data,
                           const fnz_geometry *to, void *out, size_t cell);
/* As fnzi_cpu_reals_open, broadcast to the sizes of `to`. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_reals_expand(fnzi_krn_call *call, const fnzi_krn_array *array,
                                                fnz_dtype dtype, const fnz_geometry *to,
                                                fnzi_cpu_reals *out);

/* `count` elements, `step` apart, from or to doubles side by side. */
void fnzi_cpu_reals_load(const fnzi_cpu_reals *x, int64_t at, int64_t step, int64_t count,
                         double *out);
void fnzi_cpu_reals_store(const fnzi_cpu_reals_out *x, int64_t at, int64_t step, int64_t count,
                          const double *in);

/* Mean of `count` row-major elements with eager's bits (sum.c). */
double fnzi_cpu_reals_mean(const fnzi_cpu_reals *x, int64_t count);

/* Sum in an order that depends on the count alone. */
double fnzi_cpu_sum(const double *x, int64_t count);
/* Sum of (x - center)^2, likewise. */
double fnzi_cpu_sum_squares(const double *x, int64_t count, double center);

/* Argument 0 with the dimensions of argument "dim" (all, when None or empty) moved behind the
 * others: `rows` rows of `length` elements. */
typedef struct fnzi_cpu_reduced {
  fnz_dtype dtype; /* F32 or F64 */
  fnzi_cpu_reals reals;
  int64_t rows, length;
} fnzi_cpu_reduced;
FNZ_MUST_CHECK fnz_status fnzi_cpu_reduced_open(fnzi_krn_call *call, fnzi_cpu_reduced *out);
/* The same with one number for every complex one of argument 0. */
typedef enum fnzi_cpu_part {
  FNZI_PART_REAL,
  FNZI_PART_IMAGINARY,
  FNZI_PART_MAGNITUDE
} fnzi_cpu_part;
FNZ_MUST_CHECK fnz_status fnzi_cpu_reduced_open_part(fnzi_krn_call *call, fnzi_cpu_part part,
                                                     fnzi_cpu_reduced *out);

/* Calls body(user, i, lane) for i below count on the threads of call->team; `lane` is below
 * fnzi_cpu_lanes(call) and tells threads that run at one time apart. */
void fnzi_cpu_rows_each(const fnzi_krn_call *call, int64_t count, fnzi_share_fn *body,
                        const void *user);
/* The same where each call has `cells` elements to do: on one thread when that is not worth more.
 */
void fnzi_cpu_rows_spread(const fnzi_krn_call *call, int64_t count, int64_t cells,
                          fnzi_share_fn *body, const void *user);
static inline int fnzi_cpu_lanes(const fnzi_krn_call *call) {
  return fnzi_krn_team_lanes(call->team);
}

#endif
