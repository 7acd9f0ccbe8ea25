/* oracle.c - which windows of one storage share memory, where all sizes are fixed; oracle_sizes.c
 * answers where they are not.
 *
 * Both windows are written as products of arithmetic progressions, one per dimension of a common
 * frame (the root's dimensions, finest last, down to bytes when element sizes differ). Two products
 * are then compared dimension by dimension, exactly. Windows that are no such product are compared
 * byte by byte where they are small, else the answer is UNKNOWN. */
#include "views/oracle.h"
#include "views/rule.h"

enum { MAX_DIMS = FNZ_MAX_RANK + 1, MAX_WORK = FNZI_MUCH_WORK };

/* A geometry in bytes, without dimensions of size 1. */
typedef struct cells {
  uint32_t rank;
  int64_t sizes[MAX_DIMS], strides[MAX_DIMS], low, high; /* bytes [low, high) */
} cells;

/* start, start + step, ... `count` of them. */
typedef struct range {
  int64_t start, step, count;
} range;

static bool add_dim(cells *c, int64_t size, int64_t stride) {
  if (size == 1)
    return true;
  c->sizes[c->rank] = size;
  c->strides[c->rank++] = stride;
  int64_t reach;
  return fnzi_mul_i64(size - 1, stride, &reach) && fnzi_add_i64(c->high, reach, &c->high);
}

/* `unit` divides both element sizes: positions count units. False when something overflows. */
static bool to_cells(const fnz_geometry *g, int64_t unit, cells *out) {
  int64_t scale = (int64_t)fnzi_dtype(g->dtype)->bytes / unit;
  out->rank = 0;
  if (!fnzi_mul_i64(g->offset, scale, &out->low))
    return false;
  out->high = out->low + 1;
  for (uint32_t d = 0; d < g->rank; d++) {
    int64_t stride;
    if (!fnzi_mul_i64(g->strides[d], scale, &stride) || !add_dim(out, g->sizes[d], stride))
      return false;
  }
  return add_dim(out, scale, 1);
}

/* Largest stride first; few dimensions, mostly in order already. */
static void sort_dims(cells *c) {
  for (uint32_t i = 1; i < c->rank; i++) {
    int64_t size = c->sizes[i], stride = c->strides[i];
    uint32_t k = i;
    for (; k > 0 && c->strides[k - 1] < stride; k--) {
      c->sizes[k] = c->sizes[k - 1];
      c->strides[k] = c->strides[k - 1];
    }
    c->sizes[k] = size;
    c->strides[k] = stride;
  }
}

/* Each dimension steps over everything the finer ones reach. Needs sorted dimensions. */
static bool is_nested(const cells *c) {
  int64_t reach = 1;
  for (uint32_t d = c->rank; d-- > 0;) {
    if (c->strides[d] < reach)
      return false;
    reach = (c->sizes[d] - 1) * c->strides[d] + reach;
  }
  return true;
}

/* --- as a product over a frame ---------------------------------------------------------------- */
/* Lays one dimension of a window over dimension d of the frame and, where it runs over the end,
 * over the next coarser ones. */
static bool lay(const cells *frame, int64_t size, int64_t stride, range *box, uint64_t *taken) {
  uint32_t d = 0;
  while (d < frame->rank && (frame->strides[d] > stride || stride % frame->strides[d]))
    d++;
  for (;; d--) {
    if (d == frame->rank || *taken >> d & 1)
      return false;
    int64_t step = stride / frame->strides[d], fits = (frame->sizes[d] - 1 - box[d].start) / step;
    *taken |= (uint64_t)1 << d;
    if (size - 1 <= fits) {
      box[d].step = step;
      box[d].count = size;
      return true;
    }
    int64_t row = frame->sizes[d] / step;
    if (frame->sizes[d] % step || box[d].start >= step || size % row || d == 0 ||
        !fnzi_int_is_product(NULL, (fnzi_int){frame->strides[d - 1]}, (fnzi_int){frame->sizes[d]},
                             (fnzi_int){frame->strides[d]}))
      return false;
    box[d].step = step;
    box[d].count = row;
    size /= row;
    stride = frame->strides[d - 1];
  }
}

