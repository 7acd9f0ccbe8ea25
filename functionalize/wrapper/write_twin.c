/* write_twin.c - in-place, out= and mutable operators by their functional twin: everything is read,
 * the twin is evaluated, and each written argument takes its result, cast to its own dtype.
 *
 * needs   a twin with the operator's arguments by name; what eager refuses is refused before
 *         (write_twin_check.c)
 * keeps   eager's meaning of an operand that overlaps the target in a way that eager lets through:
 *         the operator is applied slice after slice
 * gives   one call of the twin, and its results as the values of the written tensors */
#include "functionalize/wrapper/write_twin.h"
#include "schema/twins.h"

/* The number of tensors of a parameter. */
static size_t items_of(const fnzi_param *p, const fnz_arg *a) {
  if (a->tag == FNZ_ARG_LIST)
    return a->count;
  return p->is_list ? 0 : 1;
}

/* The targets of one written parameter, a tensor or a list of them. */
static void add_slots(fnzi_wrap_twin_call *c, const fnzi_wrap_request *r, size_t param) {
  const fnz_arg *a = &r->args[param], *items = a->tag == FNZ_ARG_LIST ? a->u.list : a;
  size_t n = items_of(&r->op->params[param], a);
  for (size_t k = 0; k < n; k++)
    c->slots[c->count++] =
        (fnzi_wrap_slot){.param = &r->op->params[param],
                         .target = items[k].tag == FNZ_ARG_VALUE ? items[k].u.tensor : NULL};
}

/* The length of a fresh list among the results: the number expected less all other results. */
static fnz_status fresh_list(fnz_wrapper *wrapper, const fnzi_wrap_request *r, size_t *length) {
  size_t others = 0, lists = 0;
  *length = 0;
  for (size_t i = 0; i < r->op->nreturns; i++) {
    bool is_list = r->op->returns[i].is_list;
    const fnzi_param *p = fnzi_op_returned(r->op, &r->op->returns[i]);
    lists += !p && is_list;
    others += p ? items_of(p, &r->args[p - r->op->params]) : !is_list;
  }
  if (lists && (lists > 1 || !r->expected || r->nexpected < others))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s writes an argument and returns %zu new lists of unknown length; return "
                     "single tensors, or one list in a recorded program",
                     r->op->name, lists);
  *length = lists ? r->nexpected - others : 0;
  return FNZ_OK;
}

static void note_recorded(const fnzi_wrap_request *r, fnzi_wrap_slot *s, size_t k) {
  s->recorded = r->expected && k < r->nexpected ? r->expected[k] : NULL;
  s->resized = s->param && s->param->is_out && s->target && s->recorded &&
               !fnzi_same_sizes(s->recorded, fnzi_wrap_geometry(s->target));
}

/* Finds the results of the twin, in its order: the operator's own results, then every written
 * argument that is not among them. */
static fnz_status find_slots(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                             fnzi_wrap_twin_call *c) {
  const fnz_op *op = r->op;
  const fnzi_param *written;
  size_t length, room = op->nreturns;
  FNZ_TRY(fresh_list(wrapper, r, &length));
  for (int i = 0; i < op->nparams; i++)
    room += r->args[i].tag == FNZ_ARG_LIST ? r->args[i].count : 1;
  FNZI_NEW(&wrapper->scratch, room + length, &c->slots);
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

static fnz_status twin_args(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                            fnzi_wrap_twin_call *c) {
  FNZI_NEW(&wrapper->scratch, c->call.twin->nparams, &c->args);
  c->call.twin_args = c->args;
  for (int j = 0; j < c->call.twin->nparams; j++) {
    int i = c->route->same_places ? j : fnzi_op_param(r->op, c->call.twin->params[j].name);
    if (i < 0 && j == 0)
      i = 0;    /* dropout_ calls `self` what dropout calls `input` */
    if (i >= 0) /* bernoulli_ has a default where bernoulli has none */
      c->args[j] = c->call.twin->params[j].has_default
                       ? r->args[i]
                       : fnzi_arg_get(r->op, r->args, r->op->nparams, (size_t)i);
  }
  return FNZ_OK;
}

static fnz_status wrong_dtype(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                              const fnzi_wrap_twin_call *c, fnz_dtype target) {
  return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                   "%s computes %s and takes no tensor of %s for it; give it one of %s",
                   r->op->name, fnzi_dtype(c->own)->name, fnzi_dtype(target)->name,
                   fnzi_dtype(c->own)->name);
}

/* Passes the target's dtype as dtype=. An operator that PyTorch generated from the functional one
 * does so only where that creates a tensor. */
