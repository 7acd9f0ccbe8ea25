/* memory.c - tensors of the aliasing interpreter: windows into memory, read as values of the
 * backend and written with them. */
#include "run/eager/eager.h"

/* --- Geometries ------------------------------------------------------------------------------- */

/* Holds for the windows of all rules: no tensor reaches over the end of its memory. */
static fnz_status check_window(fnzi_eag_interp *in, const fnzi_run_memory *memory,
                               const fnzi_eag_window *w) {
  size_t cell = in->run.backend->cell_bytes(in->run.backend->self, w->dtype);
  fnz_geometry g = fnzi_eag_window_geometry(w);
  int64_t numel = 1, low, high;
  bool fits = w->offset >= 0;
  /* As in programs, a size of 0 counts as 1, so that no product of sizes leaves 64 bits. */
  for (uint32_t d = 0; d < w->rank && fits; d++)
    fits = w->sizes[d] >= 0 && w->strides[d] >= 0 &&
           fnzi_mul_i64(numel, w->sizes[d] == 0 ? 1 : w->sizes[d], &numel);
  if (!fits || !fnzi_extent(&g, &low, &high))
    return fnzi_fail(in->run.ctx, FNZ_CLASS_OVERFLOW, "", "the sizes of a tensor leave 64 bits");
  if (low >= 0 && (size_t)high <= memory->bytes / cell)
    return FNZ_OK;
  return fnzi_fail(in->run.ctx, FNZ_CLASS_BOUNDS, "",
                   "a tensor reaches from element %lld to %lld of a memory of %zu", (long long)low,
                   (long long)high, memory->bytes / cell);
}

static void set_geometry(const fnzi_eag_window *w, int64_t *numbers, fnz_geometry *out) {
  memcpy(numbers, w->sizes, w->rank * sizeof *numbers);
  memcpy(numbers + w->rank, w->strides, w->rank * sizeof *numbers);
  *out = fnzi_eag_window_geometry(w);
  out->sizes = numbers;
  out->strides = numbers + w->rank;
}

/* --- Tensors ---------------------------------------------------------------------------------- */

fnz_status fnzi_eag_tensor_create(fnzi_eag_interp *in, fnzi_run_memory *memory,
                                  const fnzi_eag_window *w, fnzi_eag_tensor **out) {
  fnzi_eag_tensor *t = in->spare[w->rank]; /* it has ended: iterations of a loop share memory */
  FNZ_TRY(check_window(in, memory, w));
  if (t != NULL) {
    in->spare[w->rank] = t->spare;
    *t = (fnzi_eag_tensor){.own = t->own, .numbers = t->numbers, .capacity = w->rank};
  } else {
    FNZI_NEW(&in->run.arena, 1, &t);
    FNZI_NEW(&in->run.arena, 1, &t->own);
    FNZI_NEW(&in->run.arena, 2 * (size_t)w->rank, &t->numbers);
    FNZI_PUSH(in->run.ctx, &in->all, t);
    t->capacity = w->rank;
  }
  set_geometry(w, t->numbers, t->own);
  t->g = t->own;
  t->memory = memory;
  memory->users++;
  *out = t;
  return FNZ_OK;
}

void fnzi_eag_tensor_forget(fnzi_eag_interp *in, fnzi_eag_tensor *t) {
  if (t->cached != 0)
    fnzi_run_release(&in->run, t->cached);
  t->cached = 0;
}

void fnzi_eag_tensor_end(fnzi_eag_interp *in, fnzi_eag_tensor *t) {
  fnzi_eag_tensor_forget(in, t);
  if (--t->memory->users == 0)
    fnzi_run_memory_end(&in->run, t->memory);
  t->spare = in->spare[t->capacity];
  in->spare[t->capacity] = t;
}

