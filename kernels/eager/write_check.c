/* write_check.c - what may be written: may the result of an operator be stored in an argument, as
 * eager decides it? Nothing is changed here. */
#include "kernels/eager/eager.h"

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
  return (job->plan->strictness & flag) != 0;
}

static fnz_status check_fit(const fnzi_mem_job *job, const fnzi_krn_array *target,
                            const fnz_geometry *result) {
  char have[FNZI_SIZES_TEXT], want[FNZI_SIZES_TEXT];
  bool resizes = job->op->kind == FNZI_KIND_OUT && !fnzi_mem_job_is_strict(job, FNZI_PLAN_RIGID);
  if (resizes || fnzi_same_sizes(&target->geometry, result))
    return FNZ_OK;
  return fnzi_mem_job_fail(job, FNZ_CLASS_BOUNDS,
                           "the tensor that is written has shape %s, but the result has %s; write "
                           "into a tensor of that shape",
                           fnzi_mem_sizes_text(&target->geometry, have),
                           fnzi_mem_sizes_text(result, want));
}

bool fnzi_mem_job_is_generated(const fnzi_mem_job *job) {
  return job->op->kind == FNZI_KIND_OUT && (job->op->tags & FNZI_TAG_GENERATED);
}

/* Elementwise operators cast their result, others compute in the dtype of the target. */
static fnz_status check_cast(const fnzi_mem_job *job, const fnzi_krn_array *target,
                             const fnz_geometry *result) {
  fnz_dtype from = result->dtype, to = target->geometry.dtype;
  bool may = fnzi_mem_job_is_strict(job, FNZI_PLAN_CASTS) ||
             (job->plan->is_pointwise && !fnzi_mem_job_is_strict(job, FNZI_PLAN_EXACT));
  bool casts = may && !fnzi_mem_job_is_generated(job);
  if (from == to || (casts && fnzi_can_cast(from, to)))
    return FNZ_OK;
  return fnzi_mem_job_fail(
      job, FNZ_CLASS_TYPE, "the result is %s, which %s be stored in a tensor of %s",
      fnzi_dtype(from)->name, casts ? "cannot" : "must not", fnzi_dtype(to)->name);
}

/* Every element gets the same number, so that their order does not matter. */
static bool is_fill(const fnzi_mem_job *job) {
  const fnzi_kernel *row = job->plan->row;
  if (!row || fnzi_mem_job_is_generated(job))
    return false;
  bool of_tensor = job->plan->via->nparams > 1 && fnzi_krn_arg_array(&job->args[1]);
  return row->run == FNZI_RUN_create || (row->run == FNZI_RUN_fill && !of_tensor);
}

static fnz_status check_self(const fnzi_mem_job *job, const fnzi_krn_array *target) {
  if (is_fill(job) || !fnzi_mem_array_overlaps_itself(target))
    return FNZ_OK;
  return fnzi_mem_job_fail(
      job, FNZ_CLASS_OVERLAP,
      "several elements of the tensor that is written lie in one place; clone it "
      "before");
}

static fnz_status check_gaps(const fnzi_mem_job *job, const fnzi_krn_array *target) {
  if (!fnzi_op_is_flat(job->op) || fnzi_is_dense(&target->geometry))
    return FNZ_OK;
  return fnzi_mem_job_fail(
      job, FNZ_CLASS_UNSUPPORTED,
      "a tensor that is written has gaps in memory, into which eager would write; "
      "give it a contiguous one and copy that back");
}

typedef struct operand_check {
  const fnzi_mem_job *job;
  const fnzi_krn_array *target;
} operand_check;

/* A single number is read before anything is written. */
static bool is_read_first(const fnzi_mem_plan *plan, const fnzi_krn_array *operand) {
  return operand->geometry.rank == 0 && (!plan->is_pointwise || plan->row->run != FNZI_RUN_point);
}

static fnz_status check_operand(void *user, const fnz_arg *arg) {
  const operand_check *c = user;
  const fnzi_krn_array *operand = fnzi_krn_arg_array(arg);
  if (!operand || operand == c->target || operand->storage != c->target->storage ||
      fnzi_mem_array_same_window(operand, c->target) || is_read_first(c->job->plan, operand) ||
      !fnzi_mem_array_meets(operand, c->target))
    return FNZ_OK;
  return fnzi_mem_job_fail(
      c->job, FNZ_CLASS_OVERLAP,
      "an operand shares some of its elements with the tensor that is written; "
      "clone it before");
}

/* Whether what is read may lie in what is written. Eager looks when the operator is elementwise or
 * begins with its argument; others it computes elsewhere, or what it does with them is undefined.
 */
static bool checks_operands(const fnzi_mem_job *job) {
  const fnzi_kernel *row = job->plan->row;
  if (job->op->kind != FNZI_KIND_OUT)
    return true;
  bool looks = row && (row->memory == FNZI_MEMORY_POINT || row->memory == FNZI_MEMORY_BASE);
  return !fnzi_mem_job_is_generated(job) && (looks || fnzi_mem_job_is_strict(job, FNZI_PLAN_APART));
}

fnz_status fnzi_mem_write_check(const fnzi_mem_job *job, const fnz_arg *args,
                                const fnzi_krn_array *target, const fnz_geometry *result) {
  operand_check c = {job, target};
  FNZ_TRY(check_fit(job, target, result));
  FNZ_TRY(check_cast(job, target, result));
  FNZ_TRY(check_gaps(job, target));
  if (!fnzi_same_sizes(&target->geometry, result))
    return FNZ_OK;
  FNZ_TRY(check_self(job, target));
  if (!checks_operands(job))
    return FNZ_OK;
  return fnzi_args_visit(args, job->plan->via->nparams, check_operand, &c);
}
