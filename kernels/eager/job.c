/* job.c - operators on memory, as eager PyTorch does them: from the operator that is called to
 * the one way by which it is served. What writes into arguments is in write.c. */
#include "kernels/eager/eager.h"

#include <stdio.h>

fnz_status fnzi_job_fail(const fnzi_job *job, fnz_class kind, const char *format, ...) {
  char text[sizeof job->ctx->error.message];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return fnzi_fail(job->ctx, kind, NULL, "%s: %s", job->op->name, text);
}

/* --- Results ---------------------------------------------------------------------------------- */
fnz_status fnzi_job_give(fnzi_job *job, fnzi_array *array) {
  if (job->count == job->capacity) {
    fnzi_array_release(job->ctx, array);
    return fnzi_job_fail(job, FNZ_CLASS_ARGUMENT, "there is room for %zu results only",
                         job->capacity);
  }
  job->outputs[job->count++] = fnzi_array_handle(array);
  return FNZ_OK;
}

fnz_status fnzi_job_give_again(fnzi_job *job, fnzi_array *array) {
  if (array)
    array->refs++;
  return fnzi_job_give(job, array);
}

static bool lies_well(const fnzi_array *out) {
  size_t bytes = out->geometry.rank * sizeof *out->dims;
  return out->storage->refs == 1 && out->place.offset == out->geometry.offset &&
         (!bytes || memcmp(out->place.strides, out->geometry.strides, bytes) == 0);
}

fnz_status fnzi_job_own(fnzi_job *job, fnzi_array *out) {
  fnzi_array *copy;
  if (out->storage && lies_well(out)) {
    out->eager = true;
    return FNZ_OK;
  }
  if (!out->storage || out->storage->refs == 1)
    return fnzi_array_settle(job->m, job->ctx, out);
  fnz_geometry g = out->geometry;
  g.is_conj = g.is_neg = false;
  FNZ_TRY(fnzi_make(job->m, job->ctx, &g, &copy));
  fnz_status status = fnzi_move(job->m, job->ctx, job->op, copy, out);
  fnzi_storage *shared = out->storage;
  out->storage = copy->storage;
  copy->storage = shared;
  fnzi_array_place_as_geometry(out);
  out->eager = true;
  fnzi_array_release(job->ctx, copy);
  return status;
}

/* --- Parts ------------------------------------------------------------------------------------ */
fnz_status fnzi_job_part(const fnzi_job *job, const fnz_op *op, const fnz_arg *args,
                         fnz_handle *outputs, size_t capacity, size_t *count) {
  fnzi_job part = *job;
  *count = 0;
  if (++part.depth > FNZI_MOST_DEPTH)
    return fnzi_job_fail(job, FNZ_CLASS_INTERNAL, "%s is nested too deep", op->name);
  part.op = op;
  part.args = args;
  part.outputs = outputs;
  part.capacity = capacity;
  part.count = 0;
  FNZ_TRY(fnzi_plan_find(job->m, op, &part.plan));
  fnz_status status = part.plan->way(&part);
  while (status != FNZ_OK && part.count > 0)
    fnzi_array_release(job->ctx, fnzi_array_of(outputs[--part.count]));
  *count = part.count;
  return status;
}

fnz_status fnzi_job_part_of_one(const fnzi_job *job, const fnz_op *op, const fnz_arg *args,
                                fnzi_array **out) {
  fnz_handle handle = 0;
  size_t count;
  *out = NULL;
  FNZ_TRY(fnzi_job_part(job, op, args, &handle, 1, &count));
  *out = fnzi_array_of(handle);
  if (count == 1 && *out)
    return FNZ_OK;
  return fnzi_job_fail(job, FNZ_CLASS_INTERNAL, "%s gave no result", op->name);
}

fnz_status fnzi_job_part_on(const fnzi_job *job, const fnz_op *op, fnzi_array *array,
                            fnzi_array **out) {
  fnz_arg *args;
  if (!op)
    return fnzi_job_fail(job, FNZ_CLASS_INTERNAL, "an operator is missing in the table");
  FNZI_NEW(job->scratch, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = fnzi_arg_get(op, NULL, 0, i);
    if (args[i].tag == FNZ_ARG_DEFAULT)
      args[i].tag = FNZ_ARG_NONE;
  }
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_array_handle(array)};
  return fnzi_job_part_of_one(job, op, args, out);
}

