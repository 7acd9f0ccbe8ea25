/* commit.c - writing through the aliases of a storage, and committing what was written to its root.
 *
 * A write stores the value at its own alias and marks that dirty; nothing else happens until a read
 * overlaps it. A commit makes a new value of the root out of the old one and a dirty alias's, by
 * the reverses of the views in between (PyTorch: apply_updates).
 *
 * keeps   dirty aliases share no byte; the root's value is right wherever no alias is dirty */
#include "functionalize/wrapper/sync.h"

/* The alias may end. */
static void remove_dirty(fnzi_wrap_alias *a) {
  fnzi_wrap_storage *s = a->storage;
  for (size_t i = 0; i < s->dirty.count; i++) {
    if (s->dirty.data[i] != a)
      continue;
    memmove(&s->dirty.data[i], &s->dirty.data[i + 1],
            (--s->dirty.count - i) * sizeof *s->dirty.data);
    a->dirty = false;
    fnzi_wrap_alias_release(a);
    return;
  }
}

/* Marks `a` as clean: the root's value, or a pending write, contains its value. */
static void mark_clean(fnzi_wrap_alias *a) {
  a->unread = a->storage->root->unread = NULL;
  a->version = a->storage->version;
  remove_dirty(a);
}

/* --- reverses on the ascent to the root ------------------------------------------------------- */
static fnz_status reverse_step(fnz_wrapper *wrapper, const fnzi_view_step *step,
                               fnzi_value_ref *base, fnzi_value_ref *value, fnzi_value_ref **out) {
  fnzi_emitted e, old = {0};
  if (base) {
    FNZ_TRY(fnzi_wrap_into_rows(wrapper, step->call.op, true, &base));
    old = fnzi_wrap_emitted_of(base);
  }
  FNZ_TRY(fnzi_view_step_reverse(&wrapper->emitter, step, old, fnzi_wrap_emitted_of(value), &e));
  *out = fnzi_wrap_value_emitted(wrapper, e, value);
  return FNZ_OK;
}

/* Link by link. An old base is the parent's value as it was before the write: what other dirty
 * aliases hold may be missing from it, as it is from the root's. The new values of the parents are
 * kept where no other dirty alias overlaps them. */
static fnz_status reverse_links(fnz_wrapper *wrapper, fnzi_wrap_alias *const *links, size_t n,
                                fnzi_value_ref *value, fnzi_value_ref **out) {
  fnzi_value_ref **bases; /* bases[i]: old value of links[i]'s parent */
  fnzi_value_ref *above = links[n - 1]->parent->value;
  FNZI_NEW(&wrapper->scratch, n, &bases);
  size_t lowest = 0; /* the lowest link whose reverse needs the old value of its base */
  for (; lowest < n; lowest++) {
    fnzi_view_step step;
    fnzi_wrap_link_step(links[lowest], &step);
    if (fnzi_view_step_needs_base(&step))
      break;
  }
  for (size_t i = n; i-- > lowest;) {
    fnzi_wrap_alias *parent = links[i]->parent;
    if (!parent->parent ||
        (parent->value && fnzi_wrap_alias_untouched(parent, parent->version, links[0])))
      bases[i] = parent->value;
    else
      FNZ_TRY(fnzi_wrap_follow_link(wrapper, parent, above, &bases[i]));
    above = bases[i];
  }
  for (size_t i = 0; i < n; i++) {
    fnzi_wrap_alias *parent = links[i]->parent;
    fnzi_view_step step;
    fnzi_wrap_link_step(links[i], &step);
    FNZ_TRY(reverse_step(wrapper, &step, bases[i], value, &value));
    if (parent->parent && !fnzi_wrap_alias_overlaps_dirty(parent))
      fnzi_wrap_alias_set_value(parent, value);
  }
  *out = value;
  return FNZ_OK;
}

/* Step by step; no alias stands between the steps, so that no value is kept. */
static fnz_status reverse_path(fnz_wrapper *wrapper, const fnzi_path *path, fnzi_value_ref *root,
                               fnzi_value_ref *value, fnzi_value_ref **out) {
  fnzi_value_ref **bases;
  FNZI_NEW(&wrapper->scratch, path->count + 1, &bases);
  bases[0] = root;
  for (size_t i = 0; i + 1 < path->count; i++)
    FNZ_TRY(fnzi_wrap_replay_step(wrapper, &path->steps[i], bases[i], &bases[i + 1]));
  for (size_t i = path->count; i-- > 0;)
    FNZ_TRY(reverse_step(wrapper, &path->steps[i], bases[i], value, &value));
  *out = value;
  return FNZ_OK;
}

/* --- committing ------------------------------------------------------------------------------- */
/* The path from the root to an alias: `nlinks` links, starting at the alias; if `nlinks` is 0,
 * `path`. */
