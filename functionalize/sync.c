/* sync.c - reading and writing through the aliases of a storage, as lazily as possible.
 *
 * A write stores the value at its own alias and marks it dirty. A read takes what it can from
 * values that are still right, brings dirty aliases that overlap it into the root, and derives the
 * rest from the nearest value that is right for the window it needs.
 *
 * keeps   dirty aliases share no byte; the root's value is right wherever no alias is dirty
 * bounds  a chain of views is followed for at most FNZI_LINKS links; a longer one is replayed along
 *         the shortest path over geometry (views/path.c), so no work grows with its length */
#include "functionalize/world.h"

/* --- what is still right ---------------------------------------------------------------------- */
/* Different windows of one split or unbind: disjoint, unless what they cut repeats elements. */
static bool are_siblings(const fnzi_alias *a, const fnzi_alias *b) {
  return a->opening && a->opening == b->opening && a != b && !a->parent->repeats;
}

static fnzi_relation relate(const fnzi_alias *a, const fnzi_alias *b) {
  if (a->high <= b->low || b->high <= a->low || are_siblings(a, b))
    return FNZI_DISJOINT;
  return fnzi_relate(&a->geometry, &b->geometry, &a->storage->root->geometry, FNZI_LITTLE_WORK);
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
    return relate(e->who, window) != FNZI_DISJOINT;
  const fnzi_alias *member = member_above(e->who->opening, window);
  return member ? member->written > since : relate(e->who->parent, window) != FNZI_DISJOINT;
}

/* A write that a base may lack: inside what is about to be put into it, or still dirty. */
static bool may_lack(const fnzi_entry *e, const fnzi_alias *written) {
  if (!written || is_run(e))
    return false;
  fnzi_relation r = relate(written, e->who);
  return e->who->dirty || r == FNZI_EQUAL || r == FNZI_CONTAINS;
}

/* Nobody wrote into `window` after version `since`; with `written`, writes that a base may lack do
 * not count. Entries too old to be in the log count as writes. */
