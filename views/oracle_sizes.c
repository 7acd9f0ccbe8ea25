/* oracle_sizes.c - which windows of one storage share memory, where sizes may be expressions.
 *
 * Both windows are boxes of a frame (box.h), compared dimension by dimension; else the spans of
 * their bytes are compared. DISJOINT, EQUAL, CONTAINS and INSIDE are proved for sets of bytes, so
 * they hold for windows without elements, too.
 *
 * needs   a frame, the geometry of the storage's root, or none
 * gives   an answer for all sizes, or FNZI_UNKNOWN */
#include "views/box.h"
#include "views/oracle.h"

/* start, start + step, ... `count` of them. */
typedef struct range {
  fnzi_int start, step, last;
} range;

static range oracle_sizes_range_of(fnzi_ints *s, const fnzi_box *b, uint32_t d) {
  const fnzi_int more = fnzi_int_sub(s, b->count[d], fnzi_int_of(1));
  return (range){b->start[d], b->step[d],
                 fnzi_int_add(s, b->start[d], fnzi_int_mul(s, more, b->step[d]))};
}

static bool oracle_sizes_contains(fnzi_ints *s, range a, range b) {
  /* `b` begins at one of the places of `a`, or would. */
  return fnzi_int_is_at_least(s, b.start, a.start) && fnzi_int_is_at_least(s, a.last, b.last) &&
         (fnzi_int_is(a.step, 1) ||
          fnzi_int_is_multiple(s, fnzi_int_sub(s, b.start, a.start), a.step)) &&
         (fnzi_int_same(b.start, b.last) || fnzi_int_is(a.step, 1) ||
          fnzi_int_is_multiple(s, b.step, a.step));
}

/* A dimension that the frame lacks may have a size of 0, which no range shows. At all sizes at
 * which it leaves `a` without elements, `b` has none, too. */
static bool is_empty_with(fnzi_ints *s, const fnz_geometry *a, const fnzi_box *box,
                          const fnz_geometry *b) {
  for (uint32_t j = 0; j < a->rank; j++) {
    bool is = box->source[j] != FNZI_BOX_NEW ||
              fnzi_int_is_at_least(s, fnzi_int_size(a, j), fnzi_int_of(1));
    for (uint32_t d = 0; d < b->rank && !is; d++)
      is = fnzi_int_same(fnzi_int_size(a, j), fnzi_int_size(b, d));
    if (!is)
      return false;
  }
  return true;
}

/* A window and its box. */
typedef struct boxed {
  const fnz_geometry *window;
  fnzi_box box;
} boxed;

static fnzi_relation oracle_sizes_relate_boxes(fnzi_ints *s, const boxed *a, const boxed *b,
                                               const uint32_t *order, uint32_t count) {
  bool a_has_b = is_empty_with(s, a->window, &a->box, b->window);
  bool b_has_a = is_empty_with(s, b->window, &b->box, a->window);
  for (uint32_t k = 0; k < count; k++) {
    const range x = oracle_sizes_range_of(s, &a->box, order[k]),
                y = oracle_sizes_range_of(s, &b->box, order[k]);
    /* One ends before the other begins, or they go in equal steps past each other. */
    const fnzi_int shift = fnzi_int_sub(s, y.start, x.start);
    if (fnzi_int_is_less(s, x.last, y.start) || fnzi_int_is_less(s, y.last, x.start))
      return FNZI_DISJOINT;
    if (fnzi_int_same(x.step, y.step) && fnzi_int_is_number(x.step) && fnzi_int_is_number(shift) &&
        x.step.bits > 0 && shift.bits % x.step.bits != 0)
      return FNZI_DISJOINT;
    a_has_b = a_has_b && oracle_sizes_contains(s, x, y);
    b_has_a = b_has_a && oracle_sizes_contains(s, y, x);
  }
  return a_has_b && b_has_a ? FNZI_EQUAL
         : a_has_b          ? FNZI_CONTAINS
         : b_has_a          ? FNZI_INSIDE
                            : FNZI_UNKNOWN;
}

static void in_bytes(fnzi_ints *s, const fnz_geometry *g, fnzi_int *low, fnzi_int *high) {
  const fnzi_int size = fnzi_int_of((int64_t)fnzi_dtype(g->dtype)->bytes);
  *low = fnzi_int_mul(s, *low, size);
  *high = fnzi_int_mul(s, *high, size);
}

/* In elements, or in bytes where their elements have different sizes. */
static bool lie_apart(fnzi_ints *s, const fnz_geometry *a, const fnz_geometry *b) {
  fnzi_int a_low, a_high, b_low, b_high;
  if (!fnzi_int_extent(s, a, &a_low, &a_high) || !fnzi_int_extent(s, b, &b_low, &b_high))
    return false;
  if (fnzi_dtype(a->dtype)->bytes != fnzi_dtype(b->dtype)->bytes) {
    in_bytes(s, a, &a_low, &a_high);
    in_bytes(s, b, &b_low, &b_high);
  }
  return fnzi_int_is_at_least(s, b_low, a_high) || fnzi_int_is_at_least(s, a_low, b_high);
}

fnzi_relation fnzi_oracle_relate_sizes(fnzi_ints *s, const fnz_geometry *a, const fnz_geometry *b,
                                       const fnz_geometry *frame) {
  uint32_t order[FNZ_MAX_RANK], count;
  boxed x = {.window = a}, y = {.window = b};
  if (fnzi_int_is_empty(a) || fnzi_int_is_empty(b) || lie_apart(s, a, b))
    return FNZI_DISJOINT;
  if (fnzi_dtype(a->dtype)->bytes == fnzi_dtype(b->dtype)->bytes && a->offset == b->offset &&
      fnzi_same_sizes(a, b) && fnzi_same_strides(a, b))
    return FNZI_EQUAL;
  if (!frame || fnzi_dtype(frame->dtype)->bytes != fnzi_dtype(a->dtype)->bytes ||
      fnzi_dtype(a->dtype)->bytes != fnzi_dtype(b->dtype)->bytes ||
      !fnzi_int_nested(s, frame, order, &count) ||
      !fnzi_box_find(s, frame, a, order, count, &x.box) ||
      !fnzi_box_find(s, frame, b, order, count, &y.box))
    return FNZI_UNKNOWN;
  return oracle_sizes_relate_boxes(s, &x, &y, order, count);
}

fnzi_relation fnzi_oracle_relate_self_sizes(fnzi_ints *s, const fnz_geometry *g) {
  uint32_t order[FNZ_MAX_RANK], count;
  const bool is_apart =
      fnzi_int_is_empty(g) || fnzi_int_is_dense(s, g) || fnzi_int_nested(s, g, order, &count);
  return is_apart ? FNZI_DISJOINT : FNZI_UNKNOWN;
}
