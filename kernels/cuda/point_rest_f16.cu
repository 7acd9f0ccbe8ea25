/* point_rest_f16.cu - formulas of its own for f16. */
#define SELF      FNZ_F16
#define TO_HALF   __float2half
#define FROM_HALF __half2float
#define TO_BITS   __half_as_ushort
#define FROM_BITS __ushort_as_half
#include "kernels/cuda/point_rest.cuh"

#define REST_HALF REST
#include "kernels/point.def"
#undef REST_HALF
} // namespace

extern const fnzi_cuda_point fnzi_cuda_points_f16[] = {
#define REST_HALF(name, arity, value) ENTRY(name, arity, SAME)
#include "kernels/point.def"
    END_OF_ROWS};
