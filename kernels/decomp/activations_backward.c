/* activations_backward.c - what flows back through activations and losses, element by element.
 * 16-bit floats are computed as f32 and rounded once. */
#include "kernels/decomp/decomp.h"

/* --- Pieces ----------------------------------------------------------------------------------- */
static fnzi_krn_array *activations_plus(fnzi_dec_steps *s, fnzi_krn_array *a, double more) {
  return STEP(add__Scalar, V(a), F(more));
}

/* x is above the number; NaN is not. */
static fnzi_krn_array *activations_above(fnzi_dec_steps *s, fnzi_krn_array *x, double least) {
  return STEP(gt__Scalar, V(x), F(least));
}

/* A tensor of the operator in the type that is computed in. */
static fnzi_krn_array *activations_wide(fnzi_dec_steps *s, const char *name) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, name);
  fnz_dtype d = fnzi_dec_array_dtype(a),
            want = fnzi_dec_array_dtype(fnzi_krn_call_input(s->call, 0));
  if (a && (d != want || (d != FNZ_F16 && d != FNZ_BF16 && d != FNZ_F32 && d != FNZ_F64)))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s, %s is %s; both must be of one type of floats",
                    name, fnzi_dtype(d)->name, s->call->op->params[0].name, fnzi_dtype(want)->name);
  return fnzi_dec_cast(s, a, d == FNZ_F64 ? d : FNZ_F32);
}

static fnzi_krn_array *activations_rounded(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return fnzi_dec_cast(s, a, fnzi_dec_array_dtype(fnzi_krn_call_input(s->call, 0)));
}

static double activations_number(const fnzi_dec_steps *s, const char *name) {
  const fnz_arg *arg = fnzi_krn_named(s->call, name);
  return arg ? fnzi_krn_number_float(arg) : 0;
}

/* --- Activations ------------------------------------------------------------------------------ */
DECOMP(elu_backward) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"),
                 *x = activations_wide(s, "self_or_result");
  double scale = activations_number(s, "scale"), low = activations_number(s, "alpha") * scale;
  double inside = activations_number(s, "input_scale");
  bool is_result = fnzi_krn_named_bool(s->call, "is_result", false);
  fnzi_krn_array *slope =
      is_result ? fnzi_dec_times(s, activations_plus(s, x, low), inside)
                : fnzi_dec_times(s, STEP(exp, V(fnzi_dec_times(s, x, inside))), inside * low);
  slope = STEP(where__ScalarOther, V(STEP(le__Scalar, V(x), I(0))), V(slope), F(scale));
  fnzi_dec_result_give(s, activations_rounded(s, MUL(grad, slope)));
}

DECOMP(mish_backward) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"), *x = activations_wide(s, "self");
  fnzi_krn_array *t = STEP(tanh, V(STEP(log1p, V(STEP(exp, V(x))))));
  fnzi_krn_array *rest = STEP(rsub__Scalar, V(MUL(t, t)), I(1));
  fnzi_krn_array *slope = ADD(t, MUL(MUL(x, STEP(sigmoid, V(x))), rest));
  fnzi_dec_result_give(s, activations_rounded(s, MUL(grad, slope)));
}

DECOMP(glu_backward) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"), *x = activations_wide(s, "self"),
                 *parts[2];
  uint32_t dim = fnzi_dec_given_dim(s, "dim", x);
  int64_t half = fnzi_dec_array_size(x, dim) / 2;
  if (!fnzi_dec_array_rank(x) || fnzi_dec_array_size(x, dim) % 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "dimension %u of self has %lld elements; it must be two halves", dim,
                    (long long)fnzi_dec_array_size(x, dim));
  fnzi_krn_array *gate = STEP(sigmoid, V(fnzi_part(s, x, dim, half, half)));
  parts[0] = MUL(gate, grad);
  parts[1] =
      MUL(MUL(MUL(STEP(rsub__Scalar, V(gate), I(1)), gate), fnzi_part(s, x, dim, 0, half)), grad);
  fnzi_dec_result_give(s, activations_rounded(s, fnzi_dec_cat(s, parts, 2, dim)));
}

DECOMP(prelu_kernel_backward) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"), *x = activations_wide(s, "self"),
                 *w = activations_wide(s, "weight");
  fnzi_krn_array *up = activations_above(s, x, 0);
  fnzi_dec_result_give(s, activations_rounded(s, CHOSEN(up, grad, MUL(w, grad))));
  fnzi_dec_result_give(s, activations_rounded(s, ZEROED(MUL(x, grad), up)));
}

