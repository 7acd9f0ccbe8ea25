/* matmul.c - operators that are a matrix product with something added: mm to linear.
 *
 * Each is brought to one form: a batch of (m, k) by (k, n) products that share broadcast batch
 * dimensions. Transposed factors are used as they lie. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/special_reals.h"

/* A factor of a batch of products; batch strides in elements, 0 where it broadcasts. */
typedef struct factor {
  fnzi_cpu_matrix matrix;
  int64_t rows, cols;
  int64_t batch[FNZ_MAX_RANK];
  bool spread[FNZ_MAX_RANK]; /* by the sizes of the factor: not because it lies in one place */
} factor;

typedef struct products {
  fnz_dtype dtype;
  uint32_t rank; /* of the batch */
  int64_t sizes[FNZ_MAX_RANK];
  int64_t m, n, k;
  factor a, b;
  const fnzi_krn_array *second;
  double alpha, beta;
  fnzi_cpu_order order;
  bool is_transposed; /* fnzi_cpu_product_is_transposed() */
  float *room;        /* of each product */
  int64_t room_each;
  const float *added; /* in place of each row of the result; NULL: the result is read */
  void *out;
} products;

enum { ARITHMETIC = 16 }; /* products that take as long as another element of work */

/* How the last dimensions of an argument become rows and columns. */
typedef enum role {
  LEFT,      /* a vector is a row */
  RIGHT,     /* a vector is a column */
  TRANSPOSED /* RIGHT, stored as (n, k) */
} role;

static void swap(int64_t *a, int64_t *b) {
  int64_t t = *a;
  *a = *b, *b = t;
}

/* The matrix part of a window. A vector's missing dimension gets a stride that BLAS takes. */
static void matmul_split(factor *f, const fnz_geometry *g, const int64_t *strides, role r) {
  int64_t last = g->sizes[g->rank - 1], step = strides[g->rank - 1];
  if (g->rank >= 2) {
    f->rows = g->sizes[g->rank - 2], f->cols = last;
    f->matrix.row = strides[g->rank - 2], f->matrix.col = step;
  } else {
    f->rows = 1, f->cols = last;
    f->matrix.row = last > 0 ? last : 1, f->matrix.col = step;
  }
  if (r == TRANSPOSED || (r == RIGHT && g->rank == 1)) {
    swap(&f->rows, &f->cols);
    swap(&f->matrix.row, &f->matrix.col);
  }
  /* The stride of a dimension of size 1 may be anything and must decide nothing: it becomes what a
   * matrix without gaps would have. */
  if (f->cols == 1)
    f->matrix.col = 1;
  if (f->rows == 1)
    f->matrix.row = f->matrix.col == 1 && f->cols > 0 ? f->cols : 1;
}

static void matmul_broadcast(factor *f, const products *p, const fnz_geometry *g,
                             const int64_t *strides) {
  uint32_t lead = g->rank > 2 ? g->rank - 2 : 0;
  for (uint32_t i = 0; i < p->rank; i++) {
    bool inside = i + lead >= p->rank;
    uint32_t at = inside ? i + lead - p->rank : 0;
    f->spread[i] = !inside || g->sizes[at] == 1;
    f->batch[i] = f->spread[i] ? 0 : strides[at];
  }
}

/* The factor is used as it lies, in its order. */
static bool takes(const products *p, const factor *f, bool is_second) {
  const fnzi_cpu_matrix *m = &f->matrix;
  if (p->order == FNZI_ORDER_LIBRARY)
    return fnzi_is_integer(p->dtype) || fnzi_cpu_matrix_fits(f->rows, f->cols, m->row, m->col);
  if (p->order == FNZI_ORDER_PANELS)
    return true;
  return (m->kind == FNZI_ROW_F32 || is_second != p->is_transposed) && (m->row == 1 || m->col == 1);
}

static fnzi_row_kind matmul_kind_of(fnz_dtype dtype) {
  return dtype == FNZ_BF16  ? FNZI_ROW_BF16
         : dtype == FNZ_F16 ? FNZI_ROW_F16
         : dtype == FNZ_I8  ? FNZI_ROW_I8
                            : FNZI_ROW_F32;
}

/* A product of these reads elements of the type. */
static bool reads(const products *p, fnz_dtype dtype) {
  return dtype == p->dtype ||
         (p->order != FNZI_ORDER_LIBRARY && matmul_kind_of(dtype) != FNZI_ROW_F32);
}

/* A factor as it lies in memory when its type and strides allow, else row-major in scratch. A
 * weight may be stored in another type than it is computed in (engine/fold.c). */
