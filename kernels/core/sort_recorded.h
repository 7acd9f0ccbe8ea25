/* sort_recorded.h - sorting as a recorded kernel (window.h), for which the recorder makes launches.
 */
#ifndef FNZI_CORE_SORT_RECORDED_H
#define FNZI_CORE_SORT_RECORDED_H

#include "kernels/core/window.h"

/* Rows of elements that a recorder sorts (engine/cuda/sort.cu): f32, f64 or i64, elements of a row
 * `inner` apart. */
typedef struct fnzi_krn_recorded_sort {
  fnz_dtype dtype;
  const void *elements;
  int64_t rows, length, inner;
  int64_t keep; /* how many of a sorted row count */
  bool descending;
  const void *keys, *places; /* after recording: i64, row after row */
} fnzi_krn_recorded_sort;
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_krn_sort_record(fnzi_krn_call *call,
                                                           fnzi_krn_recorded_sort *recorded);
/* Elements and places in this order, `inner` apart; of the dtype as they are in `cells`. NULL: not
 * wanted. */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_record_ranked(fnzi_krn_call *call,
                                                      const fnzi_krn_recorded_sort *recorded,
                                                      fnz_dtype dtype, const void *cells,
                                                      const void *values, const void *places);

/* Records topk's results, recorded->keep of each row, in place of the sorted ones; among equal
 * elements it takes the same as eager. Without `is_sorted` they may be in the order that a
 * selection leaves.
 */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_record_top(fnzi_krn_call *call,
                                                   fnzi_krn_recorded_sort *recorded,
                                                   bool is_sorted);

/* For each place of the order at which a run of equal keys begins, the end of the run, counted in
 * its row; 0 for other places: i64. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_krn_sort_record_runs(
    fnzi_krn_call *call, const fnzi_krn_recorded_sort *recorded, const void *ends);

#endif
