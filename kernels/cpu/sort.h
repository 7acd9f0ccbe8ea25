/* sort.h - elements as keys in the order that sorting gives them, and sorting those. */
#ifndef FNZI_CPU_SORT_H
#define FNZI_CPU_SORT_H

#include "kernels/cpu/cpu.h"

typedef struct fnzi_cpu_pair {
  int64_t key, place;
} fnzi_cpu_pair;

/* Keys are ordered as the numbers are: -0 equals 0, and a NaN is INT64_MAX, above all else. */
int64_t fnzi_cpu_real_key(double x);

/* Sorts `count` pairs by key, equal ones staying in order. There are as many behind them as room;
 * returns where the result is. */
fnzi_cpu_pair *fnzi_cpu_sort_pairs(fnzi_cpu_pair *pairs, int64_t count);

/* Rows of elements that a recorder sorts (sort_told.c): f32, f64 or i64, those of a row `inner`
 * apart. */
typedef struct fnzi_cpu_told_sort {
  fnz_dtype dtype;
  const void *elements;
  int64_t rows, length, inner;
  int64_t keep; /* how many of a sorted row count */
  bool descending;
  const void *keys, *places; /* once it is told: i64, row after row */
} fnzi_cpu_told_sort;
FNZ_MUST_CHECK fnz_status fnzi_cpu_sort_tell(fnzi_krn_call *call, fnzi_cpu_told_sort *told);
/* Elements and places in this order, `inner` apart; of the dtype as they are in `cells`. NULL: not
 * wanted. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_sort_tell_ranked(fnzi_krn_call *call,
                                                    const fnzi_cpu_told_sort *told, fnz_dtype dtype,
                                                    const void *cells, const void *values,
                                                    const void *places);

#endif
