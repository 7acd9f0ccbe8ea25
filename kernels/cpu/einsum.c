/* einsum.c - sums of products over named dimensions: operand after operand, each step one batch of
 * matrix products of (batch, rows, summed) by (batch, summed, columns). */
#include "kernels/core/window.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matmul.h"
#include "kernels/meta/einsum.h"

/* Row-major elements of the computing type, whose dimensions have names. */
typedef struct named {
  fnzi_meta_labels labels;
  int64_t sizes[FNZ_MAX_RANK];
  const void *data;
} named;

typedef struct state {
  fnzi_krn_call *call;
  const fnzi_meta_einsum *einsum;
  fnz_dtype dtype;
} state;

static fnz_status room(const state *s, const int64_t *sizes, uint32_t rank, void **out) {
  FNZ_TRY(fnzi_krn_sizes_check(s->call->ctx, rank, sizes, fnzi_dtype(s->dtype)->bytes));
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; i++)
    count *= sizes[i];
  return fnzi_krn_room_take(s->call, count, fnzi_dtype(s->dtype)->bytes, out);
}

/* The elements of `from` in the order of these labels; labels that it lacks repeat it, dimensions
 * of size 1 are broadcast. */
static fnz_status arrange(const state *s, const named *from, const fnzi_meta_labels *labels,
                          named *out) {
  int64_t have[FNZ_MAX_RANK], strides[FNZ_MAX_RANK] = {0};
  fnzi_krn_window to, source;
  void *data;
  out->labels = *labels;
  fnzi_contiguous_strides(from->sizes, from->labels.rank, have);
  for (uint32_t i = 0; i < labels->rank; i++) {
    out->sizes[i] = s->einsum->sizes[labels->at[i]];
    for (uint32_t k = 0; k < from->labels.rank; k++)
      if (from->labels.at[k] == labels->at[i] && from->sizes[k] != 1)
        strides[i] += have[k];
  }
  FNZ_TRY(room(s, out->sizes, labels->rank, &data));
  out->data = data;
  fnzi_krn_window_dense(&to, s->dtype, labels->rank, out->sizes, data);
  fnzi_krn_window_dense(&source, s->dtype, labels->rank, out->sizes, from->data);
  memcpy(source.strides, strides, sizeof strides);
  return fnzi_krn_window_assign(s->call, &to, &source, false);
}

static int64_t volume(const state *s, const fnzi_meta_labels *labels, uint32_t first,
                      uint32_t end) {
  int64_t n = 1;
  for (uint32_t i = first; i < end; i++)
    n *= s->einsum->sizes[labels->at[i]];
  return n;
}

static fnz_status push(const state *s, fnzi_meta_labels *labels, uint8_t label) {
  if (labels->rank == FNZ_MAX_RANK)
    return fnzi_krn_call_refuse(s->call, FNZ_CLASS_LIMIT, "an intermediate result of rank above %d",
                                FNZ_MAX_RANK);
  labels->at[labels->rank++] = label;
  return FNZ_OK;
}

/* Some operand behind the k-th or the output still needs the label. */
static bool needed(const fnzi_meta_einsum *e, uint32_t k, uint8_t label) {
  bool yes = fnzi_meta_labels_have(&e->out, label);
  for (uint32_t i = k + 1; i < e->count; i++)
    yes = yes || fnzi_meta_labels_have(&e->operands[i], label);
  return yes;
}

/* The labels of a and b by their part in the product. */
typedef struct parts {
  fnzi_meta_labels left, right,
      out; /* batch rows summed; batch summed columns; batch rows columns */
  uint32_t batch;
  int64_t rows, summed, columns;
} parts;

/* One label that is in `have`, once, if its part is (in both, kept). */
static fnz_status select_labels(const state *s, uint32_t k, const fnzi_meta_labels *have,
                                const fnzi_meta_labels *other, bool both, bool kept,
                                fnzi_meta_labels *out) {
  for (uint32_t i = 0; i < have->rank; i++) {
    uint8_t label = have->at[i];
    if (fnzi_meta_labels_have(other, label) == both && needed(s->einsum, k, label) == kept &&
        !fnzi_meta_labels_have(out, label))
      FNZ_TRY(push(s, out, label));
  }
  return FNZ_OK;
}

/* A label of one operand that the result has not is summed like one of both. */
static fnz_status select_summed(const state *s, uint32_t k, const fnzi_meta_labels *a,
                                const fnzi_meta_labels *b, fnzi_meta_labels *out) {
  FNZ_TRY(select_labels(s, k, a, b, true, false, out));
  FNZ_TRY(select_labels(s, k, a, b, false, false, out));
  return select_labels(s, k, b, a, false, false, out);
}

static fnz_status split(const state *s, uint32_t k, const fnzi_meta_labels *a,
                        const fnzi_meta_labels *b, parts *p) {
  *p = (parts){.batch = 0};
  FNZ_TRY(select_labels(s, k, a, b, true, true, &p->left));
  p->right = p->out = p->left;
  p->batch = p->left.rank;
  FNZ_TRY(select_labels(s, k, a, b, false, true, &p->left));
  FNZ_TRY(select_labels(s, k, a, b, false, true, &p->out));
  p->rows = volume(s, &p->left, p->batch, p->left.rank);
  uint32_t summed = p->left.rank;
  FNZ_TRY(select_summed(s, k, a, b, &p->left));
  FNZ_TRY(select_summed(s, k, a, b, &p->right));
  p->summed = volume(s, &p->left, summed, p->left.rank);
  uint32_t columns = p->right.rank;
  FNZ_TRY(select_labels(s, k, b, a, false, true, &p->right));
  FNZ_TRY(select_labels(s, k, b, a, false, true, &p->out));
  p->columns = volume(s, &p->right, columns, p->right.rank);
  return FNZ_OK;
}

