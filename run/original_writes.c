/* original_writes.c - operators that write: in place, out= and mutable ones.
 *
 * The functional twin is computed on dense values and its results are put into memory, element by
 * element in row-major order. What eager refuses is refused here: memory that overlaps itself, an
 * operand that partly overlaps what is written, a cast that is not allowed, sizes that do not fit.
 */
#include "run/original.h"

#include <stdio.h>

static fnz_backend *backend_of(fnzi_act *s) {
  return s->in->run.backend;
}

/* --- What is refused -----------------------------------------------------------------------------
 */

/* Every element gets the same number, so that order does not matter. */
static bool is_fill(const fnz_op *twin) {
  return strcmp(twin->base, "fill") == 0 || strcmp(twin->base, "zero") == 0;
}

static fnz_status check_self(fnzi_act *s, const fnzi_eager *target) {
  bool overlaps;
  FNZ_TRY(fnzi_cells_overlap(s->ctx, target->g, &overlaps));
  if (!overlaps)
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                   "%s writes a tensor with several elements in one place, so the result would "
                   "depend on the order; clone it before",
                   s->op->name);
}

/* The bytes that two tensors reach over have some in common. */
static bool may_meet(const fnz_geometry *a, const fnz_geometry *b) {
  int64_t a_low, a_high, b_low, b_high;
  int64_t a_item = (int64_t)fnzi_dtype(a->dtype)->bytes;
  int64_t b_item = (int64_t)fnzi_dtype(b->dtype)->bytes;
  if (!fnzi_extent(a, &a_low, &a_high) || !fnzi_extent(b, &b_low, &b_high))
    return true;
  return a_low * a_item < b_high * b_item && b_low * b_item < a_high * a_item;
}

/* Element by element the same places, with dimensions of size 1 in front at most. */
static bool is_same_window(const fnz_geometry *a, const fnz_geometry *b) {
  const fnz_geometry *more = a->rank > b->rank ? a : b, *less = a->rank > b->rank ? b : a;
  uint32_t lead = more->rank - less->rank;
  bool same = a->dtype == b->dtype && a->offset == b->offset;
  for (uint32_t d = 0; same && d < more->rank; d++) {
    bool inner = d >= lead;
    same = more->sizes[d] == (inner ? less->sizes[d - lead] : 1) &&
           (more->sizes[d] == 1 || more->strides[d] == less->strides[d - lead]);
  }
  return same;
}

/* PyTorch's rule: two dense tensors in one memory whose ranges meet must be the same window. Others
 * it lets through, and its loop then decides what is read. */
static fnz_status find_order(fnzi_act *s, const fnz_geometry *a, const fnz_geometry *b,
                             bool elementwise, fnzi_order *out) {
  bool meet = may_meet(a, b);
  *out = FNZI_ORDER_UNKNOWN;
  if (meet && a->dtype == b->dtype)
    FNZ_TRY(fnzi_cells_meet(s->ctx, a, b, &meet));
  if (!meet)
    *out = FNZI_ORDER_FREE;
  if (!meet || a->dtype != b->dtype || !elementwise || (fnzi_is_dense(a) && fnzi_is_dense(b)))
    return FNZ_OK;
  return fnzi_cells_order(s->ctx, a, b, out);
}

static fnz_status check_operand(fnzi_act *s, const fnzi_eager *target, const fnzi_eager *operand,
                                bool elementwise) {
  fnzi_order order;
  if (operand->memory != target->memory || is_same_window(target->g, operand->g))
    return FNZ_OK;
  FNZ_TRY(find_order(s, target->g, operand->g, elementwise, &order));
  s->in_loop = s->in_loop || order == FNZI_ORDER_LOOP;
  if (order != FNZI_ORDER_UNKNOWN)
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                   "an operand of %s shares some of its elements with the tensor that is written; "
                   "clone it before",
                   s->op->name);
}

/* Eager takes the number out of these before it writes. */
static bool is_read_as_number(const fnz_op *twin, const fnzi_eager *operand) {
  static const char *const bases[] = {"fill", "masked_fill", "index_fill"};
  for (size_t i = 0; operand->g->rank == 0 && i < sizeof bases / sizeof *bases; i++)
    if (strcmp(twin->base, bases[i]) == 0)
      return true;
  return false;
}

static bool is_elementwise(const fnz_op *twin) {
  return (twin->tags & FNZI_TAG_POINTWISE) != 0 || strcmp(twin->base, "copy") == 0;
}

