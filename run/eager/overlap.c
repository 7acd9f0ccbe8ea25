/* overlap.c - which places of strided memory are touched twice, and in which order a loop goes.
 *
 * Plain loops over indices, on purpose: this is the yardstick for code that is cleverer. */
#include "run/eager/overlap.h"
#include "run/cells.h"

/* One bit per place that a window reaches, from `low` on. */
typedef struct reached {
  int64_t low, high;
  size_t bytes;
  unsigned char *bits; /* NULL: it has no element */
} reached;

static fnz_status open_marks(fnz_context *ctx, const fnz_geometry *g, reached *out) {
  *out = (reached){.bits = NULL};
  if (!fnzi_extent(g, &out->low, &out->high))
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, "", "the extent of a tensor leaves 64 bits");
  if (out->low == out->high)
    return FNZ_OK;
  out->bytes = (size_t)((out->high - out->low) / 8 + 1);
  out->bits = fnzi_resize(ctx, NULL, 0, out->bytes);
  if (out->bits == NULL)
    return fnzi_no_memory(ctx);
  memset(out->bits, 0, out->bytes);
  return FNZ_OK;
}

static void close_marks(fnz_context *ctx, reached *marks) {
  if (marks->bits != NULL)
    fnzi_free(ctx, marks->bits, marks->bytes);
}

/* Marks the places of `g`; says whether one was marked before. */
static bool mark(const fnz_geometry *g, reached *marks, bool set) {
  fnzi_run_walk w;
  bool met = false;
  for (fnzi_run_walk_start(&w, g); w.left > 0; fnzi_run_walk_step(&w)) {
    if (w.place < marks->low || w.place >= marks->high)
      continue;
    int64_t at = w.place - marks->low;
    unsigned char bit = (unsigned char)(1u << (at & 7));
    met = met || (marks->bits[at >> 3] & bit) != 0;
    if (set)
      marks->bits[at >> 3] = (unsigned char)(marks->bits[at >> 3] | bit);
  }
  return met;
}

/* Does `second` touch a place that `first` has touched, or `first` one twice when it is NULL? */
static fnz_status compare(fnz_context *ctx, const fnz_geometry *first, const fnz_geometry *second,
                          bool *out) {
  reached marks;
  *out = false;
  FNZ_TRY(open_marks(ctx, first, &marks));
  if (marks.bits != NULL) {
    *out = mark(first, &marks, true);
    if (second != NULL)
      *out = mark(second, &marks, false);
  }
  close_marks(ctx, &marks);
  return FNZ_OK;
}

fnz_status fnzi_eag_places_cover(fnz_context *ctx, const fnz_geometry *first,
                                 const fnz_geometry *second, bool *out) {
  reached marks;
  fnzi_run_walk w;
  *out = true;
  FNZ_TRY(open_marks(ctx, second, &marks));
  if (marks.bits != NULL) {
    mark(first, &marks, true);
    for (fnzi_run_walk_start(&w, second); *out && w.left > 0; fnzi_run_walk_step(&w))
      *out = (marks.bits[(w.place - marks.low) >> 3] & (1u << ((w.place - marks.low) & 7))) != 0;
  }
  close_marks(ctx, &marks);
  return FNZ_OK;
}

/* Sizes above one by stride, smallest first: each stride beyond all that the smaller ones reach
 * means that no two indices meet. */
static bool nested(const fnz_geometry *g) {
  bool used[FNZ_MAX_RANK] = {false};
  int64_t reach = 0;
  for (uint32_t round = 0; round < g->rank; round++) {
    uint32_t best = g->rank;
    for (uint32_t d = 0; d < g->rank; d++)
      if (!used[d] && (best == g->rank || g->strides[d] < g->strides[best]))
        best = d;
    used[best] = true;
    if (g->sizes[best] == 1)
      continue;
    if (g->strides[best] <= reach)
      return false;
    reach += g->strides[best] * (g->sizes[best] - 1);
  }
  return true;
}

fnz_status fnzi_eag_places_overlap(fnz_context *ctx, const fnz_geometry *g, bool *out) {
  *out = false;
  if (fnz_geometry_numel(g) == 0 || nested(g))
    return FNZ_OK;
  return compare(ctx, g, NULL, out);
}

bool fnzi_eag_is_expanded(const fnz_geometry *g) {
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->sizes[d] > 1 && g->strides[d] == 0)
      return true;
  return false;
}

