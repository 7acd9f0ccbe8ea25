/* commit.c - writing through the aliases of a storage, and putting what was written into its
 * root.
 *
 * A write stores the value at its own alias and marks it dirty; nothing else happens until somebody
 * reads what it overlaps.
 *
 * keeps   dirty aliases share no byte; the root's value is right wherever no alias is dirty */
#include "functionalize/wrapper/sync.h"

static void forget_dirty(fnzi_alias *a) {
  fnzi_storage *s = a->storage;
  for (size_t i = 0; i < s->dirty.count; i++) {
    if (s->dirty.data[i] != a)
      continue;
    memmove(&s->dirty.data[i], &s->dirty.data[i + 1],
            (--s->dirty.count - i) * sizeof *s->dirty.data);
    a->dirty = false;
    fnzi_alias_release(a);
    return;
  }
}

/* The base that a window is put back into: the parent's value as it was before the write. What
 * other dirty aliases hold may be missing from it; the root's value never has it either. */
static fnz_status base_before(fnz_world *world, const fnzi_alias *parent, const fnzi_alias *written,
                              fnzi_held *above, fnzi_held **out) {
  *out = parent->value;
  if (!parent->parent || (parent->value && fnzi_untouched(parent, parent->version, written)))
    return FNZ_OK;
  return fnzi_follow_link(world, parent, above, out);
}

/* The lowest link whose reverse needs its base; below it no base is looked at. */
static size_t lowest_with_base(fnzi_alias *const *links, size_t n) {
  size_t i = 0;
  while (i < n) {
    fnzi_view_step step;
    fnzi_link_step(links[i], &step);
    if (fnzi_view_step_needs_base(&step))
      break;
    i++;
  }
  return i;
}

/* Back up link by link; the new values of what lies between are kept. */
static fnz_status reverse_links(fnz_world *world, fnzi_alias *const *links, size_t n,
                                fnzi_held *value, fnzi_held **out) {
  fnzi_emitted *bases; /* bases[i]: old value of links[i]'s parent */
  FNZI_NEW(&world->scratch, n, &bases);
  fnzi_held *above = links[n - 1]->parent->value;
  for (size_t i = n, lowest = lowest_with_base(links, n); i-- > lowest;) {
    FNZ_TRY(base_before(world, links[i]->parent, links[0], above, &above));
    bases[i] = fnzi_emitted_of(above);
  }
  *out = value;
  for (size_t i = 0; i < n; i++) {
    fnzi_view_step step;
    fnzi_emitted e;
    fnzi_link_step(links[i], &step);
    FNZ_TRY(fnzi_view_step_reverse(&world->emitter, &step, bases[i], fnzi_emitted_of(*out), &e));
    *out = fnzi_held_of(world, e, *out);
    fnzi_alias *parent = links[i]->parent;
    if (parent->parent && !fnzi_overlaps_dirty(parent))
      fnzi_alias_set_value(parent, *out);
  }
  return FNZ_OK;
}

static fnz_status reverse_path(fnz_world *world, const fnzi_path *path, fnzi_held *root,
                               fnzi_held *value, fnzi_held **out) {
  fnzi_held **bases;
  FNZI_NEW(&world->scratch, path->count + 1, &bases);
  bases[0] = root;
  for (size_t i = 0; i + 1 < path->count; i++)
    FNZ_TRY(fnzi_replay_step(world, &path->steps[i], bases[i], &bases[i + 1]));
  *out = value;
  for (size_t i = path->count; i-- > 0;) {
    fnzi_emitted e;
    FNZ_TRY(fnzi_view_step_reverse(&world->emitter, &path->steps[i], fnzi_emitted_of(bases[i]),
                                   fnzi_emitted_of(*out), &e));
    *out = fnzi_held_of(world, e, *out);
  }
  return FNZ_OK;
}

/* A window that shows an element in several places cannot take a part of itself back: the other
 * places would keep the old value. */
static bool can_carry(fnzi_alias *const *links, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (links[i]->repeats)
      return false;
  return true;
}

