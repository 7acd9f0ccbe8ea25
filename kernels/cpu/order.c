/* order.c - the element at one index of a sorted row: medians, the k-th value, the mode.
 *
 * Among equal elements the same one is chosen as by eager's algorithms (select_values.h): the first
 * for medians along a dimension, for mode the last one of a sort that is not stable. */
#include "kernels/core/sort_recorded.h"
#include "kernels/cpu/sort.h"

#include <math.h>

#define VALUE  static inline
#define SORTED const fnzi_cpu_pair *
static int64_t sorted_key(SORTED s, int64_t i) {
  return s[i].key;
}
#include "kernels/core/sort_values.h"
#include "kernels/cpu/order_values.h"
#undef VALUE

static int64_t key_of(const fnzi_cpu_rows *r, int64_t row, int64_t i) {
  const double *real = r->data;
  const int64_t *whole = r->data, at = row * r->length + i;
  return r->dtype == FNZ_F64 ? sort_real_key(real[at]) : whole[at];
}

/* Keys for which `is_less` holds come first, without branches; returns how many they are. */
#define PART_KEYS(name, is_less)                                                                   \
  static int64_t name(int64_t *keys, int64_t count, int64_t at) {                                  \
    int64_t kept = 0;                                                                              \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const int64_t key = keys[i];                                                                 \
      keys[i] = keys[kept];                                                                        \
      keys[kept] = key;                                                                            \
      kept += (is_less);                                                                           \
    }                                                                                              \
    return kept;                                                                                   \
  }
PART_KEYS(part_less, key < at)
PART_KEYS(part_equal, key == at)

/* Finds the n-th of few keys: they are parted at one of them, again and again. False if they were
 * parted badly; then fewer may be left. */
static bool nth_of_few(int64_t **keys, int64_t *count, int64_t *nth, int64_t *found) {
  for (int round = 0; round < 16; round++) {
    int64_t a = (*keys)[0], b = (*keys)[*count / 2], c = (*keys)[*count - 1];
    int64_t low = a < b ? a : b, high = a < b ? b : a, at = c < low ? low : c < high ? c : high;
    int64_t less = part_less(*keys, *count, at);
    if (*nth < less) {
      *count = less;
      continue;
    }
    int64_t upto = less + part_equal(*keys + less, *count - less, at);
    *found = at;
    if (*nth < upto) {
      *nth -= less;
      return true;
    }
    *keys += upto, *count -= upto, *nth -= upto;
  }
  return false;
}

/* The n-th key in order; *nth becomes how many equal ones are before it. Changes `keys`: keys of
 * its digit stay, until all are equal or few. */
static int64_t nth_key(int64_t *keys, int64_t count, int64_t *nth) {
  enum { BITS = 8, VALUES = 1 << BITS, FEW = 1 << 12 };
  int64_t found;
  for (;;) {
    if (count <= FEW && nth_of_few(&keys, &count, nth, &found))
      return found;
    int64_t least = keys[0], greatest = keys[0], counts[VALUES] = {0}, kept = 0;
    int shift = 0, digit = 0;
    for (int64_t i = 1; i < count; i++) {
      least = keys[i] < least ? keys[i] : least;
      greatest = keys[i] > greatest ? keys[i] : greatest;
    }
    if (least == greatest)
      return least;
    while (((uint64_t)greatest - (uint64_t)least) >> shift >= VALUES)
      shift++;
    for (int64_t i = 0; i < count; i++)
      counts[((uint64_t)keys[i] - (uint64_t)least) >> shift]++;
    for (; *nth >= counts[digit]; digit++)
      *nth -= counts[digit];
    for (int64_t i = 0; i < count; i++) {
      keys[kept] = keys[i];
      kept += ((uint64_t)keys[i] - (uint64_t)least) >> shift == (uint64_t)digit;
    }
    count = kept;
  }
}

static void order_fill_pairs(const fnzi_cpu_rows *r, int64_t row, fnzi_cpu_pair *pairs) {
  for (int64_t i = 0; i < r->length; i++)
    pairs[i] = (fnzi_cpu_pair){key_of(r, row, i), i};
}

/* Zeros of both signs have one key, and eager's steps choose between them if it asks for no place.
 */
static int64_t median_of(const fnzi_cpu_rows *r, int64_t row, fnzi_cpu_pair *pairs, int64_t kind,
                         bool is_stable) {
  int64_t *keys = (int64_t *)(void *)pairs, numbers = r->length;
  if (r->dtype != FNZ_F64)
    memcpy(keys, (const int64_t *)r->data + row * r->length, (size_t)r->length * sizeof *keys);
  for (int64_t i = 0; r->dtype == FNZ_F64 && i < r->length; i++) {
    keys[i] = sort_real_key(((const double *)r->data)[row * r->length + i]);
    numbers -= keys[i] == INT64_MAX;
  }
  int64_t nth = median_place(kind, numbers, r->length), before = nth;
  int64_t key = nth_key(keys, r->length, &before);
  if (is_stable || r->dtype != FNZ_F64 || key != 0) {
    int64_t i = 0;
    for (; key_of(r, row, i) != key || before; i++)
      before -= key_of(r, row, i) == key;
    return i;
  }
  order_fill_pairs(r, row, pairs);
  fnzi_cpu_select_nth(pairs, r->length, nth);
  return pairs[nth].place;
}

