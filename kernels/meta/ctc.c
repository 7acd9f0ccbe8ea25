/* ctc.c - shape rules of the losses of aligned sequences. */
#include "kernels/meta/ctc.h"

/* --- Arguments --------------------------------------------------------------------------- */
static fnz_status given_lengths(fnzi_krn_call *call, const char *name, int64_t want,
                                const int64_t **out) {
  const fnzi_krn_array *a = fnzi_krn_named_array(call, name);
  const void *data = NULL;
  size_t count;
  *out = NULL;
  if (!a)
    FNZ_TRY(fnzi_krn_named_ints(call, name, out, &count));
  else if (!fnzi_is_integer(a->geometry.dtype) || a->geometry.rank > 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "%s is %s of %u dimensions; it must be integers of 1", name,
                                fnzi_dtype(a->geometry.dtype)->name, a->geometry.rank);
  else
    count = (size_t)fnzi_krn_array_numel(a);
  if ((int64_t)count != want)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s has %zu elements for %lld sequences",
                                name, count, (long long)want);
  if (a && call->has_data) {
    FNZ_TRY(fnzi_krn_dense_get_as(call, a, FNZ_I64, &data));
    *out = data;
  }
  return FNZ_OK;
}

static fnz_status check_lengths(const fnzi_krn_call *call, const char *name, const int64_t *lengths,
                                int64_t count, int64_t most) {
  for (int64_t i = 0; lengths && i < count; i++)
    if (lengths[i] < 0 || lengths[i] > most)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "%s[%lld] is %lld; it must be from 0 to %lld", name, (long long)i,
                                  (long long)lengths[i], (long long)most);
  return FNZ_OK;
}

/* Targets are rows, or stand one after the other. */
static fnz_status check_targets(fnzi_krn_call *call, const fnz_geometry *targets, bool casts,
                                fnzi_meta_ctc *a) {
  int64_t sum = 0;
  bool rows = targets->rank == 2;
  int64_t width = targets->rank ? targets->sizes[targets->rank - 1] : 0;
  if ((!casts && !fnzi_is_integer(targets->dtype)) || targets->rank < 1 || targets->rank > 2 ||
      (targets->rank == 2 && targets->sizes[0] != a->batch))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "targets must be integers, in one dimension or in %lld rows",
                                (long long)a->batch);
  a->target_step = rows ? width : 0;
  FNZ_TRY(check_lengths(call, "target_lengths", a->target_lengths, a->batch, width));
  for (int64_t i = 0; a->target_lengths && i < a->batch; i++) {
    int64_t length = a->target_lengths[i];
    a->longest = length > a->longest ? length : a->longest;
    if (length > INT64_MAX - sum)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW,
                                  "target_lengths add up to more than 63 bits say");
    sum += length;
  }
  if (!rows && a->target_lengths && sum != width)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "targets has %lld elements; target_lengths say %lld",
                                (long long)width, (long long)sum);
  return FNZ_OK;
}

fnz_status fnzi_meta_ctc_read(fnzi_krn_call *call, bool whole, fnzi_meta_ctc *a) {
  const fnz_geometry *x = &fnzi_krn_named_array(call, "log_probs")->geometry,
                     *targets = &fnzi_krn_named_array(call, "targets")->geometry;
  *a = (fnzi_meta_ctc){.single = whole && x->rank == 2,
                       .blank = fnzi_krn_named_int(call, "blank", 0)};
  if (x->dtype != FNZ_F32 && x->dtype != FNZ_F64)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "log_probs is %s; it must be f32 or f64",
                                fnzi_dtype(x->dtype)->name);
  if (x->rank != 3 && !a->single)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "log_probs has %u dimensions; it needs 3",
                                x->rank);
  a->steps = x->sizes[0];
  a->batch = a->single ? 1 : x->sizes[1];
  a->labels = x->sizes[x->rank - 1];
  if (!fnz_geometry_numel(x))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "log_probs has no elements");
  if (a->blank < 0 || a->blank >= a->labels)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "blank is %lld; there are %lld labels",
                                (long long)a->blank, (long long)a->labels);
  FNZ_TRY(given_lengths(call, "input_lengths", a->batch, &a->input_lengths));
  FNZ_TRY(given_lengths(call, "target_lengths", a->batch, &a->target_lengths));
  FNZ_TRY(check_lengths(call, "input_lengths", a->input_lengths, a->batch, a->steps));
  return check_targets(call, targets, whole, a);
}

/* --- Shapes ------------------------------------------------------------------------------ */
fnz_status fnzi_shape_ctc_loss(fnzi_krn_call *call) {
  fnzi_meta_ctc a;
  FNZ_TRY(fnzi_meta_ctc_read(call, true, &a));
  bool kept = fnzi_krn_named_int(call, "reduction", FNZI_CTC_MEAN) == FNZI_CTC_KEPT && !a.single;
  return fnzi_shape_add(call, fnzi_krn_call_geometry(call, 0)->dtype, kept, &a.batch, NULL);
}

fnz_status fnzi_shape_ctc_losses(fnzi_krn_call *call) {
  fnzi_meta_ctc a;
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  FNZ_TRY(fnzi_meta_ctc_read(call, false, &a));
  if (!a.target_lengths)
    return fnzi_krn_size_refuse(call);
  FNZ_TRY(fnzi_shape_add(call, dtype, 1, &a.batch, NULL));
  return fnzi_shape_add(call, dtype, 3, (const int64_t[]){a.batch, a.steps, 2 * a.longest + 1},
                        NULL);
}

static fnz_status check_kept(const fnzi_krn_call *call, const char *name, const fnz_geometry *x,
                             uint32_t rank, const int64_t *least) {
  const fnz_geometry *g = &fnzi_krn_named_array(call, name)->geometry;
  bool fits = g->dtype == x->dtype && g->rank == rank;
  for (uint32_t d = 0; fits && d < rank; d++)
    fits = d == 2 ? g->sizes[d] >= least[d] : g->sizes[d] == least[d];
  if (fits)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s must be of log_probs' type, and %s", name,
                              rank == 1 ? "have one element for each sequence"
                                        : "have the states of each step of each sequence");
}

/* The gradient of the logarithms, row-major. */
fnz_status fnzi_shape_ctc_backward(fnzi_krn_call *call) {
  const fnz_geometry *x = &fnzi_krn_named_array(call, "log_probs")->geometry;
  fnzi_meta_ctc a;
  FNZ_TRY(fnzi_meta_ctc_read(call, false, &a));
  const int64_t kept[] = {a.batch, a.steps, 2 * a.longest + 1};
  FNZ_TRY(check_kept(call, "grad", x, 1, kept));
  FNZ_TRY(check_kept(call, "neg_log_likelihood", x, 1, kept));
  FNZ_TRY(check_kept(call, "log_alpha", x, 3, kept));
  return fnzi_shape_add(call, x->dtype, 3, x->sizes, NULL);
}
