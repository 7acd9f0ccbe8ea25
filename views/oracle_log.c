/* oracle_log.c - the log of answers of the alias oracle during one pass at one choice of sizes.
 *
 * keeps   the order of answers; an answer that no pass may rely on is UNKNOWN
 * gives   all answers, which are compared with the answers of other passes */
#include "views/oracle_log.h"

/* The distance of two windows: from the end of the first to the start of the second where the
 * second follows, else from start to start. Two halves have distance 0 wherever they meet. */
static int64_t shift_of(const fnz_geometry *a, const fnz_geometry *b) {
  int64_t low[2], high[2];
  if (!fnzi_extent(a, &low[0], &high[0]) || !fnzi_extent(b, &low[1], &high[1]))
    return a->offset - b->offset;
  if (high[0] <= low[1])
    return low[1] - high[0];
  return high[1] <= low[0] ? low[0] - high[1] : a->offset - b->offset;
}

static fnz_status note(fnzi_oracle_log *d, uint64_t answer, int64_t shift) {
  FNZI_PUSH(d->ctx, &d->taken, ((fnzi_oracle_answer){answer, shift}));
  return FNZ_OK;
}

static bool is_unknown(const fnzi_oracle_log *d, size_t index) {
  return index >= d->until || (index < d->nunknown && d->unknown[index]);
}

fnzi_relation fnzi_decisions_take(fnzi_oracle_log *d, fnzi_relation r, const fnz_geometry *a,
                                  const fnz_geometry *b) {
  r = is_unknown(d, d->taken.count) ? FNZI_UNKNOWN : r;
  if (note(d, (uint64_t)r, shift_of(a, b)) != FNZ_OK)
    d->failed = true;
  return r;
}

bool fnzi_decisions_agree(fnzi_oracle_log *d, uint32_t answer) {
  const bool unknown = is_unknown(d, d->taken.count);
  if (note(d, unknown ? (uint64_t)FNZI_UNKNOWN : FNZI_OTHER_ANSWERS + (uint64_t)answer, 0) !=
      FNZ_OK)
    d->failed = true;
  return !unknown;
}
