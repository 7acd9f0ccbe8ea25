/* variants.c - operators on memory, as eager PyTorch does them: from the operator that is called to
 * the one way by which it is served. What writes into arguments is in write.c. */
#include "kernels/variants.h"

#include <stdio.h>

fnz_status fnzi_act_fail(const fnzi_act *act, fnz_class kind, const char *format, ...) {
  char text[sizeof act->ctx->error.message];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return fnzi_fail(act->ctx, kind, NULL, "%s: %s", act->op->name, text);
}

/* --- Results ----------------------------------------------------------------------------- */
fnz_status fnzi_act_give(fnzi_act *act, fnzi_array *array) {
  if (act->count == act->capacity) {
    fnzi_array_release(act->ctx, array);
    return fnzi_act_fail(act, FNZ_CLASS_ARGUMENT, "there is room for %zu results only",
                         act->capacity);
  }
  act->outputs[act->count++] = fnzi_array_handle(array);
  return FNZ_OK;
}

fnz_status fnzi_act_give_again(fnzi_act *act, fnzi_array *array) {
  if (array)
    array->refs++;
  return fnzi_act_give(act, array);
}

static bool lies_well(const fnzi_array *out) {
  size_t bytes = out->geometry.rank * sizeof *out->dims;
  return out->storage->refs == 1 && out->place.offset == out->geometry.offset &&
         (!bytes || memcmp(out->place.strides, out->geometry.strides, bytes) == 0);
}

fnz_status fnzi_act_own(fnzi_act *act, fnzi_array *out) {
  fnzi_array *copy;
  if (out->storage && lies_well(out)) {
    out->eager = true;
    return FNZ_OK;
  }
  if (!out->storage || out->storage->refs == 1)
    return fnzi_array_settle(act->m, act->ctx, out);
  fnz_geometry g = out->geometry;
  g.is_conj = g.is_neg = false;
  FNZ_TRY(fnzi_make(act->m, act->ctx, &g, &copy));
  fnz_status status = fnzi_move(act->m, act->ctx, act->op, copy, out);
  fnzi_storage *shared = out->storage;
  out->storage = copy->storage;
  copy->storage = shared;
  fnzi_array_place_as_geometry(out);
  out->eager = true;
  fnzi_array_release(act->ctx, copy);
  return status;
}

/* --- Parts ------------------------------------------------------------------------------- */
fnz_status fnzi_act_part(const fnzi_act *act, const fnz_op *op, const fnz_arg *args,
                         fnz_handle *outputs, size_t capacity, size_t *count) {
  fnzi_act part = *act;
  *count = 0;
  if (++part.depth > FNZI_MOST_DEPTH)
    return fnzi_act_fail(act, FNZ_CLASS_INTERNAL, "%s is nested too deep", op->name);
  part.op = op;
  part.args = args;
  part.outputs = outputs;
  part.capacity = capacity;
  part.count = 0;
  FNZ_TRY(fnzi_plan_find(act->m, op, &part.plan));
  fnz_status status = part.plan->way(&part);
  while (status != FNZ_OK && part.count > 0)
    fnzi_array_release(act->ctx, fnzi_array_of(outputs[--part.count]));
  *count = part.count;
  return status;
}

fnz_status fnzi_act_part_of_one(const fnzi_act *act, const fnz_op *op, const fnz_arg *args,
                                fnzi_array **out) {
  fnz_handle handle = 0;
  size_t count;
  *out = NULL;
  FNZ_TRY(fnzi_act_part(act, op, args, &handle, 1, &count));
  *out = fnzi_array_of(handle);
  if (count == 1 && *out)
    return FNZ_OK;
  return fnzi_act_fail(act, FNZ_CLASS_INTERNAL, "%s gave no result", op->name);
}

fnz_status fnzi_act_part_on(const fnzi_act *act, const fnz_op *op, fnzi_array *array,
                            fnzi_array **out) {
  fnz_arg *args;
  if (!op)
    return fnzi_act_fail(act, FNZ_CLASS_INTERNAL, "an operator is missing in the table");
  FNZI_NEW(act->scratch, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = fnzi_arg_get(op, NULL, 0, i);
    if (args[i].tag == FNZ_ARG_DEFAULT)
      args[i].tag = FNZ_ARG_NONE;
  }
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_array_handle(array)};
  return fnzi_act_part_of_one(act, op, args, out);
}

