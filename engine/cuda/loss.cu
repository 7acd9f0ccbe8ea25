/* loss.cu - losses of kernels/cpu/special_loss.c, and their sums in order. */

/* Integers: the kind, the reduction, how many losses there are. */
VALUE void formula_loss(int64_t at, const cells *w, const int64_t *n, const double *d) {
  if (n[1] == REDUCE_NONE) {
    fnzi_cpu_real_put(
        &w[2], at, loss_of(n[0], fnzi_cpu_real_at(&w[0], at), fnzi_cpu_real_at(&w[1], at), d[0]));
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < n[2]; i++)
    sum += loss_of(n[0], fnzi_cpu_real_at(&w[0], i), fnzi_cpu_real_at(&w[1], i), d[0]);
  fnzi_cpu_real_put(&w[2], 0, n[1] == REDUCE_MEAN ? sum / (double)n[2] : sum);
}

/* The loss at a position, and the weight it counts with. Integers: positions, classes, positions
 * side by side, the label that is ignored, the reduction, whether there are weights. */
VALUE double class_loss_at(int64_t position, const cells *w, const int64_t *n, double *weight) {
  int64_t label = integer_at(&w[2], position);
  *weight = 0;
  if (label == n[3])
    return 0;
  if (label < 0 || label >= n[1]) {
    STORE(uint32_t, w[FLAG].at, 1u);
    return 0;
  }
  int64_t start = position / n[2] * n[1] * n[2] + position % n[2];
  *weight = n[5] ? fnzi_cpu_real_at(&w[1], label) : 1;
  return loss_of_class(*weight, fnzi_cpu_real_at(&w[0], start + label * n[2]), 0, 0);
}

VALUE void formula_class_loss(int64_t at, const cells *w, const int64_t *n, const double *d) {
  double sum = 0, total = 0, weight;
  (void)d;
  if (n[4] == REDUCE_NONE) {
    fnzi_cpu_real_put(&w[3], at, class_loss_at(at, w, n, &weight));
  } else {
    for (int64_t i = 0; i < n[0]; i++) {
      sum += class_loss_at(i, w, n, &weight);
      total += weight;
    }
    fnzi_cpu_real_put(&w[3], 0, n[4] == REDUCE_MEAN ? sum / total : sum);
  }
  if (w[4].at && at == 0)
    fnzi_cpu_real_put(&w[4], 0, total);
}
