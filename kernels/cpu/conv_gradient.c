/* conv_gradient.c - gradients of weights in f32 by oneDNN. Such a gradient comes as a convolution
 * that exchanges batch and channels, stride and dilation: its kernel, which is an image, is larger
 * than its result. oneDNN's convolutions are made for small kernels and take up to thirty times as
 * long. Its gradients of weights are not, so it is given the convolution whose weight is wanted.
 *
 * Names below are of that convolution: its images, the gradient of its result, and its weight. They
 * are put in oneDNN's order before, and back after. Parts, of the groups or of the channels of the
 * result, run each on one thread; how many there are depends on the sizes alone. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/sizes.h"
#include "kernels/cpu/special_reals.h"

enum {
  LEAST_KERNEL = 16,   /* elements, and no fewer than the result has */
  LEAST_CHANNELS = 32, /* of a part: fewer do not fill oneDNN's blocks */
  LEAST_USES = 1024,   /* of an element of the images in a part, which orders them for itself */
  MOST_PARTS = 4
};

enum { IMAGES, GRADIENT, WEIGHT, OPERANDS };

typedef int64_t conv_strides[2 + FNZI_CONV_MAX_SPATIAL];

typedef struct plan {
  fnzi_meta_conv conv;          /* as the call has it */
  conv_strides strides[WEIGHT]; /* of the call's arguments */
  int64_t parts, groups, outs;  /* how many; groups and channels of one */
  fnzi_cpu_onednn dnn;
  dnnl_primitive_t primitive, order[OPERANDS]; /* order: NULL where nothing is to be ordered */
  dnnl_memory_desc_t given[OPERANDS], ordered[OPERANDS];
} plan;

static void conv_gradient_end(fnz_context *ctx, void *data) {
  plan *p = data;
  for (int i = 0; i < OPERANDS; i++)
    if (p->order[i])
      dnnl_primitive_destroy(p->order[i]);
  if (p->primitive)
    dnnl_primitive_destroy(p->primitive);
  fnzi_cpu_onednn_close(&p->dnn);
  fnzi_free(ctx, p, sizeof *p);
}

/* Each group has one channel of the images: a part has some groups. Else there is one group. */
static bool is_depthwise(const fnzi_meta_conv *c) {
  return c->groups > 1 && c->batch == 1;
}

/* --- Making ------------------------------------------------------------------------------ */
/* An argument of the call with its first two dimensions exchanged, `channels` of the first one. */
static dnnl_status_t conv_gradient_describe(const fnzi_meta_conv *c, const int64_t *sizes,
                                            int64_t channels, const int64_t *at,
                                            dnnl_memory_desc_t *out) {
  dnnl_dims_t dims = {c->in_channels / c->groups, channels}, strides = {at[1], at[0]};
  for (uint32_t i = 0; i < c->spatial; i++)
    dims[2 + i] = sizes[i], strides[2 + i] = at[2 + i];
  return dnnl_memory_desc_init_by_strides(out, (int)c->spatial + 2, dims, dnnl_f32, strides);
}

static dnnl_status_t describe_all(plan *p) {
  const fnzi_meta_conv *c = &p->conv;
  const int64_t batch = c->in_channels / c->groups, out = fnzi_cpu_volume(c->out);
  conv_strides images;
  memcpy(images, p->strides[IMAGES], sizeof images);
  if (is_depthwise(c)) /* its channels are the groups */
    images[0] = batch * images[1];
  FNZI_DNNL_TRY(conv_gradient_describe(c, c->in, p->groups * c->batch, images, &p->given[IMAGES]));
  FNZI_DNNL_TRY(conv_gradient_describe(c, c->kernel, p->groups * p->outs, p->strides[GRADIENT],
                                       &p->given[GRADIENT]));
  dnnl_dims_t dims = {p->groups}, strides = {p->outs * out};
  int lead = p->groups > 1, rank = lead + 2;
  dims[lead] = p->outs, strides[lead] = out;
  dims[lead + 1] = c->batch, strides[lead + 1] = c->out_channels * out;
  dnnl_dim_t step = 1;
  for (int i = (int)c->spatial; i-- > 0; step *= c->out[i])
    dims[rank + i] = c->out[i], strides[rank + i] = step;
  return dnnl_memory_desc_init_by_strides(&p->given[WEIGHT], rank + (int)c->spatial, dims, dnnl_f32,
                                          strides);
}

/* oneDNN wants the forward convolution first, and chooses what is ordered how. Its implementation
 * by products (gemm) is slower than the convolution that was asked for. */
