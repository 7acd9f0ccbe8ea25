/* writes.c - the rules for operators that write: what each written argument becomes.
 *
 * needs   the operator's kind of mutation (mutations.def)
 * keeps   eager's order: everything is read before anything is written, lists element by element
 * gives   new values at the written aliases; the backend sees functional operators only */
#include "functionalize/world.h"

/* --- asking for helpers ------------------------------------------------------------------------------ */
static fnz_status emit(fnz_world *world, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                       const fnz_geometry *result, fnzi_held **out) {
  size_t first, count;
  FNZ_TRY(fnzi_apply_values(world, world->emit_ops[op], args, nargs, &result, 1, &first, &count));
  *out = world->fresh.data[first];
  return FNZ_OK;
}

/* What a functional result that will stand for `like` looks like, under another dtype. */
static fnz_status result_like(fnz_world *world, const fnz_geometry *like, fnz_dtype dtype,
                              const fnz_geometry **out) {
  const fnz_geometry *dense;
  fnz_geometry *g;
  FNZ_TRY(fnzi_dense_like(&world->scratch, like, &dense));
  FNZI_NEW(&world->scratch, 1, &g);
  *g = *dense;
  g->dtype = dtype;
  *out = g;
  return FNZ_OK;
}

static fnz_status cast(fnz_world *world, fnz_dtype dtype, fnzi_held **value) {
  if ((*value)->geometry->dtype == dtype)
    return FNZ_OK;
  const fnz_op *op = world->emit_ops[FNZI_EMIT_TO_COPY];
  fnz_arg args[8] = {fnzi_arg_value((*value)->handle)};
  const fnz_geometry *result;
  args[fnzi_op_param(op, "dtype")] = fnzi_arg_dtype(dtype);
  FNZ_TRY(result_like(world, (*value)->geometry, dtype, &result));
  return emit(world, FNZI_EMIT_TO_COPY, args, op->nparams, result, value);
}

static fnz_status broadcast(fnz_world *world, const fnz_geometry *target, fnzi_held **value) {
  if (fnzi_same_sizes((*value)->geometry, target))
    return FNZ_OK;
  const fnz_geometry *result;
  fnz_arg args[2] = {fnzi_arg_value((*value)->handle)};
  bool shrinks = (*value)->geometry->rank > target->rank; /* only dimensions of size 1 go */
  FNZ_TRY(fnzi_arg_ints(&world->scratch, target->sizes, target->rank, &args[1]));
  FNZ_TRY(result_like(world, target, (*value)->geometry->dtype, &result));
  return emit(world, shrinks ? FNZI_EMIT_VIEW_COPY : FNZI_EMIT_EXPAND_COPY, args, 2, result, value);
}

/* --- copy, fill, zero --------------------------------------------------------------------------------- */
static const fnz_geometry *geometry(const fnz_tensor *t) {
  return &t->node->geometry;
}

static bool shares(const fnz_tensor *a, const fnz_tensor *b) {
  return a->node->storage == b->node->storage;
}

static fnz_tensor *tensor_arg(const fnzi_request *r, size_t i) {
  return i < r->op->nparams && r->args[i].tag == FNZ_ARG_VALUE ? r->args[i].u.tensor : NULL;
}

static fnz_status copy(fnz_world *world, const fnz_op *op, fnz_tensor *self, fnz_tensor *source) {
  fnzi_held *value;
  bool is_itself = shares(self, source) && fnzi_geometry_equal(geometry(self), geometry(source));
  if (is_itself)
    return FNZ_OK;
  FNZ_TRY(fnzi_check_target(world->ctx, op, geometry(self), false));
  FNZ_TRY(fnzi_check_broadcast(world->ctx, op, geometry(self), geometry(source)));
  if (shares(self, source))
    FNZ_TRY(fnzi_check_operand(world->ctx, op, geometry(self), geometry(source),
                               fnzi_root_geometry(self), true));
  FNZ_TRY(fnzi_read_tensor(source, &value));
  FNZ_TRY(cast(world, geometry(self)->dtype, &value));
  FNZ_TRY(broadcast(world, geometry(self), &value));
  return fnzi_write(self->node, value);
}

