/* backends.c - the machine as a backend, values in and out; the meta backend. */
#include "kernels/backends.h"

/* --- Values in and out ------------------------------------------------------------------- */
static void release_value(void *self, fnz_handle value) {
  fnzi_krn_machine *m = self;
  fnzi_krn_array_release(m->ctx, fnzi_krn_array_of(value));
}

static const fnz_geometry *geometry(void *self, fnz_handle value) {
  (void)self;
  return &fnzi_krn_array_of(value)->geometry;
}

static size_t cell_bytes(void *self, fnz_dtype dtype) {
  (void)self;
  return fnzi_dtype(dtype)->bytes;
}

/* Row-major elements lie together elsewhere before they are moved to their places, or from them. */
static fnz_status rows_of(fnz_context *ctx, const fnzi_krn_array *a, fnzi_krn_array **out) {
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry g = a->window;
  g.offset = 0;
  g.strides = strides;
  fnzi_contiguous_strides(g.sizes, g.rank, strides);
  FNZ_TRY(fnzi_krn_array_create(ctx, a->stock, &g, a->cell, out));
  fnz_status status = fnzi_krn_array_allocate(ctx, *out, false);
  if (status != FNZ_OK)
    fnzi_krn_array_release(ctx, *out);
  return status;
}

static size_t bytes_of(const fnzi_krn_array *a) {
  return (size_t)fnzi_krn_array_numel(a) * a->cell;
}

static fnz_status put_elsewhere(fnz_context *ctx, const fnzi_krn_array *a, const void *cells) {
  const fnzi_krn_elsewhere *e = a->stock->elsewhere;
  fnzi_krn_array *rows;
  if (bytes_of(a) == 0)
    return FNZ_OK;
  if (fnzi_is_contiguous(&a->window))
    return e->put(e->self, ctx, fnzi_krn_array_data(a), cells, bytes_of(a));
  FNZ_TRY(rows_of(ctx, a, &rows));
  fnz_status status = e->put(e->self, ctx, fnzi_krn_array_data(rows), cells, bytes_of(a));
  if (status == FNZ_OK)
    status = e->assign(e->self, ctx, a, rows);
  fnzi_krn_array_release(ctx, rows);
  return status;
}

static fnz_status get_elsewhere(fnz_context *ctx, const fnzi_krn_array *a, void *cells) {
  const fnzi_krn_elsewhere *e = a->stock->elsewhere;
  fnzi_krn_array *rows;
  if (bytes_of(a) == 0)
    return FNZ_OK;
  if (fnzi_is_contiguous(&a->window))
    return e->get(e->self, ctx, cells, fnzi_krn_array_data(a), bytes_of(a));
  FNZ_TRY(rows_of(ctx, a, &rows));
  fnz_status status = e->assign(e->self, ctx, rows, a);
  if (status == FNZ_OK)
    status = e->get(e->self, ctx, cells, fnzi_krn_array_data(rows), bytes_of(a));
  fnzi_krn_array_release(ctx, rows);
  return status;
}

static fnz_status fill_in(fnz_context *ctx, fnzi_krn_array *a, const void *cells,
                          fnzi_krn_team *team) {
  int64_t strides[FNZ_MAX_RANK];
  const fnz_geometry *g = &a->window;
  FNZ_TRY(fnzi_krn_array_allocate(ctx, a, false));
  if (a->stock->elsewhere)
    return put_elsewhere(ctx, a, cells);
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  fnzi_krn_copy_cells(&(fnzi_krn_copy){g->rank, g->sizes, fnzi_krn_array_data(a), g->strides, cells,
                                       strides, a->cell},
                      team);
  return FNZ_OK;
}

static fnz_status upload(void *self, fnz_context *ctx, const fnz_geometry *g, const void *cells,
                         fnz_handle *out) {
  fnzi_krn_machine *m = self;
  fnzi_krn_array *a;
  *out = 0;
  FNZ_TRY(fnzi_krn_array_create(ctx, &m->stock, g, fnzi_dtype(g->dtype)->bytes, &a));
  fnz_status status = m->has_data ? fill_in(ctx, a, cells, m->team) : FNZ_OK;
  if (status != FNZ_OK) {
    fnzi_krn_array_release(ctx, a);
    return status;
  }
  *out = fnzi_krn_array_handle(a);
  return FNZ_OK;
}

