/* checks.c - writes that eager refuses before it starts, decided on geometries.
 *
 * ATen sees a stride of 0, and operands that partly overlap when both are dense. It does not refuse
 * other overlaps, although their result may depend on the order of its loop. If it does depend on
 * the order, the program is refused here, because no functional program means the same.
 *
 * needs   geometries of the target, of an operand and of what eager's loop reads
 * keeps   writes that eager accepts and a functional program can express
 * gives   OVERLAP, BOUNDS or TYPE; or the order or the dimension of slices in which to write */
#include "mutations/mutations.h"

/* --- an operand that shares memory with the target -------------------------------------------- */
/* Stride of an operand along dimension d of the target that it is broadcast to. */
static int64_t stride_along(const fnz_geometry *operand, const fnz_geometry *target, uint32_t d) {
  if (d + operand->rank < target->rank)
    return 0;
  uint32_t k = d + operand->rank - target->rank;
  return operand->sizes[k] == 1 ? 0 : operand->strides[k];
}

bool fnzi_is_at_own_locations(const fnz_geometry *target, const fnz_geometry *operand) {
  bool same = fnzi_dtype(operand->dtype)->bytes == fnzi_dtype(target->dtype)->bytes &&
              operand->offset == target->offset && operand->rank <= target->rank;
  for (uint32_t d = 0; same && d < target->rank; d++) {
    /* Both have the same elements along dimension d of the target. */
    uint32_t missing = target->rank - operand->rank;
    int64_t size = d < missing ? 1 : operand->sizes[d - missing];
    same = size == target->sizes[d] &&
           (size == 1 || stride_along(operand, target, d) == target->strides[d]);
  }
  return same;
}

/* A walk over the target in the order of eager's loop. */
typedef struct walk {
  const fnz_geometry *target, *operand;
  uint32_t order[FNZ_MAX_RANK];
  int64_t at[FNZ_MAX_RANK], write, read; /* positions from the target's first element */
} walk;

static void walk_start(walk *w, const fnz_geometry *target, const fnz_geometry *operand,
                       const fnzi_loop *loop) {
  *w = (walk){.target = target, .operand = operand, .read = operand->offset - target->offset};
  fnzi_loop_order(target, loop ? loop->reads : NULL, loop ? loop->nreads : 0, w->order);
}

static bool walk_next(walk *w) {
  for (uint32_t k = w->target->rank; k-- > 0;) {
    uint32_t d = w->order[k];
    int64_t step = stride_along(w->operand, w->target, d);
    if (w->at[d] + 1 < w->target->sizes[d]) {
      w->at[d]++;
      w->write += w->target->strides[d];
      w->read += step;
      return true;
    }
    w->write -= w->at[d] * w->target->strides[d];
    w->read -= w->at[d] * step;
    w->at[d] = 0;
  }
  return false;
}

static bool is_walkable(const fnz_geometry *target, const fnz_geometry *operand, int64_t *span) {
  int64_t low, high;
  bool fits = operand->dtype == target->dtype && operand->rank <= target->rank &&
              fnzi_extent(target, &low, &high);
  *span = fits ? high - low : 0;
  return fits && *span <= FNZI_MUCH_WORK && fnz_geometry_numel(target) <= FNZI_MUCH_WORK;
}

/* No element is read after the loop has written it, so reading everything first means the same. */
static bool reads_before_writes(const fnz_geometry *target, const fnz_geometry *operand) {
  uint8_t written[FNZI_MUCH_WORK] = {0};
  int64_t span;
  walk w;
  if (!is_walkable(target, operand, &span))
    return false;
  walk_start(&w, target, operand, NULL);
  do {
    if (w.read >= 0 && w.read < span && written[w.read])
      return false;
    written[w.write] = 1;
  } while (walk_next(&w));
  return true;
}

/* Slice after slice along `dim` sees written elements exactly where eager's loop does. */
static bool slices_agree(const fnz_geometry *target, const fnz_geometry *operand, uint32_t dim,
                         int64_t span) {
  uint8_t written[FNZI_MUCH_WORK] = {0}; /* by the loop so far */
  uint8_t writer[FNZI_MUCH_WORK] = {0};  /* 1 + index along dim of the slice that writes it */
  walk w;
  walk_start(&w, target, operand, NULL);
  do
    writer[w.write] = (uint8_t)(1 + w.at[dim]);
  while (walk_next(&w));
  walk_start(&w, target, operand, NULL);
  do {
    bool is_inside = w.read >= 0 && w.read < span && writer[w.read];
    if (is_inside && (written[w.read] != 0) != (writer[w.read] - 1 < w.at[dim]))
      return false;
    written[w.write] = 1;
  } while (walk_next(&w));
  return true;
}

