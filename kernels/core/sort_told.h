/* sort_told.h - sorting as a recorded kernel (window.h), for which the recorder makes launches. */
#ifndef FNZI_CORE_SORT_TOLD_H
#define FNZI_CORE_SORT_TOLD_H

#include "kernels/core/window.h"

/* Rows of elements that a recorder sorts (engine/cuda/sort.cu): f32, f64 or i64, elements of a row
 * `inner` apart. */
typedef struct fnzi_krn_told_sort {
  fnz_dtype dtype;
  const void *elements;
  int64_t rows, length, inner;
  int64_t keep; /* how many of a sorted row count */
  bool descending;
  const void *keys, *places; /* after recording: i64, row after row */
} fnzi_krn_told_sort;
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell(fnzi_krn_call *call, fnzi_krn_told_sort *told);
/* Elements and places in this order, `inner` apart; of the dtype as they are in `cells`. NULL: not
 * wanted. */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell_ranked(fnzi_krn_call *call,
                                                    const fnzi_krn_told_sort *told, fnz_dtype dtype,
                                                    const void *cells, const void *values,
                                                    const void *places);

/* Records topk's results, told->keep of each row, in place of the sorted ones; among equal elements
 * it takes the same as eager. Without `is_sorted` they may be in the order that a selection leaves.
 */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell_top(fnzi_krn_call *call, fnzi_krn_told_sort *told,
                                                 bool is_sorted);

/* For each place of the order at which a run of equal keys begins, the end of the run, counted in
 * its row; 0 for other places: i64. */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell_runs(fnzi_krn_call *call,
                                                  const fnzi_krn_told_sort *told, const void *ends);

#endif
