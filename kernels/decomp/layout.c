/* layout.c - tensors put together and diagonals: hstack, block_diag, kron, diag, pad_sequence and
 * their like. */
#include "kernels/decomp/decomp.h"

static fnzi_krn_array **layout_list_of(fnzi_dec_steps *s, const char *name, size_t *count) {
  *count = fnzi_dec_given_count(s, name);
  fnzi_krn_array **list = fnzi_dec_arrays_room(s, *count);
  for (size_t i = 0; list && i < *count; i++)
    list[i] = fnzi_dec_given_item(s, name, i);
  if (*count == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s is empty; it needs a tensor", name);
  return s->status == FNZ_OK ? list : NULL;
}

/* --- Stacks ------------------------------------------------------------------------------ */
/* At least `rank` dimensions, 1 to 3, as atleast_1d to atleast_3d make them. */
static fnzi_krn_array *layout_at_least(fnzi_dec_steps *s, fnzi_krn_array *a, uint32_t rank) {
  if (fnzi_dec_array_rank(a) >= rank || !a)
    return a;
  if (fnzi_dec_array_rank(a) == 0)
    return fnzi_dec_reshaped(s, a, (const int64_t[]){1, 1, 1}, rank);
  if (fnzi_dec_array_rank(a) == 1)
    a = STEP(unsqueeze, V(a), I(0));
  return rank == 3 ? STEP(unsqueeze, V(a), I(-1)) : a;
}

static void stacked(fnzi_dec_steps *s, uint32_t rank, int64_t dim) {
  size_t count;
  fnzi_krn_array **list = layout_list_of(s, "tensors", &count);
  for (size_t i = 0; list && i < count; i++)
    list[i] = layout_at_least(s, list[i], rank);
  if (list && rank == 1)
    dim = fnzi_dec_array_rank(list[0]) == 1 ? 0 : 1;
  fnzi_dec_result_give(s, list ? fnzi_dec_cat(s, list, count, dim) : NULL);
}

DECOMP(hstack) {
  stacked(s, 1, 1);
}
DECOMP(vstack) {
  stacked(s, 2, 0);
}
DECOMP(dstack) {
  stacked(s, 3, 2);
}

DECOMP(column_stack) {
  size_t count;
  fnzi_krn_array **list = layout_list_of(s, "tensors", &count);
  for (size_t i = 0; list && i < count; i++)
    if (fnzi_dec_array_rank(list[i]) < 2)
      list[i] = RESHAPED(list[i], fnzi_dec_array_numel(list[i]), 1);
  fnzi_dec_result_give(s, list ? fnzi_dec_cat(s, list, count, 1) : NULL);
}

static fnzi_krn_array *padded(fnzi_dec_steps *s, fnzi_krn_array *a, const int64_t *pad,
                              size_t count, double value) {
  return STEP(constant_pad_nd, V(a), fnzi_dec_ints(s, pad, count), F(value));
}

DECOMP(block_diag) {
  size_t count;
  fnzi_krn_array **list = layout_list_of(s, "tensors", &count);
  fnz_dtype dtype = list ? fnzi_dec_array_dtype(list[0]) : FNZ_F32;
  int64_t before = 0, columns = 0;
  for (size_t i = 0; list && i < count; i++) {
    if (fnzi_dec_array_rank(list[i]) > 2)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "tensor %zu has %u dimensions; at most 2", i,
                      fnzi_dec_array_rank(list[i]));
    dtype = fnzi_promote(dtype, fnzi_dec_array_dtype(list[i]));
    list[i] = layout_at_least(s, list[i], 2);
    columns += fnzi_dec_array_size(list[i], 1);
  }
  for (size_t i = 0; list && i < count; i++) {
    int64_t width = fnzi_dec_array_size(list[i], 1);
    const int64_t pad[] = {before, columns - before - width};
    list[i] = padded(s, fnzi_dec_cast(s, list[i], dtype), pad, 2, 0);
    before += width;
  }
  fnzi_dec_result_give(s, list ? fnzi_dec_cat(s, list, count, 0) : NULL);
}

