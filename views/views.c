/* views.c - the table of view operators: finding a row, and describing and calling its rule. */
#include "views/rule.h"

#include <stdlib.h>

static const struct fnzi_view rows[] = {
#define VIEW(op, forward, reverse, base, sees, through)                                            \
  {op,       fnzi_##forward##_forward, fnzi_##reverse##_reverse, #forward,                         \
   #reverse, FNZI_BASE_##base,         FNZI_SEES_##sees,         FNZI_EMIT_##through},
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

/* The scatter has the base, the window, and then the view's arguments, by name. */
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
    const fnz_op *view = fnzi_ops_find(rows[i].op);
    if (takes_args_of(op, view))
      return view;
  }
  return NULL;
}

bool fnzi_view_counts_from_storage(const fnzi_view *view) {
  return view->base == FNZI_BASE_STORAGE;
}

bool fnzi_view_sees_bytes(const fnzi_view *view) {
  return view->sees == FNZI_SEES_BYTES;
}

fnzi_view_facts fnzi_view_describe(const fnzi_view *view) {
  return (fnzi_view_facts){view->forward_name, view->reverse_name, view->base != FNZI_BASE_NEW,
                           fnzi_emitted_op(view->through)};
}

fnz_status fnzi_view_forward(fnzi_arena *arena, const fnzi_view *view, const fnzi_op_call *call,
                             const fnz_geometry *base, fnz_geometry **out, size_t *count) {
  fnzi_forward w = {arena->ctx, arena, call->op, call->args, call->nargs, base, NULL, 0};
  FNZ_TRY(view->forward(&w));
  *out = w.out;
  *count = w.count;
  return FNZ_OK;
}
