/* interval_index.h - which of the tensors of one call may share memory with which, without looking
 * at every pair: a list operator may have 60,000 of them. */
#ifndef FNZI_INTERVAL_INDEX_H
#define FNZI_INTERVAL_INDEX_H

#include "functionalize/wrapper/wrapper.h"

/* The bytes of a tensor, which the index has once however often the call names it. */
typedef struct fnzi_wrap_interval {
  fnz_tensor *tensor;
  uint32_t written, read; /* how often */
  size_t first;           /* the first place at which the call names it */
  int64_t low, high;      /* on the axis that the index has chosen for its storage */
  int64_t reach;          /* the highest `high` of its storage up to this interval */
} fnzi_wrap_interval;

/* At most so many are compared pair by pair. */
enum { FNZI_FEW_INTERVALS = 8 };

typedef struct fnzi_wrap_interval_index {
  fnzi_wrap_interval *intervals; /* by storage and place; few ones as the call names them */
  size_t count;
  bool is_small;
  size_t *interval_of; /* of each written tensor and then of each read one */
  fnzi_wrap_interval few[FNZI_FEW_INTERVALS];
  size_t few_of[FNZI_FEW_INTERVALS];
} fnzi_wrap_interval_index;

/* Allocates in the wrapper's scratch. A small index is stored in `out` itself, which must not be
 * copied. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_interval_index_build(fnz_wrapper *wrapper,
                                                         fnz_tensor *const *written,
                                                         size_t nwritten, fnz_tensor *const *read,
                                                         size_t nread,
                                                         fnzi_wrap_interval_index *out);
/* Intervals [*begin, *end): all that may have a byte in common with interval `own`, which is one.
 */
void fnzi_wrap_interval_index_near(const fnzi_wrap_interval_index *index, size_t own, size_t *begin,
                                   size_t *end);

#endif
