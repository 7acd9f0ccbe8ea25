/* box.c - the ranges of a frame's dimensions that a window is made of, where sizes may be
 * expressions.
 *
 * The offset of a window is a sum of start * stride over the frame's dimensions. Each start is the
 * quotient of the rest that the coarser dimensions leave. A sum without a rest is the only one if
 * all its starts lie in their dimensions: each dimension steps over all that finer ones reach. So
 * no rest has to be proved less than its stride, which may be 0 where a size is. A slice may also
 * begin at the end of its dimension, where it has no elements.
 *
 * needs   a frame whose dimensions step over what finer ones reach
 * gives   a box that is right at all sizes at which the frame has elements; or that there is none
 */
#include "views/box.h"

/* --- The start, and the dimensions ------------------------------------------------------------ */
/* *step: `stride` is this multiple of `unit`, and no slice takes a step below 1. */
static bool is_multiple(fnzi_ints *s, fnzi_int stride, fnzi_int unit, fnzi_int *step) {
  *step = fnzi_ints_quotient(s, stride, unit);
  return fnzi_int_is_at_least(s, *step, fnzi_int_of(1)) &&
         fnzi_int_is_product(s, stride, *step, unit);
}

static bool box_find_start(fnzi_ints *s, const fnz_geometry *frame, const fnz_geometry *window,
                           const uint32_t *order, uint32_t count, fnzi_box *b) {
  const fnzi_int zero = {0};
  fnzi_int rest = fnzi_int_sub(s, fnzi_int_offset(window), fnzi_int_offset(frame));
  for (uint32_t d = 0; d < frame->rank; d++) {
    b->start[d] = zero;
    b->step[d] = b->count[d] = fnzi_int_of(1);
    b->used[d] = false;
  }
  for (uint32_t k = 0; k < count && !fnzi_int_is(rest, 0); k++) {
    const uint32_t d = order[k];
    const fnzi_int stride = fnzi_int_stride(frame, d);
    b->start[d] = fnzi_ints_quotient(s, rest, stride);
    const fnzi_int left = fnzi_int_sub(s, rest, fnzi_int_mul(s, b->start[d], stride));
    if (!fnzi_int_is_at_least(s, left, zero)) { /* too much: s0 in steps of s0 + s1 */
      b->start[d] = zero;
      continue;
    }
    rest = left;
    if (!fnzi_int_is_at_least(s, b->start[d], zero) ||
        (!fnzi_int_is(b->start[d], 0) &&
         !fnzi_int_is_at_least(s, fnzi_int_size(frame, d), b->start[d])))
      return false;
  }
  return fnzi_int_is(rest, 0);
}

bool fnzi_box_find(fnzi_ints *s, const fnz_geometry *frame, const fnz_geometry *window,
                   const uint32_t *order, uint32_t count, fnzi_box *out) {
  if (!box_find_start(s, frame, window, order, count, out))
    return false;
  for (uint32_t j = 0; j < window->rank; j++) {
    const fnzi_int stride = fnzi_int_stride(window, j);
    fnzi_int step;
    uint32_t k = 0;
    out->source[j] = FNZI_BOX_NEW;
    if (fnzi_int_is(fnzi_int_size(window, j), 1) || fnzi_int_is(stride, 0))
      continue;
    while (k < count && !is_multiple(s, stride, fnzi_int_stride(frame, order[k]), &step))
      k++;
    if (k == count || out->used[order[k]])
      return false;
    const uint32_t d = order[k];
    const fnzi_int size = fnzi_int_size(window, j), steps = fnzi_int_sub(s, size, fnzi_int_of(1)),
                   last = fnzi_int_add(s, out->start[d], fnzi_int_mul(s, steps, step));
    out->step[d] = step;
    out->count[d] = size;
    out->used[d] = true;
    out->source[j] = (int)d;
    if (!fnzi_int_is_less(s, last, fnzi_int_size(frame, d)))
      return false;
  }
  for (uint32_t d = 0; d < frame->rank; d++)
    if (!out->used[d] && !fnzi_int_is(out->start[d], 0) &&
        !fnzi_int_is_less(s, out->start[d], fnzi_int_size(frame, d)))
      return false; /* there is nothing to select */
  return true;
}
