/* overlap.c - checks by address that the memory passed to a run does not overlap where rule R5
 * forbids it.
 *
 * needs   ws->inputs: the memory of inputs; ws->outputs, ws->arena_memory: the memory of outputs,
 * and the arena
 * gives   OVERLAP with both names, if two overlap and one of them is written. Inputs are written by
 *         the program (if a guard lists them), as a state or as donated memory; outputs and the
 *         arena always are
 *
 * The pieces stay sorted by address from run to run, so an unchanged run checks each piece once. */
#include "engine/steps/steps.h"
#include "views/views.h"

#include <stdlib.h>

static const char *name_of(const fnz_executable *exe, uint32_t k) {
  return fnzi_graph_main(exe->program)
      ->values.data[fnzi_graph_main(exe->program)->inputs[k].u.value]
      .name;
}

/* --- What the program says
 * ------------------------------------------------------------------------
 */
static bool names(const fnz_guard *guard, const char *name) {
  for (uint32_t i = 0; i < guard->count; i++)
    if (strcmp(guard->names[i], name) == 0)
      return true;
  return false;
}

static fnz_status mark_guarded(fnz_executable *exe, fnzi_map *inputs) {
  uint64_t input;
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++)
    if (exe->inputs[k].is_tensor)
      FNZ_TRY(fnzi_map_set(inputs, name_of(exe, k), strlen(name_of(exe, k)), k));
  for (size_t i = 0; i < fnz_program_guard_count(exe->program); i++) {
    const fnz_guard guard = fnz_program_guard(exe->program, i);
    for (uint32_t j = 0; guard.kind == FNZ_GUARD_DISJOINT && j < guard.count; j++)
      if (fnzi_map_get(inputs, guard.names[j], strlen(guard.names[j]), &input))
        exe->inputs[input].is_guarded = true;
  }
  return FNZ_OK;
}

fnz_status fnzi_stp_overlap_open(fnz_executable *exe) {
  fnzi_map inputs;
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++)
    exe->inputs[k].is_written = exe->program->inputs[k].written;
  for (size_t i = 0; i < fnzi_graph_main(exe->program)->noutputs; i++)
    if (exe->owners[i] != FNZI_PLN_NONE)
      exe->inputs[exe->owners[i]].is_written = true;
  if (fnz_program_guard_count(exe->program) == 0)
    return FNZ_OK;
  fnzi_map_init(&inputs, exe->ctx);
  fnz_status status = mark_guarded(exe, &inputs);
  fnzi_map_free(&inputs);
  return status;
}

/* --- Memory of a run -------------------------------------------------------------------------- */
/* Pieces of memory are numbered: inputs, OUTPUT slots, the arena. */
static uint32_t inputs_of(const fnz_workspace *ws) {
  return fnzi_graph_main(ws->exe->program)->ninputs;
}

static uint32_t pieces_of(const fnz_workspace *ws) {
  return inputs_of(ws) + (uint32_t)ws->exe->slots[FNZ_SIDE_OUTPUT].count + 1;
}

/* Returns output or arena piece `index`, which is no input. */
static const fnzi_stp_run_output *output_of(const fnz_workspace *ws, uint32_t index) {
  return index + 1 == pieces_of(ws) ? &ws->arena_memory : &ws->outputs[index - inputs_of(ws)];
}

static const fnz_geometry *layout_of(const fnz_workspace *ws, uint32_t index) {
  return index < inputs_of(ws) ? ws->inputs[index].layout : output_of(ws, index)->layout;
}

static const char *piece_name(const fnz_workspace *ws, uint32_t index) {
  if (index < inputs_of(ws))
    return name_of(ws->exe, index);
  return index + 1 == pieces_of(ws)
             ? "the arena"
             : ws->exe->slots[FNZ_SIDE_OUTPUT].data[index - inputs_of(ws)].info.name;
}

static bool is_passed(const fnz_workspace *ws, uint32_t index, bool with_state) {
  if (index >= inputs_of(ws))
    return output_of(ws, index)->data && output_of(ws, index)->bytes > 0;
  const fnzi_stp_input *in = &ws->exe->inputs[index];
  return in->is_tensor && ws->inputs[index].start &&
         fnz_geometry_numel(ws->inputs[index].layout) > 0 &&
         (in->is_passed || (with_state && in->in_state));
}