fnz_status fnzi_eag_places_meet(fnz_context *ctx, const fnz_geometry *a, const fnz_geometry *b,
                                bool *out) {
  return compare(ctx, a, b, out);
}

/* The same memory as bytes; `dims` has room for twice FNZ_MAX_RANK numbers. */
static bool as_bytes(const fnz_geometry *g, int64_t *dims, fnz_geometry *out) {
  int64_t bytes = (int64_t)fnzi_dtype(g->dtype)->bytes;
  bool fits = g->rank < FNZ_MAX_RANK;
  *out = (fnz_geometry){
      .dtype = FNZ_U8, .rank = g->rank + 1, .sizes = dims, .strides = dims + FNZ_MAX_RANK};
  for (uint32_t d = 0; fits && d < g->rank; d++) {
    dims[d] = g->sizes[d];
    fits = fnzi_mul_i64(g->strides[d], bytes, &dims[FNZ_MAX_RANK + d]);
  }
  if (fits) {
    dims[g->rank] = bytes;
    dims[FNZ_MAX_RANK + g->rank] = 1;
  }
  return fits && fnzi_mul_i64(g->offset, bytes, &out->offset);
}

/* Windows that cannot be seen as bytes count as meeting. */
fnz_status fnzi_eag_bytes_meet(fnz_context *ctx, const fnz_geometry *a, const fnz_geometry *b,
                               bool *meet) {
  int64_t dims[2][2 * FNZ_MAX_RANK];
  fnz_geometry x, y;
  *meet = true;
  if (a->dtype == b->dtype)
    return fnzi_eag_places_meet(ctx, a, b, meet);
  if (!as_bytes(a, dims[0], &x) || !as_bytes(b, dims[1], &y))
    return FNZ_OK;
  return fnzi_eag_places_meet(ctx, &x, &y, meet);
}

/* --- Order
 * ------------------------------------------------------------------------------------- */

/* Dimension `d` of the target in an operand that is broadcast to it. */
static int64_t operand_stride(const fnz_geometry *target, const fnz_geometry *operand, uint32_t d) {
  uint32_t lead = target->rank - operand->rank;
  if (d < lead || operand->sizes[d - lead] == 1)
    return 0;
  return operand->strides[d - lead];
}

/* A dimension of size 1 in both has its stride, though it leads nowhere. */
static int64_t loop_stride(const fnz_geometry *target, const fnz_geometry *tensor, uint32_t d) {
  uint32_t lead = target->rank - tensor->rank;
  return d >= lead && target->sizes[d] == 1 ? tensor->strides[d - lead]
                                            : operand_stride(target, tensor, d);
}

/* How one tensor orders two dimensions: negative when `inner` stays inside of `outer`, positive
 * when they swap, 0 when it has no preference. */
static int wants(const fnz_geometry *target, const fnz_geometry *tensor, uint32_t inner,
                 uint32_t outer) {
  int64_t in = loop_stride(target, tensor, inner), out = loop_stride(target, tensor, outer);
  if (in == 0 || out == 0)
    return 0;
  if (in == out)
    return target->sizes[inner] > target->sizes[outer] ? 1 : 0;
  return in > out ? 1 : -1;
}

void fnzi_eag_loop_order(const fnz_geometry *target, const fnz_geometry *const *operands,
                         size_t count, uint32_t *out) {
  uint32_t rank = target->rank, perm[FNZ_MAX_RANK]; /* the innermost first */
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = rank - 1 - i;
  for (uint32_t i = 1; i < rank; i++) {
    uint32_t here = i;
    for (uint32_t below = i; below-- > 0;) {
      int want = wants(target, target, perm[below], perm[here]);
      for (size_t k = 0; want == 0 && k < count; k++)
        want = wants(target, operands[k], perm[below], perm[here]);
      if (want < 0)
        break;
      if (want > 0) {
        uint32_t dim = perm[below];
        perm[below] = perm[here];
        perm[here] = dim;
        here = below;
      }
    }
  }
  for (uint32_t i = 0; i < rank; i++)
    out[i] = perm[rank - 1 - i];
}

/* Walks through both in step. `rows` has, per place, 1 + the row of the innermost loop that wrote
 * it. */