static fnz_status copy_request(fnz_world *world, fnzi_request *r) {
  FNZ_TRY(copy(world, r->op, tensor_arg(r, 0), tensor_arg(r, 1)));
  return fnzi_give(world, r, tensor_arg(r, 0));
}

static fnz_status fill(fnz_world *world, fnz_tensor *self, fnz_arg number) {
  const fnz_op *op = world->emit_ops[FNZI_EMIT_FULL];
  const fnz_geometry *result;
  fnzi_held *value;
  fnz_arg args[8] = {{0}};
  FNZ_TRY(fnzi_arg_ints(&world->scratch, geometry(self)->sizes, geometry(self)->rank, &args[0]));
  args[1] = number;
  args[fnzi_op_param(op, "dtype")] = fnzi_arg_dtype(geometry(self)->dtype);
  FNZ_TRY(fnzi_dense_like(&world->scratch, geometry(self), &result));
  FNZ_TRY(emit(world, FNZI_EMIT_FULL, args, op->nparams, result, &value));
  return fnzi_write(self->node, value);
}

static fnz_status fill_request(fnz_world *world, fnzi_request *r) {
  fnz_tensor *self = tensor_arg(r, 0), *source = tensor_arg(r, 1);
  fnzi_held *value;
  FNZ_TRY(fnzi_check_target(world->ctx, r->op, geometry(self), true));
  if (!source) {
    FNZ_TRY(fill(world, self, r->args[1]));
    return fnzi_give(world, r, self);
  }
  if (geometry(source)->rank)
    return fnzi_fail(world->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: the value has %u dimensions; it must have none", r->op->name,
                     geometry(source)->rank);
  FNZ_TRY(fnzi_read_tensor(source, &value));
  FNZ_TRY(cast(world, geometry(self)->dtype, &value));
  FNZ_TRY(broadcast(world, geometry(self), &value));
  FNZ_TRY(fnzi_write(self->node, value));
  return fnzi_give(world, r, self);
}

static fnz_status zero_request(fnz_world *world, fnzi_request *r) {
  FNZ_TRY(fill(world, tensor_arg(r, 0), fnzi_arg_int(0)));
  return fnzi_give(world, r, tensor_arg(r, 0));
}

/* --- set_, resize_ -------------------------------------------------------------------------------------- */
static fnz_status set_request(fnz_world *world, fnzi_request *r) {
  fnzi_tensor_move(tensor_arg(r, 0), tensor_arg(r, 1)->node);
  return fnzi_give(world, r, tensor_arg(r, 0));
}

/* Over the memory that is there: a window of other sizes, in row-major order from the same offset. */
static fnz_status resize_within(fnz_world *world, fnz_tensor *self, const fnz_geometry *to) {
  const fnz_op *op = fnz_op_find("as_strided");
  fnz_arg args[4] = {{0}};
  fnzi_alias **opened;
  size_t count;
  FNZ_TRY(fnzi_arg_ints(&world->scratch, to->sizes, to->rank, &args[1]));
  FNZ_TRY(fnzi_arg_ints(&world->scratch, to->strides, to->rank, &args[2]));
  args[3] = fnzi_arg_int(to->offset);
  FNZ_TRY(fnzi_alias_open(world, self->node, fnzi_view_find(op), op, args, 4, &opened, &count));
  fnzi_tensor_move(self, opened[0]);
  fnzi_alias_release(opened[0]);
  return FNZ_OK;
}