static fnz_status pass_dtype(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                             fnzi_wrap_twin_call *c, fnz_dtype target) {
  int at = fnzi_unsaid_dtype(c->call.twin, c->args);
  bool derived = (r->op->tags & FNZI_TAG_GENERATED) && fnzi_op_param(c->call.twin, "layout") < 0;
  if (at < 0 || derived)
    return c->knows_own ? wrong_dtype(wrapper, r, c, target) : FNZ_OK;
  c->args[at] = fnzi_arg_dtype(target);
  return FNZ_OK;
}

/* A target of another dtype than the twin gives by itself. */
static fnz_status find_dtype(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                             fnzi_wrap_twin_call *c) {
  if (c->call.elementwise || c->count != 1 || !c->slots[0].target)
    return FNZ_OK;
  fnz_dtype target = fnzi_wrap_geometry(c->slots[0].target)->dtype;
  c->own = target;
  c->knows_own = fnzi_own_dtype(c->call.twin, c->args, c->call.twin->nparams,
                                fnzi_wrap_arg_geometry, NULL, &c->own);
  if (c->knows_own && c->own == target)
    return FNZ_OK;
  switch (c->route->way) {
  case FNZI_OUT_DTYPE:
    return pass_dtype(wrapper, r, c, target);
  case FNZI_OUT_OPERAND:
    c->casts_operand = c->knows_own;
    return !c->knows_own || fnzi_is_float(target) ? FNZ_OK : wrong_dtype(wrapper, r, c, target);
  case FNZI_OUT_MIXED:
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s into a tensor of %s computes one part in that and one in another dtype, "
                     "which no functional operator does; cast before or after",
                     r->op->name, fnzi_dtype(target)->name);
  case FNZI_OUT_EXACT:
    return c->knows_own ? wrong_dtype(wrapper, r, c, target) : FNZ_OK;
  case FNZI_OUT_CAST:
    break;
  }
  return FNZ_OK;
}

/* The value of the first tensor in the dtype of the target. */
static fnz_status cast_operand(const fnzi_wrap_twin_call *c, fnz_wrapper *wrapper, fnz_arg *args) {
  fnzi_value_ref *value;
  FNZ_TRY(fnzi_wrap_read_tensor(c->args[0].u.tensor, &value));
  FNZ_TRY(fnzi_wrap_cast(wrapper, fnzi_wrap_geometry(c->slots[0].target)->dtype, &value));
  args[0].u.value = value->handle;
  return FNZ_OK;
}

/* How eager lays out an out= argument that it resizes to these sizes: an elementwise operator as
 * its operands are laid out, whatever the trace records; but an operator that PyTorch generated
 * from the functional one copies the result into rows. */
static fnz_status lay_out(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                          const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                          const fnz_geometry *sizes, fnz_geometry *out) {
  const fnz_geometry **operands;
  fnz_tensor **reads;
  size_t count;
  int64_t *strides;
  const bool is_generated = r->op->tags & FNZI_TAG_GENERATED;
  *out = *sizes;
  out->strides = s->recorded && fnzi_same_sizes(s->recorded, sizes) ? s->recorded->strides : NULL;
  if (!c->call.elementwise && !is_generated)
    return FNZ_OK;
  FNZ_TRY(fnzi_wrap_tensor_args(wrapper, c->args, c->call.twin->nparams, &reads, &count));
  FNZI_NEW(&wrapper->scratch, count, &operands);
  FNZI_NEW(&wrapper->scratch, sizes->rank, &strides);
  for (size_t i = 0; i < count; i++)
    operands[i] = fnzi_wrap_geometry(reads[i]);
  fnzi_iterator_strides(operands, is_generated ? 0 : count, sizes->rank, sizes->sizes, strides);
  out->strides = strides;
  return FNZ_OK;
}

/* An out= variant that PyTorch generated draws as the functional operator does, in the order of a
 * copy of its operand, and copies the numbers. */
static fnz_status expect_as_operand(fnz_wrapper *wrapper, const fnzi_wrap_twin_call *c,
                                    const fnz_geometry *target, fnz_dtype dtype,
                                    fnzi_wrap_slot *s) {
  const fnz_geometry *sizes = s->resized ? s->recorded : target, *operand;
  fnz_geometry like = *sizes;
  fnz_tensor **reads;
  size_t count;
  int64_t *strides;
  FNZ_TRY(fnzi_wrap_tensor_args(wrapper, c->args, c->call.twin->nparams, &reads, &count));
  FNZI_NEW(&wrapper->scratch, like.rank, &strides);
  operand = count > 0 ? fnzi_wrap_geometry(reads[0]) : NULL;
  fnzi_iterator_strides(&operand, operand && fnzi_same_sizes(operand, sizes), like.rank, like.sizes,
                        strides);
  like.strides = strides;
  return fnzi_wrap_result_like(wrapper, &like, dtype, &s->expected);
}