static fnzi_eag_order follow(fnzi_run_walk *to, fnzi_run_walk *from, int64_t low, int64_t high,
                             uint32_t *rows) {
  fnzi_eag_order order = FNZI_EAG_ORDER_FREE;
  int64_t inner = to->g->rank == 0 ? 1 : to->g->sizes[to->g->rank - 1];
  for (int64_t i = 0; to->left > 0; i++, fnzi_run_walk_step(to), fnzi_run_walk_step(from)) {
    uint32_t row = (uint32_t)(i / inner) + 1;
    bool inside = from->place >= low && from->place < high;
    uint32_t written = inside ? rows[from->place - low] : 0;
    if (written == row && inner > FNZI_EAG_SHORTEST_VECTOR)
      return FNZI_EAG_ORDER_UNKNOWN;
    if (written != 0)
      order = FNZI_EAG_ORDER_LOOP;
    rows[to->place - low] = row;
  }
  return order;
}

/* The dimensions of both in the order of the loop. */
typedef struct ordered {
  fnz_geometry to, from;
  int64_t sizes[FNZ_MAX_RANK], to_strides[FNZ_MAX_RANK], from_strides[FNZ_MAX_RANK];
} ordered;

static void put_in_order(const fnz_geometry *target, const fnz_geometry *operand,
                         const uint32_t *order, ordered *o) {
  for (uint32_t d = 0; d < target->rank; d++) {
    o->sizes[d] = target->sizes[order[d]];
    o->to_strides[d] = target->strides[order[d]];
    o->from_strides[d] = operand_stride(target, operand, order[d]);
  }
  o->to = o->from = *target;
  o->to.sizes = o->from.sizes = o->sizes;
  o->to.strides = o->to_strides;
  o->from.strides = o->from_strides;
  o->from.offset = operand->offset;
}

fnz_status fnzi_eag_find_order(fnz_context *ctx, const fnz_geometry *target,
                               const fnz_geometry *operand, fnzi_eag_order *out) {
  int64_t low, high;
  *out = FNZI_EAG_ORDER_UNKNOWN;
  if (operand->rank > target->rank || !fnzi_extent(target, &low, &high) ||
      fnz_geometry_numel(target) > FNZI_EAG_MOST_IN_LOOP || high - low > 64 * FNZI_EAG_MOST_IN_LOOP)
    return FNZ_OK;
  size_t bytes = (size_t)(high - low + 1) * sizeof(uint32_t);
  uint32_t *rows = fnzi_resize(ctx, NULL, 0, bytes);
  if (rows == NULL)
    return fnzi_no_memory(ctx);
  memset(rows, 0, bytes);
  ordered o;
  fnzi_run_walk writer, reader;
  uint32_t order[FNZ_MAX_RANK];
  fnzi_eag_loop_order(target, NULL, 0, order);
  put_in_order(target, operand, order, &o);
  fnzi_run_walk_start(&writer, &o.to);
  fnzi_run_walk_start(&reader, &o.from);
  *out = follow(&writer, &reader, low, high, rows);
  fnzi_free(ctx, rows, bytes);
  return FNZ_OK;
}

fnz_status fnzi_eag_loop(const fnz_geometry *target, const uint32_t *order,
                         fnz_status (*visit)(void *user, const int64_t *index), void *user) {
  ordered o;
  fnzi_run_walk w;
  int64_t index[FNZ_MAX_RANK];
  put_in_order(target, target, order, &o);
  for (fnzi_run_walk_start(&w, &o.to); w.left > 0; fnzi_run_walk_step(&w)) {
    for (uint32_t d = 0; d < target->rank; d++)
      index[order[d]] = w.index[d];
    FNZ_TRY(visit(user, index));
  }
  return FNZ_OK;
}

void fnzi_eag_scatter_in_order(const fnz_geometry *g, const uint32_t *order,
                               const unsigned char *dense, size_t cell, unsigned char *memory) {
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry rows = *g;
  ordered o;
  fnzi_run_walk writer, reader;
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  rows.strides = strides;
  rows.offset = 0;
  put_in_order(g, &rows, order, &o);
  fnzi_run_walk_start(&writer, &o.to);
  for (fnzi_run_walk_start(&reader, &o.from); reader.left > 0;
       fnzi_run_walk_step(&reader), fnzi_run_walk_step(&writer))
    memcpy(memory + (size_t)writer.place * cell, dense + (size_t)reader.place * cell, cell);
}