/* --- Arguments --------------------------------------------------------------------------- */
/* What makes a tensor makes it in the dtype of its out= argument. */
static fnz_arg dtype_of_out(const fnzi_act *act) {
  for (size_t i = 0; i < act->op->nparams; i++) {
    const fnzi_array *out = act->op->params[i].is_out ? fnzi_arg_array(&act->args[i]) : NULL;
    if (out)
      return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = (int64_t)out->geometry.dtype};
  }
  return (fnz_arg){.tag = FNZ_ARG_NONE};
}

/* Where via's argument i stands in op: by its name, or, where the two call it differently, at the
 * same place. */
static int place_of(const fnz_op *op, const fnz_op *via, size_t i) {
  int named = fnzi_op_param(op, via->params[i].name);
  bool other_name = i < op->nparams && !op->params[i].is_out &&
                    op->params[i].type == via->params[i].type &&
                    fnzi_op_param(via, op->params[i].name) < 0;
  return named < 0 && other_name ? (int)i : named;
}

fnz_status fnzi_act_via_args(const fnzi_act *act, const fnz_arg **out) {
  const fnz_op *via = act->plan->via;
  fnz_arg *args;
  *out = act->args;
  if (act->plan->same_args)
    return FNZ_OK;
  FNZI_NEW(act->scratch, via->nparams, &args);
  for (size_t i = 0; i < via->nparams; i++) {
    int from = place_of(act->op, via, i);
    args[i] = from >= 0 ? act->args[from] : fnzi_arg_get(via, NULL, 0, i);
    if (from < 0 && via->params[i].type == FNZI_TYPE_DTYPE)
      args[i] = dtype_of_out(act);
    if (args[i].tag == FNZ_ARG_DEFAULT && via->params[i].optional)
      args[i].tag = FNZ_ARG_NONE;
  }
  *out = args;
  return FNZ_OK;
}

static bool has_bits(const fnz_arg *arg) {
  const fnzi_array *a = fnzi_arg_array(arg);
  return a && (a->geometry.is_conj || a->geometry.is_neg);
}

/* The operator that computes what a lazy bit says: the copying twin of its view. */
static const fnz_op *bit_op(const char *view) {
  const fnz_op *op = fnz_op_find(view);
  return op ? fnzi_op_by_index(op->view_copy) : NULL;
}

fnz_status fnzi_act_resolve(const fnzi_act *act, fnzi_array *array, fnzi_array **out) {
  fnz_geometry g = array->geometry;
  fnzi_array *plain, *half;
  bool is_conj = g.is_conj, is_neg = g.is_neg;
  g.is_conj = g.is_neg = false;
  FNZ_TRY(fnzi_look_at(act->m, act->ctx, array->storage, &g, &plain));
  fnz_status status = fnzi_act_part_on(act, bit_op(is_conj ? "_conj" : "_neg_view"), plain, out);
  fnzi_array_release(act->ctx, plain);
  if (status != FNZ_OK || !is_conj || !is_neg)
    return status;
  half = *out;
  status = fnzi_act_part_on(act, bit_op("_neg_view"), half, out);
  fnzi_array_release(act->ctx, half);
  return status;
}

void fnzi_act_drop(const fnzi_act *act, fnzi_array **temporaries, size_t count) {
  for (size_t i = 0; i < count; i++)
    fnzi_array_release(act->ctx, temporaries[i]);
}

/* Copies the item and puts a computed tensor in its place when it has bits. */
static fnz_status plain_item(const fnzi_act *act, fnz_arg *item, fnzi_array **temporaries,
                             size_t *count) {
  if (!has_bits(item))
    return FNZ_OK;
  FNZ_TRY(fnzi_act_resolve(act, fnzi_arg_array(item), &temporaries[*count]));
  item->u.value = fnzi_array_handle(temporaries[(*count)++]);
  return FNZ_OK;
}

static size_t count_bits(const fnz_arg *args, size_t nargs) {
  size_t count = 0;
  for (size_t i = 0; i < nargs; i++) {
    count += has_bits(&args[i]);
    for (uint32_t k = 0; args[i].tag == FNZ_ARG_LIST && k < args[i].count; k++)
      count += has_bits(&args[i].u.list[k]);
  }
  return count;
}

