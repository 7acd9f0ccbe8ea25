/* bag.c - embedding bags: rows picked by number, summed, averaged or compared bag by bag. Sums are
 * taken in the order of the indices, 16-bit floats in f32. */
#include "kernels/meta/bag.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/rows/rows.h"

typedef struct bags {
  const fnzi_rows *by;
  fnzi_meta_bags b;
  const int64_t *index, *offset; /* offset has the end of the last bag behind it */
  fnzi_cpu_reals rows, scale;
  fnzi_cpu_reals_out out;
  int64_t *largest; /* per element of the result, for the largest; else NULL */
  int64_t *sizes;   /* of bags, without what pads */
} bags;

static void add_scaled(const bags *o, int64_t bag) {
  int64_t width = o->b.width, to = bag * width;
  for (int64_t i = o->offset[bag]; i < o->offset[bag + 1]; i++) {
    double scale = fnzi_cpu_reals_present(&o->scale) ? fnzi_cpu_real_at(&o->scale, i) : 1;
    fnzi_cpu_reals sums = fnzi_cpu_reals_read(&o->out);
    if (o->index[i] == o->b.padding)
      continue;
    for (int64_t k = 0; k < width; k++) {
      double x = scale * fnzi_cpu_real_at(&o->rows, o->index[i] * width + k);
      fnzi_cpu_real_put(&o->out, to + k, fnzi_cpu_real_at(&sums, to + k) + x);
    }
  }
}

static void add_bag(const bags *o, int64_t bag) {
  int64_t width = o->b.width, to = bag * width;
  if (o->out.f && o->rows.f && !fnzi_cpu_reals_present(&o->scale)) {
    /* Floats alone: their sum in double, rounded, is their sum. */
    int64_t first = o->offset[bag], end = o->offset[bag + 1];
    const fnzi_row_bag b = {.table = o->rows.f,
                            .index = o->index + first,
                            .count = end - first,
                            .width = width,
                            .padding = o->b.padding,
                            .ahead = o->b.count - end};
    o->by->bag(&b, o->out.f + to);
  } else {
    for (int64_t k = 0; k < width; k++)
      fnzi_cpu_real_put(&o->out, to + k, 0);
    add_scaled(o, bag);
  }
  fnzi_cpu_reals sums = fnzi_cpu_reals_read(&o->out);
  for (int64_t k = 0; o->b.mode == FNZI_BAG_MEAN && o->sizes[bag] > 0 && k < width; k++)
    fnzi_cpu_real_put(&o->out, to + k, fnzi_cpu_real_at(&sums, to + k) / (double)o->sizes[bag]);
}

/* The first of the largest; 0 of a bag without any. */
static void compare_bag(const bags *o, int64_t bag) {
  int64_t width = o->b.width, to = bag * width;
  for (int64_t k = 0; k < width; k++) {
    int64_t best = -1;
    for (int64_t i = o->offset[bag]; i < o->offset[bag + 1]; i++) {
      int64_t row = o->index[i];
      if (row != o->b.padding && (best < 0 || fnzi_cpu_real_at(&o->rows, row * width + k) >
                                                  fnzi_cpu_real_at(&o->rows, best * width + k)))
        best = row;
    }
    fnzi_cpu_real_put(&o->out, to + k, best < 0 ? 0 : fnzi_cpu_real_at(&o->rows, best * width + k));
    o->largest[to + k] = best < 0 ? 0 : best;
  }
}

static void do_bag(const void *user, int64_t bag, int lane) {
  const bags *o = user;
  (void)lane;
  if (o->b.mode == FNZI_BAG_MAX)
    compare_bag(o, bag);
  else
    add_bag(o, bag);
}

static fnz_status check_bags(const fnzi_krn_call *call, const bags *o) {
  for (int64_t i = 0; i < o->b.count; i++)
    if (o->index[i] < 0 || o->index[i] >= o->b.rows)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "index %lld is outside [0, %lld)",
                                  (long long)o->index[i], (long long)o->b.rows);
  for (int64_t k = 0; k < o->b.bags; k++) {
    int64_t first = o->offset[k], last = o->offset[k + 1];
    if (first < 0 || last < first || last > o->b.count || (k == 0 && first != 0))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "bag %lld is from index %lld to %lld of %lld; offsets must begin with 0 "
          "and not fall",
          (long long)k, (long long)first, (long long)last, (long long)o->b.count);
  }
  return FNZ_OK;
}

