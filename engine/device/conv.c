/* conv.c - the way of convolutions: cuDNN where it takes them, else a kernel of their own.
 */
#include "engine/cuda/text_product.h"
#include "engine/device/library.h"
#include "kernels/meta/conv.h"

typedef struct conv {
  fnzi_cuda_conv c;
  const char *step, *why;
  fnzi_eng_operand x, weight, bias, y;
  bool has_bias;
  int64_t bias_step;
} conv;

/* Sizes and strides of an image, of which one without a batch has one sample. */
static void read_image(const fnz_geometry *g, bool batched, int64_t *sizes, int64_t *strides) {
  uint32_t at = 0;
  if (!batched)
    sizes[at] = 1, strides[at++] = 0;
  for (uint32_t d = 0; d < g->rank; d++, at++)
    sizes[at] = g->sizes[d], strides[at] = g->strides[d];
}

static void read(const fnzi_krn_call *call, const fnzi_meta_conv *meta, conv *c) {
  const fnz_geometry *weight = &fnzi_krn_call_input(call, 1)->place;
  fnzi_cuda_conv *out = &c->c;
  out->dtype = weight->dtype;
  out->spatial = meta->spatial;
  out->transposed = meta->transposed;
  out->groups = meta->groups;
  read_image(&fnzi_krn_call_input(call, 0)->place, meta->batched, out->x, out->x_strides);
  read_image(&call->outputs[0]->place, meta->batched, out->y, out->y_strides);
  read_image(weight, true, out->weight, out->weight_strides);
  for (uint32_t d = 0; d < meta->spatial; d++) {
    out->padding[d] = meta->left[d];
    out->stride[d] = meta->stride[d];
    out->dilation[d] = meta->dilation[d];
  }
}

/* The bias becomes the result that a convolution is added to: it is rounded once, as the CPU's. */
static fnz_status copy_bias(fnzi_eng_maker *m, const conv *c, fnzi_eng_work *out) {
  const fnzi_cuda_conv *q = &c->c;
  const fnzi_eng_operand operands[] = {c->bias, c->y};
  int64_t from[FNZI_CUDA_CONV_DIMS] = {0}, to[FNZI_CUDA_CONV_DIMS];
  size_t cell = fnzi_dtype(q->dtype)->bytes;
  uint32_t rank = q->spatial + 2;
  from[1] = fnzi_krn_stride_bytes(c->bias_step, cell);
  for (uint32_t d = 0; d < rank; d++)
    to[d] = fnzi_krn_stride_bytes(q->y[d] == 1 ? 0 : q->y_strides[d], cell);
  return fnzi_eng_work_copy(m, out, q->dtype, rank, q->y, from, to, operands);
}

static fnz_status call_library(fnzi_eng_maker *m, conv *c, fnzi_eng_work *out, bool *made) {
  fnzi_eng_operand operands[] = {[FNZI_CONV_X] = c->x,
                                 [FNZI_CONV_WEIGHT] = c->weight,
                                 [FNZI_CONV_Y] = c->y,
                                 [FNZI_CONV_SCRATCH] = c->y};
  fnzi_eng_work work = *out;
  c->c.adds = c->has_bias;
  FNZ_TRY(fnzi_eng_library_has(m, true, made));
  if (*made && c->has_bias)
    FNZ_TRY(copy_bias(m, c, &work));
  FNZ_TRY(fnzi_eng_library_conv(m, c->step, &c->c, operands, &work, made, &c->why));
  if (*made)
    *out = work;
  return FNZ_OK;
}

static fnz_status launch_kernel(fnzi_eng_maker *m, const conv *c, fnzi_eng_work *out) {
  const fnzi_eng_operand operands[] = {c->x, c->weight, c->y, c->bias};
  uint32_t kernel;
  int64_t blocks;
  FNZ_TRY(fnzi_cuda_text_conv(m->ws->ctx, &m->text, &c->c, c->has_bias, c->bias_step, &kernel,
                              &blocks));
  out->by = c->why;
  return fnzi_eng_work_launch(m, out, kernel, blocks, operands, c->has_bias ? 4 : 3);
}

/* The same element type in all, a place for each. */
static const char *open(const fnzi_eng_maker *m, const fnzi_krn_call *call, conv *c) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0), *weight = fnzi_krn_call_input(call, 1),
                       *bias = fnzi_krn_call_input(call, 2), *y = call->outputs[0];
  fnz_dtype d = weight->place.dtype;
  bool known = d == FNZ_F32 || d == FNZ_F64 || d == FNZ_F16 || d == FNZ_BF16;
  if (!known || x->place.dtype != d || y->place.dtype != d || (bias && bias->place.dtype != d))
    return "convolutions of these types are the CPU's";
  c->has_bias = bias != NULL;
  c->bias_step = bias && bias->place.rank && bias->place.sizes[0] != 1 ? bias->place.strides[0] : 0;
  if (!fnzi_eng_operand_of(m, x, &c->x) || !fnzi_eng_operand_of(m, weight, &c->weight) ||
      !fnzi_eng_operand_of(m, y, &c->y) || (bias && !fnzi_eng_operand_of(m, bias, &c->bias)))
    return "an operand has no place in a buffer";
  return NULL;
}

fnz_status fnzi_eng_way_conv(fnzi_eng_maker *m, fnzi_krn_call *call, fnzi_eng_work *out) {
  conv c = {.step = fnz_op_name(call->op)};
  fnzi_meta_conv meta;
  bool made = false;
  const char *why = open(m, call, &c);
  if (why)
    return fnzi_eng_work_refuse(out, why);
  FNZ_TRY(fnzi_meta_conv_read(call, &meta));
  read(call, &meta, &c);
  out->on_device = true;
  if (fnzi_krn_array_numel(call->outputs[0]) == 0)
    return FNZ_OK;
  c.why = "a convolution without channels";
  if (meta.in_channels > 0)
    FNZ_TRY(call_library(m, &c, out, &made));
  return made ? FNZ_OK : launch_kernel(m, &c, out);
}
