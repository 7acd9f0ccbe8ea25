/* write_twin.c - in-place, out= and mutable operators by their functional twin: everything is read,
 * the twin is evaluated, and each written argument takes its result, cast to its own dtype.
 *
 * An operand that overlaps the target in a way that eager lets through is given eager's meaning by
 * applying the operator slice after slice (mutations/checks.c says when that is the same). */
#include "functionalize/wrapper/interval_index.h"
#include "functionalize/wrapper/write_rules.h"
#include "schema/aten_names.h"
#include "schema/facts/targets.h"
#include "schema/twins.h"

/* A result of the twin: a fresh one, or the new value of a written argument. */
typedef struct slot {
  const fnzi_param *param; /* NULL: a fresh result */
  fnz_tensor *target;
  const fnz_geometry *recorded; /* NULL: not known */
  const fnz_geometry *expected; /* of the twin */
  bool resized;                 /* an out= argument of other sizes than the result */
  const uint32_t *order;        /* of eager's loop, where the target overlaps itself; or NULL */
} slot;

typedef struct twin_call {
  const fnzi_wrap_route *route; /* of the operator */
  const fnz_op *twin;
  fnz_arg *args; /* of the twin */
  slot *slots;
  size_t count, nreturned; /* the first nreturned slots are results of the operator itself */
  bool elementwise;
  bool knows_own, casts_operand;
  fnz_dtype own; /* that the twin gives, for one target and unless it is elementwise */
  int slices;    /* -1, or the dimension of the target along which it goes slice after slice */
} twin_call;

/* The number of tensors of a parameter. */
static size_t items_of(const fnzi_param *p, const fnz_arg *a) {
  if (a->tag == FNZ_ARG_LIST)
    return a->count;
  return p->is_list ? 0 : 1;
}

/* The targets of one written parameter, a tensor or a list of them. */
static void add_slots(twin_call *c, const fnzi_wrap_request *r, size_t param) {
  const fnz_arg *a = &r->args[param], *items = a->tag == FNZ_ARG_LIST ? a->u.list : a;
  size_t n = items_of(&r->op->params[param], a);
  for (size_t k = 0; k < n; k++)
    c->slots[c->count++] =
        (slot){.param = &r->op->params[param],
               .target = items[k].tag == FNZ_ARG_VALUE ? items[k].u.tensor : NULL};
}

/* The length of a fresh list among the results: the number expected less all other results. */
static fnz_status fresh_list(fnz_world *world, const fnzi_wrap_request *r, size_t *length) {
  size_t others = 0, lists = 0;
  *length = 0;
  for (size_t i = 0; i < r->op->nreturns; i++) {
    bool is_list = r->op->returns[i].is_list;
    const fnzi_param *p = fnzi_op_returned(r->op, &r->op->returns[i]);
    lists += !p && is_list;
    others += p ? items_of(p, &r->args[p - r->op->params]) : !is_list;
  }
  if (lists && (lists > 1 || !r->expected || r->nexpected < others))
    return fnzi_fail(world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s writes an argument and returns %zu new lists of unknown length; return "
                     "single tensors, or one list in a recorded program",
                     r->op->name, lists);
  *length = lists ? r->nexpected - others : 0;
  return FNZ_OK;
}

static void note_recorded(const fnzi_wrap_request *r, slot *s, size_t k) {
  s->recorded = r->expected && k < r->nexpected ? r->expected[k] : NULL;
  s->resized = s->param && s->param->is_out && s->target && s->recorded &&
               !fnzi_same_sizes(s->recorded, fnzi_wrap_geometry(s->target));
}

/* In the order in which the twin returns them: the operator's own results, then every written
 * argument that is not among them. */
