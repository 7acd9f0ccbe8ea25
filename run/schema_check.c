/* schema_check.c - does an operator keep its schema? Arguments that it only reads are compared
 * before and after the call, and new results must not lie in the memory of an argument.
 *
 * Kernels of fnz may return results in shared memory, since values do not change; so that rule is
 * for declared operators only. */
#include "run/run.h"

typedef struct witness {
  const char *name; /* of the parameter */
  fnz_handle handle;
  size_t bytes;
  unsigned char *before;
} witness;

struct witnesses {
  fnzi_run_state *run;
  struct {
    witness *data;
    size_t count, capacity;
  } list;
};
typedef struct witnesses witnesses;

static fnz_status download(const fnzi_run_state *run, const witness *w, unsigned char **out) {
  *out = fnzi_resize(run->ctx, NULL, 0, w->bytes + 1);
  if (!*out)
    return fnzi_no_memory(run->ctx);
  return run->backend->download(run->backend->self, run->ctx, w->handle, *out);
}

static fnz_status look_before(witnesses *all, const fnz_request *call) {
  for (size_t i = 0; i < call->nargs && i < call->op->nparams; i++) {
    const fnzi_param *param = &call->op->params[i];
    FNZI_EACH_ARG(each, &call->args[i], param->is_write ? 0 : 1)
      if (each.arg->tag == FNZ_ARG_VALUE && each.arg->u.value) {
        fnz_backend *backend = all->run->backend;
        witness w = {.name = param->name, .handle = each.arg->u.value};
        FNZ_TRY(
            fnzi_run_dense_bytes(all->run, backend->geometry(backend->self, w.handle), &w.bytes));
        FNZI_PUSH(all->run->ctx, &all->list, w);
        witness *kept = &all->list.data[all->list.count - 1];
        FNZ_TRY(download(all->run, kept, &kept->before));
      }
  }
  return FNZ_OK;
}

static fnz_status schema_compare(const fnzi_run_state *run, const fnz_op *op, const witness *w) {
  unsigned char *after = NULL;
  const fnz_geometry *g = run->backend->geometry(run->backend->self, w->handle);
  fnz_status status = download(run, w, &after);
  size_t at = 0;
  while (status == FNZ_OK && at < w->bytes && w->before[at] == after[at])
    at++;
  if (after)
    fnzi_free(run->ctx, after, w->bytes + 1);
  if (status != FNZ_OK || at == w->bytes)
    return status;
  return fnzi_fail(run->ctx, FNZ_CLASS_DIFFERENT, "",
                   "%s has changed its argument `%s` at element %zu, which its schema says it only "
                   "reads; declare it as Tensor(a!), or let the kernel leave it alone",
                   op->name, w->name, at / run->backend->cell_bytes(run->backend->self, g->dtype));
}

static fnz_status look_after(const witnesses *all, const fnz_op *op, const fnz_handle *outputs,
                             size_t count) {
  const fnz_backend *backend = all->run->backend;
  bool can_share = FNZI_BACKEND_HAS(backend, shares);
  bool may_share = !fnzi_op_is_custom(op) || op->is_view || !can_share;
  for (size_t i = 0; i < all->list.count; i++)
    FNZ_TRY(schema_compare(all->run, op, &all->list.data[i]));
  for (size_t k = 0; k < count && !may_share; k++)
    for (size_t i = 0; outputs[k] && i < all->list.count; i++)
      if (backend->shares(backend->self, outputs[k], all->list.data[i].handle))
        return fnzi_fail(
            all->run->ctx, FNZ_CLASS_DIFFERENT, "",
            "result %zu of %s lies in the memory of its argument `%s`, which its schema "
            "does not say; declare the alias, Tensor(a), or let the kernel copy",
            k, op->name, all->list.data[i].name);
  return FNZ_OK;
}

static void forget(witnesses *all) {
  for (size_t i = 0; i < all->list.count; i++)
    fnzi_free(all->run->ctx, all->list.data[i].before, all->list.data[i].bytes + 1);
  FNZI_VEC_FREE(all->run->ctx, &all->list);
}

fnz_status fnzi_run_witness_begin(fnzi_run_state *run, const fnz_request *call,
                                  fnzi_run_witnesses **out) {
  FNZI_NEW(&run->scratch, 1, out);
  (*out)->run = run;
  fnz_status status = look_before(*out, call);
  if (status != FNZ_OK)
    forget(*out);
  return status;
}

fnz_status fnzi_run_witness_end(fnzi_run_witnesses *all, const fnz_op *op,
                                const fnz_handle *outputs, size_t count) {
  fnz_status status = outputs ? look_after(all, op, outputs, count) : FNZ_OK;
  forget(all);
  return status;
}