fnz_status fnzi_eag_tensor_reshape(fnzi_eag_interp *in, fnzi_eag_tensor *t,
                                   const fnzi_eag_window *w) {
  fnz_geometry *g;
  int64_t *numbers;
  fnzi_eag_tensor_forget(in, t);
  FNZ_TRY(check_window(in, t->memory, w));
  FNZI_NEW(&in->run.arena, 1, &g);
  FNZI_NEW(&in->run.arena, 2 * (size_t)w->rank, &numbers);
  set_geometry(w, numbers, g);
  t->g = g;
  return FNZ_OK;
}

fnz_status fnzi_eag_unary(fnzi_eag_interp *in, const char *name, fnz_handle value, fnz_dtype dtype,
                          fnz_handle *out) {
  const fnz_op *op = fnzi_ops_find(name);
  if (op == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_INTERNAL, "", "there is no operator %s", name);
  fnz_arg args[8] = {{.tag = FNZ_ARG_VALUE, .u.value = value}};
  if (dtype != FNZ_DTYPE_COUNT)
    args[1] = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = dtype};
  fnz_geometry g = *fnzi_run_geometry_of(&in->run, value);
  if (dtype != FNZ_DTYPE_COUNT)
    g.dtype = dtype;
  const fnz_geometry *expected[1] = {&g};
  fnz_request call = {op, args, 2, expected, ""};
  return fnzi_run_lower_apply(&in->run, &call, out, 1);
}

/* Conjugates and negates a value (owned) by the lazy bits of a tensor; the same for reading and
 * writing. */
static fnz_status resolve_bits(fnzi_eag_interp *in, const fnz_geometry *g, fnz_handle *owned) {
  static const char *const names[2] = {"_conj_copy", "_neg_view_copy"};
  bool wanted[2] = {g->is_conj, g->is_neg};
  for (int i = 0; i < 2; i++) {
    if (!wanted[i])
      continue;
    fnz_handle resolved = 0;
    fnz_status status = fnzi_eag_unary(in, names[i], *owned, FNZ_DTYPE_COUNT, &resolved);
    fnzi_run_release(&in->run, *owned);
    *owned = resolved;
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

fnz_status fnzi_eag_tensor_value(fnzi_eag_interp *in, fnzi_eag_tensor *t, fnz_handle *out) {
  if (!fnzi_run_memory_has_data(t->memory))
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, "",
                     "the file has no data for a weight used here" FNZI_RUN_GET_DATA);
  if (t->cached == 0 || t->cached_version != t->memory->version) {
    fnz_handle value = 0;
    fnzi_eag_tensor_forget(in, t);
    fnz_geometry plain = *t->g;
    plain.is_conj = plain.is_neg = false;
    plain.symbols = NULL;
    FNZ_TRY(fnzi_run_memory_read(&in->run, t->memory, &plain, &value));
    FNZ_TRY(resolve_bits(in, t->g, &value));
    t->cached = value;
    t->cached_version = t->memory->version;
  }
  *out = t->cached;
  return FNZ_OK;
}

/* From the first element of the memory on, one after the other. */
static bool is_in_a_row(const fnz_geometry *g) {
  return fnzi_is_contiguous(g) && g->offset == 0;
}

static bool find_series(fnzi_eag_interp *in, fnz_handle value, fnzi_cell *start) {
  const fnzi_run_series *series = in->run.options->series;
  return series && series->find(value, start);
}

fnz_status fnzi_eag_deposit(fnzi_eag_interp *in, const fnz_geometry *g, const uint32_t *order,
                            fnz_handle value, fnzi_run_memory *memory) {
  size_t bytes, cell = in->run.backend->cell_bytes(in->run.backend->self, g->dtype);
  const fnz_geometry *has = fnzi_run_geometry_of(&in->run, value);
  fnzi_cell start;
  if (has->dtype != g->dtype || fnz_geometry_numel(has) != fnz_geometry_numel(g))
    return fnzi_fail(in->run.ctx, FNZ_CLASS_BOUNDS, "",
                     "%lld elements of %s go to a tensor of %lld of %s",
                     (long long)fnz_geometry_numel(has), fnzi_dtype(has->dtype)->name,
                     (long long)fnz_geometry_numel(g), fnzi_dtype(g->dtype)->name);
  if (!fnzi_run_memory_has_data(memory))
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, "",
                     "the file has no data for a weight written here" FNZI_RUN_GET_DATA);
  FNZ_TRY(fnzi_run_dense_bytes(&in->run, g, &bytes));
  if (is_in_a_row(g) && bytes == memory->bytes && find_series(in, value, &start)) {
    fnzi_run_memory_become(&in->run, memory, start);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_run_memory_need(&in->run, memory));
  if (bytes > 0 && fnzi_is_contiguous(g))
    return in->run.backend->download(in->run.backend->self, in->run.ctx, value,
                                     memory->cells + (size_t)g->offset * cell);
  unsigned char *dense = fnzi_resize(in->run.ctx, NULL, 0, bytes + 1);
  if (dense == NULL)
    return fnzi_no_memory(in->run.ctx);
  fnz_status status = in->run.backend->download(in->run.backend->self, in->run.ctx, value, dense);
  if (status == FNZ_OK && order != NULL)
    fnzi_eag_scatter_in_order(g, order, dense, cell, memory->cells);
  else if (status == FNZ_OK)
    fnzi_run_scatter(g, dense, cell, memory->cells);
  fnzi_free(in->run.ctx, dense, bytes + 1);
  return status;
}

