/* api.c - the wrapper's public interface: worlds, tensors, and calls by name. */
#include "functionalize/wrapper/wrapper.h"

static void start(fnz_world *world) {
  fnzi_wrap_settle(world);
  world->source = "";
}

fnz_status fnz_world_create(fnz_context *ctx, fnz_backend *backend, fnz_world **out) {
  fnz_world *world = fnzi_resize(ctx, NULL, 0, sizeof *world);
  *out = NULL;
  if (!world)
    return fnzi_no_memory(ctx);
  *world = (fnz_world){.ctx = ctx, .backend = backend, .source = ""};
  fnzi_arena_init(&world->scratch, ctx);
  fnzi_blocks_init(&world->blocks, ctx);
  fnzi_wrap_start_emitter(world);
  void *routes;
  fnz_status status =
      fnzi_kept(ctx, FNZI_SHELF_ROUTES, FNZI_ROUTES * sizeof *world->routes, &routes);
  world->routes = routes;
  if (status == FNZ_OK)
    *out = world;
  else
    fnz_world_destroy(world);
  return status;
}

void fnz_world_destroy(fnz_world *world) {
  if (!world)
    return;
  fnz_context *ctx = world->ctx;
  while (world->tensors) {
    world->tensors->refs = 1;
    fnz_tensor_release(world->tensors);
  }
  fnzi_wrap_settle(world);
  FNZI_VEC_FREE(ctx, &world->fresh);
  fnzi_arena_free(&world->scratch);
  fnzi_blocks_end(&world->blocks);
  fnzi_free(ctx, world, sizeof *world);
}

fnz_status fnz_tensor_wrap(fnz_world *world, const fnz_geometry *geometry, fnz_handle owned_value,
                           fnz_tensor **out) {
  *out = NULL;
  start(world);
  FNZ_TRY(fnzi_wrap_value_take(world, owned_value));
  fnzi_value_ref *value = world->fresh.data[world->fresh.count - 1];
  if (!value)
    return fnzi_fail(world->ctx, FNZ_CLASS_ARGUMENT, NULL, "handle 0 is not a value");
  return fnzi_wrap_tensor_new(world, geometry, value, out);
}

/* The caller takes over the references of the results. */
static fnz_status hand_out(fnz_world *world, fnzi_wrap_request *r, fnz_tensor **outputs,
                           size_t capacity, size_t *count) {
  if (r->out.count > capacity)
    return fnzi_fail(world->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "%s has %zu results, there is room for "
                     "%zu",
                     r->op->name, r->out.count, capacity);
  *count = r->out.count;
  if (r->out.count)
    memcpy(outputs, r->out.data, r->out.count * sizeof *outputs);
  r->out.count = 0;
  return FNZ_OK;
}

static fnz_status check_world(void *user, const fnz_arg *arg) {
  const fnz_world *world = user;
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  if (!arg->u.tensor)
    return fnzi_fail(world->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "a tensor is given, but there is none; for an undefined one give None");
  if (arg->u.tensor->world != world)
    return fnzi_fail(world->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "a tensor of another world is given; wrap all inputs of a call in one");
  return FNZ_OK;
}

/* All parameters, with defaults. A number where the schema has a Tensor is left to the kernels. */
static fnz_status full_args(fnz_world *world, const fnz_op *op, const fnz_arg *args, size_t nargs,
                            fnz_arg **out) {
  if (nargs > op->nparams)
    return fnzi_fail(world->ctx, FNZ_CLASS_TYPE, NULL, "%s takes %d arguments, got %zu", op->name,
                     op->nparams, nargs);
  FNZI_NEW(&world->scratch, op->nparams, out);
  if (nargs)
    memcpy(*out, args, nargs * sizeof *args);
  for (size_t i = 0; i < op->nparams; i++)
    if ((*out)[i].tag == FNZ_ARG_DEFAULT && !op->params[i].has_default)
      return fnzi_fail(world->ctx, FNZ_CLASS_TYPE, NULL, "%s: argument `%s` is missing", op->name,
                       op->params[i].name);
  for (size_t i = 0; i < op->nparams; i++)
    FNZ_TRY(fnzi_at(world->ctx, fnzi_args_visit(&(*out)[i], 1, check_world, world),
                    "%s: argument `%s`", op->name, op->params[i].name));
  return FNZ_OK;
}

fnz_status fnz_tensor_call(fnz_world *world, const char *op, const fnz_arg *args, size_t nargs,
                           fnz_tensor **outputs, size_t capacity, size_t *count) {
  fnzi_wrap_request r = {.op = fnz_op_lookup(world->ctx, op)};
  fnz_arg *all = NULL;
  *count = 0;
  start(world);
  if (!r.op)
    return fnzi_fail(world->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "there is no operator %s", op);
  FNZ_TRY(full_args(world, r.op, args, nargs, &all));
  r.args = all;
  fnz_status status = fnzi_wrap_dispatch(world, &r);
  if (status == FNZ_OK)
    status = hand_out(world, &r, outputs, capacity, count);
  fnzi_wrap_request_end(&r);
  fnzi_wrap_settle(world);
  return status;
}

const fnz_geometry *fnz_tensor_geometry(const fnz_tensor *tensor) {
  return &tensor->alias->geometry;
}

fnz_status fnz_tensor_read(fnz_tensor *tensor, fnz_handle *out) {
  fnzi_value_ref *value;
  *out = 0;
  start(tensor->world);
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
