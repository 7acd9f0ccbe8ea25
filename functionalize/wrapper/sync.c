/* sync.c - reading through the aliases of a storage, as lazily as possible.
 *
 * A read takes the cached value if that is up to date (freshness.c). Else it commits the dirty
 * aliases that overlap the window (commit.c), and regenerates the value from the nearest one above
 * that is right for the window, link by link or along a path (regenerate.c).
 *
 * keeps   dirty aliases share no byte; the root's value is right wherever no alias is dirty */
#include "functionalize/wrapper/sync.h"

/* The nearest alias above whose value is right for the window; at last the root. */
static fnzi_wrap_alias *nearest(fnzi_wrap_alias *window) {
  fnzi_wrap_alias *a = window->parent;
  for (size_t n = 1; a->parent && n < FNZI_LINKS; n++, a = a->parent)
    if (fnzi_wrap_alias_right_for(a, window))
      return a;
  return window->storage->root;
}

/* An alias whose value is made for the first time has the line of its own view call. */
static fnz_status regenerate_link(fnz_wrapper *wrapper, fnzi_wrap_alias *a, fnzi_value_ref *from) {
  const fnzi_wrap_view_call *o = a->view_call;
  fnzi_value_ref *v;
  if (!a->value) {
    wrapper->source = o->source;
    wrapper->why.node = wrapper->why.view = o->node;
  }
  if (o->count > 1 && !o->derived && fnzi_wrap_alias_right_for(a->parent, a->parent))
    return fnzi_wrap_regenerate_all(wrapper, a, from);
  FNZ_TRY(fnzi_wrap_follow_link(wrapper, a, from, &v));
  fnzi_wrap_alias_set_value(a, v);
  return FNZ_OK;
}

/* Link by link; the aliases in between keep their values. */
static fnz_status regenerate_links(fnz_wrapper *wrapper, fnzi_wrap_alias *const *links, size_t n,
                                   fnzi_value_ref *from) {
  const char *source = wrapper->source;
  const fnzi_why why = wrapper->why;
  fnz_status status = FNZ_OK;
  for (size_t i = n; i-- > 0 && status == FNZ_OK;) {
    status = regenerate_link(wrapper, links[i], from);
    wrapper->source = source;
    wrapper->why = why;
    from = links[i]->value;
  }
  return status;
}

/* An alias in between may keep its value where `from` is right for all of it. */
static bool may_keep(fnzi_wrap_alias *from, fnzi_wrap_alias *const *links, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (!fnzi_wrap_alias_right_for(from, links[i]))
      return false;
  return true;
}

/* Needs a root that is right for the window. If geometry finds no path, follows all links. */
static fnz_status regenerate_from_root(fnz_wrapper *wrapper, fnzi_wrap_alias *window) {
  fnzi_wrap_alias *root = window->storage->root, **links;
  size_t n;
  fnzi_path path;
  fnzi_value_ref *v;
  bool found;
  FNZ_TRY(fnzi_wrap_path_from_root(wrapper, window, &path, &found));
  if (!found) {
    FNZ_TRY(fnzi_wrap_links_to_root(wrapper, window, &links, &n));
    if (!n)
      return fnzi_wrap_no_path(window);
    fnzi_value_ref *from = root->value;
    /* Link by link; values in between are not kept. */
    for (size_t i = n; i-- > 0;)
      FNZ_TRY(fnzi_wrap_follow_link(wrapper, links[i], from, &from));
    fnzi_wrap_alias_set_value(links[0], from);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_wrap_replay_path(wrapper, &path, root->value, &v));
  fnzi_wrap_alias_set_value(window, v);
  return FNZ_OK;
}

static fnz_status commit_overlapping(fnz_wrapper *wrapper, fnzi_wrap_alias *window,
                                     bool even_if_above);

/* A window without elements needs no base. */
static fnz_status regenerate_empty(fnz_wrapper *wrapper, fnzi_wrap_alias *window) {
  const fnz_geometry *dense;
  fnzi_value_ref *v;
  FNZ_TRY(fnzi_contiguous_like(wrapper->ints, &wrapper->scratch, &window->geometry, &dense));
  FNZ_TRY(fnzi_wrap_emit_full(wrapper, dense, fnzi_arg_int(0), &v));
  fnzi_wrap_alias_set_value(window, v);
  return FNZ_OK;
}