/* --- Losses ----------------------------------------------------------------------------------- */
enum { KEPT, MEAN };

/* How much of the loss an element is. */
static double activations_share(const fnzi_dec_steps *s, const fnzi_krn_array *x) {
  bool is_mean = fnzi_krn_named_int(s->call, "reduction", MEAN) == MEAN;
  return is_mean && fnzi_dec_array_numel(x) ? 1 / (double)fnzi_dec_array_numel(x) : 1;
}

DECOMP(mse_loss_backward) {
  const fnz_dtype dtype = fnzi_dec_array_dtype(fnzi_dec_given_array(s, "grad_output"));

  if (dtype != FNZ_BOOL && fnzi_is_integer(dtype)) {
    /* Integers are multiplied by the integer part of the factor: 0 for means of more than 2. */
    fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad_output"),
                   *x = fnzi_dec_given_array(s, "self");
    fnzi_krn_array *apart = SUB(x, fnzi_dec_given_array(s, "target"));
    fnzi_krn_array *slope = STEP(mul__Scalar, V(apart), I((int64_t)(2 * activations_share(s, x))));
    fnzi_dec_result_give(s, fnzi_dec_cast(s, MUL(slope, grad), fnzi_dec_array_dtype(x)));
    return;
  }
  fnzi_krn_array *grad = activations_wide(s, "grad_output"), *x = activations_wide(s, "self"),
                 *target = activations_wide(s, "target");
  fnzi_krn_array *slope = fnzi_dec_times(s, SUB(x, target), 2 * activations_share(s, x));
  fnzi_dec_result_give(s, activations_rounded(s, MUL(slope, grad)));
}

/* x times `slope` between -edge and edge, `most` and -most from there on. If the edge times the
 * slope is `most`, both have the same bits. */
static fnzi_krn_array *bounded(fnzi_dec_steps *s, fnzi_krn_array *x, double edge, double slope,
                               double most) {
  bool is_wide = fnzi_dec_array_dtype(x) == FNZ_F64;
  bool meets = is_wide ? edge > 0 && edge * slope == most
                       : (float)edge > 0 && (float)edge * (float)slope == (float)most;
  if (meets)
    return fnzi_dec_times(s, STEP(clamp, V(x), F(-edge), F(edge)), slope);
  fnzi_krn_array *y = fnzi_dec_times(s, x, slope);
  y = STEP(where__ScalarSelf, V(STEP(ge__Scalar, V(x), F(edge))), F(most), V(y));
  return STEP(where__ScalarSelf, V(STEP(le__Scalar, V(x), F(-edge))), F(-most), V(y));
}

/* Straight beyond `edge` on both sides, with this slope; between them it is x times `inner`. */
static void give_bent(fnzi_dec_steps *s, double edge, double outer, double inner) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"), *self = activations_wide(s, "self");
  double norm = activations_share(s, self);
  fnzi_krn_array *x = SUB(self, activations_wide(s, "target"));
  fnzi_krn_array *slope = bounded(s, x, edge, norm * inner, norm * outer);
  fnzi_dec_result_give(s, activations_rounded(s, MUL(slope, grad)));
}

DECOMP(smooth_l1_backward) {
  double beta = activations_number(s, "beta");
  give_bent(s, beta, 1, beta != 0 ? 1 / beta : 0);
}

DECOMP(huber_backward) {
  double delta = activations_number(s, "delta");
  give_bent(s, delta, delta, 1);
}

DECOMP(binary_cross_entropy_backward) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"), *x = activations_wide(s, "self"),
                 *target = activations_wide(s, "target");
  fnzi_krn_array *weight = activations_wide(s, "weight");
  fnzi_krn_array *spread = MUL(STEP(rsub__Scalar, V(x), I(1)), x);
  fnzi_krn_array *out = DIV(MUL(grad, SUB(x, target)), STEP(clamp_min, V(spread), F(1e-12)));
  out = weight ? MUL(out, weight) : out;
  fnzi_dec_result_give(s, activations_rounded(s, fnzi_dec_times(s, out, activations_share(s, x))));
}

