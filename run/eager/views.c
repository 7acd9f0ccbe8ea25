/* views.c - view operators of the reference interpreter.
 *
 * A rule changes the window of argument 0 to the window of the result. The table at the end has the
 * rule of each operator, and whether the operator creates a tensor or moves its argument. */
#include "run/eager/eager.h"
#include "schema/aten_names.h"

/* --- Rules ------------------------------------------------------------------------------------ */

static fnz_status same(fnzi_eag_op *s, fnzi_eag_window *w) {
  (void)s, (void)w;
  return FNZ_OK;
}

static fnz_status view(fnzi_eag_op *s, fnzi_eag_window *w) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(fnzi_eag_op_ints(s, 1, sizes, &rank));
  FNZ_TRY(fnzi_eag_op_infer_sizes(s, sizes, rank, fnzi_eag_window_elements(w)));
  if (!fnzi_eag_window_strides(w, sizes, rank, strides))
    return fnzi_eag_op_refuse(s, "the strides do not allow this view; use reshape", w->rank, rank);
  w->rank = rank;
  memcpy(w->sizes, sizes, rank * sizeof *sizes);
  memcpy(w->strides, strides, rank * sizeof *strides);
  return FNZ_OK;
}

/* Takes sizes and strides from the arguments; the window must be in the memory. */
static fnz_status place(fnzi_eag_op *s, fnzi_eag_window *w) {
  fnz_backend *b = s->in->run.backend;
  uint32_t count;
  FNZ_TRY(fnzi_eag_op_ints(s, 1, w->sizes, &w->rank));
  FNZ_TRY(fnzi_eag_op_ints(s, 2, w->strides, &count));
  if (count != w->rank)
    return fnzi_eag_op_refuse(s, "as many strides as sizes are needed", count, w->rank);
  for (uint32_t d = 0; d < w->rank; d++)
    if (w->sizes[d] < 0 || w->strides[d] < 0)
      return fnzi_eag_op_refuse(s, "a size or stride is negative", w->sizes[d], w->strides[d]);
  fnz_geometry g = fnzi_eag_window_geometry(w);
  int64_t low, high, held = (int64_t)(s->self->memory->bytes / b->cell_bytes(b->self, w->dtype));
  if (!fnzi_extent(&g, &low, &high))
    return fnzi_eag_op_refuse(s, "the extent leaves 64 bits", 0, 0);
  if (w->offset < 0 || high > held)
    return fnzi_eag_op_refuse(s, "the window leaves the memory", high, held);
  return FNZ_OK;
}

static fnz_status as_strided(fnzi_eag_op *s, fnzi_eag_window *w) {
  w->offset = fnzi_eag_op_int(s, 3, w->offset);
  return place(s, w);
}

/* clone(as_strided(...)): the copy has the elements of the window, and as every new tensor the
 * strides that the program records. */
static fnz_status as_strided_copy(fnzi_eag_op *s, fnzi_eag_window *w) {
  fnzi_eag_tensor *window;
  fnz_arg *results;
  size_t count;
  FNZ_TRY(as_strided(s, w));
  FNZ_TRY(fnzi_eag_tensor_create(s->in, s->self->memory, w, &window));
  window->memory->users--;
  s->self = window;
  fnzi_eag_window_dense(w);
  w->is_conj = w->is_neg = false;
  s->outcome = FNZI_EAG_COPY;
  FNZ_TRY(fnzi_run_node_results(&s->in->run, s->node, &results, &count));
  const fnz_geometry *recorded = count ? fnzi_eag_op_recorded(s, results, 0) : NULL;
  const fnz_geometry g = fnzi_eag_window_geometry(w);
  if (recorded && fnzi_same_sizes(recorded, &g) && fnzi_is_dense(recorded))
    memcpy(w->strides, recorded->strides, w->rank * sizeof *w->strides);
  return FNZ_OK;
}

/* Takes the window of the second tensor, over the memory of the first. */
static fnz_status window_of_other(fnzi_eag_op *s, fnzi_eag_window *w) {
  fnzi_eag_tensor *other;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[1], &other));
  w->rank = other->g->rank;
  w->offset = other->g->offset;
  memcpy(w->sizes, other->g->sizes, w->rank * sizeof *w->sizes);
  memcpy(w->strides, other->g->strides, w->rank * sizeof *w->strides);
  return FNZ_OK;
}