/* The geometry of each result before it is cast to its target's dtype. An out= argument
 * may have other sizes than the result; the recorded ones count. Promotion is about the first
 * result; further ones (the exponents of frexp) have dtypes of their own, which eager asks for. */
static fnz_status expect_slot(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                              const fnzi_wrap_twin_call *c, fnzi_wrap_slot *s) {
  const fnz_geometry *target = fnzi_wrap_geometry(s->target);
  fnz_dtype dtype = target->dtype;
  fnz_geometry resized;
  if (c->call.elementwise && s == c->slots)
    dtype = fnzi_op_result_dtype(c->call.twin, c->args, c->call.twin->nparams,
                                 fnzi_wrap_arg_geometry, NULL);
  else if (c->knows_own && c->route->way == FNZI_OUT_CAST)
    dtype = c->own;
  FNZ_TRY(fnzi_check_cast(wrapper->ctx, r->op, dtype, target->dtype));
  if (dtype != target->dtype && fnzi_op_is_exact(c->call.twin))
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s computes %s, which it does not store in a tensor of %s; convert it with "
                     "to()",
                     r->op->name, fnzi_dtype(dtype)->name, fnzi_dtype(target->dtype)->name);
  const bool draws = c->call.twin->tags & FNZI_TAG_RANDOM;
  if (draws && (r->op->tags & FNZI_TAG_GENERATED))
    return expect_as_operand(wrapper, c, target, dtype, s);
  if (draws && !s->resized && dtype == target->dtype)
    return fnzi_strided_like(&wrapper->scratch, target, &s->expected);
  if (!s->resized)
    return fnzi_wrap_result_like(wrapper, target, dtype, &s->expected);
  FNZ_TRY(lay_out(wrapper, r, c, s, s->recorded, &resized));
  return fnzi_wrap_result_like(wrapper, &resized, dtype, &s->expected);
}

static fnz_status expect(fnz_wrapper *wrapper, const fnzi_wrap_request *r, fnzi_wrap_twin_call *c) {
  for (size_t k = 0; k < c->count; k++) {
    fnzi_wrap_slot *s = &c->slots[k];
    if (!s->param)
      s->expected = s->recorded;
    else if (s->target)
      FNZ_TRY(expect_slot(wrapper, r, c, s));
  }
  return FNZ_OK;
}

static fnz_status resize(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                         const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                         const fnz_geometry *sizes) {
  fnz_geometry like, resized;
  FNZ_TRY(lay_out(wrapper, r, c, s, sizes, &like));
  FNZ_TRY(fnzi_wrap_resized_geometry(wrapper, s->target, &like, &resized));
  FNZ_TRY(fnzi_wrap_twin_check_resized(wrapper, r, c, s, &resized));
  return fnzi_wrap_resize(wrapper, r->op, s->target, &like);
}

/* An out= argument of other sizes is resized first, as eager does. */
static fnz_status store(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                        const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                        fnzi_value_ref *value) {
  FNZ_TRY(fnzi_wrap_cast(wrapper, fnzi_wrap_geometry(s->target)->dtype, &value));
  if (!fnzi_same_sizes(value->geometry, fnzi_wrap_geometry(s->target))) {
    if (!s->param->is_out)
      return fnzi_fail(wrapper->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: the result does not have the sizes of `%s`; give it those sizes",
                       r->op->name, s->param->name);
    FNZ_TRY(resize(wrapper, r, c, s, value->geometry));
  }
  return s->order ? fnzi_wrap_write_in_order(wrapper, r->op, s->target, value, s->order)
                  : fnzi_wrap_write(s->target->alias, value);
}

/* In the order of the operator's arguments, which matters where two of a custom operator overlap.
 */
static fnz_status store_all(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                            const fnzi_wrap_twin_call *c, size_t first) {
  for (size_t i = 0; i < r->op->nparams; i++)
    for (size_t k = 0; k < c->count; k++) {
      const fnzi_wrap_slot *s = &c->slots[k];
      fnzi_value_ref *value = wrapper->fresh.data[first + k];
      if (s->param == &r->op->params[i] && s->target && value)
        FNZ_TRY(store(wrapper, r, c, s, value));
    }
  return FNZ_OK;
}

static fnz_status give_all(fnz_wrapper *wrapper, fnzi_wrap_request *r, const fnzi_wrap_twin_call *c,
                           size_t first) {
  for (size_t k = 0; k < c->nreturned; k++)
    FNZ_TRY(c->slots[k].param ? fnzi_wrap_give(wrapper, r, c->slots[k].target)
                              : fnzi_wrap_give_fresh(wrapper, r, wrapper->fresh.data[first + k]));
  return FNZ_OK;
}

