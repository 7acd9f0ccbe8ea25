/* product.c - products of vectors and of more dimensions: addr, vdot, cross, tensordot. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul.h"

/* A scratch window of a window's sizes, row-major. */
static fnz_status make_like(fnzi_krn_call *call, const fnzi_krn_window *like,
                            fnzi_krn_window *out) {
  int64_t count = 1;
  void *data;
  for (uint32_t i = 0; i < like->rank; i++)
    count *= like->sizes[i];
  FNZ_TRY(fnzi_krn_scratch_take(call, count, like->cell, &data));
  fnzi_krn_window_dense(out, like->dtype, like->rank, like->sizes, data);
  return FNZ_OK;
}

/* An argument converted to the dtype of the result. */
static fnz_status open_as(fnzi_krn_call *call, const fnzi_krn_array *array, fnz_dtype dtype,
                          fnzi_krn_window *out) {
  const void *data;
  FNZ_TRY(fnzi_krn_dense_get_as(call, array, dtype, &data));
  fnzi_krn_window_dense(out, dtype, array->window.rank, array->window.sizes, data);
  return FNZ_OK;
}

static bool is_number(const fnz_arg *number, double value) {
  return number->tag != FNZ_ARG_COMPLEX && fnzi_krn_number_float(number) == value;
}

/* to = to * number, unless that is 1. */
static fnz_status scale(fnzi_krn_call *call, const fnzi_krn_window *to, const fnz_arg *number) {
  unsigned char room[16];
  fnzi_krn_window by;
  if (is_number(number, 1))
    return FNZ_OK;
  fnzi_krn_window_number(number, to->dtype, room, &by);
  return fnzi_cpu_window_combine(call, "mul", to, &by, NULL);
}

/* alpha * column * row + beta * self of some rows, in the dtype that all three promote to. A beta
 * of 0 keeps NaN of self out. */
typedef struct outer {
  fnzi_krn_window to, column, row, self, added;
  const fnz_arg *alpha, *beta;
  bool copies; /* self, to scale or convert it */
} outer;

static fnz_status add_rows(fnzi_krn_call *call, outer o, int64_t first, int64_t count) {
  fnzi_krn_window_narrow(&o.to, 0, first, count);
  fnzi_krn_window_narrow(&o.column, 0, first, count);
  FNZ_TRY(fnzi_krn_window_assign(call, &o.to, &o.column, false));
  FNZ_TRY(scale(call, &o.to, o.alpha));
  FNZ_TRY(fnzi_cpu_window_combine(call, "mul", &o.to, &o.row, NULL));
  if (is_number(o.beta, 0))
    return FNZ_OK;
  if (o.self.rank == 2 && o.self.sizes[0] != 1)
    fnzi_krn_window_narrow(&o.self, 0, first, count);
  if (!o.copies)
    return fnzi_cpu_window_combine(call, "add", &o.to, &o.self, NULL);
  fnzi_krn_window_narrow(&o.added, 0, 0, count);
  FNZ_TRY(fnzi_krn_window_assign(call, &o.added, &o.self, false));
  FNZ_TRY(scale(call, &o.added, o.beta));
  return fnzi_cpu_window_combine(call, "add", &o.to, &o.added, NULL);
}

/* As many rows at once as stay in a cache from step to step; all of them if they are recorded. */
static fnz_status add_outer(fnzi_krn_call *call, const fnzi_krn_window *to) {
  enum { CELLS = 1 << 14 };
  outer o = {
      .to = *to, .alpha = fnzi_krn_named(call, "alpha"), .beta = fnzi_krn_named(call, "beta")};
  int64_t rows = to->sizes[0], columns = to->sizes[1];
  int64_t many = columns > 0 && columns < CELLS ? CELLS / columns : 1;
  many = call->record || many > rows ? rows : many;
  FNZ_TRY(open_as(call, fnzi_krn_call_input(call, 1), to->dtype, &o.column));
  FNZ_TRY(open_as(call, fnzi_krn_call_input(call, 2), to->dtype, &o.row));
  fnzi_krn_window_insert(&o.column, 1, 1, 0);
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &o.self);
  o.copies = call->record || o.self.dtype != to->dtype || !is_number(o.beta, 1);
  o.added = *to;
  o.added.sizes[0] = many;
  if (o.copies && !is_number(o.beta, 0))
    FNZ_TRY(make_like(call, &o.added, &o.added));
  for (int64_t i = 0; i < rows; i += many)
    FNZ_TRY(add_rows(call, o, i, rows - i < many ? rows - i : many));
  return FNZ_OK;
}

fnz_status fnzi_kernel_addr(fnzi_krn_call *call) {
  fnzi_krn_window to, sum;
  fnzi_krn_window_of(call->outputs[0], &to);
  sum = to;
  sum.dtype = fnzi_promote(fnzi_krn_call_input(call, 0)->window.dtype,
                           fnzi_promote(fnzi_krn_call_input(call, 1)->window.dtype,
                                        fnzi_krn_call_input(call, 2)->window.dtype));
  if (sum.dtype == to.dtype)
    return add_outer(call, &to);
  sum.cell = fnzi_dtype(sum.dtype)->bytes;
  FNZ_TRY(make_like(call, &sum, &sum));
  FNZ_TRY(add_outer(call, &sum));
  return fnzi_krn_window_assign(call, &to, &sum, false);
}

