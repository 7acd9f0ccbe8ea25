/* freshness.c - which cached values of a storage are up to date, by the log of its writes.
 *
 * keeps   everything but the version at which a value was last found right
 * gives   "yes" only where it is certain; a write too old for the log, or a relation that is not
 *         decided, counts as meeting the window */
#include "functionalize/wrapper/sync.h"

bool fnzi_wrap_alias_siblings(const fnzi_wrap_alias *a, const fnzi_wrap_alias *b) {
  return a->view_call && a->view_call == b->view_call && a != b && !a->parent->repeats;
}

/* It shows all bytes of its storage. */
static bool is_all(const fnzi_wrap_alias *a) {
  const fnzi_wrap_alias *root = a->storage->root;
  return a->compact && fnzi_int_same(a->low, root->low) && fnzi_int_same(a->high, root->high);
}

fnzi_relation fnzi_wrap_alias_compare(const fnzi_wrap_alias *a, const fnzi_wrap_alias *b) {
  if (fnzi_wrap_alias_siblings(a, b))
    return FNZI_DISJOINT;
  if (is_all(a) && is_all(b))
    return FNZI_EQUAL;
  return fnzi_oracle_relate(a->storage->wrapper->ints, &a->geometry, &b->geometry,
                            &a->storage->root->geometry, FNZI_LITTLE_WORK);
}

/* The window of a view call that contains `a`; NULL when none is near. */
static const fnzi_wrap_alias *sibling_above(const fnzi_wrap_view_call *o,
                                            const fnzi_wrap_alias *a) {
  for (size_t n = 0; a && n < FNZI_LINKS; n++, a = a->parent)
    if (a->view_call == o)
      return a;
  return NULL;
}

/* Writes through several windows of one view call. */
static bool is_group(const fnzi_wrap_log_entry *e) {
  return e->first != e->last && e->alias->view_call && e->alias->view_call->count > 1 &&
         !e->alias->parent->repeats;
}

/* A write of the entry after version `since` overlapped `window`. */
static bool touches(const fnzi_wrap_log_entry *e, const fnzi_wrap_alias *window, uint64_t since) {
  if (!is_group(e))
    return fnzi_wrap_alias_relate(e->alias, window) != FNZI_DISJOINT;
  const fnzi_wrap_alias *sibling = sibling_above(e->alias->view_call, window);
  return sibling ? sibling->written > since
                 : fnzi_wrap_alias_relate(e->alias->parent, window) != FNZI_DISJOINT;
}

/* A write that an old base of `written` may lack. */
static bool may_lack(const fnzi_wrap_log_entry *e, const fnzi_wrap_alias *written) {
  if (!written || is_group(e))
    return false;
  fnzi_relation r = fnzi_wrap_alias_relate(written, e->alias);
  return e->alias->dirty || r == FNZI_EQUAL || r == FNZI_CONTAINS;
}

bool fnzi_wrap_alias_untouched(const fnzi_wrap_alias *window, uint64_t since,
                               const fnzi_wrap_alias *written) {
  const fnzi_wrap_storage *s = window->storage;
  const fnzi_wrap_log_entry *e = NULL;
  for (size_t i = 0; i < s->log.count; i++) {
    e = &s->log.data[(s->newest + FNZI_LOG - i) % FNZI_LOG];
    if (e->last <= since)
      return true;
    if (touches(e, window, since) && !may_lack(e, written))
      return false;
  }
  return e ? e->first <= since + 1 : true;
}

bool fnzi_wrap_alias_overlaps_dirty(const fnzi_wrap_alias *window) {
  const fnzi_wrap_storage *s = window->storage;
  for (size_t i = 0; i < s->dirty.count; i++)
    if (fnzi_wrap_alias_relate(s->dirty.data[i], window) != FNZI_DISJOINT)
      return true;
  return false;
}

bool fnzi_wrap_alias_right_for(fnzi_wrap_alias *a, const fnzi_wrap_alias *window) {
  if (!a->value)
    return false;
  if (a->dirty)
    return true;
  if (!a->parent)
    return !fnzi_wrap_overlaps_pending(window) && !fnzi_wrap_alias_overlaps_dirty(window);
  if (a->version == a->storage->version)
    return true;
  if (!fnzi_wrap_alias_untouched(window, a->version, NULL))
    return false;
  if (a == window)
    a->version = a->storage->version;
  return true;
}
