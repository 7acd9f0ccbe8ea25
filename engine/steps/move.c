/* move.c - copies elements between two windows of the same sizes. The loop nest is found once and
 * runs many times. */
#include "engine/steps/steps.h"
#include "kernels/core/convert.h"
#include <stdlib.h>

typedef fnzi_stp_move_dim dim;

/* Says that `a` runs inside of `b`: the written window's shortest steps are innermost. */
static bool is_inside(const dim *a, const dim *b) {
  return a->to != b->to ? llabs(a->to) < llabs(b->to) : llabs(a->from) < llabs(b->from);
}

static uint32_t dims_of(const fnz_geometry *from, const fnz_geometry *to, size_t cell, dim *dims) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < to->rank; i++)
    if (to->sizes[i] != 1)
      dims[rank++] = (dim){to->sizes[i], fnzi_krn_stride_bytes(from->strides[i], cell),
                           fnzi_krn_stride_bytes(to->strides[i], cell)};
  for (uint32_t i = 1; i < rank; i++)
    for (uint32_t j = i; j > 0 && is_inside(&dims[j - 1], &dims[j]); j--) {
      dim t = dims[j];
      dims[j] = dims[j - 1];
      dims[j - 1] = t;
    }
  /* Merges dimensions that are contiguous to each other in both windows. */
  uint32_t last = 0;
  for (uint32_t i = 1; i < rank; i++) {
    dim *outer = &dims[last], *inner = &dims[i];
    if (outer->from == fnzi_krn_stride_bytes(inner->from, (size_t)inner->size) &&
        outer->to == fnzi_krn_stride_bytes(inner->to, (size_t)inner->size))
      *outer = (dim){outer->size * inner->size, inner->from, inner->to};
    else
      dims[++last] = *inner;
  }
  return rank ? last + 1 : 0;
}

/* Elements that are neighbours in the source lie along another dimension. */
static bool is_transposed(const dim *dims, uint32_t rank, size_t cell) {
  const dim *last = &dims[rank - 1];
  for (uint32_t i = 0; last->to == (int64_t)cell && last->from != last->to && i + 1 < rank; i++)
    if (dims[i].from == (int64_t)cell)
      return true;
  return false;
}

static void copy_elements(char *to, const char *from, const dim *dims, uint32_t rank, size_t cell) {
  int64_t index[FNZ_MAX_RANK] = {0};
  uint32_t outer = rank - 1;
  if (rank == 0) {
    memcpy(to, from, cell);
    return;
  }
  if (is_transposed(dims, rank, cell)) {
    fnzi_krn_loop loop = {.rank = rank, .operands = 2, .data = {to, (char *)(uintptr_t)from}};
    for (uint32_t i = 0; i < rank; i++) {
      loop.sizes[i] = dims[i].size;
      loop.strides[0][i] = dims[i].to;
      loop.strides[1][i] = dims[i].from;
    }
    fnzi_krn_loop_copy(&loop, cell, NULL);
    return;
  }
  for (;;) {
    fnzi_krn_copy_row(to, dims[outer].to, from, dims[outer].from, dims[outer].size, cell);
    uint32_t i = outer;
    while (i-- > 0) {
      to += dims[i].to;
      from += dims[i].from;
      if (++index[i] < dims[i].size)
        break;
      to -= dims[i].to * dims[i].size;
      from -= dims[i].from * dims[i].size;
      index[i] = 0;
    }
    if (i == UINT32_MAX)
      return;
  }
}

/* Makes the last dimension part of the cell if it is contiguous in both windows. */
static size_t widen(const dim *dims, uint32_t *rank, size_t cell) {
  const dim *last = &dims[*rank ? *rank - 1 : 0];
  if (*rank == 0 || last->from != (int64_t)cell || last->to != (int64_t)cell)
    return cell;
  --*rank;
  return cell * (size_t)last->size;
}

void fnzi_stp_elements_move(const fnz_geometry *from, const unsigned char *from_start,
                            const fnz_geometry *to, unsigned char *to_start) {
  size_t cell = fnzi_dtype(to->dtype)->bytes;
  dim dims[FNZ_MAX_RANK];
  if (fnz_geometry_numel(to) == 0)
    return;
  uint32_t rank = dims_of(from, to, cell, dims);
  size_t widened = widen(dims, &rank, cell);
  copy_elements((char *)to_start + fnzi_krn_stride_bytes(to->offset, cell),
                (const char *)from_start + fnzi_krn_stride_bytes(from->offset, cell), dims, rank,
                widened);
}

void fnzi_stp_elements_pack(const fnz_geometry *from, const unsigned char *from_start, void *rows) {
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry to = *from;
  to.strides = strides;
  to.offset = 0;
  fnzi_contiguous_strides(to.sizes, to.rank, strides);
  fnzi_stp_elements_move(from, from_start, &to, rows);
}

fnz_status fnzi_stp_move_make(fnzi_arena *arena, const fnz_geometry *from, const fnz_geometry *to,
                              fnzi_stp_move *out) {
  size_t cell = fnzi_dtype(to->dtype)->bytes;
  dim dims[FNZ_MAX_RANK], *copy;
  uint32_t rank = 0;
  *out = (fnzi_stp_move){.from = out->from, .to = out->to};
  out->bytes = fnzi_krn_stride_bytes(fnz_geometry_numel(to), cell);
  if (out->bytes == 0)
    return FNZ_OK;
  rank = dims_of(from, to, cell, dims);
  out->cell = widen(dims, &rank, cell);
  out->from_offset = fnzi_krn_stride_bytes(from->offset, cell);
  out->to_offset = fnzi_krn_stride_bytes(to->offset, cell);
  FNZI_NEW(arena, rank, &copy);
  if (rank)
    memcpy(copy, dims, rank * sizeof *dims);
  out->rank = rank;
  out->dims = copy;
  return FNZ_OK;
}

void fnzi_stp_move_run(const fnzi_stp_move *move) {
  if (move->bytes == 0)
    return;
  copy_elements((char *)move->to->data + move->to_offset,
                (const char *)move->from->data + move->from_offset, move->dims, move->rank,
                move->cell);
}