static fnz_status find_slots(fnz_world *world, const fnzi_wrap_request *r, twin_call *c) {
  const fnz_op *op = r->op;
  const fnzi_param *written;
  size_t length, room = op->nreturns;
  FNZ_TRY(fresh_list(world, r, &length));
  for (int i = 0; i < op->nparams; i++)
    room += r->args[i].tag == FNZ_ARG_LIST ? r->args[i].count : 1;
  FNZI_NEW(&world->scratch, room + length, &c->slots);
  for (int i = 0; i < op->nreturns; i++) {
    const fnzi_param *returned = fnzi_op_returned(op, &op->returns[i]);
    if (returned)
      add_slots(c, r, (size_t)(returned - op->params));
    else
      c->count += op->returns[i].is_list ? length : 1;
  }
  c->nreturned = c->count;
  for (fnzi_written_walk walk = {0};
       c->route->keeps_written && fnzi_written_next(op, &walk, &written);)
    add_slots(c, r, (size_t)(written - op->params));
  for (size_t k = 0; k < c->count; k++)
    note_recorded(r, &c->slots[k], k);
  return FNZ_OK;
}

static fnz_status twin_args(fnz_world *world, const fnzi_wrap_request *r, twin_call *c) {
  FNZI_NEW(&world->scratch, c->twin->nparams, &c->args);
  for (int j = 0; j < c->twin->nparams; j++) {
    int i = c->route->same_places ? j : fnzi_op_param(r->op, c->twin->params[j].name);
    if (i < 0 && j == 0)
      i = 0;    /* dropout_ calls `self` what dropout calls `input` */
    if (i >= 0) /* bernoulli_ has a default where bernoulli has none */
      c->args[j] = c->twin->params[j].has_default
                       ? r->args[i]
                       : fnzi_arg_get(r->op, r->args, r->op->nparams, (size_t)i);
  }
  return FNZ_OK;
}

static fnz_status wrong_dtype(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                              fnz_dtype target) {
  return fnzi_fail(world->ctx, FNZ_CLASS_TYPE, NULL,
                   "%s computes %s and takes no tensor of %s for it; give it one of %s",
                   r->op->name, fnzi_dtype(c->own)->name, fnzi_dtype(target)->name,
                   fnzi_dtype(c->own)->name);
}

/* Passes the target's dtype as dtype=. An operator that PyTorch generated from the functional one
 * does so only where that creates a tensor. */
static fnz_status pass_dtype(fnz_world *world, const fnzi_wrap_request *r, twin_call *c,
                             fnz_dtype target) {
  int at = fnzi_unsaid_dtype(c->twin, c->args);
  bool derived = (r->op->tags & FNZI_TAG_GENERATED) && fnzi_op_param(c->twin, "layout") < 0;
  if (at < 0 || derived)
    return c->knows_own ? wrong_dtype(world, r, c, target) : FNZ_OK;
  c->args[at] = fnzi_arg_dtype(target);
  return FNZ_OK;
}

/* A target of another dtype than the twin gives by itself. */
static fnz_status find_dtype(fnz_world *world, const fnzi_wrap_request *r, twin_call *c) {
  if (c->elementwise || c->count != 1 || !c->slots[0].target)
    return FNZ_OK;
  fnz_dtype target = fnzi_wrap_geometry(c->slots[0].target)->dtype;
  c->own = target;
  c->knows_own =
      fnzi_own_dtype(c->twin, c->args, c->twin->nparams, fnzi_wrap_arg_geometry, NULL, &c->own);
  if (c->knows_own && c->own == target)
    return FNZ_OK;
  switch (c->route->way) {
  case FNZI_OUT_DTYPE:
    return pass_dtype(world, r, c, target);
  case FNZI_OUT_OPERAND:
    c->casts_operand = c->knows_own;
    return !c->knows_own || fnzi_is_float(target) ? FNZ_OK : wrong_dtype(world, r, c, target);
  case FNZI_OUT_MIXED:
    return fnzi_fail(world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s into a tensor of %s computes one part in that and one in another dtype, "
                     "which no functional operator does; cast before or after",
                     r->op->name, fnzi_dtype(target)->name);
  case FNZI_OUT_EXACT:
  case FNZI_OUT_CAST:
    break;
  }
  return FNZ_OK;
}

/* The value of the first tensor in the dtype of the target. */
static fnz_status cast_operand(const twin_call *c, fnz_world *world, fnz_arg *args) {
  fnzi_value_ref *value;
  FNZ_TRY(fnzi_wrap_read_tensor(c->args[0].u.tensor, &value));
  FNZ_TRY(fnzi_wrap_cast(world, fnzi_wrap_geometry(c->slots[0].target)->dtype, &value));
  args[0].u.value = value->handle;
  return FNZ_OK;
}

