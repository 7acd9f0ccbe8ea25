/* counts.h - what was drawn, to see that nothing is left out. */
#ifndef FNZI_SOAK_COUNTS_H
#define FNZI_SOAK_COUNTS_H

#include <fnz/types.h>

#include <stddef.h>

enum { FNZI_RANDOM_MOST_OPS = 160 };

/* Buckets of counts by powers of two: 0, 1, 2, 3 to 4, 5 to 8, ..., more than 128. */
enum { FNZI_RANDOM_BUCKETS = 10 };
size_t fnzi_random_bucket(uint64_t n);
/* "0", "3-4", "129-". Static. */
const char *fnzi_random_bucket_name(size_t bucket);

typedef struct fnzi_random_counts {
  uint64_t programs, steps;
  uint64_t lengths[FNZI_RANDOM_BUCKETS]; /* programs by their nodes */
  uint64_t depths[FNZI_RANDOM_BUCKETS];  /* by their longest chain of views */
  uint64_t aliases[FNZI_RANDOM_BUCKETS]; /* by the most tensors that lie in one memory */
  uint64_t values, empty, zero_dim;      /* tensors; tensors without elements, without dimensions */
  uint64_t dtypes[FNZ_DTYPE_COUNT];      /* of inputs */
  uint64_t inputs, shared;               /* inputs; inputs that lie in the memory of another one */
  uint64_t repeating, constants;         /* inputs that show elements several times; constants */
  uint64_t used[FNZI_RANDOM_MOST_OPS], refused[FNZI_RANDOM_MOST_OPS]; /* per fnzi_random_op() */
} fnzi_random_counts;

/* Each of `count` numbers on top of its own. */
void fnzi_counts_add(uint64_t *to, const uint64_t *from, size_t count);
void fnzi_random_counts_add(fnzi_random_counts *to, const fnzi_random_counts *from);

#endif