static fnz_status flat_view(fnzi_eag_op *s, fnzi_eag_window *w) {
  const int64_t numel = fnzi_eag_window_elements(w);
  int64_t stride;
  if (!fnzi_eag_window_strides(w, &numel, 1, &stride))
    return fnzi_eag_op_refuse(s, "the strides do not allow this view; use reshape", w->rank, 1);
  w->rank = 1;
  w->sizes[0] = numel;
  w->strides[0] = stride;
  return FNZ_OK;
}

static fnz_status view_dtype(fnzi_eag_op *s, fnzi_eag_window *w) {
  fnz_dtype dtype = (fnz_dtype)fnzi_eag_op_int(s, 1, w->dtype);
  int64_t from = (int64_t)fnzi_dtype(w->dtype)->bytes, to = (int64_t)fnzi_dtype(dtype)->bytes;
  if (dtype == w->dtype)
    return FNZ_OK;
  FNZ_TRY(fnzi_eag_op_need_bytes(s));
  if (w->is_conj || w->is_neg)
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "",
                     "%s: the tensor has a conjugate or negative bit; resolve it before",
                     s->op->name);
  w->dtype = dtype;
  if (from == to)
    return FNZ_OK;
  if (w->rank == 0 || w->strides[w->rank - 1] != 1)
    return fnzi_eag_op_refuse(s, "the last dimension must have stride 1 for dtypes of other size",
                              from, to);
  if (from < to) {
    /* The window is divided for a dtype of `ratio` times the size. */
    int64_t ratio = to / from;
    uint32_t last = w->rank - 1;
    if (w->sizes[last] % ratio != 0 || w->offset % ratio != 0)
      return fnzi_eag_op_refuse(s, "size or offset is no multiple of the dtype's size",
                                w->sizes[last], ratio);
    for (uint32_t d = 0; d < last; d++)
      if (w->strides[d] % ratio != 0)
        return fnzi_eag_op_refuse(s, "a stride is no multiple of the dtype's size", w->strides[d],
                                  ratio);
    w->sizes[last] /= ratio;
    w->offset /= ratio;
    for (uint32_t d = 0; d < last; d++)
      w->strides[d] /= ratio;
    return FNZ_OK;
  }
  w->sizes[w->rank - 1] = fnzi_run_wrap_mul(w->sizes[w->rank - 1], from / to);
  w->offset = fnzi_run_wrap_mul(w->offset, from / to);
  for (uint32_t d = 0; d + 1 < w->rank; d++)
    w->strides[d] = fnzi_run_wrap_mul(w->strides[d], from / to);
  return FNZ_OK;
}

static fnz_status permute(fnzi_eag_op *s, fnzi_eag_window *w) {
  fnzi_eag_window old = *w;
  int64_t dims[FNZ_MAX_RANK];
  bool used[FNZ_MAX_RANK] = {false};
  uint32_t count, from;
  FNZ_TRY(fnzi_eag_op_ints(s, 1, dims, &count));
  if (count != w->rank)
    return fnzi_eag_op_refuse(s, "every dimension must be named", count, w->rank);
  for (uint32_t d = 0; d < count; d++) {
    FNZ_TRY(fnzi_wrap_dim(s->ctx, "dims", dims[d], w->rank, &from));
    if (used[from])
      return fnzi_eag_op_refuse(s, "a dimension is named twice", dims[d], d);
    used[from] = true;
    w->sizes[d] = old.sizes[from];
    w->strides[d] = old.strides[from];
  }
  return FNZ_OK;
}

static fnz_status t(fnzi_eag_op *s, fnzi_eag_window *w) {
  if (w->rank > 2)
    return fnzi_eag_op_refuse(s, "at most two dimensions are possible", w->rank, 2);
  if (w->rank == 2)
    fnzi_eag_window_swap(w, 0, 1);
  return FNZ_OK;
}

static fnz_status transpose(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t a, b;
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &a));
  FNZ_TRY(fnzi_eag_op_dim(s, 2, w->rank, &b));
  fnzi_eag_window_swap(w, a, b);
  return FNZ_OK;
}