DECOMP(pad_sequence) {
  size_t count;
  int64_t longest = 0, pad[2 * FNZ_MAX_RANK] = {0};
  fnzi_krn_array **list = layout_list_of(s, "sequences", &count);
  const char *side = fnzi_krn_named_string(s->call, "padding_side");
  bool left = strcmp(side, "left") == 0;
  double value = fnzi_krn_named_float(s->call, "padding_value", 0);
  if (side[0] && !left && strcmp(side, "right") != 0)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "padding_side is \"%s\"; give left or right", side);
  for (size_t i = 0; list && i < count; i++)
    longest = fnzi_dec_array_size(list[i], 0) > longest ? fnzi_dec_array_size(list[i], 0) : longest;
  for (size_t i = 0; list && i < count; i++) {
    uint32_t rank = fnzi_dec_array_rank(list[i]);
    if (rank == 0 || rank != fnzi_dec_array_rank(list[0]))
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "sequence %zu has %u dimensions; all need the same", i,
                      rank);
    if (s->status != FNZ_OK)
      return;
    pad[2 * rank - (left ? 2 : 1)] = longest - fnzi_dec_array_size(list[i], 0);
    list[i] =
        padded(s, fnzi_dec_cast(s, list[i], fnzi_dec_array_dtype(list[0])), pad, 2 * rank, value);
  }
  bool batch_first = fnzi_krn_named_bool(s->call, "batch_first", false);
  fnzi_dec_result_give(
      s, list ? STEP(stack, fnzi_dec_values(s, list, count), I(batch_first ? 0 : 1)) : NULL);
}

/* --- Products ---------------------------------------------------------------------------- */
DECOMP(kron) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self"), *b = fnzi_dec_given_array(s, "other");
  uint32_t rank = fnzi_dec_array_rank(a) > fnzi_dec_array_rank(b) ? fnzi_dec_array_rank(a)
                                                                  : fnzi_dec_array_rank(b);
  int64_t sizes_a[2 * FNZ_MAX_RANK], sizes_b[2 * FNZ_MAX_RANK], sizes[FNZ_MAX_RANK];
  if (2 * rank > FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_LIMIT, "self or other has %u dimensions; at most %d", rank,
                    FNZ_MAX_RANK / 2);
  if (s->status != FNZ_OK)
    return;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t from_a = (int64_t)d - rank + fnzi_dec_array_rank(a),
            from_b = (int64_t)d - rank + fnzi_dec_array_rank(b);
    sizes_a[2 * d] = from_a < 0 ? 1 : fnzi_dec_array_size(a, from_a);
    sizes_b[2 * d + 1] = from_b < 0 ? 1 : fnzi_dec_array_size(b, from_b);
    sizes_a[2 * d + 1] = sizes_b[2 * d] = 1;
    if (!fnzi_mul_i64(sizes_a[2 * d], sizes_b[2 * d + 1], &sizes[d])) {
      fnzi_dec_refuse(s, FNZ_CLASS_OVERFLOW,
                      "%lld times %lld in dimension %u is no size below 2^63",
                      (long long)sizes_a[2 * d], (long long)sizes_b[2 * d + 1], d);
      return;
    }
  }
  a = STEP(view, V(a), fnzi_dec_ints(s, sizes_a, (size_t)2 * rank));
  b = STEP(view, V(b), fnzi_dec_ints(s, sizes_b, (size_t)2 * rank));
  fnzi_dec_result_give(s, STEP(view, V(MUL(a, b)), fnzi_dec_ints(s, sizes, rank)));
}

DECOMP(inner) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self"), *b = fnzi_dec_given_array(s, "other");
  bool number = fnzi_dec_array_rank(a) == 0 || fnzi_dec_array_rank(b) == 0;
  fnzi_dec_result_give(s, number ? MUL(a, b) : STEP(tensordot, V(a), V(b), INTS(-1), INTS(-1)));
}

/* One after the other, from the left. */
DECOMP(chain_matmul) {
  size_t count;
  fnzi_krn_array **list = layout_list_of(s, "matrices", &count);
  fnzi_krn_array *product = list ? list[0] : NULL;
  for (size_t i = 1; list && i < count; i++)
    product = STEP(mm, V(product), V(list[i]));
  fnzi_dec_result_give(s, product);
}

