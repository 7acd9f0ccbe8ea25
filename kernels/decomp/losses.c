/* losses.c - losses, and the distances that some of them are of. Each is what eager computes, step
 * for step; "reduction" comes last. */
#include "kernels/decomp/decomp.h"

#include <float.h>

static fnzi_krn_array *zeros_like(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return STEP(zeros_like, V(a));
}

static fnzi_krn_array *losses_plus(fnzi_dec_steps *s, fnzi_krn_array *a, double number) {
  return number == 0 ? a : STEP(add__Scalar, V(a), F(number));
}

/* number - a */
static fnzi_krn_array *from_number(fnzi_dec_steps *s, double number, fnzi_krn_array *a) {
  return STEP(rsub__Scalar, V(a), F(number));
}

static fnzi_krn_array *losses_at_least(fnzi_dec_steps *s, fnzi_krn_array *a, double number) {
  return STEP(clamp_min, V(a), F(number));
}

static fnzi_krn_array *losses_summed(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim) {
  return STEP(sum__dim_IntList, V(a), INTS(dim));
}

/* --- Differences -------------------------------------------------------------------------- */
/* The type that both tensors promote to. */
static fnz_dtype common_dtype(const fnzi_dec_steps *s) {
  const fnzi_krn_array *both[] = {GIVEN("self"), GIVEN("target")};
  fnzi_promotion p = {0};
  for (size_t i = 0; i < 2; i++)
    fnzi_promotion_add_tensor(&p, DTYPE_OF(both[i]), fnzi_dec_array_rank(both[i]));
  return fnzi_promotion_result(&p);
}