/* The sum of conj(a) * b. */
fnz_status fnzi_kernel_vdot(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const void *x, *y;
  double sum[2] = {0, 0};
  fnzi_krn_window to, from;
  if (!fnzi_is_complex(self->window.dtype))
    return fnzi_kernel_matmul(call);
  FNZ_TRY(fnzi_krn_dense_get_as(call, self, FNZ_C128, &x));
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 1), FNZ_C128, &y));
  const double *a = x, *b = y;
  for (int64_t i = 0; i < 2 * fnzi_krn_array_numel(self); i += 2) {
    sum[0] += a[i] * b[i] + a[i + 1] * b[i + 1];
    sum[1] += a[i] * b[i + 1] - a[i + 1] * b[i];
  }
  fnzi_krn_window_of(call->outputs[0], &to);
  fnzi_krn_window_dense(&from, FNZ_C128, 0, NULL, sum);
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* One position of the dimension that is `from_end` from the last. A broadcast one has the first
 * only. */
static fnzi_krn_window part(const fnzi_krn_window *w, uint32_t from_end, int64_t index) {
  fnzi_krn_window one = *w;
  uint32_t dim = w->rank - from_end;
  fnzi_krn_window_select(&one, dim, w->sizes[dim] == 1 ? 0 : index);
  return one;
}

/* The components of a vector are `inner` apart. */
#define CROSS(name, T)                                                                             \
  static void cross_##name(const T *restrict a, const T *restrict b, T *restrict to,               \
                           int64_t vectors, int64_t inner) {                                       \
    for (int64_t o = 0; o < vectors; o++, a += 3 * inner, b += 3 * inner, to += 3 * inner)         \
      for (int64_t k = 0; k < inner; k++)                                                          \
        for (int i = 0; i < 3; i++) {                                                              \
          const int64_t x = (i + 1) % 3 * inner + k, y = (i + 2) % 3 * inner + k;                  \
          const T left = a[x] * b[y], right = a[y] * b[x];                                         \
          to[i * inner + k] = left - right;                                                        \
        }                                                                                          \
  }
CROSS(f32, float)
CROSS(f64, double)

/* Both of the sizes and the type of the result, which is a real one: in one pass. */
static bool is_plain_cross(const fnzi_krn_call *call) {
  const fnz_geometry *a = &fnzi_krn_call_input(call, 0)->window,
                     *b = &fnzi_krn_call_input(call, 1)->window, *to = &call->outputs[0]->window;
  return !call->record && (to->dtype == FNZ_F32 || to->dtype == FNZ_F64) && a->dtype == to->dtype &&
         b->dtype == to->dtype && fnzi_same_sizes(a, to) && fnzi_same_sizes(b, to);
}

static fnz_status plain_cross(fnzi_krn_call *call, uint32_t dim) {
  const fnz_geometry *g = &call->outputs[0]->window;
  int64_t inner = 1;
  const void *a, *b;
  void *to;
  for (uint32_t d = dim + 1; d < g->rank; d++)
    inner *= g->sizes[d];
  FNZ_TRY(fnzi_krn_dense_get(call, fnzi_krn_call_input(call, 0), &a));
  FNZ_TRY(fnzi_krn_dense_get(call, fnzi_krn_call_input(call, 1), &b));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &to));
  int64_t vectors = inner ? fnz_geometry_numel(g) / 3 / inner : 0;
  if (g->dtype == FNZ_F32)
    cross_f32(a, b, to, vectors, inner);
  else
    cross_f64(a, b, to, vectors, inner);
  return FNZ_OK;
}

/* Component i is a[j] * b[k] - a[k] * b[j]. */
fnz_status fnzi_kernel_cross(fnzi_krn_call *call) {
  fnzi_krn_window out, a, b, second;
  uint32_t dim;
  FNZ_TRY(fnzi_meta_cross_dim(call, &dim));
  if (is_plain_cross(call))
    return plain_cross(call, dim);
  fnzi_krn_window_of(call->outputs[0], &out);
  fnzi_krn_window_of(fnzi_krn_call_input(call, 0), &a);
  fnzi_krn_window_of(fnzi_krn_call_input(call, 1), &b);
  uint32_t from_end = out.rank - dim;
  for (int64_t i = 0; i < 3; i++) {
    int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    fnzi_krn_window to = part(&out, from_end, i);
    fnzi_krn_window aj = part(&a, from_end, j), ak = part(&a, from_end, k);
    fnzi_krn_window bj = part(&b, from_end, j), bk = part(&b, from_end, k);
    FNZ_TRY(make_like(call, &to, &second));
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &aj, false));
    FNZ_TRY(fnzi_cpu_window_combine(call, "mul", &to, &bk, NULL));
    FNZ_TRY(fnzi_krn_window_assign(call, &second, &ak, false));
    FNZ_TRY(fnzi_cpu_window_combine(call, "mul", &second, &bj, NULL));
    FNZ_TRY(fnzi_cpu_window_combine(call, "sub", &to, &second, NULL));
  }
  return FNZ_OK;
}

