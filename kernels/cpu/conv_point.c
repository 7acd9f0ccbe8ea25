/* conv_point.c - convolutions in f32 of one by one over small images: a product of places and
 * channels. oneDNN's own are made for many places, and take 1.3 times as long with few.
 *
 * Sums have other last places than oneDNN's, and so than eager's. A batch norm in training over a
 * handful of places amplifies these, so such images are left to oneDNN. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/sizes.h"
#include "kernels/cpu/special_reals.h"

enum { LEAST_PLACES = 49, MOST_PLACES = 256 /* of an image */ };

/* A batch norm in training refuses a single place. */
static bool has_few_places(const fnzi_meta_conv *c) {
  const int64_t places = fnzi_cpu_volume(c->out);
  return (places == 1 && c->batch == 1) || (places >= LEAST_PLACES && places <= MOST_PLACES);
}

bool fnzi_cpu_conv_is_point(const fnzi_meta_conv *c) {
  bool is = !c->transposed && c->groups == 1 && fnzi_cpu_volume(c->kernel) == 1 &&
            has_few_places(c) && fnzi_rows_best()->panels;
  for (uint32_t i = 0; i < c->spatial; i++)
    is = is && c->stride[i] == 1 && c->in[i] == c->out[i];
  return is;
}

fnz_status fnzi_cpu_conv_point(fnzi_krn_call *call, const fnzi_meta_conv *c, const float *weight) {
  fnzi_cpu_product p = {.dtype = FNZ_F32, .alpha = 1};
  fnzi_cpu_reals bias;
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 2), FNZ_F32, &bias));
  FNZ_TRY(fnzi_krn_channels_last_get_as(call, fnzi_krn_call_input(call, 0), c->spatial, FNZ_F32,
                                        &p.a.data));
  FNZ_TRY(fnzi_krn_channels_last_result(call, 0, c->spatial, FNZ_F32, &p.c));
  p.m = c->batch * fnzi_cpu_volume(c->out), p.n = c->out_channels, p.k = c->in_channels;
  p.a.row = p.k, p.a.col = 1;
  p.b = (fnzi_cpu_matrix){.data = weight, .row = 1, .col = p.k};
  p.c_row = p.n;
  p.order = fnzi_cpu_product_order(&p, &p.a, &p.b);
  p.beta = bias.f ? 1 : 0, p.added = p.order == FNZI_ORDER_PANELS ? bias.f : NULL;
  for (int64_t i = 0; bias.f && !p.added && i < p.m; i++)
    memcpy((float *)p.c + i * p.n, bias.f, (size_t)p.n * sizeof(float));
  FNZ_TRY(fnzi_cpu_product_scratch(call, &p));
  fnzi_cpu_product_use_packed(call, fnzi_krn_call_input(call, 1), &p);
  fnzi_cpu_product_run_tiled(&p, call->team);
  return FNZ_OK;
}