/* In f32 if the types are narrower. */
static fnzi_krn_array *difference(fnzi_dec_steps *s) {
  fnz_dtype dtype = common_dtype(s);
  if (!fnzi_is_float(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "not for %s; cast to f32 or f64", fnzi_dtype(dtype)->name);
  return SUB(fnzi_dec_cast(s, GIVEN("self"), fnzi_dec_wide(dtype)),
             fnzi_dec_cast(s, GIVEN("target"), fnzi_dec_wide(dtype)));
}

static void losses_give_loss(fnzi_dec_steps *s, fnzi_krn_array *each, fnz_dtype dtype) {
  GIVE(fnzi_dec_by_reduction(s, fnzi_dec_cast(s, each, dtype)));
}

DECOMP(mse_loss) {
  losses_give_loss(s, STEP(pow__Tensor_Scalar, V(difference(s)), I(2)), common_dtype(s));
}

DECOMP(l1_loss) {
  GIVE(fnzi_dec_by_reduction(s, STEP(abs, V(SUB(GIVEN("self"), GIVEN("target"))))));
}

/* Half of the square, for `size` that is not negative. */
static fnzi_krn_array *half_square(fnzi_dec_steps *s, fnzi_krn_array *size) {
  return MUL(fnzi_dec_times(s, size, 0.5), size);
}

/* Half of the square up to `edge`, from there on edge (size - edge / 2). If m is the lesser of
 * both, m (size - m / 2) has the bits of both, because half of a float is exact. */
static fnzi_krn_array *bent(fnzi_dec_steps *s, fnzi_krn_array *size, double edge) {
  if (edge > FLT_MAX) /* m may be infinite */
    return CHOSEN(STEP(le__Scalar, V(size), F(edge)), half_square(s, size),
                  fnzi_dec_times(s, losses_plus(s, size, -0.5 * edge), edge));
  fnzi_krn_array *m = STEP(clamp_max, V(size), F(edge));
  return MUL(STEP(sub__Tensor, V(size), V(m), F(0.5)), m);
}

DECOMP(smooth_l1_loss) {
  double beta = fnzi_krn_named_float(s->call, "beta", 1);
  if (!(beta >= 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "beta is %g; it must be 0 or more", beta);
  fnzi_krn_array *size = STEP(abs, V(difference(s)));
  if (beta == 1)
    size = bent(s, size, 1);
  else if (beta > 0)
    size = CHOSEN(STEP(lt__Scalar, V(size), F(beta)),
                  STEP(div__Scalar, V(half_square(s, size)), F(beta)),
                  losses_plus(s, size, -0.5 * beta));
  losses_give_loss(s, size, common_dtype(s));
}

/* In the type of self, whatever the target's. */
DECOMP(huber_loss) {
  double delta = fnzi_krn_named_float(s->call, "delta", 1);
  if (!(delta > 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "delta is %g; it must be above 0", delta);
  fnzi_krn_array *size = STEP(abs, V(difference(s)));
  losses_give_loss(s, bent(s, size, delta), DTYPE_OF(GIVEN("self")));
}

/* --- Probabilities ----------------------------------------------------------------------- */
/* (target - 1) max(log(1 - x), -100) - target max(log x, -100) */
DECOMP(binary_cross_entropy) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *target = fnzi_dec_given_array(s, "target");
  fnzi_krn_array *weight = fnzi_dec_given_array(s, "weight");
  if (!fnzi_is_float(fnzi_dec_array_dtype(x)))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s; it must be of a floating-point type",
                    fnzi_dtype(fnzi_dec_array_dtype(x))->name);
  if (fnzi_dec_array_dtype(x) != fnzi_dec_array_dtype(target))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s, target %s; both must be the same",
                    fnzi_dtype(fnzi_dec_array_dtype(x))->name,
                    fnzi_dtype(fnzi_dec_array_dtype(target))->name);
  if (!fnzi_same_sizes(&x->geometry, &target->geometry))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "self and target have %lld and %lld elements in %u and %u "
                    "dimensions; both must have the same sizes",
                    (long long)fnzi_dec_array_numel(x), (long long)fnzi_dec_array_numel(target),
                    fnzi_dec_array_rank(x), fnzi_dec_array_rank(target));
  if (fnzi_dec_can_look(s)) {
    const void *data = NULL;
    s->status = fnzi_krn_dense_get_as(s->call, x, FNZ_F64, &data);
    int64_t count = s->status == FNZ_OK ? fnzi_dec_array_numel(x) : 0;
    for (int64_t i = 0; i < count; i++) {
      double one = ((const double *)data)[i];
      if (!(one >= 0 && one <= 1))
        fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %g at place %lld; it must be from 0 to 1",
                        one, (long long)i);
    }
  }
  fnzi_krn_array *no = losses_at_least(s, STEP(log1p, V(STEP(neg, V(x)))), -100);
  fnzi_krn_array *yes = losses_at_least(s, STEP(log, V(x)), -100);
  fnzi_krn_array *loss = SUB(MUL(losses_plus(s, target, -1), no), MUL(target, yes));
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, weight ? MUL(loss, weight) : loss));
}

DECOMP(binary_cross_entropy_with_logits) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *target = fnzi_dec_given_array(s, "target");
  fnzi_krn_array *weight = fnzi_dec_given_array(s, "weight"),
                 *positive = fnzi_dec_given_array(s, "pos_weight");
  fnzi_krn_array *log_sigmoid = STEP(log_sigmoid, V(x));
  if (positive)
    log_sigmoid = MUL(log_sigmoid, losses_plus(s, MUL(losses_plus(s, positive, -1), target), 1));
  fnzi_krn_array *loss = SUB(MUL(from_number(s, 1, target), x), log_sigmoid);
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, weight ? MUL(loss, weight) : loss));
}

DECOMP(kl_div) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *target = fnzi_dec_given_array(s, "target");
  fnzi_krn_array *loss = fnzi_krn_named_bool(s->call, "log_target", false)
                             ? MUL(STEP(exp, V(target)), SUB(target, x))
                             : SUB(STEP(xlogy__Tensor, V(target), V(target)), MUL(target, x));
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, loss));
}

