/* order.c - what stands at one place of a sorted row: medians, the k-th value, the mode.
 *
 * Where equal elements qualify, the place given is that of the first one; of the last for mode. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/sort.h"

#include <math.h>

/* Which of `count` sorted pairs; NaN stand last. `k` is kthvalue's. */
typedef int64_t pick_fn(const fnzi_cpu_pair *sorted, int64_t count, bool is_real, int64_t k);

static int64_t numbers_among(const fnzi_cpu_pair *sorted, int64_t count, bool is_real) {
  while (is_real && count && sorted[count - 1].key == INT64_MAX)
    count--;
  return count;
}

/* A NaN is the median of all that hold it. */
static int64_t pick_median(const fnzi_cpu_pair *sorted, int64_t count, bool is_real, int64_t k) {
  int64_t numbers = numbers_among(sorted, count, is_real);
  (void)k;
  return numbers < count ? numbers : (count - 1) / 2;
}

static int64_t pick_nanmedian(const fnzi_cpu_pair *sorted, int64_t count, bool is_real, int64_t k) {
  int64_t numbers = numbers_among(sorted, count, is_real);
  (void)k;
  return numbers ? (numbers - 1) / 2 : 0;
}

static int64_t pick_kth(const fnzi_cpu_pair *sorted, int64_t count, bool is_real, int64_t k) {
  (void)sorted, (void)count, (void)is_real;
  return k - 1;
}

/* The least of the most frequent; each NaN is alone. */
static int64_t pick_mode(const fnzi_cpu_pair *sorted, int64_t count, bool is_real, int64_t k) {
  int64_t best = 0, most = 0, run = 0;
  (void)k;
  for (int64_t i = 0; i < count; i++) {
    bool is_nan = is_real && sorted[i].key == INT64_MAX;
    run++;
    if (i + 1 < count && !is_nan && sorted[i + 1].key == sorted[i].key)
      continue;
    if (run > most)
      best = i, most = run;
    run = 0;
  }
  return best;
}

static void fill_pairs(const fnzi_cpu_rows *r, int64_t row, fnzi_cpu_pair *pairs) {
  const double *real = r->data;
  const int64_t *whole = r->data;
  for (int64_t i = 0; i < r->length; i++) {
    int64_t at = row * r->length + i;
    pairs[i] = (fnzi_cpu_pair){r->dtype == FNZ_F64 ? fnzi_cpu_real_key(real[at]) : whole[at], i};
  }
}

/* The median of all elements is a number, whose NaN has no payload. */
static fnz_status forget_payload(fnzi_krn_call *call) {
  const fnzi_krn_array *out = call->outputs[0];
  double value = 0;
  if (!fnzi_is_float(out->place.dtype))
    return FNZ_OK;
  fnzi_krn_convert(FNZ_F64, &value, 0, out->place.dtype, fnzi_krn_array_data(out), 0, 1);
  if (!isnan(value))
    return FNZ_OK;
  return fnzi_krn_array_fill(call, out, &(fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = NAN});
}

static fnz_status pick_rows(fnzi_krn_call *call, pick_fn *pick) {
  bool reduced[FNZ_MAX_RANK], is_real = fnzi_is_float(call->outputs[0]->place.dtype);
  fnz_dtype wide = is_real ? FNZ_F64 : FNZ_I64;
  int64_t k = fnzi_krn_named_int(call, "k", 1);
  int64_t *kept = NULL;
  void *places = NULL;
  fnzi_cpu_pair *room;
  fnzi_cpu_rows r;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, wide, &r));
  if (!r.length) /* the median of nothing */
    return fnzi_krn_array_fill(call, call->outputs[0],
                               &(fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = NAN});
  if (call->noutputs > 1)
    FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &places));
  else
    FNZI_NEW(&call->scratch, (size_t)r.count, &kept);
  FNZI_NEW(&call->scratch, 2 * (size_t)r.length, &room);
  for (int64_t i = 0; i < r.count; i++) {
    fill_pairs(&r, i, room);
    const fnzi_cpu_pair *sorted = fnzi_cpu_sort_pairs(room, r.length);
    (places ? (int64_t *)places : kept)[i] = sorted[pick(sorted, r.length, is_real, k)].place;
  }
  FNZ_TRY(fnzi_cpu_rows_pick(call, reduced, places ? places : kept));
  return places ? FNZ_OK : forget_payload(call);
}

fnz_status fnzi_kernel_median(fnzi_krn_call *call) {
  return pick_rows(call, pick_median);
}

fnz_status fnzi_kernel_nanmedian(fnzi_krn_call *call) {
  return pick_rows(call, pick_nanmedian);
}

fnz_status fnzi_kernel_kthvalue(fnzi_krn_call *call) {
  return pick_rows(call, pick_kth);
}

fnz_status fnzi_kernel_mode(fnzi_krn_call *call) {
  return pick_rows(call, pick_mode);
}