static dnnl_status_t conv_gradient_create_desc(plan *p, const_dnnl_primitive_attr_t attr,
                                               dnnl_primitive_desc_t *out) {
  const fnzi_meta_conv *c = &p->conv;
  dnnl_dims_t strides = {0}, dilates = {0}, left = {0}, right = {0};
  dnnl_memory_desc_t any[OPERANDS];
  dnnl_convolution_desc_t forward, backward;
  dnnl_primitive_desc_t hint;
  const char *name = "";
  for (uint32_t i = 0; i < c->spatial; i++) {
    strides[i] = c->dilation[i], dilates[i] = c->stride[i] - 1, left[i] = c->left[i];
    right[i] = (c->kernel[i] - 1) * c->dilation[i] + (c->out[i] - 1) * c->stride[i] + 1 - c->in[i] -
               c->left[i];
  }
  for (int i = 0; i < OPERANDS; i++)
    FNZI_DNNL_TRY(dnnl_memory_desc_init_by_tag(&any[i], p->given[i].ndims, p->given[i].dims,
                                               dnnl_f32, dnnl_format_tag_any));
  FNZI_DNNL_TRY(dnnl_dilated_convolution_forward_desc_init(
      &forward, dnnl_forward_training, dnnl_convolution_direct, &any[IMAGES], &any[WEIGHT], NULL,
      &any[GRADIENT], strides, dilates, left, right));
  FNZI_DNNL_TRY(dnnl_dilated_convolution_backward_weights_desc_init(
      &backward, dnnl_convolution_direct, &any[IMAGES], &any[WEIGHT], NULL, &any[GRADIENT], strides,
      dilates, left, right));
  FNZI_DNNL_TRY(dnnl_primitive_desc_create(&hint, &forward, NULL, p->dnn.engine, NULL));
  dnnl_status_t status = dnnl_primitive_desc_create(out, &backward, attr, p->dnn.engine, hint);
  dnnl_primitive_desc_destroy(hint);
  FNZI_DNNL_TRY(status);
  status = dnnl_primitive_desc_query(*out, dnnl_query_impl_info_str, 0, &name);
  if (status == dnnl_success && (strstr(name, "gemm") || strstr(name, "ref")))
    status = dnnl_unimplemented;
  if (status != dnnl_success)
    dnnl_primitive_desc_destroy(*out);
  return status;
}

static dnnl_status_t conv_gradient_create_with(plan *p, const_dnnl_primitive_attr_t attr) {
  static const int names[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS};
  dnnl_primitive_desc_t desc;
  FNZI_DNNL_TRY(describe_all(p));
  FNZI_DNNL_TRY(conv_gradient_create_desc(p, attr, &desc));
  for (int i = 0; i < OPERANDS; i++)
    p->ordered[i] = *dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, names[i]);
  FNZI_DNNL_TRY(fnzi_cpu_onednn_finish(&p->dnn, desc, &p->primitive));
  for (int i = 0; i < OPERANDS; i++) {
    const dnnl_memory_desc_t *from = i == WEIGHT ? &p->ordered[i] : &p->given[i],
                             *to = i == WEIGHT ? &p->given[i] : &p->ordered[i];
    if (dnnl_memory_desc_equal(from, to))
      continue;
    FNZI_DNNL_TRY(
        dnnl_reorder_primitive_desc_create(&desc, from, p->dnn.engine, to, p->dnn.engine, attr));
    FNZI_DNNL_TRY(fnzi_cpu_onednn_finish(&p->dnn, desc, &p->order[i]));
  }
  return dnnl_success;
}

