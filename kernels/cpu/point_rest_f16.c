/* point_rest_f16.c - formulas of its own for f16. */
#define TO   fnzi_krn_to_f16
#define FROM fnzi_krn_from_f16
#include "kernels/cpu/point_rest_half.h"

#define REST_HALF REST
#include "kernels/point.def"
#undef REST_HALF

const fnzi_cpu_rest fnzi_cpu_rest_f16[] = {
#define REST_HALF REST_ENTRY
#include "kernels/point.def"
    {NULL, NULL}};