/* Results that only the backward reads: `values` if the result has `count` elements, else zeros. */
static fnz_status give_kept(fnzi_krn_call *call, size_t k, const int64_t *values, int64_t count) {
  int64_t capacity = fnzi_krn_array_numel(call->outputs[k]);
  void *out;
  FNZ_TRY(fnzi_krn_result_get_as(call, k, FNZ_I64, &out));
  for (int64_t i = 0; i < capacity; i++)
    ((int64_t *)out)[i] = values && capacity == count ? values[i] : 0;
  return FNZ_OK;
}

static fnz_status give_all_kept(fnzi_krn_call *call, const bags *o) {
  int64_t *places;
  bool sum = o->b.mode == FNZI_BAG_SUM;
  FNZI_NEW(&call->scratch, (size_t)o->b.count, &places);
  for (int64_t k = 0; k < o->b.bags; k++)
    for (int64_t i = o->offset[k]; i < o->offset[k + 1]; i++)
      places[i] = k;
  FNZ_TRY(give_kept(call, 1, places, o->b.count));
  FNZ_TRY(give_kept(call, 2, sum ? NULL : o->sizes, o->b.bags));
  if (o->largest)
    return give_kept(call, 3, o->largest, o->b.bags * o->b.width);
  return give_kept(call, 3, sum ? NULL : o->sizes, o->b.bags);
}

/* Offsets with the end of the last bag behind them. */
static fnz_status open_offsets(fnzi_krn_call *call, bags *o) {
  const fnzi_krn_array *offsets = fnzi_krn_call_input(call, 2);
  int64_t *all;
  const void *given;
  FNZ_TRY(fnzi_krn_dense_get_as(call, offsets, FNZ_I64, &given));
  FNZI_NEW(&call->scratch, (size_t)o->b.bags + 1, &all);
  for (int64_t k = 0; k < o->b.bags; k++)
    all[k] = ((const int64_t *)given)[k];
  bool ends = o->b.is_short && o->b.bags < fnzi_krn_array_numel(offsets);
  all[o->b.bags] = ends ? ((const int64_t *)given)[o->b.bags] : o->b.count;
  o->offset = all;
  return FNZ_OK;
}

/* --- On a GPU ---------------------------------------------------------------------------- */
/* Operands of formulas of engine/cuda/bag.cu while they are recorded; results follow. */
typedef struct recording {
  fnzi_krn_call *call;
  int64_t integers[8];
  fnzi_krn_window windows[6]; /* indices, offsets, and more */
} recording;

static fnz_status bag_record(recording *t, const char *name, int64_t count, uint32_t nwindows,
                             uint32_t nresults, bool checks) {
  const fnzi_krn_formula f = {.name = name,
                              .count = count,
                              .windows = t->windows,
                              .nwindows = nwindows,
                              .nresults = nresults,
                              .integers = t->integers,
                              .nintegers = 8,
                              .checks = checks};
  return t->call->record->formula(t->call->record->user, &f);
}

/* As give_kept(), by a formula of so many numbers. */
static fnz_status record_kept(recording *t, size_t k, const char *name, int64_t count) {
  const fnz_arg zero = {.tag = FNZ_ARG_INT};
  int64_t capacity = fnzi_krn_array_numel(t->call->outputs[k]);
  void *out;
  if (!name || capacity != count)
    return fnzi_krn_array_fill(t->call, t->call->outputs[k], &zero);
  FNZ_TRY(fnzi_krn_result_get_as(t->call, k, FNZ_I64, &out));
  fnzi_krn_window_dense(&t->windows[2], FNZ_I64, 1, &count, out);
  return bag_record(t, name, count, 3, 1, false);
}

