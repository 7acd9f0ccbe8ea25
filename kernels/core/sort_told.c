/* sort_told.c - sorting as formulas (engine/cuda/sort.cu): tiles, and runs merged two by two. */
#include "kernels/core/sort_told.h"

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

static void write_integers(const fnzi_krn_told_sort *told, int64_t width, int64_t *out) {
  out[SORT_LENGTH] = told->length;
  out[SORT_INNER] = told->inner;
  out[SORT_ROWS] = told->rows;
  out[SORT_KEEP] = told->keep;
  out[SORT_DESCENDS] = told->descending;
  out[SORT_INTEGERS] = told->dtype == FNZ_I64;
  out[SORT_WIDTH] = width;
}

/* Over all elements, or memory that has room for as many. */
static void window_over(const fnzi_krn_told_sort *told, fnz_dtype dtype, const void *data,
                        fnzi_krn_window *out) {
  const int64_t count = told->rows * told->length;
  fnzi_krn_window_dense(out, dtype, 1, &count, data);
}

static fnz_status tell(fnzi_krn_call *call, const char *name, int64_t count, const operands *o) {
  const fnzi_krn_formula f = {.name = name,
                              .count = count,
                              .windows = o->windows,
                              .nwindows = o->nwindows,
                              .nresults = o->nresults,
                              .integers = o->integers,
                              .nintegers = SORT_NUMBERS};
  return call->record->formula(call->record->user, &f);
}

/* A tile has whole rows, or a row whole tiles. */
static fnz_status tell_tiles(fnzi_krn_call *call, const fnzi_krn_told_sort *told, int64_t width) {
  int64_t tiles = (told->length + width - 1) / width, rows, all;
  operands o = {.nwindows = 3, .nresults = 2};
  if (!fnzi_mul_i64(told->rows, tiles, &all))
    return fnzi_no_memory(call->ctx);
  rows = SORT_TILE / width;
  write_integers(told, width, o.integers);
  window_over(told, told->dtype, told->elements, &o.windows[0]);
  window_over(told, FNZ_I64, told->keys, &o.windows[1]);
  window_over(told, FNZ_I64, told->places, &o.windows[2]);
  return tell(call, "sorted", (all + rows - 1) / rows, &o);
}

/* From told's keys and places to other ones, which become told's. */
static fnz_status tell_merge(fnzi_krn_call *call, fnzi_krn_told_sort *told, int64_t run,
                             const void *to[2]) {
  int64_t runs = (told->length + run - 1) / run;
  const void *from[] = {told->keys, told->places};
  operands o = {.nwindows = 4, .nresults = 2};
  write_integers(told, run, o.integers);
  for (int k = 0; k < 2; k++) {
    window_over(told, FNZ_I64, from[k], &o.windows[k]);
    window_over(told, FNZ_I64, to[k], &o.windows[2 + k]);
  }
  told->keys = to[0], told->places = to[1];
  to[0] = from[0], to[1] = from[1];
  return tell(call, "merged", told->rows * runs * (run < told->keep ? run : told->keep), &o);
}

static fnz_status take_room(fnzi_krn_call *call, const fnzi_krn_told_sort *told, const void **keys,
                            const void **places) {
  void *data[2];
  for (int k = 0; k < 2; k++)
    FNZ_TRY(fnzi_krn_room_take(call, told->rows * told->length, sizeof(int64_t), &data[k]));
  *keys = data[0], *places = data[1];
  return FNZ_OK;
}

fnz_status fnzi_krn_sort_tell(fnzi_krn_call *call, fnzi_krn_told_sort *told) {
  const void *other[2] = {NULL, NULL};
  int64_t width = 1;
  while (width < told->length && width < SORT_TILE)
    width *= 2;
  FNZ_TRY(take_room(call, told, &told->keys, &told->places));
  if (width < told->length)
    FNZ_TRY(take_room(call, told, &other[0], &other[1]));
  FNZ_TRY(tell_tiles(call, told, width));
  for (int64_t run = width; run < told->length; run *= 2)
    FNZ_TRY(tell_merge(call, told, run, other));
  return FNZ_OK;
}

fnz_status fnzi_krn_sort_tell_top(fnzi_krn_call *call, fnzi_krn_told_sort *told, bool is_sorted) {
  const int64_t keep = told->keep;
  const bool few = keep <= told->length / 64, sorts = few || is_sorted;
  operands o = {.nwindows = 3, .nresults = 2};
  told->keep += keep < told->length; /* the next one may equal the last */
  if (sorts)
    FNZ_TRY(fnzi_krn_sort_tell(call, told));
  else
    FNZ_TRY(take_room(call, told, &told->keys, &told->places));
  told->keep = keep;
  write_integers(told, sorts, o.integers);
  window_over(told, told->dtype, told->elements, &o.windows[0]);
  window_over(told, FNZ_I64, told->keys, &o.windows[1]);
  window_over(told, FNZ_I64, told->places, &o.windows[2]);
  return tell(call, few ? "few_chosen" : "chosen", told->rows, &o);
}

fnz_status fnzi_krn_sort_tell_ranked(fnzi_krn_call *call, const fnzi_krn_told_sort *told,
                                     fnz_dtype dtype, const void *cells, const void *values,
                                     const void *places) {
  int64_t count = told->rows * told->keep;
  operands o = {.nwindows = 2};
  write_integers(told, values != NULL, o.integers);
  window_over(told, FNZ_I64, told->places, &o.windows[0]);
  window_over(told, dtype, cells, &o.windows[1]);
  if (values)
    fnzi_krn_window_dense(&o.windows[o.nwindows++], dtype, 1, &count, values);
  if (places)
    fnzi_krn_window_dense(&o.windows[o.nwindows++], FNZ_I64, 1, &count, places);
  o.nresults = o.nwindows - 2;
  return tell(call, "ranked", count, &o);
}

fnz_status fnzi_krn_sort_tell_runs(fnzi_krn_call *call, const fnzi_krn_told_sort *told,
                                   const void *ends) {
  operands o = {.nwindows = 2, .nresults = 1};
  write_integers(told, 0, o.integers);
  window_over(told, FNZ_I64, told->keys, &o.windows[0]);
  window_over(told, FNZ_I64, ends, &o.windows[1]);
  return tell(call, "run_end", told->rows * told->length, &o);
}
