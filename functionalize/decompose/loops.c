/* loops.c - operators that loop over elements, as so many iterations as the loop can take: each is
 * a few operators on all elements at once.
 *
 * needs   geometries, which say how many iterations there may be
 * gives   the numbers of the loop; of cumprod in another order of multiplication */
#include "functionalize/decompose/ways.h"

#include <math.h>

/* --- Divisors --------------------------------------------------------------------------------- */
/* Euclid's iterations for numbers of so many bytes: no more than for two neighbours of Fibonacci's.
 */
static int iterations_of(fnz_dtype dtype) {
  static const int iterations[] = {0, 13, 25, 0, 48, 0, 0, 0, 94};
  size_t bytes = fnzi_dtype(dtype)->bytes;
  return bytes < sizeof iterations / sizeof *iterations ? iterations[bytes] : 0;
}

static fnz_dtype dtype_of_both(const fnzi_krn_array *a, const fnzi_krn_array *b) {
  fnzi_promotion p = {.has_number = false};
  fnzi_promotion_add_tensor(&p, DTYPE_OF(a), fnzi_dec_array_rank(a));
  fnzi_promotion_add_tensor(&p, DTYPE_OF(b), fnzi_dec_array_rank(b));
  return fnzi_promotion_result(&p);
}

/* Euclid's algorithm. Once the smaller number is 0, the other number is the divisor and stays. */
static fnzi_krn_array *divisor(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b,
                               int iterations) {
  for (int i = 0; i < iterations; i++) {
    fnzi_krn_array *is_done = STEP(eq__Scalar, V(b), I(0));
    fnzi_krn_array *rest = STEP(remainder__Tensor, V(a), V(STEP(clamp, V(b), I(1))));
    a = CHOSEN(is_done, a, b);
    b = rest;
  }
  return a;
}

/* In i64, as absolute values: the remainder of a number below 0 has another sign. */
static void two_numbers(fnzi_dec_steps *s, fnzi_krn_array **a, fnzi_krn_array **b) {
  *a = STEP(abs, V(fnzi_dec_cast(s, GIVEN("self"), FNZ_I64)));
  *b = STEP(abs, V(fnzi_dec_cast(s, GIVEN("other"), FNZ_I64)));
}

TAKE_APART(gcd) {
  fnz_dtype dtype = dtype_of_both(GIVEN("self"), GIVEN("other"));
  fnzi_krn_array *a, *b;
  two_numbers(s, &a, &b);
  GIVE(fnzi_dec_cast(s, divisor(s, a, b, iterations_of(dtype)), dtype));
}

TAKE_APART(lcm) {
  fnz_dtype dtype = dtype_of_both(GIVEN("self"), GIVEN("other"));
  fnzi_krn_array *a, *b;
  two_numbers(s, &a, &b);
  fnzi_krn_array *common =
      STEP(clamp, V(divisor(s, a, b, iterations_of(dtype))), I(1)); /* of 0 and 0 */
  fnzi_krn_array *part = STEP(div__Tensor_mode, V(a), V(common), WORD("floor"));
  GIVE(fnzi_dec_cast(s, STEP(abs, V(MUL(part, b))), dtype));
}

/* --- Fractions and exponents ------------------------------------------------------------------ */
/* A number that is being scaled to [1/2, 1), and the exponent so far. */
typedef struct scaling {
  fnzi_krn_array *size, *exponent;
} scaling;

/* Products with powers of two are exact. */
static void scale_where(fnzi_dec_steps *s, scaling *x, fnzi_krn_array *where, int power) {
  fnzi_krn_array *scaled = STEP(mul__Scalar, V(x->size), F(ldexp(1, -power)));
  fnzi_krn_array *more = STEP(mul__Scalar, V(fnzi_dec_cast(s, where, FNZ_I32)), I(power));
  x->size = CHOSEN(where, scaled, x->size);
  x->exponent = x->exponent ? ADD(x->exponent, more) : more;
}