static dnnl_status_t conv_gradient_create(void *user) {
  plan *p = user;
  dnnl_primitive_attr_t attr;
  FNZI_DNNL_TRY(fnzi_cpu_onednn_open(&p->dnn, &attr));
  dnnl_status_t status = conv_gradient_create_with(p, attr);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

/* --- Executing --------------------------------------------------------------------------- */
typedef struct run {
  const plan *plan;
  const float *images, *gradient;
  float *weight;
  unsigned char *room;                    /* of all threads */
  size_t bytes[OPERANDS + 1], lane_bytes; /* of ordered operands, and of scratch memory */
  int *status;                            /* of each thread */
} run;

/* One part: its operands, and a thread's room. */
typedef struct part {
  const run *run;
  void *given[OPERANDS];
  unsigned char *room;
} part;

static dnnl_status_t order(const plan *p, int i, dnnl_memory_t from, dnnl_memory_t to,
                           dnnl_memory_t scratch) {
  const dnnl_exec_arg_t args[] = {
      {DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratch}};
  return p->order[i] ? dnnl_primitive_execute(p->order[i], p->dnn.stream, 3, args) : dnnl_success;
}

static dnnl_status_t execute_with(const plan *p, const dnnl_memory_t *given,
                                  const dnnl_memory_t *ordered) {
  const dnnl_memory_t scratch = ordered[OPERANDS];
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, ordered[IMAGES]},
                                  {DNNL_ARG_DIFF_DST, ordered[GRADIENT]},
                                  {DNNL_ARG_DIFF_WEIGHTS, ordered[WEIGHT]},
                                  {DNNL_ARG_SCRATCHPAD, scratch}};
  FNZI_DNNL_TRY(order(p, IMAGES, given[IMAGES], ordered[IMAGES], scratch));
  FNZI_DNNL_TRY(order(p, GRADIENT, given[GRADIENT], ordered[GRADIENT], scratch));
  FNZI_DNNL_TRY(dnnl_primitive_execute(p->primitive, p->dnn.stream, 4, args));
  return order(p, WEIGHT, ordered[WEIGHT], given[WEIGHT], scratch);
}

static dnnl_status_t execute(void *user) {
  const part *one = user;
  const plan *p = one->run->plan;
  dnnl_memory_t given[OPERANDS] = {NULL}, ordered[OPERANDS + 1] = {NULL};
  dnnl_status_t status = dnnl_success;
  unsigned char *room = one->room;
  for (int i = 0; i <= OPERANDS; room += one->run->bytes[i++]) {
    const dnnl_memory_desc_t *desc = i < OPERANDS ? &p->ordered[i] : &p->dnn.scratch;
    void *data = i == OPERANDS || p->order[i] ? room : one->given[i];
    if (status == dnnl_success)
      status = dnnl_memory_create(&ordered[i], desc, p->dnn.engine, data);
    if (status == dnnl_success && i < OPERANDS)
      status = dnnl_memory_create(&given[i], &p->given[i], p->dnn.engine, one->given[i]);
  }
  if (status == dnnl_success)
    status = execute_with(p, given, ordered);
  for (int i = 0; i <= OPERANDS; i++) {
    if (ordered[i])
      dnnl_memory_destroy(ordered[i]);
    if (i < OPERANDS && given[i])
      dnnl_memory_destroy(given[i]);
  }
  return status;
}

static void conv_gradient_run_part(const void *user, int64_t at, int lane) {
  const run *r = user;
  const fnzi_meta_conv *c = &r->plan->conv;
  const int64_t outs = at * r->plan->groups * r->plan->outs,
                ins = is_depthwise(c) ? at * r->plan->groups : 0;
  part one = {.run = r, .room = r->room + (size_t)lane * r->lane_bytes};
  one.given[IMAGES] = fnzi_cpu_onednn_writable(r->images + ins * (c->in_channels / c->groups) *
                                                               r->plan->strides[IMAGES][1]);
  one.given[GRADIENT] =
      fnzi_cpu_onednn_writable(r->gradient + outs * r->plan->strides[GRADIENT][0]);
  one.given[WEIGHT] = r->weight + outs * fnzi_cpu_volume(c->out);
  int status = (int)fnzi_cpu_onednn_guard(execute, &one);
  if (status)
    r->status[lane] = status;
}

/* --- The kernel ------------------------------------------------------------------------------ */
bool fnzi_cpu_conv_is_gradient(const fnzi_krn_call *call, const fnzi_meta_conv *c) {
  int64_t kernel = fnzi_cpu_volume(c->kernel);
  return !c->transposed && c->batched && (c->groups == 1 || is_depthwise(c)) &&
         !fnzi_krn_call_input(call, 2) && !fnzi_cpu_conv_keeps_weight(call) &&
         kernel >= LEAST_KERNEL && kernel >= fnzi_cpu_volume(c->out);
}

/* Parts of the groups, or of a group's channels of the result. */
static int64_t conv_gradient_count_parts(const fnzi_meta_conv *c) {
  const int64_t count = is_depthwise(c) ? c->groups : c->out_channels;
  const int64_t least = is_depthwise(c) ? 1 : LEAST_USES;
  int64_t parts = MOST_PARTS;
  while (parts > 1 && (count % (parts * LEAST_CHANNELS) ||
                       count / parts < fnzi_cpu_parts(least, fnzi_cpu_volume(c->out))))
    parts /= 2;
  return parts;
}