/* More memory than there is: a storage of its own, which only a tensor that nobody shares may get. */
static fnz_status resize_beyond(fnz_world *world, const fnz_op *op, fnz_tensor *self,
                                const fnz_geometry *to) {
  fnz_tensor *grown;
  fnzi_held *value;
  fnz_arg args[2] = {{0}};
  if (self->node->parent || self->node->storage->tensors > 1)
    return fnzi_fail(world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s makes a tensor larger that shares its memory with others; allocate the "
                     "larger tensor first",
                     op->name);
  FNZ_TRY(fnzi_read_tensor(self, &value));
  args[0] = fnzi_arg_value(value->handle);
  FNZ_TRY(fnzi_arg_ints(&world->scratch, to->sizes, to->rank, &args[1]));
  FNZ_TRY(emit(world, FNZI_EMIT_RESIZE, args, 2, to, &value));
  FNZ_TRY(fnzi_tensor_new(world, to, value, &grown));
  fnzi_tensor_move(self, grown->node);
  fnz_tensor_release(grown);
  return FNZ_OK;
}

static fnz_status new_sizes(fnz_world *world, const fnzi_request *r, fnz_geometry *out) {
  const fnz_tensor *other = tensor_arg(r, 1);
  fnz_arg list = r->args[1];
  int64_t *sizes;
  out->rank = other ? geometry(other)->rank : list.count;
  FNZI_NEW(&world->scratch, 2 * (size_t)out->rank, &sizes);
  for (uint32_t d = 0; d < out->rank; d++)
    sizes[d] = other ? geometry(other)->sizes[d] : list.u.list[d].u.i;
  fnzi_contiguous_strides(sizes, out->rank, sizes + out->rank);
  out->sizes = sizes;
  out->strides = sizes + out->rank;
  return FNZ_OK;
}

static fnz_status resize_request(fnz_world *world, fnzi_request *r) {
  fnz_tensor *self = tensor_arg(r, 0);
  fnz_geometry to = *geometry(self);
  int64_t low, high, have, unused;
  FNZ_TRY(new_sizes(world, r, &to));
  if (fnzi_same_sizes(&to, geometry(self)))
    return fnzi_give(world, r, self);
  const fnz_geometry *root = fnzi_root_geometry(self);
  if (!fnzi_extent(&to, &low, &high) || !fnzi_extent(root, &unused, &have))
    return fnzi_fail(world->ctx, FNZ_CLASS_OVERFLOW, NULL, "%s: the sizes leave 63 bits",
                     r->op->name);
  have = have * (int64_t)fnzi_dtype(root->dtype)->bytes / (int64_t)fnzi_dtype(to.dtype)->bytes;
  FNZ_TRY(high <= have ? resize_within(world, self, &to)
                       : resize_beyond(world, r->op, self, &to));
  return fnzi_give(world, r, self);
}

/* --- the functional twin -------------------------------------------------------------------------------- */
/* A result of the twin: a fresh one, or the new value of a written argument. */
typedef struct slot {
  const fnzi_param *param; /* NULL: a fresh result */
  fnz_tensor *target;
  const fnz_geometry *expected;
} slot;

typedef struct twin_call {
  const fnz_op *twin;
  fnz_arg *args; /* of the twin */
  slot *slots;
  size_t count, nreturned; /* the first nreturned slots are results of the operator itself */
  bool elementwise;
} twin_call;

static const fnz_geometry *geometry_of(void *user, const fnz_arg *arg) {
  (void)user;
  return geometry(arg->u.tensor);
}

static int written_param(const fnz_op *op, uint32_t alias) {
  for (int i = 0; i < op->nparams; i++)
    if (op->params[i].is_write && op->params[i].alias == alias)
      return i;
  return -1;
}

/* The targets of one written parameter, a tensor or a list of them. */
static void add_slots(twin_call *c, const fnzi_request *r, int param) {
  const fnz_arg *a = &r->args[param], *items = a->tag == FNZ_ARG_LIST ? a->u.list : a;
  size_t n = a->tag == FNZ_ARG_LIST ? a->count : 1;
  for (size_t k = 0; k < n; k++)
    c->slots[c->count++] =
        (slot){&r->op->params[param],
               items[k].tag == FNZ_ARG_VALUE ? items[k].u.tensor : NULL, NULL};
}

/* In the order in which the twin returns them: the operator's own results, then every written
 * argument that is not among them: self, out arguments, the others. */