/* Eager computes a long innermost dimension in vectors, whose length depends on the machine; fewer
 * elements than any vector has it computes one by one. */
enum { SHORTEST_VECTOR = 8, MAX_SLICES = 64 };

/* The dimension along which the operator may be applied slice after slice; -1 for none. */
static int slice_dim(const fnz_geometry *target, const fnz_geometry *operand) {
  uint32_t order[FNZ_MAX_RANK];
  int64_t span;
  if (!is_walkable(target, operand, &span) || !target->rank)
    return -1;
  fnzi_loop_order(target, NULL, 0, order);
  for (uint32_t d = 0; d < target->rank; d++) {
    bool is_inner = d == order[target->rank - 1];
    if (target->sizes[d] <= (is_inner ? SHORTEST_VECTOR : MAX_SLICES) &&
        slices_agree(target, operand, d, span))
      return (int)d;
  }
  return -1;
}

/* --- a target that shares memory with itself ------------------------------------------------- */
/* How slices along `dim` write each place: 2 one after the other, as eager's loop does; 1 some more
 * than once, but none after a later one has; 0 in another order. */
static int slices_in_order(const fnz_geometry *target, const fnzi_loop *loop, uint32_t dim) {
  uint8_t last[FNZI_MUCH_WORK] = {0}; /* 1 + index along dim of the slice that wrote it last */
  int rank = 2;
  walk w;
  walk_start(&w, target, target, loop);
  do {
    if (last[w.write] > w.at[dim] + 1)
      return 0;
    if (last[w.write] == w.at[dim] + 1)
      rank = 1;
    last[w.write] = (uint8_t)(1 + w.at[dim]);
  } while (walk_next(&w));
  return rank;
}

/* Eager refuses such targets, except for writes of a constant. */
bool fnzi_has_zero_stride(const fnz_geometry *g) {
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->strides[d] == 0 && g->sizes[d] > 1)
      return true;
  return false;
}

/* The target alone determines the order of the loop: then it does for each slice. */
static bool decides_alone(const fnz_geometry *target, const fnzi_loop *loop) {
  uint32_t order[FNZ_MAX_RANK], own[FNZ_MAX_RANK];
  fnzi_loop_order(target, loop->reads, loop->nreads, order);
  fnzi_loop_order(target, NULL, 0, own);
  return memcmp(order, own, target->rank * sizeof *own) == 0;
}

/* The dimension along which writing slice after slice is what eager does; -1 for none. One whose
 * slices do not overlap themselves, or else any, as these are cut again; the shortest of them. */
static int own_slice_dim(const fnz_geometry *target, const fnzi_loop *loop) {
  int64_t span;
  int best = -1, best_rank = 0;
  if (!is_walkable(target, target, &span))
    return -1;
  for (uint32_t d = 0; d < target->rank; d++) {
    bool may = target->sizes[d] > 1 && target->sizes[d] <= MAX_SLICES;
    int rank = may ? slices_in_order(target, loop, d) : 0;
    if (rank > best_rank || (rank && rank == best_rank && target->sizes[d] < target->sizes[best])) {
      best = (int)d;
      best_rank = rank;
    }
  }
  return best_rank == 2 || (best_rank == 1 && decides_alone(target, loop)) ? best : -1;
}

/* For so many elements or more, eager's loop may run in several threads. */
enum { IN_PARALLEL = 32768 };

fnz_status fnzi_check_target(fnz_context *ctx, fnzi_ints *s, const fnz_op *op,
                             const fnz_geometry *target, fnzi_spread spread, fnzi_loop *loop) {
  fnzi_relation self = fnzi_oracle_relate_self(s, target, FNZI_MUCH_WORK);
  bool is_zero = fnzi_has_zero_stride(target);
  if (self == FNZI_DISJOINT || spread == FNZI_SPREAD_CONSTANT ||
      (spread == FNZI_SPREAD_IDEMPOTENT && !is_zero))
    return FNZ_OK;
  bool loops = loop && !is_zero && !fnzi_int_is_symbolic(target);
  if (loops && loop->reads_first && fnz_geometry_numel(target) < IN_PARALLEL) {
    loop->in_order = true;
    return FNZ_OK;
  }
  int dim = loops && !loop->whole ? own_slice_dim(target, loop) : -1;
  if (dim >= 0) {
    loop->slices = dim;
    return FNZ_OK;
  }
  return fnzi_fail_for(ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
                       "%s writes a tensor whose elements %s memory with each other, so the result "
                       "would depend on the order of the writes; clone() it first",
                       op->name, self == FNZI_OVERLAPS ? "share" : "may share");
}

