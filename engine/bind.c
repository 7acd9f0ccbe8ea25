/* bind.c - finds the binding for the inputs of a run, or makes a new one, on its device.
 *
 * needs   ws->inputs: the layouts of the inputs
 * gives   a binding for these sizes and layouts, which the workspace keeps
 */
#include "engine/engine.h"

/* --- The key ---------------------------------------------------------------------------------- */
static bool same_layout(const fnz_geometry *a, const fnz_geometry *b) {
  if (!a->sizes || !b)
    return !a->sizes == !b;
  if (a->dtype != b->dtype || a->rank != b->rank || a->offset != b->offset)
    return false;
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] != b->sizes[d] || a->strides[d] != b->strides[d])
      return false;
  return true;
}

static bool fits(const fnz_workspace *ws, const fnzi_stp_binding *b, bool with_state) {
  uint32_t count = fnzi_graph_main(ws->exe->program)->ninputs;
  if (b->with_state != with_state || b->uses_folded != ws->uses_folded ||
      (b->needs_threads && b->threads != fnzi_bnd_threads_of(ws)))
    return false;
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_stp_run_input *g = &ws->inputs[k];
    if (!same_layout(&b->layouts[k], g->layout) || (g->has_scalar && b->scalars[k] != g->scalar))
      return false;
  }
  return true;
}

/* --- What it takes ---------------------------------------------------------------------------- */
static void count_needs(fnzi_stp_binding *b) {
  fnz_needs *n = &b->needs;
  n->arena_bytes = b->arena_bytes;
  n->steps = b->thunks.count;
  for (size_t i = 0; i < b->thunks.count; i++) {
    const fnzi_stp_thunk *thunk = &b->thunks.data[i];
    if (thunk->kind == FNZI_STP_THUNK_INTERPRET)
      n->interpreted++;
    if (thunk->kind != FNZI_STP_THUNK_MOVE)
      continue;
    n->moves++;
    n->bytes_moved += 2 * (uint64_t)thunk->u.move.bytes;
    n->bytes_written += (uint64_t)thunk->u.move.bytes;
  }
}

/* --- Bindings that are kept ------------------------------------------------------------------- */
/* At most this many bytes may be used beside the arena while more than the fewest bindings are
 * kept: each binding has its own order of the weights of convolutions. */
enum { FEWEST = 8, MOST_BYTES = 256 << 20 };

/* Hashes sizes and numbers of inputs. Strides, and weights, hardly ever differ between runs. */
static uint64_t hash_given(const fnz_workspace *ws) {
  const uint32_t count = fnzi_graph_main(ws->exe->program)->ninputs;
  const uint64_t odd = 0x9e3779b97f4a7c15u;
  uint64_t hash = 0;
  for (uint32_t k = 0; k < count; k++) {
    const fnzi_stp_run_input *g = &ws->inputs[k];
    const fnzi_stp_input *in = &ws->exe->inputs[k];
    if (g->has_scalar)
      hash = (hash ^ (uint64_t)g->scalar) * odd;
    for (uint32_t d = 0; g->layout && (in->is_passed || in->in_state) && d < g->layout->rank; d++)
      hash = (hash ^ (uint64_t)g->layout->sizes[d]) * odd;
  }
  return hash;
}

static void end(fnz_workspace *ws, fnzi_stp_binding *b) {
  if (b->gpu)
    b->gpu->unbind(ws, b);
  fnzi_bnd_drop(ws, b);
  fnzi_free(ws->ctx, b, sizeof *b);
}

static void remove_at(fnz_workspace *ws, size_t i) {
  fnzi_stp_bindings *all = &ws->bindings;
  end(ws, all->data[i]);
  all->count--;
  all->data[i] = all->data[all->count];
  all->hashes[i] = all->hashes[all->count];
}

void fnzi_eng_bindings_end(fnz_workspace *ws) {
  while (ws->bindings.count)
    remove_at(ws, 0);
}

static fnz_status bind(fnz_workspace *ws, bool with_state, uint64_t hash, fnzi_stp_binding **out) {
  fnzi_stp_bindings *all = &ws->bindings;
  while (ws->bindings.count == FNZI_STP_BINDINGS ||
         /* All bindings share the packed weights of products, so they do not count. */
         (ws->bindings.count >= FEWEST &&
          ws->cache.used - ws->block_bytes - ws->machine->stock.packed_bytes > MOST_BYTES)) {
    /* The last run's binding is kept: its results stay until the next run. */
    size_t least = all->data[0] == ws->last;
    for (size_t i = least + 1; i < all->count; i++)
      if (all->data[i] != ws->last && all->data[i]->used < all->data[least]->used)
        least = i;
    remove_at(ws, least);
  }
  fnzi_stp_binding *b = fnzi_resize(ws->ctx, NULL, 0, sizeof *b);
  if (!b)
    return fnzi_no_memory(ws->ctx);
  memset(b, 0, sizeof *b);
  fnz_status status = fnzi_bnd_plan(ws, b, with_state);
  b->gpu = ws->exe->gpu;
  if (status == FNZ_OK && b->gpu)
    status = b->gpu->bind(ws, b);
  if (status != FNZ_OK) {
    end(ws, b);
    return status;
  }
  count_needs(b);
  all->hashes[all->count] = hash;
  all->data[all->count++] = *out = b;
  return FNZ_OK;
}

fnz_status fnzi_eng_binding_find(fnz_workspace *ws, bool with_state, fnzi_stp_binding **out) {
  fnzi_stp_binding *b = ws->last;
  ws->uses_folded = fnzi_eng_uses_folded(ws);
  if (!b || !fits(ws, b, with_state)) {
    const uint64_t hash = hash_given(ws);
    const fnzi_stp_bindings *all = &ws->bindings;
    b = NULL;
    for (size_t i = 0; !b && i < all->count; i++)
      if (all->hashes[i] == hash && fits(ws, all->data[i], with_state))
        b = all->data[i];
    if (!b)
      FNZ_TRY(bind(ws, with_state, hash, &b));
  }
  b->used = ++ws->runs;
  *out = b;
  return FNZ_OK;
}