static fnz_status refuse_repeating_root(fnz_world *world, const fnzi_alias *a) {
  return fnzi_fail(world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s is written through, and the memory it belongs to comes in as a tensor that "
                   "shows elements in several places; pass a clone() of that input",
                   a->opening ? a->opening->op->name : "a view");
}

/* Nobody wrote into it since it became dirty. It may end. */
static void clean(fnzi_alias *a) {
  a->unread = a->storage->root->unread = NULL;
  a->version = a->storage->version;
  forget_dirty(a);
}

/* The value of the root after `a`'s value is put into it. */
static fnz_status reverse(fnz_world *world, fnzi_alias *a, fnzi_held *value, fnzi_held **out) {
  fnzi_alias *root = a->storage->root, *links[FNZI_LINKS], **all;
  fnzi_path path;
  bool found = false;
  size_t n = fnzi_links_up(a, root, links);
  if (root->repeats)
    return refuse_repeating_root(world, a);
  if (!can_carry(links, n))
    n = 0;
  if (world->views == FNZ_VIEWS_STRIDED)
    FNZ_TRY(fnzi_path_strided(&world->scratch, &root->geometry, &a->geometry, &path, &found));
  if (found)
    return reverse_path(world, &path, root->value, value, out);
  if (n != 1)
    FNZ_TRY(fnzi_path_between(world, root, a, &path, &found));
  if (n > 0 && (!found || path.count >= n))
    return reverse_links(world, links, n, value, out);
  if (!found)
    FNZ_TRY(fnzi_path_from_root(world, a, &path, &found));
  if (found)
    return reverse_path(world, &path, root->value, value, out);
  FNZ_TRY(fnzi_links_to_root(world, a, &all, &n));
  return n && can_carry(all, n) ? reverse_links(world, all, n, value, out) : fnzi_no_way(a);
}

/* What is made on the way belongs to the line of the write. */
static fnz_status put_into_root(fnz_world *world, fnzi_alias *dirty) {
  const char *reader = world->source;
  const fnzi_why why = world->why;
  fnzi_alias *root = dirty->storage->root, *a = fnzi_alias_retain(dirty);
  fnzi_held *value;
  clean(a);
  world->source = a->source;
  world->why = (fnzi_why){a->writer, why.reader, a->opening ? a->opening->node : NULL, why.output,
                          FNZI_CAUSE_WRITE};
  fnz_status status = reverse(world, a, a->value, &value);
  world->source = reader;
  world->why = why;
  if (status == FNZ_OK)
    fnzi_alias_set_value(root, value);
  fnzi_alias_release(a);
  return status;
}

/* It waits with others, where some wait already. */
static fnz_status wait_with_others(fnz_world *world, fnzi_alias *dirty, bool *done) {
  FNZ_TRY(fnzi_gather(world, dirty, done));
  if (*done)
    clean(dirty);
  return FNZ_OK;
}

fnz_status fnzi_put_gathered(fnz_world *world, fnzi_storage *s) {
  bool waits;
  if (!s->gathered)
    return FNZ_OK;
  for (size_t i = 0; fnzi_gathered_lacks_little(s) && i < s->dirty.count; i += !waits)
    FNZ_TRY(wait_with_others(world, s->dirty.data[i], &waits));
  return fnzi_gathered_end(world, s);
}

fnz_status fnzi_bring_up(fnz_world *world, fnzi_alias *dirty) {
  bool waits = false;
  if (dirty->storage->gathered)
    FNZ_TRY(wait_with_others(world, dirty, &waits));
  if (waits)
    return FNZ_OK;
  FNZ_TRY(fnzi_put_gathered(world, dirty->storage));
  return put_into_root(world, dirty);
}

/* --- writing ---------------------------------------------------------------------------------- */
static void overwrite(fnz_world *world, fnzi_alias *d) {
  fnzi_note_unread(world, d->unread);
  d->unread = NULL;
  forget_dirty(d);
}

