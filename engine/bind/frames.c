/* frames.c - runs the thunks of a binding, and the thunks of bodies of its regions, on a stack of
 * frames that was made with the binding.
 *
 * Regions run their bodies as in run/loops.c, but results are written to their places. */
#include "engine/bind/bind.h"
#include "engine/tile/tile.h"

#include <time.h>

/* --- Times ------------------------------------------------------------------------------------ */
uint64_t fnzi_bnd_time_now(const fnz_workspace *ws) {
  struct timespec t;
  if (!ws->measures)
    return 0;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static fnz_status clear_times(fnz_workspace *ws, fnzi_stp_binding *b) {
  static const char *const kinds[] = {"kernel",      "evaluated", "move",
                                      "interpreted", "group",     "region"};
  b->first_time = ws->ntimes;
  for (size_t i = 0; i < b->thunks.count; i++) {
    const fnzi_stp_thunk *thunk = &b->thunks.data[i];
    fnz_step_time *time = &ws->times[b->first_time + thunk->time];
    if (i > 0 && thunk->time == b->thunks.data[i - 1].time)
      continue;
    ws->ntimes++;
    *time = (fnz_step_time){.kind = kinds[thunk->kind],
                            .target = "",
                            .of = "",
                            .sets = thunk->sets ? thunk->sets->count : 1};
    if (thunk->node != FNZI_PLN_NONE) {
      uint32_t whole = fnzi_stp_whole_node(b, thunk->node);
      time->target = fnzi_node_target(fnzi_node_at(b->program, 0, thunk->node));
      time->of = fnzi_node_target(fnzi_node_at(b->whole, b->graph, whole));
    }
    FNZ_TRY(fnzi_stp_step_names(ws, b, &b->plan.steps.data[i], time));
  }
  return FNZ_OK;
}

void fnzi_bnd_time_add(fnz_workspace *ws, const fnzi_stp_binding *b, size_t thunk, uint64_t began) {
  if (ws->measures)
    ws->times[b->first_time + b->thunks.data[thunk].time].ns += fnzi_bnd_time_now(ws) - began;
}

/* --- Entering bodies -------------------------------------------------------------------------- */
static fnz_status enter(fnz_workspace *ws, fnzi_stp_frame *f, uint32_t which) {
  if (++ws->bodies_entered > ws->ctx->limits.turns)
    return fnzi_fail(ws->ctx, FNZ_CLASS_LIMIT, "",
                     "bodies of higher-order operators have been run %zu times, which is the most "
                     "that one run may do",
                     ws->ctx->limits.turns);
  f->b = f->nested->bodies[which];
  f->next = 0;
  f->end = f->b->thunks.count;
  return FNZ_OK;
}

static bool holds(const fnzi_stp_nested *n) {
  unsigned char cells[16] = {0};
  fnz_arg number;
  if (!n->predicate)
    return n->is_true;
  memcpy(cells, n->predicate->data + n->predicate_offset, fnzi_dtype(n->predicate_dtype)->bytes);
  if (!fnzi_run_decode_number(n->predicate_dtype, cells, &number))
    return false; /* such a type was refused before */
  return number.tag == FNZ_ARG_FLOAT ? number.u.f != 0 : number.u.i != 0;
}

/* --- Associative scans --------------------------------------------------------------------------
 *
 * As in run/loops.c: level 0 is the slices, level l + 1 the combined pairs of level l. Going up
 * again, place 2j + 1 of a level is place j of the one above, and place 2j the combination of place
 * j - 1 above with itself. */
static unsigned char *element_at(const fnzi_stp_link *level, int64_t k) {
  return level->from->data + level->offset + k * level->step;
}

static void set_operands(const fnzi_stp_frame *f) {
  for (uint32_t k = 0; k < f->nested->noperands; k++) {
    const fnzi_stp_scan_operand *t = &f->nested->operands[k];
    const fnzi_stp_link *left = f->up ? &t->up[f->level] : &t->down[f->level];
    const fnzi_stp_link *right = f->up ? &t->down[f->level - 1] : left;
    const fnzi_stp_link *out = f->up ? &t->up[f->level - 1] : &t->down[f->level + 1];
    if (!t->bytes)
      continue;
    t->left->data = element_at(left, f->up ? f->index - 1 : 2 * f->index);
    t->right->data = element_at(right, f->up ? 2 * f->index : 2 * f->index + 1);
    t->out->data = element_at(out, f->up ? 2 * f->index : f->index);
  }
}

/* Copies the elements of a level going up that are combined from nothing: the first one, and all of
 * the level above. */
static void share_elements(const fnzi_stp_frame *f) {
  int64_t count = fnzi_pln_level_size(f->nested->niterations, f->level - 1);
  for (uint32_t k = 0; k < f->nested->noperands; k++) {
    const fnzi_stp_scan_operand *t = &f->nested->operands[k];
    const fnzi_stp_link *above = &t->up[f->level], *to = &t->up[f->level - 1];
    if (!t->bytes)
      continue;
    memcpy(element_at(to, 0), element_at(&t->down[f->level - 1], 0), t->bytes);
    for (int64_t j = 0; 2 * j + 1 < count; j++)
      memcpy(element_at(to, 2 * j + 1), element_at(above, j), t->bytes);
  }
}

static fnz_status next_pair(fnz_workspace *ws, fnzi_stp_frame *f, bool *done) {
  const fnzi_stp_nested *n = f->nested;
  *done = n->niterations < 2;
  if (!f->up && f->index == fnzi_pln_level_size(n->niterations, f->level) / 2) {
    f->level++;
    f->index = 0;
    f->up = fnzi_pln_level_size(n->niterations, f->level) < 2;
  }
  if (!*done && f->up) {
    for (; f->level > 0; f->level--, f->index = 0) {
      if (f->index == 0)
        share_elements(f);
      f->index += f->index == 0;
      if (2 * f->index < fnzi_pln_level_size(n->niterations, f->level - 1))
        break;
    }
    *done = f->level == 0;
  }
  if (*done)
    return FNZ_OK;
  set_operands(f);
  return enter(ws, f, 0);
}

/* --- All kinds -------------------------------------------------------------------------------- */
/* Enters the next body of the region, after `iteration` of them. */
static fnz_status next_body(fnz_workspace *ws, fnzi_stp_frame *f, bool *done) {
  const fnzi_stp_nested *n = f->nested;
  switch (n->kind) {
  case FNZI_HOP_WHILE_LOOP:
    *done = f->in_condition && !holds(n);
    f->in_condition = !f->in_condition;
    return *done ? FNZ_OK : enter(ws, f, f->in_condition ? 0 : 1);
  case FNZI_HOP_MAP:
  case FNZI_HOP_SCAN:
    *done = f->iteration == n->niterations;
    for (size_t i = 0; i < n->nsliced && f->iteration && !*done; i++)
      if (n->links[0][i].to->data)
        n->links[0][i].to->data += n->links[0][i].step;
    f->iteration++;
    return *done ? FNZ_OK : enter(ws, f, 0);
  case FNZI_HOP_ASSOCIATIVE_SCAN:
    if (f->iteration++)
      f->index++;
    return next_pair(ws, f, done);
  default:
    *done = f->iteration++ > 0;
    return *done ? FNZ_OK : enter(ws, f, holds(n) ? 0 : 1);
  }
}

/* Opens the region whose thunk is next in frame *depth, or continues the region that is open above
 * it. Until the region is done, *depth is the frame of its body. */
static fnz_status step_region(fnz_workspace *ws, fnzi_stp_frame *frames, uint32_t *depth,
                              bool opens) {
  fnzi_stp_frame *outer = &frames[*depth], *f = outer + 1;
  bool done;
  if (opens) {
    const fnzi_stp_nested *n = outer->b->thunks.data[outer->next].u.nested;
    for (uint32_t which = 0; which < 2 && n->bodies[which]; which++)
      for (size_t i = 0; i < n->nlinks[which]; i++) {
        const fnzi_stp_link *link = &n->links[which][i];
        link->to->data = link->from && link->from->data ? link->from->data + link->offset : NULL;
      }
    for (size_t i = 0; i < n->ninitial_moves; i++)
      fnzi_stp_move_run(&n->initial_moves[i]);
    *f = (fnzi_stp_frame){.nested = n};
  }
  uint64_t began = fnzi_bnd_time_now(ws);
  fnz_status status = next_body(ws, f, &done);
  for (size_t i = 0; status == FNZ_OK && done && i < f->nested->nfinal_moves; i++)
    fnzi_stp_move_run(&f->nested->final_moves[i]);
  fnzi_bnd_time_add(ws, outer->b, outer->next, began);
  FNZ_TRY(status);
  outer->next += done;
  *depth += !done;
  return FNZ_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */
static fnz_status step(fnz_workspace *ws, fnzi_stp_frame *frames, uint32_t *depth) {
  fnzi_stp_frame *f = &frames[*depth];
  if (f->next == f->end) { /* of a body */
    --*depth;
    return step_region(ws, frames, depth, false);
  }
  const fnzi_stp_thunk *thunk = &f->b->thunks.data[f->next];
  if (thunk->kind == FNZI_STP_THUNK_REGION)
    return step_region(ws, frames, depth, true);
  uint64_t began = fnzi_bnd_time_now(ws);
  bool at_once = thunk->sets && f->next + thunk->sets->count <= f->end;
  if (at_once)
    fnzi_tile_sets_run(thunk->sets, f->b->registers);
  else
    FNZ_TRY(fnzi_bnd_thunk_run(ws, f->b, thunk));
  fnzi_bnd_time_add(ws, f->b, f->next, began);
  f->next += at_once ? thunk->sets->count : 1;
  return FNZ_OK;
}

/* Runs thunks `first` to before `end`. The caller may cancel the run before thunk `cancels`. */
static fnz_status run_acts(fnz_workspace *ws, fnzi_stp_binding *b, size_t first, size_t end,
                           size_t cancels) {
  uint32_t depth = 0;
  b->frames[0] = (fnzi_stp_frame){.b = b, .next = first, .end = end};
  while (depth || b->frames[0].next < end) {
    const size_t at = b->frames[0].next;
    if (at < cancels)
      FNZ_TRY(fnzi_task_at(ws->ctx, at));
    else
      fnzi_task_show(ws->ctx, at);
    fnz_status status = step(ws, b->frames, &depth);
    if (status != FNZ_OK) {
      const uint32_t node = ws->refusing_node
                                ? ws->refusing_node - 1
                                : b->frames[depth].b->thunks.data[b->frames[depth].next].node;
      ws->refusing_node = 0;
      return fnzi_stp_at_node(ws, b->frames[depth].b, node, status);
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_bnd_frames_open(fnz_workspace *ws, fnzi_stp_binding *b) {
  size_t count = b->thunks.count;
  ws->bodies_entered = 0;
  if (!ws->measures)
    return FNZ_OK;
  for (size_t i = 0; i < b->bodies.list.count; i++)
    count += b->nested[i].thunks.count;
  unsigned char *times = (unsigned char *)ws->times;
  fnz_status status = fnzi_stp_enlarge(ws, &times, &ws->times_bytes, count * sizeof *ws->times);
  ws->times = (fnz_step_time *)(void *)times;
  ws->ntimes = 0;
  FNZ_TRY(status);
  FNZ_TRY(clear_times(ws, b));
  for (size_t i = 0; i < b->bodies.list.count; i++)
    if (!b->bodies.regions.data[b->bodies.list.data[i].region].why)
      FNZ_TRY(clear_times(ws, &b->nested[i]));
  return FNZ_OK;
}

fnz_status fnzi_bnd_frames_run_thunk(fnz_workspace *ws, fnzi_stp_binding *b, size_t i) {
  return run_acts(ws, b, i, i + 1, 0);
}

fnz_status fnzi_bnd_frames_run(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_task_begin(ws->ctx, "run", "steps", b->thunks.count);
  return fnzi_task_end(ws->ctx, run_acts(ws, b, 0, b->thunks.count, b->first_write));
}
