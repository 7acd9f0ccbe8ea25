/* sort_recorded.c - sorting as formulas (engine/cuda/sort.cu): tiles, and runs merged two by two.
 */
#include "kernels/core/sort_recorded.h"

#define VALUE static inline
#include "kernels/core/sort_values.h"
#undef VALUE

/* The operands of a formula: windows, the last `nresults` of them results, and SORT_NUMBERS
 * integers. */
typedef struct operands {
  fnzi_krn_window windows[4];
  uint32_t nwindows, nresults;
  int64_t integers[SORT_NUMBERS];
} operands;

static void write_integers(const fnzi_krn_recorded_sort *recorded, int64_t width, int64_t *out) {
  out[SORT_LENGTH] = recorded->length;
  out[SORT_INNER] = recorded->inner;
  out[SORT_ROWS] = recorded->rows;
  out[SORT_KEEP] = recorded->keep;
  out[SORT_DESCENDS] = recorded->descending;
  out[SORT_INTEGERS] = recorded->dtype == FNZ_I64;
  out[SORT_WIDTH] = width;
}

/* Over all elements, or memory that has room for as many. */
static void window_over(const fnzi_krn_recorded_sort *recorded, fnz_dtype dtype, const void *data,
                        fnzi_krn_window *out) {
  const int64_t count = recorded->rows * recorded->length;
  fnzi_krn_window_dense(out, dtype, 1, &count, data);
}

static fnz_status record(fnzi_krn_call *call, const char *name, int64_t count, const operands *o) {
  const fnzi_krn_formula f = {.name = name,
                              .count = count,
                              .windows = o->windows,
                              .nwindows = o->nwindows,
                              .nresults = o->nresults,
                              .integers = o->integers,
                              .nintegers = SORT_NUMBERS};
  return call->record->formula(call->record->user, &f);
}

static fnz_status take_room(fnzi_krn_call *call, const fnzi_krn_recorded_sort *recorded,
                            const void **keys, const void **places) {
  void *data[2];
  for (int k = 0; k < 2; k++)
    FNZ_TRY(
        fnzi_krn_scratch_take(call, recorded->rows * recorded->length, sizeof(int64_t), &data[k]));
  *keys = data[0], *places = data[1];
  return FNZ_OK;
}

fnz_status fnzi_krn_sort_record(fnzi_krn_call *call, fnzi_krn_recorded_sort *recorded) {
  const void *other[2] = {NULL, NULL};
  int64_t width = 1;
  while (width < recorded->length && width < SORT_TILE)
    width *= 2;
  FNZ_TRY(take_room(call, recorded, &recorded->keys, &recorded->places));
  if (width < recorded->length)
    FNZ_TRY(take_room(call, recorded, &other[0], &other[1]));
  /* A tile has whole rows, or a row whole tiles. */
  int64_t tiles = (recorded->length + width - 1) / width, rows, all;
  operands sorting = {.nwindows = 3, .nresults = 2};
  if (!fnzi_mul_i64(recorded->rows, tiles, &all))
    return fnzi_no_memory(call->ctx);
  rows = SORT_TILE / width;
  write_integers(recorded, width, sorting.integers);
  window_over(recorded, recorded->dtype, recorded->elements, &sorting.windows[0]);
  window_over(recorded, FNZ_I64, recorded->keys, &sorting.windows[1]);
  window_over(recorded, FNZ_I64, recorded->places, &sorting.windows[2]);
  FNZ_TRY(record(call, "sorted", (all + rows - 1) / rows, &sorting));
  for (int64_t run = width; run < recorded->length; run *= 2) {
    /* From recorded's keys and places to other ones, which become recorded's. */
    int64_t runs = (recorded->length + run - 1) / run;
    const void *from[] = {recorded->keys, recorded->places};
    operands o = {.nwindows = 4, .nresults = 2};
    write_integers(recorded, run, o.integers);
    for (int k = 0; k < 2; k++) {
      window_over(recorded, FNZ_I64, from[k], &o.windows[k]);
      window_over(recorded, FNZ_I64, other[k], &o.windows[2 + k]);
    }
    recorded->keys = other[0], recorded->places = other[1];
    other[0] = from[0], other[1] = from[1];
    FNZ_TRY(record(call, "merged",
                   recorded->rows * runs * (run < recorded->keep ? run : recorded->keep), &o));
  }
  return FNZ_OK;
}

fnz_status fnzi_krn_sort_record_top(fnzi_krn_call *call, fnzi_krn_recorded_sort *recorded,
                                    bool is_sorted) {
  const int64_t keep = recorded->keep;
  const bool few = keep <= recorded->length / 64, sorts = few || is_sorted;
  operands o = {.nwindows = 3, .nresults = 2};
  recorded->keep += keep < recorded->length; /* the next one may equal the last */
  if (sorts)
    FNZ_TRY(fnzi_krn_sort_record(call, recorded));
  else
    FNZ_TRY(take_room(call, recorded, &recorded->keys, &recorded->places));
  recorded->keep = keep;
  write_integers(recorded, sorts, o.integers);
  window_over(recorded, recorded->dtype, recorded->elements, &o.windows[0]);
  window_over(recorded, FNZ_I64, recorded->keys, &o.windows[1]);
  window_over(recorded, FNZ_I64, recorded->places, &o.windows[2]);
  return record(call, few ? "few_chosen" : "chosen", recorded->rows, &o);
}

fnz_status fnzi_krn_sort_record_ranked(fnzi_krn_call *call, const fnzi_krn_recorded_sort *recorded,
                                       fnz_dtype dtype, const void *cells, const void *values,
                                       const void *places) {
  int64_t count = recorded->rows * recorded->keep;
  operands o = {.nwindows = 2};
  write_integers(recorded, values != NULL, o.integers);
  window_over(recorded, FNZ_I64, recorded->places, &o.windows[0]);
  window_over(recorded, dtype, cells, &o.windows[1]);
  if (values)
    fnzi_krn_window_dense(&o.windows[o.nwindows++], dtype, 1, &count, values);
  if (places)
    fnzi_krn_window_dense(&o.windows[o.nwindows++], FNZ_I64, 1, &count, places);
  o.nresults = o.nwindows - 2;
  return record(call, "ranked", count, &o);
}

fnz_status fnzi_krn_sort_record_runs(fnzi_krn_call *call, const fnzi_krn_recorded_sort *recorded,
                                     const void *ends) {
  operands o = {.nwindows = 2, .nresults = 1};
  write_integers(recorded, 0, o.integers);
  window_over(recorded, FNZ_I64, recorded->keys, &o.windows[0]);
  window_over(recorded, FNZ_I64, ends, &o.windows[1]);
  return record(call, "run_end", recorded->rows * recorded->length, &o);
}
