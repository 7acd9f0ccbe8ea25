/* value.c - counted values of the backend: taking, holding and dropping them.
 *
 * The world holds a new value until the call ends. */
#include "functionalize/wrapper/wrapper.h"

static fnz_status held_new(fnz_world *world, fnz_handle handle, fnzi_value_ref **out) {
  *out = NULL;
  if (!handle)
    return FNZ_OK;
  *out = fnzi_blocks_take(&world->blocks, sizeof **out);
  if (!*out) {
    world->backend->release(world->backend->self, handle);
    return fnzi_no_memory(world->ctx);
  }
  **out = (fnzi_value_ref){handle, world->backend->geometry(world->backend->self, handle), 1};
  return FNZ_OK;
}

fnz_status fnzi_wrap_value_take(fnz_world *world, fnz_handle handle) {
  fnzi_value_ref *v;
  void *data = world->fresh.data;
  FNZ_TRY(held_new(world, handle, &v));
  fnz_status status = fnzi_grow(world->ctx, &data, &world->fresh.capacity, world->fresh.count + 1,
                                sizeof *world->fresh.data);
  world->fresh.data = data;
  if (status != FNZ_OK)
    fnzi_wrap_value_drop(world, v);
  else
    world->fresh.data[world->fresh.count++] = v;
  return status;
}

fnzi_value_ref *fnzi_wrap_value_hold(fnzi_value_ref *value) {
  value->refs++;
  return value;
}

void fnzi_wrap_value_drop(fnz_world *world, fnzi_value_ref *value) {
  if (!value || --value->refs > 0)
    return;
  world->backend->release(world->backend->self, value->handle);
  fnzi_blocks_give(&world->blocks, value, sizeof *value);
}

void fnzi_wrap_settle(fnz_world *world) {
  for (size_t i = 0; i < world->fresh.count; i++)
    fnzi_wrap_value_drop(world, world->fresh.data[i]);
  world->fresh.count = 0;
  fnzi_arena_reset(&world->scratch);
}

void fnzi_wrap_alias_set_value(fnzi_wrap_alias *alias, fnzi_value_ref *value) {
  fnzi_value_ref *old = alias->value;
  alias->value = fnzi_wrap_value_hold(value);
  alias->version = alias->storage->version;
  fnzi_wrap_value_drop(alias->storage->world, old);
}
