/* write_check.c - what may be written: may the result of an operator be stored in an argument, as
 * eager decides it? Overlap is judged by the rules of mutations/. Nothing is changed here. */
#include "kernels/eager/eager.h"
#include "schema/aten_names.h"

#include <stdio.h>

const char *fnzi_mem_sizes_text(const fnz_geometry *g, char out[FNZI_SIZES_TEXT]) {
  size_t at = 1;
  out[0] = '[';
  for (uint32_t d = 0; d < g->rank && at + 24 < FNZI_SIZES_TEXT; d++)
    at += (size_t)snprintf(out + at, FNZI_SIZES_TEXT - at, "%s%lld", d ? ", " : "",
                           (long long)g->sizes[d]);
  (void)snprintf(out + at, FNZI_SIZES_TEXT - at, "]");
  return out;
}

bool fnzi_mem_job_is_strict(const fnzi_mem_job *job, unsigned flag) {
  return (job->route->strictness & flag) != 0;
}

bool fnzi_mem_job_is_generated(const fnzi_mem_job *job) {
  return job->op->kind == FNZI_KIND_OUT && (job->op->tags & FNZI_TAG_GENERATED);
}

/* Elementwise operators cast their result, others compute in the dtype of the target. */
static fnz_status check_cast(const fnzi_mem_job *job, const fnzi_krn_array *target,
                             const fnz_geometry *result) {
  fnz_dtype from = result->dtype, to = target->geometry.dtype;
  bool may = fnzi_mem_job_is_strict(job, FNZI_ROUTE_CASTS) ||
             (job->route->is_pointwise && !fnzi_mem_job_is_strict(job, FNZI_ROUTE_EXACT));
  bool casts = may && !fnzi_mem_job_is_generated(job);
  if (from == to || (casts && fnzi_can_cast(from, to)))
    return FNZ_OK;
  return fnzi_mem_job_fail(
      job, FNZ_CLASS_TYPE, "the result is %s, which %s be stored in a tensor of %s",
      fnzi_dtype(from)->name, casts ? "cannot" : "must not", fnzi_dtype(to)->name);
}

/* --- Overlap: the rules of mutations/ ----------------------------------------------------- */
typedef struct checking {
  const fnzi_mem_job *job;
  const fnzi_krn_array *target;
  const fnzi_param *written;
  fnzi_mutation_call call;
  fnzi_loop loop; /* of an elementwise operator */
  size_t reads;   /* of the target itself */
  bool resizes;
} checking;

/* Another tensor that shows the same elements is the target, as eager sees it. */
static const fnz_geometry *geometry_of(void *user, const fnz_arg *arg) {
  const checking *c = user;
  const fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  if (!a)
    return NULL;
  return fnzi_mem_array_same_window(a, c->target) ? &c->target->geometry : &a->geometry;
}

/* The operands that eager's loop reads, and whether it does before it writes there. copy_ does not
 * read its target. */
static size_t find_reads(checking *c, const fnz_geometry *seen[FNZI_LOOP_READS]) {
  const fnzi_krn_array *target = c->target;
  size_t count = 0;
  c->loop.reads_first = true;
  FNZI_EACH_ARG(each, c->call.twin_args, c->call.twin->nparams) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (!a || count == FNZI_LOOP_READS ||
        (a == target && c->call.twin == &fnzi_ops[FNZI_ATEN_copy]))
      continue;
    seen[count++] = &a->geometry;
    bool first =
        !fnzi_mem_array_meets(a, target) ||
        fnzi_mutation_reading(&c->call, &target->geometry, &a->geometry) == FNZI_READING_FIRST;
    c->loop.reads_first = c->loop.reads_first && first;
  }
  return count;
}

/* Elements that lie in one place: in the order of eager's loop. Slices of the target are refused.
 */
static fnz_status check_self(checking *c, fnzi_arena *scratch, const uint32_t **out) {
  const fnz_geometry *g = &c->target->geometry;
  const fnz_geometry *seen[FNZI_LOOP_READS];
  uint32_t *order;
  fnzi_loop *loop = c->call.elementwise && !c->resizes ? &c->loop : NULL;
  /* Creating operators fill what they are given with one number. */
  const fnzi_kernel *row = c->job->route->row;
  bool is_created = row && row->run == FNZI_RUN_create && !fnzi_mem_job_is_generated(c->job);
  if (!fnzi_mem_array_overlaps_itself(c->target) || is_created)
    return FNZ_OK;
  size_t count = find_reads(c, seen);
  FNZ_TRY(fnzi_mutation_loop_reads(scratch, &c->call, g, seen, count, &c->loop));
  FNZ_TRY(
      fnzi_check_target(c->job->ctx, NULL, c->job->op, g, fnzi_mutation_spread(&c->call, g), loop));
  if (!c->loop.in_order)
    return FNZ_OK;
  FNZI_NEW(scratch, g->rank, &order);
  fnzi_loop_order(g, c->loop.reads, c->loop.nreads, order);
  *out = order;
  return FNZ_OK;
}

