/* write_twin_check.c - refuses calls that eager refuses, before a functional twin is used: each
 * written tensor is compared with itself, with the tensors that are read and with the other written
 * ones.
 *
 * needs   the call with its slots
 * keeps   no pair of tensors unseen that may share memory, without looking at every pair
 * gives   OVERLAP, BOUNDS or UNSUPPORTED; else the slices or the order by which the call means what
 *         eager's loop does */
#include "functionalize/wrapper/interval_index.h"
#include "functionalize/wrapper/write_twin.h"

/* An elementwise operator resizes an argument that it only writes, even where that is not recorded.
 */
static bool is_resized(const fnzi_wrap_slot *s, fnz_tensor *const *reads, size_t nreads) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target);
  uint32_t rank = 0;
  bool same = true;
  for (size_t i = 0; i < nreads; i++)
    rank = fnzi_wrap_geometry(reads[i])->rank > rank ? fnzi_wrap_geometry(reads[i])->rank : rank;
  for (uint32_t k = 1; k <= g->rank && same; k++) {
    int64_t size = 1; /* of an elementwise result along dimension -k */
    for (size_t i = 0; i < nreads && size == 1; i++) {
      const fnz_geometry *read = fnzi_wrap_geometry(reads[i]);
      size = k <= read->rank ? read->sizes[read->rank - k] : 1;
    }
    same = size == g->sizes[g->rank - k];
  }
  return nreads && (rank != g->rank || !same);
}

/* The tensors of a call. */
typedef struct operands {
  fnz_tensor **reads;
  size_t nreads;
  fnzi_wrap_interval_index index; /* of all targets and reads */
} operands;

static fnz_status find_loop(const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                            const operands *all, fnzi_loop *loop) {
  const fnz_geometry **seen;
  *loop = (fnzi_loop){.slices = c->slices};
  if (!s->target->alias->repeats)
    return FNZ_OK;
  FNZI_NEW(&c->wrapper->scratch, all->nreads, &seen);
  const fnz_geometry *target = fnzi_wrap_geometry(s->target);
  loop->reads_first = true; /* no element is read again after it was written */
  for (size_t i = 0; i < all->nreads; i++) {
    seen[i] = fnzi_wrap_geometry(all->reads[i]);
    if (loop->reads_first && fnzi_wrap_overlap(all->reads[i], s->target))
      loop->reads_first = fnzi_mutation_reading(&c->call, target, seen[i]) == FNZI_READING_FIRST;
  }
  return fnzi_mutation_loop_reads(&c->wrapper->scratch, &c->call, target, seen, all->nreads, loop);
}

static fnz_status keep_loop(fnzi_wrap_twin_call *c, fnzi_wrap_slot *s, const fnzi_loop *loop) {
  uint32_t *order;
  c->slices = loop->slices;
  if (!loop->in_order)
    return FNZ_OK;
  FNZI_NEW(&c->wrapper->scratch, fnzi_wrap_geometry(s->target)->rank, &order);
  fnzi_loop_order(fnzi_wrap_geometry(s->target), loop->reads, loop->nreads, order);
  s->order = order;
  return FNZ_OK;
}

/* A target against the operands that may share its memory. */
static fnz_status check_near(const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                             const operands *all, size_t own, fnzi_loop *loop) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target);
  size_t k, end;
  fnzi_wrap_interval_index_near(&all->index, own, &k, &end);
  for (; k < end; k++) {
    const fnz_tensor *t = all->index.intervals[k].tensor;
    const fnz_geometry *o = fnzi_wrap_geometry(t);
    bool is_operand = all->index.intervals[k].read && k != own && fnzi_wrap_shares(s->target, t);
    if (!is_operand || fnzi_mutation_reads_number(&c->call, o) ||
        fnzi_mutation_reads_whole(c->call.op, g, o))
      continue;
    if (loop && !c->request->is_slice)
      FNZ_TRY(fnzi_check_alike(c->wrapper->ctx, c->wrapper->ints, c->call.op, g, o));
    FNZ_TRY(fnzi_wrap_check_operand(c->call.op, s->target, t, fnzi_mutation_reading(&c->call, g, o),
                                    loop));
  }
  return FNZ_OK;
}

/* A target that shares memory with one before it. */
static bool meets_target(const fnzi_wrap_slot *s, const fnzi_wrap_interval_index *index,
                         size_t own) {
  size_t k, end;
  fnzi_wrap_interval_index_near(index, own, &k, &end);
  for (; k < end; k++) {
    const fnzi_wrap_interval *m = &index->intervals[k], *self = &index->intervals[own];
    bool is_before = k == own ? m->written > 1 : m->written && m->first < self->first;
    if (is_before && fnzi_wrap_overlap(m->tensor, s->target))
      return true;
  }
  return false;
}

