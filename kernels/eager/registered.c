/* registered.c - operators by kernels that users have added, and the variants that follow from a
 * plain one: the functional forms of one that writes (on bases: on_bases.c), the copying form of a
 * view, the in-place form of out=. */
#include "kernels/eager/eager.h"
#include "schema/twins.h"

/* --- Routes ----------------------------------------------------------------------------------- */
static bool registered_route_row(fnzi_mem_route *route, const fnzi_krn_registered *r,
                                 const fnz_op *via, fnzi_serve_fn *serve) {
  route->registered = r;
  route->row = &r->row;
  route->via = via;
  route->serve = serve;
  return true;
}

bool fnzi_mem_route_registered(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_route *route) {
  const fnz_op *functional = fnz_op_functional_twin(op);
  bool writes = op->kind != FNZI_KIND_FUNCTIONAL;
  const fnzi_krn_registered *r = fnzi_krn_registered_same(m, op);
  if (r && !r->kernel.meta)
    return registered_route_row(route, r, op, fnzi_serve_plain);
  if ((r = fnzi_krn_registered_structured(m, op)) != NULL)
    return registered_route_row(route, r, fnzi_krn_op_group(op),
                                writes ? fnzi_serve_write : fnzi_serve_compute);
  r = writes && functional ? fnzi_krn_registered_same(m, functional) : NULL;
  return r && registered_route_row(route, r, functional, fnzi_serve_write);
}

static bool is_donor(const fnzi_krn_registered *r, const fnz_op *op) {
  const fnz_op *from = r->kernel.op;
  if (r->kernel.meta)
    return false;
  if (fnzi_op_by_index(from->view_copy) == op || fnzi_op_of_bases(op) == from)
    return true;
  if (from == op || fnzi_krn_op_group(from) != fnzi_krn_op_group(op))
    return false;
  bool writes_copies = op->kind == FNZI_KIND_FUNCTIONAL &&
                       (from->kind == FNZI_KIND_INPLACE || from->kind == FNZI_KIND_MUTABLE);
  return writes_copies || (op->kind == FNZI_KIND_INPLACE && from->kind == FNZI_KIND_OUT);
}

bool fnzi_mem_route_donor(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_route *route) {
  for (size_t i = 0; i < m->registered.count; i++) {
    const fnzi_krn_registered *r = m->registered.data[i];
    if (!is_donor(r, op))
      continue;
    return registered_route_row(route, r, r->kernel.op,
                                r->kernel.op->is_view                 ? fnzi_serve_copy_views
                                : fnzi_op_of_bases(op)                ? fnzi_serve_write_bases
                                : r->kernel.op->kind == FNZI_KIND_OUT ? fnzi_serve_out_is_self
                                                                      : fnzi_serve_write_copies);
  }
  return false;
}

/* --- Plain kernels ---------------------------------------------------------------------------- */
static fnz_status own_plain(fnzi_mem_job *job, const fnzi_krn_call *call) {
  for (size_t k = 0; k < call->noutputs; k++) {
    fnzi_krn_array *out = call->outputs[k];
    if (!job->op->is_view)
      FNZ_TRY(fnzi_mem_job_own_result(job, out));
    else
      out->eager = true;
  }
  return fnzi_mem_job_give_returns(job, call->outputs, call->noutputs);
}

static fnz_status do_plain(fnzi_mem_job *job, const fnz_arg *args) {
  fnzi_krn_call call;
  FNZ_TRY(fnzi_mem_job_open(job, args, &call));
  fnz_status status = fnzi_meta_evaluate_shape(&call, job->route->row);
  if (status == FNZ_OK)
    status = fnzi_meta_evaluate_run(&call, job->route->row);
  fnzi_mem_job_close(job, &call);
  if (status == FNZ_OK)
    status = own_plain(job, &call);
  fnzi_meta_outputs_release(&call);
  return status;
}

fnz_status fnzi_serve_plain(fnzi_mem_job *job) {
  for (size_t i = 0; i < job->op->nparams; i++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&job->args[i]);
    bool matters = job->op->params[i].is_write || job->op->is_view;
    if (a && matters && (a->geometry.is_conj || a->geometry.is_neg))
      return fnzi_mem_job_fail(job, FNZ_CLASS_UNSUPPORTED,
                               "%s is a lazy conjugate or negative; resolve it before",
                               job->op->params[i].name);
  }
  return fnzi_mem_job_on_args(job, do_plain);
}

/* --- What follows from them ------------------------------------------------------------------- */
/* Copies of the arguments that via writes, lists flattened, NULL for None. */
typedef struct copying {
  const fnzi_mem_job *job;
  fnzi_krn_array **copies;
  size_t count;
  size_t *first; /* per parameter of via: its first copy */
} copying;

static fnz_status copy_arg(copying *c, fnz_arg *arg) {
  fnzi_krn_array **place = &c->copies[c->count++];
  fnzi_krn_array *given = fnzi_krn_arg_array(arg);
  if (!given)
    return FNZ_OK;
  FNZ_TRY(fnzi_mem_job_part_on(c->job, fnzi_ops_find("clone"), given, place));
  arg->u.value = fnzi_krn_array_handle(*place);
  return FNZ_OK;
}

