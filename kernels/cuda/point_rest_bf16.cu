/* point_rest_bf16.cu - formulas of its own for bf16. */
#define SELF      FNZ_BF16
#define TO_HALF   __float2bfloat16
#define FROM_HALF __bfloat162float
#define TO_BITS   __bfloat16_as_ushort
#define FROM_BITS __ushort_as_bfloat16
#include "kernels/cuda/point_rest.cuh"

#define REST_HALF REST
#define REST_BF16 REST
#include "kernels/point.def"
#undef REST_HALF
#undef REST_BF16
} // namespace

extern const fnzi_cuda_point fnzi_cuda_points_bf16[] = {
#define REST_HALF(name, arity, value) ENTRY(name, arity, SAME)
#define REST_BF16                     REST_HALF
#include "kernels/point.def"
    END_OF_ROWS};
