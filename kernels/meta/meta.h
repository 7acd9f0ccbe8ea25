/* meta.h - functions that shape rules share, some also for kernels. */
#ifndef FNZI_META_H
#define FNZI_META_H

#include "kernels/core/window.h"

/* TYPE unless the tensor is of integers. */
FNZ_MUST_CHECK fnz_status fnzi_meta_index_check(const fnzi_krn_call *call,
                                                const fnzi_krn_array *index);
/* The values of an index tensor as row-major i64 in scratch memory, each checked against `size`;
 * negative ones count from the end where `wraps`, else they are refused. */
FNZ_MUST_CHECK fnz_status fnzi_meta_index_values(fnzi_krn_call *call, const fnzi_krn_array *index,
                                                 int64_t size, bool wraps, const int64_t **out);

/* The elements of `self` that a list of index tensors (None for a whole dimension, bool for a mask)
 * selects. */
typedef struct fnzi_meta_places {
  uint32_t first;                      /* dimension of the result where the index's begin */
  uint32_t rank;                       /* of the index: all index tensors broadcast together */
  int64_t sizes[FNZ_MAX_RANK], count;  /* of the index, and their product */
  const int64_t *values[FNZ_MAX_RANK]; /* per dimension of self: `count` places, or NULL */
} fnzi_meta_places;

/* In scratch memory. Without data, values stay unknown, and a mask is refused. */
FNZ_MUST_CHECK fnz_status fnzi_meta_places_find(fnzi_krn_call *call, const fnzi_krn_array *self,
                                                const fnz_arg *indices, fnzi_meta_places *out);
/* The places of the true ones of row-major `bits` in each dimension of the mask, in row-major
 * order: the k-th in dimension d is places[d][k * step]. */
void fnzi_meta_true_places(const fnz_geometry *mask, const uint8_t *bits, int64_t *const *places,
                           int64_t step);
/* BOUNDS unless the argument `values` broadcasts to the places of self. */
FNZ_MUST_CHECK fnz_status fnzi_meta_values_check(const fnzi_krn_call *call,
                                                 const fnzi_krn_array *self,
                                                 const fnzi_meta_places *places);

/* The dimensions of argument 0 that `dim` names; all when it names none. */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_meta_reduced_dims(fnzi_krn_call *call,
                                                             bool reduced[FNZ_MAX_RANK]);

/* The dimension of vectors in cross and linalg_cross. BOUNDS when there is none. */
FNZ_MUST_CHECK fnz_status fnzi_meta_cross_dim(fnzi_krn_call *call, uint32_t *out);

/* The view through which a functional operator writes: select.int for select_scatter; NULL for
 * others. */
const fnz_op *fnzi_meta_view_written_by(const fnz_op *scatter);
/* A scatter's arguments as the arguments of the view: without src, which is argument 1. */
FNZ_MUST_CHECK fnz_status fnzi_meta_view_args(fnzi_arena *scratch, const fnz_op *through,
                                              const fnz_arg *args, fnz_arg **out);
/* BOUNDS unless what a scatter writes has the sizes of its window. */
FNZ_MUST_CHECK fnz_status fnzi_meta_source_check(const fnzi_krn_call *call,
                                                 const fnz_geometry *window,
                                                 const fnz_geometry *src);

#endif
