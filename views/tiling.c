/* tiling.c - which windows are tiles along a dimension, and whether they cover it. */
#include "views/tiling.h"

#include <stdlib.h>

bool fnzi_int_is_frame(fnzi_ints *s, const fnz_geometry *g) {
  int64_t stride = 1;
  if (g->is_conj || g->is_neg)
    return false;
  if (s)
    return fnzi_int_lies_in_rows(s, g);
  for (uint32_t d = g->rank; d-- > 0;) {
    if (g->strides[d] != stride)
      return false;
    stride *= g->sizes[d] ? g->sizes[d] : 1;
  }
  return g->offset == 0;
}

/* Dimension k of the frame, and w of the window, have the same size and the same step. */
static bool is_whole(const fnz_geometry *frame, uint32_t k, const fnz_geometry *window,
                     uint32_t w) {
  return window->sizes[w] == frame->sizes[k] &&
         (window->strides[w] == frame->strides[k] || frame->sizes[k] == 1);
}

/* The location of the window along the only dimension that it does not show whole; false when there
 * is none or several, when it has steps, or when its place in this dimension is an expression. */
static bool find_tile(fnzi_ints *s, const fnz_geometry *frame, const fnz_geometry *window,
                      uint32_t *dim, fnzi_tile *out) {
  const bool selects = window->rank + 1 == frame->rank;
  uint32_t d = 0;
  if (!selects && window->rank != frame->rank)
    return false;
  while (d < window->rank && is_whole(frame, d, window, d))
    d++;
  if (d == frame->rank || !fnzi_int_is_number(fnzi_int_size(frame, d)) ||
      (!selects && !fnzi_int_is_number(fnzi_int_size(window, d))))
    return false;
  *dim = d;
  for (uint32_t k = d + 1; k < frame->rank; k++)
    if (!is_whole(frame, k, window, selects ? k - 1 : k))
      return false;
  out->count = selects ? 1 : window->sizes[d];
  /* Which multiple of the dimension's stride the window's offset is. */
  const fnzi_int stride = fnzi_int_stride(frame, d), offset = fnzi_int_offset(window);
  const fnzi_int start =
      fnzi_int_is(stride, 0) ? FNZI_INT_NONE : fnzi_ints_quotient(s, offset, stride);
  out->start = start.bits;
  return fnzi_int_is_number(start) && fnzi_int_is_product(s, offset, start, stride) &&
         (selects || window->strides[d] == frame->strides[d] || window->sizes[d] == 1);
}

fnz_status fnzi_tiling_add(fnz_context *ctx, fnzi_tiling *tiling, const fnz_geometry *frame,
                           const fnz_geometry *window, fnzi_tile tile, bool *fits) {
  bool selects = window->rank < frame->rank;
  uint32_t dim;
  *fits = find_tile(tiling->ints, frame, window, &dim, &tile) &&
          (!tiling->tiles.count || (selects == tiling->selects && dim == tiling->dim));
  if (!*fits)
    return FNZ_OK;
  tiling->selects = selects;
  tiling->dim = dim;
  tiling->size = frame->sizes[dim];
  if (!tiling->tiles.count || tile.start < tiling->first)
    tiling->first = tile.start;
  if (!tiling->tiles.count || tile.start + tile.count > tiling->end)
    tiling->end = tile.start + tile.count;
  FNZI_PUSH(ctx, &tiling->tiles, tile);
  return FNZ_OK;
}

bool fnzi_tiling_is_apart(const fnzi_tiling *tiling, const fnz_geometry *frame,
                          const fnz_geometry *window) {
  uint32_t dim;
  fnzi_tile p;
  return find_tile(tiling->ints, frame, window, &dim, &p) && dim == tiling->dim &&
         (p.start >= tiling->end || p.start + p.count <= tiling->first);
}

static int by_location(const void *a, const void *b) {
  const fnzi_tile *x = a, *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static bool same_location(const fnzi_tile *a, const fnzi_tile *b) {
  return a->start == b->start && a->count == b->count;
}

bool fnzi_tiling_covers(fnzi_tiling *tiling) {
  const fnzi_tile *last = NULL;
  int64_t end = 0;
  /* Most programs write from front to back, and tiles are found in that order or the reverse. */
  fnzi_tile *all = tiling->tiles.data;
  size_t n = tiling->tiles.count, sorted = 1;
  if (n > 1 && by_location(&all[0], &all[1]) > 0) {
    for (size_t k = 0; k < n / 2; k++) {
      fnzi_tile swapped = all[k];
      all[k] = all[n - 1 - k];
      all[n - 1 - k] = swapped;
    }
  }
  while (sorted < n && by_location(&all[sorted - 1], &all[sorted]) < 0)
    sorted++;
  if (sorted < n)
    qsort(all, n, sizeof *all, by_location);
  for (size_t i = 0; i < tiling->tiles.count; i++) {
    const fnzi_tile *p = &tiling->tiles.data[i];
    if (last && same_location(last, p))
      continue;
    if (p->start != end)
      return false;
    end += p->count;
    last = p;
  }
  if (!last || end != tiling->size || last->start == 0)
    return false;
  fnzi_tile *p = tiling->tiles.data;
  size_t kept = 1;
  for (size_t i = 1; i < tiling->tiles.count; i++)
    if (!same_location(&p[kept - 1], &p[i]))
      p[kept++] = p[i];
  tiling->tiles.count = kept;
  return true;
}
