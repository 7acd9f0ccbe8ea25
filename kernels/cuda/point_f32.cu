/* point_f32.cu - the rows in single precision. */
#include "kernels/cuda/element.cuh"

#define T          float
#define SELF       FNZ_F32
#define REAL_TYPE  float
#define REAL_DTYPE FNZ_F32
#define NAME       fnzi_cuda_points_f32
#define F(x)       x##f
#include "kernels/cuda/point_float.cuh"
