/* bytes.c - sets of bytes of a buffer: the bytes of a window, union, difference, overlap. */
#include "engine/plan/bytes.h"

#include <stdlib.h>

/* --- Of a window ------------------------------------------------------------------------- */
typedef struct walk {
  uint32_t rank; /* dimensions that are left, largest stride first */
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK]; /* strides in bytes */
  int64_t run;                                        /* contiguous bytes */
  bool sorted;                                        /* spans are in ascending order */
} walk;

/* Takes the dimensions with more than one element, largest stride first. */
static void sort_dims(walk *w, const fnz_geometry *map, int64_t cell) {
  for (uint32_t d = 0; d < map->rank; d++) {
    if (map->sizes[d] < 2 || map->strides[d] == 0)
      continue;
    uint32_t span = w->rank++;
    int64_t stride = map->strides[d] * cell;
    for (; span > 0 && w->strides[span - 1] < stride; span--) {
      w->strides[span] = w->strides[span - 1];
      w->sizes[span] = w->sizes[span - 1];
    }
    w->strides[span] = stride;
    w->sizes[span] = map->sizes[d];
  }
}

/* Merges dimensions into the run from the innermost one on, and finds whether the steps of the
 * others are larger than everything inside them. */
static void fold(walk *w) {
  while (w->rank > 0 && w->strides[w->rank - 1] <= w->run) {
    w->rank--;
    w->run += (w->sizes[w->rank] - 1) * w->strides[w->rank];
  }
  int64_t inside = w->run;
  w->sorted = true;
  for (uint32_t d = w->rank; d-- > 0;) {
    w->sorted = w->sorted && w->strides[d] >= inside;
    inside += (w->sizes[d] - 1) * w->strides[d];
  }
}

static int compare_span(const void *a, const void *b) {
  const fnzi_pln_span *x = a, *y = b;
  return x->low < y->low ? -1 : x->low > y->low;
}

/* Joins spans that meet or touch; they are sorted by `low`. */
static uint32_t close_up(fnzi_pln_span *spans, uint32_t count) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < count; i++)
    if (last > 0 && spans[i].low <= spans[last - 1].high)
      spans[last - 1].high =
          spans[i].high > spans[last - 1].high ? spans[i].high : spans[last - 1].high;
    else
      spans[last++] = spans[i];
  return last;
}

/* Steps beyond the last window wrap: they are taken back before anything is read off them. */
static void list_spans(const walk *w, int64_t start, fnzi_pln_span *spans, uint32_t count) {
  int64_t index[FNZ_MAX_RANK], low = start;
  for (uint32_t d = 0; d < w->rank; d++)
    index[d] = 0;
  for (uint32_t i = 0; i < count; i++) {
    spans[i] = (fnzi_pln_span){low, low + w->run};
    for (uint32_t d = w->rank; d-- > 0;) {
      low = (int64_t)((uint64_t)low + (uint64_t)w->strides[d]);
      if (++index[d] < w->sizes[d])
        break;
      low = (int64_t)((uint64_t)low - (uint64_t)index[d] * (uint64_t)w->strides[d]);
      index[d] = 0;
    }
  }
}

fnz_status fnzi_pln_bytes_of(fnzi_arena *arena, const fnz_geometry *map, uint32_t most,
                             fnzi_pln_bytes *out) {
  int64_t cell = (int64_t)fnzi_dtype(map->dtype)->bytes, low, high;
  fnzi_pln_span all;
  walk w; /* not cleared: it is large, and its dimensions are few */
  fnzi_pln_span *spans;
  *out = (fnzi_pln_bytes){0};
  if (!fnzi_extent(map, &low, &high) || !fnzi_mul_i64(low, cell, &all.low) ||
      !fnzi_mul_i64(high, cell, &all.high))
    return fnzi_fail(arena->ctx, FNZ_CLASS_OVERFLOW, NULL, "a window leaves 63 bits");
  if (low == high)
    return FNZ_OK;
  if (fnzi_is_contiguous(map)) {
    FNZI_NEW(arena, 1, &spans);
    *spans = all;
    *out = (fnzi_pln_bytes){spans, 1, false};
    return FNZ_OK;
  }
  w.rank = 0;
  w.run = cell;
  sort_dims(&w, map, cell);
  fold(&w);
  uint64_t count = 1;
  for (uint32_t d = 0; d < w.rank && count <= most; d++)
    if (!fnzi_mul_size(count, (uint64_t)w.sizes[d], &count))
      count = (uint64_t)most + 1;
  out->inexact = count > most;
  if (out->inexact)
    count = 1;
  FNZI_NEW(arena, count, &spans);
  if (out->inexact)
    spans[0] = all;
  else
    list_spans(&w, all.low, spans, (uint32_t)count);
  if (!w.sorted && count > 1)
    qsort(spans, count, sizeof *spans, compare_span);
  out->spans = spans;
  out->count = close_up(spans, (uint32_t)count);
  return FNZ_OK;
}

