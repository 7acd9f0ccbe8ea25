/* conv_onednn.c - float convolutions by oneDNN's C API.
 *
 * Plain row-major data comes in; oneDNN chooses its own blocked layouts and we reorder to and from
 * them. A primitive always runs on one thread: its blocking, and with it the order of its sums,
 * would otherwise depend on how many threads the caller has. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/onednn_guard.h"

#include <omp.h>

enum { MAX_MEMORIES = 8 };

/* Everything that has to end, in one place, so that every path out is the same one. */
typedef struct session {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  dnnl_memory_t memories[MAX_MEMORIES];
  int nmemories;
} session;

/* One operand: the caller's plain memory and the layout the primitive wants. */
typedef struct operand {
  dnnl_memory_desc_t plain;
  dnnl_memory_t user, wanted;
  int arg;
} operand;

#define DNNL_TRY(expr)                                                                             \
  do {                                                                                             \
    dnnl_status_t dnnl_status_ = (expr);                                                           \
    if (dnnl_status_ != dnnl_success)                                                              \
      return dnnl_status_;                                                                         \
  } while (0)

static void end(session *s) {
  for (int i = 0; i < s->nmemories; i++)
    dnnl_memory_destroy(s->memories[i]);
  if (s->primitive)
    dnnl_primitive_destroy(s->primitive);
  if (s->desc)
    dnnl_primitive_desc_destroy(s->desc);
  if (s->stream)
    dnnl_stream_destroy(s->stream);
  if (s->engine)
    dnnl_engine_destroy(s->engine);
}

static dnnl_status_t plain(dnnl_memory_desc_t *out, int rank, const dnnl_dims_t dims,
                           const dnnl_dims_t strides) {
  return dnnl_memory_desc_init_by_strides(out, rank, dims, dnnl_f32, strides);
}

static dnnl_status_t any(dnnl_memory_desc_t *out, const dnnl_memory_desc_t *like) {
  return dnnl_memory_desc_init_by_tag(out, like->ndims, like->dims, dnnl_f32, dnnl_format_tag_any);
}

static void row_major(int rank, const dnnl_dims_t dims, dnnl_dims_t strides) {
  dnnl_dim_t stride = 1;
  for (int i = rank; i-- > 0; stride *= dims[i])
    strides[i] = stride;
}

static dnnl_status_t describe_image(const fnzi_meta_conv *c, int64_t channels, const int64_t *sizes,
                                    dnnl_memory_desc_t *out) {
  dnnl_dims_t dims = {c->batch, channels}, strides = {0};
  for (uint32_t i = 0; i < c->spatial; i++)
    dims[2 + i] = sizes[i];
  row_major((int)c->spatial + 2, dims, strides);
  return plain(out, (int)c->spatial + 2, dims, strides);
}

/* oneDNN's order is (group, out, in, kernel...); transposed weights have out and in swapped in
 * memory. */
static dnnl_status_t describe_weight(const fnzi_meta_conv *c, dnnl_memory_desc_t *out) {
  int64_t outs = c->out_channels / c->groups, ins = c->in_channels / c->groups;
  dnnl_dims_t dims = {0}, strides = {0};
  int lead = c->groups > 1, rank = lead + 2 + (int)c->spatial;
  dims[0] = c->groups;
  dims[lead] = c->transposed ? ins : outs;
  dims[lead + 1] = c->transposed ? outs : ins;
  for (uint32_t i = 0; i < c->spatial; i++)
    dims[lead + 2 + (int)i] = c->kernel[i];
  row_major(rank, dims, strides);
  if (c->transposed) {
    dnnl_dim_t stride = strides[lead];
    dims[lead] = outs, dims[lead + 1] = ins;
    strides[lead] = strides[lead + 1], strides[lead + 1] = stride;
  }
  return plain(out, rank, dims, strides);
}

static dnnl_status_t create_desc(session *s, const fnzi_meta_conv *c, const operand *x,
                                 const operand *w, const operand *b, const operand *y) {
  dnnl_memory_desc_t md_x, md_w, md_y;
  DNNL_TRY(any(&md_x, &x->plain));
  DNNL_TRY(any(&md_w, &w->plain));
  DNNL_TRY(any(&md_y, &y->plain));
  dnnl_dims_t strides = {0}, dilates = {0}, left = {0}, right = {0};
  for (uint32_t i = 0; i < c->spatial; i++) {
    strides[i] = c->stride[i];
    dilates[i] = c->dilation[i] - 1;
    left[i] = c->left[i];
    right[i] = c->right[i];
  }
  const dnnl_memory_desc_t *bias = b ? &b->plain : NULL;
  if (c->transposed) {
    dnnl_deconvolution_desc_t op;
    DNNL_TRY(dnnl_dilated_deconvolution_forward_desc_init(
        &op, dnnl_forward_inference, dnnl_deconvolution_direct, &md_x, &md_w, bias, &md_y, strides,
        dilates, left, right));
    return dnnl_primitive_desc_create(&s->desc, &op, NULL, s->engine, NULL);
  }
  dnnl_convolution_desc_t op;
  DNNL_TRY(dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference,
                                                      dnnl_convolution_direct, &md_x, &md_w, bias,
                                                      &md_y, strides, dilates, left, right));
  return dnnl_primitive_desc_create(&s->desc, &op, NULL, s->engine, NULL);
}