/* An operand of a pointwise operator must fit the target's sizes; results cannot outgrow it. */
static fnz_status check_sizes(fnzi_act *s, const fnz_op *twin, const fnzi_eager *target,
                              const fnzi_eager *operand) {
  const fnz_geometry *a = target->g, *b = operand->g;
  if (!is_elementwise(twin))
    return FNZ_OK;
  for (uint32_t d = 0; d < b->rank; d++) {
    int64_t size = b->sizes[b->rank - 1 - d];
    if (size == 1 && d < a->rank)
      continue;
    if (d >= a->rank ? size != 1 || strcmp(twin->base, "copy") != 0
                     : size != a->sizes[a->rank - 1 - d])
      return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "",
                       "%s: an operand has size %lld where the tensor that is written has %lld",
                       s->op->name, (long long)size,
                       (long long)(d < a->rank ? a->sizes[a->rank - 1 - d] : 1));
  }
  return FNZ_OK;
}

typedef struct checking {
  fnzi_act *s;
  const fnz_op *twin;
  const fnzi_eager *target;
} checking;

static fnz_status check_arg(void *user, const fnz_arg *arg) {
  const checking *c = user;
  const fnzi_eager *operand = arg->tag == FNZ_ARG_VALUE ? c->s->in->tensors[arg->u.value] : NULL;
  if (operand == NULL || operand == c->target)
    return FNZ_OK;
  FNZ_TRY(check_sizes(c->s, c->twin, c->target, operand));
  if (is_read_as_number(c->twin, operand))
    return FNZ_OK;
  return check_operand(c->s, c->target, operand, is_elementwise(c->twin));
}

static fnz_status check_write(fnzi_act *s, const fnz_op *twin, const fnz_arg *args, size_t nargs,
                              const fnzi_eager *target) {
  checking c = {s, twin, target};
  if (!is_fill(twin))
    FNZ_TRY(check_self(s, target));
  return fnzi_args_visit(args, nargs, check_arg, &c);
}

/* --- Writing -------------------------------------------------------------------------------------
 */

/* Out= takes any sizes when it is empty. */
static fnz_status fit(fnzi_act *s, fnzi_eager *target, const fnz_geometry *g) {
  fnzi_pane w;
  if (fnzi_same_sizes(target->g, g))
    return FNZ_OK;
  if (s->op->kind != FNZI_KIND_OUT || fnz_geometry_numel(target->g) != 0)
    return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "",
                     "the result of %s has other sizes than the tensor that it is written to",
                     s->op->name);
  fnzi_pane_of(g, &w);
  w.dtype = target->g->dtype;
  fnzi_pane_dense(&w);
  target->memory->users--;
  FNZ_TRY(fnzi_memory_create(&s->in->run, w.dtype, fnz_geometry_numel(g), &target->memory));
  target->memory->users++;
  return fnzi_eager_reshape(s->in, target, &w);
}

/* Stores a result (owned) in the target, in the target's dtype. */
static fnz_status store(fnzi_act *s, fnzi_eager *target, fnz_handle owned) {
  fnz_geometry g = *backend_of(s)->geometry(backend_of(s)->self, owned);
  fnz_handle value = owned;
  fnz_status status = fit(s, target, &g);
  if (status == FNZ_OK && g.dtype != target->g->dtype) {
    status =
        fnzi_can_cast(g.dtype, target->g->dtype)
            ? fnzi_eager_unary(s->in, "_to_copy", owned, target->g->dtype, &value)
            : fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "",
                        "the result of %s is %s and cannot be stored in a tensor of %s",
                        s->op->name, fnzi_dtype(g.dtype)->name, fnzi_dtype(target->g->dtype)->name);
    backend_of(s)->release(backend_of(s)->self, owned);
    FNZ_TRY(status);
  }
  if (status == FNZ_OK)
    return fnzi_eager_write(s->in, target, value);
  backend_of(s)->release(backend_of(s)->self, value);
  return status;
}

static const fnz_geometry *geometry_of(void *user, const fnz_arg *arg) {
  const fnzi_act *s = user;
  const fnzi_eager *t = s->in->tensors[arg->u.value];
  return t == NULL ? NULL : t->g;
}

/* What the twin gives, for a backend that cannot tell by itself. */
static fnz_status guess(fnzi_act *s, const fnz_op *twin, const fnz_arg *args, fnzi_eager *target,
                        const fnz_geometry *recorded, const fnz_geometry **out) {
  fnz_geometry *g;
  FNZI_NEW(&s->in->run.scratch, 1, &g);
  *g = s->op->kind == FNZI_KIND_OUT && recorded != NULL ? *recorded : *target->g;
  g->dtype = target->g->dtype;
  g->is_conj = g->is_neg = false;
  g->symbols = NULL;
  if ((twin->tags & FNZI_TAG_POINTWISE) != 0)
    g->dtype = fnzi_op_result_dtype(twin, args, twin->nparams, geometry_of, s);
  *out = g;
  return FNZ_OK;
}

