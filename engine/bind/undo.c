/* undo.c - restores the state after a failed run. If a step may fail after another step has written
 * to the state, the overwritten bytes are kept before the run.
 *
 * Most programs need no copy: a write to a cache checks its index first, and later steps cannot
 * fail, or check the same index again. */
#include "engine/bind/bind.h"
#include "engine/tile/tile.h"
#include "kernels/meta/point.h"

/* Returns whether the kernel cannot fail, whatever its elements are, except for lack of memory. */
static bool kernel_never_fails(const fnzi_krn_call *call) {
  switch ((fnzi_krn_fails)fnzi_kernel_facts(call->row)->fails) {
  case FNZI_FAILS_MAYBE:
    return false;
  case FNZI_FAILS_AS_POINT:
    return call->noutputs && call->outputs[0] && fnzi_meta_point_is_plain(call);
  case FNZI_FAILS_NEVER:
    break;
  case FNZI_FAILS_WITH_TRUTHS:
    if (call->outputs[0]->geometry.dtype == FNZ_BOOL)
      return false;
    break;
  case FNZI_FAILS_WITH_DROPOUT:
    if (fnzi_krn_named_float(call, "dropout_p", 0) != 0)
      return false;
    break;
  case FNZI_FAILS_WITHOUT_STATISTICS:
    if (!fnzi_krn_named_bool(call, "training", false) &&
        !(fnzi_krn_named_array(call, "running_mean") && fnzi_krn_named_array(call, "running_var")))
      return false;
    break;
  }
  /* An argument is a complex scalar. Whether it fits is found out when it is converted. */
  bool has_complex_numbers = false;
  for (size_t i = 0; i < call->op->nparams && !has_complex_numbers; i++)
    has_complex_numbers = call->args[i].tag == FNZ_ARG_COMPLEX;
  return !has_complex_numbers;
}

bool fnzi_bnd_never_fails(const fnzi_stp_thunk *thunk) {
  if (thunk->kind == FNZI_STP_THUNK_MOVE || thunk->kind == FNZI_STP_THUNK_TILE)
    return true;
  if (thunk->kind == FNZI_STP_THUNK_REGION)
    return !thunk->u.nested->may_fail;
  if (thunk->kind != FNZI_STP_THUNK_KERNEL)
    return false;
  return !thunk->u.kernel.call.by_data && kernel_never_fails(&thunk->u.kernel.call);
}

/* Computes a key of the check that a write by an index makes before it writes: equal keys are equal
 * checks. NULL for other thunks. */
static fnz_status check_key(fnzi_arena *arena, const fnzi_stp_thunk *thunk, const void **key,
                            size_t *size) {
  int64_t *numbers;
  *key = NULL;
  if (thunk->kind != FNZI_STP_THUNK_KERNEL || thunk->u.kernel.call.row->run != FNZI_RUN_index_write)
    return FNZ_OK;
  const fnzi_krn_call *call = &thunk->u.kernel.call;
  const fnz_geometry *base = &fnzi_krn_call_input(call, 0)->window;
  FNZI_NEW(arena, 3 + (size_t)base->rank, &numbers);
  numbers[0] = (int64_t)(intptr_t)fnzi_krn_named_array(call, "index");
  numbers[1] = (int64_t)(intptr_t)call->op;
  numbers[2] = fnzi_krn_named_int(call, "dim", 0);
  for (uint32_t d = 0; d < base->rank; d++)
    numbers[3 + d] = base->sizes[d];
  *key = numbers;
  *size = (size_t)((const char *)(numbers + 3 + base->rank) - (const char *)numbers);
  return FNZ_OK;
}

/* Returns whether the buffer may be state. An output of a body may be bound to state. */
static bool is_state(const fnzi_stp_binding *b, uint32_t buffer) {
  uint8_t kind = b->plan.buffers.data[buffer].kind;
  return kind == FNZI_PLN_STATE || (b->is_body && kind == FNZI_PLN_OUT);
}

static void mark(fnzi_stp_binding *b, const fnzi_krn_storage *storage, bool *any) {
  uint32_t buffer = fnzi_stp_buffer_of(b, storage);
  if (buffer == FNZI_PLN_NONE || !is_state(b, buffer))
    return;
  *any = true;
  if (b->saved)
    b->saved[buffer] = true;
}

/* Marks the buffers of the state that the step writes. */
static bool writes_state(fnzi_stp_binding *b, const fnzi_stp_thunk *thunk, const fnzi_node *node) {
  bool any = false;
  if (thunk->kind == FNZI_STP_THUNK_MOVE) {
    mark(b, thunk->u.move.to, &any);
    return any;
  }
  if (thunk->kind == FNZI_STP_THUNK_TILE) {
    for (uint32_t k = 0; k < thunk->u.tile->nlanes; k++)
      if (thunk->u.tile->lanes[k].stores)
        mark(b, thunk->u.tile->lanes[k].storage, &any);
    return any;
  }
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE && b->values[each.arg->u.value])
      mark(b, b->values[each.arg->u.value]->storage, &any);
  return any;
}

