/* memory.c - arrays over real memory: makes an array eager, copies elements, resizes, and finds
 * arrays that overlap. An *eager* array has its elements where its geometry says; an array of a
 * functional value may have them anywhere. */
#include "kernels/eager/eager.h"

/* --- Becoming eager ---------------------------------------------------------------------- */
/* Returns whether the elements are where the geometry says; dimensions of size 1 do not count. */
static bool lies_as_geometry(const fnzi_krn_array *a) {
  const fnz_geometry *g = &a->geometry, *p = &a->window;
  if (fnz_geometry_numel(g) == 0)
    return true;
  bool same = g->offset == p->offset && !g->is_conj && !g->is_neg;
  for (uint32_t d = 0; same && d < g->rank; d++)
    same = g->sizes[d] < 2 || g->strides[d] == p->strides[d];
  return same;
}

/* Moves the elements to a storage that no other array has, laid out as the geometry. Lazy bits are
 * cleared: values have none. */
static fnz_status move_in(fnzi_krn_machine *m, fnz_context *ctx, fnzi_krn_array *a) {
  fnz_geometry g = a->geometry;
  fnzi_krn_array *fresh;
  g.is_conj = g.is_neg = false;
  FNZ_TRY(fnzi_krn_array_create(ctx, &m->stock, &g, a->cell, &fresh));
  fresh->eager = true;
  fnzi_krn_array_window_as_geometry(fresh);
  fnz_status status = fnzi_krn_array_allocate(ctx, fresh, m->has_data && !fnzi_is_dense(&g));
  if (status == FNZ_OK && m->stock.elsewhere)
    status = fnzi_mem_array_copy(m, ctx, NULL, fresh, a);
  else if (status == FNZ_OK && m->has_data)
    fnzi_krn_copy_cells(&(fnzi_krn_copy){g.rank, g.sizes, fnzi_krn_array_data(fresh),
                                         fresh->window.strides, fnzi_krn_array_data(a),
                                         a->window.strides, a->cell},
                        m->team);
  if (status == FNZ_OK) {
    fnzi_krn_storage *old = a->storage;
    a->storage = fresh->storage;
    fresh->storage = old;
    a->geometry.is_conj = a->geometry.is_neg = false;
  }
  fnzi_krn_array_release(ctx, fresh);
  return status;
}

fnz_status fnzi_mem_array_make_eager(fnzi_krn_machine *m, fnz_context *ctx, fnzi_krn_array *a) {
  if (a->eager)
    return FNZ_OK;
  fnz_context quiet = *ctx;
  if (!a->storage || a->storage->refs != 1 || !lies_as_geometry(a) ||
      fnzi_krn_storage_holds(&quiet, a->storage, &a->geometry) != FNZ_OK)
    FNZ_TRY(move_in(m, ctx, a));
  fnzi_krn_array_window_as_geometry(a);
  a->eager = true;
  return FNZ_OK;
}

/* --- Windows ----------------------------------------------------------------------------- */
fnz_status fnzi_mem_array_window(fnzi_krn_machine *m, fnz_context *ctx, fnzi_krn_storage *storage,
                                 const fnz_geometry *window, fnzi_krn_array **out) {
  FNZ_TRY(fnzi_krn_storage_holds(ctx, storage, window));
  FNZ_TRY(fnzi_krn_array_create(ctx, &m->stock, window, fnzi_dtype(window->dtype)->bytes, out));
  fnzi_krn_array_window_as_geometry(*out);
  (*out)->eager = true;
  (*out)->storage = storage;
  storage->refs++;
  return FNZ_OK;
}

fnz_status fnzi_mem_array_over(fnzi_krn_machine *m, fnz_context *ctx, const fnz_memory *memory,
                               fnzi_krn_array **out) {
  fnzi_krn_storage *storage;
  int64_t low, high;
  size_t bytes;
  *out = NULL;
  if (!fnzi_extent(memory->geometry, &low, &high) ||
      !fnzi_mul_size((size_t)high, fnzi_dtype(memory->geometry->dtype)->bytes, &bytes))
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL, "the bytes of a tensor leave 63 bits");
  FNZ_TRY(fnzi_krn_storage_over(ctx, &m->stock, memory->data, bytes, &storage));
  fnz_status status = fnzi_mem_array_window(m, ctx, storage, memory->geometry, out);
  fnzi_krn_storage_release(ctx, storage);
  return status;
}

