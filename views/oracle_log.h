/* oracle_log.h - what a pass answers when it asks whether two windows share memory.
 *
 * A program with symbolic sizes is functionalized at several sizes (dynamic.h). Where windows
 * depend on the sizes, one pass must not take their word for it: all of them write down their
 * answers, and where these differ the next round of passes takes UNKNOWN, which is always safe. So
 * it does where they agree but the windows are another way apart for other numbers of data. */
#ifndef FNZI_ORACLE_LOG_H
#define FNZI_ORACLE_LOG_H

#include "views/views.h"

typedef struct fnzi_decision {
  uint64_t answer; /* a relation, or FNZI_OTHER_ANSWERS and up; FNZI_UNKNOWN: not relied on */
  int64_t shift;   /* how far apart the windows are; 0 where that does not matter */
} fnzi_decision;
enum { FNZI_OTHER_ANSWERS = 16 };

typedef struct fnzi_decisions {
  fnz_context *ctx;
  struct {
    fnzi_decision *data; /* in the order of asking */
    size_t count, capacity;
  } taken;
  const uint8_t *unknown; /* per place: the answer is UNKNOWN */
  size_t nunknown;
  size_t until; /* from this place on all are; SIZE_MAX for none */
  bool failed;  /* out of memory */
} fnzi_decisions;

/* The answer of two windows that counts, which is written down. */
fnzi_relation fnzi_decisions_take(fnzi_decisions *d, fnzi_relation r, const fnz_geometry *a,
                                  const fnz_geometry *b);

/* The same; `d` NULL: nobody listens. */
static inline fnzi_relation fnzi_decide(fnzi_decisions *d, fnzi_relation r, const fnz_geometry *a,
                                        const fnz_geometry *b) {
  return d ? fnzi_decisions_take(d, r, a, b) : r;
}

/* The same of a question that is not about memory: is a window all of its base, which one operator
 * leads to it? Asked whatever the answer is; false where passes answer it differently, and nothing
 * may be made of it. */
bool fnzi_decisions_agree(fnzi_decisions *d, uint32_t answer);
static inline bool fnzi_agreed(fnzi_decisions *d, uint32_t answer) {
  return !d || fnzi_decisions_agree(d, answer);
}

#endif
