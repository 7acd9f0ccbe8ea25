/* simplify_scatters.c - replaces scatters by less.
 *
 *   a scatter of the base's own elements       the base
 *   a scatter that covers all of its base      its source, in the shape of the base
 *   a scatter that covers the scatter below    a scatter into the base of the lower scatter
 *   a run that covers one dimension            one cat or stack
 *
 * keeps   the elements and the geometry of every result */
#include "views/tiling.h"
#include "functionalize/recorder/simplify.h"

/* --- one scatter ------------------------------------------------------------------------------ */
/* The window that a scatter writes, in the frame of its result; NULL when it is not known. */
static fnz_status find_window(fnzi_rec_simplifier *t, const fnzi_rec_tape_node *n, uint32_t value,
                              const fnz_geometry **out) {
  const fnzi_rec_op row = *fnzi_rec_op_of(t, n->op);
  const fnz_op *view = row.scattered;
  const fnz_geometry *frame;
  fnz_geometry *opened;
  fnz_arg *args;
  size_t count;
  *out = NULL;
  FNZI_NEW(t->scratch, view->nparams, &args);
  memcpy(args + 1, n->args + 2, (view->nparams - 1u) * sizeof *args);
  FNZ_TRY(fnzi_rec_simplify_frame(t, value, false, &frame));
  const fnzi_op_call call = {view, args, view->nparams};
  fnz_status status = fnzi_view_forward((fnzi_int_space){t->tape->program->ints, t->scratch},
                                        row.view, &call, frame, &opened, &count);
  if (fnzi_is_final(status))
    return status;
  if (status == FNZ_OK && count == 1 && !fnzi_int_is_empty(opened) &&
      fnzi_oracle_relate_self(t->tape->program->ints, opened, FNZI_LITTLE_WORK) == FNZI_DISJOINT)
    *out = opened;
  return FNZ_OK;
}

/* A scatter that covers all of its base becomes its source in the shape of the base. */
static fnz_status overwrite(fnzi_rec_simplifier *t, uint32_t node, const fnzi_rec_fact *scatter,
                            bool *done) {
  const fnz_geometry *frame, *all;
  fnzi_rec_tape_node *n = &t->tape->nodes.data[node];
  const fnz_op *op;
  fnz_arg *args;
  FNZ_TRY(fnzi_rec_simplify_frame(t, scatter->value, false, &frame));
  const bool same = fnzi_rec_same_layout(scatter->window, frame);
  fnzi_ints *s = t->tape->program->ints;
  const bool all_of_it =
      fnzi_int_same(fnzi_int_numel(s, scatter->window), fnzi_int_numel(s, frame));
  if (!all_of_it)
    return FNZ_OK;
  if (same)
    return fnzi_rec_simplify_replace(t, node, scatter->value, scatter->source, done);
  all = frame;
  FNZ_TRY(fnzi_rec_simplify_step(t, scatter->window, all, false, &op, &args));
  if (!op)
    return FNZ_OK;
  args[0] = fnzi_arg_value((fnz_handle)scatter->source + 1);
  n->op = op;
  n->args = args;
  t->changed = *done = true;
  return FNZ_OK;
}

/* Scatters below whose window is covered are skipped: their base becomes the base. */
static fnz_status skip_covered(fnzi_rec_simplifier *t, uint32_t node,
                               const fnzi_rec_fact *scatter) {
  const fnz_geometry *frame;
  uint32_t base = scatter->base;
  FNZ_TRY(fnzi_rec_simplify_frame(t, scatter->value, false, &frame));
  for (int hops = 0; hops < FNZI_REC_SCATTER_HOPS; hops++) {
    const fnzi_rec_fact *under = fnzi_rec_fact_of(t, base);
    if (!under || under->kind != FNZI_FACT_SCATTER_INTO)
      break;
    const fnzi_relation r = fnzi_oracle_relate(t->tape->program->ints, scatter->window,
                                               under->window, frame, FNZI_LITTLE_WORK);
    if (r != FNZI_EQUAL && r != FNZI_CONTAINS)
      break;
    base = under->base;
  }
  return base == scatter->base ? FNZ_OK
                               : fnzi_rec_rebase_offer(t, node, scatter->base, base,
                                                       t->tape->nodes.data[node].op, NULL);
}