DECOMP(soft_margin_backward) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"), *x = activations_wide(s, "self"),
                 *target = activations_wide(s, "target");
  fnzi_krn_array *z = STEP(exp, V(MUL(STEP(neg, V(target)), x)));
  fnzi_krn_array *slope =
      DIV(MUL(fnzi_dec_times(s, target, -activations_share(s, x)), z), activations_plus(s, z, 1));
  fnzi_dec_result_give(s, activations_rounded(s, MUL(slope, grad)));
}

/* The class dimension of self is the dimension that target lacks. */
DECOMP(nll_loss_backward) {
  fnzi_krn_array *grad = activations_wide(s, "grad_output"),
                 *weight = activations_wide(s, "weight");
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"),
                 *target = fnzi_dec_given_array(s, "target");
  fnzi_krn_array *total = activations_wide(s, "total_weight");
  int64_t dim = fnzi_dec_array_rank(self) > 1,
          reduction = fnzi_krn_named_int(s->call, "reduction", MEAN);
  (void)activations_wide(s, "self");
  if (fnzi_dec_array_rank(self) == 0 ||
      fnzi_dec_array_rank(target) + 1 != fnzi_dec_array_rank(self) ||
      (weight && (fnzi_dec_array_rank(weight) != 1 ||
                  fnzi_dec_array_numel(weight) != fnzi_dec_array_size(self, dim))))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "target must have a dimension less than self, and weight one "
                    "element for each class");
  if (fnzi_dec_array_dtype(target) != FNZ_I64)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "target is %s; it needs indices, i64",
                    fnzi_dtype(fnzi_dec_array_dtype(target))->name);
  fnzi_krn_array *at = STEP(unsqueeze, V(target), I(dim));
  fnzi_krn_array *skip = STEP(eq__Scalar, V(at), *fnzi_krn_named(s->call, "ignore_index"));
  at = ZEROED(at, skip);
  fnzi_krn_array *each = STEP(ones_like, V(at), DTYPE(fnzi_dec_array_dtype(grad)));
  if (weight && at)
    each = fnzi_dec_reshaped(
        s, STEP(index_select, V(weight), I(0), V(RESHAPED(at, fnzi_dec_array_numel(at)))),
        at->geometry.sizes, fnzi_dec_array_rank(at));
  grad = reduction == KEPT ? STEP(unsqueeze, V(grad), I(dim)) : grad;
  if (reduction == MEAN)
    grad = DIV(grad, total);
  fnzi_krn_array *values = ZEROED(STEP(neg, V(MUL(each, grad))), skip);
  fnzi_krn_array *zeros = STEP(zeros_like, V(self), NONE, NONE, NONE, NONE,
                               (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
  fnzi_dec_result_give(
      s, STEP(scatter__src, V(zeros), I(dim), V(at), V(activations_rounded(s, values))));
}

/* --- Other derivatives ------------------------------------------------------------------------ */
/* The gradient of gelu, by functions that have derivatives of every order. */
DECOMP(gelu_backward_smooth) {
  const double root = 0.70710678118654752440, density = 0.39894228040143267794;
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad"), *x = fnzi_dec_given_array(s, "self");
  fnzi_krn_array *below =
      fnzi_dec_times(s, activations_plus(s, STEP(erf, V(fnzi_dec_times(s, x, root))), 1), 0.5);
  fnzi_krn_array *along =
      MUL(fnzi_dec_times(s, STEP(exp, V(fnzi_dec_times(s, MUL(x, x), -0.5))), density), x);
  fnzi_dec_result_give(s, MUL(ADD(below, along), grad));
}

/* Two halves of a tensor along "dim". */
typedef struct halves {
  fnzi_krn_array *of[2];
} halves;

static halves halved(fnzi_dec_steps *s, const char *name) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, name);
  int64_t dim = fnzi_dec_given_dim(s, "dim", a), size = fnzi_dec_array_size(a, dim);
  halves h = {{NULL, NULL}};
  if (size % 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s has %lld elements along dim; it needs an even number",
                    name, (long long)size);
  for (int i = 0; i < 2; i++)
    h.of[i] = fnzi_part(s, a, dim, i * (size / 2), size / 2);
  return h;
}