static bool all_known(const fnzi_wrap_twin_call *c, const fnzi_wrap_request *r) {
  for (size_t k = 0; k < c->count; k++)
    if (!c->slots[k].expected && (c->slots[k].target || !r->expected))
      return false;
  return true;
}

/* --- slice after slice ------------------------------------------------------------------------ */
/* A dimension along which all elements of the target are the same memory and get the same value; -1
 * for none, and for elementwise operators. */
static int repeated_dim(const fnzi_wrap_twin_call *c) {
  const fnz_tensor *target = c->count == 1 && !c->call.elementwise ? c->slots[0].target : NULL;
  if (!target || !target->alias->repeats ||
      !fnzi_mutation_writes_alike(&c->call, fnzi_wrap_geometry(target)))
    return -1;
  const fnz_geometry *g = fnzi_wrap_geometry(target);
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->strides[d] == 0 && g->sizes[d] > 1)
      return (int)d;
  return -1;
}

/* An operand that eager reads before it writes has the same value for all slices: it becomes a
 * tensor of its own, which the request holds. */
static fnz_status read_first(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                             const fnzi_wrap_twin_call *c, fnz_arg *args) {
  const fnzi_wrap_slot *s = &c->slots[0];
  for (size_t i = 0; i < r->op->nparams; i++) {
    fnz_tensor *t = args[i].tag == FNZ_ARG_VALUE ? args[i].u.tensor : NULL;
    fnzi_value_ref *value;
    if (!t || t == s->target || !fnzi_wrap_overlap(t, s->target) ||
        !fnzi_is_read_first(
            fnzi_wrap_geometry(s->target), fnzi_wrap_geometry(t),
            fnzi_mutation_reading(&c->call, fnzi_wrap_geometry(s->target), fnzi_wrap_geometry(t))))
      continue;
    FNZ_TRY(fnzi_wrap_read_tensor(t, &value));
    FNZ_TRY(fnzi_wrap_hold_fresh(wrapper, r, value, &args[i].u.tensor));
  }
  return FNZ_OK;
}

static fnz_status in_slices(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                            const fnzi_wrap_twin_call *c) {
  fnz_arg *args;
  FNZI_NEW(&wrapper->scratch, r->op->nparams, &args);
  memcpy(args, r->args, r->op->nparams * sizeof *args);
  FNZ_TRY(read_first(wrapper, r, c, args));
  r->args = args;
  return fnzi_wrap_write_slices(wrapper, r, c->slots[0].target, c->slices);
}

fnz_status fnzi_wrap_write_twin(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                const fnzi_wrap_route *route) {
  fnzi_wrap_twin_call c = {.route = route,
                           .slices = -1,
                           .call = {r->op, route->twin, r->args, NULL, fnzi_wrap_arg_geometry, NULL,
                                    fnzi_op_is_elementwise(route->twin)}};
  const fnz_geometry **expected;
  fnz_arg *args;
  size_t first, count;
  bool done;
  FNZ_TRY(twin_args(wrapper, r, &c));
  if (route->uncast)
    FNZ_TRY(fnzi_wrap_check_tensors_alike(wrapper, c.call.twin, c.args));
  FNZ_TRY(fnzi_wrap_write_masked(wrapper, r, c.call.elementwise, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(find_slots(wrapper, r, &c));
  FNZ_TRY(fnzi_wrap_twin_check(wrapper, r, &c));
  if (c.on_bases)
    return fnzi_wrap_write_on_bases(wrapper, r, &c);
  if (c.slices >= 0 && c.count == 1)
    return in_slices(wrapper, r, &c);
  int dim = repeated_dim(&c);
  if (dim >= 0)
    return fnzi_wrap_write_first_slice(wrapper, r, c.slots[0].target, dim);
  FNZ_TRY(find_dtype(wrapper, r, &c));
  FNZ_TRY(expect(wrapper, r, &c));
  FNZI_NEW(&wrapper->scratch, c.count, &expected);
  for (size_t k = 0; k < c.count; k++)
    expected[k] = c.slots[k].expected;
  FNZ_TRY(fnzi_wrap_read_args(wrapper, c.args, c.call.twin->nparams, &args));
  if (c.casts_operand)
    FNZ_TRY(cast_operand(&c, wrapper, args));
  FNZ_TRY(fnzi_wrap_apply_values(wrapper, c.call.twin, args, c.call.twin->nparams,
                                 all_known(&c, r) ? expected : NULL, c.count, &first, &count));
  if (count != c.count)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_INTERNAL, NULL,
                     "%s gave %zu results for %s, wanted %zu", c.call.twin->name, count,
                     r->op->name, c.count);
  FNZ_TRY(store_all(wrapper, r, &c, first));
  return give_all(wrapper, r, &c, first);
}