/* How eager lays out an out= argument that it resizes to these sizes: an elementwise operator as
 * its operands are laid out, whatever the trace records; but an operator that PyTorch generated
 * from the functional one copies the result into rows. */
static fnz_status lay_out(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                          const slot *s, const fnz_geometry *sizes, fnz_geometry *out) {
  const fnz_geometry **operands;
  fnz_tensor **reads;
  size_t count;
  int64_t *strides;
  const bool is_generated = r->op->tags & FNZI_TAG_GENERATED;
  *out = *sizes;
  out->strides = s->recorded && fnzi_same_sizes(s->recorded, sizes) ? s->recorded->strides : NULL;
  if (!c->elementwise && !is_generated)
    return FNZ_OK;
  FNZ_TRY(fnzi_wrap_tensor_args(world, c->args, c->twin->nparams, &reads, &count));
  FNZI_NEW(&world->scratch, count, &operands);
  FNZI_NEW(&world->scratch, sizes->rank, &strides);
  for (size_t i = 0; i < count; i++)
    operands[i] = fnzi_wrap_geometry(reads[i]);
  fnzi_iterator_strides(operands, is_generated ? 0 : count, sizes->rank, sizes->sizes, strides);
  out->strides = strides;
  return FNZ_OK;
}

/* The geometry of each result before it is cast to its target's dtype. An out= argument
 * may have other sizes than the result; the recorded ones count. Promotion is about the first
 * result; further ones (the exponents of frexp) have dtypes of their own, which eager asks for. */
static fnz_status expect_slot(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                              slot *s) {
  const fnz_geometry *target = fnzi_wrap_geometry(s->target);
  fnz_dtype dtype = target->dtype;
  fnz_geometry resized;
  if (c->elementwise && s == c->slots)
    dtype = fnzi_op_result_dtype(c->twin, c->args, c->twin->nparams, fnzi_wrap_arg_geometry, NULL);
  else if (c->knows_own && c->route->way == FNZI_OUT_CAST)
    dtype = c->own;
  FNZ_TRY(fnzi_check_cast(world->ctx, r->op, dtype, target->dtype));
  if (dtype != target->dtype && fnzi_op_is_exact(c->twin))
    return fnzi_fail(world->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s computes %s, which it does not store in a tensor of %s; convert it with "
                     "to()",
                     r->op->name, fnzi_dtype(dtype)->name, fnzi_dtype(target->dtype)->name);
  if (!s->resized && (c->twin->tags & FNZI_TAG_RANDOM) && dtype == target->dtype)
    return fnzi_strided_like(&world->scratch, target, &s->expected);
  if (!s->resized)
    return fnzi_wrap_result_like(world, target, dtype, &s->expected);
  FNZ_TRY(lay_out(world, r, c, s, s->recorded, &resized));
  return fnzi_wrap_result_like(world, &resized, dtype, &s->expected);
}

static fnz_status expect(fnz_world *world, const fnzi_wrap_request *r, twin_call *c) {
  for (size_t k = 0; k < c->count; k++) {
    slot *s = &c->slots[k];
    if (!s->param)
      s->expected = s->recorded;
    else if (s->target)
      FNZ_TRY(expect_slot(world, r, c, s));
  }
  return FNZ_OK;
}

static bool is_derived_out(const fnzi_wrap_request *r) {
  return r->op->kind == FNZI_KIND_OUT && (r->op->tags & FNZI_TAG_GENERATED);
}

/* Argument i of the twin is the tensor that is written. */
static bool is_target(const twin_call *c, size_t i, const slot *s) {
  return c->args[i].tag == FNZ_ARG_VALUE && c->args[i].u.tensor == s->target;
}

/* The target is also the number that it is filled with, which eager reads first. */
static bool is_own_number(const twin_call *c, const slot *s) {
  bool fills = c->twin == &fnzi_ops[FNZI_ATEN_masked_fill__Tensor] ||
               c->twin == &fnzi_ops[FNZI_ATEN_index_fill__int_Tensor];
  return fills && is_target(c, c->twin->nparams - 1, s);
}

