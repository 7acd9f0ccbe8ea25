/* by_cpu.c - computes a call on values of a GPU on the CPU: copies its arguments there, and the
 * results back. This serves calls with data-dependent sizes, calls that fail, because the CPU's
 * kernels have the messages, and operators with results that are not tensors. */
#include "engine/values/values.h"
#include "kernels/meta/evaluate.h"

typedef struct visiting {
  fnzi_val *v;
  fnzi_krn_call *host;
  fnzi_krn_array **copies; /* of the arguments; NULL from `count` on */
  size_t count;
} visiting;

/* --- Arguments -------------------------------------------------------------------------------- */
static size_t bytes_of(const fnz_geometry *g) {
  return (size_t)fnz_geometry_numel(g) * fnzi_dtype(g->dtype)->bytes;
}

static fnz_status bring(visiting *b, fnz_arg *arg) {
  fnz_backend *from = b->v->base, *to = b->v->cpu;
  fnz_context *ctx = b->host->ctx;
  fnz_handle copy;
  void *cells;
  if (!fnzi_krn_arg_array(arg))
    return FNZ_OK;
  const fnz_geometry *g = &fnzi_krn_arg_array(arg)->geometry;
  FNZ_TRY(fnzi_arena_take(&b->host->scratch, bytes_of(g) + 1, 1, &cells));
  FNZ_TRY(from->download(from->self, ctx, arg->u.value, cells));
  FNZ_TRY(to->upload(to->self, ctx, g, cells, &copy));
  b->copies[b->count++] = fnzi_krn_array_of(copy);
  arg->u.value = copy;
  arg->flags = 0;
  return FNZ_OK;
}

static fnz_status bring_args(visiting *b, const fnz_arg *from) {
  size_t count = b->host->op->nparams, most = 0;
  fnz_arg *args;
  for (size_t i = 0; i < count; i++)
    most += from[i].tag == FNZ_ARG_LIST ? from[i].count : 1;
  FNZ_TRY(fnzi_args_clone(&b->host->scratch, from, count, count, &args));
  FNZI_NEW(&b->host->scratch, most, &b->copies);
  b->host->args = args;
  FNZI_EACH_ARG(each, args, count)
    FNZ_TRY(bring(b, fnzi_each_own(&each)));
  return FNZ_OK;
}

/* --- Results ---------------------------------------------------------------------------------- */
static fnz_status give_back(fnzi_val *v, fnzi_krn_call *host, const fnzi_krn_array *from,
                            fnzi_krn_array **out) {
  fnz_handle handle;
  void *cells;
  *out = NULL;
  if (!from)
    return FNZ_OK;
  FNZ_TRY(fnzi_arena_take(&host->scratch, bytes_of(&from->geometry) + 1, 1, &cells));
  FNZ_TRY(v->cpu->download(v->cpu->self, host->ctx, fnzi_krn_array_handle(from), cells));
  FNZ_TRY(v->base->upload(v->base->self, host->ctx, &from->geometry, cells, &handle));
  *out = fnzi_krn_array_of(handle);
  return FNZ_OK;
}

/* Copies all results back. `results` has capacity for call->capacity. After a failure it has
 * none. */
static fnz_status give_all(fnzi_val *v, fnzi_krn_call *host, fnzi_krn_array **results) {
  for (size_t k = 0; k < host->noutputs; k++) {
    fnz_status status = give_back(v, host, host->outputs[k], &results[k]);
    if (status == FNZ_OK)
      continue;
    while (k > 0)
      fnzi_krn_array_release(host->ctx, results[--k]);
    return status;
  }
  return FNZ_OK;
}

static fnz_status compute(fnzi_krn_call *host) {
  FNZI_NEW(&host->scratch, host->capacity, &host->outputs);
  FNZ_TRY(fnzi_meta_evaluate_shape(host, host->row));
  FNZ_TRY(fnzi_meta_evaluate_memory(host, host->row));
  return fnzi_meta_evaluate_run(host, host->row);
}

/* The call with the CPU's memory; *count results of the GPU. */
fnz_status fnzi_val_results_by_cpu(fnzi_val *v, const fnzi_krn_call *call, fnzi_krn_array **results,
                                   size_t *count) {
  fnzi_krn_machine *cpu = v->cpu->self;
  fnzi_krn_call host = *call;
  visiting b = {.v = v, .host = &host};
  host.stock = &cpu->stock;
  host.kernels = cpu->kernels;
  host.team = cpu->team;
  host.outputs = NULL;
  host.noutputs = 0;
  host.pending = NULL;
  host.is_done = false;
  fnzi_arena_init(&host.scratch, call->ctx);
  fnz_status status = bring_args(&b, call->args);
  if (status == FNZ_OK)
    status = compute(&host);
  if (status == FNZ_OK)
    status = give_all(v, &host, results);
  *count = status == FNZ_OK ? host.noutputs : 0;
  fnzi_meta_outputs_release(&host);
  for (size_t k = 0; k < b.count; k++)
    fnzi_krn_array_release(call->ctx, b.copies[k]);
  fnzi_arena_free(&host.scratch);
  return status;
}

fnz_status fnzi_val_by_cpu(void *self, fnzi_krn_call *call) {
  return fnzi_val_results_by_cpu(self, call, call->outputs, &call->noutputs);
}
