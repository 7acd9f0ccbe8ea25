/* einsum.c - sums of products by labels: operands join one after the other, by bmm where labels are
 * summed, else by mul. */
#include "kernels/decomp/decomp.h"
#include "kernels/meta/einsum.h"

/* A tensor whose dimensions have labels. */
typedef struct labelled {
  fnzi_krn_array *a;
  fnzi_meta_labels labels;
} labelled;

typedef struct sum {
  fnzi_dec_steps *s;
  fnzi_meta_einsum e;
} sum;

/* Labels of the result, or of an operand from `from` on. */
static bool is_needed(const sum *x, uint32_t from, uint8_t label) {
  if (fnzi_meta_labels_have(&x->e.out, label))
    return true;
  for (uint32_t i = from; i < x->e.count; i++)
    if (fnzi_meta_labels_have(&x->e.operands[i], label))
      return true;
  return false;
}

/* A label that stands twice is a diagonal. */
static void take_diagonals(const sum *x, labelled *t) {
  fnzi_dec_steps *s = x->s;
  for (uint32_t i = 0; i < t->labels.rank; i++)
    for (uint32_t k = i + 1; k < t->labels.rank; k++) {
      if (t->labels.at[i] != t->labels.at[k])
        continue;
      uint8_t label = t->labels.at[i];
      const fnz_arg args[] = {V(t->a), I(0), I(i), I(k)};
      t->a = fnzi_dec_step(s, FNZI_ATEN_diagonal, args, 4);
      fnzi_meta_labels left = {0};
      for (uint32_t d = 0; d < t->labels.rank; d++)
        if (d != i && d != k)
          left.at[left.rank++] = t->labels.at[d];
      left.at[left.rank++] = label; /* the diagonal is last */
      t->labels = left;
      i = UINT32_MAX; /* from the start; ++ makes it 0 */
      break;
    }
}

/* In the order of `to`, with dimensions of size 1 for labels that it has not. */
static fnzi_krn_array *arranged(const sum *x, const labelled *t, const fnzi_meta_labels *to) {
  fnzi_dec_steps *s = x->s;
  int64_t order[FNZ_MAX_RANK] = {0};
  size_t count = 0;
  bool moves = false;
  for (uint32_t d = 0; d < to->rank; d++)
    for (uint32_t k = 0; k < t->labels.rank; k++)
      if (t->labels.at[k] == to->at[d]) {
        moves = moves || k != count;
        order[count++] = k;
      }
  fnzi_krn_array *a = moves ? STEP(permute, V(t->a), fnzi_dec_ints(s, order, count)) : t->a;
  for (uint32_t d = 0; d < to->rank; d++)
    if (!fnzi_meta_labels_have(&t->labels, to->at[d]))
      a = STEP(unsqueeze, V(a), I(d));
  return a;
}

/* Sums over labels that nothing from operand `from` on needs. */
static void sum_out(const sum *x, labelled *t, uint32_t from, const labelled *other) {
  fnzi_dec_steps *s = x->s;
  int64_t dims[FNZ_MAX_RANK] = {0};
  fnzi_meta_labels left = {0};
  size_t count = 0;
  for (uint32_t d = 0; d < t->labels.rank; d++) {
    uint8_t label = t->labels.at[d];
    if (is_needed(x, from, label) || (other && fnzi_meta_labels_have(&other->labels, label)))
      left.at[left.rank++] = label;
    else
      dims[count++] = d;
  }
  if (count)
    t->a = STEP(sum__dim_IntList, V(t->a), fnzi_dec_ints(s, dims, count));
  t->labels = left;
}

static int64_t size_of(const labelled *t, uint8_t label) {
  for (uint32_t d = 0; d < t->labels.rank; d++)
    if (t->labels.at[d] == label)
      return fnzi_dec_array_size(t->a, d);
  return 1;
}

/* Labels of two tensors by what becomes of them in a product of matrices. */
typedef struct roles {
  fnzi_meta_labels batch, rows, summed, columns;
} roles;