static const void *moved(const void *data, int64_t cells, size_t cell) {
  return (const char *)data + (size_t)cells * cell;
}

/* a := the product of a and b, where b is the k-th operand. */
static fnz_status multiply(const state *s, uint32_t k, named *a, const named *b) {
  size_t cell = fnzi_dtype(s->dtype)->bytes;
  named left, right;
  void *data;
  parts p;
  FNZ_TRY(split(s, k, &a->labels, &b->labels, &p));
  FNZ_TRY(arrange(s, a, &p.left, &left));
  FNZ_TRY(arrange(s, b, &p.right, &right));
  a->labels = p.out;
  for (uint32_t i = 0; i < p.out.rank; i++)
    a->sizes[i] = s->einsum->sizes[p.out.at[i]];
  FNZ_TRY(room(s, a->sizes, p.out.rank, &data));
  a->data = data;
  int64_t count = volume(s, &p.left, 0, p.batch), deep = p.summed > 0 ? p.summed : 1;
  if (s->call->record) {
    const fnzi_krn_products told = {s->dtype, count,     p.rows,     p.columns,
                                    p.summed, left.data, right.data, data};
    return s->call->record->multiply(s->call->record->user, &told);
  }
  fnzi_cpu_product one = {
      .dtype = s->dtype, .m = p.rows, .n = p.columns, .k = p.summed, .alpha = 1};
  one.a = (fnzi_cpu_matrix){.row = deep, .col = 1};
  one.b = (fnzi_cpu_matrix){.row = p.columns > 0 ? p.columns : 1, .col = 1};
  one.c_row = p.columns;
  one.order = fnzi_cpu_product_order(&one, &one.a, &one.b);
  FNZ_TRY(fnzi_cpu_product_room(s->call, &one, &one.room));
  if (p.rows > INT32_MAX || p.columns > INT32_MAX || p.summed > INT32_MAX)
    return fnzi_krn_call_refuse(s->call, FNZ_CLASS_LIMIT,
                                "a product of more than 2^31 rows or columns");
  for (int64_t i = 0; i < count; i++) {
    one.a.data = moved(left.data, i * p.rows * p.summed, cell);
    one.b.data = moved(right.data, i * p.summed * p.columns, cell);
    one.c = (char *)data + (size_t)(i * p.rows * p.columns) * cell;
    fnzi_cpu_product_run_tiled(&one, s->call->threads);
  }
  return FNZ_OK;
}

static fnz_status open_operand(const state *s, uint32_t k, named *out) {
  const fnzi_krn_array *x = fnzi_krn_arg_array(&fnzi_krn_named(s->call, "tensors")->u.list[k]);
  out->labels = s->einsum->operands[k];
  for (uint32_t i = 0; i < x->place.rank; i++)
    out->sizes[i] = x->place.sizes[i];
  return fnzi_krn_dense_get_as(s->call, x, s->dtype, &out->data);
}

/* A single operand is multiplied by one, which sums what the output does not name. */
static fnz_status open_one(const state *s, named *out) {
  const fnz_arg number = {.tag = FNZ_ARG_INT, .u.i = 1};
  fnzi_krn_window to, one;
  unsigned char bytes[16];
  void *data;
  out->labels.rank = 0;
  FNZ_TRY(room(s, NULL, 0, &data));
  out->data = data;
  fnzi_krn_window_dense(&to, s->dtype, 0, NULL, data);
  fnzi_krn_window_number(&number, s->dtype, bytes, &one);
  return fnzi_krn_window_assign(s->call, &to, &one, false);
}

fnz_status fnzi_kernel_einsum(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  fnzi_meta_einsum *e;
  named a, b;
  void *data;
  FNZI_NEW(&call->scratch, 1, &e);
  FNZ_TRY(fnzi_meta_einsum_read(call, e));
  state s = {call, e, FNZ_F32};
  if (!fnzi_cpu_product_dtype(out->place.dtype, &s.dtype))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "there is no product of %s matrices",
                                fnzi_dtype(out->place.dtype)->name);
  if (call->record && e->count == 2) /* sums are wide there, and rounded once */
    s.dtype = out->place.dtype;
  FNZ_TRY(open_operand(&s, 0, &a));
  for (uint32_t k = 1; k < e->count; k++) {
    FNZ_TRY(open_operand(&s, k, &b));
    FNZ_TRY(multiply(&s, k, &a, &b));
  }
  if (e->count == 1) {
    FNZ_TRY(open_one(&s, &b));
    FNZ_TRY(multiply(&s, 0, &a, &b));
  }
  FNZ_TRY(arrange(&s, &a, &e->out, &b));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, s.dtype, &data));
  fnzi_krn_window to, from;
  fnzi_krn_window_dense(&to, s.dtype, out->place.rank, out->place.sizes, data);
  fnzi_krn_window_dense(&from, s.dtype, out->place.rank, out->place.sizes, b.data);
  return fnzi_krn_window_assign(call, &to, &from, false);
}
