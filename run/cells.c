/* cells.c - elements of strided memory as dense ones, back again, and as numbers. */
#include "run/cells.h"

void fnzi_run_gather(const fnz_geometry *g, const unsigned char *memory, size_t cell,
                     unsigned char *dense) {
  if (fnzi_is_contiguous(g)) {
    size_t bytes = (size_t)fnz_geometry_numel(g) * cell;
    if (bytes > 0)
      memcpy(dense, memory + (size_t)g->offset * cell, bytes);
    return;
  }
  fnzi_run_walk w;
  for (fnzi_run_walk_start(&w, g); w.left > 0; fnzi_run_walk_step(&w), dense += cell)
    memcpy(dense, memory + (size_t)w.place * cell, cell);
}

void fnzi_run_scatter(const fnz_geometry *g, const unsigned char *dense, size_t cell,
                      unsigned char *memory) {
  if (fnzi_is_contiguous(g)) {
    size_t bytes = (size_t)fnz_geometry_numel(g) * cell;
    if (bytes > 0)
      memcpy(memory + (size_t)g->offset * cell, dense, bytes);
    return;
  }
  fnzi_run_walk w;
  for (fnzi_run_walk_start(&w, g); w.left > 0; fnzi_run_walk_step(&w), dense += cell)
    memcpy(memory + (size_t)w.place * cell, dense, cell);
}

bool fnzi_run_decode_number(fnz_dtype dtype, const void *bytes, fnz_arg *out) {
  float f32;
  if (dtype == FNZ_F64 || dtype == FNZ_F32) {
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT};
    memcpy(&f32, bytes, sizeof f32);
    out->u.f = (double)f32;
    if (dtype == FNZ_F64)
      memcpy(&out->u.f, bytes, sizeof out->u.f);
    return true;
  }
  if (dtype != FNZ_BOOL && !fnzi_is_integer(dtype))
    return false;
  uint64_t bits = 0;
  size_t unused = 64 - 8 * fnzi_dtype(dtype)->bytes;
  memcpy(&bits, bytes, fnzi_dtype(dtype)->bytes);
  bool has_sign = fnzi_dtype(dtype)->category == 'i';
  *out = (fnz_arg){.tag = FNZ_ARG_INT,
                   .u.i = has_sign ? (int64_t)(bits << unused) >> unused : (int64_t)bits};
  if (dtype == FNZ_BOOL)
    *out = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = out->u.i != 0};
  return dtype != FNZ_U64 || out->u.i >= 0;
}
