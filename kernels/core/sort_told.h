/* sort_told.h - sorting, of which whoever has a kernel told (window.h) makes launches. */
#ifndef FNZI_CORE_SORT_TOLD_H
#define FNZI_CORE_SORT_TOLD_H

#include "kernels/core/window.h"

/* Rows of elements that a recorder sorts (engine/cuda/sort.cu): f32, f64 or i64, those of a row
 * `inner` apart. */
typedef struct fnzi_krn_told_sort {
  fnz_dtype dtype;
  const void *elements;
  int64_t rows, length, inner;
  int64_t keep; /* how many of a sorted row count */
  bool descending;
  const void *keys, *places; /* once it is told: i64, row after row */
} fnzi_krn_told_sort;
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell(fnzi_krn_call *call, fnzi_krn_told_sort *told);
/* Elements and places in this order, `inner` apart; of the dtype as they are in `cells`. NULL: not
 * wanted. */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell_ranked(fnzi_krn_call *call,
                                                    const fnzi_krn_told_sort *told, fnz_dtype dtype,
                                                    const void *cells, const void *values,
                                                    const void *places);

/* What topk takes, told->keep of each row: in place of the sorted ones, of which equal ones are
 * those that eager would take. Without `is_sorted` they may be in the order that a selection
 * leaves.
 */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell_top(fnzi_krn_call *call, fnzi_krn_told_sort *told,
                                                 bool is_sorted);

/* Where the run of equal keys ends that begins at a place of the order, counted in its row; 0 where
 * none begins: i64. */
FNZ_MUST_CHECK fnz_status fnzi_krn_sort_tell_runs(fnzi_krn_call *call,
                                                  const fnzi_krn_told_sort *told, const void *ends);

#endif
