/* write.c - in-place, out= and mutable operators: the results of the functional operator that they
 * stand for, in the arguments that they write.
 *
 * First everything is checked, then out= arguments are resized, then the kernel runs: straight into
 * the argument's memory where nothing else that it reads lies there, else into new memory that is
 * copied. So nothing is written when a check fails. */
#include "kernels/eager/eager.h"
#include "views/emit.h"
#include "schema/twins.h"

#include <stdio.h>

/* A write in hand. */
typedef struct writing {
  fnzi_mem_job *job;
  fnzi_krn_call call;       /* of via */
  fnzi_krn_array **targets; /* the written arguments, lists flattened, absent ones left out */
  const uint32_t **orders;  /* in which they are written; NULL for any */
  size_t ntargets;
  size_t nplain;                  /* results before the written ones */
  fnzi_arena *scratch;            /* of the call in hand */
  fnz_geometry **formerly;        /* of resized targets; NULL while there are none */
  fnzi_krn_array **former_arrays; /* arrays with the former geometry of targets that are read */
  size_t nformer;
} writing;

/* --- Targets ----------------------------------------------------------------------------- */
static void add_targets(writing *w, size_t i) {
  const fnz_arg *arg = &w->job->args[i];
  const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
  size_t count = arg->tag == FNZ_ARG_LIST ? arg->count : 1;
  for (size_t k = 0; k < count; k++)
    if (fnzi_krn_arg_array(&items[k]))
      w->targets[w->ntargets++] = fnzi_krn_arg_array(&items[k]);
}

/* The functional operator returns the results of op, and then the arguments that op writes without
 * returning them. */
static fnz_status find_targets(writing *w) {
  const fnz_op *op = w->job->op;
  const fnzi_param *written;
  size_t most = 0;
  for (size_t i = 0; i < op->nparams; i++)
    if (op->params[i].is_write)
      most += w->job->args[i].tag == FNZ_ARG_LIST ? w->job->args[i].count : 1;
  FNZI_NEW(w->job->scratch, most, &w->targets);
  FNZI_NEW(w->job->scratch, most, &w->orders);
  /* Adds the targets that op returns, in that order. */
  for (size_t k = 0; k < op->nreturns; k++)
    for (size_t i = 0; op->returns[k].alias && i < op->nparams; i++)
      if (op->params[i].is_write && op->params[i].alias == op->returns[k].alias)
        add_targets(w, i);
  for (fnzi_written_walk walk = {0}; fnzi_written_next(op, &walk, &written);)
    add_targets(w, (size_t)(written - op->params));
  for (size_t i = 0; i < op->nreturns; i++)
    w->nplain += op->returns[i].alias == 0;
  return FNZ_OK;
}

static fnz_status check_count(const writing *w, size_t noutputs) {
  if (noutputs == w->nplain + w->ntargets)
    return FNZ_OK;
  return fnzi_mem_job_fail(w->job, FNZ_CLASS_ARGUMENT,
                           "%zu results, but %zu tensors to write and %zu to return", noutputs,
                           w->ntargets, w->nplain);
}

/* --- Resizing ---------------------------------------------------------------------------- */
/* Eager resizes without a word also for tensors from numbers. */
static bool is_quiet(const fnzi_mem_job *job) {
  const fnzi_mem_route *route = job->route;
  return fnzi_mem_job_is_strict(job, FNZI_ROUTE_QUIET) ||
         (route->row && !fnzi_mem_job_is_generated(job) &&
          (route->row->shape == fnzi_shape_create || route->row->shape == fnzi_shape_eye ||
           route->row->shape == fnzi_shape_linspace));
}

/* A kernel may refuse what the elements hold when its targets are resized already. They were as
 * they are put here, so there is room. */
static void unfit(const writing *w, fnz_status *status) {
  if (*status == FNZ_OK || !w->formerly)
    return;
  w->job->warning[0] = 0;
  for (size_t k = w->ntargets; k-- > 0;)
    if (w->formerly[k] &&
        fnzi_krn_array_rebase(w->job->ctx, w->targets[k], w->formerly[k]) != FNZ_OK)
      *status = FNZ_NO_MEMORY;
}

