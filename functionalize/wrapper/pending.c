/* pending.c - many writes to one storage wait, to be committed together.
 *
 * Few aliases of a storage may be dirty at once. The oldest of more than these becomes pending, as
 * a tile of the root along one dimension, until a read overlaps it. If the tiles cover the root by
 * then, one stack or cat is its new value; else each tile is scattered into it.
 *
 * keeps   a byte is right in the dirty alias that shows it, else in the last tile that has it, else
 *         in the root's value
 * bounds  nothing grows with the size of the root; a tile costs some words */
#include "functionalize/wrapper/sync.h"

#include <stdlib.h>

/* The lower of two; FNZI_INT_NONE where that is not known. */
static fnzi_int lower(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return fnzi_int_is_at_least(s, b, a) ? a : fnzi_int_is_at_least(s, a, b) ? b : FNZI_INT_NONE;
}

static fnzi_int higher(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return fnzi_int_is_at_least(s, b, a) ? b : fnzi_int_is_at_least(s, a, b) ? a : FNZI_INT_NONE;
}

static fnz_status pending_add(fnz_wrapper *wrapper, fnzi_wrap_pending *p, const fnzi_wrap_alias *a,
                              bool *fits) {
  const fnzi_wrap_pending_write w = {a->value, a->source, a->writer,
                                     a->view_call ? a->view_call->node : NULL};
  const uint32_t index = (uint32_t)p->writes.count;
  fnzi_tiling *t = &p->tiling;
  FNZI_PUSH(wrapper->ctx, &p->writes, w);
  const fnzi_tile tile = {.source = index, .order = UINT32_MAX - index};
  fnz_status status =
      fnzi_tiling_add(wrapper->ctx, t, &a->storage->root->geometry, &a->geometry, tile, fits);
  if (status != FNZ_OK || !*fits) {
    p->writes.count--;
    return status;
  }
  fnzi_wrap_value_hold(w.value);
  int64_t more = t->tiles.data[t->tiles.count - 1].count;
  p->slices = more < t->size - p->slices ? p->slices + more : t->size;
  p->low = index ? lower(t->ints, a->low, p->low) : a->low;
  p->high = index ? higher(t->ints, a->high, p->high) : a->high;
  return FNZ_OK;
}

/* Windows of the root are tiles of its value as they are. */
fnz_status fnzi_wrap_pending_add(fnz_wrapper *wrapper, const fnzi_wrap_alias *a, bool *done) {
  fnzi_wrap_storage *s = a->storage;
  const fnz_geometry *root = &s->root->geometry, *g = &a->geometry;
  *done = false;
  if (wrapper->views == FNZ_VIEWS_STRIDED || !fnzi_int_is_frame(wrapper->ints, root) ||
      g->dtype != root->dtype || g->is_conj || g->is_neg)
    return FNZ_OK;
  if (!s->pending) {
    s->pending = fnzi_blocks_take(&wrapper->blocks, sizeof *s->pending);
    if (!s->pending)
      return fnzi_no_memory(wrapper->ctx);
    *s->pending = (fnzi_wrap_pending){.tiling.ints = wrapper->ints};
  }
  fnz_status status = pending_add(wrapper, s->pending, a, done);
  if (!s->pending->writes.count)
    fnzi_wrap_pending_drop(s);
  return status;
}

bool fnzi_wrap_pending_overlaps(const fnzi_wrap_alias *window) {
  const fnzi_wrap_pending *p = window->storage->pending;
  const fnz_geometry *root = &window->storage->root->geometry;
  fnzi_ints *ints = p->tiling.ints;
  const bool is_outside =
      (!fnzi_int_is_none(p->high) && fnzi_int_is_at_least(ints, window->low, p->high)) ||
      (!fnzi_int_is_none(p->low) && fnzi_int_is_at_least(ints, p->low, window->high));
  return !is_outside && (window->geometry.dtype != root->dtype ||
                         !fnzi_tiling_is_apart(&p->tiling, root, &window->geometry));
}

bool fnzi_wrap_pending_nearly_covers(const fnzi_wrap_storage *s) {
  return s->pending->tiling.size - s->pending->slices <= (int64_t)s->dirty.count;
}

/* Sets the line and the reason of the write for the next emitted calls. */
static void explain(fnz_wrapper *wrapper, const fnzi_wrap_pending_write *w) {
  wrapper->source = w->source;
  wrapper->why =
      (fnzi_why){w->writer, wrapper->why.reader, w->view, wrapper->why.output, FNZI_CAUSE_WRITE};
}

