/* undo.c - a failed run leaves the state as it was: where a step may fail after another one has
 * written to the state, what is written is kept before the run.
 *
 * Most programs need nothing kept: what writes a cache checks its index before, and the steps
 * behind it cannot fail, or check the same index again. */
#include "engine/tile.h"
#include "kernels/meta/point.h"

/* Of each kernel: it fails only for want of memory. */
static const bool sure[] = {
#define RUN(name)  [FNZI_RUN_##name] = false,
#define SURE(name) [FNZI_RUN_##name] = true,
#include "kernels/runs.def"
#undef RUN
};

bool fnzi_eng_never_fails(const fnzi_eng_act *act) {
  if (act->kind == FNZI_ENG_ACT_MOVE || act->kind == FNZI_ENG_ACT_TILE)
    return true;
  if (act->kind != FNZI_ENG_ACT_KERNEL)
    return false;
  const fnzi_krn_call *call = &act->u.kernel.call;
  return sure[call->row->run] || (call->row->run == FNZI_RUN_point && call->noutputs &&
                                  call->outputs[0] && fnzi_meta_point_is_plain(call));
}

/* Both check the same index against the same size. */
static bool checks_same(const fnzi_eng_act *a, const fnzi_eng_act *b) {
  if (a->kind != FNZI_ENG_ACT_KERNEL || b->kind != FNZI_ENG_ACT_KERNEL)
    return false;
  const fnzi_krn_call *x = &a->u.kernel.call, *y = &b->u.kernel.call;
  if (x->row->run != FNZI_RUN_index_write || x->op != y->op)
    return false;
  const fnzi_krn_array *p = fnzi_krn_call_input(x, 0), *q = fnzi_krn_call_input(y, 0);
  return fnzi_krn_named_array(x, "index") == fnzi_krn_named_array(y, "index") &&
         fnzi_krn_named_int(x, "dim", 0) == fnzi_krn_named_int(y, "dim", 0) &&
         fnzi_same_sizes(&p->place, &q->place);
}

static bool was_checked(const fnzi_eng_binding *b, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (checks_same(&b->acts.data[i], &b->acts.data[at]))
      return true;
  return false;
}

static bool may_fail(const fnzi_eng_binding *b, size_t at) {
  return !fnzi_eng_never_fails(&b->acts.data[at]) && !was_checked(b, at);
}

static void mark(fnzi_eng_binding *b, const fnzi_krn_storage *storage, bool *any) {
  uint32_t buffer = fnzi_eng_buffer_of(b, storage);
  if (buffer != FNZI_ENG_NONE && b->plan.buffers.data[buffer].kind == FNZI_ENG_STATE)
    *any = b->saved[buffer] = true;
}

/* Marks the buffers of the state that the step writes. */
static bool writes_state(fnzi_eng_binding *b, const fnzi_eng_act *act, const fnzi_node *node) {
  bool any = false;
  if (act->kind == FNZI_ENG_ACT_MOVE) {
    mark(b, act->u.move.to, &any);
    return any;
  }
  if (act->kind == FNZI_ENG_ACT_TILE) {
    for (uint32_t k = 0; k < act->u.tile->nlanes; k++)
      if (act->u.tile->lanes[k].stores)
        mark(b, act->u.tile->lanes[k].storage, &any);
    return any;
  }
  for (uint32_t i = 0; i < node->noutputs; i++) {
    const fnz_arg *list = &node->outputs[i];
    bool is_list = list->tag == FNZ_ARG_LIST;
    for (uint32_t k = 0; k < (is_list ? list->count : 1); k++) {
      const fnz_arg *one = is_list ? &list->u.list[k] : list;
      if (one->tag == FNZ_ARG_VALUE && b->values[one->u.value])
        mark(b, b->values[one->u.value]->storage, &any);
    }
  }
  return any;
}

fnz_status fnzi_eng_undo_plan(fnzi_eng_binding *b) {
  bool written = false, late = false;
  FNZI_NEW(&b->arena, b->plan.buffers.count, &b->saved);
  for (size_t i = 0; i < b->acts.count; i++) {
    const fnzi_eng_act *act = &b->acts.data[i];
    const fnzi_node *node =
        act->node == FNZI_ENG_NONE ? NULL : fnzi_node_at(b->program, 0, act->node);
    late = late || (written && may_fail(b, i));
    written = writes_state(b, act, node) || written;
  }
  for (size_t i = 0; late && i < b->plan.buffers.count; i++)
    b->saved_bytes += b->saved[i] ? b->plan.buffers.data[i].bytes : 0;
  return FNZ_OK;
}

fnz_status fnzi_eng_undo_keep(fnz_workspace *ws, const fnzi_eng_binding *b) {
  size_t at = 0;
  if (b->saved_bytes == 0)
    return FNZ_OK;
  if (ws->kept_bytes < b->saved_bytes) {
    fnzi_free(ws->ctx, ws->kept, ws->kept_bytes);
    ws->kept_bytes = 0;
    ws->kept = fnzi_resize(ws->ctx, NULL, 0, b->saved_bytes);
    if (!ws->kept)
      return fnzi_no_memory(ws->ctx);
    ws->kept_bytes = b->saved_bytes;
  }
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    if (!b->saved[i] || !b->plan.buffers.data[i].bytes)
      continue;
    memcpy(ws->kept + at, b->storages[i].data, b->plan.buffers.data[i].bytes);
    at += b->plan.buffers.data[i].bytes;
  }
  return FNZ_OK;
}

void fnzi_eng_undo(const fnz_workspace *ws, const fnzi_eng_binding *b) {
  size_t at = 0;
  for (size_t i = 0; b->saved_bytes && i < b->plan.buffers.count; i++) {
    if (!b->saved[i] || !b->plan.buffers.data[i].bytes)
      continue;
    memcpy(b->storages[i].data, ws->kept + at, b->plan.buffers.data[i].bytes);
    at += b->plan.buffers.data[i].bytes;
  }
}
