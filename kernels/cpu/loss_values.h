/* loss_values.h - losses of classes: text for the CPU and for a GPU. The includer defines VALUE. */
enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };
/* A GPU sums so many by a thread. */
enum { LOSS_RUN = 256 };

/* The loss of a class: `logarithm` is the logarithm of its probability; `smooth` is added by
 * smoothing. */
VALUE double loss_of_class(double weight, double logarithm, double smoothing, double smooth) {
  return -weight * logarithm * (1 - smoothing) + smooth;
}