static uintptr_t first_byte(const fnz_workspace *ws, uint32_t index) {
  if (index >= inputs_of(ws))
    return (uintptr_t)output_of(ws, index)->data;
  const fnz_geometry *g = ws->inputs[index].layout;
  return (uintptr_t)ws->inputs[index].start +
         (uintptr_t)fnzi_krn_stride_bytes(g->offset, fnzi_dtype(g->dtype)->bytes);
}

static uintptr_t end_of(const fnz_workspace *ws, uint32_t index) {
  return index < inputs_of(ws)
             ? (uintptr_t)ws->inputs[index].start + ws->inputs[index].bytes
             : (uintptr_t)output_of(ws, index)->data + output_of(ws, index)->bytes;
}

/* Returns whether the output may be in the input's memory: the final value of a donated input
 * may. */
static bool is_in_place(const fnz_workspace *ws, uint32_t input, uint32_t out) {
  if (out + 1 == pieces_of(ws) || !ws->exe->inputs[input].is_donated)
    return false;
  const fnzi_stp_slot *slot = &ws->exe->slots[FNZ_SIDE_OUTPUT].data[out - inputs_of(ws)];
  const fnz_geometry *g = ws->inputs[input].layout, *h = output_of(ws, out)->layout;
  return !slot->is_member && ws->exe->owners[slot->output] == input && g->dtype == h->dtype &&
         fnzi_same_sizes(g, h) && fnzi_same_strides(g, h) &&
         first_byte(ws, input) == first_byte(ws, out);
}

/* Returns whether the two pieces must not overlap. */
static bool must_not_overlap(const fnz_workspace *ws, uint32_t a, uint32_t b) {
  const uint32_t count = inputs_of(ws);
  if (a >= count || b >= count)
    return (a >= count && b >= count) || !is_in_place(ws, a < count ? a : b, a < count ? b : a);
  const fnzi_stp_input *x = &ws->exe->inputs[a], *y = &ws->exe->inputs[b];
  const fnz_program *p = ws->exe->program;
  bool must_not = x->is_donated || y->is_donated || x->in_state || y->in_state;
  bool guarded = x->is_guarded && y->is_guarded && (x->is_written || y->is_written);
  if (x->memory == y->memory)
    return false;
  for (size_t i = 0; guarded && !must_not && i < fnz_program_guard_count(p); i++) {
    const fnz_guard guard = fnz_program_guard(p, i);
    must_not = guard.kind == FNZ_GUARD_DISJOINT && names(&guard, name_of(ws->exe, a)) &&
               names(&guard, name_of(ws->exe, b));
  }
  return must_not;
}

/* Says that two pieces share bytes; `a` begins before `b`. Windows of one type are compared element
 * by element. */
static bool share(const fnz_workspace *ws, uint32_t a, uint32_t b) {
  const fnz_geometry *g = layout_of(ws, a), *h = layout_of(ws, b);
  size_t cell = g ? fnzi_dtype(g->dtype)->bytes : 1, step = first_byte(ws, b) - first_byte(ws, a);
  if (!g || !h || cell != fnzi_dtype(h->dtype)->bytes || step % cell)
    return true;
  fnz_geometry x = *g, y = *h;
  x.offset = 0;
  y.offset = (int64_t)(step / cell);
  y.dtype = x.dtype;
  return fnzi_oracle_relate(NULL, &x, &y, NULL, FNZI_MUCH_WORK) != FNZI_DISJOINT;
}

/* A piece that a run is given. */
typedef struct seen {
  uintptr_t first, end; /* bytes */
  uint32_t index;
} seen;

/* Checks two pieces; `a` begins before `b`. */
static fnz_status check_pair(const fnz_workspace *ws, const seen *a, const seen *b) {
  if (a->end <= b->first || !must_not_overlap(ws, a->index, b->index) ||
      !share(ws, a->index, b->index))
    return FNZ_OK;
  const uint32_t index =
                     a->index > b->index ? a->index : b->index, /* an output rather than an input */
      other = a->index > b->index ? b->index : a->index;
  if (index >= inputs_of(ws))
    return fnzi_fail(
        ws->ctx, FNZ_CLASS_OVERLAP, piece_name(ws, index),
        "the memory given for it overlaps that of %s, and is written; give each memory "
        "of its own",
        piece_name(ws, other));
  return fnzi_fail(ws->ctx, FNZ_CLASS_OVERLAP, piece_name(ws, b->index),
                   "this input shares memory with %s, and one of them is written; give each memory "
                   "of its own",
                   piece_name(ws, a->index));
}