static fnz_status replace_bits(const fnzi_act *act, fnz_arg *args, size_t nargs,
                               fnzi_array **temporaries, size_t *count) {
  for (size_t i = 0; i < nargs; i++) {
    FNZ_TRY(plain_item(act, &args[i], temporaries, count));
    if (args[i].tag != FNZ_ARG_LIST)
      continue;
    fnz_arg *items;
    FNZI_NEW(act->scratch, args[i].count, &items);
    for (uint32_t k = 0; k < args[i].count; k++) {
      items[k] = args[i].u.list[k];
      FNZ_TRY(plain_item(act, &items[k], temporaries, count));
    }
    args[i].u.list = items;
  }
  return FNZ_OK;
}

fnz_status fnzi_act_plain_args(const fnzi_act *act, const fnz_op *op, const fnz_arg *args,
                               const fnz_arg **out, fnzi_array ***temporaries, size_t *count) {
  size_t bits = count_bits(args, op->nparams);
  fnz_arg *copy;
  *out = args;
  *count = 0;
  *temporaries = NULL;
  if (!bits)
    return FNZ_OK;
  FNZI_NEW(act->scratch, op->nparams, &copy);
  FNZI_NEW(act->scratch, bits, temporaries);
  memcpy(copy, args, op->nparams * sizeof *copy);
  *out = copy;
  fnz_status status = replace_bits(act, copy, op->nparams, *temporaries, count);
  if (status != FNZ_OK) {
    fnzi_act_drop(act, *temporaries, *count);
    *count = 0;
  }
  return status;
}

/* --- Computing --------------------------------------------------------------------------- */
fnz_status fnzi_act_open(fnzi_act *act, const fnz_arg *args, fnzi_call *call) {
  *call = (fnzi_call){.ctx = act->ctx,
                      .stock = &act->m->stock,
                      .op = act->plan->via,
                      .asked = act->op,
                      .args = args,
                      .target = FNZ_DTYPE_COUNT,
                      .threads = act->m->threads,
                      .has_data = act->m->has_data};
  call->capacity = act->capacity - act->count;
  for (size_t i = 0; i < act->op->nparams; i++)
    if (act->op->params[i].is_write)
      call->capacity += act->args[i].tag == FNZ_ARG_LIST ? act->args[i].count : 1;
  FNZI_NEW(act->scratch, call->capacity, &call->outputs);
  call->scratch = *act->scratch;
  return FNZ_OK;
}

void fnzi_act_close(fnzi_act *act, fnzi_call *call) {
  *act->scratch = call->scratch;
}

/* What strict.def asks of the arguments. */
static fnz_status check_alike(const fnzi_act *act, const fnz_arg *args) {
  const fnz_op *via = act->plan->via;
  const fnzi_array *first = act->plan->alike ? fnzi_arg_array(&args[0]) : NULL;
  for (size_t i = 0; first && i < via->nparams && i < 32; i++) {
    const fnzi_array *a = fnzi_arg_array(&args[i]);
    if ((act->plan->alike >> i & 1) && a && a->geometry.dtype != first->geometry.dtype)
      return fnzi_act_fail(act, FNZ_CLASS_TYPE, "%s is %s, but %s is %s; both must be the same",
                           via->params[i].name, fnzi_dtype(a->geometry.dtype)->name,
                           via->params[0].name, fnzi_dtype(first->geometry.dtype)->name);
  }
  return FNZ_OK;
}

static fnz_status evaluate(fnzi_act *act, fnzi_call *call) {
  const fnzi_kernel *row = act->plan->row;
  FNZ_TRY(fnzi_evaluate_shape(call, row));
  if (!call->has_data)
    return FNZ_OK;
  FNZ_TRY(fnzi_evaluate_memory(call, row));
  return fnzi_evaluate_run(call, row);
}

/* Hands the results of a call over; those left after a failure are released. */
static fnz_status give_outputs(fnzi_act *act, fnzi_call *call, fnz_status status) {
  size_t count = call->noutputs;
  call->noutputs = 0;
  for (size_t k = 0; k < count; k++) {
    fnzi_array *out = call->outputs[k];
    if (status == FNZ_OK && out)
      status = fnzi_act_own(act, out);
    if (status == FNZ_OK)
      status = fnzi_act_give(act, out);
    else
      fnzi_array_release(act->ctx, out);
  }
  return status;
}

