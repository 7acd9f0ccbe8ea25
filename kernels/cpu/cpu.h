/* cpu.h - what the CPU kernels share among themselves. */
#ifndef FNZI_CPU_H
#define FNZI_CPU_H

#include "kernels/core/core.h"

/* A copy of the elements as `dtype` in scratch memory, with eager's strides, so that an order taken
 * from these is the same wherever the array lies; row-major when they leave gaps. `strides` has
 * room for FNZ_MAX_RANK. */
FNZ_MUST_CHECK fnz_status fnzi_lay_out(fnzi_call *call, const fnzi_array *self, fnz_dtype dtype,
                                       const void **data, int64_t *strides);

/* The array's geometry with the strides from which eager takes an order of computing; of values of
 * programs they are those of such a copy, as functional programs have it in place of a view. */
fnz_geometry fnzi_ordered(const fnzi_array *self, int64_t *strides);

/* Results in 16-bit floats are those of elements that were rounded to these before: argument 0 is
 * replaced by such a copy, in scratch memory, where it is something else. */
FNZ_MUST_CHECK fnz_status fnzi_round_input(fnzi_call *call);

/* Part of an array's memory: strides in elements, `data` at the element with all indices 0. */
typedef struct fnzi_window {
  fnz_dtype dtype;
  uint32_t rank;
  size_t cell;
  unsigned char *data;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
} fnzi_window;

void fnzi_window_of(const fnzi_array *array, fnzi_window *out);
/* A tensor without dimensions counts as a vector of one. */
void fnzi_window_lanes(const fnzi_array *array, fnzi_window *out);
void fnzi_loop_add_window(fnzi_loop *loop, const fnzi_window *w);
/* `count` positions of a dimension from `start`. */
void fnzi_window_narrow(fnzi_window *w, uint32_t dim, int64_t start, int64_t count);
/* One position of a dimension; the dimension goes. */
void fnzi_window_select(fnzi_window *w, uint32_t dim, int64_t index);
/* Another dimension of this size and stride before `dim`. */
void fnzi_window_insert(fnzi_window *w, uint32_t dim, int64_t size, int64_t stride);

/* A row-major copy as f32 in scratch memory, in which 16-bit floats add up without rounding. */
FNZ_MUST_CHECK fnz_status fnzi_window_widen(fnzi_call *call, const fnzi_window *w,
                                            fnzi_window *out);

/* UNSUPPORTED, with both types. */
fnz_status fnzi_refuse_conversion(const fnzi_call *call, fnz_dtype to, fnz_dtype from);
/* The same windows, of the same sizes, with the dimensions that eager's loop over `target` has
 * outermost first; `source` is what is read. */
void fnzi_windows_in_order(const fnz_geometry *target, const fnz_geometry *source, fnzi_window *to,
                           fnzi_window *from);
/* The elements of `from`, broadcast, into those of `to`, converted. UNSUPPORTED when the dtypes do
 * not convert. `ordered`: in row-major order, for windows that overlap themselves. */
FNZ_MUST_CHECK fnz_status fnzi_window_assign(fnzi_call *call, const fnzi_window *to,
                                             const fnzi_window *from, bool ordered);
/* to = row(to, from) in the dtype of `to`, with a row of point.def; of three operands when `extra`,
 * a number, is not NULL. */
FNZ_MUST_CHECK fnz_status fnzi_window_combine(fnzi_call *call, const char *row,
                                              const fnzi_window *to, const fnzi_window *from,
                                              const fnz_arg *extra);
/* What the CPU refuses of the operands' types, for the meta backend; when no kernel is here for
 * them, another backend may have one. The result's shape is known. */
FNZ_MUST_CHECK fnz_status fnzi_point_accepts(const fnzi_call *call);
/* A number, as a window of rank 0 over `room` of 16 bytes. Where no number converts to the dtype it
 * stays c128, so that who assigns it refuses. */
void fnzi_window_number(const fnz_arg *number, fnz_dtype dtype, unsigned char *room,
                        fnzi_window *out);

