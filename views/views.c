/* views.c - the table of view operators, and what their family files share. */
#include "views/window.h"

#include <stdlib.h>

static const struct fnzi_view rows[] = {
#define VIEW(op, forward, reverse, base, through)                                                  \
  {op,       fnzi_##forward##_forward, fnzi_##reverse##_reverse, #forward,                         \
   #reverse, FNZI_BASE_##base,         FNZI_EMIT_##through},
#include "views/views.def"
#undef VIEW
};

static int compare_name(const void *name, const void *row) {
  return strcmp(name, ((const struct fnzi_view *)row)->op);
}

static const struct fnzi_view *row_named(const char *name) {
  return bsearch(name, rows, sizeof rows / sizeof *rows, sizeof *rows, compare_name);
}

/* select_copy.int -> select.int, and only if that one's twin is this one. */
static const fnz_op *view_of_copy(const fnz_op *op) {
  size_t length = strlen(op->base), suffix = strlen("_copy");
  if (length <= suffix || strcmp(op->base + length - suffix, "_copy") != 0)
    return NULL;
  const fnz_op *view = fnzi_op_find_stem(op, length - suffix);
  return view && fnzi_op_by_index(view->view_copy) == op ? view : NULL;
}

const fnzi_view *fnzi_view_find(const fnz_op *op) {
  if (op->view_of != FNZI_NO_OP)
    return row_named(fnzi_op_by_index(op->view_of)->name);
  const fnzi_view *row = row_named(op->name);
  const fnz_op *view = row ? NULL : view_of_copy(op);
  return view ? row_named(view->name) : row;
}

/* The scatter has the view's arguments, by name, behind the base and the window. */
static bool takes_args_of(const fnz_op *scatter, const fnz_op *view) {
  bool same = scatter->nparams == view->nparams + 1;
  for (size_t i = 1; same && i < view->nparams; i++)
    same = strcmp(scatter->params[i + 1].name, view->params[i].name) == 0;
  return same;
}

const fnz_op *fnzi_view_scattered(const fnz_op *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].base == FNZI_BASE_NEW || fnzi_emitted_op(rows[i].through) != op)
      continue;
    const fnz_op *view = fnz_op_find(rows[i].op);
    if (takes_args_of(op, view))
      return view;
  }
  return NULL;
}

bool fnzi_view_counts_from_storage(const fnzi_view *view) {
  return view->base == FNZI_BASE_STORAGE;
}

fnzi_view_facts fnzi_view_describe(const fnzi_view *view) {
  return (fnzi_view_facts){view->forward_name, view->reverse_name, view->base != FNZI_BASE_NEW,
                           fnzi_emitted_op(view->through)};
}

fnz_status fnzi_view_forward(fnzi_arena *arena, const fnzi_view *view, const fnz_op *op,
                             const fnz_arg *args, size_t nargs, const fnz_geometry *base,
                             fnz_geometry **out, size_t *count) {
  fnzi_window w = {arena->ctx, arena, op, args, nargs, base, NULL, 0};
  FNZ_TRY(view->forward(&w));
  *out = w.out;
  *count = w.count;
  return FNZ_OK;
}

/* --- arguments -------------------------------------------------------------------------------- */
static fnz_status wrong_type(const fnzi_window *w, size_t i, const char *want) {
  return fnzi_fail(w->ctx, FNZ_CLASS_TYPE, NULL, "%s: argument `%s` must be %s that is known",
                   w->op->name, w->op->params[i].name, want);
}

fnz_status fnzi_window_int(const fnzi_window *w, size_t i, int64_t *out) {
  fnz_arg a = fnzi_window_arg(w, i);
  if (a.tag != FNZ_ARG_INT)
    return wrong_type(w, i, "an integer");
  *out = a.u.i;
  return FNZ_OK;
}

fnz_status fnzi_window_int_or(const fnzi_window *w, size_t i, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  return fnzi_window_arg(w, i).tag == FNZ_ARG_NONE ? FNZ_OK : fnzi_window_int(w, i, out);
}

