/* strides.c - the strides eager's TensorIterator gives a fresh result: the inputs' own when all
 * agree, else dense in the order of dimensions that the inputs have. And the memory format that
 * eager sees in strides, and the order in which the iterator's loop writes. */
#include "program/program.h"

/* All inputs have the result's shape and lie in memory alike: the result does, too. */
static bool shared_layout(const fnz_geometry *const *inputs, size_t count, uint32_t rank,
                          const int64_t *sizes, int64_t *out) {
  bool contiguous = true, alike = true;
  for (size_t k = 0; k < count; k++) {
    if (!fnzi_has_sizes(inputs[k], sizes, rank))
      return false;
    contiguous = contiguous && fnzi_is_contiguous(inputs[k]);
    alike = alike && fnzi_is_dense(inputs[k]) &&
            (inputs[k]->rank == 0 || memcmp(inputs[k]->strides, inputs[0]->strides,
                                            inputs[k]->rank * sizeof *inputs[k]->strides) == 0);
  }
  if (contiguous || count == 0)
    fnzi_contiguous_strides(sizes, rank, out);
  else if (alike)
    memcpy(out, inputs[0]->strides, rank * sizeof *out);
  return contiguous || alike;
}

static int64_t stride_of(const fnz_geometry *g, uint32_t rank, const int64_t *sizes, uint32_t dim) {
  uint32_t missing = rank - g->rank;
  if (dim < missing || (g->sizes[dim - missing] == 1 && sizes[dim] != 1))
    return 0;
  return g->strides[dim - missing];
}

/* 1: a runs outside of b; -1: inside; 0: the inputs do not decide. */
static int strides_compare(const fnz_geometry *const *inputs, size_t count, uint32_t rank,
                           const int64_t *sizes, uint32_t a, uint32_t b) {
  for (size_t k = 0; k < count; k++) {
    int64_t x = stride_of(inputs[k], rank, sizes, a), y = stride_of(inputs[k], rank, sizes, b);
    if (x == 0 || y == 0)
      continue;
    if (x != y)
      return x < y ? -1 : 1;
    if (sizes[a] > sizes[b])
      return 1;
  }
  return 0;
}

static void sort_order(const fnz_geometry *const *inputs, size_t count, uint32_t rank,
                       const int64_t *sizes, uint32_t *order) {
  for (uint32_t i = 0; i < rank; i++)
    order[i] = rank - 1 - i;
  for (uint32_t i = 1; i < rank; i++) {
    uint32_t at = i;
    for (uint32_t j = i; j-- > 0;) {
      int c = strides_compare(inputs, count, rank, sizes, order[j], order[at]);
      if (c < 0)
        break;
      if (c == 0)
        continue;
      uint32_t t = order[j];
      order[j] = order[at];
      order[at] = t;
      at = j;
    }
  }
}

void fnzi_loop_order(const fnz_geometry *target, const fnz_geometry *const *reads, size_t count,
                     uint32_t *order) {
  const fnz_geometry *all[1 + FNZI_LOOP_READS] = {target};
  uint32_t inner[FNZ_MAX_RANK];
  for (size_t k = 0; k < count && k < FNZI_LOOP_READS; k++)
    all[1 + k] = reads[k];
  sort_order(all, 1 + (count < FNZI_LOOP_READS ? count : FNZI_LOOP_READS), target->rank,
             target->sizes, inner);
  for (uint32_t d = 0; d < target->rank; d++)
    order[d] = inner[target->rank - 1 - d];
}

void fnzi_iterator_strides(const fnz_geometry *const *inputs, size_t count, uint32_t rank,
                           const int64_t *sizes, int64_t *out) {
  uint32_t order[FNZ_MAX_RANK];
  if (shared_layout(inputs, count, rank, sizes, out))
    return;
  sort_order(inputs, count, rank, sizes, order);
  int64_t stride = 1;
  for (uint32_t i = 0; i < rank; i++) {
    out[order[i]] = stride;
    stride *= sizes[order[i]] ? sizes[order[i]] : 1;
  }
}

void fnzi_channels_last_strides(const int64_t *sizes, uint32_t rank, int64_t *out) {
  int64_t stride = 1;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t d = k == 0 ? 1 : k < rank - 1 ? rank - k : 0;
    out[d] = stride;
    stride *= sizes[d] ? sizes[d] : 1;
  }
}

bool fnzi_suggests_channels_last(const fnz_geometry *g) {
  int64_t least = 0;
  if (g->rank < 4 || g->rank > 5 || g->strides[1] == 0)
    return false;
  for (uint32_t k = 0; k < g->rank; k++) {
    uint32_t d = k == 0 ? 1 : k < g->rank - 1 ? g->rank - k : 0;
    if (g->sizes[d] == 0 || g->strides[d] < least)
      return false;
    if (d == 0 && least == g->strides[1])
      return false;
    if (!fnzi_mul_i64(g->strides[d], g->sizes[d], &least))
      return false;
  }
  return true;
}
