/* sync.h - what reads (sync.c) and commits (commit.c) share about the aliases of a storage. */
#ifndef FNZI_SYNC_H
#define FNZI_SYNC_H

#include "functionalize/wrapper/wrapper.h"
#include "views/tiling.h"

/* --- freshness.c ------------------------------------------------------------------------------ */
/* Different windows of one view call: disjoint, unless their base repeats elements. */
bool fnzi_wrap_alias_siblings(const fnzi_wrap_alias *a, const fnzi_wrap_alias *b);
/* Which memory two aliases of a storage share whose ranges of bytes meet. */
fnzi_relation fnzi_wrap_alias_compare(const fnzi_wrap_alias *a, const fnzi_wrap_alias *b);
/* One ends before the other begins. */
static inline bool fnzi_wrap_alias_apart(const fnzi_wrap_alias *a, const fnzi_wrap_alias *b) {
  fnzi_ints *s = a->storage->wrapper->ints;
  return fnzi_int_is_at_least(s, b->low, a->high) || fnzi_int_is_at_least(s, a->low, b->high);
}
/* Which memory they share. */
static inline fnzi_relation fnzi_wrap_alias_relate(const fnzi_wrap_alias *a,
                                                   const fnzi_wrap_alias *b) {
  const fnz_wrapper *wrapper = a->storage->wrapper;
  bool apart = (wrapper->ints && fnzi_wrap_alias_siblings(a, b)) /* needs no proof */
               || fnzi_wrap_alias_apart(a, b);                   /* as most are */
  return apart ? FNZI_DISJOINT : fnzi_wrap_alias_compare(a, b);
}
/* No write has met `window` after version `since`. With `written`, which is about to be committed,
 * writes that an old base may lack do not count: those inside `written`, and those through aliases
 * that are still dirty. Writes too old for the log count as meeting it. */
bool fnzi_wrap_alias_untouched(const fnzi_wrap_alias *window, uint64_t since,
                               const fnzi_wrap_alias *written);
bool fnzi_wrap_alias_overlaps_dirty(const fnzi_wrap_alias *window);
/* The value of `a` shows what `window`, a part of it, holds now. */
bool fnzi_wrap_alias_right_for(fnzi_wrap_alias *a, const fnzi_wrap_alias *window);

/* --- regenerate.c ----------------------------------------------------------------------------- */
/* In the strided dialect windows of the root are as_strided, unless its value is a slice that eager
 * gives a body: there as_strided counts from the start of the memory that is cut. */
static inline bool fnzi_wrap_goes_by_strides(const fnzi_wrap_alias *root) {
  return root->storage->wrapper->views == FNZ_VIEWS_STRIDED && !root->value->is_slice;
}
/* The steps of a path that are an as_strided count elements of the row-major value: before one, a
 * base that lies otherwise is copied into rows; before one that scatters, a lazy one, too. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_into_rows(fnz_wrapper *wrapper, const fnz_op *op, bool scatters,
                                              fnzi_value_ref **base);
FNZ_MUST_CHECK fnz_status fnzi_wrap_replay_step(fnz_wrapper *wrapper, const fnzi_view_step *step,
                                                fnzi_value_ref *base, fnzi_value_ref **out);
/* Along a path; values in between are not kept. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_replay_path(fnz_wrapper *wrapper, const fnzi_path *path,
                                                fnzi_value_ref *from, fnzi_value_ref **out);
void fnzi_wrap_link_step(const fnzi_wrap_alias *a, fnzi_view_step *out);
/* The value of an alias from its parent's, `base`. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_follow_link(fnz_wrapper *wrapper, const fnzi_wrap_alias *a,
                                                fnzi_value_ref *base, fnzi_value_ref **out);
/* All windows of a view call at once; aliases of it that have no value yet get theirs too. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_regenerate_all(fnz_wrapper *wrapper, fnzi_wrap_alias *a,
                                                   fnzi_value_ref *base);
/* The shortest path from one alias, or from the root, to a window of it. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_path_between(fnz_wrapper *wrapper, const fnzi_wrap_alias *from,
                                                 const fnzi_wrap_alias *to, fnzi_path *path,
                                                 bool *found);
FNZ_MUST_CHECK fnz_status fnzi_wrap_path_from_root(fnz_wrapper *wrapper, const fnzi_wrap_alias *to,
                                                   fnzi_path *path, bool *found);
/* Refuses an alias that no path leads to. */
fnz_status fnzi_wrap_no_path(const fnzi_wrap_alias *a);
/* The links from `a` up to `target`, a first. 0 when that is further away than FNZI_LINKS, or when
 * a link cannot be replayed. */
size_t fnzi_wrap_links_up(fnzi_wrap_alias *a, fnzi_wrap_alias *const target,
                          fnzi_wrap_alias *links[FNZI_LINKS]);
/* The links up to the root, at most FNZI_MOST_LINKS: the last resort. In the wrapper's scratch. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_links_to_root(fnz_wrapper *wrapper, fnzi_wrap_alias *a,
                                                  fnzi_wrap_alias ***links, size_t *count);

/* --- pending.c -------------------------------------------------------------------------------- */
typedef struct fnzi_wrap_pending_write {
  fnzi_value_ref *value; /* holds a reference */
  const char *source;
  const fnzi_node *writer, *view;
} fnzi_wrap_pending_write;

struct fnzi_wrap_pending {
  fnzi_tiling tiling; /* the sources of its tiles are indices into `writes` */
  fnzi_int low, high; /* bytes of the storage in which they lie; FNZI_INT_NONE: not known */
  int64_t slices;     /* that they have together; no more than the dimension has */
  struct {
    fnzi_wrap_pending_write *data;
    size_t count, capacity;
  } writes;
};

/* The value of a dirty alias becomes pending; `*done` is false, and nothing has happened, where it
 * is no tile of the root or does not fit the others. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_pending_add(fnz_wrapper *wrapper, const fnzi_wrap_alias *a,
                                                bool *done);
/* A pending write may lie in the window. Needs storage->pending. */
bool fnzi_wrap_pending_overlaps(const fnzi_wrap_alias *window);
static inline bool fnzi_wrap_overlaps_pending(const fnzi_wrap_alias *window) {
  return window->storage->pending && fnzi_wrap_pending_overlaps(window);
}
/* The dirty aliases may be all that the tiles lack to cover the root. Needs storage->pending. */
bool fnzi_wrap_pending_nearly_covers(const fnzi_wrap_storage *s);
/* Puts all of them into the root's value. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_pending_apply(fnz_wrapper *wrapper, fnzi_wrap_storage *s);
/* Forgets the pending writes of a storage, if any; frees them (storage.c). */
void fnzi_wrap_pending_drop(fnzi_wrap_storage *s);
void fnzi_wrap_pending_free(fnz_wrapper *wrapper, fnzi_wrap_pending *p);

/* --- commit.c --------------------------------------------------------------------------------- */
/* Puts the value of a dirty alias into the root's, or among the pending writes. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_commit(fnz_wrapper *wrapper, fnzi_wrap_alias *dirty);
/* Refuses a write by `what` to one of several places that a root shows an element in. */
fnz_status fnzi_wrap_refuse_repeating_root(fnz_wrapper *wrapper, const char *what);
/* Puts the pending writes of a storage into the root's value, if it has any; with them, perhaps,
 * dirty aliases. */
FNZ_MUST_CHECK fnz_status fnzi_wrap_commit_pending(fnz_wrapper *wrapper, fnzi_wrap_storage *s);

#endif
