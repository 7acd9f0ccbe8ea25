/* point_rest_f16.c - formulas of its own for f16. */
#include "kernels/core/isa.h"
#if FNZI_ISA >= 3 /* by instructions, with the bits of half.h */
#include <immintrin.h>
#define TO(x)   _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)
#define FROM(x) _cvtsh_ss(x)
#else
#define TO   fnzi_krn_to_f16
#define FROM fnzi_krn_from_f16
#endif
#include "kernels/cpu/point_rest_half.h"

#define REST_HALF REST
#define REST_LOG  REST_LOG_ROW
#include "kernels/point.def"
#undef REST_HALF
#undef REST_LOG

const fnzi_cpu_rest FNZI_ISA_NAME(fnzi_cpu_rest_f16)[] = {
#define REST_HALF REST_ENTRY
#define REST_LOG  REST_ENTRY
#include "kernels/point.def"
    {NULL, NULL}};
