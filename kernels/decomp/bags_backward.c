/* bags_backward.c - what flows back through embedding bags: to the rows that were picked, and to
 * the weights that they were summed with. */
#include "kernels/decomp/decomp.h"

enum { SUM, MEAN, MAX };

typedef struct bag_grad {
  fnzi_krn_array *grad, *index, *bag; /* of each bag; of each index: its row, and its bag */
  int64_t mode, rows, count, width, padding;
} bag_grad;

static bag_grad open_bags(fnzi_dec_steps *s) {
  bag_grad b = {.grad = fnzi_dec_given_array(s, "grad"),
                .index = fnzi_dec_given_array(s, "indices"),
                .mode = fnzi_krn_named_int(s->call, "mode", SUM),
                .rows = fnzi_krn_named_int(s->call, "num_weights", 0),
                .padding = fnzi_krn_named_int(s->call, "padding_idx", -1)};
  b.count = fnzi_dec_array_numel(b.index);
  b.width = fnzi_dec_array_size(b.grad, 1);
  b.bag = fnzi_dec_given_array(s, "offset2bag");
  fnzi_krn_array *offsets = fnzi_dec_given_array(s, "offsets");
  if (offsets && fnzi_dec_array_numel(b.bag) != b.count) {
    /* The bag of each index follows from where the bags begin. */
    fnzi_krn_array *places = STEP(arange, I(b.count));
    b.bag = STEP(bucketize__Tensor, V(places), V(offsets), B(false), B(true));
    b.bag = STEP(sub__Scalar, V(b.bag), I(1));
  }
  fnzi_dec_need_floats(s, "grad", fnzi_dec_array_dtype(b.grad));
  if (fnzi_dec_array_rank(b.grad) != 2 || fnzi_dec_array_rank(b.index) != 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "grad has %u dimensions, indices %u; they need 2 and 1",
                    fnzi_dec_array_rank(b.grad), fnzi_dec_array_rank(b.index));
  if (b.mode < SUM || b.mode > MAX)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "mode is %lld; it must be 0, 1 or 2", (long long)b.mode);
  if (b.mode != MAX && fnzi_dec_array_numel(b.bag) != b.count)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "offset2bag has %lld elements for %lld indices",
                    (long long)fnzi_dec_array_numel(b.bag), (long long)b.count);
  return b;
}

/* A number for each index as a column. */
static fnzi_krn_array *column(fnzi_dec_steps *s, const bag_grad *b, fnzi_krn_array *a) {
  return RESHAPED(fnzi_dec_cast(s, a, fnzi_dec_array_dtype(b->grad)), b->count, 1);
}

static fnzi_krn_array *of_sums(fnzi_dec_steps *s, const bag_grad *b) {
  fnzi_krn_array *each = STEP(index_select, V(b->grad), I(0), V(b->bag));
  fnzi_krn_array *scale = fnzi_dec_given_array(s, "per_sample_weights");
  if (scale && b->mode != SUM)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    "per_sample_weights are given, and mode is %lld; only sums (0) have them",
                    (long long)b->mode);
  if (scale)
    each = MUL(each, column(s, b, scale));
  if (fnzi_krn_named_bool(s->call, "scale_grad_by_freq", false)) {
    /* How often the row of each index is picked, by all of them. */
    fnzi_krn_array *counts = STEP(zeros, INTS(b->rows), DTYPE(FNZ_I64));
    fnzi_krn_array *ones = STEP(ones_like, V(b->index), DTYPE(FNZ_I64));
    counts = STEP(index_add, V(counts), I(0), V(b->index), V(ones));
    counts = STEP(index_select, V(counts), I(0), V(b->index));
    each = DIV(each, column(s, b, counts));
  }
  if (b->mode == MEAN) {
    fnzi_krn_array *sizes = fnzi_dec_given_array(s, "bag_size");
    each = DIV(each, column(s, b, STEP(index_select, V(sizes), I(0), V(b->bag))));
  }
  each = STEP(masked_fill__Scalar, V(each),
              V(RESHAPED(STEP(eq__Scalar, V(b->index), I(b->padding)), b->count, 1)), I(0));
  fnzi_krn_array *zeros = STEP(new_zeros, V(b->grad), INTS(b->rows, b->width));
  return STEP(index_add, V(zeros), I(0), V(b->index), V(each));
}

/* To the largest of each column; a bag without any gets nothing. */
static fnzi_krn_array *of_largest(fnzi_dec_steps *s, const bag_grad *b) {
  fnzi_krn_array *largest = fnzi_dec_cast(s, fnzi_dec_given_array(s, "maximum_indices"), FNZ_I64);
  fnzi_krn_array *sizes = fnzi_dec_given_array(s, "bag_size");
  fnzi_krn_array *none = RESHAPED(STEP(eq__Scalar, V(sizes), I(0)), fnzi_dec_array_numel(sizes), 1);
  fnzi_krn_array *grad = STEP(masked_fill__Scalar, V(b->grad), V(none), I(0));
  fnzi_krn_array *zeros = STEP(new_zeros, V(b->grad), INTS(b->rows, b->width));
  return STEP(scatter_add, V(zeros), I(0), V(largest), V(grad));
}

DECOMP(bag_backward) {
  bag_grad b = open_bags(s);
  if (fnzi_krn_named_bool(s->call, "sparse", false))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "sparse is True; gradients are dense, export with sparse=False");
  if (s->status == FNZ_OK)
    fnzi_dec_result_give(s, b.mode == MAX ? of_largest(s, &b) : of_sums(s, &b));
}

/* Each weight was multiplied by its row. */
DECOMP(bag_weights_backward) {
  bag_grad b = open_bags(s);
  if (b.mode != SUM)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "mode is %lld; only sums (0) have per-sample weights",
                    (long long)b.mode);
  fnzi_krn_array *rows = STEP(index_select, V(fnzi_dec_given_array(s, "weight")), I(0), V(b.index));
  fnzi_krn_array *each = STEP(index_select, V(b.grad), I(0), V(b.bag));
  fnzi_krn_array *sums = STEP(sum__dim_IntList, V(MUL(each, rows)), INTS(1));
  fnzi_krn_array *skip = STEP(eq__Scalar, V(b.index), I(b.padding));
  fnzi_dec_result_give(s, STEP(masked_fill__Scalar, V(sums), V(skip), I(0)));
}