static fnz_status compute(fnzi_act *act, const fnz_arg *args) {
  fnzi_call call;
  FNZ_TRY(fnzi_act_open(act, args, &call));
  fnz_status status = evaluate(act, &call);
  if (status == FNZ_OK && call.has_data)
    fnzi_fast_learn(act, &call);
  fnzi_act_close(act, &call);
  return give_outputs(act, &call, status);
}

fnz_status fnzi_act_on_args(fnzi_act *act, fnzi_args_fn *body) {
  const fnz_arg *given, *args;
  fnzi_array **temporaries;
  size_t count;
  FNZ_TRY(fnzi_act_via_args(act, &given));
  FNZ_TRY(fnzi_act_plain_args(act, act->plan->via, given, &args, &temporaries, &count));
  fnz_status status = check_alike(act, args);
  if (status == FNZ_OK)
    status = body(act, args);
  fnzi_act_drop(act, temporaries, count);
  return status;
}

fnz_status fnzi_way_compute(fnzi_act *act) {
  return fnzi_act_on_args(act, compute);
}

/* The row is asked only whether it would do it. */
fnz_status fnzi_way_same(fnzi_act *act) {
  fnzi_call call;
  FNZ_TRY(fnzi_act_open(act, act->args, &call));
  fnz_status status = fnzi_evaluate_shape(&call, act->plan->row);
  fnzi_act_close(act, &call);
  fnzi_release_outputs(&call);
  FNZ_TRY(status);
  return fnzi_act_give_again(act, fnzi_arg_array(&act->args[0]));
}

/* --- Views ------------------------------------------------------------------------------- */
static fnzi_array *first_tensor(const fnzi_act *act) {
  return act->op->nparams ? fnzi_arg_array(&act->args[0]) : NULL;
}

static fnz_status need_tensor(const fnzi_act *act) {
  return fnzi_act_fail(act, FNZ_CLASS_TYPE, "argument 0 must be a tensor");
}

fnz_status fnzi_act_copy_result(fnzi_act *act, size_t k) {
  fnzi_array *from = fnzi_array_of(act->outputs[k]), *copy;
  FNZ_TRY(fnzi_act_part_on(act, fnz_op_find("clone"), from, &copy));
  act->outputs[k] = fnzi_array_handle(copy);
  fnzi_array_release(act->ctx, from);
  return FNZ_OK;
}

static fnz_status open_windows(fnzi_act *act, bool copies) {
  fnzi_array *base = first_tensor(act), *window;
  fnz_geometry *windows;
  size_t count;
  if (!base)
    return need_tensor(act);
  FNZ_TRY(fnzi_view_forward(act->scratch, act->plan->view, act->op, act->args, act->op->nparams,
                            &base->geometry, &windows, &count));
  for (size_t k = 0; k < count; k++) {
    FNZ_TRY(fnzi_look_at(act->m, act->ctx, base->storage, &windows[k], &window));
    FNZ_TRY(fnzi_act_give(act, window));
    if (copies)
      FNZ_TRY(fnzi_act_copy_result(act, act->count - 1));
  }
  return FNZ_OK;
}

fnz_status fnzi_way_view(fnzi_act *act) {
  return open_windows(act, false);
}

fnz_status fnzi_way_view_copy(fnzi_act *act) {
  return open_windows(act, true);
}

fnz_status fnzi_way_review(fnzi_act *act) {
  const fnz_arg *args;
  fnzi_array *self = first_tensor(act), *window;
  if (!self)
    return need_tensor(act);
  FNZ_TRY(fnzi_act_via_args(act, &args));
  FNZ_TRY(fnzi_act_part_of_one(act, act->plan->via, args, &window));
  fnz_status status = fnzi_array_look(act->ctx, self, &window->geometry);
  fnzi_array_release(act->ctx, window);
  FNZ_TRY(status);
  return fnzi_act_give_again(act, self);
}

/* --- Composites -------------------------------------------------------------------------- */
typedef struct tensors {
  const fnzi_act *act;
  fnzi_array **arrays;
  const fnz_geometry **geometries;
  size_t count;
} tensors;

static fnz_status count_tensor(void *user, const fnz_arg *arg) {
  tensors *t = user;
  t->count += fnzi_arg_array(arg) != NULL;
  return FNZ_OK;
}

