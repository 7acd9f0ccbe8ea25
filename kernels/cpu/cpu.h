/* cpu.h - what the CPU kernels share among themselves. */
#ifndef FNZI_CPU_H
#define FNZI_CPU_H

#include "kernels/kernels.h"

/* Part of an array's memory: strides in elements, `data` at the element with all indices 0. */
typedef struct fnzi_window {
  fnz_dtype dtype;
  uint32_t rank;
  size_t cell;
  unsigned char *data;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
} fnzi_window;

void fnzi_window_of(const fnzi_array *array, fnzi_window *out);
/* `count` positions of a dimension from `start`. */
void fnzi_window_narrow(fnzi_window *w, uint32_t dim, int64_t start, int64_t count);
/* One position of a dimension; the dimension goes. */
void fnzi_window_select(fnzi_window *w, uint32_t dim, int64_t index);
/* Another dimension of this size and stride before `dim`. */
void fnzi_window_insert(fnzi_window *w, uint32_t dim, int64_t size, int64_t stride);

/* The elements of `from`, broadcast, into those of `to`, converted. UNSUPPORTED when the dtypes do
 * not convert. `ordered`: in row-major order, for windows that overlap themselves. */
FNZ_MUST_CHECK fnz_status fnzi_window_assign(fnzi_call *call, const fnzi_window *to,
                                             const fnzi_window *from, bool ordered);
/* to = row(to, from), with a row of point.def of two operands, in the dtype of `to`. */
FNZ_MUST_CHECK fnz_status fnzi_window_combine(fnzi_call *call, const char *row,
                                              const fnzi_window *to, const fnzi_window *from);
/* A number, as a window of rank 0 over `room` of 16 bytes. */
void fnzi_window_number(const fnz_arg *number, fnz_dtype dtype, unsigned char *room,
                        fnzi_window *out);

/* Whole arrays, likewise. */
FNZ_MUST_CHECK fnz_status fnzi_assign(fnzi_call *call, const fnzi_array *to,
                                      const fnzi_array *from);
FNZ_MUST_CHECK fnz_status fnzi_fill(fnzi_call *call, const fnzi_array *to, const fnz_arg *number);

/* Result k gets the value of `from`: its memory when dtype and sizes agree, else a converted copy.
 */
FNZ_MUST_CHECK fnz_status fnzi_take_value(fnzi_call *call, size_t k, const fnzi_array *from);

/* The values of an index tensor as row-major i64 in scratch memory, each checked against `size`;
 * negative ones count from the end where `wraps`, else they are refused. */
FNZ_MUST_CHECK fnz_status fnzi_index_values(fnzi_call *call, const fnzi_array *index, int64_t size,
                                            bool wraps, const int64_t **out);

/* Copies the results that fnzi_result_as() kept in scratch memory to where they belong. */
FNZ_MUST_CHECK fnz_status fnzi_results_finish(fnzi_call *call);

#endif