/* masked_scatter_ reads the mask in step with its writes; the source runs ahead, unless eager
 * copies that first or one element is written. How often the target may be either. */
static size_t own_scattered(const twin_call *c, const slot *s) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target);
  if (c->twin != &fnzi_ops[FNZI_ATEN_masked_scatter])
    return 0;
  bool in_time = fnz_geometry_numel(g) <= 1 || !fnzi_is_contiguous(g);
  return (is_target(c, 1, s) ? 1 : 0) + (in_time && is_target(c, 2, s) ? 1 : 0);
}

/* How often the written tensor may be an operand: eager reads some wholly before it writes. */
static size_t allowed_reads(const fnzi_wrap_request *r, const slot *s) {
  int param = fnzi_own_input(r->op, s->param);
  if (is_derived_out(r))
    return SIZE_MAX;
  bool is_there =
      param >= 0 && r->args[param].tag == FNZ_ARG_VALUE && r->args[param].u.tensor == s->target;
  return !s->param->is_out || (is_there && !s->resized) ? 1 : 0;
}

/* Reading the written tensor itself is what an in-place operator does, once. An operator that is
 * not elementwise and gets it as another argument too reads places that it has written already. */
static fnz_status check_self_reads(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                                   const slot *s, size_t reads) {
  if (c->elementwise || reads == 0 || fnz_geometry_numel(fnzi_wrap_geometry(s->target)) == 0)
    return FNZ_OK;
  size_t in_time = is_own_number(c, s) ? 1 : own_scattered(c, s);
  if (reads <= in_time || reads - in_time <= allowed_reads(r, s))
    return FNZ_OK;
  return fnzi_fail_for(world->ctx, FNZI_REASON_NO_WAY, FNZ_CLASS_OVERLAP, NULL,
                       "%s gets the tensor `%s`, which it writes, as another argument as well; "
                       "clone() that one",
                       r->op->name, s->param->name);
}

/* Whether an elementwise operator casts its operands to one dtype, and to which. */
static bool casts_to(const twin_call *c, fnz_dtype *common) {
  return c->elementwise && c->twin->nparams > 1 &&
         fnzi_op_common_dtype(c->twin, c->args, c->twin->nparams, fnzi_wrap_arg_geometry, NULL,
                              common);
}

/* Eager computes all results before it stores them where their dtype is not the target's. A bool
 * target takes the results of comparisons directly. */
static bool is_held_back(const twin_call *c, fnz_dtype target) {
  fnz_dtype common;
  return casts_to(c, &common) && target != common &&
         (target != FNZ_BOOL || c->twin->promotion != FNZI_PROMOTE_ALWAYS_BOOL);
}

/* A cast reads all of an operand before anything is written. */
static fnzi_reading reading_of(const fnzi_wrap_request *r, const twin_call *c, const slot *s,
                               const fnz_tensor *operand) {
  fnz_dtype common, target = fnzi_wrap_geometry(s->target)->dtype;
  if (fnzi_reads_whole(r->op, fnzi_wrap_geometry(s->target), fnzi_wrap_geometry(operand)))
    return FNZI_READING_FIRST;
  bool is_copied = is_held_back(c, target) ||
                   (casts_to(c, &common) && fnzi_wrap_geometry(operand)->dtype != common);
  return is_copied ? FNZI_READING_FIRST : FNZI_READING_IN_STEP;
}

/* The bytes between the elements are not the tensor's. */
static fnz_status check_gaps(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                             const slot *s) {
  if (!c->route->flat || fnzi_is_dense(fnzi_wrap_geometry(s->target)))
    return FNZ_OK;
  return fnzi_fail_for(world->ctx, FNZI_REASON_NO_WAY, FNZ_CLASS_UNSUPPORTED, NULL,
                       "%s walks over memory, and a tensor of `%s` has gaps there, into which it "
                       "would write; give it a contiguous one and copy_() that back",
                       r->op->name, s->param->name);
}