static fnz_status open_factor(fnzi_krn_call *call, products *p, const fnzi_krn_array *x, role r,
                              factor *f) {
  const fnz_geometry *g = &x->geometry;
  f->matrix.kind = matmul_kind_of(x->window.dtype);
  if (reads(p, x->window.dtype)) {
    f->matrix.data = fnzi_krn_array_data(x);
    matmul_split(f, g, x->window.strides, r);
    matmul_broadcast(f, p, g, x->window.strides);
    if (takes(p, f, f == &p->b))
      return FNZ_OK;
  }
  int64_t strides[FNZ_MAX_RANK];
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  FNZ_TRY(fnzi_krn_dense_get_as(call, x, p->dtype, &f->matrix.data));
  f->matrix.kind = FNZI_ROW_F32;
  matmul_split(f, g, strides, r);
  matmul_broadcast(f, p, g, strides);
  return FNZ_OK;
}

/* Rows of the first factor times the batch dimensions behind which the second one stays put: as
 * many as fold() can join. */
static int64_t matmul_rows_of(const products *p, const factor *a, const factor *b) {
  int64_t rows = a->rows;
  for (uint32_t i = p->rank; i-- > 0 && b->spread[i];)
    rows *= p->sizes[i];
  return rows;
}

/* By sizes, and by the strides that eager has. */
static void matmul_choose_order(products *p, const fnzi_krn_array *a, const fnzi_krn_array *b,
                                role role_b) {
  int64_t strides_a[FNZ_MAX_RANK], strides_b[FNZ_MAX_RANK];
  fnz_geometry ga = fnzi_krn_array_ordered(a, strides_a), gb = fnzi_krn_array_ordered(b, strides_b);
  factor left, right;
  matmul_split(&left, &ga, ga.strides, LEFT);
  matmul_split(&right, &gb, gb.strides, role_b);
  matmul_broadcast(&right, p, &gb, gb.strides);
  left.matrix.kind = matmul_kind_of(ga.dtype), right.matrix.kind = matmul_kind_of(gb.dtype);
  fnzi_cpu_product one = {.dtype = p->dtype, .n = right.cols, .k = right.rows, .alpha = p->alpha};
  one.m = matmul_rows_of(p, &left, &right);
  p->order = fnzi_cpu_product_order(&one, &left.matrix, &right.matrix);
  p->is_transposed = fnzi_cpu_product_is_transposed(&one);
}

/* For a batch of p->rank dimensions of p->sizes, with p->alpha. */
static fnz_status open_batch(fnzi_krn_call *call, const fnzi_krn_array *a, const fnzi_krn_array *b,
                             role role_b, products *p) {
  fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  if (!fnzi_cpu_product_dtype(dtype, &p->dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no product of %s matrices",
                                fnzi_dtype(dtype)->name);
  matmul_choose_order(p, a, b, role_b);
  FNZ_TRY(open_factor(call, p, a, LEFT, &p->a));
  FNZ_TRY(open_factor(call, p, b, role_b, &p->b));
  p->second = b;
  p->m = p->a.rows, p->k = p->a.cols, p->n = p->b.cols;
  return FNZ_OK;
}

static fnz_status matmul_open(fnzi_krn_call *call, const fnzi_krn_array *a, const fnzi_krn_array *b,
                              role role_b, products *p) {
  const fnz_geometry *out = &call->outputs[0]->geometry;
  uint32_t inner = (a->geometry.rank > 1) + (b->geometry.rank > 1);
  p->rank = out->rank > inner ? out->rank - inner : 0;
  for (uint32_t i = 0; i < p->rank; i++)
    p->sizes[i] = out->sizes[i];
  return open_batch(call, a, b, role_b, p);
}

/* The first factor's matrices along the last batch dimension lie as rows of one. */
static bool adds_rows(const products *p) {
  int64_t size = p->sizes[p->rank - 1], step = p->a.batch[p->rank - 1];
  if (!p->b.spread[p->rank - 1] || p->a.matrix.col != 1 || p->m * size > INT32_MAX)
    return false;
  return size == 1 || (p->m == 1 ? step >= p->k : step == p->m * p->a.matrix.row);
}

/* Batch dimensions along which the second factor stays put are more rows of the first. Its sizes
 * decide that, not its strides: an expanded factor may have been copied or not. */
static void matmul_fold(products *p) {
  while (p->rank && p->a.matrix.row >= p->k && adds_rows(p)) {
    if (p->m == 1 && p->sizes[p->rank - 1] != 1)
      p->a.matrix.row = p->a.batch[p->rank - 1];
    p->m *= p->sizes[--p->rank];
  }
}

static int64_t batch_size(const products *p, uint32_t rank) {
  int64_t size = 1;
  for (uint32_t i = 0; i < rank; i++)
    size *= p->sizes[i];
  return size;
}

static bool stays_put(const factor *f, uint32_t rank) {
  bool stays = true;
  for (uint32_t i = 0; i < rank; i++)
    stays = stays && f->spread[i];
  return stays;
}

/* One product and many have other bits, so that there is one must not depend on how the first
 * factor lies: where rows of it could be joined but for gaps, it is copied without. */
static fnz_status fold_all(fnzi_krn_call *call, products *p, const fnzi_krn_array *a) {
  int64_t strides[FNZ_MAX_RANK], rows = p->m;
  uint32_t rank = p->rank;
  matmul_fold(p);
  bool whole = fnz_geometry_numel(&a->geometry) == rows * p->k * batch_size(p, rank);
  if (p->rank == 0 || !stays_put(&p->b, rank) || !whole || fnzi_is_contiguous(&a->window))
    return FNZ_OK;
  p->rank = rank;
  p->m = rows;
  fnzi_contiguous_strides(a->geometry.sizes, a->geometry.rank, strides);
  fnz_dtype dtype = p->a.matrix.kind == FNZI_ROW_F32 ? p->dtype : a->window.dtype;
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, dtype, &p->a.matrix.data));
  matmul_split(&p->a, &a->geometry, strides, LEFT);
  matmul_broadcast(&p->a, p, &a->geometry, strides);
  matmul_fold(p);
  return FNZ_OK;
}

