/* foreach.c - operators on lists of tensors: the operator of an element on each, in order. */
#include "kernels/eager/eager.h"

fnz_status fnzi_mem_lists_refuse(fnz_context *ctx, const fnz_op *op) {
  return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL, "%s: the lists have different lengths", op->name);
}

/* A tensor that holds one number per element, where the element's operator takes a number. */
fnz_status fnzi_mem_list_number(fnz_context *ctx, const fnz_op *op, const fnzi_krn_array *a,
                                uint32_t i, fnz_arg *out) {
  const fnzi_krn_elsewhere *e = a ? a->stock->elsewhere : NULL;
  double value = 0;
  unsigned char cell[16];
  if (a && a->storage && !a->storage->data &&
      a->storage->bytes) { /* shapes only: the number is unknown */
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT};
    return FNZ_OK;
  }
  if (!a || !a->storage || a->window.rank != 1 || (int64_t)i >= a->window.sizes[0] ||
      !fnzi_krn_can_convert(FNZ_F64, a->window.dtype))
    return fnzi_mem_lists_refuse(ctx, op);
  const unsigned char *at = fnzi_krn_array_data(a) + i * a->window.strides[0] * (int64_t)a->cell;
  if (e)
    FNZ_TRY(e->get(e->self, ctx, cell, at, a->cell));
  fnzi_krn_convert_one(FNZ_F64, &value, a->window.dtype, e ? cell : at);
  *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = value};
  return FNZ_OK;
}

static fnz_status do_element(fnzi_mem_job *job, uint32_t k) {
  const fnz_op *element = job->route->via;
  bool returns = job->op->nreturns > 0;
  fnz_handle dropped;
  fnz_arg *args;
  size_t count;
  FNZI_NEW(job->scratch, element->nparams, &args);
  for (size_t i = 0; i < element->nparams; i++) {
    fnz_arg *arg = &args[i];
    *arg = i < job->op->nparams ? job->args[i] : fnzi_arg_get(element, NULL, 0, i);
    if (arg->tag == FNZ_ARG_VALUE && element->params[i].type != FNZI_TYPE_TENSOR) {
      FNZ_TRY(fnzi_mem_list_number(job->ctx, job->op, fnzi_krn_arg_array(arg), k, arg));
      continue;
    }
    if (arg->tag == FNZ_ARG_LIST && !element->params[i].is_list)
      *arg = arg->u.list[k];
    arg->flags = 0; /* other elements may have it as well */
    if (arg->tag == FNZ_ARG_DEFAULT && element->params[i].optional)
      arg->tag = FNZ_ARG_NONE;
  }
  if (returns && job->count == job->capacity)
    return fnzi_mem_job_give(job, NULL);
  FNZ_TRY(fnzi_mem_job_part(job, element, args, returns ? job->outputs + job->count : &dropped, 1,
                            &count));
  if (returns)
    job->count += count;
  else if (count)
    fnzi_krn_array_release(job->ctx, fnzi_krn_array_of(dropped));
  return FNZ_OK;
}

fnz_status fnzi_serve_list(fnzi_mem_job *job) {
  /* The length that all lists have. */
  uint32_t length = 0;
  bool seen = false;
  for (size_t i = 0; i < job->op->nparams; i++) {
    const fnz_arg *arg = &job->args[i];
    if (!job->op->params[i].is_list || arg->tag != FNZ_ARG_LIST)
      continue;
    if (seen && arg->count != length)
      return fnzi_mem_job_fail(job, FNZ_CLASS_BOUNDS, "%s has %u items, the list before has %u",
                               job->op->params[i].name, arg->count, length);
    length = arg->count;
    seen = true;
  }
  for (uint32_t k = 0; k < length; k++)
    FNZ_TRY(do_element(job, k));
  return FNZ_OK;
}