static fnz_status fit(writing *w, size_t k, const fnz_geometry *result) {
  const fnzi_mem_job *job = w->job;
  fnzi_krn_array *target = w->targets[k];
  if (fnzi_same_sizes(&target->geometry, result))
    return FNZ_OK;
  /* A call that fails gives the target its former geometry again. */
  const fnz_geometry *g = &target->geometry;
  int64_t *sizes, *strides;
  if (!w->formerly)
    FNZI_NEW(w->scratch, w->ntargets, &w->formerly);
  FNZI_NEW(w->scratch, g->rank + 1, &sizes);
  FNZI_NEW(w->scratch, g->rank + 1, &strides);
  FNZI_NEW(w->scratch, 1, &w->formerly[k]);
  memcpy(sizes, g->sizes, g->rank * sizeof *g->sizes);
  memcpy(strides, g->strides, g->rank * sizeof *g->sizes);
  *w->formerly[k] = *g;
  w->formerly[k]->sizes = sizes;
  w->formerly[k]->strides = strides;
  char have[FNZI_SIZES_TEXT], want[FNZI_SIZES_TEXT];
  if (fnz_geometry_numel(&target->geometry) != 0 && !is_quiet(job))
    (void)snprintf(job->warning, FNZ_WARNING_BYTES,
                   "%.40s: an out= tensor of shape %s with elements was resized to %s; give one of "
                   "that shape, or an empty one",
                   job->op->name, fnzi_mem_sizes_text(&target->geometry, have),
                   fnzi_mem_sizes_text(result, want));
  return fnzi_mem_array_resize(job->ctx, target, result->rank, result->sizes,
                               fnzi_mem_job_is_generated(job) ? NULL : result->strides);
}

/* --- Straight into the argument ---------------------------------------------------------- */
typedef struct sharing {
  bool shares, shares_elsewhere; /* other than at the same places */
  size_t times;
} sharing;

/* Among the kernels that give the results their memory, these use the elements of arguments. */
static bool takes_values(const fnzi_kernel *row) {
  uint8_t access = fnzi_kernel_facts(row)->access;
  return access == FNZI_ACCESS_COPY || access == FNZI_ACCESS_SAME;
}

/* The kernel may put result k into the target's memory. */
static bool may_write_through(const writing *w, const fnzi_krn_array *target,
                              const fnzi_krn_array *out, size_t k) {
  const fnzi_mem_route *route = w->job->route;
  const fnz_geometry *g = &target->geometry;
  if (out->storage || g->dtype != out->geometry.dtype || g->is_conj || g->is_neg)
    return false;
  sharing s = {.times = 0};
  FNZI_EACH_ARG(each, w->call.args, route->via->nparams) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (!a || a->storage != target->storage)
      continue;
    const bool meets = fnzi_mem_array_meets(a, target);
    s.times++;
    s.shares = s.shares || meets;
    s.shares_elsewhere = s.shares_elsewhere || (meets && !fnzi_mem_array_same_window(a, target));
  }
  switch (route->row->memory) {
  case FNZI_MEMORY_POINT:
    return !s.shares_elsewhere;
  case FNZI_MEMORY_BASE:
    return k == 0 && s.times == 1 && fnzi_krn_arg_array(&w->call.args[0]) == target;
  case FNZI_MEMORY_VIEW:
    return takes_values(route->row) && !s.shares_elsewhere;
  case FNZI_MEMORY_NEW:
    return !s.shares && fnzi_is_dense(g);
  }
  return false;
}

static bool overlaps_other_target(const writing *w, size_t k) {
  for (size_t i = 0; i < w->ntargets; i++)
    if (i != k && fnzi_mem_array_meets(w->targets[i], w->targets[k]))
      return true;
  return false;
}

/* --- Storing ----------------------------------------------------------------------------- */
static bool is_there(const fnzi_krn_array *target, const fnzi_krn_array *from) {
  size_t bytes = from->window.rank * sizeof *from->dims;
  return from->storage == target->storage && from->window.dtype == target->geometry.dtype &&
         from->window.offset == target->geometry.offset &&
         (!bytes || memcmp(from->window.strides, target->geometry.strides, bytes) == 0);
}

