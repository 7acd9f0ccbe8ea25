/* gradients.c - backward operators that joint programs hold: of convolution, norms, softmax and
 * embedding. A gradient that output_mask does not ask for is undefined. */
#include "kernels/decomp/decomp.h"

static bool wanted(const fnzi_dec_steps *s, size_t i) {
  const fnz_arg *mask = fnzi_krn_named(s->call, "output_mask");
  return mask && mask->tag == FNZ_ARG_LIST && i < mask->count && mask->u.list[i].u.i != 0;
}

static void give_wanted(fnzi_dec_steps *s, size_t i, fnzi_krn_array *a) {
  if (wanted(s, i))
    fnzi_dec_result_give(s, a);
  else
    fnzi_dec_result_none(s);
}

static fnzi_krn_array *gradients_summed(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *dims,
                                        size_t count, bool keeps) {
  return count ? STEP(sum__dim_IntList, V(a), fnzi_dec_ints(s, dims, count), B(keeps)) : a;
}

/* --- Convolution ------------------------------------------------------------------------- */
typedef struct conv {
  fnzi_krn_array *grad, *input, *weight;
  fnz_arg stride, padding, dilation;
  bool transposed;
  int64_t groups, spatial;
  int64_t strides[FNZ_MAX_RANK], paddings[FNZ_MAX_RANK], dilations[FNZ_MAX_RANK];
} conv;

static fnzi_krn_array *gradients_convolve(fnzi_dec_steps *s, fnzi_krn_array *x, fnzi_krn_array *w,
                                          const conv *c, const int64_t *extra) {
  return STEP(convolution, V(x), V(w), NONE, c->stride, c->padding, c->dilation, B(extra != NULL),
              fnzi_dec_ints(s, extra ? extra : (const int64_t[3]){0}, (size_t)c->spatial),
              I(c->groups));
}

/* The other convolution, with what its result lacks at the end. */
static fnzi_krn_array *of_input(fnzi_dec_steps *s, const conv *c) {
  int64_t extra[3];
  if (c->transposed)
    return gradients_convolve(s, c->grad, c->weight, c, NULL);
  for (int64_t d = 0; d < c->spatial; d++) { /* what wraps around is refused as no such size */
    uint64_t steps = (uint64_t)(fnzi_dec_array_size(c->grad, d + 2) - 1) * (uint64_t)c->strides[d];
    uint64_t window =
        (uint64_t)(fnzi_dec_array_size(c->weight, d + 2) - 1) * (uint64_t)c->dilations[d];
    extra[d] = (int64_t)((uint64_t)fnzi_dec_array_size(c->input, d + 2) -
                         (steps - 2 * (uint64_t)c->paddings[d] + window + 1));
  }
  return gradients_convolve(s, c->grad, c->weight, c, extra);
}

/* The gradient of `groups` groups: x is the input over which the weight was moved, with batch and
 * channels exchanged in each group; y is the gradient of the output. Stride and dilation are
 * exchanged. */
static fnzi_krn_array *of_weight_groups(fnzi_dec_steps *s, const conv *c, fnzi_krn_array *x,
                                        fnzi_krn_array *y, int64_t groups) {
  y = STEP(transpose__int, V(y), I(0), I(1));
  fnzi_krn_array *w =
      STEP(convolution, V(x), V(y), NONE, c->dilation, c->padding, c->stride, B(false),
           fnzi_dec_ints(s, (const int64_t[3]){0}, (size_t)c->spatial), I(groups));
  w = STEP(transpose__int, V(w), I(0), I(1));
  for (int64_t d = 0; d < c->spatial; d++)
    w = fnzi_part(s, w, d + 2, 0, fnzi_dec_array_size(c->weight, d + 2));
  return w;
}

/* (batch, groups, places...) becomes (1, groups * batch, places...). */
static fnzi_krn_array *exchanged(fnzi_dec_steps *s, fnzi_krn_array *x) {
  int64_t sizes[FNZ_MAX_RANK] = {1, SIZE_TIMES(SIZE(x, 0), SIZE(x, 1))};
  for (int64_t d = 2; d < RANK(x); d++)
    sizes[d] = SIZE(x, d);
  return fnzi_dec_reshaped(s, STEP(transpose__int, V(x), I(0), I(1)), sizes, (size_t)RANK(x));
}