/* False where a product of matrices would have to broadcast what it sums. */
static bool find_roles(const sum *x, const labelled *a, const labelled *b, uint32_t from,
                       roles *r) {
  *r = (roles){.batch = {0}};
  for (uint32_t d = 0; d < a->labels.rank; d++) {
    uint8_t label = a->labels.at[d];
    bool both = fnzi_meta_labels_have(&b->labels, label), stays = is_needed(x, from, label);
    if (both && size_of(a, label) != size_of(b, label))
      return false;
    fnzi_meta_labels *role = !both ? &r->rows : stays ? &r->batch : &r->summed;
    role->at[role->rank++] = label;
  }
  for (uint32_t d = 0; d < b->labels.rank; d++)
    if (!fnzi_meta_labels_have(&a->labels, b->labels.at[d]))
      r->columns.at[r->columns.rank++] = b->labels.at[d];
  return r->summed.rank > 0;
}

static void append(fnzi_meta_labels *to, const fnzi_meta_labels *more) {
  for (uint32_t d = 0; d < more->rank && to->rank < FNZ_MAX_RANK; d++)
    to->at[to->rank++] = more->at[d];
}

static int64_t product_of(fnzi_dec_steps *s, const labelled *t, const fnzi_meta_labels *labels) {
  int64_t product = 1;
  for (uint32_t d = 0; d < labels->rank; d++)
    product = SIZE_TIMES(product, size_of(t, labels->at[d]));
  return product;
}

/* As a batch of matrices. */
static fnzi_krn_array *matrices(const sum *x, const labelled *t, const fnzi_meta_labels *batch,
                                const fnzi_meta_labels *rows, const fnzi_meta_labels *columns) {
  fnzi_meta_labels order = *batch;
  append(&order, rows);
  append(&order, columns);
  const int64_t sizes[] = {product_of(x->s, t, batch), product_of(x->s, t, rows),
                           product_of(x->s, t, columns)};
  return fnzi_dec_viewed(x->s, arranged(x, t, &order), sizes, 3);
}

static labelled multiplied(const sum *x, const labelled *a, const labelled *b, const roles *r) {
  fnzi_dec_steps *s = x->s;
  labelled out = {NULL, r->batch};
  int64_t sizes[FNZ_MAX_RANK] = {0};
  append(&out.labels, &r->rows);
  append(&out.labels, &r->columns);
  fnzi_krn_array *left = matrices(x, a, &r->batch, &r->rows, &r->summed);
  fnzi_krn_array *right = matrices(x, b, &r->batch, &r->summed, &r->columns);
  for (uint32_t d = 0; d < out.labels.rank; d++)
    sizes[d] =
        size_of(fnzi_meta_labels_have(&r->columns, out.labels.at[d]) ? b : a, out.labels.at[d]);
  fnzi_krn_array *y = STEP(bmm, V(left), V(right));
  out.a = fnzi_dec_viewed(s, y, sizes, out.labels.rank);
  return out;
}

DECOMP(einsum) {
  sum x = {.s = s};
  fnzi_dec_status_note(s, fnzi_meta_einsum_read(s->call, &x.e));
  fnz_dtype first = DTYPE_OF(fnzi_dec_given_item(s, "tensors", 0));
  for (size_t k = 1; k < fnzi_dec_given_count(s, "tensors"); k++) {
    fnz_dtype dtype = DTYPE_OF(fnzi_dec_given_item(s, "tensors", k));
    if (dtype != first)
      fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "operand 0 is %s, operand %zu is %s; cast one of them",
                      fnzi_dtype(first)->name, k, fnzi_dtype(dtype)->name);
  }
  if (s->status != FNZ_OK)
    return;
  labelled all = {NULL, {0}};
  for (uint32_t i = 0; i < x.e.count && s->status == FNZ_OK; i++) {
    labelled next = {fnzi_dec_given_item(s, "tensors", i), x.e.operands[i]};
    roles r;
    take_diagonals(&x, &next);
    sum_out(&x, &next, i + 1, i ? &all : NULL);
    if (!i)
      all = next;
    else if (s->status == FNZ_OK && find_roles(&x, &all, &next, i + 1, &r))
      all = multiplied(&x, &all, &next, &r);
    else {
      /* Element by element, broadcast, and then summed. */
      labelled out = {NULL, all.labels};
      for (uint32_t d = 0; d < next.labels.rank; d++)
        if (!fnzi_meta_labels_have(&out.labels, next.labels.at[d]) &&
            out.labels.rank < FNZ_MAX_RANK)
          out.labels.at[out.labels.rank++] = next.labels.at[d];
      out.a = MUL(arranged(&x, &all, &out.labels), arranged(&x, &next, &out.labels));
      sum_out(&x, &out, i + 1, NULL);
      all = out;
    }
  }
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *y = arranged(&x, &all, &x.e.out);
  GIVE(y);
}