fnz_status fnzi_rec_simplify_scatter(fnzi_rec_simplifier *t, uint32_t node, bool *ended) {
  const fnzi_rec_tape_node *n = &t->tape->nodes.data[node];
  const fnzi_rec_tape_value *values = t->tape->values.data;
  fnzi_rec_fact scatter = {.kind = FNZI_FACT_SCATTER_INTO};
  bool done = false;
  *ended = false;
  if (n->count != 1 || n->args[0].tag != FNZ_ARG_VALUE || n->args[1].tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  scatter.value = t->tape->results.data[n->first] - 1;
  scatter.base = fnzi_rec_tape_index(&n->args[0]);
  scatter.source = fnzi_rec_tape_index(&n->args[1]);
  if (values[scatter.value].geometry->symbols || values[scatter.source].geometry->symbols ||
      values[scatter.value].geometry->dtype != values[scatter.source].geometry->dtype)
    return FNZ_OK;
  FNZ_TRY(find_window(t, n, scatter.value, &scatter.window));
  if (!scatter.window)
    return FNZ_OK;
  /* The source is what the base shows at this place. */
  const fnzi_rec_fact *s = fnzi_rec_fact_of(t, scatter.source);
  const bool back = s && s->kind == FNZI_FACT_VIEW_OF && !s->real && s->base == scatter.base &&
                    fnzi_rec_same_layout(s->window, scatter.window);
  if (back)
    FNZ_TRY(fnzi_rec_simplify_replace(t, node, scatter.value, scatter.base, &done));
  if (!done)
    FNZ_TRY(overwrite(t, node, &scatter, &done));
  *ended = fnzi_rec_fact_of(t, scatter.value) != NULL;
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_rec_fact_add(t, &scatter));
  return skip_covered(t, node, &scatter);
}

/* --- runs ------------------------------------------------------------------------------------- */
/* The last scatter is added first. */
static fnz_status add_piece(fnzi_rec_simplifier *t, fnzi_tiling *r, const fnzi_rec_fact *scatter,
                            bool *fits) {
  const fnz_geometry *frame;
  fnzi_arena_reset(t->scratch);
  FNZ_TRY(fnzi_rec_simplify_frame(t, scatter->value, false, &frame));
  const fnzi_tile tile = {.source = scatter->source, .order = (uint32_t)r->tiles.count};
  return fnzi_tiling_add(t->tape->ctx, r, frame, scatter->window, tile, fits);
}

/* Only the next scatter uses it. */
static bool is_inner(const fnzi_rec_simplifier *t, const fnzi_rec_fact *s) {
  return s && s->kind == FNZI_FACT_SCATTER_INTO && s->uses == s->rebasable + 1 &&
         !t->tape->nodes.data[t->tape->values.data[s->value].node].wanted;
}

/* Walks from the last scatter of a run down to its first. A scatter inside of a run is not the last
 * of another run, so that each is walked over once. */
static fnz_status one_run(fnzi_rec_simplifier *t, fnzi_tiling *r, fnzi_rec_fact *last) {
  fnzi_rec_fact *s = last, *under;
  size_t length = 0;
  bool fits = true;
  r->tiles.count = 0;
  FNZ_TRY(add_piece(t, r, last, &fits));
  for (; fits && is_inner(t, under = fnzi_rec_fact_of(t, s->base)); length += fits) {
    FNZ_TRY(add_piece(t, r, under, &fits));
    under->walked = fits;
    s = under;
  }
  const bool all = r->tiles.count > 1 && fnzi_tiling_covers(r);
  if (!all)
    return FNZ_OK;
  s = last;
  for (; length > 0; length--) {
    s = fnzi_rec_fact_of(t, s->base);
    s->dies = true;
  }
  /* The last scatter becomes one node of all pieces; the others are not needed any more. */
  fnzi_rec_tape_node *n = &t->tape->nodes.data[t->tape->values.data[last->value].node];
  const fnz_op *op = fnzi_emitted_op(r->selects ? FNZI_EMIT_STACK : FNZI_EMIT_CAT);
  fnz_arg *args, *items;
  FNZI_NEW(&t->tape->program->arena, op->nparams, &args);
  FNZI_NEW(&t->tape->program->arena, r->tiles.count, &items);
  for (size_t i = 0; i < r->tiles.count; i++)
    items[i] = fnzi_arg_value((fnz_handle)r->tiles.data[i].source + 1);
  args[0] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)r->tiles.count, .u.list = items};
  args[1] = fnzi_arg_int(r->dim);
  n->op = op;
  n->args = args;
  t->changed = true;
  return FNZ_OK;
}

fnz_status fnzi_rec_simplify_runs(fnzi_rec_simplifier *t) {
  fnzi_tiling r = {.ints = t->tape->program->ints};
  fnz_status status = FNZ_OK;
  for (size_t i = t->facts.count; i-- > 0 && status == FNZ_OK;) {
    fnzi_rec_fact *s = &t->facts.data[i];
    if (s->kind == FNZI_FACT_SCATTER_INTO && !s->walked && fnzi_rec_fact_of(t, s->base))
      status = one_run(t, &r, s);
  }
  FNZI_VEC_FREE(t->tape->ctx, &r.tiles);
  return status;
}
