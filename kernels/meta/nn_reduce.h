/* nn_reduce.h - which dimensions a reduction takes away. */
#ifndef FNZI_META_NN_REDUCE_H
#define FNZI_META_NN_REDUCE_H

#include "kernels/kernels.h"

/* reduced[i] for each dimension of argument 0, from the argument "dim": a list, one integer, None
 * or an empty list (all). BOUNDS when outside, DUPLICATE dimensions are BOUNDS too. */
FNZ_MUST_CHECK fnz_status fnzi_reduced_dims(fnzi_call *call, bool reduced[FNZ_MAX_RANK]);

#endif
