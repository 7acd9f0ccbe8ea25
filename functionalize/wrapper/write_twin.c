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
static void add_slots(fnzi_wrap_twin_call *c, size_t param) {
  const fnz_arg *a = &c->request->args[param], *items = a->tag == FNZ_ARG_LIST ? a->u.list : a;
  size_t n = items_of(&c->call.op->params[param], a);
  for (size_t k = 0; k < n; k++)
    c->slots[c->count++] =
        (fnzi_wrap_slot){.param = &c->call.op->params[param],
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

/* Finds the results of the twin, in its order: the operator's own results, then every written
 * argument that is not among them. */
static fnz_status find_slots(fnzi_wrap_twin_call *c) {
  const fnz_op *op = c->call.op;
  const fnzi_param *written;
  size_t length, most = op->nreturns;
  FNZ_TRY(fresh_list(c->wrapper, c->request, &length));
  for (int i = 0; i < op->nparams; i++)
    most += c->request->args[i].tag == FNZ_ARG_LIST ? c->request->args[i].count : 1;
  FNZI_NEW(&c->wrapper->scratch, most + length, &c->slots);
  for (int i = 0; i < op->nreturns; i++) {
    const fnzi_param *returned = fnzi_op_returned(op, &op->returns[i]);
    if (returned)
      add_slots(c, (size_t)(returned - op->params));
    else
      c->count += op->returns[i].is_list ? length : 1;
  }
  c->nreturned = c->count;
  for (fnzi_written_walk walk = {0};
       c->route->keeps_written && fnzi_written_next(op, &walk, &written);)
    add_slots(c, (size_t)(written - op->params));
  for (size_t k = 0; k < c->count; k++) {
    fnzi_wrap_slot *s = &c->slots[k];
    const bool is_known = c->request->expected && k < c->request->nexpected;
    s->recorded = is_known ? c->request->expected[k] : NULL;
    s->resized = s->param && s->param->is_out && s->target && s->recorded &&
                 !fnzi_same_sizes(s->recorded, fnzi_wrap_geometry(s->target));
  }
  return FNZ_OK;
}

static fnz_status twin_args(fnzi_wrap_twin_call *c) {
  FNZI_NEW(&c->wrapper->scratch, c->call.twin->nparams, &c->args);
  c->call.twin_args = c->args;
  for (int j = 0; j < c->call.twin->nparams; j++) {
    int i = c->route->same_indices ? j : fnzi_op_param(c->call.op, c->call.twin->params[j].name);
    if (i < 0 && j == 0)
      i = 0;    /* dropout_ calls `self` what dropout calls `input` */
    if (i >= 0) /* bernoulli_ has a default where bernoulli has none */
      c->args[j] = c->call.twin->params[j].has_default
                       ? c->request->args[i]
                       : fnzi_arg_get(c->call.op, c->request->args, c->call.op->nparams, (size_t)i);
  }
  return FNZ_OK;
}

static fnz_status wrong_dtype(const fnzi_wrap_twin_call *c, fnz_dtype target) {
  return fnzi_fail(c->wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                   "%s computes %s and takes no tensor of %s for it; give it one of %s",
                   c->call.op->name, fnzi_dtype(c->own)->name, fnzi_dtype(target)->name,
                   fnzi_dtype(c->own)->name);
}

/* A target of another dtype than the twin gives by itself. */
static fnz_status find_dtype(fnzi_wrap_twin_call *c) {
  if (c->call.elementwise || c->count != 1 || !c->slots[0].target)
    return FNZ_OK;
  fnz_dtype target = fnzi_wrap_geometry(c->slots[0].target)->dtype;
  c->own = target;
  c->knows_own = fnzi_own_dtype(c->call.twin, c->args, c->call.twin->nparams,
                                fnzi_wrap_arg_geometry, NULL, &c->own);
  if (c->knows_own && c->own == target)
    return FNZ_OK;
  switch (c->route->out_rule) {
  case FNZI_OUT_DTYPE: {
    /* dtype= takes the target's dtype. An operator that PyTorch generated from the functional one
     * passes it on only where that creates a tensor. */
    int at = fnzi_unsaid_dtype(c->call.twin, c->args);
    bool derived =
        (c->call.op->tags & FNZI_TAG_GENERATED) && fnzi_op_param(c->call.twin, "layout") < 0;
    if (at < 0 || derived)
      return c->knows_own ? wrong_dtype(c, target) : FNZ_OK;
    c->args[at] = fnzi_arg_dtype(target);
    return FNZ_OK;
  }
  case FNZI_OUT_OPERAND:
    c->casts_operand = c->knows_own;
    return !c->knows_own || fnzi_is_float(target) ? FNZ_OK : wrong_dtype(c, target);
  case FNZI_OUT_MIXED:
    return fnzi_fail(c->wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s into a tensor of %s computes one part in that and one in another dtype, "
                     "which no functional operator does; cast before or after",
                     c->call.op->name, fnzi_dtype(target)->name);
  case FNZI_OUT_EXACT:
    return c->knows_own ? wrong_dtype(c, target) : FNZ_OK;
  case FNZI_OUT_CAST:
    break;
  }
  return FNZ_OK;
}

/* How eager lays out an out= argument that it resizes to these sizes: an elementwise operator as
 * its operands are laid out, whatever the trace records; but an operator that PyTorch generated
 * from the functional one copies the result into rows. */
static fnz_status twin_lay_out(const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                               const fnz_geometry *sizes, fnz_geometry *out) {
  const fnz_geometry **operands;
  fnz_tensor **reads;
  size_t count;
  int64_t *strides;
  const bool is_generated = c->call.op->tags & FNZI_TAG_GENERATED;
  if (fnzi_wrap_has_words(c->request->args, c->call.op->nparams))
    return fnzi_wrap_refuse_sizes(c->wrapper, c->call.op);
  *out = *sizes;
  out->strides = s->recorded && fnzi_same_sizes(s->recorded, sizes) ? s->recorded->strides : NULL;
  if (!c->call.elementwise && !is_generated)
    return FNZ_OK;
  FNZ_TRY(fnzi_wrap_tensor_args(c->wrapper, c->args, c->call.twin->nparams, &reads, &count));
  FNZI_NEW(&c->wrapper->scratch, count, &operands);
  FNZI_NEW(&c->wrapper->scratch, sizes->rank, &strides);
  for (size_t i = 0; i < count; i++)
    operands[i] = fnzi_wrap_geometry(reads[i]);
  fnzi_iterator_strides(operands, is_generated ? 0 : count, sizes->rank, sizes->sizes, strides);
  out->strides = strides;
  return FNZ_OK;
}

/* An out= variant that PyTorch generated draws as the functional operator does, in the order of a
 * copy of its operand, and copies the numbers. */
static fnz_status expect_as_operand(const fnzi_wrap_twin_call *c, const fnz_geometry *target,
                                    fnz_dtype dtype, fnzi_wrap_slot *s) {
  const fnz_geometry *sizes = s->resized ? s->recorded : target, *operand;
  fnz_geometry like = *sizes;
  fnz_tensor **reads;
  size_t count;
  int64_t *strides;
  if (fnzi_wrap_has_words(c->request->args, c->call.op->nparams))
    return fnzi_wrap_refuse_sizes(c->wrapper, c->call.op);
  FNZ_TRY(fnzi_wrap_tensor_args(c->wrapper, c->args, c->call.twin->nparams, &reads, &count));
  FNZI_NEW(&c->wrapper->scratch, like.rank, &strides);
  operand = count > 0 ? fnzi_wrap_geometry(reads[0]) : NULL;
  fnzi_iterator_strides(&operand, operand && fnzi_same_sizes(operand, sizes), like.rank, like.sizes,
                        strides);
  like.strides = strides;
  return fnzi_dense_as(c->wrapper->ints, &c->wrapper->scratch, &like, dtype, &s->expected);
}

/* The geometry of each result before it is cast to its target's dtype. An out= argument
 * may have other sizes than the result; the recorded ones count. Promotion is about the first
 * result; further ones (the exponents of frexp) have dtypes of their own, which eager asks for. */
static fnz_status expect_slot(const fnzi_wrap_twin_call *c, fnzi_wrap_slot *s) {
  const fnz_geometry *target = fnzi_wrap_geometry(s->target);
  fnz_dtype dtype = target->dtype;
  fnz_geometry resized;
  if (c->call.elementwise && s == c->slots)
    dtype = fnzi_op_result_dtype(c->call.twin, c->args, c->call.twin->nparams,
                                 fnzi_wrap_arg_geometry, NULL);
  else if (c->knows_own && c->route->out_rule == FNZI_OUT_CAST)
    dtype = c->own;
  FNZ_TRY(fnzi_check_cast(c->wrapper->ctx, c->call.op, dtype, target->dtype));
  if (dtype != target->dtype && fnzi_op_is_exact(c->call.twin))
    return fnzi_fail(c->wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s computes %s, which it does not store in a tensor of %s; convert it with "
                     "to()",
                     c->call.op->name, fnzi_dtype(dtype)->name, fnzi_dtype(target->dtype)->name);
  const bool draws = c->call.twin->tags & FNZI_TAG_RANDOM;
  if (draws && (c->call.op->tags & FNZI_TAG_GENERATED))
    return expect_as_operand(c, target, dtype, s);
  if (draws && !s->resized && dtype == target->dtype)
    return fnzi_strided_like(&c->wrapper->scratch, target, &s->expected);
  if (!s->resized)
    return fnzi_dense_as(c->wrapper->ints, &c->wrapper->scratch, target, dtype, &s->expected);
  FNZ_TRY(twin_lay_out(c, s, s->recorded, &resized));
  return fnzi_dense_as(c->wrapper->ints, &c->wrapper->scratch, &resized, dtype, &s->expected);
}

static fnz_status twin_expect(fnzi_wrap_twin_call *c) {
  for (size_t k = 0; k < c->count; k++) {
    fnzi_wrap_slot *s = &c->slots[k];
    if (!s->param)
      s->expected = s->recorded;
    else if (s->target)
      FNZ_TRY(expect_slot(c, s));
  }
  return FNZ_OK;
}

/* Numbers are drawn in the order of the target's strides, or of an operand's. If the target is read
 * as rows, as a window with gaps is, the numbers are put into rows: sums depend on the order. */
static fnz_status drawn_into_rows(const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                                  fnzi_value_ref **value) {
  fnzi_ints *ints = c->wrapper->ints;
  const fnz_geometry *target = fnzi_wrap_geometry(s->target), *drawn = (*value)->geometry, *rows;
  const fnz_arg args[] = {fnzi_arg_value((*value)->handle),
                          {.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}};
  if (!(c->call.twin->tags & FNZI_TAG_RANDOM) || fnzi_int_is_contiguous(ints, drawn))
    return FNZ_OK;
  FNZ_TRY(fnzi_dense_as(ints, &c->wrapper->scratch, target, drawn->dtype, &rows));
  if (!fnzi_int_is_contiguous(ints, rows) || !fnzi_same_sizes(rows, drawn))
    return FNZ_OK;
  return fnzi_wrap_emit_one(c->wrapper, FNZI_EMIT_CLONE, args, 2, rows, value);
}

/* An out= argument of other sizes is resized first, as eager does. */
static fnz_status store(const fnzi_wrap_twin_call *c, const fnzi_wrap_slot *s,
                        fnzi_value_ref *value) {
  FNZ_TRY(fnzi_wrap_cast(c->wrapper, fnzi_wrap_geometry(s->target)->dtype, &value));
  FNZ_TRY(drawn_into_rows(c, s, &value));
  if (!fnzi_same_sizes(value->geometry, fnzi_wrap_geometry(s->target))) {
    if (!s->param->is_out)
      return fnzi_fail(c->wrapper->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: the result does not have the sizes of `%s`; give it those sizes",
                       c->call.op->name, s->param->name);
    fnz_geometry like, resized;
    FNZ_TRY(twin_lay_out(c, s, value->geometry, &like));
    FNZ_TRY(fnzi_wrap_resized_geometry(c->wrapper, s->target, &like, &resized));
    FNZ_TRY(fnzi_wrap_twin_check_resized(c, s, &resized));
    FNZ_TRY(fnzi_wrap_resize(c->wrapper, c->call.op, s->target, &like));
  }
  return s->order ? fnzi_wrap_write_in_order(c->wrapper, c->call.op, s->target, value, s->order)
                  : fnzi_wrap_write(s->target->alias, value);
}

/* In the order of the operator's arguments, which matters where two of a custom operator overlap.
 */
static fnz_status store_all(const fnzi_wrap_twin_call *c, size_t first) {
  for (size_t i = 0; i < c->call.op->nparams; i++)
    for (size_t k = 0; k < c->count; k++) {
      const fnzi_wrap_slot *s = &c->slots[k];
      fnzi_value_ref *value = c->wrapper->fresh.data[first + k];
      if (s->param == &c->call.op->params[i] && s->target && value)
        FNZ_TRY(store(c, s, value));
    }
  return FNZ_OK;
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
static fnz_status read_first(const fnzi_wrap_twin_call *c, fnz_arg *args) {
  const fnzi_wrap_slot *s = &c->slots[0];
  for (size_t i = 0; i < c->call.op->nparams; i++) {
    fnz_tensor *t = args[i].tag == FNZ_ARG_VALUE ? args[i].u.tensor : NULL;
    fnzi_value_ref *value;
    if (!t || t == s->target || !fnzi_wrap_overlap(t, s->target) ||
        !fnzi_is_read_first(
            fnzi_wrap_geometry(s->target), fnzi_wrap_geometry(t),
            fnzi_mutation_reading(&c->call, fnzi_wrap_geometry(s->target), fnzi_wrap_geometry(t))))
      continue;
    FNZ_TRY(fnzi_wrap_read_tensor(t, &value));
    FNZ_TRY(fnzi_wrap_hold_fresh(c->wrapper, c->request, value, &args[i].u.tensor));
  }
  return FNZ_OK;
}

/* Everything is read, the twin is evaluated, and its results are stored. */
static fnz_status evaluate(fnzi_wrap_twin_call *c) {
  fnzi_op_call twin = {.op = c->call.twin, .nargs = c->call.twin->nparams};
  fnzi_value_ref *first_operand;
  const fnz_geometry **expected;
  fnz_arg *args;
  size_t first, count;
  FNZ_TRY(find_dtype(c));
  FNZ_TRY(twin_expect(c));
  FNZI_NEW(&c->wrapper->scratch, c->count, &expected);
  for (size_t k = 0; k < c->count; k++)
    expected[k] = c->slots[k].expected;
  FNZ_TRY(fnzi_wrap_read_args(c->wrapper, c->args, twin.nargs, &args));
  if (c->casts_operand) {
    FNZ_TRY(fnzi_wrap_read_tensor(c->args[0].u.tensor, &first_operand));
    FNZ_TRY(
        fnzi_wrap_cast(c->wrapper, fnzi_wrap_geometry(c->slots[0].target)->dtype, &first_operand));
    args[0].u.value = first_operand->handle;
  }
  twin.args = args;
  bool all_known = true;
  for (size_t k = 0; all_known && k < c->count; k++)
    all_known = c->slots[k].expected || (!c->slots[k].target && c->request->expected);
  FNZ_TRY(fnzi_wrap_apply_values(c->wrapper, twin, all_known ? expected : NULL, c->count, &first,
                                 &count));
  if (count != c->count)
    return fnzi_fail(c->wrapper->ctx, FNZ_CLASS_INTERNAL, NULL,
                     "%s gave %zu results for %s, wanted %zu", twin.op->name, count,
                     c->call.op->name, c->count);
  FNZ_TRY(store_all(c, first));
  for (size_t k = 0; k < c->nreturned; k++)
    FNZ_TRY(c->slots[k].param
                ? fnzi_wrap_give(c->wrapper, c->request, c->slots[k].target)
                : fnzi_wrap_give_fresh(c->wrapper, c->request, c->wrapper->fresh.data[first + k]));
  return FNZ_OK;
}

fnz_status fnzi_wrap_write_twin(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                const fnzi_wrap_route *route) {
  fnzi_wrap_twin_call c = {.wrapper = wrapper,
                           .request = r,
                           .route = route,
                           .slices = -1,
                           .call = {r->op, route->twin, r->args, NULL, fnzi_wrap_arg_geometry, NULL,
                                    fnzi_op_is_elementwise(route->twin), wrapper->ints}};
  bool done;
  FNZ_TRY(twin_args(&c));
  if (route->uncast)
    FNZ_TRY(fnzi_wrap_check_tensors_alike(wrapper, c.call.twin, c.args));
  FNZ_TRY(fnzi_wrap_write_masked(wrapper, r, c.call.elementwise, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(find_slots(&c));
  FNZ_TRY(fnzi_wrap_twin_check(&c));
  if (c.on_bases)
    return fnzi_wrap_write_on_bases(&c);
  if (c.slices >= 0 && c.count == 1) {
    fnz_arg *args;
    FNZI_NEW(&c.wrapper->scratch, c.call.op->nparams, &args);
    memcpy(args, c.request->args, c.call.op->nparams * sizeof *args);
    FNZ_TRY(read_first(&c, args));
    c.request->args = args;
    return fnzi_wrap_write_slices(c.wrapper, c.request, c.slots[0].target, c.slices);
  }
  int dim = repeated_dim(&c);
  return dim >= 0 ? fnzi_wrap_write_first_slice(wrapper, r, c.slots[0].target, dim) : evaluate(&c);
}
