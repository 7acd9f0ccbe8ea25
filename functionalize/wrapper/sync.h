/* sync.h - what reading (sync.c) and writing (commit.c) share about the aliases of a storage. */
#ifndef FNZI_SYNC_H
#define FNZI_SYNC_H

#include "functionalize/wrapper/wrapper.h"
#include "views/tiling.h"

/* --- freshness.c ------------------------------------------------------------------------------ */
/* Different windows of one split or unbind: disjoint, unless what they cut repeats elements. */
bool fnzi_are_siblings(const fnzi_alias *a, const fnzi_alias *b);
/* Which memory two aliases of a storage share, as the world has decided. */
fnzi_relation fnzi_alias_decide(const fnzi_alias *a, const fnzi_alias *b);
static inline fnzi_relation fnzi_alias_relate(const fnzi_alias *a, const fnzi_alias *b) {
  bool apart = a->high <= b->low || b->high <= a->low; /* as most are */
  return apart && !a->storage->world->decisions ? FNZI_DISJOINT : fnzi_alias_decide(a, b);
}
/* Nobody wrote into `window` after version `since`; with `written`, writes that a base may lack do
 * not count. Entries too old to be in the log count as writes. */
bool fnzi_untouched(const fnzi_alias *window, uint64_t since, const fnzi_alias *written);
bool fnzi_overlaps_dirty(const fnzi_alias *window);
/* The value of `a` shows what `window`, a part of it, holds now. */
bool fnzi_right_for(fnzi_alias *a, const fnzi_alias *window);

/* --- regenerate.c ----------------------------------------------------------------------------- */
void fnzi_link_step(const fnzi_alias *a, fnzi_view_step *out);
/* The value of one alias from its parent's, `base`. */
FNZ_MUST_CHECK fnz_status fnzi_follow_link(fnz_world *world, const fnzi_alias *a, fnzi_held *base,
                                           fnzi_held **out);
/* All windows of a split at once, also into the other aliases that have no value yet. */
FNZ_MUST_CHECK fnz_status fnzi_derive_all(fnz_world *world, fnzi_alias *a, fnzi_held *base);
/* The shortest way from one alias, or from the root, to a window of it. */
FNZ_MUST_CHECK fnz_status fnzi_path_between(fnz_world *world, const fnzi_alias *from,
                                            const fnzi_alias *to, fnzi_path *path, bool *found);
FNZ_MUST_CHECK fnz_status fnzi_path_from_root(fnz_world *world, const fnzi_alias *to,
                                              fnzi_path *path, bool *found);
/* Refuses what no path leads to. */
fnz_status fnzi_no_way(const fnzi_alias *a);
/* The links from `a` up to `target`, a first. 0 when that is further away than FNZI_LINKS, or when
 * a link cannot be replayed. */
size_t fnzi_links_up(fnzi_alias *a, fnzi_alias *const target, fnzi_alias *links[FNZI_LINKS]);
/* The links up to the root, at most FNZI_MOST_LINKS: the last resort. In the world's scratch. */
FNZ_MUST_CHECK fnz_status fnzi_links_to_root(fnz_world *world, fnzi_alias *a, fnzi_alias ***links,
                                             size_t *count);

typedef struct fnzi_pending_write {
  fnzi_held *value; /* holds a reference */
  const char *source;
  const fnzi_node *writer, *view;
} fnzi_pending_write;

struct fnzi_gathered {
  fnzi_run run;      /* its sources are places in `puts` */
  int64_t low, high; /* bytes of the storage that they lie in */
  int64_t slices;    /* that they have together; no more than the dimension has */
  struct {
    fnzi_pending_write *data;
    size_t count, capacity;
  } puts;
};

/* --- pending.c -------------------------------------------------------------------------------- */
/* The value of a dirty alias waits with those of others; `*done` is false, and nothing has
 * happened, if it cannot. */
FNZ_MUST_CHECK fnz_status fnzi_gather(fnz_world *world, const fnzi_alias *a, bool *done);
/* Some of what waits may lie in the window. There is something that waits. */
bool fnzi_gathered_meets(const fnzi_alias *window);
static inline bool fnzi_overlaps_gathered(const fnzi_alias *window) {
  return window->storage->gathered && fnzi_gathered_meets(window);
}
/* What is dirty may be all that it lacks to cover the root. There is something that waits. */
bool fnzi_gathered_lacks_little(const fnzi_storage *s);
/* Ends what waits (storage.c). */
void fnzi_gathered_free(fnz_world *world, fnzi_gathered *g);
/* What waits goes into the root's value. */
FNZ_MUST_CHECK fnz_status fnzi_gathered_end(fnz_world *world, fnzi_storage *s);

/* --- commit.c --------------------------------------------------------------------------------- */
/* Puts the value of a dirty alias into the root's, or among what is pending. */
FNZ_MUST_CHECK fnz_status fnzi_commit(fnz_world *world, fnzi_alias *dirty);
/* Puts what has been gathered into the root, if anything has; with it, perhaps, what is dirty. */
FNZ_MUST_CHECK fnz_status fnzi_put_gathered(fnz_world *world, fnzi_storage *s);

#endif