/* An argument as it lies, if its elements are of f32 and apart, else dense. */
static fnz_status open_argument(fnzi_krn_call *call, size_t i, const float **out, int64_t *at) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, i);
  const fnz_geometry *g = &a->geometry;
  fnzi_cpu_reals dense;
  bool lies = a->window.dtype == FNZ_F32;
  for (uint32_t d = 0; d < g->rank; d++)
    lies = lies && (a->window.strides[d] || g->sizes[d] == 1);
  fnzi_contiguous_strides(g->sizes, g->rank, at);
  if (lies) {
    memcpy(at, a->window.strides, g->rank * sizeof *at);
    *out = (const float *)fnzi_krn_array_data(a);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_cpu_reals_open(call, a, FNZ_F32, &dense));
  *out = dense.f;
  return FNZ_OK;
}

/* The call's plan, kept for its next run; *out is NULL where oneDNN has no fast implementation. */
static fnz_status find_plan(fnzi_krn_call *call, const fnzi_meta_conv *c, const conv_strides *at,
                            plan **out) {
  plan *p = call->own ? call->own->data : NULL;
  bool done;
  *out = p;
  if (p && fnzi_cpu_conv_same(&p->conv, c) && memcmp(p->strides, at, sizeof p->strides) == 0)
    return FNZ_OK;
  if (p) {
    conv_gradient_end(call->ctx, p);
    *call->own = (fnzi_krn_kept){NULL, NULL};
  }
  *out = p = fnzi_resize(call->ctx, NULL, 0, sizeof *p);
  if (!p)
    return fnzi_no_memory(call->ctx);
  memset(p, 0, sizeof *p);
  p->conv = *c;
  memcpy(p->strides, at, sizeof p->strides);
  p->parts = conv_gradient_count_parts(c);
  p->groups = is_depthwise(c) ? c->groups / p->parts : 1;
  p->outs = c->out_channels / p->parts / p->groups;
  fnz_status status =
      fnzi_cpu_onednn_judge(call->ctx, (int)fnzi_cpu_onednn_guard(conv_gradient_create, p), &done);
  if (status != FNZ_OK || !done) {
    conv_gradient_end(call->ctx, p);
    *out = NULL;
  } else if (call->own) {
    *call->own = (fnzi_krn_kept){p, conv_gradient_end};
  }
  return status;
}

static fnz_status run_in(fnzi_krn_call *call, run *r) {
  const plan *p = r->plan;
  const size_t lanes = (size_t)fnzi_cpu_lanes(call);
  const fnzi_meta_conv *c = &p->conv;
  fnzi_krn_storage *memory;
  for (int i = 0; i <= OPERANDS; i++) {
    const dnnl_memory_desc_t *desc = i < OPERANDS ? &p->ordered[i] : &p->dnn.scratch;
    if (i == OPERANDS || p->order[i])
      r->bytes[i] = (dnnl_memory_desc_get_size(desc) + 63) & ~(size_t)63;
    r->lane_bytes += r->bytes[i];
  }
  FNZI_NEW(&call->scratch, lanes, &r->status);
  FNZ_TRY(fnzi_krn_storage_create(call->ctx, call->stock, lanes * r->lane_bytes, &memory));
  r->room = memory->data;
  fnzi_cpu_rows_spread(call, p->parts, fnzi_cpu_volume(c->kernel) * c->in_channels,
                       conv_gradient_run_part, r);
  fnzi_krn_storage_release(call->ctx, memory);
  for (size_t i = 0; i < lanes; i++)
    if (r->status[i])
      return fnzi_cpu_onednn_judge_made(call->ctx, r->status[i]);
  return FNZ_OK;
}

fnz_status fnzi_cpu_conv_gradient(fnzi_krn_call *call, const fnzi_meta_conv *c, bool *done) {
  run r = {.status = NULL};
  fnzi_cpu_reals_out weight;
  conv_strides at[WEIGHT] = {{0}};
  plan *p;
  FNZ_TRY(open_argument(call, 0, &r.images, at[IMAGES]));
  FNZ_TRY(open_argument(call, 1, &r.gradient, at[GRADIENT]));
  FNZ_TRY(find_plan(call, c, (const conv_strides *)at, &p));
  *done = p != NULL;
  if (!p)
    return FNZ_OK;
  r.plan = p;
  fnz_status status = fnzi_cpu_reals_result(call, 0, FNZ_F32, &weight);
  r.weight = weight.f;
  if (status == FNZ_OK)
    status = run_in(call, &r);
  if (!call->own)
    conv_gradient_end(call->ctx, p);
  return status;
}