static fnz_status copy_out(const fnzi_krn_machine *m, fnz_context *ctx, const fnzi_krn_array *a,
                           void *cells) {
  const fnz_geometry *g = &a->window;
  int64_t strides[FNZ_MAX_RANK];
  if (m->stock.elsewhere)
    return get_elsewhere(ctx, a, cells);
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  fnzi_krn_copy_cells(&(fnzi_krn_copy){g->rank, g->sizes, cells, strides, fnzi_krn_array_data(a),
                                       g->strides, a->cell},
                      m->team);
  return FNZ_OK;
}

static fnz_status download(void *self, fnz_context *ctx, fnz_handle value, void *cells) {
  fnzi_krn_machine *m = self;
  fnzi_krn_array *a = fnzi_krn_array_of(value), *resolved;
  if (!m->has_data)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "values of the meta backend have no elements to download");
  if (!a->eager || (!a->geometry.is_conj && !a->geometry.is_neg))
    return copy_out(m, ctx, a, cells);
  FNZ_TRY(fnzi_mem_machine_resolve(m, ctx, a, &resolved));
  fnz_status status = copy_out(m, ctx, resolved, cells);
  fnzi_krn_array_release(ctx, resolved);
  return status;
}

static bool shares(void *self, fnz_handle a, fnz_handle b) {
  (void)self;
  const fnzi_krn_array *x = fnzi_krn_array_of(a), *y = fnzi_krn_array_of(b);
  return x->storage && x->storage == y->storage;
}

/* --- Making and ending ------------------------------------------------------------------- */
static void destroy(void *self) {
  fnzi_krn_machine *m = self;
  fnz_context *ctx = m->ctx;
  fnzi_krn_team_destroy(m->team);
  fnzi_krn_stock_free(ctx, &m->stock);
  fnzi_arena_free(&m->scratch);
  fnzi_arena_free(&m->lasting);
  FNZI_VEC_FREE(ctx, &m->registered);
  fnzi_free(ctx, m->routes, fnz_op_count() * sizeof *m->routes);
  fnzi_free(ctx, m, sizeof *m);
}

fnz_status fnzi_machine_create(fnz_context *ctx, const char *name, int threads,
                               const fnzi_krn_kernels *kernels, const fnzi_krn_elsewhere *elsewhere,
                               fnz_backend **out) {
  bool has_data = kernels->runs != NULL;
  fnzi_krn_team *team;
  *out = NULL;
  FNZ_TRY(fnzi_krn_team_create(ctx, has_data ? threads : 1, &team));
  fnzi_krn_machine *m = fnzi_resize(ctx, NULL, 0, sizeof *m);
  if (!m) {
    fnzi_krn_team_destroy(team);
    return fnzi_no_memory(ctx);
  }
  *m = (fnzi_krn_machine){.ctx = ctx,
                          .team = team,
                          .has_data = has_data,
                          .kernels = kernels,
                          .route_find = fnzi_mem_route_find};
  m->stock.has_data = has_data;
  m->stock.elsewhere = elsewhere;
  fnzi_arena_init(&m->lasting, ctx);
  fnzi_arena_init(&m->scratch, ctx);
  m->base = (fnz_backend){.size = sizeof m->base,
                          .name = name,
                          .self = m,
                          .apply = fnzi_machine_apply,
                          .release = release_value,
                          .geometry = geometry,
                          .upload = upload,
                          .download = download,
                          .cell_bytes = cell_bytes,
                          .destroy = destroy,
                          .call = fnzi_mem_dispatch,
                          .shares = shares};
  *out = &m->base;
  return FNZ_OK;
}

fnzi_krn_machine *fnzi_machine_of(const fnz_backend *backend) {
  bool is_one = backend && FNZI_BACKEND_HAS(backend, call) && backend->call == fnzi_mem_dispatch;
  return is_one ? backend->self : NULL;
}

fnz_status fnz_meta_backend_create(fnz_context *ctx, fnz_backend **out) {
  static const fnzi_krn_kernels shapes = {.rows = fnzi_kernel_rows};
  return fnzi_machine_create(ctx, "meta", 1, &shapes, NULL, out);
}
