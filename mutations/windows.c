/* windows.c - operators that fill windows of the tensor that they write with one number.
 *
 * needs   the geometry of that tensor
 * gives   windows of one dimension, which fill_.Scalar fills one after the other */
#include "mutations/mutations.h"
#include "views/rule.h"

/* --- fill_diagonal_(self, value, wrap) -------------------------------------------------------- */
static void add_window(fnzi_mutation_windows *w, const fnz_geometry *self, int64_t size,
                       int64_t stride, int64_t offset) {
  size_t k = w->count++;
  w->sizes[k] = size;
  w->strides[k] = stride;
  w->windows[k] = (fnz_geometry){.dtype = self->dtype,
                                 .rank = 1,
                                 .is_conj = self->is_conj,
                                 .is_neg = self->is_neg,
                                 .offset = offset,
                                 .sizes = &w->sizes[k],
                                 .strides = &w->strides[k]};
}

/* The main diagonal of a matrix, or of a tensor of equal sizes. In a tall matrix it continues after
 * a row without: of rows * width elements every (width + 1)-th is on it. */
static fnz_status diagonals(fnz_context *ctx, const fnz_op *op, const fnz_arg *args,
                            const fnz_geometry *self, fnzi_mutation_windows *out) {
  int64_t size = self->rank ? self->sizes[0] : 0, stride = 0;
  bool wraps = fnzi_arg_get(op, args, op->nparams, 2).u.i != 0, equal = self->rank > 1;
  for (uint32_t d = 0; d < self->rank; d++) {
    equal = equal && (self->rank == 2 || self->sizes[d] == self->sizes[0]);
    size = self->sizes[d] < size ? self->sizes[d] : size;
    stride = fnzi_view_add(stride, self->strides[d]);
  }
  if (!equal)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: self has %u dimensions; at least 2, and of equal sizes beyond 2",
                     op->name, self->rank);
  add_window(out, self, size, stride, self->offset);
  int64_t rows = self->sizes[0], width = self->sizes[1];
  if (!wraps || self->rank != 2 || width == 0 || rows - 1 <= width)
    return FNZ_OK;
  int64_t rest = rows - rows / (width + 1) - width;
  int64_t skipped = fnzi_view_mul(self->strides[0], width + 1);
  add_window(out, self, rest, stride, fnzi_view_add(self->offset, skipped));
  return FNZ_OK;
}

/* --- the table -------------------------------------------------------------------------------- */
static const struct {
  const char *op;
  fnz_status (*rule)(fnz_context *ctx, const fnz_op *op, const fnz_arg *args,
                     const fnz_geometry *self, fnzi_mutation_windows *out);
} rows[] = {
#define WINDOWS(op, rule) {op, rule},
#include "mutations/mutations.def"
};

fnz_status fnzi_mutation_windows_find(fnz_context *ctx, const fnz_op *op, const fnz_arg *args,
                                      const fnz_geometry *self, fnzi_mutation_windows *out) {
  out->count = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].op, op->name) == 0)
      return rows[i].rule(ctx, op, args, self, out);
  return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "%s fills no windows", op->name);
}