fnz_status fnzi_mem_array_create(fnzi_krn_machine *m, fnz_context *ctx,
                                 const fnz_geometry *geometry, fnzi_krn_array **out) {
  fnzi_krn_array *a;
  *out = NULL;
  FNZ_TRY(fnzi_krn_array_create(ctx, &m->stock, geometry, fnzi_dtype(geometry->dtype)->bytes, &a));
  fnzi_krn_array_window_as_geometry(a);
  a->eager = true;
  fnz_status status = fnzi_krn_array_allocate(ctx, a, false);
  if (status == FNZ_OK)
    *out = a;
  else
    fnzi_krn_array_release(ctx, a);
  return status;
}

fnz_status fnzi_mem_array_copy(fnzi_krn_machine *m, fnz_context *ctx, const fnz_op *op,
                               const fnzi_krn_array *to, const fnzi_krn_array *from) {
  fnzi_krn_call call = {.ctx = ctx, .op = op, .team = m->team};
  return m->has_data ? fnzi_krn_array_assign(&call, to, from) : FNZ_OK;
}

fnz_status fnzi_mem_array_resize(fnz_context *ctx, fnzi_krn_array *a, uint32_t rank,
                                 const int64_t *sizes, const int64_t *strides) {
  int64_t dense[FNZ_MAX_RANK], low, high;
  fnz_geometry g = a->geometry;
  size_t bytes;
  g.rank = rank;
  g.sizes = sizes;
  g.strides = strides ? strides : dense;
  if (fnzi_same_sizes(&g, &a->geometry))
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_sizes_check(ctx, rank, sizes, a->cell));
  if (!strides)
    fnzi_contiguous_strides(sizes, rank, dense);
  if (!fnzi_extent(&g, &low, &high) || !fnzi_mul_size((size_t)high, a->cell, &bytes) ||
      bytes > INT64_MAX / 2)
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL, "the memory of a tensor leaves 63 bits");
  FNZ_TRY(fnzi_krn_storage_extend(ctx, a->storage, bytes));
  return fnzi_krn_array_rebase(ctx, a, &g);
}

/* --- Overlap ----------------------------------------------------------------------------- */
bool fnzi_mem_array_same_window(const fnzi_krn_array *a, const fnzi_krn_array *b) {
  const fnz_geometry *x = &a->geometry, *y = &b->geometry;
  return a->storage == b->storage && x->dtype == y->dtype &&
         (x->rank > y->rank ? fnzi_is_at_own_locations(x, y) : fnzi_is_at_own_locations(y, x));
}

/* Makes a box that both windows may be parts of: its dimensions have the strides of `g`, largest
 * first, and each is as long as the next larger stride allows. False if the strides do not nest. */
static bool frame_of(const fnz_geometry *g, size_t elements, int64_t *sizes, int64_t *strides,
                     fnz_geometry *out) {
  uint32_t rank = 0;
  for (uint32_t d = 0; d < g->rank; d++) {
    if (g->sizes[d] < 2)
      continue;
    uint32_t at = rank++;
    for (; at > 0 && strides[at - 1] < g->strides[d]; at--)
      strides[at] = strides[at - 1];
    strides[at] = g->strides[d];
  }
  if (rank == 0 || rank == FNZ_MAX_RANK)
    return false;
  if (strides[rank - 1] != 1)
    strides[rank++] = 1;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t outer = d ? strides[d - 1] : (int64_t)elements;
    if (strides[d] < 1 || (d && outer % strides[d]))
      return false;
    sizes[d] = outer / strides[d];
  }
  *out = (fnz_geometry){.dtype = g->dtype, .rank = rank, .sizes = sizes, .strides = strides};
  return fnz_geometry_numel(out) > 0;
}

bool fnzi_mem_array_meets(const fnzi_krn_array *a, const fnzi_krn_array *b) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  fnz_geometry frame;
  if (a->storage != b->storage)
    return false;
  if (a == b)
    return fnz_geometry_numel(&a->geometry) > 0;
  fnzi_relation relation =
      fnzi_oracle_relate(NULL, &a->geometry, &b->geometry, NULL, FNZI_LITTLE_WORK);
  if (relation != FNZI_UNKNOWN)
    return relation != FNZI_DISJOINT;
  if (!frame_of(&a->geometry, a->storage->bytes / a->cell, sizes, strides, &frame))
    return true;
  return fnzi_oracle_relate(NULL, &a->geometry, &b->geometry, &frame, FNZI_MUCH_WORK) !=
         FNZI_DISJOINT;
}

bool fnzi_mem_array_overlaps_itself(const fnzi_krn_array *a) {
  return !fnzi_is_dense(&a->geometry) &&
         fnzi_oracle_relate_self(NULL, &a->geometry, FNZI_MUCH_WORK) != FNZI_DISJOINT;
}