/* There is room for the pairs of a row. */
static int64_t order_place_of(const fnzi_cpu_rows *r, int64_t row, fnzi_cpu_pair *pairs,
                              int64_t kind, int64_t k, bool is_stable) {
  if (kind != ORDER_KTH && kind != ORDER_MODE)
    return median_of(r, row, pairs, kind, is_stable);
  order_fill_pairs(r, row, pairs);
  if (kind == ORDER_KTH) {
    fnzi_cpu_select_kth(pairs, r->length, k - 1);
    return pairs[k - 1].place;
  }
  fnzi_cpu_sort_unstable(pairs, r->length);
  return pairs[mode_place(pairs, r->length, r->dtype == FNZ_F64)].place;
}

/* Records the choice, from rows of elements as they are, of the element at the index that the order
 * determines. */
static fnz_status record_rows(fnzi_krn_call *call, int64_t kind, const bool *reduced,
                              const fnzi_cpu_rows *rows, int64_t k) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  bool is_real = fnzi_is_float(dtype), forgets = is_real && call->noutputs < 2;
  int64_t all = rows->count * rows->length, nothing = 0;
  fnzi_krn_recorded_sort sort = {.dtype = rows->dtype,
                                 .elements = rows->data,
                                 .rows = rows->count,
                                 .length = rows->length,
                                 .inner = 1,
                                 .keep =
                                     kind == ORDER_KTH && k < rows->length ? k + 1 : rows->length};
  fnzi_krn_window windows[6];
  fnzi_cpu_rows cells;
  void *values, *places = NULL;
  FNZ_TRY(fnzi_krn_sort_record(call, &sort));
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, dtype, &cells));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &values));
  if (is_real)
    fnzi_krn_number_cell(&(fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = NAN}, dtype, &nothing);
  fnzi_krn_window_dense(&windows[0], rows->dtype, 1, &all, rows->data);
  fnzi_krn_window_dense(&windows[1], dtype, 1, &all, cells.data);
  fnzi_krn_window_dense(&windows[2], FNZ_I64, 1, &all, sort.keys);
  fnzi_krn_window_dense(&windows[3], FNZ_I64, 1, &all, sort.places);
  fnzi_krn_window_dense(&windows[4], dtype, 1, &rows->count, values);
  if (call->noutputs > 1) {
    FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &places));
    fnzi_krn_window_dense(&windows[5], FNZ_I64, 1, &rows->count, places);
  }
  uint32_t nresults = call->noutputs > 1 ? 4 : 3; /* keys and places may be others then */
  const int64_t integers[] = {kind, rows->length, is_real, k, forgets, nothing, !places};
  const fnzi_krn_formula f = {.name = "ordered",
                              .count = rows->count,
                              .windows = windows,
                              .nwindows = 2 + nresults,
                              .nresults = nresults,
                              .integers = integers,
                              .nintegers = 7};
  return call->record->formula(call->record->user, &f);
}

static fnz_status pick_rows(fnzi_krn_call *call, int64_t kind) {
  const fnz_arg nan = {.tag = FNZ_ARG_FLOAT, .u.f = NAN};
  const fnzi_krn_array *out = call->outputs[0];
  bool reduced[FNZ_MAX_RANK], is_real = fnzi_is_float(out->window.dtype);
  fnz_dtype wide = is_real ? FNZ_F64 : FNZ_I64;
  int64_t k = fnzi_krn_named_int(call, "k", 1);
  double value = 0;
  int64_t *kept = NULL;
  void *places = NULL;
  fnzi_cpu_pair *room;
  fnzi_cpu_rows r;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  FNZ_TRY(fnzi_cpu_rows_make(call, reduced, wide, &r));
  if (!r.length) /* the median of nothing */
    return fnzi_krn_array_fill(call, out, &nan);
  if (call->record)
    return r.count ? record_rows(call, kind, reduced, &r, k) : FNZ_OK;
  if (call->noutputs > 1)
    FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &places));
  else
    FNZI_NEW(&call->scratch, (size_t)r.count, &kept);
  FNZI_NEW(&call->scratch, (size_t)r.length, &room);
  for (int64_t i = 0; i < r.count; i++)
    (places ? (int64_t *)places : kept)[i] = order_place_of(&r, i, room, kind, k, places != NULL);
  FNZ_TRY(fnzi_cpu_rows_pick(call, reduced, places ? places : kept));
  if (places || !is_real)
    return FNZ_OK;
  /* The median of all elements is a number, whose NaN has no payload. */
  fnzi_krn_convert_one(FNZ_F64, &value, out->window.dtype, fnzi_krn_array_data(out));
  return isnan(value) ? fnzi_krn_array_fill(call, out, &nan) : FNZ_OK;
}

fnz_status fnzi_kernel_median(fnzi_krn_call *call) {
  return pick_rows(call, ORDER_MEDIAN);
}

fnz_status fnzi_kernel_nanmedian(fnzi_krn_call *call) {
  return pick_rows(call, ORDER_NANMEDIAN);
}

fnz_status fnzi_kernel_kthvalue(fnzi_krn_call *call) {
  return pick_rows(call, ORDER_KTH);
}

fnz_status fnzi_kernel_mode(fnzi_krn_call *call) {
  return pick_rows(call, ORDER_MODE);
}