/* The same of a number that may be held by a tensor without dimensions: what item() gives. */
FNZ_MUST_CHECK fnz_status fnzi_window_item(fnzi_call *call, const fnz_arg *value, fnz_dtype dtype,
                                           unsigned char *room, fnzi_window *out);
/* Whole arrays, likewise. */
FNZ_MUST_CHECK fnz_status fnzi_assign(fnzi_call *call, const fnzi_array *to,
                                      const fnzi_array *from);
FNZ_MUST_CHECK fnz_status fnzi_fill(fnzi_call *call, const fnzi_array *to, const fnz_arg *number);

/* Result k gets the value of `from`: its memory when dtype and sizes agree, else a converted copy.
 */
FNZ_MUST_CHECK fnz_status fnzi_take_value(fnzi_call *call, size_t k, const fnzi_array *from);

/* The row-major window that fnzi_dense() or scratch memory is. */
void fnzi_window_dense(fnzi_window *out, fnz_dtype dtype, uint32_t rank, const int64_t *sizes,
                       const void *data);

/* TYPE unless the tensor is of integers. */
FNZ_MUST_CHECK fnz_status fnzi_index_check(const fnzi_call *call, const fnzi_array *index);
/* The values of an index tensor as row-major i64 in scratch memory, each checked against `size`;
 * negative ones count from the end where `wraps`, else they are refused. */
FNZ_MUST_CHECK fnz_status fnzi_index_values(fnzi_call *call, const fnzi_array *index, int64_t size,
                                            bool wraps, const int64_t **out);

/* What a list of index tensors (None for a whole dimension, bool for a mask) selects of `self`. */
typedef struct fnzi_places {
  uint32_t first;                      /* dimension of the result where the index's begin */
  uint32_t rank;                       /* of the index: all index tensors broadcast together */
  int64_t sizes[FNZ_MAX_RANK], count;  /* of the index, and their product */
  const int64_t *values[FNZ_MAX_RANK]; /* per dimension of self: `count` places, or NULL */
} fnzi_places;

/* In scratch memory. Without data, values stay unknown, and a mask is refused. */
FNZ_MUST_CHECK fnz_status fnzi_places_find(fnzi_call *call, const fnzi_array *self,
                                           const fnz_arg *indices, fnzi_places *out);

/* The dimensions of argument 0 that `dim` names; all when it names none. */
FNZ_MUST_CHECK fnz_status fnzi_reduced_dims(fnzi_call *call, bool reduced[FNZ_MAX_RANK]);

/* The dimension of vectors in cross and linalg_cross. BOUNDS when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_cross_dim(fnzi_call *call, uint32_t *out);

/* Argument 0 as `dtype`, the reduced dimensions moved behind the others: `count` rows of `length`
 * elements in scratch memory. */
typedef struct fnzi_rows {
  fnz_dtype dtype;
  const void *data;
  int64_t count, length;
} fnzi_rows;
FNZ_MUST_CHECK fnz_status fnzi_rows_make(fnzi_call *call, const bool *reduced, fnz_dtype dtype,
                                         fnzi_rows *out);

/* Result 0 takes from each row of argument 0 the element at its place, as it lies in memory. */
FNZ_MUST_CHECK fnz_status fnzi_rows_pick(fnzi_call *call, const bool *reduced,
                                         const int64_t *places);
/* The NaN that eager's max, min and aminmax of all elements give: one of a comparison of vectors.
 */
void fnzi_overall_nan(fnz_dtype dtype, void *out);
/* The view through which a functional operator writes: select.int for select_scatter; NULL for
 * others. */
const fnz_op *fnzi_view_written_by(const fnz_op *scatter);
/* BOUNDS unless what a scatter writes has the sizes of its window. */
FNZ_MUST_CHECK fnz_status fnzi_check_source(const fnzi_call *call, const fnz_geometry *window,
                                            const fnz_geometry *src);

/* Copies the results that fnzi_result_as() kept in scratch memory to where they belong. */
FNZ_MUST_CHECK fnz_status fnzi_results_finish(fnzi_call *call);

#endif
