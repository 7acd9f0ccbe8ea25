/* on_bases.c - the form on bases of a declared operator (fnzi_derive_on_bases()) by a kernel of
 * that operator: the bases are copied, the kernel writes windows of the copies, which are the
 * results. */
#include "kernels/eager/eager.h"

typedef struct based {
  fnzi_mem_job *job;
  const fnz_op *via;
  fnzi_krn_array **copies; /* of the bases */
  fnzi_krn_array **windows;
  size_t ncopies, nwindows;
} based;

static fnz_status bad_window(const based *b) {
  return fnzi_mem_job_fail(b->job, FNZ_CLASS_ARGUMENT, "a written argument is no window of a base");
}

/* Reads the numbers of a written argument one by one; sizes and strides of a window follow its
 * base. */
typedef struct reader {
  const fnz_arg *numbers;
  uint32_t left;
} reader;

static bool next(reader *r, int64_t *out) {
  if (r->left == 0 || r->numbers->tag != FNZ_ARG_INT)
    return false;
  *out = r->numbers->u.i;
  r->numbers++;
  r->left--;
  return true;
}

static fnz_status on_bases_open_window(based *b, reader *r, fnz_arg *out) {
  int64_t base, rank = 0, sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  fnz_geometry g = {.sizes = sizes, .strides = strides};
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!next(r, &base))
    return bad_window(b);
  if (base < 0)
    return FNZ_OK;
  bool fits = base < (int64_t)b->ncopies && next(r, &rank) && rank >= 0 && rank <= FNZ_MAX_RANK &&
              next(r, &g.offset);
  for (int64_t d = 0; fits && d < rank; d++)
    fits = next(r, &sizes[d]);
  for (int64_t d = 0; fits && d < rank; d++)
    fits = next(r, &strides[d]);
  if (!fits)
    return bad_window(b);
  g.rank = (uint32_t)rank;
  g.dtype = b->copies[base]->geometry.dtype;
  FNZ_TRY(fnzi_mem_array_window(b->job->m, b->job->ctx, b->copies[base]->storage, &g,
                                &b->windows[b->nwindows]));
  *out =
      (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = fnzi_krn_array_handle(b->windows[b->nwindows++])};
  return FNZ_OK;
}

static fnz_status on_bases_open_windows(based *b, const fnzi_param *p, const fnz_arg *given,
                                        fnz_arg *out) {
  reader r = {given->u.list, given->tag == FNZ_ARG_LIST ? given->count : 0};
  fnz_arg *items;
  int64_t length;
  if (!p->is_list)
    return on_bases_open_window(b, &r, out);
  if (!next(&r, &length) || length > (int64_t)r.left)
    return bad_window(b);
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (length < 0)
    return FNZ_OK;
  FNZI_NEW(b->job->scratch, length, &items);
  for (int64_t i = 0; i < length; i++)
    FNZ_TRY(on_bases_open_window(b, &r, &items[i]));
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)length, .u.list = items};
  return FNZ_OK;
}

static fnz_status copy_bases(based *b) {
  const fnz_arg *bases = &b->job->args[0];
  if (bases->tag != FNZ_ARG_LIST)
    return bad_window(b);
  FNZI_NEW(b->job->scratch, bases->count, &b->copies);
  for (uint32_t k = 0; k < bases->count; k++) {
    fnzi_krn_array *base = fnzi_krn_arg_array(&bases->u.list[k]);
    if (!base)
      return bad_window(b);
    FNZ_TRY(fnzi_mem_job_part_on(b->job, fnzi_ops_find("clone"), base, &b->copies[k]));
    b->ncopies++;
  }
  return FNZ_OK;
}

/* The arguments of the operator, by the names of its parameters. */
static fnz_status make_args(based *b, fnz_arg **out) {
  const fnz_op *form = b->job->op;
  size_t most = 0;
  for (size_t i = 0; i < form->nparams; i++)
    most += b->job->args[i].tag == FNZ_ARG_LIST ? b->job->args[i].count : 1;
  FNZI_NEW(b->job->scratch, most, &b->windows);
  FNZI_NEW(b->job->scratch, b->via->nparams, out);
  for (size_t i = 0; i < b->via->nparams; i++) {
    const fnzi_param *p = &b->via->params[i];
    const fnz_arg *given = &b->job->args[fnzi_op_param(form, p->name)];
    if (p->is_write)
      FNZ_TRY(on_bases_open_windows(b, p, given, &(*out)[i]));
    else
      (*out)[i] = *given;
  }
  return FNZ_OK;
}

/* Results that are arguments are windows of the bases, which are results themselves. */
static fnz_status give_results(const based *b, const fnz_handle *handles, size_t count) {
  for (size_t i = 0; i < b->via->nreturns && i < count; i++)
    if (!b->via->returns[i].alias)
      FNZ_TRY(fnzi_mem_job_give_again(b->job, fnzi_krn_array_of(handles[i])));
  for (size_t k = 0; k < b->ncopies; k++)
    FNZ_TRY(fnzi_mem_job_give_again(b->job, b->copies[k]));
  return FNZ_OK;
}

static fnz_status write_bases(based *b) {
  fnz_arg *args;
  fnz_handle *handles;
  size_t count, capacity = b->via->nreturns + b->job->capacity;
  FNZ_TRY(copy_bases(b));
  FNZ_TRY(make_args(b, &args));
  FNZI_NEW(b->job->scratch, capacity, &handles);
  FNZ_TRY(fnzi_mem_job_part(b->job, b->via, args, handles, capacity, &count));
  fnz_status status = give_results(b, handles, count);
  for (size_t k = 0; k < count; k++)
    fnzi_krn_array_release(b->job->ctx, fnzi_krn_array_of(handles[k]));
  return status;
}

fnz_status fnzi_serve_write_bases(fnzi_mem_job *job) {
  based b = {.job = job, .via = job->route->via};
  fnz_status status = write_bases(&b);
  fnzi_mem_job_drop(job, b.windows, b.nwindows);
  fnzi_mem_job_drop(job, b.copies, b.ncopies);
  return status;
}