/* The result of log_sigmoid, and the buffer for its backward. */
DECOMP(log_sigmoid_forward) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self");
  fnzi_dec_result_give(s, STEP(log_sigmoid, V(x)));
  fnzi_krn_array *kept = STEP(exp, V(STEP(neg, V(STEP(abs, V(x))))));
  fnzi_dec_result_give(s, STEP(clone, V(kept), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}));
}

/* --- Margins ----------------------------------------------------------------------------- */
DECOMP(soft_margin_loss) {
  fnzi_krn_array *product =
      MUL(STEP(neg, V(fnzi_dec_given_array(s, "target"))), fnzi_dec_given_array(s, "self"));
  product = fnzi_dec_written_over(s, product, STEP(log1p, V(STEP(exp, V(product)))));
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, product));
}

DECOMP(hinge_embedding_loss) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *target = fnzi_dec_given_array(s, "target");
  fnzi_krn_array *zeros = zeros_like(s, x);
  fnzi_krn_array *full = STEP(full_like, V(x), *fnzi_krn_named(s->call, "margin"));
  fnzi_krn_array *margin = STEP(clamp_min, V(SUB(full, x)), I(0));
  fnzi_krn_array *other = CHOSEN(STEP(ne__Scalar, V(target), I(1)), margin, zeros);
  fnzi_krn_array *same = CHOSEN(STEP(ne__Scalar, V(target), I(-1)), x, zeros);
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, ADD(other, same)));
}

DECOMP(margin_ranking_loss) {
  fnzi_krn_array *apart = SUB(fnzi_dec_given_array(s, "input1"), fnzi_dec_given_array(s, "input2"));
  fnzi_krn_array *loss = MUL(STEP(neg, V(fnzi_dec_given_array(s, "target"))), apart);
  loss = losses_plus(s, loss, fnzi_krn_named_float(s->call, "margin", 0));
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, losses_at_least(s, loss, 0)));
}

/* --- Several labels ---------------------------------------------------------------------- */
static void check_multilabel(fnzi_dec_steps *s, const fnzi_krn_array *x,
                             const fnzi_krn_array *target) {
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  if ((dtype != FNZ_F32 && dtype != FNZ_F64) || fnzi_dec_array_dtype(target) != FNZ_I64)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s, target %s; they must be f32 or f64, and i64",
                    fnzi_dtype(dtype)->name, fnzi_dtype(fnzi_dec_array_dtype(target))->name);
  if (x && target &&
      (fnzi_dec_array_rank(x) > 2 || !fnzi_same_sizes(&x->geometry, &target->geometry)))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "self and target must have the same sizes, in at most 2 "
                    "dimensions");
  if (fnzi_dec_array_numel(x) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has no elements");
  /* Labels are indices that end where the first -1 is. */
  int64_t classes = fnzi_dec_array_rank(x) ? fnzi_dec_array_size(x, -1) : 1;
  const void *data = NULL;
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get(s->call, target, &data);
  for (int64_t i = 0; data && i < fnzi_dec_array_numel(target); i++) {
    int64_t label = ((const int64_t *)data)[i];
    if (label < -1 || label >= classes)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "target has label %lld; it must be from -1 to %lld",
                      (long long)label, (long long)classes - 1);
  }
}

