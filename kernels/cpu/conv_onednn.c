/* conv_onednn.c - float convolutions of one sample by oneDNN's C API: primitives, made once per
 * shape, that are executed on any memory.
 *
 * Images have channels last, which all of oneDNN's fast implementations take; it chooses the layout
 * of weights, which are reordered. A primitive always runs on one thread: its blocking, and with it
 * the order of its sums, would otherwise depend on how many threads the caller has. Scratch memory
 * comes from the caller, so that several threads can execute one primitive. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/onednn.h"

enum { ARGUMENTS = 5 }; /* x, weight, y, bias, scratch */

struct fnzi_cpu_conv_plan {
  fnzi_meta_conv conv;
  bool has_bias;
  int lanes;
  dnnl_memory_t *memories; /* ARGUMENTS for each lane: to make them takes as long as a small part */
  fnzi_cpu_onednn dnn;
  dnnl_primitive_t primitive, reorder; /* reorder: of the weight; NULL: it is as it should be */
  dnnl_memory_desc_t x, y, bias;
  dnnl_memory_desc_t plain, weight; /* the weight in the caller's memory and in the primitive's */
};

void fnzi_cpu_conv_plan_end(fnz_context *ctx, fnzi_cpu_conv_plan *p) {
  for (int i = 0; p->memories && i < p->lanes * ARGUMENTS; i++)
    if (p->memories[i])
      dnnl_memory_destroy(p->memories[i]);
  fnzi_free(ctx, p->memories, (size_t)(p->lanes * ARGUMENTS) * sizeof *p->memories);
  if (p->reorder)
    dnnl_primitive_destroy(p->reorder);
  if (p->primitive)
    dnnl_primitive_destroy(p->primitive);
  fnzi_cpu_onednn_close(&p->dnn);
  fnzi_free(ctx, p, sizeof *p);
}

/* --- Making ------------------------------------------------------------------------------ */
static dnnl_status_t plain(dnnl_memory_desc_t *out, int rank, const dnnl_dims_t dims,
                           const dnnl_dims_t strides) {
  return dnnl_memory_desc_init_by_strides(out, rank, dims, dnnl_f32, strides);
}

/* Channels last, behind the spatial dimensions. */
static dnnl_status_t describe_image(const fnzi_meta_conv *c, int64_t channels, const int64_t *sizes,
                                    dnnl_memory_desc_t *out) {
  dnnl_dims_t dims = {c->batch, channels}, strides = {0};
  dnnl_dim_t stride = channels;
  for (uint32_t i = 0; i < c->spatial; i++)
    dims[2 + i] = sizes[i];
  strides[1] = 1;
  for (uint32_t i = c->spatial; i-- > 0; stride *= sizes[i])
    strides[2 + i] = stride;
  strides[0] = stride;
  return plain(out, (int)c->spatial + 2, dims, strides);
}

/* oneDNN's order is (group, out, in, kernel...); transposed weights have out and in swapped in
 * memory. */
static dnnl_status_t describe_weight(const fnzi_meta_conv *c, dnnl_memory_desc_t *out) {
  int64_t outs = c->out_channels / c->groups, ins = c->in_channels / c->groups;
  dnnl_dims_t dims = {0}, strides = {0};
  dnnl_dim_t stride = 1;
  int lead = c->groups > 1, rank = lead + 2 + (int)c->spatial;
  dims[0] = c->groups;
  dims[lead] = c->transposed ? ins : outs;
  dims[lead + 1] = c->transposed ? outs : ins;
  for (uint32_t i = 0; i < c->spatial; i++)
    dims[lead + 2 + (int)i] = c->kernel[i];
  for (int i = rank; i-- > 0; stride *= dims[i])
    strides[i] = stride;
  if (c->transposed) {
    stride = strides[lead];
    dims[lead] = outs, dims[lead + 1] = ins;
    strides[lead] = strides[lead + 1], strides[lead + 1] = stride;
  }
  return plain(out, rank, dims, strides);
}

