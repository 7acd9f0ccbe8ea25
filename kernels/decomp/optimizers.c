/* optimizers.c - steps of optimizers on lists of parameters, as PyTorch's fused kernels take them,
 * and what scales gradients before: each operator is a few pointwise steps for every parameter.
 *
 * Those kernels pair the elements of a parameter, its gradient and its states as they lie in
 * memory. So all must have the same strides; else elements that belong together would not have the
 * same index. 16-bit floats are computed as f32 and rounded once, as there; numbers are of 64 bits
 * until they meet a tensor. */
#include "kernels/decomp/decomp.h"

#include <math.h>

enum { PARAM, GRAD, FIRST, SECOND, LARGEST, MOST_LISTS };

/* One operator call. `lists` are named in the order of the results. */
typedef struct stepping {
  fnzi_dec_steps *s;
  const char *lists[MOST_LISTS];
  size_t nlists, count; /* parameters */
  double rate, scale;
  bool scales, skips;
  fnzi_krn_array **results; /* list after list; NULL in lists that are empty */
} stepping;

/* The new values of one parameter from the old ones, in the type that is computed in. */
typedef void step_fn(const stepping *t, size_t i, fnzi_krn_array **x);

/* --- Numbers ----------------------------------------------------------------------------- */
static double option(const stepping *t, const char *name) {
  return fnzi_krn_named_float(t->s->call, name, 0);
}

static bool says(const stepping *t, const char *name) {
  return fnzi_krn_named_bool(t->s->call, name, false);
}

static void need_one(fnzi_dec_steps *s, const fnzi_krn_array *a, const char *name) {
  if (a && fnzi_dec_array_numel(a) != 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s has %lld elements; it needs 1", name,
                    (long long)fnzi_dec_array_numel(a));
}

static void need_dtype(fnzi_dec_steps *s, const fnzi_krn_array *a, const char *name,
                       fnz_dtype want) {
  if (a && fnzi_dec_array_dtype(a) != want)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s; it must be %s", name,
                    fnzi_dtype(fnzi_dec_array_dtype(a))->name, fnzi_dtype(want)->name);
}

/* A tensor of one element as a number; `unknown` without data. */
static double number_in(fnzi_dec_steps *s, const fnzi_krn_array *a, const char *name,
                        double unknown) {
  const void *data = NULL;
  need_one(s, a, name);
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get_as(s->call, a, FNZ_F64, &data);
  return data ? *(const double *)data : unknown;
}

/* Steps are counted in f32. */
static double steps_taken(const stepping *t, size_t i) {
  return (float)number_in(t->s, fnzi_dec_given_item(t->s, "state_steps", i), "state_steps", 1);
}

/* --- Lists ------------------------------------------------------------------------------- */
static void need_length(const stepping *t, const char *name, size_t want) {
  size_t have = fnzi_dec_given_count(t->s, name);
  if (have != want)
    fnzi_dec_refuse(t->s, FNZ_CLASS_BOUNDS, "%s has %zu tensors, self has %zu; %s needs %zu here",
                    name, have, t->count, name, want);
}

/* As a clone lies: without gaps, its dimensions in the order of their strides. */
static fnzi_krn_array *closed_up(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return a && !fnzi_is_dense(&a->geometry) ? STEP(clone, V(a)) : a;
}

static bool lie_alike(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b) {
  size_t bytes = fnzi_dec_array_rank(a) * sizeof(int64_t);
  if (!a || !b || !bytes || fnzi_dec_array_numel(a) <= 1)
    return true;
  a = closed_up(s, a);
  b = closed_up(s, b);
  for (uint32_t d = 0; a && b && d < fnzi_dec_array_rank(a); d++)
    if (fnzi_dec_array_size(a, d) > 1 && a->geometry.strides[d] != b->geometry.strides[d])
      return false;
  return true;
}