/* One target against the tensors the twin reads, and against the other targets. */
static fnz_status check_slot(fnzi_wrap_twin_call *c, fnzi_wrap_slot *s, const operands *all,
                             size_t own) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target);
  size_t self_reads = all->index.intervals[own].read;
  bool may_grow = s->param->is_out && !self_reads;
  bool resized =
      s->resized || (c->call.elementwise && may_grow && is_resized(s, all->reads, all->nreads));
  fnzi_loop found, *loop = c->call.elementwise && !resized ? &found : NULL;
  if (loop)
    FNZ_TRY(find_loop(c, s, all, loop));
  FNZ_TRY(fnzi_check_gaps(c->wrapper->ctx, c->wrapper->ints, c->call.op, s->param, g));
  if (s->target->alias->repeats)
    FNZ_TRY(fnzi_check_target(c->wrapper->ctx, c->wrapper->ints, c->call.op, g,
                              fnzi_mutation_spread(&c->call, g), loop));
  if (fnzi_op_is_custom(c->call.op)) { /* reads all of its arguments first */
    c->on_bases = c->on_bases || (c->count > 1 && meets_target(s, &all->index, own));
    return FNZ_OK;
  }
  if (all->index.count > 1)
    FNZ_TRY(check_near(c, s, all, own, loop));
  for (size_t i = 0; i < all->nreads && c->call.elementwise && !may_grow; i++)
    FNZ_TRY(
        fnzi_check_broadcast(c->wrapper->ctx, c->call.op, g, fnzi_wrap_geometry(all->reads[i])));
  if (loop)
    FNZ_TRY(keep_loop(c, s, loop));
  if (c->call.elementwise && may_grow) {
    for (size_t i = 1; i < all->nreads; i++)
      for (size_t j = 0; j < i; j++)
        FNZ_TRY(fnzi_check_together(c->wrapper->ctx, c->call.op, fnzi_wrap_geometry(all->reads[j]),
                                    fnzi_wrap_geometry(all->reads[i])));
  }
  if (c->count > 1 && meets_target(s, &all->index, own))
    return fnzi_wrap_refuse_overlapping_targets(c->wrapper, c->call.op);
  return fnzi_check_own_reads(c->wrapper->ctx, &c->call, s->param, g, self_reads, s->resized);
}

fnz_status fnzi_wrap_twin_check(fnzi_wrap_twin_call *c) {
  fnz_tensor *one, **targets = &one;
  size_t ntargets = 0;
  operands all;
  FNZ_TRY(
      fnzi_wrap_tensor_args(c->wrapper, c->args, c->call.twin->nparams, &all.reads, &all.nreads));
  if (c->count > 1)
    FNZI_NEW(&c->wrapper->scratch, c->count, &targets);
  for (size_t k = 0; k < c->count; k++)
    if (c->slots[k].target)
      targets[ntargets++] = c->slots[k].target;
  FNZ_TRY(fnzi_wrap_interval_index_build(c->wrapper, targets, ntargets, all.reads, all.nreads,
                                         &all.index));
  for (size_t k = 0, i = 0; k < c->count; k++)
    if (c->slots[k].target)
      FNZ_TRY(check_slot(c, &c->slots[k], &all, all.index.interval_of[i++]));
  return FNZ_OK;
}

/* Eager checks for overlap before it resizes a target. If the resized one then overlaps an operand,
 * eager reads what it has written. An elementwise operator that also reads its target has other
 * sizes only where the program records wrong ones. */
fnz_status fnzi_wrap_twin_check_resized(const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                                        const fnz_geometry *resized) {
  fnz_tensor **reads;
  size_t nreads;
  bool meets = false;
  FNZ_TRY(fnzi_wrap_tensor_args(c->wrapper, c->args, c->call.twin->nparams, &reads, &nreads));
  for (size_t i = 0; i < nreads && !meets; i++)
    meets = !(c->call.elementwise && reads[i] == s->target) &&
            !fnzi_mutation_reads_whole(c->call.op, resized, fnzi_wrap_geometry(reads[i])) &&
            fnzi_wrap_overlap_as(s->target, resized, reads[i]);
  for (size_t k = 0; k < c->count && !meets; k++)
    meets = c->slots[k].target && &c->slots[k] != s &&
            fnzi_wrap_overlap_as(s->target, resized, c->slots[k].target);
  if (!meets)
    return FNZ_OK;
  return fnzi_fail_for(c->wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
                       "%s resizes `%s`, which then lies over another argument; clone() that one "
                       "first, or write into a tensor of the result's sizes",
                       c->call.op->name, s->param->name);
}
