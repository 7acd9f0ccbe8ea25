/* views.c - the table of view operators: finding a row, and describing and calling its rule. */
#include "views/rule.h"

#include <stdlib.h>

static const struct fnzi_view rows[] = {
#define VIEW(op, forward, reverse, base, shows, sees, through)                                     \
  {op,                                                                                             \
   fnzi_##forward##_forward,                                                                       \
   fnzi_##reverse##_reverse,                                                                       \
   #forward,                                                                                       \
   #reverse,                                                                                       \
   FNZI_BASE_##base,                                                                               \
   FNZI_SHOWS_##shows,                                                                             \
   FNZI_SEES_##sees,                                                                               \
   FNZI_EMIT_##through},
#include "views/views.def"
#undef VIEW
};

static int compare_name(const void *name, const void *row) {
  return strcmp(name, ((const struct fnzi_view *)row)->op);
}

static const struct fnzi_view *row_named(const char *name) {
  return bsearch(name, rows, sizeof rows / sizeof *rows, sizeof *rows, compare_name);
}

/* select_copy.int -> select.int, only if select_copy.int is the twin of select.int. */
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

const fnz_op *fnzi_view_scattered(const fnz_op *op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].base == FNZI_BASE_NEW || fnzi_emitted_op(rows[i].through) != op)
      continue;
    const fnz_op *view = fnzi_ops_find(rows[i].op);
    /* The scatter has the base, the window, and then the view's arguments, by name. */
    bool same = op->nparams == view->nparams + 1;
    for (size_t k = 1; same && k < view->nparams; k++)
      same = strcmp(op->params[k + 1].name, view->params[k].name) == 0;
    if (same)
      return view;
  }
  return NULL;
}

bool fnzi_view_counts_from_storage(const fnzi_view *view) {
  return view->base == FNZI_BASE_STORAGE;
}

bool fnzi_view_shows_once(const fnzi_view *view) {
  return view->shows == FNZI_SHOWS_ONCE;
}

bool fnzi_view_sees_bytes(const fnzi_view *view) {
  return view->sees == FNZI_SEES_BYTES;
}

fnzi_view_facts fnzi_view_describe(const fnzi_view *view) {
  return (fnzi_view_facts){view->forward_name, view->reverse_name, view->base != FNZI_BASE_NEW,
                           fnzi_emitted_op(view->through)};
}

/* Strides and offsets that no element uses may have any value in a file, and their products too.
 * They become 0 where they have no word. */
static fnz_status zero_unused(const fnzi_forward *w, fnz_geometry *g) {
  int64_t *strides = (int64_t *)(uintptr_t)g->strides; /* the rule's own */
  const bool is_empty = fnzi_int_is_empty(g);
  bool fits = true;
  if (fnzi_int_is_none(fnzi_int_offset(g)) && is_empty)
    g->offset = 0;
  for (uint32_t d = 0; d < g->rank; d++) {
    if (fnzi_int_is_none(fnzi_int_stride(g, d)) && (is_empty || g->sizes[d] == 1))
      strides[d] = 0;
    fits =
        fits && !fnzi_int_is_none(fnzi_int_size(g, d)) && !fnzi_int_is_none(fnzi_int_stride(g, d));
  }
  return fits && !fnzi_int_is_none(fnzi_int_offset(g))
             ? FNZ_OK
             : fnzi_fail(w->ctx, FNZ_CLASS_OVERFLOW, NULL,
                         "%s: a size, a stride or the offset leaves 61 bits", w->op->name);
}

static fnz_status open_windows(fnzi_int_space in, const fnzi_view *view, const fnzi_op_call *call,
                               bool is_run, fnzi_forward *w) {
  *w = (fnzi_forward){.ctx = in.arena->ctx,
                      .arena = in.arena,
                      .ints = in.ints,
                      .op = call->op,
                      .args = call->args,
                      .nargs = call->nargs,
                      .base = w->base,
                      .is_run = is_run};
  FNZ_TRY(view->forward(w));
  for (size_t k = 0; k < w->count; k++) {
    const fnz_geometry *g = &w->out[k];
    bool none = fnzi_int_is_none(fnzi_int_offset(g));
    for (uint32_t d = 0; d < g->rank; d++)
      none |= g->sizes[d] == INT64_MIN || g->strides[d] == INT64_MIN;
    if (none)
      FNZ_TRY(zero_unused(w, &w->out[k]));
  }
  return FNZ_OK;
}

fnz_status fnzi_view_forward(fnzi_int_space in, const fnzi_view *view, const fnzi_op_call *call,
                             const fnz_geometry *base, fnz_geometry **out, size_t *count) {
  fnzi_forward w = {.base = base};
  FNZ_TRY(open_windows(in, view, call, false, &w));
  *out = w.out;
  *count = w.count;
  return FNZ_OK;
}

fnz_status fnzi_view_forward_run(fnzi_int_space in, const fnzi_view *view, const fnzi_op_call *call,
                                 const fnz_geometry *base, fnz_geometry **out, size_t *count) {
  fnzi_forward w = {.base = base};
  FNZ_TRY(open_windows(in, view, call, true, &w));
  *out = w.out;
  *count = w.count;
  return FNZ_OK;
}