static fnz_status check_pairs(fnz_world *world, const fnzi_wrap_request *r,
                              fnz_tensor *const *reads, size_t nreads) {
  for (size_t i = 1; i < nreads; i++)
    for (size_t j = 0; j < i; j++)
      FNZ_TRY(fnzi_check_together(world->ctx, r->op, fnzi_wrap_geometry(reads[j]),
                                  fnzi_wrap_geometry(reads[i])));
  return FNZ_OK;
}

/* Which values are written to elements of a target that are the same memory. */
static fnzi_spread spread_of(const fnzi_wrap_request *r, const twin_call *c, const slot *s) {
  int64_t sizes[FNZ_MAX_RANK];
  fnz_geometry one;
  if (c->route->idempotent && is_target(c, 0, s))
    return FNZI_SPREAD_IDEMPOTENT;
  bool alike = fnzi_writes_alike(r->op, r->args, fnzi_wrap_geometry(s->target),
                                 fnzi_wrap_arg_geometry, NULL, sizes, &one) &&
               fnzi_oracle_relate_self(&one, FNZI_MUCH_WORK) == FNZI_DISJOINT;
  return alike ? FNZI_SPREAD_CONSTANT : FNZI_SPREAD_ANY;
}

/* The size of an elementwise result along dimension -k. */
static int64_t joined_size(fnz_tensor *const *reads, size_t nreads, uint32_t k) {
  int64_t size = 1;
  for (size_t i = 0; i < nreads && size == 1; i++) {
    const fnz_geometry *g = fnzi_wrap_geometry(reads[i]);
    size = k <= g->rank ? g->sizes[g->rank - k] : 1;
  }
  return size;
}

/* An elementwise operator resizes an argument that it only writes, even where that is not recorded.
 */
static bool is_resized(const slot *s, fnz_tensor *const *reads, size_t nreads) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target);
  uint32_t rank = 0;
  bool same = true;
  for (size_t i = 0; i < nreads; i++)
    rank = fnzi_wrap_geometry(reads[i])->rank > rank ? fnzi_wrap_geometry(reads[i])->rank : rank;
  for (uint32_t k = 1; k <= g->rank && same; k++)
    same = joined_size(reads, nreads, k) == g->sizes[g->rank - k];
  return nreads && (rank != g->rank || !same);
}

/* The tensors of a call. */
typedef struct operands {
  fnz_tensor **reads;
  size_t nreads;
  fnzi_wrap_interval_index index; /* of all targets and reads */
} operands;

/* The geometries of the operands in eager's loop. Results that it computes first are a tensor in
 * rows. */
static fnz_status loop_reads(fnz_world *world, const twin_call *c, const slot *s,
                             fnz_tensor *const *reads, fnzi_loop *loop) {
  const fnz_geometry **seen;
  const fnz_geometry *target = fnzi_wrap_geometry(s->target);
  fnz_dtype common;
  bool casts = casts_to(c, &common);
  FNZI_NEW(&world->scratch, loop->nreads + 1, &seen);
  loop->reads = seen;
  if (is_held_back(c, target->dtype)) {
    loop->nreads = 1;
    return fnzi_contiguous_like(&world->scratch, target, &seen[0]);
  }
  for (size_t i = 0; i < loop->nreads; i++) {
    seen[i] = fnzi_wrap_geometry(reads[i]);
    if (casts && seen[i]->dtype != common)
      FNZ_TRY(fnzi_wrap_result_like(world, seen[i], common, &seen[i]));
  }
  return FNZ_OK;
}

/* No element is read again after it was written. */
static bool reads_first(const fnzi_wrap_request *r, const twin_call *c, const slot *s,
                        fnz_tensor *const *reads, size_t nreads) {
  for (size_t i = 0; i < nreads; i++)
    if (fnzi_wrap_overlap(reads[i], s->target) &&
        reading_of(r, c, s, reads[i]) != FNZI_READING_FIRST)
      return false;
  return true;
}

static fnz_status find_loop(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                            const slot *s, const operands *all, fnzi_loop *loop) {
  *loop = (fnzi_loop){.nreads = all->nreads, .slices = c->slices};
  if (!s->target->alias->repeats)
    return FNZ_OK;
  loop->reads_first = reads_first(r, c, s, all->reads, all->nreads);
  return loop_reads(world, c, s, all->reads, loop);
}