static fnz_status find_slots(fnz_world *world, const fnzi_request *r, twin_call *c) {
  const fnz_op *op = r->op;
  bool done[64] = {false};
  size_t room = op->nreturns;
  for (int i = 0; i < op->nparams; i++)
    room += r->args[i].tag == FNZ_ARG_LIST ? r->args[i].count : 1;
  FNZI_NEW(&world->scratch, room, &c->slots);
  for (int i = 0; i < op->nreturns; i++) {
    int param = op->returns[i].is_write ? written_param(op, op->returns[i].alias) : -1;
    if (param < 0 || param >= 64)
      c->slots[c->count++] = (slot){0};
    else {
      done[param] = true;
      add_slots(c, r, param);
    }
  }
  c->nreturned = c->count;
  for (int pass = 0; pass < 3; pass++)
    for (int i = 0; i < op->nparams && i < 64; i++) {
      int place = i == 0 && !op->params[i].is_out ? 0 : op->params[i].is_out ? 1 : 2;
      if (op->params[i].is_write && !done[i] && place == pass)
        add_slots(c, r, i);
    }
  return FNZ_OK;
}

static fnz_status twin_args(fnz_world *world, const fnzi_request *r, twin_call *c) {
  FNZI_NEW(&world->scratch, c->twin->nparams, &c->args);
  for (int j = 0; j < c->twin->nparams; j++) {
    int i = fnzi_op_param(r->op, c->twin->params[j].name);
    if (i >= 0)
      c->args[j] = r->args[i];
  }
  return FNZ_OK;
}

/* What each written argument will look like before it is cast to its own dtype. An out= argument
 * may have other sizes than the result; the recorded ones count. */
static fnz_status expect(fnz_world *world, const fnzi_request *r, twin_call *c) {
  for (size_t k = 0; k < c->count; k++) {
    slot *s = &c->slots[k];
    const fnz_geometry *recorded = r->expected && k < r->nexpected ? r->expected[k] : NULL;
    if (!s->param || (s->param->is_out && recorded && s->target &&
                      !fnzi_same_sizes(recorded, geometry(s->target)))) {
      s->expected = recorded;
      continue;
    }
    if (!s->target)
      continue;
    fnz_dtype dtype = geometry(s->target)->dtype;
    if (c->elementwise)
      dtype = fnzi_op_result_dtype(c->twin, c->args, c->twin->nparams, geometry_of, NULL);
    FNZ_TRY(fnzi_check_cast(world->ctx, r->op, dtype, geometry(s->target)->dtype));
    FNZ_TRY(result_like(world, geometry(s->target), dtype, &s->expected));
  }
  return FNZ_OK;
}

static fnz_status overlapping_targets(fnz_world *world, const fnz_op *op) {
  return fnzi_fail(world->ctx, FNZ_CLASS_OVERLAP, NULL,
                   "%s writes two arguments that share memory; the result would depend on their "
                   "order, clone() one of them",
                   op->name);
}

static bool overlap(const fnz_tensor *a, const fnz_tensor *b) {
  return shares(a, b) && fnzi_relate(geometry(a), geometry(b), fnzi_root_geometry(a),
                                     FNZI_MUCH_WORK) != FNZI_DISJOINT;
}

/* One target against the tensors the twin reads, and against the other targets. */
static fnz_status check_slot(fnz_world *world, const fnzi_request *r, const twin_call *c, size_t k,
                             fnz_tensor *const *reads, size_t nreads) {
  const slot *s = &c->slots[k];
  FNZ_TRY(fnzi_check_target(world->ctx, r->op, geometry(s->target), false));
  for (size_t i = 0; i < nreads; i++) {
    bool is_target = reads[i] == s->target;
    if (c->elementwise && !s->param->is_out)
      FNZ_TRY(fnzi_check_broadcast(world->ctx, r->op, geometry(s->target), geometry(reads[i])));
    if (!is_target && shares(s->target, reads[i]))
      FNZ_TRY(fnzi_check_operand(world->ctx, r->op, geometry(s->target), geometry(reads[i]),
                                 fnzi_root_geometry(s->target), c->elementwise));
  }
  for (size_t i = 0; i < k; i++)
    if (c->slots[i].target && overlap(c->slots[i].target, s->target))
      return overlapping_targets(world, r->op);
  return FNZ_OK;
}

