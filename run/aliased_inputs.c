/* aliased_inputs.c - inputs that share memory: it is filled with the elements of all of them, and
 * after the run each of them shows what was written through any.
 *
 * needs   bindings of the inputs before; the windows that the signature records
 * gives   one memory for all inputs that share it, in which they agree where they overlap */
#include "run/numbers.h"
#include "run/run.h"

/* --- making a memory -------------------------------------------------------------------------- */
static fnz_status window_bytes(fnzi_run_state *run, const fnz_geometry *g, size_t *out) {
  size_t cell = run->backend->cell_bytes(run->backend->self, g->dtype);
  int64_t low, high;
  if (!fnzi_extent(g, &low, &high) || low < 0)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, "", "a tensor begins before its memory");
  if (!fnzi_mul_size((size_t)high, cell, out))
    return fnzi_fail(run->ctx, FNZ_CLASS_OVERFLOW, "", "the bytes of a tensor leave 64 bits");
  return FNZ_OK;
}

/* Bytes up to the end of the last window into a memory. */
static fnz_status memory_bytes(fnzi_run_state *run, uint32_t first, size_t *out) {
  const fnzi_graph *g = fnzi_graph_main(run->program);
  *out = 0;
  for (uint32_t k = first; k < g->ninputs; k++) {
    size_t bytes;
    if (fnzi_memory_of(run->program, k) != first || g->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *window = fnzi_run_recorded(run, &run->arena, g->inputs[k].u.value);
    if (window == NULL)
      return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                       "the size of an input that shares memory is not known");
    FNZ_TRY(window_bytes(run, window, &bytes));
    *out = bytes > *out ? bytes : *out;
  }
  return FNZ_OK;
}

fnz_status fnzi_run_find_shared(fnzi_run_state *run) {
  const fnz_program *p = run->program;
  uint32_t count = fnzi_graph_main(p)->ninputs;
  FNZI_NEW(&run->arena, count, &run->shared);
  for (uint32_t k = 0; k < count; k++)
    if (p->inputs[k].shares)
      run->shared[k] = run->shared[p->inputs[k].shares - 1] = true;
  return FNZ_OK;
}

fnz_status fnzi_run_bind_shared(fnzi_run_state *run, uint32_t k, bool *is_new) {
  fnzi_run_binding *b = &run->bindings[k];
  uint32_t first = fnzi_memory_of(run->program, k);
  *is_new = first == k;
  if (first == k) {
    size_t bytes, cell = run->backend->cell_bytes(run->backend->self, b->geometry->dtype);
    FNZ_TRY(memory_bytes(run, k, &bytes));
    FNZ_TRY(fnzi_run_memory_create(run, b->geometry->dtype,
                                   (int64_t)(bytes / cell + (bytes % cell != 0)), &b->memory));
    b->memory->shared = true;
    return FNZ_OK;
  }
  b->memory = run->bindings[first].memory;
  b->memory->shared = true;
  /* Inputs of one memory may have several dtypes only where cells are bytes. */
  size_t bytes;
  FNZ_TRY(window_bytes(run, b->geometry, &bytes));
  if (bytes <= b->memory->bytes)
    return FNZ_OK;
  return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, b->target,
                   "inputs of several dtypes share this one's memory, which needs hashes per byte");
}

/* --- filling it ------------------------------------------------------------------------------- */
static fnz_status aliased_place(fnzi_run_state *run, const fnzi_run_binding *b,
                                const unsigned char *data, fnzi_run_memory *known,
                                unsigned char *scratch, size_t bytes) {
  size_t item = fnzi_dtype(b->geometry->dtype)->bytes;
  fnzi_run_gather(b->geometry, b->memory->cells, item, scratch);
  fnzi_run_gather(b->geometry, known->cells, item, scratch + bytes);
  /* Two dense copies: the elements in the memory, and a mark on each byte that an earlier input
   * set. */
  for (size_t i = 0; i < bytes; i++)
    if (scratch[bytes + i] && scratch[i] != data[i])
      return fnzi_fail(
          run->ctx, FNZ_CLASS_OVERLAP, b->target,
          "element %zu is not what another input that shares its memory has there; inputs "
          "that alias must have the same numbers where they overlap",
          i / item);
  fnzi_run_scatter(b->geometry, data, item, b->memory->cells);
  memset(scratch, 1, bytes);
  fnzi_run_scatter(b->geometry, scratch, item, known->cells);
  return FNZ_OK;
}

fnz_status fnzi_run_fill_shared(fnzi_run_state *run, uint32_t k, const void *data) {
  fnzi_run_binding *b = &run->bindings[k];
  size_t bytes;
  FNZ_TRY(fnzi_run_dense_bytes(run, b->geometry, &bytes));
  if (b->memory->known == NULL)
    FNZ_TRY(fnzi_run_memory_create(run, FNZ_U8, (int64_t)b->memory->bytes, &b->memory->known));
  unsigned char *scratch = fnzi_resize(run->ctx, NULL, 0, 2 * bytes + 1);
  if (scratch == NULL)
    return fnzi_no_memory(run->ctx);
  fnz_status status = aliased_place(run, b, data, b->memory->known, scratch, bytes);
  fnzi_free(run->ctx, scratch, 2 * bytes + 1);
  return status;
}

bool fnzi_run_any_given(const fnzi_run_state *run, uint32_t k) {
  uint32_t first = fnzi_memory_of(run->program, k);
  for (uint32_t i = first; i < fnzi_graph_main(run->program)->ninputs; i++)
    if (run->bindings[i].given != NULL && fnzi_memory_of(run->program, i) == first)
      return true;
  return false;
}

