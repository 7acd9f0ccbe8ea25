/* sequences.c - batches of sequences of several lengths: packed step by step, and padded again.
 * Then only data have the number of elements. */
#include "kernels/decomp/decomp.h"

/* A vector of counts as numbers; NULL without data. */
static const int64_t *counts(fnzi_dec_steps *s, const fnzi_krn_array *a, const char *name) {
  const void *data = NULL;
  if (a && (fnzi_dec_array_dtype(a) != FNZ_I64 || fnzi_dec_array_rank(a) != 1))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s of %u dimensions; it must be i64 of one", name,
                    fnzi_dtype(fnzi_dec_array_dtype(a))->name, fnzi_dec_array_rank(a));
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get(s->call, a, &data);
  return s->status == FNZ_OK ? data : NULL;
}

static void need_falling(fnzi_dec_steps *s, const int64_t *values, int64_t count,
                         const char *name) {
  for (int64_t i = 0; values && i < count; i++)
    if (values[i] < 1 || (i > 0 && values[i] > values[i - 1]))
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s[%lld] is %lld; they must be positive and not rise",
                      name, (long long)i, (long long)values[i]);
}

/* Is column c of row r there? The first counts[r] columns are, or, by columns, the first counts[c]
 * rows. */
static fnzi_krn_array *present(fnzi_dec_steps *s, fnzi_krn_array *counts, bool by_column,
                               int64_t others) {
  fnzi_krn_array *places = STEP(arange, I(others), DTYPE(FNZ_I64));
  return STEP(gt__Tensor, V(STEP(unsqueeze, V(counts), I(!by_column))),
              V(STEP(unsqueeze, V(places), I(by_column))));
}

/* Rows of a flat batch that are there. */
static fnzi_krn_array *places(fnzi_dec_steps *s, fnzi_krn_array *mask) {
  fnzi_krn_array *found = STEP(nonzero, V(RESHAPED(mask, fnzi_dec_array_numel(mask))));
  return RESHAPED(found, fnzi_dec_array_numel(found));
}

/* The first two dimensions as one. */
static fnzi_krn_array *flat(fnzi_dec_steps *s, fnzi_krn_array *a) {
  int64_t sizes[FNZ_MAX_RANK];
  if (!a)
    return NULL;
  sizes[0] = fnzi_dec_array_size(a, 0) * fnzi_dec_array_size(a, 1);
  for (uint32_t d = 2; d < fnzi_dec_array_rank(a); d++)
    sizes[d - 1] = fnzi_dec_array_size(a, d);
  return fnzi_dec_reshaped(s, a, sizes, fnzi_dec_array_rank(a) - 1);
}

DECOMP(pack_padded) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "input"),
                 *lengths = fnzi_dec_given_array(s, "lengths");
  if (fnzi_dec_array_rank(x) < 2 || fnzi_dec_array_numel(x) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "input has %u dimensions and %lld elements; it needs at least 2 "
                    "and some",
                    fnzi_dec_array_rank(x), (long long)fnzi_dec_array_numel(x));
  if (fnzi_krn_named_bool(s->call, "batch_first", false))
    x = STEP(transpose__int, V(x), I(0), I(1));
  const int64_t *each = counts(s, lengths, "lengths");
  if (fnzi_dec_array_numel(lengths) != fnzi_dec_array_size(x, 1))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "lengths has %lld elements for %lld sequences",
                    (long long)fnzi_dec_array_numel(lengths), (long long)fnzi_dec_array_size(x, 1));
  if (s->status == FNZ_OK && !each)
    s->status = fnzi_krn_size_refuse(s->call);
  need_falling(s, each, fnzi_dec_array_numel(lengths), "lengths");
  if (s->status == FNZ_OK && each && each[0] > fnzi_dec_array_size(x, 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "lengths[0] is %lld; sequences have %lld steps",
                    (long long)each[0], (long long)fnzi_dec_array_size(x, 0));
  if (s->status != FNZ_OK || !each)
    return;
  fnzi_krn_array *mask = present(s, lengths, true, each[0]);
  x = flat(s, fnzi_part(s, x, 0, 0, each[0]));
  fnzi_dec_result_give(s, STEP(index_select, V(x), I(0), V(places(s, mask))));
  fnzi_dec_result_give(s, STEP(sum__dim_IntList, V(mask), INTS(1)));
}

DECOMP(pad_packed) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "data"),
                 *sizes = fnzi_dec_given_array(s, "batch_sizes");
  int64_t total = fnzi_krn_named_int(s->call, "total_length", 0),
          steps = fnzi_dec_array_numel(sizes), sum = 0;
  const int64_t *each = counts(s, sizes, "batch_sizes");
  int64_t out_sizes[FNZ_MAX_RANK + 1];
  if (steps == 0 || fnzi_dec_array_rank(x) == 0 || fnzi_dec_array_rank(x) >= FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "data has %u dimensions, batch_sizes %lld elements; both need 1",
                    fnzi_dec_array_rank(x), (long long)steps);
  if (total > 0 && total < steps)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "total_length is %lld; there are %lld steps",
                    (long long)total, (long long)steps);
  if (s->status == FNZ_OK && !each)
    s->status = fnzi_krn_size_refuse(s->call);
  need_falling(s, each, steps, "batch_sizes");
  for (int64_t i = 0; s->status == FNZ_OK && each && i < steps; i++) {
    if (each[i] > fnzi_dec_array_size(x, 0) - sum)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "batch_sizes say more rows than the %lld of data",
                      (long long)fnzi_dec_array_size(x, 0));
    sum += each[i];
  }
  if (s->status != FNZ_OK || !each)
    return;
  out_sizes[0] = total > 0 ? total : steps;
  out_sizes[1] = each[0];
  for (uint32_t d = 1; d < fnzi_dec_array_rank(x); d++)
    out_sizes[d + 1] = fnzi_dec_array_size(x, d);
  fnzi_krn_array *mask = present(s, sizes, false, each[0]);
  fnzi_krn_array *out =
      STEP(full, fnzi_dec_ints(s, out_sizes, fnzi_dec_array_rank(x) + 1),
           *fnzi_krn_named(s->call, "padding_value"), DTYPE(fnzi_dec_array_dtype(x)));
  out = STEP(index_copy, V(flat(s, out)), I(0), V(places(s, mask)), V(fnzi_part(s, x, 0, 0, sum)));
  out = fnzi_dec_reshaped(s, out, out_sizes, fnzi_dec_array_rank(x) + 1);
  if (fnzi_krn_named_bool(s->call, "batch_first", false))
    out = STEP(transpose__int, V(out), I(0), I(1));
  fnzi_dec_result_give(s, out);
  fnzi_dec_result_give(s, STEP(sum__dim_IntList, V(mask), INTS(0)));
}