/* Whoever is dirty and overlapped is forgotten when all of it is written, brought up otherwise. */
static fnz_status make_way(fnz_world *world, fnzi_alias *target) {
  fnzi_storage *s = target->storage;
  for (size_t i = 0; i < s->dirty.count;) {
    fnzi_alias *d = s->dirty.data[i];
    fnzi_relation r = d == target ? FNZI_DISJOINT : fnzi_alias_relate(target, d);
    if (r == FNZI_DISJOINT)
      i++;
    else if (r == FNZI_EQUAL || r == FNZI_CONTAINS || !target->parent)
      overwrite(world, d);
    else
      FNZ_TRY(fnzi_bring_up(world, d));
  }
  return FNZ_OK;
}

/* Writes through the same alias, or through windows of the same opening, are one entry. */
static bool extends_newest(const fnzi_storage *s, const fnzi_alias *a) {
  const fnzi_alias *who = s->log.count ? s->log.data[s->newest].who : NULL;
  return who && (who == a || fnzi_are_siblings(who, a));
}

/* Inputs that lie in one memory say which of them were written. */
static void note_watched(const fnzi_alias *a) {
  const fnzi_storage *s = a->storage;
  for (size_t i = 0; i < s->nwatched; i++)
    s->watched[i]->touched = s->watched[i]->touched || s->watched[i] == a ||
                             fnzi_alias_relate(a, s->watched[i]) != FNZI_DISJOINT;
}

static fnz_status log_write(fnzi_alias *a) {
  fnzi_storage *s = a->storage;
  note_watched(a);
  a->written = s->version + 1;
  if (extends_newest(s, a)) {
    s->log.data[s->newest].last = ++s->version;
    return FNZ_OK;
  }
  const fnzi_entry e = {a, s->version + 1, s->version + 1};
  if (s->log.count < FNZI_LOG) {
    FNZI_PUSH(s->world->ctx, &s->log, e);
    s->newest = s->log.count - 1;
  } else {
    s->newest = (s->newest + 1) % FNZI_LOG;
    fnzi_alias_release(s->log.data[s->newest].who);
    s->log.data[s->newest] = e;
  }
  fnzi_alias_retain(a);
  s->version++;
  return FNZ_OK;
}

/* The oldest goes. */
static fnz_status make_room(fnz_world *world, fnzi_alias *dirty) {
  bool waits;
  FNZ_TRY(wait_with_others(world, dirty, &waits));
  return waits ? FNZ_OK : fnzi_bring_up(world, dirty);
}

static fnz_status mark_dirty(fnz_world *world, fnzi_alias *a) {
  fnzi_storage *s = a->storage;
  if (a->dirty || !a->parent)
    return FNZ_OK;
  if (s->dirty.count == FNZI_MAX_DIRTY)
    FNZ_TRY(make_room(world, s->dirty.data[0]));
  FNZI_PUSH(world->ctx, &s->dirty, a);
  fnzi_alias_retain(a);
  a->dirty = true;
  return FNZ_OK;
}

static fnz_status refuse_entangled(const fnzi_storage *s) {
  return fnzi_fail(s->world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "this writes memory that a result of a %s may share or not; clone() what its "
                   "body returns",
                   s->entangled);
}

/* At all sizes. */
static bool is_nothing(const fnzi_alias *target) {
  const bool nothing = fnz_geometry_numel(&target->geometry) == 0;
  return fnzi_agreed(target->storage->world->decisions, nothing) && nothing;
}

fnz_status fnzi_write(fnzi_alias *target, fnzi_held *value) {
  fnz_world *world = target->storage->world;
  if (target->storage->entangled)
    return refuse_entangled(target->storage);
  target->source = world->source;
  fnzi_note_unread(world, target->unread);
  target->writer = target->unread = world->why.reader;
  if (is_nothing(target))
    return log_write(target); /* a write all the same */
  FNZ_TRY(make_way(world, target));
  FNZ_TRY(mark_dirty(world, target));
  FNZ_TRY(log_write(target));
  if (!target->parent)
    fnzi_gathered_forget(target->storage);
  fnzi_alias_set_value(target, value);
  return FNZ_OK;
}
