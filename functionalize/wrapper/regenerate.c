/* regenerate.c - the value of an alias from that of one above it, by its view calls or along a path
 * (PyTorch: regenerate_from_base).
 *
 * needs   a current value above, and the view calls or the geometries between
 * keeps   the writes of a storage as they are: nothing is committed here
 * gives   fresh values, or the steps of a path that leads back up
 * bounds  a chain of views is followed for at most FNZI_LINKS links; a longer one is replayed along
 *         the shortest path over geometry (views/path.c), so no work grows with its length; where
 *         there is none, for at most FNZI_MOST_LINKS */
#include "functionalize/wrapper/sync.h"

/* --- one call of a view operator -------------------------------------------------------------- */
static const fnz_op *view_of(const fnz_op *op) {
  return op->view_of != FNZI_NO_OP ? fnzi_op_by_index(op->view_of) : op;
}

/* An as_strided counts from the start of the storage. */
static bool counts(const fnz_op *view) {
  const fnzi_view *row = fnzi_view_find(view);
  return row && fnzi_view_counts_from_storage(row);
}

fnz_status fnzi_wrap_into_rows(fnz_wrapper *wrapper, const fnz_op *op, bool scatters,
                               fnzi_value_ref **base) {
  fnzi_value_ref *from = *base;
  const fnz_geometry *rows;
  if (!counts(view_of(op)))
    return FNZ_OK;
  /* In such a base indices into the value and into the storage are the same. An input may begin
   * later, or have other strides. */
  const bool is_lazy = from->geometry->is_conj || from->geometry->is_neg;
  const bool in_rows =
      fnzi_int_lies_in_rows(wrapper->ints, from->geometry) && !(scatters && is_lazy);
  if (in_rows)
    return FNZ_OK;
  if (!from->rows) {
    fnz_arg args[] = {fnzi_arg_value(from->handle), {.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}};
    FNZ_TRY(fnzi_contiguous_like(wrapper->ints, &wrapper->scratch, from->geometry, &rows));
    FNZ_TRY(fnzi_wrap_emit_one(wrapper, FNZI_EMIT_CLONE, args, 2, rows, base));
    from->rows = fnzi_wrap_value_hold(*base);
  }
  *base = from->rows;
  return FNZ_OK;
}

/* Chooses the operator, in *op, that replays a view, and finds its windows. The keep dialect uses
 * the view itself if the value's own strides allow it; otherwise its copying twin is used. Views
 * under another dtype check strides, which mean nothing without elements. */
static fnz_status choose_replay(fnz_wrapper *wrapper, fnzi_op_call *call,
                                const fnzi_value_ref *base, const fnz_geometry **windows,
                                size_t nwindows) {
  const fnz_op *view = view_of(call->op), *copy = fnzi_op_by_index(view->view_copy);
  fnz_geometry *opened;
  size_t count;
  call->op = copy ? copy : view;
  bool is_sure = !fnzi_int_is_empty(base->geometry) ||
                 (nwindows && windows[0]->dtype == base->geometry->dtype);
  bool keeps = wrapper->views == FNZ_VIEWS_KEEP && is_sure &&
               (!counts(view) || fnzi_int_lies_in_rows(wrapper->ints, base->geometry));
  if (keeps || !copy) {
    const fnzi_op_call kept = {view, call->args, call->nargs};
    fnz_status status =
        fnzi_view_forward((fnzi_int_space){wrapper->ints, &wrapper->scratch}, fnzi_view_find(view),
                          &kept, base->geometry, &opened, &count);
    if (fnzi_is_final(status))
      return status;
    if (status == FNZ_OK && count == nwindows) {
      for (size_t k = 0; k < count; k++)
        windows[k] = &opened[k];
      call->op = view;
      return FNZ_OK;
    }
  }
  for (size_t k = 0; k < nwindows; k++) /* the strides of a window that is dense at all sizes */
    FNZ_TRY(fnzi_dense_like(wrapper->ints, &wrapper->scratch, windows[k], &windows[k]));
  return FNZ_OK;
}

