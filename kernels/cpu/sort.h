/* sort.h - elements as keys in the order that sorting gives them, and sorting those. */
#ifndef FNZI_CPU_SORT_H
#define FNZI_CPU_SORT_H

#include "kernels/cpu/cpu.h"

typedef struct fnzi_cpu_pair {
  int64_t key, place;
} fnzi_cpu_pair;

/* Keys are ordered as the numbers are: -0 equals 0, and a NaN is INT64_MAX, above all numbers. */
int64_t fnzi_cpu_real_key(double x);

/* Sorts `count` pairs by key, equal ones staying in order. There are as many behind them as room;
 * returns where the result is. */
fnzi_cpu_pair *fnzi_cpu_sort_pairs(fnzi_cpu_pair *pairs, int64_t count);

/* As eager has them (select_values.h), in the row itself: its least to the beginning, its n-th
 * where it belongs, all in order. */
void fnzi_cpu_select_first(fnzi_cpu_pair *pairs, int64_t count, int64_t keep, bool is_sorted);
void fnzi_cpu_select_kth(fnzi_cpu_pair *pairs, int64_t count, int64_t nth);
void fnzi_cpu_select_nth(fnzi_cpu_pair *pairs, int64_t count, int64_t nth);
void fnzi_cpu_sort_unstable(fnzi_cpu_pair *pairs, int64_t count);

/* The steps of fnzi_cpu_select_first() where a heap is used: of its first pairs a heap is made, a
 * later pair of a lower key than the first one's replaces that, and the heap is sorted. */
bool fnzi_cpu_selects_by_heap(int64_t count, int64_t keep);
void fnzi_cpu_heap_make(fnzi_cpu_pair *pairs, int64_t count);
void fnzi_cpu_heap_replace(fnzi_cpu_pair *pairs, int64_t count, fnzi_cpu_pair x);
void fnzi_cpu_heap_sort(fnzi_cpu_pair *pairs, int64_t count);

#endif
