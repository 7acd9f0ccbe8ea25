/* windows.c - operators that fill windows of the tensor that they write with one number.
 *
 * needs   the geometry of that tensor
 * gives   windows of one dimension, which fill_.Scalar fills one after the other */
#include "mutations/mutations.h"
#include "views/rule.h"

/* --- fill_diagonal_(self, value, wrap) -------------------------------------------------------- */
static void add_window(fnzi_mutation_windows *w, const fnz_geometry *self, fnzi_int size,
                       fnzi_int stride, fnzi_int offset) {
  size_t k = w->count++;
  w->sizes[k] = size.bits;
  w->strides[k] = stride.bits;
  w->windows[k] = (fnz_geometry){.dtype = self->dtype,
                                 .rank = 1,
                                 .is_conj = self->is_conj,
                                 .is_neg = self->is_neg,
                                 .offset = offset.bits,
                                 .sizes = &w->sizes[k],
                                 .strides = &w->strides[k]};
}

/* The main diagonal of a matrix, or of a tensor of equal sizes. In a tall matrix it continues after
 * a row without: of rows * width elements every (width + 1)-th is on it. */
static fnz_status diagonals(fnz_context *ctx, fnzi_ints *s, const fnz_op *op, const fnz_arg *args,
                            const fnz_geometry *self, fnzi_mutation_windows *out) {
  fnzi_int size = self->rank ? fnzi_int_size(self, 0) : fnzi_int_of(0), stride = {0};
  bool wraps = fnzi_arg_get(op, args, op->nparams, 2).u.i != 0, equal = self->rank > 1;
  for (uint32_t d = 0; d < self->rank; d++) {
    equal = equal && (self->rank == 2 || self->sizes[d] == self->sizes[0]);
    size = fnzi_int_min(s, size, fnzi_int_size(self, d));
    stride = fnzi_int_add(s, stride, fnzi_int_stride(self, d));
  }
  if (!equal)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: self has %u dimensions; at least 2, and of equal sizes beyond 2",
                     op->name, self->rank);
  add_window(out, self, size, stride, fnzi_int_offset(self));
  const fnzi_int rows = fnzi_int_size(self, 0), width = fnzi_int_size(self, 1),
                 period = fnzi_int_add(s, width, fnzi_int_of(1));
  if (!wraps || self->rank != 2 || fnzi_int_is(width, 0) || fnzi_int_is_at_least(s, period, rows))
    return FNZ_OK;
  const fnzi_int before = fnzi_int_add(s, fnzi_int_div_down(s, rows, period), width),
                 skipped = fnzi_int_mul(s, fnzi_int_stride(self, 0), period);
  /* A matrix that is not tall has nothing more. */
  add_window(out, self, fnzi_int_max(s, fnzi_int_sub(s, rows, before), fnzi_int_of(0)), stride,
             fnzi_int_add(s, fnzi_int_offset(self), skipped));
  return FNZ_OK;
}

/* --- the table -------------------------------------------------------------------------------- */
static const struct {
  const char *op;
  fnz_status (*rule)(fnz_context *ctx, fnzi_ints *s, const fnz_op *op, const fnz_arg *args,
                     const fnz_geometry *self, fnzi_mutation_windows *out);
} rows[] = {
#define WINDOWS(op, rule) {op, rule},
#include "mutations/mutations.def"
};

fnz_status fnzi_mutation_windows_find(fnz_context *ctx, fnzi_ints *s, const fnz_op *op,
                                      const fnz_arg *args, const fnz_geometry *self,
                                      fnzi_mutation_windows *out) {
  out->count = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].op, op->name) == 0)
      return rows[i].rule(ctx, s, op, args, self, out);
  return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "%s fills no windows", op->name);
}
