/* loss.cu - losses of kernels/cpu/special_loss.c, and their sums in order. */

/* Integers: the kind. */
VALUE void formula_loss(int64_t at, const cells *w, const int64_t *n, const double *d) {
  fnzi_cpu_real_put(&w[2], at, loss_of(n[0], fnzi_cpu_real_at(&w[0], at), fnzi_cpu_real_at(&w[1], at), d[0]));
}

/* Of so many: a thread has LOSS_RUN of them. */
VALUE void formula_loss_sum(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t start = at * LOSS_RUN, end = start + LOSS_RUN < n[0] ? start + LOSS_RUN : n[0];
  double sum = 0;
  (void)d;
  for (int64_t i = start; i < end; i++)
    sum += fnzi_cpu_real_at(&w[0], i);
  fnzi_cpu_real_put(&w[1], at, sum);
}

/* The sum of losses and that of their weights; the loss, and the weight where there is a place for
 * it. Integers: how many losses, the reduction, whether there are weights. */
VALUE void formula_loss_end(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const double sum = fnzi_cpu_real_at(&w[0], 0), total = n[2] ? fnzi_cpu_real_at(&w[1], 0) : (double)n[0];
  (void)d;
  fnzi_cpu_real_put(&w[2], at, n[1] == REDUCE_MEAN ? sum / total : sum);
  if (w[3].at)
    fnzi_cpu_real_put(&w[3], at, total);
}

/* The loss at a position, and what it weighs where there is a place for that. Windows: logarithms,
 * weights, labels. Integers: classes, positions side by side, the label that is ignored, whether
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

/* The loss at a position, of scores whose logarithms of probabilities are taken; and what it weighs,
 * where there is a place for it. Windows: scores, weights, labels or probabilities. Integers:
 * classes, positions side by side, the label that is ignored, whether there are labels, and
 * weights. */
VALUE double entropy_weight(const cells *w, const int64_t *n, int64_t k) {
  return n[4] ? fnzi_cpu_real_at(&w[1], k) : 1;
}

VALUE double entropy_at(int64_t at, int64_t label, const cells *w, const int64_t *n,
                        double smoothing) {
  const int64_t start = at / n[1] * n[0] * n[1] + at % n[1];
  double most = -INFINITY, sum = 0, smooth = 0, loss = 0;
  for (int64_t k = 0; k < n[0]; k++) {
    const double x = fnzi_cpu_real_at(&w[0], start + k * n[1]);
    if (x > most || x != x)
      most = most != most ? most : x;
  }
  for (int64_t k = 0; k < n[0]; k++)
    sum += exp_as(w[0].bytes == 8, fnzi_cpu_real_at(&w[0], start + k * n[1]) - most);
  const double all = most + log(sum);
  for (int64_t k = 0; k < n[0] && (smoothing > 0 || !n[3]); k++) {
    const double x = entropy_weight(w, n, k) * (fnzi_cpu_real_at(&w[0], start + k * n[1]) - all);
    smooth -= smoothing > 0 ? x : 0;
    loss -= n[3] ? 0 : x * fnzi_cpu_real_at(&w[2], start + k * n[1]);
  }
  smooth = smooth * smoothing / (double)n[0];
  if (!n[3])
    return loss * (1 - smoothing) + smooth;
  return loss_of_class(entropy_weight(w, n, label),
                       fnzi_cpu_real_at(&w[0], start + label * n[1]) - all, smoothing, smooth);
}

VALUE void formula_entropy(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t label = n[3] ? integer_at(&w[2], at) : 0;
  const bool counts = !n[3] || label != n[2], ok = !counts || (label >= 0 && label < n[0]);
  refuse_unless(ok, w);
  fnzi_cpu_real_put(&w[3], at, counts && ok ? entropy_at(at, label, w, n, d[0]) : 0);
  if (w[4].at)
    fnzi_cpu_real_put(&w[4], at, !counts || !ok ? 0 : n[3] ? entropy_weight(w, n, label) : 1);
}