static fnz_status copy_param(copying *c, const fnzi_param *p, fnz_arg *arg) {
  fnz_arg *items;
  if (arg->tag != FNZ_ARG_LIST)
    return p->is_list ? FNZ_OK : copy_arg(c, arg);
  FNZI_NEW(c->job->scratch, arg->count, &items);
  for (uint32_t k = 0; k < arg->count; k++) {
    items[k] = arg->u.list[k];
    FNZ_TRY(copy_arg(c, &items[k]));
  }
  arg->u.list = items;
  return FNZ_OK;
}

static fnz_status copy_written(copying *c, fnz_arg **out) {
  const fnz_op *via = c->job->route->via;
  const fnz_arg *given;
  size_t most = 0;
  FNZ_TRY(fnzi_mem_job_via_args(c->job, &given));
  FNZI_NEW(c->job->scratch, via->nparams, out);
  memcpy(*out, given, via->nparams * sizeof **out);
  for (size_t i = 0; i < via->nparams; i++)
    most += given[i].tag == FNZ_ARG_LIST ? given[i].count : 1;
  FNZI_NEW(c->job->scratch, most, &c->copies);
  FNZI_NEW(c->job->scratch, (size_t)via->nparams + 1, &c->first);
  for (size_t i = 0; i < via->nparams; i++) {
    c->first[i] = c->count;
    if (via->params[i].is_write)
      FNZ_TRY(copy_param(c, &via->params[i], &(*out)[i]));
  }
  c->first[via->nparams] = c->count;
  return FNZ_OK;
}

static fnz_status give_copies(fnzi_mem_job *job, const copying *c, size_t param) {
  for (size_t k = c->first[param]; k < c->first[param + 1]; k++)
    FNZ_TRY(fnzi_mem_job_give_again(job, c->copies[k]));
  return FNZ_OK;
}

/* As the functional twin returns them: via's results, then what it writes besides. */
static fnz_status give_twin(fnzi_mem_job *job, const copying *c, const fnz_handle *handles,
                            size_t count) {
  const fnz_op *via = job->route->via;
  const fnzi_param *p;
  size_t next = 0, others = 0;
  for (size_t i = 0; i < via->nreturns; i++) {
    p = fnzi_op_returned(via, &via->returns[i]);
    size_t at = p ? (size_t)(p - via->params) : 0;
    others += p ? c->first[at + 1] - c->first[at] : !via->returns[i].is_list;
  }
  const size_t length = count > others ? count - others : 0; /* of a list that is new */
  for (size_t i = 0; i < via->nreturns; i++) {
    size_t n = via->returns[i].is_list ? length : 1;
    p = fnzi_op_returned(via, &via->returns[i]);
    if (p) {
      size_t at = (size_t)(p - via->params);
      FNZ_TRY(give_copies(job, c, at));
      next += c->first[at + 1] - c->first[at];
      continue;
    }
    for (; n > 0 && next < count; n--)
      FNZ_TRY(fnzi_mem_job_give_again(job, fnzi_krn_array_of(handles[next++])));
  }
  for (fnzi_written_walk walk = {0}; fnzi_written_next(via, &walk, &p);)
    FNZ_TRY(give_copies(job, c, (size_t)(p - via->params)));
  return FNZ_OK;
}

static fnz_status write_copies(fnzi_mem_job *job, copying *c) {
  const fnz_op *via = job->route->via;
  fnz_arg *args;
  size_t count;
  fnz_handle *handles;
  FNZ_TRY(copy_written(c, &args));
  size_t capacity = job->capacity + via->nreturns + c->count;
  FNZI_NEW(job->scratch, capacity, &handles);
  FNZ_TRY(fnzi_mem_job_part(job, via, args, handles, capacity, &count));
  fnz_status status = give_twin(job, c, handles, count);
  for (size_t k = 0; k < count; k++)
    fnzi_krn_array_release(job->ctx, fnzi_krn_array_of(handles[k]));
  return status;
}

fnz_status fnzi_serve_write_copies(fnzi_mem_job *job) {
  copying c = {.job = job};
  fnz_status status = write_copies(job, &c);
  fnzi_mem_job_drop(job, c.copies, c.count);
  return status;
}

fnz_status fnzi_serve_copy_views(fnzi_mem_job *job) {
  const fnz_arg *args;
  size_t before = job->count, count;
  FNZ_TRY(fnzi_mem_job_via_args(job, &args));
  FNZ_TRY(fnzi_mem_job_part(job, job->route->via, args, job->outputs + before,
                            job->capacity - before, &count));
  job->count += count;
  for (size_t k = before; k < job->count; k++)
    FNZ_TRY(fnzi_mem_job_copy_result(job, k));
  return FNZ_OK;
}

fnz_status fnzi_serve_out_is_self(fnzi_mem_job *job) {
  const fnz_op *via = job->route->via;
  const fnz_arg *given;
  fnz_arg *args;
  fnzi_krn_array *same;
  FNZ_TRY(fnzi_mem_job_via_args(job, &given));
  FNZI_NEW(job->scratch, via->nparams, &args);
  for (size_t i = 0; i < via->nparams; i++)
    args[i] = via->params[i].is_out ? job->args[0] : given[i];
  FNZ_TRY(fnzi_mem_job_part_of_one(job, via, args, &same));
  return fnzi_mem_job_give(job, same);
}
