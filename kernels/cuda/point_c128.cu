/* point_c128.cu - the rows on complex numbers of two double floats. */
#define PART       double
#define SELF       FNZ_C128
#define REAL_DTYPE FNZ_F64
#define NAME       fnzi_cuda_points_c128
#define F(x)       x
#include "kernels/cuda/point_complex.cuh"
