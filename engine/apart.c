/* apart.c - inputs of a run that must share no memory, by address (rule R5).
 *
 * needs   ws->given: what the inputs look like
 * gives   OVERLAP with both names, where one of two that overlap is written: by the program, which
 *         says so in a guard, as a state, or as a donated input
 *
 * Inputs are kept in the order of their addresses from run to run, so that a run which finds them
 * as they were takes one look at each. */
#include "engine/engine.h"
#include "views/views.h"

static const fnzi_graph *graph_of(const fnz_executable *exe) {
  return fnzi_graph_at(exe->program, 0);
}

static const char *name_of(const fnz_executable *exe, uint32_t k) {
  return graph_of(exe)->values.data[graph_of(exe)->inputs[k].u.value].name;
}

/* --- What the program says
 * ------------------------------------------------------------------------
 */
static void mark_written(fnz_executable *exe) {
  for (uint32_t k = 0; k < graph_of(exe)->ninputs; k++)
    exe->inputs[k].is_written = exe->program->inputs[k].written;
  for (size_t i = 0; i < graph_of(exe)->noutputs; i++) {
    uint32_t owner = exe->owners[i];
    if (owner != FNZI_ENG_NONE)
      exe->inputs[owner].is_written = true;
  }
}

static bool names(const fnz_guard *guard, const char *name) {
  for (uint32_t i = 0; i < guard->count; i++)
    if (strcmp(guard->names[i], name) == 0)
      return true;
  return false;
}

static fnz_status index_names(const fnz_executable *exe, fnzi_map *inputs) {
  for (uint32_t k = 0; k < graph_of(exe)->ninputs; k++)
    if (exe->inputs[k].is_tensor)
      FNZ_TRY(fnzi_map_set(inputs, name_of(exe, k), strlen(name_of(exe, k)), k));
  return FNZ_OK;
}

static void mark_guarded(fnz_executable *exe, const fnzi_map *inputs) {
  uint64_t k;
  for (size_t i = 0; i < fnz_program_guard_count(exe->program); i++) {
    const fnz_guard guard = fnz_program_guard(exe->program, i);
    for (uint32_t j = 0; guard.kind == FNZ_GUARD_DISJOINT && j < guard.count; j++)
      if (fnzi_map_get(inputs, guard.names[j], strlen(guard.names[j]), &k))
        exe->inputs[k].is_guarded = true;
  }
}

fnz_status fnzi_eng_apart_find(fnz_executable *exe) {
  fnzi_map inputs;
  mark_written(exe);
  if (fnz_program_guard_count(exe->program) == 0)
    return FNZ_OK;
  fnzi_map_init(&inputs, exe->ctx);
  fnz_status status = index_names(exe, &inputs);
  if (status == FNZ_OK)
    mark_guarded(exe, &inputs);
  fnzi_map_free(&inputs);
  return status;
}

/* --- What a run is given
 * --------------------------------------------------------------------------
 */
static bool is_seen(const fnz_workspace *ws, uint32_t k, bool with_state) {
  const fnzi_eng_input *in = &ws->exe->inputs[k];
  return in->is_tensor && ws->given[k].start && fnz_geometry_numel(ws->given[k].layout) > 0 &&
         (in->by_caller || (with_state && in->in_state));
}

static uintptr_t first_byte(const fnz_workspace *ws, uint32_t k) {
  const fnz_geometry *g = ws->given[k].layout;
  return (uintptr_t)ws->given[k].start +
         (uintptr_t)fnzi_krn_stride_bytes(g->offset, fnzi_dtype(g->dtype)->bytes);
}

static uintptr_t end_of(const fnz_workspace *ws, uint32_t k) {
  return (uintptr_t)ws->given[k].start + ws->given[k].bytes;
}

/* The same guard names both. Few runs ask: inputs that share memory, one of which is written. */
static bool are_guarded(const fnz_executable *exe, uint32_t a, uint32_t b) {
  bool found = false;
  for (size_t i = 0; !found && i < fnz_program_guard_count(exe->program); i++) {
    const fnz_guard guard = fnz_program_guard(exe->program, i);
    found = guard.kind == FNZ_GUARD_DISJOINT && names(&guard, name_of(exe, a)) &&
            names(&guard, name_of(exe, b));
  }
  return found;
}

/* One of them is written where the other one is read. */
static bool must_be_apart(const fnz_workspace *ws, uint32_t a, uint32_t b) {
  const fnzi_eng_input *x = &ws->exe->inputs[a], *y = &ws->exe->inputs[b];
  bool guarded = x->is_guarded && y->is_guarded && (x->is_written || y->is_written);
  return x->memory != y->memory && (x->is_donated || y->is_donated || x->in_state || y->in_state ||
                                    (guarded && are_guarded(ws->exe, a, b)));
}

/* `a` begins before `b`. Windows of one type are compared element by element. */
static bool share(const fnz_workspace *ws, uint32_t a, uint32_t b) {
  const fnz_geometry *g = ws->given[a].layout, *h = ws->given[b].layout;
  size_t cell = fnzi_dtype(g->dtype)->bytes, step = first_byte(ws, b) - first_byte(ws, a);
  if (cell != fnzi_dtype(h->dtype)->bytes || step % cell)
    return true;
  fnz_geometry x = *g, y = *h;
  x.offset = 0;
  y.offset = (int64_t)(step / cell);
  y.dtype = x.dtype;
  return fnzi_oracle_relate(&x, &y, NULL, FNZI_MUCH_WORK) != FNZI_DISJOINT;
}

static fnz_status check_pair(const fnz_workspace *ws, uint32_t a, uint32_t b) {
  if (end_of(ws, a) <= first_byte(ws, b) || !must_be_apart(ws, a, b) || !share(ws, a, b))
    return FNZ_OK;
  return fnzi_fail(ws->ctx, FNZ_CLASS_OVERLAP, name_of(ws->exe, b),
                   "this input shares memory with %s, and one of them is written; give each memory "
                   "of its own",
                   name_of(ws->exe, a));
}

/* In the order of their first bytes; those that are not seen last. */
static void order_by_address(fnz_workspace *ws, bool with_state, uint32_t *seen) {
  uint32_t *order = ws->order;
  *seen = 0;
  for (uint32_t i = 0; i < graph_of(ws->exe)->ninputs; i++) {
    uint32_t k = order[i], at = i;
    if (!is_seen(ws, k, with_state))
      continue;
    for (; at > *seen; at--)
      order[at] = order[at - 1];
    for (; at > 0 && first_byte(ws, order[at - 1]) > first_byte(ws, k); at--)
      order[at] = order[at - 1];
    order[at] = k;
    ++*seen;
  }
}

fnz_status fnzi_eng_apart_check(fnz_workspace *ws, bool with_state) {
  uint32_t seen;
  uintptr_t reach = 0; /* where all before end */
  order_by_address(ws, with_state, &seen);
  for (uint32_t i = 0; i < seen; i++) {
    uint32_t k = ws->order[i];
    for (uint32_t j = i; j-- > 0 && first_byte(ws, k) < reach;)
      FNZ_TRY(check_pair(ws, ws->order[j], k));
    reach = end_of(ws, k) > reach ? end_of(ws, k) : reach;
  }
  return FNZ_OK;
}
