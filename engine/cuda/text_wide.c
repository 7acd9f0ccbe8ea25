/* text_wide.c - adjacent elements that a thread loads at once, a *vector*. Operands must be
 * contiguous along the last dimension, or independent of it, and aligned for loads of 16 bytes. A
 * vector has as many elements as 16 bytes of the narrowest operand, 8 at most. */
#include "engine/cuda/text_parts.h"

enum { MOST_WIDE = 8, AT_ONCE = 16 /* bytes of one load */ };

static int64_t last_stride(const fnzi_cuda_group *g, uint32_t lane) {
  return g->lanes[lane].strides[g->rank - 1];
}

bool fnzi_cuda_loads_vectors(const fnzi_cuda_group *g, uint32_t lane, uint32_t along, int width) {
  const fnzi_cuda_lane *l = &g->lanes[lane];
  int64_t bytes = fnzi_cuda_lane_cell(g, lane) * width, at_once = bytes < AT_ONCE ? bytes : AT_ONCE;
  if (l->strides[along] == 0)
    return !l->stores;
  bool wide = l->strides[along] == fnzi_cuda_lane_cell(g, lane) && l->aligned >= at_once;
  for (uint32_t d = 0; d < g->rank; d++)
    wide = wide && (d == along || l->strides[d] % at_once == 0);
  return wide;
}

static bool has_elements(const fnzi_cuda_group *g, uint32_t lane, bool by_rows) {
  return !by_rows || !g->slots[g->lanes[lane].slot].of_rows;
}

/* Returns whether all operands can be loaded in vectors. A vector must not cross lines of the last
 * dimension. If there is only one line, its rest is computed element by element. */
static bool is_wide(const fnzi_cuda_group *g, bool by_rows, int width) {
  uint32_t first = by_rows ? g->outer : 0;
  bool wide = g->rank == first + 1 || g->sizes[g->rank - 1] % width == 0;
  for (uint32_t k = 0; k < g->nlanes; k++)
    wide =
        wide && (!has_elements(g, k, by_rows) || fnzi_cuda_loads_vectors(g, k, g->rank - 1, width));
  return wide;
}

int fnzi_cuda_width(const fnzi_cuda_group *g, bool by_rows, bool is_general) {
  int64_t least = AT_ONCE;
  int width = MOST_WIDE;
  if (g->rank == 0)
    return 1;
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (has_elements(g, k, by_rows) && last_stride(g, k) != 0 && fnzi_cuda_lane_cell(g, k) < least)
      least = fnzi_cuda_lane_cell(g, k);
  while (width > 1 && width * least > AT_ONCE)
    width /= 2;
  while (width > 1 && !is_wide(g, by_rows, width))
    width = is_general ? 1 : width / 2;
  return width;
}

int fnzi_cuda_vector_elements(const fnzi_cuda_group *g, uint32_t lane, int width) {
  return width > 1 && last_stride(g, lane) == 0 ? 1 : width;
}

fnz_status fnzi_cuda_widen(fnzi_arena *arena, const fnzi_cuda_group *g, int width,
                           fnzi_cuda_group *out) {
  int64_t *sizes;
  *out = *g;
  FNZI_NEW(arena, FNZ_MAX_RANK, &sizes);
  FNZI_NEW(arena, g->nlanes, &out->lanes);
  for (uint32_t d = 0; d < g->rank; d++)
    sizes[d] = g->sizes[d] / (d + 1 == g->rank ? width : 1);
  for (uint32_t k = 0; k < g->nlanes; k++) {
    out->lanes[k] = g->lanes[k];
    if (width > 1)
      out->lanes[k].strides[g->rank - 1] *= width;
  }
  out->sizes = sizes;
  return FNZ_OK;
}
