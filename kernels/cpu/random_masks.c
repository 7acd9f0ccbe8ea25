/* random_masks.c - bernoulli, and dropout in its forms: what it keeps is drawn as a mask. */
#include "kernels/cpu/random.h"

#include <math.h>

/* --- bernoulli -------------------------------------------------------------------------------- */
static void draw_mask(const void *law, fnz_generator *g, int64_t count, void *out) {
  const double p = *(const double *)law;
  unsigned char *to = out;
  for (int64_t i = 0; i < count; i++)
    to[i] = fnzi_generator_double(g) < p;
}

fnz_status fnzi_cpu_probability(const fnzi_krn_call *call, const char *name, double p) {
  if (p >= 0 && p <= 1)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s is %g; it must be from 0 to 1", name, p);
}

fnz_status fnzi_cpu_draw_mask(fnzi_krn_call *call, const fnz_geometry *order, double p,
                              const unsigned char **out) {
  void *room;
  FNZ_TRY(fnzi_krn_room_take(call, fnz_geometry_numel(order), 1, &room));
  *out = room;
  return fnzi_cpu_draw(call, order, FNZ_BOOL, room, draw_mask, &p);
}

/* The probabilities lie in the order in which elements are drawn. */
typedef struct chances {
  const double *p;
  bool is_double; /* else words of 32 bits are compared as f32 */
} chances;

static void draw_by_chances(const void *law, fnz_generator *g, int64_t count, void *out) {
  const chances *c = law;
  unsigned char *to = out;
  for (int64_t i = 0; i < count; i++)
    to[i] = c->is_double ? fnzi_generator_double(g) < c->p[i]
                         : fnzi_generator_single(g) < (float)c->p[i];
}

static fnz_status check_chances(const fnzi_krn_call *call, const double *p, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_cpu_probability(call, "a probability", p[i]));
  return FNZ_OK;
}

/* A tensor of probabilities, broadcast to the sizes of the result: row-major cells, and the strides
 * that eager's loop knows them by. */
static fnz_status spread_chances(fnzi_krn_call *call, const fnzi_krn_array *a, fnzi_krn_window *out,
                                 int64_t *strides) {
  const fnz_geometry *result = &call->outputs[0]->geometry, *g = &a->geometry;
  fnzi_krn_window from;
  const void *p;
  void *room;
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, FNZ_F64, &p));
  FNZ_TRY(fnzi_krn_room_take(call, fnz_geometry_numel(result), sizeof(double), &room));
  fnzi_krn_window_dense(&from, FNZ_F64, g->rank, g->sizes, p);
  fnzi_krn_window_dense(out, FNZ_F64, result->rank, result->sizes, room);
  for (uint32_t i = 0; i < result->rank; i++)
    strides[i] = 0;
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->sizes[i] != 1)
      strides[i + result->rank - g->rank] = g->strides[i];
  return fnzi_krn_window_assign(call, out, &from, false);
}

static fnz_status bernoulli_of(fnzi_krn_call *call, const fnzi_krn_array *a) {
  const fnz_geometry *result = &call->outputs[0]->geometry;
  const int64_t count = fnz_geometry_numel(result), one = 1;
  const fnz_geometry line = {.dtype = FNZ_BOOL, .rank = 1, .sizes = &count, .strides = &one};
  fnzi_krn_window to, from, row;
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry read = *result;
  void *p, *drawn;
  FNZ_TRY(spread_chances(call, a, &from, strides));
  read.strides = strides;
  fnzi_krn_window_of(call->outputs[0], &to);
  fnzi_krn_windows_in_order(result, &read, &to, &from);
  FNZ_TRY(fnzi_krn_room_take(call, count, sizeof(double), &p));
  FNZ_TRY(fnzi_krn_room_take(call, count, 1, &drawn));
  fnzi_krn_window_dense(&row, FNZ_F64, to.rank, to.sizes, p);
  FNZ_TRY(fnzi_krn_window_assign(call, &row, &from, false));
  FNZ_TRY(check_chances(call, p, count));
  const chances law = {p, a->geometry.dtype == FNZ_F64};
  FNZ_TRY(fnzi_cpu_draw(call, &line, FNZ_BOOL, drawn, draw_by_chances, &law));
  fnzi_krn_window_dense(&row, FNZ_BOOL, to.rank, to.sizes, drawn);
  return fnzi_krn_window_assign(call, &to, &row, false);
}

