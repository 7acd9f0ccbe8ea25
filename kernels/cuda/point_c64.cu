/* point_c64.cu - the rows on complex numbers of two single floats. */
#define PART       float
#define SELF       FNZ_C64
#define REAL_DTYPE FNZ_F32
#define NAME       fnzi_cuda_points_c64
#define F(x)       x##f
#include "kernels/cuda/point_complex.cuh"