/* --- Diagonals --------------------------------------------------------------------------- */
static fnzi_krn_array *embedded(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t offset, int64_t dim1,
                                int64_t dim2) {
  int64_t sizes[FNZ_MAX_RANK + 1], rank = (int64_t)fnzi_dec_array_rank(a) + 1, at = 0;
  int64_t side;
  if (offset == INT64_MIN ||
      !fnzi_add_i64(fnzi_dec_array_size(a, -1), offset < 0 ? -offset : offset, &side)) {
    fnzi_dec_refuse(s, FNZ_CLASS_OVERFLOW, "a diagonal of %lld at offset %lld fits into no matrix",
                    (long long)fnzi_dec_array_size(a, -1), (long long)offset);
    return NULL;
  }
  dim1 += dim1 < 0 ? rank : 0, dim2 += dim2 < 0 ? rank : 0;
  if (rank < 2 || dim1 < 0 || dim2 < 0 || dim1 >= rank || dim2 >= rank || dim1 == dim2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dimensions %lld and %lld of %lld cannot hold a diagonal",
                    (long long)dim1, (long long)dim2, (long long)rank);
  if (s->status != FNZ_OK)
    return NULL;
  for (int64_t d = 0; d < rank; d++)
    sizes[d] = d == dim1 || d == dim2 ? side : fnzi_dec_array_size(a, at++);
  fnzi_krn_array *zeros = STEP(new_zeros, V(a), fnzi_dec_ints(s, sizes, (size_t)rank));
  return STEP(diagonal_scatter, V(zeros), V(a), I(offset), I(dim1), I(dim2));
}

DECOMP(diag_embed) {
  fnzi_dec_result_give(s, embedded(s, fnzi_dec_given_array(s, "self"),
                                   fnzi_krn_named_int(s->call, "offset", 0),
                                   fnzi_krn_named_int(s->call, "dim1", -2),
                                   fnzi_krn_named_int(s->call, "dim2", -1)));
}

DECOMP(diag) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  int64_t offset = fnzi_krn_named_int(s->call, "diagonal", 0);
  if (fnzi_dec_array_rank(a) != 1 && fnzi_dec_array_rank(a) != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %u dimensions; it needs 1 or 2",
                    fnzi_dec_array_rank(a));
  fnzi_dec_result_give(s, fnzi_dec_array_rank(a) == 1 ? embedded(s, a, offset, 0, 1)
                                                      : STEP(diagonal_copy, V(a), I(offset)));
}

DECOMP(diagflat) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  fnzi_dec_result_give(s, embedded(s, RESHAPED(a, fnzi_dec_array_numel(a)),
                                   fnzi_krn_named_int(s->call, "offset", 0), 0, 1));
}

/* --- Sums to sizes ----------------------------------------------------------------------- */
DECOMP(sum_to_size) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  const int64_t *size = NULL;
  int64_t dims[FNZ_MAX_RANK];
  size_t rank = 0, count = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "size", &size, &rank));
  size_t ahead = fnzi_dec_array_rank(a) >= rank ? fnzi_dec_array_rank(a) - rank : 0;
  bool fits = fnzi_dec_array_rank(a) >= rank;
  for (size_t d = 0; s->status == FNZ_OK && d < fnzi_dec_array_rank(a); d++) {
    int64_t have = fnzi_dec_array_size(a, (int64_t)d), want = d < ahead ? 1 : size[d - ahead];
    fits = fits && (d < ahead || want == have || want == 1);
    if (d < ahead || (want == 1 && have != 1))
      dims[count++] = (int64_t)d;
  }
  if (!fits)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "size has %zu numbers, self %u dimensions; counted from the end, each must be 1 or "
        "self's",
        rank, fnzi_dec_array_rank(a));
  if (count || !rank) /* to no dimensions it is a sum of what there is, which of integers is i64 */
    a = STEP(sum__dim_IntList, V(a), fnzi_dec_ints(s, dims, count), B(true));
  fnzi_dec_result_give(s, s->status == FNZ_OK ? fnzi_dec_reshaped(s, a, size, rank) : NULL);
}

