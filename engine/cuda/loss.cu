/* loss.cu - losses of kernels/cpu/special_loss.c, and their sums in order. */

/* A thread adds LOSS_RUN losses. */
VALUE void formula_loss_sum(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t start = at * LOSS_RUN, end = start + LOSS_RUN < n[0] ? start + LOSS_RUN : n[0];
  double sum = 0;
  (void)d;
  for (int64_t i = start; i < end; i++)
    sum += fnzi_cpu_real_at(&w[0], i);
  fnzi_cpu_real_put(&w[1], at, sum);
}

/* The sum of losses and that of their weights; the loss, and the weight where there is a place for
 * it. Integers: the reduction. */
VALUE void formula_loss_end(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const double sum = fnzi_cpu_real_at(&w[0], 0), total = fnzi_cpu_real_at(&w[1], 0);
  (void)d;
  fnzi_cpu_real_put(&w[2], at, n[0] == REDUCE_MEAN ? sum / total : sum);
  if (w[3].at)
    fnzi_cpu_real_put(&w[3], at, total);
}

/* The loss at a position, and its weight if there is a window for it. Windows: logarithms, weights,
 * labels. Integers: classes, positions side by side, the label that is ignored, whether
 * there are weights. */
VALUE void formula_class_loss(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t label = integer_at(&w[2], at), start = at / n[1] * n[0] * n[1] + at % n[1];
  const bool counts = label != n[2], ok = !counts || (label >= 0 && label < n[0]);
  const double weight = !counts || !ok ? 0 : n[3] ? fnzi_cpu_real_at(&w[1], label) : 1;
  (void)d;
  refuse_unless(ok, w);
  fnzi_cpu_real_put(&w[3], at,
                    counts && ok ? loss_of_class(weight, fnzi_cpu_real_at(&w[0], start + label * n[1]), 0, 0) : 0);
  if (w[4].at)
    fnzi_cpu_real_put(&w[4], at, weight);
}

/* The loss at a position, from scores: their logarithms of probabilities are computed here. Also its
 * weight, if there is a window for it. Windows: scores, weights, labels or probabilities. Integers:
 * classes, positions side by side, the label that is ignored, whether there are labels, and
 * weights. */
VALUE double entropy_weight(const cells *w, const int64_t *n, int64_t k) {
  return n[4] ? fnzi_cpu_real_at(&w[1], k) : 1;
}

/* NaN is greater than all. */
VALUE double entropy_most(double a, double x) {
  return x > a || x != x ? (a != a ? a : x) : a;
}

/* One thread goes along the classes. */
struct by_thread {
  __device__ int first() const {
    return 0;
  }
  __device__ int step() const {
    return 1;
  }
  __device__ double most(double mine) {
    return mine;
  }
  __device__ double sum(double mine) {
    return mine;
  }
};

template <class O>
VALUE double entropy_at(O o, int64_t at, int64_t label, const cells *w, const int64_t *n, double smoothing) {
  const int64_t start = at / n[1] * n[0] * n[1] + at % n[1];
  double most = -INFINITY, sum = 0, smooth = 0, loss = 0;
  for (int64_t k = o.first(); k < n[0]; k += o.step())
    most = entropy_most(most, fnzi_cpu_real_at(&w[0], start + k * n[1]));
  most = o.most(most);
  for (int64_t k = o.first(); k < n[0]; k += o.step())
    sum += exp_as(w[0].bytes == 8, fnzi_cpu_real_at(&w[0], start + k * n[1]) - most);
  const double all = most + log(o.sum(sum));
  if (smoothing > 0 || !n[3]) {
    for (int64_t k = o.first(); k < n[0]; k += o.step()) {
      const double x = entropy_weight(w, n, k) * (fnzi_cpu_real_at(&w[0], start + k * n[1]) - all);
      smooth -= smoothing > 0 ? x : 0;
      loss -= n[3] ? 0 : x * fnzi_cpu_real_at(&w[2], start + k * n[1]);
    }
    smooth = o.sum(smooth) * smoothing / (double)n[0];
    loss = o.sum(loss);
  }
  if (!n[3])
    return loss * (1 - smoothing) + smooth;
  return loss_of_class(entropy_weight(w, n, label),
                       fnzi_cpu_real_at(&w[0], start + label * n[1]) - all, smoothing, smooth);
}

template <class O>
VALUE void entropy_of(O o, int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t label = n[3] ? integer_at(&w[2], at) : 0;
  const bool counts = !n[3] || label != n[2], ok = !counts || (label >= 0 && label < n[0]);
  const double loss = counts && ok ? entropy_at(o, at, label, w, n, d[0]) : 0;
  if (o.first() != 0)
    return;
  refuse_unless(ok, w);
  fnzi_cpu_real_put(&w[3], at, loss);
  if (w[4].at)
    fnzi_cpu_real_put(&w[4], at, !counts || !ok ? 0 : n[3] ? entropy_weight(w, n, label) : 1);
}

VALUE void formula_entropy(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const by_thread one = {};
  entropy_of(one, at, w, n, d);
}

/* If there are many classes, the threads of a block take them in turns and join their results in
 * pairs. */
template <class Parts> struct by_block {
  Parts &parts;
  __device__ int first() const {
    return (int)threadIdx.x;
  }
  __device__ int step() const {
    return 256;
  }
  template <bool greatest> __device__ double joined(double mine) {
    const int me = (int)threadIdx.x;
    __syncthreads();
    parts[me] = mine;
    for (int half = 128; half > 0; half /= 2) {
      __syncthreads();
      if (me >= half)
        continue;
      const double a = parts[me], b = parts[me + half];
      parts[me] = greatest ? entropy_most(a, b) : a + b;
    }
    __syncthreads();
    return parts[0];
  }
  __device__ double most(double mine) {
    return joined<true>(mine);
  }
  __device__ double sum(double mine) {
    return joined<false>(mine);
  }
};

VALUE void formula_entropy_of_many(int64_t at, const cells *w, const int64_t *n, const double *d) {
  SHARED(double, parts, 256);
  const by_block<decltype(parts)> many = {parts};
  entropy_of(many, at, w, n, d);
}