static fnz_status keep_loop(fnz_world *world, const fnzi_loop *loop, twin_call *c, slot *s) {
  uint32_t *order;
  c->slices = loop->slices;
  if (!loop->in_order)
    return FNZ_OK;
  FNZI_NEW(&world->scratch, fnzi_wrap_geometry(s->target)->rank, &order);
  fnzi_loop_order(fnzi_wrap_geometry(s->target), loop->reads, loop->nreads, order);
  s->order = order;
  return FNZ_OK;
}

/* An operand in the memory of the target. */
static fnz_status check_shared(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                               const slot *s, const fnz_tensor *operand, fnzi_loop *loop) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target), *o = fnzi_wrap_geometry(operand);
  if (loop && !r->is_slice)
    FNZ_TRY(fnzi_check_alike(world->ctx, r->op, g, o));
  return fnzi_check_operand(world->ctx, r->op, g, o, fnzi_wrap_root_geometry(s->target),
                            reading_of(r, c, s, operand), loop);
}

/* A target against the operands that may share its memory. */
static fnz_status check_near(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                             const slot *s, const operands *all, size_t own, fnzi_loop *loop) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target);
  size_t k, end;
  fnzi_wrap_interval_index_near(&all->index, own, &k, &end);
  for (; k < end; k++) {
    const fnz_tensor *t = all->index.intervals[k].tensor;
    bool is_operand = all->index.intervals[k].read && k != own && fnzi_wrap_shares(s->target, t);
    if (is_operand && !fnzi_reads_whole(r->op, g, fnzi_wrap_geometry(t)))
      FNZ_TRY(check_shared(world, r, c, s, t, loop));
  }
  return FNZ_OK;
}

