/* conv_product.c - convolutions that look at one place: products of the weights with each sample as
 * it lies, channels by places. oneDNN's would bring all elements into its own layout and back. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/sizes.h"

enum { LEAST_PLACES = 16 }; /* fewer do not fill a panel */

static bool looks_at_one_place(const fnzi_meta_conv *c) {
  bool is_same = true;
  for (uint32_t i = 0; i < FNZI_CONV_MAX_SPATIAL; i++)
    is_same = is_same && c->kernel[i] == 1 && c->stride[i] == 1 && c->in[i] == c->out[i] &&
              c->left[i] == 0;
  return is_same && c->groups == 1 && !c->transposed;
}

static void fill(const fnzi_meta_conv *c, const float *bias, float *y) {
  int64_t places = fnzi_cpu_volume(c->out);
  for (int64_t row = 0; row < c->batch * c->out_channels; row++)
    for (int64_t i = 0; i < places; i++)
      y[row * places + i] = bias[row % c->out_channels];
}

fnz_status fnzi_cpu_conv_product(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                 const fnzi_cpu_conv_operands *o, bool *done) {
  int64_t places = fnzi_cpu_volume(c->in), ins = c->in_channels;
  fnzi_cpu_product p = {.dtype = FNZ_F32, .m = c->out_channels, .n = places, .k = ins, .c = o->y};
  p.a = (fnzi_cpu_matrix){.data = o->weight, .row = ins, .col = 1};
  p.b = (fnzi_cpu_matrix){.data = o->x, .row = places, .col = 1};
  p.c_row = places, p.alpha = 1, p.beta = o->bias ? 1 : 0;
  *done = looks_at_one_place(c) && places >= LEAST_PLACES && places <= INT32_MAX &&
          fnzi_rows_best()->panels;
  if (!*done)
    return FNZ_OK;
  p.order = fnzi_cpu_product_order(&p, &p.a, &p.b);
  FNZ_TRY(fnzi_cpu_product_room(call, &p, &p.room));
  if (o->bias)
    fill(c, o->bias, o->y);
  for (int64_t i = 0; i < c->batch; i++) {
    fnzi_cpu_product_run_tiled(&p, call->threads);
    p.b.data = (const float *)p.b.data + ins * places;
    p.c = (float *)p.c + c->out_channels * places;
  }
  return FNZ_OK;
}