/* --- tensordot --------------------------------------------------------------------------- */
static bool product_is_among(const int64_t *dims, size_t count, uint32_t dim, uint32_t rank) {
  for (size_t i = 0; i < count; i++)
    if (dims[i] == (int64_t)dim || dims[i] == (int64_t)dim - (int64_t)rank)
      return true;
  return false;
}

static void append(fnzi_krn_window *to, const fnzi_krn_window *from, uint32_t dim, int64_t *count) {
  to->sizes[to->rank] = from->sizes[dim];
  to->strides[to->rank++] = from->strides[dim];
  *count *= from->sizes[dim];
}

/* An argument and its summed dimensions. */
typedef struct summand {
  fnzi_krn_window window;
  const int64_t *dims;
  size_t count;
} summand;

static fnz_status read_summand(fnzi_krn_call *call, size_t argument, summand *out) {
  fnzi_krn_window_of(fnzi_krn_call_input(call, argument), &out->window);
  return fnzi_krn_named_ints(call, argument ? "dims_other" : "dims_self", &out->dims, &out->count);
}

static uint32_t summed_dim(const summand *a, size_t i) {
  return (uint32_t)(a->dims[i] < 0 ? a->dims[i] + a->window.rank : a->dims[i]);
}

/* The argument's summed dimensions of size 1 are repeated along their partners'. */
static void repeat_along(summand *a, const summand *partner) {
  for (size_t i = 0; i < a->count; i++) {
    uint32_t d = summed_dim(a, i);
    if (a->window.sizes[d] != 1)
      continue;
    a->window.sizes[d] = partner->window.sizes[summed_dim(partner, i)];
    a->window.strides[d] = 0;
  }
}

/* A row-major matrix of an argument in scratch memory: free dimensions by summed ones, these in the
 * order given, or the other way round. */
typedef struct folded {
  fnzi_cpu_matrix matrix;
  int64_t free, summed;
} folded;

static fnz_status product_fold(fnzi_krn_call *call, size_t argument, bool summed_first,
                               fnz_dtype dtype, folded *out) {
  fnzi_krn_window from, to;
  summand own, partner;
  void *data;
  FNZ_TRY(read_summand(call, argument, &own));
  FNZ_TRY(read_summand(call, 1 - argument, &partner));
  repeat_along(&own, &partner);
  const fnzi_krn_window w = own.window;
  from = w;
  from.rank = 0;
  out->free = out->summed = 1;
  for (int pass = 0; pass < 2; pass++) {
    if ((pass == 0) == summed_first)
      for (size_t i = 0; i < own.count; i++)
        append(&from, &w, summed_dim(&own, i), &out->summed);
    else
      for (uint32_t i = 0; i < w.rank; i++)
        if (!product_is_among(own.dims, own.count, i, w.rank))
          append(&from, &w, i, &out->free);
  }
  FNZ_TRY(fnzi_krn_scratch_take(call, out->free * out->summed, fnzi_dtype(dtype)->bytes, &data));
  int64_t row = summed_first ? out->free : out->summed;
  out->matrix = (fnzi_cpu_matrix){.data = data, .row = row ? row : 1, .col = 1};
  fnzi_krn_window_dense(&to, dtype, from.rank, from.sizes, data);
  return fnzi_krn_window_assign(call, &to, &from, false);
}

fnz_status fnzi_kernel_tensordot(fnzi_krn_call *call) {
  fnzi_cpu_product p = {.alpha = 1, .beta = 0};
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  folded a, b;
  if (!fnzi_cpu_product_dtype(dtype, &p.dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no product of %s matrices",
                                fnzi_dtype(dtype)->name);
  if (call->record) /* sums are wide there, and rounded once */
    p.dtype = dtype;
  FNZ_TRY(product_fold(call, 0, false, p.dtype, &a));
  FNZ_TRY(product_fold(call, 1, true, p.dtype, &b));
  p.a = a.matrix, p.m = a.free;
  p.b = b.matrix, p.n = b.free, p.k = b.summed;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, p.dtype, &p.c));
  if (call->record) {
    const fnzi_krn_products recorded = {p.dtype, 1, p.m, p.n, p.k, p.a.data, p.b.data, p.c};
    return call->record->multiply(call->record->user, &recorded);
  }
  p.c_row = p.n ? p.n : 1;
  p.order = fnzi_cpu_product_order(&p, &p.a, &p.b);
  FNZ_TRY(fnzi_cpu_product_scratch(call, &p));
  fnzi_cpu_product_run_tiled(&p, call->team);
  return FNZ_OK;
}