/* y = a sigmoid(b): dy = sigmoid(b) da + y (1 - sigmoid(b)) db */
DECOMP(glu_forward_derivative) {
  halves x = halved(s, "x"), dx = halved(s, "dx");
  fnzi_krn_array *gate = STEP(sigmoid, V(x.of[1])), *y = fnzi_dec_given_array(s, "glu");
  fnzi_krn_array *rest = STEP(rsub__Scalar, V(gate), I(1));
  fnzi_dec_result_give(s, ADD(MUL(dx.of[0], gate), MUL(y, MUL(rest, dx.of[1]))));
}

/* How the gradient of glu changes: its two halves are ga = g s and gb = (1 - s) ga a. */
DECOMP(glu_backward_derivative) {
  fnzi_krn_array *dgrad = fnzi_dec_given_array(s, "dgrad_glu");
  halves x = halved(s, "x"), dx = halved(s, "dx"), grad = halved(s, "grad_x");
  fnzi_krn_array *gate = STEP(sigmoid, V(x.of[1]));
  fnzi_krn_array *dgate = MUL(MUL(STEP(rsub__Scalar, V(gate), I(1)), gate), dx.of[1]);
  fnzi_krn_array *of_a = ADD(MUL(dgrad, gate), MUL(fnzi_dec_given_array(s, "grad_glu"), dgate));
  fnzi_krn_array *rest = STEP(rsub__Scalar, V(gate), I(1));
  fnzi_krn_array *of_b = MUL(ADD(MUL(of_a, rest), STEP(neg, V(MUL(grad.of[0], dgate)))), x.of[0]);
  of_b = ADD(of_b, MUL(MUL(grad.of[0], rest), dx.of[0]));
  fnzi_krn_array *const both[] = {of_a, of_b};
  fnzi_dec_result_give(s, fnzi_dec_cat(s, both, 2, fnzi_krn_named_int(s->call, "dim", 0)));
}

/* By the slopes that were drawn, or by the middle of them. */
DECOMP(rrelu_backward) {
  double low = activations_number(s, "lower"), high = activations_number(s, "upper");
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad_output");
  if (fnzi_krn_named_bool(s->call, "training", false)) {
    fnzi_dec_result_give(s, MUL(fnzi_dec_given_array(s, "noise"), grad));
    return;
  }
  fnzi_krn_array *x = activations_wide(s, "self");
  grad = activations_wide(s, "grad_output");
  fnzi_krn_array *less = fnzi_dec_times(s, grad, (low + high) / 2);
  fnzi_dec_result_give(s, activations_rounded(s, CHOSEN(activations_above(s, x, 0), grad, less)));
}

/* --- Windows ---------------------------------------------------------------------------------- */
/* The gradient in the window that it came through, zeros around it. */
static void give_around(fnzi_dec_steps *s, fnzi_krn_array *zeros, fnzi_krn_array *window,
                        size_t scatter, const fnz_arg *more, size_t count) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad_output");
  fnz_arg args[6] = {V(zeros), V(grad)};
  if (window && grad && !fnzi_same_sizes(&window->geometry, &grad->geometry))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "grad_output does not have the sizes of the window that it is "
                    "the gradient of");
  memcpy(args + 2, more, count * sizeof *more);
  fnzi_dec_result_give(s, fnzi_dec_step(s, scatter, args, 2 + count));
}

DECOMP(select_backward) {
  fnzi_krn_array *zeros = fnzi_dec_zeros_of(s, "input_sizes");
  const fnz_arg *more = fnzi_krn_named(s->call, "dim");
  fnzi_krn_array *window = STEP(select__int, V(zeros), more[0], more[1]);
  give_around(s, zeros, window, FNZI_ATEN_select_scatter, more, 2);
}

DECOMP(slice_backward) {
  fnzi_krn_array *zeros = fnzi_dec_zeros_of(s, "input_sizes");
  const fnz_arg *more = fnzi_krn_named(s->call, "dim");
  fnzi_krn_array *window = STEP(slice__Tensor, V(zeros), more[0], more[1], more[2], more[3]);
  give_around(s, zeros, window, FNZI_ATEN_slice_scatter, more, 4);
}

DECOMP(diagonal_backward) {
  fnzi_krn_array *zeros = fnzi_dec_zeros_of(s, "input_sizes");
  const fnz_arg *more = fnzi_krn_named(s->call, "offset");
  fnzi_krn_array *window = STEP(diagonal, V(zeros), more[0], more[1], more[2]);
  give_around(s, zeros, window, FNZI_ATEN_diagonal_scatter, more, 3);
}