/* A target that shares memory with one before it. */
static bool meets_target(const slot *s, const fnzi_wrap_interval_index *index, size_t own) {
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
static fnz_status check_slot(fnz_world *world, const fnzi_wrap_request *r, twin_call *c, slot *s,
                             const operands *all, size_t own) {
  const fnz_geometry *g = fnzi_wrap_geometry(s->target);
  size_t self_reads = all->index.intervals[own].read;
  bool may_grow = s->param->is_out && !self_reads;
  bool resized =
      s->resized || (c->elementwise && may_grow && is_resized(s, all->reads, all->nreads));
  fnzi_loop found, *loop = c->elementwise && !resized ? &found : NULL;
  if (loop)
    FNZ_TRY(find_loop(world, r, c, s, all, loop));
  FNZ_TRY(check_gaps(world, r, c, s));
  if (s->target->alias->repeats)
    FNZ_TRY(fnzi_check_target(world->ctx, r->op, g, spread_of(r, c, s), loop));
  if (fnzi_op_is_custom(r->op)) /* reads all of its arguments first */
    return FNZ_OK;
  if (all->index.count > 1)
    FNZ_TRY(check_near(world, r, c, s, all, own, loop));
  for (size_t i = 0; i < all->nreads && c->elementwise && !may_grow; i++)
    FNZ_TRY(fnzi_check_broadcast(world->ctx, r->op, g, fnzi_wrap_geometry(all->reads[i])));
  if (loop)
    FNZ_TRY(keep_loop(world, loop, c, s));
  if (c->elementwise && may_grow)
    FNZ_TRY(check_pairs(world, r, all->reads, all->nreads));
  if (c->count > 1 && meets_target(s, &all->index, own))
    return fnzi_wrap_refuse_overlapping_targets(world, r->op);
  return check_self_reads(world, r, c, s, self_reads);
}

static fnz_status check_slots(fnz_world *world, const fnzi_wrap_request *r, twin_call *c) {
  fnz_tensor *one, **targets = &one;
  size_t ntargets = 0;
  operands all;
  FNZ_TRY(fnzi_wrap_tensor_args(world, c->args, c->twin->nparams, &all.reads, &all.nreads));
  if (c->count > 1)
    FNZI_NEW(&world->scratch, c->count, &targets);
  for (size_t k = 0; k < c->count; k++)
    if (c->slots[k].target)
      targets[ntargets++] = c->slots[k].target;
  FNZ_TRY(
      fnzi_wrap_interval_index_build(world, targets, ntargets, all.reads, all.nreads, &all.index));
  for (size_t k = 0, i = 0; k < c->count; k++)
    if (c->slots[k].target)
      FNZ_TRY(check_slot(world, r, c, &c->slots[k], &all, all.index.interval_of[i++]));
  return FNZ_OK;
}

/* Eager checks for overlap before it resizes a target. If the resized one then overlaps an operand,
 * eager reads what it has written. An elementwise operator that also reads its target has other
 * sizes only where the program records wrong ones. */
static fnz_status check_resized(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                                const slot *s, const fnz_geometry *resized) {
  fnz_tensor **reads;
  size_t nreads;
  bool meets = false;
  FNZ_TRY(fnzi_wrap_tensor_args(world, c->args, c->twin->nparams, &reads, &nreads));
  for (size_t i = 0; i < nreads && !meets; i++)
    meets = !(c->elementwise && reads[i] == s->target) &&
            !fnzi_reads_whole(r->op, resized, fnzi_wrap_geometry(reads[i])) &&
            fnzi_wrap_overlap_as(s->target, resized, reads[i]);
  for (size_t k = 0; k < c->count && !meets; k++)
    meets = c->slots[k].target && &c->slots[k] != s &&
            fnzi_wrap_overlap_as(s->target, resized, c->slots[k].target);
  if (!meets)
    return FNZ_OK;
  return fnzi_fail_for(world->ctx, FNZI_REASON_NO_WAY, FNZ_CLASS_OVERLAP, NULL,
                       "%s resizes `%s`, which then lies over another argument; clone() that one "
                       "first, or write into a tensor of the result's sizes",
                       r->op->name, s->param->name);
}

static fnz_status resize(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                         const slot *s, const fnz_geometry *sizes) {
  fnz_geometry like, resized;
  FNZ_TRY(lay_out(world, r, c, s, sizes, &like));
  FNZ_TRY(fnzi_wrap_resized_geometry(world, s->target, &like, &resized));
  FNZ_TRY(check_resized(world, r, c, s, &resized));
  return fnzi_wrap_resize(world, r->op, s->target, &like);
}

/* An out= argument of other sizes is resized first, as eager does. */
static fnz_status store(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                        const slot *s, fnzi_value_ref *value) {
  FNZ_TRY(fnzi_wrap_cast(world, fnzi_wrap_geometry(s->target)->dtype, &value));
  if (!fnzi_same_sizes(value->geometry, fnzi_wrap_geometry(s->target))) {
    if (!s->param->is_out)
      return fnzi_fail(world->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: the result does not have the sizes of `%s`; give it those sizes",
                       r->op->name, s->param->name);
    FNZ_TRY(resize(world, r, c, s, value->geometry));
  }
  return s->order ? fnzi_wrap_write_in_order(world, r->op, s->target, value, s->order)
                  : fnzi_wrap_write(s->target->alias, value);
}

/* In the order of the operator's arguments, which matters where two of a custom operator overlap.
 */
static fnz_status store_all(fnz_world *world, const fnzi_wrap_request *r, const twin_call *c,
                            size_t first) {
  for (size_t i = 0; i < r->op->nparams; i++)
    for (size_t k = 0; k < c->count; k++) {
      const slot *s = &c->slots[k];
      fnzi_value_ref *value = world->fresh.data[first + k];
      if (s->param == &r->op->params[i] && s->target && value)
        FNZ_TRY(store(world, r, c, s, value));
    }
  return FNZ_OK;
}

static fnz_status give_all(fnz_world *world, fnzi_wrap_request *r, const twin_call *c,
                           size_t first) {
  for (size_t k = 0; k < c->nreturned; k++)
    FNZ_TRY(c->slots[k].param ? fnzi_wrap_give(world, r, c->slots[k].target)
                              : fnzi_wrap_give_fresh(world, r, world->fresh.data[first + k]));
  return FNZ_OK;
}

static bool all_known(const twin_call *c, const fnzi_wrap_request *r) {
  for (size_t k = 0; k < c->count; k++)
    if (!c->slots[k].expected && (c->slots[k].target || !r->expected))
      return false;
  return true;
}

/* --- slice after slice ------------------------------------------------------------------------ */
/* A dimension along which all elements of the target are the same memory and get the same value; -1
 * for none, and for elementwise operators. */
static int repeated_dim(const fnzi_wrap_request *r, const twin_call *c) {
  const fnz_tensor *target = c->count == 1 && !c->elementwise ? c->slots[0].target : NULL;
  if (!target || spread_of(r, c, &c->slots[0]) != FNZI_SPREAD_CONSTANT)
    return -1;
  const fnz_geometry *g = fnzi_wrap_geometry(target);
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->strides[d] == 0 && g->sizes[d] > 1)
      return (int)d;
  return -1;
}

