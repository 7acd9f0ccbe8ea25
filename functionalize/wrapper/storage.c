/* storage.c - making and ending aliases, view calls, storages and tensors. No rule is here.
 *
 * needs   a geometry for each alias, and the rule of its view call
 * keeps   counts of references: an alias holds its parent and its view call, a tensor its alias
 * gives   trees of aliases below the root of a storage, without values; an alias that cannot be
 *         read any more is destroyed with its writes */
#include "functionalize/wrapper/sync.h"

/* --- aliases ---------------------------------------------------------------------------------- */
static fnz_status byte_range(const fnz_wrapper *wrapper, const fnz_geometry *g, fnzi_int *low,
                             fnzi_int *high) {
  const fnzi_int size = {(int64_t)fnzi_dtype(g->dtype)->bytes};
  bool fits = fnzi_int_extent(wrapper->ints, g, low, high);
  *low = fnzi_int_mul(wrapper->ints, *low, size);
  *high = fnzi_int_mul(wrapper->ints, *high, size);
  if (fits && !fnzi_int_is_none(*low) && !fnzi_int_is_none(*high))
    return FNZ_OK;
  return fnzi_fail(wrapper->ctx, FNZ_CLASS_OVERFLOW, NULL,
                   "the sizes and strides of a view reach beyond 61 bits");
}

/* It shows every byte from the first to the last once. */
static bool is_compact(const fnz_wrapper *wrapper, const fnzi_wrap_alias *a) {
  const fnz_geometry *g = &a->geometry;
  const fnzi_int numel = fnzi_int_numel(wrapper->ints, g);
  const bool is_known = fnzi_int_is_number(a->high) && fnzi_int_is_number(a->low);
  if (!a->repeats && is_known && fnzi_int_is_number(numel))
    return numel.bits * (int64_t)fnzi_dtype(g->dtype)->bytes == a->high.bits - a->low.bits;
  return !a->repeats && fnzi_int_is_dense(wrapper->ints, g);
}

/* Whether a window may show some element in several places. */
static bool may_repeat(fnz_wrapper *wrapper, const fnz_geometry *g) {
  return fnzi_oracle_relate_self(wrapper->ints, g, FNZI_LITTLE_WORK) != FNZI_DISJOINT;
}

static fnz_status alias_new(fnz_wrapper *wrapper, const fnz_geometry *g, bool repeats,
                            fnzi_wrap_alias **out) {
  size_t bytes = sizeof(fnzi_wrap_alias) + 2 * (size_t)g->rank * sizeof(int64_t);
  fnzi_int low, high;
  FNZ_TRY(byte_range(wrapper, g, &low, &high));
  fnzi_wrap_alias *n = fnzi_blocks_take(&wrapper->blocks, bytes);
  if (!n)
    return fnzi_no_memory(wrapper->ctx);
  int64_t *dims = (int64_t *)(n + 1);
  *n = (fnzi_wrap_alias){.geometry = *g,
                         .bytes = bytes,
                         .refs = 1,
                         .source = wrapper->source,
                         .writer = wrapper->why.reader,
                         .low = low,
                         .repeats = repeats,
                         .high = high};
  n->compact = is_compact(wrapper, n);
  if (g->rank) {
    memcpy(dims, g->sizes, g->rank * sizeof *dims);
    memcpy(dims + g->rank, g->strides, g->rank * sizeof *dims);
  }
  n->geometry.sizes = dims;
  n->geometry.strides = dims + g->rank;
  *out = n;
  return FNZ_OK;
}

fnzi_wrap_alias *fnzi_wrap_alias_retain(fnzi_wrap_alias *alias) {
  alias->refs++;
  return alias;
}

void fnzi_wrap_pending_free(fnz_wrapper *wrapper, fnzi_wrap_pending *p) {
  for (size_t i = p->writes.count; i-- > 0;)
    fnzi_wrap_value_drop(wrapper, p->writes.data[i].value);
  FNZI_VEC_FREE(wrapper->ctx, &p->writes);
  FNZI_VEC_FREE(wrapper->ctx, &p->tiling.tiles);
  fnzi_blocks_give(&wrapper->blocks, p, sizeof *p);
}

void fnzi_wrap_pending_drop(fnzi_wrap_storage *s) {
  fnzi_wrap_pending *p = s->pending;
  s->pending = NULL;
  if (p)
    fnzi_wrap_pending_free(s->wrapper, p);
}

