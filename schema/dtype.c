/* dtype.c - what is known about each element type, and the size of a geometry. */
#include "schema/schema.h"

const fnz_dtype_info fnzi_dtype_infos[FNZ_DTYPE_COUNT] = {
#define INFO(id, name, bytes, category, pt2, torch, safetensors)                                   \
  [FNZ_##id] = {name, bytes, category, pt2, torch, safetensors},
    FNZ_DTYPE_ROWS(INFO)
#undef INFO
};

const fnz_dtype_info *fnz_dtype_get_info(fnz_dtype dtype) {
  return fnzi_dtype(dtype);
}

int64_t fnz_geometry_numel(const fnz_geometry *g) {
  int64_t count = 1;
  for (uint32_t i = 0; i < g->rank; i++)
    count *= g->sizes[i];
  return count;
}
