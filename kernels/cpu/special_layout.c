/* special_layout.c - a layer that gates: glu. */
#include "kernels/cpu/softmax.h"

typedef struct gate {
  fnz_dtype dtype;
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  int64_t half; /* elements of one half of a row */
} gate;

static void gate_row(const void *user, int64_t row, int lane) {
  const gate *g = user;
  (void)lane;
  for (int64_t i = 0; i < g->half; i++) {
    double a = fnzi_cpu_real_at(&g->x, row * 2 * g->half + i);
    double b = fnzi_cpu_real_at(&g->x, row * 2 * g->half + g->half + i);
    fnzi_cpu_real_put(&g->y, row * g->half + i, a / (1 + fnzi_cpu_exp_as(g->dtype, -b)));
  }
}

static fnz_status tell_gates(fnzi_krn_call *call, const gate *g, int64_t count) {
  const fnzi_cpu_reals y = fnzi_cpu_reals_read(&g->y);
  fnzi_krn_window windows[2];
  fnzi_cpu_reals_window(&g->x, 2 * count, &windows[0]);
  fnzi_cpu_reals_window(&y, count, &windows[1]);
  const fnzi_krn_formula f = {.name = "gated",
                              .count = count,
                              .windows = windows,
                              .nwindows = 2,
                              .nresults = 1,
                              .integers = &g->half,
                              .nintegers = 1};
  return call->record->formula(call->record->user, &f);
}

fnz_status fnzi_kernel_glu(fnzi_krn_call *call) {
  const fnz_geometry *out = &call->outputs[0]->geometry;
  gate g = {.dtype = fnzi_cpu_real_dtype(out->dtype), .half = 1};
  uint32_t dim;
  FNZ_TRY(fnzi_wrap_dim(call->ctx, "glu", fnzi_krn_named_int(call, "dim", -1), out->rank, &dim));
  for (uint32_t i = dim; i < out->rank; i++)
    g.half *= out->sizes[i];
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), g.dtype, &g.x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, g.dtype, &g.y));
  int64_t numel = fnz_geometry_numel(out);
  if (call->record)
    return tell_gates(call, &g, numel);
  fnzi_cpu_rows_each(call, numel ? numel / g.half : 0, gate_row, &g);
  return FNZ_OK;
}