void fnzi_wrap_alias_release(fnzi_wrap_alias *alias) {
  while (alias && --alias->refs == 0) {
    fnz_wrapper *wrapper = alias->storage->wrapper;
    fnzi_wrap_alias *parent = alias->parent;
    fnzi_wrap_value_drop(wrapper, alias->value);
    if (alias->view_call) {
      fnzi_wrap_view_call *o = alias->view_call;
      o->aliases[alias->index] = NULL;
      if (--o->refs == 0)
        fnzi_blocks_give(&wrapper->blocks, o, o->bytes);
    }
    if (!parent) {
      fnzi_wrap_pending_drop(alias->storage);
      FNZI_VEC_FREE(alias->storage->wrapper->ctx, &alias->storage->dirty);
      FNZI_VEC_FREE(alias->storage->wrapper->ctx, &alias->storage->log);
      fnzi_blocks_give(&alias->storage->wrapper->blocks, alias->storage, sizeof *alias->storage);
    }
    fnzi_blocks_give(&wrapper->blocks, alias, alias->bytes);
    alias = parent;
  }
}

/* --- view calls ------------------------------------------------------------------------------- */

static fnz_status view_call_new(fnz_wrapper *wrapper, const fnzi_view *view,
                                const fnzi_op_call *call, size_t count, fnzi_wrap_view_call **out) {
  size_t head =
      sizeof(fnzi_wrap_view_call) + ((count + 1) & ~(size_t)1) * sizeof(fnzi_wrap_alias *);
  /* Arguments and their lists of plain items lie behind the aliases, in one block. */
  size_t items = call->nargs;
  for (size_t i = 0; i < call->nargs; i++)
    if (call->args[i].tag == FNZ_ARG_LIST)
      items += call->args[i].count;
  size_t bytes = head + items * sizeof(fnz_arg);
  fnzi_wrap_view_call *o = fnzi_blocks_take(&wrapper->blocks, bytes);
  if (!o)
    return fnzi_no_memory(wrapper->ctx);
  memset(o, 0, head);
  o->view = view;
  o->source = wrapper->source;
  o->node = wrapper->why.reader;
  o->bytes = bytes;
  o->refs = 1; /* until its windows are open */
  o->count = (uint32_t)count;
  fnz_arg *args = (fnz_arg *)((char *)o + head);
  fnz_arg *list = args + call->nargs;
  memcpy(args, call->args, call->nargs * sizeof *args);
  for (size_t i = 0; i < call->nargs; i++) {
    if (args[i].tag != FNZ_ARG_LIST || !args[i].count)
      continue;
    memcpy(list, call->args[i].u.list, args[i].count * sizeof *list);
    args[i].u.list = list;
    list += args[i].count;
  }
  o->call = (fnzi_op_call){call->op, args, call->nargs};
  *out = o;
  return FNZ_OK;
}

static fnz_status open_one(fnz_wrapper *wrapper, fnzi_wrap_alias *parent, fnzi_wrap_view_call *o,
                           uint32_t index, const fnz_geometry *g, fnzi_wrap_alias **out) {
  const bool is_once = !parent->repeats && fnzi_view_shows_once(o->view);
  FNZ_TRY(alias_new(wrapper, g, !is_once && may_repeat(wrapper, g), out));
  (*out)->storage = parent->storage;
  (*out)->parent = fnzi_wrap_alias_retain(parent);
  (*out)->view_call = o;
  (*out)->index = index;
  (*out)->depth = (uint8_t)(parent->depth < UINT8_MAX ? parent->depth + 1 : UINT8_MAX);
  o->aliases[index] = *out;
  o->refs++;
  return FNZ_OK;
}

static fnz_status open_all(fnz_wrapper *wrapper, fnzi_wrap_alias *parent, fnzi_wrap_view_call *o,
                           const fnz_geometry *windows, fnzi_wrap_alias **aliases) {
  fnz_status status = FNZ_OK;
  for (uint32_t k = 0; k < o->count && status == FNZ_OK; k++)
    status = open_one(wrapper, parent, o, k, &windows[k], &aliases[k]);
  for (uint32_t k = 0; k < o->count && status != FNZ_OK; k++)
    fnzi_wrap_alias_release(aliases[k]);
  if (--o->refs == 0)
    fnzi_blocks_give(&wrapper->blocks, o, o->bytes);
  return status;
}