static fnz_status add_tensor(void *user, const fnz_arg *arg) {
  tensors *t = user;
  fnzi_array *a = fnzi_arg_array(arg);
  if (!a)
    return FNZ_OK;
  t->arrays[t->count] = a;
  t->geometries[t->count++] = &a->geometry;
  return FNZ_OK;
}

static fnz_status collect_tensors(const fnzi_act *act, tensors *out) {
  *out = (tensors){.act = act};
  FNZ_TRY(fnzi_args_visit(act->args, act->op->nparams, count_tensor, out));
  FNZI_NEW(act->scratch, out->count, &out->arrays);
  FNZI_NEW(act->scratch, out->count, &out->geometries);
  out->count = 0;
  return fnzi_args_visit(act->args, act->op->nparams, add_tensor, out);
}

/* Step k of an item on `from`; only the last one may have several results. */
static fnz_status do_step(fnzi_act *act, const fnzi_item *item, size_t k, fnzi_array *from) {
  const fnz_op *op = item->steps[k].op;
  fnz_arg *args;
  size_t count;
  FNZI_NEW(act->scratch, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = fnzi_arg_get(op, item->steps[k].args, item->steps[k].nargs, i);
    if (args[i].tag == FNZ_ARG_DEFAULT && op->params[i].optional)
      args[i].tag = FNZ_ARG_NONE;
  }
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_array_handle(from)};
  FNZ_TRY(
      fnzi_act_part(act, op, args, act->outputs + act->count, act->capacity - act->count, &count));
  act->count += count;
  return FNZ_OK;
}

static fnz_status do_item(fnzi_act *act, const fnzi_item *item, fnzi_array *from) {
  if (item->nsteps == 0)
    return fnzi_act_give_again(act, from);
  for (size_t k = 0; k < item->nsteps; k++) {
    size_t before = act->count;
    fnz_status status = do_step(act, item, k, from);
    if (k > 0)
      fnzi_array_release(act->ctx, from);
    FNZ_TRY(status);
    if (k + 1 == item->nsteps)
      return FNZ_OK;
    if (act->count != before + 1)
      return fnzi_act_fail(act, FNZ_CLASS_INTERNAL, "step %zu has %zu results", k,
                           act->count - before);
    from = fnzi_array_of(act->outputs[--act->count]);
  }
  return FNZ_OK;
}

fnz_status fnzi_way_composite(fnzi_act *act) {
  fnzi_resolution r;
  tensors t;
  FNZ_TRY(collect_tensors(act, &t));
  FNZ_TRY(fnzi_composite_resolve(act->scratch, act->plan->composite, act->op, act->args,
                                 act->op->nparams, t.geometries, t.count, &r));
  if (r.keep)
    return act->plan->row ? fnzi_way_compute(act) : fnzi_way_refuse(act);
  for (size_t k = 0; k < r.count; k++)
    FNZ_TRY(do_item(act, &r.items[k], t.arrays[r.items[k].tensor]));
  return FNZ_OK;
}

/* --- Lists ------------------------------------------------------------------------------- */
/* The length that all lists have. */
static fnz_status list_length(const fnzi_act *act, uint32_t *out) {
  bool seen = false;
  *out = 0;
  for (size_t i = 0; i < act->op->nparams; i++) {
    const fnz_arg *arg = &act->args[i];
    if (!act->op->params[i].is_list || arg->tag != FNZ_ARG_LIST)
      continue;
    if (seen && arg->count != *out)
      return fnzi_act_fail(act, FNZ_CLASS_BOUNDS, "%s has %u items, the list before has %u",
                           act->op->params[i].name, arg->count, *out);
    *out = arg->count;
    seen = true;
  }
  return FNZ_OK;
}

static fnz_status element_arg(const fnzi_act *act, const fnz_op *element, size_t i, uint32_t k,
                              fnz_arg *out) {
  *out = i < act->op->nparams ? act->args[i] : fnzi_arg_get(element, NULL, 0, i);
  if (out->tag == FNZ_ARG_LIST && !element->params[i].is_list)
    *out = out->u.list[k];
  else if (out->tag == FNZ_ARG_VALUE && element->params[i].type != FNZI_TYPE_TENSOR)
    return fnzi_number_of(act->ctx, act->op, fnzi_arg_array(out), k, out);
  out->flags = 0; /* other elements may have it as well */
  if (out->tag == FNZ_ARG_DEFAULT && element->params[i].optional)
    out->tag = FNZ_ARG_NONE;
  return FNZ_OK;
}

