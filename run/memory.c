/* memory.c - the memory of a run: cells that tensors of a program lie in, taken and given back. */
#include "run/run.h"

fnz_status fnzi_run_dense_bytes(const fnzi_run_state *run, const fnz_geometry *g, size_t *out) {
  size_t cell = run->backend->cell_bytes(run->backend->self, g->dtype);
  if (!fnzi_mul_size((size_t)fnz_geometry_numel(g), cell, out))
    return fnzi_fail(run->ctx, FNZ_CLASS_OVERFLOW, "", "the bytes of a tensor leave 64 bits");
  return FNZ_OK;
}

static fnz_status take_memory(fnzi_run_state *run, fnzi_run_memory **out) {
  if (run->spare == NULL) {
    FNZI_NEW(&run->arena, 1, &run->spare);
    FNZI_PUSH(run->ctx, &run->memories, run->spare);
  }
  *out = run->spare;
  run->spare = run->spare->spare;
  **out = (fnzi_run_memory){.users = 0};
  return FNZ_OK;
}

fnz_status fnzi_run_memory_create(fnzi_run_state *run, fnz_dtype dtype, int64_t elements,
                                  fnzi_run_memory **out) {
  return fnzi_run_memory_unfilled(run, dtype, elements, 0, out);
}

fnz_status fnzi_run_memory_unfilled(fnzi_run_state *run, fnz_dtype dtype, int64_t elements,
                                    size_t filled, fnzi_run_memory **out) {
  fnz_geometry flat = {.dtype = dtype, .rank = 1, .sizes = &elements};
  fnzi_run_memory *memory;
  size_t bytes;
  FNZ_TRY(fnzi_run_dense_bytes(run, &flat, &bytes));
  if (!fnzi_add_size(bytes, 16, &bytes))
    return fnzi_no_memory(run->ctx);
  FNZ_TRY(take_memory(run, &memory));
  memory->cells = fnzi_resize(run->ctx, NULL, 0, bytes);
  if (memory->cells == NULL)
    return fnzi_no_memory(run->ctx);
  memset(memory->cells + filled, 0, bytes - filled);
  memory->bytes = bytes - 16;
  *out = memory;
  return FNZ_OK;
}

fnz_status fnzi_run_memory_borrow(fnzi_run_state *run, void *cells, size_t bytes,
                                  fnzi_run_memory **out) {
  FNZ_TRY(take_memory(run, out));
  (*out)->cells = cells;
  (*out)->bytes = bytes;
  (*out)->is_borrowed = true;
  return FNZ_OK;
}

void fnzi_run_memory_drop(fnzi_run_state *run, fnzi_run_memory *memory) {
  if (memory->cells != NULL && !memory->is_borrowed)
    fnzi_free(run->ctx, memory->cells, memory->bytes + 16);
  memory->cells = NULL;
}

void fnzi_run_memory_end(fnzi_run_state *run, fnzi_run_memory *memory) {
  fnzi_run_memory_drop(run, memory);
  memory->spare = run->spare;
  run->spare = memory;
}
