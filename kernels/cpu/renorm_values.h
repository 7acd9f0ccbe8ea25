/* renorm_values.h - norms of slices, and the factor that brings one down to a greatest norm: text
 * for the CPU and for a GPU. The includer defines VALUE, and has kernels/core/half.h. */
VALUE bool is_infinite(double order) {
  return order == order && order - order != 0;
}

VALUE double norm_joined(double norm, double v, double order) {
  if (is_infinite(order))
    return v > norm || v != v ? v : norm;
  if (order == 0)
    return norm + (v != 0);
  return norm + (order == 1 ? v : order == 2 ? v * v : pow(v, order));
}

VALUE double norm_finished(double norm, double order) {
  if (is_infinite(order) || order == 0 || order == 1)
    return norm;
  return order == 2 ? sqrt(norm) : pow(norm, 1 / order);
}

enum { RENORM_F64, RENORM_F32, RENORM_F16, RENORM_BF16 };

/* Rounded as a tensor of factors in the element type would be. */
VALUE double norm_factor(int64_t kind, double norm, double limit) {
  double eps = 1e-7;
  if (kind == RENORM_F64)
    return norm > limit ? limit / (norm + eps) : 1;
  float n = (float)norm, most = (float)limit, factor = n > most ? most / (n + (float)eps) : 1;
  if (kind == RENORM_F16)
    factor = fnzi_krn_from_f16(fnzi_krn_to_f16(factor));
  if (kind == RENORM_BF16)
    factor = fnzi_krn_from_bf16(fnzi_krn_to_bf16(factor));
  return (double)factor;
}