static dnnl_status_t create_desc(const fnzi_cpu_conv_plan *p, const_dnnl_primitive_attr_t attr,
                                 dnnl_primitive_desc_t *out) {
  const fnzi_meta_conv *c = &p->conv;
  dnnl_memory_desc_t weight;
  FNZI_DNNL_TRY(dnnl_memory_desc_init_by_tag(&weight, p->plain.ndims, p->plain.dims, dnnl_f32,
                                             dnnl_format_tag_any));
  dnnl_dims_t strides = {0}, dilates = {0}, left = {0}, right = {0};
  for (uint32_t i = 0; i < c->spatial; i++) {
    strides[i] = c->stride[i];
    dilates[i] = c->dilation[i] - 1;
    left[i] = c->left[i];
    right[i] = c->right[i];
  }
  const dnnl_memory_desc_t *bias = p->has_bias ? &p->bias : NULL;
  if (c->transposed) {
    dnnl_deconvolution_desc_t op;
    FNZI_DNNL_TRY(dnnl_dilated_deconvolution_forward_desc_init(
        &op, dnnl_forward_inference, dnnl_deconvolution_direct, &p->x, &weight, bias, &p->y,
        strides, dilates, left, right));
    return dnnl_primitive_desc_create(out, &op, attr, p->dnn.engine, NULL);
  }
  dnnl_convolution_desc_t op;
  FNZI_DNNL_TRY(dnnl_dilated_convolution_forward_desc_init(
      &op, dnnl_forward_inference, dnnl_convolution_direct, &p->x, &weight, bias, &p->y, strides,
      dilates, left, right));
  return dnnl_primitive_desc_create(out, &op, attr, p->dnn.engine, NULL);
}

static dnnl_status_t create_with(fnzi_cpu_conv_plan *p, const_dnnl_primitive_attr_t attr) {
  const fnzi_meta_conv *c = &p->conv;
  dnnl_primitive_desc_t desc;
  FNZI_DNNL_TRY(describe_image(c, c->in_channels, c->in, &p->x));
  FNZI_DNNL_TRY(describe_image(c, c->out_channels, c->out, &p->y));
  FNZI_DNNL_TRY(describe_weight(c, &p->plain));
  FNZI_DNNL_TRY(plain(&p->bias, 1, (const dnnl_dims_t){c->out_channels}, (const dnnl_dims_t){1}));
  FNZI_DNNL_TRY(create_desc(p, attr, &desc));
  p->weight = *dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, DNNL_ARG_WEIGHTS);
  FNZI_DNNL_TRY(fnzi_cpu_onednn_finish(&p->dnn, desc, &p->primitive));
  if (dnnl_memory_desc_equal(&p->plain, &p->weight))
    return dnnl_success;
  FNZI_DNNL_TRY(dnnl_reorder_primitive_desc_create(&desc, &p->plain, p->dnn.engine, &p->weight,
                                                   p->dnn.engine, attr));
  return fnzi_cpu_onednn_finish(&p->dnn, desc, &p->reorder);
}

static dnnl_status_t create(void *user) {
  fnzi_cpu_conv_plan *p = user;
  dnnl_primitive_attr_t attr;
  FNZI_DNNL_TRY(fnzi_cpu_onednn_open(&p->dnn, &attr));
  dnnl_status_t status = create_with(p, attr);
  dnnl_primitive_attr_destroy(attr);
  FNZI_DNNL_TRY(status);
  const dnnl_memory_desc_t *const of[ARGUMENTS] = {&p->x, &p->weight, &p->y, &p->bias,
                                                   &p->dnn.scratch};
  for (int i = 0; i < p->lanes * ARGUMENTS; i++)
    FNZI_DNNL_TRY(
        dnnl_memory_create(&p->memories[i], of[i % ARGUMENTS], p->dnn.engine, DNNL_MEMORY_NONE));
  return dnnl_success;
}

fnz_status fnzi_cpu_conv_plan_make(fnz_context *ctx, const fnzi_meta_conv *c, bool has_bias,
                                   int lanes, fnzi_cpu_conv_plan **out) {
  const size_t bytes = (size_t)(lanes * ARGUMENTS) * sizeof(dnnl_memory_t);
  fnzi_cpu_conv_plan *p = fnzi_resize(ctx, NULL, 0, sizeof *p);
  bool done;
  *out = NULL;
  if (!p)
    return fnzi_no_memory(ctx);
  memset(p, 0, sizeof *p);
  p->conv = *c, p->has_bias = has_bias, p->lanes = lanes;
  p->memories = fnzi_resize(ctx, NULL, 0, bytes);
  if (!p->memories) {
    fnzi_cpu_conv_plan_end(ctx, p);
    return fnzi_no_memory(ctx);
  }
  memset(p->memories, 0, bytes);
  fnz_status status = fnzi_cpu_onednn_judge(ctx, (int)fnzi_cpu_onednn_guard(create, p), &done);
  if (done)
    *out = p;
  else
    fnzi_cpu_conv_plan_end(ctx, p);
  return status;
}

static bool same_sizes(const int64_t *a, const int64_t *b) {
  return memcmp(a, b, FNZI_CONV_MAX_SPATIAL * sizeof *a) == 0;
}