fnz_status fnzi_run_check_filled(fnzi_run_state *run, uint32_t k) {
  const fnzi_run_binding *b = &run->bindings[k];
  size_t bytes, filled = 0;
  bool is_weight = b->kind == FNZ_INPUT_PARAMETER || b->kind == FNZ_INPUT_BUFFER ||
                   b->kind == FNZ_INPUT_CONSTANT;
  if (b->given != NULL || b->memory == NULL || b->memory->known == NULL || !is_weight)
    return FNZ_OK;
  const fnzi_weight *weight = fnzi_weight_find(run->program, b->target);
  if (weight != NULL && weight->blob != NULL)
    return FNZ_OK;
  FNZ_TRY(fnzi_run_dense_bytes(run, b->geometry, &bytes));
  unsigned char *known = fnzi_resize(run->ctx, NULL, 0, bytes + 1);
  if (known == NULL)
    return fnzi_no_memory(run->ctx);
  fnzi_run_gather(b->geometry, b->memory->known->cells, fnzi_dtype(b->geometry->dtype)->bytes,
                  known);
  while (filled < bytes && known[filled])
    filled++;
  fnzi_free(run->ctx, known, bytes + 1);
  if (filled == bytes)
    return FNZ_OK;
  return fnzi_fail(run->ctx, FNZ_CLASS_REF, b->name,
                   "the file has no data for this weight, and what is given for others that share "
                   "its memory does not fill it; give it too");
}

/* --- final values ----------------------------------------------------------------------------- */

static fnz_status put_final(fnzi_run_state *run, const fnzi_run_binding *b, fnz_handle value,
                            unsigned char *cells) {
  /* Checked for programs of any origin: a final value has the sizes of its input. */
  const fnz_geometry *g = value ? run->backend->geometry(run->backend->self, value) : NULL;
  if (g == NULL || g->dtype != b->geometry->dtype || !fnzi_same_sizes(g, b->geometry)) {
    char is[FNZI_SHAPE_TEXT], has[FNZI_SHAPE_TEXT] = "undefined";
    fnzi_shape_text(b->geometry, is);
    if (g != NULL)
      fnzi_shape_text(g, has);
    return fnzi_fail(run->ctx, FNZ_CLASS_TYPE, b->target,
                     "it is %s and its final value is %s; that must fit what it is the value of",
                     is, has);
  }
  size_t bytes, cell = run->backend->cell_bytes(run->backend->self, b->geometry->dtype);
  FNZ_TRY(fnzi_run_dense_bytes(run, b->geometry, &bytes));
  unsigned char *dense = fnzi_resize(run->ctx, NULL, 0, bytes + 1);
  if (dense == NULL)
    return fnzi_no_memory(run->ctx);
  fnz_status status = run->backend->download(run->backend->self, run->ctx, value, dense);
  if (status == FNZ_OK)
    fnzi_run_scatter(b->geometry, dense, cell, cells);
  fnzi_free(run->ctx, dense, bytes + 1);
  return status;
}

static fnz_status put_finals(fnzi_run_state *run, const fnzi_run_memory *memory,
                             fnzi_run_handle_fn *handle, void *user, unsigned char *cells) {
  const fnzi_graph *g = fnzi_graph_main(run->program);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *out = &run->program->outputs[k];
    const fnzi_output_kind *kind = fnzi_output_kind_of(out);
    uint32_t owner = UINT32_MAX; /* the input whose elements the output is the final value of */
    for (uint32_t i = 0; kind->taker == FNZI_TAKEN_AS_FINAL && !out->metadata && i < g->ninputs;
         i++)
      if (owner == UINT32_MAX && (int)run->program->inputs[i].kind == kind->of &&
          strcmp(run->program->inputs[i].target, out->target) == 0)
        owner = i;
    fnz_handle value;
    if (owner == UINT32_MAX || run->bindings[owner].memory != memory ||
        g->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    FNZ_TRY(handle(user, g->outputs[k].u.value, &value));
    FNZ_TRY(put_final(run, &run->bindings[owner], value, cells));
  }
  return FNZ_OK;
}

static fnz_status emit_window(fnzi_run_state *run, const char *name, const fnz_geometry *g,
                              const unsigned char *cells) {
  size_t bytes, cell = run->backend->cell_bytes(run->backend->self, g->dtype);
  FNZ_TRY(fnzi_run_dense_bytes(run, g, &bytes));
  unsigned char *dense = fnzi_resize(run->ctx, NULL, 0, bytes + 1);
  if (dense == NULL)
    return fnzi_no_memory(run->ctx);
  fnzi_run_gather(g, cells, cell, dense);
  fnz_status status = run->options->emit(run->options->user, name, g, dense, bytes);
  fnzi_free(run->ctx, dense, bytes + 1);
  return status;
}

fnz_status fnzi_run_emit_memory(fnzi_run_state *run, const char *name, const fnz_geometry *g,
                                fnzi_run_memory *memory) {
  FNZ_TRY(fnzi_run_memory_need(run, memory));
  return emit_window(run, name, g, memory->cells);
}

fnz_status fnzi_run_emit_member(fnzi_run_state *run, uint32_t k, fnzi_run_handle_fn *handle,
                                void *user) {
  const fnzi_run_binding *b = &run->bindings[k];
  FNZ_TRY(fnzi_run_memory_need(run, b->memory));
  unsigned char *cells = fnzi_resize(run->ctx, NULL, 0, b->memory->bytes + 1);
  if (cells == NULL)
    return fnzi_no_memory(run->ctx);
  memcpy(cells, b->memory->cells, b->memory->bytes);
  fnz_status status = put_finals(run, b->memory, handle, user, cells);
  if (status == FNZ_OK)
    status = emit_window(run, b->name, b->geometry, cells);
  fnzi_free(run->ctx, cells, b->memory->bytes + 1);
  return status;
}
