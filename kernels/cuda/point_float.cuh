/* point_float.cuh - the float classes: what f32 and f64 share. The includer defines T, SELF,
 * REAL_TYPE, REAL_DTYPE, NAME (of the table) and F(x), behind element.cuh. */
#define VALUE static __device__
/* A device function in place of a vector function. */
#define V(function, accuracy) F(function)
#define W(function, accuracy) F(function)

namespace {
#include "kernels/cpu/point_scalar.h"
#include "kernels/cpu/point_float_values.h"
#include "kernels/cpu/point_special_values.h"
#define N T
#include "kernels/cpu/point_either_values.h"
#undef N
#include "kernels/cuda/point_rows.cuh"

#define ANY    CHECKED_FUNCTOR
#define FLOAT  FUNCTOR
#define LONE   FUNCTOR
#define MAPPED MAPPED_FUNCTOR
#include "kernels/point.def"
#undef ANY
#undef FLOAT
#undef LONE
#undef MAPPED
} // namespace

extern const fnzi_cuda_point NAME[] = {
#define ANY(name, arity, out, check, value)                    ENTRY(name, arity, out)
#define FLOAT(name, arity, out, value)                         ENTRY(name, arity, out)
#define LONE                                                   FLOAT
#define MAPPED(name, arity, before, function, accuracy, after) ENTRY(name, arity, SAME)
#include "kernels/point.def"
    END_OF_ROWS};
