/* oracle_log.h - answers of the alias oracle, logged so that passes at different sizes agree.
 *
 * A program with symbolic sizes is functionalized at several sizes (dynamic.h). Whether two windows
 * share memory may depend on the sizes, so each pass logs its answers. If the answers of two passes
 * differ, or the distances of the two windows do, the next round of passes uses UNKNOWN, which is
 * always safe. */
#ifndef FNZI_ORACLE_LOG_H
#define FNZI_ORACLE_LOG_H

#include "views/views.h"

typedef struct fnzi_oracle_answer {
  uint64_t answer; /* a relation, or FNZI_OTHER_ANSWERS and up; FNZI_UNKNOWN: not relied on */
  int64_t shift;   /* the distance of the windows; 0 where that does not matter */
} fnzi_oracle_answer;
enum { FNZI_OTHER_ANSWERS = 16 };

typedef struct fnzi_oracle_log {
  fnz_context *ctx;
  struct {
    fnzi_oracle_answer *data; /* in the order of asking */
    size_t count, capacity;
  } taken;
  const uint8_t *unknown; /* per index: the answer is UNKNOWN */
  size_t nunknown;
  size_t until; /* from this index on all are; SIZE_MAX for none */
  bool failed;  /* out of memory */
} fnzi_oracle_log;

/* Logs an answer about two windows; returns the answer that the pass must use. */
fnzi_relation fnzi_decisions_take(fnzi_oracle_log *d, fnzi_relation r, const fnz_geometry *a,
                                  const fnz_geometry *b);

/* The same; without a log (`d` NULL) the answer itself. */
static inline fnzi_relation fnzi_oracle_decide(fnzi_oracle_log *d, fnzi_relation r,
                                               const fnz_geometry *a, const fnz_geometry *b) {
  return d ? fnzi_decisions_take(d, r, a, b) : r;
}

/* The same for a question that is not about memory: is a window all of its base, which operators
 * lead to it? Logged whatever the answer is; false where the answers of passes differ, and then
 * none may be used. */
bool fnzi_decisions_agree(fnzi_oracle_log *d, uint32_t answer);
static inline bool fnzi_oracle_agreed(fnzi_oracle_log *d, uint32_t answer) {
  return !d || fnzi_decisions_agree(d, answer);
}

#endif
