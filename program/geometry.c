/* geometry.c - arithmetic on sizes, strides and offsets, and geometries in messages. All arithmetic
 * is checked, and nothing allocates. */
#include "program/program.h"

/* A size of 0 counts as 1, as in PyTorch, so that the strides say what the other sizes are. Wraps
 * for sizes that fnzi_intern_geometry is going to refuse. */
void fnzi_contiguous_strides(const int64_t *sizes, uint32_t rank, int64_t *out) {
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    out[i] = stride;
    stride = (int64_t)((uint64_t)stride * (uint64_t)(sizes[i] ? sizes[i] : 1));
  }
}

bool fnzi_is_contiguous(const fnz_geometry *g) {
  int64_t expected = 1;
  for (uint32_t i = 0; i < g->rank; i++)
    if (!g->sizes[i])
      return true;
  for (uint32_t i = g->rank; i-- > 0;) {
    if (g->sizes[i] == 1)
      continue;
    if (g->strides[i] != expected)
      return false;
    expected *= g->sizes[i];
  }
  return true;
}

/* Without elements whatever its strides. */
bool fnzi_is_dense(const fnz_geometry *g) {
  if (fnzi_is_contiguous(g))
    return true;
  /* The dimensions of two or more elements, smallest stride first. */
  uint32_t order[FNZ_MAX_RANK], count = 0;
  for (uint32_t i = 0; i < g->rank; i++) {
    if (g->sizes[i] < 2)
      continue;
    uint32_t at = count++;
    for (; at > 0 && g->strides[order[at - 1]] > g->strides[i]; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  int64_t expected = 1;
  for (uint32_t k = 0; k < count; k++) {
    if (g->strides[order[k]] != expected)
      return false;
    expected *= g->sizes[order[k]];
  }
  return true;
}

static bool same_numbers(const int64_t *a, const int64_t *b, uint32_t count) {
  return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

bool fnzi_has_sizes(const fnz_geometry *g, const int64_t *sizes, uint32_t rank) {
  return g->rank == rank && same_numbers(g->sizes, sizes, rank);
}

bool fnzi_same_sizes(const fnz_geometry *a, const fnz_geometry *b) {
  return a->rank == b->rank && same_numbers(a->sizes, b->sizes, a->rank);
}

bool fnzi_same_strides(const fnz_geometry *a, const fnz_geometry *b) {
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] > 1 && a->strides[d] != b->strides[d])
      return false;
  return true;
}

bool fnzi_geometry_equal(const fnz_geometry *a, const fnz_geometry *b) {
  if (a == b)
    return true;
  if (a->dtype != b->dtype || !fnzi_same_sizes(a, b) || a->offset != b->offset ||
      a->is_conj != b->is_conj || a->is_neg != b->is_neg ||
      !same_numbers(a->strides, b->strides, a->rank))
    return false;
  for (uint32_t i = 0; i < 2 * a->rank + 1; i++)
    if ((a->symbols ? a->symbols[i] : 0) != (b->symbols ? b->symbols[i] : 0))
      return false;
  return true;
}

bool fnzi_elements_fit(const fnz_geometry *g) {
  int64_t bytes = (int64_t)fnz_dtype_get_info(g->dtype)->bytes;
  for (uint32_t i = 0; i < g->rank; i++)
    if (!fnzi_mul_i64(bytes, g->sizes[i] ? g->sizes[i] : 1, &bytes))
      return false;
  return true;
}

bool fnzi_extent(const fnz_geometry *g, int64_t *low, int64_t *high) {
  int64_t span, last = g->offset;
  *low = *high = 0;
  for (uint32_t i = 0; i < g->rank; i++)
    if (!g->sizes[i])
      return true;
  for (uint32_t i = 0; i < g->rank; i++)
    if (!fnzi_mul_i64(g->sizes[i] - 1, g->strides[i], &span) || !fnzi_add_i64(last, span, &last))
      return false;
  *low = g->offset;
  return fnzi_add_i64(last, 1, high);
}

bool fnzi_geometry_covers(const fnz_geometry *all, const fnz_geometry *part) {
  int64_t low, high, from, to;
  if (fnzi_geometry_equal(all, part))
    return true;
  return all->dtype == part->dtype && fnzi_is_dense(all) && fnzi_extent(all, &low, &high) &&
         fnzi_extent(part, &from, &to) && low <= from && to <= high;
}

fnz_status fnzi_wrap_dim(fnz_context *ctx, const char *what, int64_t dim, uint32_t rank,
                         uint32_t *out) {
  int64_t bound = rank ? rank : 1;
  if (dim < -bound || dim >= bound)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "%s: dimension %lld is outside [%lld, %lld]; the tensor has %u dimension%s",
                     what, (long long)dim, (long long)-bound, (long long)(bound - 1),
                     (unsigned)rank, rank == 1 ? "" : "s");
  *out = (uint32_t)(dim < 0 ? dim + bound : dim);
  return FNZ_OK;
}

void fnzi_shape_text(const fnz_geometry *g, char out[FNZI_SHAPE_TEXT]) {
  char number[FNZI_INT_TEXT];
  size_t used = strlen(fnzi_dtype(g->dtype)->name);
  memcpy(out, fnzi_dtype(g->dtype)->name, used);
  out[used++] = '[';
  for (uint32_t d = 0; d < g->rank; d++) {
    size_t size = fnzi_int_text(g->sizes[d], number);
    if (used + size + sizeof "...,]" > FNZI_SHAPE_TEXT) {
      memcpy(out + used, "...", 3);
      used += 3;
      break;
    }
    memcpy(out + used, number, size);
    used += size;
    if (d + 1 < g->rank)
      out[used++] = ',';
  }
  out[used++] = ']';
  out[used] = 0;
}

void fnzi_geometry_gather(const fnz_geometry *g, const void *from, void *to) {
  int64_t index[FNZ_MAX_RANK] = {0};
  size_t width = fnzi_dtype(g->dtype)->bytes;
  int64_t at = g->offset, count = fnz_geometry_numel(g);
  char *next = to;
  for (int64_t k = 0; k < count; k++, next += width) {
    memcpy(next, (const char *)from + (size_t)at * width, width);
    for (uint32_t d = g->rank; d-- > 0;) {
      at += g->strides[d];
      if (++index[d] < g->sizes[d])
        break;
      at -= g->strides[d] * g->sizes[d];
      index[d] = 0;
    }
  }
}