/* Groups of one channel at once, unless sizes are open, which it would fix; else one by one. */
static fnzi_krn_array *of_weight(fnzi_dec_steps *s, const conv *c) {
  fnzi_krn_array *x = c->transposed ? c->grad : c->input, *y = c->transposed ? c->input : c->grad;
  int64_t of_x = SIZE(x, 1) / c->groups, of_y = SIZE(y, 1) / c->groups;
  bool is_open = false;
  for (int64_t d = 0; d < RANK(c->grad); d++)
    is_open = is_open || fnzi_dec_size_is_open(s, d);
  if (c->groups > 1 && of_x == 1 && !is_open) {
    fnzi_krn_array *all = of_weight_groups(s, c, exchanged(s, x), y, c->groups);
    return s->status == FNZ_OK ? fnzi_dec_cat(s, &all, 1, 0) : NULL;
  }
  fnzi_krn_array **parts = fnzi_dec_arrays_room(s, (size_t)c->groups);
  for (int64_t g = 0; s->status == FNZ_OK && g < c->groups; g++)
    parts[g] = of_weight_groups(
        s, c, STEP(transpose__int, V(fnzi_part(s, x, 1, g * of_x, of_x)), I(0), I(1)),
        fnzi_part(s, y, 1, g * of_y, of_y), 1);
  return s->status == FNZ_OK ? fnzi_dec_cat(s, parts, (size_t)c->groups, 0) : NULL;
}

static fnzi_krn_array *of_bias(fnzi_dec_steps *s, fnzi_krn_array *grad) {
  int64_t dims[FNZ_MAX_RANK]; /* all except the channels */
  size_t count = 0;
  for (int64_t d = 0; d < fnzi_dec_array_rank(grad); d++)
    if (d != 1)
      dims[count++] = d;
  return gradients_summed(s, grad, dims, count, false);
}

static void open_conv(fnzi_dec_steps *s, conv *c) {
  *c = (conv){.grad = fnzi_dec_given_array(s, "grad_output"),
              .input = fnzi_dec_given_array(s, "input"),
              .weight = fnzi_dec_given_array(s, "weight"),
              .stride = *fnzi_krn_named(s->call, "stride"),
              .padding = *fnzi_krn_named(s->call, "padding"),
              .dilation = *fnzi_krn_named(s->call, "dilation"),
              .transposed = fnzi_krn_named_bool(s->call, "transposed", false),
              .groups = fnzi_krn_named_int(s->call, "groups", 1)};
  c->spatial = (int64_t)fnzi_dec_array_rank(c->weight) - 2;
  if (c->spatial < 1 || c->spatial > 3 ||
      fnzi_dec_array_rank(c->input) != fnzi_dec_array_rank(c->weight) ||
      fnzi_dec_array_rank(c->grad) != fnzi_dec_array_rank(c->weight) || c->groups < 1)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "grad_output, input and weight have %u, %u and %u dimensions with %lld groups; all need "
        "as many, 3 to 5, and a group",
        fnzi_dec_array_rank(c->grad), fnzi_dec_array_rank(c->input), fnzi_dec_array_rank(c->weight),
        (long long)c->groups);
  if (s->status != FNZ_OK)
    return;
  size_t n = (size_t)c->spatial;
  fnzi_dec_status_note(s, fnzi_krn_named_ints_of(s->call, "stride", n, 1, c->strides));
  fnzi_dec_status_note(s, fnzi_krn_named_ints_of(s->call, "padding", n, 0, c->paddings));
  fnzi_dec_status_note(s, fnzi_krn_named_ints_of(s->call, "dilation", n, 1, c->dilations));
}

DECOMP(convolution_backward) {
  conv c;
  open_conv(s, &c);
  if (s->status != FNZ_OK)
    return;
  give_wanted(s, 0, wanted(s, 0) ? of_input(s, &c) : NULL);
  give_wanted(s, 1, wanted(s, 1) ? of_weight(s, &c) : NULL);
  give_wanted(s, 2, wanted(s, 2) ? of_bias(s, c.grad) : NULL);
}

