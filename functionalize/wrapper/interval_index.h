/* interval_index.h - which of the tensors of one call may share memory with which, without looking
 * at every pair: a list operator may have 60,000 of them. */
#ifndef FNZI_INTERVAL_INDEX_H
#define FNZI_INTERVAL_INDEX_H

#include "functionalize/wrapper/wrapper.h"

/* A tensor of the crowd, once however often the call names it. */
typedef struct fnzi_member {
  fnz_tensor *tensor;
  uint32_t written, read; /* how often it is that */
  size_t first;           /* the first place at which it is named */
  int64_t low, high;      /* where it lies, as the crowd looks at its storage */
  int64_t reach;          /* the highest `high` of those of its storage up to here */
} fnzi_member;

/* So few are all compared with each other. */
enum { FNZI_CROWD_FEW = 8 };

typedef struct fnzi_crowd {
  fnzi_member *members; /* by storage and place there; few ones as the call names them */
  size_t count;
  bool is_small;
  size_t *member_of; /* of each written tensor and then of each that is read */
  fnzi_member few[FNZI_CROWD_FEW];
  size_t few_of[FNZI_CROWD_FEW];
} fnzi_crowd;

/* In the world's scratch; few ones in `out` itself, which is not to be copied. */
FNZ_MUST_CHECK fnz_status fnzi_crowd_of(fnz_world *world, fnz_tensor *const *written,
                                        size_t nwritten, fnz_tensor *const *read, size_t nread,
                                        fnzi_crowd *out);
/* Members [*begin, *end): all that may have a byte in common with `member`, itself among them. */
void fnzi_crowd_near(const fnzi_crowd *crowd, size_t member, size_t *begin, size_t *end);

#endif
