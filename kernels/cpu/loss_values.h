/* loss_values.h - losses of one element: text for the CPU and for a GPU. The includer defines
 * VALUE.
 */
VALUE double loss_square(double x, double target) {
  return (x - target) * (x - target);
}
VALUE double loss_distance(double x, double target) {
  return fabs(x - target);
}
VALUE double loss_smooth(double x, double target, double beta) {
  double d = fabs(x - target);
  return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;
}
VALUE double loss_huber(double x, double target, double delta) {
  double d = fabs(x - target);
  return d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta);
}

enum { LOSS_SQUARE, LOSS_DISTANCE, LOSS_SMOOTH, LOSS_HUBER };
VALUE double loss_of(int64_t kind, double x, double target, double parameter) {
  return kind == LOSS_SQUARE     ? loss_square(x, target)
         : kind == LOSS_DISTANCE ? loss_distance(x, target)
         : kind == LOSS_SMOOTH   ? loss_smooth(x, target, parameter)
                                 : loss_huber(x, target, parameter);
}

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };
/* A GPU sums so many by a thread. */
enum { LOSS_RUN = 256 };

/* The loss of a class: `logarithm` is the logarithm of its probability; `smooth` is added by
 * smoothing. */
VALUE double loss_of_class(double weight, double logarithm, double smoothing, double smooth) {
  return -weight * logarithm * (1 - smoothing) + smooth;
}