static const void *matmul_moved(const products *p, const factor *f, int64_t index) {
  fnzi_row_kind kind = f->matrix.kind;
  int64_t at = 0;
  for (uint32_t i = p->rank; i-- > 0; index /= p->sizes[i])
    at += index % p->sizes[i] * f->batch[i];
  at *= kind == FNZI_ROW_F32 ? (int64_t)fnzi_dtype(p->dtype)->bytes : fnzi_row_kind_bytes(kind);
  return (const char *)f->matrix.data + at;
}

/* out: NULL if only sizes are needed. */
static void at_index(const products *p, int64_t index, void *out, fnzi_cpu_product *one) {
  *one = (fnzi_cpu_product){.dtype = p->dtype, .m = p->m, .n = p->n, .k = p->k};
  one->a = p->a.matrix, one->b = p->b.matrix;
  one->a.data = matmul_moved(p, &p->a, index);
  one->b.data = matmul_moved(p, &p->b, index);
  if (out)
    one->c = (char *)out + (size_t)(index * p->m * p->n) * fnzi_dtype(p->dtype)->bytes;
  one->c_row = p->n, one->alpha = p->alpha, one->beta = p->beta;
  one->added = p->added;
  one->order = p->order, one->room = p->room, one->room_each = p->room_each;
}

static void run_one(const void *user, int64_t index, int lane) {
  const products *p = user;
  fnzi_cpu_product one;
  at_index(p, index, p->out, &one);
  fnzi_cpu_product_run(&one, lane);
}

static fnz_status open_room(fnzi_krn_call *call, products *p) {
  fnzi_cpu_product one;
  if (!batch_size(p, p->rank))
    return FNZ_OK;
  at_index(p, 0, NULL, &one);
  FNZ_TRY(fnzi_cpu_product_scratch(call, &one));
  p->room = one.room, p->room_each = one.room_each;
  return FNZ_OK;
}

static fnz_status matmul_run(fnzi_krn_call *call, products *p, void *out) {
  int64_t count = batch_size(p, p->rank);
  FNZ_TRY(open_room(call, p));
  if (count != 1) {
    p->out = out;
    fnzi_cpu_rows_spread(call, count, p->m * p->n * (p->k + 1) / ARITHMETIC, run_one, p);
    return FNZ_OK;
  }
  fnzi_cpu_product one;
  at_index(p, 0, out, &one);
  fnzi_cpu_product_use_packed(call, p->second, &one);
  fnzi_cpu_product_run_tiled(&one, call->team);
  return FNZ_OK;
}

/* Fills the result with the tensor to be added, broadcast. */
static fnz_status matmul_fill(fnzi_krn_call *call, const products *p, const fnzi_krn_array *self,
                              void *out) {
  const void *data;
  FNZ_TRY(fnzi_krn_dense_get_as(call, self, p->dtype, &data));
  fnzi_cpu_expand_cells(call, &self->geometry, data, &call->outputs[0]->geometry, out,
                        fnzi_dtype(p->dtype)->bytes);
  return FNZ_OK;
}

