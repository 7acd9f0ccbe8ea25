/* emit.c - geometries of results, as functional operators give them. */
#include "views/emit.h"

fnz_status fnzi_contiguous_like(fnzi_ints *s, fnzi_arena *arena, const fnz_geometry *like,
                                const fnz_geometry **out) {
  fnz_geometry *g;
  fnzi_int *strides;
  FNZI_NEW(arena, 1, &g);
  FNZI_NEW(arena, like->rank, &strides);
  *g = (fnz_geometry){.dtype = like->dtype, .rank = like->rank, .sizes = like->sizes};
  fnzi_int_row_strides(s, like, strides);
  g->strides = &strides->bits;
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_dense_like(fnzi_ints *s, fnzi_arena *arena, const fnz_geometry *like,
                           const fnz_geometry **out) {
  return fnzi_int_is_dense(s, like) ? fnzi_strided_like(arena, like, out)
                                    : fnzi_contiguous_like(s, arena, like, out);
}

fnz_status fnzi_dense_as(fnzi_ints *s, fnzi_arena *arena, const fnz_geometry *like, fnz_dtype dtype,
                         const fnz_geometry **out) {
  fnz_geometry *g;
  FNZ_TRY(fnzi_dense_like(s, arena, like, out));
  FNZI_NEW(arena, 1, &g);
  *g = **out;
  g->dtype = dtype;
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_copy_as(fnzi_ints *s, fnzi_arena *arena, const fnz_geometry *like, fnz_dtype dtype,
                        const fnz_geometry **out) {
  fnz_geometry *g;
  int64_t *strides;
  if (s)
    return fnzi_dense_as(s, arena, like, dtype, out);
  FNZI_NEW(arena, 1, &g);
  FNZI_NEW(arena, like->rank, &strides);
  fnzi_iterator_strides(&like, 1, like->rank, like->sizes, strides);
  *g = (fnz_geometry){.dtype = dtype, .rank = like->rank, .sizes = like->sizes, .strides = strides};
  *out = g;
  return FNZ_OK;
}

fnz_status fnzi_strided_like(fnzi_arena *arena, const fnz_geometry *like,
                             const fnz_geometry **out) {
  if (!like->offset && !like->is_conj && !like->is_neg) {
    *out = like;
    return FNZ_OK;
  }
  fnz_geometry *g;
  FNZI_NEW(arena, 1, &g);
  *g = *like;
  g->offset = 0;
  g->is_conj = g->is_neg = false;
  *out = g;
  return FNZ_OK;
}