static bool to_box(const cells *frame, const cells *c, range *box) {
  int64_t rest = c->low - frame->low;
  uint64_t taken = 0;
  if (rest < 0 || frame->rank > 63)
    return false;
  for (uint32_t d = 0; d < frame->rank; d++) {
    box[d] = (range){rest / frame->strides[d], 1, 1};
    rest %= frame->strides[d];
    if (box[d].start >= frame->sizes[d])
      return false;
  }
  for (uint32_t d = 0; d < c->rank; d++)
    if (c->strides[d] != 0 && !lay(frame, c->sizes[d], c->strides[d], box, &taken))
      return false;
  return rest == 0;
}

static bool oracle_contains(range a, range b) {
  int64_t last = a.start + (a.count - 1) * a.step, b_last = b.start + (b.count - 1) * b.step;
  return b.start >= a.start && b_last <= last && (b.start - a.start) % a.step == 0 &&
         (b.count == 1 || b.step % a.step == 0);
}

static bool is_disjoint(range a, range b) {
  if (a.step < b.step || (a.step == b.step && a.count > b.count)) {
    range t = a;
    a = b;
    b = t;
  }
  /* Walk the sparser one from where the other starts: after one period of the other's step its
   * remainders repeat. */
  int64_t first = b.start > a.start ? (b.start - a.start + a.step - 1) / a.step : 0;
  int64_t last = b.start + (b.count - 1) * b.step;
  for (int64_t k = first; k < a.count && k - first < b.step; k++) {
    int64_t p = a.start + k * a.step;
    if (p > last)
      return true;
    if ((p - b.start) % b.step == 0)
      return false;
  }
  return true;
}

static fnzi_relation oracle_relate_boxes(const range *a, const range *b, uint32_t rank) {
  bool a_has_b = true, b_has_a = true;
  for (uint32_t d = 0; d < rank; d++) {
    if (is_disjoint(a[d], b[d]))
      return FNZI_DISJOINT;
    a_has_b = a_has_b && oracle_contains(a[d], b[d]);
    b_has_a = b_has_a && oracle_contains(b[d], a[d]);
  }
  return a_has_b && b_has_a ? FNZI_EQUAL
         : a_has_b          ? FNZI_CONTAINS
         : b_has_a          ? FNZI_INSIDE
                            : FNZI_OVERLAPS;
}

/* --- counted out ------------------------------------------------------------------------------ */
static int64_t count_cells(const cells *c) {
  int64_t n = 1;
  for (uint32_t d = 0; d < c->rank && n <= MAX_WORK; d++)
    n *= c->sizes[d];
  return n;
}

/* Marks every position of the window; true when one is marked twice. */
static bool mark(const cells *c, int64_t low, uint8_t *seen, uint8_t bit) {
  int64_t at[MAX_DIMS] = {0}, position = c->low - low;
  bool twice = false;
  for (;;) {
    twice = twice || (seen[position] & bit);
    seen[position] |= bit;
    uint32_t d = c->rank;
    while (d > 0 && at[d - 1] == c->sizes[d - 1] - 1) {
      d--;
      position -= at[d] * c->strides[d];
      at[d] = 0;
    }
    if (d == 0)
      return twice;
    at[d - 1]++;
    position += c->strides[d - 1];
  }
}

static fnzi_relation count_out(const cells *a, const cells *b, int64_t work) {
  uint8_t seen[MAX_WORK], found = 0;
  int64_t low = a->low < b->low ? a->low : b->low, high = a->high > b->high ? a->high : b->high;
  if (high - low > work || count_cells(a) > work || count_cells(b) > work)
    return FNZI_UNKNOWN;
  memset(seen, 0, (size_t)(high - low));
  mark(a, low, seen, 1);
  mark(b, low, seen, 2);
  for (int64_t i = 0; i < high - low; i++)
    found |= (uint8_t)(1 << seen[i]);
  bool only_a = found & 1 << 1, only_b = found & 1 << 2, both = found & 1 << 3;
  return !both              ? FNZI_DISJOINT
         : only_a && only_b ? FNZI_OVERLAPS
         : only_a           ? FNZI_CONTAINS
         : only_b           ? FNZI_INSIDE
                            : FNZI_EQUAL;
}

