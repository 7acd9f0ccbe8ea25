/* simplify_scatters.c - scatters of which less would do.
 *
 *   it puts back what it found         the base
 *   it covers all of its base          what it puts there, seen in the base's shape
 *   it covers what the last one put    over that one's base
 *   a run along one dimension          one cat or stack, when the pieces cover that dimension
 *
 * keeps   the numbers and the geometry of every result */
#include "views/tiling.h"
#include "functionalize/recorder/simplify.h"

/* --- one scatter ------------------------------------------------------------------------------ */
/* The window that a scatter writes, in the frame of its result; NULL when that cannot be said. */
static fnz_status find_window(fnzi_tidy *t, const fnzi_tape_node *n, uint32_t value,
                              const fnz_geometry **out) {
  const fnzi_tidy_op row = *fnzi_tidy_op_of(t, n->op);
  const fnz_op *view = row.scattered;
  const fnz_geometry *frame;
  fnz_geometry *opened;
  fnz_arg *args;
  size_t count;
  *out = NULL;
  FNZI_NEW(t->scratch, view->nparams, &args);
  memcpy(args + 1, n->args + 2, (view->nparams - 1u) * sizeof *args);
  FNZ_TRY(fnzi_tidy_frame(t, value, false, &frame));
  fnz_status status =
      fnzi_view_forward(t->scratch, row.view, view, args, view->nparams, frame, &opened, &count);
  if (status == FNZ_NO_MEMORY)
    return status;
  if (status == FNZ_OK && count == 1 && fnz_geometry_numel(opened) > 0 &&
      fnzi_self_relation(opened, FNZI_LITTLE_WORK) == FNZI_DISJOINT)
    *out = opened;
  return FNZ_OK;
}

/* The source is what the base shows at this place. */
static bool puts_back(const fnzi_tidy *t, const fnzi_sight *put) {
  const fnzi_sight *s = fnzi_sight_of(t, put->source);
  return s && s->kind == FNZI_SIGHT_SEEN && !s->real && s->base == put->base &&
         fnzi_same_layout(s->window, put->window);
}

/* Everything is covered: the source, seen in the shape of the base. */
static fnz_status overwrite(fnzi_tidy *t, uint32_t node, const fnzi_sight *put, bool *done) {
  const fnz_geometry *frame, *all;
  fnzi_tape_node *n = &t->tape->nodes.data[node];
  const fnz_op *op;
  fnz_arg *args;
  FNZ_TRY(fnzi_tidy_frame(t, put->value, false, &frame));
  const bool same = fnzi_same_layout(put->window, frame);
  const bool all_of_it = fnz_geometry_numel(put->window) == fnz_geometry_numel(frame);
  if (!fnzi_tidy_agreed(t, same ? 2 : all_of_it) || !all_of_it)
    return FNZ_OK;
  if (same)
    return fnzi_tidy_replace(t, node, put->value, put->source, done);
  all = frame;
  FNZ_TRY(fnzi_tidy_one_step(t, put->window, all, false, &op, &args));
  if (!op)
    return FNZ_OK;
  args[0] = fnzi_arg_value((fnz_handle)put->source + 1);
  n->op = op;
  n->args = args;
  t->changed = *done = true;
  return FNZ_OK;
}

/* What the base put there before is covered: the base may be what that one was put into. */
static fnz_status skip_covered(fnzi_tidy *t, uint32_t node, const fnzi_sight *put) {
  const fnz_geometry *frame;
  uint32_t base = put->base;
  FNZ_TRY(fnzi_tidy_frame(t, put->value, false, &frame));
  for (int hops = 0; hops < FNZI_TIDY_HOPS; hops++) {
    const fnzi_sight *under = fnzi_sight_of(t, base);
    if (!under || under->kind != FNZI_SIGHT_PUT)
      break;
    fnzi_relation r = fnzi_decide(t->tape->program->decisions,
                                  fnzi_relate(put->window, under->window, frame, FNZI_LITTLE_WORK),
                                  put->window, under->window);
    if (r != FNZI_EQUAL && r != FNZI_CONTAINS)
      break;
    base = under->base;
  }
  return base == put->base
             ? FNZ_OK
             : fnzi_tidy_move(t, node, put->base, base, t->tape->nodes.data[node].op, NULL);
}