/* The elements as the target keeps them: its lazy bits undone. Owned by the caller. */
static fnz_status encode(fnzi_mem_job *job, const fnzi_krn_array *target, fnzi_krn_array *from,
                         fnzi_krn_array **out) {
  fnzi_krn_array *window;
  fnz_geometry g = from->geometry;
  g.is_conj = target->geometry.is_conj;
  g.is_neg = target->geometry.is_neg;
  FNZ_TRY(fnzi_mem_array_window(job->m, job->ctx, from->storage, &g, &window));
  fnz_status status = fnzi_mem_job_resolve(job, window, out);
  fnzi_krn_array_release(job->ctx, window);
  return status;
}

/* Elements one after the other, dimensions in this order. */
static fnz_status copy_in_order(fnzi_mem_job *job, const fnzi_krn_array *target,
                                const fnzi_krn_array *from, const uint32_t *order) {
  fnzi_krn_call call = {.ctx = job->ctx, .op = job->op, .team = job->m->team};
  fnzi_krn_window to, source, ordered[2];
  if (job->m->stock.elsewhere)
    return fnzi_mem_job_fail(
        job, FNZ_CLASS_UNSUPPORTED,
        "elements of what is written share memory, which only the CPU writes in "
        "order; move the tensors there");
  fnzi_krn_window_of(target, &to);
  fnzi_krn_window_of(from, &source);
  ordered[0] = to;
  ordered[1] = source;
  for (uint32_t d = 0; d < to.rank; d++) {
    ordered[0].sizes[d] = ordered[1].sizes[d] = to.sizes[order[d]];
    ordered[0].strides[d] = to.strides[order[d]];
    ordered[1].strides[d] = source.strides[order[d]];
  }
  return fnzi_krn_window_assign(&call, &ordered[0], &ordered[1], true);
}

static fnz_status copy(fnzi_mem_job *job, const fnzi_krn_array *target, const fnzi_krn_array *from,
                       const uint32_t *order) {
  return order ? copy_in_order(job, target, from, order)
               : fnzi_mem_array_copy(job->m, job->ctx, job->op, target, from);
}

fnz_status fnzi_mem_job_store(fnzi_mem_job *job, fnzi_krn_array *target, fnzi_krn_array *from,
                              const uint32_t *order) {
  fnzi_krn_array *encoded;
  if (!job->m->has_data || is_there(target, from))
    return FNZ_OK;
  if (!from->eager && from->storage == target->storage)
    FNZ_TRY(fnzi_mem_job_own_result(job, from));
  if (!target->geometry.is_conj && !target->geometry.is_neg)
    return copy(job, target, from, order);
  FNZ_TRY(fnzi_mem_job_own_result(job, from));
  FNZ_TRY(encode(job, target, from, &encoded));
  fnz_status status = copy(job, target, encoded, order);
  fnzi_krn_array_release(job->ctx, encoded);
  return status;
}

static fnz_status store_all(writing *w, fnzi_krn_array *const *results) {
  for (size_t k = 0; k < w->ntargets; k++)
    if (results[k])
      FNZ_TRY(fnzi_mem_job_store(w->job, w->targets[k], results[k], w->orders[k]));
  return FNZ_OK;
}

/* --- Results ----------------------------------------------------------------------------- */

fnz_status fnzi_mem_job_give_returns(fnzi_mem_job *job, fnzi_krn_array *const *plain,
                                     size_t nplain) {
  size_t at = 0;
  for (size_t i = 0; i < job->op->nreturns; i++) {
    const uint32_t alias = job->op->returns[i].alias;
    const fnz_arg *written = NULL; /* the argument that the result is; others may be views */
    for (size_t k = 0; alias && !written && k < job->op->nparams; k++)
      if (job->op->params[k].is_write && job->op->params[k].alias == alias)
        written = &job->args[k];
    size_t rest = job->op->returns[i].is_list ? nplain : at + 1;
    if (written) {
      const fnz_arg *items = written->tag == FNZ_ARG_LIST ? written->u.list : written;
      for (size_t k = 0; k < (written->tag == FNZ_ARG_LIST ? written->count : 1); k++)
        FNZ_TRY(fnzi_mem_job_give_again(job, fnzi_krn_arg_array(&items[k])));
    }
    for (; !written && at < rest && at < nplain; at++)
      FNZ_TRY(fnzi_mem_job_give_again(job, plain[at]));
  }
  return FNZ_OK;
}

