/* replay.c - asking the backend for what views show of a value: one call, or the steps of a path.
 *
 * needs   values of the world; arguments of the calls as they were recorded
 * gives   new values, which are the world's until somebody holds them */
#include "functionalize/wrapper/wrapper.h"

fnzi_emitted fnzi_emitted_of(const fnzi_held *v) {
  return (fnzi_emitted){v->handle, v->geometry};
}

static fnz_status emit(void *self, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                       const fnz_geometry *result, fnzi_emitted *out) {
  fnzi_held *v;
  FNZ_TRY(fnzi_emit_one(self, op, args, nargs, result, &v));
  *out = fnzi_emitted_of(v);
  return FNZ_OK;
}

void fnzi_world_start_emitter(fnz_world *world) {
  world->emitter = (fnzi_emitter){world->ctx, &world->scratch, world, emit};
}

fnzi_held *fnzi_held_of(fnz_world *world, fnzi_emitted e, fnzi_held *start) {
  for (size_t i = world->fresh.count; i-- > 0;)
    if (world->fresh.data[i] && world->fresh.data[i]->handle == e.handle)
      return world->fresh.data[i];
  return start;
}

static const fnz_op *view_of(const fnz_op *op) {
  return op->view_of != FNZI_NO_OP ? fnzi_op_by_index(op->view_of) : op;
}

/* What counts from the storage means the same for the value, and for the memory that it would be a
 * view of: an input may begin behind the start of its memory. */
static bool counts_alike(const fnz_op *view, const fnz_geometry *base) {
  const fnzi_view *row = fnzi_view_find(view);
  return !row || !fnzi_view_counts_from_storage(row) ||
         (base->offset == 0 && fnzi_is_contiguous(base));
}

/* Dense, with its own strides where these are dense at all sizes. */
static fnz_status choose_layout(fnz_world *world, const fnz_geometry **window) {
  if (!fnzi_agreed(world->decisions, fnzi_is_dense(*window)))
    return fnzi_contiguous_like(&world->scratch, *window, window);
  return fnzi_dense_like(&world->scratch, *window, window);
}

/* In the keep dialect a view is replayed by itself where the value's own strides allow it; *windows
 * then are what it shows of the value. Everywhere else by its copying twin, in *op; so are views of
 * nothing, which have nothing to keep and whose strides are anybody's guess. */
static fnz_status choose_replay(fnz_world *world, const fnz_op **op, const fnz_arg *args,
                                size_t nargs, const fnzi_held *base, const fnz_geometry **windows,
                                size_t nwindows) {
  const fnz_op *view = view_of(*op), *copy = fnzi_op_by_index(view->view_copy);
  fnz_geometry *opened;
  size_t count;
  *op = copy ? copy : view;
  bool keeps = world->views == FNZ_VIEWS_KEEP && fnz_geometry_numel(base->geometry) > 0 &&
               counts_alike(view, base->geometry);
  if (keeps || !copy) {
    fnz_status status = fnzi_view_forward(&world->scratch, fnzi_view_find(view), view, args, nargs,
                                          base->geometry, &opened, &count);
    if (status == FNZ_NO_MEMORY)
      return status;
    if (status == FNZ_OK && count == nwindows) {
      for (size_t k = 0; k < count; k++)
        windows[k] = &opened[k];
      *op = view;
      return FNZ_OK;
    }
  }
  for (size_t k = 0; k < nwindows; k++)
    FNZ_TRY(choose_layout(world, &windows[k]));
  return FNZ_OK;
}

fnz_status fnzi_replay(fnz_world *world, const fnz_op *op, const fnz_arg *args, size_t nargs,
                       fnzi_held *base, const fnz_geometry *const *windows, size_t nwindows,
                       size_t *first) {
  fnz_arg *with_base;
  const fnz_geometry **expected;
  size_t count;
  FNZI_NEW(&world->scratch, nargs, &with_base);
  FNZI_NEW(&world->scratch, nwindows, &expected);
  memcpy(with_base, args, nargs * sizeof *args);
  with_base[0] = fnzi_arg_value(base->handle);
  if (nwindows)
    memcpy(expected, windows, nwindows * sizeof *expected);
  FNZ_TRY(choose_replay(world, &op, args, nargs, base, expected, nwindows));
  return fnzi_apply_values(world, op, with_base, nargs, expected, nwindows, first, &count);
}

fnz_status fnzi_replay_step(fnz_world *world, const fnzi_view_step *step, fnzi_held *base,
                            fnzi_held **out) {
  size_t first;
  FNZ_TRY(fnzi_replay(world, step->op, step->args, step->nargs, base, &step->window, 1, &first));
  *out = world->fresh.data[first];
  return FNZ_OK;
}

fnz_status fnzi_replay_path(fnz_world *world, const fnzi_path *path, fnzi_held *from,
                            fnzi_held **out) {
  *out = from;
  for (size_t i = 0; i < path->count; i++)
    FNZ_TRY(fnzi_replay_step(world, &path->steps[i], *out, out));
  return FNZ_OK;
}