static dnnl_status_t memory(session *s, const dnnl_memory_desc_t *desc, void *data,
                            dnnl_memory_t *out) {
  DNNL_TRY(dnnl_memory_create(out, desc, s->engine, data));
  s->memories[s->nmemories++] = *out;
  return dnnl_success;
}

static dnnl_status_t reorder(session *s, dnnl_memory_t from, dnnl_memory_t to) {
  const dnnl_memory_desc_t *md_from, *md_to;
  DNNL_TRY(dnnl_memory_get_memory_desc(from, &md_from));
  DNNL_TRY(dnnl_memory_get_memory_desc(to, &md_to));
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;
  DNNL_TRY(dnnl_reorder_primitive_desc_create(&desc, md_from, s->engine, md_to, s->engine, NULL));
  dnnl_status_t status = dnnl_primitive_create(&primitive, desc);
  dnnl_primitive_desc_destroy(desc);
  DNNL_TRY(status);
  dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  status = dnnl_primitive_execute(primitive, s->stream, 2, args);
  dnnl_primitive_destroy(primitive);
  return status;
}

/* Gives an operand memory in the layout the primitive wants: the caller's own where that fits. */
static dnnl_status_t attach(session *s, operand *o, int arg, void *data) {
  const dnnl_memory_desc_t *want =
      dnnl_primitive_desc_query_md(s->desc, dnnl_query_exec_arg_md, arg);
  o->arg = arg;
  DNNL_TRY(memory(s, &o->plain, data, &o->user));
  o->wanted = o->user;
  if (dnnl_memory_desc_equal(want, &o->plain))
    return dnnl_success;
  return memory(s, want, DNNL_MEMORY_ALLOCATE, &o->wanted);
}

static dnnl_status_t fetch(session *s, operand *o, int arg, const void *data) {
  union {
    const void *in;
    void *out;
  } unconst = {data}; /* oneDNN only reads it */
  DNNL_TRY(attach(s, o, arg, unconst.out));
  return o->wanted == o->user ? dnnl_success : reorder(s, o->user, o->wanted);
}

typedef struct work {
  session *s;
  const fnzi_meta_conv *c;
  const float *x, *weight, *bias;
  float *y;
} work;

static dnnl_status_t compute(void *user) {
  const work *all = user;
  session *s = all->s;
  const fnzi_meta_conv *c = all->c;
  const float *data_b = all->bias;
  operand x, w, b, y;
  DNNL_TRY(dnnl_engine_create(&s->engine, dnnl_cpu, 0));
  DNNL_TRY(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags));
  DNNL_TRY(describe_image(c, c->in_channels, c->in, &x.plain));
  DNNL_TRY(describe_image(c, c->out_channels, c->out, &y.plain));
  DNNL_TRY(describe_weight(c, &w.plain));
  DNNL_TRY(plain(&b.plain, 1, (const dnnl_dims_t){c->out_channels}, (const dnnl_dims_t){1}));
  DNNL_TRY(create_desc(s, c, &x, &w, data_b ? &b : NULL, &y));
  DNNL_TRY(dnnl_primitive_create(&s->primitive, s->desc));
  DNNL_TRY(fetch(s, &x, DNNL_ARG_SRC, all->x));
  DNNL_TRY(fetch(s, &w, DNNL_ARG_WEIGHTS, all->weight));
  if (data_b)
    DNNL_TRY(fetch(s, &b, DNNL_ARG_BIAS, data_b));
  DNNL_TRY(attach(s, &y, DNNL_ARG_DST, all->y));
  dnnl_exec_arg_t args[4] = {{x.arg, x.wanted}, {w.arg, w.wanted}, {y.arg, y.wanted}};
  if (data_b)
    args[3] = (dnnl_exec_arg_t){b.arg, b.wanted};
  DNNL_TRY(dnnl_primitive_execute(s->primitive, s->stream, data_b ? 4 : 3, args));
  if (y.wanted != y.user)
    DNNL_TRY(reorder(s, y.wanted, y.user));
  return dnnl_stream_wait(s->stream);
}

fnz_status fnzi_cpu_conv_onednn(fnz_context *ctx, const fnzi_meta_conv *c, const float *x,
                                const float *weight, const float *bias, float *y, bool *done) {
  session s = {0};
  work all = {&s, c, x, weight, bias, y};
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  dnnl_status_t status = fnzi_cpu_onednn_guard(compute, &all);
  end(&s);
  omp_set_num_threads(threads);
  *done = status == dnnl_success;
  if (*done || status == dnnl_unimplemented || status == dnnl_invalid_arguments)
    return FNZ_OK;
  if (status == dnnl_out_of_memory)
    return fnzi_no_memory(ctx);
  return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "oneDNN failed with status %d in a convolution",
                   (int)status);
}
