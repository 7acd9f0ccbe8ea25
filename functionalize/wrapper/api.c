/* api.c - the wrapper's public interface: its tensors, and calls by name. */
#include "functionalize/wrapper/wrapper.h"

static void start(fnz_wrapper *wrapper) {
  fnzi_wrap_release(wrapper);
  wrapper->source = "";
}

fnz_status fnz_wrapper_create(fnz_context *ctx, fnz_backend *backend, fnz_wrapper **out) {
  *out = NULL;
  FNZ_TRY(fnzi_backend_check(ctx, backend));
  fnz_wrapper *wrapper = fnzi_resize(ctx, NULL, 0, sizeof *wrapper);
  if (!wrapper)
    return fnzi_no_memory(ctx);
  *wrapper = (fnz_wrapper){.ctx = ctx, .backend = backend, .source = ""};
  fnzi_arena_init(&wrapper->scratch, ctx);
  fnzi_blocks_init(&wrapper->blocks, ctx);
  fnzi_wrap_start_emitter(wrapper);
  void *routes;
  fnz_status status =
      fnzi_kept(ctx, FNZI_SHELF_ROUTES, FNZI_ROUTES * sizeof *wrapper->routes, &routes);
  wrapper->routes = routes;
  if (status == FNZ_OK)
    *out = wrapper;
  else
    fnz_wrapper_destroy(wrapper);
  return status;
}

void fnz_wrapper_destroy(fnz_wrapper *wrapper) {
  if (!wrapper)
    return;
  fnz_context *ctx = wrapper->ctx;
  while (wrapper->tensors) {
    wrapper->tensors->refs = 1;
    fnz_tensor_release(wrapper->tensors);
  }
  fnzi_wrap_release(wrapper);
  fnzi_wrap_ties_end(wrapper);
  FNZI_VEC_FREE(ctx, &wrapper->fresh);
  fnzi_arena_free(&wrapper->scratch);
  fnzi_blocks_end(&wrapper->blocks);
  fnzi_free(ctx, wrapper, sizeof *wrapper);
}

fnz_status fnz_tensor_wrap(fnz_wrapper *wrapper, const fnz_geometry *geometry,
                           fnz_handle owned_value, fnz_tensor **out) {
  *out = NULL;
  start(wrapper);
  FNZ_TRY(fnzi_wrap_value_take(wrapper, owned_value));
  fnzi_value_ref *value = wrapper->fresh.data[wrapper->fresh.count - 1];
  if (!value)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_ARGUMENT, NULL, "handle 0 is not a value");
  return fnzi_wrap_tensor_new(wrapper, geometry, value, out);
}

static fnz_status check_wrapper(const fnz_wrapper *wrapper, const fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  if (!arg->u.tensor)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "a tensor is given, but there is none; for an undefined one give None");
  if (arg->u.tensor->wrapper != wrapper)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "a tensor of another wrapper is given; wrap all inputs of a call in one");
  return FNZ_OK;
}

/* All parameters, with defaults. A number where the schema has a Tensor is left to the kernels. */
static fnz_status full_args(fnz_wrapper *wrapper, const fnz_op *op, const fnz_arg *args,
                            size_t nargs, fnz_arg **out) {
  if (nargs > op->nparams)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL, "%s takes %d arguments, got %zu", op->name,
                     op->nparams, nargs);
  FNZI_NEW(&wrapper->scratch, op->nparams, out);
  if (nargs)
    memcpy(*out, args, nargs * sizeof *args);
  for (size_t i = 0; i < op->nparams; i++)
    if ((*out)[i].tag == FNZ_ARG_DEFAULT && !op->params[i].has_default)
      return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL, "%s: argument `%s` is missing", op->name,
                       op->params[i].name);
  for (size_t i = 0; i < op->nparams; i++)
    FNZI_EACH_ARG(each, &(*out)[i], 1)
      FNZ_TRY(fnzi_at(wrapper->ctx, check_wrapper(wrapper, each.arg), "%s: argument `%s`", op->name,
                      op->params[i].name));
  return FNZ_OK;
}

fnz_status fnz_tensor_call(fnz_wrapper *wrapper, const char *op, const fnz_arg *args, size_t nargs,
                           fnz_tensor **outputs, size_t capacity, size_t *count) {
  fnzi_wrap_request r = {.op = fnz_op_find(wrapper->ctx, op)};
  fnz_arg *all = NULL;
  *count = 0;
  start(wrapper);
  if (!r.op)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "there is no operator %s", op);
  FNZ_TRY(full_args(wrapper, r.op, args, nargs, &all));
  r.args = all;
  fnz_status status = fnzi_wrap_dispatch(wrapper, &r);
  if (status == FNZ_OK && r.out.count > capacity)
    status =
        fnzi_fail(wrapper->ctx, FNZ_CLASS_ARGUMENT, NULL,
                  "%s has %zu results, there is room for %zu", r.op->name, r.out.count, capacity);
  if (status == FNZ_OK) { /* the caller takes over the references of the results */
    *count = r.out.count;
    if (r.out.count)
      memcpy(outputs, r.out.data, r.out.count * sizeof *outputs);
    r.out.count = 0;
  }
  fnzi_wrap_request_end(&r);
  fnzi_wrap_release(wrapper);
  return status;
}

const fnz_geometry *fnz_tensor_geometry(const fnz_tensor *tensor) {
  return &tensor->alias->geometry;
}

fnz_status fnz_tensor_read(fnz_tensor *tensor, fnz_handle *out) {
  fnzi_value_ref *value;
  *out = 0;
  start(tensor->wrapper);
  FNZ_TRY(fnzi_wrap_read_tensor(tensor, &value));
  *out = value->handle;
  return FNZ_OK;
}

bool fnz_tensor_shares(const fnz_tensor *a, const fnz_tensor *b) {
  return a->alias->storage == b->alias->storage;
}

uint64_t fnz_tensor_version(const fnz_tensor *tensor) {
  return tensor->alias->storage->version;
}
