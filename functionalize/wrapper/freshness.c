/* freshness.c - which values of a storage are still right: who wrote where, and since when.
 *
 * needs   the log of writes and the dirty aliases of a storage
 * keeps   everything: it only looks
 * gives   "yes" only where it is certain; what is too old or not decided counts as written */
#include "functionalize/wrapper/sync.h"

/* Different windows of one split or unbind: disjoint, unless what they cut repeats elements. */
bool fnzi_are_siblings(const fnzi_alias *a, const fnzi_alias *b) {
  return a->opening && a->opening == b->opening && a != b && !a->parent->repeats;
}

/* It shows all of its memory. */
static bool is_all(const fnzi_alias *a) {
  const fnzi_alias *root = a->storage->root;
  return a->compact && a->low == root->low && a->high == root->high;
}

static fnzi_relation find_relation(const fnzi_alias *a, const fnzi_alias *b) {
  if (a->high <= b->low || b->high <= a->low || fnzi_are_siblings(a, b))
    return FNZI_DISJOINT;
  if (is_all(a) && is_all(b))
    return FNZI_EQUAL;
  return fnzi_relate(&a->geometry, &b->geometry, &a->storage->root->geometry, FNZI_LITTLE_WORK);
}

fnzi_relation fnzi_alias_decide(const fnzi_alias *a, const fnzi_alias *b) {
  fnzi_decisions *d = a->storage->world->decisions;
  /* Windows of one opening stay apart wherever they begin. */
  return fnzi_decide(d, find_relation(a, b), &a->geometry,
                     fnzi_are_siblings(a, b) ? &a->geometry : &b->geometry);
}

/* The window of an opening that has all of `a`; NULL when none is near. */
static const fnzi_alias *member_above(const fnzi_opening *o, const fnzi_alias *a) {
  for (size_t n = 0; a && n < FNZI_LINKS; n++, a = a->parent)
    if (a->opening == o)
      return a;
  return NULL;
}

/* The entry stands for writes through several windows of one opening. */
static bool is_run(const fnzi_entry *e) {
  return e->first != e->last && e->who->opening && e->who->opening->count > 1 &&
         !e->who->parent->repeats;
}

/* One of the writes of an entry after version `since` went into `window`. */
static bool touches(const fnzi_entry *e, const fnzi_alias *window, uint64_t since) {
  if (!is_run(e))
    return fnzi_alias_relate(e->who, window) != FNZI_DISJOINT;
  const fnzi_alias *member = member_above(e->who->opening, window);
  return member ? member->written > since
                : fnzi_alias_relate(e->who->parent, window) != FNZI_DISJOINT;
}

/* A write that a base may lack: inside what is about to be put into it, or still dirty. */
static bool may_lack(const fnzi_entry *e, const fnzi_alias *written) {
  if (!written || is_run(e))
    return false;
  fnzi_relation r = fnzi_alias_relate(written, e->who);
  return e->who->dirty || r == FNZI_EQUAL || r == FNZI_CONTAINS;
}

/* Nobody wrote into `window` after version `since`; with `written`, writes that a base may lack do
 * not count. Entries too old to be in the log count as writes. */
bool fnzi_untouched(const fnzi_alias *window, uint64_t since, const fnzi_alias *written) {
  const fnzi_storage *s = window->storage;
  const fnzi_entry *e = NULL;
  for (size_t i = 0; i < s->log.count; i++) {
    e = &s->log.data[(s->newest + FNZI_LOG - i) % FNZI_LOG];
    if (e->last <= since)
      return true;
    if (touches(e, window, since) && !may_lack(e, written))
      return false;
  }
  return e ? e->first <= since + 1 : true;
}

bool fnzi_overlaps_dirty(const fnzi_alias *window) {
  const fnzi_storage *s = window->storage;
  for (size_t i = 0; i < s->dirty.count; i++)
    if (fnzi_alias_relate(s->dirty.data[i], window) != FNZI_DISJOINT)
      return true;
  return false;
}

/* The value of `a` shows what `window`, a part of it, holds now. */
bool fnzi_right_for(fnzi_alias *a, const fnzi_alias *window) {
  if (!a->value)
    return false;
  if (a->dirty)
    return true;
  if (!a->parent)
    return !fnzi_overlaps_gathered(window) && !fnzi_overlaps_dirty(window);
  if (a->version == a->storage->version)
    return true;
  if (!fnzi_untouched(window, a->version, NULL))
    return false;
  if (a == window)
    a->version = a->storage->version;
  return true;
}
