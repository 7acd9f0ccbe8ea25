/* moves.c - elements repeated, cut out, shuffled and rolled, and differences of neighbours. */
#include "kernels/decomp/decomp.h"

/* --- Repeated --------------------------------------------------------------------------------- */
DECOMP(tile) {
  fnzi_krn_array *a = GIVEN("self");
  const int64_t *given = NULL;
  int64_t times[FNZ_MAX_RANK];
  size_t count = 0, rank = fnzi_dec_array_rank(a);
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dims", &given, &count));
  if (count > FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_LIMIT, "%zu dimensions are above %d", count, FNZ_MAX_RANK);
  if (s->status != FNZ_OK)
    return;
  size_t more = rank > count ? rank - count : 0;
  for (size_t i = 0; i < more + count; i++)
    times[i] = i < more ? 1 : given[i - more];
  GIVE(STEP(repeat, V(a), fnzi_dec_ints(s, times, more + count)));
}

fnzi_krn_array *fnzi_dec_interleaved(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim,
                                     int64_t times) {
  int64_t sizes[FNZ_MAX_RANK + 1], rank = RANK(a);
  dim = dim < 0 ? dim + rank : dim;
  if (rank == 0 || rank == FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_LIMIT, "rank %lld is no rank from 1 to %d", (long long)rank,
                    FNZ_MAX_RANK - 1);
  if (times < 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "repeats must not be negative, got %lld",
                    (long long)times);
  if (s->status != FNZ_OK)
    return NULL;
  for (int64_t d = 0; d <= rank; d++)
    sizes[d] = d <= dim ? SIZE(a, d) : d == dim + 1 ? times : SIZE(a, d - 1);
  fnzi_krn_array *all = STEP(unsqueeze, V(a), I(dim + 1));
  all = STEP(expand, V(all), fnzi_dec_ints(s, sizes, (size_t)rank + 1));
  for (int64_t d = 0; d < rank; d++)
    sizes[d] = d == dim ? SIZE_TIMES(SIZE(a, d), times) : SIZE(a, d);
  return fnzi_dec_reshaped(s, all, sizes, (size_t)rank);
}

DECOMP(repeat_interleave) {
  fnzi_krn_array *a = GIVEN("self");
  if (fnzi_krn_named(s->call, "dim")->tag == FNZ_ARG_NONE)
    a = RESHAPED(a, fnzi_dec_array_numel(a));
  else if (RANK(a) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "a dim of a tensor without dimensions");
  int64_t dim = fnzi_dec_given_dim(s, "dim", a);
  fnzi_krn_array *all = fnzi_dec_interleaved(s, a, dim, GIVEN_INT("repeats"));
  int64_t size = SIZE(all, dim), expected = fnzi_krn_named_int(s->call, "output_size", size);
  if (expected != size)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "output_size is %lld, the result has %lld",
                    (long long)expected, (long long)size);
  GIVE(all);
}

/* --- Cut out and shuffled --------------------------------------------------------------------- */
DECOMP(narrow_copy) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t dim = fnzi_dec_given_dim(s, "dim", a), size = SIZE(a, dim);
  int64_t start = GIVEN_INT("start"), length = GIVEN_INT("length");
  if (RANK(a) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has no dimensions");
  if (start < -size || start > size || length < 0 ||
      length > size - (start < 0 ? start + size : start))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%lld elements from %lld of %lld", (long long)length,
                    (long long)start, (long long)size);
  if (s->status != FNZ_OK)
    return;
  start = start < 0 ? start + size : start;
  GIVE(STEP(slice_copy__Tensor, V(a), I(dim), I(start), I(start + length)));
}

/* The last dimensions in other sizes, in another order, and joined: (c, r, r, h, w) and
 * (c, h, r, w, r) become each other. */
static void give_shuffled(fnzi_dec_steps *s, const int64_t *cut, const int64_t *order,
                          const int64_t *joined) {
  enum { CUT = 5, JOINED = 3 };
  fnzi_krn_array *a = GIVEN("self");
  int64_t sizes[FNZ_MAX_RANK], dims[FNZ_MAX_RANK], front = RANK(a) - JOINED;
  if (front + CUT > FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_LIMIT, "input has %lld dimensions; at most %d", (long long)RANK(a),
                    FNZ_MAX_RANK - CUT + JOINED);
  if (s->status != FNZ_OK)
    return;
  for (int64_t d = 0; d < front + CUT; d++) {
    sizes[d] = d < front ? SIZE(a, d) : cut[d - front];
    dims[d] = d < front ? d : front + order[d - front];
  }
  a = fnzi_dec_reshaped(s, a, sizes, (size_t)front + CUT);
  a = STEP(permute, V(a), fnzi_dec_ints(s, dims, (size_t)front + CUT));
  memcpy(sizes + front, joined, JOINED * sizeof *joined);
  GIVE(fnzi_dec_reshaped(s, a, sizes, (size_t)front + JOINED));
}

/* A factor must divide the sizes; its square. */
static int64_t checked_area(fnzi_dec_steps *s, int64_t r, bool finer) {
  const fnzi_krn_array *a = GIVEN("self");
  int64_t area = 0;
  if (RANK(a) < 3)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "input has %lld dimensions; it needs 3 or more",
                    (long long)RANK(a));
  if (r < 1 || !fnzi_mul_i64(r, r, &area) || (finer && SIZE(a, -3) % area) ||
      (!finer && (SIZE(a, -2) % r || SIZE(a, -1) % r)))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "a factor of %lld does not divide the input",
                    (long long)r);
  return s->status == FNZ_OK ? area : 1;
}