bool fnzi_cpu_conv_same(const fnzi_meta_conv *a, const fnzi_meta_conv *b) {
  return a->in_channels == b->in_channels && a->out_channels == b->out_channels &&
         a->spatial == b->spatial && a->transposed == b->transposed && a->batch == b->batch &&
         a->groups == b->groups && same_sizes(a->in, b->in) && same_sizes(a->out, b->out) &&
         same_sizes(a->kernel, b->kernel) && same_sizes(a->stride, b->stride) &&
         same_sizes(a->dilation, b->dilation) && same_sizes(a->left, b->left) &&
         same_sizes(a->right, b->right);
}

bool fnzi_cpu_conv_plan_serves(const fnzi_cpu_conv_plan *p, const fnzi_meta_conv *c, bool has_bias,
                               int lanes) {
  return p->lanes >= lanes && p->has_bias == has_bias && fnzi_cpu_conv_same(&p->conv, c);
}

bool fnzi_cpu_conv_plan_shares_weight(const fnzi_cpu_conv_plan *a, const fnzi_cpu_conv_plan *b) {
  return dnnl_memory_desc_equal(&a->weight, &b->weight);
}

fnzi_cpu_conv_bytes fnzi_cpu_conv_plan_bytes(const fnzi_cpu_conv_plan *p) {
  return (fnzi_cpu_conv_bytes){p->reorder ? dnnl_memory_desc_get_size(&p->weight) : 0,
                               dnnl_memory_desc_get_size(&p->dnn.scratch)};
}

/* --- Executing --------------------------------------------------------------------------- */
typedef struct work {
  const fnzi_cpu_conv_plan *plan;
  const void *from, *to; /* of a reorder */
  const fnzi_cpu_conv_operands *operands;
  void *scratch;
  int lane;
} work;

static dnnl_status_t convolve(void *user) {
  static const int names[ARGUMENTS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS,
                                       DNNL_ARG_SCRATCHPAD};
  const work *all = user;
  const fnzi_cpu_conv_plan *p = all->plan;
  const fnzi_cpu_conv_operands *o = all->operands;
  const void *const data[ARGUMENTS] = {o->x, o->weight, o->y, o->bias, all->scratch};
  dnnl_exec_arg_t args[ARGUMENTS];
  int count = 0;
  for (int i = 0; i < ARGUMENTS; i++) {
    dnnl_memory_t memory = p->memories[all->lane * ARGUMENTS + i];
    if (names[i] == DNNL_ARG_BIAS && !p->has_bias)
      continue;
    FNZI_DNNL_TRY(dnnl_memory_set_data_handle(memory, fnzi_cpu_onednn_writable(data[i])));
    args[count++] = (dnnl_exec_arg_t){names[i], memory};
  }
  return dnnl_primitive_execute(p->primitive, p->dnn.stream, count, args);
}

static dnnl_status_t reorder(void *user) {
  enum { FROM, TO, SCRATCH, COUNT };
  const work *all = user;
  const fnzi_cpu_conv_plan *p = all->plan;
  dnnl_memory_t m[COUNT] = {NULL};
  dnnl_status_t status =
      dnnl_memory_create(&m[FROM], &p->plain, p->dnn.engine, fnzi_cpu_onednn_writable(all->from));
  if (status == dnnl_success)
    status =
        dnnl_memory_create(&m[TO], &p->weight, p->dnn.engine, fnzi_cpu_onednn_writable(all->to));
  if (status == dnnl_success)
    status = dnnl_memory_create(&m[SCRATCH], &p->dnn.scratch, p->dnn.engine, all->scratch);
  const dnnl_exec_arg_t args[COUNT] = {
      {DNNL_ARG_FROM, m[FROM]}, {DNNL_ARG_TO, m[TO]}, {DNNL_ARG_SCRATCHPAD, m[SCRATCH]}};
  if (status == dnnl_success)
    status = dnnl_primitive_execute(p->reorder, p->dnn.stream, COUNT, args);
  for (int i = 0; i < COUNT; i++)
    if (m[i])
      dnnl_memory_destroy(m[i]);
  return status;
}

int fnzi_cpu_conv_plan_weight(const fnzi_cpu_conv_plan *p, const float *weight, void *out,
                              void *scratch) {
  work all = {.plan = p, .from = weight, .to = out, .scratch = scratch};
  return (int)fnzi_cpu_onednn_guard(reorder, &all);
}

int fnzi_cpu_conv_plan_run(const fnzi_cpu_conv_plan *p, const fnzi_cpu_conv_operands *o,
                           void *scratch, int lane) {
  work all = {.plan = p, .operands = o, .scratch = scratch, .lane = lane};
  return (int)fnzi_cpu_onednn_guard(convolve, &all);
}