/* The next pass decides whether these are copies. */
static void stop_at_ties(fnz_wrapper *wrapper, uint32_t tied) {
  for (size_t i = 0; i < wrapper->ties.count; i++)
    if (wrapper->ties.data[i].copy->storage->tied == tied)
      fnzi_ints_stop_at(wrapper->ints, wrapper->ties.data[i].node);
}

static fnz_status refuse_tied(const fnzi_wrap_alias *target) {
  const fnzi_wrap_storage *s = target->storage;
  if (s->tied)
    stop_at_ties(s->wrapper, s->tied);
  if (s->is_loose)
    fnzi_ints_stop_at(s->wrapper->ints, s->loose_at);
  return fnzi_fail_for(s->wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_UNSUPPORTED, NULL,
                       "this writes memory that a reshape() or contiguous() before it shares at "
                       "some sizes and copies at others; clone() what that returns");
}

fnz_status fnzi_wrap_refuse_tied(const fnzi_wrap_alias *target) {
  return target->storage->tied || target->storage->is_loose ? refuse_tied(target) : FNZ_OK;
}

fnz_status fnzi_wrap_refuse_shared(const fnzi_wrap_alias *target) {
  const fnzi_wrap_storage *s = target->storage;
  const bool may_split = s->is_loose && s->regrouped;
  const fnz_wrapper *wrapper = s->wrapper;
  bool seen = false; /* a tensor on another storage of the group */
  for (size_t i = 0; s->tied && i < wrapper->ties.count && !seen; i++) {
    const fnzi_wrap_storage *a = wrapper->ties.data[i].copy->storage,
                            *b = wrapper->ties.data[i].of->storage;
    seen = a->tied == s->tied && ((a != s && a->tensors) || (b != s && b->tensors));
  }
  return may_split || seen ? refuse_tied(target) : FNZ_OK;
}

void fnzi_wrap_loosen(fnz_tensor *copy, fnzi_ints_node at) {
  fnzi_wrap_storage *s = copy->alias->storage;
  s->loose_at = s->is_loose ? s->loose_at : at;
  s->is_loose = true;
}

/* An as_strided may not leave the memory that the program declares; in eager there may be more. At
 * sizes at which it would, a run fails. */
static fnz_status check_inside(fnz_wrapper *wrapper, const char *what, const fnzi_wrap_alias *root,
                               const fnz_geometry *window) {
  fnzi_ints *s = wrapper->ints;
  fnzi_int low, high;
  FNZ_TRY(byte_range(wrapper, window, &low, &high));
  bool has_elements = !fnzi_int_is_empty(window);
  for (uint32_t d = 0; d < window->rank && has_elements; d++)
    has_elements = fnzi_int_is_at_least(s, fnzi_int_size(window, d), fnzi_int_of(1));
  if (has_elements && !fnzi_int_is_less(s, root->high, high))
    fnzi_int_assume_at_least(s, root->high, high);
  if (fnzi_int_is_empty(window) ||
      (!fnzi_int_is_less(s, low, root->low) && !fnzi_int_is_less(s, root->high, high)))
    return FNZ_OK;
  return fnzi_fail_for(wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_BOUNDS, NULL,
                       "%s reaches bytes %s to %s of a storage that has %s to %s", what,
                       FNZI_PUT(s, low), FNZI_PUT(s, high), FNZI_PUT(s, root->low),
                       FNZI_PUT(s, root->high));
}

/* If a chain of links has its greatest length, a new window gets the root as parent, if there is a
 * path from it. The aliases in between may then be destroyed. */