/* All of the root at once. */
static fnz_status pending_join(fnz_wrapper *wrapper, const fnzi_wrap_pending *p,
                               fnzi_wrap_alias *root) {
  const fnzi_tiling *t = &p->tiling;
  const fnz_geometry *result;
  fnz_arg *items;
  fnzi_value_ref *value;
  FNZI_NEW(&wrapper->scratch, t->tiles.count, &items);
  for (size_t i = 0; i < t->tiles.count; i++)
    items[i] = fnzi_arg_value(p->writes.data[t->tiles.data[i].source].value->handle);
  const fnz_arg args[] = {{.tag = FNZ_ARG_LIST, .count = (uint32_t)t->tiles.count, .u.list = items},
                          fnzi_arg_int(t->dim)};
  FNZ_TRY(fnzi_dense_like(wrapper->ints, &wrapper->scratch, root->value->geometry, &result));
  explain(wrapper, &p->writes.data[p->writes.count - 1]);
  FNZ_TRY(fnzi_wrap_emit_one(wrapper, t->selects ? FNZI_EMIT_STACK : FNZI_EMIT_CAT, args, 2, result,
                             &value));
  fnzi_wrap_alias_set_value(root, value);
  return FNZ_OK;
}

static fnz_status scatter(fnz_wrapper *wrapper, const fnzi_wrap_pending *p, const fnzi_tile *tile,
                          fnzi_wrap_alias *root) {
  const fnzi_wrap_pending_write *w = &p->writes.data[tile->source];
  const bool selects = p->tiling.selects;
  const fnz_arg args[] = {fnzi_arg_value(root->value->handle), fnzi_arg_value(w->value->handle),
                          fnzi_arg_int(p->tiling.dim), fnzi_arg_int(tile->start),
                          fnzi_arg_int(tile->start + tile->count)};
  const fnz_geometry *result;
  fnzi_value_ref *value;
  FNZ_TRY(fnzi_dense_like(wrapper->ints, &wrapper->scratch, root->value->geometry, &result));
  explain(wrapper, w);
  FNZ_TRY(fnzi_wrap_emit_one(wrapper, selects ? FNZI_EMIT_SELECT_SCATTER : FNZI_EMIT_SLICE_SCATTER,
                             args, selects ? 4 : 5, result, &value));
  fnzi_wrap_alias_set_value(root, value);
  return FNZ_OK;
}

static int by_age(const void *a, const void *b) {
  const fnzi_tile *x = a, *y = b;
  return x->source < y->source ? -1 : x->source > y->source;
}

/* One after the other. There may be many: values and scratch of each end with it. */
static fnz_status scatter_all(fnz_wrapper *wrapper, fnzi_wrap_pending *p, fnzi_wrap_alias *root) {
  const size_t fresh = wrapper->fresh.count, count = p->tiling.tiles.count;
  fnzi_tile *tiles = p->tiling.tiles.data;
  fnz_status status = FNZ_OK;
  qsort(tiles, count, sizeof *tiles, by_age);
  for (size_t i = 0; i < count && status == FNZ_OK; i++) {
    status = scatter(wrapper, p, &tiles[i], root);
    while (wrapper->fresh.count > fresh)
      fnzi_wrap_value_drop(wrapper, wrapper->fresh.data[--wrapper->fresh.count]);
    fnzi_arena_reset(&wrapper->scratch);
  }
  return status;
}

/* Uses a scratch of its own, because it may become large. */
fnz_status fnzi_wrap_pending_apply(fnz_wrapper *wrapper, fnzi_wrap_storage *s) {
  fnzi_wrap_pending *p = s->pending;
  const char *reader = wrapper->source;
  const fnzi_why why = wrapper->why;
  const fnzi_arena outer = wrapper->scratch;
  s->pending = NULL;
  fnzi_arena_init(&wrapper->scratch, wrapper->ctx);
  fnz_status status = fnzi_tiling_covers(&p->tiling) ? pending_join(wrapper, p, s->root)
                                                     : scatter_all(wrapper, p, s->root);
  fnzi_arena_free(&wrapper->scratch);
  wrapper->scratch = outer;
  wrapper->source = reader;
  wrapper->why = why;
  fnzi_wrap_pending_free(wrapper, p);
  return status;
}