DECOMP(pixel_shuffle) {
  const fnzi_krn_array *a = GIVEN("self");
  int64_t r = GIVEN_INT("upscale_factor"), area = checked_area(s, r, true);
  int64_t c = SIZE(a, -3) / area, h = SIZE(a, -2), w = SIZE(a, -1);
  give_shuffled(s, (const int64_t[]){c, r, r, h, w}, (const int64_t[]){0, 3, 1, 4, 2},
                (const int64_t[]){c, SIZE_TIMES(h, r), SIZE_TIMES(w, r)});
}

DECOMP(pixel_unshuffle) {
  const fnzi_krn_array *a = GIVEN("self");
  int64_t r = GIVEN_INT("downscale_factor"), area = checked_area(s, r, false);
  r = s->status == FNZ_OK ? r : 1;
  int64_t c = SIZE(a, -3), h = SIZE(a, -2) / r, w = SIZE(a, -1) / r;
  give_shuffled(s, (const int64_t[]){c, h, r, w, r}, (const int64_t[]){0, 2, 4, 1, 3},
                (const int64_t[]){SIZE_TIMES(c, area), h, w});
}

/* --- Rolled ----------------------------------------------------------------------------------- */
/* Right at all sizes and for all shifts that eager takes, but slower than two halves. */
static fnzi_krn_array *rolled_by_index(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim,
                                       int64_t shift) {
  const int64_t size = SIZE(a, dim);
  fnzi_krn_array *from = STEP(sub__Scalar, V(STEP(arange, I(size), DTYPE(FNZ_I64))), I(shift));
  return STEP(index_select, V(a), I(dim), V(STEP(remainder__Scalar, V(from), I(size))));
}

static fnzi_krn_array *rolled_once(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim,
                                   int64_t shift) {
  const int64_t size = SIZE(a, dim), at = size ? (size - shift % size) % size : 0;
  if (fnzi_dec_is_open(s, "shifts") || fnzi_dec_size_is_open(s, dim))
    return rolled_by_index(s, a, dim, shift);
  if (!at)
    return a;
  fnzi_krn_array *const halves[] = {fnzi_part(s, a, dim, at, size - at),
                                    fnzi_part(s, a, dim, 0, at)};
  return fnzi_dec_cat(s, halves, 2, dim);
}

fnzi_krn_array *fnzi_dec_rolled(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *shifts,
                                const int64_t *dims, size_t count) {
  fnzi_krn_array *self = a;
  for (size_t i = 0; i < count; i++) {
    uint32_t dim = 0;
    if (s->status == FNZ_OK)
      s->status = fnzi_wrap_dim(s->call->ctx, s->call->op->name, dims[i], a->geometry.rank, &dim);
    a = s->status == FNZ_OK ? rolled_once(s, a, dim, shifts[i]) : NULL;
  }
  return a == self ? STEP(clone, V(a), CONTIGUOUS_FORMAT) : a;
}

/* One shift without dimensions is of the elements in row-major order. */
DECOMP(roll) {
  fnzi_krn_array *a = GIVEN("self");
  const int64_t *shifts = NULL, *dims = NULL, first = 0;
  size_t nshifts = 0, ndims = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "shifts", &shifts, &nshifts));
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dims", &dims, &ndims));
  if (!(ndims == 0 && nshifts == 1) && (ndims != nshifts || ndims == 0))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%zu shifts for %zu dims", nshifts, ndims);
  if (s->status != FNZ_OK)
    return;
  if (ndims) {
    GIVE(fnzi_dec_rolled(s, a, shifts, dims, ndims));
    return;
  }
  fnzi_krn_array *flat = RESHAPED(a, fnzi_dec_array_numel(a));
  flat = s->script && s->script->open_dims ? rolled_by_index(s, flat, 0, *shifts)
                                           : fnzi_dec_rolled(s, flat, shifts, &first, 1);
  GIVE(fnzi_dec_reshaped(s, flat, a->geometry.sizes, a->geometry.rank));
}

/* --- Differences ------------------------------------------------------------------------------ */
static size_t add_end(fnzi_dec_steps *s, const char *name, fnzi_krn_array **parts, size_t count) {
  fnzi_krn_array *more = GIVEN(name);
  fnz_dtype dtype = DTYPE_OF(GIVEN("self"));
  if (!more)
    return count;
  if (DTYPE_OF(more) != dtype)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "%s is %s, self is %s; cast one of them", name,
                    fnzi_dtype(DTYPE_OF(more))->name, fnzi_dtype(dtype)->name);
  parts[count] = more;
  return count + 1;
}

DECOMP(diff) {
  fnzi_krn_array *self = GIVEN("self"), *a = self, *parts[3];
  int64_t dim = fnzi_dec_given_dim(s, "dim", a), times = GIVEN_INT("n");
  if (RANK(a) == 0 || times < 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self needs a dimension and n must not be negative");
  size_t count = add_end(s, "prepend", parts, 0);
  parts[count++] = a;
  count = add_end(s, "append", parts, count);
  a = count > 1 && times ? fnzi_dec_cat(s, parts, count, dim) : a;
  for (int64_t i = 0; s->status == FNZ_OK && i < times && SIZE(a, dim) > 0; i++) {
    fnzi_krn_array *low = fnzi_part(s, a, dim, 0, SIZE(a, dim) - 1);
    fnzi_krn_array *high = fnzi_part(s, a, dim, 1, SIZE(a, dim) - 1);
    a = DTYPE_OF(self) == FNZ_BOOL ? STEP(logical_xor, V(high), V(low)) : SUB(high, low);
  }
  GIVE(a == self ? STEP(clone, V(a)) : a);
}