/* --- Norms ------------------------------------------------------------------------------- */
/* rstd (g - mean g - x mean (g x)), where x is normalised and the means are over `dims`. */
static fnzi_krn_array *through_norm(fnzi_dec_steps *s, fnzi_krn_array *g, fnzi_krn_array *x,
                                    fnzi_krn_array *rstd, const int64_t *dims, size_t count) {
  fnz_arg over = fnzi_dec_ints(s, dims, count);
  fnzi_krn_array *mean = STEP(mean__dim, V(g), over, B(true));
  fnzi_krn_array *along = STEP(mean__dim, V(MUL(g, x)), over, B(true));
  return MUL(rstd, SUB(SUB(g, mean), MUL(x, along)));
}

/* All dimensions; returns the number of dimensions before the dimensions of normalized_shape. */
static size_t outer_dims(fnzi_dec_steps *s, const fnzi_krn_array *input, int64_t *dims) {
  const int64_t *shape = NULL;
  size_t own = 0, rank = fnzi_dec_array_rank(input);
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "normalized_shape", &shape, &own));
  if (own > rank)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "normalized_shape has %zu numbers, input %zu dimensions; at most as many", own,
                    rank);
  for (size_t d = 0; d < rank; d++)
    dims[d] = (int64_t)d;
  return own > rank ? 0 : rank - own;
}

DECOMP(layer_norm_backward) {
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input"),
                 *weight = fnzi_dec_given_array(s, "weight");
  fnz_dtype dtype = fnzi_dec_array_dtype(input), inner = fnzi_dec_wide(dtype);
  fnzi_krn_array *grad = fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_out"), inner);
  fnzi_krn_array *rstd = fnzi_dec_cast(s, fnzi_dec_given_array(s, "rstd"), inner);
  int64_t dims[FNZ_MAX_RANK];
  size_t outer = outer_dims(s, input, dims), own = fnzi_dec_array_rank(input) - outer;
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *x = MUL(
      SUB(fnzi_dec_cast(s, input, inner), fnzi_dec_cast(s, fnzi_dec_given_array(s, "mean"), inner)),
      rstd);
  fnzi_krn_array *g = weight ? MUL(grad, fnzi_dec_cast(s, weight, inner)) : grad;
  fnz_dtype kept = weight ? fnzi_dec_array_dtype(weight) : dtype;
  give_wanted(s, 0, fnzi_dec_cast(s, through_norm(s, g, x, rstd, dims + outer, own), dtype));
  give_wanted(s, 1, fnzi_dec_cast(s, gradients_summed(s, MUL(grad, x), dims, outer, false), kept));
  give_wanted(s, 2, fnzi_dec_cast(s, gradients_summed(s, grad, dims, outer, false), kept));
}

/* Arguments of a norm of channels, in the type that it computes in. */
typedef struct channels {
  fnzi_krn_array *input, *grad, *mean, *rstd, *weight;
} channels;

/* Sums over the places of a channel are enough for all results. Batch, groups, channels of a group
 * and places are dimensions. */
static void give_groups(fnzi_dec_steps *s, const channels *c) {
  const fnzi_krn_array *input = fnzi_dec_given_array(s, "input"),
                       *weight = fnzi_dec_given_array(s, "weight");
  const fnz_dtype dtype = fnzi_dec_array_dtype(input);
  const int64_t each = fnzi_dec_array_size(c->input, 2), all = fnzi_krn_named_int(s->call, "C", 0);
  const int64_t places = each * fnzi_dec_array_size(c->input, 3);
  fnzi_krn_array *x = MUL(SUB(c->input, c->mean), c->rstd), *g = c->grad;
  fnzi_krn_array *along = STEP(sum__dim_IntList, V(MUL(g, x)), INTS(3), B(true));
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(g), INTS(3), B(true));
  fnzi_krn_array *by_weight = STEP(sum__dim_IntList, V(along), INTS(0));
  fnzi_krn_array *by_bias = STEP(sum__dim_IntList, V(sum), INTS(0));
  if (c->weight)
    along = MUL(along, c->weight), sum = MUL(sum, c->weight);
  along = STEP(div__Scalar, V(STEP(sum__dim_IntList, V(along), INTS(2), B(true))), I(places));
  sum = STEP(div__Scalar, V(STEP(sum__dim_IntList, V(sum), INTS(2), B(true))), I(places));
  /* Computed anew: that is quicker than to keep what is normalised. */
  x = MUL(SUB(c->input, c->mean), c->rstd);
  g = c->weight ? MUL(g, c->weight) : g;
  fnzi_krn_array *back = MUL(c->rstd, SUB(SUB(g, sum), MUL(x, along)));
  back = fnzi_dec_reshaped(s, back, input->geometry.sizes, fnzi_dec_array_rank(input));
  const fnz_dtype kept = weight ? fnzi_dec_array_dtype(weight) : dtype;
  give_wanted(s, 0, fnzi_dec_cast(s, back, dtype));
  give_wanted(s, 1, fnzi_dec_cast(s, RESHAPED(by_weight, all), kept));
  give_wanted(s, 2, fnzi_dec_cast(s, RESHAPED(by_bias, all), kept));
}

