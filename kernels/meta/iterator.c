/* iterator.c - which sizes operands broadcast to. */
#include "kernels/core/core.h"

fnz_status fnzi_meta_broadcast(fnzi_krn_call *call, const fnz_geometry *const *inputs, size_t count,
                               uint32_t *rank, int64_t *sizes) {
  *rank = 0;
  for (size_t k = 0; k < count; k++)
    *rank = inputs[k]->rank > *rank ? inputs[k]->rank : *rank;
  for (uint32_t i = 0; i < *rank; i++)
    sizes[i] = 1;
  for (size_t k = 0; k < count; k++) {
    uint32_t missing = *rank - inputs[k]->rank;
    for (uint32_t i = missing; i < *rank; i++) {
      int64_t size = inputs[k]->sizes[i - missing];
      if (size == 1 || size == sizes[i])
        continue;
      if (sizes[i] != 1)
        return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                    "sizes %lld and %lld of dimension %u do not broadcast",
                                    (long long)sizes[i], (long long)size, i);
      sizes[i] = size;
    }
  }
  return fnzi_krn_sizes_check(call->ctx, *rank, sizes, 1);
}
