/* products.c - products of matrices and vectors by mm, bmm and sums. */
#include "functionalize/decompose/ways.h"

/* --- matmul ----------------------------------------------------------------------------------- */
static fnzi_krn_array *summed_product(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b,
                                      int64_t dim) {
  return STEP(sum__dim_IntList, V(MUL(a, b)), INTS(dim));
}

/* Batches of rows times one matrix or vector: all rows at once. */
static fnzi_krn_array *folded(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b) {
  int64_t sizes[FNZ_MAX_RANK], rank = RANK(a), rows = 1;
  for (int64_t d = 0; d + 1 < rank; d++)
    rows = SIZE_TIMES(rows, sizes[d] = SIZE(a, d));
  const int64_t flat[] = {rows, SIZE(a, -1)};
  fnzi_krn_array *matrix = fnzi_dec_viewed(s, a, flat, 2);
  if (RANK(b) == 1)
    return fnzi_dec_viewed(s, summed_product(s, matrix, b, 1), sizes, (size_t)rank - 1);
  sizes[rank - 1] = SIZE(b, 1);
  return fnzi_dec_viewed(s, STEP(mm, V(matrix), V(b)), sizes, (size_t)rank);
}

/* One batch of matrices, broadcast. */
static fnzi_krn_array *batched(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *batch,
                               int64_t rank, int64_t count) {
  int64_t sizes[FNZ_MAX_RANK];
  for (int64_t d = 0; d < rank; d++)
    sizes[d] = batch[d];
  sizes[rank] = SIZE(a, -2);
  sizes[rank + 1] = SIZE(a, -1);
  const int64_t flat[] = {count, SIZE(a, -2), SIZE(a, -1)};
  return fnzi_dec_viewed(s, fnzi_dcm_expanded(s, a, sizes, (size_t)rank + 2), flat, 3);
}

/* a @ b if both have two or more dimensions. */
static fnzi_krn_array *product_of_matrices(fnzi_dec_steps *s, fnzi_krn_array *a,
                                           fnzi_krn_array *b) {
  if (RANK(a) == 2 && RANK(b) == 2)
    return STEP(mm, V(a), V(b));
  if (RANK(b) == 2)
    return folded(s, a, b);
  int64_t sizes[FNZ_MAX_RANK], count = 1;
  int64_t in_a = RANK(a) - 2, in_b = RANK(b) - 2, rank = in_a > in_b ? in_a : in_b;
  for (int64_t d = 0; d < rank; d++) {
    int64_t x = d < rank - in_a ? 1 : SIZE(a, d - (rank - in_a));
    int64_t y = d < rank - in_b ? 1 : SIZE(b, d - (rank - in_b));
    sizes[d] = x == 1 ? y : x;
    count = SIZE_TIMES(count, sizes[d]);
  }
  sizes[rank] = SIZE(a, -2);
  sizes[rank + 1] = SIZE(b, -1);
  fnzi_krn_array *left = batched(s, a, sizes, rank, count);
  fnzi_krn_array *right = batched(s, b, sizes, rank, count);
  return fnzi_dec_viewed(s, STEP(bmm, V(left), V(right)), sizes, (size_t)rank + 2);
}

fnzi_krn_array *fnzi_dcm_product(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b) {
  int64_t in_a = RANK(a), in_b = RANK(b);
  if (!in_a || !in_b)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "a factor has no dimension; both need one");
  if (s->status != FNZ_OK)
    return NULL;
  if (in_a <= 2 && in_b == 1)
    return summed_product(s, a, b, in_a - 1);
  if (in_a >= 3 && in_b == 1)
    return folded(s, a, b);
  if (in_a != 1)
    return product_of_matrices(s, a, b);
  /* A vector on the left is a row. */
  fnzi_krn_array *y = product_of_matrices(s, STEP(unsqueeze, V(a), I(0)), b);
  return STEP(squeeze__dim, V(y), I(-2));
}

TAKE_APART(matmul) {
  GIVE(fnzi_dcm_product(s, fnzi_krn_call_input(s->call, 0), fnzi_krn_call_input(s->call, 1)));
}

TAKE_APART(mv) {
  GIVE(summed_product(s, GIVEN("self"), GIVEN("vec"), 1));
}

TAKE_APART(dot) {
  GIVE(summed_product(s, GIVEN("self"), GIVEN("tensor"), 0));
}

/* --- with a sum ------------------------------------------------------------------------------- */
TAKE_APART(linear) {
  fnzi_krn_array *x = GIVEN("input"), *weight = GIVEN("weight"), *bias = GIVEN("bias");
  int64_t sizes[FNZ_MAX_RANK], rank = RANK(x), rows = 1;
  bool is_matrix = RANK(weight) == 2;
  fnzi_krn_array *factor = is_matrix ? fnzi_dcm_swapped(s, weight, 0, 1) : weight;
  if (!bias || !is_matrix || rank < 2 || RANK(bias) != 1) {
    fnzi_krn_array *y = fnzi_dcm_product(s, x, factor);
    GIVE(bias ? ADD(y, bias) : y);
    return;
  }
  for (int64_t d = 0; d + 1 < rank; d++)
    rows = SIZE_TIMES(rows, sizes[d] = SIZE(x, d));
  sizes[rank - 1] = SIZE(weight, 0);
  const int64_t flat[] = {rows, SIZE(x, -1)};
  fnzi_krn_array *matrix = fnzi_dec_viewed(s, x, flat, 2);
  GIVE(fnzi_dec_viewed(s, STEP(addmm, V(bias), V(matrix), V(factor)), sizes, (size_t)rank));
}

/* beta * self + alpha * product, without factors of 1. */
static void products_give_sum(fnzi_dec_steps *s, fnzi_krn_array *product) {
  fnz_arg alpha = AS_GIVEN("alpha"), beta = AS_GIVEN("beta");
  fnzi_krn_array *self = GIVEN("self");
  if (fnzi_krn_number_float(&alpha) != 1)
    product = STEP(mul__Scalar, V(product), alpha);
  if (fnzi_krn_number_float(&beta) == 0) {
    GIVE(product);
    return;
  }
  if (fnzi_krn_number_float(&beta) != 1)
    self = STEP(mul__Scalar, V(self), beta);
  GIVE(ADD(self, product));
}

TAKE_APART(addmm) {
  products_give_sum(s, STEP(mm, V(GIVEN("mat1")), V(GIVEN("mat2"))));
}

TAKE_APART(baddbmm) {
  products_give_sum(s, STEP(bmm, V(GIVEN("batch1")), V(GIVEN("batch2"))));
}

TAKE_APART(addmv) {
  products_give_sum(s, summed_product(s, GIVEN("mat"), GIVEN("vec"), 1));
}

TAKE_APART(addbmm) {
  fnzi_krn_array *all = STEP(bmm, V(GIVEN("batch1")), V(GIVEN("batch2")));
  products_give_sum(s, STEP(sum__dim_IntList, V(all), INTS(0)));
}

/* A column times a row. */
TAKE_APART(addr) {
  products_give_sum(s, MUL(STEP(unsqueeze, V(GIVEN("vec1")), I(1)), GIVEN("vec2")));
}

TAKE_APART(mm_of_bytes) {
  GIVE(STEP(mm, V(fnzi_dec_cast(s, GIVEN("self"), FNZ_I32)),
            V(fnzi_dec_cast(s, GIVEN("mat2"), FNZ_I32))));
}