DECOMP(group_norm_backward) {
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input"),
                 *weight = fnzi_dec_given_array(s, "weight");
  fnz_dtype dtype = fnzi_dec_array_dtype(input), inner = fnzi_dec_wide(dtype);
  int64_t n = fnzi_krn_named_int(s->call, "N", 0), c = fnzi_krn_named_int(s->call, "C", 0);
  int64_t places = fnzi_krn_named_int(s->call, "HxW", 0),
          groups = fnzi_krn_named_int(s->call, "group", 1);
  int64_t numel = 0;
  bool fits = groups >= 1 && n >= 0 && c >= 0 && places >= 0 && c % groups == 0 &&
              fnzi_mul_i64(n, c, &numel) && fnzi_mul_i64(numel, places, &numel);
  if (!fits || fnzi_dec_array_numel(input) != numel)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "group is %lld, N %lld, C %lld, HxW %lld and input has %lld elements; group must "
        "divide C, and input have N C HxW",
        (long long)groups, (long long)n, (long long)c, (long long)places,
        (long long)fnzi_dec_array_numel(input));
  fnzi_dec_need_floats(s, "input", dtype);
  if (s->status != FNZ_OK)
    return;
  int64_t each = c / groups;
  fnzi_krn_array *grad = RESHAPED(fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_out"), inner), n,
                                  groups, each, places);
  fnzi_krn_array *x = RESHAPED(fnzi_dec_cast(s, input, inner), n, groups, each, places);
  fnzi_krn_array *rstd =
      RESHAPED(fnzi_dec_cast(s, fnzi_dec_given_array(s, "rstd"), inner), n, groups, 1, 1);
  fnzi_krn_array *mean =
      RESHAPED(fnzi_dec_cast(s, fnzi_dec_given_array(s, "mean"), inner), n, groups, 1, 1);
  if (weight)
    weight = RESHAPED(fnzi_dec_cast(s, weight, inner), 1, groups, each, 1);
  give_groups(s, &(channels){x, grad, mean, rstd, weight});
}

/* rstd (g - x mean (g x)): of a norm without a mean. */
DECOMP(rms_norm_backward) {
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input"),
                 *weight = fnzi_dec_given_array(s, "weight");
  fnz_dtype dtype = fnzi_dec_array_dtype(input), inner = fnzi_dec_wide(dtype);
  fnzi_krn_array *grad = fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_out"), inner);
  fnzi_krn_array *rstd = fnzi_dec_cast(s, fnzi_dec_given_array(s, "rstd"), inner);
  int64_t dims[FNZ_MAX_RANK];
  size_t outer = outer_dims(s, input, dims), rank = fnzi_dec_array_rank(input);
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *x = MUL(fnzi_dec_cast(s, input, inner), rstd);
  fnzi_krn_array *g = weight ? MUL(grad, fnzi_dec_cast(s, weight, inner)) : grad;
  fnzi_krn_array *along =
      STEP(mean__dim, V(MUL(g, x)), fnzi_dec_ints(s, dims + outer, rank - outer), B(true));
  fnzi_krn_array *back = MUL(rstd, SUB(g, MUL(x, along)));
  give_wanted(s, 0, fnzi_dec_cast(s, back, dtype));
  if (weight)
    give_wanted(s, 1,
                fnzi_dec_cast(s, gradients_summed(s, MUL(grad, x), dims, outer, false),
                              fnzi_dec_array_dtype(weight)));
  else
    fnzi_dec_result_none(s);
}