/* In the strided dialect windows are read from the storage's root alone, if that is possible. */
static fnz_status derive_by_strides(fnz_wrapper *wrapper, fnzi_wrap_alias *window, bool *found) {
  fnzi_wrap_alias *root = window->storage->root;
  fnzi_path path;
  fnzi_value_ref *v;
  *found = wrapper->views == FNZ_VIEWS_STRIDED && fnzi_int_is_empty(&window->geometry);
  if (*found)
    return regenerate_empty(wrapper, window);
  if (!fnzi_wrap_goes_by_strides(root))
    return FNZ_OK;
  FNZ_TRY(fnzi_path_strided((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &root->geometry,
                            &window->geometry, &path, found));
  if (*found) {
    /* Every dirty alias that overlaps the window can be committed by one as_strided. */
    const fnzi_wrap_storage *s = window->storage;
    fnzi_path strided;
    for (size_t i = 0; i < s->dirty.count && *found; i++)
      if (fnzi_wrap_alias_relate(s->dirty.data[i], window) != FNZI_DISJOINT)
        FNZ_TRY(fnzi_path_strided((fnzi_int_space){wrapper->ints, &wrapper->scratch},
                                  &s->root->geometry, &s->dirty.data[i]->geometry, &strided,
                                  found));
  }
  if (!*found)
    return FNZ_OK;
  FNZ_TRY(commit_overlapping(wrapper, window, true));
  root->unread = NULL;
  FNZ_TRY(fnzi_wrap_replay_path(wrapper, &path, root->value, &v));
  fnzi_wrap_alias_set_value(window, v);
  return FNZ_OK;
}

static fnz_status regenerate(fnz_wrapper *wrapper, fnzi_wrap_alias *window) {
  fnzi_wrap_alias *from = nearest(window), *links[FNZI_LINKS];
  fnzi_path path;
  fnzi_value_ref *v;
  bool found;
  size_t n = fnzi_wrap_links_up(window, from, links);
  FNZ_TRY(derive_by_strides(wrapper, window, &found));
  if (found)
    return FNZ_OK;
  from->unread = NULL;
  if (n == 1 && window->view_call->count > 1 &&
      !window->view_call->derived) { /* all see it whole */
    FNZ_TRY(commit_overlapping(wrapper, from, false));
    return fnzi_wrap_regenerate_all(wrapper, window, from->value);
  }
  if (n == 1)
    return regenerate_links(wrapper, links, 1, from->value);
  FNZ_TRY(fnzi_wrap_path_between(wrapper, from, window, &path, &found));
  if (n > 0 && (!found || path.count >= n) && may_keep(from, links, n))
    return regenerate_links(wrapper, links, n, from->value);
  if (fnzi_int_is_empty(&window->geometry))
    return regenerate_empty(wrapper, window);
  if (found) {
    FNZ_TRY(fnzi_wrap_replay_path(wrapper, &path, from->value, &v));
    fnzi_wrap_alias_set_value(window, v);
    return FNZ_OK;
  }
  FNZ_TRY(commit_overlapping(wrapper, window, true));
  return regenerate_from_root(wrapper, window);
}

static bool is_above(const fnzi_wrap_alias *above, const fnzi_wrap_alias *a) {
  for (size_t n = 0; a && n < FNZI_LINKS; n++, a = a->parent)
    if (a == above)
      return true;
  return false;
}

/* Commits every dirty alias that overlaps the window, and pending writes. One above that contains
 * the window may stay dirty, because the value can be regenerated from it. */
static fnz_status commit_overlapping(fnz_wrapper *wrapper, fnzi_wrap_alias *window,
                                     bool even_if_above) {
  fnzi_wrap_storage *s = window->storage;
  for (size_t i = 0; i < s->dirty.count;) {
    fnzi_wrap_alias *d = s->dirty.data[i];
    bool stays = d == window || fnzi_wrap_alias_relate(d, window) == FNZI_DISJOINT ||
                 (!even_if_above && is_above(d, window));
    if (stays)
      i++;
    else
      FNZ_TRY(fnzi_wrap_commit(wrapper, d));
  }
  return fnzi_wrap_overlaps_pending(window) ? fnzi_wrap_commit_pending(wrapper, s) : FNZ_OK;
}

/* The line of a value: of the view when it is made for the first time, later of the write that made
 * it necessary. An alias without a view call has a line of its own. */
static const char *source_of(const fnzi_wrap_alias *window, const char *reader) {
  const fnzi_wrap_storage *s = window->storage;
  const fnzi_wrap_alias *w = s->log.count ? s->log.data[s->newest].alias : NULL;
  if (!window->value && window->view_call)
    return window->view_call->source;
  if (!window->value && *window->source)
    return window->source;
  return w ? w->source : reader;
}

/* The same for the node and the cause. */
static fnzi_why why_read(const fnzi_wrap_alias *window, fnzi_why reader) {
  const fnzi_wrap_storage *s = window->storage;
  const fnzi_wrap_alias *w = s->log.count ? s->log.data[s->newest].alias : NULL;
  fnzi_why why = {w ? w->writer : reader.node, reader.reader, NULL, reader.output, FNZI_CAUSE_READ};
  why.view = window->view_call ? window->view_call->node : NULL;
  if (!window->value)
    why.node = why.view ? why.view : window->writer ? window->writer : why.node;
  return why;
}

fnz_status fnzi_wrap_read(fnzi_wrap_alias *window, fnzi_value_ref **out) {
  fnz_wrapper *wrapper = window->storage->wrapper;
  if (window->storage->poisoned)
    return fnzi_fail_for(
        wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
        "the first iteration of a %s wrote this memory, if there was one; give the "
        "loop a clone() of it",
        window->storage->poisoned);
  if (!fnzi_wrap_alias_right_for(window, window)) {
    const char *reader = wrapper->source;
    const fnzi_why why = wrapper->why;
    FNZ_TRY(commit_overlapping(wrapper, window, false));
    wrapper->source = source_of(window, reader);
    wrapper->why = why_read(window, why);
    fnz_status status = window->parent ? regenerate(wrapper, window) : FNZ_OK;
    wrapper->source = reader;
    wrapper->why = why;
    FNZ_TRY(status);
  }
  window->unread = NULL;
  *out = window->value;
  return FNZ_OK;
}

fnz_status fnzi_wrap_read_flat(fnzi_wrap_alias *root, const fnz_geometry *flat,
                               fnzi_value_ref **out) {
  fnz_wrapper *wrapper = root->storage->wrapper;
  fnzi_path path;
  bool found;
  FNZ_TRY(fnzi_wrap_read(root, out));
  FNZ_TRY(fnzi_path_box((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &root->geometry, flat,
                        &path, &found));
  if (!found)
    FNZ_TRY(fnzi_path_flat((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &root->geometry,
                           flat, &path, &found));
  return found ? fnzi_wrap_replay_path(wrapper, &path, *out, out) : FNZ_OK;
}