static fnz_status open_at_root(fnz_wrapper *wrapper, fnzi_wrap_alias *base,
                               const fnz_geometry *window, fnzi_wrap_alias **out) {
  fnzi_wrap_alias *root = base->storage->root;
  fnzi_path path;
  bool found = false;
  *out = NULL;
  if (base->depth >= FNZI_LINKS)
    FNZ_TRY(fnzi_path_box((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &root->geometry,
                          window, &path, &found));
  return found ? fnzi_wrap_alias_window(wrapper, root, window, out) : FNZ_OK;
}

fnz_status fnzi_wrap_alias_window(fnz_wrapper *wrapper, fnzi_wrap_alias *root,
                                  const fnz_geometry *window, fnzi_wrap_alias **out) {
  *out = NULL;
  if (fnzi_geometry_equal(window, &root->geometry)) {
    *out = fnzi_wrap_alias_retain(root);
    return FNZ_OK;
  }
  FNZ_TRY(check_inside(wrapper, "an input", root, window));
  FNZ_TRY(alias_new(wrapper, window, may_repeat(wrapper, window), out));
  (*out)->storage = root->storage;
  (*out)->parent = fnzi_wrap_alias_retain(root);
  return FNZ_OK;
}

fnz_status fnzi_wrap_alias_open(fnzi_wrap_alias *base, const fnzi_view *view,
                                const fnzi_op_call *call, fnzi_wrap_alias ***out, size_t *count) {
  fnz_wrapper *wrapper = base->storage->wrapper;
  fnzi_wrap_alias *root = base->storage->root;
  bool is_strided = fnzi_view_counts_from_storage(view);
  fnz_geometry *windows;
  fnzi_wrap_view_call *o = NULL;
  FNZ_TRY(fnzi_view_forward_run((fnzi_int_space){wrapper->ints, &wrapper->scratch}, view, call,
                                &base->geometry, &windows, count));
  FNZI_NEW(&wrapper->scratch, *count, out);
  if (is_strided) {
    FNZ_TRY(fnzi_wrap_refuse_tied(base)); /* it counts from another element where that is a copy */
    FNZ_TRY(check_inside(wrapper, call->op->name, root, windows));
    /* Another input may lie in the gaps of an input. */
    fnzi_path path;
    bool found = fnzi_int_is_dense(wrapper->ints, &root->geometry) || root->storage->in_gaps;
    if (!found)
      FNZ_TRY(fnzi_path_box((fnzi_int_space){wrapper->ints, &wrapper->scratch}, &root->geometry,
                            windows, &path, &found));
    root->storage->in_gaps |= !found;
  }
  if (*count == 1 && fnzi_geometry_equal(windows, &base->geometry)) {
    **out = fnzi_wrap_alias_retain(base);
    return FNZ_OK;
  }
  if (*count == 1 && !is_strided)
    FNZ_TRY(open_at_root(wrapper, base, windows, *out));
  if (*count && **out)
    return FNZ_OK;
  FNZ_TRY(view_call_new(wrapper, view, call, *count, &o));
  return open_all(wrapper, is_strided ? root : base, o, windows, *out);
}

/* --- ties ------------------------------------------------------------------------------------- */

fnz_status fnzi_wrap_tie_tensors(fnz_wrapper *wrapper, const fnz_tensor *copy,
                                 const fnz_tensor *of) {
  fnzi_wrap_storage *a = copy->alias->storage, *b = of->alias->storage;
  const fnzi_wrap_tie tie = {a->root, b->root, fnzi_ints_asks_about(wrapper->ints)};
  FNZI_PUSH(wrapper->ctx, &wrapper->ties, tie);
  fnzi_wrap_alias_retain(tie.copy);
  fnzi_wrap_alias_retain(tie.of);
  if (!b->tied)
    b->tied = (uint32_t)wrapper->ties.count;
  const uint32_t from = a->tied ? a->tied : b->tied, to = b->tied;
  for (size_t i = 0; from != to && i < wrapper->ties.count; i++) {
    fnzi_wrap_storage *left = wrapper->ties.data[i].copy->storage,
                      *right = wrapper->ties.data[i].of->storage;
    left->tied = left->tied == from ? to : left->tied;
    right->tied = right->tied == from ? to : right->tied;
  }
  a->tied = to;
  return FNZ_OK;
}

fnz_status fnzi_wrap_ties_leave(fnz_wrapper *wrapper, const fnzi_wrap_tie **out) {
  const fnzi_wrap_storage **of_group; /* the last one of each that leaves */
  *out = NULL;
  FNZI_NEW(&wrapper->scratch, wrapper->ties.count + 1, &of_group);
  for (size_t i = 0; i < wrapper->ties.count; i++) {
    const fnzi_wrap_tie *tie = &wrapper->ties.data[i];
    const fnzi_wrap_storage *ends[] = {tie->copy->storage, tie->of->storage};
    for (size_t k = 0; k < 2; k++) {
      const fnzi_wrap_storage **other = &of_group[ends[k]->tied];
      const fnzi_wrap_storage *s = ends[k];
      if (!s->input && !s->output)
        continue;
      if (*other && *other != ends[k]) {
        *out = tie;
        stop_at_ties(wrapper, ends[k]->tied);
      }
      *other = ends[k];
    }
  }
  return FNZ_OK;
}

void fnzi_wrap_ties_end(fnz_wrapper *wrapper) {
  for (size_t i = 0; i < wrapper->ties.count; i++) {
    fnzi_wrap_alias_release(wrapper->ties.data[i].copy);
    fnzi_wrap_alias_release(wrapper->ties.data[i].of);
  }
  FNZI_VEC_FREE(wrapper->ctx, &wrapper->ties);
}

/* --- tensors ---------------------------------------------------------------------------------- */
static fnz_status storage_new(fnz_wrapper *wrapper, const fnz_geometry *g, fnzi_wrap_alias **root) {
  fnzi_wrap_storage *s = fnzi_blocks_take(&wrapper->blocks, sizeof *s);
  if (!s)
    return fnzi_no_memory(wrapper->ctx);
  *s = (fnzi_wrap_storage){.wrapper = wrapper};
  fnz_status status = alias_new(wrapper, g, may_repeat(wrapper, g), root);
  if (status != FNZ_OK) {
    fnzi_blocks_give(&wrapper->blocks, s, sizeof *s);
    return status;
  }
  (*root)->storage = s;
  s->root = *root;
  return FNZ_OK;
}

fnz_status fnzi_wrap_tensor_on(fnz_wrapper *wrapper, fnzi_wrap_alias *alias, fnz_tensor **out) {
  fnz_tensor *t = fnzi_blocks_take(&wrapper->blocks, sizeof *t);
  if (!t)
    return fnzi_no_memory(wrapper->ctx);
  *t = (fnz_tensor){.wrapper = wrapper, .alias = fnzi_wrap_alias_retain(alias), .refs = 1};
  alias->storage->tensors++;
  t->after = wrapper->tensors;
  if (t->after)
    t->after->before = t;
  wrapper->tensors = t;
  *out = t;
  return FNZ_OK;
}

fnz_status fnzi_wrap_tensor_new(fnz_wrapper *wrapper, const fnz_geometry *geometry,
                                fnzi_value_ref *value, fnz_tensor **out) {
  fnzi_wrap_alias *root = NULL;
  FNZ_TRY(storage_new(wrapper, geometry ? geometry : value->geometry, &root));
  fnzi_wrap_alias_set_value(root, value);
  fnz_status status = fnzi_wrap_tensor_on(wrapper, root, out);
  fnzi_wrap_alias_release(root);
  return status;
}

fnz_status fnzi_wrap_storage_grow(fnzi_wrap_alias *old_root, const fnz_geometry *geometry,
                                  fnzi_value_ref *value) {
  fnzi_wrap_storage *s = old_root->storage;
  fnzi_wrap_alias *root = NULL;
  FNZ_TRY(alias_new(s->wrapper, geometry, may_repeat(s->wrapper, geometry), &root));
  root->storage = s;
  fnzi_wrap_alias_set_value(root, value);
  old_root->parent = root; /* has the only reference */
  s->root = root;
  return FNZ_OK;
}

static void leave(fnzi_wrap_alias *alias) {
  fnzi_wrap_storage *s = alias->storage;
  if (--s->tensors == 0) {
    fnzi_wrap_alias *root = fnzi_wrap_alias_retain(s->root);
    /* No tensor is on the storage any more: its writes, which were not read, are forgotten. */
    fnzi_notes_unread(s->wrapper->ctx, s->wrapper->notes, s->root->unread);
    for (size_t i = s->dirty.count; i-- > 0;) {
      s->dirty.count = i;
      fnzi_notes_unread(s->wrapper->ctx, s->wrapper->notes, s->dirty.data[i]->unread);
      fnzi_wrap_alias_release(s->dirty.data[i]);
    }
    fnzi_wrap_pending_drop(s);
    for (size_t i = s->log.count; i-- > 0;) {
      s->log.count = i;
      fnzi_wrap_alias_release(s->log.data[i].alias);
    }
    fnzi_wrap_alias_release(alias);
    fnzi_wrap_alias_release(root);
    return;
  }
  fnzi_wrap_alias_release(alias);
}

void fnzi_wrap_tensor_move(fnz_tensor *tensor, fnzi_wrap_alias *alias) {
  fnzi_wrap_alias *old = tensor->alias;
  alias->storage->tensors++;
  tensor->alias = fnzi_wrap_alias_retain(alias);
  leave(old);
}

void fnz_tensor_release(fnz_tensor *t) {
  if (!t || --t->refs > 0)
    return;
  if (t->before)
    t->before->after = t->after;
  else
    t->wrapper->tensors = t->after;
  if (t->after)
    t->after->before = t->before;
  leave(t->alias);
  fnzi_blocks_give(&t->wrapper->blocks, t, sizeof *t);
}
