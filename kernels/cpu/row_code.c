/* row_code.c - kernels that compute row by row, taken apart: the function of one row, by which the
 * kernel computes each of its rows. */
#include "kernels/cpu/row_code.h"

#include "kernels/cpu/softmax.h"

static void reduce(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                   int64_t length) {
  fnzi_cpu_reduce_row(code, in[0], length, out[0]);
}

static void sum(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                int64_t length) {
  if (code->dtype == FNZ_I64)
    reduce(code, in, out, length);
  else
    fnzi_cpu_sum_row(code->dtype, code->mode == FNZI_MODE_mean, in[0], length, out[0]);
}

static void arg(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                int64_t length) {
  *(int64_t *)out[0] = fnzi_cpu_arg_row(code->mode == FNZI_MODE_max, code->dtype, in[0], length);
}

static void variance(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                     int64_t length) {
  fnzi_cpu_variance_row(code, false, in[0], length, out);
}

static void deviation(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                      int64_t length) {
  fnzi_cpu_variance_row(code, true, in[0], length, out);
}

static void vector_norm(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                        int64_t length) {
  fnzi_cpu_vector_norm_row(code, in[0], length, out);
}

static void logsumexp(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                      int64_t length) {
  (void)code;
  *(float *)out[0] = (float)fnzi_cpu_log_sum_exp_f32(fnzi_rows_best(), in[0], length);
}

static void softmax(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                    int64_t length) {
  (void)code;
  fnzi_cpu_softmax_f32(fnzi_rows_best(), in[0], out[0], length, false);
}

static void safe_softmax(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                         int64_t length) {
  (void)code;
  fnzi_cpu_softmax_f32(fnzi_rows_best(), in[0], out[0], length, true);
}

static void log_softmax(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                        int64_t length) {
  (void)code;
  fnzi_cpu_log_softmax_f32(fnzi_rows_best(), in[0], out[0], length);
}

static void layer_norm(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                       int64_t length) {
  fnzi_cpu_norm_row(false, code->parameter, in, out, length);
}

static void rms_norm(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                     int64_t length) {
  fnzi_cpu_norm_row(true, code->parameter, in, out, length);
}

static fnzi_meta_row_fn *row_code_function_of(uint16_t kernel) {
  switch (kernel) {
#define ROW(run, over, types, parameter, row, ...)                                                 \
  case FNZI_RUN_##run:                                                                             \
    return row;
#include "kernels/row_ops.def"
  default:
    return NULL;
  }
}

bool fnzi_cpu_row_code(fnzi_krn_call *call, fnzi_meta_row_code *out) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0);
  fnzi_meta_row row;
  if (!fnzi_meta_by_rows(call, &row))
    return false;
  *out = (fnzi_meta_row_code){.run = row_code_function_of(call->row->run),
                              .kernel = call->row->run,
                              .mode = call->row->mode,
                              .dtype = x->dtype,
                              .parameter = fnzi_meta_row_parameter(call),
                              .all = row.count == 1};
  fnzi_cpu_reduction_of(call->row, x->dtype, out);
  return out->run != NULL;
}