static int by_first(const void *a, const void *b) {
  uintptr_t x = ((const seen *)a)->first, y = ((const seen *)b)->first;
  return x < y ? -1 : x > y;
}

/* Sorts by insertion, because most pieces have the same address as in the last run. If that takes
 * too many moves, uses qsort. */
static void sort_by_address(seen *s, uint32_t count) {
  enum { FEW = 4 };
  size_t left = FEW * (size_t)count;
  for (uint32_t i = 1; i < count; i++) {
    const seen one = s[i];
    uint32_t to = i;
    for (; to > 0 && s[to - 1].first > one.first && left; to--, left--)
      s[to] = s[to - 1];
    s[to] = one;
  }
  if (!left)
    qsort(s, count, sizeof *s, by_first);
}

fnz_status fnzi_stp_overlap_check(fnz_workspace *ws, bool with_state) {
  /* ws->by_address has the order of addresses in the last run, and after it unseen pieces. */
  uint32_t *order = ws->by_address, count = 0, unseen = 0;
  uintptr_t reach = 0; /* where all before end */
  seen *s;
  FNZI_NEW(&ws->call_arena, pieces_of(ws), &s);
  for (uint32_t i = 0; i < pieces_of(ws); i++) {
    if (is_passed(ws, order[i], with_state))
      s[count++] = (seen){first_byte(ws, order[i]), end_of(ws, order[i]), order[i]};
    else
      s[pieces_of(ws) - ++unseen].index = order[i];
  }
  sort_by_address(s, count);
  for (uint32_t i = 0; i < pieces_of(ws); i++)
    order[i] = s[i].index;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = i; j-- > 0 && s[i].first < reach;)
      FNZ_TRY(check_pair(ws, &s[j], &s[i]));
    reach = s[i].end > reach ? s[i].end : reach;
  }
  return FNZ_OK;
}

/* --- Memory for an output --------------------------------------------------------------------- */
fnz_status fnzi_stp_output_set(fnz_workspace *ws, size_t i, const void *data,
                               const fnz_geometry *layout) {
  const char *name = ws->exe->slots[FNZ_SIDE_OUTPUT].data[i].info.name;
  const size_t cell = fnzi_dtype(layout->dtype)->bytes;
  int64_t low = 0, high = 0, bytes = 0;
  for (uint32_t d = 0; d < layout->rank; d++)
    if (layout->sizes[d] > 1 && layout->strides[d] < 0)
      return fnzi_fail(
          ws->ctx, FNZ_CLASS_BOUNDS, name,
          "the memory given for it has stride %lld in dimension %u; an output has none "
          "below zero",
          (long long)layout->strides[d], d);
  if ((uintptr_t)data % (cell > 8 ? 8 : cell))
    return fnzi_fail(ws->ctx, FNZ_CLASS_ARGUMENT, name,
                     "its elements do not lie at multiples of their size");
  fnz_geometry window = *layout;
  window.offset = 0;
  if (!fnzi_extent(&window, &low, &high) || !fnzi_mul_i64(high, (int64_t)cell, &bytes) ||
      (uintptr_t)data + (uintptr_t)bytes < (uintptr_t)data)
    return fnzi_fail(ws->ctx, FNZ_CLASS_BOUNDS, name,
                     "the memory given for it has strides that leave the address space");
  if (!fnzi_is_contiguous(layout) &&
      fnzi_oracle_relate_self(NULL, &window, FNZI_MUCH_WORK) != FNZI_DISJOINT)
    return fnzi_fail(ws->ctx, FNZ_CLASS_OVERLAP, name,
                     "the strides of the memory given for it show one element in several places; "
                     "give memory with a place for each element");
  ws->outputs[i] = (fnzi_stp_run_output){data, layout, (size_t)bytes};
  return FNZ_OK;
}