TAKE_APART(frexp) {
  enum { OF_F32 = 64, OF_F64 = 512 };
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  fnzi_krn_array *size = STEP(abs, V(x));
  fnzi_krn_array *whole = STEP(logical_or, V(STEP(eq__Scalar, V(x), I(0))),
                               V(STEP(logical_or, V(STEP(isinf, V(x))), V(STEP(isnan, V(x))))));
  scaling at = {CHOSEN(whole, NUMBER(F(0.5), DTYPE_OF(x)), size), NULL};
  const int largest = DTYPE_OF(x) == FNZ_F64 ? OF_F64 : OF_F32;
  /* The largest step halves what is left; the last two leave less than a doubling. The smallest
   * numbers have further to go, for they are without a leading one. */
  for (int k = largest; k >= 1; k /= 2)
    scale_where(s, &at, STEP(ge__Scalar, V(at.size), F(ldexp(1, k))), k);
  scale_where(s, &at, STEP(lt__Scalar, V(at.size), F(ldexp(1, 1 - largest))), -largest);
  for (int k = largest; k >= 1; k /= 2)
    scale_where(s, &at, STEP(lt__Scalar, V(at.size), F(ldexp(1, 1 - k))), -k);
  scale_where(s, &at, STEP(ge__Scalar, V(at.size), F(1)), 1);
  fnzi_krn_array *below = STEP(lt__Scalar, V(x), I(0));
  fnzi_krn_array *fraction = CHOSEN(below, STEP(neg, V(at.size)), at.size);
  fraction = CHOSEN(whole, x, fraction);
  GIVE(fnzi_dec_cast(s, fraction, DTYPE_OF(self)));
  GIVE(at.exponent);
}

/* --- Running products ------------------------------------------------------------------------- */
/* The elements `by` places back along a dimension, ones at its start. */
static fnzi_krn_array *delayed(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim, int64_t by) {
  int64_t padding[2 * FNZ_MAX_RANK] = {0}, rank = RANK(a);
  if (dim < rank)
    padding[2 * (rank - 1 - dim)] = by;
  fnzi_krn_array *front = STEP(slice__Tensor, V(a), I(dim), I(0), I(SIZE(a, dim) - by), I(1));
  return STEP(constant_pad_nd, V(front), fnzi_dec_ints(s, padding, (size_t)(2 * (rank - dim))),
              I(1));
}

/* Products of 1, 2, 4 ... elements, each of two of the iteration before. */
TAKE_APART(cumprod) {
  fnzi_krn_array *self = GIVEN("self");
  int64_t dim = fnzi_dec_given_dim(s, "dim", self), size = RANK(self) ? SIZE(self, dim) : 1;
  bool is_exact = DTYPE_OF(self) == FNZ_BOOL || fnzi_is_integer(DTYPE_OF(self));
  fnz_dtype dtype = fnzi_krn_named_dtype(s->call, "dtype", is_exact ? FNZ_I64 : DTYPE_OF(self));
  fnzi_krn_array *a = fnzi_dcm_widened(s, fnzi_dec_cast(s, self, dtype));
  for (int64_t by = 1; by < size; by += by)
    a = MUL(a, delayed(s, a, dim, by));
  a = fnzi_dec_cast(s, a, dtype);
  GIVE(a == self ? STEP(clone, V(a)) : a);
}

/* --- Searches --------------------------------------------------------------------------------- */
/* Counts the elements of each row that are less than a number or, with `right`, at most equal to
 * it. */
static void give_found(fnzi_dec_steps *s, fnzi_krn_array *row, fnzi_krn_array *wanted, bool right) {
  fnz_arg number = AS_GIVEN("self");
  if (row && RANK(row) > 1 && wanted)
    row = STEP(unsqueeze, V(row), I(-2));
  wanted = wanted ? STEP(unsqueeze, V(wanted), I(-1)) : NULL;
  fnzi_krn_array *behind = wanted && right ? STEP(gt__Tensor, V(row), V(wanted))
                           : wanted        ? STEP(ge__Tensor, V(row), V(wanted))
                           : right         ? STEP(gt__Scalar, V(row), number)
                                           : STEP(ge__Scalar, V(row), number);
  fnzi_krn_array *count =
      STEP(sum__dim_IntList, V(STEP(logical_not, V(behind))), INTS(-1), B(false));
  GIVE(fnzi_dec_cast(s, count, GIVEN_BOOL("out_int32") ? FNZ_I32 : FNZ_I64));
}

TAKE_APART(searchsorted) {
  fnzi_krn_array *row = GIVEN("sorted_sequence"), *order = GIVEN("sorter");
  const char *side = fnzi_krn_named_string(s->call, "side");
  row = order ? STEP(gather, V(row), I(-1), V(order)) : row;
  give_found(s, row, GIVEN("self"), *side ? strcmp(side, "right") == 0 : GIVEN_BOOL("right"));
}

TAKE_APART(bucketize) {
  give_found(s, GIVEN("boundaries"), GIVEN("self"), GIVEN_BOOL("right"));
}