/* The largest come with their rows, which have a result or none. */
static fnz_status bag_record_largest(recording *t, const bags *o) {
  fnzi_krn_call *call = t->call;
  const fnz_arg zero = {.tag = FNZ_ARG_INT};
  int64_t count = o->b.bags * o->b.width;
  bool kept = fnzi_krn_array_numel(call->outputs[3]) == count;
  const fnzi_cpu_reals y = fnzi_cpu_reals_read(&o->out);
  void *rows;
  if (kept)
    FNZ_TRY(fnzi_krn_result_get_as(call, 3, FNZ_I64, &rows));
  else
    FNZ_TRY(fnzi_krn_scratch_take(call, count, sizeof(int64_t), &rows));
  fnzi_cpu_reals_window(&y, count, &t->windows[3]);
  fnzi_krn_window_dense(&t->windows[4], FNZ_I64, 1, &count, rows);
  FNZ_TRY(bag_record(t, "bag_largest", count, 5, 2, false));
  return kept ? FNZ_OK : fnzi_krn_array_fill(call, call->outputs[3], &zero);
}

static fnz_status record_bags(fnzi_krn_call *call, bags *o) {
  int64_t count = o->b.bags * o->b.width;
  bool sum = o->b.mode == FNZI_BAG_SUM, largest = o->b.mode == FNZI_BAG_MAX;
  const fnzi_cpu_reals y = fnzi_cpu_reals_read(&o->out),
                       *scale = fnzi_cpu_reals_present(&o->scale) ? &o->scale : &o->rows;
  const fnzi_krn_array *offsets = fnzi_krn_call_input(call, 2);
  const fnzi_meta_bags *b = &o->b;
  int64_t given = fnzi_krn_array_numel(offsets);
  const void *data[2];
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 1), FNZ_I64, &data[0]));
  FNZ_TRY(fnzi_krn_dense_get_as(call, offsets, FNZ_I64, &data[1]));
  recording t = {.call = call,
                 .integers = {b->count, b->bags, b->rows, b->width, b->padding, b->mode,
                              b->is_short && b->bags < given, fnzi_cpu_reals_present(&o->scale)}};
  fnzi_krn_window_dense(&t.windows[0], FNZ_I64, 1, &b->count, data[0]);
  fnzi_krn_window_dense(&t.windows[1], FNZ_I64, 1, &given, data[1]);
  FNZ_TRY(bag_record(&t, "bag_checked", b->count > b->bags ? b->count : b->bags, 2, 0, true));
  fnzi_cpu_reals_window(&o->rows, b->rows * b->width, &t.windows[2]);
  if (largest) {
    FNZ_TRY(bag_record_largest(&t, o));
  } else {
    fnzi_cpu_reals_window(scale, o->b.count, &t.windows[3]);
    fnzi_cpu_reals_window(&y, count, &t.windows[4]);
    FNZ_TRY(bag_record(&t, "bag_sum", count, 5, 1, false));
  }
  FNZ_TRY(record_kept(&t, 1, "bag_of", o->b.count));
  FNZ_TRY(record_kept(&t, 2, sum ? NULL : "bag_size", o->b.bags));
  return largest ? FNZ_OK : record_kept(&t, 3, sum ? NULL : "bag_size", o->b.bags);
}

/* --- The kernel -------------------------------------------------------------------------- */
fnz_status fnzi_kernel_bag(fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(fnzi_krn_call_geometry(call, 0)->dtype);
  bags o = {.by = fnzi_rows_best()};
  const void *index;
  FNZ_TRY(fnzi_meta_bags_read(call, &o.b));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &o.rows));
  FNZ_TRY(
      fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "per_sample_weights"), dtype, &o.scale));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &o.out));
  if (call->record)
    return record_bags(call, &o);
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 1), FNZ_I64, &index));
  o.index = index;
  FNZ_TRY(open_offsets(call, &o));
  FNZ_TRY(check_bags(call, &o));
  FNZI_NEW(&call->scratch, (size_t)o.b.bags, &o.sizes);
  if (o.b.mode == FNZI_BAG_MAX)
    FNZI_NEW(&call->scratch, (size_t)(o.b.bags * o.b.width), &o.largest);
  for (int64_t k = 0; k < o.b.bags; k++) {
    o.sizes[k] = 0;
    for (int64_t i = o.offset[k]; i < o.offset[k + 1]; i++)
      o.sizes[k] += o.index[i] != o.b.padding;
  }
  fnzi_cpu_rows_each(call, o.b.bags, do_bag, &o);
  return give_all_kept(call, &o);
}