static fnz_status check_operand(checking *c, const fnz_arg *arg) {
  const fnzi_krn_array *operand = fnzi_krn_arg_array(arg);
  const fnz_geometry *g = &c->target->geometry;
  fnzi_loop *loop = c->call.elementwise && !c->resizes ? &c->loop : NULL;
  const fnzi_mem_route *route = c->job->route;
  /* A single number is read before anything is written. */
  const bool is_number = operand && operand->geometry.rank == 0 &&
                         (!route->is_pointwise || route->row->run != FNZI_RUN_point);
  if (!operand || is_number || !fnzi_mem_array_meets(operand, c->target) ||
      fnzi_mutation_reads_whole(c->job->op, g, &operand->geometry))
    return FNZ_OK;
  c->reads += geometry_of(c, arg) == g;
  if (operand == c->target || (!loop && geometry_of(c, arg) == g))
    return FNZ_OK;
  if (loop)
    FNZ_TRY(fnzi_check_alike(c->job->ctx, NULL, c->job->op, g, &operand->geometry));
  const fnzi_operand read = {.geometry = &operand->geometry,
                             .reading = fnzi_mutation_reading(&c->call, g, &operand->geometry)};
  return fnzi_check_operand(c->job->ctx, c->job->op, g, &read, loop);
}

/* Whether eager checks if operands share memory with the target. It checks when the operator is
 * elementwise or begins with its argument; other operators compute elsewhere, or the result is
 * undefined. */
static bool checks_operands(const fnzi_mem_job *job) {
  const fnzi_kernel *row = job->route->row;
  if (job->op->kind != FNZI_KIND_OUT)
    return true;
  bool looks = row && (row->memory == FNZI_MEMORY_POINT || row->memory == FNZI_MEMORY_BASE);
  return !fnzi_mem_job_is_generated(job) &&
         (looks || fnzi_mem_job_is_strict(job, FNZI_ROUTE_APART));
}

/* The parameter by which the operator gets what it writes. */
static const fnzi_param *write_check_written_as(const fnzi_mem_job *job,
                                                const fnzi_krn_array *target) {
  for (size_t i = 0; i < job->op->nparams; i++) {
    const fnz_arg *arg = &job->args[i];
    const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
    for (size_t k = 0; job->op->params[i].is_write && k < (arg == items ? 1 : arg->count); k++)
      if (fnzi_krn_arg_array(&items[k]) == target)
        return &job->op->params[i];
  }
  return &job->op->params[0];
}

fnz_status fnzi_mem_write_check(const fnzi_mem_job *job, const fnz_arg *args,
                                const fnzi_krn_array *target, const fnz_geometry *result,
                                fnzi_arena *scratch, const uint32_t **order) {
  const fnz_op *via = job->route->via;
  checking c = {
      .job = job,
      .target = target,
      .written = write_check_written_as(job, target),
      .call = {job->op, via, job->args, args, geometry_of, &c,
               job->route->is_pointwise || fnzi_op_is_elementwise(via) ||
                   via == &fnzi_ops[FNZI_ATEN_copy],
               NULL},
      .loop = {.slices = -1, .whole = true},
  };
  bool resizes = job->op->kind == FNZI_KIND_OUT && !fnzi_mem_job_is_strict(job, FNZI_ROUTE_RIGID);
  if (!resizes && !fnzi_same_sizes(&target->geometry, result)) {
    char have[FNZI_SIZES_TEXT], want[FNZI_SIZES_TEXT];
    return fnzi_mem_job_fail(
        job, FNZ_CLASS_BOUNDS,
        "the tensor that is written has shape %s, but the result has %s; write "
        "into a tensor of that shape",
        fnzi_mem_sizes_text(&target->geometry, have), fnzi_mem_sizes_text(result, want));
  }
  FNZ_TRY(check_cast(job, target, result));
  FNZ_TRY(fnzi_check_gaps(job->ctx, NULL, job->op, c.written, &target->geometry));
  c.resizes = !fnzi_same_sizes(&target->geometry, result);
  if (c.resizes && (!c.call.elementwise || fnzi_mem_job_is_generated(job)))
    return FNZ_OK; /* an elementwise operator looks before it resizes */
  FNZ_TRY(check_self(&c, scratch, order));
  if (!checks_operands(job))
    return FNZ_OK;
  FNZI_EACH_ARG(each, args, via->nparams)
    FNZ_TRY(check_operand(&c, each.arg));
  return fnzi_check_own_reads(job->ctx, &c.call, c.written, &target->geometry, c.reads, false);
}

fnz_status fnzi_mem_check_apart(const fnzi_mem_job *job, const fnzi_krn_array *target,
                                const fnz_arg *args, size_t count) {
  if (fnzi_mem_array_overlaps_itself(target))
    FNZ_TRY(fnzi_check_target(job->ctx, NULL, job->op, &target->geometry, FNZI_SPREAD_ANY, NULL));
  for (size_t i = 0; i < count; i++) {
    const fnzi_krn_array *read = fnzi_krn_arg_array(&args[i]);
    if (read && fnzi_mem_array_meets(read, target))
      FNZ_TRY(fnzi_check_operand(job->ctx, job->op, &target->geometry,
                                 &(fnzi_operand){.geometry = &read->geometry}, NULL));
  }
  return FNZ_OK;
}