/* --- Of sets ----------------------------------------------------------------------------- */
/* Leaves `most` spans by closing gaps between neighbours. */
static void coarsen(fnzi_pln_span *spans, fnzi_pln_bytes *set, uint32_t most) {
  uint32_t each = set->count / most + 1, last = 0;
  if (set->count <= most)
    return;
  for (uint32_t i = 0; i < set->count; i += each) {
    uint32_t end = i + each < set->count ? i + each : set->count;
    spans[last++] = (fnzi_pln_span){spans[i].low, spans[end - 1].high};
  }
  set->count = last;
  set->inexact = true;
}

fnz_status fnzi_pln_bytes_join(fnzi_arena *arena, fnzi_pln_bytes a, fnzi_pln_bytes b, uint32_t most,
                               fnzi_pln_bytes *out) {
  fnzi_pln_span *spans;
  uint32_t i = 0, k = 0, count = 0;
  if (a.count == 0 || b.count == 0) {
    *out = a.count ? a : b;
    return FNZ_OK;
  }
  FNZI_NEW(arena, (size_t)a.count + b.count, &spans);
  while (i < a.count || k < b.count)
    if (k == b.count || (i < a.count && a.spans[i].low <= b.spans[k].low))
      spans[count++] = a.spans[i++];
    else
      spans[count++] = b.spans[k++];
  *out = (fnzi_pln_bytes){spans, close_up(spans, count), a.inexact || b.inexact};
  coarsen(spans, out, most);
  return FNZ_OK;
}

fnz_status fnzi_pln_bytes_subtract(fnzi_arena *arena, fnzi_pln_bytes a, fnzi_pln_bytes b,
                                   uint32_t most, fnzi_pln_bytes *out) {
  fnzi_pln_span *spans;
  uint32_t k = 0, count = 0;
  *out = a;
  if (a.count == 0 || b.count == 0)
    return FNZ_OK;
  FNZI_NEW(arena, (size_t)a.count + b.count, &spans);
  for (uint32_t i = 0; i < a.count; i++) {
    int64_t low = a.spans[i].low, high = a.spans[i].high;
    while (k < b.count && b.spans[k].high <= low)
      k++;
    for (uint32_t j = k; j < b.count && b.spans[j].low < high; j++) {
      if (b.spans[j].low > low)
        spans[count++] = (fnzi_pln_span){low, b.spans[j].low};
      low = b.spans[j].high;
    }
    if (low < high)
      spans[count++] = (fnzi_pln_span){low, high};
  }
  *out = (fnzi_pln_bytes){spans, count, a.inexact};
  coarsen(spans, out, most);
  return FNZ_OK;
}

fnzi_pln_bytes fnzi_pln_bytes_sort(fnzi_pln_span *spans, uint32_t count) {
  if (count > 1)
    qsort(spans, count, sizeof *spans, compare_span);
  return (fnzi_pln_bytes){spans, close_up(spans, count), false};
}

fnz_status fnzi_pln_bytes_round(fnzi_arena *arena, fnzi_pln_bytes a, int64_t cell,
                                fnzi_pln_bytes *out) {
  fnzi_pln_span *spans;
  FNZI_NEW(arena, a.count, &spans);
  for (uint32_t i = 0; i < a.count; i++)
    spans[i] =
        (fnzi_pln_span){a.spans[i].low / cell * cell, (a.spans[i].high + cell - 1) / cell * cell};
  *out = (fnzi_pln_bytes){spans, close_up(spans, a.count), a.inexact};
  return FNZ_OK;
}

/* Finds the first span that ends after byte `offset`. */
static uint32_t find_span(fnzi_pln_bytes set, int64_t offset) {
  uint32_t low = 0, high = set.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (set.spans[middle].high > offset)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

bool fnzi_pln_bytes_contain(fnzi_pln_bytes whole, fnzi_pln_bytes part) {
  uint32_t k = part.count ? find_span(whole, part.spans[0].low) : 0;
  for (uint32_t i = 0; i < part.count; i++) {
    while (k < whole.count && whole.spans[k].high <= part.spans[i].low)
      k++;
    if (k == whole.count || whole.spans[k].low > part.spans[i].low ||
        whole.spans[k].high < part.spans[i].high)
      return false;
  }
  return true;
}

bool fnzi_pln_bytes_overlap(fnzi_pln_bytes a, int64_t shift, fnzi_pln_bytes b) {
  return fnzi_pln_bytes_overlap_outside(a, shift, b, (fnzi_pln_bytes){0});
}

bool fnzi_pln_bytes_overlap_outside(fnzi_pln_bytes a, int64_t shift, fnzi_pln_bytes b,
                                    fnzi_pln_bytes less) {
  uint32_t k = a.count ? find_span(b, a.spans[0].low + shift) : 0;
  for (uint32_t i = 0; i < a.count; i++) {
    int64_t low = a.spans[i].low + shift, high = a.spans[i].high + shift;
    while (k < b.count && b.spans[k].high <= low)
      k++;
    for (uint32_t j = k; j < b.count && b.spans[j].low < high; j++) {
      int64_t from = low > b.spans[j].low ? low : b.spans[j].low;
      int64_t to = high < b.spans[j].high ? high : b.spans[j].high;
      uint32_t span = find_span(less, from);
      if (span == less.count || less.spans[span].low > from || less.spans[span].high < to)
        return true;
    }
  }
  return false;
}
