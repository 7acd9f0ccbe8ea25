/* shrink.c - makes a failing program smaller: whole steps are left out, then choices are left out
 * and lowered, as long as the same check fails. Fewer and smaller choices are a simpler program. */
#include "soak/worker.h"

/* One try with mistakes takes as long as many without. */
enum { MOST_TRIES = 100000, MOST_TRIES_OF_PLANTS = 300, LARGEST_CHUNK = 32, MOST_PARTS = 8 };

typedef struct shrinking {
  fnzi_worker *w;
  fnzi_random_counts *ignored;
  unsigned checks;
  char kind[48]; /* of the failure */
  size_t tries;
} shrinking;

/* w->tried fails in the same way: it takes the place of w->at_hand. */
static bool still_fails(shrinking *s) {
  size_t most = s->w->planter ? MOST_TRIES_OF_PLANTS : MOST_TRIES;
  if (++s->tries > most || s->w->heap.ran_out)
    return false;
  choices_replay(&s->w->tried);
  fnzi_verdict v = fnzi_worker_try(s->w, &s->w->tried, s->checks, s->ignored, NULL);
  if (v != FNZI_VERDICT_WRONG || strcmp(s->kind, s->w->judge->kind) != 0)
    return false;
  s->w->at_hand = s->w->tried;
  s->w->at_hand.count = s->w->at_hand.at; /* nothing was drawn from the rest */
  return true;
}

static bool fails_without(shrinking *s, size_t at, size_t count) {
  choices *c = &s->w->tried;
  *c = s->w->at_hand;
  memmove(&c->bytes[at], &c->bytes[at + count], c->count - at - count);
  c->count -= count;
  return still_fails(s);
}

static bool fails_with(shrinking *s, size_t at, uint8_t byte) {
  s->w->tried = s->w->at_hand;
  s->w->tried.bytes[at] = byte;
  return still_fails(s);
}

static bool lower_byte(shrinking *s, size_t at) {
  const uint8_t was = s->w->at_hand.bytes[at], tries[] = {0, was / 2, (uint8_t)(was - 1)};
  for (size_t k = 0; was > 0 && k < sizeof tries; k++)
    if (tries[k] < was && fails_with(s, at, tries[k]))
      return true;
  return false;
}

void fnzi_worker_shrink(fnzi_worker *w, unsigned checks) {
  shrinking s = {.w = w, .checks = checks};
  s.ignored = fnzi_resize(w->ctx, NULL, 0, sizeof *s.ignored);
  if (!s.ignored)
    return;
  memset(s.ignored, 0, sizeof *s.ignored);
  memcpy(s.kind, w->judge->kind, sizeof s.kind);
  const choices *c = &w->at_hand;
  w->at_hand.count = w->at_hand.at;
  for (bool any = true; any;) {
    any = false;
    /* Neighbouring parts, the last ones first: no remaining part uses their values. */
    for (size_t parts = MOST_PARTS; parts > 0; parts /= 2)
      for (size_t end = c->nparts; end-- > parts;)
        if (end < c->nparts && c->parts[end] <= c->count)
          any = fails_without(&s, c->parts[end - parts], c->parts[end] - c->parts[end - parts]) ||
                any;
    /* Large chunks need not begin everywhere. */
    for (size_t chunk = LARGEST_CHUNK; chunk > 0; chunk -= chunk > 8 ? chunk / 4 : 1)
      for (size_t at = 0; at + chunk <= c->count;)
        if (fails_without(&s, at, chunk))
          any = true;
        else
          at += 1 + chunk / 8;
    for (size_t at = 0; at < c->count; at++)
      any = lower_byte(&s, at) || any;
  }
  fnzi_free(w->ctx, s.ignored, sizeof *s.ignored);
}
