/* counts.c - what was drawn: adding up, and the names of buckets. */
#include "soak/counts.h"

size_t fnzi_random_bucket(uint64_t n) {
  size_t bucket = n < 2 ? (size_t)n : 65u - (size_t)__builtin_clzll(n - 1);
  return bucket < FNZI_RANDOM_BUCKETS ? bucket : FNZI_RANDOM_BUCKETS - 1;
}

const char *fnzi_random_bucket_name(size_t bucket) {
  static const char *const names[FNZI_RANDOM_BUCKETS] = {
      "0", "1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129-"};
  return names[bucket];
}

void fnzi_counts_add(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = 0; i < count; i++)
    to[i] += from[i];
}

void fnzi_random_counts_add(fnzi_random_counts *to, const fnzi_random_counts *from) {
  to->programs += from->programs;
  to->steps += from->steps;
  to->values += from->values;
  to->empty += from->empty;
  to->zero_dim += from->zero_dim;
  to->inputs += from->inputs;
  to->shared += from->shared;
  to->repeating += from->repeating;
  to->constants += from->constants;
  fnzi_counts_add(to->lengths, from->lengths, FNZI_RANDOM_BUCKETS);
  fnzi_counts_add(to->depths, from->depths, FNZI_RANDOM_BUCKETS);
  fnzi_counts_add(to->aliases, from->aliases, FNZI_RANDOM_BUCKETS);
  fnzi_counts_add(to->dtypes, from->dtypes, FNZ_DTYPE_COUNT);
  fnzi_counts_add(to->used, from->used, FNZI_RANDOM_MOST_OPS);
  fnzi_counts_add(to->refused, from->refused, FNZI_RANDOM_MOST_OPS);
}
