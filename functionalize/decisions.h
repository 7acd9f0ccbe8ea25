/* decisions.h - what a pass answers when it asks whether two windows share memory.
 *
 * A program with symbolic sizes is functionalized at several sizes (generalize.h). Where windows
 * depend on the sizes, one pass must not take their word for it: all of them write down their
 * answers, and where these differ the next round of passes takes UNKNOWN, which is always safe. */
#ifndef FNZI_DECISIONS_H
#define FNZI_DECISIONS_H

#include "views/views.h"

typedef struct fnzi_decisions {
  fnz_context *ctx;
  struct {
    uint8_t *data; /* fnzi_relation, in the order of asking */
    size_t count, capacity;
  } taken;
  const uint8_t *unknown; /* per place: the answer is UNKNOWN */
  size_t nunknown;
  bool failed; /* out of memory */
} fnzi_decisions;

/* The answer that counts. `d` NULL: nobody listens. */
static inline fnzi_relation fnzi_decide(fnzi_decisions *d, fnzi_relation r) {
  if (!d)
    return r;
  size_t place = d->taken.count;
  void *data = d->taken.data;
  if (place < d->nunknown && d->unknown[place])
    r = FNZI_UNKNOWN;
  d->failed = d->failed || fnzi_grow(d->ctx, &data, &d->taken.capacity, place + 1, 1) != FNZ_OK;
  d->taken.data = data;
  if (!d->failed)
    d->taken.data[d->taken.count++] = (uint8_t)r;
  return r;
}

#endif