/* Every label against every class that is none. Returns which classes are labels. */
static fnzi_krn_array *multilabel(fnzi_dec_steps *s, fnzi_krn_array **loss) {
  fnzi_krn_array *given = fnzi_dec_given_array(s, "self"),
                 *target = fnzi_dec_given_array(s, "target");
  check_multilabel(s, given, target);
  int64_t classes = fnzi_dec_array_rank(given) ? fnzi_dec_array_size(given, -1) : 1;
  int64_t rows = classes ? fnzi_dec_array_numel(given) / classes : 0;
  fnzi_krn_array *x = RESHAPED(given, rows, classes), *at = RESHAPED(target, rows, classes);
  fnzi_krn_array *ends = STEP(cumsum, V(STEP(lt__Scalar, V(at), I(0))), I(1));
  fnzi_krn_array *counts = STEP(eq__Scalar, V(ends), I(0));
  at = STEP(clamp_min, V(at), I(0));
  fnzi_krn_array *times = STEP(scatter_add, V(STEP(zeros_like, V(ends))), I(1), V(at),
                               V(fnzi_dec_cast(s, counts, FNZ_I64)));
  fnzi_krn_array *is_label = STEP(gt__Scalar, V(times), I(0));
  fnzi_krn_array *mine = STEP(unsqueeze, V(STEP(gather, V(x), I(1), V(at))), I(2));
  fnzi_krn_array *margin = ADD(from_number(s, 1, mine), STEP(unsqueeze, V(x), I(1)));
  fnzi_krn_array *on = STEP(logical_and, V(STEP(unsqueeze, V(counts), I(2))),
                            V(STEP(unsqueeze, V(STEP(logical_not, V(is_label))), I(1))));
  on = STEP(logical_and, V(on), V(STEP(gt__Scalar, V(margin), I(0))));
  margin = STEP(where__ScalarOther, V(on), V(margin), F(0));
  *loss = STEP(div__Scalar, V(STEP(sum__dim_IntList, V(margin), INTS(1, 2))), I(classes));
  *loss = fnzi_dec_by_reduction(
      s, fnzi_dec_array_rank(given) < 2 ? fnzi_dec_reshaped(s, *loss, NULL, 0) : *loss);
  is_label = fnzi_dec_cast(s, is_label, fnzi_dec_array_dtype(given));
  return given ? fnzi_dec_reshaped(s, is_label, given->geometry.sizes, fnzi_dec_array_rank(given))
               : NULL;
}

DECOMP(multilabel_margin_loss) {
  fnzi_krn_array *loss;
  (void)multilabel(s, &loss);
  fnzi_dec_result_give(s, loss);
}

DECOMP(multilabel_margin_loss_forward) {
  fnzi_krn_array *loss, *is_label = multilabel(s, &loss);
  fnzi_dec_result_give(s, loss);
  fnzi_dec_result_give(s, is_label);
}

/* 1, or the weight of each of `count` losses in their mean. */
static double losses_share(const fnzi_dec_steps *s, int64_t count) {
  enum { MEAN = 1 };
  return fnzi_krn_named_int(s->call, "reduction", MEAN) == MEAN ? 1 / (double)count : 1;
}

/* A gradient of the loss, or of each row's, so that it broadcasts to rows of classes. */
static fnzi_krn_array *losses_by_rows(fnzi_dec_steps *s, fnzi_krn_array *grad, int64_t rows) {
  int64_t count = fnzi_dec_array_numel(grad);
  if (count != 1 && count != rows)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "grad_output has %lld elements for %lld rows; it needs "
                    "as many, or one",
                    (long long)count, (long long)rows);
  return RESHAPED(grad, count, 1);
}