/* A number per channel as a tensor that broadcasts. */
static fnzi_krn_array *per_channel(fnzi_dec_steps *s, fnzi_krn_array *a, uint32_t rank,
                                   fnz_dtype dtype) {
  return a ? fnzi_dec_along(s, fnzi_dec_cast(s, a, dtype), 1, rank) : NULL;
}

/* First over the places, whose rows are summed as they are computed. */
static fnzi_krn_array *sum_by_channel(fnzi_dec_steps *s, fnzi_krn_array *a) {
  int64_t dims[FNZ_MAX_RANK];
  size_t count = 0;
  for (int64_t d = 2; d < fnzi_dec_array_rank(a); d++)
    dims[count++] = d;
  a = gradients_summed(s, a, dims, count, true);
  return STEP(sum__dim_IntList, V(a), INTS(0), B(true));
}

/* (g - mean g - d rstd^2 mean (g d)) rstd weight, where d is the input's distance from its mean.
 * The sums of g and g d also are the gradients of bias and weight, so no others are computed. */
static void give_channels(fnzi_dec_steps *s, const channels *c, bool train, fnz_dtype kept) {
  const int64_t width = fnzi_dec_array_size(c->input, 1);
  const int64_t places = width ? fnzi_dec_array_numel(c->input) / width : 0;
  fnzi_krn_array *distance = SUB(c->input, c->mean), *back = c->grad;
  fnzi_krn_array *along = sum_by_channel(s, MUL(distance, c->grad));
  fnzi_krn_array *sum = sum_by_channel(s, c->grad);
  fnzi_krn_array *by_weight = MUL(along, c->rstd);
  fnzi_krn_array *scale = c->weight ? MUL(c->rstd, c->weight) : c->rstd;
  if (train) {
    fnzi_krn_array *slope = STEP(div__Scalar, V(MUL(by_weight, c->rstd)), I(places));
    fnzi_krn_array *mean = STEP(div__Scalar, V(sum), I(places));
    /* Computed anew: that is quicker than to keep the distances. */
    back = SUB(SUB(back, mean), MUL(SUB(c->input, c->mean), slope));
  }
  const fnz_dtype dtype = fnzi_dec_array_dtype(fnzi_dec_given_array(s, "input"));
  give_wanted(s, 0, fnzi_dec_cast(s, MUL(back, scale), dtype));
  give_wanted(s, 1, fnzi_dec_cast(s, RESHAPED(by_weight, width), kept));
  give_wanted(s, 2, fnzi_dec_cast(s, RESHAPED(sum, width), kept));
}

DECOMP(batch_norm_backward) {
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input"),
                 *weight = fnzi_dec_given_array(s, "weight");
  fnz_dtype dtype = fnzi_dec_array_dtype(input), inner = fnzi_dec_wide(dtype);
  uint32_t rank = fnzi_dec_array_rank(input);
  bool other = fnzi_op_param(s->call->op, "update") >= 0;
  bool train = fnzi_krn_named_bool(s->call, other ? "update" : "train", false);
  fnzi_krn_array *mean = fnzi_dec_given_array(s, train ? "save_mean" : "running_mean"), *rstd;
  if (rank < 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "input has %u dimensions; it needs 2", rank);
  if (!mean)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "train is %s, but %s is None; give it",
                    train ? "true" : "false", train ? "save_mean" : "running_mean");
  fnzi_dec_need_floats(s, "input", dtype);
  if (s->status != FNZ_OK)
    return;
  if (train) {
    rstd = per_channel(s, fnzi_dec_given_array(s, other ? "save_var" : "save_invstd"), rank, inner);
  } else {
    fnzi_krn_array *var = per_channel(s, fnzi_dec_given_array(s, "running_var"), rank, inner);
    rstd = STEP(rsqrt, V(STEP(add__Scalar, V(var), F(fnzi_krn_named_float(s->call, "eps", 0)))));
  }
  channels c = {.input = fnzi_dec_cast(s, input, inner),
                .grad = fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_out"), inner),
                .mean = per_channel(s, mean, rank, inner),
                .rstd = rstd,
                .weight = per_channel(s, weight, rank, inner)};
  give_channels(s, &c, train, weight ? fnzi_dec_array_dtype(weight) : dtype);
}