static fnz_status bernoulli_by(fnzi_krn_call *call, double p) {
  void *out;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_BOOL, &out));
  return fnzi_cpu_draw(call, &call->outputs[0]->geometry, FNZ_BOOL, out, draw_mask, &p);
}

/* By a number, by a tensor, or by self. */
fnz_status fnzi_kernel_bernoulli(fnzi_krn_call *call) {
  const fnz_arg *p = fnzi_krn_named(call, "p");
  const fnzi_krn_array *a = fnzi_krn_arg_array(p ? p : &call->args[0]);
  return a ? bernoulli_of(call, a) : bernoulli_by(call, fnzi_krn_number_float(p));
}

/* --- Dropout ---------------------------------------------------------------------------------- */
typedef struct reals {
  fnz_dtype dtype, kept; /* computed in; of the tensors, to which each step is rounded */
  const float *f;
  const double *d;
  float *to_f;
  double *to_d;
  int64_t count;
} reals;

static fnz_status open_reals(fnzi_krn_call *call, reals *out) {
  const fnzi_krn_array *input = fnzi_krn_call_input(call, 0);
  const fnz_dtype kept = input->geometry.dtype;
  const void *from;
  void *to;
  if (kept != FNZ_F16 && kept != FNZ_BF16 && kept != FNZ_F32 && kept != FNZ_F64)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED,
                                "input is %s; cast it to a floating-point type",
                                fnzi_dtype(kept)->name);
  for (size_t k = 0; k < call->noutputs; k++) /* an out= target has memory */
    if (!call->outputs[k]->storage)
      FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[k], false));
  *out = (reals){.dtype = kept == FNZ_F64 ? FNZ_F64 : FNZ_F32, .kept = kept};
  out->count = fnzi_krn_array_numel(input);
  FNZ_TRY(fnzi_krn_dense_get_as(call, input, out->dtype, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, out->dtype, &to));
  out->f = kept == FNZ_F64 ? NULL : from;
  out->d = kept == FNZ_F64 ? from : NULL;
  out->to_f = kept == FNZ_F64 ? NULL : to;
  out->to_d = kept == FNZ_F64 ? to : NULL;
  return FNZ_OK;
}

/* As a factor, or an operand of a step: halves compute in f32. */
static double factor_of(const reals *x, double v) {
  return x->kept == FNZ_F64 ? v : (double)(float)v;
}

/* As an element of the tensors. */
static double held(const reals *x, double v) {
  unsigned char cell[16];
  if (x->kept == FNZ_F64)
    return v;
  float f = (float)v;
  if (x->kept == FNZ_F32)
    return f;
  fnzi_krn_convert(x->kept, cell, 0, FNZ_F32, &f, 0, 1);
  fnzi_krn_convert(FNZ_F32, &f, 0, x->kept, cell, 0, 1);
  return f;
}

/* Elements times one of two numbers, which the mask chooses. */
static void scale(const reals *x, const unsigned char *mask, double kept, double dropped) {
  const float kept_single = (float)kept, dropped_single = (float)dropped;
  for (int64_t i = 0; x->d && i < x->count; i++)
    x->to_d[i] = x->d[i] * (mask[i] ? kept : dropped);
  for (int64_t i = 0; x->f && i < x->count; i++)
    x->to_f[i] = x->f[i] * (mask[i] ? kept_single : dropped_single);
}