fnz_status fnzi_eag_tensor_store(fnzi_eag_interp *in, const fnzi_eag_window *w, fnz_handle value,
                                 fnzi_eag_tensor **out) {
  fnz_geometry g = fnzi_eag_window_geometry(w);
  int64_t low, high;
  fnzi_run_memory *memory;
  if (!fnzi_extent(&g, &low, &high) || low < 0)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_BOUNDS, "", "a result does not fit its memory");
  /* Memory that the value is then put into. */
  size_t bytes;
  fnzi_cell start;
  FNZ_TRY(fnzi_run_dense_bytes(&in->run, &g, &bytes));
  if (!is_in_a_row(&g))
    FNZ_TRY(fnzi_run_memory_create(&in->run, g.dtype, high, &memory));
  else if (find_series(in, value, &start))
    FNZ_TRY(fnzi_run_memory_series(&in->run, g.dtype, high, start, &memory));
  else
    FNZ_TRY(fnzi_run_memory_unfilled(&in->run, g.dtype, high, bytes, &memory));
  FNZ_TRY(fnzi_eag_deposit(in, &g, NULL, value, memory));
  return fnzi_eag_tensor_create(in, memory, w, out);
}

/* Marks inputs that share an element with `g` as written. */
static fnz_status note_write(fnzi_eag_interp *in, const fnzi_run_memory *memory,
                             const fnz_geometry *g) {
  fnzi_run_state *run = &in->run;
  for (size_t k = 0; k < fnzi_graph_main(run->program)->ninputs; k++) {
    fnzi_run_binding *b = &run->bindings[k];
    bool meet = true;
    if (b->memory != memory || b->written)
      continue;
    if (fnz_geometry_numel(g) == 0 || fnz_geometry_numel(b->geometry) == 0)
      meet = fnzi_same_sizes(g, b->geometry);
    else
      FNZ_TRY(fnzi_eag_bytes_meet(run->ctx, g, b->geometry, &meet));
    b->written = meet;
  }
  return FNZ_OK;
}

fnz_status fnzi_eag_tensor_write(fnzi_eag_interp *in, fnzi_eag_tensor *t, fnz_handle owned,
                                 const uint32_t *order) {
  fnz_handle value = owned;
  fnz_status status = resolve_bits(in, t->g, &value);
  if (status == FNZ_OK)
    status = fnzi_eag_deposit(in, t->g, order, value, t->memory);
  t->memory->version++;
  if (status == FNZ_OK && t->memory->shared)
    status = note_write(in, t->memory, t->g);
  if (value != 0)
    fnzi_run_release(&in->run, value);
  return status;
}
