/* random.h - laws of random integers: which numbers, by how many words each. */
#ifndef FNZI_META_RANDOM_H
#define FNZI_META_RANDOM_H

#include "kernels/core/core.h"

typedef struct fnzi_meta_integers {
  uint64_t range; /* 0: all 64 bits */
  int64_t base;
  bool is_long; /* each takes two words */
} fnzi_meta_integers;

/* The range of randint and randint_like; BOUNDS where the type of result 0 does not hold both ends,
 * or there are none between them. `high` is argument "high", which may be a tensor. */
FNZ_MUST_CHECK fnz_status fnzi_meta_randint(const fnzi_krn_call *call, int64_t high,
                                            fnzi_meta_integers *out);
/* The range of random, random.from and random.to. */
FNZ_MUST_CHECK fnz_status fnzi_meta_random(const fnzi_krn_call *call, fnzi_meta_integers *out);

#endif