static fnz_status do_element(fnzi_act *act, uint32_t k) {
  const fnz_op *element = act->plan->via;
  bool returns = act->op->nreturns > 0;
  fnz_handle dropped;
  fnz_arg *args;
  size_t count;
  FNZI_NEW(act->scratch, element->nparams, &args);
  for (size_t i = 0; i < element->nparams; i++)
    FNZ_TRY(element_arg(act, element, i, k, &args[i]));
  if (returns && act->count == act->capacity)
    return fnzi_act_give(act, NULL);
  FNZ_TRY(
      fnzi_act_part(act, element, args, returns ? act->outputs + act->count : &dropped, 1, &count));
  if (returns)
    act->count += count;
  else if (count)
    fnzi_array_release(act->ctx, fnzi_array_of(dropped));
  return FNZ_OK;
}

fnz_status fnzi_way_list(fnzi_act *act) {
  uint32_t length;
  FNZ_TRY(list_length(act, &length));
  for (uint32_t k = 0; k < length; k++)
    FNZ_TRY(do_element(act, k));
  return FNZ_OK;
}

fnz_status fnzi_way_refuse(fnzi_act *act) {
  return fnzi_act_fail(act, FNZ_CLASS_UNSUPPORTED,
                       "there is no kernel for this operator, nor for one that it follows from; "
                       "register one");
}

/* --- The call ---------------------------------------------------------------------------- */
static fnz_status settle_arg(void *user, const fnz_arg *arg) {
  fnzi_act *act = user;
  fnzi_array *a = fnzi_arg_array(arg);
  return a && !a->eager ? fnzi_array_settle(act->m, act->ctx, a) : FNZ_OK;
}

static fnz_status take_args(fnzi_act *act, const fnz_request *request, fnz_arg *args) {
  const fnzi_call call = {.ctx = act->ctx, .op = act->op};
  FNZ_TRY(fnzi_fill_args(&call, request, args));
  for (size_t i = 0; i < act->op->nparams; i++)
    args[i].flags = 0;
  act->args = args;
  return fnzi_args_visit(args, act->op->nparams, settle_arg, act);
}

static fnz_status serve(fnzi_act *act, const fnz_request *request) {
  fnz_arg *args;
  FNZ_TRY(fnzi_plan_find(act->m, act->op, &act->plan));
  FNZI_NEW(act->scratch, act->op->nparams, &args);
  FNZ_TRY(take_args(act, request, args));
  return act->plan->way(act);
}

fnz_status fnzi_machine_call(void *self, fnz_context *ctx, const fnz_request *request,
                             fnz_handle *outputs, size_t capacity, size_t *count, char *warning) {
  fnzi_machine *m = self;
  fnzi_arena own;
  bool nested = m->busy;
  *count = 0;
  warning[0] = 0;
  if (!request->op)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "a call needs an operator");
  const fnzi_plan *plan = fnzi_plan_of(m, request->op);
  if (plan && plan->shortcuts && capacity && fnzi_fast_call(m, ctx, plan, request, outputs)) {
    *count = 1;
    return FNZ_OK;
  }
  fnzi_arena_init(&own, ctx);
  fnzi_act act = {.m = m,
                  .ctx = ctx,
                  .op = request->op,
                  .outputs = outputs,
                  .capacity = capacity,
                  .warning = warning,
                  .scratch = nested ? &own : &m->scratch};
  m->busy = true;
  fnz_status status = serve(&act, request);
  m->busy = nested;
  while (status != FNZ_OK && act.count > 0)
    fnzi_array_release(ctx, fnzi_array_of(outputs[--act.count]));
  *count = act.count;
  if (nested)
    fnzi_arena_free(&own);
  else
    fnzi_arena_reset(&m->scratch);
  return status;
}

fnz_status fnzi_machine_resolve(fnzi_machine *m, fnz_context *ctx, fnzi_array *array,
                                fnzi_array **out) {
  fnzi_arena scratch;
  fnzi_arena_init(&scratch, ctx);
  const fnzi_act act = {.m = m, .ctx = ctx, .op = bit_op("_conj"), .scratch = &scratch};
  fnz_status status = fnzi_act_resolve(&act, array, out);
  fnzi_arena_free(&scratch);
  return status;
}