/* An overlap that eager sees: two dense tensors whose ranges of memory meet. */
static bool is_noticed(fnzi_ints *s, const fnz_geometry *target, const fnz_geometry *operand) {
  return fnzi_int_is_dense(s, target) && fnzi_int_is_dense(s, operand);
}

fnz_status fnzi_check_operand(fnz_context *ctx, const fnz_op *op, const fnz_geometry *target,
                              const fnzi_operand *operand, fnzi_loop *loop) {
  const fnz_geometry *g = operand->geometry;
  fnzi_ints *s = operand->ints;
  if (loop && fnzi_is_at_own_locations(target, g))
    return FNZ_OK;
  fnzi_relation relation = fnzi_oracle_relate(s, target, g, operand->frame, FNZI_MUCH_WORK);
  if (relation == FNZI_DISJOINT)
    return FNZ_OK;
  bool is_plain = !fnzi_int_is_symbolic(target) && !fnzi_int_is_symbolic(g) &&
                  fnzi_oracle_relate_self(s, target, FNZI_MUCH_WORK) == FNZI_DISJOINT;
  if (loop && loop->in_order && operand->reading == FNZI_READING_FIRST)
    return FNZ_OK;
  if (loop && is_plain && !is_noticed(s, target, g)) {
    if (fnzi_is_read_first(target, g, operand->reading))
      return FNZ_OK;
    int dim = loop->whole ? -1 : slice_dim(target, g);
    if (dim >= 0 && (loop->slices == -1 || loop->slices == dim)) {
      loop->slices = dim;
      return FNZ_OK;
    }
  }
  return fnzi_fail_for(
      ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
      "%s reads memory that it %s: an operand overlaps the written tensor; clone() "
      "the operand first",
      op->name, relation == FNZI_UNKNOWN ? "may be writing" : "writes");
}

static bool has_equal_strides(const fnz_geometry *a, const fnz_geometry *b) {
  bool equal = a->rank == b->rank;
  for (uint32_t d = 0; equal && d < a->rank; d++)
    equal = a->strides[d] == b->strides[d];
  return equal;
}

fnz_status fnzi_check_alike(fnz_context *ctx, fnzi_ints *s, const fnz_op *op,
                            const fnz_geometry *target, const fnz_geometry *operand) {
  if (!is_noticed(s, target, operand) || !fnzi_is_at_own_locations(target, operand) ||
      has_equal_strides(target, operand) || fnzi_int_is_empty(target))
    return FNZ_OK;
  return fnzi_fail_for(ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
                       "%s reads the memory that it writes with other dimensions or strides, which "
                       "PyTorch takes for another window; clone() the operand first",
                       op->name);
}

/* An expression may be any size: that the call works is assumed. */
static bool are_numbers(int64_t a, int64_t b) {
  return fnzi_int_is_number((fnzi_int){a}) && fnzi_int_is_number((fnzi_int){b});
}

fnz_status fnzi_check_together(fnz_context *ctx, const fnz_op *op, const fnz_geometry *a,
                               const fnz_geometry *b) {
  for (uint32_t k = 1; k <= a->rank && k <= b->rank; k++) {
    int64_t x = a->sizes[a->rank - k], y = b->sizes[b->rank - k];
    if (x != y && x != 1 && y != 1 && are_numbers(x, y))
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: operands of sizes %lld and %lld in dimension -%u do not broadcast; "
                       "expand() or slice one of them",
                       op->name, (long long)x, (long long)y, k);
  }
  return FNZ_OK;
}

bool fnzi_is_read_first(const fnz_geometry *target, const fnz_geometry *operand,
                        fnzi_reading reading) {
  return reading == FNZI_READING_FIRST ||
         (!fnzi_is_at_own_locations(target, operand) && reads_before_writes(target, operand));
}

fnz_status fnzi_check_cast(fnz_context *ctx, const fnz_op *op, fnz_dtype result, fnz_dtype target) {
  if (fnzi_can_cast(result, target))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL,
                   "%s computes %s, which cannot be stored in a tensor of %s; convert it with to()",
                   op->name, fnzi_dtype(result)->name, fnzi_dtype(target)->name);
}

fnz_status fnzi_check_broadcast(fnz_context *ctx, const fnz_op *op, const fnz_geometry *target,
                                const fnz_geometry *operand) {
  if (operand->rank > target->rank)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: an operand of %u dimensions does not fit a target of %u; squeeze() it",
                     op->name, operand->rank, target->rank);
  for (uint32_t k = 1; k <= operand->rank; k++) {
    int64_t have = operand->sizes[operand->rank - k], want = target->sizes[target->rank - k];
    if (have != 1 && have != want && are_numbers(have, want))
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: an operand of size %lld in dimension -%u does not broadcast to the "
                       "target's %lld",
                       op->name, (long long)have, k, (long long)want);
  }
  return FNZ_OK;
}
