/* simplify_facts.c - facts about operators and about values that views and scatters gave, and which
 * values are equal. */
#include "views/tiling.h"
#include "functionalize/recorder/simplify.h"

/* --- which operators -------------------------------------------------------------------------- */
static fnzi_rec_op describe(const fnz_op *op) {
  fnzi_rec_op out = {.op = op, .class = FNZI_REC_OP_OTHER};
  if (fnz_op_is_mutating(op))
    return out;
  if (op == fnzi_emitted_op(FNZI_EMIT_CLONE))
    out.class = FNZI_REC_OP_CLONE;
  else if (op == fnzi_emitted_op(FNZI_EMIT_TO_COPY))
    out.class = FNZI_REC_OP_CAST;
  else if ((out.scattered = fnzi_view_scattered(op)) != NULL)
    out.class = FNZI_REC_OP_SCATTER;
  out.view = fnzi_view_find(out.scattered ? out.scattered : op);
  if (out.view && out.class == FNZI_REC_OP_OTHER)
    out.class = FNZI_REC_OP_VIEW;
  return out;
}

const fnzi_rec_op *fnzi_rec_op_of(fnzi_rec_simplifier *t, const fnz_op *op) {
  size_t home = (size_t)(op - fnzi_ops), k = 0;
  fnzi_rec_op *o;
  do
    o = &t->ops[(home + k++) % FNZI_REC_OPS];
  while (o->op && o->op != op && k < FNZI_REC_OPS_NEAR);
  if (o->op != op)
    *o = describe(op);
  return o;
}

/* --- frames ----------------------------------------------------------------------------------- */
static bool lies_at_start(const fnz_geometry *g) {
  return g->offset == 0 && !g->is_conj && !g->is_neg;
}

fnz_status fnzi_rec_simplify_frame(fnzi_rec_simplifier *t, uint32_t value, bool real,
                                   const fnz_geometry **out) {
  const fnz_geometry *g = t->tape->values.data[value].geometry;
  *out = g;
  if (real || fnzi_int_is_frame(t->tape->program->ints, g))
    return FNZ_OK;
  FNZ_TRY(fnzi_contiguous_like(t->tape->program->ints, t->scratch, g, out));
  return FNZ_OK;
}

/* --- equality --------------------------------------------------------------------------------- */
bool fnzi_rec_same_layout(const fnz_geometry *a, const fnz_geometry *b) {
  if (a == b)
    return true;
  if (a->dtype != b->dtype || a->offset != b->offset || a->is_conj != b->is_conj ||
      a->is_neg != b->is_neg || a->symbols || b->symbols || !fnzi_same_sizes(a, b))
    return false;
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] != 1 && a->strides[d] != b->strides[d])
      return false;
  return true;
}

/* A result of the program keeps all its strides, and is not replaced by an input or another result:
 * it is memory of its own. */
static bool may_return(const fnzi_rec_tape *tape, uint32_t value, uint32_t other) {
  const fnzi_rec_tape_value *a = &tape->values.data[value], *b = &tape->values.data[other];
  return a->geometry == b->geometry && b->node != FNZI_NO_NODE && !tape->nodes.data[b->node].wanted;
}

fnz_status fnzi_rec_simplify_replace(fnzi_rec_simplifier *t, uint32_t node, uint32_t value,
                                     uint32_t other, bool *done) {
  const fnzi_rec_tape *tape = t->tape;
  const fnz_geometry *a = tape->values.data[value].geometry, *b = tape->values.data[other].geometry;
  /* Real views keep also the strides that do not matter. */
  *done = (t->views == FNZ_VIEWS_KEEP ? a == b : fnzi_rec_same_layout(a, b)) &&
          (!tape->nodes.data[node].wanted || may_return(tape, value, other));
  if (!*done)
    return FNZ_OK;
  if (tape->nodes.data[node].wanted) /* `other` is the result now */
    t->tape->nodes.data[tape->values.data[other].node].wanted = true;
  const fnzi_rec_fact same = {.kind = FNZI_FACT_SAME, .value = value, .base = other};
  t->changed = true;
  return fnzi_rec_fact_add(t, &same);
}

