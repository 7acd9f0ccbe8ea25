/* conv.c - lowering of convolutions: cuDNN if it supports them, else an own kernel.
 *
 * A weight's gradient is a convolution of the input with the result's gradient, with batch and
 * channels of both swapped. cuDNN does not support it in that form, because its weight is
 * transposed. So the plan calls cuDNN's function for the weight gradient of the ordinary
 * convolution. */
#include "engine/cuda/text_product.h"
#include "engine/device/library.h"
#include "kernels/meta/conv.h"

typedef struct conv {
  fnzi_cuda_conv c;
  const char *step, *why;
  fnzi_dev_operand x, weight, bias, y;
  bool has_bias;
  int64_t bias_step;
} conv;

/* Reads sizes and strides of an image. An image without a batch dimension is a batch of one. */
static void read_image(const fnz_geometry *g, bool batched, int64_t *sizes, int64_t *strides) {
  uint32_t at = 0;
  if (!batched)
    sizes[at] = 1, strides[at++] = 0;
  for (uint32_t d = 0; d < g->rank; d++, at++)
    sizes[at] = g->sizes[d], strides[at] = g->strides[d];
}

static void conv_read(const fnzi_krn_call *call, const fnzi_meta_conv *meta, conv *c) {
  const fnz_geometry *weight = &fnzi_krn_call_input(call, 1)->window;
  fnzi_cuda_conv *out = &c->c;
  out->dtype = weight->dtype;
  out->spatial = meta->spatial;
  out->transposed = meta->transposed;
  out->groups = meta->groups;
  read_image(&fnzi_krn_call_input(call, 0)->window, meta->batched, out->x, out->x_strides);
  read_image(&call->outputs[0]->window, meta->batched, out->y, out->y_strides);
  read_image(weight, true, out->weight, out->weight_strides);
  for (uint32_t d = 0; d < meta->spatial; d++) {
    out->padding[d] = meta->left[d];
    out->stride[d] = meta->stride[d];
    out->dilation[d] = meta->dilation[d];
  }
}

/* The bias becomes the result that a convolution is added to: it is rounded once, as the CPU's. */
static fnz_status copy_bias(fnzi_dev_builder *m, const conv *c, fnzi_dev_work *out) {
  const fnzi_cuda_conv *q = &c->c;
  const fnzi_dev_operand operands[] = {c->bias, c->y};
  int64_t from[FNZI_CUDA_CONV_DIMS] = {0}, to[FNZI_CUDA_CONV_DIMS];
  size_t cell = fnzi_dtype(q->dtype)->bytes;
  uint32_t rank = q->spatial + 2;
  from[1] = fnzi_krn_stride_bytes(c->bias_step, cell);
  for (uint32_t d = 0; d < rank; d++)
    to[d] = fnzi_krn_stride_bytes(q->y[d] == 1 ? 0 : q->y_strides[d], cell);
  const fnzi_dev_elements all = {q->dtype, rank, q->y, from, to};
  return fnzi_dev_work_copy(m, out, &all, operands);
}

/* Elements go from one place to another; strides in elements. */
static fnz_status copy_tensor(fnzi_dev_builder *m, const fnzi_dev_elements *what,
                              const fnzi_dev_operand operands[2], fnzi_dev_work *out) {
  int64_t bytes[2][FNZI_CUDA_CONV_DIMS];
  size_t cell = fnzi_dtype(what->dtype)->bytes;
  for (uint32_t d = 0; d < what->rank; d++) {
    bytes[0][d] = fnzi_krn_stride_bytes(what->sizes[d] == 1 ? 0 : what->from[d], cell);
    bytes[1][d] = fnzi_krn_stride_bytes(what->sizes[d] == 1 ? 0 : what->to[d], cell);
  }
  const fnzi_dev_elements all = {what->dtype, what->rank, what->sizes, bytes[0], bytes[1]};
  return fnzi_dev_work_copy(m, out, &all, operands);
}

/* --- Places -------------------------------------------------------------------------------------
 * cuDNN takes addresses at multiples of 16 bytes. Other operands are copied to scratch of the step,
 * as contiguous rows, and results are copied back. */
static bool is_between(const fnzi_dev_operand *operand) {
  return operand->offset % FNZI_DEV_ALIGNED != 0;
}

static fnz_status take_rows(fnzi_dev_builder *m, const conv *c, const int64_t *sizes,
                            int64_t *strides, fnzi_dev_operand *operand, fnzi_dev_work *out) {
  const uint32_t rank = c->c.spatial + 2;
  size_t bytes = fnzi_dtype(c->c.dtype)->bytes;
  for (uint32_t d = 0; d < rank; d++)
    if (!fnzi_mul_size(bytes, (size_t)sizes[d], &bytes))
      return fnzi_no_memory(m->ws->ctx);
  fnzi_contiguous_strides(sizes, rank, strides);
  operand->buffer = FNZI_DEV_AT_SCRATCH;
  return fnzi_dev_work_scratch(m, out, bytes, &operand->offset);
}