/* --- The row of via ---------------------------------------------------------------------- */
static fnz_status check_targets(writing *w) {
  const fnzi_krn_call *call = &w->call;
  FNZ_TRY(check_count(w, call->noutputs));
  /* Eager writes one after the other, and reads in between. */
  for (size_t k = 1; w->job->op->kind == FNZI_KIND_INPLACE && k < w->ntargets; k++)
    if (overlaps_other_target(w, k))
      return fnzi_mem_job_fail(
          w->job, FNZ_CLASS_OVERLAP,
          "two tensors that are written share memory; clone one of them before");
  for (size_t k = 0; k < w->ntargets; k++)
    if (call->outputs[w->nplain + k])
      FNZ_TRY(fnzi_mem_write_check(w->job, w->call.args, w->targets[k],
                                   &call->outputs[w->nplain + k]->geometry, w->scratch,
                                   &w->orders[k]));
  return FNZ_OK;
}

/* An out= argument that is read as well and gets another size: the kernel reads it as it was. */
static fnz_status keep_reading(writing *w, const fnzi_krn_array *target) {
  fnzi_krn_array *look;
  if (!w->call.has_data ||
      fnzi_meta_args_count(w->call.args, w->call.op->nparams, fnzi_krn_array_handle(target)) == 0)
    return FNZ_OK;
  if (!w->former_arrays)
    FNZI_NEW(w->scratch, w->ntargets, &w->former_arrays);
  FNZ_TRY(fnzi_mem_array_window(w->job->m, w->job->ctx, target->storage, &target->geometry, &look));
  w->former_arrays[w->nformer++] = look;
  /* A copy of the arguments in which another array stands for one of them. */
  size_t count = w->call.op->nparams;
  fnz_arg *args;
  FNZ_TRY(fnzi_args_clone(w->scratch, w->call.args, count, count, &args));
  FNZI_EACH_ARG(each, args, count)
    if (fnzi_krn_arg_array(each.arg) == target)
      fnzi_each_own(&each)->u.value = fnzi_krn_array_handle(look);
  w->call.args = args;
  return FNZ_OK;
}

static fnz_status write_evaluate(writing *w) {
  const fnzi_kernel *row = w->job->route->row;
  if ((w->call.op->tags & FNZI_TAG_RANDOM) && !(w->job->op->tags & FNZI_TAG_GENERATED)) {
    /* Random numbers are drawn into the strides of the targets, but by what PyTorch generated. */
    const fnz_geometry **expected;
    FNZI_NEW(&w->call.scratch, w->ntargets, &expected);
    for (size_t k = 0; k < w->ntargets; k++)
      FNZ_TRY(fnzi_strided_like(&w->call.scratch, &w->targets[k]->geometry, &expected[k]));
    w->call.expected = expected;
    w->call.nexpected = w->ntargets;
  }
  FNZ_TRY(fnzi_meta_evaluate_shape(&w->call, row));
  FNZ_TRY(check_targets(w));
  for (size_t k = 0; k < w->ntargets; k++) {
    const fnzi_krn_array *result = w->call.outputs[w->nplain + k];
    if (result && !fnzi_same_sizes(&w->targets[k]->geometry, &result->geometry))
      FNZ_TRY(keep_reading(w, w->targets[k]));
  }
  for (size_t k = 0; k < w->ntargets; k++)
    if (w->call.outputs[w->nplain + k])
      FNZ_TRY(fit(w, k, &w->call.outputs[w->nplain + k]->geometry));
  if (!w->call.has_data)
    return FNZ_OK;
  fnzi_krn_call *call = &w->call;
  for (size_t k = 0; k < w->ntargets; k++) {
    fnzi_krn_array *target = w->targets[k], *out = call->outputs[w->nplain + k];
    if (out && !w->orders[k] && !overlaps_other_target(w, k) &&
        may_write_through(w, target, out, w->nplain + k))
      FNZ_TRY(fnzi_krn_array_share(call->ctx, out, target->storage, &target->geometry));
  }
  FNZ_TRY(fnzi_meta_evaluate_memory(call, w->job->route->row));
  return fnzi_meta_evaluate_run(&w->call, row);
}