/* Tensor i of a list, which goes with parameter i. */
static fnzi_krn_array *partner(const stepping *t, size_t list, size_t i) {
  fnzi_dec_steps *s = t->s;
  const char *name = t->lists[list];
  fnzi_krn_array *p = fnzi_dec_given_item(s, "self", i), *a = fnzi_dec_given_item(s, name, i);
  need_dtype(s, a, name, fnzi_dec_array_dtype(p));
  if (a && !fnzi_same_sizes(&a->geometry, &p->geometry))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "tensor %zu of %s and that of self have other sizes", i,
                    name);
  if (s->status == FNZ_OK && !lie_alike(s, p, a))
    fnzi_dec_refuse(
        s, FNZ_CLASS_UNSUPPORTED,
        "tensor %zu of %s and that of self have other strides, and elements are paired as "
        "they lie in memory; give them the same",
        i, name);
  return s->status == FNZ_OK ? a : NULL;
}

static void step_one(const stepping *t, size_t i, step_fn *step) {
  fnzi_dec_steps *s = t->s;
  fnzi_krn_array *given[MOST_LISTS] = {NULL}, *x[MOST_LISTS], *out[MOST_LISTS];
  size_t mark = s->made.count;
  fnz_dtype d = fnzi_dec_array_dtype(fnzi_dec_given_item(t->s, "self", i));
  if (d != FNZ_F16 && d != FNZ_BF16 && d != FNZ_F32 && d != FNZ_F64)
    fnzi_dec_refuse(t->s, FNZ_CLASS_UNSUPPORTED,
                    "tensor %zu of self is %s; it needs a type of floats", i, fnzi_dtype(d)->name);
  fnz_dtype wide = d == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  for (size_t k = 0; k < t->nlists; k++)
    given[k] = partner(t, k, i);
  for (size_t k = 0; k < t->nlists; k++)
    x[k] = t->skips ? given[k] : fnzi_dec_cast(s, given[k], wide);
  if (!t->skips) {
    if (t->scales)
      x[GRAD] = STEP(div__Scalar, V(x[GRAD]), F(t->scale));
    fnzi_krn_array *scaled = x[GRAD];
    if (says(t, "maximize"))
      x[GRAD] = STEP(neg, V(x[GRAD]));
    step(t, i, x);
    x[GRAD] = t->scales ? scaled : given[GRAD];
  }
  for (size_t k = 0; k < t->nlists; k++) {
    out[k] = x[k] ? fnzi_dec_cast(s, x[k], fnzi_dec_array_dtype(given[k])) : NULL;
    if (out[k] && out[k] == given[k])
      out[k] = STEP(clone, V(out[k]));
    t->results[k * t->count + i] = out[k];
  }
  fnzi_dec_arrays_release(s, mark, out, t->nlists);
}

/* The lists, changed. `extra` of them are there only when they are needed. */
static void step_all(stepping *t, size_t extra, bool needed, step_fn *step) {
  fnzi_dec_steps *s = t->s;
  t->count = fnzi_dec_given_count(s, "self");
  if (!t->count)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self is empty; it needs a tensor");
  for (size_t k = 0; k < t->nlists; k++)
    need_length(t, t->lists[k], k != extra || needed ? t->count : 0);
  if (fnzi_op_param(s->call->op, "state_steps") >= 0)
    need_length(t, "state_steps", t->count);
  fnzi_krn_array *rate = fnzi_dec_given_array(s, "lr");
  fnzi_krn_array *scale = fnzi_dec_given_array(s, "grad_scale"),
                 *found = fnzi_dec_given_array(s, "found_inf");
  need_dtype(s, scale, "grad_scale", FNZ_F32);
  need_dtype(s, found, "found_inf", FNZ_F32);
  t->rate = rate ? number_in(s, rate, "lr", 1) : option(t, "lr");
  t->scales = scale != NULL;
  t->scale = scale ? number_in(s, scale, "grad_scale", 1) : 1;
  t->skips = found && number_in(s, found, "found_inf", 0) == 1;
  t->results = fnzi_dec_arrays_room(s, t->nlists * t->count);
  for (size_t i = 0; s->status == FNZ_OK && i < t->count; i++)
    step_one(t, i, step);
  for (size_t k = 0; s->status == FNZ_OK && k < t->nlists * t->count; k++)
    if (t->results[k])
      fnzi_dec_result_give(s, t->results[k]);
}

/* --- Adam -------------------------------------------------------------------------------- */
/* Decay of the weights adds to the gradient. */
static void decay(const stepping *t, fnzi_krn_array **x) {
  fnzi_dec_steps *s = t->s;
  double rate = option(t, "weight_decay");
  if (rate != 0)
    x[GRAD] = ADD(x[GRAD], STEP(mul__Scalar, V(x[PARAM]), F(rate)));
}