/* What eager reads before anything is written there is the same in all slices: a tensor of its own,
 * which the request holds. */
static fnz_status read_first(fnz_world *world, fnzi_wrap_request *r, const twin_call *c,
                             fnz_arg *args) {
  const slot *s = &c->slots[0];
  for (size_t i = 0; i < r->op->nparams; i++) {
    fnz_tensor *t = args[i].tag == FNZ_ARG_VALUE ? args[i].u.tensor : NULL;
    fnzi_value_ref *value;
    if (!t || t == s->target || !fnzi_wrap_overlap(t, s->target) ||
        !fnzi_is_read_first(fnzi_wrap_geometry(s->target), fnzi_wrap_geometry(t),
                            reading_of(r, c, s, t)))
      continue;
    FNZ_TRY(fnzi_wrap_read_tensor(t, &value));
    FNZ_TRY(fnzi_wrap_hold_fresh(world, r, value, &args[i].u.tensor));
  }
  return FNZ_OK;
}

static fnz_status in_slices(fnz_world *world, fnzi_wrap_request *r, const twin_call *c) {
  fnz_arg *args;
  FNZI_NEW(&world->scratch, r->op->nparams, &args);
  memcpy(args, r->args, r->op->nparams * sizeof *args);
  FNZ_TRY(read_first(world, r, c, args));
  r->args = args;
  return fnzi_wrap_write_slices(world, r, c->slots[0].target, c->slices);
}

fnz_status fnzi_wrap_write_twin(fnz_world *world, fnzi_wrap_request *r,
                                const fnzi_wrap_route *route) {
  twin_call c = {.route = route, .twin = route->twin, .slices = -1};
  const fnz_geometry **expected;
  fnz_arg *args;
  size_t first, count;
  bool done;
  c.elementwise = fnzi_op_is_elementwise(c.twin);
  FNZ_TRY(twin_args(world, r, &c));
  if (route->uncast)
    FNZ_TRY(fnzi_wrap_check_tensors_alike(world, c.twin, c.args));
  FNZ_TRY(fnzi_wrap_write_masked(world, r, c.elementwise, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(find_slots(world, r, &c));
  FNZ_TRY(check_slots(world, r, &c));
  if (c.slices >= 0 && c.count == 1)
    return in_slices(world, r, &c);
  int dim = repeated_dim(r, &c);
  if (dim >= 0)
    return fnzi_wrap_write_first_slice(world, r, c.slots[0].target, dim);
  FNZ_TRY(find_dtype(world, r, &c));
  FNZ_TRY(expect(world, r, &c));
  FNZI_NEW(&world->scratch, c.count, &expected);
  for (size_t k = 0; k < c.count; k++)
    expected[k] = c.slots[k].expected;
  FNZ_TRY(fnzi_wrap_read_args(world, c.args, c.twin->nparams, &args));
  if (c.casts_operand)
    FNZ_TRY(cast_operand(&c, world, args));
  FNZ_TRY(fnzi_wrap_apply_values(world, c.twin, args, c.twin->nparams,
                                 all_known(&c, r) ? expected : NULL, c.count, &first, &count));
  if (count != c.count)
    return fnzi_fail(world->ctx, FNZ_CLASS_INTERNAL, NULL, "%s gave %zu results for %s, wanted %zu",
                     c.twin->name, count, r->op->name, c.count);
  FNZ_TRY(store_all(world, r, &c, first));
  return give_all(world, r, &c, first);
}
