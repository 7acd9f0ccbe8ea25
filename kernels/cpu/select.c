/* select.c - the first of a row, or one of its places, with the ties of eager. */
#include "kernels/cpu/sort.h"

#define VALUE static inline
#define PAIR  fnzi_cpu_pair
#define PAIRS fnzi_cpu_pair *
static inline fnzi_cpu_pair pair_at(PAIRS r, int64_t i) {
  return r[i];
}
static inline void pair_put(PAIRS r, int64_t i, PAIR x) {
  r[i] = x;
}
#include "kernels/cpu/select_values.h"
#undef VALUE

void fnzi_cpu_select_first(fnzi_cpu_pair *pairs, int64_t count, int64_t keep, bool is_sorted) {
  select_first(pairs, count, keep, is_sorted);
}

bool fnzi_cpu_selects_by_heap(int64_t count, int64_t keep) {
  return selects_by_heap(count, keep);
}

void fnzi_cpu_heap_make(fnzi_cpu_pair *pairs, int64_t count) {
  heap_make(pairs, 0, count);
}

void fnzi_cpu_heap_replace(fnzi_cpu_pair *pairs, int64_t count, fnzi_cpu_pair x) {
  heap_put(pairs, 0, count, 0, x);
}

void fnzi_cpu_heap_sort(fnzi_cpu_pair *pairs, int64_t count) {
  heap_sort(pairs, 0, count);
}

void fnzi_cpu_select_kth(fnzi_cpu_pair *pairs, int64_t count, int64_t nth) {
  quick_select(pairs, count, nth);
}

void fnzi_cpu_select_nth(fnzi_cpu_pair *pairs, int64_t count, int64_t nth) {
  select_nth(pairs, count, nth);
}

void fnzi_cpu_sort_unstable(fnzi_cpu_pair *pairs, int64_t count) {
  sort_first(pairs, count);
}