fnz_status fnzi_window_ints(const fnzi_window *w, size_t i, int64_t **out, size_t *count) {
  fnz_arg a = fnzi_window_arg(w, i);
  if (a.tag == FNZ_ARG_INT) { /* int[1] takes a single number */
    FNZI_NEW(w->arena, 1, out);
    (*out)[0] = a.u.i;
    *count = 1;
    return FNZ_OK;
  }
  if (a.tag != FNZ_ARG_LIST)
    return wrong_type(w, i, "a list of integers");
  FNZI_NEW(w->arena, a.count, out);
  for (size_t k = 0; k < a.count; k++) {
    if (a.u.list[k].tag != FNZ_ARG_INT)
      return wrong_type(w, i, "a list of integers");
    (*out)[k] = a.u.list[k].u.i;
  }
  *count = a.count;
  return FNZ_OK;
}

fnz_status fnzi_window_dim(const fnzi_window *w, size_t i, uint32_t rank, uint32_t *out) {
  int64_t dim = 0;
  FNZ_TRY(fnzi_window_int(w, i, &dim));
  return fnzi_wrap_dim(w->ctx, w->op->name, dim, rank, out);
}

/* --- results ---------------------------------------------------------------------------------- */
/* More than a node may have, which an operator of a huge size would. */
fnz_status fnzi_window_open(fnzi_window *w, size_t count) {
  if (count > w->ctx->limits.args)
    return fnzi_fail(w->ctx, FNZ_CLASS_LIMIT, NULL, "%s: %zu results; at most %zu are allowed",
                     w->op->name, count, w->ctx->limits.args);
  FNZI_NEW(w->arena, count, &w->out);
  w->count = count;
  return FNZ_OK;
}

fnz_status fnzi_window_shape(fnzi_window *w, size_t k, uint32_t rank, int64_t **sizes,
                             int64_t **strides) {
  if (rank > FNZ_MAX_RANK)
    return fnzi_fail(w->ctx, FNZ_CLASS_LIMIT, NULL, "%s: a result of %u dimensions; at most %d",
                     w->op->name, rank, FNZ_MAX_RANK);
  FNZI_NEW(w->arena, 2 * (size_t)rank, sizes);
  *strides = *sizes + rank;
  w->out[k] = *w->base;
  w->out[k].rank = rank;
  w->out[k].sizes = *sizes;
  w->out[k].strides = *strides;
  return FNZ_OK;
}

fnz_status fnzi_window_like_base(fnzi_window *w, int64_t **sizes, int64_t **strides) {
  FNZ_TRY(fnzi_window_open(w, 1));
  FNZ_TRY(fnzi_window_shape(w, 0, w->base->rank, sizes, strides));
  if (w->base->rank) {
    memcpy(*sizes, w->base->sizes, w->base->rank * sizeof **sizes);
    memcpy(*strides, w->base->strides, w->base->rank * sizeof **strides);
  }
  return FNZ_OK;
}

/* --- reverses --------------------------------------------------------------------------------- */
fnz_status fnzi_contiguous_like(fnzi_arena *arena, const fnz_geometry *like,
                                const fnz_geometry **out) {
  fnz_geometry *g;
  int64_t *strides;
  FNZI_NEW(arena, 1, &g);
  FNZI_NEW(arena, like->rank, &strides);
  *g = (fnz_geometry){.dtype = like->dtype, .rank = like->rank, .sizes = like->sizes};
  fnzi_contiguous_strides(like->sizes, like->rank, strides);
  g->strides = strides;
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_dense_like(fnzi_arena *arena, const fnz_geometry *like, const fnz_geometry **out) {
  if (!fnzi_is_dense(like))
    return fnzi_contiguous_like(arena, like, out);
  if (!like->offset && !like->is_conj && !like->is_neg) {
    *out = like;
    return FNZ_OK;
  }
  fnz_geometry *g;
  FNZI_NEW(arena, 1, &g);
  *g = *like;
  g->offset = 0;
  g->is_conj = g->is_neg = false;
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_emit_base(const fnzi_reverse *r, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                          fnzi_emitted *out) {
  const fnz_geometry *result;
  FNZ_TRY(fnzi_dense_like(r->emit->arena, r->base, &result));
  return r->emit->call(r->emit->self, op, args, nargs, result, out);
}
