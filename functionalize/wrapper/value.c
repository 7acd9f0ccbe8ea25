/* value.c - counted values of the backend: taking, holding and dropping them.
 *
 * The wrapper holds a new value until the call ends. */
#include "functionalize/wrapper/wrapper.h"

fnz_status fnzi_wrap_value_take(fnz_wrapper *wrapper, fnz_handle handle) {
  fnzi_value_ref *v = NULL;
  void *data = wrapper->fresh.data;
  if (handle) {
    v = fnzi_blocks_take(&wrapper->blocks, sizeof *v);
    if (!v) {
      wrapper->backend->release(wrapper->backend->self, handle);
      return fnzi_no_memory(wrapper->ctx);
    }
    *v = (fnzi_value_ref){handle, wrapper->backend->geometry(wrapper->backend->self, handle),
                          .refs = 1};
  }
  fnz_status status = fnzi_grow(wrapper->ctx, &data, &wrapper->fresh.capacity,
                                wrapper->fresh.count + 1, sizeof *wrapper->fresh.data);
  wrapper->fresh.data = data;
  if (status != FNZ_OK)
    fnzi_wrap_value_drop(wrapper, v);
  else
    wrapper->fresh.data[wrapper->fresh.count++] = v;
  return status;
}

fnzi_value_ref *fnzi_wrap_value_hold(fnzi_value_ref *value) {
  value->refs++;
  return value;
}

void fnzi_wrap_value_drop(fnz_wrapper *wrapper, fnzi_value_ref *value) {
  while (value && --value->refs == 0) {
    fnzi_value_ref *rows = value->rows;
    wrapper->backend->release(wrapper->backend->self, value->handle);
    fnzi_blocks_give(&wrapper->blocks, value, sizeof *value);
    value = rows;
  }
}

void fnzi_wrap_release(fnz_wrapper *wrapper) {
  for (size_t i = 0; i < wrapper->fresh.count; i++)
    fnzi_wrap_value_drop(wrapper, wrapper->fresh.data[i]);
  wrapper->fresh.count = 0;
  fnzi_arena_reset(&wrapper->scratch);
}

void fnzi_wrap_alias_set_value(fnzi_wrap_alias *alias, fnzi_value_ref *value) {
  fnzi_value_ref *old = alias->value;
  alias->value = fnzi_wrap_value_hold(value);
  alias->version = alias->storage->version;
  fnzi_wrap_value_drop(alias->storage->wrapper, old);
}