static fnz_status check_slots(fnz_world *world, const fnzi_request *r, const twin_call *c) {
  fnz_tensor **reads;
  size_t nreads;
  FNZ_TRY(fnzi_tensor_args(world, c->args, c->twin->nparams, &reads, &nreads));
  for (size_t k = 0; k < c->count; k++)
    if (c->slots[k].target)
      FNZ_TRY(check_slot(world, r, c, k, reads, nreads));
  return FNZ_OK;
}

/* An out= argument of other sizes is resized when it is empty, as eager does without a warning. */
static fnz_status store(fnz_world *world, const fnz_op *op, const slot *s, fnzi_held *value) {
  fnz_tensor *resized;
  FNZ_TRY(cast(world, geometry(s->target)->dtype, &value));
  if (fnzi_same_sizes(value->geometry, geometry(s->target)))
    return fnzi_write(s->target->node, value);
  if (!s->param->is_out || fnz_geometry_numel(geometry(s->target)) != 0 || s->target->node->parent)
    return fnzi_fail(world->ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: the result does not have the sizes of `%s`; give it those sizes",
                     op->name, s->param->name);
  FNZ_TRY(fnzi_tensor_new(world, NULL, value, &resized));
  fnzi_tensor_move(s->target, resized->node);
  fnz_tensor_release(resized);
  return FNZ_OK;
}

static fnz_status store_all(fnz_world *world, fnzi_request *r, const twin_call *c, size_t first) {
  for (size_t k = 0; k < c->count; k++) {
    const slot *s = &c->slots[k];
    fnzi_held *value = world->fresh.data[first + k];
    if (!s->param && k < c->nreturned)
      FNZ_TRY(fnzi_give_fresh(world, r, value));
    if (s->param && s->target && value)
      FNZ_TRY(store(world, r->op, s, value));
    if (s->param && k < c->nreturned)
      FNZ_TRY(fnzi_give(world, r, s->target));
  }
  return FNZ_OK;
}

static bool all_known(const twin_call *c, const fnzi_request *r) {
  for (size_t k = 0; k < c->count; k++)
    if (!c->slots[k].expected && (c->slots[k].target || !r->expected))
      return false;
  return true;
}

static fnz_status twin_request(fnz_world *world, fnzi_request *r) {
  twin_call c = {.twin = fnzi_op_by_index(r->op->functional)};
  const fnz_geometry **expected;
  fnz_arg *args;
  size_t first, count;
  c.elementwise = fnzi_op_is_elementwise(c.twin);
  FNZ_TRY(twin_args(world, r, &c));
  FNZ_TRY(find_slots(world, r, &c));
  FNZ_TRY(check_slots(world, r, &c));
  FNZ_TRY(expect(world, r, &c));
  FNZI_NEW(&world->scratch, c.count, &expected);
  for (size_t k = 0; k < c.count; k++)
    expected[k] = c.slots[k].expected;
  FNZ_TRY(fnzi_read_args(world, c.args, c.twin->nparams, &args));
  FNZ_TRY(fnzi_apply_values(world, c.twin, args, c.twin->nparams,
                            all_known(&c, r) ? expected : NULL, c.count, &first, &count));
  if (count == c.count)
    return store_all(world, r, &c, first);
  return fnzi_fail(world->ctx, FNZ_CLASS_INTERNAL, NULL, "%s gave %zu results for %s, wanted %zu",
                   c.twin->name, count, r->op->name, c.count);
}

/* --- lists ---------------------------------------------------------------------------------------------- */
/* Arguments of the element operator for element k: items of lists, everything else as it is. */
static fnz_status element_args(fnz_world *world, const fnzi_request *r, const fnz_op *element,
                               size_t k, fnz_arg **out) {
  FNZI_NEW(&world->scratch, element->nparams, out);
  for (size_t i = 0; i < element->nparams && i < r->op->nparams; i++) {
    const fnz_arg *a = &r->args[i];
    bool is_list = r->op->params[i].is_list && a->tag == FNZ_ARG_LIST;
    if (is_list && k >= a->count)
      return fnzi_fail(world->ctx, FNZ_CLASS_TYPE, NULL, "%s: list `%s` has %u items, self has more",
                       r->op->name, r->op->params[i].name, a->count);
    (*out)[i] = is_list ? a->u.list[k] : *a;
  }
  return FNZ_OK;
}