static void adam_moments(const stepping *t, size_t i, fnzi_krn_array **x) {
  fnzi_dec_steps *s = t->s;
  double beta1 = option(t, "beta1"), beta2 = option(t, "beta2"), n = steps_taken(t, i);
  double size = t->rate / (1 - pow(beta1, n)), root = sqrt(1 - pow(beta2, n));
  fnzi_krn_array *g = x[GRAD];
  x[FIRST] = STEP(lerp__Scalar, V(x[FIRST]), V(g), F(1 - beta1));
  x[SECOND] =
      ADD(STEP(mul__Scalar, V(x[SECOND]), F(beta2)), MUL(STEP(mul__Scalar, V(g), F(1 - beta2)), g));
  fnzi_krn_array *largest = x[SECOND];
  if (says(t, "amsgrad"))
    largest = x[LARGEST] = STEP(maximum, V(x[LARGEST]), V(largest));
  fnzi_krn_array *spread = STEP(div__Scalar, V(STEP(sqrt, V(largest))), F(root));
  spread = STEP(add__Scalar, V(spread), F(option(t, "eps")));
  x[PARAM] = ADD(x[PARAM], DIV(STEP(mul__Scalar, V(x[FIRST]), F(-size)), spread));
}

static void adam_step(const stepping *t, size_t i, fnzi_krn_array **x) {
  decay(t, x);
  adam_moments(t, i, x);
}

/* Decay of the weights shrinks the parameter. */
static void adamw_step(const stepping *t, size_t i, fnzi_krn_array **x) {
  fnzi_dec_steps *s = t->s;
  double rate = option(t, "weight_decay");
  if (rate != 0)
    x[PARAM] = STEP(mul__Scalar, V(x[PARAM]), F(1 - t->rate * rate));
  adam_moments(t, i, x);
}

static void adam(fnzi_dec_steps *s, step_fn *step) {
  stepping t = {.s = s,
                .lists = {"self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"},
                .nlists = 5};
  step_all(&t, LARGEST, says(&t, "amsgrad"), step);
}

DECOMP(fused_adam) {
  adam(s, adam_step);
}
DECOMP(fused_adamw) {
  adam(s, adamw_step);
}

/* --- Stochastic gradient descent --------------------------------------------------------- */
static void sgd_step(const stepping *t, size_t i, fnzi_krn_array **x) {
  fnzi_dec_steps *s = t->s;
  double momentum = option(t, "momentum"), kept = 1 - option(t, "dampening");
  (void)i;
  decay(t, x);
  if (momentum != 0) {
    fnzi_krn_array *moving = STEP(mul__Scalar, V(x[FIRST]), F(momentum));
    x[FIRST] =
        says(t, "is_first_step") ? x[GRAD] : ADD(moving, STEP(mul__Scalar, V(x[GRAD]), F(kept)));
    x[GRAD] =
        says(t, "nesterov") ? ADD(x[GRAD], STEP(mul__Scalar, V(x[FIRST]), F(momentum))) : x[FIRST];
  }
  x[PARAM] = ADD(x[PARAM], STEP(mul__Scalar, V(x[GRAD]), F(-t->rate)));
}

DECOMP(fused_sgd) {
  stepping t = {.s = s, .lists = {"self", "grads", "momentum_buffer_list"}, .nlists = 3};
  step_all(&t, FIRST, option(&t, "momentum") != 0, sgd_step);
}

/* --- Adagrad ----------------------------------------------------------------------------- */
static void adagrad_step(const stepping *t, size_t i, fnzi_krn_array **x) {
  fnzi_dec_steps *s = t->s;
  double rate = t->rate / (1 + (steps_taken(t, i) - 1) * option(t, "lr_decay"));
  decay(t, x);
  x[FIRST] = ADD(x[FIRST], MUL(x[GRAD], x[GRAD]));
  fnzi_krn_array *spread = STEP(add__Scalar, V(STEP(sqrt, V(x[FIRST]))), F(option(t, "eps")));
  x[PARAM] = SUB(x[PARAM], DIV(STEP(mul__Scalar, V(x[GRAD]), F(rate)), spread));
}