static fnz_status bring(fnzi_dev_builder *m, const conv *c, const int64_t *sizes, int64_t *strides,
                        fnzi_dev_operand *operand, fnzi_dev_work *out) {
  const uint32_t rank = c->c.spatial + 2;
  const fnzi_dev_operand was = *operand;
  int64_t from[FNZI_CUDA_CONV_DIMS];
  if (!is_between(operand))
    return FNZ_OK;
  memcpy(from, strides, rank * sizeof *from);
  FNZ_TRY(take_rows(m, c, sizes, strides, operand, out));
  const fnzi_dev_operand operands[] = {was, *operand};
  const fnzi_dev_elements all = {c->c.dtype, rank, sizes, from, strides};
  return copy_tensor(m, &all, operands, out);
}

static fnz_status bring_inputs(fnzi_dev_builder *m, conv *c, fnzi_dev_work *out) {
  FNZ_TRY(bring(m, c, c->c.x, c->c.x_strides, &c->x, out));
  return bring(m, c, c->c.weight, c->c.weight_strides, &c->weight, out);
}

static fnz_status conv_call_library(fnzi_dev_builder *m, conv *c, fnzi_dev_work *out,
                                    bool *is_library) {
  fnzi_dev_work work = *out;
  fnzi_dev_answer answer = {.why = c->why};
  c->c.adds = c->has_bias;
  conv own = *c;
  FNZ_TRY(fnzi_dev_library_has_cudnn(m, is_library));
  if (*is_library)
    FNZ_TRY(bring_inputs(m, &own, &work));
  if (*is_library && is_between(&c->y))
    FNZ_TRY(take_rows(m, c, c->c.y, own.c.y_strides, &own.y, &work));
  if (*is_library && c->has_bias)
    FNZ_TRY(copy_bias(m, &own, &work));
  fnzi_dev_operand operands[] = {[FNZI_CONV_X] = own.x,
                                 [FNZI_CONV_WEIGHT] = own.weight,
                                 [FNZI_CONV_Y] = own.y,
                                 [FNZI_CONV_SCRATCH] = own.y};
  const fnzi_dev_operand back[] = {own.y, c->y};
  const fnzi_dev_elements all = {c->c.dtype, c->c.spatial + 2, c->c.y, own.c.y_strides,
                                 c->c.y_strides};
  FNZ_TRY(fnzi_dev_library_conv(m, c->step, &own.c, operands, &work, &answer));
  *is_library = answer.is_library;
  c->why = answer.why;
  if (*is_library && is_between(&c->y))
    FNZ_TRY(copy_tensor(m, &all, back, &work));
  if (*is_library)
    *out = work;
  return FNZ_OK;
}

/* --- The gradient by a weight ----------------------------------------------------------------- */
static void transpose(const int64_t *from, uint32_t rank, int64_t *to) {
  for (uint32_t d = 0; d < rank; d++)
    to[d] = from[d < 2 ? 1 - d : d];
}

/* Writes the convolution whose weight gradient is this convolution. Its input is x, and the
 * gradient of its result is the weight; stride and dilation are swapped. Returns false if there is
 * none. */
static bool read_transposed(const conv *c, fnzi_cuda_conv *out) {
  const fnzi_cuda_conv *q = &c->c;
  uint32_t rank = q->spatial + 2;
  int64_t step = 1;
  /* Typical of a weight's gradient, computed as a convolution, is a weight with at least as many
   * spatial elements as the result. Other convolutions with a transposed weight have fewer, and
   * this path does not suit them. */
  double places = 1, results = 1;
  for (uint32_t d = 2; d < rank; d++) {
    places *= (double)q->weight[d];
    results *= (double)q->y[d];
  }
  const bool is_depthwise = q->groups > 1 && q->x[0] == 1;
  if (c->has_bias || q->transposed || (q->groups != 1 && !is_depthwise) || places < results)
    return false;
  *out = (fnzi_cuda_conv){
      .dtype = q->dtype, .spatial = q->spatial, .groups = q->groups, .of_weight = true};
  transpose(q->x, rank, out->x);
  transpose(q->x_strides, rank, out->x_strides);
  if (is_depthwise) { /* the channels of x are the batches of its groups, one after the other */
    out->x[0] /= q->groups, out->x[1] = q->groups;
    if (!fnzi_mul_i64(out->x[0], out->x_strides[0], &out->x_strides[1]))
      return false;
  }
  transpose(q->weight, rank, out->y);
  transpose(q->weight_strides, rank, out->y_strides);
  transpose(q->y, rank, out->weight);
  for (uint32_t d = rank; d-- > 0;) {
    out->weight_strides[d] = step;
    if (!fnzi_mul_i64(step, out->weight[d], &step))
      return false;
  }
  memcpy(out->padding, q->padding, sizeof out->padding);
  memcpy(out->stride, q->dilation, sizeof out->stride);
  memcpy(out->dilation, q->stride, sizeof out->dilation);
  return true;
}