static fnz_status one_by_one(fnz_world *world, fnzi_request *r, const fnz_op *element) {
  for (size_t k = 0; k < r->args[0].count; k++) {
    fnz_arg *args;
    FNZ_TRY(element_args(world, r, element, k, &args));
    fnzi_request one = {.op = element, .args = args};
    fnz_status status = fnzi_dispatch(world, &one);
    fnzi_request_end(world, &one);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

/* One node for the whole list means the same as one after the other when no element that is written
 * is seen by another one. */
static fnz_status is_independent(fnz_world *world, const fnzi_request *r, bool *out) {
  fnz_tensor **all;
  size_t count, written = r->args[0].count;
  FNZ_TRY(fnzi_tensor_args(world, r->args, r->op->nparams, &all, &count));
  *out = true;
  for (size_t k = 0; k < written && *out; k++)
    for (size_t i = k + 1; i < count && *out; i++)
      *out = !overlap(all[k], all[i]);
  return FNZ_OK;
}

/* The element's dtype is not always the target's; one after the other each is cast on its own. */
static fnz_status keeps_dtypes(fnz_world *world, const fnzi_request *r, const fnz_op *element,
                               bool *out) {
  *out = true;
  for (size_t k = 0; k < r->args[0].count && *out; k++) {
    fnz_arg *args;
    FNZ_TRY(element_args(world, r, element, k, &args));
    *out = fnzi_op_result_dtype(element, args, element->nparams, geometry_of, NULL) ==
           geometry(args[0].u.tensor)->dtype;
  }
  return FNZ_OK;
}

static fnz_status list_request(fnz_world *world, fnzi_request *r) {
  const fnz_op *element = fnzi_foreach_element(r->op);
  const fnz_op *functional = fnzi_op_by_index(element->functional);
  const fnz_op *inplace =
      element->kind == FNZI_KIND_INPLACE ? element : fnzi_op_by_index(element->inplace);
  bool together = r->op->functional != FNZI_NO_OP && functional &&
                  fnzi_mutation_find(inplace ? inplace : element) == FNZI_MUTATION_TWIN;
  if (together)
    FNZ_TRY(is_independent(world, r, &together));
  if (together)
    FNZ_TRY(keeps_dtypes(world, r, functional, &together));
  if (together)
    return twin_request(world, r);
  if (inplace)
    return one_by_one(world, r, inplace);
  return fnzi_fail(world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s: there is no in-place operator for one element", r->op->name);
}

/* --- batch norm ------------------------------------------------------------------------------------------ */
/* batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, ...) updates the
 * running statistics in training without its schema saying so; the functional operator returns them. */
enum { MEAN = 3, VAR = 4, TRAINING = 5, EPS = 7, NORM_RESULTS = 5 };

static fnz_status expect_norm(fnz_world *world, const fnzi_request *r,
                              const fnz_geometry **expected) {
  const fnz_geometry *stats = geometry(tensor_arg(r, MEAN));
  const fnz_geometry *input = geometry(tensor_arg(r, 0));
  expected[0] = r->nexpected ? r->expected[0] : NULL;
  if (!expected[0])
    FNZ_TRY(result_like(world, input, input->dtype, &expected[0]));
  for (size_t k = 1; k < NORM_RESULTS; k++)
    FNZ_TRY(result_like(world, stats, stats->dtype, &expected[k]));
  return FNZ_OK;
}

static fnz_status batch_norm_request(fnz_world *world, fnzi_request *r) {
  const fnz_geometry *expected[NORM_RESULTS];
  fnz_arg *args;
  size_t first, count;
  fnz_tensor *mean = tensor_arg(r, MEAN), *var = tensor_arg(r, VAR);
  if (!r->args[TRAINING].u.i || !mean || !var)
    return fnzi_apply_functional(world, r);
  if (overlap(mean, var))
    return overlapping_targets(world, r->op);
  FNZ_TRY(expect_norm(world, r, expected));
  FNZ_TRY(fnzi_read_args(world, r->args, EPS + 1, &args));
  FNZ_TRY(fnzi_apply_values(world, world->emit_ops[FNZI_EMIT_NATIVE_BATCH_NORM], args, EPS + 1,
                            expected, NORM_RESULTS, &first, &count));
  FNZ_TRY(fnzi_give_fresh(world, r, world->fresh.data[first]));
  FNZ_TRY(fnzi_write(mean->node, world->fresh.data[first + MEAN]));
  return fnzi_write(var->node, world->fresh.data[first + VAR]);
}

/* --- the rest --------------------------------------------------------------------------------------------- */
static fnz_status polygamma_request(fnz_world *world, fnzi_request *r) {
  fnz_tensor *self = tensor_arg(r, 0);
  const fnz_op *op = fnz_op_find("polygamma");
  const fnz_geometry *expected;
  fnzi_held *value;
  size_t first, count;
  FNZ_TRY(fnzi_check_target(world->ctx, r->op, geometry(self), false));
  FNZ_TRY(fnzi_read_tensor(self, &value));
  FNZ_TRY(fnzi_dense_like(&world->scratch, geometry(self), &expected));
  const fnz_arg args[] = {r->args[1], fnzi_arg_value(value->handle)};
  FNZ_TRY(fnzi_apply_values(world, op, args, 2, &expected, 1, &first, &count));
  FNZ_TRY(fnzi_write(self->node, world->fresh.data[first]));
  return fnzi_give(world, r, self);
}

static fnz_status refuse(fnz_world *world, const fnzi_request *r) {
  return fnzi_fail(world->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s writes an argument and has no functional twin; see the README's table of "
                   "what is refused",
                   r->op->name);
}

static fnz_status check_self(fnz_world *world, const fnzi_request *r) {
  if (tensor_arg(r, 0) || (r->op->nparams && r->args[0].tag == FNZ_ARG_LIST) ||
      r->op->kind != FNZI_KIND_INPLACE)
    return FNZ_OK;
  return fnzi_fail(world->ctx, FNZ_CLASS_TYPE, NULL, "%s: argument `self` must be a tensor",
                   r->op->name);
}

static fnz_status check_source(fnz_world *world, const fnzi_request *r) {
  if (tensor_arg(r, 1))
    return FNZ_OK;
  return fnzi_fail(world->ctx, FNZ_CLASS_TYPE, NULL, "%s: argument `%s` must be a tensor",
                   r->op->name, r->op->params[1].name);
}

fnz_status fnzi_write_request(fnz_world *world, fnzi_request *r, fnzi_mutation_kind kind) {
  FNZ_TRY(check_self(world, r));
  switch (kind) {
  case FNZI_MUTATION_TWIN:
    return twin_request(world, r);
  case FNZI_MUTATION_LIST:
    return list_request(world, r);
  case FNZI_MUTATION_COPY:
    FNZ_TRY(check_source(world, r));
    return copy_request(world, r);
  case FNZI_MUTATION_FILL:
    return fill_request(world, r);
  case FNZI_MUTATION_ZERO:
    return zero_request(world, r);
  case FNZI_MUTATION_SET:
    FNZ_TRY(check_source(world, r));
    return set_request(world, r);
  case FNZI_MUTATION_RESIZE:
    return resize_request(world, r);
  case FNZI_MUTATION_BATCH_NORM:
    return batch_norm_request(world, r);
  case FNZI_MUTATION_POLYGAMMA:
    return polygamma_request(world, r);
  case FNZI_MUTATION_NOTHING:
    return fnzi_give(world, r, tensor_arg(r, 0));
  case FNZI_MUTATION_NONE:
  case FNZI_MUTATION_REFUSED:
    break;
  }
  return refuse(world, r);
}