/* --- the questions ---------------------------------------------------------------------------- */
fnzi_relation fnzi_oracle_relate(fnzi_ints *s, const fnz_geometry *a, const fnz_geometry *b,
                                 const fnz_geometry *frame, int64_t work) {
  if (s && (fnzi_int_is_symbolic(a) || fnzi_int_is_symbolic(b) ||
            (frame && fnzi_int_is_symbolic(frame))))
    return fnzi_oracle_relate_sizes(s, a, b, frame);
  cells ca, cb, cf;
  range box_a[MAX_DIMS], box_b[MAX_DIMS];
  /* Most pairs do not even share a range of bytes. */
  int64_t a_low, a_high, b_low, b_high;
  const bool lie_apart = a->dtype == b->dtype && fnzi_extent(a, &a_low, &a_high) &&
                         fnzi_extent(b, &b_low, &b_high) && (a_high <= b_low || b_high <= a_low);
  if (lie_apart || fnz_geometry_numel(a) == 0 || fnz_geometry_numel(b) == 0)
    return FNZI_DISJOINT;
  /* Element sizes are powers of two. */
  size_t least = fnzi_dtype(a->dtype)->bytes, other = fnzi_dtype(b->dtype)->bytes;
  if (other < least)
    least = other;
  if (frame && fnzi_dtype(frame->dtype)->bytes < least)
    least = fnzi_dtype(frame->dtype)->bytes;
  const int64_t unit = (int64_t)least;
  if (!to_cells(a, unit, &ca) || !to_cells(b, unit, &cb))
    return FNZI_UNKNOWN;
  if (ca.high <= cb.low || cb.high <= ca.low)
    return FNZI_DISJOINT;
  if (frame && fnz_geometry_numel(frame) > 0 && to_cells(frame, unit, &cf)) {
    sort_dims(&cf);
    if (is_nested(&cf) && to_box(&cf, &ca, box_a) && to_box(&cf, &cb, box_b))
      return oracle_relate_boxes(box_a, box_b, cf.rank);
  }
  return count_out(&ca, &cb, work < MAX_WORK ? work : MAX_WORK);
}

/* Whether each dimension steps over everything that later dimensions reach, as in most windows. */
static bool lies_in_rows(const fnz_geometry *g) {
  int64_t reach = 1, span;
  for (uint32_t d = g->rank; d-- > 0;) {
    if (g->sizes[d] == 1)
      continue;
    if (g->strides[d] < reach || !fnzi_mul_i64(g->sizes[d] - 1, g->strides[d], &span) ||
        !fnzi_add_i64(reach, span, &reach))
      return false;
  }
  return true;
}

/* Apart from its only caller, whose frame stays small. */
static fnzi_relation count_self(const cells *c, int64_t work) {
  uint8_t seen[MAX_WORK];
  if (work > MAX_WORK)
    work = MAX_WORK;
  if (c->high - c->low > work || count_cells(c) > work)
    return count_cells(c) > c->high - c->low ? FNZI_OVERLAPS : FNZI_UNKNOWN;
  memset(seen, 0, (size_t)(c->high - c->low));
  return mark(c, c->low, seen, 1) ? FNZI_OVERLAPS : FNZI_DISJOINT;
}

fnzi_relation fnzi_oracle_relate_self(fnzi_ints *s, const fnz_geometry *g, int64_t work) {
  cells c;
  if (s && fnzi_int_is_symbolic(g))
    return fnzi_oracle_relate_self_sizes(s, g);
  if (fnz_geometry_numel(g) < 2 || lies_in_rows(g))
    return FNZI_DISJOINT;
  if (!to_cells(g, (int64_t)fnzi_dtype(g->dtype)->bytes, &c))
    return FNZI_UNKNOWN;
  for (uint32_t d = 0; d < c.rank; d++)
    if (c.strides[d] == 0)
      return FNZI_OVERLAPS;
  sort_dims(&c);
  return is_nested(&c) ? FNZI_DISJOINT : count_self(&c, work);
}