/* Copies the result from contiguous scratch to its buffer. */
static fnz_status copy_transposed(fnzi_dev_builder *m, const conv *c,
                                  const fnzi_cuda_conv *transposed, const fnzi_dev_operand *rows,
                                  fnzi_dev_work *out) {
  const fnzi_dev_operand operands[] = {*rows, c->y};
  const uint32_t rank = c->c.spatial + 2;
  int64_t from[FNZI_CUDA_CONV_DIMS];
  transpose(transposed->weight_strides, rank, from);
  const fnzi_dev_elements all = {c->c.dtype, rank, c->c.y, from, c->c.y_strides};
  return copy_tensor(m, &all, operands, out);
}

static fnz_status call_transposed(fnzi_dev_builder *m, conv *c, fnzi_dev_work *out,
                                  bool *is_library) {
  fnzi_dev_work work = *out;
  fnzi_dev_operand rows = c->y;
  fnzi_cuda_conv transposed;
  conv own = *c;
  fnzi_dev_answer answer = {.why = NULL};
  FNZ_TRY(fnzi_dev_library_has_cudnn(m, is_library));
  if (!*is_library || !read_transposed(c, &transposed)) {
    *is_library = false;
    return FNZ_OK;
  }
  /* Whether the result has the layout and alignment that cuDNN writes. */
  int64_t strides[FNZI_CUDA_CONV_DIMS];
  bool is_there = c->y.offset % FNZI_DEV_ALIGNED == 0;
  transpose(c->c.y_strides, c->c.spatial + 2, strides);
  for (uint32_t d = 0; d < c->c.spatial + 2; d++)
    is_there =
        is_there && (transposed.weight[d] == 1 || strides[d] == transposed.weight_strides[d]);
  FNZ_TRY(bring_inputs(m, &own, &work));
  if (!read_transposed(&own, &transposed))
    return FNZ_OK;
  if (!is_there)
    FNZ_TRY(take_rows(m, c, transposed.weight, transposed.weight_strides, &rows, &work));
  fnzi_dev_operand operands[] = {[FNZI_CONV_X] = own.x,
                                 [FNZI_CONV_WEIGHT] = rows,
                                 [FNZI_CONV_Y] = own.weight,
                                 [FNZI_CONV_SCRATCH] = rows};
  FNZ_TRY(fnzi_dev_library_conv(m, c->step, &transposed, operands, &work, &answer));
  *is_library = answer.is_library;
  if (*is_library && !is_there)
    FNZ_TRY(copy_transposed(m, c, &transposed, &rows, &work));
  if (*is_library)
    *out = work;
  return FNZ_OK;
}

/* --- A kernel --------------------------------------------------------------------------------- */
/* The same element type in all, a place for each. */
static const char *conv_open(const fnzi_dev_builder *m, const fnzi_krn_call *call, conv *c) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0), *weight = fnzi_krn_call_input(call, 1),
                       *bias = fnzi_krn_call_input(call, 2), *y = call->outputs[0];
  fnz_dtype d = weight->window.dtype;
  bool known = d == FNZ_F32 || d == FNZ_F64 || d == FNZ_F16 || d == FNZ_BF16;
  if (!known || x->window.dtype != d || y->window.dtype != d || (bias && bias->window.dtype != d))
    return "convolutions of these types are the CPU's";
  c->has_bias = bias != NULL;
  c->bias_step =
      bias && bias->window.rank && bias->window.sizes[0] != 1 ? bias->window.strides[0] : 0;
  if (!fnzi_dev_operand_of(m, x, &c->x) || !fnzi_dev_operand_of(m, weight, &c->weight) ||
      !fnzi_dev_operand_of(m, y, &c->y) || (bias && !fnzi_dev_operand_of(m, bias, &c->bias)))
    return "an operand has no place in a buffer";
  return NULL;
}

fnz_status fnzi_dev_lower_conv(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  conv c = {.step = fnz_op_name(call->op)};
  fnzi_meta_conv meta;
  bool is_library = false;
  const char *why = conv_open(m, call, &c);
  if (why)
    return fnzi_dev_work_refuse(out, why);
  FNZ_TRY(fnzi_meta_conv_read(call, &meta));
  conv_read(call, &meta, &c);
  out->on_device = true;
  if (fnzi_krn_array_numel(call->outputs[0]) == 0)
    return FNZ_OK;
  c.why = "a convolution without channels";
  if (meta.in_channels > 0)
    FNZ_TRY(conv_call_library(m, &c, out, &is_library));
  if (!is_library && meta.in_channels > 0)
    FNZ_TRY(call_transposed(m, &c, out, &is_library));
  if (is_library)
    return FNZ_OK;
  const fnzi_dev_operand operands[] = {c.x, c.weight, c.y, c.bias};
  uint32_t kernel;
  int64_t blocks;
  FNZ_TRY(fnzi_cuda_text_conv(m->ws->ctx, &m->text, &c.c, c.has_bias ? &c.bias_step : NULL, &kernel,
                              &blocks));
  out->library = c.why;
  return fnzi_dev_work_launch(m, out, kernel, blocks, operands, c.has_bias ? 4 : 3);
}