typedef struct ascent {
  fnzi_wrap_alias **links, *few[FNZI_LINKS];
  size_t nlinks;
  fnzi_path path;
} ascent;

/* A window that shows an element in several places cannot take a part of itself back: the other
 * places would keep the old value. */
static bool can_carry(fnzi_wrap_alias *const *links, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (links[i]->repeats)
      return false;
  return true;
}

fnz_status fnzi_wrap_refuse_repeating_root(fnz_wrapper *wrapper, const char *what) {
  return fnzi_fail_for(wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
                       "%s writes memory that comes in as a tensor which shows elements in several "
                       "places, and the value of that input has one for each place; pass a clone() "
                       "of that input",
                       what);
}

/* The cheapest ascent of `a` into the root. It costs a node for each reverse and one for each old
 * base that has to be made; as bases that are up to date are not known before, its length counts.
 * In this order:
 *
 *   1  one as_strided, in the strided dialect, which reads and writes memory by that alone
 *   2  the links, where the geometry knows no shorter path: one link is never beaten, and of two
 *      of one length links are better, since the aliases between get their new values from them
 *   3  the path over the root's dimensions, or where there is none over its flat memory
 *   4  links up to FNZI_MOST_LINKS: a node for each, but nothing else leads there */
static fnz_status find_ascent(fnz_wrapper *wrapper, fnzi_wrap_alias *a, ascent *w) {
  fnzi_wrap_alias *root = a->storage->root;
  bool found = false;
  if (root->repeats)
    return fnzi_wrap_refuse_repeating_root(wrapper,
                                           a->view_call ? a->view_call->call.op->name : "a view");
  size_t n = fnzi_wrap_links_up(a, root, w->few);
  w->links = w->few;
  w->nlinks = 0;
  if (!can_carry(w->few, n))
    n = 0;
  if (fnzi_wrap_goes_by_strides(root))
    FNZ_TRY(fnzi_path_strided((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &root->geometry,
                              &a->geometry, &w->path, &found));
  if (found)
    return FNZ_OK;
  if (n != 1)
    FNZ_TRY(fnzi_wrap_path_between(wrapper, root, a, &w->path, &found));
  if (n > 0 && (!found || w->path.count >= n)) {
    w->nlinks = n;
    return FNZ_OK;
  }
  if (!found)
    FNZ_TRY(fnzi_wrap_path_from_root(wrapper, a, &w->path, &found));
  if (found)
    return FNZ_OK;
  FNZ_TRY(fnzi_wrap_links_to_root(wrapper, a, &w->links, &w->nlinks));
  return w->nlinks && can_carry(w->links, w->nlinks) ? FNZ_OK : fnzi_wrap_no_path(a);
}

/* *joins false: the write does not fit among the pending ones. */
static fnz_status join_pending(fnz_wrapper *wrapper, fnzi_wrap_alias *dirty, bool *joins) {
  FNZ_TRY(fnzi_wrap_pending_add(wrapper, dirty, joins));
  if (*joins)
    mark_clean(dirty);
  return FNZ_OK;
}

/* Many writes side by side are cheaper together, as one cat or stack, than one by one. So where
 * older writes are pending (pending.c), a dirty alias that fits among them joins them and costs
 * nothing now. One that does not fit may lie over them: then they go first, and its value is put
 * into the root's, by the cheapest ascent, with the line and the reason of its write. */
fnz_status fnzi_wrap_commit(fnz_wrapper *wrapper, fnzi_wrap_alias *dirty) {
  fnzi_wrap_alias *root = dirty->storage->root, *a;
  bool joins = false;
  fnzi_value_ref *value;
  ascent w;
  if (dirty->storage->pending)
    FNZ_TRY(join_pending(wrapper, dirty, &joins));
  if (joins)
    return FNZ_OK;
  FNZ_TRY(fnzi_wrap_commit_pending(wrapper, dirty->storage));
  const char *reader = wrapper->source;
  const fnzi_why why = wrapper->why;
  a = fnzi_wrap_alias_retain(dirty);
  mark_clean(a);
  wrapper->source = a->source;
  wrapper->why = (fnzi_why){a->writer, why.reader, a->view_call ? a->view_call->node : NULL,
                            why.output, FNZI_CAUSE_WRITE};
  fnz_status status = find_ascent(wrapper, a, &w);
  if (status == FNZ_OK)
    status = w.nlinks ? reverse_links(wrapper, w.links, w.nlinks, a->value, &value)
                      : reverse_path(wrapper, &w.path, root->value, a->value, &value);
  wrapper->source = reader;
  wrapper->why = why;
  if (status == FNZ_OK)
    fnzi_wrap_alias_set_value(root, value);
  fnzi_wrap_alias_release(a);
  return status;
}

/* Commits pending writes. Dirty aliases join them first, because together they may cover the
 * root. */
fnz_status fnzi_wrap_commit_pending(fnz_wrapper *wrapper, fnzi_wrap_storage *s) {
  bool joins;
  if (!s->pending)
    return FNZ_OK;
  for (size_t i = 0; fnzi_wrap_pending_nearly_covers(s) && i < s->dirty.count; i += !joins)
    FNZ_TRY(join_pending(wrapper, s->dirty.data[i], &joins));
  return fnzi_wrap_pending_apply(wrapper, s);
}

/* --- writing ---------------------------------------------------------------------------------- */
/* Makes sure that no other dirty alias shares a byte with the target: an alias within the target is
 * forgotten, an alias that overlaps it in part is committed first. */
static fnz_status clear(fnz_wrapper *wrapper, fnzi_wrap_alias *target) {
  fnzi_wrap_storage *s = target->storage;
  for (size_t i = 0; i < s->dirty.count;) {
    fnzi_wrap_alias *d = s->dirty.data[i];
    fnzi_relation r = d == target ? FNZI_DISJOINT : fnzi_wrap_alias_relate(target, d);
    if (r == FNZI_DISJOINT) {
      i++;
    } else if (r == FNZI_EQUAL || r == FNZI_CONTAINS || !target->parent) {
      fnzi_notes_unread(wrapper->ctx, wrapper->notes, d->unread);
      d->unread = NULL;
      remove_dirty(d);
    } else {
      FNZ_TRY(fnzi_wrap_commit(wrapper, d));
    }
  }
  return FNZ_OK;
}

/* Writes through one alias, or through windows of one view call, are one entry. The pass watches
 * which of several inputs in one memory were written. */
static fnz_status log_write(fnzi_wrap_alias *a) {
  fnzi_wrap_storage *s = a->storage;
  const fnzi_wrap_alias *last = s->log.count ? s->log.data[s->newest].alias : NULL;
  for (size_t i = 0; i < s->nwatched; i++)
    s->watched[i]->touched = s->watched[i]->touched || s->watched[i] == a ||
                             fnzi_wrap_alias_relate(a, s->watched[i]) != FNZI_DISJOINT;
  a->written = s->version + 1;
  if (last && (last == a || fnzi_wrap_alias_siblings(last, a))) {
    s->log.data[s->newest].last = ++s->version;
    return FNZ_OK;
  }
  const fnzi_wrap_log_entry e = {a, s->version + 1, s->version + 1};
  if (s->log.count < FNZI_LOG) {
    FNZI_PUSH(s->wrapper->ctx, &s->log, e);
    s->newest = s->log.count - 1;
  } else {
    s->newest = (s->newest + 1) % FNZI_LOG;
    fnzi_wrap_alias_release(s->log.data[s->newest].alias);
    s->log.data[s->newest] = e;
  }
  fnzi_wrap_alias_retain(a);
  s->version++;
  return FNZ_OK;
}

fnz_status fnzi_wrap_write(fnzi_wrap_alias *target, fnzi_value_ref *value) {
  fnz_wrapper *wrapper = target->storage->wrapper;
  if (target->storage->maybe_aliased)
    return fnzi_fail_for(
        wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
        "this writes memory that a result of a %s may share or not; clone() what its "
        "body returns",
        target->storage->maybe_aliased);
  FNZ_TRY(fnzi_wrap_refuse_shared(target));
  target->source = wrapper->source;
  fnzi_notes_unread(wrapper->ctx, wrapper->notes, target->unread);
  target->writer = target->unread = wrapper->why.reader;
  if (fnzi_int_is_empty(&target->geometry))
    return log_write(target); /* it counts as a write */
  FNZ_TRY(clear(wrapper, target));
  /* If FNZI_MAX_DIRTY aliases are dirty, the oldest becomes pending or is committed. */
  if (!target->dirty && target->parent) {
    fnzi_wrap_storage *s = target->storage;
    bool joins = false;
    if (s->dirty.count == FNZI_MAX_DIRTY) {
      FNZ_TRY(join_pending(wrapper, s->dirty.data[0], &joins));
      if (!joins)
        FNZ_TRY(fnzi_wrap_commit(wrapper, s->dirty.data[0]));
    }
    FNZI_PUSH(wrapper->ctx, &s->dirty, target);
    fnzi_wrap_alias_retain(target);
    target->dirty = true;
  }
  FNZ_TRY(log_write(target));
  if (!target->parent)
    fnzi_wrap_pending_drop(target->storage);
  fnzi_wrap_alias_set_value(target, value);
  return FNZ_OK;
}