static fnz_status expand(fnzi_eag_op *s, fnzi_eag_window *w) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(fnzi_eag_op_ints(s, 1, sizes, &rank));
  return fnzi_eag_window_expand(s, w, sizes, rank);
}

static fnz_status select_int(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  int64_t index = fnzi_eag_op_int(s, 2, 0);
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "a tensor without dimensions has nothing to select", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &dim));
  int64_t size = w->sizes[dim];
  if (index < -size || index >= size)
    return fnzi_eag_op_refuse(s, "the index is out of range", index, size);
  fnzi_eag_window_move(w, dim, index < 0 ? index + size : index);
  fnzi_eag_window_drop(w, dim);
  return FNZ_OK;
}

static fnz_status slice(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  int64_t step = fnzi_eag_op_int(s, 4, 1);
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "a tensor without dimensions has nothing to slice", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &dim));
  if (step <= 0)
    return fnzi_eag_op_refuse(s, "the step must be positive", step, 1);
  fnzi_eag_window_slice(w, dim, fnzi_eag_op_int(s, 2, 0), fnzi_eag_op_int(s, 3, INT64_MAX), step);
  return FNZ_OK;
}

static fnz_status diagonal(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t a, b;
  int64_t shift = fnzi_eag_op_int(s, 1, 0);
  int64_t down = shift < 0 ? -(shift + 1) : 0, right = shift > 0 ? shift : 0;
  FNZ_TRY(fnzi_eag_op_dim(s, 2, w->rank, &a));
  FNZ_TRY(fnzi_eag_op_dim(s, 3, w->rank, &b));
  if (a == b || w->rank < 2)
    return fnzi_eag_op_refuse(s, "two different dimensions are needed", a, b);
  int64_t rows = w->sizes[a] - down - (shift < 0), columns = w->sizes[b] - right;
  int64_t size = rows < columns ? rows : columns;
  int64_t stride = fnzi_run_wrap_add(w->strides[a], w->strides[b]);
  if (size > 0) {
    fnzi_eag_window_move(w, a, down + (shift < 0));
    fnzi_eag_window_move(w, b, right);
  }
  fnzi_eag_window_drop(w, a > b ? a : b);
  fnzi_eag_window_drop(w, a > b ? b : a);
  return fnzi_eag_window_insert(s, w, w->rank, size > 0 ? size : 0, stride);
}

static fnz_status unfold(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  int64_t size = fnzi_eag_op_int(s, 2, 0), step = fnzi_eag_op_int(s, 3, 1);
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &dim));
  int64_t held = w->rank == 0 ? 1 : w->sizes[dim], stride = w->rank == 0 ? 1 : w->strides[dim];
  if (size < 0 || size > held || step <= 0)
    return fnzi_eag_op_refuse(s, "size or step do not fit", size, step);
  FNZ_TRY(fnzi_eag_window_insert(s, w, w->rank, size, stride));
  if (w->rank == 1)
    return FNZ_OK;
  w->sizes[dim] = (held - size) / step + 1;
  if (!fnzi_mul_i64(stride, step, &w->strides[dim]))
    w->strides[dim] = 1;
  return FNZ_OK;
}

static fnz_status squeeze(fnzi_eag_op *s, fnzi_eag_window *w) {
  (void)s;
  for (uint32_t d = w->rank; d-- > 0;)
    if (w->sizes[d] == 1)
      fnzi_eag_window_drop(w, d);
  return FNZ_OK;
}

static fnz_status squeeze_dims(fnzi_eag_op *s, fnzi_eag_window *w) {
  int64_t dims[FNZ_MAX_RANK];
  bool named[FNZ_MAX_RANK] = {false};
  uint32_t count, dim;
  FNZ_TRY(fnzi_eag_op_ints(s, 1, dims, &count));
  for (uint32_t i = 0; i < count; i++) {
    FNZ_TRY(fnzi_wrap_dim(s->ctx, "dim", dims[i], w->rank, &dim));
    named[dim] = true;
  }
  for (uint32_t d = w->rank; d-- > 0;)
    if (named[d] && w->sizes[d] == 1)
      fnzi_eag_window_drop(w, d);
  return FNZ_OK;
}