/* Findings about a binding: a step writes the state, and a later step may fail. */
typedef struct finding {
  fnzi_arena scratch;
  fnzi_map checked;
  size_t most_bodies; /* bodies that a run may enter at most; a run fails if it enters more */
  bool written, fails_after_write;
  size_t first; /* the first thunk that writes the state */
} finding;

static fnz_status scan_thunks(fnzi_stp_binding *b, finding *f) {
  const void *key;
  uint64_t none;
  for (size_t i = 0; i < b->thunks.count; i++) {
    const fnzi_stp_thunk *thunk = &b->thunks.data[i];
    const fnzi_node *node =
        thunk->node == FNZI_PLN_NONE ? NULL : fnzi_node_at(b->program, 0, thunk->node);
    bool written_before = f->written, writes = writes_state(b, thunk, node);
    bool is_endless = thunk->kind == FNZI_STP_THUNK_REGION && b->most_bodies > f->most_bodies;
    size_t size = 0;
    FNZ_TRY(check_key(&f->scratch, thunk, &key, &size));
    bool was_checked = key && fnzi_map_get(&f->checked, key, size, &none); /* by an earlier one */
    bool fails = !was_checked && !fnzi_bnd_never_fails(thunk);
    if (key && !was_checked)
      FNZ_TRY(fnzi_map_set(&f->checked, key, size, 0));
    f->written = written_before || writes;
    f->first = written_before || !writes ? f->first : i;
    f->fails_after_write =
        f->fails_after_write || (written_before && fails) ||
        (writes && thunk->kind == FNZI_STP_THUNK_REGION && thunk->u.nested->fails_after_write) ||
        (f->written && is_endless);
  }
  return FNZ_OK;
}

static fnz_status find_failures(fnz_context *ctx, fnzi_stp_binding *b, size_t most_bodies,
                                finding *f) {
  *f = (finding){.most_bodies = most_bodies, .first = SIZE_MAX};
  bool has_state = false; /* without one a run changes no existing memory */
  for (uint32_t i = 0; i < b->plan.buffers.count; i++)
    has_state = has_state || is_state(b, i);
  if (!has_state)
    return FNZ_OK;
  fnzi_arena_init(&f->scratch, ctx);
  fnzi_map_init(&f->checked, ctx);
  fnz_status status = scan_thunks(b, f);
  fnzi_map_free(&f->checked);
  fnzi_arena_free(&f->scratch);
  return status;
}

fnz_status fnzi_bnd_undo_fails_after_write(fnz_context *ctx, fnzi_stp_binding *b, bool repeats,
                                           bool *fails_after_write) {
  finding f;
  FNZ_TRY(find_failures(ctx, b, SIZE_MAX, &f));
  *fails_after_write = f.fails_after_write;
  for (size_t i = 0; i < b->thunks.count && repeats && f.written; i++)
    *fails_after_write = *fails_after_write || !fnzi_bnd_never_fails(&b->thunks.data[i]);
  return FNZ_OK;
}

fnz_status fnzi_bnd_undo_plan(fnz_context *ctx, fnzi_stp_binding *b, size_t most_bodies) {
  finding f;
  FNZI_NEW(&b->arena, b->plan.buffers.count, &b->saved);
  fnz_status status = find_failures(ctx, b, most_bodies, &f);
  const bool fails_after_write = f.fails_after_write;
  for (size_t i = 0; fails_after_write && i < b->plan.buffers.count; i++)
    b->saved_bytes += b->saved[i] ? b->plan.buffers.data[i].bytes : 0;
  b->first_write = fails_after_write ? SIZE_MAX : f.first;
  return status;
}

/* Copies the buffers of the state to `saved`, or back from there. */
static void copy_saved(const fnzi_stp_binding *b, unsigned char *saved, bool is_saving) {
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    size_t bytes = b->saved[i] ? b->plan.buffers.data[i].bytes : 0;
    if (bytes == 0)
      continue;
    memcpy(is_saving ? saved : b->storages[i].data, is_saving ? b->storages[i].data : saved, bytes);
    saved += bytes;
  }
}

fnz_status fnzi_bnd_undo_keep(fnz_workspace *ws, const fnzi_stp_binding *b) {
  if (b->saved_bytes == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_stp_enlarge(ws, &ws->saved, &ws->saved_bytes, b->saved_bytes));
  copy_saved(b, ws->saved, true);
  return FNZ_OK;
}

void fnzi_bnd_undo(const fnz_workspace *ws, const fnzi_stp_binding *b) {
  if (b->saved_bytes)
    copy_saved(b, ws->saved, false);
}
