/* point_f64.cu - the rows in double precision. */
#include "kernels/cuda/element.cuh"

#define T          double
#define SELF       FNZ_F64
#define REAL_TYPE  double
#define REAL_DTYPE FNZ_F64
#define NAME       fnzi_cuda_points_f64
#define F(x)       x
#include "kernels/cuda/point_float.cuh"