static fnz_status take_plain(fnzi_act *s, fnz_handle value, const fnz_geometry *recorded) {
  fnzi_pane w;
  fnzi_eager *t;
  if (value == 0)
    return fnzi_act_push(s, NULL);
  fnzi_pane_of(recorded != NULL ? recorded : backend_of(s)->geometry(backend_of(s)->self, value),
               &w);
  if (recorded == NULL)
    fnzi_pane_dense(&w);
  FNZ_TRY(fnzi_eager_store(s->in, &w, value, &t));
  return fnzi_act_push(s, t);
}

static fnz_status take_results(fnzi_act *s, fnz_handle *handles, const fnz_geometry **expected,
                               fnzi_eager **targets, size_t count, size_t nplain) {
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    fnz_handle value = handles[i];
    if (status == FNZ_OK && i >= nplain) {
      handles[i] = 0;
      status = store(s, targets[i - nplain], value);
    } else if (status == FNZ_OK) {
      status = take_plain(s, value, expected[i]);
    }
    if (handles[i] != 0)
      backend_of(s)->release(backend_of(s)->self, handles[i]);
  }
  return status;
}

fnz_status fnzi_act_write_twin(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                               fnzi_eager **targets, size_t ntargets, size_t nplain) {
  fnzi_run *run = &s->in->run;
  fnz_arg *results;
  const fnz_geometry **expected;
  fnz_handle *handles;
  size_t named, count = nplain + ntargets;
  FNZ_TRY(fnzi_node_results(run, s->node, &results, &named));
  FNZI_NEW(&run->scratch, count, &expected);
  FNZI_NEW(&run->scratch, count, &handles);
  for (size_t i = 0; i < nplain && i < named; i++)
    expected[i] = fnzi_act_recorded(s, results, i);
  for (size_t i = 0; run->hashes && i < ntargets; i++) {
    const fnz_geometry *recorded =
        nplain + i < named ? fnzi_act_recorded(s, results, nplain + i) : NULL;
    FNZ_TRY(guess(s, twin, args, targets[i], recorded, &expected[nplain + i]));
  }
  FNZ_TRY(fnzi_eager_apply(s->in, twin, args, twin->nparams, expected, handles, count));
  return take_results(s, handles, expected, targets, count, nplain);
}

/* --- Element after element -----------------------------------------------------------------------
 */

typedef struct looping {
  fnzi_act *s;
  const fnz_op *twin;
  const fnz_arg *args;
  fnzi_eager *target;
  const int64_t *index; /* of the element at work, in the target */
  struct {
    fnz_handle *data;
    size_t count, capacity;
  } inputs;
} looping;

/* The element at work of a tensor that is broadcast to the target: sizes of 1, as many as it has.
 */
static fnz_status element_of(looping *l, const fnzi_eager *t, fnzi_eager **out) {
  fnzi_pane w;
  fnzi_pane_of(t->g, &w);
  for (uint32_t d = 0; d < w.rank; d++) {
    int64_t at = l->index[l->target->g->rank - w.rank + d];
    w.offset += w.sizes[d] == 1 ? 0 : at * w.strides[d];
    w.sizes[d] = 1;
  }
  return fnzi_eager_create(l->s->in, t->memory, &w, out);
}

static fnz_status element_value(void *user, fnz_arg *arg) {
  looping *l = user;
  fnzi_eager *element;
  FNZ_TRY(element_of(l, l->s->in->tensors[arg->u.value], &element));
  FNZ_TRY(fnzi_eager_value(l->s->in, element, &arg->u.value));
  element->memory->users--;
  element->cached = 0;
  FNZI_PUSH(l->s->ctx, &l->inputs, arg->u.value);
  return FNZ_OK;
}

static fnz_status compute_element(looping *l, fnzi_eager *element, fnz_handle *out) {
  fnzi_run *run = &l->s->in->run;
  fnz_arg *args;
  const fnz_geometry *expected[1] = {NULL};
  FNZ_TRY(fnzi_lower_args(run, l->twin, l->args, l->twin->nparams, element_value, l, &args));
  if (run->hashes)
    FNZ_TRY(guess(l->s, l->twin, l->args, element, NULL, &expected[0]));
  fnz_call call = {l->twin, args, l->twin->nparams, expected, ""};
  return fnzi_run_apply(run, &call, out, 1);
}

static fnz_status write_element(void *user, const int64_t *index) {
  looping *l = user;
  fnzi_eager *element;
  fnz_handle value;
  l->index = index;
  FNZ_TRY(element_of(l, l->target, &element));
  fnz_status status = compute_element(l, element, &value);
  for (size_t i = 0; i < l->inputs.count; i++)
    backend_of(l->s)->release(backend_of(l->s)->self, l->inputs.data[i]);
  l->inputs.count = 0;
  FNZ_TRY(status);
  element->memory->users--;
  return store(l->s, element, value);
}

