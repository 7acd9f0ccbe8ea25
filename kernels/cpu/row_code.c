/* row_code.c - kernels that compute row by row, taken apart: the function of one row, by which the
 * kernel computes each of its rows. */
#include "kernels/cpu/row_code.h"

#include "kernels/cpu/softmax.h"

static void sum(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                int64_t length) {
  fnzi_cpu_sum_row(code->dtype, code->parameter != 0, in[0], length, out[0]);
}

static void reduce(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                   int64_t length) {
  fnzi_cpu_reduce_row(code, in[0], length, out[0]);
}

static void arg(const fnzi_meta_row_code *code, const void *const *in, void *const *out,
                int64_t length) {
  *(int64_t *)out[0] = fnzi_cpu_arg_row(code->parameter != 0, code->dtype, in[0], length);
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
  fnzi_cpu_softmax_f32(fnzi_rows_best(), in[0], out[0], length, code->parameter != 0);
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

bool fnzi_cpu_row_code(fnzi_krn_call *call, fnzi_meta_row_code *out) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0);
  fnzi_meta_row row;
  if (!fnzi_meta_by_rows(call, &row))
    return false;
  *out = (fnzi_meta_row_code){.kernel = call->row->run,
                              .op = call->op->base,
                              .dtype = x->dtype,
                              .parameter = fnzi_meta_row_parameter(call),
                              .all = row.count == 1};
  switch (call->row->run) {
  case FNZI_RUN_sum:
    out->run = x->dtype == FNZ_I64 ? reduce : sum;
    fnzi_cpu_reduction_of(call->op, x->dtype, out);
    break;
  case FNZI_RUN_reduce:
    out->run = reduce;
    fnzi_cpu_reduction_of(call->op, x->dtype, out);
    break;
  case FNZI_RUN_arg:
    out->run = arg;
    break;
  case FNZI_RUN_variance:
    out->run = variance;
    break;
  case FNZI_RUN_deviation:
    out->run = deviation;
    break;
  case FNZI_RUN_vector_norm:
    out->run = vector_norm;
    break;
  case FNZI_RUN_logsumexp:
    out->run = logsumexp;
    break;
  case FNZI_RUN_softmax:
  case FNZI_RUN_safe_softmax:
    out->run = softmax;
    break;
  case FNZI_RUN_log_softmax:
    out->run = log_softmax;
    break;
  case FNZI_RUN_layer_norm:
    out->run = layer_norm;
    break;
  case FNZI_RUN_rms_norm:
    out->run = rms_norm;
    break;
  default:
    break;
  }
  return out->run != NULL;
}