/* Eager multiplies by the mask, then by the scale: what is dropped keeps its sign and its NaN. */
static fnz_status native_in_training(fnzi_krn_call *call, double p) {
  const unsigned char *mask;
  fnzi_krn_window to, from;
  reals x;
  FNZ_TRY(open_reals(call, &x));
  const fnzi_krn_array *masks = call->outputs[1];
  FNZ_TRY(fnzi_cpu_draw_mask(call, &masks->geometry, 1 - p, &mask));
  scale(&x, mask, p == 1 ? 0 : 1 / (1 - p), 0);
  fnzi_krn_window_of(masks, &to);
  fnzi_krn_window_dense(&from, FNZ_BOOL, masks->geometry.rank, masks->geometry.sizes, mask);
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* The value of the input, or a copy where the result has memory already. */
static fnz_status give_input(fnzi_krn_call *call) {
  const fnzi_krn_array *input = fnzi_krn_call_input(call, 0);
  if (call->outputs[0]->storage)
    return fnzi_krn_array_assign(call, call->outputs[0], input);
  return fnzi_krn_result_take(call, 0, input);
}

/* Training is what it does when it is not told. */
fnz_status fnzi_kernel_native_dropout(fnzi_krn_call *call) {
  const fnz_arg one = {.tag = FNZ_ARG_INT, .u.i = 1};
  const fnzi_krn_array *input = fnzi_krn_call_input(call, 0);
  if (fnzi_krn_named_bool(call, "train", true) && fnzi_krn_array_numel(input) > 0)
    return native_in_training(call, fnzi_krn_named_float(call, "p", 0));
  FNZ_TRY(give_input(call));
  if (!call->outputs[1]->storage) /* the target of native_dropout.out has memory */
    FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[1], false));
  return fnzi_krn_array_fill(call, call->outputs[1], &one);
}

/* One number for each feature, or for each element: broadcast over `x`. */
static fnz_status feature_mask(fnzi_krn_call *call, double p, const unsigned char **out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  fnz_geometry features = {.dtype = FNZ_BOOL, .rank = g->rank, .sizes = sizes, .strides = strides};
  fnzi_krn_window to, from;
  const unsigned char *mask;
  void *room;
  if (g->rank < 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "input has %u dimensions; features need 2 or more", g->rank);
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i] = i < 2 ? g->sizes[i] : 1;
  fnzi_contiguous_strides(sizes, g->rank, strides);
  FNZ_TRY(fnzi_cpu_draw_mask(call, &features, p, &mask));
  FNZ_TRY(fnzi_krn_room_take(call, fnz_geometry_numel(g), 1, &room));
  fnzi_krn_window_dense(&to, FNZ_BOOL, g->rank, g->sizes, room);
  fnzi_krn_window_dense(&from, FNZ_BOOL, g->rank, sizes, mask);
  *out = room;
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* What is dropped becomes the least activation of SELU, and all are moved so that mean and variance
 * stay: x * noise + b, rounded step by step. */
static void shift(const reals *x, const unsigned char *mask, double p) {
  const double alpha = 1.7580993408473766, a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
  const double least = held(x, -factor_of(x, alpha * a)), more = factor_of(x, alpha * a * p);
  const double term[2] = {held(x, least + more), held(x, more)}, factor = held(x, factor_of(x, a));
  for (int64_t i = 0; x->d && i < x->count; i++)
    x->to_d[i] = x->d[i] * (mask[i] ? factor : 0) + term[mask[i]];
  for (int64_t i = 0; x->f && i < x->count; i++)
    x->to_f[i] = (float)held(x, x->f[i] * (mask[i] ? (float)factor : 0)) + (float)term[mask[i]];
}

static fnz_status in_training(fnzi_krn_call *call, double p) {
  const bool by_feature = strstr(call->op->base, "feature") != NULL;
  const unsigned char *mask = NULL;
  reals x;
  FNZ_TRY(open_reals(call, &x));
  if (p < 1)
    FNZ_TRY(by_feature ? feature_mask(call, 1 - p, &mask)
                       : fnzi_cpu_draw_mask(call, &call->outputs[0]->geometry, 1 - p, &mask));
  if (!mask) {
    void *none;
    FNZ_TRY(fnzi_krn_room_take(call, x.count, 1, &none));
    memset(none, 0, (size_t)x.count);
    scale(&x, none, 0, 0);
  } else if (strstr(call->op->base, "alpha")) {
    shift(&x, mask, p);
  } else {
    scale(&x, mask, held(&x, 1 / factor_of(&x, 1 - p)), 0);
  }
  return FNZ_OK;
}

/* dropout, feature_dropout, alpha_dropout, feature_alpha_dropout. */
fnz_status fnzi_kernel_dropout(fnzi_krn_call *call) {
  const fnzi_krn_array *input = fnzi_krn_call_input(call, 0);
  const double p = fnzi_krn_named_float(call, "p", 0);
  if (!fnzi_krn_named_bool(call, "train", false) || p == 0 || fnzi_krn_array_numel(input) == 0)
    return give_input(call);
  return in_training(call, p);
}
