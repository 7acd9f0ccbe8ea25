/* pending.c - many writes to one storage wait together.
 *
 * Few aliases of a storage may be dirty at once. The oldest of more than these waits here, as a
 * piece of the root along one dimension, until somebody reads what is not right without it. If the
 * pieces cover the root by then, one stack or cat makes it; else they are put into it one by one.
 *
 * keeps   the truth about a byte: in the dirty alias that has it, else in the last piece that has
 *         it, else in the root's value
 * bounds  nothing grows with the size of the root; a piece costs some words */
#include "functionalize/wrapper/sync.h"

#include <stdlib.h>

/* Windows of the root are pieces of its value as they are. With symbolic sizes, what covers what
 * is another question at each size, which simplify_scatters.c asks. */
static bool may_gather(const fnz_world *world, const fnzi_alias *a) {
  const fnz_geometry *root = &a->storage->root->geometry, *g = &a->geometry;
  return !world->decisions && world->views != FNZ_VIEWS_STRIDED && fnzi_is_frame(root) &&
         g->dtype == root->dtype && !g->is_conj && !g->is_neg;
}

static fnz_status start(fnz_world *world, fnzi_storage *s) {
  if (s->gathered)
    return FNZ_OK;
  s->gathered = fnzi_blocks_take(&world->blocks, sizeof *s->gathered);
  if (!s->gathered)
    return fnzi_no_memory(world->ctx);
  *s->gathered = (fnzi_gathered){.low = INT64_MAX, .high = INT64_MIN};
  return FNZ_OK;
}

static void add_place(fnzi_gathered *g, const fnzi_alias *a) {
  const fnzi_run *run = &g->run;
  int64_t more = run->pieces.data[run->pieces.count - 1].count;
  g->slices = more < run->size - g->slices ? g->slices + more : run->size;
  g->low = a->low < g->low ? a->low : g->low;
  g->high = a->high > g->high ? a->high : g->high;
}

static fnz_status add(fnz_world *world, fnzi_gathered *g, const fnzi_alias *a, bool *fits) {
  const fnzi_pending_write p = {a->value, a->source, a->writer,
                                a->opening ? a->opening->node : NULL};
  const uint32_t place = (uint32_t)g->puts.count;
  FNZI_PUSH(world->ctx, &g->puts, p);
  fnz_status status = fnzi_run_add(world->ctx, &g->run, &a->storage->root->geometry, &a->geometry,
                                   place, UINT32_MAX - place, fits);
  if (status != FNZ_OK || !*fits) {
    g->puts.count--;
    return status;
  }
  fnzi_hold(p.value);
  add_place(g, a);
  return FNZ_OK;
}

fnz_status fnzi_gather(fnz_world *world, const fnzi_alias *a, bool *done) {
  fnzi_storage *s = a->storage;
  *done = false;
  if (!may_gather(world, a))
    return FNZ_OK;
  FNZ_TRY(start(world, s));
  fnz_status status = add(world, s->gathered, a, done);
  if (!s->gathered->puts.count)
    fnzi_gathered_forget(s);
  return status;
}

bool fnzi_gathered_meets(const fnzi_alias *window) {
  const fnzi_gathered *g = window->storage->gathered;
  return window->low < g->high && window->high > g->low &&
         (window->geometry.dtype != window->storage->root->geometry.dtype ||
          !fnzi_run_is_apart(&g->run, &window->storage->root->geometry, &window->geometry));
}

bool fnzi_gathered_lacks_little(const fnzi_storage *s) {
  return s->gathered->run.size - s->gathered->slices <= (int64_t)s->dirty.count;
}

/* What is made belongs to the line of the write. */
static void explain(fnz_world *world, const fnzi_pending_write *p) {
  world->source = p->source;
  world->why =
      (fnzi_why){p->writer, world->why.reader, p->view, world->why.output, FNZI_CAUSE_WRITE};
}

/* All of the root at once. */
static fnz_status join(fnz_world *world, const fnzi_gathered *g, fnzi_alias *root) {
  const fnzi_run *run = &g->run;
  const fnz_geometry *result;
  fnz_arg *items;
  fnzi_held *value;
  FNZI_NEW(&world->scratch, run->pieces.count, &items);
  for (size_t i = 0; i < run->pieces.count; i++)
    items[i] = fnzi_arg_value(g->puts.data[run->pieces.data[i].source].value->handle);
  const fnz_arg args[] = {
      {.tag = FNZ_ARG_LIST, .count = (uint32_t)run->pieces.count, .u.list = items},
      fnzi_arg_int(run->dim)};
  FNZ_TRY(fnzi_dense_like(&world->scratch, root->value->geometry, &result));
  explain(world, &g->puts.data[g->puts.count - 1]);
  FNZ_TRY(fnzi_emit_one(world, run->selects ? FNZI_EMIT_STACK : FNZI_EMIT_CAT, args, 2, result,
                        &value));
  fnzi_alias_set_value(root, value);
  return FNZ_OK;
}

/* One piece into the value of the root. */
static fnz_status put_one(fnz_world *world, const fnzi_gathered *g, const fnzi_piece *piece,
                          fnzi_alias *root) {
  const fnzi_pending_write *p = &g->puts.data[piece->source];
  const fnz_arg args[] = {fnzi_arg_value(root->value->handle), fnzi_arg_value(p->value->handle),
                          fnzi_arg_int(g->run.dim), fnzi_arg_int(piece->start),
                          fnzi_arg_int(piece->start + piece->count)};
  const fnz_geometry *result;
  fnzi_held *value;
  FNZ_TRY(fnzi_dense_like(&world->scratch, root->value->geometry, &result));
  explain(world, p);
  FNZ_TRY(g->run.selects ? fnzi_emit_one(world, FNZI_EMIT_SELECT_SCATTER, args, 4, result, &value)
                         : fnzi_emit_one(world, FNZI_EMIT_SLICE_SCATTER, args, 5, result, &value));
  fnzi_alias_set_value(root, value);
  return FNZ_OK;
}

static int in_turn(const void *a, const void *b) {
  const fnzi_piece *x = a, *y = b;
  return x->source < y->source ? -1 : x->source > y->source;
}

/* What one of them needs ends with it: there may be many. */
static fnz_status put_in_turn(fnz_world *world, fnzi_gathered *g, fnzi_alias *root) {
  const size_t fresh = world->fresh.count;
  fnz_status status = FNZ_OK;
  qsort(g->run.pieces.data, g->run.pieces.count, sizeof *g->run.pieces.data, in_turn);
  for (size_t i = 0; i < g->run.pieces.count && status == FNZ_OK; i++) {
    status = put_one(world, g, &g->run.pieces.data[i], root);
    while (world->fresh.count > fresh)
      fnzi_drop(world, world->fresh.data[--world->fresh.count]);
    fnzi_arena_reset(&world->scratch);
  }
  return status;
}

/* With a scratch of its own, which may become large. */
fnz_status fnzi_gathered_end(fnz_world *world, fnzi_storage *s) {
  fnzi_gathered *g = s->gathered;
  const char *reader = world->source;
  const fnzi_why why = world->why;
  const fnzi_arena outer = world->scratch;
  s->gathered = NULL;
  fnzi_arena_init(&world->scratch, world->ctx);
  fnz_status status =
      fnzi_run_covers(&g->run) ? join(world, g, s->root) : put_in_turn(world, g, s->root);
  fnzi_arena_free(&world->scratch);
  world->scratch = outer;
  world->source = reader;
  world->why = why;
  fnzi_gathered_free(world, g);
  return status;
}
