/* decisions.c - what is answered while a pass at one choice of sizes is listened to.
 *
 * keeps   the order of answers; one that no pass may rely on is UNKNOWN
 * gives   all answers, for those of other passes to be compared with */
#include "functionalize/decisions.h"

static fnz_status note(fnzi_decisions *d, fnzi_relation r, int64_t shift) {
  FNZI_PUSH(d->ctx, &d->taken, ((fnzi_decision){r, shift}));
  return FNZ_OK;
}

fnzi_relation fnzi_decisions_take(fnzi_decisions *d, fnzi_relation r, int64_t shift) {
  size_t place = d->taken.count;
  if (place < d->nunknown && d->unknown[place])
    r = FNZI_UNKNOWN;
  if (note(d, r, shift) != FNZ_OK)
    d->failed = true;
  return r;
}