static fnz_status write_in_loop(fnzi_act *s, const fnz_op *twin, const fnz_arg *args,
                                fnzi_eager **targets, size_t count) {
  looping l = {.s = s, .twin = twin, .args = args, .target = targets[0]};
  if (count != 1)
    return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                     "%s writes several tensors and an operand overlaps one of them; clone it "
                     "before",
                     s->op->name);
  fnz_status status = fnzi_cells_loop(targets[0]->g, write_element, &l);
  FNZI_VEC_FREE(s->ctx, &l.inputs);
  return status;
}

/* --- Operators by their schema -------------------------------------------------------------------
 */

/* In-place operators without a twin by the rule of the table: the one without the underscore. */
static const fnz_op *twin_of(const fnz_op *op) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  if (twin != NULL || op->kind != FNZI_KIND_INPLACE)
    return twin;
  twin = fnzi_op_find_stem(op, strlen(op->base) - 1);
  return twin != NULL && twin->kind == FNZI_KIND_FUNCTIONAL ? twin : NULL;
}

/* Arguments by name: out= ones have no place in the twin, and some twins have another order. */
static fnz_status twin_args(fnzi_act *s, const fnz_op *twin, fnz_arg **out) {
  FNZI_NEW(&s->in->run.scratch, twin->nparams, out);
  for (size_t i = 0; i < twin->nparams; i++) {
    int from = fnzi_op_param(s->op, twin->params[i].name);
    if (from >= 0)
      (*out)[i] = s->args[from];
    else
      (*out)[i] = fnzi_arg_get(twin, NULL, 0, i);
  }
  return FNZ_OK;
}

static fnz_status add_target(fnzi_act *s, const fnz_arg *arg, fnzi_eager **targets, size_t *count) {
  const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
  size_t n = arg->tag == FNZ_ARG_LIST ? arg->count : 1;
  for (size_t i = 0; i < n; i++) {
    if (items[i].tag == FNZ_ARG_NONE)
      continue;
    FNZ_TRY(fnzi_act_tensor(s, &items[i], &targets[(*count)++]));
  }
  return FNZ_OK;
}

static fnz_status find_targets(fnzi_act *s, fnzi_eager ***out, size_t *count) {
  size_t most = 0;
  for (size_t i = 0; i < s->op->nparams; i++)
    most += s->args[i].tag == FNZ_ARG_LIST ? s->args[i].count : 1;
  FNZI_NEW(&s->in->run.scratch, most, out);
  *count = 0;
  for (size_t i = 0; i < s->op->nparams; i++)
    if (s->op->params[i].is_write)
      FNZ_TRY(add_target(s, &s->args[i], *out, count));
  return FNZ_OK;
}

static fnz_status push_aliased(fnzi_act *s, uint32_t alias) {
  for (size_t i = 0; i < s->op->nparams; i++) {
    if (s->op->params[i].alias != alias || !s->op->params[i].is_write)
      continue;
    const fnz_arg *arg = &s->args[i];
    const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
    for (size_t k = 0; k < (arg->tag == FNZ_ARG_LIST ? arg->count : 1); k++) {
      fnzi_eager *t;
      FNZ_TRY(fnzi_act_tensor(s, &items[k], &t));
      FNZ_TRY(fnzi_act_push(s, t));
    }
    return FNZ_OK;
  }
  return FNZ_OK;
}

/* Plain results come first in ATen, then those that are arguments. */
static size_t plain_returns(const fnz_op *op) {
  size_t count = 0;
  for (size_t i = 0; i < op->nreturns; i++)
    count += op->returns[i].alias == 0;
  return count;
}

fnz_status fnzi_act_write(fnzi_act *s) {
  const fnz_op *twin = twin_of(s->op);
  fnz_arg *args;
  fnzi_eager **targets;
  size_t count;
  if (twin == NULL)
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument and has no functional twin", s->op->name);
  FNZ_TRY(twin_args(s, twin, &args));
  FNZ_TRY(find_targets(s, &targets, &count));
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(check_write(s, twin, args, twin->nparams, targets[i]));
  if (s->in_loop)
    FNZ_TRY(write_in_loop(s, twin, args, targets, count));
  else
    FNZ_TRY(fnzi_act_write_twin(s, twin, args, targets, count, plain_returns(s->op)));
  for (size_t i = 0; i < s->op->nreturns; i++)
    if (s->op->returns[i].alias != 0)
      FNZ_TRY(push_aliased(s, s->op->returns[i].alias));
  return FNZ_OK;
}