/* --- the table -------------------------------------------------------------------------------- */
static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

static uint32_t bucket_of(const fnzi_rec_simplifier *t, uint32_t base, const fnz_geometry *w) {
  uint64_t h = mix(base, (uint64_t)w->offset);
  for (uint32_t d = 0; d < w->rank; d++)
    h = mix(h, (uint64_t)w->sizes[d]);
  return (uint32_t)(h % t->nbuckets);
}

/* `known`, which lives as long as the program, where the numbers are the same; else a copy. */
static fnz_status keep_numbers(fnzi_rec_simplifier *t, const int64_t *numbers, const int64_t *known,
                               uint32_t count, const int64_t **out) {
  int64_t *copy;
  uint32_t same = 0;
  while (known && same < count && numbers[same] == known[same])
    same++;
  *out = known;
  if (known && same == count)
    return FNZ_OK;
  FNZI_NEW(t->arena, count, &copy);
  for (uint32_t d = 0; d < count; d++)
    copy[d] = numbers[d];
  *out = copy;
  return FNZ_OK;
}

/* Copies the window of a fact. Mostly nothing is copied: the window is the geometry of the value,
 * or the window that was copied last, or has the sizes and strides of the value that it shows. */
static fnz_status keep_window(fnzi_rec_simplifier *t, fnzi_rec_fact *s) {
  const fnz_geometry *w = s->window, *known = t->tape->values.data[s->value].geometry;
  const uint32_t shown = s->kind == FNZI_FACT_SCATTER_INTO ? s->source : s->value;
  const fnz_geometry *like = t->tape->values.data[shown].geometry;
  fnz_geometry *kept;
  if (!w)
    return FNZ_OK;
  s->window = fnzi_geometry_equal(w, known) ? known : t->kept;
  if (s->window == known || (t->kept && fnzi_geometry_equal(w, t->kept)))
    return FNZ_OK;
  const bool same_rank = like->rank == w->rank;
  FNZI_NEW(t->arena, 1, &kept);
  *kept = *w;
  FNZ_TRY(keep_numbers(t, w->sizes, same_rank ? like->sizes : NULL, w->rank, &kept->sizes));
  FNZ_TRY(keep_numbers(t, w->strides, same_rank ? like->strides : NULL, w->rank, &kept->strides));
  s->window = t->kept = kept;
  return FNZ_OK;
}

/* The span of a scatter's window, and of its run. */
static fnz_status measure(fnzi_rec_simplifier *t, fnzi_rec_fact *scatter) {
  const fnzi_rec_fact *under = fnzi_rec_fact_of(t, scatter->base);
  const fnzi_rec_reach *below;
  fnzi_rec_reach *reach;
  FNZI_NEW(t->arena, 1, &reach);
  scatter->reach = reach;
  if (fnzi_int_is_symbolic(scatter->window) ||
      !fnzi_extent(scatter->window, &reach->span.low, &reach->span.high))
    reach->span = (fnzi_rec_span){1, 0};
  reach->run = reach->span;
  reach->start = scatter->base;
  if (!under || under->kind != FNZI_FACT_SCATTER_INTO ||
      under->window->dtype != scatter->window->dtype)
    return FNZ_OK;
  below = under->reach;
  if (!fnzi_rec_span_is_known(below->run) || !fnzi_rec_span_is_known(reach->span))
    return FNZ_OK;
  reach->start = below->start;
  reach->run.low = below->run.low < reach->run.low ? below->run.low : reach->run.low;
  reach->run.high = below->run.high > reach->run.high ? below->run.high : reach->run.high;
  return FNZ_OK;
}