static fnz_status finish(writing *w) {
  FNZ_TRY(store_all(w, w->call.outputs + w->nplain));
  for (size_t k = 0; k < w->nplain; k++)
    if (w->call.outputs[k])
      FNZ_TRY(fnzi_mem_job_own_result(w->job, w->call.outputs[k]));
  return fnzi_mem_job_give_returns(w->job, w->call.outputs, w->nplain);
}

static fnz_status write_args(fnzi_mem_job *job, const fnz_arg *args) {
  writing w = {.job = job};
  w.scratch = &w.call.scratch;
  FNZ_TRY(fnzi_mem_job_open(job, args, &w.call));
  fnz_status status = find_targets(&w);
  w.call.scratch = *job->scratch;
  if (w.ntargets > 0 && !fnzi_mem_job_is_generated(job))
    w.call.target = w.targets[0]->geometry.dtype;
  if (status == FNZ_OK)
    status = write_evaluate(&w);
  if (status == FNZ_OK && w.call.has_data && !w.formerly)
    fnzi_mem_shortcut_learn(job, &w.call);
  fnzi_mem_job_close(job, &w.call);
  if (status == FNZ_OK)
    status = finish(&w);
  unfit(&w, &status);
  fnzi_meta_outputs_release(&w.call);
  fnzi_mem_job_drop(job, w.former_arrays, w.nformer);
  return status;
}

fnz_status fnzi_serve_write(fnzi_mem_job *job) {
  return fnzi_mem_job_on_args(job, write_args);
}

/* --- However via is served --------------------------------------------------------------- */
static fnz_status take_over(writing *w, fnz_handle *handles, size_t count) {
  fnzi_krn_array **results;
  FNZ_TRY(check_count(w, count));
  FNZI_NEW(w->job->scratch, count, &results);
  for (size_t k = 0; k < count; k++)
    results[k] = fnzi_krn_array_of(handles[k]);
  for (size_t k = 0; k < w->ntargets; k++)
    if (results[w->nplain + k] && results[w->nplain + k] != w->targets[k])
      FNZ_TRY(fnzi_mem_write_check(w->job, w->call.args, w->targets[k],
                                   &results[w->nplain + k]->geometry, w->scratch, &w->orders[k]));
  for (size_t k = 0; k < w->ntargets; k++)
    if (results[w->nplain + k])
      FNZ_TRY(fit(w, k, &results[w->nplain + k]->geometry));
  FNZ_TRY(store_all(w, results + w->nplain));
  return fnzi_mem_job_give_returns(w->job, results, w->nplain);
}

fnz_status fnzi_serve_write_any(fnzi_mem_job *job) {
  writing w = {.job = job, .scratch = job->scratch};
  const fnz_arg *args;
  fnz_handle *handles;
  size_t count;
  FNZ_TRY(find_targets(&w));
  FNZ_TRY(fnzi_mem_job_via_args(job, &args));
  w.call.args = args;
  FNZI_NEW(job->scratch, w.nplain + w.ntargets, &handles);
  FNZ_TRY(fnzi_mem_job_part(job, job->route->via, args, handles, w.nplain + w.ntargets, &count));
  fnz_status status = take_over(&w, handles, count);
  unfit(&w, &status);
  for (size_t k = 0; k < count; k++)
    fnzi_krn_array_release(job->ctx, fnzi_krn_array_of(handles[k]));
  return status;
}