/* The tensor to be added is a row as it lies in memory, which panels read themselves. */
static bool is_row(const products *p, const fnzi_krn_array *self) {
  const fnz_geometry *w = &self->window;
  return p->order == FNZI_ORDER_PANELS && w->dtype == FNZ_F32 && w->rank == 1 &&
         w->sizes[0] == p->n && (w->strides[0] == 1 || p->n == 1);
}

/* A factor of 0 keeps NaN of the product out, and there is none of products of nothing. */
static void drop_nothing(products *p) {
  if (p->alpha == 0 || p->k == 0)
    p->k = 0, p->alpha = 1;
}

static fnz_status matmul_finish(fnzi_krn_call *call, products *p, const fnzi_krn_array *first,
                                const fnzi_krn_array *self) {
  void *out;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, p->dtype, &out));
  if (!self || !fnzi_krn_array_numel(call->outputs[0]))
    p->beta = 0;
  if (p->beta != 0 && is_row(p, self))
    p->added = (const float *)(const void *)fnzi_krn_array_data(self);
  else if (p->beta != 0)
    FNZ_TRY(matmul_fill(call, p, self, out));
  drop_nothing(p);
  FNZ_TRY(fold_all(call, p, first));
  return matmul_run(call, p, out);
}

/* mm, bmm, mv, dot, matmul: the ranks decide which. And _int_mm, of bytes. */
fnz_status fnzi_kernel_matmul(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0), *b = fnzi_krn_call_input(call, 1);
  products p = {.alpha = 1};
  bool done = false;
  if (a->geometry.dtype != call->outputs[0]->geometry.dtype)
    FNZ_TRY(fnzi_cpu_matmul_bytes(call, a, b, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(matmul_open(call, a, b, RIGHT, &p));
  return matmul_finish(call, &p, a, NULL);
}

static fnz_status read_factor(const fnzi_krn_call *call, const char *name, double *out) {
  const fnz_arg *number = fnzi_krn_named(call, name);
  if (number && number->tag == FNZ_ARG_COMPLEX && number->u.list[1].u.f != 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "%s is complex; only real factors are computed", name);
  *out = fnzi_krn_named_float(call, name, 1);
  if (number && number->tag == FNZ_ARG_COMPLEX)
    *out = fnzi_krn_number_float(number);
  return FNZ_OK;
}

static fnz_status read_factors(const fnzi_krn_call *call, products *p) {
  FNZ_TRY(read_factor(call, "alpha", &p->alpha));
  return read_factor(call, "beta", &p->beta);
}

/* addmm, baddbmm, addmv. A beta of 0 keeps NaN of the added tensor out. */
fnz_status fnzi_kernel_addmm(fnzi_krn_call *call) {
  products p = {.rank = 0};
  FNZ_TRY(read_factors(call, &p));
  FNZ_TRY(matmul_open(call, fnzi_krn_call_input(call, 1), fnzi_krn_call_input(call, 2), RIGHT, &p));
  return matmul_finish(call, &p, fnzi_krn_call_input(call, 1), fnzi_krn_call_input(call, 0));
}

/* The products of the batch are added one after the other to beta times self. */
fnz_status fnzi_kernel_addbmm(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *a = fnzi_krn_call_input(call, 1);
  products p = {.rank = 1, .sizes = {a->window.sizes[0]}};
  fnzi_cpu_product one;
  void *out;
  FNZ_TRY(read_factors(call, &p));
  FNZ_TRY(open_batch(call, a, fnzi_krn_call_input(call, 2), RIGHT, &p));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, p.dtype, &out));
  if (p.beta != 0 && fnzi_krn_array_numel(call->outputs[0]))
    FNZ_TRY(matmul_fill(call, &p, self, out));
  if (!p.sizes[0]) /* one product of nothing leaves beta times self */
    p.sizes[0] = 1, p.k = 0;
  drop_nothing(&p);
  FNZ_TRY(open_room(call, &p));
  for (int64_t i = 0; i < p.sizes[0]; i++, p.beta = 1) {
    at_index(&p, i, out, &one);
    one.c = out;
    fnzi_cpu_product_run_tiled(&one, call->team);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_linear(fnzi_krn_call *call) {
  products p = {.alpha = 1, .beta = 1};
  FNZ_TRY(matmul_open(call, fnzi_krn_call_input(call, 0), fnzi_krn_call_input(call, 1), TRANSPOSED,
                      &p));
  return matmul_finish(call, &p, fnzi_krn_call_input(call, 0), fnzi_krn_call_input(call, 2));
}
