/* memory.c - the memory of a run: cells that tensors of a program lie in, taken and given back. */
#include "run/run.h"

enum { BEHIND = 16 }; /* zero bytes behind the cells */

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

/* Without cells. */
static fnz_status open_memory(fnzi_run_state *run, fnz_dtype dtype, int64_t elements,
                              fnzi_run_memory **out) {
  fnz_geometry flat = {.dtype = dtype, .rank = 1, .sizes = &elements};
  size_t bytes, most;
  FNZ_TRY(fnzi_run_dense_bytes(run, &flat, &bytes));
  if (!fnzi_add_size(bytes, BEHIND, &most))
    return fnzi_no_memory(run->ctx);
  FNZ_TRY(take_memory(run, out));
  (*out)->bytes = bytes;
  return FNZ_OK;
}

/* Cells with all bytes zero after the first `filled`. */
static fnz_status make_cells(fnzi_run_state *run, fnzi_run_memory *memory, size_t filled) {
  memory->cells = fnzi_resize(run->ctx, NULL, 0, memory->bytes + BEHIND);
  if (memory->cells == NULL)
    return fnzi_no_memory(run->ctx);
  memset(memory->cells + filled, 0, memory->bytes + BEHIND - filled);
  return FNZ_OK;
}

fnz_status fnzi_run_memory_unfilled(fnzi_run_state *run, fnz_dtype dtype, int64_t elements,
                                    size_t filled, fnzi_run_memory **out) {
  fnzi_run_memory *memory;
  FNZ_TRY(open_memory(run, dtype, elements, &memory));
  FNZ_TRY(make_cells(run, memory, filled));
  *out = memory;
  return FNZ_OK;
}

fnz_status fnzi_run_memory_series(fnzi_run_state *run, fnz_dtype dtype, int64_t elements,
                                  fnzi_cell start, fnzi_run_memory **out) {
  FNZ_TRY(open_memory(run, dtype, elements, out));
  fnzi_run_memory_become(run, *out, start);
  return FNZ_OK;
}

void fnzi_run_memory_become(fnzi_run_state *run, fnzi_run_memory *memory, fnzi_cell start) {
  fnzi_run_memory_drop(run, memory);
  memory->is_series = true;
  memory->start = start;
}

fnz_status fnzi_run_memory_need(fnzi_run_state *run, fnzi_run_memory *memory) {
  size_t count = memory->bytes / sizeof(fnzi_cell);
  if (!memory->is_series)
    return FNZ_OK;
  FNZ_TRY(make_cells(run, memory, count * sizeof(fnzi_cell)));
  fnzi_series_fill(memory->start, count, (fnzi_cell *)(void *)memory->cells);
  memory->is_series = false;
  return FNZ_OK;
}

fnz_status fnzi_run_memory_read(fnzi_run_state *run, fnzi_run_memory *memory, const fnz_geometry *g,
                                fnz_handle *out) {
  const fnzi_run_series *series = run->options->series;
  size_t bytes, start, cell = run->backend->cell_bytes(run->backend->self, g->dtype);
  FNZ_TRY(fnzi_run_dense_bytes(run, g, &bytes));
  bool in_a_row = bytes > 0 && fnzi_is_contiguous(g);
  start = in_a_row ? (size_t)g->offset * cell : 0;
  if (in_a_row && memory->is_series && series)
    return series->make(run->backend, run->ctx, g,
                        fnzi_cell_behind(memory->start, start / sizeof(fnzi_cell)), out);
  FNZ_TRY(fnzi_run_memory_need(run, memory));
  if (in_a_row)
    return run->backend->upload(run->backend->self, run->ctx, g, memory->cells + start, out);
  unsigned char *dense = fnzi_resize(run->ctx, NULL, 0, bytes + 1);
  if (dense == NULL)
    return fnzi_no_memory(run->ctx);
  fnzi_run_gather(g, memory->cells, cell, dense);
  fnz_status status = run->backend->upload(run->backend->self, run->ctx, g, dense, out);
  fnzi_free(run->ctx, dense, bytes + 1);
  return status;
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
    fnzi_free(run->ctx, memory->cells, memory->bytes + BEHIND);
  memory->cells = NULL;
  memory->is_series = false;
}

void fnzi_run_memory_end(fnzi_run_state *run, fnzi_run_memory *memory) {
  fnzi_run_memory_drop(run, memory);
  memory->spare = run->spare;
  run->spare = memory;
}