/* All windows of a view call as seen of `base`; the values are wrapper->fresh[*first ...]. */
static fnz_status replay(fnz_wrapper *wrapper, fnzi_op_call call, fnzi_value_ref *base,
                         const fnz_geometry *const *windows, size_t nwindows, size_t *first) {
  fnz_arg *args;
  const fnz_geometry **expected;
  size_t count;
  FNZ_TRY(fnzi_wrap_into_rows(wrapper, call.op, false, &base));
  FNZI_NEW(&wrapper->scratch, call.nargs, &args);
  FNZI_NEW(&wrapper->scratch, nwindows, &expected);
  memcpy(args, call.args, call.nargs * sizeof *args);
  args[0] = fnzi_arg_value(base->handle);
  call.args = args;
  if (nwindows)
    memcpy(expected, windows, nwindows * sizeof *expected);
  FNZ_TRY(choose_replay(wrapper, &call, base, expected, nwindows));
  return fnzi_wrap_apply_values(wrapper, call, expected, nwindows, first, &count);
}

fnz_status fnzi_wrap_replay_step(fnz_wrapper *wrapper, const fnzi_view_step *step,
                                 fnzi_value_ref *base, fnzi_value_ref **out) {
  size_t first;
  FNZ_TRY(replay(wrapper, step->call, base, &step->window, 1, &first));
  *out = wrapper->fresh.data[first];
  return FNZ_OK;
}

fnz_status fnzi_wrap_replay_path(fnz_wrapper *wrapper, const fnzi_path *path, fnzi_value_ref *from,
                                 fnzi_value_ref **out) {
  *out = from;
  for (size_t i = 0; i < path->count; i++)
    FNZ_TRY(fnzi_wrap_replay_step(wrapper, &path->steps[i], *out, out));
  return FNZ_OK;
}

/* --- links and paths -------------------------------------------------------------------------- */
void fnzi_wrap_link_step(const fnzi_wrap_alias *a, fnzi_view_step *out) {
  const fnzi_wrap_view_call *o = a->view_call;
  *out = (fnzi_view_step){o->view, o->call, a->index, &a->parent->geometry, &a->geometry};
}

/* An as_strided counts from the storage, not from its parent's value: only geometry replays it. */
static bool is_replayable(const fnzi_wrap_alias *a) {
  return a->view_call && !fnzi_view_counts_from_storage(a->view_call->view);
}

/* All windows of a view call; the values are wrapper->fresh[*first ...]. */
static fnz_status replay_call(fnz_wrapper *wrapper, const fnzi_wrap_alias *a, fnzi_value_ref *base,
                              size_t *first) {
  const fnzi_wrap_view_call *o = a->view_call;
  const fnz_geometry **windows;
  fnz_geometry *all;
  size_t count;
  FNZ_TRY(fnzi_view_forward((fnzi_int_space){wrapper->ints, &wrapper->scratch}, o->view, &o->call,
                            &a->parent->geometry, &all, &count));
  FNZI_NEW(&wrapper->scratch, count, &windows);
  for (size_t k = 0; k < count; k++)
    windows[k] = &all[k];
  return replay(wrapper, o->call, base, windows, count, first);
}

fnz_status fnzi_wrap_regenerate_all(fnz_wrapper *wrapper, fnzi_wrap_alias *a,
                                    fnzi_value_ref *base) {
  fnzi_wrap_view_call *o = a->view_call;
  size_t first;
  FNZ_TRY(replay_call(wrapper, a, base, &first));
  o->derived = true;
  for (size_t k = 0; k < o->count; k++) {
    fnzi_wrap_alias *other = o->aliases[k];
    if (other && (other == a || (!other->value && fnzi_wrap_alias_right_for(a->parent, other))))
      fnzi_wrap_alias_set_value(other, wrapper->fresh.data[first + k]);
  }
  return FNZ_OK;
}

