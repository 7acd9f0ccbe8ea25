/* table.c - the cache of compiled programs of calls, by everything that they depend on. When it is
 * full, the least recently called program is destroyed. */
#include "engine/values/values.h"

static void table_end(fnzi_val *v, fnzi_val_compiled *k) {
  fnzi_val_synchronize(v); /* its kernels may be at work */
  fnz_workspace_destroy(k->ws);
  fnz_executable_destroy(k->exe);
  fnz_program_destroy(k->program);
  fnz_buffer_free(v->ctx, &k->key);
  fnzi_free(v->ctx, k, sizeof *k);
}

void fnzi_val_compiled_end_all(fnzi_val *v) {
  while (v->ncompiled > 0)
    table_end(v, v->compiled[--v->ncompiled]);
}

/* Takes the key over. */
static fnz_status add(const fnzi_val_call *call, fnz_buffer *key, fnzi_val_compiled **out) {
  fnzi_val *v = call->v;
  fnzi_val_compiled *k = fnzi_resize(v->ctx, NULL, 0, sizeof *k);
  if (!k)
    return fnzi_no_memory(call->ctx);
  *k = (fnzi_val_compiled){.key = *key};
  if (call->code)
    k->code = *call->code;
  *key = (fnz_buffer){.data = NULL};
  const fnzi_eng_lent_device lent = {v->gpu, &v->device, v->device.threads};
  fnz_status status = fnzi_val_program_make(call, &k->program);
  if (status == FNZ_OK)
    status = fnzi_eng_compile_on(call->ctx, k->program, v->threads, &lent, &k->exe);
  if (status == FNZ_OK)
    status = fnz_workspace_create(call->ctx, k->exe, &k->ws);
  if (status != FNZ_OK) {
    table_end(v, k);
    return status;
  }
  size_t at = v->ncompiled;
  if (at < FNZI_VAL_PROGRAMS)
    v->ncompiled++;
  else {
    at = 0; /* the least recently used program, which is destroyed */
    for (size_t i = 1; i < v->ncompiled; i++)
      if (v->compiled[i]->used < v->compiled[at]->used)
        at = i;
    table_end(v, v->compiled[at]);
  }
  v->compiled[at] = k;
  *out = k;
  return FNZ_OK;
}

fnz_status fnzi_val_compiled_find(const fnzi_val_call *call, fnzi_val_compiled **out) {
  const fnzi_val *v = call->v;
  fnz_buffer key = {.data = NULL};
  fnz_status status = fnzi_val_call_key(call, &key);
  *out = NULL;
  for (size_t i = 0; status == FNZ_OK && !*out && i < v->ncompiled; i++)
    if (v->compiled[i]->key.size == key.size &&
        memcmp(v->compiled[i]->key.data, key.data, key.size) == 0 &&
        fnzi_val_scalars_set(call, v->compiled[i]))
      *out = v->compiled[i];
  if (status == FNZ_OK && !*out)
    status = add(call, &key, out);
  if (status == FNZ_OK)
    (*out)->used = ++call->v->calls;
  fnz_buffer_free(call->v->ctx, &key);
  return status;
}