/* --- Arguments -------------------------------------------------------------------------------- */
/* What makes a tensor makes it in the dtype of its out= argument. */
static fnz_arg dtype_of_out(const fnzi_job *job) {
  for (size_t i = 0; i < job->op->nparams; i++) {
    const fnzi_array *out = job->op->params[i].is_out ? fnzi_arg_array(&job->args[i]) : NULL;
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

fnz_status fnzi_job_via_args(const fnzi_job *job, const fnz_arg **out) {
  const fnz_op *via = job->plan->via;
  fnz_arg *args;
  *out = job->args;
  if (job->plan->same_args)
    return FNZ_OK;
  FNZI_NEW(job->scratch, via->nparams, &args);
  for (size_t i = 0; i < via->nparams; i++) {
    int from = place_of(job->op, via, i);
    args[i] = from >= 0 ? job->args[from] : fnzi_arg_get(via, NULL, 0, i);
    if (from < 0 && via->params[i].type == FNZI_TYPE_DTYPE)
      args[i] = dtype_of_out(job);
    if (args[i].tag == FNZ_ARG_DEFAULT && via->params[i].optional)
      args[i].tag = FNZ_ARG_NONE;
  }
  *out = args;
  return FNZ_OK;
}

/* --- Computing -------------------------------------------------------------------------------- */
fnz_status fnzi_job_open(fnzi_job *job, const fnz_arg *args, fnzi_call *call) {
  *call = (fnzi_call){.ctx = job->ctx,
                      .stock = &job->m->stock,
                      .op = job->plan->via,
                      .asked = job->op,
                      .args = args,
                      .target = FNZ_DTYPE_COUNT,
                      .warning = job->warning,
                      .threads = job->m->threads,
                      .has_data = job->m->has_data};
  call->capacity = job->capacity - job->count;
  for (size_t i = 0; i < job->op->nparams; i++)
    if (job->op->params[i].is_write)
      call->capacity += job->args[i].tag == FNZ_ARG_LIST ? job->args[i].count : 1;
  FNZI_NEW(job->scratch, call->capacity, &call->outputs);
  call->scratch = *job->scratch;
  return FNZ_OK;
}

void fnzi_job_close(fnzi_job *job, fnzi_call *call) {
  *job->scratch = call->scratch;
}

/* --- What strict.def asks of arguments -------------------------------------------------------- */
static bool is_asked(uint32_t which, size_t i) {
  return i < 32 && (which >> i & 1);
}

static fnz_status check_alike(const fnzi_job *job, const fnz_arg *args, size_t i) {
  const fnzi_array *first = fnzi_arg_array(&args[0]), *a = fnzi_arg_array(&args[i]);
  const fnzi_param *params = job->plan->via->params;
  if (!first || !a || a->geometry.dtype == first->geometry.dtype)
    return FNZ_OK;
  return fnzi_job_fail(job, FNZ_CLASS_TYPE, "%s is %s, but %s is %s; both must be the same",
                       params[i].name, fnzi_dtype(a->geometry.dtype)->name, params[0].name,
                       fnzi_dtype(first->geometry.dtype)->name);
}

static fnz_status check_not_bool(const fnzi_job *job, const fnz_arg *args, size_t i) {
  const fnzi_array *a = fnzi_arg_array(&args[i]);
  if (a ? a->geometry.dtype != FNZ_BOOL : args[i].tag != FNZ_ARG_BOOL)
    return FNZ_OK;
  return fnzi_job_fail(job, FNZ_CLASS_TYPE, "%s is bool; convert it, or use a logical operator",
                       job->plan->via->params[i].name);
}

static fnz_status check_mask(const fnzi_job *job, const fnz_arg *args, size_t i) {
  const fnzi_array *a = fnzi_arg_array(&args[i]);
  const char *name = job->plan->via->params[i].name;
  if (!a || a->geometry.dtype == FNZ_BOOL)
    return FNZ_OK;
  if (a->geometry.dtype != FNZ_U8)
    return fnzi_job_fail(job, FNZ_CLASS_TYPE, "%s is %s; it must be bool", name,
                         fnzi_dtype(a->geometry.dtype)->name);
  (void)snprintf(job->warning, FNZ_WARNING_BYTES, "%.40s: %s is u8 where bool is meant; convert it",
                 job->op->name, name);
  return FNZ_OK;
}

static fnz_status check_floats(const fnzi_job *job, const fnz_arg *args, size_t i) {
  const fnzi_array *a = fnzi_arg_array(&args[i]);
  if (!a || fnzi_is_float(a->geometry.dtype))
    return FNZ_OK;
  return fnzi_job_fail(job, FNZ_CLASS_TYPE, "%s is %s; cast it to a floating-point type",
                       job->plan->via->params[i].name, fnzi_dtype(a->geometry.dtype)->name);
}

fnz_status fnzi_job_check_types(const fnzi_job *job, const fnz_arg *args) {
  const fnzi_plan *plan = job->plan;
  if (!(plan->alike | plan->not_bool | plan->masks | plan->floats))
    return FNZ_OK;
  for (size_t i = 0; i < plan->via->nparams; i++) {
    if (is_asked(plan->alike, i))
      FNZ_TRY(check_alike(job, args, i));
    if (is_asked(plan->not_bool, i))
      FNZ_TRY(check_not_bool(job, args, i));
    if (is_asked(plan->masks, i))
      FNZ_TRY(check_mask(job, args, i));
    if (is_asked(plan->floats, i))
      FNZ_TRY(check_floats(job, args, i));
  }
  return FNZ_OK;
}

/* --- Evaluating ------------------------------------------------------------------------------- */
static fnz_status evaluate(fnzi_job *job, fnzi_call *call) {
  const fnzi_kernel *row = job->plan->row;
  FNZ_TRY(fnzi_evaluate_shape(call, row));
  if (!call->has_data)
    return FNZ_OK;
  FNZ_TRY(fnzi_evaluate_memory(call, row));
  return fnzi_evaluate_run(call, row);
}

/* Hands the results of a call over; those left after a failure are released. */
static fnz_status give_outputs(fnzi_job *job, fnzi_call *call, fnz_status status) {
  size_t count = call->noutputs;
  call->noutputs = 0;
  for (size_t k = 0; k < count; k++) {
    fnzi_array *out = call->outputs[k];
    if (status == FNZ_OK && out)
      status = fnzi_job_own(job, out);
    if (status == FNZ_OK)
      status = fnzi_job_give(job, out);
    else
      fnzi_array_release(job->ctx, out);
  }
  return status;
}

static fnz_status compute(fnzi_job *job, const fnz_arg *args) {
  fnzi_call call;
  FNZ_TRY(fnzi_job_open(job, args, &call));
  fnz_status status = evaluate(job, &call);
  if (status == FNZ_OK && call.has_data)
    fnzi_fast_learn(job, &call);
  fnzi_job_close(job, &call);
  return give_outputs(job, &call, status);
}

fnz_status fnzi_job_on_args(fnzi_job *job, fnzi_args_fn *body) {
  const fnz_arg *given, *args;
  fnzi_array **temporaries;
  size_t count;
  FNZ_TRY(fnzi_job_via_args(job, &given));
  FNZ_TRY(fnzi_job_plain_args(job, job->plan->via, given, &args, &temporaries, &count));
  fnz_status status = fnzi_job_check_types(job, args);
  if (status == FNZ_OK)
    status = body(job, args);
  fnzi_job_drop(job, temporaries, count);
  return status;
}

fnz_status fnzi_way_compute(fnzi_job *job) {
  return fnzi_job_on_args(job, compute);
}

/* The row is asked only whether it would do it. */
fnz_status fnzi_way_same(fnzi_job *job) {
  fnzi_call call;
  FNZ_TRY(fnzi_job_open(job, job->args, &call));
  fnz_status status = fnzi_evaluate_shape(&call, job->plan->row);
  fnzi_job_close(job, &call);
  fnzi_release_outputs(&call);
  FNZ_TRY(status);
  return fnzi_job_give_again(job, fnzi_arg_array(&job->args[0]));
}

fnz_status fnzi_way_refuse(fnzi_job *job) {
  return fnzi_job_fail(job, FNZ_CLASS_UNSUPPORTED,
                       "there is no kernel for this operator, nor for one that it follows from; "
                       "register one");
}

/* --- The call --------------------------------------------------------------------------------- */
static fnz_status settle_arg(void *user, const fnz_arg *arg) {
  fnzi_job *job = user;
  fnzi_array *a = fnzi_arg_array(arg);
  return a && !a->eager ? fnzi_array_settle(job->m, job->ctx, a) : FNZ_OK;
}

static fnz_status take_args(fnzi_job *job, const fnz_request *request, fnz_arg *args) {
  const fnzi_call call = {.ctx = job->ctx, .op = job->op};
  FNZ_TRY(fnzi_fill_args(&call, request, args));
  for (size_t i = 0; i < job->op->nparams; i++)
    args[i].flags = 0;
  job->args = args;
  return fnzi_args_visit(args, job->op->nparams, settle_arg, job);
}

static fnz_status serve(fnzi_job *job, const fnz_request *request) {
  fnz_arg *args;
  FNZ_TRY(fnzi_plan_find(job->m, job->op, &job->plan));
  FNZI_NEW(job->scratch, job->op->nparams, &args);
  FNZ_TRY(take_args(job, request, args));
  return job->plan->way(job);
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
  fnzi_job job = {.m = m,
                  .ctx = ctx,
                  .op = request->op,
                  .outputs = outputs,
                  .capacity = capacity,
                  .warning = warning,
                  .scratch = nested ? &own : &m->scratch};
  m->busy = true;
  fnz_status status = serve(&job, request);
  m->busy = nested;
  while (status != FNZ_OK && job.count > 0)
    fnzi_array_release(ctx, fnzi_array_of(outputs[--job.count]));
  *count = job.count;
  if (nested)
    fnzi_arena_free(&own);
  else
    fnzi_arena_reset(&m->scratch);
  return status;
}