/* One window of several is a slice or a select of its own, where that is possible. */
fnz_status fnzi_wrap_follow_link(fnz_wrapper *wrapper, const fnzi_wrap_alias *a,
                                 fnzi_value_ref *base, fnzi_value_ref **out) {
  fnzi_view_step step;
  fnzi_path path;
  bool found;
  size_t first;
  fnzi_wrap_link_step(a, &step);
  if (a->view_call->count == 1)
    return fnzi_wrap_replay_step(wrapper, &step, base, out);
  FNZ_TRY(fnzi_path_box((fnzi_int_space){wrapper->ints, &wrapper->scratch}, step.base, step.window,
                        &path, &found));
  if (found)
    return fnzi_wrap_replay_path(wrapper, &path, base, out);
  FNZ_TRY(replay_call(wrapper, a, base, &first));
  *out = wrapper->fresh.data[first + a->index];
  return FNZ_OK;
}

fnz_status fnzi_wrap_no_path(const fnzi_wrap_alias *a) {
  return fnzi_fail_for(
      a->storage->wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
      "%s reaches memory by strides that no view of its base describes, and the base "
      "does not fill its memory; clone() the base first",
      a->view_call ? a->view_call->call.op->name : "a resized tensor");
}

/* From a root, the path over its flat memory is taken if the program has an as_strided and that
 * path is shorter. */
fnz_status fnzi_wrap_path_between(fnz_wrapper *wrapper, const fnzi_wrap_alias *from,
                                  const fnzi_wrap_alias *to, fnzi_path *path, bool *found) {
  const bool is_by_strides = to->view_call && !is_replayable(to);
  FNZ_TRY(fnzi_path_box((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &from->geometry,
                        &to->geometry, path, found));
  if (!*found || from->parent || path->count < 2 || !is_by_strides)
    return FNZ_OK;
  fnzi_path *flat;
  bool flat_found;
  FNZI_NEW(&wrapper->scratch, 1, &flat);
  FNZ_TRY(fnzi_path_flat((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &from->geometry,
                         &to->geometry, flat, &flat_found));
  if (flat_found && flat->count < path->count)
    *path = *flat;
  return FNZ_OK;
}

fnz_status fnzi_wrap_path_from_root(fnz_wrapper *wrapper, const fnzi_wrap_alias *to,
                                    fnzi_path *path, bool *found) {
  const fnzi_wrap_alias *root = to->storage->root;
  FNZ_TRY(fnzi_wrap_path_between(wrapper, root, to, path, found));
  if (!*found)
    FNZ_TRY(fnzi_path_flat((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &root->geometry,
                           &to->geometry, path, found));
  return FNZ_OK;
}

/* The links from `a` up to `target`, a first. 0 when there are more than `most`, or when a link
 * cannot be replayed. */
static size_t links_between(fnzi_wrap_alias *a, const fnzi_wrap_alias *target,
                            fnzi_wrap_alias **links, size_t most) {
  size_t n = 0;
  for (; a != target; a = a->parent) {
    if (n == most || !a->parent || !is_replayable(a))
      return 0;
    links[n++] = a;
  }
  return n;
}

size_t fnzi_wrap_links_up(fnzi_wrap_alias *a, fnzi_wrap_alias *const target,
                          fnzi_wrap_alias *links[FNZI_LINKS]) {
  return links_between(a, target, links, FNZI_LINKS);
}

fnz_status fnzi_wrap_links_to_root(fnz_wrapper *wrapper, fnzi_wrap_alias *a,
                                   fnzi_wrap_alias ***links, size_t *count) {
  FNZI_NEW(&wrapper->scratch, FNZI_MOST_LINKS, links);
  *count = links_between(a, a->storage->root, *links, FNZI_MOST_LINKS);
  return FNZ_OK;
}