static bool untouched(const fnzi_alias *window, uint64_t since, const fnzi_alias *written) {
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

static bool overlaps_dirty(const fnzi_alias *window) {
  const fnzi_storage *s = window->storage;
  for (size_t i = 0; i < s->dirty.count; i++)
    if (relate(s->dirty.data[i], window) != FNZI_DISJOINT)
      return true;
  return false;
}

/* The value of `a` shows what `window`, a part of it, holds now. */
static bool right_for(fnzi_alias *a, const fnzi_alias *window) {
  if (!a->value)
    return false;
  if (a->dirty)
    return true;
  if (!a->parent)
    return !overlaps_dirty(window);
  if (a->version == a->storage->version)
    return true;
  if (!untouched(window, a->version, NULL))
    return false;
  if (a == window)
    a->version = a->storage->version;
  return true;
}

/* --- one link: from a parent to its child ----------------------------------------------------- */
static void link_step(const fnzi_alias *a, fnzi_view_step *out) {
  const fnzi_opening *o = a->opening;
  *out = (fnzi_view_step){o->view,     o->op, o->args, o->nargs, a->index, &a->parent->geometry,
                          &a->geometry};
}

/* An as_strided speaks of the storage, not of its parent's value; only geometry can replay it. */
static bool is_replayable(const fnzi_alias *a) {
  return a->opening && !fnzi_view_counts_from_storage(a->opening->view);
}

/* All windows of one call of a view operator; the values are world->fresh[*first ...]. */
static fnz_status replay_opening(fnz_world *world, const fnzi_alias *a, fnzi_held *base,
                                 size_t *first) {
  const fnzi_opening *o = a->opening;
  const fnz_geometry **windows;
  fnz_geometry *all;
  size_t count;
  FNZ_TRY(fnzi_view_forward(&world->scratch, o->view, o->op, o->args, o->nargs,
                            &a->parent->geometry, &all, &count));
  FNZI_NEW(&world->scratch, count, &windows);
  for (size_t k = 0; k < count; k++)
    windows[k] = &all[k];
  return fnzi_replay(world, o->op, o->args, o->nargs, base, windows, count, first);
}

/* All windows of a split at once, also into the other aliases that have no value yet. */
static fnz_status derive_all(fnz_world *world, fnzi_alias *a, fnzi_held *base) {
  fnzi_opening *o = a->opening;
  size_t first;
  FNZ_TRY(replay_opening(world, a, base, &first));
  o->derived = true;
  for (size_t k = 0; k < o->count; k++) {
    fnzi_alias *other = o->nodes[k];
    if (other && (other == a || (!other->value && right_for(a->parent, other))))
      fnzi_alias_set_value(other, world->fresh.data[first + k]);
  }
  return FNZ_OK;
}

/* The value of one alias from its parent's. One window among several is a slice or select alone. */
static fnz_status follow_link(fnz_world *world, const fnzi_alias *a, fnzi_held *base,
                              fnzi_held **out) {
  fnzi_view_step step;
  fnzi_path path;
  bool found;
  size_t first;
  link_step(a, &step);
  if (a->opening->count == 1)
    return fnzi_replay_step(world, &step, base, out);
  FNZ_TRY(fnzi_path_box(&world->scratch, step.base, step.window, &path, &found));
  if (found)
    return fnzi_replay_path(world, &path, base, out);
  FNZ_TRY(replay_opening(world, a, base, &first));
  *out = world->fresh.data[first + a->index];
  return FNZ_OK;
}

static fnz_status no_way(const fnzi_alias *a) {
  return fnzi_fail(a->storage->world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s reaches memory by strides that no view of its base describes, and the base "
                   "does not fill its memory; clone() the base first",
                   a->opening ? a->opening->op->name : "a resized tensor");
}

/* The shortest way from the root to a window: over its dimensions, or over flat memory. */
static fnz_status find_path(fnz_world *world, const fnzi_alias *to, fnzi_path *path) {
  const fnz_geometry *root = &to->storage->root->geometry;
  bool found;
  FNZ_TRY(fnzi_path_box(&world->scratch, root, &to->geometry, path, &found));
  if (!found)
    FNZ_TRY(fnzi_path_flat(&world->scratch, root, &to->geometry, path, &found));
  return found ? FNZ_OK : no_way(to);
}

/* The links from `a` up to `target`, a first. 0 when that is further away than FNZI_LINKS, or when
 * a link cannot be replayed. */
static size_t links_up(fnzi_alias *a, fnzi_alias *const target, fnzi_alias *links[FNZI_LINKS]) {
  size_t n = 0;
  for (; a != target; a = a->parent) {
    if (n == FNZI_LINKS || !a->parent || !is_replayable(a))
      return 0;
    links[n++] = a;
  }
  return n;
}

/* --- reading ---------------------------------------------------------------------------------- */
/* The nearest alias above whose value is right for the window; at worst the root. */
static fnzi_alias *nearest(fnzi_alias *window) {
  fnzi_alias *a = window->parent;
  for (size_t n = 1; a->parent && n < FNZI_LINKS; n++, a = a->parent)
    if (right_for(a, window))
      return a;
  return window->storage->root;
}

/* One link after the other; everything in between gets its value too. */
static fnz_status derive_links(fnz_world *world, fnzi_alias *const *links, size_t n,
                               fnzi_held *from) {
  for (size_t i = n; i-- > 0;) {
    fnzi_held *v;
    FNZ_TRY(follow_link(world, links[i], from, &v));
    fnzi_alias_set_value(links[i], v);
    from = v;
  }
  return FNZ_OK;
}

/* What lies between may only be kept where `from` is right for all of it. */
static bool may_keep(fnzi_alias *from, fnzi_alias *const *links, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (!right_for(from, links[i]))
      return false;
  return true;
}

/* Needs a root that is right for the window. */
static fnz_status derive_from_root(fnz_world *world, fnzi_alias *window) {
  fnzi_alias *root = window->storage->root;
  fnzi_path path;
  fnzi_held *v;
  FNZ_TRY(find_path(world, window, &path));
  FNZ_TRY(fnzi_replay_path(world, &path, root->value, &v));
  fnzi_alias_set_value(window, v);
  return FNZ_OK;
}

static fnz_status bring_up_all_for(fnz_world *world, fnzi_alias *window, bool even_if_above);

/* A window without elements shows nothing of its base. */
static fnz_status derive_empty(fnz_world *world, fnzi_alias *window) {
  const fnz_geometry *g = &window->geometry;
  fnz_arg args[3] = {fnzi_arg_default(), fnzi_arg_int(0), fnzi_arg_dtype(g->dtype)};
  const fnz_geometry *dense;
  fnzi_held *v;
  FNZ_TRY(fnzi_arg_ints(&world->scratch, g->sizes, g->rank, &args[0]));
  FNZ_TRY(fnzi_contiguous_like(&world->scratch, g, &dense));
  FNZ_TRY(fnzi_emit_one(world, FNZI_EMIT_FULL, args, 3, dense, &v));
  fnzi_alias_set_value(window, v);
  return FNZ_OK;
}

static fnz_status derive(fnz_world *world, fnzi_alias *window) {
  fnzi_alias *from = nearest(window), *links[FNZI_LINKS];
  fnzi_path path;
  fnzi_held *v;
  bool found;
  size_t n = links_up(window, from, links);
  if (n == 1 && window->opening->count > 1 && !window->opening->derived)
    return derive_all(world, window, from->value);
  if (n == 1)
    return derive_links(world, links, 1, from->value);
  FNZ_TRY(fnzi_path_box(&world->scratch, &from->geometry, &window->geometry, &path, &found));
  if (n > 0 && (!found || path.count >= n) && may_keep(from, links, n))
    return derive_links(world, links, n, from->value);
  if (fnz_geometry_numel(&window->geometry) == 0)
    return derive_empty(world, window);
  if (found) {
    FNZ_TRY(fnzi_replay_path(world, &path, from->value, &v));
    fnzi_alias_set_value(window, v);
    return FNZ_OK;
  }
  FNZ_TRY(bring_up_all_for(world, window, true));
  return derive_from_root(world, window);
}

static bool is_above(const fnzi_alias *above, const fnzi_alias *a) {
  for (size_t n = 0; a && n < FNZI_LINKS; n++, a = a->parent)
    if (a == above)
      return true;
  return false;
}

static fnz_status bring_up(fnz_world *world, fnzi_alias *dirty);

/* Brings up every dirty alias that overlaps the window; the one above that holds all of it may
 * stay, because the window can be derived from it. */
static fnz_status bring_up_all_for(fnz_world *world, fnzi_alias *window, bool even_if_above) {
  fnzi_storage *s = window->storage;
  for (size_t i = 0; i < s->dirty.count;) {
    fnzi_alias *d = s->dirty.data[i];
    bool stays = d == window || relate(d, window) == FNZI_DISJOINT ||
                 (!even_if_above && is_above(d, window));
    if (stays)
      i++;
    else
      FNZ_TRY(bring_up(world, d));
  }
  return FNZ_OK;
}

/* A view that is derived for the first time belongs to its own line, a later one to the line of the
 * write that made it necessary. */
static const char *source_of(const fnzi_alias *window, const char *reader) {
  const fnzi_storage *s = window->storage;
  const fnzi_alias *w = s->log.count ? s->log.data[s->newest].who : NULL;
  if (!window->value && window->opening)
    return window->opening->source;
  return w ? w->source : reader;
}

fnz_status fnzi_read(fnzi_alias *window, fnzi_held **out) {
  fnz_world *world = window->storage->world;
  if (!right_for(window, window)) {
    const char *reader = world->source;
    FNZ_TRY(bring_up_all_for(world, window, false));
    world->source = source_of(window, reader);
    fnz_status status = window->parent ? derive(world, window) : FNZ_OK;
    world->source = reader;
    FNZ_TRY(status);
  }
  *out = window->value;
  return FNZ_OK;
}

fnz_status fnzi_read_flat(fnzi_alias *root, const fnz_geometry *flat, fnzi_held **out) {
  fnz_world *world = root->storage->world;
  fnzi_path path;
  bool found;
  FNZ_TRY(fnzi_read(root, out));
  FNZ_TRY(fnzi_path_box(&world->scratch, &root->geometry, flat, &path, &found));
  if (!found)
    FNZ_TRY(fnzi_path_flat(&world->scratch, &root->geometry, flat, &path, &found));
  return found ? fnzi_replay_path(world, &path, *out, out) : FNZ_OK;
}

/* --- bringing a write up to the root ---------------------------------------------------------- */
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
  if (!parent->parent || (parent->value && untouched(parent, parent->version, written)))
    return FNZ_OK;
  return follow_link(world, parent, above, out);
}