/* Each label loses what it is too near to each class that is none, which wins it. */
DECOMP(multilabel_margin_backward) {
  fnzi_krn_array *given = fnzi_dec_given_array(s, "self"),
                 *target = fnzi_dec_given_array(s, "target");
  check_multilabel(s, given, target);
  int64_t classes = fnzi_dec_array_rank(given) ? fnzi_dec_array_size(given, -1) : 1;
  int64_t rows = classes ? fnzi_dec_array_numel(given) / classes : 0;
  fnzi_krn_array *x = RESHAPED(given, rows, classes), *at = RESHAPED(target, rows, classes);
  fnzi_krn_array *is_label = RESHAPED(fnzi_dec_given_array(s, "is_target"), rows, classes);
  fnzi_krn_array *ends = STEP(cumsum, V(STEP(lt__Scalar, V(at), I(0))), I(1));
  fnzi_krn_array *counts = STEP(eq__Scalar, V(ends), I(0));
  at = STEP(clamp_min, V(at), I(0));
  fnzi_krn_array *mine = STEP(unsqueeze, V(STEP(gather, V(x), I(1), V(at))), I(2));
  fnzi_krn_array *margin = ADD(from_number(s, 1, mine), STEP(unsqueeze, V(x), I(1)));
  fnzi_krn_array *on = STEP(logical_and, V(STEP(unsqueeze, V(counts), I(2))),
                            V(STEP(unsqueeze, V(STEP(logical_not, V(is_label))), I(1))));
  on = STEP(logical_and, V(on), V(STEP(gt__Scalar, V(margin), I(0))));
  on = fnzi_dec_cast(s, on, fnzi_dec_array_dtype(given));
  fnzi_krn_array *back = losses_summed(s, on, 1);
  back = STEP(scatter_add, V(back), I(1), V(at), V(STEP(neg, V(losses_summed(s, on, 2)))));
  back = fnzi_dec_times(s, back, losses_share(s, rows) / (double)(classes ? classes : 1));
  back = MUL(back, losses_by_rows(s, fnzi_dec_given_array(s, "grad_output"), rows));
  if (given)
    fnzi_dec_result_give(
        s, fnzi_dec_reshaped(s, back, given->geometry.sizes, fnzi_dec_array_rank(given)));
}

DECOMP(poisson_nll_loss) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "input"), *target = fnzi_dec_given_array(s, "target"),
                 *loss;
  if (fnzi_krn_named_bool(s->call, "log_input", true)) {
    loss = SUB(STEP(exp, V(x)), MUL(target, x));
  } else {
    fnzi_krn_array *log =
        STEP(log, V(STEP(add__Scalar, V(x), F(fnzi_krn_named_float(s->call, "eps", 0)))));
    loss = SUB(x, MUL(target, log));
  }
  if (fnzi_krn_named_bool(s->call, "full", false)) {
    fnzi_krn_array *stirling = SUB(MUL(target, STEP(log, V(target))), target);
    fnzi_krn_array *rest =
        fnzi_dec_times(s, STEP(log, V(fnzi_dec_times(s, target, 2 * 3.14159265358979323846))), 0.5);
    fnzi_krn_array *small = STEP(le__Scalar, V(target), I(1));
    loss = ADD(loss, STEP(masked_fill__Scalar, V(ADD(stirling, rest)), V(small), I(0)));
  }
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, loss));
}

/* Scores of each row for every class, and the class that it is of. */
typedef struct scores {
  fnzi_krn_array *x, *at, *margin, *weight; /* the last two by rows; NULL: no weight */
  int64_t rows, classes;
  double p;
} scores;

static scores open_scores(fnzi_dec_steps *s) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *target = fnzi_dec_given_array(s, "target");
  fnzi_krn_array *weight = fnzi_dec_given_array(s, "weight");
  scores c = {.rows = fnzi_dec_array_rank(x) == 2 ? fnzi_dec_array_size(x, 0) : 1,
              .classes = fnzi_dec_array_rank(x) ? fnzi_dec_array_size(x, -1) : 1,
              .p = fnzi_krn_named_float(s->call, "p", 1)};
  bool fits = fnzi_dec_array_rank(x) <= 2 && fnzi_dec_array_rank(target) <= 1 && c.classes > 0 &&
              fnzi_dec_array_numel(target) == c.rows && (c.p == 1 || c.p == 2);
  if (!fits ||
      (weight && (fnzi_dec_array_rank(weight) > 1 || fnzi_dec_array_numel(weight) != c.classes)))
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "%lld rows of %lld classes do not fit the target or the weight, or p is not 1 or 2",
        (long long)c.rows, (long long)c.classes);
  c.x = RESHAPED(x, c.rows, c.classes);
  c.at = RESHAPED(target, c.rows, 1);
  c.margin = SUB(c.x, STEP(gather, V(c.x), I(1), V(c.at)));
  c.margin = STEP(add__Scalar, V(c.margin), F(fnzi_krn_named_float(s->call, "margin", 1)));
  if (weight)
    c.weight = RESHAPED(
        STEP(index_select, V(RESHAPED(weight, c.classes)), I(0), V(RESHAPED(target, c.rows))),
        c.rows, 1);
  return c;
}