fnz_status fnzi_tidy_scatter(fnzi_tidy *t, uint32_t node, bool *ended) {
  const fnzi_tape_node *n = &t->tape->nodes.data[node];
  const fnzi_tape_value *values = t->tape->values.data;
  fnzi_sight put = {.kind = FNZI_SIGHT_PUT};
  bool done = false;
  *ended = false;
  if (n->count != 1 || n->args[0].tag != FNZ_ARG_VALUE || n->args[1].tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  put.value = t->tape->results.data[n->first] - 1;
  put.base = fnzi_tape_index(&n->args[0]);
  put.source = fnzi_tape_index(&n->args[1]);
  if (values[put.value].geometry->symbols || values[put.source].geometry->symbols ||
      values[put.value].geometry->dtype != values[put.source].geometry->dtype)
    return FNZ_OK;
  FNZ_TRY(find_window(t, n, put.value, &put.window));
  if (!put.window)
    return FNZ_OK;
  const bool back = puts_back(t, &put);
  if (fnzi_tidy_agreed(t, back) && back)
    FNZ_TRY(fnzi_tidy_replace(t, node, put.value, put.base, &done));
  if (!done)
    FNZ_TRY(overwrite(t, node, &put, &done));
  *ended = fnzi_sight_of(t, put.value) != NULL;
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_sight_add(t, &put));
  return skip_covered(t, node, &put);
}

/* --- runs ------------------------------------------------------------------------------------- */
/* The last one put is added first. */
static fnz_status add_piece(fnzi_tidy *t, fnzi_run *r, const fnzi_sight *put, bool *fits) {
  const fnz_geometry *frame;
  fnzi_arena_reset(t->scratch);
  FNZ_TRY(fnzi_tidy_frame(t, put->value, false, &frame));
  return fnzi_run_add(t->tape->ctx, r, frame, put->window, put->source, (uint32_t)r->pieces.count,
                      fits);
}

/* Nobody but the next scatter needs it. */
static bool is_inner(const fnzi_tidy *t, const fnzi_sight *s) {
  return s && s->kind == FNZI_SIGHT_PUT && s->uses == s->movable + 1 &&
         !t->tape->nodes.data[t->tape->values.data[s->value].node].wanted;
}

/* The last scatter takes all pieces at once; those before it are not needed any more. */
static fnz_status join(fnzi_tidy *t, const fnzi_run *r, uint32_t last) {
  fnzi_tape_node *n = &t->tape->nodes.data[t->tape->values.data[last].node];
  const fnz_op *op = fnzi_emitted_op(r->selects ? FNZI_EMIT_STACK : FNZI_EMIT_CAT);
  fnz_arg *args, *items;
  FNZI_NEW(&t->tape->program->arena, op->nparams, &args);
  FNZI_NEW(&t->tape->program->arena, r->pieces.count, &items);
  for (size_t i = 0; i < r->pieces.count; i++)
    items[i] = fnzi_arg_value((fnz_handle)r->pieces.data[i].source + 1);
  args[0] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)r->pieces.count, .u.list = items};
  args[1] = fnzi_arg_int(r->dim);
  n->op = op;
  n->args = args;
  t->changed = true;
  return FNZ_OK;
}

/* From the last scatter of a run down to its first. Each is looked at once: what a run has walked
 * over is no end of another one. */
static fnz_status one_run(fnzi_tidy *t, fnzi_run *r, fnzi_sight *last) {
  fnzi_sight *s = last, *under;
  size_t length = 0;
  bool fits = true;
  r->pieces.count = 0;
  FNZ_TRY(add_piece(t, r, last, &fits));
  for (; fits && is_inner(t, under = fnzi_sight_of(t, s->base)); length += fits) {
    FNZ_TRY(add_piece(t, r, under, &fits));
    under->walked = fits;
    s = under;
  }
  const bool all = r->pieces.count > 1 && fnzi_run_covers(r);
  if (!fnzi_tidy_agreed(t, all) || !all)
    return FNZ_OK;
  s = last;
  for (; length > 0; length--) {
    s = fnzi_sight_of(t, s->base);
    s->dies = true;
  }
  return join(t, r, last->value);
}

fnz_status fnzi_tidy_runs(fnzi_tidy *t) {
  fnzi_run r = {.pieces = {NULL, 0, 0}};
  fnz_status status = FNZ_OK;
  for (size_t i = t->sights.count; i-- > 0 && status == FNZ_OK;) {
    fnzi_sight *s = &t->sights.data[i];
    if (s->kind == FNZI_SIGHT_PUT && !s->walked && fnzi_sight_of(t, s->base))
      status = one_run(t, &r, s);
  }
  FNZI_VEC_FREE(t->tape->ctx, &r.pieces);
  return status;
}