/* The lowest link whose reverse needs its base; below it no base is looked at. */
static size_t lowest_with_base(fnzi_alias *const *links, size_t n) {
  size_t i = 0;
  while (i < n) {
    fnzi_view_step step;
    link_step(links[i], &step);
    if (fnzi_view_step_needs_base(&step))
      break;
    i++;
  }
  return i;
}

/* Back up link by link; the new values of what lies between are kept. */
static fnz_status reverse_links(fnz_world *world, fnzi_alias *const *links, size_t n,
                                fnzi_held *value, fnzi_held **out) {
  fnzi_emitted bases[FNZI_LINKS] = {0}; /* bases[i]: old value of links[i]'s parent */
  fnzi_held *above = links[n - 1]->parent->value;
  for (size_t i = n, lowest = lowest_with_base(links, n); i-- > lowest;) {
    FNZ_TRY(base_before(world, links[i]->parent, links[0], above, &above));
    bases[i] = fnzi_emitted_of(above);
  }
  *out = value;
  for (size_t i = 0; i < n; i++) {
    fnzi_view_step step;
    fnzi_emitted e;
    link_step(links[i], &step);
    FNZ_TRY(fnzi_view_step_reverse(&world->emitter, &step, bases[i], fnzi_emitted_of(*out), &e));
    *out = fnzi_held_of(world, e, *out);
    fnzi_alias *parent = links[i]->parent;
    if (parent->parent && !overlaps_dirty(parent))
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

/* The value of the root after `a`'s value is put into it. */
static fnz_status reverse(fnz_world *world, fnzi_alias *a, fnzi_held *value, fnzi_held **out) {
  fnzi_alias *root = a->storage->root, *links[FNZI_LINKS];
  fnzi_path path;
  bool found = false;
  size_t n = links_up(a, root, links);
  if (root->repeats)
    return refuse_repeating_root(world, a);
  if (!can_carry(links, n))
    n = 0;
  if (n != 1)
    FNZ_TRY(fnzi_path_box(&world->scratch, &root->geometry, &a->geometry, &path, &found));
  if (n > 0 && (!found || path.count >= n))
    return reverse_links(world, links, n, value, out);
  if (!found)
    FNZ_TRY(find_path(world, a, &path));
  return reverse_path(world, &path, root->value, value, out);
}

/* Puts a dirty alias into the root. What is made on the way belongs to the line of the write. */
static fnz_status bring_up(fnz_world *world, fnzi_alias *dirty) {
  const char *reader = world->source;
  fnzi_alias *root = dirty->storage->root, *a = fnzi_alias_retain(dirty);
  fnzi_held *value;
  forget_dirty(a);
  a->version = a->storage->version; /* nobody wrote into it since it became dirty */
  world->source = a->source;
  fnz_status status = reverse(world, a, a->value, &value);
  world->source = reader;
  if (status == FNZ_OK)
    fnzi_alias_set_value(root, value);
  fnzi_alias_release(a);
  return status;
}

/* --- writing ---------------------------------------------------------------------------------- */
/* Whoever is dirty and overlapped is forgotten when all of it is written, brought up otherwise. */
static fnz_status make_way(fnz_world *world, fnzi_alias *target) {
  fnzi_storage *s = target->storage;
  for (size_t i = 0; i < s->dirty.count;) {
    fnzi_alias *d = s->dirty.data[i];
    fnzi_relation r = d == target ? FNZI_DISJOINT : relate(target, d);
    if (r == FNZI_DISJOINT)
      i++;
    else if (r == FNZI_EQUAL || r == FNZI_CONTAINS || !target->parent)
      forget_dirty(d);
    else
      FNZ_TRY(bring_up(world, d));
  }
  return FNZ_OK;
}

/* Writes through the same alias, or through windows of the same opening, are one entry. */
static bool extends_newest(const fnzi_storage *s, const fnzi_alias *a) {
  const fnzi_alias *who = s->log.count ? s->log.data[s->newest].who : NULL;
  return who && (who == a || are_siblings(who, a));
}

static fnz_status log_write(fnzi_alias *a) {
  fnzi_storage *s = a->storage;
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

static fnz_status mark_dirty(fnz_world *world, fnzi_alias *a) {
  fnzi_storage *s = a->storage;
  if (a->dirty || !a->parent)
    return FNZ_OK;
  if (s->dirty.count == FNZI_MAX_DIRTY)
    FNZ_TRY(bring_up(world, s->dirty.data[0]));
  FNZI_PUSH(world->ctx, &s->dirty, a);
  fnzi_alias_retain(a);
  a->dirty = true;
  return FNZ_OK;
}

fnz_status fnzi_write(fnzi_alias *target, fnzi_held *value) {
  fnz_world *world = target->storage->world;
  target->source = world->source;
  if (fnz_geometry_numel(&target->geometry) == 0)
    return log_write(target); /* a write all the same, of nothing */
  FNZ_TRY(make_way(world, target));
  FNZ_TRY(mark_dirty(world, target));
  FNZ_TRY(log_write(target));
  fnzi_alias_set_value(target, value);
  return FNZ_OK;
}