/* The mean over all classes of how far each comes nearer to the target's than the margin. */
DECOMP(multi_margin_loss) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *target = fnzi_dec_given_array(s, "target");
  bool single = fnzi_dec_array_rank(x) <= 1 && fnzi_dec_array_rank(target) == 0;
  scores c = open_scores(s);
  fnzi_krn_array *loss = losses_at_least(s, c.margin, 0);
  loss = c.p == 2 ? MUL(loss, loss) : loss;
  if (c.weight)
    loss = MUL(loss, c.weight);
  loss = losses_summed(s, STEP(scatter__value, V(loss), I(1), V(c.at), I(0)), 1);
  loss = STEP(div__Scalar, V(loss), F((double)c.classes));
  loss = fnzi_dec_by_reduction(s, loss);
  fnzi_dec_result_give(s, single && fnzi_dec_array_rank(loss) ? STEP(squeeze, V(loss)) : loss);
}

/* Each class that is too near wins what the target's loses. */
DECOMP(multi_margin_backward) {
  fnzi_krn_array *given = fnzi_dec_given_array(s, "self");
  scores c = open_scores(s);
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *on = STEP(gt__Scalar, V(c.margin), I(0));
  fnzi_krn_array *back = c.p == 2 ? fnzi_dec_times(s, losses_at_least(s, c.margin, 0), 2)
                                  : fnzi_dec_cast(s, on, fnzi_dec_array_dtype(given));
  if (c.weight)
    back = MUL(back, c.weight);
  back = STEP(scatter__value, V(back), I(1), V(c.at), I(0));
  fnzi_krn_array *lost = STEP(unsqueeze, V(STEP(neg, V(losses_summed(s, back, 1)))), I(1));
  back = STEP(scatter__src, V(back), I(1), V(c.at), V(lost));
  back = fnzi_dec_times(s, back, losses_share(s, c.rows) / (double)c.classes);
  back = MUL(back, losses_by_rows(s, fnzi_dec_given_array(s, "grad_output"), c.rows));
  fnzi_dec_result_give(
      s, fnzi_dec_reshaped(s, back, given->geometry.sizes, fnzi_dec_array_rank(given)));
}

DECOMP(cosine_embedding_loss) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "input1"), *b = fnzi_dec_given_array(s, "input2");
  fnzi_krn_array *target = fnzi_dec_given_array(s, "target");
  int64_t dim = fnzi_dec_array_rank(target);
  if (dim > 1 || fnzi_dec_array_rank(a) != dim + 1 || fnzi_dec_array_rank(b) != dim + 1)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "the inputs have %u and %u dimensions, the target %u; they need one more, at most 2",
        fnzi_dec_array_rank(a), fnzi_dec_array_rank(b), fnzi_dec_array_rank(target));
  /* sqrt(sum a b / ((sum a a + eps) (sum b b + eps))): 1 where they point the same way. */
  const double eps = 1e-12;
  fnzi_krn_array *size_a = losses_plus(s, losses_summed(s, MUL(a, a), dim), eps);
  fnzi_krn_array *size_b = losses_plus(s, losses_summed(s, MUL(b, b), dim), eps);
  fnzi_krn_array *cosine =
                     DIV(losses_summed(s, MUL(a, b), dim), STEP(sqrt, V(MUL(size_a, size_b)))),
                 *zeros = zeros_like(s, cosine);
  fnzi_krn_array *apart = losses_at_least(
      s, STEP(sub__Scalar, V(cosine), F(fnzi_krn_named_float(s->call, "margin", 0))), 0);
  fnzi_krn_array *yes = CHOSEN(STEP(eq__Scalar, V(target), I(1)), from_number(s, 1, cosine), zeros);
  fnzi_krn_array *no = CHOSEN(STEP(eq__Scalar, V(target), I(-1)), apart, zeros);
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, ADD(yes, no)));
}