fnz_status fnzi_rec_fact_add(fnzi_rec_simplifier *t, const fnzi_rec_fact *fact) {
  fnzi_rec_fact s = *fact;
  const uint32_t index = (uint32_t)t->facts.count + 1;
  FNZ_TRY(keep_window(t, &s));
  if (s.kind == FNZI_FACT_SCATTER_INTO)
    FNZ_TRY(measure(t, &s));
  if (s.kind == FNZI_FACT_VIEW_OF) {
    uint32_t *bucket = &t->buckets[bucket_of(t, s.base, s.window)];
    s.next = *bucket;
    *bucket = index;
  }
  FNZI_PUSH(t->tape->ctx, &t->facts, s);
  t->fact_at[s.value] = index;
  return FNZ_OK;
}

uint32_t fnzi_rec_fact_find(const fnzi_rec_simplifier *t, uint32_t base, bool real,
                            const fnz_geometry *window, const fnz_geometry *layout) {
  const fnzi_rec_fact *s;
  for (uint32_t i = t->buckets[bucket_of(t, base, window)]; i; i = s->next) {
    s = &t->facts.data[i - 1];
    if (s->base == base && s->real == real && fnzi_rec_same_layout(s->window, window) &&
        fnzi_rec_same_layout(t->tape->values.data[s->value].geometry, layout))
      return s->value;
  }
  return FNZI_NO_NODE;
}

/* --- one step --------------------------------------------------------------------------------- */
static bool shows_all(fnzi_ints *s, const fnz_geometry *frame, const fnz_geometry *window) {
  return window->dtype == frame->dtype && lies_at_start(window) &&
         fnzi_int_is_contiguous(s, window) && fnzi_int_is_contiguous(s, frame) &&
         fnzi_int_same(fnzi_int_numel(s, window), fnzi_int_numel(s, frame));
}

fnz_status fnzi_rec_simplify_step(fnzi_rec_simplifier *t, const fnz_geometry *frame,
                                  const fnz_geometry *window, bool real, const fnz_op **op,
                                  fnz_arg **args) {
  bool found;
  *op = NULL;
  if (t->views == FNZ_VIEWS_STRIDED)
    return FNZ_OK;
  FNZ_TRY(fnzi_path_box((fnzi_int_space){t->tape->program->ints, t->scratch}, frame, window,
                        t->path, &found));
  if (found && t->path->count == 1) {
    if (!real || fnzi_geometry_equal(t->path->steps[0].window, window)) {
      const fnzi_op_call *step = &t->path->steps[0].call;
      /* The arguments of the step end with its path. */
      *op = step->op;
      FNZ_TRY(fnzi_args_clone(&t->tape->program->arena, step->args, step->nargs, step->op->nparams,
                              args));
    }
  } else if (!real && shows_all(t->tape->program->ints, frame, window)) {
    *op = fnzi_op_of_step(FNZI_STEP_VIEW);
    FNZI_NEW(&t->tape->program->arena, (*op)->nparams, args);
    FNZ_TRY(fnzi_arg_of_sizes(&t->tape->program->arena, window, &(*args)[1]));
  }
  if (*op && !real)
    *op = fnzi_op_by_index((*op)->view_copy);
  return FNZ_OK;
}

fnz_status fnzi_rec_rebase_offer(fnzi_rec_simplifier *t, uint32_t node, uint32_t from,
                                 uint32_t base, const fnz_op *op, fnz_arg *args) {
  fnzi_rec_fact *s = fnzi_rec_fact_of(t, from);
  const fnzi_rec_rebase rebase = {node, from, base, fnz_op_is_view(op), op, args};
  /* An operator that counts places in memory finds them in a contiguous value. */
  const fnz_geometry *g = t->tape->values.data[base].geometry;
  const fnzi_view *view = fnzi_rec_op_of(t, op)->view;
  const bool may = !view || !fnzi_view_counts_from_storage(view) ||
                   (lies_at_start(g) && fnzi_int_is_contiguous(t->tape->program->ints, g));
  if (!may)
    return FNZ_OK;
  if (s)
    s->rebasable++;
  FNZI_PUSH(t->tape->ctx, &t->rebases, rebase);
  return FNZ_OK;
}