/* --- Softmax ----------------------------------------------------------------------------- */
/* In the gradient's type, whatever the input's was. The one pair that means something else, an f16
 * input of f32 gradients, eager computes on GPUs only. */
static void give_in_type(fnzi_dec_steps *s, fnzi_krn_array *back, fnz_dtype dtype) {
  fnz_dtype input = fnzi_krn_named_dtype(s->call, "input_dtype", dtype);
  if (input == FNZ_F16 && dtype == FNZ_F32)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "grad_output is f32, input_dtype f16; on a CPU both are the same");
  fnzi_dec_result_give(s, fnzi_dec_cast(s, back, dtype));
}

/* Both gradients are differences of numbers that may be nearly the same: small floats are computed
 * in a larger type and rounded in the end. */
DECOMP(softmax_backward) {
  fnz_dtype dtype = fnzi_dec_array_dtype(fnzi_dec_given_array(s, "grad_output")),
            inner = fnzi_dec_wide(dtype);
  fnzi_krn_array *grad = fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_output"), inner);
  fnzi_krn_array *y = fnzi_dec_cast(s, fnzi_dec_given_array(s, "output"), inner);
  fnzi_krn_array *product = MUL(grad, y);
  fnz_arg dim = INTS(fnzi_dec_given_dim(s, "dim", grad));
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(product), dim, B(true));
  fnzi_krn_array *back = SUB(product, MUL(y, sum));
  give_in_type(s, back, dtype);
}

DECOMP(log_softmax_backward) {
  fnz_dtype dtype = fnzi_dec_array_dtype(fnzi_dec_given_array(s, "grad_output")),
            inner = fnzi_dec_wide(dtype);
  fnzi_krn_array *grad = fnzi_dec_cast(s, fnzi_dec_given_array(s, "grad_output"), inner);
  fnzi_krn_array *y = fnzi_dec_cast(s, fnzi_dec_given_array(s, "output"), inner);
  fnz_arg dim = INTS(fnzi_dec_given_dim(s, "dim", grad));
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(grad), dim, B(true));
  fnzi_krn_array *back = SUB(grad, MUL(STEP(exp, V(y)), sum));
  give_in_type(s, back, dtype);
}

/* --- Dropout ----------------------------------------------------------------------------- */
DECOMP(dropout_backward) {
  fnzi_krn_array *kept =
      MUL(fnzi_dec_given_array(s, "grad_output"), fnzi_dec_given_array(s, "mask"));
  fnzi_dec_result_give(s, STEP(mul__Scalar, V(kept), *fnzi_krn_named(s->call, "scale")));
}

/* --- Embedding --------------------------------------------------------------------------- */
/* At each index, one divided by the count of that index, in `dtype`. */
static fnzi_krn_array *rarity(fnzi_dec_steps *s, fnzi_krn_array *index, int64_t rows,
                              fnz_dtype dtype) {
  fnzi_krn_array *counts = STEP(zeros, INTS(rows), DTYPE(FNZ_F64));
  fnzi_krn_array *ones = STEP(ones_like, V(index), DTYPE(FNZ_F64));
  counts = STEP(index_add, V(counts), I(0), V(index), V(ones));
  fnzi_krn_array *each = STEP(reciprocal, V(STEP(index_select, V(counts), I(0), V(index))));
  return fnzi_dec_cast(s, RESHAPED(each, fnzi_dec_array_numel(index), 1), dtype);
}