static fnz_status unsqueeze(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank + 1, &dim));
  int64_t stride = dim == w->rank ? 1 : fnzi_run_wrap_mul(w->sizes[dim], w->strides[dim]);
  return fnzi_eag_window_insert(s, w, dim, 1, stride);
}

static fnz_status view_as_complex(fnzi_eag_op *s, fnzi_eag_window *w) {
  FNZ_TRY(fnzi_eag_op_need_bytes(s));
  if (w->dtype != FNZ_F16 && w->dtype != FNZ_F32 && w->dtype != FNZ_F64)
    return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s: there are no complex numbers of two %s",
                     s->op->name, fnzi_dtype(w->dtype)->name);
  if (w->rank == 0 || w->sizes[w->rank - 1] != 2 || w->strides[w->rank - 1] != 1 ||
      w->offset % 2 != 0)
    return fnzi_eag_op_refuse(s, "the last dimension must be a pair of floats", w->rank, 2);
  w->rank--;
  for (uint32_t d = 0; d < w->rank; d++)
    if (w->strides[d] % 2 != 0)
      return fnzi_eag_op_refuse(s, "a stride is odd", w->strides[d], d);
  for (uint32_t d = 0; d < w->rank; d++)
    w->strides[d] /= 2;
  w->offset /= 2;
  w->dtype = w->dtype == FNZ_F64 ? FNZ_C128 : w->dtype == FNZ_F32 ? FNZ_C64 : FNZ_C32;
  return FNZ_OK;
}

static fnz_status flip_conj(fnzi_eag_op *s, fnzi_eag_window *w) {
  (void)s;
  w->is_conj = !w->is_conj;
  return FNZ_OK;
}

static fnz_status flip_neg(fnzi_eag_op *s, fnzi_eag_window *w) {
  (void)s;
  w->is_neg = !w->is_neg;
  return FNZ_OK;
}

