/* point_i64.cu - the rows on bool and integers. */
#include "kernels/cuda/element.cuh"

#define VALUE static __device__
#define T     int64_t

namespace {
#include "kernels/cpu/point_scalar.h"
#include "kernels/cpu/point_i64_values.h"

#define SELF       FNZ_I64
#define REAL_TYPE  int64_t
#define REAL_DTYPE FNZ_I64
#include "kernels/cuda/point_rows.cuh"

#define ANY     CHECKED_FUNCTOR
#define INTEGER CHECKED_FUNCTOR
#include "kernels/point.def"
#undef ANY
#undef INTEGER
} // namespace

extern const fnzi_cuda_point fnzi_cuda_points_i64[] = {
#define ANY(name, arity, out, check, value) ENTRY(name, arity, out)
#define INTEGER                             ANY
#include "kernels/point.def"
    END_OF_ROWS};