DECOMP(embedding_backward) {
  fnzi_krn_array *grad = fnzi_krn_call_input(s->call, 0),
                 *index = fnzi_dec_given_array(s, "indices");
  if (fnzi_krn_named_bool(s->call, "sparse", false))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "sparse is True; gradients are dense, export with sparse=False");
  int64_t rows = fnzi_krn_named_int(s->call, "num_weights", 0),
          width = fnzi_dec_array_size(grad, -1);
  int64_t count = fnzi_dec_array_numel(index);
  grad = RESHAPED(grad, count, width);
  index = RESHAPED(index, count);
  int64_t padding = fnzi_krn_named_int(s->call, "padding_idx", -1);
  if (fnzi_krn_named_bool(s->call, "scale_grad_by_freq", false))
    grad = MUL(grad, rarity(s, index, rows, fnzi_dec_array_dtype(grad)));
  if (padding >= 0 || fnzi_dec_is_open(s, "padding_idx")) { /* no row has a number below 0 */
    fnzi_krn_array *skip = STEP(eq__Scalar, V(index), I(padding));
    grad = STEP(masked_fill__Scalar, V(grad), V(RESHAPED(skip, count, 1)), I(0));
  }
  fnzi_krn_array *zeros = STEP(new_zeros, V(grad), INTS(rows, width));
  fnzi_dec_result_give(s, STEP(index_add, V(zeros), I(0), V(index), V(grad)));
}

/* --- Windows ----------------------------------------------------------------------------- */
/* Windows lie side by side, all in `places`, and that stays so. */
static bool windows_meet(const fnzi_dec_steps *s, int64_t places, int64_t windows, int64_t size,
                         int64_t step) {
  bool is_open = s->script && (s->script->open | s->script->open_dims);
  return !is_open && windows > 0 && size > 0 && size == step && windows <= places / size;
}

/* Zeros follow, where places do. One is added to all, as that makes 0 of -0. */
static fnzi_krn_array *windows_joined(fnzi_dec_steps *s, fnzi_krn_array *grad, uint32_t dim,
                                      const fnzi_krn_array *like) {
  int64_t pads[2 * FNZ_MAX_RANK] = {0}, behind = RANK(like) - 1 - dim;
  int64_t rest = SIZE(like, dim) - SIZE(grad, dim);
  pads[2 * behind + 1] = rest;
  if (rest)
    grad = STEP(constant_pad_nd, V(grad), fnzi_dec_ints(s, pads, (size_t)(2 * behind + 2)));
  return ADD(grad, STEP(zeros, INTS(1), DTYPE(DTYPE_OF(grad))));
}

/* unfold has put the places within a window last; here they go behind the windows. */
DECOMP(unfold_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad_in");
  fnzi_krn_array *zeros =
      STEP(zeros, *fnzi_krn_named(s->call, "input_sizes"), DTYPE(fnzi_dec_array_dtype(grad)));
  uint32_t rank = fnzi_dec_array_rank(zeros), dim = fnzi_dec_given_dim(s, "dim", zeros);
  int64_t size = fnzi_krn_named_int(s->call, "size", 1),
          step = fnzi_krn_named_int(s->call, "step", 1);
  int64_t sizes[FNZ_MAX_RANK], order[FNZ_MAX_RANK + 1],
      windows = rank ? fnzi_dec_array_size(grad, dim) : 1;
  if (s->status == FNZ_OK &&
      (fnzi_dec_array_rank(grad) != rank + 1 || size != fnzi_dec_array_size(grad, -1)))
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "grad_in has %u dimensions and windows of %lld; self has %u and they are of %lld",
        fnzi_dec_array_rank(grad), (long long)fnzi_dec_array_size(grad, -1), rank, (long long)size);
  if (s->status != FNZ_OK)
    return;
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = d == dim ? windows * size : fnzi_dec_array_size(zeros, d);
  for (uint32_t d = 0; d <= rank; d++)
    order[d] = d <= dim ? d : d == dim + 1 ? rank : d - 1;
  if (rank)
    grad = STEP(permute, V(grad), fnzi_dec_ints(s, order, rank + 1));
  grad = fnzi_dec_reshaped(s, grad, sizes, rank);
  if (rank && windows_meet(s, SIZE(zeros, dim), windows, size, step)) {
    fnzi_dec_result_give(s, windows_joined(s, grad, dim, zeros));
    return;
  }
  /* The place along the dimension of each element of each window: step * window + place. */
  fnzi_krn_array *starts = STEP(mul__Scalar, V(STEP(arange, I(windows))), I(step));
  fnzi_krn_array *places =
      STEP(add__Tensor, V(RESHAPED(starts, windows, 1)), V(STEP(arange, I(size))));
  fnzi_krn_array *at = RESHAPED(places, windows * size);
  fnzi_dec_result_give(s, STEP(index_add, V(zeros), I(dim), V(at), V(grad)));
}
