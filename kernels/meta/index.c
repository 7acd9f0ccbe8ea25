/* index.c - shape rules of operators where tensors of indices or masks decide places. */
#include "kernels/cpu/cpu.h"

/* index.Tensor: the dimensions of the index take the place of those they index; in front of all
 * when these do not stand together. A mask's result has a size that only data tell. */
fnz_status fnzi_shape_index(fnzi_call *call) {
  const fnzi_array *self = fnzi_input(call, 0);
  int64_t sizes[2 * FNZ_MAX_RANK];
  fnzi_places places;
  uint32_t rank = 0, dim = 0;
  if (!call->has_data && call->expected && call->nexpected && call->expected[0])
    return fnzi_shape_add(call, self->geometry.dtype, call->expected[0]->rank,
                          call->expected[0]->sizes, NULL);
  FNZ_TRY(fnzi_places_find(call, self, &call->args[1], &places));
  for (; rank < places.first; dim++)
    sizes[rank++] = self->geometry.sizes[dim];
  for (uint32_t i = 0; i < places.rank; i++)
    sizes[rank++] = places.sizes[i];
  for (; dim < self->geometry.rank; dim++)
    if (!places.values[dim])
      sizes[rank++] = self->geometry.sizes[dim];
  return fnzi_shape_add(call, self->geometry.dtype, rank, sizes, NULL);
}

fnz_status fnzi_shape_index_select(fnzi_call *call) {
  const fnz_geometry *self = fnzi_input_geometry(call, 0);
  const fnz_geometry *index = &fnzi_named_array(call, "index")->geometry;
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t dim;
  if (index->rank > 1)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "index has rank %u, it must be a vector",
                       index->rank);
  FNZ_TRY(
      fnzi_wrap_dim(call->ctx, call->op->name, fnzi_named_int(call, "dim", 0), self->rank, &dim));
  if (self->rank == 0)
    return fnzi_shape_add(call, self->dtype, 0, NULL, NULL);
  memcpy(sizes, self->sizes, self->rank * sizeof *sizes);
  sizes[dim] = fnz_geometry_numel(index);
  return fnzi_shape_add(call, self->dtype, self->rank, sizes, NULL);
}

/* gather and take: the elements of self in the shape of the index. */
fnz_status fnzi_shape_gather(fnzi_call *call) {
  const fnz_geometry *index = &fnzi_named_array(call, "index")->geometry;
  return fnzi_shape_add(call, fnzi_input_geometry(call, 0)->dtype, index->rank, index->sizes, NULL);
}