DECOMP(fused_adagrad) {
  stepping t = {.s = s, .lists = {"self", "grads", "state_sums"}, .nlists = 3};
  step_all(&t, MOST_LISTS, true, adagrad_step);
}

/* The schema of this operator claims that it writes the steps; they stay. */
DECOMP(fused_adagrad_steps) {
  stepping t = {.s = s, .lists = {"self", "grads", "state_sums"}, .nlists = 3};
  step_all(&t, MOST_LISTS, true, adagrad_step);
  for (size_t i = 0; i < t.count; i++)
    fnzi_dec_result_give(s, STEP(clone, V(fnzi_dec_given_item(s, "state_steps", i))));
}

/* --- Scaled gradients -------------------------------------------------------------------- */
static fnzi_krn_array *optimizers_single(fnzi_dec_steps *s, const char *name, fnz_dtype dtype) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, name);
  need_dtype(s, a, name, dtype);
  need_one(s, a, name);
  return s->status == FNZ_OK ? fnzi_dec_reshaped(s, a, NULL, 0) : NULL;
}

static void give_as(fnzi_dec_steps *s, fnzi_krn_array *a, const char *name) {
  const fnzi_krn_array *like = fnzi_dec_given_array(s, name);
  if (s->status == FNZ_OK)
    fnzi_dec_result_give(s, fnzi_dec_reshaped(s, a, like->geometry.sizes, like->geometry.rank));
}

/* Gradients times a number, and 1 where one of them was not finite before. */
DECOMP(amp_unscale) {
  fnzi_krn_array *found = optimizers_single(s, "found_inf", FNZ_F32),
                 *by = optimizers_single(s, "inv_scale", FNZ_F32);
  size_t count = fnzi_dec_given_count(s, "self");
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++) {
    fnzi_krn_array *g = fnzi_dec_given_item(s, "self", i);
    fnz_dtype dtype = fnzi_dec_array_dtype(g);
    size_t mark = s->made.count;
    if (dtype != FNZ_F16 && dtype != FNZ_BF16 && dtype != FNZ_F32 && dtype != FNZ_F64)
      fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                      "tensor %zu of self is %s; it needs a type of floats", i,
                      fnzi_dtype(dtype)->name);
    fnzi_krn_array *fine = STEP(all, V(STEP(isfinite, V(g))));
    found = STEP(where__ScalarOther, V(fine), V(found), F(1));
    fnz_dtype wide = dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
    fnzi_dec_result_give(s, fnzi_dec_cast(s, MUL(fnzi_dec_cast(s, g, wide), by), dtype));
    fnzi_dec_arrays_release(s, mark, &found, 1);
  }
  give_as(s, found, "found_inf");
}

/* Back off where something was not finite; grow after so many steps without. */
DECOMP(amp_update_scale) {
  fnzi_krn_array *scale = optimizers_single(s, "self", FNZ_F32),
                 *found = optimizers_single(s, "found_inf", FNZ_F32);
  fnzi_krn_array *since = optimizers_single(s, "growth_tracker", FNZ_I32);
  fnz_arg growth = *fnzi_krn_named(s->call, "scale_growth_factor");
  fnz_arg backoff = *fnzi_krn_named(s->call, "scale_backoff_factor");
  fnzi_krn_array *wide = fnzi_dec_cast(s, scale, FNZ_F64);
  fnzi_krn_array *less = fnzi_dec_cast(s, STEP(mul__Scalar, V(wide), backoff), FNZ_F32);
  fnzi_krn_array *more = fnzi_dec_cast(s, STEP(mul__Scalar, V(wide), growth), FNZ_F32);
  fnzi_krn_array *bad = STEP(ne__Scalar, V(found), F(0));
  since = STEP(add__Scalar, V(since), I(1));
  fnzi_krn_array *due = STEP(eq__Scalar, V(since), *fnzi_krn_named(s->call, "growth_interval"));
  more = CHOSEN(STEP(isfinite, V(more)), more, scale);
  more = CHOSEN(due, more, scale);
  give_as(s, CHOSEN(bad, less, more), "self");
  fnzi_krn_array *again = STEP(logical_or, V(bad), V(due));
  since = CHOSEN(again, STEP(zeros_like, V(since)), since);
  give_as(s, since, "growth_tracker");
}