/* --- Flips ------------------------------------------------------------------------------- */
DECOMP(fliplr) {
  fnzi_dec_result_give(s, STEP(flip, V(fnzi_dec_given_array(s, "self")), INTS(1)));
}
DECOMP(flipud) {
  fnzi_dec_result_give(s, STEP(flip, V(fnzi_dec_given_array(s, "self")), INTS(0)));
}

/* Rolls half of each named dimension, of odd ones the smaller or the `larger` half, to the front.
 */
static void give_shifted(fnzi_dec_steps *s, bool larger) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self");
  const int64_t *named = NULL;
  int64_t dims[FNZ_MAX_RANK], shifts[FNZ_MAX_RANK];
  size_t count = 0;
  if (fnzi_krn_named(s->call, "dim")->tag == FNZ_ARG_LIST)
    fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dim", &named, &count));
  count = named ? count : fnzi_dec_array_rank(self);
  if (count > FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_LIMIT, "dim has %zu numbers; it takes at most %d", count,
                    FNZ_MAX_RANK);
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++) {
    dims[i] = named ? named[i] : (int64_t)i;
    shifts[i] = (fnzi_dec_array_size(self, dims[i]) + larger) / 2;
  }
  if (s->status != FNZ_OK)
    return;
  GIVE(fnzi_dec_rolled(s, self, shifts, dims, count));
}

DECOMP(fft_shift) {
  give_shifted(s, false);
}
DECOMP(fft_unshift) {
  give_shifted(s, true);
}

/* --- Complex numbers --------------------------------------------------------------------- */
DECOMP(polar) {
  fnzi_krn_array *size = fnzi_dec_given_array(s, "abs"), *angle = fnzi_dec_given_array(s, "angle");
  if (fnzi_dec_array_dtype(size) != fnzi_dec_array_dtype(angle))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "abs is %s, angle %s; both must be the same",
                    fnzi_dtype(fnzi_dec_array_dtype(size))->name,
                    fnzi_dtype(fnzi_dec_array_dtype(angle))->name);
  if (!fnzi_is_float(fnzi_dec_array_dtype(size)) || fnzi_dec_array_dtype(size) == FNZ_BF16)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "abs is %s; it must be f16, f32 or f64",
                    fnzi_dtype(fnzi_dec_array_dtype(size))->name);
  GIVE(STEP(complex, V(MUL(size, STEP(cos, V(angle)))), V(MUL(size, STEP(sin, V(angle))))));
}

/* Every choice of one element of each vector, the last one changing first. */
DECOMP(cartesian_prod) {
  size_t count = fnzi_dec_given_count(s, "tensors");
  fnzi_krn_array **columns = fnzi_dec_arrays_room(s, count),
                 *first = fnzi_dec_given_item(s, "tensors", 0);
  int64_t sizes[FNZ_MAX_RANK] = {0};
  if (count == 0 || count > FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "tensors has %zu items; it needs 1 to %d", count,
                    FNZ_MAX_RANK);
  for (size_t i = 0; s->status == FNZ_OK && i < count; i++) {
    columns[i] = fnzi_dec_given_item(s, "tensors", i);
    sizes[i] = fnzi_dec_array_numel(columns[i]);
    if (fnzi_dec_array_rank(columns[i]) != 1 ||
        fnzi_dec_array_dtype(columns[i]) != fnzi_dec_array_dtype(first))
      fnzi_dec_refuse(
          s, FNZ_CLASS_TYPE, "tensor %zu has %u dimensions of %s; all need 1, of one type", i,
          fnzi_dec_array_rank(columns[i]), fnzi_dtype(fnzi_dec_array_dtype(columns[i]))->name);
  }
  if (count == 1)
    fnzi_dec_result_give(s, STEP(clone, V(first)));
  if (s->status != FNZ_OK || count == 1)
    return;
  for (size_t i = 0; i < count; i++)
    columns[i] = STEP(expand, V(fnzi_dec_along(s, columns[i], (int64_t)i, count)),
                      fnzi_dec_ints(s, sizes, count));
  fnzi_krn_array *all = STEP(stack, fnzi_dec_values(s, columns, count), I(-1));
  fnzi_dec_result_give(
      s, all ? RESHAPED(all, fnzi_dec_array_numel(all) / (int64_t)count, (int64_t)count) : NULL);
}