/* --- Distances --------------------------------------------------------------------------- */
static fnzi_krn_array *norm_of(fnzi_dec_steps *s, fnzi_krn_array *a, double p, int64_t dim,
                               bool keeps) {
  return STEP(linalg_vector_norm, V(a), F(p), INTS(dim), B(keeps));
}

static fnzi_krn_array *pairwise(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b,
                                bool keeps) {
  double p = fnzi_krn_named_float(s->call, "p", 2),
         eps = fnzi_krn_named_float(s->call, "eps", 1e-6);
  fnzi_krn_array *apart = STEP(add__Scalar, V(SUB(a, b)), F(eps));
  return norm_of(s, apart, p, (int64_t)fnzi_dec_array_rank(apart) - 1, keeps);
}

DECOMP(pairwise_distance) {
  fnzi_dec_result_give(s, pairwise(s, fnzi_dec_given_array(s, "x1"), fnzi_dec_given_array(s, "x2"),
                                   fnzi_krn_named_bool(s->call, "keepdim", false)));
}

DECOMP(triplet_margin_loss) {
  fnzi_krn_array *anchor = fnzi_dec_given_array(s, "anchor");
  fnzi_krn_array *positive = fnzi_dec_given_array(s, "positive"),
                 *negative = fnzi_dec_given_array(s, "negative");
  if (fnzi_dec_array_rank(anchor) != fnzi_dec_array_rank(positive) ||
      fnzi_dec_array_rank(anchor) != fnzi_dec_array_rank(negative))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "anchor, positive and negative have %u, %u and %u dimensions; all need as many",
                    fnzi_dec_array_rank(anchor), fnzi_dec_array_rank(positive),
                    fnzi_dec_array_rank(negative));
  fnzi_krn_array *near = pairwise(s, anchor, positive, false);
  fnzi_krn_array *far = pairwise(s, anchor, negative, false);
  if (fnzi_krn_named_bool(s->call, "swap", false))
    far = STEP(minimum, V(far), V(pairwise(s, positive, negative, false)));
  double margin = fnzi_krn_named_float(s->call, "margin", 1);
  fnzi_krn_array *loss = SUB(STEP(add__Scalar, V(near), F(margin)), far);
  fnzi_dec_result_give(s, fnzi_dec_by_reduction(s, losses_at_least(s, loss, 0)));
}

DECOMP(cosine_similarity) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "x1"), *b = fnzi_dec_given_array(s, "x2");
  fnz_dtype dtype = fnzi_promote(fnzi_dec_array_dtype(a), fnzi_dec_array_dtype(b));
  double eps = fnzi_krn_named_float(s->call, "eps", 1e-8);
  if (!fnzi_is_float(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "x1 is %s, x2 is %s; one must be of a floating-point type",
                    fnzi_dtype(fnzi_dec_array_dtype(a))->name,
                    fnzi_dtype(fnzi_dec_array_dtype(b))->name);
  a = fnzi_dec_cast(s, a, dtype), b = fnzi_dec_cast(s, b, dtype);
  fnzi_dec_broadcast_both(s, &a, &b);
  int64_t dim = fnzi_dec_given_dim(s, "dim", a);
  fnzi_krn_array *size_a = losses_at_least(s, norm_of(s, a, 2, dim, true), eps);
  fnzi_krn_array *size_b = losses_at_least(s, norm_of(s, b, 2, dim, true), eps);
  fnzi_dec_result_give(s, losses_summed(s, MUL(DIV(a, size_a), DIV(b, size_b)), dim));
}

DECOMP(dist) {
  fnzi_krn_array *apart = SUB(fnzi_dec_given_array(s, "self"), fnzi_dec_given_array(s, "other"));
  fnzi_dec_result_give(
      s, STEP(linalg_vector_norm, V(apart), F(fnzi_krn_named_float(s->call, "p", 2))));
}
