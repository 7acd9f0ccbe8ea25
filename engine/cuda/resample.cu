/* resample.cu - an element of what kernels/cpu/resample.c computes. Integers are a resampling, or a
 * sampler; numbers are the factors of three dimensions, 0 for none. */
VALUE void formula_blended(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const resampling *r = (const resampling *)n;
  int64_t k = at % r->out[2], j = at / r->out[2] % r->out[1], plane = at / r->out[2] / r->out[1];
  int64_t i = plane % r->out[0];
  taps a, b, c;
  plane /= r->out[0];
  find_taps(r, resample_step(r, d[0], 0), 0, i, &a);
  find_taps(r, resample_step(r, d[1], 1), 1, j, &b);
  find_taps(r, resample_step(r, d[2], 2), 2, k, &c);
  fnzi_cpu_real_put(&w[1], at,
                    blend(r, &w[0], plane * r->in[0] * r->in[1] * r->in[2], &a, &b, &c));
}
VALUE void formula_sampled(int64_t at, const cells *w, const int64_t *n, const double *d) {
  fnzi_cpu_real_put(&w[2], at, sample_at((const sampler *)n, &w[0], &w[1], at));
}