static fnz_status unbind(fnzi_eag_op *s, fnzi_eag_window *w) {
  uint32_t dim;
  if (w->rank == 0)
    return fnzi_eag_op_refuse(s, "a tensor without dimensions has nothing to unbind", 0, 0);
  FNZ_TRY(fnzi_eag_op_dim(s, 1, w->rank, &dim));
  int64_t count = w->sizes[dim], stride = w->strides[dim];
  fnzi_eag_window_drop(w, dim);
  for (int64_t i = 0; i < count; i++, w->offset = fnzi_run_wrap_add(w->offset, stride))
    FNZ_TRY(fnzi_eag_op_push_window(s, w));
  s->outcome = FNZI_EAG_MANY;
  return FNZ_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

/* Columns: operator, rule, result (NEW: a new tensor; CHANGE: the argument with the new window). */
#define ROWS(ROW)                                                                                  \
  ROW(alias, same, NEW)                                                                            \
  ROW(detach, same, NEW)                                                                           \
  ROW(detach_, fnzi_eag_view_itself, NEW)                                                          \
  ROW(lift_fresh, fnzi_eag_view_itself, NEW)                                                       \
  ROW(view, view, NEW)                                                                             \
  ROW(_unsafe_view, view, NEW)                                                                     \
  ROW(_reshape_alias, place, NEW)                                                                  \
  ROW(view__dtype, view_dtype, NEW)                                                                \
  ROW(permute, permute, NEW)                                                                       \
  ROW(t, t, NEW)                                                                                   \
  ROW(t_, t, CHANGE)                                                                               \
  ROW(transpose__int, transpose, NEW)                                                              \
  ROW(transpose_, transpose, CHANGE)                                                               \
  ROW(swapaxes, transpose, NEW)                                                                    \
  ROW(swapaxes_, transpose, CHANGE)                                                                \
  ROW(swapdims, transpose, NEW)                                                                    \
  ROW(swapdims_, transpose, CHANGE)                                                                \
  ROW(expand, expand, NEW)                                                                         \
  ROW(broadcast_to, expand, NEW)                                                                   \
  ROW(select__int, select_int, NEW)                                                                \
  ROW(slice__Tensor, slice, NEW)                                                                   \
  ROW(diagonal, diagonal, NEW)                                                                     \
  ROW(linalg_diagonal, diagonal, NEW)                                                              \
  ROW(as_strided, as_strided, NEW)                                                                 \
  ROW(as_strided_copy, as_strided_copy, NEW)                                                       \
  ROW(as_strided_, as_strided, CHANGE)                                                             \
  ROW(slice_inverse, window_of_other, NEW)                                                         \
  ROW(_test_autograd_multiple_dispatch_view, flat_view, NEW)                                       \
  ROW(unfold, unfold, NEW)                                                                         \
  ROW(squeeze, squeeze, NEW)                                                                       \
  ROW(squeeze_, squeeze, CHANGE)                                                                   \
  ROW(squeeze__dim, squeeze_dims, NEW)                                                             \
  ROW(squeeze___dim, squeeze_dims, CHANGE)                                                         \
  ROW(squeeze__dims, squeeze_dims, NEW)                                                            \
  ROW(squeeze___dims, squeeze_dims, CHANGE)                                                        \
  ROW(unsqueeze, unsqueeze, NEW)                                                                   \
  ROW(unsqueeze_, unsqueeze, CHANGE)                                                               \
  ROW(unbind__int, unbind, NEW)                                                                    \
  ROW(view_as_real, fnzi_eag_window_real, NEW)                                                     \
  ROW(view_as_complex, view_as_complex, NEW)                                                       \
  ROW(_conj, flip_conj, NEW)                                                                       \
  ROW(_neg_view, flip_neg, NEW)

enum { NEW, CHANGE };

static const struct {
  uint16_t op;
  fnzi_eag_view_rule *rule;
  int result;
} rows[] = {
#define VIEW_ROW(op, rule, result) {FNZI_ATEN_##op, rule, result},
    ROWS(VIEW_ROW)
#undef VIEW_ROW
};

static fnzi_eag_view_rule *find_rule(const fnz_op *op, bool *change) {
  const uint16_t place = fnzi_op_place(op);
  *change = false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].op != place)
      continue;
    *change = rows[i].result == CHANGE;
    return rows[i].rule;
  }
  return fnzi_eag_view_or_copy_rule(op);
}

/* Makes the result of a rule by s->outcome. */
static fnz_status make_result(fnzi_eag_op *s, const fnzi_eag_window *w, bool change, bool *done) {
  *done = s->outcome != FNZI_EAG_COMPUTE;
  if (s->outcome == FNZI_EAG_COPY || s->outcome == FNZI_EAG_CAST) {
    fnz_handle value, cast = 0; /* new memory with the argument's elements */
    fnzi_eag_tensor *result = NULL;
    FNZ_TRY(fnzi_eag_tensor_value(s->in, s->self, &value));
    if (s->outcome == FNZI_EAG_CAST)
      FNZ_TRY(fnzi_eag_unary(s->in, "_to_copy", value, w->dtype, &cast));
    fnz_status status = fnzi_eag_tensor_store(s->in, w, cast == 0 ? value : cast, &result);
    if (cast != 0)
      fnzi_run_release(&s->in->run, cast);
    FNZ_TRY(status);
    return fnzi_eag_op_push(s, result);
  }
  if (s->outcome == FNZI_EAG_SELF)
    return fnzi_eag_op_push(s, s->self);
  if (s->outcome != FNZI_EAG_VIEW)
    return FNZ_OK;
  if (!change)
    return fnzi_eag_op_push_window(s, w);
  FNZ_TRY(fnzi_eag_tensor_reshape(s->in, s->self, w));
  return fnzi_eag_op_push(s, s->self);
}

fnz_status fnzi_eag_view(fnzi_eag_op *s, bool *done) {
  bool change;
  fnzi_eag_view_rule *rule = find_rule(s->op, &change);
  *done = false;
  if (rule == NULL)
    return FNZ_OK;
  fnzi_eag_window w;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &s->self));
  fnzi_eag_window_of(s->self->g, &w);
  s->outcome = FNZI_EAG_VIEW;
  FNZ_TRY(rule(s, &w));
  return make_result(s, &w, change, done);
}
